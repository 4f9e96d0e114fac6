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

#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/keep.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/request.h"
#include "daemon/tenant.h"
#include "tenant/control.h"

static enum wh_suspension shown(const struct wh_tenant *t)
{
	bool is_away = t->suspend.state == WH_SUSPENDED || wh_suspend_goes_further(t);

	return t->room.parked && is_away ? WH_PARKED : t->suspend.state;
}

bool wh_suspend_goes_further(const struct wh_tenant *t)
{
	return t->suspend.state == WH_SUSPENDING && t->room.further;
}

const char *wh_suspension_name(const struct wh_tenant *t)
{
	return wh_suspension_text(shown(t));
}

void wh_suspend_tell(const struct wh_tenant *t)
{
	wh_tenant_state(t->file.limits, shown(t), wh_server.overcommit_ms != 0);
}

bool wh_suspend_is_under_way(const struct wh_tenant *t)
{
	return t->suspend.state == WH_SUSPENDING || t->suspend.state == WH_RESUMING;
}

bool wh_suspend_is_drained(const struct wh_tenant *t)
{
	return t->suspend.drained;
}

#define FURTHER_MS	5000	/* for work under way, of which a suspended tenant has none */

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

/* Decimal digits of a number, in memory that ends with the process. */
static const char *digits(long number)
{
	char *text;

	if (asprintf(&text, "%ld", number) < 0)
		_exit(127);
	return text;
}

/* A descriptor that passes at the exec. */
static const char *passed(int fd)
{
	fcntl(fd, F_SETFD, 0);
	return digits(fd);
}

/* Where the memory of each of the workers' devices comes back, as UUIDs. */
static void list_devices(const struct wh_tenant *t, bool moves,
			 char out[WH_TENANT_DEVICES * WH_UUID])
{
	int place, from = t->suspend.move.from, to = t->suspend.move.to;
	unsigned int d;
	size_t n = 0;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		place = (int)wh_device_place(t->file.limits, d);
		if (moves && (place == from || place == to))
			place = place == from ? to : from;
		n += (size_t)snprintf(out + n, WH_UUID, "%.*s%s", WH_UUID - 2, wh_server.device[place].uuid,
				      d < WH_TENANT_DEVICES - 1 ? "," : "");
	}
}

__attribute__((noreturn))
static void run(const struct wh_tenant *t, enum wh_checkpoint_job job, unsigned int wait_ms,
		int result)
{
	static const char *const names[] = {
		[WH_JOB_SUSPEND] = "suspend", [WH_JOB_RESUME] = "resume", [WH_JOB_MOVE] = "move",
		[WH_JOB_FURTHER] = "further",
	};
	char workers[WH_TENANT_WORKERS * 16], swap[16], uuids[WH_TENANT_DEVICES * WH_UUID];
	bool moves = t->suspend.move.on && job != WH_JOB_SUSPEND;
	bool pages = t->suspend.page_out && job == WH_JOB_SUSPEND;

	wh_child_signals();
	wh_close_in_child();
	wh_environment_in_child();
	list_workers(t, workers, sizeof(workers));
	list_devices(t, job == WH_JOB_MOVE, uuids);
	snprintf(swap, sizeof(swap), "%d:%d", t->suspend.move.from, t->suspend.move.to);
	execl(wh_server.self, "wormhole-checkpoint", "--checkpoint", names[job],
	      "--backend", wh_server.backend, "--workers", workers,
	      "--suspension", digits((long)t->suspend.number), "--wait", digits((long)wait_ms),
	      "--parent", digits(wh_monitor_pid()), "--tenant-usage", passed(t->file.usage_fd),
	      "--uuids", uuids, "--nvml", wh_server.nvml ? wh_server.nvml : "",
	      "--result", passed(result),
	      moves ? "--swap" : pages ? "--page-out" : t->room.parked ? "--moves-out" : NULL,
	      moves ? swap : NULL,
	      "--places", passed(t->suspend.move.places), t->suspend.move.stays ? "--stays" : NULL,
	      (char *)NULL);
	_exit(127);
}

static bool start(struct wh_tenant *t, enum wh_checkpoint_job job, unsigned int wait_ms,
		  char *err, size_t err_size)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		snprintf(err, err_size, "tenant %s: a pipe: %s", t->name, strerror(errno));
		return false;
	}
	pid = wh_monitor_fork(-1);
	if (!pid)
		run(t, job, wait_ms, fds[1]);
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

void wh_suspend_order(struct wh_tenant *t, unsigned int what)
{
	struct wh_worker_usage *u;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		u = &t->file.usage->worker[i];
		if (!t->worker[i].pid)
			continue;
		__atomic_store_n(&u->order, WH_PAGE_NEXT(u->order, what),
				 __ATOMIC_RELEASE);
		wh_tenant_wake(&u->order);
	}
}

