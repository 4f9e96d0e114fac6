// SPDX-License-Identifier: Apache-2.0
// The test promises streams, events and host functions. It is built twice: with the legacy
// default stream and with one per thread. It needs nvcc and any CUDA device.
#include <atomic>
#include <chrono>
#include "common.h"

__global__ void add(int *x, int v)
{
	atomicAdd(x, v);
}

/* Takes long enough that a host which does not wait sees the old value. */
__global__ void slow_add(int *x, int v)
{
	int n = 0;

	for (int i = 0; i < 20000; i++)
		n += i & *(volatile int *)x;
	atomicAdd(x, n == -1 ? 0 : v);
}

static std::atomic<int> order, seen_at;
static void *seen_data;

static void host_func(void *data)
{
	seen_data = data;
	seen_at = ++order;
}

static cudaError_t callback_status;
static void callback(cudaStream_t, cudaError_t status, void *data)
{
	callback_status = status;
	seen_data = data;
	seen_at = ++order;
}

static std::atomic<bool> go_on;

/*
 * Waits for a limited time, because a device that does its work inside the calls would
 * otherwise never come to the end.
 */
static void hold(void *)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);

	while (!go_on && std::chrono::steady_clock::now() < end)
		;
}

static int read_int(const int *dev)
{
	int v = -1;

	NEED(cudaMemcpy(&v, dev, sizeof(v), cudaMemcpyDeviceToHost));
	return v;
}

