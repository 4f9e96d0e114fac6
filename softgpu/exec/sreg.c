/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: special registers, addresses in the frame and in the shared memory of a cluster,
 * isspacep, activemask.
 */
#include <time.h>
#include <x86intrin.h>

#include "ops.h"

static u64 timer_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (u64)t.tv_sec * 1000000000u + t.tv_nsec;
}

/* Returns the multiprocessor of a block: blocks go round those that the launch may use. */
static u32 sm_of(const struct warp *w)
{
	const struct exec_launch *l = w->m->l;
	u64 sms = l->sms;
	u32 n;

	if (!sms)
		return w->cta->number % (l->nsm ? l->nsm : 1);
	for (n = w->cta->number % (u32)__builtin_popcountll(sms); n; n--)
		sms &= sms - 1;
	return (u32)__builtin_ctzll(sms);
}

/* Returns the registers about clusters. */
static u64 cluster_value(const struct warp *w, enum sreg sr)
{
	const struct exec_machine *m = w->m;
	const struct cta *c = w->cta;
	u32 axis = (sr - SR_CLUSTERID_X) % 3;

	switch (sr) {
	case SR_CLUSTERID_X:
	case SR_CLUSTERID_Y:
	case SR_CLUSTERID_Z:
		return c->cluster->id[axis];
	case SR_NCLUSTERID_X:
	case SR_NCLUSTERID_Y:
	case SR_NCLUSTERID_Z:
		return m->l->grid[axis] / m->cluster[axis];
	case SR_CLUSTER_CTAID_X:
	case SR_CLUSTER_CTAID_Y:
	case SR_CLUSTER_CTAID_Z:
		return c->id[axis] % m->cluster[axis];
	case SR_CLUSTER_NCTAID_X:
	case SR_CLUSTER_NCTAID_Y:
	case SR_CLUSTER_NCTAID_Z:
		return m->cluster[axis];
	case SR_CLUSTER_RANK:
		return c->rank;
	default:
		return m->ncluster;
	}
}

/* Returns registers that have one value for the whole warp. */
static u64 warp_value(struct warp *w, enum sreg sr)
{
	const struct exec_launch *l = w->m->l;

	switch (sr) {
	case SR_NTID_X:
	case SR_NTID_Y:
	case SR_NTID_Z:
		return l->block[sr - SR_NTID_X];
	case SR_CTAID_X:
	case SR_CTAID_Y:
	case SR_CTAID_Z:
		return w->cta->id[sr - SR_CTAID_X];
	case SR_NCTAID_X:
	case SR_NCTAID_Y:
	case SR_NCTAID_Z:
		return l->grid[sr - SR_NCTAID_X];
	case SR_WARPID:
		return w->index;
	case SR_NWARPID:
		return EXEC_MAX_THREADS / WARP_LANES;
	case SR_SMID:
		return sm_of(w);
	case SR_NSMID:
		return l->nsm ? l->nsm : 1;
	case SR_GRIDID:
		return l->grid_id;
	case SR_CLOCK:
	case SR_CLOCK64:
		return __rdtsc();
	case SR_CLOCK_HI:
		return __rdtsc() >> 32;
	case SR_TIMER:
	case SR_TIMER_LO:
		return timer_ns();
	case SR_TIMER_HI:
		return timer_ns() >> 32;
	case SR_DYN_SMEM:
		return l->dyn_shared;
	case SR_TOTAL_SMEM:
	case SR_AGGR_SMEM:
		return w->m->shared_size;
	case SR_DYN_BASE:
		return w->m->dyn_base;
	case SR_GRID_WS_HI:
		return l->cooperative ? (uintptr_t)&w->m->ws >> 32 : 0;
	case SR_GRID_WS_LO:
		return l->cooperative ? (uintptr_t)&w->m->ws : 0;
	case SR_ZERO32:
		return 0;
	default:
		return cluster_value(w, sr);
	}
}

static void lane_values(enum sreg sr, u32 *v)
{
	for (u32 l = 0; l < WARP_LANES; l++)
		switch (sr) {
		case SR_LANEID:
			v[l] = l;
			break;
		case SR_LM_EQ:
			v[l] = 1u << l;
			break;
		case SR_LM_LE:
			v[l] = (2u << l) - 1;
			break;
		case SR_LM_LT:
			v[l] = (1u << l) - 1;
			break;
		case SR_LM_GE:
			v[l] = -(1u << l);
			break;
		default:
			v[l] = -(2u << l);
			break;
		}
}

static bool per_lane(enum sreg sr)
{
	return (sr >= SR_TID_X && sr <= SR_TID_Z) || sr == SR_LANEID ||
	       (sr >= SR_LM_EQ && sr <= SR_LM_GT);
}

/* Writes one value to all lanes of a register of any size. */
static int sreg_all(struct warp *w, const struct insn *in, u32 mask, u64 v)
{
	if (in->wide == 8)
		MAP(u64, (void)0, v);
	else if (in->wide == 4)
		MAP(u32, (void)0, v);
	else
		MAP(u16, (void)0, v);
	return 0;
}

