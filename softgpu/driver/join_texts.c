// SPDX-License-Identifier: Apache-2.0
/*
 * Joins PTX: makes one text of several that refer to each other, as separate compilation
 * leaves them. It works on the text alone: it finds the statements at module scope, the
 * name that each defines and its visibility, and writes the statements so that every name
 * is known before it is used. If two texts have a private name in common, the names are
 * made different. The loader interprets what a statement means.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum kind { VARIABLE, FUNCTION, ENTRY, OTHER };

struct name {
	const char *p;
	size_t len;
};

struct statement {
	const char *begin, *end;
	const char *body;	/* the brace that opens it; NULL = none */
	struct name name;
	enum kind kind;
	bool is_extern, linked;	/* linked: .visible, .weak or .common */
	unsigned int part;
	struct statement *chain;	/* next statement with the same hash */
};

#define BUCKETS	4096u

struct joiner {
	struct statement *all;
	size_t n, room;
	struct statement *bucket[BUCKETS];
	char *out;
	size_t len, size;
	bool failed;		/* memory was not available */
};

/* ---- reading ---- */

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Returns the end of a comment. A comment without an end takes the rest of the text. */
static const char *comment_end(const char *p)
{
	const char *end = strstr(p, "*/");

	return end ? end + 2 : p + strlen(p);
}

static const char *skip_blank(const char *p)
{
	for (;;) {
		while (isspace((unsigned char)*p))
			p++;
		if (p[0] == '/' && p[1] == '/')
			p += strcspn(p, "\n");
		else if (p[0] == '/' && p[1] == '*')
			p = comment_end(p + 2);
		else
			return p;
	}
}

/* Returns the end of the token at @p, which is not blank. */
static const char *token_end(const char *p)
{
	if (*p == '"') {
		p++;
		while (*p && *p != '"')
			p += p[0] == '\\' && p[1] ? 2 : 1;
		return *p ? p + 1 : p;
	}
	if (*p == '.')
		p++;
	else if (!name_char(*p))
		return p + 1;
	while (name_char(*p))
		p++;
	return p;
}

static bool token_is(const char *p, const char *end, const char *word)
{
	return (size_t)(end - p) == strlen(word) && !memcmp(p, word, end - p);
}

/* Returns the place after the bracket that closes the one at @p, or NULL if none closes it. */
static const char *skip_group(const char *p)
{
	int depth = 0;

	while (*(p = skip_blank(p))) {
		if (strchr("({[", *p))
			depth++;
		else if (strchr(")}]", *p) && --depth == 0)
			return p + 1;
		p = token_end(p);
	}
	return NULL;
}

/* Skips lines that every text has: they are written anew, or are debug data. */
static const char *skip_directive(const char *p)
{
	static const char *const lines[] = { ".version", ".target", ".file",
					     ".address_size", NULL };
	const char *end = token_end(p);

	for (int i = 0; lines[i]; i++)
		if (token_is(p, end, lines[i]))
			return end + strcspn(end, "\n");
	if (token_is(p, end, ".section")) {
		p = strchr(end, '{');
		return p ? skip_group(p) : NULL;
	}
	return p;
}

static void note_word(struct statement *s, const char *p, const char *end)
{
	if (token_is(p, end, ".extern"))
		s->is_extern = true;
	else if (token_is(p, end, ".visible") || token_is(p, end, ".weak") ||
		 token_is(p, end, ".common"))
		s->linked = true;
	else if (token_is(p, end, ".func"))
		s->kind = FUNCTION;
	else if (token_is(p, end, ".entry"))
		s->kind = ENTRY;
	else if (token_is(p, end, ".global") || token_is(p, end, ".const") ||
		 token_is(p, end, ".shared"))
		s->kind = VARIABLE;
}

