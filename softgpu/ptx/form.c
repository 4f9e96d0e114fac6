/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the instruction form of an opcode: matches "add.rn.ftz.f32" against the patterns of
 * forms.def and collects the meanings of the modifiers. Each distinct opcode of a module is
 * matched only once.
 */
#include <string.h>

#include "loader.h"

static const struct ptx_form forms[] = {
#define F(pat, sig, emit, h) { pat, sig, emit_##emit, { h##_v1, h##_v3 } },
#define N(pat, sig, emit) { pat, sig, emit_##emit, { NULL, NULL } },
#include "forms.def"
#undef F
#undef N
};

#define NFORMS (sizeof(forms) / sizeof(forms[0]))

/* The shapes of wgmma for one depth. */
#define N4(k, a, b, c, d) \
	"m64n" #a k "|m64n" #b k "|m64n" #c k "|m64n" #d k
#define WGMMA_SHAPES(k) \
	N4(k, 8, 16, 24, 32) "|" N4(k, 40, 48, 56, 64) "|" N4(k, 72, 80, 88, 96) "|" \
	N4(k, 104, 112, 120, 128) "|" N4(k, 136, 144, 152, 160) "|" \
	N4(k, 168, 176, 184, 192) "|" N4(k, 200, 208, 216, 224) "|" N4(k, 232, 240, 248, 256)

