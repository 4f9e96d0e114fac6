/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits PTX text into tokens. It works on the caller's text in place and never reads past
 * its end. Opcodes are not tokens: the parser takes the rest of an opcode with lex_glued(),
 * since "ld.global.L1::evict_last.v2.f32" is one word to it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"

void lex_init(struct lexer *lx, const char *text, size_t len)
{
	const char *nul = memchr(text, 0, len);

	lx->p = text;
	lx->end = nul ? nul : text + len;
	lx->line = 1;
}

void syntax_error(struct ptx_ctx *c, const char *what)
{
	struct tok *t = &c->tok;
	int n = t->s.n > 40 ? 40 : t->s.n;

	if (t->kind == TOK_EOF)
		ptx_fail(c, PTX_ERR_SYNTAX, t->line,
			 "syntax error: %s at the end of the text", what);
	ptx_fail(c, PTX_ERR_SYNTAX, t->line, "syntax error: %s near '%.*s'",
		 what, n, t->s.p);
}

static bool ident_start(char ch)
{
	return isalpha((unsigned char)ch) || ch == '_' || ch == '$' ||
	       ch == '%';
}

static bool ident_char(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_' || ch == '$';
}

static void skip_block_comment(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;

	for (lx->p += 2; lx->p < lx->end; lx->p++) {
		if (*lx->p == '\n')
			lx->line++;
		if (*lx->p == '*' && lx->end - lx->p > 1 && lx->p[1] == '/') {
			lx->p += 2;
			return;
		}
	}
}

static void skip_space(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;

	while (lx->p < lx->end) {
		char n = lx->end - lx->p > 1 ? lx->p[1] : 0;

		if (*lx->p == '\n') {
			lx->line++;
			lx->p++;
		} else if (isspace((unsigned char)*lx->p)) {
			lx->p++;
		} else if (*lx->p == '/' && n == '/') {
			while (lx->p < lx->end && *lx->p != '\n')
				lx->p++;
		} else if (*lx->p == '/' && n == '*') {
			skip_block_comment(c);
		} else {
			return;
		}
	}
}

/* Reads 0f and 0d: the bits of a float in exactly 8 or 16 hexadecimal digits. */
static bool lex_hex_float(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;
	bool f32 = lx->p[1] == 'f' || lx->p[1] == 'F';
	int digits = f32 ? 8 : 16;
	uint64_t v = 0;

	if (lx->end - lx->p < digits + 2)
		return false;
	for (int i = 0; i < digits; i++) {
		unsigned char ch = lx->p[2 + i];

		if (!isxdigit(ch))
			return false;
		v = v << 4 | (isdigit(ch) ? ch - '0' : (ch | 32) - 'a' + 10);
	}
	c->tok.kind = f32 ? TOK_F32 : TOK_F64;
	c->tok.u = v;
	lx->p += digits + 2;
	return true;
}

/* Reads a decimal floating-point number, whose type is always f64. */
static void lex_decimal_float(struct ptx_ctx *c, const char *from, size_t n)
{
	char buf[64];
	double d;

	if (n >= sizeof(buf))
		syntax_error(c, "number too long");
	memcpy(buf, from, n);
	buf[n] = 0;
	d = strtod(buf, NULL);
	c->tok.kind = TOK_F64;
	memcpy(&c->tok.u, &d, sizeof(d));
}

static unsigned int int_base(const char **p, const char *end)
{
	if (**p != '0' || end - *p < 2)
		return 10;
	if ((*p)[1] == 'x' || (*p)[1] == 'X') {
		*p += 2;
		return 16;
	}
	if ((*p)[1] == 'b' || (*p)[1] == 'B') {
		*p += 2;
		return 2;
	}
	return 8;
}

static void lex_integer(struct ptx_ctx *c, const char *p, const char *end)
{
	unsigned int base = int_base(&p, end);
	uint64_t v = 0;

	if (p == end)
		syntax_error(c, "bad number");
	for (; p < end && *p != 'U'; p++) {
		unsigned int d = isdigit((unsigned char)*p) ?
				 (unsigned int)*p - '0' :
				 ((unsigned int)*p | 32) - 'a' + 10;

		if (d >= base || v > (UINT64_MAX - d) / base)
			syntax_error(c, "bad number");
		v = v * base + d;
	}
	if (p < end && end - p != 1)
		syntax_error(c, "bad number");
	c->tok.kind = TOK_INT;
	c->tok.u = v;
}

