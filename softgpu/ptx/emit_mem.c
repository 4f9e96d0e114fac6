/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads, stores, atomics, address conversions. The sizes in memory and in the register
 * select the handler of a load or store. The state space goes into insn.space; it tells the
 * executor how to turn addresses into memory.
 */
#include <string.h>

#include "loader.h"

static struct insn *cur(struct ptx_ctx *c)
{
	return &VEC_AT(&c->code, struct insn, insn_last(c));
}

static uint8_t lane_bytes(enum reg_class rc)
{
	return reg_class_bytes[rc] / WARP_LANES;
}

#define MEM_HANDLERS(X) \
	X(ld_1_2) X(ld_1_4) X(ld_1_8) X(ld_2_2) X(ld_2_4) X(ld_2_8) X(ld_4_4) \
	X(ld_4_8) X(ld_8_8) X(ld_16_16) X(lds_1_2) X(lds_1_4) X(lds_1_8) \
	X(lds_2_4) X(lds_2_8) X(lds_4_8) X(st_1_2) X(st_1_4) X(st_1_8) \
	X(st_2_2) X(st_2_4) X(st_2_8) X(st_4_4) X(st_4_8) X(st_8_8) \
	X(st_16_16)

#define X(h) DECLARE_HANDLER(h);
MEM_HANDLERS(X)
#undef X
DECLARE_HANDLER(ldshared_4);
DECLARE_HANDLER(ldshared_4x4);
DECLARE_HANDLER(ldparam_4);
DECLARE_HANDLER(ldparam_8);

/* Finds a handler by name: "ld_4_8" loads 4 bytes to lanes of 8 bytes. */
static exec_fn *mem_handler(struct ptx_ctx *c, const char *op, uint32_t size,
			    uint32_t wide)
{
	static const struct {
		const char *name;
		exec_fn *fn[2];
	} all[] = {
#define X(h) { #h, { h##_v1, h##_v3 } },
		MEM_HANDLERS(X)
#undef X
	};
	char name[16];

	snprintf(name, sizeof(name), "%s_%u_%u", op, size, wide);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, name))
			return all[i].fn[ptx_isa()];
	bad_operand(c, "register of the wrong size");
}

/* ---- addresses ---- */

static enum mem_space attr_space(const struct attr *at)
{
	return at->space ? at->space - 1 : SP_GENERIC;
}

static bool space_holds(enum mem_space sp, const struct sym *s)
{
	switch (sp) {
	case SP_GLOBAL:
		return s->space == V_GLOBAL;
	case SP_CONST:
		return s->space == V_CONST;
	case SP_SHARED:
	case SP_CLUSTER:
		return s->space == V_SHARED;
	case SP_LOCAL:
		return s->space == V_LOCAL;
	case SP_PARAM:
		return s->space == V_PARAM;
	default:
		/* Global and constant addresses are generic addresses, too. */
		return s->space == V_GLOBAL || s->space == V_CONST;
	}
}

struct address {
	enum mem_space space;
	bool fixed;		/* no register: insn.imm is the whole address */
	uint64_t imm;
};

static bool frame_symbol(const struct sym *s)
{
	return s->space == V_LOCAL || (s->space == V_PARAM && !s->entry_param);
}

/* Emits what an address needs at run time, before the instruction itself. */
static struct address addr_prepare(struct ptx_ctx *c, struct opnd *o,
				   enum mem_space sp)
{
	struct address a = { .space = sp, .imm = o->imm };

