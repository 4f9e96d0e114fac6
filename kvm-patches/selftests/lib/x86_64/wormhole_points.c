// SPDX-License-Identifier: GPL-2.0-only
/*
 * Points where the kernel holds threads for a test (CONFIG_KVM_WORMHOLE_TEST), and
 * on which CPU threads run that are to meet.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "wormhole.h"

#define POINTS	"/sys/kernel/debug/kvm-wormhole/points"

bool wh_points_there(void)
{
	return !access(POINTS, R_OK | W_OK);
}

void wh_point(const char *name, const char *verb, int val)
{
	FILE *f = fopen(POINTS, "w");

	if (!f || fprintf(f, "%s %s %d", name, verb, val) < 0 || fclose(f))
		wh_die(POINTS);
}

long wh_point_read(const char *name, int cpu)
{
	FILE *f = fopen(POINTS, "r");
	long waiting, hits[2], ret = -1;
	char line[128], word[32];
	int n;

	while (f && fgets(line, sizeof(line), f)) {
		hits[0] = 0;
		hits[1] = 0;
		n = sscanf(line, "%31s %ld %ld %ld", word, &waiting, &hits[0], &hits[1]);
		if (n >= 2 && !strcmp(word, name))
			ret = cpu < 0 ? waiting : hits[cpu];
	}
	if (f)
		fclose(f);
	return ret;
}

bool wh_point_waits(const char *name)
{
	return wh_poll(wh_point_read(name, -1) == 1, 1000);
}

bool wh_two_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) >= 2;
}

void wh_pin(int tid, int cpu)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < 2; i++)
		if (cpu < 0 || cpu == i)
			CPU_SET(i, &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		wh_die("sched_setaffinity");
}
