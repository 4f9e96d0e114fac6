// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the temporal SM limit on a device in virtual time. For every length
 * of kernels and every share, alone and beside another tenant, a tenant really gets its
 * share of the device within 2 points.
 */
#include "sim_client.h"
#include "tap.h"

#include <math.h>

#define POINTS		2.0
#define SECONDS		1e9

/* --- Points ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	double (*kernel)(struct client *, uint64_t);
	double ns;
} kinds[] = {
	{ "3us", fixed, 3e3 }, { "100us", fixed, 1e5 }, { "2ms", fixed, 2e6 },
	{ "50ms", fixed, 50e6 }, { "mixed", mixed, 0 },
};
#define KINDS	(sizeof(kinds) / sizeof(*kinds))

static struct client *add_kind(int tenant, unsigned int percent, size_t kind)
{
	return add(tenant, percent, kinds[kind].kernel, kinds[kind].ns);
}

static int within(double share, double want, double points)
{
	return fabs(share - want) <= points;
}

static int near(double share, double want)
{
	return within(share, want, POINTS);
}

/*
 * Kernels of 3 us come every 3.3 us: the device is theirs meanwhile, but is not at work
 * all the time. A share of that is the same part of what they get without limit.
 */
static double part(size_t kind)
{
	/* A launch reads the clock three times more than without a share. */
	double issue = ISSUE_NS + 3 * (sim_clock_ns - SIM_CLOCK_NS);

	return kinds[kind].ns && kinds[kind].ns < issue ? kinds[kind].ns / issue : 1;
}

static void test_alone(void)
{
	static const unsigned int percents[] = { 10, 25, 50, 75, 90 };
	double share[SIM_PROCESSES], want;
	char name[96];
	size_t k, p;

	for (k = 0; k < KINDS; k++)
		for (p = 0; p < 5; p++) {
			begin();
			add_kind(0, percents[p], k);
			run(1 * SECONDS);
			run_and_measure((kinds[k].ns == 3e3 ? 4 : 20) * SECONDS, share);
			want = percents[p] * part(k);
			snprintf(name, sizeof(name), "kernels_of_%s_get_%u_percent", kinds[k].name,
				 percents[p]);
			if (!ok(near(share[0], want), name))
				diag("got %.2f %%", share[0]);
			finish();
		}
}

/* Returns the launches in ten seconds over shm, after one second. */
static uint64_t launches(struct client *c)
{
	double share[SIM_PROCESSES];
	uint64_t before;

	c->shm = true;
	run(1 * SECONDS);
	before = c->launched;
	run_and_measure(10 * SECONDS, share);
	return c->launched - before;
}

/* Compares with the rate without a share, because that is what a program notices. */
static void test_posted(void)
{
	static const unsigned int percents[] = { 1, 10, 25, 50, 75, 90 };
	double rate, measured;
	uint64_t all;
	char name[96];
	size_t p;

	begin();
	all = launches(add(0, 0, fixed, 3e3));
	for (p = 0; p < 6; p++) {
		begin();
		rate = launches(add(0, percents[p], fixed, 3e3)) * 100.0 / all;
		measured = client[0].s.limits.account->device[0].gpu_ns / (11 * SECONDS) * 100;
		snprintf(name, sizeof(name), "posted_short_kernels_get_%u_percent_of_their_rate",
			 percents[p]);
		if (!ok(near(rate, percents[p]) && near(measured, percents[p]) &&
			rate > percents[p] / 2.0, name))
			diag("got %.2f %% of the rate, measured %.2f %% of the time", rate, measured);
		finish();
	}
}

