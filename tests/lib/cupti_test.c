// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a profiler of the client sees over a CUPTI that records softgpu's work:
 * the program's own kernels, copies and fills, in the program's clock, with the correlation ids
 * and external ids of the program's calls, and these calls.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_target.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib_test.h"

#define BUFFER	4096	/* so small that several are needed */
#define MOST	4096

static const char ptx[] =
	".version 9.0\n.target sm_52\n.address_size 64\n"
	".visible .entry add_one(.param .u64 p)\n{\n"
	".reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n"
	"ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nadd.u32 %r2, %r1, 1;\n"
	"st.global.u32 [%rd1], %r2;\nret;\n}\n";

static struct record {
	CUpti_ActivityKind kind;
	uint32_t correlation, cbid, thread, device, stream, context;
	uint64_t start, end, external;
	int external_kind, grid, block, from, to;
	size_t bytes;
	char name[64];
} record[MOST];
static int records, given, back;
static void *reserved;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*most = 0;
	given++;
}

static void take(const CUpti_Activity *a)
{
	struct record *r = &record[records];

	if (records == MOST)
		return;
	*r = (struct record) { .kind = a->kind };
	switch (a->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		const CUpti_ActivityKernel10 *k = (const void *)a;

		r->correlation = k->correlationId;
		r->start = k->start;
		r->end = k->end;
		r->device = k->deviceId;
		r->stream = k->streamId;
		r->context = k->contextId;
		r->grid = k->gridX;
		r->block = k->blockX;
		reserved = k->reserved0;
		snprintf(r->name, sizeof(r->name), "%s", k->name);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		const CUpti_ActivityMemcpy6 *c = (const void *)a;

		r->correlation = c->correlationId;
		r->bytes = c->bytes;
		r->from = c->srcKind;
		r->to = c->dstKind;
		r->start = c->start;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *m = (const void *)a;

		r->correlation = m->correlationId;
		r->bytes = m->bytes;
		r->start = m->start;
		break;
	}
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
		const CUpti_ActivityExternalCorrelation *e = (const void *)a;

		r->correlation = e->correlationId;
		r->external = e->externalId;
		r->external_kind = e->externalKind;
		break;
	}
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER: {
		const CUpti_ActivityAPI *api = (const void *)a;

		r->correlation = api->correlationId;
		r->cbid = api->cbid;
		r->thread = api->threadId;
		r->start = api->start;
		r->end = api->end;
		break;
	}
	default:
		break;
	}
	records++;
}

static void CUPTIAPI completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *a = NULL;

	(void)ctx, (void)stream, (void)size;
	back++;
	while (cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS)
		take(a);
	free(buffer);
}

/* Three ticks each nanosecond, from another begin. */
static uint64_t CUPTIAPI ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 3 * (t.tv_sec * 1000000000ULL + t.tv_nsec) + 12345;
}

static const struct record *find(CUpti_ActivityKind kind, uint32_t correlation)
{
	int i;

	for (i = 0; i < records; i++)
		if (record[i].kind == kind &&
		    (!correlation || record[i].correlation == correlation))
			return &record[i];
	return NULL;
}

static int count(CUpti_ActivityKind kind)
{
	int i, n = 0;

	for (i = 0; i < records; i++)
		n += record[i].kind == kind;
	return n;
}

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
	CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
};
#define KINDS	(sizeof(kinds) / sizeof(*kinds))

static int switch_all(int on)
{
	size_t i;
	int bad = 0;

	for (i = 0; i < KINDS; i++)
		bad += (on ? cuptiActivityEnable(kinds[i]) : cuptiActivityDisable(kinds[i])) != 0;
	return bad;
}

static CUfunction function;
static CUdeviceptr memory;
static CUstream stream;

static void prepare(void)
{
	CUcontext ctx;
	CUmodule module;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuModuleLoadData(&module, ptx);
	cuModuleGetFunction(&function, module, "add_one");
	memory = device(NULL, 4096);
	cuMemsetD8(memory, 0, 4096);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
}

static int launch(CUstream s)
{
	void *args[] = { &memory };

	return cuLaunchKernel(function, 2, 1, 1, 4, 1, 1, 0, s, args, NULL);
}

