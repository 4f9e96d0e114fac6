/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers of a block. They count threads, so diverged lanes may arrive one after the
 * other. A barrier without a count waits for all threads of the block that have not exited.
 * For a barrier with a count, a warp whose lanes have all arrived counts as a full warp:
 * PTX counts in this way.
 */
#include "warp.h"

static uint32_t waiting_lanes(const struct warp *w, uint32_t id)
{
	uint32_t mask = 0;

	for (int32_t i = 0; i < w->ngroups; i++)
		if (w->g[i].state == GROUP_BAR && w->g[i].bar == id)
			mask |= w->g[i].mask;
	return mask;
}

static uint32_t popcount(uint32_t lanes)
{
	return lanes == WARP_FULL ? WARP_LANES : (uint32_t)__builtin_popcount(lanes);
}

static uint32_t count_lanes(const struct warp *w, uint32_t lanes)
{
	if (lanes && lanes == w->live)
		return WARP_LANES;
	return popcount(lanes);
}

static bool complete(struct cta *cta, uint32_t id)
{
	struct barrier *b = &cta->bar[id];
	uint32_t n = b->arrived;

	if (!b->want)
		return b->waiting && b->waiting + n >= cta->live;
	for (uint32_t i = 0; i < cta->nwarps; i++)
		n += count_lanes(&cta->warps[i],
				 waiting_lanes(&cta->warps[i], id));
	return n >= b->want;
}

/* Writes the result of bar.red to the lanes of one group. */
static void write_result(struct warp *w, struct group *g,
			 const struct barrier *b)
{
	const struct insn *in = &w->m->img->code[g->pc];
	uint32_t *d = (uint32_t *)(group_bank(w, g) + in->d);
	bool yes = in->sub2 == AOP_AND ? b->popc == b->waiting : b->popc;

	if (in->sub != BAR_RED)
		return;
	if (in->sub2 != AOP_POPC) {
		*d = (*d & ~g->mask) | (yes ? g->mask : 0);
		return;
	}
	for (uint32_t m = g->mask; m; m &= m - 1)
		d[__builtin_ctz(m)] = b->popc;
}

static void release(struct cta *cta, uint32_t id)
{
	struct barrier *b = &cta->bar[id];

	for (uint32_t i = 0; i < cta->nwarps; i++) {
		struct warp *w = &cta->warps[i];

		for (int32_t k = 0; k < w->ngroups; k++) {
			struct group *g = &w->g[k];

			if (g->state != GROUP_BAR || g->bar != id)
				continue;
			write_result(w, g, b);
			g->state = GROUP_READY;
			g->pc++;
		}
	}
	*b = (struct barrier){ 0 };
	cta->used &= ~(1u << id);
}

void exec_barriers_recheck(struct cta *cta)
{
	for (uint32_t ids = cta->used; ids; ids &= ids - 1)
		if (complete(cta, __builtin_ctz(ids)))
			release(cta, __builtin_ctz(ids));
}

/* Lets @g arrive at one barrier. All its lanes give the same count. */
static void arrive(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t id, uint32_t want)
{
	struct barrier *b = &w->cta->bar[id];

	w->cta->used |= 1u << id;
	if (want)
		b->want = want;
	if (in->sub == BAR_RED)
		b->popc += __builtin_popcount(*(const uint32_t *)
					      src(w, in->c) & g->mask);
	if (in->sub == BAR_ARRIVE) {
		b->arrived += count_lanes(w, g->mask);
		g->pc++;
	} else {
		g->state = GROUP_BAR;
		g->bar = id;
		b->waiting += popcount(g->mask);
	}
	if (complete(w->cta, id))
		release(w->cta, id);
}

enum run exec_barrier(struct warp *w, struct group *g, const struct insn *in,
		      uint32_t mask)
{
	const uint32_t *id = src(w, in->a);
	const uint32_t *n = in->n ? src(w, in->b) : NULL;

	/* Nearly always the operands are constants: then all lanes arrive at one barrier. */
	bool one = in->a & 1 && (!n || in->b & 1);

	group_keep(w, g, mask);
	while (mask) {
		uint32_t l = __builtin_ctz(mask), same = one ? mask : 0;

		for (uint32_t m = one ? 0 : mask; m; m &= m - 1) {
			uint32_t k = __builtin_ctz(m);

			if (id[k] == id[l] && (!n || n[k] == n[l]))
				same |= m & -m;
		}
		if (id[l] >= NBARRIERS) {
			exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, id[l]);
			return RUN_FAULT;
		}
		mask &= ~same;
		arrive(w, mask ? group_split(w, g, same) : g, in, id[l],
		       n ? n[l] : 0);
	}
	return RUN_PICK;
}
