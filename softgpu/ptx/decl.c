/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations: registers, variables of every space with their initialisers, and formal
 * parameters. Device memory for .global and .const is allocated as soon as a variable is
 * defined. Pointers in initialisers are noted, and ptx_finish() fills them in when
 * everything has its place.
 */
#include <string.h>

#include "loader.h"

/* No variable, frame or array may be larger than this. */
#define MAX_VAR_BYTES	(1ull << 40)
#define MAX_FRAME_BYTES	(1u << 20)
#define MAX_CONST_BYTES	(64u << 10)

static enum ptx_type want_type(struct ptx_ctx *c)
{
	enum ptx_type t = T_NONE;

	if (c->tok.kind == TOK_DOT)
		t = ptx_type_of(c->tok.s);
	if (t == T_NONE && c->tok.kind == TOK_DOT &&
	    (str_is(c->tok.s, "texref") || str_is(c->tok.s, "surfref") ||
	     str_is(c->tok.s, "samplerref")))
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported type .%.*s", (int)c->tok.s.n,
			 c->tok.s.p);
	if (t == T_NONE)
		syntax_error(c, "type expected");
	next(c);
	return t;
}

static void one_reg(struct ptx_ctx *c, enum reg_class rc)
{
	struct str name = want_ident(c);
	struct sym *s;

	if (is_punct(c, '<')) {
		s = sym_add(c, name, SYM_RANGE);
		next(c);
		s->count = c->tok.u > UINT32_MAX ? UINT32_MAX : c->tok.u;
		want_int(c);
		want_punct(c, '>');
	} else {
		s = sym_add(c, name, SYM_REG);
		s->vreg = vreg_new(c, rc);
	}
	s->rc = rc;
}

/*
 * Parses a declaration after ".reg". A register of 8 bits is one of 16: PTX lets ld, st and cvt
 * alone have it, and these take the low byte of a wider register.
 */
void parse_reg_decl(struct ptx_ctx *c)
{
	enum ptx_type t = want_type(c);

	do
		one_reg(c, reg_class_of(t));
	while (take_punct(c, ','));
	want_punct(c, ';');
}

bool space_of_word(struct str s, enum var_space *space)
{
	static const char *const names[] = {
		[V_GLOBAL] = "global", [V_CONST] = "const",
		[V_SHARED] = "shared", [V_LOCAL] = "local",
		[V_PARAM] = "param",
	};

	for (int i = 0; i <= V_PARAM; i++)
		if (str_is(s, names[i])) {
			*space = i;
			return true;
		}
	return false;
}

static uint64_t want_align(struct ptx_ctx *c)
{
	uint64_t a = want_int(c);

	if (!a || a & (a - 1) || a > 1u << 20)
		syntax_error(c, "bad alignment");
	return a;
}

/* Parses .attribute(.managed): the host uses the memory, too. */
static void parse_attribute(struct ptx_ctx *c, struct decl *d)
{
	next(c);
	want_punct(c, '(');
	if (!is_dot(c, "managed"))
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported attribute .%.*s", (int)c->tok.s.n,
			 c->tok.s.p);
	next(c);
	want_punct(c, ')');
	d->managed = true;
}

/* Parses .ptr{.space}{.align n} of a kernel parameter. It is a hint and has no effect. */
static void parse_ptr_hint(struct ptx_ctx *c)
{
	enum var_space sp;

	next(c);
	if (c->tok.kind == TOK_DOT && space_of_word(c->tok.s, &sp))
		next(c);
	if (is_dot(c, "align")) {
		next(c);
		want_align(c);
	}
}

static void parse_dims(struct ptx_ctx *c, struct decl *d)
{
	while (take_punct(c, '[')) {
		uint64_t n = 0;

		if (d->ndims == 4)
			syntax_error(c, "too many dimensions");
		if (!is_punct(c, ']')) {
			n = want_int(c);
			if (n >= MAX_VAR_BYTES)
				syntax_error(c, "array too large");
		} else if (d->ndims) {
			syntax_error(c, "only the first dimension may be open");
		}
		want_punct(c, ']');
		d->dim[d->ndims++] = n;
	}
}

static void decl_size(struct ptx_ctx *c, struct decl *d, uint32_t vecn)
{
	d->size = ptx_types[d->type].size * vecn;
	if (d->align < d->size)
		d->align = d->align ? d->align : d->size;
	for (uint32_t i = 0; i < d->ndims; i++) {
		d->size *= d->dim[i];
		if (d->size > MAX_VAR_BYTES)
			syntax_error(c, "variable too large");
	}
}

