// SPDX-License-Identifier: Apache-2.0
/*
 * Suspends and resumes windows, as daemon/suspend.c does tenants of this machine's programs. The
 * word in the window's limits stops its workers' calls at once: each answers that its client is to
 * come again later, so that the client sleeps in its own VM. Then a process of its own asks the
 * driver, and says in a pipe how it went. If it ends without a word, some workers may be with their
 * memory and some without, so another one brings all of them back.
 *
 * What leaves the devices is in the workers' memory of this VM meanwhile. So it is looked first
 * whether the VM has it, and each worker's cgroup has so much more until its window runs again. A
 * worker that has more than its part even then keeps it until it has less: that is looked for.
 * What a worker has charged is its own word: who says less than it has dies alone, in its cgroup.
 */
#define _GNU_SOURCE
#include "vm/suspend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "tenant/clock.h"
#include "tenant/file.h"
#include "vm/groups.h"
#include "vm/windows.h"

#define MIB	1048576
#define MOST_WAIT_MS	86400000u
#define LOOK_MS		1000	/* between looks whether a bound can be lowered */

struct suspended {
	enum wh_suspension state;
	uint32_t number;	/* counts the suspensions */
	pid_t pid;		/* of the process that asks; 0: there is none */
	int result;		/* its pipe, while pid is not 0 */
	uint64_t more[WH_WINDOW_WORKERS];	/* bytes that are to come from its devices */
	bool raised[WH_WINDOW_WORKERS];		/* its cgroup has more than its part */
	struct wh_channel_suspended told;
};

static struct suspended windows[WH_WINDOWS];
static struct wh_suspend_options opt;
static int events = -1;
static int64_t look_at;	/* when bounds are looked at; 0: none has to be lowered */

void wh_suspends_start(const struct wh_suspend_options *o)
{
	opt = *o;
}

int wh_suspends_fd(void)
{
	return events;
}

static struct suspended *of(const struct wh_window_view *w)
{
	return &windows[w->window];
}

/* --- Memory of this VM ---------------------------------------------------------------- */

/* Returns the bytes that programs can have without that others lose any; 0: not known. */
static uint64_t available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %llu kB", &kib);
	if (f)
		fclose(f);
	return kib * 1024;
}

/* What other windows are just moving is in no figure of the kernel's yet. */
static uint64_t promised(void)
{
	uint64_t sum = 0;
	unsigned int i, k;

	for (i = 0; i < WH_WINDOWS; i++)
		for (k = 0; windows[i].pid && k < WH_WINDOW_WORKERS; k++)
			sum += windows[i].more[k];
	return sum;
}

/* The driver's figure may be of before: the larger one counts. */
static uint64_t charged(const struct wh_worker_usage *u)
{
	uint64_t sum = 0, own, driver;
	unsigned int d;

	for (d = 0; d < opt.devices; d++) {
		own = __atomic_load_n(&u->device[d].memory, __ATOMIC_RELAXED);
		driver = __atomic_load_n(&u->device[d].memory_driver, __ATOMIC_RELAXED);
		own = driver > own ? driver : own;
		/* No worker has more than a device, whatever it says. */
		sum += own < opt.device[d].memory ? own : opt.device[d].memory;
	}
	return sum;
}

/* Each worker gets room for what it has on devices. False with one line in err. */
static bool make_room(const struct wh_window_view *w, char *err, size_t err_size)
{
	uint64_t all = 0, free_bytes = available(), others = promised(), *more = of(w)->more;
	unsigned int i;

	free_bytes -= others < free_bytes ? others : free_bytes;
	for (i = 0; i < WH_WINDOW_WORKERS; i++) {
		more[i] = w->pid[i] ? charged(&w->file->usage->worker[i]) : 0;
		all += more[i];
	}
	if (all > free_bytes) {
		snprintf(err, err_size, "%" PRIu64 " MiB are to come from its devices, and the server VM has %"
			 PRIu64 " MiB of memory free: start it with a larger --memory, or suspend less",
			 all / MIB, free_bytes / MIB);
		return false;
	}
	for (i = 0; i < WH_WINDOW_WORKERS; i++) {
		if (!more[i])
			continue;
		of(w)->raised[i] = true;
		if (wh_worker_group_more(w->window * opt.parts + i, more[i], err, err_size) < 0)
			return false;
	}
	return true;
}

