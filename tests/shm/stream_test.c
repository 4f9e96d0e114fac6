// SPDX-License-Identifier: Apache-2.0
/* The test promises streams, events, asynchronous copies, host functions and threads. */
#include "driver_test.h"

#define N	(3 << 20)

static void test_async(CUstream s)
{
	uint8_t *h = malloc(N), *pin;
	CUdeviceptr p;

	cuMemAlloc(&p, N);
	cuMemAllocHost((void **)&pin, N);
	pattern(h, N, 1);
	ok_eq(cuMemcpyHtoDAsync(p, h, N, s), 0, "pageable_memory_is_copied_asynchronously");
	/* The copy has returned, so the source may change at once. */
	memset(h, 0, N);
	ok_eq(cuMemcpyDtoHAsync(pin, p, N, s), 0, "pinned_memory_is_filled_asynchronously");
	cuStreamSynchronize(s);
	ok(same(pin, N, 1), "asynchronous_copies_keep_their_order");
	ok(cuMemcpyDtoHAsync(h, p, N, s) == 0 && same(h, N, 1), "pageable_memory_is_filled_when_the_call_returns");
	ok(cuMemsetD8Async(p, 7, N, s) == 0 && cuMemcpyDtoHAsync(pin, p, N, s) == 0 &&
	   cuStreamSynchronize(s) == 0 && pin[0] == 7 && pin[N - 1] == 7, "fill_comes_before_the_copy_behind_it");
	cuMemFreeHost(pin);
	cuMemFree(p);
	free(h);
}

static void test_events(CUstream s)
{
	CUevent a, b;
	float ms = -1;

	ok(cuEventCreate(&a, 0) == 0 && cuEventCreate(&b, 0) == 0, "events_are_created");
	cuEventRecord(a, s);
	cuEventRecord(b, s);
	ok(cuEventSynchronize(b) == 0 && cuEventQuery(b) == 0, "event_is_waited_for");
	ok(cuEventElapsedTime(&ms, a, b) == 0 && ms >= 0 && ms < 10000, "time_between_events_is_measured");
	ok_eq(cuStreamWaitEvent(s, a, 0), 0, "stream_waits_for_an_event");
	cuEventDestroy(a);
	ok_eq(cuEventQuery(a), CUDA_ERROR_INVALID_HANDLE, "destroyed_event_is_refused");
	cuEventDestroy(b);
}

/* --- Host functions ----------------------------------------------------------------- */

static uint8_t *watched;
static int order, seen_value, seen_order, seen_status;
static pthread_t ran_on;

static void CUDA_CB host_function(void *data)
{
	seen_value = watched[100];
	seen_order = order++;
	ran_on = pthread_self();
	*(int *)data = 77;
}

static void CUDA_CB callback(CUstream s, CUresult status, void *data)
{
	(void)s;
	seen_status = status;
	*(int *)data = order++;
}

static void test_host_functions(CUstream s)
{
	int flag = 0, second = -1;
	CUdeviceptr p;

	cuMemAlloc(&p, 4096);
	cuMemAllocHost((void **)&watched, 4096);
	cuMemsetD8Async(p, 0x33, 4096, s);
	cuMemcpyDtoHAsync(watched, p, 4096, s);
	ok_eq(cuLaunchHostFunc(s, host_function, &flag), 0, "host_function_is_enqueued");
	ok_eq(cuStreamAddCallback(s, callback, &second, 0), 0, "callback_is_enqueued");
	cuStreamSynchronize(s);
	ok(flag == 77 && seen_value == 0x33, "host_function_sees_the_work_before_it");
	ok(seen_order == 0 && second == 1 && seen_status == CUDA_SUCCESS, "host_functions_keep_their_order");
	ok(!pthread_equal(ran_on, pthread_self()), "host_function_runs_on_another_thread");
	cuMemFreeHost(watched);
	cuMemFree(p);
}

/* --- Threads ------------------------------------------------------------------------------ */

static void *worker(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg, i;
	uint8_t *h = malloc(100000);
	CUcontext c = NULL;
	CUdeviceptr p;
	long bad = 0;

	bad += cuCtxGetCurrent(&c) != 0 || c != NULL;
	bad += cuCtxSetCurrent(ctx) != 0;
	for (i = 0; i < 50; i++) {
		bad += cuMemAlloc(&p, 100000) != 0;
		pattern(h, 100000, seed + i);
		bad += cuMemcpyHtoDAsync(p, h, 100000, CU_STREAM_PER_THREAD) != 0;
		memset(h, 0, 100000);
		bad += cuMemcpyDtoHAsync(h, p, 100000, CU_STREAM_PER_THREAD) != 0;
		bad += !same(h, 100000, seed + i);
		bad += cuMemFree(p) != 0;
	}
	free(h);
	return (void *)bad;
}

static void test_threads(void)
{
	pthread_t t[4];
	void *bad;
	long all = 0;
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)(i * 1000 + 1));
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		all += (long)bad;
	}
	ok_eq(all, 0, "four_threads_do_not_disturb_each_other");
	ok_eq(cuStreamQuery(CU_STREAM_PER_THREAD), 0, "per_thread_default_stream_can_be_queried");
}

static void test_graph_nodes(void)
{
	CUgraphNodeType type;
	CUgraphNode n;
	CUgraph g;

	cuGraphCreate(&g, 0);
	cuGraphAddEmptyNode(&n, g, NULL, 0);
	ok_eq(cuGraphNodeGetType(n, &type), 0, "a_node_has_a_type");
	cuGraphDestroy(g);
	/* The driver itself would follow the pointer. */
	ok_eq(cuGraphNodeGetType(n, &type), CUDA_ERROR_INVALID_VALUE, "nodes_end_with_their_graph");
}

int main(void)
{
	CUstream s;

	tap_plan(21);
	begin();
	ok_eq(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), 0, "stream_is_created");
	test_async(s);
	test_events(s);
	test_host_functions(s);
	test_threads();
	test_graph_nodes();
	ok(cuStreamDestroy(s) == 0 && cuStreamQuery(s) == CUDA_ERROR_INVALID_HANDLE,
	   "destroyed_stream_is_refused");
	return tap_exit();
}