	if (o->kind != O_ADDR)
		bad_operand(c, "an address in brackets is needed");
	if (o->vec)
		bad_operand(c, "coordinates where none belong");
	if (o->base == O_REG) {
		if (o->rc != RC_64 &&
		    (o->rc != RC_32 || sp == SP_GENERIC || sp == SP_GLOBAL))
			bad_operand(c, "address register of the wrong size");
		/* Code that takes the address of a parameter makes it a generic address. */
		if (sp == SP_PARAM)
			a.space = SP_GENERIC;
		return a;
	}
	if (o->base == O_INT) {
		if (sp == SP_PARAM || sp == SP_LOCAL)
			bad_operand(c, "the address must name a variable");
		return a;
	}
	if (!space_holds(sp, o->sym))
		bad_operand(c, "variable of another state space");
	if (frame_symbol(o->sym)) {
		a.space = SP_FRAME;
		a.fixed = true;
		a.imm += o->sym->offset;
	} else if (o->sym->space == V_PARAM) {
		a.fixed = true;
		a.imm += o->sym->offset;
	} else if (o->sym->dynamic) {
		o->kind = O_SYM;
		o->imm = 0;
		opnd_prepare(c, o, RC_64);
		o->kind = O_ADDR;
		o->base = O_REG;
	} else {
		a.imm = 0;
	}
	return a;
}

/* Puts the address into the last instruction: the base in field A, the offset in insn.imm. */
static void addr_emit(struct ptx_ctx *c, enum ref_field f, struct opnd *o,
		      const struct address *a)
{
	struct opnd base = *o;

	cur(c)->space = a->space;
	cur(c)->imm = a->imm;
	if (a->fixed)
		return;
	base.kind = o->base;
	if (o->base == O_REG) {
		cur(c)->a32 = o->rc == RC_32;
		emit_src(c, f, &base, o->rc, 'l');
		return;
	}
	if (o->base == O_INT) {
		base.imm = o->imm;
		cur(c)->imm = 0;
	}
	emit_src(c, f, &base, RC_64, 'l');
}

/* ---- ld and st ---- */

uint32_t mem_elements(struct ptx_ctx *c, struct opnd *o, const struct attr *at,
		      struct opnd **el)
{
	if (at->vec == 1 && o->kind != O_VEC) {
		*el = o;
		return 1;
	}
	if (o->kind != O_VEC || o->nvec != at->vec)
		bad_operand(c, "wrong number of vector elements");
	*el = o->vec;
	return at->vec;
}

enum reg_class mem_class(struct ptx_ctx *c, struct opnd *el, uint32_t n, enum ptx_type t)
{
	enum reg_class rc = reg_class_of(t);
	bool found = false;

	for (uint32_t i = 0; i < n; i++) {
		if (el[i].kind != O_REG)
			continue;
		if (found && el[i].rc != rc)
			bad_operand(c, "registers of different sizes");
		rc = el[i].rc;
		found = true;
	}
	if (rc == RC_PRED || rc < reg_class_of(t))
		bad_operand(c, "register of the wrong size");
	return rc;
}

static void check_mem_type(struct ptx_ctx *c, const struct attr *at)
{
	uint32_t bytes = ptx_types[at->types[0]].size * at->vec;

	if (bytes > 32 || (at->vec == 8 && bytes != 32))
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
			 "unsupported instruction '%.*s'", (int)c->opcode.n,
			 c->opcode.p);
}

static void mem_insn(struct ptx_ctx *c, exec_fn *fn, const struct attr *at,
		     enum reg_class rc)
{
	insn_new(c, fn);
	cur(c)->size = ptx_types[at->types[0]].size;
	cur(c)->wide = lane_bytes(rc);
	cur(c)->n = at->vec;
}

static exec_fn *param_handler(const struct attr *at, const struct address *a,
			      enum reg_class rc)
{
	uint32_t size = ptx_types[at->types[0]].size;

	if (a->space != SP_PARAM || at->vec != 1 || size != lane_bytes(rc))
		return NULL;
	return size == 4 ? HANDLER(ldparam_4) :
	       size == 8 ? HANDLER(ldparam_8) : NULL;
}

/*
 * Selects the handler of loads that can share a slot: whole words of shared memory at a
 * 32-bit address.
 */
static exec_fn *shared_handler(const struct attr *at, const struct opnd *o,
			       const struct address *a, enum reg_class rc)
{
	if (a->space != SP_SHARED || a->fixed || o->base != O_REG ||
	    o->rc != RC_32 || lane_bytes(rc) != 4 ||
	    ptx_types[at->types[0]].size != 4)
		return NULL;
	return at->vec == 1 ? HANDLER(ldshared_4) :
	       at->vec == 4 ? HANDLER(ldshared_4x4) : NULL;
}

