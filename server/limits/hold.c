// SPDX-License-Identifier: Apache-2.0
/*
 * How workers sleep whose client is held back, and who wakes them. A client that asked by itself
 * when its turn begins would have to ask all the time. The word to sleep on is in the seat of the
 * tenant that has the device. All others can only read it, which suffices to sleep on it, and to
 * wake those who sleep. A tenant that wakes nobody, or wakes all others all the time, costs them no
 * more than a sleep without a word does.
 */
#define _GNU_SOURCE
#include "limits/bucket.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP_US		2000u	/* longest sleep: the answer may change without the word */
#define SPIN_US		60u	/* less than a sleep and a wake-up take */
#define NEAR_US		200u	/* a turn that ends so soon is awaited by looking */

void wh_futex_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 64, NULL, NULL, 0);
}

static void look_at(const struct wh_hold *h, uint64_t us)
{
	struct timespec begin, now;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (i = 0; i < 64; i++) {
			if (h->word && __atomic_load_n(h->word, __ATOMIC_ACQUIRE) != h->seen)
				return;
			__builtin_ia32_pause();
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((uint64_t)((now.tv_sec - begin.tv_sec) * 1000000 +
			    (now.tv_nsec - begin.tv_nsec) / 1000) < us);
}

/* A sleeper that is woken and finds the word unchanged sleeps on without the word. */
static void sleep_on(const struct wh_hold *h, const struct timespec *t)
{
	if (!syscall(SYS_futex, h->word, FUTEX_WAIT, h->seen, t, NULL, 0) &&
	    __atomic_load_n(h->word, __ATOMIC_ACQUIRE) == h->seen)
		nanosleep(t, NULL);
}

void wh_sm_hold(uint64_t us)
{
	struct wh_hold h = wh_sm_held();
	struct timespec t;

	if (us < SPIN_US) {
		look_at(&h, h.word ? NEAR_US : us);
		return;
	}
	/* The end of a turn wakes the sleeper, so it need not ask often. */
	if (h.word)
		us = STEP_US;
	t = (struct timespec) { us / 1000000, us % 1000000 * 1000L };
	if (h.word)
		sleep_on(&h, &t);
	else
		nanosleep(&t, NULL);
}
