/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step of a load: checks calls against their targets, gives shared
 * variables their offsets, finds how much stack each kernel needs, fills in
 * addresses in constants and initialisers, and moves everything to the image.
 */
#include <stdlib.h>
#include <string.h>

#include "loader.h"

#define MAX_CALL_DEPTH	2048
#define MAX_PACKED_VARS	512

/* ---- functions and calls ---- */

static bool runnable(const struct func_build *fb)
{
	return fb->fn->code->defined || fb->fn->code->builtin;
}

static void check_defined(struct ptx_ctx *c)
{
	for (uint32_t i = 0; i < c->funcs.n; i++) {
		struct func_build *fb = FUNC_AT(c, i);

		if (fb->taken && !runnable(fb))
			ptx_fail(c, PTX_ERR_UNRESOLVED, fb->line,
				 "function '%s' is not defined", fb->fn->name);
		if (fb->fn->entry && !fb->fn->code->defined)
			ptx_fail(c, PTX_ERR_UNRESOLVED, fb->line,
				 "kernel '%s' is not defined", fb->fn->name);
	}
}

static bool site_fits(const struct call_site *s, const struct ptx_code *t)
{
	if (s->nargs != t->nformals || s->nrets > t->nresults)
		return false;
	for (uint32_t i = 0; i < s->nargs + s->nrets; i++)
		if (s->args[i].size != t->formals[i].size)
			return false;
	return true;
}

static void check_call(struct ptx_ctx *c, struct insn *in)
{
	struct call_site *s = &VEC_AT(&c->sites, struct call_site, in->vec);
	struct func_build *fb;

	if (s->callee < 0)
		return;
	fb = FUNC_AT(c, s->callee);
	if (!runnable(fb))
		ptx_fail(c, PTX_ERR_UNRESOLVED, in->line,
			 "function '%s' is not defined", fb->fn->name);
	if (fb->fn->entry)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, in->line,
			 "unsupported: call of kernel '%s'", fb->fn->name);
	if (!fb->fn->code->formals || !site_fits(s, fb->fn->code))
		ptx_fail(c, PTX_ERR_SYNTAX, in->line,
			 "call does not fit the parameters of '%s'",
			 fb->fn->name);
	s->builtin = fb->fn->code->builtin;
	if ((s->builtin == CALL_VPRINTF &&
	     (s->nargs != 2 || s->args[0].size != 8 || s->args[1].size != 8)) ||
	    (s->builtin == CALL_ASSERTFAIL && s->nargs != 5) ||
	    (s->builtin == CALL_CONDITION &&
	     (s->nargs != 2 || s->args[0].size != 8 || s->args[1].size != 4)))
		ptx_fail(c, PTX_ERR_SYNTAX, in->line,
			 "call does not fit the parameters of '%s'",
			 fb->fn->name);
}

static void check_calls(struct ptx_ctx *c)
{
	for (uint32_t i = 0; i < c->code.n; i++) {
		struct insn *in = &VEC_AT(&c->code, struct insn, i);

		if (in->flags & INSN_CTL && in->ctl == CTL_CALL)
			check_call(c, in);
	}
}

/* ---- the call graph ---- */

typedef void visit_fn(struct ptx_ctx *c, struct func_build *fb, void *arg);

/* Returns the n-th function that @fb may call, or NULL after the last one. */
static struct func_build *callee(struct ptx_ctx *c, struct func_build *fb,
				 uint32_t *n)
{
	while (*n < fb->callees.n)
		return FUNC_AT(c, VEC_AT(&fb->callees, uint32_t, (*n)++));
	if (!fb->indirect)
		return NULL;
	while (*n - fb->callees.n < c->funcs.n) {
		struct func_build *t = FUNC_AT(c, *n - fb->callees.n);

		++*n;
		if (t->taken)
			return t;
	}
	return NULL;
}

/* Calls @visit for all functions that @fb may run, including itself, once per @mark. */
static void reach(struct ptx_ctx *c, struct func_build *fb, uint32_t mark,
		  uint32_t depth, visit_fn *visit, void *arg)
{
	struct func_build *t;
	uint32_t n = 0;

	if (fb->mark == mark)
		return;
	if (depth == MAX_CALL_DEPTH)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, fb->line,
			 "unsupported: more than %d nested calls",
			 MAX_CALL_DEPTH);
	fb->mark = mark;
	visit(c, fb, arg);
	while ((t = callee(c, fb, &n)))
		reach(c, t, mark, depth + 1, visit, arg);
}

struct need {
	uint64_t regs, local;
	bool unbounded;
};

