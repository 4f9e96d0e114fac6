/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that run in the client VM share this file. It starts CUDA and a kernel
 * that computes for as long as it is told, with a result that can be checked.
 */
#ifndef WORMHOLE_TESTS_BEHAVIOURS_CLIENT_H
#define WORMHOLE_TESTS_BEHAVIOURS_CLIENT_H

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

/* No program here lives longer than this, whatever happens. */
#define LIFE_S		60
#define FACTOR		6364136223846793005ULL
#define ADDEND		1442695040888963407ULL

struct spin {
	CUfunction kernel;
	CUdeviceptr out;
	uint64_t seed;
};

/* The kernel writes out[0], the number of steps, and out[1], the seed after that many steps. */
static const char spin_ptx[] =
".version 8.0\n.target sm_70\n.address_size 64\n"
".visible .entry spin(.param .u64 out, .param .u64 clocks, .param .u64 seed)\n{\n"
".reg .pred %p<2>;\n.reg .b64 %d<8>;\n"
"ld.param.u64 %d1, [out];\nld.param.u64 %d2, [clocks];\nld.param.u64 %d3, [seed];\n"
"mov.u64 %d4, %clock64;\nmov.u64 %d5, 0;\n"
"AGAIN:\n"
"mul.lo.u64 %d3, %d3, 6364136223846793005;\nadd.u64 %d3, %d3, 1442695040888963407;\n"
"add.u64 %d5, %d5, 1;\n"
"mov.u64 %d6, %clock64;\nsub.u64 %d6, %d6, %d4;\n"
"setp.lt.u64 %p1, %d6, %d2;\n@%p1 bra AGAIN;\n"
"st.global.u64 [%d1], %d5;\nst.global.u64 [%d1+8], %d3;\nret;\n}\n";

static inline void fail(const char *what, CUresult res)
{
	const char *name = "?";

	cuGetErrorName(res, &name);
	printf("%s: %s\n", what, name);
	fflush(stdout);
	exit(3);
}

#define CU(call) do {					\
	CUresult res_ = (call);				\
	if (res_ != CUDA_SUCCESS)			\
		fail(#call, res_);			\
} while (0)

static inline void start(void)
{
	CUcontext ctx;

	alarm(LIFE_S);
	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
}

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Returns the counts per millisecond of the kernel's clock, which is the time stamp counter. */
static inline uint64_t clocks_per_ms(void)
{
	int64_t t = now_ns(), end = t + 10000000;
	uint64_t c = __rdtsc();

	while (now_ns() < end)
		;
	return (__rdtsc() - c) * 1000000 / (uint64_t)(now_ns() - t);
}

static inline void spin_load(struct spin *s)
{
	CUmodule m;

	CU(cuModuleLoadData(&m, spin_ptx));
	CU(cuModuleGetFunction(&s->kernel, m, "spin"));
	CU(cuMemAlloc(&s->out, 16));
}

/* Runs the kernel for @clocks clocks, and returns when it has ended. */
static inline CUresult spin_run(struct spin *s, uint64_t clocks, uint64_t seed)
{
	void *args[] = { &s->out, &clocks, &seed };
	CUresult res;

	s->seed = seed;
	res = cuLaunchKernel(s->kernel, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
	return res ? res : cuCtxSynchronize();
}

/* Did the kernel compute what this CPU computes? */
static inline int spin_is_right(const struct spin *s)
{
	uint64_t out[2] = { 0, 0 }, want = s->seed, i;

	if (cuMemcpyDtoH(out, s->out, sizeof(out)) || !out[0])
		return 0;
	for (i = 0; i < out[0]; i++)
		want = want * FACTOR + ADDEND;
	return out[1] == want;
}

#endif
