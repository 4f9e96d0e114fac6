// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises estimates of how long launches take: of each kind by itself, although several
 * kinds are measured together, and by the mean where nothing is known of a kind.
 */
#include "tap.h"
#include "limits/kinds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LONG	7u	/* what the client calls these */
#define SHORT	9u
#define LONG_NS		150e3
#define SHORT_NS	8e3

static struct wh_sm_kinds k;
static struct wh_sm_recent row;
static struct wh_sm_work under_way, unmarked;

static void begin(uint64_t mean_ns)
{
	memset(&k, 0, sizeof(k));
	memset(&row, 0, sizeof(row));
	under_way = unmarked = (struct wh_sm_work) { 0 };
	k.mean_ns = mean_ns;
}

static void launch(uint32_t alike)
{
	wh_kind_launched(&k, wh_kind_of(&k, alike), &row, &under_way, &unmarked);
}

static double ns_of(uint32_t alike)
{
	return wh_kind_ns(&k, wh_kind_of(&k, alike));
}

static bool near(double got, double want)
{
	return fabs(got - want) < want / 10;
}

/* So many of both, in one batch. */
static void measure(uint32_t longs, uint32_t shorts)
{
	uint32_t first = row.launches, i;

	for (i = 0; i < longs; i++)
		launch(LONG);
	for (i = 0; i < shorts; i++)
		launch(SHORT);
	wh_kinds_learn(&k, &row, first, longs + shorts, longs * LONG_NS + shorts * SHORT_NS);
}

static void test_unknown(void)
{
	begin(2000000);
	ok(near(ns_of(LONG), 2e6) && near(ns_of(0), 2e6), "of_a_new_kind_the_mean_is_known");
	launch(LONG);
	launch(0);
	k.mean_ns = 1000;
	ok(near(wh_work_ns(&k, &under_way), 2000), "work_of_new_kinds_follows_the_mean");
	measure(4, 0);
	ok(near(ns_of(LONG), 4 * (double)k.mean_ns), "one_batch_says_no_more_than_four_times");
	ok(near(ns_of(0), (double)k.mean_ns), "launches_that_are_like_none_have_the_mean");
}

static void test_mixed(void)
{
	int i;

	begin(2000000);
	/* Markers fall elsewhere each time. */
	for (i = 0; i < 100; i++)
		measure((uint32_t)i % 4, (uint32_t)(i * 7) % 31);
	ok(near(ns_of(LONG), LONG_NS), "long_ones_are_known_from_batches_with_short_ones");
	ok(near(ns_of(SHORT), SHORT_NS), "and_short_ones_with_long_ones");
	under_way = unmarked = (struct wh_sm_work) { 0 };
	for (i = 0; i < 10; i++)
		launch(i < 2 ? LONG : SHORT);
	ok(near(wh_work_ns(&k, &under_way), 2 * LONG_NS + 8 * SHORT_NS),
	   "work_under_way_is_the_sum_of_its_launches");
	wh_work_done(&under_way, &unmarked, 1);
	ok(wh_work_ns(&k, &under_way) < 1, "what_is_done_is_taken_off");
	under_way.ns = 3;
	wh_work_done(&under_way, &unmarked, 0);
	ok(under_way.ns == 0 && under_way.unknown == 0, "when_all_is_done_nothing_is_left");
}

static void test_change(void)
{
	int i;

	begin(10000);
	for (i = 0; i < 50; i++)
		measure(1, 0);
	for (i = 0; i < 50; i++) {
		launch(LONG);
		wh_kinds_learn(&k, &row, row.launches - 1, 1, LONG_NS / 10);
	}
	ok(near(ns_of(LONG), LONG_NS / 10), "a_kind_that_becomes_shorter_is_followed");
	ok_eq(wh_kind_of(&k, LONG + WH_SM_KINDS), wh_kind_of(&k, LONG), "two_kinds_may_have_one_place");
	ok(near(ns_of(LONG), (double)k.mean_ns), "then_one_of_them_is_forgotten");
}

static void test_too_many(void)
{
	uint32_t i;
	double before;

	begin(10000);
	for (i = 0; i < 50; i++)
		measure((uint32_t)i % 2, 1);
	before = ns_of(LONG);
	for (i = 0; i < WH_SM_RECENT + 1; i++)
		launch(SHORT);
	wh_kinds_learn(&k, &row, row.launches - WH_SM_RECENT - 1, WH_SM_RECENT + 1, 1e9);
	wh_kinds_learn(&k, &row, row.launches - WH_SM_RECENT - 2, 1, 1e9);
	ok(ns_of(LONG) == before && near(ns_of(SHORT), SHORT_NS),
	   "launches_that_are_too_long_ago_say_nothing_of_kinds");
	wh_kinds_learn(&k, &row, row.launches, 0, 1e9);
	ok(ns_of(LONG) == before, "nor_do_none");
}

int main(void)
{
	tap_plan(14);
	test_unknown();
	test_mixed();
	test_change();
	test_too_many();
	return tap_exit();
}
