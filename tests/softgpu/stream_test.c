// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that streams are in order and have an identity, events measure time,
 * and host functions run in order and without a lock of the library; and that a primary
 * context does not end under a green one. It needs no hardware.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "tap.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static bool agree(CUevent a, CUevent b, CUstream s)
{
	double t0, t1;
	float ms = -1;

	t0 = now_ms();
	cuEventRecord(a, s);
	while (now_ms() - t0 < 50)
		;
	cuEventRecord(b, s);
	t1 = now_ms();
	cuEventElapsedTime_v2(&ms, a, b);
	diag("50 ms spin: events say %.3f, the clock %.3f", ms, t1 - t0);
	return fabs(ms - (t1 - t0)) < 0.02 * (t1 - t0);
}

/* The best of some counts: this thread may lose its CPU between the clock and a record. */
static void elapsed(CUstream s)
{
	bool good = false;
	CUevent a, b;
	int i;

	cuEventCreate(&a, 0);
	cuEventCreate(&b, 0);
	for (i = 0; i < 5 && !good; i++)
		good = agree(a, b, s);
	ok(good, "elapsed_time_is_that_of_the_clock_within_2_percent");
	cuEventDestroy_v2(a);
	cuEventDestroy_v2(b);
}

static unsigned long long stream_id(int twin)
{
	unsigned long long id = 0;

	if (twin)
		cuStreamGetId_ptsz(NULL, &id);
	else
		cuStreamGetId(NULL, &id);
	return id;
}

static void *id_of_thread(void *ctx)
{
	static unsigned long long id;

	cuCtxSetCurrent(ctx);
	id = stream_id(1);
	return &id;
}

static void identity(CUcontext ctx, CUstream s)
{
	unsigned long long mine = stream_id(1), id = 0;
	pthread_t t;
	void *other;

	ok(mine && mine != stream_id(0),
	   "twins_use_the_per_thread_stream");
	cuStreamGetId(CU_STREAM_PER_THREAD, &id);
	ok_eq(id, mine, "which_is_the_one_of_its_handle");
	pthread_create(&t, NULL, id_of_thread, ctx);
	pthread_join(t, &other);
	ok(*(unsigned long long *)other != mine,
	   "each_thread_has_one_of_its_own");
	cuStreamGetId(s, &id);
	ok(id != mine && id != stream_id(0), "made_streams_are_others");
}

static int trace[4], traced;

static void first(void *arg)
{
	trace[traced++] = *(int *)arg;
}

static void second(CUstream s, CUresult status, void *arg)
{
	(void)s;
	trace[traced++] = *(int *)arg + 10 * status;
}

static void order(CUstream s)
{
	int one = 1, two = 2, three = 3;

	cuLaunchHostFunc(s, first, &one);
	cuStreamAddCallback(s, second, &two, 0);
	cuLaunchHostFunc(s, first, &three);
	cuStreamSynchronize(s);
	ok(traced == 3 && trace[0] == 1 && trace[1] == 2 && trace[2] == 3,
	   "host_functions_run_in_order");
}

static void *alloc_in_thread(void *ctx)
{
	CUdeviceptr p;

	cuCtxSetCurrent(ctx);
	if (cuMemAlloc_v2(&p, 100))
		return NULL;
	cuMemFree_v2(p);
	return ctx;
}

/* Waits for a thread that needs the library. */
static void waits(void *arg)
{
	void *result = NULL;
	pthread_t t;

	pthread_create(&t, NULL, alloc_in_thread, *(void **)arg);
	pthread_join(t, &result);
	*(void **)arg = result;
}

static void unlocked(CUcontext ctx)
{
	void *arg = ctx;

	cuLaunchHostFunc(NULL, waits, &arg);
	cuStreamSynchronize(NULL);
	ok(arg == ctx, "other_threads_may_call_during_a_host_function");
}

static void capture_mode(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	cuThreadExchangeStreamCaptureMode(&mode);
	ok_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL,
	      "the_capture_mode_starts_as_global");
	cuThreadExchangeStreamCaptureMode(&mode);
	ok_eq(mode, CU_STREAM_CAPTURE_MODE_RELAXED,
	      "the_capture_mode_is_exchanged");
}

/* As NVIDIA's driver 580.159 answers. */
static void green(void)
{
	CUdevResource all, part;
	CUdevResourceDesc desc;
	unsigned int n = 1;
	CUgreenCtx g;

	cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);
	cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 8);
	cuDevResourceGenerateDesc(&desc, &part, 1);
	ok_eq(cuGreenCtxCreate(&g, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS,
	      "a_green_context_is_made");
	ok_eq(cuDevicePrimaryCtxReset(0), CUDA_ERROR_NOT_PERMITTED,
	      "the_primary_one_below_is_not_reset");
	ok(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS &&
	   cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_NOT_PERMITTED,
	   "the_last_release_of_it_is_the_green_ones");
	ok(cuGreenCtxDestroy(g) == CUDA_SUCCESS && cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS,
	   "afterwards_it_is");
}

int main(void)
{
	CUcontext ctx;
	CUstream s;

	tap_plan(13);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&s, 0);
	elapsed(s);
	identity(ctx, s);
	order(s);
	unlocked(ctx);
	capture_mode();
	green();
	return tap_exit();
}
