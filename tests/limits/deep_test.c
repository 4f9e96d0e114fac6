// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises, in virtual time, what programs have of a share of time whose launches wait in
 * their workers (deep rings, shm.h): they prepare their next turn while others have theirs. Their
 * turns among themselves are long, and others' waits are not.
 */
#include "sim_client.h"
#include "tap.h"

#include <math.h>

#define SECONDS		1e9
#define MS		1e6
#define SLICE_NS	2e6
#define CHANGE_NS	1e5

static const unsigned int percents[] = { 40, 30, 20, 10 };

/* Training in Python: the program's CPU is as busy as the device. */
static double prepares(struct client *c, uint64_t n)
{
	(void)c;
	return n % 16 == 7 ? 36e3 : 11e3;
}

static struct client *training(int i, unsigned int percent, bool deep, double ns)
{
	struct client *c = add(i, percent, fixed, ns);

	c->shm = true;
	c->deep = deep;
	c->pause = prepares;
	return c;
}

/* Returns how many launches four such programs make in two seconds. */
static double four(bool deep, double *share)
{
	double all = 0;
	int i;

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	for (i = 0; i < 4; i++)
		training(i, percents[i], deep, 8e3);
	run(1 * SECONDS);
	for (i = 0; i < 4; i++)
		all -= (double)client[i].launched;
	run_and_measure(2 * SECONDS, share);
	for (i = 0; i < 4; i++)
		all += (double)client[i].launched;
	finish();
	return all;
}

static void test_work(void)
{
	double share[SIM_PROCESSES], small = four(false, share), deep = four(true, share);

	if (!ok(deep >= 1.25 * small, "four_that_are_busy_on_their_cpu_make_a_quarter_more_by_it"))
		diag("%.2f times as many launches", deep / small);
}

static void test_shares(void)
{
	double share[SIM_PROCESSES], worst = 0;
	int i;

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	for (i = 0; i < 4; i++)
		training(i, percents[i], true, 20e3);
	run(1 * SECONDS);
	run_and_measure(5 * SECONDS, share);
	for (i = 0; i < 4; i++)
		worst = fmax(worst, fabs(share[i] - percents[i]));
	if (!ok(worst <= 1, "hard_shares_are_exact_to_the_point"))
		diag("%.1f %.1f %.1f %.1f %%", share[0], share[1], share[2], share[3]);
	finish();
}

/* Returns the longest time for which nobody but one of the clients launched. */
static double longest_turn(int n, double ns)
{
	double began = sim_now(), longest = 0, end = sim_now() + ns;
	uint64_t launched[SIM_PROCESSES];
	int i, last = -1;

	for (i = 0; i < n; i++)
		launched[i] = client[i].launched;
	while (sim_now() < end) {
		run(0.1 * MS);
		for (i = 0; i < n; i++) {
			if (client[i].launched == launched[i])
				continue;
			launched[i] = client[i].launched;
			if (i != last)
				began = sim_now();
			last = i;
			longest = fmax(longest, sim_now() - began);
		}
	}
	return longest;
}

/* They ask for more than there is, so that no bucket ends a turn. */
static double turns_of_two(bool deep)
{
	double longest;
	int i;

	begin();
	for (i = 0; i < 2; i++)
		training(i, 60, deep, 20e3);
	run(1 * SECONDS);
	longest = longest_turn(2, 1 * SECONDS);
	finish();
	return longest;
}

static void test_turns(void)
{
	double deep = turns_of_two(true), small = turns_of_two(false);

	if (!ok(deep > 60 * MS && deep < 125 * MS, "their_turns_among_themselves_are_long"))
		diag("%.1f ms", deep / MS);
	if (!ok(small < 45 * MS, "those_of_others_are_not"))
		diag("%.1f ms", small / MS);
}

/* A request each 20 ms. */
static double request(struct client *c, uint64_t n)
{
	(void)c;
	return n % 60 == 59 ? 18e6 : 12e3;
}

static struct client *requests(int i, unsigned int percent)
{
	struct client *c = add(i, percent, fixed, 15e3);

	c->shm = c->deep = true;
	c->pause = request;
	return c;
}

