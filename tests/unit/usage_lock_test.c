// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how a worker waits for a lock that its tenant's workers share. The holder gives
 * it back after so many looks, and what would sleep is counted.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static unsigned int looks, sleeps, held_looks;
static long patience_s;
static pthread_mutex_t lock;

static void look(void)
{
	if (++looks == held_looks)
		pthread_mutex_unlock(&lock);
}

static int sleep_for(const struct timespec *until)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	patience_s = until->tv_sec - now.tv_sec;
	sleeps++;
	return ETIMEDOUT;
}

#define __builtin_ia32_pause()			look()
#define pthread_mutex_clocklock(m, id, until)	sleep_for(until)
#include "../../server/limits/usage_lock.c"

#include "tap.h"

/* Begins with the lock, held for so many looks. 0: it is free. */
static void begin(unsigned int n)
{
	looks = sleeps = 0;
	patience_s = 0;
	held_looks = n;
	if (n)
		pthread_mutex_lock(&lock);
}

static void *take_and_end(void *unused)
{
	pthread_mutex_lock(&lock);
	return unused;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&lock, &attr);
	tap_plan(6);

	begin(0);
	ok(wh_usage_lock((uint64_t *)&lock) && !looks && !sleeps, "a_free_lock_is_taken_at_once");
	wh_usage_unlock((uint64_t *)&lock);

	begin(20);
	ok(wh_usage_lock((uint64_t *)&lock) && looks == 20 && !sleeps,
	   "a_lock_that_is_held_for_a_moment_is_taken_without_a_sleep");
	wh_usage_unlock((uint64_t *)&lock);

	begin(1000000);
	ok(!wh_usage_lock((uint64_t *)&lock) && sleeps == 1 && looks < 1000,
	   "a_lock_that_is_held_for_longer_is_slept_for");
	ok(patience_s >= 4 && patience_s <= 5, "for_five_seconds_at_most");
	wh_usage_unlock((uint64_t *)&lock);

	begin(0);
	pthread_create(&thread, NULL, take_and_end, NULL);
	pthread_join(thread, NULL);
	ok(wh_usage_lock((uint64_t *)&lock) && !sleeps, "a_lock_whose_holder_has_ended_is_taken");
	wh_usage_unlock((uint64_t *)&lock);
	ok(wh_usage_lock((uint64_t *)&lock), "and_works_as_before");
	return tap_exit();
}
