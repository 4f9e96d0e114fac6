// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how many lines the server's log takes (server/daemon/log.c) when as
 * many tenants as there may be have something to say again and again: a fixed number of
 * each tenant, and not more because of others.
 */
#include "daemon/server.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	40
#define AT_ONCE	10	/* lines of a kind */

/* --- What the log needs of the server ------------------------------------------------- */

bool wh_loop_add(int fd, wh_event_fn fn, void *arg)
{
	(void)fd, (void)fn, (void)arg;
	return true;
}

void wh_loop_remove(int fd)
{
	(void)fd;
}

int wh_loop_next(int *at, wh_event_fn fn, void **arg)
{
	(void)at;
	(void)fn;
	(void)arg;
	return -1;
}

void wh_loop_every(unsigned int ms, void (*fn)(void))
{
	(void)ms, (void)fn;
}

void wh_log_file_bound(void)
{
}

/* --------------------------------------------------------------------------------------- */

static void say(unsigned int tenant)
{
	char name[16];

	snprintf(name, sizeof(name), "t%u", tenant);
	wh_say_of(name, "warn", "tenant %s: one kind", name);
	wh_say_of(name, "warn", "tenant %s: another", name);
}

/* Counts lines on the standard error, which is a file. */
static unsigned int lines(FILE *log)
{
	unsigned int n = 0;
	int c;

	rewind(log);
	while ((c = getc(log)) != EOF)
		n += c == '\n';
	return n;
}

int main(void)
{
	FILE *log = tmpfile();
	int own = dup(2);
	time_t begun = time(NULL);
	unsigned int i, t, n, most;

	tap_plan(2);
	if (!log || own < 0 || dup2(fileno(log), 2) < 0)
		return 1;
	for (i = 0; i < ROUNDS; i++)
		for (t = 0; t < WH_MAX_TENANTS; t++)
			say(t);
	dup2(own, 2);
	n = lines(log);
	/* Each tenant has one line more in each second, with what was left out. */
	most = 2 * WH_MAX_TENANTS * (AT_ONCE + 2 * (unsigned int)(time(NULL) - begun + 1));
	ok(n <= most, "all_tenants_together_have_no_more_lines_than_each_of_them");
	ok(n >= 2 * WH_MAX_TENANTS * AT_ONCE, "and_each_has_its_own");
	diag("%u lines of %u, %u at most", n, 2 * WH_MAX_TENANTS * ROUNDS, most);
	return tap_exit();
}
