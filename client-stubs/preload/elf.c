// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the functions of a static CUDA runtime by the symbol table (.symtab)
 * of an ELF file, and measures how many bytes each may be given. Without a
 * symbol table, code.c finds them.
 */
#include <stdlib.h>
#include <string.h>

#include "preload.h"

const char *const preload_names[RT_EXPORT_COUNT] = {
#define NAME(n) #n,
	RT_EXPORTS_13(NAME)
	RT_EXPORTS_12(NAME)
	RT_EXPORTS_11(NAME)
#undef NAME
};

static int compare_funcs(const void *a, const void *b)
{
	const struct preload_func *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Other code begins at `at`, so functions before it end there at the latest. */
static void limit(struct preload_func *funcs, size_t n, uint64_t at)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (funcs[mid].addr < at)
			low = mid + 1;
		else
			high = mid;
	}
	while (low && funcs[low - 1].room > at - funcs[low - 1].addr) {
		funcs[low - 1].room = at - funcs[low - 1].addr;
		low--;
	}
}

static void measure(const struct elf_file *f, const struct elf_symbols *s,
		    struct preload_func *funcs, size_t n)
{
	const Elf64_Shdr *sec;
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->sym[i].st_shndx != SHN_UNDEF && s->sym[i].st_shndx < SHN_LORESERVE &&
		    ELF64_ST_TYPE(s->sym[i].st_info) != STT_TLS)
			limit(funcs, n, s->sym[i].st_value);
	for (i = 0; i < f->ehdr->e_shnum; i++) {
		sec = &f->sections[i];
		if (sec->sh_flags & SHF_EXECINSTR)
			limit(funcs, n, sec->sh_addr + sec->sh_size);
	}
}

static enum preload_kind find_names(const struct elf_file *f, uintptr_t base,
				    struct preload_runtime *rt)
{
	enum preload_kind kind;
	struct elf_symbols s;
	size_t i;

	if (!elf_symbols(f, SHT_SYMTAB, &s))
		return PRELOAD_STRIPPED;
	kind = preload_judge(&s, rt);
	if (kind != PRELOAD_FOUND)
		return kind;
	qsort(rt->funcs, rt->count, sizeof(*rt->funcs), compare_funcs);
	measure(f, &s, rt->funcs, rt->count);
	for (i = 0; i < rt->count; i++)
		rt->funcs[i].addr += base;
	return kind;
}

/* A table without the runtime's names may be what `strip -x` has left of it. */
static enum preload_kind find(const struct elf_file *f, uintptr_t base,
			      struct preload_runtime *rt)
{
	enum preload_kind by_names = find_names(f, base, rt), by_code;

	if (by_names != PRELOAD_STRIPPED && by_names != PRELOAD_NONE)
		return by_names;
	by_code = preload_find_code(f, base, rt);
	return by_code == PRELOAD_NONE ? by_names : by_code;
}

enum preload_kind preload_find(const char *path, uintptr_t base, struct preload_runtime *rt)
{
	enum preload_kind kind;
	struct elf_file f;

	memset(rt, 0, sizeof(*rt));
	if (!elf_open(&f, path))
		return PRELOAD_NONE;
	kind = find(&f, base, rt);
	elf_close(&f);
	return kind;
}
