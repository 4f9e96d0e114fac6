// SPDX-License-Identifier: Apache-2.0
/*
 * An NVML with two devices: the first is another tenant's, the second softgpu's. Its
 * memory, processes and utilisation are the whole device's, which a tenant must not see.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <string.h>

#include "fake_library.h"

#define OWN_UUID	"GPU-776f726d-686f-6c65-2d73-6f6674677075"
#define OTHER_UUID	"GPU-00000000-0000-0000-0000-000000000000"

struct nvmlDevice_st {
	const char *uuid;
};

static struct nvmlDevice_st device[2] = { { OTHER_UUID }, { OWN_UUID } };

nvmlReturn_t nvmlInit_v2(void)
{
	note("init");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = 2;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *out)
{
	*out = &device[i];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *uuid, unsigned int length)
{
	if (length < 41)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(uuid, d->uuid);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
	int i;

	note("by uuid");
	for (i = 0; i < 2; i++)
		if (!strcmp(device[i].uuid, uuid)) {
			*out = &device[i];
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m)
{
	(void)d;
	*m = (nvmlMemory_t){ .total = 1000 << 20, .free = 300 << 20, .used = 700 << 20 };
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m)
{
	(void)d;
	if (m->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	m->total = 1000 << 20;
	m->reserved = 10 << 20;
	m->free = 300 << 20;
	m->used = 690 << 20;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u)
{
	(void)d;
	*u = (nvmlUtilization_t){ 97, 88 };
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int *count,
						     nvmlProcessInfo_t *infos)
{
	(void)d;
	if (*count < 1)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	*count = 1;
	infos[0] = (nvmlProcessInfo_t){ .pid = 1, .usedGpuMemory = 600 << 20 };
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t d, unsigned int *count,
						unsigned int *mhz)
{
	unsigned int room = *count;

	(void)d;
	*count = 3;
	if (room < 3)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	mhz[0] = 3000, mhz[1] = 2000, mhz[2] = 1000;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_t *t)
{
	(void)d;
	if (t->version != nvmlTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	t->temperature = 40 + t->sensorType;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int count, nvmlFieldValue_t *values)
{
	int i;

	(void)d;
	for (i = 0; i < count; i++) {
		values[i].nvmlReturn = NVML_SUCCESS;
		values[i].value.uiVal = values[i].fieldId * 2;
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t d, nvmlSamplingType_t type, unsigned long long since,
				  nvmlValueType_t *kind, unsigned int *count, nvmlSample_t *samples)
{
	(void)d, (void)since;
	note("samples %d", type);
	*kind = NVML_VALUE_TYPE_UNSIGNED_INT;
	if (samples)
		samples[0].sampleValue.uiVal = 123;
	*count = 1;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t d, unsigned int limit)
{
	(void)d, (void)limit;
	note("power limit");
	return NVML_SUCCESS;
}

static int events;

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	*set = (nvmlEventSet_t)&events;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	(void)set;
	note("free set");
	return NVML_SUCCESS;
}

/* An event comes with the third look; a look never waits. */
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	(void)set;
	note("look %u", ms);
	if (++events < 3)
		return NVML_ERROR_TIMEOUT;
	*data = (nvmlEventData_t){ .device = &device[1], .eventType = 8, .eventData = 31 };
	return NVML_SUCCESS;
}
