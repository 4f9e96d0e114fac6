// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises groups of SMs for spatial shares (server/tenant/plan.h): shares that
 * fit by percent fit by groups, in whatever order tenants come, and are rounded by the
 * largest remainders. The SMs that remain beside whole groups go to a tenant by the
 * number of SMs.
 */
#include "tenant/plan.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS	16u
#define MOST	64u

/* The devices are like an H100: 15 groups of 8, and 12 SMs; and the same in groups of 4. */
static const struct wh_device own = { .sms = 132, .split = { GROUPS, 8, 12, 0 } };
static const struct wh_device finer = { .sms = 132, .split = { 33, 4, 0, 1 } };

struct tenants {
	const struct wh_device *device;
	struct wh_device_limit limit[MOST][WH_TENANT_DEVICES];
	unsigned int n;
};

/* Returns how many groups the next tenant gets, or 0 if it is refused. */
static unsigned int come(struct tenants *t, unsigned int percent, char *err, size_t size)
{
	struct wh_limit_list list = { .n = 0 };
	struct wh_limit_plan p = { .device = t->device, .devices = 1, .now = t->limit[t->n] };
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

static unsigned int sms_of(const struct wh_device *d, uint64_t groups)
{
	const uint64_t last = 1ULL << (d->split.groups - 1);
	const unsigned int n = (unsigned int)__builtin_popcountll(groups);

	return d->split.rest && groups & last ? (n - 1) * d->split.size + d->split.rest :
						n * d->split.size;
}

/* Returns the most SMs that one of four tenants has too much or too few, in percent of one SM. */
static unsigned int worst(const struct tenants *t, const unsigned int order[4],
			  const unsigned int percent[4])
{
	unsigned int i, most = 0;
	int off;

	for (i = 0; i < 4; i++) {
		off = (int)(100 * sms_of(t->device, t->limit[i][0].sm_groups)) -
		      (int)(percent[order[i]] * t->device->sms);
		most = (unsigned int)abs(off) > most ? (unsigned int)abs(off) : most;
	}
	return most;
}

/* Returns how many tenants, in 24 orders, do not have what is wanted; *off is as in worst(). */
static unsigned int four(const struct wh_device *d, const unsigned int want[4], unsigned int *off,
			 char err[300])
{
	static const unsigned int percent[] = { 40, 30, 20, 10 };
	unsigned int order, i, k, left[4], came[4], one, bad = 0;
	struct tenants t;

	*off = 0;
	for (order = 0; order < 24; order++) {
		memset(&t, 0, sizeof(t));
		t.device = d;
		for (i = 0; i < 4; i++)
			left[i] = i;
		for (i = 4, k = order; i; k /= i, i--) {
			unsigned int chosen = left[k % i];

			came[4 - i] = chosen;
			bad += come(&t, percent[chosen], err, 300) != want[chosen];
			memmove(&left[k % i], &left[k % i + 1], (i - k % i - 1) * sizeof(*left));
		}
		one = worst(&t, came, percent);
		*off = one > *off ? one : *off;
	}
	return bad;
}

static void test_four(void)
{
	static const unsigned int large[] = { 6, 5, 3, 2 }, small[] = { 13, 10, 7, 3 };
	unsigned int bad, off;
	char err[300] = "";

	bad = four(&own, large, &off, err);
	if (!ok(!bad, "tenants_of_40_30_20_and_10_percent_have_6_5_3_and_2_groups_in_any_order"))
		diag("%u of 96 otherwise, %s", bad, err);
	if (!ok(off <= 500, "and_their_SMs_but_for_5"))
		diag("%u hundredths of an SM", off);
	bad = four(&finer, small, &off, err);
	if (!ok(!bad, "and_13_10_7_and_3_of_33_groups_of_4"))
		diag("%u of 96 otherwise, %s", bad, err);
	if (!ok(off <= 200, "and_their_SMs_but_for_2_then"))
		diag("%u hundredths of an SM", off);
}

/* Makes shares of at least a group, 100 % together. */
static void test_random(void)
{
	unsigned int i, left, percent, got, bad = 0, refused = 0;
	struct tenants t;
	char err[300] = "";

	srandom(1);
	for (i = 0; i < 20000; i++) {
		memset(&t, 0, sizeof(t));
		t.device = &own;
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
	struct tenants t = { .device = &own };
	char err[300] = "";
	uint64_t had;

	come(&t, 50, err, sizeof(err));
	come(&t, 50, err, sizeof(err));
	ok(!come(&t, 10, err, sizeof(err)) &&
	   strstr(err, "10 % of its SMs are 2 of 16 groups of 8 SMs, but other tenants have 16"),
	   "who_comes_too_late_is_told_what_others_have");
	/* The same tenant asks again: it is not counted among the others, and keeps its groups. */
	had = t.limit[1][0].sm_groups;
	t.n = 1;
	ok(come(&t, 50, err, sizeof(err)) == 8 && t.limit[1][0].sm_groups == had,
	   "the_same_limit_again_moves_nobody");
}

/* --- What remains beside whole groups ---------------------------------------------------- */

#define REST	(1ULL << (GROUPS - 1))
#define WHOLE	(REST - 1)

static void test_split(void)
{
	struct wh_sm_split s = wh_sm_split_of(15, 8, 12, false);

	ok(s.groups == 16 && s.size == 8 && s.rest == 12 && !s.loose,
	   "what_remains_is_the_last_group");
	s = wh_sm_split_of(8, 16, 4, false);
	ok(s.groups == 8 && !s.rest, "less_than_half_a_group_is_nobodys");
	ok(wh_sm_split_of(64, 2, 0, true).groups == 64 && !wh_sm_split_of(66, 2, 0, true).groups,
	   "more_than_64_groups_are_no_split");
	s = wh_sm_split_of(33, 4, 0, true);
	ok(wh_sm_split_ok(&s, 132) && !wh_sm_split_ok(&s, 131),
	   "a_split_has_no_more_SMs_than_the_device");
}

static void test_rest(void)
{
	const struct wh_sm_split *s = &own.split;

	/* The share is 10.6 SMs, so the tenant gets 8 or 12. */
	ok_eq(wh_sm_groups_choose(s, WHOLE & ~(1u << 3), 1, 8), 1u << 3,
	      "what_remains_is_nobodys_only_group_while_another_is_free");
	ok_eq(wh_sm_groups_choose(s, WHOLE, 1, 8), REST, "and_is_where_none_is");
	/* The share is 52.8 SMs, so the tenant gets 48 or 52. */
	ok_eq(wh_sm_groups_choose(s, 0, 6, 40), REST | 0x1f << 10,
	      "who_is_nearer_to_its_share_with_it_has_it_and_its_neighbours");
	/* The share is 39.6 SMs, so the tenant gets 40 or 44. */
	ok_eq(wh_sm_groups_choose(s, 0, 5, 30), 0x1f, "who_is_not_has_whole_groups");
	ok_eq(wh_sm_groups_choose(s, 0xff, 8, 50), REST | 0x7f << 8,
	      "who_comes_last_has_it_with_the_others");
	ok_eq(wh_sm_groups_choose(s, WHOLE & ~0x9u, 3, 20), REST | 0x9,
	      "groups_are_no_neighbours_where_there_are_none");
	ok(!wh_sm_groups_choose(s, WHOLE & ~0x9u, 4, 20), "more_than_are_left_are_refused");
}

static void test_told(void)
{
	struct tenants t = { .device = &finer };
	struct wh_limit_list none = { .n = 0 };
	struct wh_limit_plan p = { .device = &finer, .devices = 1, .now = t.limit[0] };
	char err[300] = "";

	ok(wh_limits_plan(&p, &none, t.limit[0], err, sizeof(err)) &&
	   t.limit[0][0].sm_group_size == 4 && t.limit[0][0].sm_group_loose == 1,
	   "workers_are_told_the_split_before_there_is_a_limit");
}

int main(void)
{
	tap_plan(20);
	test_four();
	test_random();
	test_full();
	test_split();
	test_rest();
	test_told();
	return tap_exit();
}
