/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions that exchange values between the lanes of a member mask: shfl,
 * vote, match, redux, elect, and bar.warp.sync. They run when all live lanes of
 * the mask have arrived; lanes that come early wait in a group of their own,
 * and may even wait at another instruction of the same kind. Instructions of
 * matrices need all live lanes of the warp at the same instruction.
 */
#include <string.h>

#include "warp.h"

struct exchange {
	uint64_t a[WARP_LANES];
	uint32_t b[WARP_LANES], c[WARP_LANES];
	uint64_t r[WARP_LANES];	/* results */
	uint32_t p;		/* and predicates */
	uint32_t lanes;		/* lanes that take part */
};

static void *bank_src(struct warp *w, uint8_t *bank, int32_t o)
{
	return o & 1 ? w->bank[1] + (o & ~1) : bank + o;
}

static bool is_vote(uint32_t op)
{
	return op >= SYNC_VOTE_ALL && op <= SYNC_VOTE_BALLOT;
}

static bool is_shfl(uint32_t op)
{
	return op >= SYNC_SHFL_UP && op <= SYNC_SHFL_IDX;
}

/* ---- operands and results ---- */

static void load_lane(struct warp *w, uint8_t *bank, const struct insn *in,
		      uint32_t l, struct exchange *x)
{
	if (in->sub == SYNC_WARP || in->sub == SYNC_ELECT)
		return;
	if (is_vote(in->sub))
		x->a[l] = *(uint32_t *)bank_src(w, bank, in->a) >> l & 1;
	else if (in->wide == 8)
		x->a[l] = ((uint64_t *)bank_src(w, bank, in->a))[l];
	else
		x->a[l] = ((uint32_t *)bank_src(w, bank, in->a))[l];
	if (is_shfl(in->sub)) {
		x->b[l] = ((uint32_t *)bank_src(w, bank, in->b))[l];
		x->c[l] = ((uint32_t *)bank_src(w, bank, in->c))[l];
	}
}

static void load(struct warp *w, uint8_t *bank, const struct insn *in,
		 uint32_t lanes, struct exchange *x)
{
	x->lanes |= lanes;
	for (; lanes; lanes &= lanes - 1)
		load_lane(w, bank, in, __builtin_ctz(lanes), x);
}

static void store(struct warp *w, uint8_t *bank, const struct insn *in,
		  uint32_t lanes, const struct exchange *x)
{
	uint32_t *d = (uint32_t *)(bank + in->d), *p = NULL;

	if (in->sub == SYNC_WARP)
		return;
	if (in->imm >= 0)
		p = (uint32_t *)(bank + w->m->img->vecs[in->imm]);
	if (is_vote(in->sub) && in->sub != SYNC_VOTE_BALLOT)
		p = d;
	if (p)
		*p = (*p & ~lanes) | (x->p & lanes);
	for (; p != d && lanes; lanes &= lanes - 1)
		d[__builtin_ctz(lanes)] = x->r[__builtin_ctz(lanes)];
}

/* ---- what the instructions compute ---- */

static void do_shfl(struct exchange *x, uint32_t op)
{
	for (uint32_t m = x->lanes; m; m &= m - 1) {
		int32_t l = __builtin_ctz(m), j, b = x->b[l] & 31;
		int32_t seg = x->c[l] >> 8 & 31, clamp = x->c[l] & 31;
		int32_t low = l & seg, max = low | (clamp & ~seg);
		bool in_range;

		if (op == SYNC_SHFL_UP)
			j = l - b;
		else if (op == SYNC_SHFL_DOWN)
			j = l + b;
		else if (op == SYNC_SHFL_BFLY)
			j = l ^ b;
		else
			j = low | (b & ~seg);
		in_range = op == SYNC_SHFL_UP ? j >= max : j <= max;
		if (!in_range)
			j = l;
		/* A lane that does not take part has nothing to give. */
		x->r[l] = x->lanes >> j & 1 ? x->a[j] : x->a[l];
		x->p |= (uint32_t)in_range << l;
	}
}

