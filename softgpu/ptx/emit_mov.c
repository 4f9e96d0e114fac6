/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves (also packing and unpacking of vectors) and conversions. A conversion
 * has a handler of its own when it is common and its registers have exactly
 * the sizes of its types; all others go through the general ones, which know
 * the types from insn.sub (result) and insn.sub2 (operand).
 */
#include <string.h>

#include "loader.h"

DECLARE_HANDLER(mov_pack);
DECLARE_HANDLER(mov_unpack);

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

static uint8_t lane_bytes(enum reg_class rc)
{
	return reg_class_bytes[rc] / WARP_LANES;
}

/* ---- mov ---- */

static void check_pack(struct ptx_ctx *c, struct opnd *v, enum reg_class rc)
{
	if (v->nvec != 2 && v->nvec != 4)
		bad_operand(c, "wrong number of vector elements");
	if (lane_bytes(rc) / v->nvec < 2)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
			 "unsupported: '%.*s' with elements of 8 bits",
			 (int)c->opcode.n, c->opcode.p);
}

static enum reg_class class_of_bytes(uint32_t bytes)
{
	return bytes == 2 ? RC_16 : bytes == 4 ? RC_32 : bytes == 8 ? RC_64 :
	       RC_128;
}

/* Starts a list of operands for the current instruction. */
static uint32_t list_new(struct ptx_ctx *c, uint32_t n)
{
	int32_t *v = vec_add(c, &c->vecs, sizeof(*v), n);

	memset(v, 0xff, n * sizeof(*v));
	cur(c)->vec = c->vecs.n - n;
	cur(c)->n = n;
	return c->vecs.n - n;
}

/* Puts a source element through field C, which these handlers do not use. */
static void list_src(struct ptx_ctx *c, uint32_t at, struct opnd *o,
		     enum reg_class rc, char sig)
{
	if (o->kind == O_REG) {
		if (o->rc != rc || o->neg)
			bad_operand(c, "register of the wrong size");
		ref_vec(c, at, o->reg, false);
		return;
	}
	emit_src(c, REF_C, o, rc, sig);
	VEC_AT(&c->vecs, int32_t, at) = cur(c)->c;
}

static void mov_pack(struct ptx_ctx *c, struct opnd *op, enum reg_class rc)
{
	struct opnd *v = &op[1];
	enum reg_class erc;
	uint32_t at;

	check_pack(c, v, rc);
	erc = class_of_bytes(lane_bytes(rc) / v->nvec);
	for (uint32_t i = 0; i < v->nvec; i++)
		opnd_prepare(c, &v->vec[i], erc);
	insn_new(c, HANDLER(mov_pack));
	at = list_new(c, v->nvec);
	cur(c)->size = lane_bytes(erc);
	cur(c)->wide = lane_bytes(rc);
	for (uint32_t i = 0; i < v->nvec; i++)
		list_src(c, at + i, &v->vec[i], erc, erc == RC_64 ? 'l' :
			 erc == RC_32 ? 'i' : 'h');
	emit_dst(c, REF_D, &op[0], rc);
}

static void mov_unpack(struct ptx_ctx *c, struct opnd *op, enum reg_class rc)
{
	struct opnd *v = &op[0];
	enum reg_class erc;
	uint32_t at;

	check_pack(c, v, rc);
	erc = class_of_bytes(lane_bytes(rc) / v->nvec);
	opnd_prepare(c, &op[1], rc);
	insn_new(c, HANDLER(mov_unpack));
	at = list_new(c, v->nvec);
	cur(c)->size = lane_bytes(erc);
	cur(c)->wide = lane_bytes(rc);
	emit_src(c, REF_A, &op[1], rc, rc == RC_64 ? 'l' : 'i');
	for (uint32_t i = 0; i < v->nvec; i++) {
		struct opnd *e = &v->vec[i];

		if (e->kind == O_SINK)
			continue;
		if (e->kind != O_REG || e->rc != erc || e->neg)
			bad_operand(c, "register of the wrong size");
		ref_vec(c, at + i, e->reg, true);
	}
}

