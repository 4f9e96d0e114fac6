/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a warp: keeps its lanes in groups, one per place in the program, and chooses which
 * group runs next. The group with the deepest call, and then with the lowest address, goes
 * first. So lanes that left a branch or loop early wait where the others will pass, and
 * join them there. A group that spins for something that another group must do would starve
 * that group. Therefore the groups run in turns after some time with diverged lanes.
 */
#include "warp.h"

/* Number of backward jumps and calls in one slice of a warp. */
#define SLICE		4096
#define SLICE_TURNS	256
/* Number of slices with diverged lanes before groups run in turns. */
#define PATIENCE	16

/* ---- groups ---- */

void warp_start(struct warp *w, const struct ptx_code *code, uint32_t live)
{
	w->live = live;
	w->arrived = w->passed = 0;
	w->cc = 0;
	w->cur = 0;
	w->ngroups = 1;
	w->spins = 0;
	w->turns = false;
	w->g[0] = (struct group){ .mask = live, .pc = code->first,
				  .fn = code->index };
}

/* Moves the lanes of @mask from @g to a group of their own at the same place. */
struct group *group_split(struct warp *w, struct group *g, uint32_t mask)
{
	struct group *n = &w->g[w->ngroups++];

	*n = *g;
	n->mask = mask;
	g->mask &= ~mask;
	return n;
}

void group_remove(struct warp *w, struct group *g)
{
	int32_t i = g - w->g;

	*g = w->g[--w->ngroups];
	if (w->cur == w->ngroups)
		w->cur = i;
}

void group_keep(struct warp *w, struct group *g, uint32_t mask)
{
	if (g->mask != mask)
		group_split(w, g, g->mask & ~mask)->pc++;
}

bool group_same_place(const struct group *a, const struct group *b)
{
	return a->pc == b->pc && a->depth == b->depth &&
	       a->rbase == b->rbase && a->lbase == b->lbase;
}

/* Merges all ready groups that are at the same place as @g. */
static struct group *join(struct warp *w, struct group *g)
{
	for (int32_t i = 0; i < w->ngroups; i++) {
		struct group *o = &w->g[i];

		if (o == g || o->state != GROUP_READY || !group_same_place(o, g))
			continue;
		g->mask |= o->mask;
		/* The last group moves to the free place. It may be @g. */
		if (g == &w->g[w->ngroups - 1])
			g = o;
		group_remove(w, o);
		i--;
	}
	return g;
}

static bool goes_first(const struct group *a, const struct group *b)
{
	return a->depth != b->depth ? a->depth > b->depth : a->pc < b->pc;
}

static int32_t pick_first(struct warp *w)
{
	int32_t best = -1;

	for (int32_t i = 0; i < w->ngroups; i++)
		if (w->g[i].state == GROUP_READY &&
		    (best < 0 || goes_first(&w->g[i], &w->g[best])))
			best = i;
	return best;
}

/* Takes turns: returns the next ready group after the current one. */
static int32_t pick_next(struct warp *w)
{
	for (int32_t n = 1; n <= w->ngroups; n++) {
		int32_t i = (w->cur + n) % w->ngroups;

		if (w->g[i].state == GROUP_READY)
			return i;
	}
	return -1;
}

static struct group *use_group(struct warp *w, int32_t i)
{
	struct group *g = &w->g[i];

	w->cur = i;
	g = join(w, g);
	w->cur = g - w->g;
	w->bank[0] = group_bank(w, g);
	w->lbase = g->lbase;
	return g;
}

/* ---- control instructions ---- */

static enum run do_exit(struct warp *w, struct group *g, uint32_t mask)
{
	w->live &= ~mask;
	w->cta->live -= __builtin_popcount(mask);
	g->mask &= ~mask;
	g->pc++;
	if (!g->mask)
		group_remove(w, g);
	exec_barriers_recheck(w->cta);
	exec_cluster_exit(w, mask);
	exec_sync_retry(w);
	return RUN_PICK;
}

/* Sends each lane to its own target. There is one group per target. */
static enum run do_brx(struct warp *w, struct group *g, const struct insn *in,
		       uint32_t mask)
{
	const int32_t *t = w->m->img->vecs + in->vec;
	const uint32_t *idx = src(w, in->a);

	group_keep(w, g, mask);
	while (mask) {
		uint32_t l = __builtin_ctz(mask), same = 0;

		if (idx[l] >= (uint32_t)t[0]) {
			exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, idx[l]);
			return RUN_FAULT;
		}
		for (uint32_t m = mask; m; m &= m - 1)
			if (idx[__builtin_ctz(m)] == idx[l])
				same |= m & -m;
		mask &= ~same;
		if (mask)
			group_split(w, g, same)->pc = t[1 + idx[l]];
		else
			g->pc = t[1 + idx[l]];
	}
	w->m->budget--;
	return RUN_PICK;
}

/* Lanes that were told to wait will ask again, so the warp's turn is over. */
static enum run do_poll(struct warp *w, struct group *g, const struct insn *in, uint32_t mask)
{
	g->pc++;
	if (in->fn(w, in, mask))
		return RUN_FAULT;
	if (mask & ~*(const uint32_t *)dst(w, in->d))
		w->m->budget = 0;
	return RUN_PICK;
}

