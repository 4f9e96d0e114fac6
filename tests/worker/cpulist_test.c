// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how CPU lists are read: as the kernel writes them, and as nobody
 * should. It runs on any machine.
 */
#include "vm/cpulist.h"
#include "../tap.h"

static unsigned int cpus[8];

static void refused(const char *list, const char *name)
{
	ok_eq(wh_cpulist_parse(list, cpus, 8), 0, name);
}

int main(void)
{
	tap_plan(8);
	ok(wh_cpulist_parse("1-3,5\n", cpus, 8) == 4 && cpus[0] == 1 && cpus[2] == 3 &&
	   cpus[3] == 5, "ranges_and_numbers_are_read");
	ok(wh_cpulist_parse("7", cpus, 8) == 1 && cpus[0] == 7, "one_cpu_is_a_list");
	ok_eq(wh_cpulist_parse("0-100", cpus, 8), 8, "no_more_than_fit");
	refused("", "empty_list_is_none");
	refused("\n", "empty_line_is_none");
	refused("3-1", "falling_range_is_refused");
	refused("1,,2", "hole_is_refused");
	refused("1-4x", "rest_is_refused");
	return tap_exit();
}