void emit_mov(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	enum reg_class rc = reg_class_of(at->types[0]);
	struct ptx_form g = *f;
	char sig[3] = "pp";

	want_nops(c, nops, 2, 2);
	if (op[0].kind == O_VEC) {
		mov_unpack(c, op, rc);
		return;
	}
	if (op[1].kind == O_VEC) {
		mov_pack(c, op, rc);
		return;
	}
	g.sig = sig;
	if (at->types[0] == T_F32)
		sig[0] = sig[1] = 'f';
	else if (at->types[0] == T_F64)
		sig[0] = sig[1] = 'd';
	else
		g.sig = f->sig;
	emit_alu(c, &g, at, op, nops);
}

/* ---- cvt ---- */

DECLARE_HANDLER(cvt_u64_u32);
DECLARE_HANDLER(cvt_s64_s32);
DECLARE_HANDLER(cvt_u32_u64);
DECLARE_HANDLER(cvt_u16_u32);
DECLARE_HANDLER(cvt_u32_u16);
DECLARE_HANDLER(cvt_s32_s16);
DECLARE_HANDLER(cvt_f32_s32);
DECLARE_HANDLER(cvt_f32_u32);
DECLARE_HANDLER(cvt_f64_s32);
DECLARE_HANDLER(cvt_f64_u32);
DECLARE_HANDLER(cvt_rzi_s32_f32);
DECLARE_HANDLER(cvt_rni_s32_f32);
DECLARE_HANDLER(cvt_f64_f32);
DECLARE_HANDLER(cvt_f32_f64);
DECLARE_HANDLER(cvt_f32_f16);
DECLARE_HANDLER(cvt_f32_bf16);

#define FAST(d, s, mode, h) { d, s, mode, { h##_v1, h##_v3 } }

static const struct fast_cvt {
	uint8_t d, s;
	uint16_t mode;
	exec_fn *fn[2];
} fast_cvts[] = {
	FAST(T_U64, T_U32, 0, cvt_u64_u32), FAST(T_S64, T_U32, 0, cvt_u64_u32),
	FAST(T_S64, T_S32, 0, cvt_s64_s32), FAST(T_U64, T_S32, 0, cvt_s64_s32),
	FAST(T_U32, T_U64, 0, cvt_u32_u64), FAST(T_S32, T_U64, 0, cvt_u32_u64),
	FAST(T_U32, T_S64, 0, cvt_u32_u64), FAST(T_S32, T_S64, 0, cvt_u32_u64),
	FAST(T_U16, T_U32, 0, cvt_u16_u32), FAST(T_S16, T_U32, 0, cvt_u16_u32),
	FAST(T_U16, T_S32, 0, cvt_u16_u32), FAST(T_S16, T_S32, 0, cvt_u16_u32),
	FAST(T_U32, T_U16, 0, cvt_u32_u16), FAST(T_S32, T_U16, 0, cvt_u32_u16),
	FAST(T_S32, T_S16, 0, cvt_s32_s16), FAST(T_U32, T_S16, 0, cvt_s32_s16),
	FAST(T_F32, T_S32, MODE_RN, cvt_f32_s32),
	FAST(T_F32, T_U32, MODE_RN, cvt_f32_u32),
	FAST(T_F64, T_S32, MODE_RN, cvt_f64_s32),
	FAST(T_F64, T_U32, MODE_RN, cvt_f64_u32),
	FAST(T_S32, T_F32, MODE_INTEGRAL | MODE_RZ, cvt_rzi_s32_f32),
	FAST(T_S32, T_F32, MODE_INTEGRAL | MODE_RN, cvt_rni_s32_f32),
	FAST(T_F64, T_F32, 0, cvt_f64_f32),
	FAST(T_F32, T_F64, MODE_RN, cvt_f32_f64),
	FAST(T_F32, T_F16, 0, cvt_f32_f16),
	FAST(T_F32, T_BF16, 0, cvt_f32_bf16),
};

