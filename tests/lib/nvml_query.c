// SPDX-License-Identifier: Apache-2.0
/* Prints what a management tool asks first. People run it to look, and on GPU machines. */
#include <nvml.h>
#include <stdio.h>
#include <unistd.h>

static void say(const char *what, nvmlReturn_t rc, const char *value)
{
	printf("%-22s %s\n", what, rc ? nvmlErrorString(rc) : value);
}

int main(void)
{
	unsigned int n = 0, i, count, temp;
	nvmlProcessInfo_t list[64];
	nvmlUtilization_t u;
	nvmlMemory_t m;
	nvmlDevice_t d;
	char text[128];
	nvmlReturn_t rc = nvmlInit_v2();

	if (rc) {
		printf("nvmlInit: %s\n", nvmlErrorString(rc));
		return 1;
	}
	rc = nvmlSystemGetDriverVersion(text, sizeof(text));
	say("driver", rc, text);
	nvmlDeviceGetCount_v2(&n);
	printf("%-22s %u\n", "devices", n);
	for (i = 0; i < n; i++) {
		nvmlDeviceGetHandleByIndex_v2(i, &d);
		rc = nvmlDeviceGetName(d, text, sizeof(text));
		say("name", rc, text);
		rc = nvmlDeviceGetUUID(d, text, sizeof(text));
		say("uuid", rc, text);
		rc = nvmlDeviceGetMemoryInfo(d, &m);
		snprintf(text, sizeof(text), "%llu of %llu MiB, %llu free", m.used >> 20, m.total >> 20,
			 m.free >> 20);
		say("memory", rc, text);
		rc = nvmlDeviceGetUtilizationRates(d, &u);
		snprintf(text, sizeof(text), "%u %% gpu, %u %% memory", u.gpu, u.memory);
		say("utilisation", rc, text);
		rc = nvmlDeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &temp);
		snprintf(text, sizeof(text), "%u C", temp);
		say("temperature", rc, text);
		count = 64;
		rc = nvmlDeviceGetComputeRunningProcesses_v3(d, &count, list);
		snprintf(text, sizeof(text), "%u", count);
		say("processes", rc, text);
		for (; !rc && count--;)
			printf("%-22s pid %u%s, %llu MiB\n", "", list[count].pid,
			       list[count].pid == (unsigned int)getpid() ? " (this one)" : "",
			       list[count].usedGpuMemory >> 20);
	}
	return nvmlShutdown();
}
