// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises copies shared among threads: every byte arrives once and nothing
 * beside the copies changes, for any size and place, and after a copy that siglongjmp()
 * left. It is built with a helper for each CPU, so that this machine has some.
 */
#define _GNU_SOURCE
#include "shm_wait.h"

static bool timed_spin(struct wh_shm_spin *spin, const uint32_t *word, uint32_t value,
		       bool equal, uint64_t limit_ns);

#define CPUS_FOR_EACH 1
#define wh_shm_spin(...) timed_spin(__VA_ARGS__)
#include "../../client-stubs/cuda/bulk.c"
#undef wh_shm_spin

#include <stdlib.h>

#include "tap.h"

#define AREA	(9UL << 20)
#define GUARD	64

static uint8_t *src, *dst;
static uint32_t seed = 99;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 4;
}

static void fill(void)
{
	size_t i;

	for (i = 0; i < AREA; i++)
		src[i] = next_random();
}

static bool right(size_t to, size_t from, size_t n)
{
	size_t i;

	memset(dst, 0x77, AREA);
	wh_bulk_copy(dst + to, src + from, n, AREA);
	for (i = 1; i <= GUARD; i++)
		if (dst[to - i] != 0x77 || dst[to + n + i - 1] != 0x77)
			return false;
	return !memcmp(dst + to, src + from, n);
}

static bool all_sizes(void)
{
	size_t n, i;

	for (i = 0; i < 60; i++) {
		n = next_random() % (AREA / 2);
		if (!right(GUARD + next_random() % 4096, next_random() % 4096, n))
			return false;
	}
	return right(GUARD, 0, SHARED_FROM) && right(GUARD, 0, SHARED_FROM - 1) &&
	       right(GUARD, 1, SHARED_FROM + 1) && right(GUARD, 0, CHUNK * 40);
}

/* Waits until a helper sleeps: the next copy must wake it, or do without it. */
static bool after_sleep(void)
{
	int i;

	for (i = 0; i < 10000000 && !__atomic_load_n(&job.sleepers, __ATOMIC_SEQ_CST); i++)
		sched_yield();
	return i < 10000000 && right(GUARD, 3, AREA / 2);
}

/* siglongjmp() out of a copy leaves its job open, with helpers at work on it. */
static bool after_a_jump(void)
{
	static uint8_t left[AREA];
	int i;

	for (i = 0; i < 20; i++) {
		job.dst = left;
		job.src = src;
		job.size = AREA;
		job.next = 0;
		__atomic_store_n(&job.open, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&job.jobs, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &job.jobs, FUTEX_WAKE_PRIVATE, MAX_HELPERS, NULL, NULL, 0);
		if (!right(GUARD, 5 + i, AREA / 2))
			return false;
	}
	return true;
}

static uint64_t cpu_ns(clockid_t whose)
{
	struct timespec t;

	clock_gettime(whose, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* The CPU time that helpers have spent on looking for a copy. */
static int64_t looked_ns;

/* How long a helper copies depends on the machine and its load. So its looks alone are timed. */
static bool timed_spin(struct wh_shm_spin *spin, const uint32_t *word, uint32_t value,
		       bool equal, uint64_t limit_ns)
{
	uint64_t from = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	bool came = wh_shm_spin(spin, word, value, equal, limit_ns);

	__atomic_fetch_add(&looked_ns, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - from, __ATOMIC_RELAXED);
	return came;
}

static int64_t helpers_looked_ns(void)
{
	return __atomic_load_n(&looked_ns, __ATOMIC_RELAXED);
}

/* Returns the CPU time of all threads but this one. */
static int64_t others_ns(void)
{
	uint64_t own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - own;
}

/* Makes a program's steps, with a copy in each. Returns by how much @time grows in a step. */
static int64_t in_a_step(int64_t (*time)(void), size_t whole)
{
	static const struct timespec step = { .tv_nsec = 2000000 };
	int64_t before = 0;
	int i;

	for (i = 0; i < 60; i++) {
		if (i == 10)	/* by then the helpers know */
			before = time();
		wh_bulk_copy(dst, src, SHARED_FROM, whole);
		nanosleep(&step, NULL);
	}
	return (time() - before) / 50;
}

int main(void)
{
	int64_t ns;

	src = malloc(AREA);
	dst = malloc(AREA);
	fill();
	tap_plan(6);
	ok(all_sizes(), "bytes_arrive_and_neighbours_stay");
	ok(helpers > 0, "helpers_were_started");
	ok(after_sleep(), "copy_after_helpers_fell_asleep_is_right");
	ok(after_a_jump(), "copy_after_one_that_was_left_is_right");
	ns = in_a_step(helpers_looked_ns, WAKE_FROM) / helpers;
	if (!ok(ns < IDLE_NS / 2, "helpers_do_not_look_for_copies_that_are_far_apart"))
		diag("a helper looks for %lld ns in a step", (long long)ns);
	ns = in_a_step(others_ns, SHARED_FROM) / helpers;
	if (!ok(ns < IDLE_NS / 20, "small_copies_wake_nobody"))
		diag("a helper runs for %lld ns in a step", (long long)ns);
	return tap_exit();
}
