/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on a real GPU, for programs that test shares of its time. A kernel makes a fixed
 * number of steps in a fixed number of blocks, so that it takes longer on fewer SMs and
 * when something else is on the device.
 */
#ifndef WORMHOLE_TESTS_GPU_WORK_H
#define WORMHOLE_TESTS_GPU_WORK_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry work(.param .u32 n)\n{\n"
	".reg .u32 %i, %n;\n.reg .f32 %f;\n.reg .pred %p;\n"
	"ld.param.u32 %n, [n];\nmov.u32 %i, 0;\nmov.f32 %f, 0f3F800000;\n"
	"L:\nfma.rn.f32 %f, %f, %f, %f;\nadd.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, %n;\n@%p bra L;\n"
	"setp.eq.f32 %p, %f, 0f12345678;\n@%p trap;\nret;\n}\n";

static CUfunction work;
static int blocks;

static inline void check(CUresult res, const char *what)
{
	if (!res)
		return;
	fprintf(stderr, "error: %s: %d\n", what, res);
	exit(1);
}

/* Returns the time in seconds. */
static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static inline CUresult try_launch(unsigned int steps, CUstream stream)
{
	void *args[] = { &steps };

	return cuLaunchKernel(work, blocks, 1, 1, 256, 1, 1, 0, stream, args, NULL);
}

static inline void launch(unsigned int steps, CUstream stream)
{
	check(try_launch(steps, stream), "cuLaunchKernel");
}

/* Makes the primary context of device 0 current, and loads the kernel into it. */
static inline void start_work(int of_blocks)
{
	CUcontext ctx;
	CUmodule m;

	check(cuInit(0), "cuInit");
	check(cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	check(cuModuleLoadData(&m, ptx), "cuModuleLoadData");
	check(cuModuleGetFunction(&work, m, "work"), "cuModuleGetFunction");
	blocks = of_blocks;
}

#endif
