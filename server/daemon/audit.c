// SPDX-License-Identifier: Apache-2.0
/*
 * Compares what the driver says with what the handlers counted. A worker that
 * was taken over can allocate behind the handlers; it cannot hide that from
 * the driver. A tenant whose processes hold more than its limit and the slack
 * at READINGS readings in a row loses the worker that has most beyond its own
 * count, and so on until the rest fits.
 *
 * The slack, for each worker, stands for what the driver counts for a process
 * and no call asked for: its context, its kernels' code, local memory.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/nvml_reader.h"
#include "daemon/tenants.h"
#include "libraries/nvml_abi.h"

#define READINGS	3	/* above the limit in a row */
#define BLIND_READINGS	20	/* of workers with memory but without any figure: say so */

static struct {
	pid_t pid;
	int fd;
	unsigned int blind;
	bool said_blind, said_unknown;
} reader = { .fd = -1 };

/* --- Figures ---------------------------------------------------------------------- */

static int device_of(const char *uuid)
{
	unsigned int i;

	for (i = 0; i < wh_server.devices; i++)
		if (!strcmp(wh_server.device[i].uuid, uuid))
			return (int)i;
	return -1;
}

static const struct wh_figure *figure_of(const struct wh_figures *f, pid_t pid)
{
	uint32_t i;

	for (i = 0; i < f->count; i++)
		if (f->figure[i].pid == (uint32_t)pid)
			return &f->figure[i];
	return NULL;
}

/* The worker's account shows it; what decides is the server's own copy. */
static bool note(struct wh_tenant *t, int account, int device, const struct wh_figures *all)
{
	const struct wh_figure *f = figure_of(all, t->worker[account].pid);
	struct wh_device_usage *u = &t->file.usage->worker[account].device[device];
	uint64_t bytes = f && f->bytes != NVML_UNKNOWN_BYTES ? f->bytes : 0;

	t->worker[account].driver[device] = bytes;
	__atomic_store_n(&u->memory_driver, bytes, __ATOMIC_RELAXED);
	/* Under a share of time the worker measures it. */
	if (f && !wh_has_share(&t->file.limits->device[device], WH_SM_TEMPORAL))
		__atomic_fetch_add(&u->gpu_ns_driver, f->busy_ns, __ATOMIC_RELAXED);
	return f != NULL;
}

/* --- Judgement -------------------------------------------------------------------- */

/* The one that holds most beyond what its handlers counted; -1: no figure at all. */
static int worst(const struct wh_tenant *t, int device, uint64_t quota)
{
	uint64_t beyond, most = 0, counted, held;
	int i, out = -1;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		held = t->worker[i].pid ? t->worker[i].driver[device] : 0;
		if (!held)
			continue;
		counted = t->file.usage->worker[i].device[device].memory;
		/* It is the worker's word: handlers let nobody have more than the limit. */
		if (counted > quota)
			counted = quota;
		beyond = held > counted ? held - counted : 0;
		if (out < 0 || beyond > most) {
			out = i;
			most = beyond;
		}
	}
	return out;
}

static void stop_worst(struct wh_tenant *t, int device, uint64_t held, uint64_t quota)
{
	int account = worst(t, device, quota);

	if (account < 0)
		return;
	wh_say("warn", "tenant %s: worker %d stopped: on device %d the driver counts %" PRIu64
	       " bytes for the tenant, its limit is %" PRIu64, t->name, t->worker[account].pid, device,
	       held, quota);
	kill(t->worker[account].pid, SIGKILL);
	t->worker[account].driver[device] = 0;
}

static void judge(struct wh_tenant *t, int device)
{
	uint64_t quota = t->limit[device].memory, held = 0, slack = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].pid && t->worker[i].driver[device]) {
			held += t->worker[i].driver[device];
			slack += wh_server.slack;
		}
	if (!quota || held <= quota || held - quota <= slack) {
		t->over[device] = 0;
		return;
	}
	if (++t->over[device] < READINGS)
		return;
	t->over[device] = 0;
	stop_worst(t, device, held, quota);
}

/* Workers hold memory, but the driver names none of them. */
static void mind_blindness(bool hold, bool seen)
{
	reader.blind = hold && !seen ? reader.blind + 1 : 0;
	if (reader.blind < BLIND_READINGS || reader.said_blind)
		return;
	reader.said_blind = true;
	wh_say("warn", "the driver names no worker's process, as in a container with its own process "
	       "numbers: memory behind the handlers is not noticed; run the server in the host's");
}

static void use(const struct wh_figures *f)
{
	int device = device_of(f->uuid), i;
	bool hold = false, seen = false;
	struct wh_tenant *t = NULL;

	if (device < 0) {
		if (!reader.said_unknown)
			wh_say("info", "NVML has a device that the backend has not: %s", f->uuid);
		reader.said_unknown = true;
		return;
	}
	while ((t = wh_tenant_next(t))) {
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t->worker[i].pid) {
				seen |= note(t, i, device, f);
				hold |= t->file.usage->worker[i].device[device].memory != 0;
			}
		judge(t, device);
	}
	mind_blindness(hold, seen);
}

/* --- The reading process ---------------------------------------------------------- */

static void close_reader(void)
{
	if (reader.fd < 0)
		return;
	wh_loop_remove(reader.fd);
	close(reader.fd);
	reader.fd = -1;
}

static void on_figures(int fd, void *arg)
{
	static struct wh_figures f;
	ssize_t n = recv(fd, &f, sizeof(f), MSG_DONTWAIT);

	(void)arg;
	if (n <= 0) {
		close_reader();
		return;
	}
	f.uuid[sizeof(f.uuid) - 1] = 0;
	if (n < (ssize_t)offsetof(struct wh_figures, figure) || f.count > WH_FIGURES_MAX ||
	    (size_t)n != offsetof(struct wh_figures, figure) + f.count * sizeof(f.figure[0]))
		return;
	use(&f);
}

bool wh_audit_start(void)
{
	char period[16];
	char *argv[] = { "wormhole-figures", "--figures", "--backend", (char *)wh_server.backend,
			 "--period", period, wh_server.nvml ? "--nvml" : NULL,
			 (char *)wh_server.nvml, NULL };
	int pair[2];

	if (wh_server.nvml && !strcmp(wh_server.nvml, "none"))
		return true;
	snprintf(period, sizeof(period), "%u", wh_server.period_ms);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	reader.pid = wh_start(argv, pair[1]);
	close(pair[1]);
	reader.fd = pair[0];
	if (reader.pid > 0 && wh_loop_add(reader.fd, on_figures, NULL))
		return true;
	close(reader.fd);
	reader.fd = -1;
	return false;
}

/* It ends by itself, status 0, where nothing can be read; anything else is an accident. */
bool wh_audit_reap(pid_t pid, int status)
{
	if (pid != reader.pid)
		return false;
	reader.pid = 0;
	close_reader();
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	wh_say("warn", "the process that reads NVML ended with status %#x; starting another", status);
	wh_audit_start();
	return true;
}

pid_t wh_audit_pid(void)
{
	return reader.pid;
}

void wh_audit_stop(void)
{
	close_reader();
	if (reader.pid > 0)
		kill(reader.pid, SIGKILL);
}
