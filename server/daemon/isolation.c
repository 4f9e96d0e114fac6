// SPDX-License-Identifier: Apache-2.0
/*
 * Combines a tenant's protections. What the machine has is tried once, with a tenant that belongs
 * to nobody, and reported in one line. There is no weaker choice later: a protection that was found
 * at the start and fails for a tenant refuses that tenant.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/isolation.h"
#include "daemon/monitor.h"
#include "daemon/server.h"

#include <errno.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protect/sandbox.h"

struct wh_protection wh_protection[WH_PROTECTIONS];
const char *const wh_protection_name[WH_PROTECTIONS] = {
	"user", "calls", "files", "network", "memory", "processes", "cpu",
};

static const char *const meaning[WH_PROTECTIONS] = {
	"a user of each tenant's own", "a filter of system calls", "no way to files",
	"network and IPC namespaces", "memory by cgroup", "threads by cgroup", "equal CPU weights",
};

/* --- The protections of this machine -------------------------------------------------- */

static void find_filter(struct wh_protection *p)
{
	unsigned int action = SECCOMP_RET_ERRNO;

	p->on = !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
	snprintf(p->detail, sizeof(p->detail), "%s", p->on ? "seccomp" :
		 "this kernel has no seccomp filters (CONFIG_SECCOMP_FILTER)");
}

static void find_landlock(struct wh_protection *p)
{
	int version = wh_landlock_version();

	p->on = version > 0;
	if (p->on)
		snprintf(p->detail, sizeof(p->detail), "Landlock %d", version);
	else
		snprintf(p->detail, sizeof(p->detail), "this kernel has no Landlock (lsm=landlock,...)");
}

static void find_namespaces(struct wh_protection *p)
{
	struct wh_isolation i = WH_NO_ISOLATION;
	char err[80];

	if (wh_protection[WH_PROTECT_USER].on)
		i.uid = wh_uid_take();
	p->on = wh_namespaces_open(&i, err, sizeof(err));
	if (p->on)
		snprintf(p->detail, sizeof(p->detail), "%s%s", i.user_ns < 0 ? "of root's" :
			 "by user namespaces", i.files_ns < 0 ? "" : ", /dev/shm of each tenant's own");
	else
		snprintf(p->detail, sizeof(p->detail), "namespaces: %s", err);
	wh_namespaces_close(&i);
	if (i.uid != WH_NO_UID)
		wh_uid_give(i.uid, false);
}

static void list(char *out, size_t size, bool on)
{
	size_t n = 0;
	int i;

	*out = 0;
	for (i = 0; i < WH_PROTECTIONS && n < size; i++)
		if (wh_protection[i].on == on)
			n += snprintf(out + n, size - n, "%s%s (%s)", n ? ", " : "", meaning[i],
				      wh_protection[i].detail);
	if (!n)
		snprintf(out, size, "nothing");
}

static void say(void)
{
	char have[640], lack[640];

	list(have, sizeof(have), true);
	list(lack, sizeof(lack), false);
	wh_say("info", "workers have %s; they lack %s", have, lack);
}

void wh_isolation_leave(cJSON *o)
{
	struct wh_cgroup_place place[WH_CGROUP_KINDS];
	cJSON *all = cJSON_AddArrayToObject(o, "cgroups"), *one;
	int k;

	wh_cgroup_leave(place);
	for (k = 0; k < WH_CGROUP_KINDS; k++) {
		one = cJSON_CreateObject();
		cJSON_AddBoolToObject(one, "v2", place[k].v2);
		cJSON_AddStringToObject(one, "dir", place[k].dir);
		cJSON_AddItemToArray(all, one);
	}
}

static void take_cgroups(const cJSON *o)
{
	struct wh_cgroup_place place[WH_CGROUP_KINDS];
	struct wh_protection *p = wh_protection;
	const cJSON *one;
	int k;

	for (k = 0; k < WH_CGROUP_KINDS; k++) {
		one = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "cgroups"), k);
		place[k].v2 = wh_taken_flag(one, "v2");
		place[k].dir = wh_taken_text(one, "dir");
	}
	wh_cgroup_take(place, &p[WH_PROTECT_MEMORY], &p[WH_PROTECT_PROCESSES],
		       &p[WH_PROTECT_CPU]);
}

static bool placed;	/* the cgroups are found */

void wh_isolation_place(void)
{
	struct wh_protection *p = wh_protection;

	wh_cgroup_start(&p[WH_PROTECT_MEMORY], &p[WH_PROTECT_PROCESSES], &p[WH_PROTECT_CPU]);
	placed = true;
}

bool wh_isolation_start(char *err, size_t err_size)
{
	struct wh_protection *p = wh_protection;

	if (!wh_uids_start(wh_server.worker_uid, &p[WH_PROTECT_USER], err, err_size))
		return false;
	find_filter(&p[WH_PROTECT_CALLS]);
	find_landlock(&p[WH_PROTECT_FILES]);
	find_namespaces(&p[WH_PROTECT_NETWORK]);
	if (wh_handed("isolation"))
		take_cgroups(wh_handed("isolation"));
	else if (!placed)
		wh_isolation_place();
	say();
	return true;
}

void wh_isolation_stop(void)
{
	wh_cgroup_stop();
}

void wh_isolation_print(void *file)
{
	int i;

	for (i = 0; i < WH_PROTECTIONS; i++)
		fprintf(file, "%s %s %s\n", wh_protection_name[i], wh_protection[i].on ? "on" : "off",
			wh_protection[i].detail);
}

/* --- The protections of a tenant -------------------------------------------------------- */

