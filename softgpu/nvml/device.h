/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the management library: GPUs (nvml.c) and MIG instances of GPUs (mig.c). */
#ifndef SOFTGPU_NVML_DEVICE_H
#define SOFTGPU_NVML_DEVICE_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "../driver/identity.h"

struct nvmlDevice_st {
	struct sgpu_part part;	/* of a GPU in MIG mode: all of it, which no process has */
};

extern struct sgpu_machine sgpu_nvml_machine;
extern struct nvmlDevice_st sgpu_nvml_gpu[SGPU_DEVICES], sgpu_nvml_instance[SGPU_DEVICES];
extern unsigned int sgpu_nvml_instances;

/* Checks what all queries of a GPU or an instance check. */
nvmlReturn_t sgpu_nvml_check(nvmlDevice_t dev, const void *out);
/* The same for queries that GPUs alone answer, and for those that instances alone answer. */
nvmlReturn_t sgpu_nvml_check_gpu(nvmlDevice_t dev, const void *out);
nvmlReturn_t sgpu_nvml_check_instance(nvmlDevice_t dev, const void *out);
/* Writes down which instances there are; the machine is known. */
void sgpu_nvml_find_instances(void);

#endif
