// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises system calls of a view that the slot's companion makes. The service
 * of the page is on one side, the worker's companion on the other, in a thread that this
 * test lets run or not. This machine's kernel makes the calls that are handed on. It
 * needs FSGSBASE.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "enter.h"
#include "fake.h"
#include "vm/companion.h"
#include "vm/raw.h"
#include "../tap.h"

#define SLOT	3
#define RACES	300

static struct wh_ring *ring;
static int ends[2];		/* of a pipe */

/* --- The companion's thread --------------------------------------------------------- */

enum { REST, SERVE, LATE, SOMETIMES, QUIT };
static int mode = REST, seen = REST;
static unsigned int served;

/* Waits until the companion does so: it may be in the middle of what it did before. */
static void set_mode(int m)
{
	__atomic_store_n(&mode, m, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&seen, __ATOMIC_SEQ_CST) != m)
		__builtin_ia32_pause();
}

/* Takes a request, and answers it when the call has gone to sleep for it. */
static void serve_late(void)
{
	uint32_t state = WH_RING_ASKED;

	if (!__atomic_compare_exchange_n(&ring->call, &state, WH_RING_TAKEN, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return;
	while (__atomic_load_n(&ring->call, __ATOMIC_SEQ_CST) != WH_RING_AWAITED)
		;
	ring->result = 4321;
	served++;
	__atomic_store_n(&ring->call, WH_RING_FREE, __ATOMIC_SEQ_CST);
	raw(SYS_futex, (uint64_t)&ring->call, FUTEX_WAKE_PRIVATE, 1, 0);
}

/* Begins at about the moment when the call gives up. */
static void serve_sometimes(void)
{
	static unsigned int seed = 1;
	uint64_t start = __builtin_ia32_rdtsc();
	uint64_t late = (uint64_t)rand_r(&seed) % (2 * fake_world->patience);

	if (__atomic_load_n(&ring->call, __ATOMIC_SEQ_CST) != WH_RING_ASKED)
		return;
	while (__builtin_ia32_rdtsc() - start < late)
		;
	served += (unsigned int)wh_companion_serve(ring);
}

static void *companion(void *none)
{
	int m;

	do {
		m = __atomic_load_n(&mode, __ATOMIC_SEQ_CST);
		__atomic_store_n(&seen, m, __ATOMIC_SEQ_CST);
		if (m == SERVE)
			served += (unsigned int)wh_companion_serve(ring);
		else if (m == LATE)
			serve_late();
		else if (m == SOMETIMES)
			serve_sometimes();
	} while (m != QUIT);
	return none;
}

/* The count changes after the answer, so this waits a moment. */
static int served_is(unsigned int n)
{
	int i;

	for (i = 0; i < 1000000000 && __atomic_load_n(&served, __ATOMIC_SEQ_CST) != n; i++)
		__builtin_ia32_pause();
	return __atomic_load_n(&served, __ATOMIC_SEQ_CST) == n;
}

/*
 * Some seconds, because the companion's thread may have to wait for a CPU, or the whole machine
 * stand still meanwhile.
 */
static uint64_t long_patience(void)
{
	return 2500 * wh_companion_patience();
}

/* --- Calls ---------------------------------------------------------------------------- */

static int kept;

static int64_t ask(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	const uint64_t arg[6] = { a, b, c, d, e, f };
	struct after after = enter((uint64_t)nr, arg);

	kept = keeps(&after, arg);
	return (int64_t)after.rax;
}

static uint32_t *wakes(void)
{
	return (uint32_t *)((char *)fake_page + 2 * WH_PAGE_SIZE + 16);
}

static void test_calls(void)
{
	int n = 0;
	char *p;

	set_mode(SERVE);
	ok(!ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 4, 5, 6) && n == 3 && kept &&
	   served_is(1) && ring->nr == SYS_ioctl, "system_call_is_made_by_the_companion");
	ok(ask(SYS_ioctl, 1000, FIONREAD, (uint64_t)&n, 4, 5, 6) == -EBADF && kept,
	   "so_are_those_that_fail");
	p = (char *)ask(SYS_mmap, 0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			~0ULL, 0);
	ok(p != MAP_FAILED && kept && (p[4096] = 1), "all_six_arguments_and_the_result_cross");
	ok(!ask(SYS_mprotect, (uint64_t)p, 4096, PROT_READ, 0, 0, 0) &&
	   !ask(SYS_munmap, (uint64_t)p, 8192, 0, 0, 0, 0) && kept && served_is(5),
	   "so_do_protections_and_ends_of_mappings");
}

static void test_transfers(void)
{
	static char big[8192];
	unsigned int before = served;
	char text[8] = "";

	ok(ask(SYS_write, (uint64_t)ends[1], (uint64_t)"def", 3, 0, 0, 0) == 3 && kept &&
	   ring->result == 3 &&
	   ask(SYS_read, (uint64_t)ends[0], (uint64_t)text, 8, 0, 0, 0) == 6 && kept &&
	   ring->result == 6 && !memcmp(text, "abcdef", 6), "small_reads_and_writes_are_made");
	ok(ask(SYS_read, (uint64_t)ends[0], (uint64_t)text, 8, 0, 0, 0) == -EAGAIN && kept &&
	   ring->result == WH_RING_SELF, "one_that_would_wait_is_the_threads_own");
	ok(ask(SYS_write, (uint64_t)ends[1], (uint64_t)big, sizeof(big), 0, 0, 0) == sizeof(big) &&
	   kept && ring->result == WH_RING_SELF, "so_is_a_large_one");
	ok(ask(SYS_pwrite64, (uint64_t)ends[1], (uint64_t)text, 1, ~0ULL, 0, 0) == -EINVAL && kept,
	   "an_offset_below_zero_is_none_of_the_files_own");
	ok(served_is(before + 5), "each_was_served_once");
}

static void test_wakes(void)
{
	unsigned int before = served;
	int n;

	*wakes() = 0;
	ring->sleeps = 0;
	ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 0, 0, 0);
	ok(!*wakes(), "companion_that_looks_is_not_woken");
	ring->sleeps = 1;
	ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 0, 0, 0);
	ok(*wakes() == 1 && kept && served_is(before + 2), "companion_that_sleeps_is_woken");
	ok(ring->wake_ticks && !ring->woken, "how_long_that_took_is_kept");
	ring->sleeps = 0;
	ring->wake_ticks = 0;
	ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 0, 0, 0);
	ok(!ring->wake_ticks && kept && served_is(before + 3), "an_answer_without_one_is_none");
}