static exec_fn *fast_cvt(const struct attr *at, struct opnd *d,
			 struct opnd *s)
{
	if (d->rc != reg_class_of(at->types[0]) ||
	    s->rc != reg_class_of(at->types[1]))
		return NULL;
	for (size_t i = 0; i < sizeof(fast_cvts) / sizeof(fast_cvts[0]); i++) {
		const struct fast_cvt *f = &fast_cvts[i];

		if (f->d == at->types[0] && f->s == at->types[1] &&
		    f->mode == at->mode)
			return f->fn[ptx_isa()];
	}
	return NULL;
}

/*
 * Checks a register: one of an integer may be wider than the type, one of a float must fit
 * exactly.
 */
static void check_cvt_reg(struct ptx_ctx *c, struct opnd *o, enum ptx_type t)
{
	if (o->kind != O_REG || o->neg || o->pair || o->rc == RC_PRED)
		bad_operand(c, "a register is needed");
	if (o->rc < reg_class_of(t) ||
	    (ptx_types[t].is_float && o->rc != reg_class_of(t)) ||
	    o->rc == RC_128)
		bad_operand(c, "register of the wrong size");
}

static void number_to_temp(struct ptx_ctx *c, struct opnd *o, enum ptx_type t)
{
	static const struct attr none;
	struct opnd d = { .kind = O_REG, .rc = reg_class_of(t) };
	struct opnd op[2];
	char s = d.rc == RC_64 ? 'l' : d.rc == RC_32 ? 'i' : 'h';
	char sig[] = { s, s, 0 };
	struct ptx_form f = { .sig = sig };
	DECLARE_HANDLER(mov_16);
	DECLARE_HANDLER(mov_32);
	DECLARE_HANDLER(mov_64);

	if (ptx_types[t].is_float && d.rc != RC_16)
		sig[0] = sig[1] = d.rc == RC_64 ? 'd' : 'f';
	d.reg = vreg_new(c, d.rc);
	f.fn[0] = f.fn[1] = d.rc == RC_64 ? HANDLER(mov_64) :
			    d.rc == RC_32 ? HANDLER(mov_32) : HANDLER(mov_16);
	op[0] = d;
	op[1] = *o;
	emit_alu(c, &f, &none, op, 2);
	*o = d;
}

static bool is_number(const struct opnd *o)
{
	return o->kind == O_INT || o->kind == O_F32 || o->kind == O_F64;
}

/* Checks PTX's rules on which conversions need a rounding and which forbid it. */
static void check_rounding(struct ptx_ctx *c, const struct attr *at)
{
	const struct type_info *d = &ptx_types[at->types[0]];
	const struct type_info *s = &ptx_types[at->types[1]];

	if (at->mode & MODE_INTEGRAL && d->is_float && s->is_float &&
	    at->types[0] != at->types[1])
		bad_operand(c, "integer rounding changes no type");
	if (d->is_float && s->is_float && d->size < s->size && !at->rounded)
		bad_operand(c, "a rounding modifier is needed");
	if (d->is_float && !s->is_float && !at->rounded)
		bad_operand(c, "a rounding modifier is needed");
}

void emit_cvt(struct ptx_ctx *c, const struct ptx_form *f,
	      const struct attr *at, struct opnd *op, uint32_t nops)
{
	bool two = strlen(f->sig) == 3;
	exec_fn *fn = f->fn[ptx_isa()], *fast;

	want_nops(c, nops, two ? 3 : 2, two ? 3 : 2);
	check_rounding(c, at);
	for (uint32_t i = 1; i < nops; i++) {
		opnd_prepare(c, &op[i], reg_class_of(at->types[1]));
		if (is_number(&op[i]))
			number_to_temp(c, &op[i], at->types[1]);
		check_cvt_reg(c, &op[i], at->types[1]);
	}
	check_cvt_reg(c, &op[0], at->types[0]);
	fast = two ? NULL : fast_cvt(at, &op[0], &op[1]);
	insn_new(c, fast ? fast : fn);
	cur(c)->mode = at->mode;
	cur(c)->sub = at->types[0];
	cur(c)->sub2 = at->types[1];
	cur(c)->wide = lane_bytes(op[0].rc);
	cur(c)->size = lane_bytes(op[1].rc);
	ref_add(c, REF_A, op[1].reg, false);
	if (two)
		ref_add(c, REF_B, op[2].reg, false);
	ref_add(c, REF_D, op[0].reg, true);
}