static void test_streams(int *dev)
{
	int least = 1, greatest = 1, priority = 0;
	unsigned int flags = 9;
	cudaStream_t s;

	NEED(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	NEED(cudaMemset(dev, 0, sizeof(int)));
	NEED(cudaDeviceSynchronize());
	for (int i = 1; i <= 10; i++)
		slow_add<<<1, 1, 0, s>>>(dev, i);
	NEED(cudaStreamSynchronize(s));
	ok_eq(read_int(dev), 55, "ten_launches_in_a_stream_all_ran_before_it_is_synchronised");
	ok_err(cudaStreamQuery(s), cudaSuccess, "an_idle_stream_is_ready");
	NEED(cudaStreamGetFlags(s, &flags));
	ok_eq(flags, cudaStreamNonBlocking, "flags_of_a_stream_are_kept");
	ok_err(cudaStreamDestroy(s), cudaSuccess, "a_stream_is_destroyed");
	ok_err(cudaStreamDestroy(0), cudaErrorInvalidResourceHandle,
	       "the_default_stream_cannot_be_destroyed");
	clear_error();
	NEED(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	NEED(cudaStreamCreateWithPriority(&s, cudaStreamDefault, greatest));
	NEED(cudaStreamGetPriority(s, &priority));
	ok(greatest <= least && priority == greatest, "a_stream_has_the_asked_priority");
	NEED(cudaStreamDestroy(s));

	NEED(cudaMemset(dev, 0, sizeof(int)));
	slow_add<<<1, 1>>>(dev, 6);
	ok_eq(read_int(dev), 6, "a_copy_follows_the_launch_before_it");
	slow_add<<<1, 1, 0, cudaStreamPerThread>>>(dev, 1);
	NEED(cudaStreamSynchronize(cudaStreamPerThread));
	ok_eq(read_int(dev), 7, "the_threads_own_stream_can_be_named");
}

static void test_events(int *dev)
{
	cudaEvent_t a, b, quiet;
	cudaStream_t s, t;
	float ms = -1;

	NEED(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	NEED(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	NEED(cudaEventCreate(&a));
	NEED(cudaEventCreate(&b));
	NEED(cudaEventCreateWithFlags(&quiet, cudaEventDisableTiming));
	NEED(cudaMemset(dev, 0, 2 * sizeof(int)));
	NEED(cudaDeviceSynchronize());
	NEED(cudaEventRecord(a, s));
	slow_add<<<1, 1, 0, s>>>(dev, 5);
	NEED(cudaEventRecord(b, s));
	NEED(cudaStreamWaitEvent(t, b, 0));
	NEED(cudaMemcpyAsync(dev + 1, dev, sizeof(int), cudaMemcpyDeviceToDevice, t));
	NEED(cudaStreamSynchronize(t));
	ok_eq(read_int(dev + 1), 5, "a_stream_waits_for_another_ones_event");
	ok_err(cudaEventSynchronize(b), cudaSuccess, "an_event_is_waited_for");
	ok_err(cudaEventQuery(b), cudaSuccess, "an_event_that_has_passed_is_ready");
	NEED(cudaEventElapsedTime(&ms, a, b));
	ok(ms >= 0 && ms < 60000, "the_time_between_events_is_plausible");
	NEED(cudaEventRecord(quiet, s));
	NEED(cudaEventSynchronize(quiet));
	ok_err(cudaEventElapsedTime(&ms, a, quiet), cudaErrorInvalidResourceHandle,
	       "an_event_without_timing_gives_no_time");
	clear_error();
	ok_err(cudaEventQuery(0), cudaErrorInvalidResourceHandle, "the_null_event_is_refused");
	clear_error();
	ok_err(cudaEventDestroy(quiet), cudaSuccess, "an_event_is_destroyed");
	NEED(cudaEventDestroy(a));
	NEED(cudaEventDestroy(b));
	NEED(cudaStreamDestroy(s));
	NEED(cudaStreamDestroy(t));
}

static void test_host_functions(int *dev)
{
	int *pinned;

	order = seen_at = 0;
	NEED(cudaMallocHost(&pinned, sizeof(int)));
	NEED(cudaMemset(dev, 0, sizeof(int)));
	slow_add<<<1, 1, 0, cudaStreamPerThread>>>(dev, 3);
	NEED(cudaMemcpyAsync(pinned, dev, sizeof(int), cudaMemcpyDeviceToHost,
	     cudaStreamPerThread));
	ok_err(cudaLaunchHostFunc(cudaStreamPerThread, host_func, &order), cudaSuccess,
	       "a_host_function_is_queued");
	NEED(cudaStreamSynchronize(cudaStreamPerThread));
	ok(seen_at == 1 && seen_data == &order && *pinned == 3,
	   "a_host_function_runs_after_the_work_before_it");
	NEED(cudaStreamAddCallback(cudaStreamPerThread, callback, pinned, 0));
	NEED(cudaStreamSynchronize(cudaStreamPerThread));
	ok(seen_at == 2 && seen_data == pinned && callback_status == cudaSuccess,
	   "a_callback_gets_its_data_and_the_status");
	NEED(cudaFreeHost(pinned));
}

/*
 * Libraries take whatever cudaGetLastError() returns for the failure of their own call,
 * so "not ready" must not stay.
 */
static void test_not_ready()
{
	cudaEvent_t e;
	cudaStream_t s;

	go_on = false;
	NEED(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	NEED(cudaEventCreate(&e));
	NEED(cudaLaunchHostFunc(s, hold, NULL));
	NEED(cudaEventRecord(e, s));
	if (cudaEventQuery(e) == cudaSuccess) {
		skip("what_is_not_ready_is_no_last_error", "the work was done before the question");
		skip("what_is_not_ready_leaves_the_error_before_it", "as before");
	} else {
		ok(cudaGetLastError() == cudaSuccess && cudaStreamQuery(s) == cudaErrorNotReady &&
		   cudaGetLastError() == cudaSuccess, "what_is_not_ready_is_no_last_error");
		cudaEventQuery(0);
		ok(cudaEventQuery(e) == cudaErrorNotReady &&
		   cudaGetLastError() == cudaErrorInvalidResourceHandle,
		   "what_is_not_ready_leaves_the_error_before_it");
	}
	go_on = true;
	NEED(cudaStreamSynchronize(s));
	NEED(cudaEventDestroy(e));
	NEED(cudaStreamDestroy(s));
}

int main()
{
	int *dev;

	tap_plan(20);
	NEED(cudaMalloc(&dev, 64));
	test_streams(dev);
	test_events(dev);
	test_host_functions(dev);
	test_not_ready();
	NEED(cudaFree(dev));
	return tap_exit();
}
