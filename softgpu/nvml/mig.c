// SPDX-License-Identifier: Apache-2.0
/*
 * MIG: which GPUs are in MIG mode, and their instances. Other GPUs lack it. Each instance is a GPU
 * instance with one compute instance (../driver/machine.c).
 */
#include <string.h>

#include "device.h"

struct nvmlDevice_st sgpu_nvml_instance[SGPU_DEVICES];
unsigned int sgpu_nvml_instances;

void sgpu_nvml_find_instances(void)
{
	unsigned int p;

	sgpu_nvml_instances = 0;
	for (p = 0; p < sgpu_nvml_machine.parts; p++)
		if (sgpu_nvml_machine.part[p].slices)
			sgpu_nvml_instance[sgpu_nvml_instances++].part = sgpu_nvml_machine.part[p];
}

static bool is_instance(nvmlDevice_t dev)
{
	return dev >= sgpu_nvml_instance && dev < sgpu_nvml_instance + sgpu_nvml_instances;
}

nvmlReturn_t sgpu_nvml_check_instance(nvmlDevice_t dev, const void *out)
{
	nvmlReturn_t rc = sgpu_nvml_check(dev, out);

	return rc || is_instance(dev) ? rc : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t dev, unsigned int *now, unsigned int *next)
{
	nvmlReturn_t rc = sgpu_nvml_check_gpu(dev, now && next ? now : NULL);

	if (rc)
		return rc;
	if (!sgpu_nvml_machine.mig[dev->part.gpu])
		return NVML_ERROR_NOT_SUPPORTED;
	*now = *next = NVML_DEVICE_MIG_ENABLE;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t dev, unsigned int *is)
{
	nvmlReturn_t rc = sgpu_nvml_check(dev, is);

	if (!rc)
		*is = is_instance(dev);
	return rc;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t dev, unsigned int *count)
{
	nvmlReturn_t rc = sgpu_nvml_check_gpu(dev, count);

	if (!rc)
		*count = sgpu_nvml_machine.mig[dev->part.gpu] ? SGPU_MIG_SLICES : 0;
	return rc;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t dev, unsigned int index,
						 nvmlDevice_t *instance)
{
	nvmlReturn_t rc = sgpu_nvml_check_gpu(dev, instance);
	const struct sgpu_part *p;
	unsigned int i;

	if (rc)
		return rc;
	if (!sgpu_nvml_machine.mig[dev->part.gpu])
		return NVML_ERROR_NOT_SUPPORTED;
	for (i = 0; i < sgpu_nvml_instances; i++) {
		p = &sgpu_nvml_instance[i].part;
		if (p->gpu == dev->part.gpu && p->instance == index) {
			*instance = &sgpu_nvml_instance[i];
			return NVML_SUCCESS;
		}
	}
	return index < SGPU_MIG_SLICES ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t dev, nvmlDevice_t *gpu)
{
	nvmlReturn_t rc = sgpu_nvml_check_instance(dev, gpu);

	if (!rc)
		*gpu = &sgpu_nvml_gpu[dev->part.gpu];
	return rc;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t dev, unsigned int *id)
{
	nvmlReturn_t rc = sgpu_nvml_check_instance(dev, id);

	if (!rc)
		*id = dev->part.instance + 1;	/* number 0 is that of a GPU that is one instance */
	return rc;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t dev, unsigned int *id)
{
	nvmlReturn_t rc = sgpu_nvml_check_instance(dev, id);

	if (!rc)
		*id = 0;
	return rc;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t dev, nvmlDeviceAttributes_t *a)
{
	nvmlReturn_t rc = sgpu_nvml_check_instance(dev, a);

	if (rc)
		return rc;
	memset(a, 0, sizeof(*a));
	a->multiprocessorCount = dev->part.slices * SGPU_SLICE_SMS;
	a->gpuInstanceSliceCount = a->computeInstanceSliceCount = dev->part.slices;
	a->memorySizeMB = dev->part.bytes >> 20;
	return NVML_SUCCESS;
}