/* Named sets of the patterns; the optional ones may be absent. */
static const struct {
	const char *name, *alts;
	bool optional;
} sets[] = {
	{ "rnd", "rn|rz|rm|rp", true },
	{ "irnd", "rni|rzi|rmi|rpi", false },
	{ "anyrnd", "rn|rz|rm|rp|rni|rzi|rmi|rpi", true },
	{ "bop", "and|or|xor", true },
	{ "cmpf", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan", false },
	{ "ityp", "u8|s8|u16|s16|u32|s32|u64|s64", false },
	{ "ftyp", "f16|bf16|f32|f64", false },
	{ "memtype", "b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|f16x2|"
	  "bf16x2|b64|u64|s64|f64|b128", false },
	{ "vec", "v2|v4|v8", true },
	{ "ss", "const|global|local|param|param::entry|param::func|shared|"
	  "shared::cta|shared::cluster", true },
	{ "aspace", "global|shared|shared::cta|shared::cluster", true },
	{ "winspace", "const|global|local|param|param::entry|shared|"
	  "shared::cta|shared::cluster", true },
	{ "ldsem", "weak|volatile|relaxed|acquire", true },
	{ "stsem", "weak|volatile|relaxed|release", true },
	{ "sem", "relaxed|acquire|release|acq_rel", true },
	{ "scope", "cta|cluster|gpu|sys", true },
	{ "cop", "ca|cg|cs|lu|cv|wb|wt", true },
	{ "wgk8", WGMMA_SHAPES("k8"), false },
	{ "wgk16", WGMMA_SHAPES("k16"), false },
	{ "wgk32", WGMMA_SHAPES("k32"), false },
	{ "wgs32", "m64n8k32|m64n16k32|m64n24k32|m64n32k32|m64n48k32|m64n64k32|m64n80k32|"
	  "m64n96k32|m64n112k32|m64n128k32|m64n144k32|m64n160k32|m64n176k32|m64n192k32|"
	  "m64n208k32|m64n224k32|m64n240k32|m64n256k32", false },
	{ "l2prio", "L2::evict_last|L2::evict_normal|L2::evict_first|"
	  "L2::evict_unchanged", false },
};

/* <hints> stands for any number of these, in any order. All are ignored. */
static const char hint_alts[] =
	"L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|"
	"L1::no_allocate|L2::evict_normal|L2::evict_first|L2::evict_last|"
	"L2::cache_hint|L2::64B|L2::128B|L2::256B";

enum attr_field {
	A_MODE, A_SPACE, A_VEC, A_CMP, A_BOP, A_AOP, A_SUB, A_TO, A_SYS, A_HINT,
	A_NC, A_ALIGNED, A_ROUNDED,
};

/* Meanings of modifiers. A word may mean different things in different families. */
static const struct {
	const char *word;
	uint8_t field;
	uint16_t value;
} words[] = {
	{ "rz", A_MODE, MODE_RZ }, { "rm", A_MODE, MODE_RM },
	{ "rp", A_MODE, MODE_RP }, { "rna", A_MODE, MODE_RNA },
	{ "rni", A_MODE, MODE_INTEGRAL },
	{ "rzi", A_MODE, MODE_INTEGRAL | MODE_RZ },
	{ "rmi", A_MODE, MODE_INTEGRAL | MODE_RM },
	{ "rpi", A_MODE, MODE_INTEGRAL | MODE_RP },
	{ "ftz", A_MODE, MODE_FTZ }, { "sat", A_MODE, MODE_SAT },
	{ "NaN", A_MODE, MODE_NAN }, { "xorsign", A_MODE, MODE_XORSIGN },
	{ "abs", A_MODE, MODE_ABS }, { "relu", A_MODE, MODE_RELU },
	{ "satfinite", A_MODE, MODE_SATFINITE },
	{ "clamp", A_MODE, MODE_CLAMP }, { "zero", A_MODE, MODE_ZERO },
	{ "const", A_SPACE, SP_CONST + 1 },
	{ "global", A_SPACE, SP_GLOBAL + 1 },
	{ "local", A_SPACE, SP_LOCAL + 1 },
	{ "param", A_SPACE, SP_PARAM + 1 },
	{ "param::entry", A_SPACE, SP_PARAM + 1 },
	{ "param::func", A_SPACE, SP_PARAM + 1 },
	{ "shared", A_SPACE, SP_SHARED + 1 },
	{ "shared::cta", A_SPACE, SP_SHARED + 1 },
	{ "shared::cluster", A_SPACE, SP_CLUSTER + 1 },
	{ "v2", A_VEC, 2 }, { "v4", A_VEC, 4 }, { "v8", A_VEC, 8 },
	{ "eq", A_CMP, CMP_EQ }, { "ne", A_CMP, CMP_NE },
	{ "lt", A_CMP, CMP_LT }, { "le", A_CMP, CMP_LE },
	{ "gt", A_CMP, CMP_GT }, { "ge", A_CMP, CMP_GE },
	{ "equ", A_CMP, CMP_EQU }, { "neu", A_CMP, CMP_NEU },
	{ "ltu", A_CMP, CMP_LTU }, { "leu", A_CMP, CMP_LEU },
	{ "gtu", A_CMP, CMP_GTU }, { "geu", A_CMP, CMP_GEU },
	{ "num", A_CMP, CMP_NUM }, { "nan", A_CMP, CMP_NAN },
	{ "and", A_BOP, BOP_AND }, { "or", A_BOP, BOP_OR },
	{ "xor", A_BOP, BOP_XOR },
	{ "and", A_AOP, AOP_AND }, { "or", A_AOP, AOP_OR },
	{ "xor", A_AOP, AOP_XOR }, { "add", A_AOP, AOP_ADD },
	{ "min", A_AOP, AOP_MIN }, { "max", A_AOP, AOP_MAX },
	{ "cas", A_AOP, AOP_CAS }, { "exch", A_AOP, AOP_EXCH },
	{ "popc", A_AOP, AOP_POPC },
	{ "up", A_SUB, SYNC_SHFL_UP }, { "down", A_SUB, SYNC_SHFL_DOWN },
	{ "bfly", A_SUB, SYNC_SHFL_BFLY }, { "idx", A_SUB, SYNC_SHFL_IDX },
	{ "all", A_SUB, SYNC_VOTE_ALL }, { "any", A_SUB, SYNC_VOTE_ANY },
	{ "uni", A_SUB, SYNC_VOTE_UNI },
	{ "ballot", A_SUB, SYNC_VOTE_BALLOT },
	{ "finite", A_SUB, TESTP_FINITE },
	{ "infinite", A_SUB, TESTP_INFINITE },
	{ "number", A_SUB, TESTP_NUMBER },
	{ "notanumber", A_SUB, TESTP_NAN },
	{ "normal", A_SUB, TESTP_NORMAL },
	{ "subnormal", A_SUB, TESTP_SUBNORMAL },
	{ "1d", A_SUB, TEX_1D }, { "2d", A_SUB, TEX_2D },
	{ "3d", A_SUB, TEX_3D }, { "a1d", A_SUB, TEX_A1D },
	{ "a2d", A_SUB, TEX_A2D }, { "cube", A_SUB, TEX_CUBE },
	{ "acube", A_SUB, TEX_ACUBE },
	{ "trans", A_SUB, 1 },
	{ "arrive", A_SUB, BAR_ARRIVE }, { "red", A_SUB, BAR_RED },
	{ "to", A_TO, 1 }, { "sys", A_SYS, 1 },
	{ "L2::cache_hint", A_HINT, 1 }, { "nc", A_NC, 1 },
	{ "aligned", A_ALIGNED, 1 },
	{ "rn", A_ROUNDED, 1 }, { "rz", A_ROUNDED, 1 },
	{ "rm", A_ROUNDED, 1 }, { "rp", A_ROUNDED, 1 },
	{ "rna", A_ROUNDED, 1 },
};

static void attr_set(struct attr *at, enum attr_field field, uint16_t value)
{
	switch (field) {
	case A_MODE:
		at->mode |= value;
		break;
	case A_SPACE:
		at->space = value;
		break;
	case A_VEC:
		at->vec = value;
		break;
	case A_CMP:
		at->cmp = value;
		break;
	case A_BOP:
		at->bop = value;
		break;
	case A_AOP:
		at->aop = value;
		break;
	case A_SUB:
		at->sub = value;
		break;
	case A_TO:
		at->to = true;
		break;
	case A_SYS:
		at->scope_sys = true;
		break;
	case A_HINT:
		at->hint = true;
		break;
	case A_NC:
		at->noncoherent = true;
		break;
	case A_ALIGNED:
		at->aligned = true;
		break;
	case A_ROUNDED:
		at->rounded = true;
		break;
	}
}

static void attr_word(struct attr *at, struct str s)
{
	enum ptx_type t = ptx_type_of(s);

	if (t != T_NONE && at->ntypes < 3)
		at->types[at->ntypes++] = t;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_is(s, words[i].word))
			attr_set(at, words[i].field, words[i].value);
}

