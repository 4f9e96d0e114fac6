// SPDX-License-Identifier: Apache-2.0
/*
 * Decides which devices NVML shows: those of the tenant that the worker's CUDA driver has, in
 * NVML's order, matched by UUID. A handle of any other device never leaves this file and
 * nvml_mig.c.
 */
#include "libraries/nvml_view.h"

#include <stdio.h>
#include <strings.h>

struct wh_nvml_view wh_nvml_view;

#define REAL	(wh_nvml_view.real)

struct wh_nvml_device *wh_nvml_device(nvmlDevice_t handle)
{
	unsigned int i;

	for (i = 0; i < wh_nvml_view.devices; i++)
		if (wh_nvml_view.device[i].handle == handle)
			return &wh_nvml_view.device[i];
	return NULL;
}

_Static_assert(WH_HANDLE_PLACES >= WH_TENANT_DEVICES, "each device has a place");

/* --- Finding them ------------------------------------------------------------- */

/* Writes the digits of a UUID, as they stand behind "GPU-" or "MIG-". */
static bool cuda_uuid(const struct wh_driver *drv, int dev, char *out, size_t size)
{
	CUuuid id;
	const uint8_t *b = (const uint8_t *)id.bytes;
	size_t n = 0;
	int i;

	if (!drv->cuDeviceGetUuid_v2 || drv->cuDeviceGetUuid_v2(&id, dev) != CUDA_SUCCESS)
		return false;
	for (i = 0; i < 16; i++)
		n += snprintf(out + n, size - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ?
			      "-" : "", b[i]);
	return true;
}

