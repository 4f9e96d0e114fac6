/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the PTX text from top to bottom: module directives, functions and their
 * statements. Each instruction goes to the emitter of its form at once. A function is
 * finished, and its registers get their places, at its closing brace.
 */
#include <stdlib.h>
#include <string.h>

#include "loader.h"

static struct insn *insn_at(struct ptx_ctx *c, uint32_t i)
{
	return &VEC_AT(&c->code, struct insn, i);
}

/* ---- statements ---- */

static void skip_to_semicolon(struct ptx_ctx *c)
{
	while (!is_punct(c, ';')) {
		if (c->tok.kind == TOK_EOF)
			syntax_error(c, "';' expected");
		next(c);
	}
	next(c);
}

static void skip_line(struct ptx_ctx *c)
{
	uint32_t line = c->tok.line;

	while (c->tok.kind != TOK_EOF && c->tok.line == line)
		next(c);
}

/* Parses label: .branchtargets a, b, c; */
static void parse_targets(struct ptx_ctx *c, struct str name)
{
	struct sym *s = sym_add(c, name, SYM_TARGETS);

	next(c);
	do {
		struct str t = want_ident(c);

		*(struct str *)vec_add(c, &c->targets, sizeof(t), 1) = t;
		s->ntargets++;
	} while (take_punct(c, ','));
	s->targets = arena_get(c, &c->tmp, s->ntargets * sizeof(struct str));
	memcpy(s->targets, (struct str *)c->targets.p + c->targets.n -
	       s->ntargets, s->ntargets * sizeof(struct str));
	want_punct(c, ';');
}

static void parse_label(struct ptx_ctx *c, struct str name)
{
	next(c);
	if (is_dot(c, "branchtargets")) {
		parse_targets(c, name);
	} else if (is_dot(c, "callprototype")) {
		sym_add(c, name, SYM_PROTO);
		skip_to_semicolon(c);
	} else if (is_dot(c, "calltargets")) {
		sym_add(c, name, SYM_PROTO);
		skip_to_semicolon(c);
	} else {
		label_define(c, name);
	}
}

static void parse_guard(struct ptx_ctx *c, struct opnd *guard)
{
	next(c);
	parse_operand(c, guard);
	if (guard->kind != O_REG || guard->rc != RC_PRED || guard->pair)
		syntax_error(c, "a guard must be a predicate");
	c->guard = guard;
}

static void parse_insn(struct ptx_ctx *c)
{
	struct opnd op[MAX_OPERANDS + 1], guard;
	const struct opcode *o;
	uint32_t n = 0;

	c->guard = NULL;
	c->vec_used = 0;
	c->line = c->tok.line;
	if (is_punct(c, '@'))
		parse_guard(c, &guard);
	if (c->tok.kind != TOK_IDENT)
		syntax_error(c, "instruction expected");
	c->line = c->tok.line;
	c->opcode = lex_glued(c);
	next(c);
	o = opcode_match(c, c->opcode);
	memset(op, 0, sizeof(op));
	if (o->form->emit != emit_call)
		n = parse_operands(c, op, MAX_OPERANDS);
	o->form->emit(c, o->form, &o->at, op, n);
	want_punct(c, ';');
	c->guard = NULL;
}

static void parse_body_directive(struct ptx_ctx *c)
{
	enum var_space sp;

	if (is_dot(c, "reg")) {
		next(c);
		parse_reg_decl(c);
	} else if (is_dot(c, "loc")) {
		skip_line(c);
	} else if (is_dot(c, "pragma")) {
		skip_to_semicolon(c);
	} else if (is_dot(c, "extern")) {
		next(c);
		parse_var_decl(c, true, false);
	} else if (space_of_word(c->tok.s, &sp)) {
		parse_var_decl(c, false, false);
	} else {
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported directive .%.*s", (int)c->tok.s.n,
			 c->tok.s.p);
	}
}

/* A label is a name followed by a colon, but "a::b" is part of an opcode. */
static bool at_label(struct ptx_ctx *c)
{
	struct lexer save = c->lex;
	struct tok t = c->tok;
	bool label;

	next(c);
	label = is_punct(c, ':');
	if (label)
		return true;
	c->lex = save;
	c->tok = t;
	return false;
}

