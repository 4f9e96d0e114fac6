/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands to instructions: the common part and the plain arithmetic forms.
 *
 * The operand string of a form has one letter per operand, destination first:
 * p predicate; h, i, l, q 16, 32, 64, 128 bits; x and y 16 and 32 bits that
 * hold half floats; f, d f32 and f64; # a plain number. Sources that are not
 * registers or constants (special registers, addresses in the frame, negated
 * predicates) are first moved to a temporary register by opnd_prepare().
 */
#include <string.h>

#include "loader.h"

DECLARE_HANDLER(sreg);
DECLARE_HANDLER(local_addr);

void bad_operand(struct ptx_ctx *c, const char *why)
{
	ptx_fail(c, PTX_ERR_SYNTAX, c->line, "'%.*s': %s",
		 c->opcode.n > 100 ? 100 : (int)c->opcode.n, c->opcode.p, why);
}

void want_nops(struct ptx_ctx *c, uint32_t have, uint32_t lo, uint32_t hi)
{
	if (have < lo || have > hi)
		bad_operand(c, "wrong number of operands");
}

static enum reg_class sig_class(char sig)
{
	switch (sig) {
	case 'p':
		return RC_PRED;
	case 'h':
	case 'x':
		return RC_16;
	case 'l':
	case 'd':
		return RC_64;
	case 'q':
		return RC_128;
	default:
		return RC_32;
	}
}

/* ---- instructions and references ---- */

uint32_t insn_last(struct ptx_ctx *c)
{
	return c->code.n - 1;
}

static void add_ref(struct ptx_ctx *c, uint8_t field, uint32_t vec,
		    uint32_t vreg, bool def)
{
	struct ref *r = vec_add(c, &c->refs, sizeof(*r), 1);

	*r = (struct ref){ insn_last(c), vreg, def, field, vec };
}

void ref_add(struct ptx_ctx *c, enum ref_field f, uint32_t vreg, bool def)
{
	add_ref(c, f, 0, vreg, def);
}

void ref_vec(struct ptx_ctx *c, uint32_t at, uint32_t vreg, bool def)
{
	add_ref(c, REF_VEC, at, vreg, def);
}

/* Appends an instruction with the guard of the current statement. */
struct insn *insn_new(struct ptx_ctx *c, exec_fn *fn)
{
	struct insn *in = vec_add(c, &c->code, sizeof(*in), 1);

