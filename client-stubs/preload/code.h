/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of NVIDIA's static runtimes: sizes and hashes of functions (gen_cudart_code.c). */
#ifndef WORMHOLE_PRELOAD_CODE_H
#define WORMHOLE_PRELOAD_CODE_H

#include <stddef.h>
#include <stdint.h>

/* The distances between the first functions of a runtime tell where one may be. */
#define CODE_RUN 6

#pragma GCC visibility push(hidden)

/* Bytes that the linker fills in. The last of a list begins at UINT16_MAX. */
struct code_span {
	uint16_t from, to;
};

struct code_func {
	uint64_t hash;			/* of all bytes that the linker leaves alone */
	uint32_t offset;		/* counted from the first function */
	uint16_t size;
	uint16_t filled;		/* where its list begins in code_spans */
	int16_t export;			/* which export */
};

struct code_build {
	const char *version;
	int number;			/* CUDART_VERSION */
	size_t count;
	const struct code_func *funcs;	/* by offset */
};

/* No pointers: the loader has nothing to fill in, in programs without CUDA. */
extern const struct code_span code_spans[];
/* The last has no version. */
extern const struct code_build code_builds[];

#pragma GCC visibility pop

#endif