static void test_looks(void)
{
	uint64_t us = wh_companion_patience() / 4000;

	ok(wh_companion_look_ns(0) == 100000 && wh_companion_look_ns(20 * us) == 100000,
	   "companion_looks_for_100_us_before_it_sleeps");
	ok(wh_companion_look_ns(200 * us) / 50000 == 8 ||
	   wh_companion_look_ns(200 * us) / 50000 == 7,
	   "or_twice_as_long_as_a_wake_up_takes");
	ok(wh_companion_look_ns(1000000 * us) == 2000000 && wh_companion_look_ns(~0ULL) == 2000000,
	   "but_2_ms_at_most");
}

/* --- Nobody there, or too late -------------------------------------------------------------- */

static void test_nobody(void)
{
	unsigned int before = served;
	int n = 0;

	set_mode(REST);
	fake_world->patience = wh_companion_patience();
	ok(!ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 4, 5, 6) && n == 8192 &&
	   kept && ring->call == WH_RING_FREE && served == before,
	   "one_that_nobody_begins_is_handed_on");
	fake_world->patience = long_patience();
	fake_view->view = 0;
	ring->nr = 0;
	ok(!ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 4, 5, 6) && !ring->nr,
	   "outside_of_a_view_nobody_is_asked");
	fake_view->view = WH_SLOT_VIEW;
	fake_world->rings = 0;
	ok(!ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 4, 5, 6) && !ring->nr,
	   "nor_where_there_are_no_companions");
	fake_world->rings = (uint64_t)wh_companion_rings();
}

