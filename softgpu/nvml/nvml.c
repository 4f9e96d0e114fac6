// SPDX-License-Identifier: Apache-2.0
/*
 * build/softgpu/libnvidia-ml.so.1: NVML for the devices of softgpu, so that NVML calls
 * can be tested where there is no GPU. Facts that a device has are answered: name, UUID,
 * size of memory, compute mode, MIG (mig.c). Features that it lacks (sensors, clocks, fans, ECC,
 * links) return NVML_ERROR_NOT_SUPPORTED, as on a GPU that lacks them. Each process has
 * device memory of its own, so the library knows of no use of memory and of no processes.
 * Functions that are not here do not exist.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"

#define DRIVER_VERSION	"580.0.0-softgpu"

struct sgpu_machine sgpu_nvml_machine;
struct nvmlDevice_st sgpu_nvml_gpu[SGPU_DEVICES];
static int users;		/* calls of nvmlInit() without nvmlShutdown() */

struct nvmlEventSet_st {
	unsigned long long types;
};

static struct nvmlEventSet_st sets[16];
static unsigned int sets_used;	/* bit i: sets[i] is used */

static bool is_gpu(nvmlDevice_t dev)
{
	return dev >= sgpu_nvml_gpu && dev < sgpu_nvml_gpu + sgpu_nvml_machine.gpus;
}