static void test_begin(void)
{
	uint64_t a = 0, b = 0;

	ok_eq(cuptiActivityRegisterCallbacks(requested, completed), 0, "buffers_are_taken");
	ok_eq(cuptiActivityRegisterTimestampCallback(ticks), 0, "clock_of_the_program_is_taken");
	cuptiGetTimestamp(&a);
	b = ticks();
	ok(a && a <= b && b - a < 3000000000ULL, "timestamps_are_of_that_clock");
	ok(launch(NULL) == 0 && cuCtxSynchronize() == 0, "program_runs_before_it_profiles");
	ok_eq(switch_all(1), 0, "kinds_are_enabled");
	ok_eq(given, 1, "first_buffer_is_asked_for_at_once");
	ok_eq(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_NOT_SUPPORTED,
	      "samples_are_refused");
	ok_eq(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CUDA_EVENT), CUPTI_ERROR_NOT_COMPATIBLE,
	      "error_of_the_genuine_library_comes_back");
}

static void test_kernel(void)
{
	const struct record *k, *e, *d;
	uint64_t before = ticks(), after;
	int value = 0;

	records = 0;
	cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 4711);
	ok_eq(launch(stream), 0, "launch_succeeds_while_it_profiles");
	cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL);
	cuStreamSynchronize(stream);
	after = ticks();
	ok_eq(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), 0, "flush_succeeds");
	ok_eq(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1,
	      "kernel_is_there_once_and_none_from_before");
	k = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	if (!k)
		return;
	ok(!strcmp(k->name, "add_one") && k->grid == 2 && k->block == 4, "it_has_name_and_shape");
	ok(k->device == 0 && k->stream == 13 && k->context == 1, "it_has_device_stream_and_context");
	ok(k->start < k->end && k->start > before && k->end < after,
	   "it_ran_between_call_and_wait_by_the_programs_clock");
	ok(!reserved, "it_carries_no_address_of_the_worker");
	e = find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, k->correlation);
	ok(k->correlation && e && e->external == 4711 &&
	   e->external_kind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
	   "external_id_of_the_program_is_that_of_the_kernels_call");
	d = find(CUPTI_ACTIVITY_KIND_DRIVER, k->correlation);
	ok(d && d->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
	   d->thread == (uint32_t)pthread_self(), "call_of_the_driver_has_its_name_and_thread");
	ok(d && d->start >= before && d->start <= k->start && d->end <= after,
	   "call_begins_before_its_kernel");
	cuMemcpyDtoH(&value, memory, sizeof(value));
	ok(value >= 2, "kernel_has_run_as_ever");
}