/* Has a worker's cgroup its part again? Not before the worker has no more than that. */
static bool is_lowered(const struct wh_window_view *w, unsigned int i)
{
	char err[300];
	int rc = wh_worker_group_more(w->window * opt.parts + i, 0, err, sizeof(err));

	if (rc < 0)
		opt.say("warn", "%s: %s", w->name, err);
	return rc <= 0;
}

static void end_room(const struct wh_window_view *w)
{
	struct suspended *s = of(w);
	unsigned int i;

	for (i = 0; i < WH_WINDOW_WORKERS; i++) {
		s->more[i] = 0;
		/* The cgroup of one that has ended has ended, too. */
		s->raised[i] = s->raised[i] && w->pid[i] && !is_lowered(w, i);
		if (s->raised[i])
			look_at = wh_now_ms() + LOOK_MS;
	}
}

int64_t wh_suspends_due(void)
{
	int64_t now = wh_now_ms();
	struct wh_window_view w;
	unsigned int i;

	if (look_at && now >= look_at) {
		look_at = 0;
		for (i = 0; wh_window_at(i, &w); i++)
			if (of(&w)->state == WH_RUNS)
				end_room(&w);
	}
	return look_at ? look_at - now : -1;
}

/* --- The process that asks the driver ------------------------------------------------- */

struct words {
	char workers[WH_WINDOW_WORKERS * 16], uuids[WH_TENANT_DEVICES * WH_UUID];
	char number[16], wait[16], parent[16], usage[16], result[16];
};

static void list_workers(const struct wh_window_view *w, char *out, size_t size)
{
	size_t n = 0;
	unsigned int i;

	*out = 0;
	for (i = 0; i < WH_WINDOW_WORKERS && n < size; i++)
		if (w->pid[i])
			n += (size_t)snprintf(out + n, size - n, "%s%u:%d", n ? "," : "", i, w->pid[i]);
}

static void list_devices(char *out, size_t size)
{
	size_t n = 0;
	unsigned int d;

	*out = 0;
	for (d = 0; d < opt.devices && n < size; d++)
		n += (size_t)snprintf(out + n, size - n, "%s%.*s", d ? "," : "", WH_UUID - 1,
				      opt.device[d].uuid);
}

static void put_number(char out[16], uint32_t number)
{
	snprintf(out, 16, "%" PRIu32, number);
}

__attribute__((noreturn))
static void run(const struct wh_window_view *w, bool resume, uint32_t wait_ms, pid_t parent,
		int result)
{
	int usage = dup(w->file->usage_fd), out = dup(result);
	struct words t;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	list_workers(w, t.workers, sizeof(t.workers));
	list_devices(t.uuids, sizeof(t.uuids));
	put_number(t.number, of(w)->number);
	put_number(t.wait, wait_ms);
	put_number(t.parent, (uint32_t)parent);
	put_number(t.usage, (uint32_t)usage);
	put_number(t.result, (uint32_t)out);
	if (usage >= 0 && out >= 0 && getppid() == parent)
		execl(opt.worker, opt.worker, "--checkpoint", resume ? "resume" : "suspend",
		      "--backend", opt.backend, "--workers", t.workers, "--suspension", t.number,
		      "--wait", t.wait, "--parent", t.parent, "--usage", t.usage, "--uuids", t.uuids,
		      "--nvml", opt.nvml ? opt.nvml : "", "--result", t.result, (char *)NULL);
	_exit(127);
}

