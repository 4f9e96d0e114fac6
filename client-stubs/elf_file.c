// SPDX-License-Identifier: Apache-2.0
/*
 * Reads ELF files. It is used before the C library's constructors have run, so it needs no
 * stdio, no environment and no malloc().
 */
#include "elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool inside(const struct elf_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

static bool map_file(struct elf_file *f, const char *path)
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
	f->data = p;
	f->size = st.st_size;
	return true;
}

/* Reads the header and the section table, and checks that both lie in the file. */
static bool read_sections(struct elf_file *f)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)f->data;
	const Elf64_Shdr *names;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_machine != EM_X86_64 || e->e_shentsize != sizeof(Elf64_Shdr) ||
	    e->e_shoff % sizeof(uint64_t) || e->e_shstrndx >= e->e_shnum ||
	    !inside(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	f->ehdr = e;
	f->sections = (const Elf64_Shdr *)(f->data + e->e_shoff);
	names = &f->sections[e->e_shstrndx];
	f->names = elf_bytes(f, names);
	f->names_size = names->sh_size;
	return f->names;
}

bool elf_open(struct elf_file *f, const char *path)
{
	memset(f, 0, sizeof(*f));
	if (!map_file(f, path))
		return false;
	if (read_sections(f))
		return true;
	elf_close(f);
	return false;
}

void elf_close(struct elf_file *f)
{
	munmap((void *)f->data, f->size);
}

static const char *string(const char *table, size_t size, uint64_t offset)
{
	if (offset >= size || !memchr(table + offset, 0, size - offset))
		return "";
	return table + offset;
}

const Elf64_Shdr *elf_section(const struct elf_file *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->ehdr->e_shnum; i++)
		if (!strcmp(string(f->names, f->names_size, f->sections[i].sh_name), name))
			return &f->sections[i];
	return NULL;
}

const char *elf_bytes(const struct elf_file *f, const Elf64_Shdr *section)
{
	if (section->sh_type == SHT_NOBITS || !inside(f, section->sh_offset, section->sh_size))
		return NULL;
	return f->data + section->sh_offset;
}

bool elf_symbols(const struct elf_file *f, uint32_t type, struct elf_symbols *s)
{
	const Elf64_Shdr *tab = NULL, *str;
	size_t i;

	for (i = 0; i < f->ehdr->e_shnum; i++)
		if (f->sections[i].sh_type == type)
			tab = &f->sections[i];
	if (!tab || tab->sh_offset % sizeof(uint64_t) || tab->sh_link >= f->ehdr->e_shnum)
		return false;
	str = &f->sections[tab->sh_link];
	s->sym = (const Elf64_Sym *)elf_bytes(f, tab);
	s->count = tab->sh_size / sizeof(Elf64_Sym);
	s->names = elf_bytes(f, str);
	s->names_size = str->sh_size;
	return s->sym && s->names;
}

const char *elf_symbol_name(const struct elf_symbols *s, size_t i)
{
	return string(s->names, s->names_size, s->sym[i].st_name);
}