/* ---- matching ---- */

#define MAX_PARTS 16

/* The parts of an opcode like "atom.add.release.gpu.u32". */
struct parts {
	struct str s[MAX_PARTS];
	bool used[MAX_PARTS];
	uint32_t n;
};

static bool split(struct str text, struct parts *p)
{
	const char *q = text.p, *end = text.p + text.n;

	for (p->n = 0; q <= end; p->n++) {
		const char *dot = memchr(q, '.', end - q);

		if (p->n == MAX_PARTS)
			return false;
		if (!dot)
			dot = end;
		p->s[p->n] = (struct str){ q, dot - q };
		q = dot + 1;
	}
	return true;
}

/*
 * Returns true if @s is one of "a|b|c", each perhaps with a dot before it. The list ends at
 * @end.
 */
static bool one_of(struct str s, const char *alts, const char *end)
{
	while (alts < end) {
		const char *bar = memchr(alts, '|', end - alts);
		uint32_t n;

		if (!bar)
			bar = end;
		if (*alts == '.')
			alts++;
		n = bar - alts;
		if (s.n == n && !memcmp(s.p, alts, n))
			return true;
		alts = bar + 1;
	}
	return false;
}

/* One element of a pattern: the words that it allows, and whether it may be absent. */
struct element {
	const char *alts, *end;
	bool optional, repeated;
	bool anywhere;		/* it must be present, but at any place */
};

static void set_element(struct element *e, struct str name)
{
	e->alts = hint_alts;
	e->end = hint_alts + sizeof(hint_alts) - 1;
	e->optional = e->repeated = true;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (str_is(name, sets[i].name)) {
			e->alts = sets[i].alts;
			e->end = e->alts + strlen(e->alts);
			e->optional = sets[i].optional;
			e->repeated = false;
		}
}

static const char sync_word[] = "sync";

