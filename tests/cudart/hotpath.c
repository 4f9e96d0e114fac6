// SPDX-License-Identifier: Apache-2.0
// The test promises what a launch costs on its path from <<<>>> to the driver, over
// fake_driver.c, and what it passes on. It registers a kernel as nvcc's start-up code does.
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include "../tap.h"

#define ROUNDS 10000

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, void *tid, void *bid, void *bdim, void *gdim, int *wsize);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t s);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				    size_t shared, cudaStream_t stream);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);

static atomic_long allocations;
static const char host_function[16], image[16];

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

static unsigned long *counter(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);
}

/* Does what the compiler makes of kernel<<<1, 32, 0, stream>>>(). */
static cudaError_t launch(cudaStream_t stream)
{
	static cudaKernel_t kernel;
	dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };
	size_t shared = 0;

	if (__cudaPushCallConfiguration(grid, block, 0, stream))
		return cudaErrorUnknown;
	if (!kernel && __cudaGetKernel(&kernel, host_function))
		return cudaErrorUnknown;
	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream))
		return cudaErrorUnknown;
	return __cudaLaunchKernel(kernel, grid, block, NULL, shared, stream);
}

static void register_kernel(void)
{
	void **handle = __cudaRegisterFatBinary((void *)image);

	__cudaRegisterFunction(handle, host_function, NULL, "kernel", -1, NULL, NULL, NULL, NULL,
			       NULL);
	__cudaRegisterFatBinaryEnd(handle);
}

/* Launches in a child that the kernel kills at any system call but exit. */
static int without_syscalls(void)
{
	pid_t pid = fork();
	int i, status;

	if (!pid) {
		if (launch(NULL) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(2);
		for (i = 0; i < ROUNDS; i++)
			if (launch(NULL) || cudaPeekAtLastError())
				syscall(SYS_exit, 3);
		syscall(SYS_exit, 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_cost(void)
{
	long before;
	int i, good = 1;

	ok(without_syscalls(), "ten_thousand_launches_make_no_system_call");
	good &= launch(NULL) == cudaSuccess;
	before = allocations;
	for (i = 0; i < ROUNDS; i++)
		good &= launch(NULL) == cudaSuccess;
	ok(good, "ten_thousand_launches_succeed");
	ok_eq(allocations - before, 0, "launches_allocate_nothing");
	ok_eq((long)*counter("fake_launches"), ROUNDS + 1, "each_launch_is_one_driver_call");
	ok_eq((long)*counter("fake_retains"), 1, "the_primary_context_is_retained_once");
}

static void test_passing_on(void)
{
	unsigned long *stream = counter("fake_last_stream");
	dim3 one = { 1, 1, 1 };
	cudaKernel_t kernel;
	void *p;

	launch((cudaStream_t)0x77);
	ok_eq((long)*stream, 0x77, "a_stream_is_passed_on");
	__cudaGetKernel(&kernel, host_function);
	__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, NULL);
	ok_eq((long)*stream, 2, "the_ptsz_form_turns_stream_0_into_the_threads_own");
	__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, (cudaStream_t)0x77);
	ok_eq((long)*stream, 0x77, "the_ptsz_form_keeps_other_streams");
	*(int *)counter("fake_lose_context") = 1;
	ok_eq(launch(NULL), cudaSuccess, "a_context_taken_away_during_a_call_is_bound_again");
	ok_eq(cudaMalloc(&p, 64), cudaErrorNotSupported,
	      "a_function_that_the_driver_lacks_is_not_supported");
	ok_eq(cudaGetLastError(), cudaErrorNotSupported, "and_that_is_the_last_error");
}

static void test_stack(void)
{
	dim3 one = { 1, 1, 1 };
	cudaStream_t s;
	size_t shared;
	int depth = 0;

	ok_eq(__cudaPopCallConfiguration(&one, &one, &shared, &s), cudaErrorMissingConfiguration,
	      "a_launch_without_configuration_is_an_error");
	while (depth < 100 && !__cudaPushCallConfiguration(one, one, depth, NULL))
		depth++;
	ok_eq(depth, 8, "configurations_nest_eight_deep");
	while (depth && !__cudaPopCallConfiguration(&one, &one, &shared, &s) &&
	       shared == (size_t)depth - 1)
		depth--;
	ok_eq(depth, 0, "configurations_come_back_in_reverse_order");
}

/*
 * CUB takes whatever cudaGetLastError() returns for the failure of its own call, so "not
 * ready" must not stay there.
 */
static void test_not_ready(void)
{
	cudaEvent_t e = (cudaEvent_t)0x88;

	cudaGetLastError();
	ok(cudaEventQuery(e) == cudaErrorNotReady && cudaGetLastError() == cudaSuccess,
	   "an_event_that_is_not_ready_is_no_last_error");
	ok(cudaStreamQuery(NULL) == cudaErrorNotReady && cudaGetLastError() == cudaSuccess,
	   "a_stream_that_is_not_ready_is_no_last_error");
	cudaEventQuery(NULL);
	ok(cudaEventQuery(e) == cudaErrorNotReady &&
	   cudaGetLastError() == cudaErrorInvalidResourceHandle,
	   "what_is_not_ready_leaves_the_error_before_it");
}

int main(void)
{
	tap_plan(17);
	register_kernel();
	test_cost();
	test_passing_on();
	test_stack();
	test_not_ready();
	return tap_exit();
}
