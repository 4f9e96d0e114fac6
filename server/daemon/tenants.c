// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants: each has a socket, two files (tenant.h), limits and workers. A client that may connect
 * to a socket is a client of its tenant, whatever it says. Limits and the table of workers are kept
 * here, in memory that no worker maps: what a worker writes into its account decides nothing.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/keep.h"
#include "daemon/lend.h"
#include "daemon/suspend.h"
#include "tenant/control.h"
#include "tenant/plan.h"
#include "tenant/seats.h"
#include "tenant/trace.h"
#include "daemon/handover.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/worker.h"
#include "daemon/tenant.h"

static struct wh_tenant *tenants[WH_MAX_TENANTS];
static uint64_t last_id;
static char folder[PATH_MAX];
struct wh_seats wh_tenant_seats = { .dir = -1 };

/* --- The list --------------------------------------------------------------------- */

static int free_slot(void)
{
	int i;

	for (i = 0; i < WH_MAX_TENANTS; i++)
		if (!tenants[i])
			return i;
	return -1;
}

struct wh_tenant *wh_tenant_next(const struct wh_tenant *after)
{
	int i = after ? after->slot + 1 : 0;

	for (; i < WH_MAX_TENANTS; i++)
		if (tenants[i])
			return tenants[i];
	return NULL;
}

const char *wh_tenants_folder(void)
{
	return folder;
}

uint64_t wh_tenants_last_id(uint64_t least)
{
	last_id = last_id < least ? least : last_id;
	return last_id;
}

void wh_tenants_add(struct wh_tenant *t, int slot)
{
	t->slot = slot;
	tenants[slot] = t;
}

struct wh_tenant *wh_tenant_find(const char *name)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

const char *wh_tenant_name(const struct wh_tenant *t)
{
	return t->name;
}

const char *wh_tenant_socket(const struct wh_tenant *t)
{
	return t->socket;
}

bool wh_tenant_is_ephemeral(const struct wh_tenant *t)
{
	return t->ephemeral;
}

int wh_tenant_trace(const struct wh_tenant *t)
{
	return t->trace;
}

uid_t wh_tenant_uid(const struct wh_tenant *t)
{
	return t->uid;
}

/* --- Limits ----------------------------------------------------------------------- */

static bool is_ending(const struct wh_tenant *t)
{
	return t->dying || (t->ephemeral && !t->holds);
}

/* A tenant that is about to end, which may have the same name, does not count among the others. */
static void groups_of_others(const struct wh_tenant *self, struct wh_limit_plan *p)
{
	struct wh_tenant *t = NULL;
	unsigned int d;

	while ((t = wh_tenant_next(t)))
		for (d = 0; t != self && !is_ending(t) && d < wh_server.devices; d++) {
			wh_limits_others(p, d, &t->limit[d]);
			/* A tenant on its way has its groups of SMs on both devices. */
			if (t->suspend.move.on && d == t->suspend.move.to)
				wh_limits_others(p, d, &t->limit[t->suspend.move.from]);
		}
}

bool wh_tenants_groups_free(const struct wh_tenant *t, unsigned int device, uint64_t groups)
{
	struct wh_limit_plan p = { .devices = 0 };

	groups_of_others(t, &p);
	return !(p.used[device] & groups);
}

/* Is the ceiling or the class above what was given? */
static bool more_time(const struct wh_device_limit *l, const struct wh_device_limit *most)
{
	return wh_ceiling(l) - 1 > wh_ceiling(most) - 1 ||
	       wh_class_order(l->sm_class) > wh_class_order(most->sm_class);
}

static bool beyond(const struct wh_tenant *t, unsigned int d, const struct wh_device_limit *l,
		   char *err, size_t err_size)
{
	const struct wh_device_limit *m = &t->most[d];

	if (!t->bounded)
		return false;
	if (l->memory - 1 > m->memory - 1 || l->sm_percent - 1 > m->sm_percent - 1) {
		/* 0 is more than all. */
		snprintf(err, err_size, "device %u: tenant %s was given %llu bytes and %u %% of the SMs (0: all)",
			 d, t->name, (unsigned long long)m->memory, m->sm_percent);
		return true;
	}
	if (!more_time(l, m))
		return false;
	snprintf(err, err_size, "device %u: tenant %s was given no such ceiling (sm-max) or class (priority)",
		 d, t->name);
	return true;
}

