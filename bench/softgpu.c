// SPDX-License-Identifier: Apache-2.0
/*
 * How fast softgpu runs kernels: `name value unit` lines, the best of several
 * runs: by the clock, and by the CPU time that all threads used, which is the
 * speed of one core. $WORMHOLE_SOFTGPU_THREADS says how many threads.
 *
 *   softgpu PTX
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N	512		/* rows and columns */
#define LONG	(1 << 22)	/* elements of saxpy */
#define RUNS	5

static CUdeviceptr dev[3];

static void must(CUresult rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "error: %s: %d\n", what, rc);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

struct cost {
	double wall, cpu;	/* seconds */
};

static struct cost best(CUfunction f, unsigned int gx, unsigned int gy, unsigned int bx,
		   unsigned int by, void **args)
{
	struct cost least = { 1e9, 1e9 };

	for (int i = 0; i < RUNS; i++) {
		double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);

		must(cuLaunchKernel(f, gx, gy, 1, bx, by, 1, 0, NULL, args, NULL), "launch");
		must(cuCtxSynchronize(), "run");
		wall = now(CLOCK_MONOTONIC) - wall;
		cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		least.wall = wall < least.wall ? wall : least.wall;
		least.cpu = cpu < least.cpu ? cpu : least.cpu;
	}
	return least;
}

static void product(CUmodule mod, const char *name, unsigned int tile, unsigned int bx,
		    unsigned int by)
{
	CUfunction f;
	struct cost s;
	int n = N;

	must(cuModuleGetFunction(&f, mod, name), name);
	s = best(f, N / tile, N / tile, bx, by, (void *[]){ &dev[0], &dev[1], &dev[2], &n });
	printf("sgemm_%s_%d %.2f GFLOP/s\n", name, N, 2.0 * N * N * N / s.wall * 1e-9);
	printf("sgemm_%s_%d_core %.2f GFLOP/s\n", name, N, 2.0 * N * N * N / s.cpu * 1e-9);
}

int main(int argc, char **argv)
{
	CUmodule mod;
	CUcontext ctx;
	CUfunction f;
	float a = 2;
	int n = LONG;
	struct cost s;

	if (argc != 2) {
		fprintf(stderr, "usage: softgpu PTX\n");
		return 2;
	}
	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
	must(cuCtxSetCurrent(ctx), "context");
	must(cuModuleLoad(&mod, argv[1]), argv[1]);
	for (int i = 0; i < 3; i++) {
		must(cuMemAlloc(&dev[i], LONG * sizeof(float)), "memory");
		must(cuMemsetD32(dev[i], 0x3f800000, LONG), "memory");
	}
	product(mod, "tiled", 16, 16, 16);
	product(mod, "register_tiled", 64, 256, 1);
	must(cuModuleGetFunction(&f, mod, "saxpy"), "saxpy");
	s = best(f, LONG / 256, 1, 256, 1, (void *[]){ &a, &dev[0], &dev[1], &n });
	printf("saxpy %.2f GB/s\nsaxpy_core %.2f GB/s\n", 12.0 * LONG / s.wall * 1e-9,
	       12.0 * LONG / s.cpu * 1e-9);
	return 0;
}
