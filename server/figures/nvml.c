// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "figures/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NVML_LIBRARY	"libnvidia-ml.so.1"

/* The driver's own NVML lies beside it. What the loader would find may be a stub of ours. */
static void *open_library(const char *path, const char *driver)
{
	char *backend = path ? NULL : realpath(driver, NULL), *slash;
	char beside[PATH_MAX];

	slash = backend ? strrchr(backend, '/') : NULL;
	if (slash) {
		snprintf(beside, sizeof(beside), "%.*s/" NVML_LIBRARY, (int)(slash - backend), backend);
		if (!access(beside, R_OK))
			path = beside;
	}
	free(backend);
	return dlopen(path ? path : NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static void find(struct nvml *n, void *lib)
{
	*(void **)&n->init = dlsym(lib, "nvmlInit_v2");
	*(void **)&n->count = dlsym(lib, "nvmlDeviceGetCount_v2");
	*(void **)&n->handle = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&n->uuid = dlsym(lib, "nvmlDeviceGetUUID");
	*(void **)&n->processes = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (!n->processes)	/* the same struct; drivers before 510 */
		*(void **)&n->processes = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v2");
	*(void **)&n->utilization = dlsym(lib, "nvmlDeviceGetProcessUtilization");
	*(void **)&n->memory = dlsym(lib, "nvmlDeviceGetMemoryInfo");
	*(void **)&n->temperature = dlsym(lib, "nvmlDeviceGetTemperature");
	*(void **)&n->power = dlsym(lib, "nvmlDeviceGetPowerUsage");
	*(void **)&n->errors = dlsym(lib, "nvmlDeviceGetTotalEccErrors");
}

bool wh_nvml_load(struct nvml *n, const char *library, const char *driver, char *err,
		  size_t err_size)
{
	void *lib = open_library(library, driver);

	if (!lib) {
		snprintf(err, err_size, "%s", dlerror());
		return false;
	}
	/* A client's stub needs our libcuda.so.1, and would ask this very server. */
	if (dlsym(lib, "wh_library_begin")) {
		snprintf(err, err_size, "%s is a client's library of Wormhole",
			 library ? library : NVML_LIBRARY);
		return false;
	}
	find(n, lib);
	if (n->init && n->count && n->handle && n->uuid && n->processes)
		return true;
	snprintf(err, err_size, "%s lacks a function", library ? library : NVML_LIBRARY);
	return false;
}
