// SPDX-License-Identifier: Apache-2.0
/*
 * One look at everything: tenants from their files, VMs from KVM, and from the server the
 * facts that only it knows: CPU time and devices. A server that does not answer in time is
 * not waited for.
 */
#include <stdio.h>
#include <string.h>

#include "tenant/clock.h"
#include "views.h"

#define GLANCE_MS	500

static uint64_t number(const cJSON *o, const char *name)
{
	double v = cJSON_GetNumberValue(cJSON_GetObjectItem(o, name));

	return v >= 0 && v < 1e19 ? (uint64_t)v : 0;
}

static void take_devices(const cJSON *info, struct wh_look *out)
{
	const cJSON *e;
	const char *name, *uuid;

	cJSON_ArrayForEach(e, cJSON_GetObjectItem(info, "devices")) {
		if (out->devices == WH_TENANT_DEVICES)
			return;
		name = cJSON_GetStringValue(cJSON_GetObjectItem(e, "name"));
		uuid = cJSON_GetStringValue(cJSON_GetObjectItem(e, "uuid"));
		snprintf(out->device[out->devices].uuid, sizeof(out->device[0].uuid), "%s",
			 uuid ? uuid : "");
		snprintf(out->device[out->devices].name, sizeof(out->device[0].name), "%s",
			 name ? name : "?");
		out->device[out->devices].memory = number(e, "memory");
		out->device[out->devices++].sms = (uint32_t)number(e, "sms");
	}
}

static bool known(const cJSON *e, const char *name, uint64_t *v)
{
	*v = number(e, name);
	return cJSON_GetObjectItem(e, name);
}

/* What the driver says of a device; each figure may be missing. */
static void take_figures(const cJSON *e, struct wh_device_figures *f)
{
	uint64_t temperature;

	f->known = (known(e, "memory_used", &f->memory_used) ? WH_KNOWS_MEMORY : 0) |
		   (known(e, "temperature", &temperature) ? WH_KNOWS_TEMPERATURE : 0) |
		   (known(e, "power_mw", &f->power_mw) ? WH_KNOWS_POWER : 0) |
		   (known(e, "ecc_corrected", &f->corrected) &&
		    known(e, "ecc_uncorrected", &f->uncorrected) ? WH_KNOWS_ERRORS : 0);
	f->temperature = (uint32_t)temperature;
}

static void take_tenant(const cJSON *e, struct wh_tenant_views *all)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant"));
	int i;

	for (i = 0; name && i < all->n; i++)
		if (!strcmp(all->view[i].limits.name, name)) {
			all->view[i].cpu_ns = number(e, "cpu_ns");
			all->view[i].cpu_known = true;
			all->view[i].parkings = number(e, "parkings");
			all->view[i].driver_parkings = number(e, "driver_parkings");
			all->view[i].room_waited_ns = number(e, "room_waited_ms") * 1000000;
		}
}

static void ask_server(const char *dir, struct wh_look *out)
{
	cJSON *usage = wh_server_glance(dir, "usage", GLANCE_MS), *info, *e;
	unsigned int d = 0;

	if (!usage)
		return;
	out->answered = true;
	out->pid = (pid_t)number(usage, "pid");
	out->cpu_ns = number(usage, "cpu_ns");
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(usage, "tenants"))
		take_tenant(e, &out->tenants);
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(usage, "devices"))
		if (d < WH_TENANT_DEVICES)
			take_figures(e, &out->device[d++].figures);
	cJSON_Delete(usage);
	info = wh_server_glance(dir, "info", GLANCE_MS);
	take_devices(info, out);
	cJSON_Delete(info);
}

bool wh_look(const char *dir, struct wh_look *out)
{
	*out = (struct wh_look){ .at_ns = wh_now_ns() };
	if (!wh_tenants_look(dir, NULL, 0, &out->tenants))
		return false;
	if (out->tenants.server)
		ask_server(dir, out);
	wh_vms_look(&out->vms);
	return true;
}

void wh_look_free(struct wh_look *l)
{
	wh_tenants_free(&l->tenants);
	wh_vms_free(&l->vms);
}
