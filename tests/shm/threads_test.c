// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises threads whose calls alternate, each with its own context. A call runs
 * in its own thread's context, also in a thread that got the identity of one that ended,
 * and not in a context that another thread has destroyed.
 */
#include <semaphore.h>
#include <stdbool.h>

#include "driver_test.h"

#define TURNS	20

struct peer {
	pthread_t thread;
	sem_t go, done;
	bool over;
	CUcontext own;
	CUresult res;		/* of the last allocation */
	CUcontext ctx;		/* the context in which it was made */
};

/* In which context does this thread allocate? */
static void allocate(struct peer *p)
{
	CUdeviceptr mem;

	p->ctx = NULL;
	p->res = cuMemAlloc(&mem, 64);
	if (p->res != CUDA_SUCCESS)
		return;
	cuPointerGetAttribute(&p->ctx, CU_POINTER_ATTRIBUTE_CONTEXT, mem);
	cuMemFree(mem);
}

static void *follow(void *arg)
{
	struct peer *p = arg;

	cuCtxCreate(&p->own, NULL, 0, 0);
	sem_post(&p->done);
	for (;;) {
		sem_wait(&p->go);
		if (p->over)
			return NULL;
		allocate(p);
		sem_post(&p->done);
	}
}

static void start(struct peer *p)
{
	sem_init(&p->go, 0, 0);
	sem_init(&p->done, 0, 0);
	pthread_create(&p->thread, NULL, follow, p);
	sem_wait(&p->done);
}

static void turn(struct peer *p)
{
	sem_post(&p->go);
	sem_wait(&p->done);
}

static void end(struct peer *p)
{
	p->over = true;
	sem_post(&p->go);
	pthread_join(p->thread, NULL);
}

static void test_turns(struct peer *a, struct peer *b)
{
	struct peer self = { .own = ctx };
	int i, right = 0;

	for (i = 0; i < TURNS; i++) {
		turn(a);
		turn(b);
		allocate(&self);
		right += a->ctx && a->ctx == a->own && b->ctx && b->ctx == b->own &&
			 self.ctx == ctx;
	}
	ok_eq(right, TURNS, "each_threads_calls_run_in_its_own_context");
}

static void test_destroyed(struct peer *a, struct peer *b)
{
	CUcontext more = NULL;

	turn(a);
	ok_eq(cuCtxDestroy(a->own), 0, "context_of_another_thread_is_destroyed");
	turn(a);
	ok(a->res == CUDA_ERROR_INVALID_CONTEXT || a->res == CUDA_ERROR_CONTEXT_IS_DESTROYED,
	   "that_threads_next_call_is_refused");
	cuCtxCreate(&more, NULL, 0, 0);
	turn(a);
	ok(a->res == CUDA_ERROR_INVALID_CONTEXT || a->res == CUDA_ERROR_CONTEXT_IS_DESTROYED,
	   "and_does_not_run_in_a_newer_context");
	turn(b);
	ok(b->ctx && b->ctx == b->own, "other_threads_keep_theirs");
	cuCtxDestroy(more);
}

static void *set_and_allocate(void *arg)
{
	struct peer *p = arg;

	cuCtxSetCurrent(ctx);
	allocate(p);
	return NULL;
}

/* Threads that run one after another get the same stack, and so the same pthread_self(). */
static void test_successors(void)
{
	struct peer p = { .own = ctx };
	int i, right = 0;

	for (i = 0; i < TURNS; i++) {
		pthread_create(&p.thread, NULL, set_and_allocate, &p);
		pthread_join(p.thread, NULL);
		right += p.res == CUDA_SUCCESS && p.ctx == ctx;
	}
	ok_eq(right, TURNS, "new_thread_does_not_inherit_what_an_ended_one_had_current");
}

int main(void)
{
	struct peer a = { 0 }, b = { 0 };

	tap_plan(6);
	begin();
	start(&a);
	start(&b);
	test_turns(&a, &b);
	test_destroyed(&a, &b);
	end(&a);
	end(&b);
	test_successors();
	return tap_exit();
}
