/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How both sides of shm wait for the other's word: look for as long as nobody
 * else wants this CPU, up to a bound, then sleep. A wake from a futex costs a
 * system call and up to 100 us until the sleeper runs; the driver's own waits
 * spin, too. On a machine with less CPUs than runnable threads a spin takes
 * the time from the one that is waited for: a yield that took long says so,
 * and the next waits sleep soon. Each side says on which CPU it waits: where that
 * is this one, too, nothing can come while this side looks, so it looks little
 * and yields. Some of those waits sleep all the same: only who is woken is put on
 * a CPU that has nothing to do. What the other says is a hint: if it lies, or has
 * moved since, a wait takes a little longer.
 */
#ifndef WORMHOLE_SHM_WAIT_H
#define WORMHOLE_SHM_WAIT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WH_SHM_SHORT	2000	/* looks before anything else is done */
#define WH_SHM_ROUND	50	/* looks between two yields */
#define WH_SHM_LATE_NS	30000	/* a yield that took longer let others run */
#define WH_SHM_SHY	64	/* waits without a long spin after that */
#define WH_SHM_MOVE	32	/* of so many waits on the other's CPU one sleeps */

struct wh_shm_spin {
	unsigned int shy;	/* waits left that do not spin long */
	unsigned int shared;	/* waits on the other's CPU */
	uint32_t *mine;		/* words of the slot, or NULL: not said, as 0 is */
	const uint32_t *theirs;
};

static inline uint64_t wh_shm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Is *word == value (equal) or different from it (!equal) now, or after n looks at most? */
static inline bool wh_shm_look(const uint32_t *word, uint32_t value, bool equal, int n)
{
	while (n--) {
		if ((__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) == equal)
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

/* Says where this side waits. Did the other one do so on the same CPU? */
static inline bool wh_shm_shares_cpu(struct wh_shm_spin *s)
{
	uint32_t cpu;

	if (!s->mine)
		return false;
	cpu = sched_getcpu() + 1;
	if (__atomic_load_n(s->mine, __ATOMIC_RELAXED) != cpu)
		__atomic_store_n(s->mine, cpu, __ATOMIC_RELAXED);
	return cpu && __atomic_load_n(s->theirs, __ATOMIC_RELAXED) == cpu;
}

/* False: it did not come within limit_ns, or others need the CPU: sleep. */
static inline bool wh_shm_spin(struct wh_shm_spin *s, const uint32_t *word, uint32_t value,
			       bool equal, uint64_t limit_ns)
{
	uint64_t start, before, now;
	bool shares;

	/* What is there already needs none of this. */
	if (wh_shm_look(word, value, equal, 1))
		return true;
	shares = wh_shm_shares_cpu(s);
	if (wh_shm_look(word, value, equal, shares ? WH_SHM_ROUND : WH_SHM_SHORT))
		return true;
	if (shares && ++s->shared % WH_SHM_MOVE == 0)
		return false;
	if (s->shy) {
		s->shy--;
		return false;
	}
	start = now = wh_shm_now();
	while (now - start < limit_ns) {
		if (wh_shm_look(word, value, equal, WH_SHM_ROUND))
			return true;
		before = wh_shm_now();
		sched_yield();
		now = wh_shm_now();
		if (now - before > WH_SHM_LATE_NS) {
			s->shy = WH_SHM_SHY;
			break;
		}
	}
	return wh_shm_look(word, value, equal, 1);
}

#endif
