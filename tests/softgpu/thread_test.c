// SPDX-License-Identifier: Apache-2.0
/*
 * Promise: several threads may use the library at once; each has its own stack
 * of contexts. Needs no hardware.
 */
#include <cuda.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define THREADS	4
#define ROUNDS	20000

static CUcontext shared;
static pthread_barrier_t start;

/* Everything that a loop of a program does, in private memory. */
static void *work(void *arg)
{
	static __thread unsigned char in[4096], out[4096];
	long me = (long)arg, wrong = 0;
	CUdeviceptr p, q;
	CUstream s;
	CUevent e;

	cuCtxSetCurrent(shared);
	cuStreamCreate(&s, 0);
	pthread_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++) {
		size_t n = 1 + (i * 37 + me * 11) % sizeof(in);

		memset(in, i + me, n);
		wrong += cuMemAlloc(&p, n) != CUDA_SUCCESS;
		wrong += cuMemAlloc(&q, n) != CUDA_SUCCESS;
		wrong += cuMemcpyHtoDAsync(p, in, n, s) != CUDA_SUCCESS;
		wrong += cuMemcpyDtoDAsync(q, p, n, s) != CUDA_SUCCESS;
		wrong += cuMemcpyDtoHAsync(out, q, n, s) != CUDA_SUCCESS;
		wrong += cuEventCreate(&e, 0) != CUDA_SUCCESS;
		wrong += cuEventRecord(e, s) != CUDA_SUCCESS;
		wrong += cuStreamSynchronize(s) != CUDA_SUCCESS;
		wrong += memcmp(in, out, n) != 0;
		wrong += cuEventDestroy(e) != CUDA_SUCCESS;
		wrong += cuMemFree(p) != CUDA_SUCCESS;
		wrong += cuMemFree(q) != CUDA_SUCCESS;
	}
	cuStreamDestroy(s);
	return (void *)wrong;
}

static void all_at_once(void)
{
	pthread_t t[THREADS];
	long wrong = 0;
	size_t before, after;
	void *result;

	pthread_barrier_init(&start, NULL, THREADS);
	cuMemGetInfo(&before, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &result);
		wrong += (long)result;
	}
	cuMemGetInfo(&after, NULL);
	ok_eq(wrong, 0, "threads_do_not_disturb_each_other");
	ok(before == after, "and_leave_nothing_behind");
}

static void *own_stack(void *arg)
{
	CUcontext now = (CUcontext)1, mine;
	int right;

	cuCtxGetCurrent(&now);
	right = !now;
	right &= cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT;
	for (int i = 0; i < 100; i++)
		right &= !cuCtxPushCurrent(arg);
	for (int i = 0; i < 99; i++)
		right &= !cuCtxPopCurrent(NULL);
	cuCtxGetCurrent(&now);
	right &= now == arg;
	right &= !cuCtxCreate(&mine, NULL, 0, 0);
	return right ? mine : NULL;
}

static void stacks(void)
{
	CUcontext now, theirs;
	pthread_t t;
	void *result;

	pthread_create(&t, NULL, own_stack, shared);
	pthread_join(t, &result);
	theirs = result;
	ok(theirs != NULL, "each_thread_has_a_deep_stack_of_its_own");
	cuCtxGetCurrent(&now);
	ok(now == shared, "that_of_others_stays_as_it_is");
	ok_eq(cuCtxPushCurrent(theirs), CUDA_SUCCESS,
	      "a_context_of_an_ended_thread_lives_on");
	ok_eq(cuCtxDestroy(theirs), CUDA_SUCCESS, "and_can_be_destroyed");
}

int main(void)
{
	tap_plan(6);
	alarm(60);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&shared, 0);
	cuCtxSetCurrent(shared);
	all_at_once();
	stacks();
	return tap_exit();
}
