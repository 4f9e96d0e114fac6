// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the driver API as a program sees it through libcuda.so.1: start,
 * devices, contexts, entry points, errors, refusals, fork. It needs softgpu behind it.
 */
#include <cudaProfiler.h>

#include "driver_test.h"

static void test_before_init(void)
{
	CUdeviceptr p;
	int n, v = 0;
	void *h;

	ok_eq(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED, "query_before_init_is_refused");
	ok_eq(cuMemAlloc(&p, 16), CUDA_ERROR_NOT_INITIALIZED, "call_before_init_is_refused");
	ok_eq(cuMemAllocHost(&h, 16), CUDA_ERROR_NOT_INITIALIZED, "host_memory_before_init_is_refused");
	ok(cuDriverGetVersion(&v) == 0 && v >= 13000, "version_is_known_before_init");
	ok_eq(cuInit(1), CUDA_ERROR_INVALID_VALUE, "init_with_flags_is_refused");
	ok_eq(cuInit(0), 0, "init_succeeds");
	ok_eq(cuInit(0), 0, "second_init_succeeds");
}

static void test_device(void)
{
	int n = 0, major = 0, v = 0;
	char name[64] = "";
	CUdevice dev;
	size_t total = 0;

	ok(cuDeviceGetCount(&n) == 0 && n == 1, "one_device_is_found");
	ok_eq(cuDeviceGet(&dev, 1), CUDA_ERROR_INVALID_DEVICE, "device_out_of_range_is_refused");
	ok(cuDeviceGetName(name, sizeof(name), 0) == 0 && name[0], "device_has_its_name");
	ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) == 0 &&
	   major >= 7, "attribute_is_answered");
	ok_eq(cuDeviceGetAttribute(&v, (CUdevice_attribute)9999, 0), CUDA_ERROR_INVALID_VALUE,
	      "unknown_attribute_is_refused");
	ok(cuDeviceTotalMem(&total, 0) == 0 && total > 1 << 20, "total_memory_is_answered");
}

static void test_context(void)
{
	CUcontext c = NULL, own = NULL, popped = NULL;
	CUdevice dev = -1;
	CUdeviceptr p;

	ok(cuCtxGetCurrent(&c) == 0 && !c, "no_context_at_first");
	ok_eq(cuMemAlloc(&p, 16), CUDA_ERROR_INVALID_CONTEXT, "allocation_without_context_is_refused");
	ok_eq(cuDevicePrimaryCtxRetain(&ctx, 0), 0, "primary_context_is_retained");
	ok_eq(cuCtxSetCurrent((CUcontext)0x1234), CUDA_ERROR_INVALID_CONTEXT, "forged_context_is_refused");
	ok(cuCtxSetCurrent(ctx) == 0 && cuCtxGetCurrent(&c) == 0 && c == ctx, "context_becomes_current");
	ok(cuCtxGetDevice(&dev) == 0 && dev == 0, "context_knows_its_device");
	ok(cuCtxCreate(&own, NULL, 0, 0) == 0 && cuCtxGetCurrent(&c) == 0 && c == own,
	   "created_context_is_current");
	ok(cuCtxPopCurrent(&popped) == 0 && popped == own && cuCtxGetCurrent(&c) == 0 && c == ctx,
	   "pop_uncovers_the_one_below");
	ok(cuCtxPushCurrent(own) == 0 && cuCtxDestroy(own) == 0 && cuCtxGetCurrent(&c) == 0 &&
	   c == ctx, "destroyed_context_leaves_the_stack");
	ok(cuMemAlloc(&p, 16) == 0 && cuMemFree(p) == 0, "allocation_in_the_context_works");
}

/* They are deprecated, but PyCUDA ends its contexts with them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void test_attach(void)
{
	CUcontext own = NULL, c = NULL;

	cuCtxCreate(&own, NULL, 0, 0);
	ok(cuCtxAttach(&c, 0) == 0 && c == own, "attach_answers_the_current_context");
	ok(cuCtxAttach(&c, 1) == CUDA_ERROR_INVALID_VALUE &&
	   cuCtxAttach(NULL, 0) == CUDA_ERROR_INVALID_VALUE, "attach_takes_no_flags");
	ok(cuCtxDetach(own) == 0 && cuCtxGetCurrent(&c) == 0 && c == own && cuCtxSynchronize() == 0,
	   "an_attached_context_outlives_a_detach");
	cuCtxPushCurrent(ctx);
	ok_eq(cuCtxDetach(own), CUDA_ERROR_INVALID_CONTEXT, "only_the_current_context_is_detached");
	ok_eq(cuCtxDetach(ctx), CUDA_ERROR_INVALID_CONTEXT, "and_no_primary_one_that_nobody_attached");
	cuCtxPopCurrent(&c);
	ok(cuCtxDetach(own) == 0 && cuCtxGetCurrent(&c) == 0 && c == ctx, "the_last_detach_pops_the_context");
	ok_eq(cuCtxPushCurrent(own), CUDA_ERROR_INVALID_CONTEXT, "and_destroys_it");
	cuCtxPopCurrent(NULL);
	ok_eq(cuCtxAttach(&c, 0), CUDA_ERROR_INVALID_CONTEXT, "without_a_context_nothing_is_attached");
	cuCtxSetCurrent(ctx);
}
#pragma GCC diagnostic pop

/* --- Refusals ------------------------------------------------------------------------ */

