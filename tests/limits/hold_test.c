// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how a worker that is held back (hold.c) sleeps. It sleeps on a word
 * that every other tenant's workers may read, so that they can wake whoever sleeps there.
 */
#define _GNU_SOURCE
#include "limits/bucket.h"
#include "tap.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SOME_MS		300
#define STEP_MS		2	/* the length of one sleep */
#define LONG_US		1000

static uint32_t word;
static bool stop;
static struct wh_hold held = { .word = &word };

struct wh_hold wh_sm_held(void)
{
	return held;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Wakes the sleepers, but changes nothing. */
static void *wakes_all_the_time(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		syscall(SYS_futex, &word, FUTEX_WAKE, 64, NULL, NULL, 0);
	return arg;
}

static void *ends_it(void *arg)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	wh_futex_wake(&word);
	return arg;
}

/* Returns how often a worker asks in SOME_MS, as it does after each sleep. */
static unsigned int asks(void)
{
	int64_t end = now_ms() + SOME_MS;
	unsigned int n = 0;

	for (; now_ms() < end; n++)
		wh_sm_hold(LONG_US);
	return n;
}

int main(void)
{
	pthread_t t;
	unsigned int n;

	tap_plan(2);
	pthread_create(&t, NULL, wakes_all_the_time, NULL);
	n = asks();
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	ok(n <= SOME_MS / STEP_MS, "who_is_woken_all_the_time_asks_no_more_for_that");
	diag("%u times in %d ms", n, SOME_MS);
	pthread_create(&t, NULL, ends_it, NULL);
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == held.seen)
		wh_sm_hold(LONG_US);
	pthread_join(t, NULL);
	ok(true, "the_end_of_a_turn_is_seen");
	return tap_exit();
}
