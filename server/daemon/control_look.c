// SPDX-License-Identifier: Apache-2.0
/* Answers of the control socket that only say how things are. control.c has the rest. */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <cjson/cJSON.h>
#include <unistd.h>

#include "daemon/keep.h"
#include "daemon/suspend.h"
#include "daemon/tenant.h"
#include "wormhole_abi.h"

cJSON *wh_say_tenants(cJSON *out)
{
	struct wh_tenant *t = NULL;
	cJSON *all, *e;

	all = cJSON_AddArrayToObject(out, "tenants");
	while ((t = wh_tenant_next(t))) {
		e = cJSON_CreateObject();
		cJSON_AddStringToObject(e, "tenant", wh_tenant_name(t));
		cJSON_AddNumberToObject(e, "uid", wh_tenant_uid(t));
		cJSON_AddBoolToObject(e, "ephemeral", wh_tenant_is_ephemeral(t));
		cJSON_AddStringToObject(e, "kept", wh_keep_by(t));
		cJSON_AddStringToObject(e, "state", wh_suspension_name(t));
		cJSON_AddBoolToObject(e, "drained", wh_suspend_is_drained(t));
		cJSON_AddItemToArray(all, e);
	}
	return out;
}

cJSON *wh_say_server(cJSON *out)
{
	const struct wh_device *d;
	cJSON *all, *e;
	unsigned int i;

	cJSON_AddNumberToObject(out, "pid", getpid());
	cJSON_AddNumberToObject(out, "abi", WH_ABI_VERSION);
	cJSON_AddStringToObject(out, "backend", wh_server.backend);
	cJSON_AddStringToObject(out, "socket", wh_server.socket);
	all = cJSON_AddArrayToObject(out, "devices");
	for (i = 0; i < wh_server.devices; i++) {
		d = &wh_server.device[i];
		e = cJSON_CreateObject();
		cJSON_AddStringToObject(e, "name", d->name);
		cJSON_AddStringToObject(e, "uuid", d->uuid);
		cJSON_AddNumberToObject(e, "memory", (double)d->memory);
		cJSON_AddNumberToObject(e, "sms", d->sms);
		cJSON_AddNumberToObject(e, "sm_groups", d->split.groups);
		cJSON_AddNumberToObject(e, "sm_group_size", d->split.size);
		cJSON_AddItemToArray(all, e);
	}
	return out;
}

static cJSON *device_usage(const struct wh_device_figures *f)
{
	cJSON *e = cJSON_CreateObject();

	if (f->known & WH_KNOWS_MEMORY)
		cJSON_AddNumberToObject(e, "memory_used", (double)f->memory_used);
	if (f->known & WH_KNOWS_TEMPERATURE)
		cJSON_AddNumberToObject(e, "temperature", f->temperature);
	if (f->known & WH_KNOWS_POWER)
		cJSON_AddNumberToObject(e, "power_mw", (double)f->power_mw);
	if (f->known & WH_KNOWS_ERRORS) {
		cJSON_AddNumberToObject(e, "ecc_corrected", (double)f->corrected);
		cJSON_AddNumberToObject(e, "ecc_uncorrected", (double)f->uncorrected);
	}
	return e;
}

/*
 * Reports CPU time and waits for room, which are in no file, since workers do not know them, and
 * what the driver says of devices.
 */
cJSON *wh_say_usage(cJSON *out)
{
	struct wh_tenant *t = NULL;
	cJSON *all, *e;
	unsigned int i;

	cJSON_AddNumberToObject(out, "pid", getpid());
	cJSON_AddNumberToObject(out, "cpu_ns", (double)wh_usage_own());
	all = cJSON_AddArrayToObject(out, "tenants");
	while ((t = wh_tenant_next(t))) {
		e = cJSON_CreateObject();
		cJSON_AddStringToObject(e, "tenant", wh_tenant_name(t));
		cJSON_AddNumberToObject(e, "cpu_ns", (double)wh_usage_of(t));
		wh_room_say(e, t);
		cJSON_AddItemToArray(all, e);
	}
	all = cJSON_AddArrayToObject(out, "devices");
	for (i = 0; i < wh_server.devices; i++)
		cJSON_AddItemToArray(all, device_usage(wh_judge_device(i)));
	return out;
}
