// SPDX-License-Identifier: Apache-2.0
/*
 * Starts of workers: a client of a tenant gets a process of its own, or is told why there is none.
 */
#define _GNU_SOURCE
#include "daemon/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "daemon/lend.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/suspend.h"
#include "shm.h"
#include "wormhole_abi.h"

#define MAX_STARTS	8	/* workers of a tenant that start at a time */

/* --- Workers ---------------------------------------------------------------------- */

/* Sends the one welcome that the client reads: it says why there is no worker. */
static void tell(int conn, int status, const char *why)
{
	struct wh_shm_welcome w = {
		.magic = WH_SHM_MAGIC,
		.abi_version = WH_ABI_VERSION,
		.shm_version = WH_SHM_VERSION,
		.status = status,
	};

	snprintf(w.error, sizeof(w.error), "%s", why);
	send(conn, &w, sizeof(w), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void refuse(const struct wh_tenant *t, int conn, int status, const char *why)
{
	tell(conn, status, why);
	wh_say_of(t->name, "warn", "tenant %s: no worker for a client: %s", t->name, why);
}

/* Runs in the child before it is a worker: nobody else tells the client why. */
__attribute__((noreturn)) static void give_up(int conn, const char *why)
{
	tell(conn, WH_ENOMEM, why);
	wh_say("error", "no worker: %s", why);
	_exit(1);
}

__attribute__((noreturn)) static void give_up_at(int conn, const char *what)
{
	char why[160];

	snprintf(why, sizeof(why), "%.100s: %s", what, strerror(errno));
	give_up(conn, why);
}

/*
 * Runs in the child: lets a descriptor pass the exec, and returns its number for the command line.
 */
static char *pass(int conn, int fd)
{
	char *text = NULL;

	/* The descriptor keeps its number if it can: no other may be left. */
	fd = fd > 2 && !fcntl(fd, F_SETFD, 0) ? fd : fcntl(fd, F_DUPFD, 3);
	if (fd >= 0 && asprintf(&text, "%d", fd) >= 0)
		return text;
	give_up_at(conn, "what it is given");
}

__attribute__((noreturn))
static void run_worker(const struct wh_tenant *t, int account, int conn, int part, int lent,
		       int started, pid_t client)
{
	char size[32], number[16], parent_text[16], why[160];

	/*
	 * The account must be owned before the worker can do anything, whether child or parent is
	 * faster.
	 */
	wh_tenant_account_own(t->file.usage, account, getpid(), client);
	wh_child_signals();
	if (dup2(t->log.in, 2) < 0)
		give_up_at(conn, "its messages");
	wh_close_in_child();
	if (!wh_isolation_try(&t->isolation, why, sizeof(why)))
		give_up(conn, why);
	wh_environment_in_child();
	/*
	 * The worker's mappings should be far from where the kernel puts a client's, because a
	 * managed variable needs one address in both. If this is not allowed, it depends on chance.
	 */
	personality(personality(0xffffffff) | ADDR_COMPAT_LAYOUT);
	snprintf(size, sizeof(size), "%zuB", wh_server.part_size);
	snprintf(number, sizeof(number), "%d", account);
	snprintf(parent_text, sizeof(parent_text), "%d", wh_monitor_pid());
	execl(wh_server.self, "wormhole-worker-shm", "--serve", pass(conn, conn),
	      "--backend", wh_server.backend, "--part", pass(conn, part), "--part-size", size,
	      "--parent", parent_text,
	      "--protect", wh_isolation_protect(t->nccl), "--started", pass(conn, started),
	      "--lent", pass(conn, lent),
	      "--tenant-limits", pass(conn, t->file.limits_fd),
	      "--tenant-usage", pass(conn, t->file.usage_fd), "--tenant-seats", pass(conn, wh_tenant_seats.dir),
	      "--tenant-seat", pass(conn, wh_tenant_seats.seat[t->seat].fd),
	      "--tenant-trace", pass(conn, t->trace), "--tenant-account", number, (char *)NULL);
	give_up_at(conn, wh_server.self);
}

static int free_account(const struct wh_tenant *t)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (!t->worker[i].pid && !t->worker[i].part && !t->worker[i].lender)
			return i;
	return -1;
}

/* --- Starts ----------------------------------------------------------------------- */

/*
 * A tenant has a few workers starting at a time; more clients wait in the socket's queue. Each
 * start is as much work as the machine can do, and all starts of one tenant must not hold up
 * another tenant.
 */
static unsigned int most_starts(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 2 ? 2 : cpus > MAX_STARTS ? MAX_STARTS : (unsigned int)cpus;
}

void wh_start_over(struct wh_tenant *t, int account)
{
	struct tenant_worker *w = &t->worker[account];

	if (!w->started)
		return;
	wh_loop_remove(w->started);
	close(w->started);
	w->started = 0;
	if (t->starting-- == most_starts() && t->listener >= 0)
		wh_loop_pause(t->listener, false);
}

/* Nobody has the other end any more: the worker serves, or it has ended. */
static void on_started(int fd, void *arg)
{
	struct wh_tenant *t = arg;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].started == fd)
			wh_start_over(t, i);
}

