// SPDX-License-Identifier: Apache-2.0
/* Reads CPU lists. */
#include <stdio.h>
#include <stdlib.h>

#include "vm/cpulist.h"

#define MAX_CPU	8192

/* Reads one number or range; returns what is behind it, or NULL. */
static const char *range(const char *s, unsigned long *first, unsigned long *last)
{
	char *end;

	if (*s < '0' || *s > '9')
		return NULL;
	*first = *last = strtoul(s, &end, 10);
	if (*end == '-') {
		s = end + 1;
		if (*s < '0' || *s > '9')
			return NULL;
		*last = strtoul(s, &end, 10);
	}
	return *first <= *last && *last < MAX_CPU ? end : NULL;
}

unsigned int wh_cpulist_parse(const char *list, unsigned int *cpus, unsigned int max)
{
	unsigned long first, last;
	unsigned int n = 0;

	for (;;) {
		list = range(list, &first, &last);
		if (!list)
			return 0;
		for (; first <= last && n < max; first++)
			cpus[n++] = (unsigned int)first;
		if (!*list || *list == '\n')
			return n;
		if (*list++ != ',')
			return 0;
	}
}

unsigned int wh_cpulist_isolated(unsigned int *cpus, unsigned int max)
{
	FILE *f = fopen("/sys/devices/system/cpu/isolated", "re");
	unsigned int n = 0;
	char line[256];

	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f))
		n = wh_cpulist_parse(line, cpus, max);
	fclose(f);
	return n;
}
