// SPDX-License-Identifier: Apache-2.0
/*
 * The locks in a tenant's usage file, which its workers share. Whoever has one reads and writes a
 * few words. So a worker that finds it taken first looks for a moment, as the kernel would need
 * longer to put it to sleep. Over vmfunc such a sleep is even a handoff.
 */
#define _GNU_SOURCE
#include "state/limits.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define PATIENCE_S	5
#define LOOKS		200	/* some 10 us; summing up 64 workers takes less */

/* Tries again and again for a moment; returns as pthread_mutex_trylock() does. */
static int take_soon(pthread_mutex_t *m)
{
	int rc = pthread_mutex_trylock(m), i;

	for (i = 0; rc == EBUSY && i < LOOKS; i++) {
		__builtin_ia32_pause();
		rc = pthread_mutex_trylock(m);
	}
	return rc;
}

/*
 * A worker killed with the lock leaves it to the next one (the mutex is robust). A worker that is
 * stopped or hostile may keep the lock: then calls that need it fail, and nobody hangs.
 */
bool wh_usage_lock(uint64_t *lock)
{
	pthread_mutex_t *m = (pthread_mutex_t *)lock;
	struct timespec until;
	int rc = take_soon(m);

	if (rc == EBUSY) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += PATIENCE_S;
		rc = pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &until);
	}
	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(m);
	return !rc;
}

void wh_usage_unlock(uint64_t *lock)
{
	pthread_mutex_unlock((pthread_mutex_t *)lock);
}