static void test_many(void)
{
	const struct record *k, *last = NULL;
	int i, unlike = 0, backwards = 0, seen = 0;

	records = 0;
	for (i = 0; i < 100; i++)
		launch(i % 2 ? stream : NULL);
	cuCtxSynchronize();
	given = back = 0;
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	for (i = 0; i < records; i++) {
		k = &record[i];
		if (k->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		seen++;
		unlike += !k->correlation || !find(CUPTI_ACTIVITY_KIND_DRIVER, k->correlation);
		backwards += last && (k->start < last->start ||
				      k->correlation <= last->correlation);
		last = k;
	}
	ok_eq(seen, 100, "each_of_a_hundred_launches_has_its_kernel");
	ok_eq(unlike, 0, "each_kernel_has_its_call");
	ok_eq(backwards, 0, "kernels_and_their_ids_are_in_the_order_of_the_calls");
	ok(back > 1 && given == back, "full_buffers_are_given_back_and_new_ones_asked_for");
}

static void test_copies(void)
{
	const struct record *c, *m;
	char bytes[4096] = { 1 };

	records = 0;
	cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	cuMemcpyHtoD(memory, bytes, sizeof(bytes));
	cuMemsetD8Async(memory, 0, 256, stream);
	cuCtxSynchronize();
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	c = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
	m = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
	ok(c && c->bytes == sizeof(bytes) && c->correlation, "copy_has_its_bytes_and_an_id");
	ok(c && c->from == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE &&
	   c->to == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
	   "memory_of_the_program_is_pageable_though_the_workers_is_not");
	ok(m && (pid_t)find(CUPTI_ACTIVITY_KIND_DRIVER, m->correlation)->thread == gettid(),
	   "thread_has_the_systems_number_if_the_program_says_so");
	ok(m && m->bytes == 256 && find(CUPTI_ACTIVITY_KIND_DRIVER, m->correlation),
	   "fill_has_its_bytes_and_its_call");
}

#define LARGE	(24 << 20)	/* more than a piece of a copy */

static void test_pieces(void)
{
	void *from = malloc(LARGE), *pinned = NULL;
	CUdeviceptr to = device(NULL, LARGE);
	const struct record *c;

	memset(from, 1, LARGE);
	records = 0;
	cuMemcpyHtoD(to, from, LARGE);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	c = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
	ok(c && c->bytes == LARGE && count(CUPTI_ACTIVITY_KIND_MEMCPY) == 1,
	   "a_copy_that_is_made_in_pieces_is_one_copy");
	cuMemHostAlloc(&pinned, 4096, 0);
	records = 0;
	cuMemcpyHtoD(to, pinned, 4096);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	c = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
	ok(c && c->from == CUPTI_ACTIVITY_MEMORY_KIND_PINNED, "pinned_memory_is_pinned");
	cuMemFree(to);
	cuMemFreeHost(pinned);
	free(from);
}

/* The compiler's code launches by a function that no header declares. */
static void test_launch_of_the_compilers_code(void *lib)
{
	struct dims { unsigned int x, y, z; } one = { 1, 1, 1 };
	int (*load)(void **, const void *, void *, void *, int, void *, void *, int);
	int (*get)(void **, void *, const char *);
	int (*run)(void *, struct dims, struct dims, void **, size_t, CUstream);
	void *args[] = { &memory }, *library, *kernel;
	const struct record *k, *r;
	const char *name = "";

	*(void **)&load = dlsym(lib, "cudaLibraryLoadData");
	*(void **)&get = dlsym(lib, "cudaLibraryGetKernel");
	*(void **)&run = dlsym(lib, "__cudaLaunchKernel");
	records = 0;
	ok(load && get && run && !load(&library, ptx, NULL, NULL, 0, NULL, NULL, 0) &&
	   !get(&kernel, library, "add_one") && !run(kernel, one, one, args, 0, NULL),
	   "compilers_code_launches");
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	k = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	r = k ? find(CUPTI_ACTIVITY_KIND_RUNTIME, k->correlation) : NULL;
	if (r)
		cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, r->cbid, &name);
	ok(!strncmp(name, "cudaLaunchKernel_v", 18), "it_has_the_name_of_the_launch");
}

static void test_runtime(void)
{
	void *lib = dlopen("libcudart.so.13", RTLD_NOW);
	int (*fill)(void *, int, size_t, void *) = NULL, (*sync)(void) = NULL;
	const struct record *r, *m;
	const char *name = "";

	if (lib) {
		*(void **)&fill = dlsym(lib, "cudaMemsetAsync");
		*(void **)&sync = dlsym(lib, "cudaDeviceSynchronize");
	}
	if (!fill || !sync) {
		diag("%s", dlerror());
		ok(0, "runtime_is_there");
		return;
	}
	records = 0;
	fill((void *)memory, 1, 512, NULL);
	sync();
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	m = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
	r = m ? find(CUPTI_ACTIVITY_KIND_RUNTIME, m->correlation) : NULL;
	if (r)
		cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, r->cbid, &name);
	ok(!strncmp(name, "cudaMemsetAsync", 15), "call_of_the_runtime_has_its_name");
	ok(m && !find(CUPTI_ACTIVITY_KIND_DRIVER, m->correlation),
	   "what_the_runtime_calls_is_no_call_of_its_own");
	ok_eq(count(CUPTI_ACTIVITY_KIND_RUNTIME), 2, "each_call_of_the_runtime_is_there_once");
	test_launch_of_the_compilers_code(lib);
}

