// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the temporal SM limit with random programs, in virtual time. They
 * make launches (kernels, graphs, libraries' work: one length each) from 3 us to endless,
 * on several streams, awaited or not, posted or not. One or two processes of a tenant
 * make them, whose contexts are reset and which are killed at any time. Whatever they do,
 * no tenant has more than its share and 2 points in any 10 s, and a tenant that only
 * works has no less beside it. The test knows no rule of the engine.
 *
 * 	random_share_test [SEED [SECONDS]]	of each round; the seed is said
 */
#include "random.h"
#include "sim_client.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS		4
#define WINDOW		10	/* seconds */
#define POINTS		2.0
#define MAX_KERNEL	60e6
#define ENDLESS		1e15

/*
 * Returns a length from 3 us to 30 ms, each order of magnitude as often; one in some
 * thousand never ends.
 */
static double wild(struct client *c, uint64_t n)
{
	(void)c;
	(void)n;
	if (!any(3000))
		return ENDLESS;
	return 3e3 * pow(10, any(4001) / 1000.0);
}

/* Returns a pause now and then, no longer than the tenant's bucket forgives. */
static double breath(struct client *c, uint64_t n)
{
	(void)c;
	(void)n;
	return any(200) ? 0 : any(20) * 1e6;
}

/* Lets a second pass, with random events. */
static void live(int wilds)
{
	int i;

	for (i = 0; i < 20; i++) {
		struct client *c = &client[any(wilds)];

		run(50e6);
		if (!any(8))
			end_context(c);
		if (!any(25))
			end_process(c, any(200) * 1e6);
		c->sync = !any(4);
		c->streams = 1 + any(4);
	}
}

struct worst {
	double more, less;	/* of a tenant at random; of the one that only works */
};

/* Watches a sliding window, by the second. */
static void watch(struct worst *w, int seconds, const unsigned int *percent, int wilds)
{
	static double had[2][1000];
	double got;
	int t, k, i;

	for (t = 0; t < seconds; t++) {
		live(wilds);
		for (k = 0; k < 2; k++)
			had[k][t] = 0;
		for (i = 0; i < wilds + 1; i++)
			had[client[i].tenant][t] += sim_process(i)->used_ns;
		if (t < 2 + WINDOW)
			continue;
		for (k = 0; k < 2; k++) {
			got = (had[k][t] - had[k][t - WINDOW]) / (WINDOW * 1e9) * 100 - percent[k];
			w->more = got > w->more ? got : w->more;
			if (k == 1)
				w->less = got < w->less ? got : w->less;
		}
	}
}

static void round_of(int n, int seconds)
{
	static const unsigned int percents[ROUNDS][2] = {
		{ 30, 40 }, { 10, 50 }, { 20, 20 }, { 40, 30 },
	};
	static const double neighbour[ROUNDS] = { 1e5, 2e6, 1e4, 1e5 };
	struct worst w = { 0 };
	int wilds = 1 + n % 2, i;
	uint64_t ended = 0;
	char name[96];

	begin();
	for (i = 0; i < wilds; i++) {
		add(0, percents[n][0], wild, 0)->pause = breath;
		client[i].shm = true;
	}
	add(1, percents[n][1], fixed, neighbour[n])->shm = true;
	watch_all(MAX_KERNEL);
	watch(&w, seconds, percents[n], wilds);
	for (i = 0; i < wilds; i++)
		ended += client[i].ended;
	snprintf(name, sizeof(name), "%u_percent_of_anything_have_no_more_in_any_10_s", percents[n][0]);
	if (!ok(w.more <= POINTS, name))
		diag("%.2f points more", w.more);
	snprintf(name, sizeof(name), "%u_percent_beside_them_have_no_less", percents[n][1]);
	if (!ok(w.less >= -POINTS, name))
		diag("%.2f points less", -w.less);
	snprintf(name, sizeof(name), "its_processes_ended_now_and_then_%d", n + 1);
	ok(ended > (uint64_t)seconds / 5, name);
	diag("%d s: at most %.2f more, %.2f less; %llu processes ended", seconds, w.more, -w.less,
	     (unsigned long long)ended);
	finish();
}

int main(int argc, char **argv)
{
	int seconds = argc > 2 ? atoi(argv[2]) : 40, i;

	random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 37;
	diag("seed %llu", (unsigned long long)random_state);
	random_state = random_state * 0x9e3779b97f4a7c15ull + 1;
	tap_plan(3 * ROUNDS);
	for (i = 0; i < ROUNDS; i++)
		round_of(i, seconds < 1000 ? seconds : 1000);
	return tap_exit();
}