static bool start(const struct wh_window_view *w, bool resume, uint32_t wait_ms, char *err,
		  size_t err_size)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = w->window };
	struct suspended *s = of(w);
	pid_t parent = getpid();
	int fds[2] = { -1, -1 };

	if (events < 0)
		events = epoll_create1(EPOLL_CLOEXEC);
	s->pid = pipe2(fds, O_CLOEXEC | O_NONBLOCK) ||
		 epoll_ctl(events, EPOLL_CTL_ADD, fds[0], &e) ? -1 : fork();
	if (!s->pid)
		run(w, resume, wait_ms, parent, fds[1]);
	if (s->pid < 0)
		snprintf(err, err_size, "no process can ask the driver: %s", strerror(errno));
	if (fds[1] >= 0)
		close(fds[1]);
	s->result = fds[0];
	if (s->pid > 0)
		return true;
	if (fds[0] >= 0)
		close(fds[0]);
	s->pid = 0;
	return false;
}

/* --- States --------------------------------------------------------------------------- */

/* Workers at rest sleep until the next order. */
static void let_go(const struct wh_window_view *w)
{
	struct wh_worker_usage *u;
	unsigned int i;

	wh_tenant_suspend(w->file->limits, 0);
	for (i = 0; i < WH_WINDOW_WORKERS; i++) {
		u = &w->file->usage->worker[i];
		if (!w->pid[i])
			continue;
		__atomic_store_n(&u->order, WH_PAGE_NEXT(u->order, WH_PAGE_NOTHING),
				 __ATOMIC_RELEASE);
		wh_tenant_wake(&u->order);
	}
}

static void become(const struct wh_window_view *w, enum wh_suspension state)
{
	of(w)->state = state;
	wh_tenant_state(w->file->limits, state, false);
	if (state != WH_RUNS)
		return;
	end_room(w);
	let_go(w);
}

/*
 * The host learns how it went when it asks. @why: it has failed; NULL: it has not. What it did not
 * ask for, such as the way back after a failure, is only logged.
 */
static void settle(const struct wh_window_view *w, const char *why)
{
	struct wh_channel_suspended *told = &of(w)->told;

	if (told->settled != told->begun) {
		told->settled = told->begun;
		told->failed = why != NULL;
		snprintf(told->text, sizeof(told->text), "%s", why ? why : "");
	}
	if (why)
		opt.say("warn", "tenant %s: %s", w->name, why);
	else
		opt.say("info", "tenant %s is %s", w->name, of(w)->state == WH_RUNS ? "resumed" :
			wh_suspension_text(of(w)->state));
}

/* Nobody knows what the process has done: all workers are to have their memory again. */
static void lost(const struct wh_window_view *w)
{
	bool again = of(w)->state == WH_SUSPENDING;
	char err[300];

	if (again && start(w, true, 0, err, sizeof(err))) {
		become(w, WH_RESUMING);
		settle(w, "the process that asks the driver ended without an answer; it goes on");
		return;
	}
	become(w, WH_SUSPENDED);
	settle(w, "the process that asks the driver ended without an answer; it stays suspended, and "
	       "`wormhole resume' tries again");
}

static void failed(const struct wh_window_view *w, const struct wh_checkpoint_result *r)
{
	bool stuck = r->stays && of(w)->state == WH_SUSPENDING;
	char who[40] = "", why[WH_CHANNEL_TEXT];

	if (r->pid)
		snprintf(who, sizeof(who), "worker %d: ", r->pid);
	snprintf(why, sizeof(why), "%s%.*s%s", who, (int)sizeof(r->text), r->text, stuck ?
		 "; it stays suspended, and `wormhole resume' tries again" : "");
	become(w, r->stays ? WH_SUSPENDED : WH_RUNS);
	settle(w, why);
}

