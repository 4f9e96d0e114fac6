// SPDX-License-Identifier: Apache-2.0
/*
 * The temporal SM limit against a device in virtual time: for every length of
 * kernels and every share, alone and beside another tenant, what a tenant really
 * got of the device is its share within 2 points.
 */
#include "sim.h"
#include "sim_device.h"
#include "limit_sm.h"
#include "tap.h"

#include <math.h>

#define POINTS		2.0
#define ISSUE_NS	3300.0		/* that a client needs for a launch */
#define ANSWERED_NS	5500.0		/* when it awaits an answer that it need not */
#define POSTS		32		/* launches that it is ahead of answers */
#define SECONDS		1e9

/* --- Clients ------------------------------------------------------------------------------ */

struct client {
	struct wh_session s;
	struct wh_tenant_limits limits;
	double next;			/* when it does something */
	double (*kernel)(struct client *c, uint64_t n);	/* length of the n-th */
	double ns;			/* for fixed() */
	double (*pause)(struct client *c, uint64_t n);	/* after the n-th; NULL: none */
	bool sync;			/* waits for each kernel */
	bool stop;
	bool waiting;
	bool posts;			/* over a transport that can */
	int unseen;			/* posted since it was asked to await answers */
	unsigned int streams;
	uint64_t launched;
	double from_used;
};

static struct wh_device_leases leases;
static struct wh_tenant_usage usage[SIM_PROCESSES];
static struct client client[SIM_PROCESSES];
static int clients;

/* limits.c without the files. */
void wh_limits_reread(struct wh_session *s)
{
	struct wh_limits *l = &s->limits;
	unsigned int p;

	memcpy(l->limit, l->page->device, sizeof(l->limit));
	l->seen = l->page->sequence;
	p = l->limit[0].sm_percent;
	l->temporal = p && p < 100;
}

static double fixed(struct client *c, uint64_t n)
{
	(void)n;
	return c->ns;
}

/* 3 us, 100 us, 2 ms, and now and then 50 ms. */
static double mixed(struct client *c, uint64_t n)
{
	static const double ns[] = { 3e3, 1e5, 3e3, 2e6, 3e3, 3e3, 1e5, 3e3 };

	(void)c;
	return n % 400 == 399 ? 50e6 : ns[n % 8];
}

static void begin(void)
{
	sim_reset();
	memset(&leases, 0, sizeof(leases));
	memset(usage, 0, sizeof(usage));
	clients = 0;
}

static void set_percent(struct client *c, unsigned int percent)
{
	c->limits.device[0].sm_percent = percent;
	c->limits.device[0].sm_policy = WH_SM_TEMPORAL;
	c->limits.sequence += 2;
}

static struct client *add(int tenant, unsigned int percent, double (*kernel)(struct client *, uint64_t),
			  double ns)
{
	struct client *c = &client[clients];

	memset(c, 0, sizeof(*c));
	c->kernel = kernel;
	c->ns = ns;
	c->streams = 1;
	c->s.tsc_per_us = 1000;
	c->s.ctx = 1;
	sim_driver(&c->s.drv);
	c->s.limits = (struct wh_limits) {
		.page = &c->limits, .usage = &usage[tenant], .leases = &leases,
		.slot = &usage[tenant].worker[clients],
		.lease_id = WH_LEASE_ID((uint64_t)tenant + 1, (uint64_t)clients),
	};
	set_percent(c, percent);
	wh_limits_reread(&c->s);
	clients++;
	return c;
}

