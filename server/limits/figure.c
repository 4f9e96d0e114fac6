// SPDX-License-Identifier: Apache-2.0
/*
 * Reads how much memory this process holds of each device, as the driver counts it. The figure is
 * NVML's. NVML is loaded from the folder of the backend, so that a stand-in of another folder is
 * never taken for it. One reading costs about 20 us, so it is for rare points. A backend without
 * NVML, such as softgpu, has no such figure.
 */
#define _GNU_SOURCE
#include "limits/memory.h"
#include "state/devices.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NVML_LIBRARY	"libnvidia-ml.so.1"
#define NVML_OK		0
#define MAX_PROCESSES	1024u

/* nvmlProcessInfo_t of the _v3 functions. */
struct process {
	unsigned int pid;
	unsigned long long bytes;	/* all ones: not available */
	unsigned int instance, compute_instance;
};

struct wh_figure {
	int (*processes)(void *device, unsigned int *count, struct process *list);
	void *device[WH_TENANT_DEVICES];
	bool seen[WH_TENANT_DEVICES];	/* the process was among the device's */
	struct process list[MAX_PROCESSES];
};

static void *load(struct wh_session *s)
{
	char path[512];
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)s->drv.cuInit, &info) || !info.dli_fname)
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return NULL;
	snprintf(path, sizeof(path), "%.*s/" NVML_LIBRARY, (int)(slash - info.dli_fname),
		 info.dli_fname);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* How NVML finds a device. */
struct finders {
	int (*by_bus)(const char *, void **), (*by_uuid)(const char *, void **);
};

/*
 * CUDA and NVML number devices differently; the bus says which is which. A MIG instance is known
 * by its UUID: its bus is the GPU's, which tells who has no privileges nothing of processes.
 */
static bool find_device(struct wh_session *s, const struct finders *nvml, int d, void **out)
{
	const char *list = getenv(WH_DEVICES_VARIABLE);
	char bus[32], uuid[WH_UUID];

	if (list && wh_uuid_of(list, wh_device_place(s->limits.page, (unsigned int)d), uuid) &&
	    wh_is_instance(uuid))
		return nvml->by_uuid && nvml->by_uuid(uuid, out) == NVML_OK;
	return s->drv.cuDeviceGetPCIBusId(bus, sizeof(bus), d) == CUDA_SUCCESS &&
	       nvml->by_bus(bus, out) == NVML_OK;
}

static void find_devices(struct wh_session *s, struct wh_figure *f, const struct finders *nvml)
{
	int d, n = 0;

	if (!s->drv.cuDeviceGetCount || !s->drv.cuDeviceGetPCIBusId ||
	    s->drv.cuDeviceGetCount(&n) != CUDA_SUCCESS)
		return;
	for (d = 0; d < n && d < WH_TENANT_DEVICES; d++)
		if (!find_device(s, nvml, d, &f->device[d]))
			f->device[d] = NULL;
}

struct wh_figure *wh_figure_open(struct wh_session *s)
{
	void *lib = load(s);
	struct finders nvml;
	struct wh_figure *f;
	int (*init)(void);

	if (!lib)
		return NULL;
	f = calloc(1, sizeof(*f));
	*(void **)&init = dlsym(lib, "nvmlInit_v2");
	*(void **)&nvml.by_bus = dlsym(lib, "nvmlDeviceGetHandleByPciBusId_v2");
	*(void **)&nvml.by_uuid = dlsym(lib, "nvmlDeviceGetHandleByUUID");
	if (f)
		*(void **)&f->processes = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
	if (f && f->processes && init && nvml.by_bus && init() == NVML_OK) {
		find_devices(s, f, &nvml);
		return f;
	}
	free(f);
	dlclose(lib);
	return NULL;
}

void wh_figure_close(struct wh_figure *f)
{
	free(f);
}

bool wh_figure_read(struct wh_figure *f, int device, uint64_t *bytes)
{
	unsigned int n = MAX_PROCESSES, i, pid = (unsigned int)getpid();

	if (!f->device[device] || f->processes(f->device[device], &n, f->list) != NVML_OK)
		return false;
	for (i = 0; i < n; i++) {
		if (f->list[i].pid != pid)
			continue;
		f->seen[device] = true;
		*bytes = f->list[i].bytes;
		return f->list[i].bytes != ~0ull;
	}
	/*
	 * The process has no context on the device any more. If it was never seen, process numbers
	 * may be those of a container.
	 */
	*bytes = 0;
	return f->seen[device];
}
