// SPDX-License-Identifier: Apache-2.0
/* The server's devices as people name them: by numbers or by UUIDs. */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/keep.h"
#include "daemon/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -1 with one line in err. */
static int device_of(const char *uuid, double number, char *err, size_t err_size)
{
	unsigned int d;

	for (d = 0; d < wh_server.devices; d++)
		if (uuid ? !strcasecmp(uuid, wh_server.device[d].uuid) : number == d)
			return (int)d;
	if (uuid)
		snprintf(err, err_size, "devices: '%.60s' is no UUID of this server's; `wormhole stat' has numbers, "
			 "the driver's `nvidia-smi -L' UUIDs", uuid);
	else
		snprintf(err, err_size, "devices: each is to be a UUID or a number; this server has 0 to %u",
			 wh_server.devices - 1);
	return -1;
}

bool wh_device_named(const char *text, unsigned int *device, char *err, size_t err_size)
{
	bool number = *text && !text[strspn(text, "0123456789")];
	int d = device_of(number ? NULL : text, number ? strtod(text, NULL) : -1, err, err_size);

	*device = d < 0 ? 0 : (unsigned int)d;
	return d >= 0;
}

bool wh_devices_add(uint32_t *devices, const char *uuid, double number, char *err,
		    size_t err_size)
{
	int d = device_of(uuid, number, err, err_size);

	if (d < 0)
		return false;
	if (*devices & 1u << d) {
		snprintf(err, err_size, "devices: device %d is said twice", d);
		return false;
	}
	*devices |= 1u << d;
	return true;
}

void wh_devices_print(void *file)
{
	const struct wh_device *d = wh_server.device;

	for (; d < wh_server.device + wh_server.devices; d++)
		fprintf(file, "%s %s\n", d->uuid[0] ? d->uuid : "-", d->name);
}

/* --- What a tenant gets -------------------------------------------------------------------- */

uint32_t wh_devices_instances(void)
{
	uint32_t out = 0;
	unsigned int d;

	for (d = 0; d < wh_server.devices; d++)
		out |= (uint32_t)wh_is_instance(wh_server.device[d].uuid) << d;
	return out;
}

/* A process that has an instance has no other device. */
static bool fit_together(uint32_t devices, char *err, size_t err_size)
{
	const uint32_t instances = devices & wh_devices_instances();
	unsigned int d;

	if (!instances || devices == (instances & -instances))
		return true;
	d = (unsigned int)__builtin_ctz(instances);
	snprintf(err, err_size, "devices: %s (device %u) is a MIG instance, and a process that has one has no other "
		 "device: give the tenant this one alone", wh_server.device[d].uuid, d);
	return false;
}

/*
 * Where there are instances, a worker's driver has the tenant's devices alone, which so have the
 * numbers from 0 on. The other numbers are of devices that it has not.
 */
static void number_apart(struct wh_tenant_limits *l, uint32_t devices)
{
	uint8_t own = 0, other = (uint8_t)__builtin_popcount(devices), to;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++) {
		to = devices >> d & 1 ? own++ : other++;
		l->moved[to] = (uint8_t)(to ^ d);
	}
	l->hidden = ~((1u << own) - 1);
}

bool wh_devices_give(struct wh_tenant_limits *l, uint32_t devices, char *err, size_t err_size)
{
	const uint32_t instances = wh_devices_instances();

	/* As CUDA does for a process that names no device. */
	if (!devices)
		devices = instances & -instances;
	if (!fit_together(devices, err, err_size))
		return false;
	if (instances)
		number_apart(l, devices);
	else
		l->hidden = devices ? ~devices : 0;
	return true;
}

/* --- Over a handover ---------------------------------------------------------------------- */

void wh_devices_leave(cJSON *o)
{
	cJSON *all = cJSON_AddArrayToObject(o, "list"), *e;
	const struct wh_device *d = wh_server.device;

	for (; d < wh_server.device + wh_server.devices; d++) {
		e = cJSON_CreateObject();
		cJSON_AddStringToObject(e, "name", d->name);
		cJSON_AddStringToObject(e, "uuid", d->uuid);
		cJSON_AddNumberToObject(e, "memory", (double)d->memory);
		cJSON_AddNumberToObject(e, "context", (double)d->context);
		cJSON_AddNumberToObject(e, "sms", d->sms);
		cJSON_AddNumberToObject(e, "groups", d->split.groups);
		cJSON_AddNumberToObject(e, "size", d->split.size);
		cJSON_AddNumberToObject(e, "rest", d->split.rest);
		cJSON_AddBoolToObject(e, "loose", d->split.loose != 0);
		cJSON_AddItemToArray(all, e);
	}
}

static struct wh_device taken(const cJSON *e)
{
	struct wh_device d = {
		.memory = wh_taken_number(e, "memory"), .context = wh_taken_number(e, "context"),
		.sms = (uint32_t)wh_taken_number(e, "sms"),
		.split = {
			.groups = (uint32_t)wh_taken_number(e, "groups"),
			.size = (uint32_t)wh_taken_number(e, "size"),
			.rest = (uint32_t)wh_taken_number(e, "rest"),
			.loose = wh_taken_flag(e, "loose"),
		},
	};

	snprintf(d.name, sizeof(d.name), "%s", wh_taken_text(e, "name"));
	snprintf(d.uuid, sizeof(d.uuid), "%s", wh_taken_text(e, "uuid"));
	return d;
}

bool wh_devices_take(void)
{
	const cJSON *e;

	wh_server.devices = 0;
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(wh_handed("devices"), "list"))
		if (wh_server.devices < WH_TENANT_DEVICES)
			wh_server.device[wh_server.devices++] = taken(e);
	return wh_server.devices;
}
