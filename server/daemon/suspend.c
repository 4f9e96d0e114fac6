// SPDX-License-Identifier: Apache-2.0
/*
 * Suspends and resumes tenants. The word in the tenant's limits stops its workers' calls at once; a
 * process of its own then asks the driver (checkpoint.c), and says in a pipe how it went. Both
 * outlive a server that is killed: the next one has the pipe, and goes on from what it reads there.
 * A process that ends without a word may have left some workers with their memory and some without,
 * so another one brings all of them back.
 */
#define _GNU_SOURCE
#include "daemon/suspend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/tenants.h"

const char *wh_suspension_name(const struct wh_tenant *t)
{
	return wh_suspension_text(t->suspend.state);
}

bool wh_suspend_is_under_way(const struct wh_tenant *t)
{
	return t->suspend.state == WH_SUSPENDING || t->suspend.state == WH_RESUMING;
}

static void on_result(int fd, void *arg);

/* --- The process that asks the driver ------------------------------------------------- */

static void list_workers(const struct wh_tenant *t, char *out, size_t size)
{
	size_t n = 0;
	int i;

	*out = 0;
	for (i = 0; i < WH_TENANT_WORKERS && n < size; i++)
		if (t->worker[i].pid)
			n += (size_t)snprintf(out + n, size - n, "%s%d:%d", n ? "," : "", i,
					      t->worker[i].pid);
}

__attribute__((noreturn))
static void run(const struct wh_tenant *t, bool resume, unsigned int wait_ms, int result)
{
	char workers[WH_TENANT_WORKERS * 16], number[16], wait[16], parent[16], usage[16], out[16];

	wh_child_signals();
	wh_close_in_child();
	wh_environment_in_child();
	fcntl(t->file.usage_fd, F_SETFD, 0);
	fcntl(result, F_SETFD, 0);
	list_workers(t, workers, sizeof(workers));
	snprintf(number, sizeof(number), "%u", t->suspend.number);
	snprintf(wait, sizeof(wait), "%u", wait_ms);
	snprintf(parent, sizeof(parent), "%d", wh_monitor_pid());
	snprintf(usage, sizeof(usage), "%d", t->file.usage_fd);
	snprintf(out, sizeof(out), "%d", result);
	execl(wh_server.self, "wormhole-checkpoint", "--checkpoint", resume ? "resume" : "suspend",
	      "--backend", wh_server.backend, "--workers", workers, "--suspension", number,
	      "--wait", wait, "--parent", parent, "--tenant-usage", usage, "--result", out,
	      (char *)NULL);
	_exit(127);
}

static bool start(struct wh_tenant *t, bool resume, unsigned int wait_ms, char *err,
		  size_t err_size)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		snprintf(err, err_size, "tenant %s: a pipe: %s", t->name, strerror(errno));
		return false;
	}
	pid = wh_monitor_fork(-1);
	if (!pid)
		run(t, resume, wait_ms, fds[1]);
	close(fds[1]);
	if (pid > 0 && wh_loop_add(fds[0], on_result, t)) {
		t->suspend.pid = pid;
		t->suspend.result = fds[0];
		return true;
	}
	snprintf(err, err_size, "tenant %s: a process that asks the driver: %s", t->name,
		 strerror(errno));
	if (pid > 0)
		wh_monitor_kill(pid);
	close(fds[0]);
	return false;
}

static void drop_result(struct wh_tenant *t)
{
	if (!t->suspend.result)
		return;
	wh_loop_remove(t->suspend.result);
	close(t->suspend.result);
	t->suspend.result = 0;
}

/* --- States ----------------------------------------------------------------------------- */

static void become(struct wh_tenant *t, enum wh_suspension state)
{
	t->suspend.state = state;
	wh_tenant_state(t->file.limits, state);
	if (state == WH_RUNS)
		wh_tenant_suspend(t->file.limits, 0);
	wh_parts_bound(t);
	wh_monitor_changed();
}

static void settled(struct wh_tenant *t, const char *why)
{
	if (why)
		wh_say_of(t->name, "warn", "%s", why);
	else
		wh_say_of(t->name, "info", "tenant %s is %s", t->name, t->suspend.state == WH_RUNS ?
			  "resumed" : "suspended");
	wh_control_settled(t, why);
}

/* Nobody knows what the process has done: all workers are to have their memory again. */
static void lost(struct wh_tenant *t)
{
	bool again = t->suspend.state == WH_SUSPENDING;
	char why[300], err[300];

	snprintf(why, sizeof(why), "tenant %s: the process that asks the driver ended without an answer%s",
		 t->name, again ? "; the tenant goes on" : "; it stays suspended, and `wormhole resume' "
		 "tries again");
	become(t, again ? WH_RESUMING : WH_SUSPENDED);
	if (again && !start(t, true, 0, err, sizeof(err)))
		become(t, WH_SUSPENDED);
	settled(t, why);
}

