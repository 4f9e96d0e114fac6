/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the PTX loader: tokens, symbols, operands, forms and the state of one
 * ptx_load(). Errors leave by ptx_fail(), a longjmp to ptx_load(). All memory belongs to
 * struct ptx_ctx, so nothing leaks in that case.
 */
#ifndef WORMHOLE_SOFTGPU_PTX_LOADER_H
#define WORMHOLE_SOFTGPU_PTX_LOADER_H

#include <setjmp.h>

#include "insn.h"
#include "ptx.h"

#define PTX_NORETURN __attribute__((noreturn))

struct str {
	const char *p;
	uint32_t n;
};

bool str_is(struct str s, const char *c);
bool str_eq(struct str a, struct str b);

/* ---- memory (util.c) ---- */

/* A growing array. Elements move when it grows. */
struct vec {
	void *p;
	uint32_t n, cap;
};

/* ---- types ---- */

enum ptx_type ptx_type_of(struct str s);	/* @s has no dot; T_NONE: it is no type */

/* Register classes: bytes per lane; predicates are one bit per lane. */
enum reg_class { RC_PRED, RC_16, RC_32, RC_64, RC_128, RC_COUNT };
extern const uint16_t reg_class_bytes[RC_COUNT];	/* bytes of all 32 lanes */
enum reg_class reg_class_of(enum ptx_type t);

/* ---- lexer (lex.c) ---- */

enum tok_kind {
	TOK_EOF, TOK_IDENT, TOK_DOT /* .word */, TOK_INT, TOK_F32, TOK_F64,
	TOK_STRING, TOK_PUNCT,
};

struct tok {
	enum tok_kind kind;
	struct str s;		/* spelling; of TOK_DOT without the dot */
	char punct;
	uint64_t u;		/* value, or the bits of a float */
	uint32_t line;
	bool glued;		/* there is no white space before it */
};

struct lexer {
	const char *p, *end;
	uint32_t line;
};

/* ---- symbols (sym.c) ---- */

enum sym_kind {
	SYM_REG, SYM_RANGE, SYM_VAR, SYM_FUNC, SYM_LABEL, SYM_PROTO,
	SYM_TARGETS,
};

enum var_space { V_GLOBAL, V_CONST, V_SHARED, V_LOCAL, V_PARAM };

struct sym {
	struct sym *next;	/* in the hash bucket */
	struct sym *peer;	/* in the same scope */
	struct str name;
	uint32_t id;
	enum sym_kind kind;
	uint16_t scope;
	uint32_t line;
	/* registers */
	enum reg_class rc;
	uint32_t vreg, count;
	/* variables */
	enum var_space space;
	uint64_t size, align, offset;	/* offset in shared, local or parameter memory */
	int32_t var;			/* index of the module variable, or -1 */
	bool is_extern, placed, entry_param, dynamic, texref, surfref;
	uint32_t owner;			/* function + 1 that declares it, 0 = module */
	uint32_t used_in;		/* function + 1 that used it last */
	/* functions, labels */
	uint32_t func;
	uint32_t pc;
	/* branch targets */
	struct str *targets;
	uint32_t ntargets;
};

#define SYM_BUCKETS 4096

/* ---- operands (operand.c) ---- */

enum opnd_kind {
	O_NONE, O_REG, O_INT, O_F32, O_F64, O_SYM, O_FUNC, O_NAME, O_SREG,
	O_VEC, O_SINK, O_ADDR,
};

#define MAX_OPERANDS	8
#define MAX_VEC		128	/* registers of the sums of a wgmma */
#define VEC_POOL	(MAX_VEC + 32)	/* of all vectors of an instruction */

struct opnd {
	enum opnd_kind kind;
	enum opnd_kind base;	/* of O_ADDR: O_REG, O_SYM or O_INT */
	bool neg;		/* "!": complement of a predicate */
	enum reg_class rc;
	uint32_t reg;
	uint32_t pair;		/* "p|q": q's register + 1; ~0 = sink */
	enum reg_class pair_rc;
	int64_t imm;		/* value, float bits, or offset */
	struct sym *sym;
	struct str name;	/* O_NAME: label, or function not yet seen */
	uint8_t nvec;
	struct opnd *vec;
};