static void take_result(uint32_t window)
{
	struct wh_checkpoint_result r;
	struct wh_window_view w;
	struct suspended *s;
	ssize_t n;

	if (!wh_window_at(window, &w) || !of(&w)->pid)
		return;
	s = of(&w);
	n = read(s->result, &r, sizeof(r));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* The process has said all. It is reaped when it has ended. */
	close(s->result);
	s->pid = 0;
	r.text[sizeof(r.text) - 1] = 0;
	if (n != sizeof(r)) {
		lost(&w);
	} else if (r.failed) {
		failed(&w, &r);
	} else {
		become(&w, s->state == WH_SUSPENDING ? WH_SUSPENDED : WH_RUNS);
		settle(&w, NULL);
	}
}

void wh_suspends_read(void)
{
	struct epoll_event e[WH_WINDOWS];
	int i, n = epoll_wait(events, e, WH_WINDOWS, 0);

	for (i = 0; i < n; i++)
		take_result(e[i].data.u32);
}

/* --- Orders --------------------------------------------------------------------------- */

static bool has_workers(const struct wh_window_view *w)
{
	unsigned int i = 0;

	while (i < WH_WINDOW_WORKERS && !w->pid[i])
		i++;
	return i < WH_WINDOW_WORKERS;
}

static bool suspend(const struct wh_window_view *w, uint32_t wait_ms, char *err, size_t err_size)
{
	struct suspended *s = of(w);

	if (s->state != WH_RUNS) {
		snprintf(err, err_size, "it is %s already; `wormhole resume' lets it go on",
			 wh_suspension_text(s->state));
		return false;
	}
	if (!make_room(w, err, err_size)) {
		end_room(w);
		return false;
	}
	/* Not 0, which means that nothing is suspended. */
	s->number += 1 + (s->number == UINT32_MAX);
	wh_tenant_suspend(w->file->limits, s->number);
	become(w, has_workers(w) ? WH_SUSPENDING : WH_SUSPENDED);
	if (s->state == WH_SUSPENDED || start(w, false, wait_ms, err, err_size))
		return true;
	become(w, WH_RUNS);
	return false;
}

static bool resume(const struct wh_window_view *w, char *err, size_t err_size)
{
	struct suspended *s = of(w);

	if (s->state != WH_SUSPENDED) {
		snprintf(err, err_size, "it is not suspended: it is %s", wh_suspension_text(s->state));
		return false;
	}
	become(w, has_workers(w) ? WH_RESUMING : WH_RUNS);
	if (s->state == WH_RUNS || start(w, true, 0, err, err_size))
		return true;
	become(w, WH_SUSPENDED);
	return false;
}

static bool find(uint32_t window, struct wh_window_view *w, char *err, size_t err_size)
{
	return wh_window_at(window, w) || (wh_window_none(window, err, err_size), false);
}

bool wh_suspend_window(const struct wh_channel_suspend *r, char *err, size_t err_size)
{
	struct wh_window_view w;
	struct suspended *s;

	if (!find(r->window, &w, err, err_size))
		return false;
	if (r->resume > 1 || r->wait_ms > MOST_WAIT_MS) {
		snprintf(err, err_size, "the request makes no sense: it is of another release");
		return false;
	}
	if (r->resume ? !resume(&w, err, err_size) : !suspend(&w, r->wait_ms, err, err_size))
		return false;
	s = of(&w);
	s->told.begun++;
	if (!s->pid)
		settle(&w, NULL);
	return true;
}

bool wh_suspend_look(uint32_t window, struct wh_channel_suspended *out, char *err, size_t err_size)
{
	struct wh_window_view w;

	if (!find(window, &w, err, err_size))
		return false;
	*out = of(&w)->told;
	out->state = of(&w)->state;
	return true;
}

void wh_suspends_stop(void)
{
	unsigned int i;

	for (i = 0; i < WH_WINDOWS; i++)
		if (windows[i].pid > 0)
			kill(windows[i].pid, SIGKILL);
}
