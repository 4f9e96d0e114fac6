/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix instructions. All lanes of a warp run one together (CTL_MATRIX), and the handler finds
 * the registers of all operands in one list. The operand string has for each operand a letter
 * (emit.c) and the number of its registers: "f4i4i2f4".
 */
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

void matrix_results(struct ptx_ctx *c, struct opnd *el, uint32_t n, uint32_t at)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t vreg = el[i].kind == O_SINK ? vreg_new(c, RC_32) : el[i].reg;

		if ((el[i].kind != O_REG && el[i].kind != O_SINK) || el[i].neg || el[i].pair)
			bad_operand(c, "the destination is not a register");
		if (el[i].kind == O_REG && el[i].rc != RC_32)
			bad_operand(c, "register of the wrong size");
		ref_vec(c, at + i, vreg, true);
	}
}

static void add_sources(struct ptx_ctx *c, struct opnd *el, uint32_t n, uint32_t at, char sig)
{
	for (uint32_t i = 0; i < n; i++) {
		if (el[i].kind == O_REG) {
			if (el[i].neg || el[i].pair || el[i].rc != RC_32)
				bad_operand(c, "register of the wrong size");
			ref_vec(c, at + i, el[i].reg, false);
			continue;
		}
		emit_src(c, REF_B, &el[i], RC_32, sig);
		VEC_AT(&c->vecs, int32_t, at + i) = cur(c)->b;
	}
}

void emit_mma(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
	      struct opnd *op, uint32_t nops)
{
	uint32_t n[4], all = 0, next;
	struct opnd *el[4];

	(void)at;
	want_nops(c, nops, 4, 4);
	for (uint32_t i = 0; i < 4; i++) {
		n[i] = f->sig[2 * i + 1] - '0';
		all += n[i];
		el[i] = matrix_elements(c, &op[i], n[i]);
		for (uint32_t k = 0; i && k < n[i]; k++)
			opnd_prepare(c, &el[i][k], RC_32);
	}
	vec_add(c, &c->vecs, sizeof(int32_t), all);
	matrix_new(c, f->fn[ptx_isa()]);
	cur(c)->vec = next = c->vecs.n - all;
	matrix_results(c, el[0], n[0], next);
	for (uint32_t i = 1; i < 4; i++) {
		next += n[i - 1];
		add_sources(c, el[i], n[i], next, f->sig[2 * i]);
	}
}