static bool open_parts(struct wh_isolation *i, const char *tenant, char *err, size_t err_size)
{
	char why[160];

	if (wh_protection[WH_PROTECT_USER].on) {
		i->uid = wh_uid_take();
		if (i->uid == WH_NO_UID && errno) {
			snprintf(err, err_size, "tenant %s: a user for it: %s", tenant, strerror(errno));
			return false;
		}
		if (i->uid == WH_NO_UID) {
			snprintf(err, err_size, "tenant %s: no user is left for it: processes have all of %s; name "
				 "others by --worker-uid", tenant, wh_protection[WH_PROTECT_USER].detail);
			return false;
		}
	}
	if (wh_protection[WH_PROTECT_NETWORK].on &&
	    !wh_namespaces_open(i, why, sizeof(why))) {
		snprintf(err, err_size, "tenant %s: its namespaces: %s", tenant, why);
		return false;
	}
	if (!wh_cgroup_open(tenant, why, sizeof(why))) {
		snprintf(err, err_size, "tenant %s: its cgroup: %s", tenant, why);
		return false;
	}
	snprintf(i->group, sizeof(i->group), "%s", tenant);
	return true;
}

bool wh_isolation_open(struct wh_isolation *i, const char *tenant, char *err, size_t err_size)
{
	*i = WH_NO_ISOLATION;
	i->open = true;
	if (open_parts(i, tenant, err, err_size))
		return true;
	wh_isolation_close(i);
	return false;
}

/*
 * The cgroup ends first: if it can kill, no process is left that could fork. Files that the tenant
 * has made in the machine's /dev/shm, if it had none of its own, are removed by a separate process.
 */
void wh_isolation_close(struct wh_isolation *i)
{
	if (!i->open)
		return;
	if (i->group[0])
		wh_cgroup_close(i->group);
	if (i->uid != WH_NO_UID)
		wh_uid_give(i->uid, i->files_ns < 0);
	wh_namespaces_close(i);
	*i = WH_NO_ISOLATION;
}

void wh_isolation_memory(const struct wh_isolation *i, uint64_t bytes)
{
	char err[PATH_MAX + 100];

	if (i->group[0] && !wh_cgroup_memory(i->group, bytes, NULL, err, sizeof(err)))
		wh_say("warn", "%s", err);
}

uint64_t wh_isolation_loose(const struct wh_isolation *i)
{
	return i->group[0] ? wh_cgroup_loose(i->group) : 0;
}

bool wh_isolation_meets(const struct wh_isolation *i, char *err, size_t err_size)
{
	if (i->net_ns >= 0 && i->user_ns < 0 && i->uid != WH_NO_UID)
		return true;
	snprintf(err, err_size, "--nccl: workers meet by sockets only in a network namespace and as a user of "
		 "their tenant's own, which a server of root's gives them (`wormhole check')");
	return false;
}

const char *wh_isolation_protect(bool tcp)
{
	static char text[16];
	enum wh_protect p = 0;

	if (wh_protection[WH_PROTECT_CALLS].on)
		p |= WH_WORKER_FILTER;
	if (wh_protection[WH_PROTECT_FILES].on)
		p |= WH_WORKER_LANDLOCK;
	if (wh_protection[WH_PROTECT_USER].on)
		p |= WH_WORKER_OWN_USER;
	if (tcp)
		p |= WH_WORKER_TCP;
	snprintf(text, sizeof(text), "%u", p);
	return text;
}

/* --- In a worker ------------------------------------------------------------------------ */

/*
 * True in a child that began in its cgroup: to move a process between cgroups stops the machine's
 * forks for some milliseconds.
 */
static bool in_group;

pid_t wh_isolation_fork(const struct wh_isolation *i)
{
	char why[PATH_MAX + 100];
	pid_t pid = -1;
	int fd;

	if (i->group[0] && !wh_cgroup_renew(i->group, why, sizeof(why)))
		wh_say("warn", "%s", why);
	fd = i->group[0] ? wh_cgroup_folder(i->group) : -1;
	if (fd >= 0) {
		pid = wh_monitor_fork(fd);
		if (!pid)
			in_group = true;
		else
			close(fd);
	}
	/* Before Linux 5.7, or if a filter refuses clone3(), the child moves itself. */
	return pid < 0 ? wh_monitor_fork(-1) : pid;
}

/*
 * Namespaces that root made are entered as root; those of a user namespace belong to the user that
 * made it.
 */
static const char *enter(const struct wh_isolation *i)
{
	if (!wh_code_cache_enter(i))
		return "its cache of compiled code";
	if (i->group[0] && !in_group && wh_cgroup_enter(i->group))
		return "its cgroup";
	if (i->user_ns < 0 && !wh_namespaces_join(i))
		return "its namespaces";
	if (i->uid != WH_NO_UID && !wh_uid_become(i->uid))
		return "its user";
	if (i->user_ns >= 0 && (setns(i->user_ns, CLONE_NEWUSER) || !wh_namespaces_join(i)))
		return "its user namespace";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return "no_new_privs";
	return NULL;
}

bool wh_isolation_try(const struct wh_isolation *i, char *err, size_t err_size)
{
	const char *what = enter(i);

	if (what)
		snprintf(err, err_size, "it cannot enter %s: %s", what, strerror(errno));
	return !what;
}

void wh_isolation_enter(const struct wh_isolation *i)
{
	char why[160];

	if (wh_isolation_try(i, why, sizeof(why)))
		return;
	wh_say("error", "no worker: %s", why);
	_exit(1);
}
