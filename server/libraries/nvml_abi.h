/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's binary interface that the process that reads figures uses (figures/reader.c),
 * from NVML's public reference. A struct belongs to the versions of a function that are named with
 * it and to no other.
 */
#ifndef WORMHOLE_NVML_ABI_H
#define WORMHOLE_NVML_ABI_H

#include <stdint.h>

#define NVML_OK			0
#define NVML_UNKNOWN_BYTES	UINT64_MAX	/* NVML_VALUE_NOT_AVAILABLE */

typedef struct nvml_device *nvml_device;

/* For nvmlDeviceGetComputeRunningProcesses_v2 and _v3. */
struct nvml_process {
	uint32_t pid;
	uint64_t bytes;
	uint32_t gpu_instance;
	uint32_t compute_instance;
};
_Static_assert(sizeof(struct nvml_process) == 24, "nvmlProcessInfo_v2_t");

/* For nvmlDeviceGetProcessUtilization. */
struct nvml_sample {
	uint32_t pid;
	uint64_t time_us;
	uint32_t sm_percent, memory_percent, encoder_percent, decoder_percent;
};
_Static_assert(sizeof(struct nvml_sample) == 32, "nvmlProcessUtilizationSample_t");

/* For nvmlDeviceGetMemoryInfo. */
struct nvml_memory {
	uint64_t total, free, used;
};
_Static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");

#define NVML_GPU_TEMPERATURE	0	/* NVML_TEMPERATURE_GPU */
#define NVML_CORRECTED		0	/* NVML_MEMORY_ERROR_TYPE_CORRECTED */
#define NVML_UNCORRECTED	1
#define NVML_SINCE_LOADED	0	/* NVML_VOLATILE_ECC */
#define NVML_MIG_ENABLED	1	/* NVML_DEVICE_MIG_ENABLE */

struct nvml {
	int (*init)(void);			/* nvmlInit_v2 */
	int (*count)(uint32_t *);		/* nvmlDeviceGetCount_v2 */
	int (*handle)(uint32_t, nvml_device *);	/* nvmlDeviceGetHandleByIndex_v2 */
	int (*uuid)(nvml_device, char *, uint32_t);	/* nvmlDeviceGetUUID */
	/* The following are NULL if the library has none. */
	int (*processes)(nvml_device, uint32_t *, struct nvml_process *);
	int (*utilization)(nvml_device, struct nvml_sample *, uint32_t *, uint64_t);
	int (*memory)(nvml_device, struct nvml_memory *);
	int (*temperature)(nvml_device, int, uint32_t *);
	int (*power)(nvml_device, uint32_t *);	/* milliwatts */
	int (*errors)(nvml_device, int, int, unsigned long long *);
	int (*mig_mode)(nvml_device, uint32_t *, uint32_t *);	/* now, and after a reset */
	int (*mig_most)(nvml_device, uint32_t *);	/* nvmlDeviceGetMaxMigDeviceCount */
	/* nvmlDeviceGetMigDeviceHandleByIndex */
	int (*mig_handle)(nvml_device, uint32_t, nvml_device *);
};

#endif