nvmlReturn_t sgpu_nvml_check(nvmlDevice_t dev, const void *out)
{
	if (!users)
		return NVML_ERROR_UNINITIALIZED;
	return out && (is_gpu(dev) || (dev >= sgpu_nvml_instance &&
				       dev < sgpu_nvml_instance + sgpu_nvml_instances)) ?
		       NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sgpu_nvml_check_gpu(nvmlDevice_t dev, const void *out)
{
	nvmlReturn_t rc = sgpu_nvml_check(dev, out);

	return rc || is_gpu(dev) ? rc : NVML_ERROR_INVALID_ARGUMENT;
}

static nvmlReturn_t check(nvmlDevice_t dev, const void *out)
{
	return sgpu_nvml_check(dev, out);
}

static nvmlReturn_t lacking(nvmlDevice_t dev, const void *out)
{
	nvmlReturn_t rc = check(dev, out);

	return rc ? rc : NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t text(char *out, unsigned int length, const char *value)
{
	if (!users)
		return NVML_ERROR_UNINITIALIZED;
	if (!out)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(value) >= length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(out, value, strlen(value) + 1);
	return NVML_SUCCESS;
}

static nvmlReturn_t number(nvmlDevice_t dev, unsigned int *out, unsigned int value)
{
	nvmlReturn_t rc = check(dev, out);

	if (!rc)
		*out = value;
	return rc;
}

/* --- Start and end ------------------------------------------------------------ */

nvmlReturn_t nvmlInit_v2(void)
{
	unsigned int d;

	if (sgpu_machine_find(&sgpu_nvml_machine))
		return NVML_ERROR_UNKNOWN;
	for (d = 0; d < sgpu_nvml_machine.gpus; d++)
		sgpu_nvml_gpu[d].part = (struct sgpu_part){
			.bytes = sgpu_nvml_machine.bytes[d], .gpu = d,
		};
	sgpu_nvml_find_instances();
	users++;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit(void)
{
	return nvmlInit_v2();
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
	if (!users)
		return NVML_ERROR_UNINITIALIZED;
	users--;
	return NVML_SUCCESS;
}

/* --- The system --------------------------------------------------------------- */

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return text(version, length, DRIVER_VERSION);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	return text(version, length, NVML_API_VERSION_STR "." DRIVER_VERSION);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return number(sgpu_nvml_gpu, (unsigned int *)version, SGPU_CUDA_VERSION);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	return nvmlSystemGetCudaDriverVersion_v2(version);
}

/* --- Which devices ------------------------------------------------------------ */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	return number(sgpu_nvml_gpu, count, sgpu_nvml_machine.gpus);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
	return nvmlDeviceGetCount_v2(count);
}

/* Gives the first device that is the one wanted. */
static nvmlReturn_t find(bool (*is_it)(unsigned int d, const char *wanted), const char *wanted,
			 nvmlDevice_t *dev)
{
	nvmlReturn_t rc = check(sgpu_nvml_gpu, dev);
	unsigned int d;

	if (rc)
		return rc;
	for (d = 0; wanted && d < sgpu_nvml_machine.gpus; d++)
		if (is_it(d, wanted)) {
			*dev = &sgpu_nvml_gpu[d];
			return NVML_SUCCESS;
		}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *dev)
{
	nvmlReturn_t rc = check(sgpu_nvml_gpu, index < sgpu_nvml_machine.gpus ? dev : NULL);

	if (!rc)
		*dev = &sgpu_nvml_gpu[index];
	return rc;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *dev)
{
	return nvmlDeviceGetHandleByIndex_v2(index, dev);
}

static bool has_uuid(unsigned int d, const char *wanted)
{
	char own[SGPU_UUID_TEXT];

	sgpu_uuid_text(d, own);
	return !strcmp(wanted, own);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *dev)
{
	nvmlReturn_t rc = find(has_uuid, uuid, dev);
	char own[SGPU_UUID_TEXT];
	unsigned int i;

	for (i = 0; rc == NVML_ERROR_NOT_FOUND && uuid && i < sgpu_nvml_instances; i++) {
		sgpu_part_uuid_text(&sgpu_nvml_instance[i].part, own);
		if (!strcmp(uuid, own)) {
			*dev = &sgpu_nvml_instance[i];
			rc = NVML_SUCCESS;
		}
	}
	return rc;
}

/* A domain has four or eight digits, since programs write both. */
static bool has_pci(unsigned int d, const char *wanted)
{
	char own[sizeof(SGPU_PCI_BUS_ID)];

	sgpu_pci_bus_id(d, own);
	return !strcmp(wanted, own) || (!strncmp(wanted, "0000", 4) && !strcmp(wanted + 4, own));
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *dev)
{
	return find(has_pci, id, dev);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *dev)
{
	return nvmlDeviceGetHandleByPciBusId_v2(id, dev);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t dev, unsigned int *index)
{
	nvmlReturn_t rc = check(dev, index);

	return rc ? rc : number(dev, index, dev->part.slices ? dev->part.instance : dev->part.gpu);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t dev, unsigned int *minor)
{
	nvmlReturn_t rc = sgpu_nvml_check_gpu(dev, minor);

	return rc ? rc : number(dev, minor, dev->part.gpu);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t dev, char *name, unsigned int length)
{
	nvmlReturn_t rc = check(dev, name);
	char own[64];

	if (rc)
		return rc;
	sgpu_part_name(&dev->part, own, sizeof(own));
	return text(name, length, own);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t dev, char *uuid, unsigned int length)
{
	nvmlReturn_t rc = check(dev, uuid);
	char own[SGPU_UUID_TEXT];

	if (rc)
		return rc;
	sgpu_part_uuid_text(&dev->part, own);
	return text(uuid, length, own);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t dev, nvmlPciInfo_t *pci)
{
	nvmlReturn_t rc = check(dev, pci);

	if (rc)
		return rc;
	memset(pci, 0, sizeof(*pci));
	pci->bus = dev->part.gpu;
	sgpu_pci_bus_id(pci->bus, pci->busIdLegacy);
	snprintf(pci->busId, sizeof(pci->busId), "0000%s", pci->busIdLegacy);
	return NVML_SUCCESS;
}

/* --- What it has -------------------------------------------------------------- */

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t dev, nvmlMemory_t *memory)
{
	nvmlReturn_t rc = check(dev, memory);

	if (rc)
		return rc;
	memory->total = dev->part.bytes;
	memory->free = memory->total;
	memory->used = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t dev, nvmlMemory_v2_t *memory)
{
	nvmlReturn_t rc = check(dev, memory);
	nvmlMemory_t v1;

	if (rc)
		return rc;
	if (memory->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	rc = nvmlDeviceGetMemoryInfo(dev, &v1);
	if (rc)
		return rc;
	memory->total = v1.total;
	memory->free = v1.free;
	memory->used = v1.used;
	memory->reserved = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t dev, int *major, int *minor)
{
	nvmlReturn_t rc = check(dev, major && minor ? major : NULL);

	if (rc)
		return rc;
	return sgpu_capability(major, minor) ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t dev, nvmlComputeMode_t *mode)
{
	return number(dev, (unsigned int *)mode, NVML_COMPUTEMODE_DEFAULT);
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t dev, nvmlEnableState_t *mode)
{
	return number(dev, (unsigned int *)mode, NVML_FEATURE_ENABLED);
}

nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t dev, nvmlEnableState_t *active)
{
	return number(dev, (unsigned int *)active, NVML_FEATURE_DISABLED);
}

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t dev, nvmlGpuVirtualizationMode_t *mode)
{
	return number(dev, (unsigned int *)mode, NVML_GPU_VIRTUALIZATION_MODE_NONE);
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t dev, nvmlPstates_t *state)
{
	return number(dev, (unsigned int *)state, NVML_PSTATE_0);
}