	in->fn = fn;
	in->line = c->line;
	in->vec = -1;
	in->slot = SLOT_NONE;
	in->len = 1;
	if (c->at_leader)
		in->flags |= INSN_LEADER;
	c->at_leader = false;
	if (c->guard) {
		in->flags |= INSN_GUARD | (c->guard->neg ? INSN_GUARD_NOT : 0);
		ref_add(c, REF_GUARD, c->guard->reg, false);
	}
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

static void field_set(struct ptx_ctx *c, enum ref_field f, int32_t v)
{
	struct insn *in = cur(c);

	switch (f) {
	case REF_D:
		in->d = v;
		break;
	case REF_A:
		in->a = v;
		break;
	case REF_B:
		in->b = v;
		break;
	case REF_C:
		in->c = v;
		break;
	default:
		in->vec = v;
		break;
	}
}

/* ---- constants ---- */

static uint32_t const_hash(enum reg_class rc, uint64_t lo, uint64_t hi,
			   const struct sym *sym)
{
	uint64_t h = lo * 0x9e3779b97f4a7c15ull + hi + rc;

	h ^= (uintptr_t)sym >> 4;
	return (h * 0x9e3779b97f4a7c15ull) >> 52;
}

/* Returns the operand of a constant. Equal constants share a place in the pool. */
int32_t const_get(struct ptx_ctx *c, enum reg_class rc, uint64_t lo,
		  uint64_t hi, const struct sym *sym)
{
	uint32_t h = const_hash(rc, lo, hi, sym);
	struct const_entry *e;
	size_t size = reg_class_bytes[rc];
	uint64_t at;

	for (uint32_t i = c->const_hash[h]; i; i = e->hash_next) {
		e = &VEC_AT(&c->consts, struct const_entry, i - 1);
		if (e->rc == rc && e->lo == lo && e->hi == hi && e->sym == sym)
			return e->offset | 1;
	}
	at = (c->const_bytes + size - 1) & ~(uint64_t)(size - 1);
	if (at > INT32_MAX / 2)
		ptx_fail(c, PTX_ERR_NOMEM, c->line, "too many constants");
	e = vec_add(c, &c->consts, sizeof(*e), 1);
	*e = (struct const_entry){ c->const_hash[h], rc, at, lo, hi, sym };
	c->const_hash[h] = c->consts.n;
	c->const_bytes = at + size;
	return at | 1;
}

static uint64_t double_bits(double d)
{
	uint64_t v;

	memcpy(&v, &d, sizeof(v));
	return v;
}

static uint32_t float_bits(float f)
{
	uint32_t v;

	memcpy(&v, &f, sizeof(v));
	return v;
}

static uint64_t f64_imm(struct opnd *o)
{
	uint32_t bits = o->imm;
	float f;

	if (o->kind == O_F64)
		return o->imm;
	memcpy(&f, &bits, sizeof(f));
	return double_bits(f);
}

static uint64_t f32_imm(struct opnd *o)
{
	double d;

	if (o->kind == O_F32)
		return o->imm;
	memcpy(&d, &o->imm, sizeof(d));
	return float_bits(d);
}

/* Returns the bits of a number that is an operand with letter @sig. */
uint64_t opnd_imm(struct ptx_ctx *c, struct opnd *o, enum reg_class rc,
		  char sig)
{
	uint64_t v = o->imm;

	if (o->kind == O_INT) {
		if (sig == 'f' || sig == 'd')
			bad_operand(c, "integer where a float is needed");
	} else if (sig == 'd' || (sig == 'l' && o->kind == O_F64)) {
		v = f64_imm(o);
	} else if (sig == 'f' || (sig == 'i' && o->kind == O_F32)) {
		v = f32_imm(o);
	} else {
		bad_operand(c, "float where an integer is needed");
	}
	switch (rc) {
	case RC_PRED:
		return v ? WARP_FULL : 0;
	case RC_16:
		return v & 0xffff;
	case RC_32:
		return v & 0xffffffff;
	default:
		return v;
	}
}

/* ---- operands ---- */

/* Records a use: the link step needs to know which shared variables a function reaches. */
void sym_used(struct ptx_ctx *c, struct sym *s)
{
	if (s->kind == SYM_VAR && s->space == V_SHARED && !s->owner &&
	    s->used_in != c->fidx + 1)
		*(struct sym **)vec_add(c, &c->fb->shared_used, sizeof(s), 1) =
			s;
	s->used_in = c->fidx + 1;
	if (s->kind == SYM_FUNC)
		FUNC_AT(c, s->func)->taken = true;
}

static bool in_frame(const struct sym *s)
{
	return s->space == V_LOCAL || (s->space == V_PARAM && !s->entry_param);
}

static void to_temp(struct ptx_ctx *c, struct opnd *o, enum reg_class rc)
{
	memset(o, 0, sizeof(*o));
	o->kind = O_REG;
	o->rc = rc;
	o->reg = vreg_new(c, rc);
	ref_add(c, REF_D, o->reg, true);
}

static void prepare_sreg(struct ptx_ctx *c, struct opnd *o,
			 enum reg_class want)
{
	enum reg_class rc = o->rc;
	struct insn *in;

	/* Old PTX reads 32-bit special registers into wider or narrower registers. */
	if (rc != RC_PRED && want != RC_PRED && want < RC_128)
		rc = want;
	in = insn_new(c, HANDLER(sreg));
	in->sub = o->imm;
	in->wide = reg_class_bytes[rc] / WARP_LANES;
	to_temp(c, o, rc);
}

/* Prepares the address of a variable whose place is known only at run time. */
static void prepare_symbol(struct ptx_ctx *c, struct opnd *o,
			   enum reg_class want)
{
	struct sym *s = o->sym;
	struct insn *in;
	uint64_t add = o->imm;

