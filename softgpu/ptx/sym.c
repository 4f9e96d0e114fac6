/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: one hash table with nested scopes (module, function, braces), ranges of registers
 * like %r<9> whose members are made when they are first used, and labels, which may be used
 * before they are defined.
 */
#include <stdlib.h>
#include <string.h>

#include "loader.h"

/* %r and the range %r<9> are two different names. */
static struct sym *find(struct ptx_ctx *c, struct str name, bool range)
{
	struct sym *s = c->bucket[str_hash(name) % SYM_BUCKETS];

	while (s && (!str_eq(s->name, name) || (s->kind == SYM_RANGE) != range))
		s = s->next;
	return s;
}

struct sym *sym_find(struct ptx_ctx *c, struct str name)
{
	return find(c, name, false);
}

/* Searches the innermost scope only. */
struct sym *sym_find_here(struct ptx_ctx *c, struct str name)
{
	struct sym *s = sym_find(c, name);

	return s && s->scope == c->nscopes - 1 ? s : NULL;
}

struct sym *sym_add(struct ptx_ctx *c, struct str name, enum sym_kind kind)
{
	struct sym **b = &c->bucket[str_hash(name) % SYM_BUCKETS];
	struct scope *sc = &c->scope[c->nscopes - 1];
	struct sym *s = find(c, name, kind == SYM_RANGE);

	if (s && s->scope == c->nscopes - 1)
		ptx_fail(c, PTX_ERR_SYNTAX, c->tok.line,
			 "'%.*s' is defined twice", (int)name.n, name.p);
	/* Symbols outlive their scope: code and fix-ups point to them. */
	s = arena_get(c, &c->tmp, sizeof(*s));
	s->name = name;
	s->kind = kind;
	s->scope = c->nscopes - 1;
	s->line = c->tok.line;
	s->id = ++c->next_sym;
	s->var = -1;
	s->owner = c->fb ? c->fidx + 1 : 0;
	s->next = *b;
	*b = s;
	s->peer = sc->syms;
	sc->syms = s;
	return s;
}

void scope_push(struct ptx_ctx *c)
{
	struct scope *sc;

	if (c->nscopes == MAX_SCOPES)
		syntax_error(c, "braces nested too deeply");
	sc = &c->scope[c->nscopes++];
	memset(sc, 0, sizeof(*sc));
	sc->frame_top = c->frame_top;
}

static void patch_label(struct ptx_ctx *c, struct label_ref *r, uint32_t pc)
{
	if (r->vec >= 0)
		VEC_AT(&c->vecs, int32_t, r->vec) = pc;
	else
		VEC_AT(&c->code, struct insn, r->insn).imm = pc;
}

/* Resolves the labels that this scope defines, and hands the other uses to the outer scope. */
static void resolve_labels(struct ptx_ctx *c, struct scope *sc, bool outermost)
{
	struct label_ref *r, *after;

	for (r = sc->refs; r; r = after) {
		struct sym *s = sym_find_here(c, r->name);

		after = r->next;
		if (s && s->kind == SYM_LABEL) {
			patch_label(c, r, s->pc);
		} else if (outermost) {
			ptx_fail(c, PTX_ERR_SYNTAX, r->line,
				 "label '%.*s' is not defined",
				 (int)r->name.n, r->name.p);
		} else {
			r->next = sc[-1].refs;
			sc[-1].refs = r;
		}
	}
}

void scope_pop(struct ptx_ctx *c)
{
	struct scope *sc = &c->scope[c->nscopes - 1];

	/* Scope 0 is the module, 1 the function's parameters, 2 its body. */
	resolve_labels(c, sc, c->nscopes <= 2);
	for (struct sym *s = sc->syms; s; s = s->peer) {
		struct sym **b = &c->bucket[str_hash(s->name) % SYM_BUCKETS];

		while (*b != s)
			b = &(*b)->next;
		*b = s->next;
	}
	/* Call sequences reuse the room of earlier ones. */
	c->frame_top = sc->frame_top;
	c->nscopes--;
}