/*
 * The calling thread runs the device's work, so there is nothing to sample: both rates are 0. A GPU
 * in MIG mode and its instances have none, as NVML's reference says.
 */
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t dev, nvmlUtilization_t *rates)
{
	nvmlReturn_t rc = check(dev, rates);

	if (!rc && sgpu_nvml_machine.mig[dev->part.gpu])
		rc = NVML_ERROR_NOT_SUPPORTED;
	if (!rc)
		memset(rates, 0, sizeof(*rates));
	return rc;
}

/* There is one clock rate, the one that cuDeviceGetAttribute() reports. */
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t dev, unsigned int *count,
						unsigned int *mhz)
{
	nvmlReturn_t rc = check(dev, count);
	unsigned int room;

	if (rc)
		return rc;
	room = *count;
	*count = 1;
	if (!room || !mhz)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	mhz[0] = 1000;
	return NVML_SUCCESS;
}

/* --- Features that the device lacks -------------------------------------------- */

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t dev, nvmlEnableState_t *now, nvmlEnableState_t *next)
{
	return lacking(dev, now && next ? now : NULL);
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t dev, unsigned int *speed)
{
	return lacking(dev, speed);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t dev, nvmlTemperatureSensors_t sensor,
				      unsigned int *temp)
{
	(void)sensor;
	return lacking(dev, temp);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t dev, unsigned int *power)
{
	return lacking(dev, power);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t dev, unsigned int *limit)
{
	return lacking(dev, limit);
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t dev)
{
	return lacking(dev, dev);
}

/* Each value has an error of its own, which says that it is not supported. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t dev, int count, nvmlFieldValue_t *values)
{
	nvmlReturn_t rc = check(dev, count > 0 ? values : NULL);
	int i;

	for (i = 0; !rc && i < count; i++)
		values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
	return rc;
}

/* --- Events: sets exist, but no event ever happens --------------------------- */

static bool is_set(nvmlEventSet_t set)
{
	return set >= sets && set < sets + 16 && sets_used & 1u << (set - sets);
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	nvmlReturn_t rc = check(sgpu_nvml_gpu, set);
	int i;

	if (rc)
		return rc;
	for (i = 0; i < 16 && sets_used & 1u << i; i++)
		;
	if (i == 16)
		return NVML_ERROR_INSUFFICIENT_RESOURCES;
	sets_used |= 1u << i;
	sets[i].types = 0;
	*set = &sets[i];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	if (!users || !is_set(set))
		return users ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_UNINITIALIZED;
	sets_used &= ~(1u << (set - sets));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t dev, unsigned long long types,
				      nvmlEventSet_t set)
{
	nvmlReturn_t rc = check(dev, is_set(set) ? set : NULL);

	if (!rc)
		set->types |= types;
	return rc;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	nvmlReturn_t rc = check(sgpu_nvml_gpu, is_set(set) ? data : NULL);

	(void)ms;
	return rc ? rc : NVML_ERROR_TIMEOUT;
}