static void parse_statement(struct ptx_ctx *c)
{
	struct str name = c->tok.s;

	if (is_punct(c, '{')) {
		next(c);
		scope_push(c);
	} else if (c->tok.kind == TOK_DOT) {
		parse_body_directive(c);
	} else if (take_punct(c, ';')) {
		/* the statement is empty */
	} else if (c->tok.kind == TOK_IDENT && at_label(c)) {
		parse_label(c, name);
	} else {
		parse_insn(c);
	}
}

/* Parses up to the brace that closes the scope of level @base. */
static void parse_body(struct ptx_ctx *c)
{
	uint32_t base = c->nscopes;

	want_punct(c, '{');
	scope_push(c);
	while (c->nscopes > base) {
		if (c->tok.kind == TOK_EOF)
			syntax_error(c, "'}' expected");
		if (take_punct(c, '}'))
			scope_pop(c);
		else
			parse_statement(c);
	}
}

/* ---- functions ---- */

static struct func_build *func_new(struct ptx_ctx *c, struct str name)
{
	struct func_build *fb = arena_get(c, &c->tmp, sizeof(*fb));

	fb->fn = arena_get(c, &c->tmp, sizeof(*fb->fn));
	fb->fn->code = arena_get(c, &c->img->arena, sizeof(struct ptx_code));
	fb->fn->name = arena_str(c, &c->img->arena, name);
	fb->name = name;
	fb->line = c->tok.line;
	*(struct func_build **)vec_add(c, &c->funcs, sizeof(fb), 1) = fb;
	fb->fn->code->index = c->funcs.n - 1;
	if (str_is(name, "vprintf"))
		fb->fn->code->builtin = CALL_VPRINTF;
	else if (str_is(name, "__assertfail"))
		fb->fn->code->builtin = CALL_ASSERTFAIL;
	else if (str_is(name, "cudaGraphSetConditional"))
		fb->fn->code->builtin = CALL_CONDITION;
	return fb;
}

/* Returns the index of a function by name. A prototype may come before the function. */
uint32_t func_declare(struct ptx_ctx *c, struct str name)
{
	struct sym *s = sym_find(c, name);

	if (s && s->kind != SYM_FUNC)
		ptx_fail(c, PTX_ERR_SYNTAX, c->tok.line,
			 "'%.*s' is defined twice", (int)name.n, name.p);
	if (!s) {
		s = sym_add(c, name, SYM_FUNC);
		func_new(c, name);
		s->func = c->funcs.n - 1;
	}
	return s->func;
}

struct formals {
	struct decl d[256];
	uint32_t n;
};

static void parse_formals(struct ptx_ctx *c, struct formals *f)
{
	f->n = 0;
	if (!take_punct(c, '('))
		return;
	while (!is_punct(c, ')')) {
		if (f->n == sizeof(f->d) / sizeof(f->d[0]))
			syntax_error(c, "too many parameters");
		parse_formal(c, &f->d[f->n++]);
		if (!take_punct(c, ','))
			break;
	}
	want_punct(c, ')');
}

static struct sym *formal_symbol(struct ptx_ctx *c, const struct decl *d)
{
	struct sym *s = sym_add(c, d->name, SYM_VAR);

	s->space = V_PARAM;
	s->size = d->size;
	s->align = d->align;
	return s;
}

/* Places kernel parameters in a packed block with natural alignment. */
static void place_entry_params(struct ptx_ctx *c, struct ptx_func *fn,
			       const struct formals *f, bool define)
{
	struct ptx_param *p;
	uint64_t at = 0;

	p = arena_get(c, &c->img->arena, f->n * sizeof(*p) + 1);
	for (uint32_t i = 0; i < f->n; i++) {
		const struct decl *d = &f->d[i];
		struct sym *s;

		at = (at + d->align - 1) & ~(d->align - 1);
		p[i] = (struct ptx_param){ at, d->size, d->align };
		if (define) {
			s = formal_symbol(c, d);
			s->entry_param = true;
			s->offset = at;
		}
		at += d->size;
		if (at > 32764)
			syntax_error(c, "more than 32764 bytes of parameters");
	}
	fn->params = p;
	fn->nparams = f->n;
	fn->param_bytes = at;
}

