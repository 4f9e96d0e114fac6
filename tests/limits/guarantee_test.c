// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises guarantees, ceilings and classes of shares of time, on a device in virtual
 * time. A tenant without a ceiling uses what others leave, and loses nothing of its guarantee. Of
 * programs that are busy on their CPU several work at the same time.
 */
#include "sim_client.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

#define POINTS	2.0
#define WINDOW_POINTS	5.0	/* in a second: others' turns may be at its end */
#define SECONDS	1e9
#define NONE	WH_SM_NO_CEILING

static int near(double share, double want)
{
	return fabs(share - want) <= POINTS;
}

/* A tenant of its own with a guarantee; its program runs over shm. */
static struct client *tenant(int i, unsigned int percent, unsigned int most, unsigned int class,
			     double ns)
{
	struct client *c = add(i, percent, fixed, ns);

	c->shm = true;
	if (most)
		set_ceiling(c, most, class);
	return c;
}

/* --- Programs that are busy on their CPU ------------------------------------------------ */

/* Training of small networks: the device works for half of the time that launches take. */
static double prepares(struct client *c, uint64_t n)
{
	(void)c;
	(void)n;
	return 16e3;
}

#define BUSY_NS	10e3

static const unsigned int percents[] = { 40, 30, 20, 10 };

/* Returns the launches of each of n such programs in a second, and of all of them. */
static double trained(int n, bool limited, unsigned int most, double *rate)
{
	uint64_t before[SIM_PROCESSES];
	double all = 0;
	int i;

	begin();
	for (i = 0; i < n; i++)
		tenant(i, limited ? percents[i] : 0, limited ? most : 0, 0, BUSY_NS)->pause =
			prepares;
	run(0.5 * SECONDS);
	for (i = 0; i < n; i++)
		before[i] = client[i].launched;
	run(1 * SECONDS);
	for (i = 0; i < n; i++)
		all += rate[i] = (double)(client[i].launched - before[i]);
	finish();
	return all;
}

static void test_gaps(void)
{
	double alone[SIM_PROCESSES], free_[SIM_PROCESSES], rate[SIM_PROCESSES], all, hard, most;
	int i, kept = 1;

	trained(1, false, 0, alone);
	most = trained(4, false, 0, free_);
	hard = trained(4, true, 0, rate);
	all = trained(4, true, NONE, rate);
	if (!ok(all >= 0.9 * most && hard < 0.8 * most,
		"four_that_are_busy_on_their_cpu_make_at_least_0.9_of_what_they_make_without_limits"))
		diag("%.3f of the unlimited four, with hard shares %.3f", all / most, hard / most);
	for (i = 0; i < 4; i++)
		kept &= rate[i] / alone[0] * 100 >= percents[i] - POINTS;
	if (!ok(kept, "none_of_them_is_below_its_share_of_what_it_makes_alone"))
		diag("%.1f, %.1f, %.1f and %.1f %% of alone", rate[0] / alone[0] * 100,
		     rate[1] / alone[0] * 100, rate[2] / alone[0] * 100, rate[3] / alone[0] * 100);
}

/* --- The same on a device that slices its time ------------------------------------------ */

#define SLICE_NS	2e6
#define CHANGE_NS	1e5

/* Kernels of c->ns on average, from short to long as in a network's step. */
static double layers(struct client *c, uint64_t n)
{
	static const double of[] = { 0.3, 0.5, 2, 0.3, 1.5, 0.4, 2.5, 0.5 };

	return c->ns * of[n % 8];
}

/* A step of training in Python: short preparations, and a longer one now and then. */
static double python(struct client *c, uint64_t n)
{
	(void)c;
	return n % 16 == 7 ? 48e3 : 16e3;
}

static struct client *training(int i, unsigned int percent, unsigned int most, unsigned int class)
{
	struct client *c = tenant(i, percent, most, class, 1e4);

	c->kernel = layers;
	c->pause = python;
	return c;
}

/* As trained(), with such programs. `calls`, `watched`: see struct client. */
static double trained_in_slices(int n, bool limited, double ns, unsigned int calls, bool watched,
				double *rate)
{
	uint64_t before[SIM_PROCESSES];
	double all = 0;
	int i;

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	for (i = 0; i < n; i++) {
		training(i, limited ? percents[i] : 0, limited ? NONE : 0, 0);
		client[i].ns = ns;
		client[i].calls = calls;
		client[i].watched = watched;
	}
	run(0.5 * SECONDS);
	for (i = 0; i < n; i++)
		before[i] = client[i].launched;
	run(1.5 * SECONDS);
	for (i = 0; i < n; i++)
		all += rate[i] = (double)(client[i].launched - before[i]);
	finish();
	return all;
}