/* Workers at rest sleep until the next order. */
static void let_go(struct wh_tenant *t)
{
	wh_tenant_suspend(t->file.limits, 0);
	wh_suspend_order(t, WH_PAGE_NOTHING);
}

static void become(struct wh_tenant *t, enum wh_suspension state)
{
	enum wh_suspension was = t->suspend.state;

	t->suspend.state = state;
	if (state != WH_SUSPENDING)
		t->suspend.all = false;
	if (state == WH_RUNS)
		wh_room_runs(t, was == WH_SUSPENDING);
	wh_suspend_tell(t);
	if (state == WH_RUNS) {
		t->suspend.drained = false;
		let_go(t);
	}
	wh_parts_bound(t);
	wh_monitor_changed();
}

/* why: what has failed, or NULL. note: what is to be said besides, or NULL. */
static void settled(struct wh_tenant *t, const char *why, const char *note, bool quietly)
{
	if (why && quietly)
		;
	else if (why)
		wh_say_of(t->name, "warn", "%s", why);
	else
		wh_say_of(t->name, "info", "tenant %s is %s%s%s", t->name, t->suspend.state == WH_RUNS ?
			  "resumed" : wh_suspension_name(t), note ? ": " : "", note ? note : "");
	wh_room_settled(t, !why ? WH_PARK_DONE : quietly ? WH_PARK_FULL : WH_PARK_FAILED);
	wh_control_settled(t, why, note);
}

/* Its file, if it has one, names its devices. */
static void arrived(struct wh_tenant *t)
{
	unsigned int to = t->suspend.move.to;
	char note[WH_CONTROL_ERROR];

	wh_move_done(t);
	become(t, WH_RUNS);
	wh_keep_changed(t, note, sizeof(note));
	wh_say_of(t->name, "info", "tenant %s is on device %u now", t->name, to);
	wh_control_settled(t, NULL, *note ? note : NULL);
}

/* Nobody knows what the process has done: all workers are to have their memory again. */
static void lost(struct wh_tenant *t)
{
	bool again = t->suspend.state == WH_SUSPENDING && !wh_suspend_goes_further(t);
	char why[300], err[300];

	snprintf(why, sizeof(why), "tenant %s: the process that asks the driver ended without an answer%s",
		 t->name, again ? "; the tenant goes on" : "; it stays suspended, and `wormhole resume' "
		 "tries again");
	if (again)
		wh_move_end(t);
	become(t, again ? WH_RESUMING : WH_SUSPENDED);
	if (again && !start(t, WH_JOB_RESUME, 0, err, sizeof(err)))
		become(t, WH_SUSPENDED);
	settled(t, why, NULL, false);
}

/* What became of a tenant whose request has failed. */
static const char *now_is(const struct wh_tenant *t, const struct wh_checkpoint_result *r)
{
	bool moves = t->suspend.move.on && t->suspend.state == WH_RESUMING;

	if (wh_suspend_goes_further(t))
		return "; it stays suspended, and some of its memory on its devices";
	if (moves && r->half)
		return "; it could not be taken back: the tenant stays suspended half way, and `wormhole resume' brings it back";
	if (moves)
		return r->stays ? "; it stays suspended where it was" : "; it goes on where it was";
	return r->stays && t->suspend.state == WH_SUSPENDING ?
	       "; it could not be taken back: the tenant stays suspended, and `wormhole resume' tries again" : "";
}

/* Nobody has to be told that a device is full, or a tenant busy, where room.c tries again. */
static bool expected(const struct wh_tenant *t, const struct wh_checkpoint_result *r)
{
	return t->room.parked &&
	       (r->code == CUDA_ERROR_OUT_OF_MEMORY || r->code == CUDA_ERROR_NOT_READY);
}

static void failed(struct wh_tenant *t, const struct wh_checkpoint_result *r)
{
	bool moves = t->suspend.move.on, resumes = t->suspend.state == WH_RESUMING;
	bool quietly = expected(t, r), further = wh_suspend_goes_further(t);
	char who[80] = "", why[800];
	int i;

	for (i = 0; r->pid && i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].pid == r->pid)
			snprintf(who, sizeof(who), "worker %d of program %d: ", r->pid, t->worker[i].client);
	snprintf(why, sizeof(why), "tenant %s is not %s: %s%.*s%s", t->name,
		 moves ? "moved" : resumes ? "resumed" : "suspended", who, (int)sizeof(r->text), r->text,
		 now_is(t, r));
	if (moves && !r->half)
		wh_move_end(t);
	become(t, r->stays ? WH_SUSPENDED : WH_RUNS);
	settled(t, why, NULL, quietly);
	if (further)
		wh_room_goes_no_further(t);
}