/* One step of a client: a launch, a look, or nothing. */
static void act(struct client *c)
{
	CUstream stream = (CUstream)(uintptr_t)(c->launched % c->streams);
	CUresult res;

	if (c->waiting) {
		if (c->s.limits.temporal)
			wh_sm_look(&c->s);
		c->waiting = !sim_idle((int)(c - client));
		c->next = sim_now() + 2000;
		if (!c->waiting && c->s.limits.temporal)
			wh_sm_look(&c->s);
		return;
	}
	/* The driver's queue is finite. */
	if (sim_queued(stream) > 1000) {
		c->next = sim_now() + 10e3;
		return;
	}
	c->s.limits.posted = c->posts && c->unseen < POSTS;
	res = wh_launch_begin(&c->s, stream);
	if ((uint32_t)res >= WH_RETRY) {
		/* A sleep is longer than was asked for. */
		c->next = sim_now() + ((uint32_t)res - WH_RETRY) * 1e3 + 60e3;
		return;
	}
	sim_launch(stream, c->kernel(c, c->launched));
	wh_launch_end(&c->s, stream);
	c->next = sim_now() + (c->posts && !c->s.limits.posted ? ANSWERED_NS : ISSUE_NS) + (c->pause ? c->pause(c, c->launched) : 0);
	if (!c->s.limits.temporal || !wh_sm_wants_answers(&c->s))
		c->unseen = 0;
	else
		c->unseen += c->unseen < POSTS;
	c->launched++;
	c->waiting = c->sync;
	if (c->waiting && c->s.limits.temporal)
		wh_sm_other_call(&c->s);
}

static void run(double ns)
{
	double end = sim_now() + ns;
	struct client *c;
	int i;

	while (sim_now() < end) {
		for (c = NULL, i = 0; i < clients; i++)
			if (!client[i].stop && (!c || client[i].next < c->next))
				c = &client[i];
		/* Another's calls have taken time: it is not earlier than now. */
		sim_advance_to(c->next < end ? c->next : end);
		if (c->next > end)
			break;
		sim_choose((int)(c - client));
		act(c);
	}
}

/* What each got from now on, in percent. */
static void run_and_measure(double ns, double *share)
{
	double start = sim_now();
	int i;

	for (i = 0; i < clients; i++)
		client[i].from_used = sim_process(i)->used_ns;
	run(ns);
	for (i = 0; i < clients; i++)
		share[i] = (sim_process(i)->used_ns - client[i].from_used) / (sim_now() - start) * 100;
}

static void finish(void)
{
	int i;

	for (i = 0; i < clients; i++)
		wh_sm_close(&client[i].s);
}

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

static int near(double share, double want)
{
	return fabs(share - want) <= POINTS;
}

/*
 * 3 us kernels come every 3.3 us: the device is theirs meanwhile, but not at work
 * all the time. A share of that is the same part of what they get without limit.
 */
static double part(size_t kind)
{
	return kinds[kind].ns && kinds[kind].ns < ISSUE_NS ? kinds[kind].ns / ISSUE_NS : 1;
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
			add(0, percents[p], kinds[k].kernel, kinds[k].ns);
			run(1 * SECONDS);
			run_and_measure(kinds[k].ns && kinds[k].ns < 1e5 ? 4 * SECONDS : 20 * SECONDS,
					share);
			want = percents[p] * part(k);
			snprintf(name, sizeof(name), "kernels_of_%s_get_%u_percent", kinds[k].name,
				 percents[p]);
			if (!ok(near(share[0], want), name))
				diag("got %.2f %%", share[0]);
			finish();
		}
}

/* Against the rate without a share: what a program notices. */
static void test_posted(void)
{
	static const unsigned int percents[] = { 1, 10, 25, 50, 75, 90 };
	double share[SIM_PROCESSES], rate, measured;
	struct client *c;
	uint64_t before, ns;
	char name[96];
	size_t p;

	for (p = 0; p < 6; p++) {
		begin();
		c = add(0, percents[p], fixed, 3e3);
		c->posts = true;
		run(1 * SECONDS);
		before = c->launched;
		ns = c->s.limits.slot->device[0].gpu_ns;
		run_and_measure(10 * SECONDS, share);
		rate = (c->launched - before) * ISSUE_NS / (10 * SECONDS) * 100;
		measured = (c->s.limits.slot->device[0].gpu_ns - ns) / (10 * SECONDS) * 100;
		snprintf(name, sizeof(name), "posted_short_kernels_get_%u_percent_of_their_rate", percents[p]);
		if (!ok(near(rate, percents[p]) && near(measured, percents[p]) && rate > percents[p] / 2.0, name))
			diag("got %.2f %% of the rate, measured %.2f %% of the time", rate, measured);
		finish();
	}
}

