/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and returns. A call pushes a register frame and a local frame for the
 * lanes that make it; each lane has its own return address, in the head of the
 * frame, since lanes may reach a function from different places. Arguments and
 * results are copied between the .param variables of the two frames.
 */
#include <string.h>

#include "warp.h"

static const struct ptx_func *func_at(struct warp *w, uint32_t i)
{
	return &w->m->img->mod.funcs[i];
}

static void copy_args(struct warp *w, uint32_t mask, uint32_t to_base,
		      const struct call_arg *to, uint32_t from_base,
		      const struct call_arg *from, uint32_t n)
{
	for (; mask; mask &= mask - 1) {
		uint8_t *p = lane_local(w, __builtin_ctz(mask));

		for (uint32_t i = 0; i < n; i++)
			memcpy(p + to_base + to[i].from,
			       p + from_base + from[i].from, to[i].size);
	}
}

static bool fits(const struct call_site *s, const struct ptx_func *f)
{
	const struct ptx_code *t = f->code;

	if (f->entry || !t->defined || s->nargs != t->nformals ||
	    s->nrets > t->nresults)
		return false;
	for (uint32_t i = 0; i < s->nargs + s->nrets; i++)
		if (s->args[i].size != t->formals[i].size)
			return false;
	return true;
}

static enum run enter(struct warp *w, struct group *g, const struct insn *in,
		      const struct call_site *s, const struct ptx_code *to)
{
	const struct ptx_code *from = func_at(w, s->caller)->code;
	uint64_t rbase = (uint64_t)g->rbase + from->frame_bytes;
	uint64_t lbase = (uint64_t)g->lbase + from->local_frame;
	uint32_t *ret;

	if (rbase + to->frame_bytes > w->m->regs_size ||
	    lbase + to->local_frame > w->m->local_size) {
		exec_fault(w, EXEC_STACK_OVERFLOW, in, __builtin_ctz(g->mask),
			   0);
		return RUN_FAULT;
	}
	copy_args(w, g->mask, lbase, to->formals, g->lbase, s->args, s->nargs);
	ret = (uint32_t *)(w->regs + rbase);
	for (uint32_t m = g->mask; m; m &= m - 1)
		ret[__builtin_ctz(m)] = g->pc + 1;
	g->rbase = rbase;
	g->lbase = lbase;
	g->depth++;
	g->fn = to->index;
	g->pc = to->first;
	return RUN_PICK;
}

static enum run call_builtin(struct warp *w, struct group *g,
			     const struct insn *in, const struct call_site *s,
			     enum call_builtin which)
{
	int r = which == CALL_VPRINTF ? exec_vprintf(w, s, in, g->mask) :
		which == CALL_CONDITION ? exec_condition(w, s, in, g->mask) :
		exec_assert(w, s, in, g->mask);

	g->pc++;
	return r ? RUN_FAULT : RUN_PICK;
}

/* Calls through a register: the lanes of each target make a call of their own. */
static enum run call_indirect(struct warp *w, struct group *g,
			      const struct insn *in, const struct call_site *s)
{
	const uint64_t *a = src(w, in->a);
	uint32_t left = g->mask;

	while (left) {
		uint32_t l = __builtin_ctz(left), same = 0;
		uint64_t i = (a[l] - WIN_FUNC) / 16;
		struct group *part = g;
		enum run r;

		if (a[l] % 16 || i >= w->m->img->mod.nfuncs ||
		    !fits(s, func_at(w, i))) {
			exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, a[l]);
			return RUN_FAULT;
		}
		for (uint32_t m = left; m; m &= m - 1)
			if (a[__builtin_ctz(m)] == a[l])
				same |= m & -m;
		left &= ~same;
		if (left)
			part = group_split(w, g, same);
		r = enter(w, part, in, s, func_at(w, i)->code);
		if (r == RUN_FAULT)
			return r;
	}
	return RUN_PICK;
}

enum run exec_call(struct warp *w, struct group *g, const struct insn *in,
		   uint32_t mask)
{
	const struct call_site *s = &w->m->img->sites[in->vec];

	group_keep(w, g, mask);
	if (s->callee < 0)
		return call_indirect(w, g, in, s);
	if (s->builtin)
		return call_builtin(w, g, in, s, s->builtin);
	return enter(w, g, in, s, func_at(w, s->callee)->code);
}

/* Returns from a function. All lanes of @g were called by the call before @ret. */
static void leave(struct warp *w, struct group *g, uint32_t ret)
{
	const struct insn *in = &w->m->img->code[ret - 1];
	const struct call_site *s = &w->m->img->sites[in->vec];
	const struct ptx_code *from = func_at(w, g->fn)->code;
	const struct ptx_code *to = func_at(w, s->caller)->code;
	uint32_t lbase = g->lbase - to->local_frame;

	copy_args(w, g->mask, lbase, s->args + s->nargs, g->lbase,
		  from->formals + from->nformals, s->nrets);
	g->rbase -= to->frame_bytes;
	g->lbase = lbase;
	g->depth--;
	g->fn = s->caller;
	g->pc = ret;
}

enum run exec_return(struct warp *w, struct group *g, uint32_t mask)
{
	const uint32_t *ret = (const uint32_t *)group_bank(w, g);

	group_keep(w, g, mask);
	while (mask) {
		uint32_t to = ret[__builtin_ctz(mask)], same = 0;

		for (uint32_t m = mask; m; m &= m - 1)
			if (ret[__builtin_ctz(m)] == to)
				same |= m & -m;
		mask &= ~same;
		leave(w, mask ? group_split(w, g, same) : g, to);
	}
	return RUN_PICK;
}
