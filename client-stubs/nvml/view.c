// SPDX-License-Identifier: Apache-2.0
/*
 * NVML calls that wait, or whose structs hold addresses of this process. They wait here and ask
 * the worker in between, so that other calls of the process get in.
 */
#include "nvml_stub.h"
#include "clock.h"

#include <stdlib.h>
#include <time.h>

static void pause_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* --- Utilisation: the first sample period after the start must be over -------- */

#define RATE_PAUSE_MS	20
#define RATE_TRIES	100

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	nvmlReturn_t rc;
	int i;

	for (i = 0; i < RATE_TRIES; i++) {
		rc = wh_raw_nvmlDeviceGetUtilizationRates(device, utilization);
		if (rc != NVML_ERROR_NOT_READY)
			break;
		pause_ms(RATE_PAUSE_MS);
	}
	return rc;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
					     nvmlProcessUtilizationSample_t *utilization,
					     unsigned int *processSamplesCount,
					     unsigned long long lastSeenTimeStamp)
{
	nvmlReturn_t rc;
	int i;

	for (i = 0; i < RATE_TRIES; i++) {
		rc = wh_raw_nvmlDeviceGetProcessUtilization(device, utilization,
							    processSamplesCount,
							    lastSeenTimeStamp);
		if (rc != NVML_ERROR_NOT_READY)
			break;
		pause_ms(RATE_PAUSE_MS);
	}
	return rc;
}

/* A tenant has fewer workers than this. */
#define MAX_PROCESSES	256

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
						   nvmlProcessesUtilizationInfo_t *info)
{
	nvmlProcessUtilizationSample_t list[MAX_PROCESSES];
	unsigned int n = MAX_PROCESSES, i, room;
	nvmlReturn_t rc;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (info->version != nvmlProcessesUtilizationInfo_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	rc = nvmlDeviceGetProcessUtilization(device, list, &n, info->lastSeenTimeStamp);
	if (rc != NVML_SUCCESS)
		return rc;
	room = info->processSamplesCount;
	info->processSamplesCount = n;
	if (room < n || !info->procUtilArray)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (i = 0; i < n; i++) {
		info->lastSeenTimeStamp = list[i].timeStamp;
		info->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){
			.timeStamp = list[i].timeStamp,
			.pid = list[i].pid,
			.smUtil = list[i].smUtil,
		};
	}
	return NVML_SUCCESS;
}

/* --- Processes ---------------------------------------------------------------- */

#define MODE_COMPUTE	0
#define MODE_GRAPHICS	1
#define MODE_MPS	2

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
						   nvmlProcessDetailList_t *plist)
{
	nvmlProcessInfo_t list[MAX_PROCESSES];
	unsigned int n = MAX_PROCESSES, i, room;
	nvmlReturn_t rc;

	if (!plist || plist->mode > MODE_MPS)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (plist->version != nvmlProcessDetailList_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	rc = plist->mode == MODE_COMPUTE ?
	     nvmlDeviceGetComputeRunningProcesses_v3(device, &n, list) :
	     nvmlDeviceGetGraphicsRunningProcesses_v3(device, &n, list);
	if (rc != NVML_SUCCESS)
		return rc;
	room = plist->numProcArrayEntries;
	plist->numProcArrayEntries = n;
	if (room < n || (n && !plist->procArray))
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (i = 0; i < n; i++)
		plist->procArray[i] = (nvmlProcessDetail_v1_t){
			.pid = list[i].pid,
			.usedGpuMemory = list[i].usedGpuMemory,
			.gpuInstanceId = list[i].gpuInstanceId,
			.computeInstanceId = list[i].computeInstanceId,
		};
	return NVML_SUCCESS;
}

/* --- Events ------------------------------------------------------------------- */

#define EVENT_PAUSE_MS	50

typedef nvmlReturn_t look_fn(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms);

/* Waits for an event, which is seen up to EVENT_PAUSE_MS late. */
static nvmlReturn_t wait_event(look_fn *look, nvmlEventSet_t set, nvmlEventData_t *data,
			       unsigned int timeout_ms)
{
	uint64_t end = wh_now_ms() + timeout_ms, now;
	nvmlReturn_t rc;

	for (;;) {
		rc = look(set, data, 0);
		now = wh_now_ms();
		if (rc != NVML_ERROR_TIMEOUT || now >= end)
			return rc;
		pause_ms(end - now < EVENT_PAUSE_MS ? end - now : EVENT_PAUSE_MS);
	}
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	return wait_event(wh_raw_nvmlEventSetWait_v2, set, data, timeoutms);
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
	return wait_event(wh_raw_nvmlEventSetWait, set, data, timeoutms);
}
