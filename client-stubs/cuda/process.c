// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the state of the process and of its threads (client.h): a thread's first call, what a
 * thread gives back at its end, and the end of the process.
 */
#define _GNU_SOURCE
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct wh_client wh_client WH_PAIR;
__thread struct wh_thread wh_thread __attribute__((tls_model("initial-exec")));

/* --- Threads --------------------------------------------------------------------------- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* Others wait for whatever a thread still holds at its end, so it is given back. */
static void give_back_all(struct wh_thread *t)
{
	int id;

	if (wh_slot_is_mine(t)) {
		wh_drop_abandoned(t->slot);
		wh_slot_give(t);
	}
	for (id = 0; id < WH_LOCKS; id++)
		if (wh_lock_is_mine(&t->holder, id))
			wh_unlock(id);
}

static void thread_end(void *p)
{
	struct wh_thread *t = p;

	give_back_all(t);
	if (wh_client.state == WH_READY)
		wh_hooks.thread_end(t);
	t->known = false;
	wh_slot_leave(t);
	__atomic_fetch_sub(&wh_client.threads, 1, __ATOMIC_RELAXED);
}

/* The thread in a fork's child has nothing to give back at its end any more. */
void wh_thread_after_fork(void)
{
	if (wh_thread.known)
		pthread_setspecific(thread_key, NULL);
	memset(&wh_thread, 0, sizeof(wh_thread));
}

static void thread_setup(void)
{
	pthread_key_create(&thread_key, thread_end);
}

/* Finds the thread's stack. Without an answer no lock is ever taken over. */
static void find_stack(struct wh_holder *t)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size)) {
		t->stack_low = (uintptr_t)low;
		t->stack_high = (uintptr_t)low + size;
	}
	pthread_attr_destroy(&attr);
}

void wh_thread_first(void)
{
	pthread_once(&thread_once, thread_setup);
	find_stack(&wh_thread.holder);
	pthread_setspecific(thread_key, &wh_thread);
	wh_thread.known = true;
	wh_slot_prefer(&wh_thread);
	__atomic_fetch_add(&wh_client.threads, 1, __ATOMIC_RELAXED);
}

/* --- The end of the process --------------------------------------------------------- */

/* Says how many requests went to the worker, and for how many of these a thread waited. */
static void print_stats(void)
{
	const char *on = getenv("WORMHOLE_STATS");
	uint64_t posted, sent = wh_slots_crossings(&posted);

	if (on && !strcmp(on, "1"))
		fprintf(stderr, "wormhole: info: %llu requests went to the worker, %llu of them were waited for\n",
			(unsigned long long)sent, (unsigned long long)(sent - posted));
}

/*
 * Gives the pair back, so that nobody waits for the host to notice. As a destructor this runs
 * after all atexit() functions, after the destructors of every library that needs this one, and
 * last in this library. A later caller gets CUDA_ERROR_DEINITIALIZED. If a thread is inside a
 * long call, the pair stays until the host notices.
 */
__attribute__((destructor(101))) static void end_of_process(void)
{
	struct wh_link *l = &wh_client.link;

	if (wh_client.state == WH_FORKED || (l->t && wh_client.pid != getpid()))
		return;
	__atomic_store_n(&wh_client.state, WH_ENDED, __ATOMIC_RELEASE);
	print_stats();
	/* If the transport has no end(), the end of the process says it all by itself. */
	if (!l->t || !l->t->end)
		return;
	/* This may also run in a handler on top of a call, or after a call that was left. */
	if (!wh_slots_at_end(&wh_thread))
		return;
	l->t->end(l);
	l->t = NULL;
	wh_slots_give(&wh_thread);
}
