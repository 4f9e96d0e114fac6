// SPDX-License-Identifier: Apache-2.0
/*
 * Stands in for libnvidia-ml.so.1 with one device, which FAKE_NVML_UUID names. The file
 * FAKE_NVML has its processes, a line `PID BYTES SM%` for each, and is read anew at every call; the
 * file of that name with `.once` takes its place for one look at the processes, and is gone then. A
 * process that has a primary context of the driver FAKE_NVML_DRIVER holds FAKE_NVML_CONTEXT bytes
 * besides. If the file FAKE_NVML_CRASH exists, the process dies, and so does the file if it is
 * empty. The device has 8 GiB, of which 3 are free, or as many bytes as the file FAKE_NVML_FREE
 * says. It has 61 degrees and 123.456 W, 3 errors that were corrected and 1 that was not.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libraries/nvml_abi.h"

struct nvml_device {
	int there;
};

static struct nvml_device device;
static uint64_t calls;

int nvmlInit_v2(void)
{
	return NVML_OK;
}

int nvmlDeviceGetCount_v2(uint32_t *n)
{
	*n = 1;
	return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(uint32_t i, nvml_device *d)
{
	*d = &device;
	return i ? 2 : NVML_OK;
}

int nvmlDeviceGetUUID(nvml_device d, char *out, uint32_t size)
{
	(void)d;
	snprintf(out, size, "%s", getenv("FAKE_NVML_UUID"));
	return NVML_OK;
}

struct line {
	unsigned int pid, sm;
	unsigned long long bytes;
};

static uint32_t read_lines(const char *name, struct line *out, uint32_t max)
{
	FILE *f = name ? fopen(name, "re") : NULL;
	uint32_t n = 0;

	while (f && n < max && fscanf(f, "%u %llu %u", &out[n].pid, &out[n].bytes, &out[n].sm) == 3)
		n++;
	if (f)
		fclose(f);
	return n;
}

static uint32_t processes(struct line *out, uint32_t max)
{
	const char *name = getenv("FAKE_NVML");
	char once[4096];
	uint32_t n;

	snprintf(once, sizeof(once), "%s.once", name ? name : "");
	if (!name || access(once, R_OK))
		return read_lines(name, out, max);
	n = read_lines(once, out, max);
	unlink(once);
	return n;
}

/* Of this process. */
static unsigned long long bytes_of_context(void)
{
	const char *bytes = getenv("FAKE_NVML_CONTEXT"), *driver = getenv("FAKE_NVML_DRIVER");
	void *lib = bytes && driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : NULL;
	CUresult (*state)(CUdevice, unsigned int *, int *) = NULL;
	unsigned int flags;
	int active = 0;

	if (lib)
		*(void **)&state = dlsym(lib, "cuDevicePrimaryCtxGetState");
	if (!state || state(0, &flags, &active) != CUDA_SUCCESS || !active)
		return 0;
	return strtoull(bytes, NULL, 10);
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, uint32_t *n, struct nvml_process *p)
{
	const char *crash = getenv("FAKE_NVML_CRASH");
	struct line line[17];
	uint32_t i, lines = processes(line, 16);
	struct stat st;

	(void)d;
	line[lines] = (struct line){ .pid = (unsigned int)getpid(), .bytes = bytes_of_context() };
	lines += line[lines].bytes != 0;
	if (crash && !stat(crash, &st)) {
		if (!st.st_size)
			unlink(crash);
		abort();
	}
	for (i = 0; i < lines && i < *n; i++)
		p[i] = (struct nvml_process){ .pid = line[i].pid, .bytes = line[i].bytes };
	*n = i;
	return NVML_OK;
}

int nvmlDeviceGetProcessUtilization(nvml_device d, struct nvml_sample *s, uint32_t *n,
				    uint64_t since)
{
	struct line line[16];
	uint32_t i, lines = read_lines(getenv("FAKE_NVML"), line, 16);

	(void)d;
	(void)since;
	calls++;
	for (i = 0; i < lines && i < *n; i++)
		s[i] = (struct nvml_sample){ .pid = line[i].pid, .time_us = calls * 1000,
					     .sm_percent = line[i].sm };
	*n = i;
	return NVML_OK;
}

int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *m)
{
	const char *name = getenv("FAKE_NVML_FREE");
	FILE *f = name ? fopen(name, "re") : NULL;
	unsigned long long free = 3ull << 30;

	(void)d;
	if (f) {
		if (fscanf(f, "%llu", &free) != 1)
			free = 0;
		fclose(f);
	}
	*m = (struct nvml_memory){ .total = 8ull << 30, .free = free, .used = (8ull << 30) - free };
	return NVML_OK;
}

int nvmlDeviceGetTemperature(nvml_device d, int sensor, uint32_t *v)
{
	(void)d;
	*v = 61;
	return sensor == NVML_GPU_TEMPERATURE ? NVML_OK : 2;
}

int nvmlDeviceGetPowerUsage(nvml_device d, uint32_t *v)
{
	(void)d;
	*v = 123456;
	return NVML_OK;
}

int nvmlDeviceGetTotalEccErrors(nvml_device d, int type, int since, unsigned long long *v)
{
	(void)d;
	*v = type == NVML_CORRECTED ? 3 : 1;
	return since == NVML_SINCE_LOADED ? NVML_OK : 2;
}
