/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches from textures, loads and stores of surfaces. Their coordinates are in brackets behind
 * the object; a layer comes before them.
 */
#include "loader.h"

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

/* How many coordinates a shape has, and how many PTX wants: the last may be there twice. */
static const struct {
	uint8_t used, given;
	bool layered;
} shapes[] = {
	[TEX_1D] = { 1, 1, false }, [TEX_2D] = { 2, 2, false }, [TEX_3D] = { 3, 4, false },
	[TEX_A1D] = { 2, 2, true }, [TEX_A2D] = { 3, 4, true },
	[TEX_CUBE] = { 3, 4, false }, [TEX_ACUBE] = { 4, 4, true },
};

/* Returns the coordinates, prepared for use. */
static struct opnd *coordinates(struct ptx_ctx *c, struct opnd *o, enum tex_shape shape)
{
	struct opnd *x = o->vec;
	uint32_t n = 1;

	if (x->kind == O_VEC) {
		n = x->nvec;
		x = x->vec;
	}
	if (n != shapes[shape].given)
		bad_operand(c, "wrong number of coordinates");
	for (uint32_t i = 0; i < shapes[shape].used; i++)
		opnd_prepare(c, &x[i], RC_32);
	return x;
}

/* Puts the coordinates behind the values in the list of operands. A layer is an integer. */
static void put_coordinates(struct ptx_ctx *c, struct opnd *x, enum tex_shape shape, uint32_t at,
			    char sig)
{
	for (uint32_t i = 0; i < shapes[shape].used; i++)
		mem_value(c, &x[i], at + i, RC_32, shapes[shape].layered && !i ? 'i' : sig);
}

/* Starts a list of @n values and the coordinates of a shape. Returns its place. */
static uint32_t list_new(struct ptx_ctx *c, uint32_t n, enum tex_shape shape)
{
	vec_add(c, &c->vecs, sizeof(int32_t), n + shapes[shape].used);
	cur(c)->vec = c->vecs.n - n - shapes[shape].used;
	return cur(c)->vec;
}

/* ---- tex: four results, a texture object or a reference ---- */

void emit_tex(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
	      struct opnd *op, uint32_t nops)
{
	struct opnd t = { .kind = op[1].base, .rc = RC_64, .reg = op[1].reg, .sym = op[1].sym };
	bool reference = op[1].base == O_SYM && op[1].sym->texref;
	char sig = at->types[1] == T_F32 ? 'f' : 'i';
	struct opnd *x;
	uint32_t list;

	want_nops(c, nops, 2, 2);
	if (op[0].kind != O_VEC || op[0].nvec != 4 || op[1].kind != O_ADDR)
		bad_operand(c, "four results and a texture are needed");
	if ((!reference && (op[1].base != O_REG || op[1].rc != RC_64)) || op[1].imm)
		bad_operand(c, "neither a texture object in a register nor a reference");
	x = coordinates(c, &op[1], at->sub);
	insn_new(c, f->fn[ptx_isa()]);
	cur(c)->sub = at->sub;
	cur(c)->sub2 = (sig == 'f' ? TEX_FLOATS : 0) | (reference ? TEX_REFERENCE : 0);
	emit_src(c, REF_A, &t, RC_64, 'l');
	list = list_new(c, 4, at->sub);
	put_coordinates(c, x, at->sub, list + 4, sig);
	for (uint32_t i = 0; i < 4; i++)
		mem_result(c, &op[0].vec[i], list + i, RC_32);
}

/* ---- suld and sust: bytes of a surface object, or of a reference's ---- */

void emit_surf(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
	       struct opnd *op, uint32_t nops)
{
	bool load = at->base[2] == 'l';
	struct opnd *s = &op[load], *value = &op[!load], *el, *x;
	struct opnd t = { .kind = s->base, .rc = RC_64, .reg = s->reg, .sym = s->sym };
	bool reference = s->kind == O_ADDR && s->base == O_SYM && s->sym->surfref;
	uint32_t size = ptx_types[at->types[0]].size, n, list;
	enum reg_class rc;

	want_nops(c, nops, 2, 2);
	if (s->kind != O_ADDR || s->imm ||
	    (!reference && (s->base != O_REG || s->rc != RC_64)))
		bad_operand(c, "neither a surface object in a register nor a reference");
	if (size * at->vec > 16)
		bad_operand(c, "more than 16 bytes");
	/* One value may be in braces, too. */
	n = value->kind == O_VEC && value->nvec == 1 && at->vec == 1 ? 1 :
	    mem_elements(c, value, at, &el);
	if (value->kind == O_VEC)
		el = value->vec;
	for (uint32_t i = 0; i < n && !load; i++)
		opnd_prepare(c, &el[i], reg_class_of(at->types[0]));
	rc = mem_class(c, el, n, at->types[0]);
	x = coordinates(c, s, at->sub);
	insn_new(c, f->fn[ptx_isa()]);
	cur(c)->sub = at->sub;
	cur(c)->sub2 = reference ? TEX_REFERENCE : 0;
	cur(c)->mode = at->mode;
	cur(c)->n = n;
	cur(c)->size = size;
	cur(c)->wide = reg_class_bytes[rc] / WARP_LANES;
	emit_src(c, REF_A, &t, RC_64, 'l');
	list = list_new(c, n, at->sub);
	put_coordinates(c, x, at->sub, list + n, 'i');
	for (uint32_t i = 0; i < n; i++) {
		if (load)
			mem_result(c, &el[i], list + i, rc);
		else
			mem_value(c, &el[i], list + i, rc, mem_sig(at->types[0]));
	}
}
