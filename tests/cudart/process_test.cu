// SPDX-License-Identifier: Apache-2.0
// The test promises that CUDA works with threads, forks and the end of the process. It needs nvcc
// and any CUDA device.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"

__global__ void inc(int *x)
{
	atomicAdd(x, 1);
}

#define THREADS 4
#define ROUNDS 25

static int *dev;
static pthread_barrier_t barrier;

static void *worker(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++)
		inc<<<1, 32>>>(dev);
	*(cudaError_t *)arg = cudaStreamSynchronize(0);
	return NULL;
}

static void test_threads(void)
{
	cudaError_t result[THREADS];
	pthread_t thread[THREADS];
	int value = 0, good = 1;

	pthread_barrier_init(&barrier, NULL, THREADS);
	NEED(cudaMemset(dev, 0, sizeof(int)));
	NEED(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, &result[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		good &= result[i] == cudaSuccess;
	}
	NEED(cudaDeviceSynchronize());
	NEED(cudaMemcpy(&value, dev, sizeof(value), cudaMemcpyDeviceToHost));
	ok(good, "threads_work_on_one_device_without_choosing_it");
	ok_eq(value, THREADS * ROUNDS * 32, "launches_of_several_threads_all_run");
}

static void *spoil(void *arg)
{
	cudaSetDevice(12345);
	*(cudaError_t *)arg = cudaPeekAtLastError();
	return NULL;
}

static void test_last_error(void)
{
	cudaError_t there = cudaSuccess;
	pthread_t thread;

	clear_error();
	pthread_create(&thread, NULL, spoil, &there);
	pthread_join(thread, NULL);
	ok_err(there, cudaErrorInvalidDevice, "a_thread_sees_its_own_error");
	ok_err(cudaPeekAtLastError(), cudaSuccess, "a_thread_does_not_see_another_ones_error");
}

/* Returns what the child's calls return, or -1 when it died. */
static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(body());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int child_malloc(void)
{
	void *p;

	return cudaMalloc(&p, 64);
}

static int child_launch(void)
{
	inc<<<1, 1>>>(dev);	/* memory of the parent */
	cudaError_t err = cudaGetLastError();
	return err ? err : cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 99 : 1;
}

/* NVIDIA's driver refuses a process whose parent has forked after cuInit; ours does not. */
static bool forwarded()
{
	return getenv("WORMHOLE_TRANSPORT");
}

__device__ int counter = 5;
__managed__ int shared = 30;

__global__ void count()
{
	counter++;
	shared++;
}

/* Checks that all that the runtime registered for the program is there in the child as well. */
static int child_computes(void)
{
	int n = 0, *p, one = 1;

	if (cudaMalloc(&p, sizeof(*p)) || cudaMemcpy(p, &one, sizeof(one), cudaMemcpyHostToDevice))
		return 1;
	shared += 100;
	inc<<<1, 32>>>(p);
	count<<<1, 1>>>();
	if (cudaDeviceSynchronize() || shared != 131)
		return 2;
	if (cudaMemcpyFromSymbol(&n, counter, sizeof(n)) || n != 6)
		return 3;
	if (cudaMemcpy(&n, p, sizeof(n), cudaMemcpyDeviceToHost) || n != 33)
		return 4;
	return 0;
}

static void test_children()
{
	count<<<1, 1>>>();
	NEED(cudaDeviceSynchronize());
	if (forwarded())
		ok_eq(in_child(child_computes), 0, "a_forked_child_computes");
	else
		ok_eq(in_child(child_computes), 1, "a_forked_child_cannot_compute");
	count<<<1, 1>>>();
	NEED(cudaDeviceSynchronize());
	ok_eq(shared, 32, "its_parent_notices_nothing");
}

static bool is_child;

static int child_exit(void)
{
	is_child = true;
	exit(0);
}

static int child_count(void)
{
	int n = -1;

	return cudaGetDeviceCount(&n) == cudaSuccess && n > 0 ? 0 : 1;
}

static void at_end(void)
{
	void *p = NULL;
	cudaError_t err = cudaMalloc(&p, 64);

	if (is_child)
		return;
	ok(err == cudaSuccess || err == cudaErrorCudartUnloading,
	   "an_exit_handler_may_still_call");
	err = cudaFree(p);
	ok(err == cudaSuccess || err == cudaErrorCudartUnloading,
	   "an_exit_handler_may_still_free");
	fflush(stdout);
	if (tap_failed || tap_run != tap_planned)
		_exit(1);
}

int main()
{
	tap_plan(12);
	ok_eq(in_child(child_count), 0, "a_child_forked_before_the_first_call_may_use_cuda");
	atexit(at_end);
	NEED(cudaMalloc(&dev, 64));
	test_threads();
	test_last_error();
	ok_eq(in_child(child_malloc), forwarded() ? 0 : cudaErrorInitializationError,
	      "a_forked_child_allocates_where_the_driver_lets_it");
	ok_eq(in_child(child_launch), forwarded() ? 99 : cudaErrorInitializationError,
	      "and_cannot_reach_its_parents_memory");
	test_children();
	ok_eq(in_child(child_exit), 0, "a_forked_child_exits_cleanly");
	return 0; /* at_end() has the last word */
}
