// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that threads with several slots make their calls at the same time,
 * and in the order that the program gave them; nobody waits for a slot for ever.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "driver_test.h"
#include "meeting.h"

#define MANY	40	/* more than slots */

static CUdeviceptr mem;

static CUresult in_thread(pthread_t *t, void *(*f)(void *), void *arg)
{
	return pthread_create(t, NULL, f, arg) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult end_of(pthread_t t)
{
	void *res;

	pthread_join(t, &res);
	return (CUresult)(uintptr_t)res;
}

/* --- At the same time ------------------------------------------------------------------ */

static sem_t ready;

/* A thread's first call enters its context, which is done alone. */
static void *meets(void *stream)
{
	cuCtxSetCurrent(ctx);
	cuMemsetD8Async(mem, 0, 1, stream);
	sem_post(&ready);
	return (void *)(uintptr_t)cuMemsetD8Async(mem, MEET, 1, stream);
}

static CUresult meeting(void)
{
	CUstream stream;
	CUresult mine, other;
	pthread_t t;

	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuMemsetD8Async(mem, 0, 1, NULL);
	in_thread(&t, meets, stream);
	while (sem_wait(&ready))
		;
	mine = cuMemsetD8Async(mem, MEET, 1, NULL);
	other = end_of(t);
	cuStreamDestroy(stream);
	return mine ? mine : other;
}

static CUfunction nothing;

static CUresult load_nothing(void)
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".visible .entry nothing() { ret; }\n";
	CUmodule module;
	CUresult res = cuModuleLoadData(&module, ptx);

	return res ? res : cuModuleGetFunction(&nothing, module, "nothing");
}

