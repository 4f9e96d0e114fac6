/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix instructions. All lanes of a warp run one together (CTL_MATRIX), and the handler finds
 * the registers of all operands in one list. The operand string has for each operand a letter
 * (emit.c) and the number of its registers: "f4i4i2f4".
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "loader.h"

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

void matrix_new(struct ptx_ctx *c, exec_fn *fn)
{
	insn_new(c, fn);
	cur(c)->ctl = CTL_MATRIX;
	cur(c)->flags |= INSN_CTL;
}

struct opnd *matrix_elements(struct ptx_ctx *c, struct opnd *o, uint32_t n)
{
	if (n == 1 && o->kind != O_VEC)
		return o;
	if (o->kind != O_VEC || o->nvec != n)
		bad_operand(c, "wrong number of vector elements");
	return o->vec;
}

void matrix_types(struct str opcode, enum matrix_element t[4])
{
	static const struct {
		const char *name;
		enum matrix_element el;
	} names[] = {
		{ "f16", EL_F16 }, { "bf16", EL_BF16 }, { "tf32", EL_TF32 }, { "e4m3", EL_E4M3 },
		{ "e5m2", EL_E5M2 }, { "s8", EL_S8 }, { "u8", EL_U8 }, { "f32", EL_F32 },
		{ "f64", EL_F64 }, { "s32", EL_S32 },
	};
	const char *p = opcode.p, *end = p + opcode.n;
	uint32_t n = 0;

	memset(t, 0, 4 * sizeof(t[0]));
	while (p < end && n < 4) {
		const char *dot = memchr(p, '.', end - p);
		struct str word = { p, (dot ? dot : end) - p };

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (str_is(word, names[i].name)) {
				t[n++] = names[i].el;
				break;
			}
		p += word.n + 1;
	}
}

void matrix_results(struct ptx_ctx *c, struct opnd *el, uint32_t n, uint32_t at,
		    enum reg_class rc)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t vreg = el[i].kind == O_SINK ? vreg_new(c, rc) : el[i].reg;

		if ((el[i].kind != O_REG && el[i].kind != O_SINK) || el[i].neg || el[i].pair)
			bad_operand(c, "the destination is not a register");
		if (el[i].kind == O_REG && el[i].rc != rc)
			bad_operand(c, "register of the wrong size");
		ref_vec(c, at + i, vreg, true);
	}
}

static enum reg_class class_of(char sig)
{
	return sig == 'd' ? RC_64 : RC_32;
}

void matrix_sources(struct ptx_ctx *c, struct opnd *el, uint32_t n, uint32_t at, char sig)
{
	for (uint32_t i = 0; i < n; i++) {
		if (el[i].kind == O_REG) {
			if (el[i].neg || el[i].pair || el[i].rc != class_of(sig))
				bad_operand(c, "register of the wrong size");
			ref_vec(c, at + i, el[i].reg, false);
			continue;
		}
		emit_src(c, REF_B, &el[i], class_of(sig), sig);
		VEC_AT(&c->vecs, int32_t, at + i) = cur(c)->b;
	}
}

void emit_mma(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
	      struct opnd *op, uint32_t nops)
{
	uint32_t n[4], all = 0, next;
	enum matrix_element types[4];
	struct opnd *el[4];

	want_nops(c, nops, 4, 4);
	for (uint32_t i = 0; i < 4; i++) {
		n[i] = f->sig[2 * i + 1] - '0';
		all += n[i];
		el[i] = matrix_elements(c, &op[i], n[i]);
		for (uint32_t k = 0; i && k < n[i]; k++)
			opnd_prepare(c, &el[i][k], class_of(f->sig[2 * i]));
	}
	vec_add(c, &c->vecs, sizeof(int32_t), all);
	matrix_new(c, f->fn[ptx_isa()]);
	matrix_types(c->opcode, types);
	cur(c)->sub = types[1];
	cur(c)->sub2 = types[2];
	cur(c)->n = types[0];
	cur(c)->mode = at->mode;
	cur(c)->vec = next = c->vecs.n - all;
	matrix_results(c, el[0], n[0], next, class_of(f->sig[0]));
	for (uint32_t i = 1; i < 4; i++) {
		next += n[i - 1];
		matrix_sources(c, el[i], n[i], next, f->sig[2 * i]);
	}
}

