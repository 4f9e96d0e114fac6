// SPDX-License-Identifier: Apache-2.0
/* The NVML beside the mock driver, which says what each process has of the device. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mock.h"

struct process {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int instance, compute_instance;
};

static struct mock_gpu *gpu;

int nvmlInit_v2(void)
{
	const char *path = getenv("MOCK_GPU");
	int fd = path ? open(path, O_RDWR) : -1;

	if (fd < 0 || getenv("MOCK_NO_NVML"))
		return 1;
	gpu = mmap(NULL, sizeof(*gpu), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	(void)bus;
	*device = (void *)gpu;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **device)
{
	(void)i;
	*device = (void *)gpu;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *n, struct process *list)
{
	unsigned int i, used = 0;

	(void)device;
	gpu->readings++;
	for (i = 0; i < MOCK_PROCESSES && used < *n; i++)
		if (gpu->process[i].pid)
			list[used++] = (struct process) { gpu->process[i].pid,
							  gpu->process[i].bytes, ~0u, ~0u };
	*n = used;
	return 0;
}
