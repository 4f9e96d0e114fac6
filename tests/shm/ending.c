// SPDX-License-Identifier: Apache-2.0
/*
 * A program that calls CUDA to the very end and prints what each of its last calls gave:
 * "atexit", "library" (a library that needs libcuda.so.1), "later" and "handle" (one that
 * does not need it, and ends after it). With the argument "threads", four threads never stop calling
 * and reading pinned memory.
 */
#include <cublas_v2.h>
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ending_later(CUresult (*call)(void), int (*end_handle)(void));	/* ending_later.c */
void ending_library(void);			/* ending_library.c */

static volatile char *pinned;
static CUcontext ctx;

static CUresult one_call(void)
{
	CUdeviceptr p;
	CUresult res = cuMemAlloc(&p, 64);

	return res ? res : cuMemFree(p);
}

/* A handle of cuBLAS, which ends when the process has given its pair back. */
static cublasHandle_t handle;

static int end_handle(void)
{
	return handle ? (int)cublasDestroy(handle) : -1;
}

static void at_exit(void)
{
	printf("atexit %d\n", one_call());
	fflush(stdout);
}

static void *never_stops(void *unused)
{
	(void)unused;
	cuCtxSetCurrent(ctx);
	for (;;) {
		one_call();
		pinned[0] = pinned[4095];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 && !strcmp(argv[1], "threads") ? 4 : 0;
	pthread_t t;
	void *p;

	alarm(30);
	ending_library();
	ending_later(one_call, end_handle);
	atexit(at_exit);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cuMemAllocHost(&p, 4096))
		return 3;
	pinned = p;
	if (cublasCreate(&handle))
		fprintf(stderr, "no handle\n");
	while (threads--)
		pthread_create(&t, NULL, never_stops, NULL);
	return 0;
}