/* Places parameters and results of a function in its own frame. */
static void place_formals(struct ptx_ctx *c, struct ptx_code *code,
			  const struct formals *args,
			  const struct formals *rets, bool define)
{
	uint32_t n = args->n + rets->n;
	struct call_arg *a;

	a = arena_get(c, &c->img->arena, n * sizeof(*a) + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct decl *d = i < args->n ? &args->d[i] :
				       &rets->d[i - args->n];

		a[i].size = d->size;
		if (!define)
			continue;
		a[i].from = frame_place(c, d->size, d->align);
		formal_symbol(c, d)->offset = a[i].from;
	}
	code->formals = a;
	code->nformals = args->n;
	code->nresults = rets->n;
}

static void want_three(struct ptx_ctx *c, uint32_t v[3])
{
	v[1] = v[2] = 1;
	v[0] = want_int(c);
	for (int i = 1; i < 3 && take_punct(c, ','); i++)
		v[i] = want_int(c);
}

static void set_max_threads(struct ptx_ctx *c, struct ptx_func *fn,
			    const uint32_t v[3])
{
	uint64_t n = (uint64_t)v[0] * v[1];

	if (!v[0] || !v[1] || !v[2] || n > 1024 || n * v[2] > 1024)
		syntax_error(c, "bad number of threads");
	fn->max_threads = n * v[2];
}

static void parse_func_directive(struct ptx_ctx *c, struct ptx_func *fn)
{
	uint32_t v[3];

	if (is_dot(c, "maxntid")) {
		next(c);
		want_three(c, v);
		set_max_threads(c, fn, v);
	} else if (is_dot(c, "reqntid")) {
		next(c);
		want_three(c, fn->reqntid);
		set_max_threads(c, fn, fn->reqntid);
	} else if (is_dot(c, "minnctapersm")) {
		next(c);
		fn->min_blocks = want_int(c);
	} else if (is_dot(c, "reqnctapercluster")) {
		next(c);
		want_three(c, fn->cluster);
		if (!fn->cluster[0] || !fn->cluster[1] || !fn->cluster[2])
			syntax_error(c, "bad size of a cluster");
	} else if (is_dot(c, "maxclusterrank")) {
		next(c);
		fn->max_cluster = want_int(c);
	} else if (is_dot(c, "explicitcluster")) {
		next(c);
		fn->explicit_cluster = true;
	} else if (is_dot(c, "maxnreg") || is_dot(c, "maxnctapersm")) {
		next(c);
		want_int(c);
	} else if (is_dot(c, "noreturn")) {
		next(c);
	} else if (is_dot(c, "pragma")) {
		skip_to_semicolon(c);
	} else {
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported directive .%.*s", (int)c->tok.s.n,
			 c->tok.s.p);
	}
}

/* At the end of its code a function returns, and a kernel exits. */
static void close_code(struct ptx_ctx *c)
{
	bool empty = c->code.n == c->fb->fn->code->first;
	struct insn *in = empty ? NULL : insn_at(c, insn_last(c));

	if (in && !c->at_leader && in->flags & INSN_CTL && !(in->flags & INSN_GUARD) &&
	    (in->ctl == CTL_RET || in->ctl == CTL_EXIT))
		return;
	c->line = c->tok.line;
	emit_ret(c, NULL, NULL, NULL, 0);
}

static void func_reset(struct ptx_ctx *c)
{
	c->vregs.n = 0;
	c->refs.n = 0;
	c->targets.n = 0;
	range_reset(c);
	c->frame_top = c->frame_max = 0;
	c->at_leader = true;
}

static void define_func(struct ptx_ctx *c, struct func_build *fb)
{
	struct ptx_code *code = fb->fn->code;

	code->first = c->code.n;
	code->builtin = CALL_NORMAL;	/* it may be the module's own printf, for example */
	parse_body(c);
	/* at_leader is also set behind a jump; the end needs an instruction then. */
	close_code(c);
	code->end = c->code.n;
	code->defined = true;
	code->local_frame = (c->frame_max + 15) & ~15u;
	scope_pop(c);
	regs_assign(c, code->first, code->end);
}

