// SPDX-License-Identifier: Apache-2.0
/* Shows tenants for `wormhole stat`, as a table or JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top.h"
#include "views.h"
#include "wormhole.h"

/* --- Counters by name ------------------------------------------------------------- */

#define TENANT_COUNTERS(X) \
	X(calls, u->calls) \
	X(crossings, u->waited + u->posted) \
	X(waited, u->waited) \
	X(posted, u->posted) \
	X(host_refused, u->host_refused) \
	X(bytes_to_device, u->bytes_to_device) \
	X(bytes_from_device, u->bytes_from_device)

#define DEVICE_FIGURES(X) \
	X(memory, u->memory) \
	X(memory_peak, u->memory_peak) \
	X(memory_driver, u->memory_driver) \
	X(refused, u->refused) \
	X(gpu_ns, wh_gpu_ns(u)) \
	X(gpu_beyond_ns, u->gpu_beyond_ns) \
	X(throttled_ns, u->throttled_ns) \
	X(launches, u->launches)

/* --- JSON ------------------------------------------------------------------------- */

static void add_tenant_counters(cJSON *o, const struct wh_worker_usage *u)
{
#define ADD(name, value) wh_json_u64(o, #name, value);
	TENANT_COUNTERS(ADD)
#undef ADD
}

static void add_device_counters(cJSON *o, const struct wh_device_usage *u)
{
#define ADD(name, value) wh_json_u64(o, #name, value);
	DEVICE_FIGURES(ADD)
#undef ADD
}

static cJSON *device_json(const struct wh_tenant_view *v, unsigned int d, const cJSON *devices)
{
	const struct wh_device_limit *l = &v->limits.device[d];
	cJSON *o = cJSON_CreateObject();

	wh_json_u64(o, "device", d);
	if (!v->vm)
		wh_device_json(devices, d, o);
	wh_json_u64(o, "memory_limit", l->memory);
	wh_json_u64(o, "sm_percent", l->sm_percent ? l->sm_percent : 100);
	cJSON_AddStringToObject(o, "sm_policy", l->sm_percent ? wh_limit_policy_name(l->sm_policy) : "none");
	wh_json_u64(o, "sm_max_percent", l->sm_percent ? wh_ceiling(l) : 100);
	cJSON_AddStringToObject(o, "priority", wh_limit_class_name(l->sm_class));
	wh_json_u64(o, "sm_groups", __builtin_popcountll(l->sm_groups));
	wh_json_u64(o, "sm_group_size", l->sm_group_size);
	add_device_counters(o, &v->sum.total.device[d]);
	return o;
}

static cJSON *worker_json(const struct wh_tenant_view *v, const struct wh_worker_usage *w)
{
	cJSON *o = cJSON_CreateObject(), *devices, *e;
	unsigned int d;

	wh_json_u64(o, "pid", w->pid);
	wh_json_u64(o, "client_pid", w->client_pid);
	wh_program_json(w, o);
	wh_json_u64(o, "started_ms", w->started_ns / 1000000);
	wh_json_u64(o, "host_memory", w->host_memory);
	add_tenant_counters(o, w);
	devices = cJSON_AddArrayToObject(o, "devices");
	wh_each_device(v, d) {
		e = cJSON_CreateObject();
		wh_json_u64(e, "device", d);
		wh_json_u64(e, "sms_granted", w->device[d].sms_granted);
		add_device_counters(e, &w->device[d]);
		cJSON_AddItemToArray(devices, e);
	}
	return o;
}

static cJSON *tenant_json(const struct wh_tenant_view *v, const struct wh_tenant_views *all)
{
	cJSON *o = cJSON_CreateObject(), *list;
	unsigned int d, i;

	cJSON_AddStringToObject(o, "tenant", v->limits.name);
	cJSON_AddStringToObject(o, "state", wh_suspension_text(v->limits.state));
	wh_json_u64(o, "suspended_memory", v->suspended_bytes);
	wh_json_u64(o, "host_memory", v->sum.total.host_memory);
	wh_json_u64(o, "host_memory_of_ended", v->limits.host_kept);
	wh_json_u64(o, "host_memory_limit", v->limits.host_memory);
	wh_json_u64(o, "max_kernel_ms", v->limits.max_kernel_ns / 1000000);
	cJSON_AddBoolToObject(o, "counters", v->limits.counters != 0);
	add_tenant_counters(o, &v->sum.total);
	if (v->vm) {
		wh_json_u64(o, "vm", v->vm);
		wh_json_u64(o, "window", v->window);
	} else {
		cJSON_AddItemToObject(o, "protection", wh_protections_json(&all->protections));
		cJSON_AddItemToObject(o, "libraries", cJSON_Duplicate(all->libraries, true));
	}
	list = cJSON_AddArrayToObject(o, "devices");
	wh_each_device(v, d)
		cJSON_AddItemToArray(list, device_json(v, d, all->devices));
	list = cJSON_AddArrayToObject(o, "workers");
	for (i = 0; i < v->workers; i++)
		cJSON_AddItemToArray(list, worker_json(v, &v->worker[i]));
	return o;
}

void wh_tenants_json(const struct wh_tenant_views *v, cJSON *list)
{
	int i;

	for (i = 0; i < v->n; i++)
		cJSON_AddItemToArray(list, tenant_json(&v->view[i], v));
}

/* --- Table ------------------------------------------------------------------------ */

const char *wh_bytes_text(uint64_t bytes, char out[16])
{
	static const char units[] = "BKMGTPE";
	double v = (double)bytes;
	int u = 0;

	for (; v >= 999.5 && units[u + 1]; u++)
		v /= 1024;
	if (!bytes)
		return strcpy(out, "0");
	snprintf(out, 16, !u || v >= 99.95 ? "%.0f%c" : "%.1f%c", v, units[u]);
	return out;
}

/* For scripts, a table is as wide as it has to be, unless $COLUMNS says how wide. */
#define ANY_WIDTH	500

void wh_tenants_table(const struct wh_tenant_views *v, const struct wh_tenant_views *before)
{
	int columns = ANY_WIDTH, lines;
	char *text;

	if (isatty(STDOUT_FILENO) || getenv("COLUMNS"))
		term_size(&columns, &lines);
	text = top_table(v, before, columns < ANY_WIDTH ? columns : ANY_WIDTH);
	fputs(text, stdout);
	free(text);
	if (!v->server)
		return;
	wh_protections_print(&v->protections);
	wh_libraries_print(v->libraries);
	wh_devices_print(v->devices);
}
