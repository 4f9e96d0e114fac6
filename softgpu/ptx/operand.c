/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of instructions: registers, special registers, numbers, symbols with offsets,
 * addresses in brackets, vectors in braces, and pairs of predicates. The emitters check
 * which kind of operand is allowed at a place.
 */
#include <string.h>

#include "loader.h"

static const struct {
	const char *name;
	uint8_t sr;
	uint8_t rc;
} sregs[] = {
	{ "%tid.x", SR_TID_X, RC_32 },
	{ "%tid.y", SR_TID_Y, RC_32 },
	{ "%tid.z", SR_TID_Z, RC_32 },
	{ "%ntid.x", SR_NTID_X, RC_32 },
	{ "%ntid.y", SR_NTID_Y, RC_32 },
	{ "%ntid.z", SR_NTID_Z, RC_32 },
	{ "%ctaid.x", SR_CTAID_X, RC_32 },
	{ "%ctaid.y", SR_CTAID_Y, RC_32 },
	{ "%ctaid.z", SR_CTAID_Z, RC_32 },
	{ "%nctaid.x", SR_NCTAID_X, RC_32 },
	{ "%nctaid.y", SR_NCTAID_Y, RC_32 },
	{ "%nctaid.z", SR_NCTAID_Z, RC_32 },
	{ "%laneid", SR_LANEID, RC_32 },
	{ "%warpid", SR_WARPID, RC_32 },
	{ "%nwarpid", SR_NWARPID, RC_32 },
	{ "%smid", SR_SMID, RC_32 },
	{ "%nsmid", SR_NSMID, RC_32 },
	{ "%gridid", SR_GRIDID, RC_64 },
	{ "%lanemask_eq", SR_LM_EQ, RC_32 },
	{ "%lanemask_le", SR_LM_LE, RC_32 },
	{ "%lanemask_lt", SR_LM_LT, RC_32 },
	{ "%lanemask_ge", SR_LM_GE, RC_32 },
	{ "%lanemask_gt", SR_LM_GT, RC_32 },
	{ "%clock", SR_CLOCK, RC_32 },
	{ "%clock_hi", SR_CLOCK_HI, RC_32 },
	{ "%clock64", SR_CLOCK64, RC_64 },
	{ "%globaltimer", SR_TIMER, RC_64 },
	{ "%globaltimer_lo", SR_TIMER_LO, RC_32 },
	{ "%globaltimer_hi", SR_TIMER_HI, RC_32 },
	{ "%dynamic_smem_size", SR_DYN_SMEM, RC_32 },
	{ "%total_smem_size", SR_TOTAL_SMEM, RC_32 },
	{ "%aggr_smem_size", SR_AGGR_SMEM, RC_32 },
	/* Cooperative groups look here for the state of the grid. */
	{ "%envreg1", SR_GRID_WS_HI, RC_32 },
	{ "%envreg2", SR_GRID_WS_LO, RC_32 },
	{ "%clusterid.x", SR_CLUSTERID_X, RC_32 },
	{ "%clusterid.y", SR_CLUSTERID_Y, RC_32 },
	{ "%clusterid.z", SR_CLUSTERID_Z, RC_32 },
	{ "%nclusterid.x", SR_NCLUSTERID_X, RC_32 },
	{ "%nclusterid.y", SR_NCLUSTERID_Y, RC_32 },
	{ "%nclusterid.z", SR_NCLUSTERID_Z, RC_32 },
	{ "%cluster_ctaid.x", SR_CLUSTER_CTAID_X, RC_32 },
	{ "%cluster_ctaid.y", SR_CLUSTER_CTAID_Y, RC_32 },
	{ "%cluster_ctaid.z", SR_CLUSTER_CTAID_Z, RC_32 },
	{ "%cluster_nctaid.x", SR_CLUSTER_NCTAID_X, RC_32 },
	{ "%cluster_nctaid.y", SR_CLUSTER_NCTAID_Y, RC_32 },
	{ "%cluster_nctaid.z", SR_CLUSTER_NCTAID_Z, RC_32 },
	{ "%cluster_ctarank", SR_CLUSTER_RANK, RC_32 },
	{ "%cluster_nctarank", SR_CLUSTER_NRANK, RC_32 },
	{ "%is_explicit_cluster", SR_EXPLICIT_CLUSTER, RC_PRED },
};

