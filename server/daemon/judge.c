// SPDX-License-Identifier: Apache-2.0
/*
 * The process that reads the driver's own figures, and what they are compared with
 * (figures/judge.c): this server's tenants and their workers.
 */
#define _GNU_SOURCE
#include "daemon/monitor.h"
#include "daemon/server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/tenant.h"
#include "figures/figures.h"
#include "tenant/clock.h"

#define UNSEEN	(64ULL << 20)
#define CALM_MS		10000	/* who has lived for so long is started again at once, */
#define PAUSE_MS	1000	/* others after so long, and each time after twice as long */
#define MAX_PAUSE_MS	60000

static struct {
	pid_t pid;
	int fd;
	int64_t started_ms;
	unsigned int pause_ms;	/* before the last start */
	int timer;		/* of the next start; -1: there was none yet */
} reader = { .fd = -1, .timer = -1 };

/* --- Tenants ---------------------------------------------------------------------- */

static bool next(unsigned int *at, struct wh_judged *out)
{
	static struct wh_tenant *t;
	int i;

	t = wh_tenant_next(*at ? t : NULL);
	if (!t)
		return false;
	*at = 1;
	*out = (struct wh_judged){
		.name = t->name, .limit = t->limit, .file = t->file.limits, .usage = t->file.usage,
		.held = &t->held,
	};
	for (i = 0; i < WH_TENANT_WORKERS; i++)
		out->pid[i] = t->worker[i].pid;
	return true;
}

static struct wh_device_figures figures[WH_TENANT_DEVICES];
static struct wh_judge judge = {
	.next = next, .say = wh_say, .kill = wh_monitor_kill, .figures = figures,
};

const struct wh_device_figures *wh_judge_device(unsigned int device)
{
	return &figures[device];
}

/* --- The reading process ---------------------------------------------------------- */

static void close_reader(void)
{
	if (reader.fd < 0)
		return;
	wh_loop_remove(reader.fd);
	close(reader.fd);
	reader.fd = -1;
	/* What nobody reads any more is not known. */
	memset(figures, 0, sizeof(figures));
}

static void use_figures(const struct wh_figures *f)
{
	wh_judge_use(&judge, f);
	wh_contexts_charged();
}

static void on_figures(int fd, void *arg)
{
	static struct wh_figures f;
	int n = wh_figures_receive(fd, &f);

	(void)arg;
	if (n < 0)
		close_reader();
	else if (n)
		use_figures(&f);
}

bool wh_judge_start(void)
{
	char period[16];
	char *argv[] = { "wormhole-figures", "--figures", "--backend", (char *)wh_server.backend,
			 "--period", period, wh_server.nvml ? "--nvml" : NULL,
			 (char *)wh_server.nvml, NULL };
	int pair[2];

	judge.device = wh_server.device;
	judge.devices = wh_server.devices;
	judge.slack = wh_server.slack;
	judge.unseen = UNSEEN;
	if (wh_server.nvml && !strcmp(wh_server.nvml, "none"))
		return true;
	snprintf(period, sizeof(period), "%u", wh_server.period_ms);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	reader.started_ms = wh_now_ms();
	reader.pid = wh_start(argv, pair[1]);
	close(pair[1]);
	reader.fd = pair[0];
	if (reader.pid > 0 && wh_loop_add(reader.fd, on_figures, NULL))
		return true;
	close(reader.fd);
	reader.fd = -1;
	return false;
}

static void on_time(void)
{
	if (!reader.pid)
		wh_judge_start();
}

/* False: nobody would start it. */
static bool start_later(unsigned int ms)
{
	if (reader.timer < 0)
		reader.timer = wh_timer_new(on_time);
	return reader.timer >= 0 && wh_timer_set(reader.timer, ms, false);
}

/*
 * The process ends by itself, with status 0, if it can read nothing; any other end is an accident.
 * One that has an accident each time must cost neither the machine nor the log much.
 */
bool wh_judge_reap(pid_t pid, int status)
{
	unsigned int longer = reader.pause_ms ? 2 * reader.pause_ms : PAUSE_MS;

	if (pid != reader.pid)
		return false;
	reader.pid = 0;
	close_reader();
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	reader.pause_ms = wh_now_ms() - reader.started_ms >= CALM_MS ? 0 :
			  longer < MAX_PAUSE_MS ? longer : MAX_PAUSE_MS;
	wh_say("warn", "the process that reads NVML ended with status %#x; starting another in %u ms",
	       status, reader.pause_ms);
	if (!reader.pause_ms || !start_later(reader.pause_ms))
		wh_judge_start();
	return true;
}

pid_t wh_judge_pid(void)
{
	return reader.pid;
}

void wh_judge_stop(void)
{
	close_reader();
	if (reader.pid > 0)
		kill(reader.pid, SIGKILL);
}
