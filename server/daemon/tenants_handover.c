// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants over a handover (handover.h): what the server knows of each, and what it has open for it.
 * Limits, counters and turns are in files, which stay.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/tenant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/keep.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/suspend.h"

/* --- What is left ----------------------------------------------------------------------- */

static void leave_isolation(cJSON *o, const struct wh_isolation *i)
{
	cJSON_AddNumberToObject(o, "uid", i->uid);
	wh_leave_fd(o, "user_ns", i->user_ns);
	wh_leave_fd(o, "net_ns", i->net_ns);
	wh_leave_fd(o, "ipc_ns", i->ipc_ns);
	wh_leave_fd(o, "files_ns", i->files_ns);
	wh_leave_fd(o, "files_root", i->files_root);
	cJSON_AddStringToObject(o, "group", i->group);
}

static void leave_workers(cJSON *all, const struct wh_tenant *t)
{
	const struct tenant_worker *w;
	cJSON *o;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = &t->worker[i];
		if (!w->pid && !w->part)
			continue;
		o = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "account", i);
		cJSON_AddNumberToObject(o, "pid", w->pid);
		cJSON_AddNumberToObject(o, "client", w->client);
		cJSON_AddBoolToObject(o, "parks", w->parks);
		cJSON_AddNumberToObject(o, "emptier", w->emptier);
		wh_leave_fd(o, "part", w->part ? w->part : -1);
		wh_leave_fd(o, "lends", w->lends ? w->lends : -1);
		wh_leave_fd(o, "started", w->started ? w->started : -1);
		cJSON_AddItemToArray(all, o);
	}
}

/* The most that a tenant may be given; its limits as they are stand in its file. */
static void leave_most(cJSON *all, const struct wh_tenant *t)
{
	unsigned int d;
	cJSON *o;

	for (d = 0; d < wh_server.devices; d++) {
		o = cJSON_CreateObject();
		cJSON_AddNumberToObject(o, "memory", (double)t->most[d].memory);
		cJSON_AddNumberToObject(o, "sm", t->most[d].sm_percent);
		cJSON_AddNumberToObject(o, "sm_max", t->most[d].sm_max);
		cJSON_AddNumberToObject(o, "class", t->most[d].sm_class);
		cJSON_AddNumberToObject(o, "had", (double)t->had[d]);
		cJSON_AddItemToArray(all, o);
	}
}

static cJSON *leave(const struct wh_tenant *t)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", t->name);
	cJSON_AddStringToObject(o, "socket", t->socket);
	cJSON_AddNumberToObject(o, "id", (double)t->id);
	cJSON_AddNumberToObject(o, "slot", t->slot);
	cJSON_AddNumberToObject(o, "uid", t->uid);
	cJSON_AddBoolToObject(o, "ephemeral", t->ephemeral);
	cJSON_AddBoolToObject(o, "dying", t->dying);
	cJSON_AddBoolToObject(o, "nccl", t->nccl);
	cJSON_AddBoolToObject(o, "counters", t->counters);
	cJSON_AddBoolToObject(o, "bounded", t->bounded);
	wh_keep_hand_over(o, t);
	wh_suspend_leave(o, t);
	cJSON_AddNumberToObject(o, "host_memory", (double)t->host_memory);
	cJSON_AddNumberToObject(o, "max_kernel_ms", (double)t->max_kernel_ms);
	cJSON_AddNumberToObject(o, "cpu_ns", (double)t->cpu_ns);
	wh_leave_fd(o, "listener", t->listener);
	wh_leave_fd(o, "limits", t->file.limits_fd);
	wh_leave_fd(o, "usage", t->file.usage_fd);
	wh_leave_fd(o, "trace", t->trace);
	cJSON_AddNumberToObject(o, "seat", t->seat);
	wh_leave_fd(o, "seat_file", wh_tenant_seats.seat[t->seat].fd);
	wh_leave_fd(o, "log_out", t->log.fd[0]);
	wh_leave_fd(o, "log_in", t->log.fd[1]);
	leave_isolation(cJSON_AddObjectToObject(o, "isolation"), &t->isolation);
	leave_workers(cJSON_AddArrayToObject(o, "workers"), t);
	leave_most(cJSON_AddArrayToObject(o, "most"), t);
	return o;
}

void wh_tenants_leave(cJSON *o)
{
	struct wh_tenant *t = NULL;
	cJSON *all;

	cJSON_AddNumberToObject(o, "last_id", (double)wh_tenants_last_id(0));
	wh_leave_fd(o, "turns", wh_tenant_seats.dir);
	all = cJSON_AddArrayToObject(o, "list");
	while ((t = wh_tenant_next(t)))
		cJSON_AddItemToArray(all, leave(t));
}

/* --- What is taken over ------------------------------------------------------------------- */

static void take_isolation(struct wh_isolation *i, const cJSON *o)
{
	*i = (struct wh_isolation){
		.open = true,
		.uid = (uid_t)wh_taken_number(o, "uid"),
		.user_ns = wh_taken_fd(o, "user_ns"),
		.net_ns = wh_taken_fd(o, "net_ns"),
		.ipc_ns = wh_taken_fd(o, "ipc_ns"),
		.files_ns = wh_taken_fd(o, "files_ns"),
		.files_root = wh_taken_fd(o, "files_root"),
	};
	snprintf(i->group, sizeof(i->group), "%s", wh_taken_text(o, "group"));
}

