// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the tenants of the windows and changes their limits. A limit given at the start holds for
 * every device, since a window's client sees them all; later the host may name one device.
 */
#define _GNU_SOURCE
#include "vm/windows.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "tenant/file.h"
#include "tenant/seats.h"
#include "tenant/spec.h"

/* limits given at the start; the device's number means the window */
static struct wh_limit_list said;
static struct window {
	struct wh_tenant_file file;
	char name[16];
	char path[PATH_MAX];
	int seat;
	struct wh_device_limit limit[WH_TENANT_DEVICES];
	/* process of each part; 0: none. Accounts have the same numbers */
	pid_t pid[WH_WINDOW_WORKERS];
	struct wh_held held;
	uint64_t cpu_ns;		/* CPU time of workers that have ended */
} tenant[WH_WINDOWS];
static struct wh_seats seats = { .dir = -1 };
static unsigned int ntenants;
static const struct wh_device *device;
static unsigned int devices;

/* --- Limits ----------------------------------------------------------------------- */

int wh_window_limit(const char *text, char *err, size_t err_size)
{
	if (!strchr(text, ':')) {
		snprintf(err, err_size, "'%s' is not WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY", text);
		return -1;
	}
	return wh_limit_parse(&said, text, err, err_size);
}

bool wh_window_limits_said(void)
{
	return said.n;
}

static bool change(struct window *t, const struct wh_limit_list *list, char *err, size_t err_size)
{
	struct wh_limit_plan p = { .device = device, .devices = devices, .now = t->limit };
	struct wh_device_limit plan[WH_TENANT_DEVICES];
	unsigned int i, d;

	for (i = 0; i < WH_WINDOWS; i++)
		for (d = 0; d < devices && &tenant[i] != t; d++)
			wh_limits_others(&p, d, &tenant[i].limit[d]);
	if (!wh_limits_plan(&p, list, plan, err, err_size))
		return false;
	memcpy(t->limit, plan, sizeof(plan));
	wh_limits_put(t->file.limits, &seats, t->seat, plan, devices);
	return true;
}

static bool take_spec(struct wh_limit_list *list, const struct wh_channel_limit *l, uint32_t i)
{
	const bool has_sm = l->spec[i].has & WH_CHANNEL_SM;
	const bool has_policy = l->spec[i].has & WH_CHANNEL_POLICY;
	const bool percent = l->spec[i].has & WH_CHANNEL_PERCENT;
	struct wh_limit_spec *s;

	if (l->spec[i].device < WH_ALL_DEVICES || l->spec[i].device >= WH_TENANT_DEVICES ||
	    (percent && (!l->spec[i].memory || l->spec[i].memory > 100)) ||
	    (has_sm && (!l->spec[i].sm_percent || l->spec[i].sm_percent > 100)) ||
	    (has_policy && (!l->spec[i].sm_policy ||
			    l->spec[i].sm_policy & ~(WH_SM_TEMPORAL | WH_SM_SPATIAL))) ||
	    l->spec[i].sm_max > WH_SM_NO_CEILING || l->spec[i].sm_class >= WH_CLASSES)
		return false;
	s = wh_limit_of(list, l->spec[i].device);
	s->has_memory = l->spec[i].has & WH_CHANNEL_MEMORY;
	s->has_sm = has_sm;
	s->has_policy = has_policy;
	s->memory = percent ? 0 : l->spec[i].memory;
	s->memory_percent = percent ? (uint32_t)l->spec[i].memory : 0;
	s->sm_percent = l->spec[i].sm_percent;
	s->sm_policy = l->spec[i].sm_policy;
	s->has_max = l->spec[i].has & WH_CHANNEL_MAX;
	s->sm_max = l->spec[i].sm_max;
	s->has_class = l->spec[i].has & WH_CHANNEL_CLASS;
	s->sm_class = l->spec[i].sm_class;
	return true;
}

void wh_window_none(unsigned int window, char *err, size_t err_size)
{
	if (ntenants)
		snprintf(err, err_size, "there is no window %u, but 0 to %u", window, ntenants - 1);
	else
		snprintf(err, err_size, "windows of more than %d workers are no tenants",
			 WH_WINDOW_WORKERS);
}

bool wh_window_change(const struct wh_channel_limit *l, char *err, size_t err_size)
{
	struct wh_limit_list list = { .n = 0 };
	uint32_t i;

	if (l->window >= ntenants) {
		wh_window_none(l->window, err, err_size);
		return false;
	}
	for (i = 0; i < l->n && i < WH_LIMIT_SPECS; i++)
		if (!take_spec(&list, l, i)) {
			snprintf(err, err_size, "the request makes no sense: it is of another release");
			return false;
		}
	return change(&tenant[l->window], &list, err, err_size);
}

/* --- Start ------------------------------------------------------------------------ */

static bool limit_at_start(unsigned int window, char *err, size_t err_size)
{
	struct wh_limit_list list = { .n = 0 };
	char why[300];

	*wh_limit_of(&list, WH_ALL_DEVICES) = *wh_limit_of(&said, (int)window);
	list.spec[0].device = WH_ALL_DEVICES;
	if (change(&tenant[window], &list, why, sizeof(why)))
		return true;
	snprintf(err, err_size, "window %u: %s", window, why);
	return false;
}

