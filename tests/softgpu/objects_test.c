// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that no value that a caller passes as a handle crashes the library or
 * reaches an object that it does not name. It needs no hardware.
 */
#include <cuda.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry k()\n{ ret; }\n";

/* Makes all calls that take a handle with an invalid one. Returns 1 when all refuse. */
static int all_refuse(void *h)
{
	unsigned int n;
	const char *name;
	CUfunction f;
	CUkernel k;
	CUdeviceptr p;
	CUdevice dev;
	size_t size;
	float ms;
	int v;

	return cuStreamSynchronize(h) && cuStreamQuery(h) &&
	       cuStreamDestroy(h) && cuStreamGetFlags(h, &n) &&
	       cuMemcpyHtoDAsync(512, &v, 4, h) && cuMemFreeAsync(0, h) &&
	       cuEventSynchronize(h) && cuEventQuery(h) && cuEventDestroy(h) &&
	       cuEventRecord(h, NULL) && cuStreamWaitEvent(NULL, h, 0) &&
	       cuEventElapsedTime(&ms, h, h) && cuModuleUnload(h) &&
	       cuModuleGetFunction(&f, h, "k") &&
	       cuModuleGetGlobal(&p, &size, h, "g") &&
	       cuModuleGetFunctionCount(&n, h) && cuLibraryUnload(h) &&
	       cuLibraryGetKernel(&k, h, "k") &&
	       cuLibraryGetKernelCount(&n, h) && cuKernelGetName(&name, h) &&
	       cuKernelGetFunction(&f, h) && cuFuncGetName(&name, h) &&
	       cuFuncGetAttribute(&v, 0, h) &&
	       cuLaunchKernel(h, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) &&
	       cuCtxPushCurrent(h) && cuCtxDestroy(h) &&
	       cuCtxGetDevice_v2(&dev, h) && cuMemPoolDestroy(h) &&
	       cuMemPoolTrimTo(h, 0);
}

static void bit_patterns(CUstream s, CUevent e)
{
	static const uintptr_t odd[] = {
		8, 16, 4096, 0x7fffffffffff, 0x8000000000000000, UINTPTR_MAX,
		UINTPTR_MAX - 7, 0x4141414141414141,
	};
	int right = 1, local;

	for (unsigned int i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		right &= all_refuse((void *)odd[i]);
	ok(right, "numbers_are_no_handles");
	ok(all_refuse(&local), "pointers_of_the_caller_are_no_handles");
	right = 1;
	for (int i = 1; i < 64; i++)
		right &= all_refuse((char *)s + i) && all_refuse((char *)e + i);
	ok(right, "the_inside_of_an_object_is_no_handle");
	ok_eq(cuStreamSynchronize(s), CUDA_SUCCESS, "real_handles_still_work");
}

static void wrong_types(CUstream s, CUevent e, CUcontext ctx)
{
	ok(cuEventSynchronize((CUevent)s) && cuEventDestroy((CUevent)s) &&
	   cuModuleUnload((CUmodule)s), "a_stream_is_no_event_and_no_module");
	ok(cuStreamSynchronize((CUstream)e) && cuStreamDestroy((CUstream)e),
	   "an_event_is_no_stream");
	ok(cuStreamDestroy((CUstream)ctx) && cuEventDestroy((CUevent)ctx),
	   "a_context_is_neither");
}

static void stale(void)
{
	CUstream first, s;
	CUmodule mod;
	CUfunction f;
	CUevent e;
	int reused = 0;

	cuStreamCreate(&first, 0);
	cuStreamDestroy(first);
	for (int i = 0; i < 16; i++) {
		cuStreamCreate(&s, 0);
		reused |= s == first;
		cuStreamDestroy(s);
	}
	ok(!reused, "a_handle_is_not_given_out_again_at_once");
	ok_eq(cuStreamSynchronize(first), CUDA_ERROR_INVALID_HANDLE,
	      "a_destroyed_stream_is_refused");
	cuEventCreate(&e, 0);
	cuEventDestroy(e);
	ok_eq(cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE,
	      "a_destroyed_event_is_refused");
	cuModuleLoadData(&mod, ptx);
	cuModuleGetFunction(&f, mod, "k");
	cuModuleUnload(mod);
	ok_eq(cuModuleGetFunction(&f, mod, "k"), CUDA_ERROR_INVALID_HANDLE,
	      "an_unloaded_module_is_refused");
	ok_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
	      CUDA_ERROR_INVALID_HANDLE,
	      "a_function_of_an_unloaded_module_is_refused");
}

static void libraries(void)
{
	CUlibrary lib = NULL;
	CUkernel k = NULL;
	CUfunction f = NULL;

	ok(!cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0) &&
	   !cuLibraryGetKernel(&k, lib, "k") && !cuKernelGetFunction(&f, k),
	   "a_library_gives_a_kernel_and_its_function");
	cuLibraryUnload(lib);
	ok_eq(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
			     NULL), CUDA_ERROR_INVALID_HANDLE,
	      "a_kernel_of_an_unloaded_library_is_refused");
	ok_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
	      CUDA_ERROR_INVALID_HANDLE,
	      "so_is_its_function");
}

static void graphs(void)
{
	CUgraphNodeType type;
	CUgraphNode n, copy;
	CUgraph g, clone;

	cuGraphCreate(&g, 0);
	cuGraphAddEmptyNode(&n, g, NULL, 0);
	cuGraphClone(&clone, g);
	cuGraphNodeFindInClone(&copy, n, clone);
	cuGraphDestroy(g);
	ok(cuGraphNodeGetType(n, &type) == CUDA_ERROR_INVALID_VALUE &&
	   !cuGraphNodeGetType(copy, &type), "nodes_end_with_their_graph");
	cuGraphDestroy(clone);
}

static void many(void)
{
	enum { N = 100000 };
	static CUevent e[N];
	int right = 1;

	for (int i = 0; i < N; i++)
		right &= !cuEventCreate(&e[i], 0);
	for (int i = 0; i < N; i++)
		right &= !cuEventRecord(e[i], NULL);
	for (int i = 0; i < N; i++)
		right &= !cuEventDestroy(e[i]);
	ok(right, "a_hundred_thousand_events_live_at_once");
}

static void dies_with_context(void)
{
	CUcontext other;
	CUstream s;
	CUevent e;

	cuCtxCreate(&other, NULL, 0, 0);
	cuStreamCreate(&s, 0);
	cuEventCreate(&e, 0);
	cuCtxDestroy(other);
	ok_eq(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE,
	      "streams_die_with_their_context");
	ok_eq(cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE,
	      "events_die_with_their_context");
}

int main(void)
{
	CUcontext ctx;
	CUstream s;
	CUevent e;

	tap_plan(19);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuStreamCreate(&s, 0);
	/* The event's flags, which are inside the event, read like the type of an event. */
	cuEventCreate(&e, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
	bit_patterns(s, e);
	wrong_types(s, e, ctx);
	stale();
	libraries();
	graphs();
	many();
	dies_with_context();
	return tap_exit();
}
