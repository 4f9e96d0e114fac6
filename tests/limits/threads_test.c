// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the limits under calls of many threads at once. Together they never
 * have more than the quota, whatever each asks for in the same moment. A share of time
 * may come and go while they launch.
 */
#define _GNU_SOURCE
#include "tenancy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define THREADS	8
#define BLOCK	(4 * MIB)
#define QUOTA	(64 * MIB)
#define ROUNDS	30

static struct shared {
	uint64_t most, least, left;
	int errors;
} *shared;

static CUcontext ctx;
static pthread_barrier_t round_;
static _Atomic uint64_t granted;
static atomic_int errors;

static void most(uint64_t now)
{
	uint64_t seen = __atomic_load_n(&shared->most, __ATOMIC_RELAXED);

	while (now > seen && !__atomic_compare_exchange_n(&shared->most, &seen, now, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* All threads begin at once and take until there is nothing left. */
static void *takes(void *arg)
{
	CUdeviceptr mine[QUOTA / BLOCK];
	unsigned int n, i;
	CUresult res;

	(void)arg;
	cuCtxSetCurrent(ctx);
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&round_);
		for (n = 0; n < QUOTA / BLOCK; n++) {
			res = cuMemAlloc(&mine[n], BLOCK);
			if (res)
				break;
			most(granted += BLOCK);
		}
		errors += n < QUOTA / BLOCK && res != CUDA_ERROR_OUT_OF_MEMORY;
		pthread_barrier_wait(&round_);
		if (granted < shared->least)
			shared->least = granted;
		pthread_barrier_wait(&round_);
		while (n--) {
			granted -= BLOCK;
			errors += cuMemFree(mine[n]) != CUDA_SUCCESS;
		}
	}
	return NULL;
}

/* Launches work for a stream of each thread, while the parent changes the share. */
static void *works(void *arg)
{
	CUstream stream;
	CUdeviceptr p;
	unsigned int i;

	(void)arg;
	cuCtxSetCurrent(ctx);
	errors += cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&p, 4096);
	for (i = 0; i < 2000; i++) {
		errors += cuMemsetD8Async(p, 1, 4096, stream) != CUDA_SUCCESS;
		if (i % 50 == 0)
			errors += cuStreamSynchronize(stream) != CUDA_SUCCESS;
	}
	errors += cuMemFree(p) != CUDA_SUCCESS;
	return NULL;
}

static void run_threads(void *(*f)(void *))
{
	pthread_t t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, f, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Runs threads in a child. Returns 0 if it came to its end. */
static int in_child(void *(*f)(void *), bool changes)
{
	int status = 0, percent = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(60);
		pthread_barrier_init(&round_, NULL, THREADS);
		if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
			_exit(1);
		run_threads(f);
		shared->errors = errors;
		shared->left = granted;
		_exit(0);
	}
	while (waitpid(pid, &status, changes ? WNOHANG : 0) != pid) {
		struct wh_device_limit l = { .sm_percent = percent ^= 50,
					     .sm_policy = WH_SM_TEMPORAL };

		wh_tenant_limits_set(limits, 0, &l);
		usleep(2000);
	}
	return status;
}

int main(int argc, char **argv)
{
	(void)argc;
	make_tenant(argv[0], "softgpu/libcuda.so.1");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(5);
	set_memory(QUOTA);
	shared->least = UINT64_MAX;
	ok_eq(in_child(takes, false), 0, "threads_that_allocate_at_once_come_to_an_end");
	ok(shared->most <= QUOTA && shared->most > 0, "together_they_never_have_more_than_the_quota");
	ok(!shared->errors, "and_get_no_other_error_than_for_that");
	ok(!shared->left && shared->least + 2 * BLOCK > shared->most,
	   "what_they_give_back_can_be_had_again");
	printf("# at most %llu MiB, at least %llu MiB\n", (unsigned long long)(shared->most / MIB),
	       (unsigned long long)(shared->least / MIB));
	set_memory(0);
	ok(!in_child(works, true) && !shared->errors, "share_that_comes_and_goes_disturbs_no_thread");
	remove_tenant();
	return tap_exit();
}
