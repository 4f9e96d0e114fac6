// SPDX-License-Identifier: Apache-2.0
/*
 * What a tenant with a MIG instance sees by NVML: the GPU, in MIG mode, with one instance. A
 * process has one instance at most, so there is no second one. As to a program without privileges
 * natively, the GPU tells nothing that sums over instances: memory and processes are denied, and
 * utilisation is not supported in MIG mode (NVML's reference).
 */
#include "libraries/nvml_view.h"

#include <stdio.h>

#define REAL	(wh_nvml_view.real)

/* --- Finding it ----------------------------------------------------------------- */

static uint32_t most_instances(nvmlDevice_t gpu)
{
	unsigned int now = NVML_DEVICE_MIG_DISABLE, next, most = 0;

	if (!REAL.nvmlDeviceGetMigMode || !REAL.nvmlDeviceGetMaxMigDeviceCount ||
	    !REAL.nvmlDeviceGetMigDeviceHandleByIndex ||
	    REAL.nvmlDeviceGetMigMode(gpu, &now, &next) != NVML_SUCCESS ||
	    now != NVML_DEVICE_MIG_ENABLE ||
	    REAL.nvmlDeviceGetMaxMigDeviceCount(gpu, &most) != NVML_SUCCESS)
		return 0;
	return most;
}

/* Is instance `i` of the GPU there, and the tenant's? */
static bool is_own(nvmlDevice_t gpu, uint32_t i, struct wh_nvml_device *d)
{
	int number;

	*d = (struct wh_nvml_device){ .kind = WH_NVML_INSTANCE };
	if (REAL.nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &d->handle) != NVML_SUCCESS ||
	    REAL.nvmlDeviceGetUUID(d->handle, d->uuid, sizeof(d->uuid)) != NVML_SUCCESS)
		return false;
	number = wh_nvml_number(d->uuid);
	d->cuda = number < 0 ? 0 : (unsigned int)number;
	return number >= 0;
}

void wh_nvml_add_instance(nvmlDevice_t gpu, const char *uuid)
{
	struct wh_nvml_device whole = { .handle = gpu, .kind = WH_NVML_DIVIDED }, own;
	const uint32_t most = most_instances(gpu);
	uint32_t i = 0;

	while (i < most && !is_own(gpu, i, &own))
		i++;
	if (i >= most)
		return;
	snprintf(whole.uuid, sizeof(whole.uuid), "%s", uuid);
	whole.cuda = own.cuda;
	if (wh_nvml_view.devices + 2 <= WH_TENANT_DEVICES) {
		wh_nvml_add(&whole);
		wh_nvml_add(&own);
	}
}

void wh_nvml_instance_ids(const struct wh_nvml_device *d, unsigned int *gpu, unsigned int *compute)
{
	if (d->kind == WH_NVML_INSTANCE && REAL.nvmlDeviceGetGpuInstanceId &&
	    REAL.nvmlDeviceGetComputeInstanceId &&
	    REAL.nvmlDeviceGetGpuInstanceId(d->handle, gpu) == NVML_SUCCESS &&
	    REAL.nvmlDeviceGetComputeInstanceId(d->handle, compute) == NVML_SUCCESS)
		return;
	*gpu = *compute = WH_NVML_NO_INSTANCE;
}

/* --- Handles: the GPU's instance 0 is the tenant's --------------------------------- */

static nvmlReturn_t instance_of(nvmlDevice_t gpu, unsigned int index, nvmlDevice_t *instance)
{
	struct wh_nvml_device *d = wh_nvml_device(gpu);

	if (!d || !instance)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind != WH_NVML_DIVIDED)
		return NVML_ERROR_NOT_SUPPORTED;
	if (index >= most_instances(gpu))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (index)
		return NVML_ERROR_NOT_FOUND;
	*instance = d[1].handle;
	return NVML_SUCCESS;
}

static nvmlReturn_t gpu_of(nvmlDevice_t instance, nvmlDevice_t *gpu)
{
	struct wh_nvml_device *d = wh_nvml_device(instance);

	if (!d || !gpu)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind != WH_NVML_INSTANCE)
		return NVML_ERROR_NOT_SUPPORTED;
	*gpu = d[-1].handle;
	return NVML_SUCCESS;
}

/* --- What it has ------------------------------------------------------------------- */

/* An instance is as large as the tenant's part of it, as in all other answers. */
static nvmlReturn_t attributes(nvmlDevice_t device, nvmlDeviceAttributes_t *a)
{
	struct wh_nvml_device *d = wh_nvml_device(device);
	nvmlReturn_t rc;
	uint64_t quota;

	if (!d || !a)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!REAL.nvmlDeviceGetAttributes_v2)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	rc = REAL.nvmlDeviceGetAttributes_v2(device, a);
	wh_limits_reread(wh_nvml_view.session);
	quota = wh_nvml_view.session->limits.limit[d->cuda].memory >> 20;
	if (rc == NVML_SUCCESS && quota && quota < a->memorySizeMB)
		a->memorySizeMB = quota;
	return rc;
}

/* The window is the whole GPU's. */
static nvmlReturn_t bar1(nvmlDevice_t device, nvmlBAR1Memory_t *m)
{
	if (!wh_nvml_device(device) || !m)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (wh_nvml_divided(device))
		return NVML_ERROR_NO_PERMISSION;
	return REAL.nvmlDeviceGetBAR1MemoryInfo ? REAL.nvmlDeviceGetBAR1MemoryInfo(device, m) :
	       NVML_ERROR_FUNCTION_NOT_FOUND;
}

void wh_nvml_show_instance(struct wh_nvml_functions *f)
{
	f->nvmlDeviceGetMigDeviceHandleByIndex = instance_of;
	f->nvmlDeviceGetDeviceHandleFromMigDeviceHandle = gpu_of;
	f->nvmlDeviceGetAttributes = f->nvmlDeviceGetAttributes_v2 = attributes;
	f->nvmlDeviceGetBAR1MemoryInfo = bar1;
}