/* Reads one statement at @p. Returns NULL if it does not end. */
static const char *read_statement(const char *p, struct statement *s)
{
	s->begin = p;
	s->kind = OTHER;
	while (*(p = skip_blank(p))) {
		const char *end = token_end(p);

		if (*p == ';') {
			s->end = end;
			return end;
		}
		if (*p == '{' && s->kind != VARIABLE) {
			s->body = p;
			s->end = skip_group(p);
			return s->end;
		}
		if (strchr("({[", *p)) {
			p = skip_group(p);
			if (!p)
				return NULL;
			continue;
		}
		note_word(s, p, end);
		if (!s->name.p && s->kind != OTHER && *p != '.' &&
		    name_char(*p) && !isdigit((unsigned char)*p))
			s->name = (struct name){ p, end - p };
		p = end;
	}
	return NULL;
}

static bool read_part(struct joiner *j, const char *p, unsigned int part)
{
	while (*(p = skip_blank(p))) {
		struct statement s = { .part = part };
		const char *past = skip_directive(p);

		if (!past)
			return false;
		if (past != p) {
			p = past;
			continue;
		}
		p = read_statement(p, &s);
		if (!p)
			return false;
		if (j->n == j->room) {
			size_t more = j->room ? 2 * j->room : 256;
			void *grown = realloc(j->all, more * sizeof(*j->all));

			if (!grown) {
				j->failed = true;
				return false;
			}
			j->all = grown;
			j->room = more;
		}
		j->all[j->n++] = s;
	}
	return true;
}

/* ---- names ---- */

static bool defines(const struct statement *s)
{
	if (!s->name.p || s->is_extern)
		return false;
	return s->kind == VARIABLE || s->body;
}

static unsigned int hash(const struct name *n)
{
	unsigned int h = 5381;

	for (size_t i = 0; i < n->len; i++)
		h = h * 33 + (unsigned char)n->p[i];
	return h % BUCKETS;
}

static bool same(const struct name *a, const struct name *b)
{
	return a->len == b->len && !memcmp(a->p, b->p, a->len);
}

/* Fills the hash table. Each chain keeps the order of the texts. */
static void index_names(struct joiner *j)
{
	for (size_t i = j->n; i-- > 0;) {
		struct statement *s = &j->all[i];
		unsigned int h;

		if (!s->name.p)
			continue;
		h = hash(&s->name);
		s->chain = j->bucket[h];
		j->bucket[h] = s;
	}
}

/* Returns the first statement that defines the name for all texts. */
static struct statement *shared_definition(struct joiner *j,
					   const struct name *name)
{
	struct statement *s = j->bucket[hash(name)];

	for (; s; s = s->chain)
		if (s->linked && defines(s) && same(&s->name, name))
			return s;
	return NULL;
}

/* Returns a text's private definition of the name. */
static struct statement *private_definition(struct joiner *j,
					    const struct name *name,
					    unsigned int part)
{
	struct statement *s = j->bucket[hash(name)];

	for (; s; s = s->chain)
		if (s->part == part && !s->linked && defines(s) &&
		    same(&s->name, name))
			return s;
	return NULL;
}

/*
 * Returns true if @part has a private definition of the name, and another text has the
 * name, too.
 */
static bool must_rename(struct joiner *j, const struct name *name,
			unsigned int part)
{
	struct statement *s = j->bucket[hash(name)];
	bool other = false;

	for (; s; s = s->chain)
		if (s->part != part && same(&s->name, name))
			other = true;
	return other && private_definition(j, name, part);
}

/* ---- writing ---- */

static void put(struct joiner *j, const char *p, size_t n)
{
	if (j->failed)
		return;
	if (j->size - j->len <= n) {
		size_t more = 2 * j->size + n + 1;
		char *grown = realloc(j->out, more);

		if (!grown) {
			j->failed = true;
			return;
		}
		j->out = grown;
		j->size = more;
	}
	memcpy(j->out + j->len, p, n);
	j->len += n;
	j->out[j->len] = '\0';
}

