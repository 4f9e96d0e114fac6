// SPDX-License-Identifier: Apache-2.0
/*
 * Groups of SMs for spatial shares (server/tenant/plan.h): what fits by percent fits by
 * groups, in whatever order tenants come, and is rounded by the largest remainders.
 */
#include "tenant/plan.h"
#include "tenant/sm_groups.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS	16u
#define MOST	64u

static const struct wh_device device = { .sms = 132, .groups = GROUPS };

struct tenants {
	struct wh_device_limit limit[MOST][WH_TENANT_DEVICES];
	unsigned int n;
};

/* How many groups the next one gets; 0: refused. */
static unsigned int come(struct tenants *t, unsigned int percent, char *err, size_t size)
{
	struct wh_limit_list list = { .n = 0 };
	struct wh_limit_plan p = { .device = &device, .devices = 1, .now = t->limit[t->n] };
	struct wh_limit_spec *s = wh_limit_of(&list, 0);
	unsigned int i;

	*s = (struct wh_limit_spec) { .device = 0, .has_sm = 1, .sm_percent = percent,
				      .has_policy = 1, .sm_policy = WH_SM_SPATIAL };
	for (i = 0; i < t->n; i++)
		wh_limits_others(&p, 0, &t->limit[i][0]);
	if (!wh_limits_plan(&p, &list, t->limit[t->n], err, size))
		return 0;
	for (i = 0; i < t->n; i++)
		if (t->limit[i][0].sm_groups & t->limit[t->n][0].sm_groups)
			return 0;
	return (unsigned int)__builtin_popcountll(t->limit[t->n++][0].sm_groups);
}

static void test_four(void)
{
	static const unsigned int percent[] = { 40, 30, 20, 10 }, want[] = { 6, 5, 3, 2 };
	struct tenants t;
	unsigned int order, i, k, left[4], bad = 0;
	char err[300] = "";

	for (order = 0; order < 24; order++) {
		memset(&t, 0, sizeof(t));
		for (i = 0; i < 4; i++)
			left[i] = i;
		for (i = 4, k = order; i; k /= i, i--) {
			unsigned int chosen = left[k % i];

			bad += come(&t, percent[chosen], err, sizeof(err)) != want[chosen];
			memmove(&left[k % i], &left[k % i + 1], (i - k % i - 1) * sizeof(*left));
		}
	}
	if (!ok(!bad, "tenants_of_40_30_20_and_10_percent_have_6_5_3_and_2_groups_in_any_order"))
		diag("%u of 96 otherwise, %s", bad, err);
}

/* Shares of a group at least, 100 % together. */
static void test_random(void)
{
	unsigned int i, left, percent, got, bad = 0, refused = 0;
	struct tenants t;
	char err[300] = "";

	srandom(1);
	for (i = 0; i < 20000; i++) {
		memset(&t, 0, sizeof(t));
		for (left = 100; left >= 7; left -= percent) {
			percent = 7 + (unsigned int)random() % (left - 6);
			if (percent > 99)
				percent = 99;
			got = come(&t, percent, err, sizeof(err));
			refused += !got;
			bad += got && (got < percent * GROUPS / 100 ||
				       got > (percent * GROUPS + 99) / 100);
		}
	}
	if (!ok(!refused, "whatever_adds_up_to_100_percent_fits"))
		diag("%u refused, the last: %s", refused, err);
	ok(!bad, "each_has_its_share_but_for_a_part_of_a_group");
}

static void test_full(void)
{
	struct tenants t = { .n = 0 };
	char err[300] = "";
	uint64_t had;

	come(&t, 50, err, sizeof(err));
	come(&t, 50, err, sizeof(err));
	ok(!come(&t, 10, err, sizeof(err)) &&
	   strstr(err, "10 % of its SMs are 2 of 16 groups of 8 SMs, but other tenants have 16"),
	   "who_comes_too_late_is_told_what_others_have");
	/* The same again: not counted among the others, it keeps its groups. */
	had = t.limit[1][0].sm_groups;
	t.n = 1;
	ok(come(&t, 50, err, sizeof(err)) == 8 && t.limit[1][0].sm_groups == had,
	   "the_same_limit_again_moves_nobody");
}

int main(void)
{
	tap_plan(5);
	test_four();
	test_random();
	test_full();
	return tap_exit();
}