void wh_start_under_way(struct wh_tenant *t, int account, int fd)
{
	if (!wh_loop_add(fd, on_started, t)) {
		close(fd);
		return;
	}
	t->worker[account].started = fd;
	if (++t->starting == most_starts() && t->listener >= 0)
		wh_loop_pause(t->listener, true);
}

/* Returns an account for one more worker, or -1: the client was told why there is none. */
static int may_start(struct wh_tenant *t, int conn)
{
	char why[300];
	int account;

	if (wh_drain_refuses(why, sizeof(why))) {
		refuse(t, conn, WH_EBUSY, why);
		return -1;
	}
	if (wh_suspend_refuses(t, why, sizeof(why))) {
		refuse(t, conn, WH_EBUSY, why);
		return -1;
	}
	if (!wh_admit(&t->starts)) {
		snprintf(why, sizeof(why), "tenant %s connects too often: %d at once and then %d a second are "
			 "served; try again in a moment", t->name, WH_STARTS, WH_STARTS_A_SECOND);
		refuse(t, conn, WH_EBUSY, why);
		return -1;
	}
	wh_parts_look(t);
	account = free_account(t);
	if (account >= 0)
		return account;
	snprintf(why, sizeof(why), "tenant %s has %d workers, the most there may be (%u ended, their programs not); "
		 "further programs need another tenant", t->name, WH_TENANT_WORKERS, wh_parts_kept(t));
	refuse(t, conn, WH_EBUSY, why);
	return -1;
}

static void refuse_for(const struct wh_tenant *t, int conn, const char *what)
{
	char why[160];

	snprintf(why, sizeof(why), "%s: %s", what, strerror(errno));
	refuse(t, conn, WH_ENOMEM, why);
}

/* The ends of what a new worker is given; the server keeps the others. */
struct given {
	int part, lent, started[2];
};

static void close_given(struct given *g)
{
	close(g->started[1]);
	close(g->part);
	close(g->lent);
}

/* Makes them. False: the client was told what could not be made. */
static bool make_given(struct wh_tenant *t, int account, int conn, struct given *g)
{
	if (pipe2(g->started, O_CLOEXEC)) {
		refuse_for(t, conn, "a pipe");
		return false;
	}
	g->part = wh_parts_make(t, account);
	g->lent = g->part < 0 ? -1 : wh_lend_open(t, account);
	if (g->lent >= 0)
		return true;
	refuse_for(t, conn, g->part < 0 ? "the shared part" : "a socket for the worker");
	close(g->started[0]);
	close(g->started[1]);
	if (g->part >= 0) {
		close(g->part);
		wh_parts_look(t);
	}
	return false;
}

/* True: a worker has the connection. False: the client was told why there is none. */
static bool start_worker(struct wh_tenant *t, int conn)
{
	struct ucred client = wh_peer(conn);
	int account = may_start(t, conn);
	struct given g;
	pid_t pid;

	if (account < 0 || !make_given(t, account, conn, &g))
		return false;
	wh_tenant_account_open(t->file.usage, account);
	wh_tenant_account_client(t->file.usage, account, client.pid, client.uid);
	pid = wh_isolation_fork(&t->isolation);
	if (!pid)
		run_worker(t, account, conn, g.part, g.lent, g.started[1], client.pid);
	if (pid < 0)
		refuse_for(t, conn, "fork");
	close_given(&g);
	if (pid < 0) {
		close(g.started[0]);
		wh_lend_close(&t->worker[account]);
		wh_parts_look(t);
		return false;
	}
	wh_tenant_account_own(t->file.usage, account, pid, client.pid);
	t->worker[account].pid = pid;
	t->worker[account].client = client.pid;
	t->worker[account].parks = true;
	t->workers++;
	wh_monitor_changed();
	wh_start_under_way(t, account, g.started[0]);
	wh_parts_bound(t);
	return true;
}

static void turn_away(int conn, void *arg)
{
	refuse(arg, conn, WH_EBUSY, WH_NO_DESCRIPTOR);
	wh_hang_up(conn);
}

void wh_start_on_client(int fd, void *arg)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	bool has = false;	/* a process of its own has the connection */
	int conn;

	if (!wh_hang_up_is_free()) {
		nanosleep(&pause, NULL);
		return;
	}
	conn = wh_accept(fd, turn_away, arg);
	if (conn < 0)
		return;
	if (!wh_lend_on_client(arg, conn, &has))
		has = start_worker(arg, conn);
	if (has)
		close(conn);
	else
		wh_hang_up(conn);
}
