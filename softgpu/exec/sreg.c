/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers: special registers, addresses in the frame, isspacep, activemask. */
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
		return w->m->blocks_done % (l->nsm ? l->nsm : 1);
	for (n = w->m->blocks_done % (u32)__builtin_popcountll(sms); n; n--)
		sms &= sms - 1;
	return (u32)__builtin_ctzll(sms);
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
	case SR_ONE32:
		return 1;
	case SR_GRID_WS_HI:
		return l->cooperative ? (uintptr_t)&w->m->ws >> 32 : 0;
	case SR_GRID_WS_LO:
		return l->cooperative ? (uintptr_t)&w->m->ws : 0;
	default:
		return 0;
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

	if (in->sub == SR_FALSE) {
		*(u32 *)dst(w, in->d) &= ~mask;
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
