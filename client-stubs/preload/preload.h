/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of libwormhole-preload.so. If a program's CUDA runtime is linked in statically, the
 * library redirects each function of it to the libcudart.so.13, .12 or .11.0 in its own folder.
 */
#ifndef WORMHOLE_PRELOAD_H
#define WORMHOLE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "gen_cudart_exports.h"

#define PRELOAD_STUB_SIZE 16

/* Places for functions that no version which is known has (later.c). stubs.S has the number too. */
#define PRELOAD_LATER_MAX 128
#define PRELOAD_NAME_MAX 64
#define PRELOAD_STUBS (RT_EXPORT_COUNT + PRELOAD_LATER_MAX)

#pragma GCC visibility push(hidden)

/* A function of a static runtime: its address and the number of bytes that are its own. */
struct preload_func {
	uintptr_t addr;		/* in memory */
	size_t room;		/* up to the next symbol or the section's end */
	int export;		/* which of preload_names, or what preload_later() returned */
	uintptr_t to;		/* what answers for it, or 0: the stub of `export` */
};

struct preload_runtime {
	struct preload_func *funcs;	/* sorted by address; free() it */
	size_t count;
	const char *version;		/* of CUDA; PRELOAD_FOUND and PRELOAD_CHANGED */
};

enum preload_kind {
	PRELOAD_NONE,		/* the object has no static runtime */
	PRELOAD_FOUND,
	PRELOAD_STRIPPED,	/* no symbol table, so there may be one that is not known */
	PRELOAD_CHANGED,	/* `count` functions differ from those of `version` */
	PRELOAD_VERSION,	/* a static runtime that is not for sure of 11, 12 or 13 */
	PRELOAD_NO_MEMORY,
};

/* The names that libcudart.so.13 exports, and behind them those of .12 and of .11.0. */
extern const char *const preload_names[RT_EXPORT_COUNT];

/* elf.c: finds the static runtime's functions in an ELF file that is mapped at `base`. */
enum preload_kind preload_find(const char *path, uintptr_t base, struct preload_runtime *rt);

/* version.c: is it a runtime, and of which version? The functions come without room. */
enum preload_kind preload_judge(const struct elf_symbols *s, struct preload_runtime *rt);

/* code.c: the same for an object without a symbol table, by the code of its functions. */
enum preload_kind preload_find_code(const struct elf_file *f, uintptr_t base,
				    struct preload_runtime *rt);

/* later.c: a place for a function that no known version has, or -1 if there is no room. */
int preload_later(const char *name);
const char *preload_name(int export);
/* Says that the function is not here. Returns what answers for it. */
void *preload_refuse(unsigned long export);

/*
 * minor.c: what answers for an export in a runtime of that CUDART_VERSION, if it is not the same
 * for all minor versions. 0: its stub does.
 */
uintptr_t preload_minor(int version, int export);

/* preload.c: one line on standard error. */
__attribute__((format(printf, 1, 2)))
void preload_say(const char *fmt, ...);

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

/* stubs.S: one jump per function, through a slot that is filled at the first call. */
extern const char preload_stubs[PRELOAD_STUBS][PRELOAD_STUB_SIZE];
extern void *preload_slots[PRELOAD_STUBS];
void *preload_resolve(unsigned long export);

#pragma GCC visibility pop

#endif
