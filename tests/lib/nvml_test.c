// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that NVML through the stub hides the rest of the machine, over an
 * NVML that tells what belongs to the whole machine. A tenant sees the devices of its
 * worker, its own processes and use, and changes nothing.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <dlfcn.h>
#include <nvml.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_test.h"

static nvmlDevice_t gpu;

static void test_start(void)
{
	unsigned int n = 0;

	news();
	ok_eq(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED, "nothing_works_before_init");
	ok_eq(nvmlShutdown(), NVML_ERROR_UNINITIALIZED, "shutdown_before_init_is_an_error");
	ok_eq(nvmlInit_v2(), 0, "init_succeeds");
	ok_eq(nvmlInitWithFlags(0), 0, "and_once_more");
	told("init", "the_workers_nvml_starts_once");
	ok_eq(nvmlShutdown(), 0, "first_shutdown_succeeds");
	ok_eq(nvmlDeviceGetCount_v2(&n), 0, "calls_work_until_the_last_one");
	ok(!strcmp(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported"), "status_has_a_text");
}

static void test_devices(void)
{
	char text[96] = "";
	nvmlDevice_t d = NULL;
	unsigned int n = 0;

	nvmlDeviceGetCount_v2(&n);
	ok_eq(n, 1, "only_the_workers_device_is_counted");
	ok_eq(nvmlDeviceGetHandleByIndex_v2(0, &gpu), 0, "it_is_the_first");
	ok_eq(nvmlDeviceGetHandleByIndex_v2(1, &d), NVML_ERROR_INVALID_ARGUMENT, "there_is_no_second");
	nvmlDeviceGetUUID(gpu, text, sizeof(text));
	ok(!strcmp(text, "GPU-776f726d-686f-6c65-2d73-6f6674677075"), "it_is_the_one_that_cuda_has");
	ok_eq(nvmlDeviceGetUUID(gpu, text, 10), NVML_ERROR_INSUFFICIENT_SIZE, "short_buffer_is_an_error");
	ok(!nvmlDeviceGetHandleByUUID(text, &d) && d == gpu, "it_is_found_by_its_uuid");
	news();
	ok_eq(nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000", &d),
	      NVML_ERROR_NOT_FOUND, "another_tenants_device_is_not_found");
	told("by uuid", "although_the_machine_has_it");
	ok(!nvmlDeviceGetIndex(gpu, &n) && n == 0, "index_counts_what_is_shown");
	ok_eq(nvmlDeviceGetIndex((nvmlDevice_t)&n, &n), NVML_ERROR_INVALID_ARGUMENT,
	      "memory_that_is_no_device_is_refused");
}

static void test_structs(void)
{
	struct { nvmlTemperature_t t; int behind; } v = { { nvmlTemperature_v1, 0, 0 }, 99 };
	unsigned int clocks[4] = { 0, 0, 0, 7 }, n = 1;
	nvmlFieldValue_t f[2] = { { .fieldId = 21 }, { .fieldId = 33 } };

	ok(!nvmlDeviceGetTemperatureV(gpu, &v.t) && v.t.temperature == 40, "versioned_struct_comes_back");
	v.t.version = 1 << 24 | 4;
	ok_eq(nvmlDeviceGetTemperatureV(gpu, &v.t), NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
	      "version_that_is_not_known_is_refused");
	v.t.version = 0;
	ok_eq(nvmlDeviceGetTemperatureV(gpu, &v.t), NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
	      "struct_without_a_size_is_refused");
	ok(v.behind == 99, "nothing_behind_it_is_written");
	ok(nvmlDeviceGetSupportedMemoryClocks(gpu, &n, clocks) == NVML_ERROR_INSUFFICIENT_SIZE &&
	   n == 3, "count_comes_back_when_the_array_is_too_short");
	ok(!nvmlDeviceGetSupportedMemoryClocks(gpu, &n, clocks) && clocks[2] == 1000, "then_the_array");
	ok(clocks[3] == 7, "and_no_more");
	ok(!nvmlDeviceGetFieldValues(gpu, 2, f) && f[1].value.uiVal == 66, "field_values_come_back");
}

static void test_view(void)
{
	nvmlMemory_v2_t m2 = { .version = nvmlMemory_v2 };
	nvmlProcessInfo_t list[8];
	nvmlUtilization_t u = { 1, 1 };
	nvmlValueType_t kind;
	unsigned int n = 8, mine = 0, i;
	nvmlSample_t sample;
	nvmlMemory_t m;

	ok(!nvmlDeviceGetMemoryInfo(gpu, &m) && m.total == 1000 << 20 && m.used == 700 << 20,
	   "memory_without_a_quota_is_the_devices");
	ok(!nvmlDeviceGetMemoryInfo_v2(gpu, &m2) && m2.reserved == 10 << 20, "second_version_too");
	ok(!nvmlDeviceGetUtilizationRates(gpu, &u) && u.gpu == 0,
	   "utilisation_is_the_tenants_not_the_devices");
	ok(u.memory == 0, "its_use_of_memory_is_at_most_that");
	ok_eq(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &n, list), 0, "processes_are_listed");
	for (i = 0; i < n; i++)
		mine += list[i].pid == 1;
	ok(!mine, "no_process_of_others_is_among_them");
	n = 8;
	ok(!nvmlDeviceGetGraphicsRunningProcesses_v3(gpu, &n, list) && n == 0, "no_graphics_process");
	news();
	n = 1;
	ok_eq(nvmlDeviceGetSamples(gpu, NVML_GPU_UTILIZATION_SAMPLES, 0, &kind, &n, &sample),
	      NVML_ERROR_NOT_SUPPORTED, "samples_of_the_devices_use_are_not_shown");
	told("", "nor_asked_for");
	n = 1;
	ok(!nvmlDeviceGetSamples(gpu, NVML_TOTAL_POWER_SAMPLES, 0, &kind, &n, &sample) &&
	   sample.sampleValue.uiVal == 123, "samples_of_power_are");
}

static void test_refused(void)
{
	nvmlReturn_t (*table_of)(const void **, const void *);
	const void *table = NULL;
	unsigned int n = 0;

	news();
	ok_eq(nvmlDeviceSetPowerManagementLimit(gpu, 100000), NVML_ERROR_NO_PERMISSION,
	      "settings_of_the_device_are_not_permitted");
	ok_eq(nvmlDeviceSetPersistenceMode(gpu, 1), NVML_ERROR_NO_PERMISSION, "none_of_them");
	ok_eq(nvmlDeviceGetAccountingBufferSize(gpu, &n), NVML_ERROR_NOT_SUPPORTED,
	      "accounts_of_others_are_not_supported");
	told("", "neither_reaches_the_library");
	*(void **)&table_of = dlsym(RTLD_DEFAULT, "nvmlInternalGetExportTable");
	ok(table_of && !table_of(&table, "sixteen bytes id") && table, "nvidia_smi_gets_a_table");
	for (n = 0; table && n < 64 && !((void *const *)table)[n]; n++)
		;
	ok_eq(n, 64, "of_which_every_entry_is_NULL");
}

static void test_events(void)
{
	nvmlEventData_t data = { 0 };
	nvmlEventSet_t set;

	ok_eq(nvmlEventSetCreate(&set), 0, "event_set_is_made");
	news();
	ok_eq(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_TIMEOUT, "no_event_within_no_time");
	told("look 0", "the_worker_looks_once");
	ok_eq(nvmlEventSetWait_v2(set, &data, 5000), 0, "event_is_waited_for");
	told("look 0|look 0", "by_looking_again_and_never_waiting_in_the_worker");
	ok(data.device == gpu && data.eventData == 31, "event_names_the_device");
	ok_eq(nvmlEventSetFree(set), 0, "event_set_is_freed");
	ok_eq(nvmlEventSetWait_v2(set, &data, 0), NVML_ERROR_INVALID_ARGUMENT, "and_is_none_then");
}

static void test_names(void)
{
	char name[256] = "";

	ok(!nvmlSystemGetProcessName(getpid(), name, sizeof(name)) && strstr(name, "nvml"),
	   "process_of_this_machine_has_its_name");
	ok_eq(nvmlSystemGetProcessName(getpid(), name, 2), NVML_ERROR_INSUFFICIENT_SIZE,
	      "short_buffer_for_it_is_an_error");
	ok_eq(nvmlSystemGetProcessName(0x7ffffffe, name, sizeof(name)), NVML_ERROR_NOT_FOUND,
	      "process_that_is_none_is_not_found");
}

/* The exit status of a child: 0 if it has NVML as its parent has. */
static int child_has_nvml(void)
{
	unsigned int n = 0;
	nvmlDevice_t d;
	char text[96];

	return nvmlDeviceGetCount_v2(&n) || n != 1 || nvmlDeviceGetHandleByIndex_v2(0, &d) ||
	       nvmlDeviceGetUUID(d, text, sizeof(text)) || nvmlShutdown() ||
	       nvmlDeviceGetCount_v2(&n) != NVML_ERROR_UNINITIALIZED || nvmlInit_v2() ||
	       nvmlDeviceGetCount_v2(&n);
}

/*
 * The exit status of a child: 0 if its parent's handle is good there. This worker has made other
 * objects before.
 */
static int child_has_handle(const char *uuid)
{
	char text[96] = "";
	unsigned int n = 9;
	nvmlDevice_t d;
	CUcontext ctx;

	return cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) ||
	       nvmlDeviceGetUUID(gpu, text, sizeof(text)) || strcmp(text, uuid) ||
	       nvmlDeviceGetIndex(gpu, &n) || n || nvmlDeviceGetHandleByIndex_v2(0, &d) || d != gpu;
}

static void test_handle(void)
{
	char uuid[96] = "";
	int status = -1;
	pid_t pid;

	nvmlDeviceGetUUID(gpu, uuid, sizeof(uuid));
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child_has_handle(uuid));
	ok(waitpid(pid, &status, 0) == pid && status == 0, "and_its_parents_handle_of_a_device");
}

static void test_fork(void)
{
	unsigned int n = 0;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child_has_nvml());
	ok(waitpid(pid, &status, 0) == pid && status == 0, "child_of_a_fork_inherits_the_start");
	test_handle();
	ok(!nvmlDeviceGetCount_v2(&n) && n == 1, "its_end_is_not_the_parents");
}

int main(void)
{
	test_start();
	test_devices();
	test_structs();
	test_view();
	test_refused();
	test_events();
	test_names();
	test_fork();
	return tap_exit();
}