enum sreg sreg_find(struct str name, enum reg_class *rc)
{
	for (size_t i = 0; i < sizeof(sregs) / sizeof(sregs[0]); i++)
		if (str_is(name, sregs[i].name)) {
			*rc = sregs[i].rc;
			return sregs[i].sr;
		}
	return SR_NONE;
}

/* Parses a number with a sign. If there is none, returns false and reads nothing. */
bool parse_number(struct ptx_ctx *c, struct opnd *o)
{
	bool minus = take_punct(c, '-');

	switch (c->tok.kind) {
	case TOK_INT:
		o->kind = O_INT;
		o->imm = minus ? -c->tok.u : c->tok.u;
		break;
	case TOK_F32:
		o->kind = O_F32;
		o->imm = minus ? c->tok.u ^ 1u << 31 : c->tok.u;
		break;
	case TOK_F64:
		o->kind = O_F64;
		o->imm = minus ? c->tok.u ^ 1ull << 63 : c->tok.u;
		break;
	default:
		if (minus)
			syntax_error(c, "number expected");
		return false;
	}
	next(c);
	return true;
}

static struct opnd *pool_get(struct ptx_ctx *c, uint32_t n)
{
	struct opnd *o = &c->vec_pool[c->vec_used];

	if (c->vec_used + n > VEC_POOL)
		syntax_error(c, "too many vector elements");
	c->vec_used += n;
	memset(o, 0, n * sizeof(*o));
	return o;
}

static void parse_vector(struct ptx_ctx *c, struct opnd *o)
{
	o->kind = O_VEC;
	o->vec = pool_get(c, 0);
	do {
		if (o->nvec == MAX_VEC)
			syntax_error(c, "too many vector elements");
		if (is_punct(c, '{') || is_punct(c, '['))
			syntax_error(c, "register or number expected");
		/* No element takes from the pool itself, so all lie side by side. */
		parse_operand(c, pool_get(c, 1));
		o->nvec++;
	} while (take_punct(c, ','));
	want_punct(c, '}');
}

static int64_t parse_offset(struct ptx_ctx *c)
{
	bool minus = is_punct(c, '-');
	struct opnd o = { 0 };

	next(c);
	if (!parse_number(c, &o) || o.kind != O_INT)
		syntax_error(c, "offset expected");
	return minus ? -(uint64_t)o.imm : (uint64_t)o.imm;
}

static bool starts(struct str s, const char *with)
{
	return s.n > strlen(with) && !memcmp(s.p, with, strlen(with));
}

/* A texture, a surface and the map of a tensor have coordinates in the same brackets. */
static bool has_coordinates(struct ptx_ctx *c)
{
	return starts(c->opcode, "tex.") || starts(c->opcode, "suld.") || starts(c->opcode, "sust.") ||
	       (starts(c->opcode, "cp.async.bulk.") && is_punct(c, ','));
}

static void parse_address(struct ptx_ctx *c, struct opnd *o)
{
	struct opnd *in = pool_get(c, 1);

	parse_operand(c, in);
	if (is_punct(c, '+') || is_punct(c, '-'))
		in->imm += (uint64_t)parse_offset(c);
	if (has_coordinates(c)) {
		want_punct(c, ',');
		o->vec = pool_get(c, 1);
		parse_operand(c, o->vec);
	}
	want_punct(c, ']');
	o->kind = O_ADDR;
	o->base = in->kind;
	o->rc = in->rc;
	o->reg = in->reg;
	o->sym = in->sym;
	o->imm = in->imm;
	if (in->neg || in->pair ||
	    (in->kind != O_REG && in->kind != O_SYM && in->kind != O_INT))
		syntax_error(c, "address expected");
}