/* Returns the longest time that one of its launches waits. */
static double longest_wait(const struct client *c)
{
	double longest = 0, end;

	run(1 * SECONDS);
	for (end = sim_now() + 2 * SECONDS; sim_now() < end;) {
		run(0.1 * MS);
		if (c->tried)
			longest = fmax(longest, sim_now() - c->tried);
	}
	finish();
	return longest;
}

static void test_quick(void)
{
	double longest;
	struct client *c;

	begin();
	set_ceiling(training(0, 45, true, 20e3), WH_SM_NO_CEILING, 0);
	set_ceiling(training(1, 45, true, 20e3), WH_SM_NO_CEILING, 0);
	c = requests(2, 10);
	set_ceiling(c, WH_SM_NO_CEILING, 0);
	longest = longest_wait(c);
	if (!ok(longest < 45 * MS, "who_has_quick_turns_waits_for_a_short_turn_at_most"))
		diag("%.1f ms", longest / MS);

	begin();
	set_ceiling(training(0, 50, true, 20e3), WH_SM_NO_CEILING, WH_CLASS_LOW);
	c = requests(1, 50);
	set_ceiling(c, WH_SM_NO_CEILING, WH_CLASS_HIGH);
	longest = longest_wait(c);
	if (!ok(longest < 4 * MS, "and_of_a_high_class_beside_a_low_one_hardly_at_all"))
		diag("%.1f ms", longest / MS);
}

/* Some short turns at its start, and then it is as busy as the others. */
static double starts(struct client *c, uint64_t n)
{
	return n < 20 ? 5e6 : prepares(c, n);
}

/* Some long kernels, and then many short ones, as in a step of a training. */
static double steps(struct client *c, uint64_t n)
{
	(void)c;
	return n % 300 < 60 ? 150e3 : 8e3;
}

/* Returns how much of the device two such programs have together. */
static double busy(bool kinds)
{
	double share[SIM_PROCESSES];
	struct client *c;
	int i;

	begin();
	for (i = 0; i < 2; i++) {
		c = training(i, 50, true, 0);
		c->kernel = steps;
		c->kinds = kinds;
	}
	run(1 * SECONDS);
	run_and_measure(4 * SECONDS, share);
	finish();
	return share[0] + share[1];
}

static void test_lengths(void)
{
	double mean = busy(false), kinds = busy(true);

	if (!ok(mean > 99, "short_launches_after_long_ones_keep_the_device_busy"))
		diag("%.2f %%", mean);
	if (!ok(kinds > 99.3 && kinds > mean, "all_the_more_where_it_is_known_how_long_each_kind_takes"))
		diag("%.2f %%, without that %.2f %%", kinds, mean);
}

/* Returns the longest time for which the device has work of the client. */
static double longest_work(int i)
{
	double longest = 0, since = 0, end;

	run(1 * SECONDS);
	for (end = sim_now() + 3 * SECONDS; sim_now() < end;) {
		run(0.02 * MS);
		since = sim_idle(i) ? 0 : since ? since : sim_now();
		longest = since ? fmax(longest, sim_now() - since) : longest;
	}
	finish();
	return longest;
}

/* The same for requests of class high beside a program that fills the device with steps. */
static double beside(bool kinds)
{
	struct client *low;

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	low = training(0, 50, true, 0);
	low->kernel = steps;
	low->kinds = kinds;
	low->pause = NULL;
	set_ceiling(low, WH_SM_NO_CEILING, WH_CLASS_LOW);
	set_ceiling(requests(1, 50), WH_SM_NO_CEILING, WH_CLASS_HIGH);
	return longest_work(1);
}

static void test_waits(void)
{
	double mean = beside(false), kinds = beside(true);

	if (!ok(kinds < 0.75 * mean, "a_higher_class_waits_less_for_long_launches_after_short_ones"))
		diag("%.2f ms, by the mean of all launches %.2f ms", kinds / MS, mean / MS);
}

/* Returns how many launches programs that fill the device make in four seconds. */
static double full(int n, unsigned int most, double *rate)
{
	struct client *c;
	double all = 0;
	int i;

	begin();
	sim_slices(SLICE_NS, CHANGE_NS);
	for (i = 0; i < n; i++) {
		c = training(i, n > 1 ? percents[i] : 0, true, 0);
		c->kernel = steps;
		c->kinds = true;
		c->pause = NULL;
		if (n > 1 && most)
			set_ceiling(c, most, 0);
	}
	run(2 * SECONDS);
	for (i = 0; i < n; i++)
		rate[i] = -(double)client[i].launched;
	run(4 * SECONDS);
	for (i = 0; i < n; i++)
		all += rate[i] += (double)client[i].launched;
	finish();
	return all;
}

