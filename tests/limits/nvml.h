/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the driver's own NVML what processes have of its first device. */
#ifndef WORMHOLE_TESTS_LIMITS_NVML_H
#define WORMHOLE_TESTS_LIMITS_NVML_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The nvmlProcessInfo_t of the _v3 function. */
struct nvml_process {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int instance, compute_instance;
};
static int (*nvml_processes)(void *, unsigned int *, struct nvml_process *);
static void *nvml_device;

static inline bool nvml_open(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	int (*init)(void), (*get)(unsigned int, void **);

	*(void **)&init = lib ? dlsym(lib, "nvmlInit_v2") : NULL;
	*(void **)&get = lib ? dlsym(lib, "nvmlDeviceGetHandleByIndex_v2") : NULL;
	*(void **)&nvml_processes = lib ? dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3") : NULL;
	return init && get && nvml_processes && !init() && !get(0, &nvml_device);
}

/* Sets *bytes to what the process has, 0 without one. Returns false if that cannot be read. */
static inline bool nvml_bytes(uint32_t pid, uint64_t *bytes)
{
	static struct nvml_process list[256];
	unsigned int n = 256, i;

	*bytes = 0;
	if (nvml_processes(nvml_device, &n, list))
		return false;
	for (i = 0; i < n; i++)
		if (list[i].pid == pid)
			*bytes = list[i].bytes;
	return true;
}

#endif
