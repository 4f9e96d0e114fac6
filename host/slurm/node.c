// SPDX-License-Identifier: Apache-2.0
/* Which node a daemon is, and which device of its machine that node is, by their names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm.h"

void ws_node_of_daemon(char out[WS_NODE])
{
	char line[4096], *p;
	FILE *f = fopen("/proc/self/cmdline", "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;

	*out = 0;
	if (f)
		fclose(f);
	line[n] = 0;
	for (p = line; p < line + n; p += strlen(p) + 1)
		if (!strncmp(p, "-N", 2))
			snprintf(out, WS_NODE, "%s", p[2] || p + 3 > line + n ? p + 2 : p + 3);
}

int ws_device_of(const char *node)
{
	const char *last = strrchr(node, '-');
	char *end;
	long n;

	if (!last || strncmp(last, "-gpu", 4) || last[4] < '0' || last[4] > '9')
		return -1;
	n = strtol(last + 4, &end, 10);
	return *end || n > 63 ? -1 : (int)n;
}
