// SPDX-License-Identifier: Apache-2.0
/*
 * Tells of which version a static runtime is, by the names of its functions. A runtime is one
 * object with one section of code, so a program has all its functions or none. The version is
 * the one that has exactly these names; __cudaGetKernel alone, say, is in 12.0 and in 13.0. Of
 * CUDA 11 not all versions could be read; what is between them is known by what it has. It
 * also tells which library answers for the functions: each major version has its own.
 */
#include <stdlib.h>
#include <string.h>

#include "preload.h"
#include "gen_cudart_versions.h"

static const struct {
	const char *name;
	int first, last;	/* the versions that have it */
	int export_13, export_12, export_11;	/* which export of each library, or -1 */
} names[RT_NAME_COUNT] = {
#define NAME(n, first, last, of_13, of_12, of_11) { #n, first, last, of_13, of_12, of_11 },
	RT_NAMES(NAME)
#undef NAME
};

static const struct {
	const char *label;
	int number;		/* CUDART_VERSION */
	size_t count;
} versions[RT_VERSION_COUNT] = {
#define VERSION(label, number, count) { label, number, count },
	RT_VERSIONS(VERSION)
#undef VERSION
};

#define UNKNOWN (-1)

/* A function with a name as the runtime's. The program may have such functions of its own. */
struct candidate {
	uint64_t addr;
	const char *name;
	int known;		/* which of `names`, or UNKNOWN */
};

struct candidates {
	struct candidate *all;
	size_t count;
};

/* --- Which functions may be the runtime's ------------------------------------------- */

static bool is_code(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF;
}

/* The runtime's public names have a capital letter here; its inner ones have not. */
static bool is_public(const char *name)
{
	size_t skip = !strncmp(name, "__", 2) ? 2 : 0;

	return !strncmp(name + skip, "cuda", 4) && name[skip + 4] >= 'A' && name[skip + 4] <= 'Z';
}

static int find_name(const char *name)
{
	size_t low = 0, high = RT_NAME_COUNT, mid;
	int order;

	while (low < high) {
		mid = low + (high - low) / 2;
		order = strcmp(name, names[mid].name);
		if (!order)
			return mid;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return UNKNOWN;
}

static size_t count_public(const struct elf_symbols *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->count; i++)
		n += is_code(&s->sym[i]) && is_public(elf_symbol_name(s, i));
	return n;
}

static bool collect(const struct elf_symbols *s, struct candidates *c)
{
	const char *name;
	size_t i;

	c->count = 0;
	c->all = calloc(count_public(s) + 1, sizeof(*c->all));
	for (i = 0; c->all && i < s->count; i++) {
		name = elf_symbol_name(s, i);
		if (is_code(&s->sym[i]) && is_public(name))
			c->all[c->count++] = (struct candidate) {
				.addr = s->sym[i].st_value,
				.name = name,
				.known = find_name(name),
			};
	}
	return c->all;
}

static bool has(const struct candidates *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		if (!strcmp(c->all[i].name, name))
			return true;
	return false;
}

/* --- Which are ---------------------------------------------------------------------- */

static bool in_every_version(const struct candidate *f)
{
	return f->known != UNKNOWN && !names[f->known].first &&
	       names[f->known].last == RT_VERSION_NEWEST;
}

/*
 * The first and the last public function of each runtime are functions that all have. What lies
 * between them is the runtime's, and all else is the program's.
 */
static void keep_the_runtimes(struct candidates *c)
{
	uint64_t low = UINT64_MAX, high = 0;
	size_t i, n = 0;

	for (i = 0; i < c->count; i++) {
		if (!in_every_version(&c->all[i]))
			continue;
		if (c->all[i].addr < low)
			low = c->all[i].addr;
		if (c->all[i].addr > high)
			high = c->all[i].addr;
	}
	for (i = 0; i < c->count; i++)
		if (c->all[i].addr >= low && c->all[i].addr <= high)
			c->all[n++] = c->all[i];
	c->count = n;
}

/* --- Of which version --------------------------------------------------------------- */

/* Counts the names that are known. Returns 0 if one stands there twice: two runtimes in one. */
static size_t count_known(const struct candidates *c)
{
	bool seen[RT_NAME_COUNT] = { false };
	size_t i, n = 0;

	for (i = 0; i < c->count; i++) {
		if (c->all[i].known == UNKNOWN)
			continue;
		if (seen[c->all[i].known])
			return 0;
		seen[c->all[i].known] = true;
		n++;
	}
	return n;
}