/* @visit is 0 before the visit, 1 during it, and 2 when it is done. */
static void stack_need(struct ptx_ctx *c, struct func_build *fb,
		       uint32_t depth)
{
	struct ptx_code *code = fb->fn->code;
	struct need m = { 0 };
	struct func_build *t;
	uint32_t n = 0;

	if (depth == MAX_CALL_DEPTH)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, fb->line,
			 "unsupported: more than %d nested calls",
			 MAX_CALL_DEPTH);
	fb->visit = 1;
	while ((t = callee(c, fb, &n))) {
		struct ptx_code *tc = t->fn->code;

		if (!t->visit)
			stack_need(c, t, depth + 1);
		if (t->visit == 1 || (!tc->stack_regs && !tc->builtin))
			m.unbounded = true;
		if (tc->stack_regs > m.regs)
			m.regs = tc->stack_regs;
		if (tc->stack_local > m.local)
			m.local = tc->stack_local;
	}
	m.regs += code->frame_bytes;
	m.local += code->local_frame;
	if (m.regs > UINT32_MAX / 2 || m.local > UINT32_MAX / 2)
		m.unbounded = true;
	code->stack_regs = m.unbounded ? 0 : m.regs;
	code->stack_local = m.unbounded ? code->local_frame : m.local;
	fb->visit = 2;
}

/* ---- shared memory ---- */

struct shared_set {
	struct vec vars;	/* struct sym * that this kernel reaches */
	uint32_t words;
};

/* Several functions may see the variable, so it has one offset in all kernels. */
static bool is_common(struct ptx_ctx *c, const struct sym *s)
{
	return !s->owner || !FUNC_AT(c, s->owner - 1)->fn->entry;
}

static void collect(struct ptx_ctx *c, struct func_build *fb, void *arg)
{
	struct vec *set = arg;

	for (int k = 0; k < 2; k++) {
		struct vec *v = k ? &fb->own_vars : &fb->shared_used;

		for (uint32_t i = 0; i < v->n; i++) {
			struct sym *s = VEC_AT(v, struct sym *, i);

			if (is_common(c, s) && !s->dynamic)
				*(struct sym **)vec_add(c, set, sizeof(s), 1) =
					s;
		}
	}
}

static uint64_t align_up(uint64_t v, uint64_t a)
{
	return (v + a - 1) & ~(a - 1);
}

/* Places @s at the first offset where it overlaps no placed variable of the kernel. */
static void place_common(struct vec *set, struct sym *s, uint64_t from)
{
	uint64_t at = align_up(from, s->align);
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < set->n; i++) {
			struct sym *o = VEC_AT(set, struct sym *, i);

			if (!o->placed || at >= o->offset + o->size ||
			    o->offset >= at + s->size)
				continue;
			at = align_up(o->offset + o->size, s->align);
			moved = true;
		}
	}
	s->offset = at;
	s->placed = true;
}

static uint64_t extent(struct vec *set)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < set->n; i++) {
		struct sym *s = VEC_AT(set, struct sym *, i);

		if (s->placed && s->offset + s->size > end)
			end = s->offset + s->size;
	}
	return end;
}

/*
 * A variable that two kernels reach must not move into a gap that is free in only one of
 * them. So variables that kernels share are placed above everything that has a place
 * already.
 */
static void place_set(struct ptx_ctx *c, struct vec *set, uint64_t *top)
{
	for (uint32_t i = 0; i < set->n; i++) {
		struct sym *s = VEC_AT(set, struct sym *, i);
		bool alone = s->count == 1 && set->n <= MAX_PACKED_VARS;

		if (s->placed)
			continue;
		place_common(set, s, alone ? 0 : *top);
		if (s->offset + s->size > *top)
			*top = s->offset + s->size;
	}
	(void)c;
}

static void count_uses(struct vec *set, uint32_t mark)
{
	for (uint32_t i = 0; i < set->n; i++) {
		struct sym *s = VEC_AT(set, struct sym *, i);

		/* vreg is unused in variables; here it is the kernel that counted last. */
		if (s->vreg != mark)
			s->count++;
		s->vreg = mark;
	}
}

static void place_own(struct ptx_ctx *c, struct func_build *fb, uint64_t at)
{
	for (uint32_t i = 0; i < fb->own_vars.n; i++) {
		struct sym *s = VEC_AT(&fb->own_vars, struct sym *, i);

		at = align_up(at, s->align);
		s->offset = at;
		s->placed = true;
		at += s->size;
	}
	if (at > UINT32_MAX / 2)
		ptx_fail(c, PTX_ERR_SYNTAX, fb->line,
			 "'%s' needs too much shared memory", fb->fn->name);
	fb->fn->static_shared = at;
}

static void place_shared(struct ptx_ctx *c)
{
	uint64_t top = 0;
	uint32_t mark = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < c->funcs.n; i++) {
			struct func_build *fb = FUNC_AT(c, i);

			if (!fb->fn->entry)
				continue;
			c->set.n = 0;
			reach(c, fb, ++mark, 0, collect, &c->set);
			if (!pass) {
				count_uses(&c->set, mark);
				continue;
			}
			place_set(c, &c->set, &top);
			place_own(c, fb, extent(&c->set));
		}
}