/* ---- instruction forms (form.c) ---- */

/* Meanings of the modifiers of one opcode. An absent modifier leaves its field 0. */
struct attr {
	uint16_t mode;			/* enum insn_mode */
	uint8_t ntypes;
	uint8_t types[3];		/* enum ptx_type */
	uint8_t space;			/* enum mem_space + 1 */
	uint8_t vec;			/* 1, 2, 4, 8 */
	uint8_t cmp;			/* enum cmp_op */
	uint8_t bop;			/* enum bool_op */
	uint8_t aop;			/* enum atom_op */
	uint8_t sub;			/* the family's own: shfl, vote, ... */
	bool to, scope_sys, hint, noncoherent, aligned, rounded;
	const char *base;		/* "ld" of "ld.global.f32" */
};

struct ptx_ctx;
struct ptx_form;
typedef void emit_fn(struct ptx_ctx *c, const struct ptx_form *f,
		     const struct attr *at, struct opnd *op, uint32_t nops);

struct ptx_form {
	const char *pat;	/* opcode pattern, which ptx_list_forms() prints */
	const char *sig;	/* operands: see emit.c */
	emit_fn *emit;
	exec_fn *fn[2];		/* indexed by ptx_isa(); NULL for N() */
};

/* An opcode of this module, which was matched once. */
struct opcode {
	struct opcode *next;
	struct str text;
	const struct ptx_form *form;
	struct attr at;
};

/* ---- one load ---- */

/* A place in an instruction that names a virtual register. */
struct ref {
	uint32_t insn;
	uint32_t vreg;
	uint8_t def;		/* 1 = written, 0 = read */
	uint8_t field;		/* enum ref_field */
	uint32_t vec;		/* index for REF_VEC */
};

/* REF_E is the fifth operand, in insn.vec. REF_VEC is in the list of operands. */
enum ref_field { REF_D, REF_A, REF_B, REF_C, REF_E, REF_GUARD, REF_VEC };

struct formals;
struct regs_work;

struct label_ref {
	struct label_ref *next;
	struct str name;
	uint32_t insn;
	int32_t vec;		/* -1: in insn.imm, else in this element of the list */
	uint32_t line;
};

struct scope {
	struct sym *syms;
	struct label_ref *refs;
	uint32_t frame_top;
};

#define MAX_SCOPES 64

struct const_entry {
	uint32_t hash_next;
	enum reg_class rc;
	uint32_t offset;
	uint64_t lo, hi;
	const struct sym *sym;	/* value is its address + lo */
};

/* A pointer in an initialiser. It is filled in when everything has its place. */
struct init_fix {
	uint32_t var;
	uint64_t at;
	const struct sym *sym;
	int64_t add;
	uint64_t mask;		/* the bits to store, shifted down; 0 = all */
	uint32_t size;
	uint32_t line;
};

struct func_build {
	struct ptx_func *fn;
	struct str name;
	struct vec shared_used;	/* struct sym *: module-scope shared variables */
	struct vec callees;	/* uint32_t */
	bool indirect;		/* it calls through a register */
	bool taken;		/* its address is taken */
	uint8_t visit;		/* state of the current search */
	uint32_t mark;
	struct vec own_vars;	/* struct sym *: shared variables of the function */
	uint32_t line;
};

struct ptx_ctx {
	jmp_buf fail;
	enum ptx_status status;
	char *log;
	size_t log_len;
	struct lexer lex;
	struct tok tok;
	struct ptx_image *img;
	struct arena tmp;
	const struct ptx_alloc *alloc;
	struct sym *bucket[SYM_BUCKETS];
	uint32_t next_sym;
	struct opcode *opcodes[1024];
	struct scope scope[MAX_SCOPES];
	uint32_t nscopes;
	uint32_t version, target;
	/* module */
	struct vec code, vecs, sites, funcs, vars, fixes, consts;
	uint32_t const_hash[4096];
	size_t const_bytes;
	/* current function */
	struct func_build *fb;
	uint32_t fidx;
	struct vec vregs;	/* uint8_t: enum reg_class */
	struct vec refs;
	struct vec args;	/* arguments of the call that is parsed */
	struct vec targets;	/* struct str: labels of .branchtargets */
	struct vec set;		/* struct sym *: shared variables of a kernel */
	struct formals *formals; /* two: parameters, results */
	struct vec range_map;	/* hash: (symbol, number) to vreg */
	uint32_t range_used;
	struct regs_work *regs;
	uint32_t frame_top, frame_max;	/* local memory of the function */
	uint32_t dyn_align;
	/* current statement */
	struct opnd *guard;
	struct str opcode;
	uint32_t line;
	struct opnd vec_pool[VEC_POOL];
	uint32_t vec_used;
	bool at_leader;
};