__attribute__((format(printf, 2, 3)))
static void put_format(struct joiner *j, const char *fmt, ...)
{
	char line[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	put(j, line, strlen(line));
}

/*
 * Writes [p, end) of a text and makes its private names unique. A word next to a dot is a
 * part of an instruction and never a name. With @keep_extern the word .extern stays as it
 * is. Without it .extern becomes .visible, since a definition follows.
 */
static void put_text(struct joiner *j, const char *p, const char *end,
		     unsigned int part, bool keep_extern)
{
	while (p < end) {
		const char *token = skip_blank(p), *past;

		if (token >= end)
			break;
		if (token > p)	/* a newline ends some directives, so it is kept */
			put(j, memchr(p, '\n', token - p) ? "\n" : " ", 1);
		past = token_end(token);
		if (!keep_extern && token_is(token, past, ".extern")) {
			put(j, ".visible", 8);
		} else {
			struct name word = { token, past - token };

			put(j, token, past - token);
			if (name_char(*token) && *past != '.' &&
			    !isdigit((unsigned char)*token) &&
			    must_rename(j, &word, part))
				put_format(j, "$part%u", part);
		}
		p = past;
	}
}

static void put_statement(struct joiner *j, const struct statement *s)
{
	put_text(j, s->begin, s->end, s->part, true);
	put(j, "\n", 1);
}

/* Returns true for all but the first of several definitions (.weak, .common). */
static bool superseded(struct joiner *j, const struct statement *s)
{
	return s->linked && shared_definition(j, &s->name) != s;
}

/* Returns true if an earlier statement declared the same name, which nothing defines. */
static bool declared_before(struct joiner *j, const struct statement *s)
{
	const struct statement *o = j->bucket[hash(&s->name)];

	for (; o && o != s; o = o->chain)
		if (o->is_extern && same(&o->name, &s->name))
			return true;
	return false;
}

/* Writes the heads of functions first, since functions may be used before they are defined. */
static void put_heads(struct joiner *j)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct statement *s = &j->all[i];

		if (s->kind != FUNCTION)
			continue;
		if (defines(s) && !superseded(j, s)) {
			put_text(j, s->begin, s->body, s->part, true);
			put(j, ";\n", 2);
		} else if (s->is_extern && s->name.p && !s->body &&
			   !shared_definition(j, &s->name) &&
			   !declared_before(j, s)) {
			put_statement(j, s);
		}
	}
}

static void put_variables(struct joiner *j)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct statement *s = &j->all[i];

		if (s->kind != VARIABLE || !s->name.p)
			continue;
		if (s->is_extern ? !shared_definition(j, &s->name) &&
				   !declared_before(j, s) :
				   !superseded(j, s))
			put_statement(j, s);
	}
}

static void put_bodies(struct joiner *j)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct statement *s = &j->all[i];

		if (s->kind == OTHER || (s->body && defines(s) &&
					 !superseded(j, s)))
			put_statement(j, s);
	}
}

CUresult sgpu_join(const struct sgpu_image *parts, unsigned int n,
		   struct sgpu_image *out)
{
	struct joiner j = { 0 };
	unsigned int version = 0, target = 0;
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; i < n && !rc; i++) {
		if (!read_part(&j, parts[i].text, i))
			rc = CUDA_ERROR_INVALID_PTX;
		if (parts[i].version > version)
			version = parts[i].version;
		if (parts[i].target > target)
			target = parts[i].target;
	}
	index_names(&j);
	if (!rc) {
		put_format(&j, ".version %u.%u\n.target sm_%u\n.address_size 64\n",
			   version / 10, version % 10,
			   target ? target : sgpu_target());
		put_heads(&j);
		put_variables(&j);
		put_bodies(&j);
	}
	if (j.failed)
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	if (rc)
		free(j.out);
	else
		*out = (struct sgpu_image){ .text = j.out, .len = j.len,
					    .target = target,
					    .version = version };
	free(j.all);
	return rc;
}
