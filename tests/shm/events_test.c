// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises events that come and go, which over shm nobody waits for (rounds_test.sh). What
 * CUDA refuses is refused at once all the same: an event that has ended, one of another context,
 * and one of an ended capture.
 */
#include <stdatomic.h>

#include "driver_test.h"

#define STEPS	1200	/* more than handles are reserved at a time */
#define THREADS	4
#define ROUNDS	2000

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry turns(.param .u32 n)\n{\n.reg .u32 %n; .reg .pred %q;\n"
	"ld.param.u32 %n, [n];\n"
	"LOOP:\nsub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra LOOP;\nret;\n}\n";

static CUfunction kernel;
static CUstream stream;

static CUresult launch(uint32_t turns)
{
	void *args[] = { &turns };

	return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

/* A step of a program that looks at the time, and keeps no event. */
static CUresult step(unsigned int flags)
{
	CUevent e;
	CUresult res = cuEventCreate(&e, flags);

	if (res)
		return res;
	res = cuEventRecord(e, stream);
	res = res ? res : cuStreamWaitEvent(NULL, e, 0);
	return res ? res : cuEventDestroy(e);
}

static CUresult steps(unsigned int flags)
{
	CUresult res = CUDA_SUCCESS;
	int i;

	for (i = 0; i < STEPS && !res; i++)
		res = step(flags);
	return res;
}

/* --- Values ------------------------------------------------------------------------------ */

static void test_times_between(void)
{
	CUevent e[STEPS];
	int i, bad = 0;
	float ms;

	for (i = 0; i < STEPS; i++) {
		bad += cuEventCreate(&e[i], CU_EVENT_DEFAULT) || cuEventRecord(e[i], stream);
		launch(100);
	}
	bad += cuEventSynchronize(e[STEPS - 1]) != 0;
	for (i = 1; i < STEPS; i++)
		bad += cuEventElapsedTime(&ms, e[i - 1], e[i]) || ms < 0;
	ok_eq(bad, 0, "new_events_say_the_time_between_them");
	for (i = 0, bad = 0; i < STEPS; i++)
		bad += cuEventQuery(e[i]) || cuEventDestroy(e[i]) || !cuEventQuery(e[i]);
	ok_eq(bad, 0, "each_ends_alone");
	bad = cuEventCreate(&e[0], CU_EVENT_DEFAULT);
	bad += cuEventQuery(e[0]);
	ok(!bad && cuEventElapsedTime(&ms, e[0], e[0]) == CUDA_ERROR_INVALID_HANDLE,
	   "a_new_one_was_never_recorded");
	cuEventDestroy(e[0]);
}

/* --- Refusals ----------------------------------------------------------------------------- */

static void test_ended(void)
{
	CUevent e;

	steps(0);
	cuEventCreate(&e, 0);
	cuEventRecord(e, stream);
	cuEventDestroy(e);
	ok_eq(cuEventRecord(e, stream), CUDA_ERROR_INVALID_HANDLE,
	      "record_of_an_ended_event_is_refused_at_once");
	ok_eq(cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE, "as_is_its_second_end");
	ok_eq(steps(0), CUDA_SUCCESS, "after_that_events_go_on");
	ok_eq(cuEventCreate(&e, 0x80), CUDA_ERROR_INVALID_VALUE, "unknown_flags_are_refused");
	ok_eq(cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE, "as_is_no_place_for_the_event");
}

static void test_other_context(void)
{
	CUcontext other;
	CUevent e, kept;

	cuEventCreate(&kept, 0);
	cuCtxCreate(&other, NULL, 0, 0);
	cuEventCreate(&e, 0);
	cuCtxSetCurrent(ctx);
	steps(0);
	ok_eq(cuEventRecord(e, stream), CUDA_ERROR_INVALID_HANDLE,
	      "event_of_another_context_is_refused_at_once");
	steps(0);
	cuCtxDestroy(other);
	ok_eq(cuEventDestroy(e), CUDA_ERROR_INVALID_HANDLE, "it_ends_with_its_context");
	ok_eq(cuEventRecord(kept, stream), CUDA_SUCCESS, "and_no_other_does");
	cuEventDestroy(kept);
}

static void test_captured(void)
{
	CUevent e, f;
	CUgraph graph;

	steps(0);
	cuEventCreate(&e, 0);
	cuEventCreate(&f, 0);
	cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	cuEventRecord(e, stream);
	cuStreamEndCapture(stream, &graph);
	cuGraphDestroy(graph);
	steps(0);
	ok(cuStreamWaitEvent(NULL, e, 0), "event_of_an_ended_capture_is_refused_at_once");
	ok_eq(cuStreamWaitEvent(NULL, f, 0), CUDA_SUCCESS, "and_no_other_is");
	ok_eq(cuEventRecord(e, stream), CUDA_SUCCESS, "a_new_record_makes_it_good_again");
	cuEventDestroy(e);
	cuEventDestroy(f);
}

/* What was in the primary context is gone; it is the same context again. */
static void test_reset(void)
{
	CUevent e;
	CUmodule module;

	cuEventCreate(&e, 0);
	cuDevicePrimaryCtxReset(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuModuleLoadData(&module, ptx);
	cuModuleGetFunction(&kernel, module, "turns");
	cuStreamCreate(&stream, 0);
	steps(0);
	ok_eq(cuEventRecord(e, stream), CUDA_ERROR_INVALID_HANDLE,
	      "event_before_a_reset_is_refused_at_once");
	ok_eq(steps(0), CUDA_SUCCESS, "new_ones_are_there_after_it");
}

/* --- A fork ------------------------------------------------------------------------------- */

/* The child has a worker of its own, which knows none of the parent's events and handles. */
static int child(CUevent of_parent)
{
	CUmodule module;
	CUcontext own;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&own, 0) || cuCtxSetCurrent(own) ||
	    cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&kernel, module, "turns") ||
	    cuStreamCreate(&stream, 0))
		return 1;
	if (cuEventRecord(of_parent, stream) != CUDA_ERROR_INVALID_HANDLE)
		return 2;
	return steps(0) || cuCtxSynchronize() ? 3 : 0;
}

