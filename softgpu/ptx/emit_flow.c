/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches, calls, barriers, and instructions that need several lanes of a warp. The
 * executor's scheduler runs all of these (INSN_CTL), since they change which lanes run
 * where.
 */
#include <string.h>

#include "loader.h"

/* This bounds the cost of many jumps through the same long table. */
#define MAX_VECS	(4u << 20)

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

static void ctl_new(struct ptx_ctx *c, enum insn_ctl ctl)
{
	insn_new(c, NULL);
	cur(c)->ctl = ctl;
	cur(c)->flags |= INSN_CTL;
}

void emit_bra(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)f, (void)at;
	want_nops(c, nops, 1, 1);
	if (op[0].kind != O_NAME)
		bad_operand(c, "a label is needed");
	ctl_new(c, CTL_BRA);
	label_use(c, op[0].name, insn_last(c), -1);
	/* Lanes that do not take the branch wait at the next instruction. */
	c->at_leader = true;
}

void emit_brx(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	struct sym *s;
	uint32_t first;

	(void)f, (void)at;
	want_nops(c, nops, 2, 2);
	s = op[1].kind == O_NAME ? op[1].sym : NULL;
	if (!s || s->kind != SYM_TARGETS)
		bad_operand(c, "a list of .branchtargets is needed");
	if (c->vecs.n > MAX_VECS)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
			 "unsupported: too many branch targets");
	opnd_prepare(c, &op[0], RC_32);
	vec_add(c, &c->vecs, sizeof(int32_t), s->ntargets + 1);
	first = c->vecs.n - s->ntargets - 1;
	ctl_new(c, CTL_BRX);
	cur(c)->vec = first;
	VEC_AT(&c->vecs, int32_t, first) = s->ntargets;
	emit_src(c, REF_A, &op[0], RC_32, 'i');
	for (uint32_t i = 0; i < s->ntargets; i++)
		label_use(c, s->targets[i], insn_last(c), first + 1 + i);
	c->at_leader = true;
}

void emit_ret(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)f, (void)at, (void)op;
	want_nops(c, nops, 0, 0);
	ctl_new(c, c->fb->fn->entry ? CTL_EXIT : CTL_RET);
	c->at_leader = true;
}

void emit_exit(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)f, (void)at, (void)op;
	want_nops(c, nops, 0, 0);
	ctl_new(c, CTL_EXIT);
	c->at_leader = true;
}

void emit_trap(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)f, (void)at, (void)op;
	want_nops(c, nops, 0, 0);
	ctl_new(c, CTL_TRAP);
}

void emit_yield(struct ptx_ctx *c, const struct ptx_form *f,
		const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)f, (void)at, (void)op;
	want_nops(c, nops, 1, 1);
	ctl_new(c, CTL_YIELD);
}

/* ---- calls ---- */

/* Parses "(a, b)": variables of .param space in the frame of the caller. */
static uint32_t parse_args(struct ptx_ctx *c, struct vec *args)
{
	uint32_t n = 0;

	if (!take_punct(c, '('))
		return 0;
	if (take_punct(c, ')'))
		return 0;
	do {
		struct call_arg *a;
		struct sym *s;

		if (c->tok.kind != TOK_IDENT)
			ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
				 "unsupported: call with a number");
		s = sym_find(c, c->tok.s);
		if (!s || s->kind != SYM_VAR || s->space != V_PARAM ||
		    s->entry_param)
			ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
				 "unsupported: argument '%.*s' is not a .param "
				 "variable", (int)c->tok.s.n, c->tok.s.p);
		next(c);
		a = vec_add(c, args, sizeof(*a), 1);
		a->from = s->offset;
		a->size = s->size;
		n++;
	} while (take_punct(c, ','));
	want_punct(c, ')');
	return n;
}

static struct call_site *site_new(struct ptx_ctx *c)
{
	struct call_site *s = vec_add(c, &c->sites, sizeof(*s), 1);

	s->caller = c->fidx;
	s->callee = -1;
	return s;
}

/* In the text results come first; in the call site arguments come first. */
static void site_args(struct ptx_ctx *c, struct call_site *s, struct vec *v,
		      uint32_t nrets, uint32_t nargs)
{
	struct call_arg *a = v->p;

	s->nargs = nargs;
	s->nrets = nrets;
	s->args = arena_get(c, &c->img->arena,
			    (nargs + nrets) * sizeof(*a) + 1);
	if (nargs)
		memcpy(s->args, a + nrets, nargs * sizeof(*a));
	if (nrets)
		memcpy(s->args + nargs, a, nrets * sizeof(*a));
}

static void call_target(struct ptx_ctx *c, struct opnd *t)
{
	struct call_site *s;

	parse_operand(c, t);
	if (t->kind != O_FUNC && (t->kind != O_REG || t->rc != RC_64))
		ptx_fail(c, t->kind == O_NAME ? PTX_ERR_UNRESOLVED :
			 PTX_ERR_SYNTAX, c->line,
			 "call of '%.*s', which is no function",
			 (int)t->name.n, t->name.p);
	ctl_new(c, CTL_CALL);
	s = site_new(c);
	cur(c)->vec = c->sites.n - 1;
	if (t->kind == O_FUNC) {
		s->callee = t->sym->func;
		*(uint32_t *)vec_add(c, &c->fb->callees, sizeof(uint32_t), 1) =
			t->sym->func;
	} else {
		c->fb->indirect = true;
		ref_add(c, REF_A, t->reg, false);
	}
}