/* Plans the new limits of all devices, or of none. */
static bool plan_limits(const struct wh_tenant *t, const struct wh_limit_list *list,
			struct wh_device_limit out[WH_TENANT_DEVICES], char *err, size_t err_size)
{
	struct wh_limit_plan p = {
		.device = wh_server.device, .devices = wh_server.devices, .now = t->limit,
		.hidden = wh_hidden_places(t->file.limits),
	};
	unsigned int d;

	groups_of_others(t, &p);
	if (!wh_limits_plan(&p, list, out, err, err_size))
		return false;
	for (d = 0; d < wh_server.devices; d++)
		if (beyond(t, d, &out[d], err, err_size))
			return false;
	return true;
}

/* What a file says holds: the tenant should not be gone because contexts have grown. */
static bool fits(const struct wh_tenant *t, const struct wh_device_limit *limit, bool kept,
		 char *err, size_t err_size)
{
	if (wh_contexts_fit(t, limit, err, err_size))
		return true;
	if (kept)
		wh_say("warn", "tenant %s: %s", t->name, err);
	return kept;
}

/* What workers have got under a larger quota they keep under a smaller one. 0 is the largest. */
static void note_quotas(struct wh_tenant *t)
{
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (!t->workers || t->limit[d].memory - 1 > t->had[d] - 1)
			t->had[d] = t->limit[d].memory;
}

bool wh_tenant_limit(struct wh_tenant *t, const struct wh_limit_list *list, bool kept, char *err,
		     size_t err_size)
{
	struct wh_device_limit plan[WH_TENANT_DEVICES];

	if (!plan_limits(t, list, plan, err, err_size) || !fits(t, plan, kept, err, err_size) ||
	    (list->nccl == WH_NCCL_YES && !wh_isolation_meets(&t->isolation, err, err_size)))
		return false;
	if (list->nccl != WH_NCCL_UNSAID)
		t->nccl = list->nccl == WH_NCCL_YES;
	if (list->counters != WH_COUNTERS_UNSAID)
		t->counters = list->counters == WH_COUNTERS_YES;
	wh_tenant_counters(t->file.limits, t->counters);
	if (list->has_host)
		t->host_memory = list->host;
	wh_tenant_host_limit(t->file.limits, t->host_memory);
	if (list->has_kernel)
		t->max_kernel_ms = list->kernel_ms;
	wh_tenant_kernel_limit(t->file.limits, t->max_kernel_ms * 1000000);
	memcpy(t->limit, plan, sizeof(plan));
	note_quotas(t);
	wh_parts_bound(t);
	wh_limit_merge(&t->said, list);
	wh_limits_put(t->file.limits, &wh_tenant_seats, t->seat, plan, wh_server.devices);
	wh_monitor_changed();
	return true;
}

/* --- Life ------------------------------------------------------------------------- */

static void stop_listening(struct wh_tenant *t)
{
	if (t->listener < 0)
		return;
	wh_loop_remove(t->listener);
	wh_hang_up_all(t->listener);
	unlink(t->socket);
	t->listener = -1;
	wh_monitor_changed();
}

static void destroy(struct wh_tenant *t)
{
	stop_listening(t);
	wh_suspend_close(t);
	wh_parts_close(t);
	if (t->trace >= 0)
		close(t->trace);
	wh_seats_give(&wh_tenant_seats, t->seat);
	wh_log_pipe_close(&t->log);
	wh_isolation_close(&t->isolation);
	wh_tenant_file_remove(&t->file, folder, t->name);
	wh_cdi_remove(folder, t->name);
	if (t->slot >= 0)
		tenants[t->slot] = NULL;
	wh_monitor_changed();
	free(t->conf_file);
	/* A connection or a process of its creator may still refer to it. */
	t->gone = true;
	if (!t->holds)
		free(t);
}

/*
 * Ends a tenant that nobody keeps, once nobody uses it. Until then its last workers go on, and
 * nobody joins it: who came for its name would share its end.
 */
static void end_if_over(struct wh_tenant *t)
{
	if (!is_ending(t))
		return;
	stop_listening(t);
	if (!t->workers)
		destroy(t);
}

bool wh_tenant_is_ending(const char *name)
{
	const struct wh_tenant *t = wh_tenant_find(name);

	return t && is_ending(t);
}

