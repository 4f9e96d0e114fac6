// SPDX-License-Identifier: Apache-2.0
// The test promises that programs may use the driver API beside the runtime. It asks for the
// driver's functions at run time, so nothing but the runtime is linked.
#include <cuda.h>
#include <pthread.h>
#include "common.h"

__global__ void store(int *x, int v)
{
	*x = v;
}

static decltype(&cuCtxGetCurrent) get_current;
static decltype(&cuCtxSetCurrent) set_current;
static decltype(&cuCtxCreate) create;
static decltype(&cuCtxDestroy) destroy;
static decltype(&cuMemAlloc) mem_alloc;
static decltype(&cuMemFree) mem_free;

template <typename F>
static void get(F &func, const char *name)
{
	cudaDriverEntryPointQueryResult status;

	NEED(cudaGetDriverEntryPointByVersion(name, (void **)&func, 13000, cudaEnableDefault,
	     &status));
	if (status != cudaDriverEntryPointSuccess)
		NEED(cudaErrorSymbolNotFound);
}

static int run_kernel(void)
{
	int *dev, got = 0;

	NEED(cudaMalloc(&dev, sizeof(int)));
	store<<<1, 1>>>(dev, 17);
	NEED(cudaGetLastError());
	NEED(cudaMemcpy(&got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	NEED(cudaFree(dev));
	return got;
}

static void test_lost_context(void)
{
	CUcontext before = NULL, after = NULL;
	void *p;

	NEED(cudaFree(0));
	get_current(&before);
	set_current(NULL);
	ok_err(cudaMalloc(&p, 64), cudaSuccess, "a_call_works_after_the_context_was_taken_away");
	get_current(&after);
	ok(before && before == after, "the_primary_context_is_current_again");
	NEED(cudaFree(p));
}

static void test_own_context(void)
{
	CUcontext own = NULL, now = NULL;
	int dev = -1;

	if (create(&own, NULL, 0, 0) != CUDA_SUCCESS)
		NEED(cudaErrorUnknown);
	ok_eq(run_kernel(), 17, "the_runtime_works_in_a_context_of_the_program");
	get_current(&now);
	ok(now == own, "the_programs_context_stays_current");
	ok_err(cudaGetDevice(&dev), cudaSuccess, "the_device_of_that_context_is_known");
	ok_err(cudaSetDevice(0), cudaSuccess, "choosing_a_device_leaves_that_context");
	get_current(&now);
	ok(now != own && run_kernel() == 17, "the_same_kernel_runs_in_the_primary_context");
	destroy(own);
}

static void *first_call_in_thread(void *result)
{
	CUcontext own = NULL, now = NULL;
	void *p;

	if (create(&own, NULL, 0, 0) == CUDA_SUCCESS && cudaMalloc(&p, 64) == cudaSuccess) {
		get_current(&now);
		*(int *)result = now == own;
		cudaFree(p);
	}
	destroy(own);
	return NULL;
}

static void test_thread(void)
{
	pthread_t thread;
	int kept = 0;

	pthread_create(&thread, NULL, first_call_in_thread, &kept);
	pthread_join(thread, NULL);
	ok(kept, "a_threads_first_call_keeps_the_context_that_it_made");
}

static void test_memory(void)
{
	CUdeviceptr from_driver = 0;
	int *from_runtime, got = 0;

	NEED(cudaFree(0));
	mem_alloc(&from_driver, 64);
	NEED(cudaMalloc(&from_runtime, 64));
	store<<<1, 1>>>((int *)from_driver, 5);
	NEED(cudaMemcpy(from_runtime, (void *)from_driver, sizeof(int),
	     cudaMemcpyDeviceToDevice));
	NEED(cudaMemcpy(&got, from_runtime, sizeof(int), cudaMemcpyDeviceToHost));
	ok_eq(got, 5, "memory_of_both_interfaces_mixes");
	ok_err(cudaFree((void *)from_driver), cudaSuccess,
	       "the_runtime_frees_what_the_driver_allocated");
	ok_eq(mem_free((CUdeviceptr)from_runtime), CUDA_SUCCESS,
	      "the_driver_frees_what_the_runtime_allocated");
}

int main()
{
	tap_plan(11);
	get(get_current, "cuCtxGetCurrent");
	get(set_current, "cuCtxSetCurrent");
	get(create, "cuCtxCreate");
	get(destroy, "cuCtxDestroy");
	get(mem_alloc, "cuMemAlloc");
	get(mem_free, "cuMemFree");
	test_lost_context();
	test_own_context();
	test_thread();
	test_memory();
	return tap_exit();
}