void mem_result(struct ptx_ctx *c, const struct opnd *o, uint32_t at, enum reg_class rc)
{
	if ((o->kind != O_REG && o->kind != O_SINK) || o->neg ||
	    (o->kind == O_REG && o->rc != rc))
		bad_operand(c, "the destination is not a register of the right size");
	ref_vec(c, at, o->kind == O_SINK ? vreg_new(c, rc) : o->reg, true);
}

void emit_ld(struct ptx_ctx *c, const struct ptx_form *f,
	     const struct attr *at, struct opnd *op, uint32_t nops)
{
	const struct type_info *ti = &ptx_types[at->types[0]];
	struct address a;
	enum reg_class rc;
	struct opnd *el;
	exec_fn *fn, *shared;
	uint32_t n;

	(void)f;
	want_nops(c, nops, 2, at->hint ? 3 : 2);
	check_mem_type(c, at);
	n = mem_elements(c, &op[0], at, &el);
	rc = mem_class(c, el, n, at->types[0]);
	a = addr_prepare(c, &op[1], at->base[2] == 'u' ? SP_GLOBAL :
			 attr_space(at));
	fn = param_handler(at, &a, rc);
	shared = fn ? NULL : shared_handler(at, &op[1], &a, rc);
	if (!fn)
		fn = shared ? shared :
		     mem_handler(c, ti->is_signed && !ti->is_float &&
				 ti->size < lane_bytes(rc) ? "lds" : "ld",
				 ti->size, lane_bytes(rc));
	mem_insn(c, fn, at, rc);
	if (shared)
		cur(c)->slot = 0;	/* share_addresses() sets the slot later */
	addr_emit(c, REF_A, &op[1], &a);
	if (n == 1) {
		emit_dst(c, REF_D, el, rc);
		return;
	}
	vec_add(c, &c->vecs, sizeof(int32_t), n);
	cur(c)->vec = c->vecs.n - n;
	for (uint32_t i = 0; i < n; i++)
		mem_result(c, &el[i], cur(c)->vec + i, rc);
}

char mem_sig(enum ptx_type t)
{
	switch (t) {
	case T_F32:
		return 'f';
	case T_F64:
		return 'd';
	default:
		return ptx_types[t].size == 8 ? 'l' :
		       ptx_types[t].size == 16 ? 'q' :
		       ptx_types[t].size == 4 ? 'i' : 'h';
	}
}

void mem_value(struct ptx_ctx *c, struct opnd *el, uint32_t at, enum reg_class rc, char sig)
{
	if (el->kind == O_REG) {
		if (el->neg || el->rc != rc)
			bad_operand(c, "register of the wrong size");
		ref_vec(c, at, el->reg, false);
		return;
	}
	emit_src(c, REF_B, el, rc, sig);
	VEC_AT(&c->vecs, int32_t, at) = cur(c)->b;
}

void emit_st(struct ptx_ctx *c, const struct ptx_form *f,
	     const struct attr *at, struct opnd *op, uint32_t nops)
{
	struct address a;
	enum reg_class rc;
	struct opnd *el;
	uint32_t n;
	char sig = mem_sig(at->types[0]);

	(void)f;
	want_nops(c, nops, 2, at->hint ? 3 : 2);
	check_mem_type(c, at);
	if (at->space == SP_CONST + 1)
		bad_operand(c, "constant memory cannot be written");
	n = mem_elements(c, &op[1], at, &el);
	for (uint32_t i = 0; i < n; i++)
		opnd_prepare(c, &el[i], reg_class_of(at->types[0]));
	rc = mem_class(c, el, n, at->types[0]);
	a = addr_prepare(c, &op[0], attr_space(at));
	if (a.space == SP_PARAM)
		bad_operand(c, "parameters of a kernel cannot be written");
	mem_insn(c, mem_handler(c, "st", ptx_types[at->types[0]].size,
				lane_bytes(rc)), at, rc);
	addr_emit(c, REF_A, &op[0], &a);
	if (n == 1) {
		emit_src(c, REF_B, el, rc, sig);
		return;
	}
	vec_add(c, &c->vecs, sizeof(int32_t), n);
	cur(c)->vec = c->vecs.n - n;
	for (uint32_t i = 0; i < n; i++)
		mem_value(c, &el[i], cur(c)->vec + i, rc, sig);
}

