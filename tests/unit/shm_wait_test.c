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
static bool comes_when_we_yield;

static void look(void)
{
	looks++;
}

static int yield(void)
{
	yields++;
	if (comes_when_we_yield)
		word = 1;
	return 0;
}

#define sched_getcpu()		here
#define sched_yield()		yield()
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

int main(void)
{
	unsigned int i, slept = 0;

	tap_plan(7);
	comes_when_we_yield = true;

	begin(4);
	ok(waits() && yields == 1 && looks <= 2 * WH_SHM_ROUND + 1, "other_on_this_cpu_may_run_after_few_looks");
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
	return tap_exit();
}
