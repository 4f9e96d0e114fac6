// SPDX-License-Identifier: Apache-2.0
/*
 * An ordinary program that tries to exceed its quota of device memory: it ends a context
 * or a pool while memory of that context or pool lives. The memory that it then holds is
 * at most its quota.
 */
#include <cuda.h>
#include <stdio.h>

#include "tap.h"

#define CHUNK	(16ul << 20)
#define MOST	64

static size_t room;	/* of the quota, beside a context */

static CUresult current(void)
{
	CUcontext ctx;
	CUresult res = cuDevicePrimaryCtxRetain(&ctx, 0);

	return res ? res : cuCtxSetCurrent(ctx);
}

/* Allocates all memory that there is, gives it back, and returns its size. */
static size_t fill(void)
{
	CUdeviceptr p[MOST];
	size_t n = 0, i;

	while (n < MOST && cuMemAlloc(&p[n], CHUNK) == CUDA_SUCCESS)
		n++;
	for (i = 0; i < n; i++)
		cuMemFree(p[i]);
	return n * CHUNK;
}

static void after_reset(void)
{
	size_t got;

	cuDevicePrimaryCtxReset(0);
	/* A call in the dead context: the client may remember the error or not. */
	cuCtxSynchronize();
	got = current() ? 0 : fill();
	ok(got && got <= room, "memory_after_a_reset_is_within_the_quota");
}

static void after_release(void)
{
	size_t got;

	while (cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS)
		;
	cuCtxSynchronize();
	got = current() ? 0 : fill();
	ok(got && got <= room, "memory_after_release_and_retain_is_within_the_quota");
}

static CUresult make_pool(CUmemoryPool *pool)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };

	return cuMemPoolCreate(pool, &props);
}

static CUresult from_pool(CUdeviceptr *p)
{
	CUmemoryPool pool;
	CUresult res = make_pool(&pool);

	if (res == CUDA_SUCCESS)
		res = cuMemAllocFromPoolAsync(p, CHUNK, pool, NULL);
	return res ? res : cuMemPoolDestroy(pool);
}

static void destroyed_pools(void)
{
	CUdeviceptr p[MOST];
	size_t n = 0, i;

	while (n < MOST && from_pool(&p[n]) == CUDA_SUCCESS)
		n++;
	ok(n && n * CHUNK <= room, "what_lives_of_destroyed_pools_is_within_the_quota");
	for (i = 0; i < n; i++)
		cuMemFree(p[i]);
	ok(fill() == room / CHUNK * CHUNK, "what_was_freed_of_them_is_given_back");
}

static void pool_of_a_dead_context(void)
{
	CUmemoryPool pool = NULL;
	CUdeviceptr p = 0;
	CUcontext own, other;

	cuCtxGetCurrent(&own);
	if (!cuCtxCreate(&other, NULL, 0, 0)) {
		make_pool(&pool);
		cuCtxDestroy(other);
	}
	cuCtxSetCurrent(own);
	ok(cuMemAllocFromPoolAsync(&p, CHUNK, pool, NULL) == CUDA_SUCCESS &&
	   cuMemFree(p) == CUDA_SUCCESS && cuMemPoolDestroy(pool) == CUDA_SUCCESS,
	   "a_pool_is_a_devices_and_outlives_the_context_that_was_current");
}

int main(void)
{
	size_t quota;

	tap_plan(5);
	if (cuInit(0) || current() || cuMemGetInfo(&room, &quota)) {
		printf("Bail out! no device\n");
		return 1;
	}
	after_reset();
	after_release();
	destroyed_pools();
	pool_of_a_dead_context();
	return tap_exit();
}