static void test_full(void)
{
	double rate[SIM_PROCESSES], one = full(1, 0, rate), hard = full(4, 0, rate),
	       none = full(4, WH_SM_NO_CEILING, rate);
	int i, kept = 1;

	if (!ok(none >= 0.98 * one, "programs_without_ceilings_that_fill_the_device_take_turns_on_it"))
		diag("%.3f of one alone, with hard shares %.3f", none / one, hard / one);
	for (i = 0; i < 4; i++)
		kept &= rate[i] / one * 100 >= percents[i] - 2;
	if (!ok(kept, "each_makes_its_share_of_what_it_makes_alone"))
		diag("%.3f %.3f %.3f %.3f", rate[0] / one, rate[1] / one, rate[2] / one,
		     rate[3] / one);
}

static void test_starts(void)
{
	double longest;
	int i;

	begin();
	for (i = 0; i < 2; i++)
		training(i, 60, true, 20e3);
	training(2, 10, true, 20e3)->pause = starts;
	run(1 * SECONDS);
	longest = longest_turn(3, 1 * SECONDS);
	if (!ok(longest > 60 * MS, "who_had_quick_turns_once_and_is_busy_now_is_quick_no_more"))
		diag("%.1f ms", longest / MS);
	finish();
}

/*
 * Returns the longest time for which the client launches nothing. That is up to 4 ms before and 4
 * ms after a turn of others, while work is under way.
 */
static double longest_without(const struct client *c, double ns)
{
	double longest = 0, last = sim_now(), end = sim_now() + ns;
	uint64_t had = c->launched;

	while (sim_now() < end) {
		run(0.1 * MS);
		if (c->launched != had)
			last = sim_now();
		had = c->launched;
		longest = fmax(longest, sim_now() - last);
	}
	return longest;
}

static void test_siblings(void)
{
	double longest;
	struct client *c;

	begin();
	training(0, 99, true, 20e3);
	c = training(0, 99, false, 20e3);
	run(1 * SECONDS);
	longest = longest_without(c, 1 * SECONDS);
	if (!ok(longest < 50 * MS, "a_tenant_s_own_programs_wait_for_a_short_turn_of_each_other"))
		diag("%.1f ms", longest / MS);
	finish();
}

static void test_company(void)
{
	double longest;
	struct client *c;

	begin();
	training(0, 90, true, 20e3);
	c = training(1, 90, false, 20e3);
	run(1 * SECONDS);
	longest = longest_without(c, 1 * SECONDS);
	if (!ok(longest < 50 * MS, "so_does_another_tenant_that_has_no_long_turns"))
		diag("%.1f ms", longest / MS);
	finish();
}

/* It waits for each of its kernels, so that it is done with each of its turns in 15 ms. */
static struct client *short_turns(int i, unsigned int percent)
{
	struct client *c = add(i, percent, fixed, 15e6);

	c->shm = c->sync = true;
	c->rest = 1e6;
	return c;
}

static void test_overtaken(void)
{
	double longest, share[SIM_PROCESSES];
	struct client *c;

	begin();
	short_turns(0, 50);
	short_turns(1, 50);
	c = training(2, 50, true, 20e3);
	longest = longest_without(c, 3 * SECONDS);
	if (!ok(longest < 90 * MS, "who_has_quick_turns_goes_first_for_no_more_than_a_turn"))
		diag("%.1f ms", longest / MS);
	run_and_measure(2 * SECONDS, share);
	if (!ok(share[2] > 30, "so_two_of_them_leave_a_third_its_part"))
		diag("%.1f %.1f %.1f %%", share[0], share[1], share[2]);
	finish();
}

int main(void)
{
	tap_plan(16);
	test_work();
	test_shares();
	test_turns();
	test_quick();
	test_lengths();
	test_waits();
	test_full();
	test_starts();
	test_siblings();
	test_company();
	test_overtaken();
	return tap_exit();
}