/* Reads the element at @pat. Returns the rest of the pattern. */
static const char *next_element(const char *pat, struct element *e)
{
	const char *close;

	memset(e, 0, sizeof(*e));
	if (*pat == '<') {
		close = strchr(pat, '>');
		set_element(e, (struct str){ pat + 1, close - pat - 1 });
		return close + 1;
	}
	if (*pat == '{' || pat[1] == '[') {
		close = strchr(pat, *pat == '{' ? '}' : ']');
		e->alts = *pat == '{' ? pat + 1 : pat + 2;
		e->end = close;
		e->optional = *pat == '{';
		return close + 1;
	}
	e->alts = pat + 1;
	e->end = pat + 1 + strcspn(pat + 1, ".{<[");
	/* "vote.ballot.sync" means the same as "vote.sync.ballot". */
	e->anywhere = one_of((struct str){ e->alts, e->end - e->alts },
			     sync_word, sync_word + sizeof(sync_word) - 1);
	return e->end;
}

static void use_part(struct parts *p, uint32_t i, struct attr *at)
{
	p->used[i] = true;
	attr_word(at, p->s[i]);
}

/* Optional modifiers may be at any place, as ptxas allows. */
static bool take_anywhere(struct parts *p, const struct element *e,
			  struct attr *at)
{
	bool found = e->optional;

	for (uint32_t i = 1; i < p->n; i++)
		if (!p->used[i] && one_of(p->s[i], e->alts, e->end)) {
			use_part(p, i, at);
			found = true;
			if (!e->repeated)
				break;
		}
	return found;
}

/* The other elements must come in their order. */
static bool take_next(struct parts *p, const struct element *e,
		      struct attr *at)
{
	for (uint32_t i = 1; i < p->n; i++) {
		if (p->used[i])
			continue;
		if (!one_of(p->s[i], e->alts, e->end))
			return false;
		use_part(p, i, at);
		return true;
	}
	return false;
}

static bool all_used(const struct parts *p)
{
	for (uint32_t i = 1; i < p->n; i++)
		if (!p->used[i])
			return false;
	return true;
}

static bool match_form(const struct ptx_form *f, struct parts *p,
		       struct attr *at)
{
	size_t n = strcspn(f->pat, ".{<[");
	struct element e;

	memset(at, 0, sizeof(*at));
	memset(p->used, 0, sizeof(p->used));
	at->vec = 1;
	if (p->s[0].n != n || memcmp(p->s[0].p, f->pat, n))
		return false;
	for (const char *q = f->pat + n; *q;) {
		q = next_element(q, &e);
		if ((e.optional || e.anywhere) && !take_anywhere(p, &e, at))
			return false;
	}
	for (const char *q = f->pat + n; *q;) {
		q = next_element(q, &e);
		if (!e.optional && !e.anywhere && !take_next(p, &e, at))
			return false;
	}
	return all_used(p);
}

static const struct ptx_form *find_form(struct str text, struct attr *at)
{
	struct parts p;

	if (!split(text, &p))
		return NULL;
	for (size_t i = 0; i < NFORMS; i++)
		if (match_form(&forms[i], &p, at))
			return &forms[i];
	return NULL;
}

const struct opcode *opcode_match(struct ptx_ctx *c, struct str text)
{
	struct opcode **b = &c->opcodes[str_hash(text) % 1024];
	struct opcode *o = *b;

	while (o && !str_eq(o->text, text))
		o = o->next;
	if (o)
		return o;
	o = arena_get(c, &c->tmp, sizeof(*o));
	o->form = find_form(text, &o->at);
	if (!o->form)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->line,
			 "unsupported instruction '%.*s'",
			 text.n > 100 ? 100 : (int)text.n, text.p);
	o->text = text;
	o->at.base = o->form->pat;
	o->next = *b;
	*b = o;
	return o;
}

/* ---- listing ---- */

void ptx_list_forms(FILE *out)
{
	for (size_t i = 0; i < NFORMS; i++)
		fprintf(out, "%s\n", forms[i].pat);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		fprintf(out, "<%s> = %s%s%s\n", sets[i].name,
			sets[i].optional ? "{" : "", sets[i].alts,
			sets[i].optional ? "}" : "");
	fprintf(out, "<hints> = any of %s\n", hint_alts);
}