DEFINE(sreg)
{
	u32 other[WARP_LANES], *v = other;

	if (in->sub == SR_EXPLICIT_CLUSTER) {
		u32 *p = dst(w, in->d);

		*p = (*p & ~mask) | (w->m->explicit_cluster ? mask : 0);
		return 0;
	}
	if (!per_lane(in->sub))
		return sreg_all(w, in, mask, warp_value(w, in->sub) + in->imm);
	if (in->sub <= SR_TID_Z)
		v = w->tid[in->sub - SR_TID_X];
	else
		lane_values(in->sub, v);
	if (in->wide == 8)
		MAP(u64, (void)0, v[l]);
	else if (in->wide == 4)
		MAP(u32, (void)0, v[l]);
	else
		MAP(u16, (void)0, v[l]);
	return 0;
}

/* Computes the address of a variable in the frame of the current function. */
DEFINE(local_addr)
{
	u64 v = w->lbase + in->imm;

	if (in->wide == 8)
		MAP(u64, (void)0, v);
	else
		MAP(u32, (void)0, v);
	return 0;
}

/* ---- shared memory of a cluster ---- */

static u64 tag_of(u32 rank)
{
	u64 tag = rank < CLUSTER_NOWHERE - 1 ? rank + 1 : CLUSTER_NOWHERE;

	return tag << CLUSTER_SHIFT;
}

static u64 to_generic(const struct warp *w, u64 at)
{
	/* In a cluster the generic address of a block's own memory names the block, as on a GPU. */
	if (w->m->ncluster > 1 && at <= CLUSTER_OFFSET)
		at += tag_of(w->cta->rank);
	return at + WIN_SHARED;
}

static u64 from_generic(const struct warp *w, enum mem_space sp, u64 a)
{
	u64 at = a - WIN_SHARED;

	return sp == SP_SHARED && at - tag_of(w->cta->rank) <= CLUSTER_OFFSET ?
	       at & CLUSTER_OFFSET : at;
}

/* cvta of the shared spaces; in->sub: the other way round. */
DEFINE(cvta_shared)
{
	const u64 *a = src(w, in->a);
	u64 *d = dst(w, in->d);

	EACH_ACTIVE
		d[l] = in->sub ? from_generic(w, in->space, a[l]) : to_generic(w, a[l]);
	return 0;
}

/* Generic addresses of other memory than shared memory have no counterpart in a block. */
static u64 mapped(u64 a, u64 window, u32 rank)
{
	if ((a & WIN_MASK) != window)
		rank = CLUSTER_NOWHERE;
	return window | tag_of(rank) | (a & CLUSTER_OFFSET);
}

DEFINE(mapa_64)
{
	const u64 *a = src(w, in->a);
	const u32 *rank = src(w, in->b);
	u64 *d = dst(w, in->d), window = in->space == SP_GENERIC ? WIN_SHARED : 0;

	EACH_ACTIVE
		d[l] = mapped(a[l], window, rank[l]);
	return 0;
}

DEFINE(mapa_32)
{
	const u32 *a = src(w, in->a), *rank = src(w, in->b);
	u32 *d = dst(w, in->d);

	EACH_ACTIVE
		d[l] = mapped(a[l], 0, rank[l]);
	return 0;
}

static u32 rank_of(const struct warp *w, u64 at)
{
	return at <= CLUSTER_OFFSET ? w->cta->rank : (at >> CLUSTER_SHIFT) - 1;
}

DEFINE(getctarank_64)
{
	const u64 *a = src(w, in->a);
	u32 *d = dst(w, in->d);
	u64 window = in->space == SP_GENERIC ? WIN_SHARED : 0;

	EACH_ACTIVE
		d[l] = (a[l] & WIN_MASK) == window ? rank_of(w, a[l] & ~WIN_MASK) : ~0u;
	return 0;
}

DEFINE(getctarank_32)
{
	const u32 *a = src(w, in->a);
	u32 *d = dst(w, in->d);

	EACH_ACTIVE
		d[l] = rank_of(w, a[l]);
	return 0;
}

static bool is_const_address(struct warp *w, u64 a)
{
	const struct ptx_module *m = &w->m->img->mod;

	for (u32 i = 0; i < m->nvars; i++)
		if (m->vars[i].space == PTX_SPACE_CONST &&
		    a - (uintptr_t)m->vars[i].addr < m->vars[i].size)
			return true;
	return false;
}

static bool in_space(struct warp *w, u64 a, enum mem_space sp)
{
	u64 win = a & WIN_MASK;

	switch (sp) {
	case SP_SHARED:
		return win == WIN_SHARED && rank_of(w, a & ~WIN_MASK) == w->cta->rank;
	case SP_CLUSTER:
		return win == WIN_SHARED;
	case SP_LOCAL:
		return win == WIN_LOCAL;
	case SP_PARAM:
		return win == WIN_PARAM;
	case SP_CONST:
		return is_const_address(w, a);
	default:
		return win != WIN_SHARED && win != WIN_LOCAL;
	}
}

DEFINE(isspacep)
{
	const u64 *a = src(w, in->a);
	u32 *d = dst(w, in->d), r = 0;

	EACH_ACTIVE
		r |= (u32)in_space(w, a[l], in->space) << l;
	*d = (*d & ~mask) | r;
	return 0;
}

DEFINE(activemask)
{
	MAP(u32, (void)0, mask);
	return 0;
}