int wh_nvml_number(const char *uuid)
{
	const struct wh_driver *drv = &wh_nvml_view.session->drv;
	const char *digits = strchr(uuid, '-');
	char own[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
	int count = 0, i;

	if (!digits || !drv->cuDeviceGetCount || drv->cuDeviceGetCount(&count) != CUDA_SUCCESS)
		return -1;
	for (i = 0; i < count && i < WH_TENANT_DEVICES; i++)
		if (cuda_uuid(drv, i, own, sizeof(own)) && !strcmp(own, digits + 1))
			return wh_device_hidden(wh_nvml_view.session, i) ? -1 : i;
	return -1;
}

bool wh_nvml_add(const struct wh_nvml_device *d)
{
	struct wh_nvml_view *v = &wh_nvml_view;

	if (v->devices == WH_TENANT_DEVICES)
		return false;
	v->device[v->devices++] = *d;
	return true;
}

static void find_device(unsigned int i)
{
	struct wh_nvml_device d = { .kind = WH_NVML_GPU };
	int number;

	if (REAL.nvmlDeviceGetHandleByIndex_v2(i, &d.handle) != NVML_SUCCESS ||
	    REAL.nvmlDeviceGetUUID(d.handle, d.uuid, sizeof(d.uuid)) != NVML_SUCCESS)
		return;
	number = wh_nvml_number(d.uuid);
	if (number < 0) {
		wh_nvml_add_instance(d.handle, d.uuid);
		return;
	}
	d.cuda = (unsigned int)number;
	wh_nvml_add(&d);
}

/* Their handles are the same in each worker of a tenant: the child of a fork has its parent's. */
static void find_devices(void)
{
	unsigned int count = 0, i;

	wh_nvml_view.devices = 0;
	if (!REAL.nvmlDeviceGetCount_v2 || !REAL.nvmlDeviceGetHandleByIndex_v2 ||
	    !REAL.nvmlDeviceGetUUID || REAL.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
		return;
	for (i = 0; i < count; i++)
		find_device(i);
	for (i = 0; i < wh_nvml_view.devices; i++)
		wh_handles_place(&wh_nvml_view.session->handles, i, wh_nvml_view.device[i].handle,
				 WH_H_nvmlDevice_t);
}

/* --- Start: once for the worker, whatever its client counts ------------------- */

static nvmlReturn_t start(void)
{
	nvmlReturn_t rc;

	if (wh_nvml_view.started)
		return NVML_SUCCESS;
	if (!REAL.nvmlInit_v2)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	rc = REAL.nvmlInit_v2();
	if (rc != NVML_SUCCESS)
		return rc;
	find_devices();
	wh_nvml_first_samples();
	wh_nvml_view.started = true;
	return NVML_SUCCESS;
}

/* --- Choosing ----------------------------------------------------------------- */

/* Returns GPU number `i` of those that are shown, of which an instance is none; NULL. */
static struct wh_nvml_device *gpu(unsigned int i)
{
	struct wh_nvml_device *d = wh_nvml_view.device, *end = d + wh_nvml_view.devices;

	for (; d < end; d++)
		if (d->kind != WH_NVML_INSTANCE && !i--)
			return d;
	return NULL;
}

static nvmlReturn_t get_count(unsigned int *count)
{
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (*count = 0; gpu(*count);)
		++*count;
	return NVML_SUCCESS;
}

static nvmlReturn_t by_index(unsigned int i, nvmlDevice_t *device)
{
	struct wh_nvml_device *d = gpu(i);

	if (!device || !d)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = d->handle;
	return NVML_SUCCESS;
}

/* An instance is number 0 of its GPU. */
static nvmlReturn_t get_index(nvmlDevice_t device, unsigned int *index)
{
	struct wh_nvml_device *d = wh_nvml_device(device);
	unsigned int i = 0;

	if (!d || !index)
		return NVML_ERROR_INVALID_ARGUMENT;
	while (d->kind != WH_NVML_INSTANCE && gpu(i) != d)
		i++;
	*index = i;
	return NVML_SUCCESS;
}

/* A device that is not shown does not exist for the client. */
static nvmlReturn_t shown(nvmlReturn_t rc, nvmlDevice_t *device)
{
	if (rc != NVML_SUCCESS || wh_nvml_device(*device))
		return rc;
	*device = NULL;
	return NVML_ERROR_NOT_FOUND;
}

#define BY(function, type)							\
	static nvmlReturn_t shown_##function(type key, nvmlDevice_t *device)	\
	{									\
		if (!device || !REAL.function)					\
			return device ? NVML_ERROR_FUNCTION_NOT_FOUND :		\
					NVML_ERROR_INVALID_ARGUMENT;		\
		return shown(REAL.function(key, device), device);		\
	}
BY(nvmlDeviceGetHandleByUUID, const char *)
BY(nvmlDeviceGetHandleByUUIDV, const nvmlUUID_t *)
BY(nvmlDeviceGetHandleBySerial, const char *)
BY(nvmlDeviceGetHandleByPciBusId, const char *)
BY(nvmlDeviceGetHandleByPciBusId_v2, const char *)

/* What is shown is known by its UUID here. Handles of an instance may differ. */
static nvmlReturn_t by_uuid(const char *uuid, nvmlDevice_t *device)
{
	unsigned int i;

	for (i = 0; uuid && device && i < wh_nvml_view.devices; i++)
		if (!strcasecmp(wh_nvml_view.device[i].uuid, uuid)) {
			*device = wh_nvml_view.device[i].handle;
			return NVML_SUCCESS;
		}
	return shown_nvmlDeviceGetHandleByUUID(uuid, device);
}

void wh_nvml_choose_devices(struct wh_nvml_functions *f)
{
	f->nvmlInit_v2 = start;
	f->nvmlDeviceGetCount = f->nvmlDeviceGetCount_v2 = get_count;
	f->nvmlDeviceGetHandleByIndex = f->nvmlDeviceGetHandleByIndex_v2 = by_index;
	f->nvmlDeviceGetIndex = get_index;
	f->nvmlDeviceGetHandleByUUID = by_uuid;
	f->nvmlDeviceGetHandleByUUIDV = shown_nvmlDeviceGetHandleByUUIDV;
	f->nvmlDeviceGetHandleBySerial = shown_nvmlDeviceGetHandleBySerial;
	f->nvmlDeviceGetHandleByPciBusId = shown_nvmlDeviceGetHandleByPciBusId;
	f->nvmlDeviceGetHandleByPciBusId_v2 = shown_nvmlDeviceGetHandleByPciBusId_v2;
}

/* server/session/library.c calls it when the genuine library is loaded. */
void wh_loaded_nvml(struct wh_session *s, void *table)
{
	memset(&wh_nvml_view, 0, sizeof(wh_nvml_view));
	wh_nvml_view.session = s;
	wh_nvml_view.real = *(struct wh_nvml_functions *)table;
	wh_nvml_choose_devices(table);
	wh_nvml_show_tenant(table);
	wh_nvml_show_instance(table);
}
