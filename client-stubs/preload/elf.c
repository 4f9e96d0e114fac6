// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the functions of a static CUDA runtime by the symbol table (.symtab)
 * of an ELF file.
 */
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "preload.h"

const char *const preload_names[RT_EXPORT_COUNT] = {
#define NAME(n) #n,
	RT_EXPORTS(NAME)
#undef NAME
};

static bool is_code(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF;
}

static int compare_names(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

/* RT_EXPORTS is sorted. Returns -1 if the name is not in it. */
static int export_index(const char *name)
{
	const char *const *hit;

	if (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6))
		return -1;
	hit = bsearch(name, preload_names, RT_EXPORT_COUNT, sizeof(preload_names[0]),
		      compare_names);
	return hit ? (int)(hit - preload_names) : -1;
}

static int compare_funcs(const void *a, const void *b)
{
	const struct preload_func *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static size_t collect(const struct elf_symbols *s, struct preload_func *funcs)
{
	size_t i, n = 0;
	int export;

	for (i = 0; i < s->count && n < RT_EXPORT_COUNT; i++) {
		if (!is_code(&s->sym[i]))
			continue;
		export = export_index(elf_symbol_name(s, i));
		if (export >= 0)
			funcs[n++] = (struct preload_func) {
				.addr = s->sym[i].st_value,
				.room = SIZE_MAX,
				.export = export,
			};
	}
	qsort(funcs, n, sizeof(*funcs), compare_funcs);
	return n;
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

static bool has(const struct preload_func *funcs, size_t n, const char *name)
{
	int export = export_index(name);
	size_t i;

	for (i = 0; i < n; i++)
		if (funcs[i].export == export)
			return true;
	return false;
}

/* An object that merely defines a name or two of the runtime is not a runtime. */
static enum preload_kind judge(const struct preload_func *funcs, size_t n)
{
	if (!has(funcs, n, "__cudaRegisterFatBinary") || !has(funcs, n, "cudaMalloc") ||
	    !has(funcs, n, "cudaGetDeviceCount"))
		return PRELOAD_NONE;
	/*
	 * This function came with 13.0. Older runtimes have another launch protocol and other
	 * structures.
	 */
	return has(funcs, n, "__cudaGetKernel") ? PRELOAD_FOUND : PRELOAD_VERSION;
}

static enum preload_kind find(const struct elf_file *f, uintptr_t base,
			      struct preload_func **out, size_t *count)
{
	struct preload_func *funcs;
	enum preload_kind kind;
	struct elf_symbols s;
	size_t i, n;

	if (!elf_symbols(f, SHT_SYMTAB, &s))
		return PRELOAD_STRIPPED;
	funcs = calloc(RT_EXPORT_COUNT, sizeof(*funcs));
	if (!funcs)
		return PRELOAD_NO_MEMORY;
	n = collect(&s, funcs);
	kind = judge(funcs, n);
	if (kind != PRELOAD_FOUND) {
		free(funcs);
		return kind;
	}
	measure(f, &s, funcs, n);
	for (i = 0; i < n; i++)
		funcs[i].addr += base;
	*out = funcs;
	*count = n;
	return PRELOAD_FOUND;
}

enum preload_kind preload_find(const char *path, uintptr_t base, struct preload_func **funcs,
			       size_t *count)
{
	enum preload_kind kind;
	struct elf_file f;

	if (!elf_open(&f, path))
		return PRELOAD_NONE;
	kind = find(&f, base, funcs, count);
	elf_close(&f);
	return kind;
}
