// SPDX-License-Identifier: Apache-2.0
/*
 * CPU time of a tenant's workers, living and ended, as the kernel counts it for processes that are
 * children of this one: no worker can influence it.
 */
#define _GNU_SOURCE
#include "daemon/server.h"
#include "daemon/tenant.h"
#include "tenant/clock.h"

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

/* Returns 0 if there is no such process. */
static uint64_t living(pid_t pid)
{
	clockid_t clock;

	return pid <= 0 || clock_getcpuclockid(pid, &clock) ? 0 : wh_clock_ns(clock);
}

void wh_usage_ended(pid_t pid, const struct rusage *u)
{
	struct wh_tenant *t = NULL;
	int i;

	while ((t = wh_tenant_next(t)))
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t->worker[i].pid == pid)
				t->cpu_ns += ns_of(&u->ru_utime) + ns_of(&u->ru_stime);
}

uint64_t wh_usage_of(const struct wh_tenant *t)
{
	uint64_t sum = t->cpu_ns;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		sum += living(t->worker[i].pid);
	return sum;
}

uint64_t wh_usage_own(void)
{
	return wh_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + living(wh_judge_pid());
}