bool wh_suspend_further(struct wh_tenant *t, char *err, size_t err_size)
{
	enum wh_suspension was = t->suspend.state;

	t->room.further++;
	become(t, WH_SUSPENDING);
	if (start(t, WH_JOB_FURTHER, FURTHER_MS, err, err_size))
		return true;
	become(t, was);
	return false;
}

/* All leaves that can: the administrator wants the device. False: there is no more to be done. */
static bool leave_all(struct wh_tenant *t)
{
	char err[300];

	t->suspend.all = false;
	if (!wh_room_has_rest(t, UINT32_MAX))
		return false;
	wh_room_want(t, 0);
	if (wh_suspend_further(t, err, sizeof(err)))
		return true;
	wh_say_of(t->name, "warn", "%s", err);
	return false;
}

/* The first half of a move is done. */
static void go_on_moving(struct wh_tenant *t)
{
	char err[300];

	become(t, WH_RESUMING);
	if (start(t, WH_JOB_MOVE, 0, err, sizeof(err)))
		return;
	wh_move_end(t);
	become(t, WH_SUSPENDED);
	settled(t, err, NULL, false);
}

static void succeeded(struct wh_tenant *t, const struct wh_checkpoint_result *r)
{
	if (t->suspend.move.on && t->suspend.state == WH_SUSPENDING) {
		go_on_moving(t);
	} else if (r->moved) {
		arrived(t);
	} else {
		if (t->suspend.move.on)
			wh_move_end(t);
		t->room.by_driver += r->by_driver > 0;
		if (t->suspend.all && t->suspend.state == WH_SUSPENDING && leave_all(t))
			return;
		become(t, t->suspend.state == WH_SUSPENDING ? WH_SUSPENDED : WH_RUNS);
		settled(t, NULL, *r->text ? r->text : NULL, false);
	}
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
	if (n != sizeof(r))
		lost(t);
	else if (r.failed)
		failed(t, &r);
	else
		succeeded(t, &r);
}

/* --- Orders ----------------------------------------------------------------------------- */

/* Stops the calls of a tenant that runs, and asks the driver. */
static bool suspend(struct wh_tenant *t, unsigned int wait_ms, char *err, size_t err_size)
{
	t->suspend.number++;
	wh_tenant_suspend(t->file.limits, t->suspend.number);
	become(t, t->workers ? WH_SUSPENDING : WH_SUSPENDED);
	if (!t->workers || start(t, WH_JOB_SUSPEND, wait_ms, err, err_size))
		return true;
	become(t, WH_RUNS);
	return false;
}

/* What overcommit has suspended, or is about to, the administrator's word keeps suspended. */
static bool keep_parked(struct wh_tenant *t, bool *done)
{
	if (!t->room.parked || t->suspend.state == WH_RESUMING)
		return false;
	t->room.parked = false;
	t->suspend.all = t->suspend.state == WH_SUSPENDING;
	*done = !t->suspend.all && !leave_all(t);
	wh_suspend_tell(t);
	wh_monitor_changed();
	return true;
}

static bool order_suspend(struct wh_tenant *t, unsigned int wait_ms, bool page_out, bool *done,
			  char *err, size_t err_size)
{
	if (page_out && t->room.parked && t->suspend.state != WH_RUNS) {
		snprintf(err, err_size, "tenant %s has left its device for others (--overcommit), and what it had is "
			 "in the machine's memory: suspend it without --to, `wormhole resume %s', and then suspend "
			 "it to swap", t->name, t->name);
		return false;
	}
	if (keep_parked(t, done))
		return true;
	if (t->suspend.state != WH_RUNS) {
		snprintf(err, err_size, "tenant %s is %s already; `wormhole resume %s' lets it go on", t->name,
			 wh_suspension_name(t), t->name);
		return false;
	}
	*done = !t->workers;
	return suspend(t, wait_ms, err, err_size);
}

static bool resume(struct wh_tenant *t, enum wh_checkpoint_job job, char *err, size_t err_size)
{
	/* Those that come back before others find no room leave again. */
	wh_room_want(t, WH_WANTED_BEFORE);
	become(t, WH_RESUMING);
	if (start(t, job, 0, err, err_size))
		return true;
	become(t, WH_SUSPENDED);
	return false;
}

bool wh_suspend_park(struct wh_tenant *t, unsigned int wait_ms, char *err, size_t err_size)
{
	t->suspend.page_out = false;
	return suspend(t, wait_ms, err, err_size);
}

bool wh_suspend_unpark(struct wh_tenant *t, char *err, size_t err_size)
{
	if (!t->workers) {
		become(t, WH_RUNS);
		return true;
	}
	return resume(t, WH_JOB_RESUME, err, err_size);
}

