// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how one side of shm waits for the other's word, which comes when this
 * side yields (both are on one CPU) or while it looks. Its pauses count the looks.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static unsigned int looks, yields;
static int here = 3;
static uint32_t word;
static bool comes_when_we_yield, others_run;
static uint64_t clock_ns, yield_ns;

static void look(void)
{
	looks++;
}

static int yield(void)
{
	yields++;
	if (comes_when_we_yield)
		word = 1;
	clock_ns += others_run ? 3000000 : yield_ns;
	return 0;
}

/* A clock that only others' work moves on. */
static int read_clock(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){ .tv_sec = clock_ns / 1000000000, .tv_nsec = clock_ns % 1000000000 };
	return 0;
}

#define sched_getcpu()		here
#define sched_yield()		yield()
#define clock_gettime(id, t)	read_clock(id, t)
#define __builtin_ia32_pause()	look()
#include "shm_wait.h"

#include "tap.h"

static uint32_t mine, theirs;
static struct wh_shm_spin spin;

static void begin(uint32_t where)
{
	spin = (struct wh_shm_spin){ .mine = &mine, .theirs = &theirs };
	mine = 0;
	theirs = where;
	word = looks = yields = 0;
}

static bool waits(void)
{
	return wh_shm_spin(&spin, &word, 0, false, 1000000000);
}

/* Returns how many of so many waits yielded, on the other side's CPU. */
static unsigned int yields_of(unsigned int n)
{
	unsigned int before = yields;

	for (; n; n--) {
		word = 0;
		waits();
	}
	return yields - before;
}

static void test_others(void)
{
	unsigned int first;

	begin(4);
	others_run = true;
	first = yields_of(10 * WH_SHM_SHY);
	yields_of(20 * WH_SHM_SHIEST);
	ok(first > 1 && yields_of(10 * WH_SHM_SHIEST) <= 11, "who_loses_the_cpu_at_each_yield_yields_less_and_less");
	others_run = false;
	yields_of(2 * WH_SHM_SHIEST + 1000);
	others_run = true;
	ok(yields_of(10 * WH_SHM_SHY) == first, "until_yields_have_been_short_for_long");
	others_run = false;

	begin(4);
	comes_when_we_yield = false;
	ok(!waits() && yields == WH_SHM_IN_VAIN && looks <= WH_SHM_IN_VAIN + 2,
	   "who_yields_to_this_cpu_in_vain_sleeps");
	ok(yields_of(WH_SHM_SHY) <= WH_SHM_IN_VAIN, "and_does_not_try_again_soon");
	comes_when_we_yield = true;
}

/* Returns how long it polls for a word that does not come, while the other side holds it back. */
static uint64_t polls_ns(uint32_t held)
{
	uint64_t before = clock_ns;

	begin(5);
	spin.held = &held;
	waits();
	return clock_ns - before;
}

static void test_held(void)
{
	comes_when_we_yield = false;
	yield_ns = 1000;
	ok(polls_ns(0) >= 1000000000, "what_is_not_held_back_is_looked_for_long");
	ok_eq(polls_ns(1), WH_SHM_HELD_NS, "what_is_held_back_is_not");
	begin(5);
	spin.held = &word;
	others_run = true;
	waits();
	ok_eq(yields_of(WH_SHM_SHY), 0, "and_who_has_lost_the_cpu_does_not_look_longer_for_that");
	others_run = false;
	yield_ns = 0;
}

int main(void)
{
	unsigned int i, slept = 0;

	tap_plan(14);
	comes_when_we_yield = true;

	begin(4);
	ok(waits() && yields == 1 && looks <= 3, "other_on_this_cpu_may_run_at_once");
	ok(mine == 4, "who_waits_says_where");
	begin(5);
	ok(waits() && looks > WH_SHM_SHORT, "other_elsewhere_is_looked_for_long");
	begin(0);
	ok(waits() && looks > WH_SHM_SHORT, "as_is_one_that_has_not_said_where");
	here = -1;
	begin(0);
	ok(waits() && looks > WH_SHM_SHORT, "or_if_nobody_knows");
	here = 3;

	begin(4);
	for (i = 0; i < 10 * WH_SHM_MOVE; i++) {
		word = 0;
		slept += !waits();
	}
	ok_eq(slept, 10, "some_waits_sleep_so_that_another_cpu_may_be_found");

	begin(4);
	word = 1;
	for (i = 0; i < 10 * WH_SHM_MOVE && waits(); i++)
		;
	ok(i == 10 * WH_SHM_MOVE && !yields && !looks, "what_is_there_already_is_not_waited_for");
	test_others();
	test_held();
	return tap_exit();
}
