// SPDX-License-Identifier: Apache-2.0
/*
 * How much of a device a context takes: a tenant with less memory could start no program. Workers
 * measure it. Their word is bounded here, and decides nothing but whether a tenant without workers
 * may have so small a limit: a worker that lies changes no limit of a tenant that holds memory.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <stdio.h>

#include "daemon/tenants.h"

#define MIB		(1ull << 20)
#define LEAST_KNOWN	(64 * MIB)	/* no driver's context is smaller (docs/limits.md) */
#define MOST_BELIEVED	(1024 * MIB)

static bool seen;	/* the driver's figures have come */
static uint64_t least[WH_TENANT_DEVICES];	/* smallest that was measured; 0: none yet */

static void look_at(const struct wh_tenant_usage *u, int account)
{
	const struct wh_worker_usage *w = &u->worker[account];
	uint64_t one;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		one = __atomic_load_n(&w->device[d].context, __ATOMIC_RELAXED);
		if (one >= LEAST_KNOWN && one <= MOST_BELIEVED && one - 1 < least[d] - 1)
			least[d] = one;		/* 0 is more than all */
	}
}

void wh_contexts_look(void)
{
	struct wh_tenant *t = NULL;
	int i;

	seen = true;
	while ((t = wh_tenant_next(t)))
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t->worker[i].pid)
				look_at(t->file.usage, i);
}

bool wh_contexts_fit(const struct wh_tenant *t, const struct wh_device_limit *limit, char *err,
		     size_t err_size)
{
	uint64_t needs;
	unsigned int d;

	/* Without the driver's figures, as over softgpu, contexts are not charged. */
	if (t->workers || !seen)
		return true;
	for (d = 0; d < wh_server.devices; d++) {
		needs = least[d] ? least[d] : LEAST_KNOWN;
		if (limit[d].memory - 1 >= needs - 1)	/* 0 is no limit */
			continue;
		snprintf(err, err_size, "device %u: %llu bytes of memory are too few for any program: a context alone "
			 "takes %s%llu MiB; give more", d, (unsigned long long)limit[d].memory,
			 least[d] ? "" : "at least ", (unsigned long long)((needs + MIB - 1) / MIB));
		return false;
	}
	return true;
}
