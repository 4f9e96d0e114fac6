// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what is read of files that a program names: it is right for a
 * library, and harmless for a library with bytes changed at random. It is built with
 * sanitizers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_file.h"
#include "soname.h"
#include "tap.h"

#define ROUNDS 3000
/* LIBRARY, which the Makefile defines, is a library that calls itself libcublas.so.13. */

static unsigned char file[1 << 20];
static size_t size;
static int memory;
static char path[64];

static void read_library(const char *name)
{
	FILE *f = fopen(name, "r");

	size = f ? fread(file, 1, sizeof(file), f) : 0;
	if (f)
		fclose(f);
}

static void write_file(const unsigned char *data, size_t n)
{
	if (ftruncate(memory, 0) || pwrite(memory, data, n, 0) != (ssize_t)n)
		exit(1);
}

/* Reads all that the functions return. */
static size_t look(void)
{
	struct elf_symbols s;
	struct elf_file f;
	char name[128];
	size_t i, sum = 0;

	if (soname_of(path, name, sizeof(name)))
		sum += strlen(name);
	if (!elf_open(&f, path))
		return sum;
	if (elf_section(&f, ".rodata") && elf_bytes(&f, elf_section(&f, ".rodata")))
		sum += *elf_bytes(&f, elf_section(&f, ".rodata"));
	if (elf_symbols(&f, SHT_DYNSYM, &s))
		for (i = 0; i < s.count; i++)
			sum += strlen(elf_symbol_name(&s, i));
	elf_close(&f);
	return sum;
}

/*
 * Changes bytes in the headers at both ends, where all offsets and counts are, and in the
 * tables.
 */
static void change(unsigned char *data)
{
	int i, n = 1 + rand() % 8;
	size_t at;

	for (i = 0; i < n; i++) {
		at = (size_t)rand() % (rand() % 2 ? 1024 : 4096);
		at = rand() % 2 ? at : size - 1 - at % size;
		data[at] = rand() % 3 ? rand() : 0xff;
	}
}

static void random_files(void)
{
	static unsigned char data[sizeof(file)];
	size_t sum = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		memcpy(data, file, size);
		change(data);
		write_file(data, rand() % 4 ? size : rand() % size);
		sum += look();
	}
	ok(sum > 0, "files_with_changed_bytes_do_no_harm");
}

int main(void)
{
	char name[128] = "";

	tap_plan(4);
	read_library(LIBRARY);
	memory = memfd_create("library", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	write_file(file, size);
	ok(soname_of(path, name, sizeof(name)) && !strcmp(name, "libcublas.so.13"),
	   "name_of_a_library_is_read");
	ok(!soname_of(path, name, 8), "name_that_does_not_fit_is_none");
	ok(!soname_of("/", name, sizeof(name)) && !soname_of("/dev/null", name, sizeof(name)),
	   "folder_and_device_have_none");
	srand(getenv("WH_SEED") ? atoi(getenv("WH_SEED")) : 1);
	random_files();
	return tap_exit();
}
