// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises, in virtual time, what a worker keeps of its share that gets the CPU late, as
 * on a machine with more threads than CPUs, and that others lose nothing by that.
 */
#include "sim_client.h"
#include "tap.h"

#define SECONDS	1e9

static void test_late(double late, double least, double others_least)
{
	double share[SIM_PROCESSES];
	struct client *c;
	char name[96];
	int good;

	begin();
	c = add(0, 50, fixed, 1e6);
	c->shm = true;
	c->late = late;
	c = add(1, 50, fixed, 1e6);
	c->shm = true;
	run(1 * SECONDS);
	run_and_measure(5 * SECONDS, share);
	snprintf(name, sizeof(name), "who_is_late_by_%.0f_ms_has_at_least_%.0f_of_50_percent",
		 late / 1e6, least);
	good = ok(share[0] >= least, name);
	snprintf(name, sizeof(name), "and_the_other_one_%.0f", others_least);
	if (!ok(share[1] >= others_least, name) || !good)
		diag("%.1f %% and %.1f %%", share[0], share[1]);
	finish();
}

int main(void)
{
	tap_plan(10);
	test_late(0, 48, 48);
	test_late(5e6, 44, 48);
	test_late(10e6, 43, 48);
	test_late(20e6, 38, 48);
	test_late(50e6, 24, 48);
	return tap_exit();
}
