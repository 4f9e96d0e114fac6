// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how much of a cgroup's memory is in pipes and sockets alone, by the files that
 * each version of cgroups has. The folders are made here, since a machine has one version.
 */
#include "tap.h"
#include "protect/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB	(1ull << 20)

static char folder[] = "/tmp/cgroup_test.XXXXXX";

static void has(const char *file, const char *text)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		printf("Bail out! %s\n", path);
		exit(1);
	}
}

static void lacks(const char *file)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	unlink(path);
}

/* What the kernel may have charged in advance, or not summed up yet. */
static uint64_t late(void)
{
	return (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 512 * 1024;
}

static uint64_t loose(bool v2)
{
	uint64_t bytes = wh_cgroup_loose_in(folder, v2);

	return bytes ? bytes + late() : 0;
}

static void version_2(void)
{
	has("memory.current", "10737418240\n");
	has("memory.stat", "anon 1073741824\nfile 5368709120\nkernel 1048576\nkernel_stack 1048576\n"
	    "sock 0\nshmem 5368709120\nfile_mapped 1073741824\nhugetlb 1073741824\nslab 524288\n");
	ok_eq(loose(true) / MIB, 3071, "what_no_process_no_file_and_no_kernel_has_is_loose");
	has("memory.stat", "anon 1073741824\nfile 5368709120\nkernel_stack 1048576\npagetables 1048576\n"
	    "percpu 1048576\nsock 1048576\nslab 1048576\n");
	ok_eq(loose(true) / MIB, 4091, "before_linux_5_18_the_parts_of_the_kernels_memory_are_added_up");
	has("memory.current", "6443000000\n");
	ok_eq(loose(true), 0, "a_little_is_what_the_kernel_charges_in_advance");
	has("memory.current", "1000\n");
	ok_eq(loose(true), 0, "sums_that_are_late_are_no_loose_memory");
}

static void version_1(void)
{
	has("memory.usage_in_bytes", "10737418240\n");
	has("memory.kmem.usage_in_bytes", "1048576\n");
	has("memory.stat", "cache 1\nrss 1\ntotal_cache 5368709120\ntotal_rss 1073741824\n");
	ok_eq(loose(false) / MIB, 4095, "in_version_1_the_sums_of_all_below_count");
	lacks("memory.kmem.usage_in_bytes");
	ok_eq(loose(false) / MIB, 4096, "without_its_kernel_memory_that_is_nothing");
	lacks("memory.stat");
	ok_eq(loose(false), 0, "what_cannot_be_read_is_not_known");
}

int main(void)
{
	if (!mkdtemp(folder)) {
		printf("Bail out! %s\n", folder);
		return 1;
	}
	tap_plan(7);
	version_2();
	version_1();
	lacks("memory.current");
	lacks("memory.usage_in_bytes");
	rmdir(folder);
	return tap_exit();
}