/* {.align n} {.attribute()} {.vN} .type {.ptr ...} */
static uint32_t parse_decl_head(struct ptx_ctx *c, struct decl *d)
{
	uint32_t vecn = 1;

	for (;;) {
		if (is_dot(c, "align")) {
			next(c);
			d->align = want_align(c);
		} else if (is_dot(c, "attribute")) {
			parse_attribute(c, d);
		} else if (is_dot(c, "v2") || is_dot(c, "v4")) {
			vecn = c->tok.s.p[1] - '0';
			next(c);
		} else {
			break;
		}
	}
	/* A reference to a texture or a surface is a variable that holds such an object. */
	d->texref = d->space == V_GLOBAL && is_dot(c, "texref");
	d->surfref = d->space == V_GLOBAL && is_dot(c, "surfref");
	if (d->texref || d->surfref) {
		d->type = T_U64;
		next(c);
	} else {
		d->type = want_type(c);
	}
	if (d->type == T_PRED)
		syntax_error(c, "a variable cannot be a predicate");
	if (is_dot(c, "ptr"))
		parse_ptr_hint(c);
	return vecn;
}

static void parse_declarator(struct ptx_ctx *c, struct decl *d, uint32_t vecn)
{
	uint64_t align = d->align;

	memset(d->dim, 0, sizeof(d->dim));
	d->ndims = 0;
	d->name = want_ident(c);
	if (is_punct(c, '<'))
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported: range of variables");
	parse_dims(c, d);
	d->align = align;
	decl_size(c, d, vecn);
}

void parse_formal(struct ptx_ctx *c, struct decl *d)
{
	uint32_t vecn;

	memset(d, 0, sizeof(*d));
	d->space = V_PARAM;
	if (is_dot(c, "reg"))
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported: parameter in a register");
	if (!is_dot(c, "param"))
		syntax_error(c, "'.param' expected");
	next(c);
	vecn = parse_decl_head(c, d);
	parse_declarator(c, d, vecn);
	if (is_dot(c, "noalias"))
		next(c);
}

uint32_t frame_place(struct ptx_ctx *c, uint64_t size, uint64_t align)
{
	uint64_t at = (c->frame_top + align - 1) & ~(align - 1);

	if (at + size > MAX_FRAME_BYTES)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported: more than %u bytes of local memory",
			 MAX_FRAME_BYTES);
	c->frame_top = at + size;
	if (c->frame_top > c->frame_max)
		c->frame_max = c->frame_top;
	return at;
}

/* ---- initialisers ---- */

struct init {
	uint8_t *to;
	const struct decl *d;
	uint32_t var;
};

/* Parses sym, sym+n or generic(sym)+n: an address that is filled in later. */
static void init_symbol(struct ptx_ctx *c, struct init *in, uint64_t at,
			uint64_t mask)
{
	struct init_fix *fx = vec_add(c, &c->fixes, sizeof(*fx), 1);
	struct str name = want_ident(c);
	bool generic = str_is(name, "generic") && take_punct(c, '(');

	if (generic) {
		name = want_ident(c);
		want_punct(c, ')');
	}
	fx->sym = sym_find(c, name);
	if (!fx->sym || (fx->sym->kind != SYM_VAR && fx->sym->kind != SYM_FUNC))
		ptx_fail(c, PTX_ERR_SYNTAX, c->tok.line,
			 "'%.*s' in an initialiser is not defined", (int)name.n,
			 name.p);
	if (fx->sym->kind == SYM_FUNC)
		FUNC_AT(c, fx->sym->func)->taken = true;
	if (is_punct(c, '+') || is_punct(c, '-')) {
		bool minus = is_punct(c, '-');
		bool twice;

		next(c);
		twice = take_punct(c, '-');
		fx->add = want_int(c);
		if (minus != twice)
			fx->add = -(uint64_t)fx->add;
	}
	fx->var = in->var;
	fx->at = at;
	fx->size = ptx_types[in->d->type].size;
	fx->mask = mask;
	fx->line = c->tok.line;
}

static void init_scalar(struct ptx_ctx *c, struct init *in, uint64_t at)
{
	uint32_t size = ptx_types[in->d->type].size;
	bool minus = take_punct(c, '-');
	uint64_t v = c->tok.u;

	if (c->tok.kind == TOK_IDENT) {
		init_symbol(c, in, at, 0);
		return;
	}
	if (c->tok.kind == TOK_INT) {
		next(c);
		if (!minus && take_punct(c, '(')) {
			init_symbol(c, in, at, v);
			want_punct(c, ')');
			return;
		}
		v = minus ? -v : v;
	} else if (c->tok.kind == TOK_F32 || c->tok.kind == TOK_F64) {
		struct opnd o = { .imm = v };

		o.kind = c->tok.kind == TOK_F32 ? O_F32 : O_F64;
		v = opnd_imm(c, &o, reg_class_of(in->d->type),
			     size == 8 ? 'd' : 'f');
		if (minus)
			v ^= size == 8 ? 1ull << 63 : 1u << 31;
		next(c);
	} else {
		syntax_error(c, "initialiser expected");
	}
	memcpy(in->to + at, &v, size > 8 ? 8 : size);
}