static void failed(struct wh_tenant *t, const struct wh_checkpoint_result *r)
{
	bool stays = t->suspend.state == WH_RESUMING || r->stays;
	char who[80] = "", why[600];
	int i;

	for (i = 0; r->pid && i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].pid == r->pid)
			snprintf(who, sizeof(who), "worker %d of program %d: ", r->pid, t->worker[i].client);
	snprintf(why, sizeof(why), "tenant %s is not %s: %s%.*s%s", t->name,
		 t->suspend.state == WH_RESUMING ? "resumed" : "suspended", who,
		 (int)sizeof(r->text), r->text, r->stays ? "; it could not be taken back: the tenant stays "
		 "suspended, and `wormhole resume' tries again" : "");
	become(t, stays ? WH_SUSPENDED : WH_RUNS);
	settled(t, why);
}

static void on_result(int fd, void *arg)
{
	struct wh_tenant *t = arg;
	struct wh_checkpoint_result r;
	ssize_t n = read(fd, &r, sizeof(r));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	drop_result(t);
	r.text[sizeof(r.text) - 1] = 0;
	if (n != sizeof(r)) {
		lost(t);
	} else if (r.failed) {
		failed(t, &r);
	} else {
		become(t, t->suspend.state == WH_SUSPENDING ? WH_SUSPENDED : WH_RUNS);
		settled(t, NULL);
	}
}

/* --- Orders ----------------------------------------------------------------------------- */

bool wh_suspend(struct wh_tenant *t, unsigned int wait_ms, bool *done, char *err, size_t err_size)
{
	if (t->suspend.state != WH_RUNS) {
		snprintf(err, err_size, "tenant %s is %s already; `wormhole resume %s' lets it go on", t->name,
			 wh_suspension_name(t), t->name);
		return false;
	}
	*done = !t->workers;
	t->suspend.number++;
	wh_tenant_suspend(t->file.limits, t->suspend.number);
	become(t, *done ? WH_SUSPENDED : WH_SUSPENDING);
	if (*done || start(t, false, wait_ms, err, err_size))
		return true;
	become(t, WH_RUNS);
	return false;
}

bool wh_resume(struct wh_tenant *t, bool *done, char *err, size_t err_size)
{
	if (t->suspend.state != WH_SUSPENDED) {
		snprintf(err, err_size, "tenant %s is not suspended: it is %s", t->name,
			 wh_suspension_name(t));
		return false;
	}
	*done = !t->workers;
	become(t, *done ? WH_RUNS : WH_RESUMING);
	if (*done || start(t, true, 0, err, err_size))
		return true;
	become(t, WH_SUSPENDED);
	return false;
}

bool wh_suspend_refuses(const struct wh_tenant *t, char *why, size_t size)
{
	if (t->suspend.state == WH_RUNS)
		return false;
	snprintf(why, size, "tenant %s is %s, and takes no new programs; ask the server's administrator, who "
		 "says `wormhole resume %s'", t->name, wh_suspension_name(t), t->name);
	return true;
}

bool wh_suspend_allows_idle_stop(char *err, size_t err_size)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		if (t->workers && t->suspend.state != WH_RUNS) {
			snprintf(err, err_size, "tenant %s is %s, so its programs do not end: `wormhole resume %s' "
				 "lets them, `wormhole stop --force' ends them", t->name, wh_suspension_name(t),
				 t->name);
			return false;
		}
	return true;
}

void wh_suspend_close(struct wh_tenant *t)
{
	if (t->suspend.pid)
		wh_monitor_kill(t->suspend.pid);
	drop_result(t);
	wh_control_settled(t, "the tenant has ended meanwhile");
}

static struct wh_tenant *whose(pid_t pid)
{
	struct wh_tenant *t = NULL;

	while (pid > 0 && (t = wh_tenant_next(t)))
		if (t->suspend.pid == pid)
			return t;
	return NULL;
}

bool wh_suspend_has(pid_t pid)
{
	return whose(pid);
}

/* The pipe says how it went. */
bool wh_suspend_reap(pid_t pid)
{
	struct wh_tenant *t = whose(pid);

	if (t)
		t->suspend.pid = 0;
	return t;
}

/* --- Over a handover ---------------------------------------------------------------------- */

void wh_suspend_leave(cJSON *o, const struct wh_tenant *t)
{
	cJSON_AddNumberToObject(o, "suspension", t->suspend.state);
	cJSON_AddNumberToObject(o, "suspensions", t->suspend.number);
	cJSON_AddNumberToObject(o, "suspend_pid", t->suspend.pid);
	wh_leave_fd(o, "suspend_result", t->suspend.result ? t->suspend.result : -1);
}

/*
 * A server that was killed may have closed the pipe after it had read it, and not saved what that
 * said. Then the process is asked for nothing more, and all workers are brought back.
 */
void wh_suspend_take(struct wh_tenant *t, const cJSON *o)
{
	int fd = wh_taken_fd(o, "suspend_result");

	t->suspend.state = (enum wh_suspension)(wh_taken_number(o, "suspension") % 4);
	t->suspend.number = (uint32_t)wh_taken_number(o, "suspensions");
	t->suspend.pid = (pid_t)wh_taken_number(o, "suspend_pid");
	wh_monitor_missing(t->suspend.pid);
	if (fd >= 0 && wh_loop_add(fd, on_result, t))
		t->suspend.result = fd;
	else if (t->suspend.state == WH_SUSPENDING || t->suspend.state == WH_RESUMING)
		lost(t);
}
