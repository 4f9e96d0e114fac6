// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the limits of a device to which a program's calls go while the context
 * of another device is current: by a stream of it. The driver allows that. It runs over the
 * mock driver with two devices.
 */
#define _GNU_SOURCE
#include "tenancy.h"

#define CHUNK	(100 * MIB)
#define MOST	60
#define LAUNCHES 10

static struct result {
	int error;		/* of what has to succeed */
	uint64_t got;
	CUresult last;
} *result;

/* Makes a stream of the second device, and the context of the first one current. */
static int prepare(CUstream *stream, CUcontext second[1])
{
	CUcontext first;

	return cuInit(0) || cuDevicePrimaryCtxRetain(&first, 0) ||
	       cuDevicePrimaryCtxRetain(second, 1) || cuCtxSetCurrent(*second) ||
	       cuStreamCreate(stream, CU_STREAM_NON_BLOCKING) || cuCtxSetCurrent(first);
}

static void allocate(void)
{
	CUcontext second;
	CUdeviceptr p;
	CUstream s;

	result->error = prepare(&s, &second);
	while (result->got < MOST * CHUNK && !(result->last = cuMemAllocAsync(&p, CHUNK, s)))
		result->got += CHUNK;
}

static void launch(void)
{
	CUcontext second;
	CUfunction f;
	CUmodule m;
	CUstream s;
	int i;

	result->error = prepare(&s, &second) || cuCtxPushCurrent(second) ||
			cuModuleLoadData(&m, ".version 7.0\n") || cuModuleGetFunction(&f, m, "f") ||
			cuCtxPopCurrent(&second);
	for (i = 0; i < LAUNCHES && !result->error; i++)
		result->error = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
	result->got = usage->worker[0].device[1].launches;
}

static void in_child(void (*f)(void))
{
	pid_t pid;

	memset(result, 0, sizeof(*result));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		f();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct wh_device_limit quota = { .memory = 2048 * MIB };
	struct wh_device_limit share = { .sm_percent = 10, .sm_policy = WH_SM_TEMPORAL };

	(void)argc;
	make_tenant(argv[0], "tests/limits/bin/mock/libcuda.so.1");
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	tap_plan(4);
	fresh();
	gpu->devices = 2;
	wh_tenant_limits_set(limits, 1, &quota);
	in_child(allocate);
	ok(!result->error && result->got, "a_stream_of_another_device_gives_memory_of_it");
	if (!ok(result->last == CUDA_ERROR_OUT_OF_MEMORY && result->got <= quota.memory,
		"no_more_than_the_quota_of_that_device"))
		diag("got %llu MiB, then %d", (unsigned long long)(result->got / MIB), result->last);
	fresh();
	wh_tenant_limits_set(limits, 1, &share);
	in_child(launch);
	ok_eq(result->error, 0, "kernels_are_launched_into_it");
	ok_eq((long long)result->got, LAUNCHES, "they_are_launches_of_the_device_that_has_the_share");
	remove_tenant();
	return tap_exit();
}