void label_define(struct ptx_ctx *c, struct str name)
{
	struct sym *s = sym_add(c, name, SYM_LABEL);

	s->pc = c->code.n;
	c->at_leader = true;
}

void label_use(struct ptx_ctx *c, struct str name, uint32_t insn, int32_t vec)
{
	struct scope *sc = &c->scope[c->nscopes - 1];
	struct label_ref *r = arena_get(c, &c->tmp, sizeof(*r));

	*r = (struct label_ref){ sc->refs, name, insn, vec, c->line };
	sc->refs = r;
}

uint32_t vreg_new(struct ptx_ctx *c, enum reg_class rc)
{
	*(uint8_t *)vec_add(c, &c->vregs, 1, 1) = rc;
	return c->vregs.n - 1;
}

/* Members of register ranges, in a hash table with open addressing on (symbol, number). */
struct range_slot {
	uint64_t key;		/* symbol id << 32 | number, 0 = free */
	uint32_t vreg;
};

/* Call this before each function. A large table is freed, since clearing it would cost more. */
void range_reset(struct ptx_ctx *c)
{
	if (c->range_map.n > 1024)
		vec_free(&c->range_map);
	else if (c->range_used)
		memset(c->range_map.p, 0,
		       c->range_map.n * sizeof(struct range_slot));
	c->range_used = 0;
}

static struct range_slot *range_slot(struct ptx_ctx *c, uint64_t key)
{
	uint32_t mask = c->range_map.n - 1;
	uint32_t i = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40) & mask;
	struct range_slot *t = c->range_map.p;

	while (t[i].key && t[i].key != key)
		i = (i + 1) & mask;
	return &t[i];
}

static void range_grow(struct ptx_ctx *c)
{
	struct vec old = c->range_map;
	struct range_slot *t = old.p;

	if (old.n && c->range_used * 2 < old.n)
		return;
	/* vec_add() may leave by longjmp: keep the old table reachable. */
	vec_add(c, &c->range_map, sizeof(*t), old.n ? old.n : 1024);
	if (!old.n)
		return;
	old.p = arena_get(c, &c->tmp, old.n * sizeof(*t));
	memcpy(old.p, c->range_map.p, old.n * sizeof(*t));
	memset(c->range_map.p, 0, c->range_map.n * sizeof(*t));
	t = old.p;
	for (uint32_t i = 0; i < old.n; i++)
		if (t[i].key)
			*range_slot(c, t[i].key) = t[i];
}

static uint32_t range_member(struct ptx_ctx *c, struct sym *s, uint32_t n)
{
	uint64_t key = (uint64_t)s->id << 32 | n;
	struct range_slot *r;

	range_grow(c);
	r = range_slot(c, key);
	if (!r->key) {
		r->key = key;
		r->vreg = vreg_new(c, s->rc);
		c->range_used++;
	}
	return r->vreg;
}

/* Reads the number after the prefix of a range. It has no leading zero and is below the count. */
static bool range_number(struct str s, uint32_t count, uint32_t *out)
{
	uint64_t v = 0;

	if (!s.n || s.n > 9 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (uint32_t i = 0; i < s.n; i++)
		v = v * 10 + (s.p[i] - '0');
	*out = v;
	return v < count;
}

bool sym_find_reg(struct ptx_ctx *c, struct str name, uint32_t *vreg)
{
	struct sym *s = sym_find(c, name);
	uint32_t cut = name.n, num;

	if (s) {
		*vreg = s->vreg;
		return s->kind == SYM_REG;
	}
	while (cut > 1 && name.p[cut - 1] >= '0' && name.p[cut - 1] <= '9') {
		cut--;
		s = find(c, (struct str){ name.p, cut }, true);
		if (s &&
		    range_number((struct str){ name.p + cut, name.n - cut },
				 s->count, &num)) {
			*vreg = range_member(c, s, num);
			return true;
		}
	}
	return false;
}