static bool is_of(const struct candidates *c, int version)
{
	size_t i;
	int n;

	for (i = 0; i < c->count; i++) {
		n = c->all[i].known;
		if (n != UNKNOWN && (version < names[n].first || version > names[n].last))
			return false;
	}
	return true;
}

static int version_of(const struct candidates *c, size_t known)
{
	int v;

	for (v = RT_VERSION_NEWEST; v >= 0; v--)
		if (known == versions[v].count && is_of(c, v))
			return v;
	return UNKNOWN;
}

/* What a runtime is. */
struct judgement {
	int version;		/* whose names it has; of CUDA 11 at least no others */
	int number;		/* CUDART_VERSION */
	const char *label;
};

/*
 * What came with each minor version of CUDA 11, by NVIDIA's release notes. None came with 11.5, and
 * the names of 11.7 are known.
 */
static const struct {
	const char *name, *label;
	int number;
} came[] = {
	{ "cudaGraphNodeSetEnabled", "11.6", 11060 },
	{ "cudaGraphInstantiateWithFlags", "11.4 or 11.5", 11050 },
	{ "cudaGetDriverEntryPoint", "11.3", 11030 },
	{ "cudaMallocAsync", "11.2", 11020 },
	{ "cudaEventRecordWithFlags", "11.1", 11010 },
	{ "cudaStreamSetAttribute", "11.0", 11000 },
};

/*
 * CUDA 11 took nothing away before its end. So a runtime with names of 11.8 alone is of 11, if it
 * has what came with 11.0 and what went with 12.
 */
static bool is_of_11(const struct candidates *c, size_t known, struct judgement *is)
{
	size_t i;

	if (known != c->count || !has(c, "cudaStreamSetAttribute") || !has(c, "__cudaRegisterTexture"))
		return false;
	for (i = 0; i < c->count; i++)
		if (names[c->all[i].known].export_11 < 0)
			return false;
	for (i = 0; !has(c, came[i].name); i++)
		;
	*is = (struct judgement){ RT_VERSION_11_8, came[i].number, came[i].label };
	return true;
}

/*
 * A runtime that has all names of the newest version and others besides is of a later minor
 * version: a new major version takes names away. With others besides, any other version is none.
 */
static bool judge(const struct candidates *c, struct judgement *is)
{
	size_t known = count_known(c);
	int version = version_of(c, known);

	if (version == UNKNOWN)
		return is_of_11(c, known, is);
	*is = (struct judgement){ version, versions[version].number, versions[version].label };
	if (known == c->count)
		return true;
	is->label = "later than " RT_NEWEST;
	return version == RT_VERSION_NEWEST;
}

static int export_of(const struct candidate *f, int version)
{
	if (f->known == UNKNOWN)
		return preload_later(f->name);
	if (version >= RT_VERSION_13_0)
		return names[f->known].export_13;
	return version >= RT_VERSION_12_0 ? names[f->known].export_12 : names[f->known].export_11;
}

static enum preload_kind take(const struct candidates *c, const struct judgement *is,
			      struct preload_runtime *rt)
{
	const struct candidate *f;
	int export;
	size_t i;

	rt->funcs = calloc(c->count, sizeof(*rt->funcs));
	if (!rt->funcs)
		return PRELOAD_NO_MEMORY;
	for (i = 0; i < c->count; i++) {
		f = &c->all[i];
		export = export_of(f, is->version);
		if (export < 0) {
			free(rt->funcs);
			rt->funcs = NULL;
			return PRELOAD_VERSION;
		}
		rt->funcs[i] = (struct preload_func) {
			.addr = f->addr, .room = SIZE_MAX, .export = export,
			.to = preload_minor(is->number, export),
		};
	}
	rt->count = c->count;
	rt->version = is->label;
	return PRELOAD_FOUND;
}

/* An object that merely defines a name or two of the runtime is not a runtime. */
enum preload_kind preload_judge(const struct elf_symbols *s, struct preload_runtime *rt)
{
	enum preload_kind kind = PRELOAD_NONE;
	struct judgement is;
	struct candidates c;

	if (!collect(s, &c))
		return PRELOAD_NO_MEMORY;
	if (has(&c, "__cudaRegisterFatBinary") && has(&c, "cudaMalloc") &&
	    has(&c, "cudaGetDeviceCount")) {
		keep_the_runtimes(&c);
		kind = judge(&c, &is) ? take(&c, &is, rt) : PRELOAD_VERSION;
	}
	free(c.all);
	return kind;
}