static bool choose_name(struct wh_tenant *t, const char *name, char *err, size_t err_size)
{
	if (!name || !*name) {
		do
			snprintf(t->name, sizeof(t->name), "run%llu", (unsigned long long)++last_id);
		while (wh_tenant_find(t->name));
		return true;
	}
	if (!wh_tenant_name_ok(name)) {
		snprintf(err, err_size, "'%.80s' is no name for a tenant: a letter, then letters, digits, "
			 "'.', '_', '-', fewer than %d", name, WH_TENANT_NAME);
		return false;
	}
	if (wh_tenant_find(name)) {
		snprintf(err, err_size, "tenant %s is there already; run without limits to join it, or "
			 "change it by `wormhole limit'", name);
		return false;
	}
	snprintf(t->name, sizeof(t->name), "%s", name);
	return true;
}

static bool choose_socket(struct wh_tenant *t, char *err, size_t err_size)
{
	int n;

	if (!strcmp(t->name, WH_DEFAULT))
		n = snprintf(t->socket, sizeof(t->socket), "%s", wh_server.socket);
	else
		n = snprintf(t->socket, sizeof(t->socket), "%s/%s.sock", folder, t->name);
	if (n < (int)sizeof(t->socket))
		return true;
	snprintf(err, err_size, "%s/%s.sock: too long for a socket; choose a shorter name or --dir",
		 folder, t->name);
	return false;
}

/*
 * Is the tenant for programs that the server's user starts, by `wormhole run'? They are processes
 * of this machine, which have its sockets already: TCP in a network of their workers' own gives
 * them nothing new. For a tenant that stays, or is another user's, only the request decides.
 */
static bool runs_programs(const struct wh_tenant *t)
{
	return t->uid == geteuid() && (t->ephemeral || !strcmp(t->name, WH_DEFAULT));
}

/* Makes files, limits and socket in this order, so that no client meets a tenant without limits. */
static bool set_up(struct wh_tenant *t, const struct wh_tenant_request *r,
		   char *err, size_t err_size)
{
	int rc;

	if (!choose_name(t, r->name, err, err_size) || !choose_socket(t, err, err_size))
		return false;
	t->id = ++last_id;
	rc = wh_tenant_file_create(&t->file, folder, t->name, t->id, wh_server.devices);
	if (rc) {
		snprintf(err, err_size, "%s/%s.limits: %s", folder, t->name, strerror(-rc));
		return false;
	}
	t->seat = wh_seats_take(&wh_tenant_seats, t->id);
	if (t->seat < 0) {
		snprintf(err, err_size, "%s/" WH_TURNS_FOLDER ": %s", folder, strerror(-t->seat));
		return false;
	}
	t->file.limits->seat = (uint32_t)t->seat;
	if (!wh_devices_give(t->file.limits, r->devices, err, err_size))
		return false;
	t->trace = wh_trace_create();
	if (t->trace < 0) {
		snprintf(err, err_size, "tenant %s: memory for its trace: %s", t->name, strerror(errno));
		return false;
	}
	if (!wh_log_pipe_open(&t->log, t->name)) {
		snprintf(err, err_size, "tenant %s: a pipe for its workers: %s", t->name, strerror(errno));
		return false;
	}
	if (!wh_isolation_open(&t->isolation, t->name, err, err_size))
		return false;
	t->nccl = runs_programs(t) && wh_isolation_meets(&t->isolation, err, err_size);
	if (!wh_tenant_limit(t, &r->limits, r->kept, err, err_size))
		return false;
	wh_suspend_tell(t);
	t->bounded = r->bounded;
	memcpy(t->most, t->limit, sizeof(t->most));
	t->listener = wh_listen(t->socket, 0600, r->uid);
	if (t->listener >= 0 && wh_loop_add(t->listener, wh_start_on_client, t))
		return true;
	snprintf(err, err_size, "%s: %s", t->socket, strerror(errno));
	return false;
}

struct wh_tenant *wh_tenant_create(const struct wh_tenant_request *r, char *err, size_t err_size)
{
	int i = free_slot();
	struct wh_tenant *t = i < 0 ? NULL : calloc(1, sizeof(*t));