static void test_pairs(void)
{
	static const struct {
		unsigned int percent[2];
		size_t kind[2];
		bool shm;
		bool rough;	/* a point more: kernels of all lengths, share set late */
	} pairs[] = {
		{ .percent = { 50, 50 }, .kind = { 1, 1 } },
		{ .percent = { 25, 75 }, .kind = { 1, 1 } },
		{ .percent = { 10, 90 }, .kind = { 1, 2 } },
		{ .percent = { 30, 30 }, .kind = { 0, 3 } },
		{ .percent = { 25, 50 }, .kind = { 2, 4 } },
		{ .percent = { 50, 25 }, .kind = { 3, 3 } },
		{ .percent = { 40, 60 }, .kind = { 4, 4 }, .rough = true },
		{ .percent = { 10, 10 }, .kind = { 0, 0 } },
		{ .percent = { 1, 50 }, .kind = { 1, 1 } },
		{ .percent = { 25, 75 }, .kind = { 1, 1 }, .shm = true },
		{ .percent = { 10, 90 }, .kind = { 2, 1 }, .shm = true },
		{ .percent = { 40, 60 }, .kind = { 4, 4 }, .shm = true },
		{ .percent = { 30, 30 }, .kind = { 0, 3 }, .shm = true },
	};
	double share[SIM_PROCESSES];
	char name[128];
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		begin();
		add_kind(0, pairs[i].percent[0], pairs[i].kind[0]);
		add_kind(1, pairs[i].percent[1], pairs[i].kind[1]);
		client[0].shm = client[1].shm = pairs[i].shm;
		run(2 * SECONDS);
		run_and_measure(20 * SECONDS, share);
		snprintf(name, sizeof(name), "%u_percent_of_%s_beside_%u_of_%s%s", pairs[i].percent[0],
			 kinds[pairs[i].kind[0]].name, pairs[i].percent[1],
			 kinds[pairs[i].kind[1]].name, pairs[i].shm ? "_over_shm" : "");
		if (!ok(within(share[0], pairs[i].percent[0] * part(pairs[i].kind[0]),
			       POINTS + pairs[i].rough) &&
			within(share[1], pairs[i].percent[1] * part(pairs[i].kind[1]),
			       POINTS + pairs[i].rough), name))
			diag("got %.2f and %.2f %%", share[0], share[1]);
		finish();
	}
}

static double every_ms(struct client *c, uint64_t n)
{
	(void)c;
	(void)n;
	return 1e6;
}

/* Launches ten in a row, then nothing at all for 5 ms. */
static double bursts(struct client *c, uint64_t n)
{
	(void)c;
	return n % 10 == 9 ? 5e6 : 0;
}

static void test_measured(void)
{
	double share[SIM_PROCESSES], measured;
	struct client *c;

	begin();
	c = add(0, 50, fixed, 1e5);
	c->pause = every_ms;
	run_and_measure(4 * SECONDS, share);
	measured = c->s.limits.account->device[0].gpu_ns / 4e7;
	if (!ok(near(measured, share[0]) && share[0] > 8, "sparse_launches_are_measured_without_their_pauses"))
		diag("got %.2f, measured %.2f %%", share[0], measured);
	ok_eq(c->s.limits.account->device[0].throttled_ns, 0, "who_needs_less_than_its_share_never_waits");
	finish();

	begin();
	c = add(0, 50, fixed, 1e5);
	c->pause = bursts;
	run_and_measure(4 * SECONDS, share);
	measured = c->s.limits.account->device[0].gpu_ns / 4e7;
	if (!ok(near(measured, share[0]) && share[0] > 14, "silent_pauses_between_bursts_are_not_charged"))
		diag("got %.2f, measured %.2f %%", share[0], measured);
	finish();

	begin();
	c = add(0, 50, fixed, 3e3);
	c->pause = bursts;
	c->shm = true;
	run_and_measure(4 * SECONDS, share);
	measured = c->s.limits.account->device[0].gpu_ns / 4e7;
	if (!ok(near(measured, share[0]) && measured > 0.5, "those_between_posted_launches_neither"))
		diag("got %.2f, measured %.2f %%", share[0], measured);
	finish();

	begin();
	c = add(0, 30, fixed, 1e6);
	c->streams = 4;
	run(1 * SECONDS);
	run_and_measure(10 * SECONDS, share);
	if (!ok(near(share[0], 30), "work_on_four_streams_at_once_counts_once"))
		diag("got %.2f %%", share[0]);
	finish();

	begin();
	c = add(0, 40, fixed, 3e6);
	c->sync = true;
	run(1 * SECONDS);
	run_and_measure(10 * SECONDS, share);
	if (!ok(near(share[0], 40), "a_large_kernel_for_each_synchronisation_is_held_to_its_share"))
		diag("got %.2f %%", share[0]);
	ok(c->s.limits.account->device[0].throttled_ns > 0, "waiting_is_counted");
	finish();
}