static enum run do_ctl(struct warp *w, struct group *g, const struct insn *in,
		       uint32_t mask)
{
	if (!mask) {
		g->pc++;
		return RUN_PICK;
	}
	switch (in->ctl) {
	case CTL_EXIT:
		return do_exit(w, g, mask);
	case CTL_BRX:
		return do_brx(w, g, in, mask);
	case CTL_CALL:
		w->m->budget--;
		return exec_call(w, g, in, mask);
	case CTL_RET:
		return exec_return(w, g, mask);
	case CTL_BAR:
		return exec_barrier(w, g, in, mask);
	case CTL_CLUSTER:
		return exec_cluster_barrier(w, g, in, mask);
	case CTL_SYNC:
		return exec_sync(w, g, in, mask);
	case CTL_MATRIX:
		return exec_matrix(w, g, in, mask);
	case CTL_WARPGROUP:
		return exec_warpgroup(w, g, in, mask);
	case CTL_POLL:
		return do_poll(w, g, in, mask);
	case CTL_YIELD:
		g->pc++;
		w->m->budget = 0;
		return RUN_PICK;
	default:
		exec_fault(w, EXEC_TRAP, in, __builtin_ctz(mask), 0);
		return RUN_FAULT;
	}
}

/* ---- the loop ---- */

static uint32_t guarded(struct warp *w, const struct insn *in, uint32_t mask)
{
	uint32_t p;

	if (!(in->flags & INSN_GUARD))
		return mask;
	p = *(const uint32_t *)(w->bank[0] + in->guard);
	return mask & (in->flags & INSN_GUARD_NOT ? ~p : p);
}

/* Returns true if another group must run before @g, or join it, at this place. */
static bool other_first(struct warp *w, struct group *g)
{
	for (int32_t i = 0; i < w->ngroups; i++) {
		struct group *o = &w->g[i];

		if (o == g || o->state != GROUP_READY)
			continue;
		if (group_same_place(o, g) || (!w->turns && goes_first(o, g)))
			return true;
	}
	return false;
}

/*
 * Runs the current group until another one must be considered. Jumps that all lanes take,
 * or none, stay in this loop, since they are the most frequent ones.
 */
static enum run run_group(struct warp *w, struct group *g)
{
	const struct insn *code = w->m->img->code, *in;
	uint8_t stop = INSN_CTL | (w->ngroups > 1 ? INSN_LEADER : 0);
	uint32_t pc = g->pc, mask = g->mask, m;
	bool fresh = true;

	for (;; fresh = false) {
		in = &code[pc];
		/* Most instructions of a program need no decision. */
		while (!(in->flags & (stop | INSN_GUARD))) {
			if (in->fn(w, in, mask))
				return RUN_FAULT;
			in += in->len;
			fresh = false;
		}
		pc = in - code;
		if (in->flags & stop) {
			g->pc = pc;
			if (in->flags & INSN_LEADER && stop & INSN_LEADER &&
			    !fresh && other_first(w, g))
				return RUN_PICK;
			m = guarded(w, in, mask);
			if (in->flags & INSN_CTL && in->ctl != CTL_BRA)
				return do_ctl(w, g, in, m);
			if (in->ctl == CTL_BRA) {
				if (!m) {
					pc++;
					continue;
				}
				if (m != mask) {
					group_split(w, g, m)->pc = in->imm;
					mask = g->mask;
					stop |= INSN_LEADER;
					m = 0;
				}
				if (in->imm <= pc && --w->m->budget < 0) {
					g->pc = m ? in->imm : pc + 1;
					return RUN_YIELD;
				}
				pc = m ? in->imm : pc + 1;
				continue;
			}
		} else {
			m = guarded(w, in, mask);
		}
		if (m && in->fn(w, in, m))
			return RUN_FAULT;
		pc += in->len;
	}
}

static void end_slice(struct warp *w)
{
	if (w->ngroups < 2) {
		w->spins = 0;
		w->turns = false;
	} else if (++w->spins > PATIENCE) {
		w->turns = true;
	}
}

/* Runs until every lane waits or has exited, or the slice is used up. */
enum run warp_run(struct warp *w, bool *moved)
{
	w->m->budget = w->turns ? SLICE_TURNS : SLICE;
	w->cur = w->cur < w->ngroups ? w->cur : 0;
	if (w->turns && w->ngroups)
		w->cur = (w->cur + w->ngroups - 1) % w->ngroups;
	for (bool first = true;; first = false) {
		bool stay = w->turns && !first && w->cur < w->ngroups &&
			    w->g[w->cur].state == GROUP_READY;
		int32_t i = stay ? w->cur : w->turns ? pick_next(w) :
			    pick_first(w);
		enum run r;

		if (i < 0)
			return RUN_BLOCKED;
		*moved = true;
		r = run_group(w, use_group(w, i));
		if (r == RUN_FAULT)
			return r;
		if (r == RUN_YIELD || w->m->budget <= 0) {
			end_slice(w);
			w->cur++;
			return RUN_YIELD;
		}
	}
}