static void test_pairs(void)
{
	static const struct {
		unsigned int percent[2];
		size_t kind[2];
	} pairs[] = {
		{ { 50, 50 }, { 1, 1 } }, { { 25, 75 }, { 1, 1 } }, { { 10, 90 }, { 1, 2 } },
		{ { 30, 30 }, { 0, 3 } }, { { 25, 50 }, { 2, 4 } }, { { 50, 25 }, { 3, 3 } },
		{ { 40, 60 }, { 4, 4 } }, { { 10, 10 }, { 0, 0 } }, { { 1, 50 }, { 1, 1 } },
	};
	double share[SIM_PROCESSES];
	char name[128];
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		begin();
		add(0, pairs[i].percent[0], kinds[pairs[i].kind[0]].kernel, kinds[pairs[i].kind[0]].ns);
		add(1, pairs[i].percent[1], kinds[pairs[i].kind[1]].kernel, kinds[pairs[i].kind[1]].ns);
		run(2 * SECONDS);
		run_and_measure(20 * SECONDS, share);
		snprintf(name, sizeof(name), "%u_percent_of_%s_beside_%u_of_%s", pairs[i].percent[0],
			 kinds[pairs[i].kind[0]].name, pairs[i].percent[1],
			 kinds[pairs[i].kind[1]].name);
		if (!ok(near(share[0], pairs[i].percent[0] * part(pairs[i].kind[0])) &&
			near(share[1], pairs[i].percent[1] * part(pairs[i].kind[1])),
			name))
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

/* Ten in a row, then nothing at all for 5 ms. */
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
	measured = c->s.limits.slot->device[0].gpu_ns / 4e7;
	if (!ok(near(measured, share[0]) && share[0] > 8, "sparse_launches_are_measured_without_their_pauses"))
		diag("got %.2f, measured %.2f %%", share[0], measured);
	ok_eq(c->s.limits.slot->device[0].throttled_ns, 0, "who_needs_less_than_its_share_never_waits");
	finish();

	begin();
	c = add(0, 50, fixed, 1e5);
	c->pause = bursts;
	run_and_measure(4 * SECONDS, share);
	measured = c->s.limits.slot->device[0].gpu_ns / 4e7;
	if (!ok(near(measured, share[0]) && share[0] > 14, "silent_pauses_between_bursts_are_not_charged"))
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
	ok(c->s.limits.slot->device[0].throttled_ns > 0, "waiting_is_counted");
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
	finish();
}

static void test_unlimited(void)
{
	struct client *c;

	begin();
	c = add(0, 0, fixed, 1e5);
	run(1e8);
	ok_eq(sim_event_calls, 0, "an_unlimited_tenant_makes_no_event_calls");
	ok(c->s.limits.slot->device[0].launches == c->launched && c->launched > 1000,
	   "its_launches_are_counted");
	finish();
}

/* A holder that is gone: others go on when its work should long be done. */
static void test_dead_holder(void)
{
	double share[SIM_PROCESSES];
	struct client *c;

	begin();
	c = add(0, 50, fixed, 1e5);
	add(1, 50, fixed, 1e5);
	run(1 * SECONDS);
	while (leases.device[0].holder != c->s.limits.lease_id)
		run(1e5);
	c->stop = true;
	run(2e8);
	run_and_measure(5 * SECONDS, share);
	if (!ok(near(share[1], 50), "a_dead_holder_of_the_lease_stops_nobody"))
		diag("got %.2f %%", share[1]);
	finish();
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
	tap_plan(25 + 6 + 9 + 6 + 3 + 3 + 2 + 1 + 1 + 6);
	test_alone();
	test_posted();
	test_pairs();
	test_measured();
	test_shared();
	test_changes();
	test_unlimited();
	test_dead_holder();
	test_capture();
	test_union();
	return tap_exit();
}