static CUresult launch(CUstream stream, unsigned int blocks)
{
	return cuLaunchKernel(nothing, blocks, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

static void *launches(void *stream)
{
	CUresult res;

	cuCtxSetCurrent(ctx);
	res = launch(stream, 1);
	sem_post(&ready);
	return (void *)(uintptr_t)(res ? res : launch(stream, MEET));
}

static CUresult launches_meet(void)
{
	CUresult mine = load_nothing(), other;
	CUstream stream;
	pthread_t t;

	if (mine)
		return mine;
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	mine = launch(NULL, 1);
	in_thread(&t, launches, stream);
	while (sem_wait(&ready))
		;
	mine = mine ? mine : launch(NULL, MEET);
	other = end_of(t);
	cuStreamDestroy(stream);
	return mine ? mine : other;
}

static void *copies_long(void *arg)
{
	(void)arg;
	cuCtxSetCurrent(ctx);
	return (void *)(uintptr_t)cuMemcpyDtoD(mem, mem + 4096, LONG_COPY);
}

static void *frees(void *p)
{
	cuCtxSetCurrent(ctx);
	return (void *)(uintptr_t)cuMemFree(*(CUdeviceptr *)p);
}

static CUresult allocate_meanwhile(CUdeviceptr *p)
{
	CUresult res;

	while ((res = cuMemAlloc(p, MEANWHILE)) == CUDA_ERROR_NOT_FOUND)
		sched_yield();
	return res;
}

/*
 * Allocations go on during a copy; memory that another call might be using stays until
 * that call is over.
 */
static void during_a_copy(void)
{
	CUdeviceptr meanwhile = 0, old;
	pthread_t copy, free_;
	CUresult res;

	in_thread(&copy, copies_long, NULL);
	res = allocate_meanwhile(&meanwhile);
	ok(!end_of(copy) && !res, "memory_is_allocated_while_another_thread_waits_for_its_copy");
	cuMemAlloc(&old, 4096);
	in_thread(&copy, copies_long, NULL);
	/*
	 * This allocation is made while the copy is under way, so the next call comes during the
	 * copy as well.
	 */
	res = allocate_meanwhile(&meanwhile);
	in_thread(&free_, frees, &old);
	res = res ? res : end_of(copy);
	ok(!res && !end_of(free_), "memory_is_freed_when_the_copy_is_over");
	cuMemFree(meanwhile);
}

/* --- Waits ------------------------------------------------------------------------------- */

static atomic_int waiting;

static void *waits(void *stream)
{
	CUresult res;

	cuCtxSetCurrent(ctx);
	waiting++;
	res = stream ? cuStreamSynchronize(stream) : cuCtxSynchronize();
	return (void *)(uintptr_t)res;
}

/* @threads threads wait for what this thread lets go, after calls of its own. */
static bool held_up(int threads, bool context)
{
	CUresult res, bad = CUDA_SUCCESS;
	pthread_t t[MANY];
	CUstream stream, own;
	CUdeviceptr p;
	int i;

	waiting = 0;
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
	cuMemsetD8Async(mem, HOLD, 1, stream);
	for (i = 0; i < threads; i++)
		in_thread(&t[i], waits, context ? NULL : stream);
	while (waiting < threads)
		sched_yield();
	for (i = 0; i < 200; i++) {
		res = cuMemAlloc(&p, 4096);
		res = res ? res : cuMemsetD8Async(p, i % 100, 4096, own);
		bad = bad ? bad : res ? res : cuStreamSynchronize(own);
	}
	cuMemsetD8Async(mem, LET_GO, 1, stream);
	for (i = 0; i < threads; i++) {
		res = end_of(t[i]);
		bad = bad ? bad : res;
	}
	cuStreamDestroy(stream);
	cuStreamDestroy(own);
	return !bad;
}

/* --- Order --------------------------------------------------------------------------------- */

struct order {
	CUstream first, second;
	CUevent event;
	size_t slow;
	sem_t go, done;
	CUresult res;
};

/* The first launch of its shape is waited for, so the second one is posted. */
static void *posts_slowly(void *arg)
{
	struct order *o = arg;

	cuCtxSetCurrent(ctx);
	for (;;) {
		while (sem_wait(&o->go))
			;
		if (!o->slow)
			return NULL;
		o->res = cuMemsetD8Async(mem, SLOW, 1, o->first);
		if (!o->res && o->event)
			o->res = cuEventRecord(o->event, o->first);
		sem_post(&o->done);
	}
}

static CUresult after_slow(struct order *o, CUstream stream)
{
	CUresult res;

	o->slow++;
	sem_post(&o->go);
	while (sem_wait(&o->done))
		;
	res = o->event ? cuStreamWaitEvent(o->second, o->event, 0) : CUDA_SUCCESS;
	res = res ? res : o->res;
	return res ? res : cuMemsetD8Async(mem, AFTER, o->slow, stream);
}

static bool each_time(struct order *o, CUstream stream)
{
	CUresult res = CUDA_SUCCESS;
	int i;

	for (i = 0; i < 10 && !res; i++)
		res = after_slow(o, stream);
	return !res;
}

static void order(void)
{
	struct order o = { 0 };
	pthread_t t;

	sem_init(&o.go, 0, 0);
	sem_init(&o.done, 0, 0);
	cuStreamCreate(&o.first, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&o.second, CU_STREAM_NON_BLOCKING);
	in_thread(&t, posts_slowly, &o);
	ok(each_time(&o, o.first), "calls_for_one_stream_keep_their_order_across_threads");
	ok(each_time(&o, NULL), "default_stream_comes_after_all_others");
	cuEventCreate(&o.event, CU_EVENT_DISABLE_TIMING);
	ok(each_time(&o, o.second), "event_of_another_thread_is_recorded_before_it_is_waited_for");
	o.slow = 0;
	sem_post(&o.go);
	pthread_join(t, NULL);
}

/* --- More threads than slots --------------------------------------------------------------- */

static void *works(void *number)
{
	uint32_t got[256], i, round;
	CUresult res = CUDA_SUCCESS;
	CUstream stream;
	CUdeviceptr p;

	cuCtxSetCurrent(ctx);
	if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return (void *)1;
	for (round = 0; round < 20 && !res; round++) {
		uint32_t value = (uint32_t)(uintptr_t)number * 1000 + round;

		res = cuMemAlloc(&p, sizeof(got));
		res = res ? res : cuMemsetD32Async(p, value, 256, stream);
		res = res ? res : cuStreamSynchronize(stream);
		res = res ? res : cuMemcpyDtoH(got, p, sizeof(got));
		for (i = 0; i < 256 && !res; i++)
			res = got[i] == value ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
		cuMemFree(p);
	}
	cuStreamDestroy(stream);
	return (void *)(uintptr_t)res;
}

static bool all_work(int threads)
{
	pthread_t t[MANY];
	CUresult res = CUDA_SUCCESS, one;
	int i;

	for (i = 0; i < threads; i++)
		in_thread(&t[i], works, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < threads; i++) {
		one = end_of(t[i]);
		res = res ? res : one;
	}
	return !res;
}

static bool one_after_the_other(void)
{
	CUresult res = CUDA_SUCCESS;
	pthread_t t;
	int i;

	for (i = 0; i < 100 && !res; i++) {
		in_thread(&t, works, (void *)(uintptr_t)i);
		res = end_of(t);
	}
	return !res;
}

/* --- Things that end ------------------------------------------------------------------------ */

/*
 * Every thread destroys, in the same moment, objects that all of them use; this gives
 * CUDA's errors, and no more.
 */
static CUstream shared[8];
static pthread_barrier_t together;

static void *destroys(void *arg)
{
	CUresult res, bad = CUDA_SUCCESS;
	int i, destroyed = 0;

	(void)arg;
	cuCtxSetCurrent(ctx);
	for (i = 0; i < 8; i++) {
		pthread_barrier_wait(&together);
		cuMemsetD8Async(mem, 1, 64, shared[i]);
		res = cuStreamDestroy(shared[i]);
		destroyed += !res;
		if (res && res != CUDA_ERROR_INVALID_HANDLE)
			bad = res;
	}
	return (void *)(uintptr_t)(bad ? 1000 : destroyed);
}

static bool each_ends_once(void)
{
	int i, sum = 0;
	pthread_t t[4];

	for (i = 0; i < 8; i++)
		cuStreamCreate(&shared[i], CU_STREAM_NON_BLOCKING);
	pthread_barrier_init(&together, NULL, 4);
	for (i = 0; i < 4; i++)
		in_thread(&t[i], destroys, NULL);
	for (i = 0; i < 4; i++)
		sum += end_of(t[i]);
	return sum == 8;
}

/* --- Fork ------------------------------------------------------------------------------------- */

static atomic_bool over;

static void *goes_on(void *arg)
{
	CUresult res = CUDA_SUCCESS;
	CUdeviceptr p;

	(void)arg;
	cuCtxSetCurrent(ctx);
	while (!over && !res) {
		res = cuMemAlloc(&p, 64);
		res = res ? res : cuMemFree(p);
	}
	return (void *)(uintptr_t)res;
}

/* The child ends with exit code 0 if its call fails at once. */
static bool child_fails(void)
{
	int status = 1;
	CUdeviceptr p;
	pid_t pid = fork();

	if (!pid) {
		alarm(10);
		_exit(cuMemAlloc(&p, 64) == CUDA_SUCCESS);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static void forks(void)
{
	CUresult res = CUDA_SUCCESS, one;
	bool good = true;
	pthread_t t[6];
	int i;

	for (i = 0; i < 6; i++)
		in_thread(&t[i], goes_on, NULL);
	for (i = 0; i < 20; i++)
		good &= child_fails();
	over = true;
	for (i = 0; i < 6; i++) {
		one = end_of(t[i]);
		res = res ? res : one;
	}
	ok(good, "child_of_a_fork_among_calls_gets_an_error_at_once");
	ok_eq(res, 0, "the_parents_threads_notice_nothing");
}

int main(void)
{
	begin();
	sem_init(&ready, 0, 0);
	tap_plan(16);
	cuMemAlloc(&mem, 8192);
	ok_eq(meeting(), 0, "two_threads_are_inside_of_handlers_at_the_same_time");
	ok_eq(launches_meet(), 0, "so_are_two_launches");
	during_a_copy();
	ok(held_up(1, false), "thread_that_waits_for_a_stream_holds_up_nobody");
	ok(held_up(1, true), "nor_one_that_waits_for_the_context");
	ok(held_up(MANY, false), "nor_more_of_them_than_there_are_slots");
	ok(held_up(MANY, true), "also_in_waits_for_the_context");
	order();
	ok(all_work(MANY), "more_threads_than_slots_finish");
	ok(one_after_the_other(), "slots_of_threads_that_ended_are_used_again");
	ok(each_ends_once(), "what_threads_destroy_at_once_ends_once");
	forks();
	return tap_exit();
}