	if (want != RC_32 && want != RC_64)
		bad_operand(c, "address in a register of the wrong size");
	if (s->dynamic) {
		in = insn_new(c, HANDLER(sreg));
		in->sub = SR_DYN_BASE;
	} else {
		in = insn_new(c, HANDLER(local_addr));
		add += s->offset;
		/* The address of a parameter is a generic address: see emit_ld(). */
		if (s->space == V_PARAM)
			add += WIN_LOCAL;
	}
	in->imm = add;
	in->wide = reg_class_bytes[want] / WARP_LANES;
	to_temp(c, o, want);
}

DECLARE_HANDLER(not_pred);

/* Afterwards @o is a register, a number or a constant symbol. */
void opnd_prepare(struct ptx_ctx *c, struct opnd *o, enum reg_class want)
{
	if (o->kind == O_SREG) {
		prepare_sreg(c, o, want);
	} else if (o->kind == O_SYM && (o->sym->dynamic || in_frame(o->sym))) {
		prepare_symbol(c, o, want);
	} else if (o->kind == O_REG && o->neg) {
		insn_new(c, HANDLER(not_pred));
		ref_add(c, REF_A, o->reg, false);
		to_temp(c, o, RC_PRED);
	}
}

static int32_t symbol_const(struct ptx_ctx *c, struct opnd *o,
			    enum reg_class rc)
{
	bool is32 = o->kind == O_SYM && o->sym->space == V_SHARED;

	if (rc != RC_64 && !(rc == RC_32 && is32))
		bad_operand(c, "address in a register of the wrong size");
	sym_used(c, o->sym);
	return const_get(c, rc, o->imm, 0, o->sym);
}

static int32_t const_operand(struct ptx_ctx *c, struct opnd *o,
			     enum reg_class rc, char sig)
{
	uint64_t v;

