/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of an ELF file of the program's. It may be damaged, which must not
 * crash the process: whatever these functions return lies in the file.
 */
#ifndef WORMHOLE_ELF_FILE_H
#define WORMHOLE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct elf_file {
	const char *data;
	size_t size;
	const Elf64_Ehdr *ehdr;
	const Elf64_Shdr *sections;
	const char *names;
	size_t names_size;
};

struct elf_symbols {
	const Elf64_Sym *sym;
	size_t count;
	const char *names;
	size_t names_size;
};

/* False: no file of this machine's with sections. */
bool elf_open(struct elf_file *f, const char *path);
void elf_close(struct elf_file *f);

/* NULL: there is none. */
const Elf64_Shdr *elf_section(const struct elf_file *f, const char *name);
/* The section's bytes; NULL when they are not in the file. */
const char *elf_bytes(const struct elf_file *f, const Elf64_Shdr *section);

/* The symbol table of that type (SHT_SYMTAB or SHT_DYNSYM). */
bool elf_symbols(const struct elf_file *f, uint32_t type, struct elf_symbols *s);
const char *elf_symbol_name(const struct elf_symbols *s, size_t i);

#pragma GCC visibility pop

#endif