/* util.c */
void ptx_fail(struct ptx_ctx *c, enum ptx_status st, uint32_t line,
	      const char *fmt, ...)
	PTX_NORETURN __attribute__((format(printf, 4, 5)));
void *arena_get(struct ptx_ctx *c, struct arena *a, size_t size);
void arena_free(struct arena *a);
char *arena_str(struct ptx_ctx *c, struct arena *a, struct str s);
void *vec_add(struct ptx_ctx *c, struct vec *v, size_t elem, uint32_t n);
void vec_free(struct vec *v);
#define VEC_AT(v, type, i) (((type *)(v)->p)[i])
uint32_t str_hash(struct str s);

/* lex.c */
void lex_init(struct lexer *lx, const char *text, size_t len);
void next(struct ptx_ctx *c);			/* reads c->tok */
bool is_punct(struct ptx_ctx *c, char ch);
bool is_dot(struct ptx_ctx *c, const char *word);
bool take_punct(struct ptx_ctx *c, char ch);
void want_punct(struct ptx_ctx *c, char ch);
struct str want_ident(struct ptx_ctx *c);
uint64_t want_int(struct ptx_ctx *c);
/* Reads the rest of an opcode or of a "::" modifier, without a space after the current token. */
struct str lex_glued(struct ptx_ctx *c);
void syntax_error(struct ptx_ctx *c, const char *what) PTX_NORETURN;

/* sym.c */
struct sym *sym_find(struct ptx_ctx *c, struct str name);
struct sym *sym_find_here(struct ptx_ctx *c, struct str name);
struct sym *sym_add(struct ptx_ctx *c, struct str name, enum sym_kind kind);
void scope_push(struct ptx_ctx *c);
void scope_pop(struct ptx_ctx *c);
/* Finds a register by name, also one of a range like %r<9>. */
bool sym_find_reg(struct ptx_ctx *c, struct str name, uint32_t *vreg);
void range_reset(struct ptx_ctx *c);
uint32_t vreg_new(struct ptx_ctx *c, enum reg_class rc);
void label_define(struct ptx_ctx *c, struct str name);
void label_use(struct ptx_ctx *c, struct str name, uint32_t insn, int32_t vec);

/* decl.c */
struct decl {
	enum var_space space;
	bool is_extern, is_visible, managed, texref, surfref;
	uint64_t align;
	enum ptx_type type;
	struct str name;
	uint64_t dim[4];	/* 0 in the first one: "[]" */
	uint32_t ndims;
	uint64_t size;		/* bytes of the whole variable */
};
void parse_reg_decl(struct ptx_ctx *c);
/* Parses a declaration from the word of its space to the semicolon. */
void parse_var_decl(struct ptx_ctx *c, bool is_extern, bool is_visible);
bool space_of_word(struct str s, enum var_space *space);
/* Parses one formal parameter or result, from ".param" on. */
void parse_formal(struct ptx_ctx *c, struct decl *d);
/* Reserves memory in the local frame of the current function. */
uint32_t frame_place(struct ptx_ctx *c, uint64_t size, uint64_t align);

/* operand.c */
void parse_operand(struct ptx_ctx *c, struct opnd *o);
uint32_t parse_operands(struct ptx_ctx *c, struct opnd *op, uint32_t max);
bool parse_number(struct ptx_ctx *c, struct opnd *o);
enum sreg sreg_find(struct str name, enum reg_class *rc);

/* form.c */
const struct opcode *opcode_match(struct ptx_ctx *c, struct str text);