	switch (o->kind) {
	case O_INT:
	case O_F32:
	case O_F64:
		v = opnd_imm(c, o, rc, sig);
		return const_get(c, rc, v, rc == RC_128 && o->imm < 0 ?
				 UINT64_MAX : 0, NULL);
	case O_SYM:
	case O_FUNC:
		return symbol_const(c, o, rc);
	case O_NAME:
		ptx_fail(c, PTX_ERR_SYNTAX, c->line, "'%.*s' is not defined",
			 (int)o->name.n, o->name.p);
	default:
		bad_operand(c, "operand of the wrong kind");
	}
}

void emit_src(struct ptx_ctx *c, enum ref_field f, struct opnd *o,
	      enum reg_class rc, char sig)
{
	if (o->pair)
		bad_operand(c, "'|' is not allowed here");
	if (o->kind != O_REG) {
		field_set(c, f, const_operand(c, o, rc, sig));
		return;
	}
	if (o->rc != rc)
		bad_operand(c, "register of the wrong size");
	ref_add(c, f, o->reg, false);
}

/* Emits a destination. "_" becomes a register that nobody reads. */
void emit_dst(struct ptx_ctx *c, enum ref_field f, struct opnd *o,
	      enum reg_class rc)
{
	if (o->kind == O_SINK) {
		ref_add(c, f, vreg_new(c, rc), true);
		return;
	}
	if (o->kind != O_REG)
		bad_operand(c, "the destination is not a register");
	if (o->neg)
		bad_operand(c, "'!' is not allowed here");
	if (o->rc != rc)
		bad_operand(c, "register of the wrong size");
	ref_add(c, f, o->reg, true);
}

/* ---- plain arithmetic ---- */

static void alu(struct ptx_ctx *c, exec_fn *fn, const char *sig,
		const struct attr *at, struct opnd *op)
{
	uint32_t n = strlen(sig);
	enum ref_field f = REF_A;

	if (op[0].pair)
		bad_operand(c, "'|' is not allowed here");
	for (uint32_t i = 1; i < n; i++)
		opnd_prepare(c, &op[i], sig_class(sig[i]));
	insn_new(c, fn)->mode = at->mode;
	for (uint32_t i = 1; i < n; i++) {
		if (sig[i] != '#') {
			emit_src(c, f++, &op[i], sig_class(sig[i]), sig[i]);
			continue;
		}
		if (op[i].kind != O_INT)
			bad_operand(c, "a number is needed");
		cur(c)->imm = op[i].imm;
	}
	emit_dst(c, REF_D, &op[0], sig_class(sig[0]));
}

void emit_alu(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	uint32_t n = strlen(f->sig);

	want_nops(c, nops, n, n);
	alu(c, f->fn[ptx_isa()], f->sig, at, op);
}

/* Emits an operation whose handler needs the type of the result. */
void emit_alu_types(struct ptx_ctx *c, const struct ptx_form *f,
		    const struct attr *at, struct opnd *op, uint32_t nops)
{
	emit_alu(c, f, at, op, nops);
	cur(c)->sub = at->types[0];
}

void emit_testp(struct ptx_ctx *c, const struct ptx_form *f,
		const struct attr *at, struct opnd *op, uint32_t nops)
{
	emit_alu(c, f, at, op, nops);
	cur(c)->sub = at->sub;
}

/* vshl and vshr: the fourth operand is that of a second operation (insn.sub). */
void emit_vshift(struct ptx_ctx *c, const struct ptx_form *f,
		 const struct attr *at, struct opnd *op, uint32_t nops)
{
	uint32_t want = at->aop ? 4 : 3;

	want_nops(c, nops, want, want);
	alu(c, f->fn[ptx_isa()], at->aop ? "iiii" : "iii", at, op);
	cur(c)->sub = at->aop;
	cur(c)->sub2 = (at->types[0] == T_S32 ? VSHIFT_SIGNED_RESULT : 0) |
		       (at->types[1] == T_S32 ? VSHIFT_SIGNED_SOURCE : 0);
}

/* ---- comparisons ---- */

/* Emits the predicate operands of setp: dst p{|q}, a, b{, {!}c}. */
static void setp(struct ptx_ctx *c, exec_fn *fn, const char *sig,
		 const struct attr *at, struct opnd *op, struct opnd *bool_op)
{
	struct opnd *q = &op[0];

	opnd_prepare(c, &op[1], sig_class(sig[1]));
	opnd_prepare(c, &op[2], sig_class(sig[2]));
	if (bool_op)
		opnd_prepare(c, bool_op, RC_PRED);
	insn_new(c, fn);
	cur(c)->mode = at->mode;
	cur(c)->sub = at->cmp;
	cur(c)->sub2 = at->bop;
	emit_src(c, REF_A, &op[1], sig_class(sig[1]), sig[1]);
	emit_src(c, REF_B, &op[2], sig_class(sig[2]), sig[2]);
	if (bool_op)
		emit_src(c, REF_C, bool_op, RC_PRED, 'p');
	emit_dst(c, REF_D, &op[0], RC_PRED);
	if (!q->pair || q->pair == UINT32_MAX)
		return;
	if (q->pair_rc != RC_PRED)
		bad_operand(c, "register of the wrong size");
	ref_add(c, REF_E, q->pair - 1, true);
}

void emit_setp(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	uint32_t n = at->bop ? 4 : 3;

	want_nops(c, nops, n, n);
	setp(c, f->fn[ptx_isa()], f->sig, at, op, at->bop ? &op[3] : NULL);
}

DECLARE_HANDLER(selp_32);

static void selp_consts(struct ptx_ctx *c, struct opnd *d, uint32_t vreg,
			uint32_t yes)
{
	insn_new(c, HANDLER(selp_32));
	field_set(c, REF_A, const_get(c, RC_32, yes, 0, NULL));
	field_set(c, REF_B, const_get(c, RC_32, 0, 0, NULL));
	ref_add(c, REF_C, vreg, false);
	emit_dst(c, REF_D, d, RC_32);
}

/* set is setp to a temporary, followed by all ones or 1.0. */
void emit_set(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	uint32_t n = at->bop ? 4 : 3;
	struct opnd d = op[0];

	want_nops(c, nops, n, n);
	op[0] = (struct opnd){ .kind = O_REG, .rc = RC_PRED,
			       .reg = vreg_new(c, RC_PRED) };
	setp(c, f->fn[ptx_isa()], f->sig, at, op, at->bop ? &op[3] : NULL);
	selp_consts(c, &d, op[0].reg, at->types[0] == T_F32 ? 0x3f800000 :
		    0xffffffff);
}

/* For set of half floats the handler writes the values itself. */
void emit_set16(struct ptx_ctx *c, const struct ptx_form *f,
		const struct attr *at, struct opnd *op, uint32_t nops)
{
	if (at->bop)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
			 "unsupported instruction '%.*s' (with a predicate)",
			 (int)c->opcode.n, c->opcode.p);
	emit_alu(c, f, at, op, nops);
	cur(c)->sub = at->cmp;
	cur(c)->sub2 = ptx_types[at->types[0]].is_float;
}