/* A program that looks ten times a second must not see a whole second of waiting in one tenth. */
static void test_waits_are_counted_as_they_last(void)
{
	struct client *c;
	uint64_t had, most = 0, all;
	int i;

	begin();
	c = add(0, 10, fixed, 2e8);
	c->sync = true;
	run(4 * SECONDS);
	all = c->s.limits.account->device[0].throttled_ns;
	for (i = 0; i < 100; i++) {
		had = c->s.limits.account->device[0].throttled_ns;
		run(0.1 * SECONDS);
		had = c->s.limits.account->device[0].throttled_ns - had;
		most = had > most ? had : most;
	}
	all = c->s.limits.account->device[0].throttled_ns - all;
	if (!ok(most > 0.09 * SECONDS && most < 0.12 * SECONDS, "a_long_wait_is_counted_as_it_lasts"))
		diag("%.3f s in 0.1 s", most / 1e9);
	if (!ok(all > 8.5 * SECONDS && all < 9.5 * SECONDS, "and_once"))
		diag("%.3f s in 10 s", all / 1e9);
	finish();
}

static void test_shared(void)
{
	double share[SIM_PROCESSES];

	begin();
	add(0, 50, fixed, 1e5);
	add(0, 50, fixed, 2e6);
	run(1 * SECONDS);
	run_and_measure(20 * SECONDS, share);
	if (!ok(near(share[0] + share[1], 50), "two_processes_of_a_tenant_share_one_bucket"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	finish();

	begin();
	add(0, 25, fixed, 1e5);
	add(1, 25, fixed, 1e5);
	add(2, 50, fixed, 1e5);
	run(1 * SECONDS);
	run_and_measure(20 * SECONDS, share);
	if (!ok(near(share[0], 25) && near(share[1], 25) && near(share[2], 50), "three_tenants_get_theirs"))
		diag("got %.2f, %.2f and %.2f %%", share[0], share[1], share[2]);
	finish();

	begin();
	add(0, 80, fixed, 1e5);
	add(1, 80, fixed, 1e5);
	run(1 * SECONDS);
	run_and_measure(10 * SECONDS, share);
	if (!ok(near(share[0], share[1]) && share[0] + share[1] > 95, "shares_above_the_whole_are_divided_equally"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	finish();
}

/* A worker that is held back sleeps: it does not ask all the time whether it may go on. */
static void test_sleeps(void)
{
	static const struct {
		const char *name;
		unsigned int percent[2];
		double ns[2];
		bool shm;
	} who[] = {
		{ "one_tenant_of_10_percent", { 10, 0 }, { 3e4, 0 }, true },
		{ "one_tenant_of_30_percent", { 30, 0 }, { 3e4, 0 }, true },
		{ "10_beside_90_percent", { 10, 90 }, { 3e4, 3e4 }, true },
		{ "30_beside_70_percent", { 30, 70 }, { 3e4, 3e4 }, true },
		{ "30_beside_30_percent", { 30, 30 }, { 1e4, 1e5 }, true },
		{ "10_beside_10_percent_of_long_ones", { 10, 10 }, { 50e6, 50e6 }, true },
	};
	double share[SIM_PROCESSES], rate[2];
	char name[128];
	size_t i, k, n;

	for (i = 0; i < sizeof(who) / sizeof(*who); i++) {
		begin();
		n = who[i].percent[1] ? 2 : 1;
		for (k = 0; k < n; k++)
			add((int)k, who[i].percent[k], fixed, who[i].ns[k])->shm = who[i].shm;
		run(1 * SECONDS);
		for (k = 0; k < n; k++)
			client[k].refused = 0;
		run_and_measure(10 * SECONDS, share);
		rate[1] = 0;
		for (k = 0; k < n; k++)
			rate[k] = client[k].refused / 10.0;
		snprintf(name, sizeof(name), "%s_asks_no_more_than_1000_times_a_second", who[i].name);
		if (!ok(rate[0] <= 1000 && rate[1] <= 1000 && near(share[0], who[i].percent[0]) &&
			(n == 1 || near(share[1], who[i].percent[1])), name))
			diag("%.0f and %.0f times, %.2f and %.2f %%", rate[0], rate[1], share[0],
			     n == 2 ? share[1] : 0);
		finish();
	}
}

static void test_changes(void)
{
	double share[SIM_PROCESSES];
	struct client *c;

	begin();
	c = add(0, 75, fixed, 1e5);
	run(2 * SECONDS);
	set_percent(c, 20);
	run(1 * SECONDS);
	run_and_measure(10 * SECONDS, share);
	if (!ok(near(share[0], 20), "a_lower_share_holds_for_a_running_program"))
		diag("got %.2f %%", share[0]);
	set_percent(c, 60);
	run(1 * SECONDS);
	run_and_measure(10 * SECONDS, share);
	if (!ok(near(share[0], 60), "and_a_higher_one"))
		diag("got %.2f %%", share[0]);
	set_percent(c, 0);
	run(1 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	ok(share[0] > 99, "and_none_at_all");
	set_percent(c, 60);
	run(0.3 * SECONDS);	/* unmeasured: first what was launched before */
	run_and_measure(0.15 * SECONDS, share);
	if (!ok(near(share[0], 60), "time_without_a_share_is_not_saved_up_for_one"))
		diag("got %.2f %%", share[0]);
	finish();
}

#define TIMES	20

/*
 * A client has no share for a while, and then one again. Each time as many of its latest
 * launches are behind the last marker as happen to be. What was launched before runs
 * first, and is not paid for.
 */
static void test_taken_and_given_back(bool shm)
{
	double share[SIM_PROCESSES], worst = 60;
	struct client *c;
	int i;

	begin();
	c = add(0, 60, fixed, 1e5);
	c->shm = shm;
	for (i = 0; i < TIMES; i++) {
		set_percent(c, 60);
		run((0.3 + 0.0007 * i) * SECONDS);
		run_and_measure(0.15 * SECONDS, share);
		if (fabs(share[0] - 60) > fabs(worst - 60))
			worst = share[0];
		set_percent(c, 0);
		run(0.2 * SECONDS);
	}
	if (!ok(near(worst, 60), shm ? "nor_is_it_charged_over_shm" : "nor_is_it_charged"))
		diag("got %.2f %%", worst);
	finish();
}

static void test_unlimited(void)
{
	struct client *c;

	begin();
	c = add(0, 0, fixed, 1e5);
	run(1e8);
	ok_eq(sim_event_calls, 0, "an_unlimited_tenant_makes_no_event_calls");
	ok(c->s.limits.account->device[0].launches == c->launched && c->launched > 1000,
	   "its_launches_are_counted");
	finish();
}

/* A holder has ended: others go on when its work should long be done. */
static void test_dead_holder(void)
{
	double share[SIM_PROCESSES];
	struct client *c;

	begin();
	c = add(0, 50, fixed, 1e5);
	add(1, 50, fixed, 1e5);
	run(1 * SECONDS);
	while (seat[0].device[0].holder != c->s.limits.turn_id)
		run(1e5);
	c->stop = true;
	run(2e8);
	run_and_measure(5 * SECONDS, share);
	if (!ok(near(share[1], 50), "a_dead_holder_of_a_turn_stops_nobody"))
		diag("got %.2f %%", share[1]);
	finish();
}

/* --- Tenants that write what they like into their seat ------------------------------------ */

#define FAR	(1ull << 62)
#define LIAR	(SIM_PROCESSES - 1)

static void has_it_for_ever(struct wh_turn *t, unsigned int n)
{
	(void)n;
	*t = (struct wh_turn){ .holder = 1, .since_tsc = 1, .renewed_tsc = sim_now() + FAR,
			       .ending_tsc = sim_now() + FAR };
}

static void waits_since_ever(struct wh_turn *t, unsigned int n)
{
	(void)n;
	*t = (struct wh_turn){ .waiting_tsc = 1, .asked_tsc = sim_now() + FAR };
}

/* Passes the turn on and takes it again, so that no turn of its own is long. */
static void takes_it_again_and_again(struct wh_turn *t, unsigned int n)
{
	*t = (struct wh_turn){ .since_tsc = n % 2 ? sim_now() : 0, .renewed_tsc = sim_now() + 1e9,
			       .waiting_tsc = 1, .asked_tsc = sim_now() };
}

static void writes_anything(struct wh_turn *t, unsigned int n)
{
	uint64_t *word = (uint64_t *)t;
	unsigned int i;

	for (i = 0; i < sizeof(*t) / sizeof(*word); i++)
		word[i] = (n * 2654435761u + i * 40503u) * 0x9e3779b97f4a7c15ull;
}

static void seat_liar(unsigned int percent)
{
	board.seat[LIAR].tenant_id = LIAR + 1;
	board.seat[LIAR].percent[0] = percent;
}

static void lie(void (*what)(struct wh_turn *t, unsigned int n), double ns)
{
	static unsigned int n;
	double end = sim_now() + ns;

	while (sim_now() < end) {
		what(&seat[LIAR].device[0], n++);
		run(2e5);
	}
}

static void test_lies(void)
{
	static const struct {
		const char *name;
		void (*what)(struct wh_turn *t, unsigned int n);
	} lies[] = {
		{ "who_has_the_turn_for_ever", has_it_for_ever },
		{ "who_waits_since_ever", waits_since_ever },
		{ "who_takes_it_again_and_again", takes_it_again_and_again },
		{ "who_writes_anything", writes_anything },
	};
	double share[SIM_PROCESSES], start;
	char name[96];
	size_t i;

	for (i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		begin();
		add(0, 40, fixed, 1e5);
		seat_liar(30);
		lie(lies[i].what, 3 * SECONDS);
		start = client[0].launched;
		lie(lies[i].what, 5 * SECONDS);
		snprintf(name, sizeof(name), "%s_takes_nothing_of_a_share_that_is_left", lies[i].name);
		if (!ok(near((client[0].launched - start) * 1e5 / (5 * SECONDS) * 100, 40), name))
			diag("got %.2f %%", (client[0].launched - start) * 1e5 / (5 * SECONDS) * 100);
		finish();
		begin();
		add(0, 50, fixed, 1e5);
		add(1, 50, fixed, 2e6);
		seat_liar(90);
		lie(lies[i].what, 3 * SECONDS);
		start = client[0].launched;
		lie(lies[i].what, 5 * SECONDS);
		snprintf(name, sizeof(name), "%s_costs_no_more_than_its_own_part", lies[i].name);
		share[0] = (client[0].launched - start) * 1e5 / (5 * SECONDS) * 100;
		/*
		 * With other costs of the clock the share varies; the mean of several is within 2
		 * points.
		 */
		if (!ok(share[0] > 50 * 100 / 190.0 - 2 * POINTS, name))
			diag("got %.2f %%", share[0]);
		/* The liar's tenant is deleted: nothing of what it wrote counts. */
		board.seat[LIAR].tenant_id = board.seat[LIAR].percent[0] = 0;
		run(1 * SECONDS);
		run_and_measure(5 * SECONDS, share);
		snprintf(name, sizeof(name), "%s_is_forgotten_with_its_tenant", lies[i].name);
		if (!ok(near(share[0], 50) && near(share[1], 50), name))
			diag("got %.2f and %.2f %%", share[0], share[1]);
		finish();
	}
}

static void test_capture(void)
{
	struct client *c;
	uint64_t before;
	int i, bad = 0;

	begin();
	c = add(0, 10, fixed, 1e6);
	c->streams = 1;
	run(1 * SECONDS);
	before = sim_event_calls;
	sim_capturing = (CUstream)(uintptr_t)3;
	sim_choose(0);
	for (i = 0; i < 1000; i++) {
		bad += wh_launch_begin(&c->s, sim_capturing) != CUDA_SUCCESS;
		wh_launch_end(&c->s, sim_capturing);
	}
	ok(!bad && sim_event_calls == before, "launches_into_a_capture_neither_wait_nor_are_measured");
	sim_capturing = NULL;
	finish();
}

static void test_union(void)
{
	struct wh_sm_device d = { .ncovered = 0 };

	ok_eq((long long)wh_gpu_cover(&d, 10, 20), 10, "a_first_span_counts");
	ok_eq((long long)wh_gpu_cover(&d, 12, 18), 0, "a_span_inside_of_it_does_not");
	ok_eq((long long)wh_gpu_cover(&d, 0, 30), 20, "a_span_around_it_counts_the_rest");
	ok_eq((long long)wh_gpu_cover(&d, 40, 50), 10, "a_span_apart_counts");
	ok_eq((long long)wh_gpu_cover(&d, 25, 45), 10, "a_span_between_counts_the_gap");
	ok_eq((long long)wh_gpu_cover(&d, 5, 60), 10, "and_all_of_it_is_one_now");
}

int main(void)
{
	tap_plan(25 + 6 + 13 + 8 + 3 + 6 + 3 + 2 + 1 + 12 + 1 + 6 + 2 + 2);
	test_alone();
	test_posted();
	test_pairs();
	test_measured();
	test_shared();
	test_sleeps();
	test_changes();
	test_taken_and_given_back(false);
	test_taken_and_given_back(true);
	test_unlimited();
	test_dead_holder();
	test_lies();
	test_capture();
	test_union();
	test_waits_are_counted_as_they_last();
	return tap_exit();
}
