// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that several threads may use the library at once, and that each has
 * its own stack of contexts. A number in the environment says how many threads share a
 * launch. It needs no hardware.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define THREADS	4
#define ROUNDS	20000

/* More than the stack of a thread of the library's own. */
static __thread volatile unsigned char much[200 * 1024];

static CUcontext shared;
static pthread_barrier_t start;

/* Does everything that a loop of a program does, in private memory. */
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

/* Returns what cuInit() returns where the variable has @value, and what it said. */
static int init_with(const char *value, char said[256])
{
	int fd[2], status = -1;
	FILE *f;

	if (pipe(fd))
		return -1;
	fflush(stdout);
	if (!fork()) {
		dup2(fd[1], STDERR_FILENO);
		setenv("WORMHOLE_SOFTGPU_THREADS", value, 1);
		_exit(cuInit(0));
	}
	close(fd[1]);
	f = fdopen(fd[0], "r");
	said[f ? fread(said, 1, 255, f) : 0] = 0;
	if (f)
		fclose(f);
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void numbers(void)
{
	static const char *const wrong[] = { "0", "-1", "+4", " 4", "65", "4x", "many",
					     "18446744073709551617" };
	const char *taken = "";
	char said[256];
	size_t i;

	ok(!init_with("64", said) && !*said, "up_to_64_threads_share_a_launch");
	ok(!init_with("", said) && !*said, "without_a_number_there_are_as_many_as_cpus");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (init_with(wrong[i], said) != CUDA_ERROR_INVALID_VALUE)
			taken = wrong[i];
	ok(!*taken, "what_is_no_number_of_threads_is_refused");
	init_with("4x", said);
	ok(!strcmp(said, "softgpu: WORMHOLE_SOFTGPU_THREADS=4x is not a number of threads from 1 to 64\n"),
	   "and_named");
}

int main(void)
{
	tap_plan(11);
	alarm(60);
	numbers();
	ok(!cuInit(0) && !much[sizeof(much) - 1], "program_with_much_thread_local_data_begins");
	cuDevicePrimaryCtxRetain(&shared, 0);
	cuCtxSetCurrent(shared);
	all_at_once();
	stacks();
	return tap_exit();
}