static void is_kept(double ns, unsigned int calls, bool watched, double least, const char *what)
{
	double alone[SIM_PROCESSES], rate[SIM_PROCESSES], most, all;
	int i, kept = 1;

	trained_in_slices(1, false, ns, calls, watched, alone);
	most = trained_in_slices(4, false, ns, calls, watched, rate);
	all = trained_in_slices(4, true, ns, calls, watched, rate);
	for (i = 0; i < 4; i++)
		kept &= rate[i] / alone[0] * 100 >= percents[i] - POINTS;
	if (!ok(all >= least * most && kept, what))
		diag("%.3f of the unlimited four; %.1f, %.1f, %.1f and %.1f %% of alone",
		     all / most, rate[0] / alone[0] * 100, rate[1] / alone[0] * 100,
		     rate[2] / alone[0] * 100, rate[3] / alone[0] * 100);
}

/* Calls between launches cost a marker each, which takes a part of the rest. */
static void test_slices(void)
{
	is_kept(1e4, 0, false, 0.9, "four_that_pause_now_and_then_make_0.9_where_the_device_slices");
	is_kept(1e4, 0, true, 0.9, "nor_do_they_lose_it_where_a_second_thread_sees_each_pause");
	is_kept(1e4, 3, true, 0.8, "with_other_calls_between_their_launches_they_make_0.8_of_it");
	is_kept(3e3, 3, true, 0.8, "also_where_the_device_has_little_to_do_for_each");
	is_kept(4e4, 256, false, 0.9, "and_each_that_fills_the_device_has_its_guarantee");
}

/* --- Programs that fill the device -------------------------------------------------------- */

static void test_full(void)
{
	double share[SIM_PROCESSES], least[SIM_PROCESSES] = { 100, 100, 100, 100 };
	int i, k, kept = 1;

	begin();
	for (i = 0; i < 4; i++)
		tenant(i, percents[i], NONE, 0, 1e5);
	run(1 * SECONDS);
	for (k = 0; k < 4; k++) {
		run_and_measure(1 * SECONDS, share);
		for (i = 0; i < 4; i++)
			least[i] = share[i] < least[i] ? share[i] : least[i];
	}
	for (i = 0; i < 4; i++)
		kept &= least[i] >= percents[i] - WINDOW_POINTS;
	if (!ok(kept, "four_that_fill_the_device_have_their_guarantees_in_every_second"))
		diag("at least %.1f, %.1f, %.1f and %.1f %%", least[0], least[1], least[2], least[3]);
	finish();
}

/* Time that the tenant's worker was charged beyond the guarantee. */
static double beyond_ns(int i)
{
	return (double)client[i].s.limits.account->device[0].gpu_beyond_ns;
}