	if (!t && i >= 0) {
		snprintf(err, err_size, "a tenant: %s", strerror(errno));
		return NULL;
	}
	if (!t) {
		snprintf(err, err_size, "no room for another tenant: there may be %d", WH_MAX_TENANTS);
		return NULL;
	}
	t->slot = t->listener = t->file.limits_fd = t->file.usage_fd = t->seat = t->trace =
		t->log.in = -1;
	t->ephemeral = r->ephemeral;
	t->host_memory = wh_server.host_memory;
	t->max_kernel_ms = wh_server.max_kernel_ms;
	t->uid = r->uid;
	if (!set_up(t, r, err, err_size)) {
		if (t->file.limits)
			destroy(t);
		else
			free(t);
		return NULL;
	}
	t->slot = i;
	tenants[i] = t;
	wh_monitor_changed();
	return t;
}

static void kill_workers(const struct wh_tenant *t)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].pid)
			wh_monitor_kill(t->worker[i].pid);
}

bool wh_tenant_delete(struct wh_tenant *t, bool force, char *err, size_t err_size)
{
	if (!strcmp(t->name, WH_DEFAULT)) {
		snprintf(err, err_size, "tenant %s is the server's own and ends with it", t->name);
		return false;
	}
	if (t->workers && !force) {
		snprintf(err, err_size, "tenant %s has %u living workers; --force ends them, too", t->name,
			 t->workers);
		return false;
	}
	t->dying = true;
	wh_monitor_changed();
	kill_workers(t);
	end_if_over(t);
	return true;
}

void wh_tenant_hold(struct wh_tenant *t)
{
	t->holds++;
}

void wh_tenant_release(struct wh_tenant *t)
{
	t->holds--;
	if (!t->gone)
		end_if_over(t);
	else if (!t->holds)
		free(t);
}

/* --- Ends of workers -------------------------------------------------------------- */

static struct wh_tenant *owner_of(pid_t pid, int *account)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		for (*account = 0; *account < WH_TENANT_WORKERS; ++*account)
			if (t->worker[*account].pid == pid)
				return t;
	return NULL;
}

bool wh_tenants_have(pid_t pid)
{
	struct wh_tenant *t = NULL;
	int i;

	while (pid > 0 && (t = wh_tenant_next(t)))
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t->worker[i].pid == pid || t->worker[i].emptier == pid)
				return true;
	return false;
}

bool wh_tenants_map(const void *address)
{
	const char *at = address, *usage;
	int i;

	for (i = 0; i < (int)WH_SEATS; i++)
		if (at == (const char *)wh_tenant_seats.seat[i].page)
			return true;
	for (i = 0; i < WH_MAX_TENANTS; i++) {
		usage = tenants[i] ? (const char *)tenants[i]->file.usage : NULL;
		if (usage && at >= usage && at < usage + sizeof(*tenants[i]->file.usage))
			return true;
	}
	return false;
}

/* Cleans up by the server's own table, whatever the file says. */
static void clean_up(struct wh_tenant *t)
{
	uint64_t living = 0;
	int i, rc;

	if (wh_faults_seen())
		wh_say("error", "a tenant's file has lost memory below it (a hole, or a full or broken file "
		       "system at %s); its workers' figures are lost", folder);

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->worker[i].pid)
			living |= 1ull << i;
	if (living) {
		wh_tenant_accounts_only(t->file.usage, living);
		return;
	}
	rc = wh_tenant_file_restart(&t->file, t->id);
	rc = rc ? rc : wh_seats_restart(&wh_tenant_seats, t->seat);
	if (rc)
		wh_say_of(t->name, "warn", "tenant %s: its files in %s: %s", t->name, folder,
			  strerror(-rc));
}

void wh_tenants_reap(pid_t pid, int status)
{
	int account;
	struct wh_tenant *t = owner_of(pid, &account);

	if (!t)
		return;
	if (WIFSIGNALED(status))
		wh_say_of(t->name, "warn", "tenant %s: worker %d killed by signal %d; its client is cut off",
			  t->name, pid, WTERMSIG(status));
	wh_start_over(t, account);
	wh_lend_close(&t->worker[account]);
	t->worker[account].pid = 0;
	t->workers--;
	wh_monitor_changed();	/* also its CPU time (usage.c) */
	wh_parts_worker_ended(t);	/* what it leaves counts before its account is cleared */
	wh_tenant_account_clear(t->file.usage, account);
	wh_seats_worker_ended(&wh_tenant_seats, t->seat, (unsigned int)account);
	clean_up(t);
	note_quotas(t);
	wh_parts_bound(t);
	end_if_over(t);
	wh_drain_look();
}