/* ---- addresses ---- */

uint64_t sym_address(struct ptx_ctx *c, const struct sym *s, uint32_t line)
{
	if (s->kind == SYM_FUNC)
		return WIN_FUNC + 16ull * s->func;
	switch (s->space) {
	case V_GLOBAL:
	case V_CONST:
		if (s->var < 0)
			ptx_fail(c, PTX_ERR_UNRESOLVED, line ? line : s->line,
				 "variable '%.*s' is not defined",
				 (int)s->name.n, s->name.p);
		return (uintptr_t)VEC_AT(&c->vars, struct ptx_var,
					 s->var).addr;
	case V_SHARED:
		return s->offset;
	default:
		return WIN_PARAM + s->offset;
	}
}

static void fill_lanes(uint8_t *at, const struct const_entry *e, uint64_t v)
{
	for (int l = 0; l < WARP_LANES; l++)
		switch (e->rc) {
		case RC_PRED:
			memcpy(at, &v, 4);
			return;
		case RC_16:
			memcpy(at + 2 * l, &v, 2);
			break;
		case RC_32:
			memcpy(at + 4 * l, &v, 4);
			break;
		case RC_64:
			memcpy(at + 8 * l, &v, 8);
			break;
		default:
			memcpy(at + 16 * l, &v, 8);
			memcpy(at + 16 * l + 8, &e->hi, 8);
			break;
		}
}

static void fill_consts(struct ptx_ctx *c)
{
	size_t size = align_up(c->const_bytes + 64, 64);
	uint8_t *p = aligned_alloc(64, size);

	if (!p)
		ptx_fail(c, PTX_ERR_NOMEM, 0, "out of memory");
	c->img->consts = p;
	c->img->const_bytes = size;
	memset(p, 0, size);
	for (uint32_t i = 0; i < c->consts.n; i++) {
		struct const_entry *e = &VEC_AT(&c->consts, struct const_entry,
						i);
		uint64_t v = e->lo;

		if (e->sym)
			v += sym_address(c, e->sym, 0);
		fill_lanes(p + e->offset, e, v);
	}
}

static void fill_inits(struct ptx_ctx *c)
{
	for (uint32_t i = 0; i < c->fixes.n; i++) {
		struct init_fix *f = &VEC_AT(&c->fixes, struct init_fix, i);
		struct ptx_var *v = &VEC_AT(&c->vars, struct ptx_var, f->var);
		uint64_t a = sym_address(c, f->sym, f->line) + f->add;

		if (f->mask)
			a = (a & f->mask) >> __builtin_ctzll(f->mask);
		else if (f->size != 8)
			ptx_fail(c, PTX_ERR_SYNTAX, f->line,
				 "address in a variable of %u bytes", f->size);
		memcpy((uint8_t *)v->addr + f->at, &a, f->size < 8 ? f->size :
		       8);
	}
}

/* ---- the image ---- */

static void *steal(struct vec *v)
{
	void *p = v->p;

	v->p = NULL;
	v->n = v->cap = 0;
	return p;
}

static void fill_module(struct ptx_ctx *c)
{
	struct ptx_image *img = c->img;
	struct ptx_module *m = &img->mod;

	m->version = c->version;
	m->target = c->target;
	m->nfuncs = c->funcs.n;
	m->funcs = arena_get(c, &img->arena, c->funcs.n * sizeof(*m->funcs));
	for (uint32_t i = 0; i < c->funcs.n; i++) {
		m->funcs[i] = *FUNC_AT(c, i)->fn;
		m->funcs[i].module = m;
	}
	m->nvars = c->vars.n;
	m->vars = arena_get(c, &img->arena, c->vars.n * sizeof(*m->vars));
	if (c->vars.n)
		memcpy(m->vars, c->vars.p, c->vars.n * sizeof(*m->vars));
	img->dyn_align = c->dyn_align;
	img->ncode = c->code.n;
	img->nsites = c->sites.n;
	img->code = steal(&c->code);
	img->vecs = steal(&c->vecs);
	img->sites = steal(&c->sites);
}

void ptx_finish(struct ptx_ctx *c)
{
	check_defined(c);
	check_calls(c);
	for (uint32_t i = 0; i < c->funcs.n; i++) {
		struct func_build *fb = FUNC_AT(c, i);

		if (!fb->visit)
			stack_need(c, fb, 0);
		fb->fn->local_bytes = fb->fn->code->stack_local;
	}
	place_shared(c);
	fill_consts(c);
	fill_inits(c);
	fill_module(c);
}