/* emit*.c */
#define F(pat, sig, emit, h) emit_fn emit_##emit; exec_fn h##_v1, h##_v3;
#define N(pat, sig, emit) emit_fn emit_##emit;
#include "forms.def"
#undef F
#undef N

/* Names a handler that no form names, in the set for the running CPU. */
#define HANDLER(h) (ptx_isa() ? h##_v3 : h##_v1)
#define DECLARE_HANDLER(h) exec_fn h##_v1, h##_v3

struct insn *insn_new(struct ptx_ctx *c, exec_fn *fn);
uint32_t insn_last(struct ptx_ctx *c);
void ref_add(struct ptx_ctx *c, enum ref_field f, uint32_t vreg, bool def);
void ref_vec(struct ptx_ctx *c, uint32_t at, uint32_t vreg, bool def);
int32_t const_get(struct ptx_ctx *c, enum reg_class rc, uint64_t lo,
		  uint64_t hi, const struct sym *sym);
/* Emits a source operand of class @rc, a register or a constant, into field @f. */
void emit_src(struct ptx_ctx *c, enum ref_field f, struct opnd *o,
	      enum reg_class rc, char sig);
void emit_dst(struct ptx_ctx *c, enum ref_field f, struct opnd *o,
	      enum reg_class rc);
void opnd_prepare(struct ptx_ctx *c, struct opnd *o, enum reg_class want);
uint64_t opnd_imm(struct ptx_ctx *c, struct opnd *o, enum reg_class rc,
		  char sig);
void want_nops(struct ptx_ctx *c, uint32_t have, uint32_t lo, uint32_t hi);
void bad_operand(struct ptx_ctx *c, const char *why) PTX_NORETURN;
void sym_used(struct ptx_ctx *c, struct sym *s);

/* emit_mem.c: returns the elements of a vector, or of one register without braces. */
uint32_t mem_elements(struct ptx_ctx *c, struct opnd *o, const struct attr *at,
		      struct opnd **el);
/* Returns the class that all registers of a vector share. Numbers take the type's class. */
enum reg_class mem_class(struct ptx_ctx *c, struct opnd *el, uint32_t n, enum ptx_type t);
char mem_sig(enum ptx_type t);
/* Puts a value that is read, or a register that is written, at @at in the list of operands. */
void mem_value(struct ptx_ctx *c, struct opnd *el, uint32_t at, enum reg_class rc, char sig);
void mem_result(struct ptx_ctx *c, const struct opnd *o, uint32_t at, enum reg_class rc);

/*
 * emit_matrix.c: reads the types of the elements of D, A, B and C out of the opcode, as far as it
 * names them.
 */
void matrix_types(struct str opcode, enum matrix_element t[4]);
/* Starts an instruction that all lanes of a warp run together. */
void matrix_new(struct ptx_ctx *c, exec_fn *fn);
/* Returns the @n elements of an operand: a vector, or one register without braces. */
struct opnd *matrix_elements(struct ptx_ctx *c, struct opnd *o, uint32_t n);
/* Makes @n registers results, in the list of operands from @at on. */
void matrix_results(struct ptx_ctx *c, struct opnd *el, uint32_t n, uint32_t at,
		    enum reg_class rc);
/* Makes @n registers or numbers sources. opnd_prepare() has seen them. @sig is as in emit.c. */
void matrix_sources(struct ptx_ctx *c, struct opnd *el, uint32_t n, uint32_t at, char sig);

/*
 * emit_mem.c: puts the whole address of an operand in brackets into one register of 64 bits, which
 * becomes the operand. That of shared memory is relative to its window.
 */
void addr_to_reg(struct ptx_ctx *c, struct opnd *o, enum mem_space sp);

/* regs.c: liveness and places for the registers of one function. */
void regs_assign(struct ptx_ctx *c, uint32_t first, uint32_t end);
void regs_free(struct ptx_ctx *c);

/* finish.c */
void ptx_finish(struct ptx_ctx *c);
uint64_t sym_address(struct ptx_ctx *c, const struct sym *s, uint32_t line);

/* parse.c */
uint32_t func_declare(struct ptx_ctx *c, struct str name);
#define FUNC_AT(c, i) (((struct func_build **)(c)->funcs.p)[i])

#endif
