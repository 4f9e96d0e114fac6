/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The barrier of a cluster, and the way to the shared memory of its blocks. A thread arrives
 * once and then waits once. The barrier is complete when all threads that have not exited have
 * arrived. A thread that arrives or waits out of turn has no defined result in PTX: here it is a
 * fault.
 */
#include "warp.h"

uint8_t *exec_shared(const struct warp *w, uint64_t at, uint64_t size)
{
	const struct cta *c = w->cta;
	uint64_t tag = at >> CLUSTER_SHIFT, off = at & CLUSTER_OFFSET;

	if (tag > w->m->ncluster)
		return NULL;
	if (tag)
		c = &c->cluster->ctas[tag - 1];
	return off <= c->shared_size && c->shared_size - off >= size ? c->shared + off : NULL;
}

static void release_warp(struct warp *w)
{
	w->passed |= w->arrived;
	w->arrived = 0;
	for (int32_t i = 0; i < w->ngroups; i++) {
		struct group *g = &w->g[i];

		if (g->state != GROUP_CLUSTER)
			continue;
		g->state = GROUP_READY;
		g->pc++;
		w->passed &= ~g->mask;
	}
}

static void recheck(struct cluster *cl, uint32_t nctas)
{
	if (!cl->arrived || cl->arrived < cl->live)
		return;
	for (uint32_t c = 0; c < nctas; c++)
		for (uint32_t i = 0; i < cl->ctas[c].nwarps; i++)
			release_warp(&cl->ctas[c].warps[i]);
	cl->arrived = 0;
}

void exec_cluster_exit(struct warp *w, uint32_t mask)
{
	struct cluster *cl = w->cta->cluster;

	cl->live -= __builtin_popcount(mask);
	cl->arrived -= __builtin_popcount(mask & w->arrived);
	w->arrived &= ~mask;
	recheck(cl, w->m->ncluster);
}

static enum run arrive(struct warp *w, struct group *g, uint32_t mask)
{
	struct cluster *cl = w->cta->cluster;

	w->arrived |= mask;
	cl->arrived += __builtin_popcount(mask);
	g->pc++;
	recheck(cl, w->m->ncluster);
	return RUN_PICK;
}

/* The barrier may be complete already: then nobody stays. */
static enum run wait(struct warp *w, struct group *g, uint32_t mask)
{
	uint32_t stay = mask & w->arrived;

	w->passed &= ~mask;
	if (!stay) {
		g->pc++;
		return RUN_PICK;
	}
	group_keep(w, g, stay);
	g->state = GROUP_CLUSTER;
	return RUN_PICK;
}

enum run exec_cluster_barrier(struct warp *w, struct group *g, const struct insn *in,
			      uint32_t mask)
{
	bool arrives = in->sub == BAR_ARRIVE;
	uint32_t between = w->arrived | w->passed;
	uint32_t wrong = mask & (arrives ? between : ~between);

	if (wrong) {
		exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, __builtin_ctz(wrong), 0);
		return RUN_FAULT;
	}
	return arrives ? arrive(w, g, mask) : wait(w, g, mask);
}
