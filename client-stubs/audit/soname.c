// SPDX-License-Identifier: Apache-2.0
/*
 * Reads DT_SONAME of a file. The file may be anything: numbers in it are only used as offsets
 * to read from, and as counts up to the buffer's size.
 */
#include <elf.h>
#include <link.h>

#include "raw.h"
#include "soname.h"

#define MAX_SEGMENTS	32
#define MAX_ENTRIES	64

struct image {
	long fd;
	Elf64_Phdr segments[MAX_SEGMENTS];
	size_t n;
};

static bool read_segments(struct image *f)
{
	Elf64_Ehdr e;
	long got;

	if (raw_read_at(f->fd, &e, sizeof(e), 0) != sizeof(e) || e.e_ident[EI_MAG0] != ELFMAG0 ||
	    e.e_ident[EI_MAG1] != ELFMAG1 || e.e_ident[EI_MAG2] != ELFMAG2 ||
	    e.e_ident[EI_MAG3] != ELFMAG3 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_machine != EM_X86_64 || e.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	f->n = e.e_phnum < MAX_SEGMENTS ? e.e_phnum : MAX_SEGMENTS;
	got = raw_read_at(f->fd, f->segments, f->n * sizeof(Elf64_Phdr), e.e_phoff);
	return got == (long)(f->n * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *dynamic_segment(const struct image *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->segments[i].p_type == PT_DYNAMIC)
			return &f->segments[i];
	return NULL;
}

/* Returns the file offset of an address of the library. 0: the file does not have it. */
static size_t offset_of(const struct image *f, size_t address)
{
	const Elf64_Phdr *s;
	size_t i;

	for (i = 0; i < f->n; i++) {
		s = &f->segments[i];
		if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_filesz)
			return s->p_offset + (address - s->p_vaddr);
	}
	return 0;
}

/* Returns the name's offset in the file. 0: the file has no name. */
static size_t find_name(const struct image *f)
{
	const Elf64_Phdr *dynamic = dynamic_segment(f);
	Elf64_Dyn entries[MAX_ENTRIES];
	size_t strings = 0, name = 0;
	long got, i;

	if (!dynamic)
		return 0;
	got = raw_read_at(f->fd, entries, sizeof(entries), dynamic->p_offset);
	for (i = 0; i < got / (long)sizeof(*entries) && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			strings = offset_of(f, entries[i].d_un.d_ptr);
		else if (entries[i].d_tag == DT_SONAME)
			name = entries[i].d_un.d_val;
	}
	return strings && name ? strings + name : 0;
}

static bool read_name(const struct image *f, char *name, size_t size)
{
	size_t at = find_name(f);
	long got = at ? raw_read_at(f->fd, name, size, at) : 0, i;

	for (i = 0; i < got; i++)
		if (!name[i])
			return true;
	return false;
}

bool soname_of(const char *path, char *name, size_t size)
{
	struct image f = { .fd = raw_open(path) };
	bool found;

	if (f.fd < 0)
		return false;
	found = read_segments(&f) && read_name(&f, name, size);
	raw_close(f.fd);
	return found;
}