/* --- Start and stop --------------------------------------------------------------- */

/*
 * We hold the lock, so these files were left by a server that was killed, but for those of tenants
 * that were taken over.
 */
static void remove_stale(void)
{
	static const char *const kinds[] = { ".sock", ".limits", ".usage" };
	char name[WH_TENANT_NAME];
	DIR *d = opendir(folder);
	struct dirent *e;
	const char *dot;
	size_t i;

	while (d && (e = readdir(d))) {
		dot = strrchr(e->d_name, '.');
		snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - e->d_name) : 0, e->d_name);
		if (wh_tenant_find(name))
			continue;
		for (i = 0; dot && i < sizeof(kinds) / sizeof(*kinds); i++)
			if (!strcmp(dot, kinds[i]))
				unlinkat(dirfd(d), e->d_name, 0);
		if (dot && !strcmp(dot, WH_CDI_NOTE))
			wh_cdi_remove(folder, name);
	}
	if (d)
		closedir(d);
}

/* Clients must reach their tenant's socket, but need not see which others there are. */
static bool make_folder(char *err, size_t err_size)
{
	bool made;
	int dir;

	snprintf(folder, sizeof(folder), "%s/tenants", wh_server.dir);
	made = !mkdir(folder, 0711);
	if (!made && errno != EEXIST) {
		snprintf(err, err_size, "%s: %s", folder, strerror(errno));
		return false;
	}
	dir = wh_open_dir(folder, err, err_size);
	if (dir < 0 && made)
		rmdir(folder);
	if (dir < 0)
		return false;
	if (fchmod(dir, 0711)) {
		snprintf(err, err_size, "%s: %s", folder, strerror(errno));
		close(dir);
		return false;
	}
	close(dir);
	return true;
}

/* The other files of the folder are gone by then. */
static void remove_files(void)
{
	rmdir(folder);
	wh_notes_remove();
}

/* A worker that began too late to be in the state has no account here. */
static bool is_known(pid_t pid)
{
	return wh_uid_range_has(pid) || wh_uids_has(pid) || wh_tenants_have(pid) ||
	       wh_suspend_has(pid);
}

bool wh_tenants_start(char *err, size_t err_size)
{
	struct wh_tenant_request r = { .name = WH_DEFAULT, .uid = geteuid(),
				       .limits = wh_server.environment };
	struct wh_tenant *t;
	int rc;

	if (!wh_parts_start(err, err_size) || !make_folder(err, err_size))
		return false;
	wh_accept_start();
	/* No program ends for want of what only readers need. */
	if (wh_handed("tenants") && !wh_notes_write(err, err_size))
		wh_say("warn", "%s; `wormhole stat' lacks what stands there", err);
	if (wh_handed("tenants") && !wh_tenants_take(err, err_size))
		return false;
	remove_stale();
	/* Their users are free again before a tenant that has ended gives back its own. */
	if (wh_handed("tenants")) {
		wh_monitor_kill_unknown(is_known);
		return true;
	}
	if (!wh_notes_write(err, err_size)) {
		remove_files();
		return false;
	}
	rc = wh_seats_create(&wh_tenant_seats, folder);
	if (rc) {
		snprintf(err, err_size, "%s/" WH_TURNS_FOLDER ": %s", folder, strerror(-rc));
		remove_files();
		return false;
	}
	t = wh_tenant_create(&r, err, err_size);
	return t && wh_tenant_limit(t, &wh_server.limits, false, err, err_size);
}

static void await_workers(void)
{
	struct wh_tenant *t = NULL;
	struct wh_ended e;
	unsigned int left = 0;
	int account;

	while ((t = wh_tenant_next(t)))
		left += t->workers;
	while (left && wh_monitor_next(&e))
		left -= owner_of(e.pid, &account) != NULL;
}

void wh_tenants_stop(void)
{
	struct wh_tenant *t = NULL;

	while ((t = wh_tenant_next(t)))
		kill_workers(t);
	await_workers();
	wh_keep_stop();
	while ((t = wh_tenant_next(NULL)))
		destroy(t);
	if (!wh_tenant_seats.board)
		return;
	wh_seats_remove(&wh_tenant_seats, folder);
	remove_stale();
	remove_files();
}