DECLARE_HANDLER(setp_ge_s32);
DECLARE_HANDLER(setp_ge_f32);

/* slct d, a, b, c selects a where c >= 0, and b otherwise (also for a NaN). */
void emit_slct(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	static const struct attr none;
	bool flt = at->types[1] == T_F32;
	char sig[] = { f->sig[0], f->sig[1], f->sig[2], 'p', 0 };
	char cmp[] = { 'p', f->sig[3], f->sig[3], 0 };
	struct opnd t[3] = { { .kind = O_REG, .rc = RC_PRED } };

	want_nops(c, nops, 4, 4);
	t[0].reg = vreg_new(c, RC_PRED);
	t[1] = op[3];
	t[2].kind = flt ? O_F32 : O_INT;
	setp(c, flt ? HANDLER(setp_ge_f32) : HANDLER(setp_ge_s32), cmp, at, t,
	     NULL);
	op[3] = t[0];
	alu(c, f->fn[ptx_isa()], sig, &none, op);
}

DECLARE_HANDLER(lop3_32);
DECLARE_HANDLER(setp_ne_32);

/* lop3.op d|p, a, b, c, lut, q sets p = (d != 0) op q. */
void emit_lop3(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	struct opnd t[3] = { { .kind = O_REG, .rc = RC_PRED } };
	struct opnd d = { .kind = O_REG, .rc = RC_32 };

	(void)f;
	want_nops(c, nops, 6, 6);
	if (!op[0].pair || op[0].pair == UINT32_MAX)
		bad_operand(c, "a predicate destination is needed");
	t[0].reg = op[0].pair - 1;
	t[0].rc = op[0].pair_rc;
	d.reg = op[0].kind == O_SINK ? vreg_new(c, RC_32) : op[0].reg;
	if (op[0].kind == O_REG)
		d.rc = op[0].rc;
	opnd_prepare(c, &op[5], RC_PRED);
	op[0] = d;
	alu(c, HANDLER(lop3_32), "iiii#", at, op);
	t[1] = d;
	t[2].kind = O_INT;
	setp(c, HANDLER(setp_ne_32), "pii", at, t, &op[5]);
}

void emit_nop(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	(void)c, (void)f, (void)at, (void)op, (void)nops;
}

DECLARE_HANDLER(mov_64);

/* Cache policies have no effect here, so any value is right. */
void emit_policy(struct ptx_ctx *c, const struct ptx_form *f,
		 const struct attr *at, struct opnd *op, uint32_t nops)
{
	struct opnd o[2] = { { 0 }, { .kind = O_INT } };

	(void)f;
	want_nops(c, nops, 1, 2);
	o[0] = op[0];
	alu(c, HANDLER(mov_64), "ll", at, o);
}