static void reg_operand(struct ptx_ctx *c, struct opnd *o, uint32_t vreg)
{
	o->kind = O_REG;
	o->reg = vreg;
	o->rc = VEC_AT(&c->vregs, uint8_t, vreg);
	if (c->tok.kind == TOK_DOT && c->tok.glued)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported: element .%.*s of a vector register",
			 (int)c->tok.s.n, c->tok.s.p);
}

static bool special_operand(struct ptx_ctx *c, struct opnd *o, struct str name)
{
	if (name.p[0] != '%')
		return false;
	if (c->tok.kind == TOK_DOT && c->tok.glued)
		name.n = c->tok.s.p + c->tok.s.n - name.p;
	o->imm = sreg_find(name, &o->rc);
	if (o->imm == SR_NONE && name.n > 7 && !memcmp(name.p, "%envreg", 7)) {
		o->imm = SR_ZERO32;
		o->rc = RC_32;
	}
	if (o->imm == SR_NONE)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported register %.*s", (int)name.n, name.p);
	if (c->tok.kind == TOK_DOT && c->tok.glued)
		next(c);
	o->kind = O_SREG;
	return true;
}

static void symbol_operand(struct ptx_ctx *c, struct opnd *o, struct str name)
{
	struct sym *s = sym_find(c, name);

	o->name = name;
	o->sym = s;
	if (str_is(name, "WARP_SZ") && !s) {
		o->kind = O_INT;
		o->imm = WARP_LANES;
	} else if (s && s->kind == SYM_VAR) {
		o->kind = O_SYM;
	} else if (s && s->kind == SYM_FUNC) {
		o->kind = O_FUNC;
	} else {
		o->kind = O_NAME;
	}
}

/* Parses the second half of "p|q". */
static void parse_pair(struct ptx_ctx *c, struct opnd *o)
{
	struct str name = want_ident(c);
	uint32_t vreg;

	if (str_is(name, "_")) {
		o->pair = UINT32_MAX;
		return;
	}
	if (!sym_find_reg(c, name, &vreg))
		syntax_error(c, "register expected after '|'");
	o->pair = vreg + 1;
	o->pair_rc = VEC_AT(&c->vregs, uint8_t, vreg);
}

void parse_operand(struct ptx_ctx *c, struct opnd *o)
{
	struct str name;
	uint32_t vreg;

	memset(o, 0, sizeof(*o));
	if (take_punct(c, '{')) {
		parse_vector(c, o);
		return;
	}
	if (take_punct(c, '[')) {
		parse_address(c, o);
		return;
	}
	if (parse_number(c, o))
		return;
	o->neg = take_punct(c, '!');
	name = want_ident(c);
	if (str_is(name, "_"))
		o->kind = O_SINK;
	else if (sym_find_reg(c, name, &vreg))
		reg_operand(c, o, vreg);
	else if (!special_operand(c, o, name))
		symbol_operand(c, o, name);
	if (o->kind == O_SYM && (is_punct(c, '+') || is_punct(c, '-')))
		o->imm = parse_offset(c);
	if ((o->kind == O_REG || o->kind == O_SINK) && take_punct(c, '|'))
		parse_pair(c, o);
	if (o->neg && (o->kind != O_REG || o->rc != RC_PRED))
		syntax_error(c, "'!' needs a predicate");
}

/* Parses operands up to the semicolon, which is not read. */
uint32_t parse_operands(struct ptx_ctx *c, struct opnd *op, uint32_t max)
{
	uint32_t n = 0;

	if (is_punct(c, ';'))
		return 0;
	do {
		if (n == max)
			syntax_error(c, "too many operands");
		parse_operand(c, &op[n++]);
	} while (take_punct(c, ','));
	return n;
}