static void parse_func(struct ptx_ctx *c, bool entry, bool is_extern)
{
	struct formals *args = &c->formals[0], *rets = &c->formals[1];
	struct func_build *fb;
	struct str name;

	next(c);
	rets->n = 0;
	if (!entry)
		parse_formals(c, rets);
	name = want_ident(c);
	c->fidx = func_declare(c, name);
	fb = FUNC_AT(c, c->fidx);
	parse_formals(c, args);
	fb->fn->entry = entry;
	while (c->tok.kind == TOK_DOT)
		parse_func_directive(c, fb->fn);
	if (take_punct(c, ';')) {
		if (entry)
			place_entry_params(c, fb->fn, args, false);
		else if (!fb->fn->code->formals)
			place_formals(c, fb->fn->code, args, rets, false);
		return;
	}
	if (fb->fn->code->defined || is_extern)
		syntax_error(c, "function defined twice");
	c->fb = fb;
	func_reset(c);
	scope_push(c);
	if (entry)
		place_entry_params(c, fb->fn, args, true);
	else
		place_formals(c, fb->fn->code, args, rets, true);
	define_func(c, fb);
	c->fb = NULL;
}

/* ---- module ---- */

static void parse_version(struct ptx_ctx *c)
{
	struct str s = c->tok.s;
	double v = 0;

	if (c->tok.kind != TOK_F64)
		syntax_error(c, "version expected");
	memcpy(&v, &c->tok.u, sizeof(v));
	(void)s;
	if (!(v >= 1 && v < 1000))
		syntax_error(c, "bad version");
	c->version = v * 10 + 0.5;
	next(c);
}

/* Parses .target sm_90a, debug */
static void parse_target(struct ptx_ctx *c)
{
	do {
		struct str s = want_ident(c);

		if (s.n < 5 || memcmp(s.p, "sm_", 3))
			continue;
		c->target = 0;
		for (uint32_t i = 3; i < s.n && i < 7; i++)
			if (s.p[i] >= '0' && s.p[i] <= '9')
				c->target = c->target * 10 + s.p[i] - '0';
	} while (take_punct(c, ','));
}

static void parse_section(struct ptx_ctx *c)
{
	while (!is_punct(c, '{') && c->tok.kind != TOK_EOF)
		next(c);
	while (!is_punct(c, '}')) {
		if (c->tok.kind == TOK_EOF)
			syntax_error(c, "'}' expected");
		next(c);
	}
	next(c);
}

/* Parses .visible, .extern, .weak or .common before a variable or function. */
static void parse_linkage(struct ptx_ctx *c)
{
	bool is_extern = is_dot(c, "extern");
	enum var_space sp;

	next(c);
	if (is_dot(c, "entry"))
		parse_func(c, true, is_extern);
	else if (is_dot(c, "func"))
		parse_func(c, false, is_extern);
	else if (c->tok.kind == TOK_DOT && space_of_word(c->tok.s, &sp))
		parse_var_decl(c, is_extern, !is_extern);
	else
		syntax_error(c, "variable or function expected");
}

static void parse_address_size(struct ptx_ctx *c)
{
	uint32_t line = c->tok.line;

	next(c);
	if (want_int(c) != 64)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, line,
			 "unsupported: addresses of other than 64 bits");
}

static void parse_directive(struct ptx_ctx *c)
{
	enum var_space sp;

	if (c->tok.kind != TOK_DOT) {
		syntax_error(c, "directive expected");
	} else if (is_dot(c, "version")) {
		next(c);
		parse_version(c);
	} else if (is_dot(c, "target")) {
		next(c);
		parse_target(c);
	} else if (is_dot(c, "address_size")) {
		parse_address_size(c);
	} else if (is_dot(c, "file") || is_dot(c, "loc")) {
		skip_line(c);
	} else if (is_dot(c, "section")) {
		parse_section(c);
	} else if (is_dot(c, "pragma")) {
		skip_to_semicolon(c);
	} else if (is_dot(c, "entry")) {
		parse_func(c, true, false);
	} else if (is_dot(c, "func")) {
		parse_func(c, false, false);
	} else if (is_dot(c, "visible") || is_dot(c, "extern") ||
		   is_dot(c, "weak") || is_dot(c, "common")) {
		parse_linkage(c);
	} else if (space_of_word(c->tok.s, &sp) && sp != V_PARAM) {
		parse_var_decl(c, false, false);
	} else {
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->tok.line,
			 "unsupported directive .%.*s", (int)c->tok.s.n,
			 c->tok.s.p);
	}
}