static void test_fork(void)
{
	int status = -1;
	CUevent e;
	pid_t pid;

	steps(0);
	cuEventCreate(&e, 0);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child(e));
	waitpid(pid, &status, 0);
	ok_eq(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0,
	      "child_of_a_fork_makes_events_of_its_own");
	ok(!cuEventRecord(e, stream) && !steps(0) && !cuEventDestroy(e), "and_its_parent_goes_on");
}

/* --- Threads ------------------------------------------------------------------------------ */

static _Atomic(CUevent) handed[THREADS];

/* Makes events and records them; the next thread waits for them and ends them. */
static void *hands_on(void *arg)
{
	int me = (int)(uintptr_t)arg, i;
	_Atomic(CUevent) *to = &handed[me], *from = &handed[(me + 1) % THREADS];
	CUstream own;
	CUresult res;
	CUevent e;

	cuCtxSetCurrent(ctx);
	res = cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < ROUNDS && !res; i++) {
		res = cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
		res = res ? res : cuEventRecord(e, own);
		e = atomic_exchange(to, e);
		if (!res && e)
			res = cuEventDestroy(e);
		e = atomic_exchange(from, NULL);
		if (!res && e)
			res = cuStreamWaitEvent(own, e, 0);
		if (!res && e)
			res = cuEventDestroy(e);
	}
	res = res ? res : cuStreamSynchronize(own);
	res = res ? res : cuStreamDestroy(own);
	return (void *)(uintptr_t)res;
}

static void test_threads(void)
{
	pthread_t t[THREADS];
	int i, bad = 0;
	void *res;

	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, hands_on, (void *)(uintptr_t)i);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], &res);
		bad = bad ? bad : (int)(uintptr_t)res;
	}
	ok_eq(bad, CUDA_SUCCESS, "threads_hand_new_events_to_each_other");
	ok_eq(cuCtxSynchronize(), CUDA_SUCCESS, "and_no_posted_call_has_failed");
	for (i = 0; i < THREADS; i++)
		if (handed[i])
			cuEventDestroy(handed[i]);
}

int main(void)
{
	CUmodule module;

	tap_plan(20);
	begin();
	if (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&kernel, module, "turns") ||
	    cuStreamCreate(&stream, 0)) {
		printf("Bail out! cannot prepare\n");
		return 1;
	}
	test_times_between();
	test_ended();
	test_other_context();
	test_captured();
	test_threads();
	test_fork();
	test_reset();
	return tap_exit();
}