static void test_idle_time(void)
{
	double share[SIM_PROCESSES], beyond;
	struct client *c;

	begin();
	tenant(0, 30, NONE, 0, 1e5);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(share[0] > 97, "alone_without_a_ceiling_a_tenant_has_the_device"))
		diag("got %.2f %%", share[0]);
	beyond = beyond_ns(0);
	run_and_measure(2 * SECONDS, share);
	beyond = (beyond_ns(0) - beyond) / (2 * SECONDS) * 100;
	if (!ok(near(beyond, share[0] - 30), "and_what_is_above_its_guarantee_is_counted"))
		diag("%.2f %% of %.2f %% were beyond", beyond, share[0]);
	c = tenant(1, 50, 0, 0, 1e5);
	run_and_measure(1 * SECONDS, share);
	if (!ok(near(share[1], 50), "who_comes_has_its_share_in_the_first_second"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	ok(!beyond_ns(1), "a_hard_share_has_nothing_beyond");
	run_and_measure(2 * SECONDS, share);
	if (!ok(near(share[1], 50) && share[0] + share[1] > 95, "and_the_first_has_what_is_left"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	set_percent(c, 70);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(near(share[0], 30) && near(share[1], 70), "down_to_its_guarantee"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	c->stop = true;
	run(0.1 * SECONDS);
	run_and_measure(1 * SECONDS, share);
	if (!ok(share[0] > 97, "and_all_again_when_others_are_gone"))
		diag("got %.2f %%", share[0]);
	finish();
}

static void test_ceilings(void)
{
	double share[SIM_PROCESSES];
	struct client *c;

	begin();
	c = tenant(0, 30, 60, 0, 1e5);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(near(share[0], 60), "a_tenant_alone_has_the_device_up_to_its_ceiling"))
		diag("got %.2f %%", share[0]);
	set_ceiling(c, 45, 0);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(near(share[0], 45), "a_lower_ceiling_holds_for_a_running_program"))
		diag("got %.2f %%", share[0]);
	set_ceiling(c, 0, 0);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(near(share[0], 30), "and_the_guarantee_is_the_ceiling_where_nothing_else_is_said"))
		diag("got %.2f %%", share[0]);
	finish();

	begin();
	tenant(0, 30, 60, 0, 1e5);
	tenant(1, 65, 0, 0, 2e6);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(share[0] >= 30 - POINTS && share[0] <= 35 + POINTS && near(share[1], 65),
		"spare_time_below_a_ceiling_takes_nothing_of_a_hard_share"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	finish();

	begin();
	tenant(0, 20, 50, 0, 1e5);
	tenant(1, 20, NONE, 0, 1e5);
	run(0.5 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(share[0] <= 50 + POINTS && share[0] > 30 && share[0] + share[1] > 95,
		"who_has_a_ceiling_and_who_has_none_leave_nothing_idle"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	finish();
}

/* --- Ceilings that come while programs work beside each other ----------------------------- */

#define LONG_NS		5e7	/* charged while they pass */
#define SHORT_NS	8e6	/* charged when they are done */

static double used_ns(int i)
{
	return (double)client[i].s.limits.account->device[0].gpu_ns;
}

/*
 * The first n of percents[] work without a ceiling for a while, with long kernels. Then their
 * shares are hard, and their kernels short. Returns what they have of the device from
 * 2 s later, and what they are charged.
 */
static void made_hard(int n, double seconds, double *share, double *charged)
{
	int i;

	begin();
	for (i = 0; i < n; i++)
		tenant(i, percents[i], NONE, 0, LONG_NS);
	watch_all(0);
	run(seconds * SECONDS);
	for (i = 0; i < n; i++) {
		set_ceiling(&client[i], 0, 0);
		client[i].ns = SHORT_NS;
	}
	/* At 10 % the kernels under way and the debt take that long. */
	run(2 * SECONDS);
	for (i = 0; i < n; i++)
		charged[i] = used_ns(i);
	run_and_measure(2 * SECONDS, share);
	for (i = 0; i < n; i++)
		charged[i] = (used_ns(i) - charged[i]) / (2 * SECONDS) * 100;
	finish();
}

static void test_made_hard(void)
{
	double share[SIM_PROCESSES], charged[SIM_PROCESSES];
	int i, kept = 1;

	made_hard(2, 8, share, charged);
	if (!ok(near(share[0], 40) && near(share[1], 30),
		"shares_made_hard_hold_after_long_work_beside_others"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	if (!ok(near(share[0], charged[0]) && near(share[1], charged[1]),
		"and_what_is_used_then_is_charged"))
		diag("got %.2f and %.2f %%, charged %.2f and %.2f", share[0], share[1],
		     charged[0], charged[1]);
	made_hard(4, 12, share, charged);
	for (i = 0; i < 4; i++)
		kept &= near(share[i], percents[i]);
	if (!ok(kept, "no_debt_from_beyond_the_guarantee_is_paid_for_long_under_a_hard_share"))
		diag("got %.2f, %.2f, %.2f and %.2f %%", share[0], share[1], share[2], share[3]);
}

/* --- Classes ---------------------------------------------------------------------------------- */

#define BURST	20u
#define REQUESTS	100

static double latency[REQUESTS];
static int requests;

/* A request: 20 launches of 100 us in a row, 20 ms after the one before. */
static double request(struct client *c, uint64_t n)
{
	static double began;

	if (n % BURST == 0) {
		if (n && requests < REQUESTS)
			latency[requests++] = sim_process((int)(c - client))->done_ns - began;
		began = c->tried;
	}
	c->sync = n % BURST == BURST - 1;
	return c->ns;
}

/* The same, but the program waits for each launch, and prepares the next one for a while. */
static double in_steps(struct client *c, uint64_t n)
{
	double ns = request(c, n);

	c->rest = c->sync ? 18e6 : 150e3;
	c->sync = true;
	return ns;
}

static int ascending(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

/* Returns the 99th percentile of the requests' latency in 2 s, after a while to warm up. */
static double p99(double *share)
{
	run(1 * SECONDS);
	requests = 0;
	run_and_measure(2 * SECONDS, share);
	qsort(latency, (size_t)requests, sizeof(*latency), ascending);
	return latency[requests * 99 / 100];
}

static struct client *serving(int i, unsigned int percent, unsigned int most, unsigned int class)
{
	struct client *c = tenant(i, percent, most, class, 1e5);

	c->kernel = request;
	c->rest = 18e6;
	return c;
}

/* The device works for less than half of the time for a program that is busy on its CPU. */
static void test_unused(void)
{
	double share[SIM_PROCESSES], alone, beside;

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	serving(0, 0, 0, 0);
	alone = p99(share);
	finish();

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	serving(0, 50, NONE, WH_CLASS_HIGH);
	training(1, 50, NONE, WH_CLASS_LOW)->calls = 1;
	beside = p99(share);
	if (!ok(beside <= 1.25 * alone, "nor_for_a_low_one_that_does_not_use_its_guarantee"))
		diag("99 of 100 within %.2f ms, alone %.2f", beside / 1e6, alone / 1e6);
	finish();
}

static void test_classes(void)
{
	double share[SIM_PROCESSES], alone, beside, least = 100;
	int k;

	begin();
	serving(0, 0, 0, 0);
	alone = p99(share);
	finish();

	begin();
	serving(0, 50, NONE, WH_CLASS_HIGH);
	tenant(1, 50, NONE, WH_CLASS_LOW, 1e5);
	beside = p99(share);
	if (!ok(beside <= 1.25 * alone, "requests_of_a_high_class_hardly_wait_for_a_low_one"))
		diag("99 of 100 within %.2f ms, alone %.2f", beside / 1e6, alone / 1e6);
	if (!ok(share[1] >= 0.9 * (100 - share[0]), "which_has_what_they_leave"))
		diag("got %.2f beside %.2f %%", share[1], share[0]);
	finish();

	begin();
	serving(0, 0, 0, 0)->kernel = in_steps;
	alone = p99(share);
	finish();

	begin();
	serving(0, 50, NONE, WH_CLASS_HIGH)->kernel = in_steps;
	tenant(1, 50, NONE, WH_CLASS_LOW, 1e5);
	beside = p99(share);
	if (!ok(beside <= 1.25 * alone, "nor_do_those_that_prepare_each_launch_when_the_last_is_done"))
		diag("99 of 100 within %.2f ms, alone %.2f", beside / 1e6, alone / 1e6);
	finish();

	test_unused();

	begin();
	tenant(0, 70, NONE, WH_CLASS_HIGH, 1e5);
	tenant(1, 30, 0, WH_CLASS_LOW, 1e5);
	run(1 * SECONDS);
	for (k = 0; k < 4; k++) {
		run_and_measure(1 * SECONDS, share);
		least = share[1] < least ? share[1] : least;
	}
	if (!ok(least >= 30 - 2 * POINTS, "a_low_class_has_its_guarantee_in_every_second"))
		diag("at least %.2f %%", least);
	finish();

	begin();
	tenant(0, 20, NONE, WH_CLASS_HIGH, 1e5);
	tenant(1, 20, NONE, WH_CLASS_LOW, 1e5);
	run(1 * SECONDS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(share[0] >= 80 - 2 * POINTS && share[1] >= 20 - POINTS,
		"what_is_left_is_the_higher_class's"))
		diag("got %.2f and %.2f %%", share[0], share[1]);
	finish();
}

/* --- Lies ------------------------------------------------------------------------ */

#define LIAR	(SIM_PROCESSES - 1)
#define FAR	(1ull << 62)

static void test_lies(void)
{
	static const uint8_t ranks[] = { 0, WH_RANK_LATE, WH_RANK_SPARE, WH_RANK_OPEN,
					 WH_RANK_LONG | WH_RANK_PEER, 0xff };
	double share[SIM_PROCESSES], end;
	unsigned int i, n, kept = 1;

	for (i = 0; i < sizeof(ranks); i++) {
		begin();
		tenant(0, 40, i % 2 ? 0 : NONE, 0, 1e5);
		board.seat[LIAR].tenant_id = LIAR + 1;
		board.seat[LIAR].percent[0] = 30;
		seat[LIAR].rank[0] = ranks[i];
		for (n = 0, end = sim_now() + 1.5 * SECONDS; sim_now() < end; n++) {
			seat[LIAR].device[0] = n % 2 ?
				(struct wh_turn){ .holder = 1, .since_tsc = 1,
						  .renewed_tsc = sim_now() + FAR } :
				(struct wh_turn){ .waiting_tsc = 1, .asked_tsc = sim_now() + FAR };
			run(2e5);
			if (sim_now() < end - 1 * SECONDS)
				client[0].from_used = sim_process(0)->used_ns;
		}
		share[0] = (sim_process(0)->used_ns - client[0].from_used) / SECONDS * 100;
		kept &= share[0] >= 40 - POINTS;
		if (share[0] < 40 - POINTS)
			diag("rank %#x: got %.2f %%", ranks[i], share[0]);
		finish();
	}
	ok(kept, "whatever_rank_a_tenant_claims_it_takes_nothing_of_a_share_that_is_left");
}

int main(void)
{
	tap_plan(2 + 5 + 1 + 7 + 5 + 3 + 6 + 1);
	test_gaps();
	test_slices();
	test_full();
	test_idle_time();
	test_ceilings();
	test_made_hard();
	test_classes();
	test_lies();
	return tap_exit();
}
