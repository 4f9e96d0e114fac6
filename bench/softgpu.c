// SPDX-License-Identifier: Apache-2.0
/*
 * Measures how fast softgpu runs kernels. It prints `name value unit` lines: the best of
 * several launches, per second of user CPU time that all threads took together. That is the
 * speed of one core; other work on the machine affects it only through caches and shared
 * units. softgpu.sh makes a table of the lines.
 *
 * usage: softgpu PTX
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define N	512		/* rows and columns */
#define LONG	(1 << 22)	/* elements of the saxpy kernel */
#define RUNS	15

static CUdeviceptr dev[3];

static void must(CUresult rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "error: %s: %d\n", what, rc);
	exit(1);
}

static double user_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_utime.tv_usec * 1e-6;
}

/* Returns the seconds of the best launch. */
static double best(CUfunction f, unsigned int gx, unsigned int gy, unsigned int bx,
		   unsigned int by, void **args)
{
	double least = 1e9;

	for (int i = 0; i < RUNS; i++) {
		double t = user_time();

		must(cuLaunchKernel(f, gx, gy, 1, bx, by, 1, 0, NULL, args, NULL), "launch");
		must(cuCtxSynchronize(), "run");
		t = user_time() - t;
		least = t < least ? t : least;
	}
	return least;
}

static void product(CUmodule mod, const char *name, unsigned int tile, unsigned int bx,
		    unsigned int by)
{
	CUfunction f;
	int n = N;
	double s;

	must(cuModuleGetFunction(&f, mod, name), name);
	s = best(f, N / tile, N / tile, bx, by, (void *[]){ &dev[0], &dev[1], &dev[2], &n });
	printf("sgemm_%s_%d %.2f GFLOP/s\n", name, N, 2.0 * N * N * N / s * 1e-9);
}

int main(int argc, char **argv)
{
	CUmodule mod;
	CUcontext ctx;
	CUfunction f;
	float a = 2;
	int n = LONG;
	double s;

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
	printf("saxpy %.2f GB/s\n", 12.0 * LONG / s * 1e-9);
	return 0;
}
