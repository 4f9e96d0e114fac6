// SPDX-License-Identifier: Apache-2.0
/* Shows a look of `wormhole top` as JSON: figures as they are counted, and per second. */
#include <stdlib.h>

#include "top.h"

/* An unknown value becomes null. */
static void add(cJSON *o, const char *name, double v)
{
	if (v < 0)
		cJSON_AddNullToObject(o, name);
	else
		cJSON_AddNumberToObject(o, name, v);
}

static void add_limit(cJSON *o, const char *name, uint64_t v)
{
	if (v)
		wh_json_u64(o, name, v);
	else
		cJSON_AddNullToObject(o, name);
}

static void add_share(cJSON *o, const struct top_row *r)
{
	add_limit(o, "memory_limit", r->quota);
	wh_json_u64(o, "memory", r->memory);
	wh_json_u64(o, "memory_peak", r->peak);
	wh_json_u64(o, "memory_driver", r->driver);
	wh_json_u64(o, "refused", r->refused);
	add(o, "sm_asked_percent", r->asked);
	add(o, "sm_max_percent", r->most);
	add(o, "sm_got_percent", r->got);
	add(o, "sm_beyond_percent", r->beyond);
	if (r->policy)
		cJSON_AddStringToObject(o, "sm_policy", r->policy);
	else
		cJSON_AddNullToObject(o, "sm_policy");
	if (r->class)
		cJSON_AddStringToObject(o, "priority", r->class);
	else
		cJSON_AddNullToObject(o, "priority");
	add_limit(o, "sms_granted", r->sms);
	wh_json_u64(o, "gpu_ns", r->gpu_ns);
	wh_json_u64(o, "gpu_beyond_ns", r->beyond_ns);
	wh_json_u64(o, "throttled_ns", r->throttled_ns);
	add(o, "throttled_percent", r->throttled);
	wh_json_u64(o, "launches", r->all_launches);
	add(o, "launches_per_s", r->launches);
}

static cJSON *program(const struct wh_tenant_view *v, const struct wh_worker_usage *w)
{
	cJSON *o = cJSON_CreateObject();
	uint64_t memory = 0;
	unsigned int d;

	wh_each_device(v, d)
		memory += w->device[d].memory;
	wh_json_u64(o, "worker_pid", w->pid);
	wh_json_u64(o, "client_pid", w->client_pid);
	wh_program_json(w, o);
	wh_json_u64(o, "memory", memory);
	return o;
}

static cJSON *tenant(const struct top_row *r, const struct top_rows *devices)
{
	const struct wh_worker_usage *u = &r->v->sum.total;
	cJSON *o = cJSON_CreateObject(), *list, *e;
	int i;

	cJSON_AddStringToObject(o, "tenant", r->v->limits.name);
	cJSON_AddStringToObject(o, "state", wh_suspension_text(r->v->limits.state));
	wh_json_u64(o, "suspended_memory", r->v->suspended_bytes);
	wh_json_u64(o, "workers", r->workers);
	wh_json_u64(o, "calls", u->calls);
	add(o, "calls_per_s", r->calls);
	wh_json_u64(o, "requests", u->waited + u->posted);
	add(o, "requests_per_s", r->requests);
	wh_json_u64(o, "waited", u->waited);
	add(o, "waited_per_s", r->waited);
	wh_json_u64(o, "bytes_to_device", u->bytes_to_device);
	add(o, "bytes_to_device_per_s", r->to_device);
	wh_json_u64(o, "bytes_from_device", u->bytes_from_device);
	add(o, "bytes_from_device_per_s", r->from_device);
	wh_json_u64(o, "host_memory", u->host_memory);
	add_limit(o, "host_memory_limit", r->v->limits.host_memory);
	add(o, "cpu_percent", r->cpu);
	if (r->v->cpu_known)
		wh_json_u64(o, "cpu_ns", r->v->cpu_ns);
	add_share(o, r);
	list = cJSON_AddArrayToObject(o, "programs");
	for (i = 0; i < (int)r->v->workers; i++)
		cJSON_AddItemToArray(list, program(r->v, &r->v->worker[i]));
	list = cJSON_AddArrayToObject(o, "devices");
	for (i = 0; i < devices->n; i++) {
		if (devices->row[i].v != r->v)
			continue;
		e = cJSON_CreateObject();
		wh_json_u64(e, "device", (uint64_t)devices->row[i].device);
		add_share(e, &devices->row[i]);
		cJSON_AddItemToArray(list, e);
	}
	return o;
}

