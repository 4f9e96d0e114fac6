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

bool wh_nvml_beside(const char *driver, char out[PATH_MAX])
{
	char *backend = realpath(driver, NULL), *slash = backend ? strrchr(backend, '/') : NULL;
	int n = slash ? snprintf(out, PATH_MAX, "%.*s/" NVML_LIBRARY, (int)(slash - backend), backend) : -1;

	free(backend);
	return n >= 0 && n < PATH_MAX && !access(out, R_OK);
}

/* The driver's own NVML lies beside it. What the loader would find may be a stub of ours. */
static void *open_library(const char *path, const char *driver)
{
	char beside[PATH_MAX];

	if (!path)
		path = wh_nvml_beside(driver, beside) ? beside : NVML_LIBRARY;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
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
	*(void **)&n->mig_mode = dlsym(lib, "nvmlDeviceGetMigMode");
	*(void **)&n->mig_most = dlsym(lib, "nvmlDeviceGetMaxMigDeviceCount");
	*(void **)&n->mig_handle = dlsym(lib, "nvmlDeviceGetMigDeviceHandleByIndex");
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
	if (n->init && n->count && n->handle && n->uuid)
		return true;
	snprintf(err, err_size, "%s lacks a function", library ? library : NVML_LIBRARY);
	return false;
}

/* --- Devices: GPUs, and MIG instances in the place of GPUs that are divided ------------------- */

/* Returns how many instances the GPU may have; 0: it is not in MIG mode. */
static uint32_t most_instances(const struct nvml *n, nvml_device gpu)
{
	uint32_t now = 0, next, most = 0;

	if (!n->mig_mode || !n->mig_most || !n->mig_handle ||
	    n->mig_mode(gpu, &now, &next) != NVML_OK || now != NVML_MIG_ENABLED ||
	    n->mig_most(gpu, &most) != NVML_OK)
		return 0;
	return most;
}

/* Adds a device, if its UUID can be told. */
static void add(const struct nvml *n, nvml_device handle, struct wh_nvml_list *l)
{
	struct wh_nvml_entry *e = &l->entry[l->n];

	if (l->n == WH_NVML_DEVICES) {
		l->more = true;
		return;
	}
	e->handle = handle;
	if (n->uuid(handle, e->uuid, sizeof(e->uuid)) == NVML_OK)
		l->n++;
}

bool wh_nvml_list(const struct nvml *n, struct wh_nvml_list *l)
{
	uint32_t gpus = 0, g, most, i;
	nvml_device gpu, instance;

	l->n = 0;
	l->more = false;
	if (n->count(&gpus) != NVML_OK)
		return false;
	for (g = 0; g < gpus; g++) {
		if (n->handle(g, &gpu) != NVML_OK)
			continue;
		most = most_instances(n, gpu);
		if (!most)
			add(n, gpu, l);
		for (i = 0; i < most; i++)
			if (n->mig_handle(gpu, i, &instance) == NVML_OK)
				add(n, instance, l);
	}
	return true;
}

nvml_device wh_nvml_find(const struct nvml *n, const char *uuid)
{
	struct wh_nvml_list l;
	unsigned int i;

	if (!wh_nvml_list(n, &l))
		return NULL;
	for (i = 0; i < l.n; i++)
		if (!strcmp(l.entry[i].uuid, uuid))
			return l.entry[i].handle;
	return NULL;
}