static void test_end(void)
{
	records = 0;
	launch(NULL);
	ok_eq(switch_all(0), 0, "kinds_are_disabled");
	launch(NULL);
	cuCtxSynchronize();
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	ok_eq(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1,
	      "kernels_until_then_come_with_the_next_flush_and_no_later_ones");
	records = 0;
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	ok_eq(records, 0, "nothing_comes_twice");
	ok_eq(switch_all(1), 0, "a_second_profile_begins");
	launch(NULL);
	cuCtxSynchronize();
	switch_all(0);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	ok(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1 && find(CUPTI_ACTIVITY_KIND_DRIVER,
	   find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->correlation),
	   "and_sees_kernels_with_their_calls");
}

/* A child has a worker of its own, which nobody has told to record. */
static void test_fork(void)
{
	int status = -1;
	pid_t child;

	if (getenv("WORMHOLE_TRANSPORT") && !strcmp(getenv("WORMHOLE_TRANSPORT"), "loopback")) {
		skip("forks_child_runs_without_the_parents_profile", "loopback has one process");
		return;
	}
	switch_all(1);
	launch(NULL);
	child = fork();
	if (!child) {
		prepare();
		_exit(launch(NULL) || cuCtxSynchronize());
	}
	waitpid(child, &status, 0);
	ok_eq(status, 0, "forks_child_runs_without_the_parents_profile");
	records = 0;
	cuCtxSynchronize();
	switch_all(0);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	ok_eq(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1, "and_the_parents_goes_on");
}

static void test_ids(void)
{
	uint32_t id = 0;
	CUcontext ctx;

	cuCtxGetCurrent(&ctx);
	ok(cuptiGetContextId(ctx, &id) == 0 && id == 1, "context_has_the_number_of_its_records");
	ok(cuptiGetStreamIdEx(ctx, stream, 0, &id) == 0 && id == 13,
	   "stream_has_the_number_of_its_records");
	ok_eq(cuptiGetStreamIdEx(ctx, (CUstream)0x1234567, 0, &id), CUPTI_ERROR_INVALID_STREAM,
	      "stream_that_is_none_is_refused");
}

/* JAX asks for the number of an executable graph by the function for graphs. */
static void test_graph_ids(void)
{
	uint32_t of_graph = 0, of_exec = 0, id = 0;
	CUgraphExec exec;
	CUgraph graph;

	cuGraphCreate(&graph, 0);
	cuGraphInstantiate(&exec, graph, 0);
	ok(cuptiGetGraphId(graph, &of_graph) == 0 && of_graph == 31, "graph_has_a_number");
	ok(cuptiGetGraphExecId(exec, &of_exec) == 0 && of_exec == 32,
	   "executable_graph_has_a_number_of_its_own");
	ok(cuptiGetGraphId((CUgraph)exec, &id) == 0 && id == of_exec,
	   "executable_graph_has_it_by_the_function_for_graphs_too");
	ok_eq(cuptiGetGraphExecId((CUgraphExec)graph, &id), CUPTI_ERROR_INVALID_PARAMETER,
	      "graph_that_is_not_executable_is_refused_as_one");
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	ok_eq(cuptiGetGraphId(graph, &id), CUPTI_ERROR_INVALID_PARAMETER,
	      "graph_that_has_ended_is_refused");
}

static void test_refused(void)
{
	CUpti_SubscriberHandle s;

	ok_eq(cuptiProfilerInitialize(NULL), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
	      "counters_are_refused_for_want_of_privileges");
	ok_eq(cuptiSubscribe(&s, NULL, NULL), 0, "subscriber_is_taken");
	ok_eq(cuptiSubscribe(&s, NULL, NULL), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	      "second_one_is_refused");
	ok_eq(cuptiUnsubscribe(s), 0, "subscriber_may_leave");
	cuptiSubscribe(&s, NULL, NULL);
	ok(cuptiFinalize() == 0 && cuptiSubscribe(&s, NULL, NULL) == 0,
	   "after_the_end_of_the_library_another_may_come");
}

int main(void)
{
	prepare();
	test_begin();
	test_kernel();
	test_many();
	test_copies();
	test_pieces();
	test_runtime();
	test_end();
	test_fork();
	test_ids();
	test_graph_ids();
	test_refused();
	return tap_exit();
}