static cJSON *vm(const struct wh_vm_view *v, const struct wh_vm_view *b)
{
	cJSON *o = cJSON_CreateObject();
	uint64_t ns = b ? v->at_ns - b->at_ns : 0;

	cJSON_AddStringToObject(o, "name", v->vm.name);
	wh_vm_json(&v->stat, o);
	add(o, "handoffs_per_s", b ? top_rate(wh_vm_handoffs(&v->stat, NULL, NULL),
					      wh_vm_handoffs(&b->stat, NULL, NULL), ns) : -1);
	add(o, "exits_per_s", b ? top_rate(wh_vm_exits(&v->stat, NULL, NULL),
					   wh_vm_exits(&b->stat, NULL, NULL), ns) : -1);
	wh_json_u64(o, "cpu_ns", v->cpu_ns);
	add(o, "cpu_percent", top_vm_cpu(v, b));
	return o;
}

static void add_figures(cJSON *o, const struct wh_device_figures *f)
{
	add(o, "memory_used", f->known & WH_KNOWS_MEMORY ? (double)f->memory_used : TOP_UNKNOWN);
	add(o, "temperature_celsius", f->known & WH_KNOWS_TEMPERATURE ? f->temperature : TOP_UNKNOWN);
	add(o, "power_watts", f->known & WH_KNOWS_POWER ? (double)f->power_mw / 1000 : TOP_UNKNOWN);
	add(o, "ecc_corrected", f->known & WH_KNOWS_ERRORS ? (double)f->corrected : TOP_UNKNOWN);
	add(o, "ecc_uncorrected", f->known & WH_KNOWS_ERRORS ? (double)f->uncorrected : TOP_UNKNOWN);
}

static void add_server(cJSON *o, const struct wh_look *now, const struct wh_look *before)
{
	cJSON *s = cJSON_AddObjectToObject(o, "server"), *list, *e;
	unsigned int d;

	cJSON_AddBoolToObject(s, "lives", now->tenants.server);
	cJSON_AddBoolToObject(s, "answers", now->answered);
	if (now->answered) {
		wh_json_u64(s, "pid", (uint64_t)now->pid);
		wh_json_u64(s, "cpu_ns", now->cpu_ns);
	}
	add(s, "cpu_percent", top_server_cpu(now, before));
	list = cJSON_AddArrayToObject(o, "devices");
	for (d = 0; d < now->devices; d++) {
		e = cJSON_CreateObject();
		wh_json_u64(e, "device", d);
		cJSON_AddStringToObject(e, "name", now->device[d].name);
		cJSON_AddStringToObject(e, "uuid", now->device[d].uuid);
		wh_json_u64(e, "memory", now->device[d].memory);
		wh_json_u64(e, "sms", now->device[d].sms);
		add_figures(e, &now->device[d].figures);
		cJSON_AddItemToArray(list, e);
	}
}

cJSON *top_json(const struct wh_look *now, const struct wh_look *before)
{
	cJSON *o = cJSON_CreateObject(), *list;
	struct top_rows rows, devices;
	int i;

	top_rows(now, before, false, &rows);
	top_rows(now, before, true, &devices);
	add(o, "interval_s", before ? (double)(now->at_ns - before->at_ns) / 1e9 : TOP_UNKNOWN);
	add_server(o, now, before);
	list = cJSON_AddArrayToObject(o, "tenants");
	for (i = 0; i < rows.n; i++)
		cJSON_AddItemToArray(list, tenant(&rows.row[i], &devices));
	list = cJSON_AddArrayToObject(o, "vms");
	for (i = 0; i < now->vms.n; i++)
		cJSON_AddItemToArray(list, vm(&now->vms.view[i],
					      wh_vm_before(before ? &before->vms : NULL,
							   &now->vms.view[i])));
	free(rows.row);
	free(devices.row);
	return o;
}
