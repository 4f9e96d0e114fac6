/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs share whose steps tests/gpu/gpu.sh compares natively and forwarded (steps). A
 * step is a line: its name, its status, whether its result is right, and after a bar a sum of the
 * result, which may differ between two runs where a library adds in any order.
 */
#ifndef WORMHOLE_TESTS_STEPS_GPU_H
#define WORMHOLE_TESTS_STEPS_GPU_H

#include <cuda.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t sum(const void *at, size_t n)
{
	uint64_t h = 14695981039346656037ULL;
	const uint8_t *p = at;

	while (n--)
		h = (h ^ *p++) * 1099511628211ULL;
	return h;
}

/* `off` is how far the result is from the one that is right, and may be as far as `most`. */
static inline void step(const char *name, int status, double off, double most, const void *result,
			size_t size)
{
	printf("%s: %d", name, status);
	if (!status && off <= most)
		printf(" right");
	else if (!status)
		printf(" wrong by %.3g", off);
	printf(" | %016llx\n", (unsigned long long)(status ? 0 : sum(result, size)));
}

/* A step that has a status alone. */
static inline void said(const char *name, int status)
{
	printf("%s: %d |\n", name, status);
}

/* Prints lines at once, so that those before a crash are there. */
static inline void use_device(int number)
{
	CUcontext ctx;
	CUdevice dev;
	CUresult res;

	setvbuf(stdout, NULL, _IOLBF, 0);
	res = cuInit(0);
	if (!res)
		res = cuDeviceGet(&dev, number);
	if (!res)
		res = cuDevicePrimaryCtxRetain(&ctx, dev);
	if (!res)
		res = cuCtxSetCurrent(ctx);
	if (!res)
		return;
	fprintf(stderr, "no device %d: status %d\n", number, res);
	exit(1);
}

/* What is there is there for all streams: programs have some that wait for no other one. */
static inline CUdeviceptr room(size_t size)
{
	CUdeviceptr p = 0;

	if (cuMemAlloc(&p, size ? size : 1) || cuMemsetD8(p, 0, size ? size : 1) ||
	    cuCtxSynchronize()) {
		fprintf(stderr, "no %zu bytes of the device's memory\n", size);
		exit(1);
	}
	return p;
}

static inline void give(CUdeviceptr to, const void *from, size_t size)
{
	cuMemcpyHtoD(to, from, size);
	cuCtxSynchronize();
}

/* Waits for all of the device's work. A result that is not copied is a step that failed. */
static inline void take(const char *name, void *to, CUdeviceptr from, size_t size)
{
	CUresult res = cuCtxSynchronize();

	if (!res)
		res = cuMemcpyDtoH(to, from, size);
	if (!res)
		return;
	printf("%s: result is not copied, status %d |\n", name, res);
	memset(to, 0, size);
}

#endif
