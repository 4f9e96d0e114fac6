/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbarrier and bulk copies. All addresses are whole ones in registers of 64 bits, those of shared
 * memory relative to its window.
 */
#include "loader.h"

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

/* An attribute holds a space plus one; 0: there is none (form.c). */
static enum mem_space mbar_space(const struct attr *at)
{
	return at->space ? at->space - 1 : SP_GENERIC;
}

/* Which change of an mbarrier the words of an opcode are. */
static uint8_t mbar_change(struct str opcode)
{
	static const struct {
		const char *word;
		uint8_t change;
	} words[] = {
		{ "arrive", MBAR_ARRIVE }, { "arrive_drop", MBAR_ARRIVE | MBAR_DROP },
		{ "expect_tx", MBAR_EXPECT }, { "complete_tx", MBAR_COMPLETE },
		{ "noComplete", MBAR_KEEP },
	};
	const char *p = opcode.p, *end = p + opcode.n;
	uint8_t change = 0;

	for (; p < end; p++) {
		struct str word = { p, 0 };

		while (p < end && *p != '.')
			p++;
		word.n = p - word.p;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (str_is(word, words[i].word))
				change |= words[i].change;
	}
	return change;
}

/*
 * The operand string has the result (l or p, or none), m for the address, and the operand behind
 * it: a count (i), a count that may be absent (I), a state (l), a parity (i). A last t allows a
 * hint, which does nothing.
 */
void emit_mbar(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
	       struct opnd *op, uint32_t nops)
{
	bool result = f->sig[0] != 'm';
	char sig = f->sig[result + 1];
	uint32_t want = result + 1 + (sig == 'i' || sig == 'l');
	enum reg_class rc = sig == 'l' ? RC_64 : RC_32;
	struct opnd one = { .kind = O_INT, .imm = 1 }, *n = &one;
	struct opnd sink = { .kind = O_SINK };

	want_nops(c, nops, want, want + (sig == 'I' || (sig && f->sig[result + 2] == 't')));
	if (sig && nops > result + 1u) {
		n = &op[result + 1];
		opnd_prepare(c, n, rc);
	}
	addr_to_reg(c, &op[result], mbar_space(at));
	insn_new(c, f->fn[ptx_isa()]);
	cur(c)->space = mbar_space(at);
	emit_src(c, REF_A, &op[result], RC_64, 'l');
	emit_src(c, REF_B, n, rc, sig == 'l' ? 'l' : 'i');
	if (f->sig[0] != 'p') {
		cur(c)->sub = mbar_change(c->opcode);
		emit_dst(c, REF_D, result ? &op[0] : &sink, RC_64);
		return;
	}
	cur(c)->sub = sig == 'i';
	cur(c)->ctl = CTL_POLL;
	cur(c)->flags |= INSN_CTL;
	emit_dst(c, REF_D, &op[0], RC_PRED);
}

/* cp.async.bulk [to], [from], size, [mbarrier]: the last one only on the way to shared memory. */
void emit_bulk(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
	       struct opnd *op, uint32_t nops)
{
	bool load = f->sig[0] == 's';
	uint32_t want = load ? 4 : 3;

	want_nops(c, nops, want + at->hint, want + at->hint);
	addr_to_reg(c, &op[0], load ? SP_SHARED : SP_GLOBAL);
	addr_to_reg(c, &op[1], load ? SP_GLOBAL : SP_SHARED);
	opnd_prepare(c, &op[2], RC_32);
	if (load)
		addr_to_reg(c, &op[3], SP_SHARED);
	insn_new(c, f->fn[ptx_isa()]);
	cur(c)->sub = load;
	emit_src(c, REF_A, &op[0], RC_64, 'l');
	emit_src(c, REF_B, &op[1], RC_64, 'l');
	emit_src(c, REF_C, &op[2], RC_32, 'i');
	if (load)
		emit_src(c, REF_E, &op[3], RC_64, 'l');
}

/* Splits "[map, {coordinates}]". Returns the coordinates, whose number the opcode says. */
static struct opnd *tensor_coordinates(struct ptx_ctx *c, struct opnd *o, uint32_t n)
{
	struct opnd *x = o->kind == O_ADDR ? o->vec : NULL;

	if (!x || x->kind != O_VEC || x->nvec != n)
		bad_operand(c, "wrong number of coordinates");
	o->vec = NULL;
	addr_to_reg(c, o, SP_GENERIC);
	for (uint32_t i = 0; i < n; i++)
		opnd_prepare(c, &x->vec[i], RC_32);
	return x->vec;
}

/*
 * cp.async.bulk.tensor [to], [map, coordinates], [mbarrier], or [map, coordinates], [from]. The
 * list has the coordinates.
 */
void emit_tensor(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
		 struct opnd *op, uint32_t nops)
{
	bool load = f->sig[0] == 's';
	uint32_t n = f->sig[1] - '0', want = load ? 3 : 2;
	struct opnd *map = load ? &op[1] : &op[0], *place = load ? &op[0] : &op[1], *x;

	want_nops(c, nops, want + at->hint, want + at->hint);
	if (place->kind == O_ADDR && place->vec)
		bad_operand(c, "coordinates where none belong");
	x = tensor_coordinates(c, map, n);
	addr_to_reg(c, place, SP_SHARED);
	if (load)
		addr_to_reg(c, &op[2], SP_SHARED);
	vec_add(c, &c->vecs, sizeof(int32_t), n);
	insn_new(c, f->fn[ptx_isa()]);
	cur(c)->vec = c->vecs.n - n;
	cur(c)->n = n;
	cur(c)->sub = load;
	matrix_sources(c, x, n, cur(c)->vec, 'i');
	emit_src(c, REF_A, map, RC_64, 'l');
	emit_src(c, REF_B, place, RC_64, 'l');
	if (load)
		emit_src(c, REF_C, &op[2], RC_64, 'l');
}
