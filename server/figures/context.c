// SPDX-License-Identifier: Apache-2.0
/*
 * Measures what a context takes of a device: the process makes one, and reads by NVML what it holds
 * then. All contexts of a device take the same (518 MiB on an H200, driver 580.159; a process's
 * second context takes as much as its first).
 */
#define _GNU_SOURCE
#include "figures/figures.h"

#include <cuda.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "figures/nvml.h"

static struct nvml nvml;

static struct {
	CUresult (*get)(CUdevice *, int);
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*release)(CUdevice);
} drv;

static bool load(const char *library, const char *backend)
{
	void *lib = dlopen(backend, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	char err[300];

	if (!lib || !wh_nvml_load(&nvml, library, backend, err, sizeof(err)))
		return false;
	*(void **)&drv.get = dlsym(lib, "cuDeviceGet");
	*(void **)&drv.retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&drv.release = dlsym(lib, "cuDevicePrimaryCtxRelease_v2");
	return drv.get && drv.retain && drv.release && nvml.processes && nvml.init() == NVML_OK;
}

/* Returns what this process holds of the device. 0: nothing, or the driver does not say. */
static uint64_t held(nvml_device d)
{
	static struct nvml_process p[WH_FIGURES_MAX];
	uint32_t i, n = WH_FIGURES_MAX;
	uint64_t sum = 0;

	if (nvml.processes(d, &n, p) != NVML_OK)
		return 0;
	for (i = 0; i < n && i < WH_FIGURES_MAX; i++)
		/* A process may have an entry for each instance of the device. */
		if (p[i].pid == (uint32_t)getpid() && p[i].bytes != NVML_UNKNOWN_BYTES)
			sum += p[i].bytes;
	return sum;
}

static uint64_t measure(nvml_device d, CUdevice dev)
{
	uint64_t before = held(d), with;
	CUcontext ctx;

	if (drv.retain(&ctx, dev) != CUDA_SUCCESS)
		return 0;
	with = held(d);
	drv.release(dev);
	return with > before ? with - before : 0;
}

void wh_contexts_measure(const char *library, const char *backend,
			 const struct wh_devices_report *r, struct wh_contexts_report *out)
{
	nvml_device d;
	CUdevice dev;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	if ((library && !strcmp(library, "none")) || !load(library, backend))
		return;
	/* CUDA and NVML number devices differently; the UUID says which is which. */
	for (i = 0; i < r->devices; i++) {
		d = wh_nvml_find(&nvml, r->device[i].uuid);
		if (d && drv.get(&dev, (int)i) == CUDA_SUCCESS)
			out->bytes[i] = measure(d, dev);
	}
}