static void do_vote(struct exchange *x, uint32_t op)
{
	uint32_t yes = 0;
	bool r;

	for (uint32_t m = x->lanes; m; m &= m - 1)
		if (x->a[__builtin_ctz(m)])
			yes |= m & -m;
	r = op == SYNC_VOTE_ALL ? yes == x->lanes :
	    op == SYNC_VOTE_ANY ? yes != 0 : yes == x->lanes || !yes;
	x->p = r ? WARP_FULL : 0;
	for (int l = 0; l < WARP_LANES; l++)
		x->r[l] = yes;
}

static void do_match(struct exchange *x, uint32_t op)
{
	for (uint32_t m = x->lanes; m; m &= m - 1) {
		uint32_t l = __builtin_ctz(m), same = 0;

		for (uint32_t k = x->lanes; k; k &= k - 1)
			if (x->a[__builtin_ctz(k)] == x->a[l])
				same |= k & -k;
		x->r[l] = op == SYNC_MATCH_ANY || same == x->lanes ? same : 0;
		x->p |= (uint32_t)(same == x->lanes) << l;
	}
}

static uint32_t reduce2(uint32_t a, uint32_t b, uint32_t op, bool is_signed)
{
	bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;

	switch (op) {
	case AOP_ADD:
		return a + b;
	case AOP_MIN:
		return less ? a : b;
	case AOP_MAX:
		return less ? b : a;
	case AOP_AND:
		return a & b;
	case AOP_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void do_redux(struct exchange *x, const struct insn *in)
{
	uint32_t m = x->lanes, r = x->a[__builtin_ctz(m)];

	while (m &= m - 1)
		r = reduce2(r, x->a[__builtin_ctz(m)], in->sub2,
			    in->mode == T_S32);
	for (int l = 0; l < WARP_LANES; l++)
		x->r[l] = r;
}

static void do_elect(struct exchange *x)
{
	uint32_t leader = __builtin_ctz(x->lanes);

	for (int l = 0; l < WARP_LANES; l++)
		x->r[l] = leader;
	x->p = 1u << leader;
}

static void compute(struct exchange *x, const struct insn *in)
{
	if (is_shfl(in->sub))
		do_shfl(x, in->sub);
	else if (is_vote(in->sub))
		do_vote(x, in->sub);
	else if (in->sub == SYNC_MATCH_ANY || in->sub == SYNC_MATCH_ALL)
		do_match(x, in->sub);
	else if (in->sub == SYNC_REDUX)
		do_redux(x, in);
	else if (in->sub == SYNC_ELECT)
		do_elect(x);
}

/* ---- waiting ---- */

static uint32_t members(struct warp *w, const struct group *g)
{
	const struct insn *in = &w->m->img->code[g->pc];
	const uint32_t *e = bank_src(w, group_bank(w, g), in->vec);

	return e[__builtin_ctz(g->mask)];
}

/* Returns true if @o waits with the same operation and the same member mask as @g. */
static bool partners(struct warp *w, const struct group *g,
		     const struct group *o, uint32_t mm)
{
	const struct insn *a = &w->m->img->code[g->pc];
	const struct insn *b = &w->m->img->code[o->pc];

	return o->state == GROUP_SYNC && a->sub == b->sub &&
	       a->sub2 == b->sub2 && a->mode == b->mode &&
	       a->wide == b->wide && members(w, o) == mm;
}

static void run_together(struct warp *w, struct group *g, uint32_t mm)
{
	bool with[WARP_LANES] = { false };
	struct exchange x = { .lanes = 0 };

	for (int32_t i = 0; i < w->ngroups; i++) {
		struct group *o = &w->g[i];

		with[i] = partners(w, g, o, mm);
		if (with[i])
			load(w, group_bank(w, o), &w->m->img->code[o->pc],
			     o->mask, &x);
	}
	compute(&x, &w->m->img->code[g->pc]);
	for (int32_t i = 0; i < w->ngroups; i++) {
		struct group *o = &w->g[i];

		if (!with[i])
			continue;
		store(w, group_bank(w, o), &w->m->img->code[o->pc], o->mask,
		      &x);
		o->state = GROUP_READY;
		o->pc++;
	}
}

static bool try_group(struct warp *w, struct group *g)
{
	uint32_t mm = members(w, g), there = 0;

	for (int32_t i = 0; i < w->ngroups; i++)
		if (partners(w, g, &w->g[i], mm))
			there |= w->g[i].mask;
	if (mm & w->live & ~there)
		return false;
	run_together(w, g, mm);
	return true;
}

/* Lets all groups go on where they all wait at one instruction: there they become one. */
static bool retry_matrix(struct warp *w)
{
	for (int32_t i = 0; i < w->ngroups; i++)
		if (w->g[i].state != GROUP_MATRIX || !group_same_place(&w->g[i], &w->g[0]))
			return false;
	for (int32_t i = 0; i < w->ngroups; i++)
		w->g[i].state = GROUP_READY;
	return true;
}

/* Lets @g wait until all living lanes of the warp are at its instruction. */
static enum run wait_for_lanes(struct warp *w, struct group *g, uint32_t mask)
{
	group_keep(w, g, mask);
	g->state = GROUP_MATRIX;
	retry_matrix(w);
	return RUN_PICK;
}

enum run exec_matrix(struct warp *w, struct group *g, const struct insn *in,
		     uint32_t mask)
{
	if (mask != w->live)
		return wait_for_lanes(w, g, mask);
	g->pc++;
	return in->fn(w, in, mask) ? RUN_FAULT : RUN_PICK;
}

#define WARPGROUP	4	/* warps */

/* A warp that has lost lanes cannot take part: PTX wants all of them. */
static bool waits_at(const struct warp *w, uint32_t pc)
{
	return w->live == WARP_FULL && w->g[0].state == GROUP_WARPGROUP && w->g[0].pc == pc;
}

enum run exec_warpgroup(struct warp *w, struct group *g, const struct insn *in, uint32_t mask)
{
	struct warp *first = w->cta->warps + w->index / WARPGROUP * WARPGROUP;
	uint32_t pc = g->pc;

	if (mask != w->live)
		return wait_for_lanes(w, g, mask);
	g->state = GROUP_WARPGROUP;
	if (first->index + WARPGROUP > w->cta->nwarps)
		return RUN_PICK;
	for (uint32_t i = 0; i < WARPGROUP; i++)
		if (!waits_at(first + i, pc))
			return RUN_PICK;
	for (uint32_t i = 0; i < WARPGROUP; i++) {
		first[i].g[0].state = GROUP_READY;
		first[i].g[0].pc++;
	}
	return in->fn(first, in, mask) ? RUN_FAULT : RUN_PICK;
}

bool exec_sync_retry(struct warp *w)
{
	bool any = retry_matrix(w);

	for (int32_t i = 0; i < w->ngroups; i++)
		if (w->g[i].state == GROUP_SYNC)
			any |= try_group(w, &w->g[i]);
	return any;
}

/* Runs at once, since all lanes of the mask are in this group. */
static void run_here(struct warp *w, const struct insn *in, uint32_t lanes)
{
	struct exchange x;

	if (in->sub == SYNC_WARP)
		return;
	x.p = x.lanes = 0;
	load(w, w->bank[0], in, lanes, &x);
	compute(&x, in);
	store(w, w->bank[0], in, lanes, &x);
}

enum run exec_sync(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t mask)
{
	const uint32_t *e = src(w, in->vec);
	uint32_t done = 0, left = mask;

	group_keep(w, g, mask);
	while (left) {
		uint32_t l = __builtin_ctz(left), same = 0;

		for (uint32_t m = left; m; m &= m - 1)
			if (e[__builtin_ctz(m)] == e[l])
				same |= m & -m;
		left &= ~same;
		if (e[l] & w->live & ~same) {
			struct group *wait = g;

			if (same != g->mask)
				wait = group_split(w, g, same);
			wait->state = GROUP_SYNC;
			continue;
		}
		run_here(w, in, same);
		done |= same;
	}
	if (done)
		g->pc++;
	if (done != mask)
		exec_sync_retry(w);
	return RUN_PICK;
}
