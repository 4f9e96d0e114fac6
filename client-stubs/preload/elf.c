// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the functions of a static CUDA runtime by the symbol table (.symtab)
 * of an ELF file. The file is the user's own program, yet every offset in it
 * is checked, because a damaged one must not crash the process.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload.h"

struct image {
	const char *data;
	size_t size;
	const Elf64_Ehdr *ehdr;
	const Elf64_Shdr *sections;
	const char *section_names;
	size_t section_names_size;
};

struct symbols {
	const Elf64_Sym *sym;
	size_t count;
	const char *names;
	size_t names_size;
};

const char *const preload_names[RT_EXPORT_COUNT] = {
#define NAME(n) #n,
	RT_EXPORTS(NAME)
#undef NAME
};

static bool inside(const struct image *img, uint64_t offset, uint64_t size)
{
	return offset <= img->size && size <= img->size - offset;
}

static bool map_file(struct image *img, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr)) {
		close(fd);
		return false;
	}
	p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	img->data = p;
	img->size = st.st_size;
	return true;
}

static const Elf64_Shdr *section(const struct image *img, size_t i)
{
	return i < img->ehdr->e_shnum ? &img->sections[i] : NULL;
}

/* The header and the section table lie in the file. */
static bool read_sections(struct image *img)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)img->data;
	const Elf64_Shdr *names;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_machine != EM_X86_64 || e->e_shentsize != sizeof(Elf64_Shdr) ||
	    e->e_shoff % sizeof(uint64_t) ||
	    !inside(img, e->e_shoff, (uint64_t)e->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	img->ehdr = e;
	img->sections = (const Elf64_Shdr *)(img->data + e->e_shoff);
	names = section(img, e->e_shstrndx);
	if (!names || !inside(img, names->sh_offset, names->sh_size))
		return false;
	img->section_names = img->data + names->sh_offset;
	img->section_names_size = names->sh_size;
	return true;
}

static const char *string(const char *table, size_t size, uint64_t offset)
{
	if (offset >= size || !memchr(table + offset, 0, size - offset))
		return "";
	return table + offset;
}

static bool has_section(const struct image *img, const char *name)
{
	size_t i;

	for (i = 0; i < img->ehdr->e_shnum; i++)
		if (!strcmp(string(img->section_names, img->section_names_size,
				   img->sections[i].sh_name), name))
			return true;
	return false;
}

static bool read_symbols(const struct image *img, uint32_t type, struct symbols *s)
{
	const Elf64_Shdr *tab = NULL, *str;
	size_t i;

	for (i = 0; i < img->ehdr->e_shnum; i++)
		if (img->sections[i].sh_type == type)
			tab = &img->sections[i];
	if (!tab || tab->sh_offset % sizeof(uint64_t) ||
	    !inside(img, tab->sh_offset, tab->sh_size))
		return false;
	str = section(img, tab->sh_link);
	if (!str || !inside(img, str->sh_offset, str->sh_size))
		return false;
	s->sym = (const Elf64_Sym *)(img->data + tab->sh_offset);
	s->count = tab->sh_size / sizeof(Elf64_Sym);
	s->names = img->data + str->sh_offset;
	s->names_size = str->sh_size;
	return true;
}

static const char *symbol_name(const struct symbols *s, size_t i)
{
	return string(s->names, s->names_size, s->sym[i].st_name);
}

static bool is_code(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF;
}

static int compare_names(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

/* RT_EXPORTS is sorted; -1 when the name is not in it. */
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

static size_t collect(const struct symbols *s, struct preload_func *funcs)
{
	size_t i, n = 0;
	int export;

	for (i = 0; i < s->count && n < RT_EXPORT_COUNT; i++) {
		if (!is_code(&s->sym[i]))
			continue;
		export = export_index(symbol_name(s, i));
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

/* Code at `at` begins something else: functions before it end there at the latest. */
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

static void measure(const struct image *img, const struct symbols *s,
		    struct preload_func *funcs, size_t n)
{
	const Elf64_Shdr *sec;
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->sym[i].st_shndx != SHN_UNDEF && s->sym[i].st_shndx < SHN_LORESERVE &&
		    ELF64_ST_TYPE(s->sym[i].st_info) != STT_TLS)
			limit(funcs, n, s->sym[i].st_value);
	for (i = 0; i < img->ehdr->e_shnum; i++) {
		sec = &img->sections[i];
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

/* Without a symbol table: a runtime that is not imported must be inside. */
static enum preload_kind judge_stripped(const struct image *img)
{
	struct symbols dyn;
	size_t i;

	if (!has_section(img, ".nvFatBinSegment"))
		return PRELOAD_NONE;
	if (read_symbols(img, SHT_DYNSYM, &dyn))
		for (i = 0; i < dyn.count; i++)
			if (!strcmp(symbol_name(&dyn, i), "__cudaRegisterFatBinary"))
				return PRELOAD_NONE;
	return PRELOAD_STRIPPED;
}

/* An object that merely defines a name or two of the runtime is not one. */
static enum preload_kind judge(const struct preload_func *funcs, size_t n)
{
	if (!has(funcs, n, "__cudaRegisterFatBinary") || !has(funcs, n, "cudaMalloc") ||
	    !has(funcs, n, "cudaGetDeviceCount"))
		return PRELOAD_NONE;
	/* Came with 13.0; the older launch protocol and structures differ. */
	return has(funcs, n, "__cudaGetKernel") ? PRELOAD_FOUND : PRELOAD_VERSION;
}

static enum preload_kind find(const struct image *img, uintptr_t base,
			      struct preload_func **out, size_t *count)
{
	struct preload_func *funcs;
	enum preload_kind kind;
	struct symbols s;
	size_t i, n;

	if (!read_symbols(img, SHT_SYMTAB, &s))
		return judge_stripped(img);
	funcs = calloc(RT_EXPORT_COUNT, sizeof(*funcs));
	if (!funcs)
		return PRELOAD_NO_MEMORY;
	n = collect(&s, funcs);
	kind = judge(funcs, n);
	if (kind != PRELOAD_FOUND) {
		free(funcs);
		return kind;
	}
	measure(img, &s, funcs, n);
	for (i = 0; i < n; i++)
		funcs[i].addr += base;
	*out = funcs;
	*count = n;
	return PRELOAD_FOUND;
}

enum preload_kind preload_find(const char *path, uintptr_t base, struct preload_func **funcs,
			       size_t *count)
{
	enum preload_kind kind = PRELOAD_NONE;
	struct image img = { 0 };

	if (!map_file(&img, path))
		return PRELOAD_NONE;
	if (read_sections(&img))
		kind = find(&img, base, funcs, count);
	munmap((void *)img.data, img.size);
	return kind;
}