/* Parses one level of braces. @bytes is the room of this level. */
static void init_level(struct ptx_ctx *c, struct init *in, uint32_t level,
		       uint64_t at, uint64_t bytes)
{
	uint64_t step = ptx_types[in->d->type].size;
	uint64_t end = at + bytes;

	if (!take_punct(c, '{')) {
		init_scalar(c, in, at);
		return;
	}
	for (uint32_t i = level + 1; i < in->d->ndims; i++)
		step *= in->d->dim[i];
	while (!is_punct(c, '}')) {
		bool braces = is_punct(c, '{');
		uint64_t sz = braces ? step : ptx_types[in->d->type].size;

		if (at + sz > end || !sz || level > 4)
			syntax_error(c, "too many initialisers");
		init_level(c, in, level + 1, at, sz);
		at += sz;
		if (!take_punct(c, ','))
			break;
	}
	want_punct(c, '}');
}

/* ---- variables ---- */

static struct ptx_var *module_var_new(struct ptx_ctx *c, struct sym *s,
				      const struct decl *d)
{
	struct ptx_var *v;
	void *addr;

	if (d->space == V_CONST && d->size > MAX_CONST_BYTES)
		ptx_fail(c, PTX_ERR_SYNTAX, s->line,
			 "constant variable larger than %u bytes",
			 MAX_CONST_BYTES);
	v = vec_add(c, &c->vars, sizeof(*v), 1);
	v->name = arena_str(c, &c->img->arena, d->name);
	v->space = d->space == V_CONST ? PTX_SPACE_CONST : PTX_SPACE_GLOBAL;
	v->visible = d->is_visible;
	v->size = d->size;
	v->align = d->align;
	v->managed = d->managed;
	v->texref = d->texref;
	v->surfref = d->surfref;
	addr = c->alloc->alloc(c->alloc->ctx, v);
	if (!addr)
		ptx_fail(c, PTX_ERR_NOMEM, s->line,
			 "no device memory for '%s' (%llu bytes)", v->name,
			 (unsigned long long)d->size);
	v->addr = addr;
	memset(addr, 0, d->size);
	s->var = c->vars.n - 1;
	s->is_extern = false;
	return v;
}

static struct sym *var_symbol(struct ptx_ctx *c, const struct decl *d)
{
	struct sym *s = sym_find_here(c, d->name);

	/* A declaration may come before the definition, and again after it. */
	if (s && s->kind == SYM_VAR && s->space == d->space && !c->fb &&
	    (s->is_extern || d->is_extern))
		return s;
	s = sym_add(c, d->name, SYM_VAR);
	s->is_extern = true;
	s->space = d->space;
	s->size = d->size;
	s->align = d->align;
	return s;
}

static void declare_shared(struct ptx_ctx *c, struct sym *s,
			   const struct decl *d)
{
	bool open = d->ndims && !d->dim[0];

	if (d->is_extern && !open && d->size)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, s->line,
			 "unsupported: .extern .shared of a given size");
	s->is_extern = false;
	s->dynamic = open;
	if (open && d->align > c->dyn_align)
		c->dyn_align = d->align;
	if (!open && c->fb)
		*(struct sym **)vec_add(c, &c->fb->own_vars, sizeof(s), 1) = s;
}

static void declare_in_function(struct ptx_ctx *c, struct sym *s,
				const struct decl *d)
{
	if (!c->fb)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, s->line,
			 "unsupported: .local variable outside a function");
	s->is_extern = false;
	s->offset = frame_place(c, d->size, d->align);
}

static void define_module_var(struct ptx_ctx *c, struct sym *s, struct decl *d)
{
	bool reference = d->texref || d->surfref;
	struct init in = { .d = d };

	if (c->fb)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, s->line,
			 "unsupported: global variable inside a function");
	if (d->is_extern)
		return;
	if (d->ndims && !d->dim[0])
		syntax_error(c, "array without a size");
	in.to = module_var_new(c, s, d)->addr;
	in.var = s->var;
	s->size = d->size;
	s->align = d->align;
	s->texref = d->texref && !d->ndims;
	s->surfref = d->surfref && !d->ndims;
	if (reference && d->ndims)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, s->line, "unsupported: array of .%s",
			 d->texref ? "texref" : "surfref");
	if (!reference && take_punct(c, '='))
		init_level(c, &in, 0, 0, d->size);
}

void parse_var_decl(struct ptx_ctx *c, bool is_extern, bool is_visible)
{
	struct decl d = { .is_extern = is_extern, .is_visible = is_visible };
	uint64_t align;
	uint32_t vecn;

	if (c->tok.kind != TOK_DOT || !space_of_word(c->tok.s, &d.space))
		syntax_error(c, "state space expected");
	next(c);
	vecn = parse_decl_head(c, &d);
	align = d.align;
	do {
		struct sym *s;

		d.align = align;
		parse_declarator(c, &d, vecn);
		s = var_symbol(c, &d);
		if (d.space == V_SHARED)
			declare_shared(c, s, &d);
		else if (d.space == V_LOCAL || d.space == V_PARAM)
			declare_in_function(c, s, &d);
		else
			define_module_var(c, s, &d);
	} while (take_punct(c, ','));
	want_punct(c, ';');
}
