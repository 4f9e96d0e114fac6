// SPDX-License-Identifier: Apache-2.0
/*
 * Draining: the server takes no new programs, and may end with the last one. A program is a client
 * that a worker serves, so a program's child that connects for the first time is a new one.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/monitor.h"
#include "daemon/server.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/tenant.h"

static bool draining, ending;

/* Has the process ended, so that its worker only has not yet? Of a pid that is 0 nobody knows. */
static bool has_ended(pid_t client)
{
	struct pollfd p = { .events = POLLIN };
	bool ended;

	if (client <= 0)
		return false;
	p.fd = (int)syscall(SYS_pidfd_open, client, 0);
	if (p.fd < 0)
		return errno == ESRCH;
	ended = poll(&p, 1, 0) == 1;
	close(p.fd);
	return ended;
}

static bool runs(const struct tenant_worker *w)
{
	return w->pid && !has_ended(w->client);
}

static unsigned int programs_of(const struct wh_tenant *t)
{
	unsigned int n = 0;
	int i;

	for (i = 0; t->workers && i < WH_TENANT_WORKERS; i++)
		n += runs(&t->worker[i]);
	return n;
}

unsigned int wh_drain_programs(void)
{
	struct wh_tenant *t = NULL;
	unsigned int n = 0;

	while ((t = wh_tenant_next(t)))
		n += programs_of(t);
	return n;
}

bool wh_drain_refuses(char *why, size_t size)
{
	if (draining)
		snprintf(why, size, "the server takes no new programs%s; ask its administrator, who says "
			 "`wormhole drain --off'", ending ? " and ends with the last one" : "");
	return draining;
}

/* A packet of the control socket has room for so many pids of each tenant. */
#define MOST_PIDS	16

static cJSON *entry(const struct wh_tenant *t, unsigned int programs)
{
	cJSON *e = cJSON_CreateObject(), *pids;
	int i, n = 0;

	cJSON_AddStringToObject(e, "tenant", t->name);
	cJSON_AddNumberToObject(e, "programs", programs);
	pids = cJSON_AddArrayToObject(e, "pids");
	for (i = 0; i < WH_TENANT_WORKERS && n < MOST_PIDS; i++)
		if (runs(&t->worker[i]) && ++n)
			cJSON_AddItemToArray(pids, cJSON_CreateNumber(t->worker[i].client));
	return e;
}

void wh_drain_list(cJSON *all)
{
	struct wh_tenant *t = NULL;
	unsigned int n;

	while ((t = wh_tenant_next(t))) {
		n = programs_of(t);
		if (n)
			cJSON_AddItemToArray(all, entry(t, n));
	}
}

void wh_drain(bool on, bool end)
{
	if (on != draining)
		wh_say("info", on ? "no new programs are taken" : "new programs are taken again");
	draining = on;
	ending = on && end;
	wh_monitor_changed();
}

bool wh_drain_ends(void)
{
	return ending;
}

void wh_drain_leave(cJSON *o)
{
	cJSON_AddBoolToObject(o, "draining", draining);
	cJSON_AddBoolToObject(o, "ending", ending);
}

void wh_drain_take(void)
{
	draining = wh_taken_flag(wh_handed("drain"), "draining");
	ending = wh_taken_flag(wh_handed("drain"), "ending");
}

void wh_drain_look(void)
{
	if (ending && !wh_drain_programs())
		wh_loop_stop();
}

bool wh_drain_allows_stop(char *err, size_t err_size)
{
	unsigned int programs = wh_drain_programs(), named = 0, more = 0;
	struct wh_tenant *t = NULL;
	char names[200] = "";
	size_t n = 0;

	if (!programs)
		return true;
	while ((t = wh_tenant_next(t))) {
		if (!programs_of(t))
			continue;
		if (named++ < 3)
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", t->name);
		else
			more++;
	}
	if (more)
		snprintf(names + n, sizeof(names) - n, " and %u more", more);
	snprintf(err, err_size, "%u program%s run%s, of tenant%s %s; `wormhole stop --when-idle' lets them end, "
		 "`wormhole stop --force' ends them", programs, programs > 1 ? "s" : "",
		 programs > 1 ? "" : "s", named > 1 ? "s" : "", names);
	return false;
}