static void parse_module(struct ptx_ctx *c)
{
	next(c);
	while (c->tok.kind != TOK_EOF) {
		if (take_punct(c, ';'))
			continue;
		parse_directive(c);
	}
	if (!c->version || !c->target)
		ptx_fail(c, PTX_ERR_SYNTAX, 1, "no .version and .target");
}

/* ---- load and unload ---- */

static void ctx_free(struct ptx_ctx *c)
{
	for (uint32_t i = 0; i < c->funcs.n; i++) {
		struct func_build *fb = FUNC_AT(c, i);

		vec_free(&fb->shared_used);
		vec_free(&fb->callees);
		vec_free(&fb->own_vars);
	}
	vec_free(&c->funcs);
	vec_free(&c->code);
	vec_free(&c->vecs);
	vec_free(&c->sites);
	vec_free(&c->vars);
	vec_free(&c->fixes);
	vec_free(&c->consts);
	vec_free(&c->vregs);
	vec_free(&c->refs);
	vec_free(&c->args);
	vec_free(&c->targets);
	vec_free(&c->set);
	vec_free(&c->range_map);
	regs_free(c);
	arena_free(&c->tmp);
	free(c->formals);
	free(c);
}

static void image_free(struct ptx_image *img)
{
	free(img->code);
	free(img->vecs);
	free(img->sites);
	free(img->consts);
	arena_free(&img->arena);
	free(img);
}

static void drop_vars(const struct ptx_alloc *alloc, struct ptx_var *v,
		      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i].addr)
			alloc->free(alloc->ctx, v[i].addr);
}

enum ptx_status ptx_load(const char *text, size_t len,
			 const struct ptx_alloc *alloc, struct ptx_module **out,
			 char *log, size_t log_len)
{
	struct ptx_ctx *c = calloc(1, sizeof(*c));
	enum ptx_status st;

	*out = NULL;
	if (log_len)
		log[0] = 0;
	if (!c)
		return PTX_ERR_NOMEM;
	c->log = log;
	c->log_len = log_len;
	c->alloc = alloc;
	c->dyn_align = 16;
	c->nscopes = 1;
	c->img = calloc(1, sizeof(*c->img));
	c->formals = calloc(2, sizeof(*c->formals));
	lex_init(&c->lex, text, len);
	if (!c->img || !c->formals) {
		c->status = PTX_ERR_NOMEM;
	} else if (!setjmp(c->fail)) {
		c->img->alloc = *alloc;
		parse_module(c);
		ptx_finish(c);
		*out = &c->img->mod;
	}
	st = c->status;
	if (st != PTX_OK) {
		drop_vars(alloc, c->vars.p, c->vars.n);
		if (c->img)
			image_free(c->img);
	}
	ctx_free(c);
	return st;
}

void ptx_unload(struct ptx_module *mod)
{
	struct ptx_image *img = (struct ptx_image *)mod;

	if (!mod)
		return;
	drop_vars(&img->alloc, mod->vars, mod->nvars);
	image_free(img);
}

const struct ptx_func *ptx_find_entry(const struct ptx_module *mod,
				      const char *name)
{
	for (uint32_t i = 0; i < mod->nfuncs; i++)
		if (mod->funcs[i].entry && !strcmp(mod->funcs[i].name, name))
			return &mod->funcs[i];
	return NULL;
}

const struct ptx_var *ptx_find_var(const struct ptx_module *mod,
				   const char *name)
{
	for (uint32_t i = 0; i < mod->nvars; i++)
		if (!strcmp(mod->vars[i].name, name))
			return &mod->vars[i];
	return NULL;
}
