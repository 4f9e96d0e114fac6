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
#define NVML_TOO_SMALL		7	/* NVML_ERROR_INSUFFICIENT_SIZE */
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

struct nvml {
	int (*init)(void);			/* nvmlInit_v2 */
	int (*count)(uint32_t *);		/* nvmlDeviceGetCount_v2 */
	int (*handle)(uint32_t, nvml_device *);	/* nvmlDeviceGetHandleByIndex_v2 */
	int (*uuid)(nvml_device, char *, uint32_t);	/* nvmlDeviceGetUUID */
	int (*processes)(nvml_device, uint32_t *, struct nvml_process *);
	/* NULL if the library has none. */
	int (*utilization)(nvml_device, struct nvml_sample *, uint32_t *, uint64_t);
};

#endif
