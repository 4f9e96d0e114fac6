// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of a cgroup that is in none of its processes and files any more. A page that was taken
 * out of a file stays charged while something else in the kernel has it: a pipe or a socket, into
 * which it was spliced. It is in none of the cgroup's sums then, only in what it uses in all.
 */
#define _GNU_SOURCE
#include "protect/cgroup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel charges in advance, and sums up late, 64 pages for each CPU (MEMCG_CHARGE_BATCH). */
#define LATE_PAGES	64

/* Returns the number of a line "NAME NUMBER"; 0: there is no such line. */
static uint64_t number(const char *stat, const char *name)
{
	size_t n = strlen(name);
	const char *line;

	for (line = stat; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, n) && line[n] == ' ')
			return strtoull(line + n, NULL, 10);
	}
	return 0;
}

/* Version 2. The sum of the kernel's own memory is there since Linux 5.18. */
static uint64_t listed(const char *stat)
{
	static const char *const of_kernel[] = { "kernel_stack", "pagetables", "percpu", "slab" };
	uint64_t sum = number(stat, "anon") + number(stat, "file") + number(stat, "sock") +
		       number(stat, "hugetlb");
	size_t i;

	if (strstr(stat, "\nkernel "))
		return sum + number(stat, "kernel");
	for (i = 0; i < sizeof(of_kernel) / sizeof(*of_kernel); i++)
		sum += number(stat, of_kernel[i]);
	return sum;
}

/* Version 1 counts the kernel's memory in a file of its own. */
static uint64_t listed_v1(const char *dir, const char *stat)
{
	char kernel[32];

	return number(stat, "total_rss") + number(stat, "total_cache") +
	       (wh_cgroup_get(dir, "memory.kmem.usage_in_bytes", kernel, sizeof(kernel)) ?
		strtoull(kernel, NULL, 10) : 0);
}

uint64_t wh_cgroup_loose_in(const char *dir, bool v2)
{
	uint64_t late = 2ull * LATE_PAGES * (uint64_t)sysconf(_SC_PAGESIZE) *
			(uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	const char *used = v2 ? "memory.current" : "memory.usage_in_bytes";
	char stat[8192], before[32], after[32];
	uint64_t all, again, rest;

	if (!wh_cgroup_get(dir, used, before, sizeof(before)) ||
	    !wh_cgroup_get(dir, "memory.stat", stat, sizeof(stat)) ||
	    !wh_cgroup_get(dir, used, after, sizeof(after)))
		return 0;
	/* What came or went between the readings is not loose. */
	all = strtoull(before, NULL, 10);
	again = strtoull(after, NULL, 10);
	all = again < all ? again : all;
	rest = (v2 ? listed(stat) : listed_v1(dir, stat)) + late;
	return all > rest ? all - rest : 0;
}