/* ---- atom and red ---- */

void emit_atom(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	enum reg_class rc = reg_class_of(at->types[0]);
	bool red = at->base[0] == 'r';
	struct opnd *a = red ? op : op + 1;
	uint32_t want = (red ? 2 : 3) + (at->aop == AOP_CAS);
	struct address addr;
	char sig = mem_sig(at->types[0]);

	want_nops(c, nops, want, want + at->hint);
	for (uint32_t i = red ? 1 : 2; i < want; i++)
		opnd_prepare(c, &op[i], rc);
	addr = addr_prepare(c, a, attr_space(at));
	mem_insn(c, f->fn[ptx_isa()], at, rc);
	addr_emit(c, REF_A, a, &addr);
	emit_src(c, REF_B, a + 1, rc, sig);
	if (at->aop == AOP_CAS)
		emit_src(c, REF_C, a + 2, rc, sig);
	cur(c)->sub = !red;
	if (!red)
		emit_dst(c, REF_D, op, rc);
}

/* ---- cvta, isspacep ---- */

DECLARE_HANDLER(add_64);
DECLARE_HANDLER(mov_64);
DECLARE_HANDLER(cvta_shared);

void emit_cvta(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	static const struct attr none;
	struct ptx_form g = *f;
	enum mem_space sp = attr_space(at);
	bool shared = sp == SP_SHARED || sp == SP_CLUSTER, local = sp == SP_LOCAL;
	exec_fn *fn = shared ? HANDLER(cvta_shared) : HANDLER(mov_64);
	bool sym = nops == 2 && op[1].kind == O_SYM;

	want_nops(c, nops, 2, 2);
	if (!at->space)
		bad_operand(c, "a state space is needed");
	if (sym && !space_holds(sp, op[1].sym))
		bad_operand(c, "variable of another state space");
	/*
	 * Global and constant addresses are generic, and so is the address of a parameter in a
	 * frame.
	 */
	if (local) {
		fn = HANDLER(add_64);
		g.sig = "lll";
		op[2] = (struct opnd){ .kind = O_INT,
				       .imm = at->to ? -WIN_LOCAL : WIN_LOCAL };
	}
	g.fn[0] = g.fn[1] = fn;
	emit_alu(c, &g, &none, op, local ? 3 : 2);
	if (shared) {
		cur(c)->space = sp;
		cur(c)->sub = at->to;
	}
}

/* mapa and getctarank: addresses in the shared memory of a cluster */
void emit_mapa(struct ptx_ctx *c, const struct ptx_form *f,
	       const struct attr *at, struct opnd *op, uint32_t nops)
{
	static const struct attr none;

	if (nops > 1 && op[1].kind == O_SYM && !space_holds(attr_space(at), op[1].sym))
		bad_operand(c, "variable of another state space");
	emit_alu(c, f, &none, op, nops);
	cur(c)->space = attr_space(at);
}

void emit_isspacep(struct ptx_ctx *c, const struct ptx_form *f,
		   const struct attr *at, struct opnd *op, uint32_t nops)
{
	static const struct attr none;
	struct ptx_form g = *f;
	DECLARE_HANDLER(isspacep);

	if (!at->space)
		bad_operand(c, "a state space is needed");
	g.fn[0] = g.fn[1] = HANDLER(isspacep);
	emit_alu(c, &g, &none, op, nops);
	cur(c)->space = attr_space(at);
}

/* ---- cp.async: it is done at once, so groups of copies have nothing to wait for ---- */

DECLARE_HANDLER(cp_async);

