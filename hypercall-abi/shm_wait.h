/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How both sides of shm wait for a word of the other side. A side polls as long as nobody
 * else wants its CPU, up to a limit, and then sleeps: a wake-up from a futex costs a system
 * call and up to 100 us until the sleeper runs, and the driver's own waits spin, too.
 *
 * If a machine has fewer CPUs than runnable threads, a spin takes time from the thread that
 * is waited for. A yield that took long shows this, and the next waits then sleep soon. Each such
 * yield may cost a slice of the scheduler, so they become rare as long as they take long.
 *
 * Each side says on which CPU it waits. If both wait on one CPU, nothing can arrive while
 * this side polls, so it yields first and polls then. Some of those waits sleep nevertheless,
 * since the kernel moves only a thread that is woken to an idle CPU. What the other side
 * says is a hint: if it lies or has moved meanwhile, a wait takes a little longer.
 */
#ifndef WORMHOLE_SHM_WAIT_H
#define WORMHOLE_SHM_WAIT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WH_SHM_SHORT	2000	/* looks at the word before anything else is done */
#define WH_SHM_ROUND	50	/* looks between two yields */
#define WH_SHM_LATE_NS	30000	/* a yield that took longer has let others run */
#define WH_SHM_SHY	64	/* number of waits without a long spin after that, and twice */
#define WH_SHM_SHIEST	4096	/* as many, up to this, after each further yield that takes long */
#define WH_SHM_DECAY	64	/* a yield that was short takes off this part */
#define WH_SHM_IN_VAIN	2	/* yields to the other side on this CPU before a sleep */
#define WH_SHM_MOVE	32	/* one of so many waits on the other side's CPU sleeps */
#define WH_SHM_HELD_NS	200000	/* it polls for so long at most for what is held back */

struct wh_shm_spin {
	unsigned int shy;	/* number of waits left that do not spin long */
	unsigned int late;	/* so many after the last yield that took long or was in vain */
	unsigned int shared;	/* number of waits on the other side's CPU */
	uint32_t *mine;		/* words of the slot; NULL: nothing is said, which 0 means, too */
	const uint32_t *theirs;
	const uint32_t *held;	/* not 0 while the other side holds the answer back; or NULL */
};

static inline uint64_t wh_shm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Polls at most @n times. Returns whether *word == value (equal), or *word != value (!equal). */
static inline bool wh_shm_look(const uint32_t *word, uint32_t value, bool equal, int n)
{
	while (n--) {
		if ((__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) == equal)
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

/* Says on which CPU this side waits. Returns true if the other side said the same CPU. */
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

/* The next waits sleep soon: the more of them, the more often this was so. */
static inline void wh_shm_be_shy(struct wh_shm_spin *s)
{
	s->late = !s->late ? WH_SHM_SHY : s->late < WH_SHM_SHIEST ? 2 * s->late : WH_SHM_SHIEST;
	s->shy = s->late;
}

/* Returns false if others have run meanwhile. */
static inline bool wh_shm_yield(struct wh_shm_spin *s)
{
	uint64_t before = wh_shm_now();

	sched_yield();
	if (wh_shm_now() - before > WH_SHM_LATE_NS) {
		wh_shm_be_shy(s);
		return false;
	}
	s->late -= (s->late + WH_SHM_DECAY - 1) / WH_SHM_DECAY;
	return true;
}

/*
 * Lets the other side, which waits on this CPU, run. A scheduler may prefer this side for a while
 * nevertheless, until it sleeps.
 */
static inline bool wh_shm_hand_over(struct wh_shm_spin *s, const uint32_t *word, uint32_t value,
				    bool equal)
{
	int n;

	for (n = 0; n < WH_SHM_IN_VAIN; n++) {
		if (!wh_shm_yield(s))
			return wh_shm_look(word, value, equal, 1);
		if (wh_shm_look(word, value, equal, 1))
			return true;
	}
	wh_shm_be_shy(s);
	return false;
}

static inline bool wh_shm_goes_on(const struct wh_shm_spin *s, uint64_t ns, uint64_t limit_ns)
{
	return ns < limit_ns && (ns < WH_SHM_HELD_NS || !s->held ||
				 !__atomic_load_n(s->held, __ATOMIC_RELAXED));
}

/*
 * Polls the word. Returns false if it did not change within limit_ns, if it is held back, or if
 * others need the CPU: then sleep.
 */
static inline bool wh_shm_spin(struct wh_shm_spin *s, const uint32_t *word, uint32_t value,
			       bool equal, uint64_t limit_ns)
{
	uint64_t start;
	bool shares;

	/* If the word has changed already, nothing of this is needed. */
	if (wh_shm_look(word, value, equal, 1))
		return true;
	shares = wh_shm_shares_cpu(s);
	if (!shares && wh_shm_look(word, value, equal, WH_SHM_SHORT))
		return true;
	if (shares && ++s->shared % WH_SHM_MOVE == 0)
		return false;
	if (s->shy) {
		s->shy--;
		return false;
	}
	if (shares)
		return wh_shm_hand_over(s, word, value, equal);
	start = wh_shm_now();
	do {
		if (wh_shm_look(word, value, equal, WH_SHM_ROUND))
			return true;
	} while (wh_shm_yield(s) && wh_shm_goes_on(s, wh_shm_now() - start, limit_ns));
	return wh_shm_look(word, value, equal, 1);
}

#endif
