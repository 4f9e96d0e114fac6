// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the tenants of the windows, with limits that hold for the life of the
 * server VM. Every device has the same: a window's client sees them all.
 */
#define _GNU_SOURCE
#include "vm/windows.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenant/file.h"
#include "tenant/seats.h"
#include "tenant/sm_groups.h"
#include "tenant/spec.h"

static struct wh_limit_list limits;	/* the device's number is the window's */
static struct {
	struct wh_tenant_file file;
	char path[PATH_MAX];
	int seat;
} tenant[WH_WINDOWS];
static struct wh_seats seats = { .dir = -1 };
static unsigned int ntenants;

int wh_window_limit(const char *text, char *err, size_t err_size)
{
	if (!strchr(text, ':')) {
		snprintf(err, err_size, "'%s' is not WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY", text);
		return -1;
	}
	return wh_limit_parse(&limits, text, err, err_size);
}

static int choose_groups(struct wh_device_limit *l, unsigned int window, uint32_t sms,
			 uint64_t *used, char *err, size_t err_size)
{
	unsigned int want = wh_sm_groups_for(sms, l->sm_percent);

	if (!sms) {
		snprintf(err, err_size, "window %u: a spatial limit needs the number of SMs (--sms)", window);
		return -1;
	}
	l->sm_groups = wh_sm_groups_choose(wh_sm_groups(sms), *used, want);
	*used |= l->sm_groups;
	if (l->sm_groups)
		return 0;
	snprintf(err, err_size, "window %u: %u %% of %u SMs are %u of %u groups of %u, and fewer are left",
		 window, l->sm_percent, sms, want, wh_sm_groups(sms), WH_GROUP_SMS);
	return -1;
}

static int limit_of(unsigned int window, uint32_t sms, uint64_t *used, struct wh_device_limit *l,
		    char *err, size_t err_size)
{
	const struct wh_limit_spec *s = wh_limit_of(&limits, (int)window);

	*l = (struct wh_device_limit){ .memory = s->memory };
	if (!s->has_sm || s->sm_percent == 100)
		return 0;
	l->sm_percent = s->sm_percent;
	l->sm_policy = s->has_policy ? s->sm_policy : WH_SM_TEMPORAL;
	if (!(l->sm_policy & WH_SM_SPATIAL))
		return 0;
	return choose_groups(l, window, sms, used, err, err_size);
}

static int make(const char *dir, unsigned int window, const struct wh_device_limit *l,
		char *err, size_t err_size)
{
	struct wh_tenant_file none = { .limits_fd = -1, .usage_fd = -1 };
	char name[16];
	unsigned int d;
	int rc;

	snprintf(name, sizeof(name), "window%u", window);
	snprintf(tenant[window].path, sizeof(tenant[window].path), "%s/%s", dir, name);
	/* Of a supervisor that was killed; its workers have ended with it. */
	wh_tenant_file_remove(&none, dir, name);
	rc = wh_tenant_file_create(&tenant[window].file, dir, name, window + 1, WH_TENANT_DEVICES);
	if (rc) {
		snprintf(err, err_size, "%.200s: %s", tenant[window].path, strerror(-rc));
		return -1;
	}
	tenant[window].seat = wh_seats_take(&seats, window + 1);
	if (tenant[window].seat < 0) {
		snprintf(err, err_size, "%.200s: its seat: %s", tenant[window].path,
			 strerror(-tenant[window].seat));
		return -1;
	}
	tenant[window].file.limits->seat = (uint32_t)tenant[window].seat;
	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		wh_tenant_limits_set(tenant[window].file.limits, d, l);
		wh_seats_share(&seats, tenant[window].seat, d,
			       wh_has_share(l, WH_SM_TEMPORAL) ? l->sm_percent : 0);
	}
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

int wh_window_tenants_start(const char *dir, unsigned int windows, uint32_t sms,
			    char *err, size_t err_size)
{
	struct wh_device_limit l;
	uint64_t used = 0;
	unsigned int i;
	int n;

	if (!limits.n)
		return 0;
	for (n = 0; n < limits.n; n++)
		if (limits.spec[n].device < 0 || (unsigned int)limits.spec[n].device >= windows) {
			snprintf(err, err_size, "--limit: there is no window %d, only %u",
				 limits.spec[n].device, windows);
			return -1;
		}
	if (make_folder(dir, err, err_size))
		return -1;
	for (i = 0; i < windows; i++)
		if (limit_of(i, sms, &used, &l, err, err_size) || make(dir, i, &l, err, err_size))
			return -1;
	ntenants = windows;
	return 0;
}

const char *wh_window_tenant(unsigned int window)
{
	return window < ntenants ? tenant[window].path : NULL;
}

/* Workers take their accounts themselves: which one it was says its pid. */
void wh_window_worker_ended(unsigned int window, pid_t pid)
{
	struct wh_tenant_usage *u;
	unsigned int i;

	if (window >= ntenants)
		return;
	u = tenant[window].file.usage;
	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (__atomic_load_n(&u->worker[i].pid, __ATOMIC_ACQUIRE) == (uint32_t)pid) {
			wh_tenant_account_clear(u, i);
			wh_seats_worker_ended(&seats, tenant[window].seat, i);
		}
}