static void take_workers(struct wh_tenant *t, const cJSON *all)
{
	struct tenant_worker *w;
	const cJSON *o;
	uint64_t i;
	int fd;

	cJSON_ArrayForEach(o, all) {
		i = wh_taken_number(o, "account");
		if (i >= WH_TENANT_WORKERS)
			continue;
		w = &t->worker[i];
		w->pid = (pid_t)wh_taken_number(o, "pid");
		w->client = (pid_t)wh_taken_number(o, "client");
		w->parks = wh_taken_flag(o, "parks");
		w->emptier = (pid_t)wh_taken_number(o, "emptier");
		fd = wh_taken_fd(o, "part");
		w->part = fd < 0 ? 0 : fd;
		fd = wh_taken_fd(o, "lends");
		w->lends = fd < 0 ? 0 : fd;
		t->workers += w->pid != 0;
		wh_monitor_missing(w->pid);
		wh_monitor_missing(w->emptier);
		fd = wh_taken_fd(o, "started");
		if (fd >= 0)
			wh_start_under_way(t, (int)i, fd);
	}
}

static void take_most(struct wh_tenant *t, const cJSON *all)
{
	const cJSON *o;
	unsigned int d = 0;

	cJSON_ArrayForEach(o, all) {
		if (d >= WH_TENANT_DEVICES)
			break;
		t->most[d].memory = wh_taken_number(o, "memory");
		t->had[d] = wh_taken_number(o, "had");
		t->most[d].sm_max = (uint32_t)wh_taken_number(o, "sm_max");
		t->most[d].sm_class = (uint32_t)wh_taken_number(o, "class") % WH_CLASSES;
		t->most[d++].sm_percent = (uint32_t)wh_taken_number(o, "sm");
	}
}

static void take_values(struct wh_tenant *t, const cJSON *o)
{
	snprintf(t->name, sizeof(t->name), "%s", wh_taken_text(o, "name"));
	snprintf(t->socket, sizeof(t->socket), "%s", wh_taken_text(o, "socket"));
	t->id = wh_taken_number(o, "id");
	t->uid = (uid_t)wh_taken_number(o, "uid");
	t->ephemeral = wh_taken_flag(o, "ephemeral");
	t->dying = wh_taken_flag(o, "dying");
	t->nccl = wh_taken_flag(o, "nccl");
	t->counters = wh_taken_flag(o, "counters");
	t->bounded = wh_taken_flag(o, "bounded");
	wh_keep_take_over(t, o);
	t->host_memory = wh_taken_number(o, "host_memory");
	t->max_kernel_ms = wh_taken_number(o, "max_kernel_ms");
	t->cpu_ns = wh_taken_number(o, "cpu_ns");
	t->seat = (int)wh_taken_number(o, "seat");
	t->trace = wh_taken_fd(o, "trace");
	take_isolation(&t->isolation, cJSON_GetObjectItem(o, "isolation"));
	take_most(t, cJSON_GetObjectItem(o, "most"));
}

/* Maps and listens to what is open. False with errno. */
static bool take_files(struct wh_tenant *t, const cJSON *o)
{
	int rc = wh_tenant_file_take(&t->file, wh_taken_fd(o, "limits"), wh_taken_fd(o, "usage"));
	unsigned int d;
	bool put;

	if (!rc)
		rc = wh_seats_take_over(&wh_tenant_seats, t->seat, wh_taken_fd(o, "seat_file"));
	if (rc) {
		errno = -rc;
		return false;
	}
	put = wh_move_take_places(t, o);
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		t->limit[wh_device_place(t->file.limits, d)] = t->file.limits->device[d];
	if (put)
		wh_limits_put(t->file.limits, &wh_tenant_seats, t->seat, t->limit,
			      wh_server.devices);
	t->listener = wh_taken_fd(o, "listener");
	return wh_log_pipe_take(&t->log, t->name, wh_taken_fd(o, "log_out"), wh_taken_fd(o, "log_in")) &&
	       (t->listener < 0 || wh_loop_add(t->listener, wh_start_on_client, t));
}

/* A server that was killed had closed its files already, and only not saved that. */
static bool was_ending(const cJSON *o)
{
	return wh_monitor_died() && (wh_taken_fd(o, "limits") < 0 || wh_taken_fd(o, "usage") < 0 ||
				     wh_taken_fd(o, "seat_file") < 0);
}

static bool take(const cJSON *o, char *err, size_t err_size)
{
	struct wh_tenant *t = calloc(1, sizeof(*t));

	if (!t) {
		snprintf(err, err_size, "a tenant: %s", strerror(errno));
		return false;
	}
	take_values(t, o);
	if (was_ending(o)) {
		wh_say("warn", "tenant %s ended with the server", t->name);
		wh_isolation_close(&t->isolation);
		free(t);
		return true;
	}
	if (!take_files(t, o)) {
		snprintf(err, err_size, "tenant %s: %s", t->name, strerror(errno));
		return false;
	}
	take_workers(t, cJSON_GetObjectItem(o, "workers"));
	wh_tenants_add(t, (int)wh_taken_number(o, "slot"));
	wh_suspend_take(t, o);
	wh_parts_look(t);
	wh_parts_bound(t);
	return true;
}

bool wh_tenants_take(char *err, size_t err_size)
{
	const cJSON *all = wh_handed("tenants"), *o;
	int rc;

	wh_tenants_last_id(wh_taken_number(all, "last_id"));
	rc = wh_seats_take_board(&wh_tenant_seats, wh_taken_fd(all, "turns"));
	if (rc) {
		snprintf(err, err_size, "%s/" WH_TURNS_FOLDER ": %s", wh_tenants_folder(), strerror(-rc));
		return false;
	}
	cJSON_ArrayForEach(o, cJSON_GetObjectItem(all, "list"))
		if (!take(o, err, err_size))
			return false;
	wh_seats_only_taken(&wh_tenant_seats);
	return true;
}
