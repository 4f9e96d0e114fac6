/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of libwormhole-preload.so. If a program's CUDA runtime is linked in statically, the
 * library redirects each function of it to the libcudart.so.13 in its own folder.
 */
#ifndef WORMHOLE_PRELOAD_H
#define WORMHOLE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_cudart_exports.h"

#define PRELOAD_STUB_SIZE 16

#pragma GCC visibility push(hidden)

/* A function of a static runtime: its address and the number of bytes that are its own. */
struct preload_func {
	uintptr_t addr;		/* in memory */
	size_t room;		/* up to the next symbol or the section's end */
	int export;		/* which of RT_EXPORTS */
};

enum preload_kind {
	PRELOAD_NONE,		/* the object has no static runtime */
	PRELOAD_FOUND,
	PRELOAD_STRIPPED,	/* no symbol table, so there may be one */
	PRELOAD_VERSION,	/* a static runtime of another major version */
	PRELOAD_NO_MEMORY,
};

/* The names of RT_EXPORTS, in order. */
extern const char *const preload_names[RT_EXPORT_COUNT];

/* elf.c: finds the static runtime's functions in an ELF file that is mapped at `base`. */
enum preload_kind preload_find(const char *path, uintptr_t base, struct preload_func **funcs,
			       size_t *count);

enum preload_done {
	PRELOAD_REDIRECTED,
	PRELOAD_LEFT,		/* unchanged */
	PRELOAD_BROKEN,		/* changed, but a security policy forbids to execute it */
};

/*
 * patch.c: can every function become a jump to its stub? Returns NULL, or what is wrong;
 * `which` is the function's index.
 */
const char *preload_check(const struct preload_func *funcs, size_t count, size_t *which);
/* Turns all or none of them into jumps. */
enum preload_done preload_redirect(const struct preload_func *funcs, size_t count);
const char *preload_jump(uintptr_t from, size_t room, uintptr_t to);

/* stubs.S: one jump per export, through a slot that is filled at the first call. */
extern const char preload_stubs[RT_EXPORT_COUNT][PRELOAD_STUB_SIZE];
extern void *preload_slots[RT_EXPORT_COUNT];
void *preload_resolve(unsigned long export);

#pragma GCC visibility pop

#endif
