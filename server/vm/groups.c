// SPDX-License-Identifier: Apache-2.0
/*
 * A cgroup for each worker of a server VM: each gets an equal part of the VM's memory, or a given
 * size.
 */
#include "vm/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "protect/cgroup.h"

#define MIB	1048576

static struct {
	int on;
	uint64_t memory;	/* bytes for each worker */
} groups;

static uint64_t equal_part(unsigned int workers)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return (all - all / 8) / workers;
}

int wh_worker_groups_start(unsigned int workers, uint64_t memory, char *text, size_t size)
{
	struct wh_protection mem = { 0 }, processes = { 0 }, cpu = { 0 };

	wh_cgroup_start(&mem, &processes, &cpu);
	groups.on = mem.on;
	groups.memory = memory ? memory : equal_part(workers);
	if (groups.on)
		snprintf(text, size, "each worker has %" PRIu64 " MiB of memory, by cgroup %s",
			 groups.memory / MIB, mem.detail);
	else
		snprintf(text, size, "%s: only the VM's memory bounds what a worker takes of it",
			 mem.detail);
	return groups.on;
}

void wh_worker_groups_stop(void)
{
	wh_cgroup_stop();
}

static const char *name_of(unsigned int n)
{
	static char name[24];

	snprintf(name, sizeof(name), "worker%u", n);
	return name;
}

int wh_worker_group_open(unsigned int n, char *err, size_t err_size)
{
	if (!groups.on || (wh_cgroup_open(name_of(n), err, err_size) &&
			   wh_cgroup_memory(name_of(n), groups.memory, NULL, err, err_size)))
		return 0;
	return -1;
}

int wh_worker_group_more(unsigned int n, uint64_t bytes, char *err, size_t err_size)
{
	bool waits = false;

	if (groups.on &&
	    !wh_cgroup_memory(name_of(n), groups.memory + bytes, &waits, err, err_size))
		return -1;
	return waits;
}

int wh_worker_group_enter(unsigned int n)
{
	return groups.on ? wh_cgroup_enter(name_of(n)) : 0;
}

void wh_worker_group_close(unsigned int n)
{
	if (groups.on)
		wh_cgroup_close(name_of(n));
}
