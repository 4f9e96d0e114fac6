/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of an ELF file of the program. The file may be damaged, which must not crash the
 * process: whatever these functions return lies in the file.
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

/* Returns false if the file is no ELF file for this machine, or has no sections. */
bool elf_open(struct elf_file *f, const char *path);
void elf_close(struct elf_file *f);

/* Returns NULL if there is no such section. */
const Elf64_Shdr *elf_section(const struct elf_file *f, const char *name);
/* Returns the section's bytes, or NULL if they are not in the file. */
const char *elf_bytes(const struct elf_file *f, const Elf64_Shdr *section);

/* Finds the symbol table of that type (SHT_SYMTAB or SHT_DYNSYM). */
bool elf_symbols(const struct elf_file *f, uint32_t type, struct elf_symbols *s);
const char *elf_symbol_name(const struct elf_symbols *s, size_t i);

#pragma GCC visibility pop

#endif