static bool order_resume(struct wh_tenant *t, bool *done, char *err, size_t err_size)
{
	if (t->suspend.state != WH_SUSPENDED) {
		snprintf(err, err_size, "tenant %s is not suspended: it is %s", t->name,
			 wh_suspension_name(t));
		return false;
	}
	*done = !t->workers || (t->suspend.drained && wh_server.overcommit_ms);
	if (!*done)
		return resume(t, WH_JOB_RESUME, err, err_size);
	/* Those that were drained need not fit together; calls bring them back. */
	if (t->workers) {
		t->suspend.drained = false;
		t->room.parked = true;
		become(t, WH_SUSPENDED);
		return true;
	}
	wh_move_end(t);
	become(t, WH_RUNS);
	return true;
}

static bool order_move(struct wh_tenant *t, const cJSON *o, unsigned int wait_ms, bool *done,
		       char *err, size_t err_size)
{
	bool half = t->suspend.move.on, good;
	const char *to = wh_request_text(o, "to");

	if (!to) {
		snprintf(err, err_size, "to: name the device that the tenant is to have, by its number or UUID");
		return false;
	}
	if (!wh_move_begin(t, to, wh_request_text(o, "from"), err, err_size))
		return false;
	*done = !t->workers;
	if (*done) {
		arrived(t);
		return true;
	}
	good = t->suspend.state == WH_RUNS ? suspend(t, wait_ms, err, err_size) :
					     resume(t, WH_JOB_MOVE, err, err_size);
	if (!good && !half)
		wh_move_end(t);
	return good;
}

/* `to' of a suspension: nothing, or the machine's swap. */
static bool take_to(const cJSON *o, bool *page_out, char *err, size_t err_size)
{
	const char *to = wh_request_text(o, "to");

	*page_out = to;
	if (!to)
		return true;
	if (!strcmp(to, "swap"))
		return wh_page_out_can(err, err_size);
	snprintf(err, err_size, "to: '%.80s' is not 'swap': a tenant has no file of its own, since its memory is "
		 "the driver's; say --to swap, after `mkswap' and `swapon' of a file", to);
	return false;
}

#define WAIT_MS	30000	/* for calls and work under way, if nothing else is said */

bool wh_suspend_request(struct wh_tenant *t, const cJSON *o, bool *done, char *err, size_t err_size)
{
	const char *op = wh_request_text(o, "op");
	double wait = WAIT_MS;
	bool has, page_out;

	if (!wh_request_number(o, "wait_ms", 1, 86400000, &wait, &has, err, err_size))
		return false;
	if (!strcmp(op, "suspend")) {
		if (!take_to(o, &page_out, err, err_size))
			return false;
		if (t->suspend.state == WH_RUNS)
			t->suspend.page_out = page_out;
		if (!order_suspend(t, (unsigned int)wait, page_out, done, err, err_size))
			return false;
		t->suspend.drained = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "drain"));
		return true;
	}
	if (!strcmp(op, "move")) {
		t->suspend.page_out = false;
		return order_move(t, o, (unsigned int)wait, done, err, err_size);
	}
	return order_resume(t, done, err, err_size);
}

bool wh_suspend_refuses(const struct wh_tenant *t, char *why, size_t size)
{
	if (t->suspend.state == WH_RUNS || t->room.parked)
		return false;
	snprintf(why, size, "tenant %s is %s, and takes no new programs; ask the server's administrator, who "
		 "says `wormhole resume %s'", t->name, wh_suspension_name(t), t->name);
	return true;
}

bool wh_suspend_allows_idle_stop(char *err, size_t err_size)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		if (t->workers && t->suspend.state != WH_RUNS && !t->room.parked) {
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
	wh_move_end(t);
	wh_control_settled(t, "the tenant has ended meanwhile", NULL);
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
	cJSON_AddBoolToObject(o, "drained", t->suspend.drained);
	cJSON_AddBoolToObject(o, "leaves_all", t->suspend.all);
	cJSON_AddNumberToObject(o, "suspend_pid", t->suspend.pid);
	wh_leave_fd(o, "suspend_result", t->suspend.result ? t->suspend.result : -1);
	wh_move_leave(o, t);
	wh_room_leave(o, t);
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
	t->suspend.drained = wh_taken_flag(o, "drained");
	t->suspend.all = wh_taken_flag(o, "leaves_all");
	t->suspend.pid = (pid_t)wh_taken_number(o, "suspend_pid");
	wh_monitor_missing(t->suspend.pid);
	wh_move_take(t, o);
	wh_room_take(t, o);
	wh_suspend_tell(t);
	if (fd >= 0 && wh_loop_add(fd, on_result, t))
		t->suspend.result = fd;
	else if (t->suspend.state == WH_SUSPENDING || t->suspend.state == WH_RESUMING)
		lost(t);
}