static int make(const char *dir, unsigned int window, char *err, size_t err_size)
{
	struct wh_tenant_file none = { .limits_fd = -1, .usage_fd = -1 };
	struct window *t = &tenant[window];
	int rc;

	snprintf(t->name, sizeof(t->name), "window%u", window);
	snprintf(t->path, sizeof(t->path), "%s/%s", dir, t->name);
	/*
	 * The files may be those of a supervisor that was killed; its workers have ended with it.
	 */
	wh_tenant_file_remove(&none, dir, t->name);
	rc = wh_tenant_file_create(&t->file, dir, t->name, window + 1, devices);
	if (rc) {
		snprintf(err, err_size, "%.200s: %s", t->path, strerror(-rc));
		return -1;
	}
	t->seat = wh_seats_take(&seats, window + 1);
	if (t->seat < 0) {
		snprintf(err, err_size, "%.200s: its seat: %s", t->path, strerror(-t->seat));
		return -1;
	}
	t->file.limits->seat = (uint32_t)t->seat;
	return 0;
}

static int make_folder(const char *dir, char *err, size_t err_size)
{
	int rc;

	if (mkdir(dir, 0700) && errno != EEXIST) {
		snprintf(err, err_size, "%.200s: %s", dir, strerror(errno));
		return -1;
	}
	rc = wh_seats_create(&seats, dir);
	if (rc)
		snprintf(err, err_size, "%.200s/" WH_TURNS_FOLDER ": %s", dir, strerror(-rc));
	return rc ? -1 : 0;
}

int wh_window_tenants_start(const char *dir, unsigned int windows, const struct wh_device *d,
			    unsigned int n, char *err, size_t err_size)
{
	unsigned int i;

	device = d;
	devices = n;
	for (i = 0; i < (unsigned int)said.n; i++)
		if (said.spec[i].device < 0 || (unsigned int)said.spec[i].device >= windows) {
			snprintf(err, err_size, "--limit: there is no window %d, only %u",
				 said.spec[i].device, windows);
			return -1;
		}
	if (make_folder(dir, err, err_size))
		return -1;
	for (i = 0; i < windows; i++)
		if (make(dir, i, err, err_size) || !limit_at_start(i, err, err_size))
			return -1;
	ntenants = windows;
	return 0;
}

bool wh_window_at(unsigned int window, struct wh_window_view *out)
{
	struct window *t = &tenant[window % WH_WINDOWS];

	*out = (struct wh_window_view){
		.window = window, .name = t->name, .file = &t->file, .pid = t->pid,
	};
	return window < ntenants;
}

const char *wh_window_tenant(unsigned int window)
{
	return window < ntenants ? tenant[window].path : NULL;
}

/* --- Workers ---------------------------------------------------------------------- */

/*
 * Cleans up by the supervisor's own table. What the window's workers have written ends with the
 * last of them.
 */
static int clean_up(struct window *t, unsigned int window)
{
	uint64_t living = 0;
	unsigned int i;
	int rc;

	for (i = 0; i < WH_WINDOW_WORKERS; i++)
		if (t->pid[i])
			living |= 1ull << i;
	if (!living) {
		rc = wh_tenant_file_restart(&t->file, window + 1);
		return rc ? rc : wh_seats_restart(&seats, t->seat);
	}
	wh_tenant_accounts_only(t->file.usage, living);
	return 0;
}

void wh_window_worker_starts(unsigned int window, unsigned int part)
{
	if (window < ntenants)
		wh_tenant_account_open(tenant[window].file.usage, (int)part);
}

void wh_window_worker_is(unsigned int window, unsigned int part, pid_t pid)
{
	if (window >= ntenants)
		return;
	wh_tenant_account_own(tenant[window].file.usage, (int)part, pid, 0);
	tenant[window].pid[part] = pid;
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

int wh_window_worker_ended(unsigned int window, unsigned int part, const struct rusage *used)
{
	struct window *t = &tenant[window];

	if (window >= ntenants)
		return 0;
	t->pid[part] = 0;
	t->cpu_ns += ns_of(&used->ru_utime) + ns_of(&used->ru_stime);
	wh_tenant_account_clear(t->file.usage, part);
	wh_seats_worker_ended(&seats, t->seat, part);
	return clean_up(t, window);
}

/* --- Looks ------------------------------------------------------------------------ */

static uint64_t cpu_ns(const struct window *t)
{
	uint64_t sum = 0;
	clockid_t clock;
	unsigned int i;

	for (i = 0; i < WH_WINDOW_WORKERS; i++)
		if (t->pid[i] && !clock_getcpuclockid(t->pid[i], &clock))
			sum += wh_clock_ns(clock);
	return sum;
}

uint64_t wh_windows_cpu_ns(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < ntenants; i++)
		sum += cpu_ns(&tenant[i]);
	return sum;
}

static char *look(const struct window *t, char *at)
{
	struct wh_channel_window *w = (void *)at;
	struct wh_worker_usage *workers = (void *)(w + 1);

	*w = (struct wh_channel_window){
		.limits = *t->file.limits, .cpu_ns = t->cpu_ns + cpu_ns(t),
	};
	wh_tenant_usage_read(t->file.usage, &w->sum);
	w->workers = wh_tenant_workers_read(t->file.usage, workers);
	return (char *)(workers + w->workers);
}

void *wh_windows_look(uint32_t *size)
{
	struct wh_channel_look *all = malloc(WH_CHANNEL_MOST);
	char *at = (void *)(all + 1);
	unsigned int i;

	if (!all)
		return NULL;
	*all = (struct wh_channel_look){ .windows = ntenants };
	for (i = 0; i < ntenants; i++)
		at = look(&tenant[i], at);
	*size = (uint32_t)(at - (char *)all);
	return all;
}

bool wh_windows_next(unsigned int *at, struct wh_judged *out)
{
	struct window *t = &tenant[*at];

	if (*at >= ntenants)
		return false;
	++*at;
	*out = (struct wh_judged){
		.name = t->name, .limit = t->limit, .file = t->file.limits, .usage = t->file.usage,
		.held = &t->held,
	};
	memcpy(out->pid, t->pid, sizeof(t->pid));
	return true;
}