/* Returns, as text, what f() wrote to stderr. */
static void captured(void (*f)(void), char *text, size_t size)
{
	char path[] = "/tmp/wormhole-test-XXXXXX";
	int fd = mkstemp(path), old = dup(2);
	ssize_t n;

	fflush(stderr);
	dup2(fd, 2);
	f();
	fflush(stderr);
	dup2(old, 2);
	n = pread(fd, text, size - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(old);
	close(fd);
	unlink(path);
}

static CUresult refused;

static void call_refused(void)
{
	size_t size = sizeof(int);
	int value;

	refused = cuCoredumpGetAttributeGlobal(CU_COREDUMP_LIGHTWEIGHT, &value, &size);
	refused = cuCoredumpGetAttributeGlobal(CU_COREDUMP_LIGHTWEIGHT, &value, &size);
}

static void test_refused(void)
{
	char text[512];

	/* WORMHOLE_LOG is read once, so the silent case has a process of its own. */
	captured(call_refused, text, sizeof(text));
	ok_eq(refused, CUDA_ERROR_NOT_SUPPORTED, "refused_function_says_not_supported");
	if (getenv("WORMHOLE_LOG")) {
		char *first = strstr(text, "cuCoredumpGetAttributeGlobal");

		ok(first && !strstr(first + 1, "cuCoredumpGetAttributeGlobal"), "refused_function_is_named_once");
	} else {
		ok(!text[0], "refused_function_is_silent_without_the_log");
	}
}

static void test_profiler(void)
{
	CUcontext was;

	ok(cuProfilerStart() == 0 && cuProfilerStop() == 0 && cuProfilerStop() == 0,
	   "profiler_starts_and_stops_without_one");
	cuCtxPopCurrent(&was);
	ok(cuProfilerStart() == CUDA_ERROR_INVALID_CONTEXT &&
	   cuProfilerStop() == CUDA_ERROR_INVALID_CONTEXT, "profiler_needs_a_context");
	cuCtxPushCurrent(was);
}

static void test_proc_address(void)
{
	CUdriverProcAddressQueryResult st;
	void *old = NULL, *new = NULL, *pt = NULL;
	const void *table;
	CUuuid id = { { 1 } };
	int v = 0;

	cuGetProcAddress("cuMemAlloc", &old, 2000, 0, &st);
	cuGetProcAddress("cuMemAlloc", &new, 13000, 0, &st);
	ok(old && new && old != new && new == (void *)cuMemAlloc, "version_selects_the_entry_point");
	cuGetProcAddress("cuMemcpyHtoD", &pt, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &st);
	ok(pt && pt != (void *)cuMemcpyHtoD, "flag_selects_the_per_thread_variant");
	ok(cuGetProcAddress("cuNoSuchThing", &old, 13000, 0, &st) == 0 && !old &&
	   st == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "unknown_name_is_not_found");
	ok(cuGetProcAddress("cuGreenCtxCreate", &old, 12000, 0, &st) == 0 && !old &&
	   st == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, "newer_name_asks_for_a_newer_version");
	ok(cuGetProcAddress("cuProfilerStart", &old, 13000, 0, &st) == 0 &&
	   old == (void *)cuProfilerStart, "functions_of_the_profilers_header_are_found");
	cuDriverGetVersion(&v);
	ok_eq(cuGetProcAddress("cuMemAlloc", &old, v + 10, 0, &st), CUDA_ERROR_INVALID_VALUE,
	      "version_that_the_driver_has_not_is_refused");
	ok(cuGetProcAddress("cuMemAlloc", &old, -1, 0, &st) == 0 && old == new &&
	   cuGetProcAddress("cuMemAlloc", &old, v, 3, &st) == 0 && old == new,
	   "no_version_is_the_newest_and_both_flags_are_one");
	ok_eq(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND, "private_tables_are_not_emulated");
}

static void test_errors(void)
{
	const char *s = NULL;

	ok(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &s) == 0 && !strcmp(s, "CUDA_ERROR_OUT_OF_MEMORY"),
	   "error_has_its_name");
	ok(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &s) == 0 && !strcmp(s, "out of memory"),
	   "error_has_its_text");
	ok_eq(cuGetErrorName((CUresult)12345, &s), CUDA_ERROR_INVALID_VALUE, "unknown_error_has_no_name");
}

static void test_fork(void)
{
	CUdeviceptr p;
	int status, n;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		int bad = cuDeviceGetCount(&n) != CUDA_ERROR_NOT_INITIALIZED;

		bad |= (cuMemAlloc(&p, 16) != CUDA_ERROR_NOT_INITIALIZED) << 1;
		bad |= (cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED) << 2;
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	ok_eq(status, 0, "child_is_not_initialised");
	ok(cuMemAlloc(&p, 16) == 0 && cuMemFree(p) == 0, "parent_goes_on");
}

int main(void)
{
	tap_plan(48);
	test_before_init();
	test_device();
	test_context();
	test_attach();
	test_refused();
	test_profiler();
	test_proc_address();
	test_errors();
	test_fork();
	return tap_exit();
}
