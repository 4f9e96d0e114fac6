// SPDX-License-Identifier: Apache-2.0
/*
 * How much of a device a context takes: a tenant with less memory could start no program. The
 * server's own process has measured it at the start (figures/context.c).
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <stdio.h>

#include "daemon/tenant.h"

#define MIB		(1ull << 20)
#define LEAST_KNOWN	(64 * MIB)	/* no driver's context is smaller (docs/limits.md) */

static bool seen;	/* the driver's figures have come */

void wh_contexts_charged(void)
{
	seen = true;
}

bool wh_contexts_fit(const struct wh_tenant *t, const struct wh_device_limit *limit, char *err,
		     size_t err_size)
{
	uint64_t needs, known;
	unsigned int d;

	if (t->workers)
		return true;
	for (d = 0; d < wh_server.devices; d++) {
		known = wh_server.device[d].context;
		/* Without the driver's figures, as over softgpu, contexts are not charged. */
		needs = known ? known : seen ? LEAST_KNOWN : 0;
		if (!needs || limit[d].memory - 1 >= needs - 1)	/* 0 is no limit */
			continue;
		snprintf(err, err_size, "device %u: %llu bytes of memory are too few for any program: a context alone "
			 "takes %s%llu MiB; give more", d, (unsigned long long)limit[d].memory,
			 known ? "" : "at least ", (unsigned long long)((needs + MIB - 1) / MIB));
		return false;
	}
	return true;
}