void emit_movmatrix(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
		    struct opnd *op, uint32_t nops)
{
	emit_alu(c, f, at, op, nops);
	cur(c)->ctl = CTL_MATRIX;
	cur(c)->flags |= INSN_CTL;
}

/* ---- wgmma: the warps of a warpgroup together ---- */

/* Returns the number of columns, which the form has checked to be in the opcode. */
static uint32_t wgmma_columns(struct str opcode)
{
	static const char shape[] = ".m64n";
	const char *p = memmem(opcode.p, opcode.n, shape, strlen(shape));

	return strtoul(p + strlen(shape), NULL, 10);
}

/* A number that is an operand of its own: @lo or @hi. */
static bool flag(struct ptx_ctx *c, const struct opnd *o, int64_t lo, int64_t hi)
{
	if (o->kind != O_INT || (o->imm != lo && o->imm != hi))
		bad_operand(c, "a flag has another value than its two");
	return o->imm == hi;
}

/*
 * Reads the flags behind scale-d: signs for all types but integers, and for types of 16 bits the
 * orders of those operands that are in shared memory.
 */
static uint16_t wgmma_mode(struct ptx_ctx *c, const enum matrix_element t[4], const struct opnd *a,
			   const struct opnd *op, uint32_t nops)
{
	bool regs = a->kind == O_VEC, half = t[1] == EL_F16 || t[1] == EL_BF16;
	uint32_t want = t[0] == EL_S32 ? 0 : half ? 4 - regs : 2;
	uint16_t mode = regs ? WGMMA_A_REGS : 0;

	want_nops(c, nops, want, want);
	mode |= t[0] == EL_F16 ? WGMMA_F16 : t[0] == EL_S32 ? WGMMA_S32 : 0;
	if (want && flag(c, &op[0], 1, -1) != flag(c, &op[1], 1, -1))
		mode |= WGMMA_NEGATE;
	if (want > 2 && flag(c, &op[nops - 1], 0, 1))
		mode |= WGMMA_TRANS_B;
	if (want > 3 && flag(c, &op[2], 0, 1))
		mode |= WGMMA_TRANS_A;
	return mode;
}

/*
 * wgmma.mma_async d, a, b-descriptor, scale-d, flags. The sums are sources and results. insn.n is
 * the number of columns divided by 8; the list has the registers of D, then those of A.
 */
void emit_wgmma(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
		struct opnd *op, uint32_t nops)
{
	uint32_t columns = wgmma_columns(c->opcode), nd, na;
	enum matrix_element types[4];
	struct opnd *d, *a;
	uint16_t mode;

	want_nops(c, nops, 4, MAX_OPERANDS);
	matrix_types(c->opcode, types);
	mode = wgmma_mode(c, types, &op[1], op + 4, nops - 4);
	nd = columns / (mode & WGMMA_F16 ? 4 : 2);
	na = mode & WGMMA_A_REGS ? 4 : 0;
	d = matrix_elements(c, &op[0], nd);
	a = na ? matrix_elements(c, &op[1], na) : NULL;
	for (uint32_t i = 0; i < na; i++)
		opnd_prepare(c, &a[i], RC_32);
	for (uint32_t i = na ? 2 : 1; i < 4; i++)
		opnd_prepare(c, &op[i], i < 3 ? RC_64 : RC_PRED);
	vec_add(c, &c->vecs, sizeof(int32_t), nd + na);
	matrix_new(c, f->fn[ptx_isa()]);
	cur(c)->ctl = CTL_WARPGROUP;
	cur(c)->vec = c->vecs.n - nd - na;
	cur(c)->n = columns / 8;
	cur(c)->sub = types[1];
	cur(c)->sub2 = types[2];
	cur(c)->mode = mode | at->mode;
	for (uint32_t i = 0; i < nd; i++)
		if (d[i].kind != O_REG)
			bad_operand(c, "a sum is not a register");
	if (na)
		matrix_sources(c, a, na, cur(c)->vec + nd, 'i');
	else
		emit_src(c, REF_A, &op[1], RC_64, 'l');
	emit_src(c, REF_B, &op[2], RC_64, 'l');
	emit_src(c, REF_C, &op[3], RC_PRED, 'p');
	matrix_sources(c, d, nd, cur(c)->vec, 'i');
	matrix_results(c, d, nd, cur(c)->vec, RC_32);
}