static bool is_late_once(void)
{
	unsigned int before = served;
	int n = 77;

	return ask(SYS_ioctl, (uint64_t)ends[0], FIONREAD, (uint64_t)&n, 4, 5, 6) == 4321 && kept &&
	       n == 77 && served == before + 1;
}

/* The call waits for all of its patience, so that is short, and one of some tries counts. */
static void test_late(void)
{
	bool good = false;
	int i;

	set_mode(LATE);
	fake_world->patience = 100 * wh_companion_patience();
	for (i = 0; i < 5 && !good; i++)
		good = is_late_once();
	ok(good, "one_that_takes_long_is_waited_for_and_not_repeated");
}

static int pending(void)
{
	int n = -1;

	return ioctl(ends[0], FIONREAD, &n) ? -1 : n;
}

static void test_races(void)
{
	unsigned int before = served;
	int i, right = 0, had = pending();

	fake_world->patience = wh_companion_patience();
	set_mode(SOMETIMES);
	for (i = 0; i < RACES; i++)
		right += ask(SYS_write, (uint64_t)ends[1], (uint64_t)"x", 1, 0, 0, 0) == 1 && kept;
	printf("# %u of %d begun in time\n", served - before, RACES);
	ok(right == RACES && pending() == had + RACES,
	   "each_is_made_once_whoever_comes_first");
}

/* --- Posted wake-ups ------------------------------------------------------------------------- */

static uint32_t word;
static int awake;

static void *sleeper(void *none)
{
	while (raw(SYS_futex, (uint64_t)&word, FUTEX_WAIT_PRIVATE, 0, 0))
		;
	__atomic_add_fetch(&awake, 1, __ATOMIC_SEQ_CST);
	return none;
}

/* Returns how many threads sleep there: they are moved away, and back. */
static int64_t sleepers(void)
{
	static uint32_t elsewhere;
	const uint64_t away[6] = {
		(uint64_t)&word, FUTEX_REQUEUE_PRIVATE, 0, 2, (uint64_t)&elsewhere, 0,
	};
	const uint64_t back[6] = {
		(uint64_t)&elsewhere, FUTEX_REQUEUE_PRIVATE, 0, 2, (uint64_t)&word, 0,
	};
	int64_t n = raw6(SYS_futex, away);

	raw6(SYS_futex, back);
	return n;
}

static void test_posts(void)
{
	pthread_t t[2];
	int i, none = 0;

	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, sleeper, NULL);
	while (sleepers() != 2)
		;
	set_mode(REST);
	none += !ask(SYS_futex, (uint64_t)&word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) && kept;
	ok(none == 1 && ring->post == WH_RING_ASKED && !awake, "wake_up_of_a_futex_is_posted");
	set_mode(SERVE);
	none += !ask(SYS_futex, (uint64_t)&word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) && kept;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ok(awake == 2, "and_none_is_lost");
	ok(ask(SYS_futex, 1ULL << 47, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) == -EFAULT && kept,
	   "address_that_is_none_is_the_kernels");
}

int main(void)
{
	const char *why = fake_setup();
	pthread_t thread;

	if (why) {
		printf("TAP version 13\n1..0 # SKIP %s\n", why);
		return 0;
	}
	memset(vectors_in, 0x3c, sizeof(vectors_in));
	fake_world->rings = (uint64_t)wh_companion_rings();
	fake_world->patience = long_patience();
	fake_view->view = WH_SLOT_VIEW;
	fake_view->slot = SLOT;
	ring = wh_companion_rings() + SLOT;
	if (pipe2(ends, O_NONBLOCK) || write(ends[1], "abc", 3) != 3 ||
	    pthread_create(&thread, NULL, companion, NULL))
		return 1;
	tap_plan(24);
	test_calls();
	test_transfers();
	test_wakes();
	test_looks();
	test_nobody();
	test_late();
	test_races();
	test_posts();
	set_mode(QUIT);
	pthread_join(thread, NULL);
	return tap_exit();
}