/*
 * Parses call{.uni} {(results),} target {, (arguments)} {, prototype}. The operands are
 * parsed here because of the parentheses.
 */
void emit_call(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	uint32_t nrets = 0, nargs = 0;

	(void)f, (void)at, (void)nops;
	c->args.n = 0;
	if (is_punct(c, '(')) {
		nrets = parse_args(c, &c->args);
		want_punct(c, ',');
	}
	call_target(c, &op[0]);
	if (take_punct(c, ',') && is_punct(c, '(')) {
		nargs = parse_args(c, &c->args);
		if (take_punct(c, ','))
			want_ident(c);
	} else if (c->tok.kind == TOK_IDENT) {
		want_ident(c);
	}
	site_args(c, &VEC_AT(&c->sites, struct call_site, c->sites.n - 1),
		  &c->args, nrets, nargs);
}

/* ---- barriers ---- */

/* insn.n = 1 means that a count of threads is given. insn.sub is enum bar_op. */
void emit_bar(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	bool red = at->sub == BAR_RED;
	struct opnd *a = red ? op + 1 : op;
	uint32_t n = nops - (red ? 2 : 0);

	if (red && nops < 3)
		bad_operand(c, "wrong number of operands");
	want_nops(c, n, at->sub == BAR_ARRIVE ? 2 : 1, 2);
	for (uint32_t i = 0; i < n; i++)
		opnd_prepare(c, &a[i], RC_32);
	if (red)
		opnd_prepare(c, &op[nops - 1], RC_PRED);
	ctl_new(c, CTL_BAR);
	cur(c)->sub = at->sub;
	cur(c)->sub2 = at->aop;
	cur(c)->n = n == 2;
	cur(c)->mode = at->aligned || f->pat[3] == '{';
	emit_src(c, REF_A, &a[0], RC_32, 'i');
	if (n == 2)
		emit_src(c, REF_B, &a[1], RC_32, 'i');
	if (!red)
		return;
	emit_src(c, REF_C, &op[nops - 1], RC_PRED, 'p');
	emit_dst(c, REF_D, &op[0], f->sig[0] == 'p' ? RC_PRED : RC_32);
}

/* The barrier of a cluster: insn.sub is BAR_ARRIVE, or BAR_SYNC for the wait. */
void emit_bar_cluster(struct ptx_ctx *c, const struct ptx_form *f,
		      const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)f, (void)op;
	want_nops(c, nops, 0, 0);
	ctl_new(c, CTL_CLUSTER);
	cur(c)->sub = at->sub;
}

/* ---- shfl, vote, match, redux, elect, bar.warp.sync ---- */

static enum sync_op sync_op_of(const struct attr *at)
{
	switch (at->base[0]) {
	case 'b':
		return SYNC_WARP;
	case 'm':
		return at->sub == SYNC_VOTE_ALL ? SYNC_MATCH_ALL :
		       SYNC_MATCH_ANY;
	case 'r':
		return SYNC_REDUX;
	case 'e':
		return SYNC_ELECT;
	default:
		return at->sub;
	}
}

static enum reg_class sync_class(char sig)
{
	return sig == 'p' ? RC_PRED : sig == 'l' ? RC_64 : RC_32;
}

/* Emits the destination, which may have a predicate: insn.imm is its list, or -1. */
static void sync_dst(struct ptx_ctx *c, struct opnd *d, enum reg_class rc,
		     bool pair_allowed)
{
	uint32_t vec;

	cur(c)->imm = -1;
	emit_dst(c, REF_D, d, rc);
	if (!d->pair)
		return;
	if (!pair_allowed)
		bad_operand(c, "'|' is not allowed here");
	if (d->pair == UINT32_MAX)
		return;
	if (d->pair_rc != RC_PRED)
		bad_operand(c, "register of the wrong size");
	vec_add(c, &c->vecs, sizeof(int32_t), 1);
	vec = c->vecs.n - 1;
	cur(c)->imm = vec;
	ref_vec(c, vec, d->pair - 1, true);
}

/* Emits the sources that the operand string names, then the member mask in REF_E. */
void emit_sync(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	enum sync_op sop = sync_op_of(at);
	uint32_t n = strlen(f->sig), want = n + 1;
	bool pair = (sop >= SYNC_SHFL_UP && sop <= SYNC_SHFL_IDX) ||
		    sop == SYNC_MATCH_ALL || sop == SYNC_ELECT;

	want_nops(c, nops, want, want);
	for (uint32_t i = 1; i < want; i++)
		opnd_prepare(c, &op[i], i < n ? sync_class(f->sig[i]) : RC_32);
	if (!n)
		opnd_prepare(c, &op[0], RC_32);
	ctl_new(c, CTL_SYNC);
	cur(c)->sub = sop;
	cur(c)->sub2 = at->aop;
	cur(c)->mode = at->ntypes ? at->types[0] : 0;
	cur(c)->wide = n > 1 && f->sig[1] == 'l' ? 8 : 4;
	for (uint32_t i = 1; i < n; i++)
		emit_src(c, REF_A + i - 1, &op[i], sync_class(f->sig[i]),
			 f->sig[i]);
	emit_src(c, REF_E, &op[want - 1], RC_32, 'i');
	cur(c)->imm = -1;
	if (n)
		sync_dst(c, &op[0], sync_class(f->sig[0]), pair);
}
