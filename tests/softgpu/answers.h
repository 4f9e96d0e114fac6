/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records what a driver answers. Each line of the output is one call and its result. Each
 * section runs in a process of its own, so that a fault or a crash of one does not reach
 * the next. The same program runs on a real driver (which is how answers.ref was made)
 * and on softgpu.
 */
#ifndef WORMHOLE_TESTS_ANSWERS_H
#define WORMHOLE_TESTS_ANSWERS_H

#include <cuda.h>
#include <cudaProfiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct section {
	const char *name;
	void (*run)(void);
};

extern const struct section device_sections[], memory_sections[],
			    stream_sections[], code_sections[];

const char *answer_name(CUresult rc);
/* Calls cuInit(), and makes the primary context current. */
CUcontext answer_ctx(void);
/* Loads ANSWER_PTX, and one of its kernels. */
CUmodule answer_module(void);
CUfunction answer_func(const char *name);

/* Prints one line: the call as it stands in the source, and its result. */
#define A(call) printf("%s = %s\n", #call, answer_name(call))
/* Prints one line: a value. */
#define V(value) printf("%s is %lld\n", #value, (long long)(value))

extern const char answer_ptx[];

#endif
