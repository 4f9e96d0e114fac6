// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the client's locks among threads: exclusion, waiting, the end of the
 * process.
 */
#include "tap.h"
#include "lock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define THREADS	6
#define ROUNDS	20000

static int log_lines;
static __thread struct wh_holder self;

void wh_log(const char *fmt, ...)
{
	(void)fmt;
	log_lines++;
}

#define hold()	wh_hold(&self, WH_LOCK_SLOT, __builtin_frame_address(0))

static void let_go(void)
{
	wh_let_go(&self, WH_LOCK_SLOT);
}

/* --- Exclusion -------------------------------------------------------------------- */

static volatile long counter;

static void *count(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		long seen;

		hold();
		seen = counter;
		if (i % 64 == 0)
			sched_yield();	/* so that others find it taken */
		counter = seen + 1;
		let_go();
	}
	return arg;
}

static void test_exclusion(void)
{
	pthread_t t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, count, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ok_eq(counter, (long)THREADS * ROUNDS, "one_thread_at_a_time_holds_it");
	ok_eq(wh_lock_word[WH_LOCK_SLOT], 0, "nobody_holds_it_afterwards");
}

static void test_whose(void)
{
	bool before = wh_lock_is_mine(&self, WH_LOCK_SLOT), held, other;

	hold();
	held = wh_lock_is_mine(&self, WH_LOCK_SLOT);
	other = wh_lock_is_mine(&self, WH_LOCK_LOAD);
	let_go();
	ok(!before && held && !other && !wh_lock_is_mine(&self, WH_LOCK_SLOT),
	   "holder_is_known_while_it_holds");
}

/* --- Waiting -------------------------------------------------------------------------- */

static atomic_int got;

static void *take_once(void *arg)
{
	hold();
	got = 1;
	let_go();
	return arg;
}

static void start_waiter(pthread_t *t)
{
	got = 0;
	pthread_create(t, NULL, take_once, NULL);
	while (!(__atomic_load_n(&wh_lock_word[WH_LOCK_SLOT], __ATOMIC_RELAXED) & WH_LOCK_AWAITED))
		sched_yield();
}

static void test_waiter(void)
{
	pthread_t t;
	int early;

	hold();
	start_waiter(&t);
	early = got;
	let_go();
	pthread_join(t, NULL);
	ok(!early && got, "waiter_gets_it_when_the_holder_leaves");
}

/* The lock is as after a waiter that was woken and left by siglongjmp(): nobody wakes the next. */
static void test_lost_wake(void)
{
	pthread_t t;

	hold();
	start_waiter(&t);
	__atomic_store_n(&wh_lock_word[WH_LOCK_SLOT], 0, __ATOMIC_RELEASE);
	self.held[WH_LOCK_SLOT] = NULL;
	alarm(20);
	pthread_join(t, NULL);
	alarm(0);
	ok(got, "lost_wake_strands_nobody");
}

static void *end(void *arg)
{
	*(bool *)arg = wh_lock_at_end(&self, &wh_lock_word[WH_LOCK_SLOT]);
	return NULL;
}

static void test_end(void)
{
	bool taken = true;
	pthread_t t;

	hold();
	pthread_create(&t, NULL, end, &taken);
	pthread_join(t, NULL);
	ok(!taken, "end_of_the_process_gives_up_on_another_threads_lock");
	ok(wh_lock_at_end(&self, &wh_lock_word[WH_LOCK_SLOT]), "end_of_the_process_takes_over_its_own_threads_lock");
	let_go();
	ok(wh_lock_at_end(&self, &wh_lock_word[WH_LOCK_SLOT]), "end_of_the_process_takes_a_free_lock");
	let_go();
}

int main(void)
{
	tap_plan(8);
	test_exclusion();
	test_whose();
	test_waiter();
	test_lost_wake();
	test_end();
	return tap_exit();
}