void addr_to_reg(struct ptx_ctx *c, struct opnd *o, enum mem_space sp)
{
	static const struct attr none;
	struct address a = addr_prepare(c, o, sp);
	struct opnd op[3] = { { .kind = O_REG, .rc = RC_64 }, *o,
			      { .kind = O_INT, .imm = a.imm } };
	struct ptx_form f = { .sig = "lll" };
	DECLARE_HANDLER(cvt_u64_u32);

	if (o->base == O_REG && o->rc == RC_32) {
		struct ptx_form g = { .sig = "li" };

		g.fn[0] = g.fn[1] = HANDLER(cvt_u64_u32);
		op[0].reg = vreg_new(c, RC_64);
		op[1].kind = O_REG;
		emit_alu(c, &g, &none, op, 2);
		op[1] = op[0];
	} else {
		op[1].kind = o->base;
		if (o->base == O_INT)
			op[2].imm = 0;
	}
	op[0].reg = vreg_new(c, RC_64);
	f.fn[0] = f.fn[1] = HANDLER(add_64);
	emit_alu(c, &f, &none, op, 3);
	*o = op[0];
}

void emit_cp_async(struct ptx_ctx *c, const struct ptx_form *f,
		   const struct attr *at, struct opnd *op, uint32_t nops)
{
	bool has_size;

	(void)f;
	want_nops(c, nops, 3, at->hint ? 5 : 4);
	has_size = nops == (at->hint ? 5u : 4u);
	if (op[2].kind != O_INT ||
	    (op[2].imm != 16 && op[2].imm != 8 && op[2].imm != 4) ||
	    (at->base[9] == 'g' && op[2].imm != 16))
		bad_operand(c, "bad copy size");
	addr_to_reg(c, &op[0], SP_SHARED);
	addr_to_reg(c, &op[1], SP_GLOBAL);
	if (has_size && op[3].kind == O_REG && op[3].rc == RC_PRED)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
			 "unsupported: '%.*s' with ignore-src",
			 (int)c->opcode.n, c->opcode.p);
	if (has_size)
		opnd_prepare(c, &op[3], RC_32);
	insn_new(c, HANDLER(cp_async));
	cur(c)->size = op[2].imm;
	cur(c)->sub = has_size;
	emit_src(c, REF_A, &op[0], RC_64, 'l');
	emit_src(c, REF_B, &op[1], RC_64, 'l');
	if (has_size)
		emit_src(c, REF_C, &op[3], RC_32, 'i');
}

/* ---- ldmatrix: as many matrices as results ---- */

void emit_ldmatrix(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
		   struct opnd *op, uint32_t nops)
{
	uint32_t n = f->sig[1] - '0';
	struct address a;
	struct opnd *el;

	want_nops(c, nops, 2, 2);
	el = matrix_elements(c, &op[0], n);
	a = addr_prepare(c, &op[1], attr_space(at));
	vec_add(c, &c->vecs, sizeof(int32_t), n);
	matrix_new(c, f->fn[ptx_isa()]);
	cur(c)->vec = c->vecs.n - n;
	cur(c)->n = n;
	cur(c)->sub = at->sub;
	addr_emit(c, REF_A, &op[1], &a);
	matrix_results(c, el, n, cur(c)->vec, RC_32);
}

void emit_stmatrix(struct ptx_ctx *c, const struct ptx_form *f, const struct attr *at,
		   struct opnd *op, uint32_t nops)
{
	uint32_t n = f->sig[1] - '0';
	struct address a;
	struct opnd *el;

	want_nops(c, nops, 2, 2);
	el = matrix_elements(c, &op[1], n);
	for (uint32_t i = 0; i < n; i++)
		opnd_prepare(c, &el[i], RC_32);
	a = addr_prepare(c, &op[0], attr_space(at));
	vec_add(c, &c->vecs, sizeof(int32_t), n);
	matrix_new(c, f->fn[ptx_isa()]);
	cur(c)->vec = c->vecs.n - n;
	cur(c)->n = n;
	cur(c)->sub = at->sub;
	addr_emit(c, REF_A, &op[0], &a);
	matrix_sources(c, el, n, cur(c)->vec, 'i');
}

void emit_fence(struct ptx_ctx *c, const struct ptx_form *f,
		const struct attr *at, struct opnd *op, uint32_t nops)
{
	DECLARE_HANDLER(fence);

	(void)f, (void)at, (void)op;
	want_nops(c, nops, 0, 0);
	insn_new(c, HANDLER(fence));
}