/* Returns the end of a decimal number with a point or exponent at @p. */
static const char *float_end(const char *p, const char *end)
{
	bool is_float = false;

	while (p < end && isdigit((unsigned char)*p))
		p++;
	if (p < end && *p == '.' && end - p > 1 &&
	    isdigit((unsigned char)p[1])) {
		is_float = true;
		for (p++; p < end && isdigit((unsigned char)*p);)
			p++;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		const char *q = p + 1;

		if (q < end && (*q == '+' || *q == '-'))
			q++;
		if (q < end && isdigit((unsigned char)*q)) {
			is_float = true;
			for (p = q; p < end && isdigit((unsigned char)*p);)
				p++;
		}
	}
	return is_float ? p : NULL;
}

static void lex_number(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;
	const char *from = lx->p, *end;
	char n = lx->end - lx->p > 1 ? lx->p[1] | 32 : 0;

	if (*from == '0' && (n == 'f' || n == 'd') && lex_hex_float(c))
		return;
	end = float_end(from, lx->end);
	if (end) {
		lex_decimal_float(c, from, end - from);
	} else {
		for (end = from; end < lx->end && ident_char(*end);)
			end++;
		c->tok.s = (struct str){ from, end - from };
		lex_integer(c, from, end);
	}
	lx->p = end;
}

static void lex_string(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;
	const char *from = ++lx->p;

	while (lx->p < lx->end && *lx->p != '"' && *lx->p != '\n')
		lx->p++;
	if (lx->p == lx->end || *lx->p != '"')
		syntax_error(c, "string without end");
	c->tok.kind = TOK_STRING;
	c->tok.s = (struct str){ from, lx->p - from };
	lx->p++;
}

static void lex_word(struct ptx_ctx *c, enum tok_kind kind)
{
	struct lexer *lx = &c->lex;
	const char *from = lx->p;

	if (lx->p < lx->end && *lx->p == '%')
		lx->p++;
	while (lx->p < lx->end && ident_char(*lx->p))
		lx->p++;
	c->tok.kind = kind;
	c->tok.s = (struct str){ from, lx->p - from };
}

void next(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;
	struct tok *t = &c->tok;
	const char *before = lx->p;

	skip_space(c);
	t->glued = before == lx->p;
	t->line = lx->line;
	t->punct = 0;
	t->s = (struct str){ lx->p, lx->p < lx->end };
	if (lx->p == lx->end) {
		t->kind = TOK_EOF;
	} else if (isdigit((unsigned char)*lx->p)) {
		lex_number(c);
		if (t->s.n <= 1)
			t->s.n = lx->p - t->s.p;
	} else if (*lx->p == '%' && lx->end - lx->p > 1 &&
		   ident_start(lx->p[1])) {
		lex_word(c, TOK_IDENT);
	} else if (*lx->p != '%' && ident_start(*lx->p)) {
		lex_word(c, TOK_IDENT);
	} else if (*lx->p == '.' && lx->end - lx->p > 1 &&
		   ident_char(lx->p[1])) {
		lx->p++;
		lex_word(c, TOK_DOT);
	} else if (*lx->p == '"') {
		lex_string(c);
	} else {
		t->kind = TOK_PUNCT;
		t->punct = *lx->p++;
	}
}

/* Extends the current word to the end of the opcode, over parts like ".x" and "::y". */
struct str lex_glued(struct ptx_ctx *c)
{
	struct lexer *lx = &c->lex;
	struct str s = c->tok.s;

	while (lx->p < lx->end) {
		bool colons = *lx->p == ':' && lx->end - lx->p > 1 &&
			      lx->p[1] == ':';

		if (colons)
			lx->p += 2;
		else if (*lx->p == '.' || ident_char(*lx->p))
			lx->p++;
		else
			break;
	}
	s.n = lx->p - s.p;
	return s;
}

bool is_punct(struct ptx_ctx *c, char ch)
{
	return c->tok.kind == TOK_PUNCT && c->tok.punct == ch;
}

bool is_dot(struct ptx_ctx *c, const char *word)
{
	return c->tok.kind == TOK_DOT && str_is(c->tok.s, word);
}

bool take_punct(struct ptx_ctx *c, char ch)
{
	if (!is_punct(c, ch))
		return false;
	next(c);
	return true;
}

void want_punct(struct ptx_ctx *c, char ch)
{
	char what[] = "'?' expected";

	what[1] = ch;
	if (!take_punct(c, ch))
		syntax_error(c, what);
}

struct str want_ident(struct ptx_ctx *c)
{
	struct str s = c->tok.s;

	if (c->tok.kind != TOK_IDENT)
		syntax_error(c, "name expected");
	next(c);
	return s;
}

uint64_t want_int(struct ptx_ctx *c)
{
	uint64_t v = c->tok.u;

	if (c->tok.kind != TOK_INT)
		syntax_error(c, "integer expected");
	next(c);
	return v;
}
