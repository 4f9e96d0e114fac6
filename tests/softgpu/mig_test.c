// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises MIG instances, by WORMHOLE_SOFTGPU_MIG: a process has one of them and no other
 * device, as with NVIDIA's driver, and the management library lists them all. Each point runs in a
 * process of its own, since a driver starts once.
 */
#include <cuda.h>
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define MIB	(1ull << 20)
#define MEM	"1G,512M"
#define MIG	"3+2+1"		/* of the first GPU; the second has no MIG */
/* The instances of the first GPU, and the GPUs. */
#define FIRST	"MIG-776f726d-686f-6c65-2d73-6f6674677175"
#define SECOND	"MIG-776f726d-686f-6c65-2d73-6f6674677275"
#define GPU_0	"GPU-776f726d-686f-6c65-2d73-6f6674677075"
#define GPU_1	"GPU-776f726d-686f-6c65-2d73-6f6674677076"

static bool in_process(const char *mig, const char *visible, bool (*is)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		setenv("WORMHOLE_SOFTGPU_MEM", MEM, 1);
		setenv("WORMHOLE_SOFTGPU_MIG", mig, 1);
		if (visible)
			setenv("CUDA_VISIBLE_DEVICES", visible, 1);
		_exit(!is());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* ---- the driver ---- */

static bool one_device(const char *name, unsigned long long bytes, int sms)
{
	char own[64];
	size_t total;
	int n, count;

	return !cuInit(0) && !cuDeviceGetCount(&n) && n == 1 &&
	       !cuDeviceGetName(own, sizeof(own), 0) && !strcmp(own, name) &&
	       !cuDeviceTotalMem(&total, 0) && total == bytes &&
	       !cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) &&
	       count == sms;
}

static bool first(void)
{
	return one_device("Wormhole softgpu MIG 3g.512mb", 512 * MIB, 6);
}

static bool second(void)
{
	return one_device("Wormhole softgpu MIG 2g.256mb", 256 * MIB, 4);
}

static bool whole_gpu(void)
{
	return one_device("Wormhole softgpu", 512 * MIB, 16);
}

static bool one_of_the_second(void)
{
	return one_device("Wormhole softgpu MIG 1g.64mb", 64 * MIB, 2);
}

static bool two_gpus(void)
{
	int n;

	return !cuInit(0) && !cuDeviceGetCount(&n) && n == 2;
}

static bool whole_instance(void)
{
	return one_device("Wormhole softgpu MIG 7g.1gb", 1024 * MIB, 14);
}

static bool has_own_uuid(void)
{
	static const char want[16] = "\x77\x6f\x72\x6d\x68\x6f\x6c\x65\x2d\x73\x6f\x66\x74\x67\x72\x75";
	CUuuid uuid;

	return !cuInit(0) && !cuDeviceGetUuid(&uuid, 0) && !memcmp(uuid.bytes, want, sizeof(want));
}

static bool memory_is_the_instances(void)
{
	size_t room, total;
	CUdeviceptr p, q;
	CUcontext ctx;

	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx) &&
	       !cuMemGetInfo(&room, &total) && total == 256 * MIB && !cuMemAlloc(&p, 200 * MIB) &&
	       cuMemAlloc(&q, 100 * MIB) == CUDA_ERROR_OUT_OF_MEMORY;
}

static bool parts_are_of_its_sms(void)
{
	CUdevResource r;

	return !cuInit(0) && !cuDeviceGetDevResource(0, &r, CU_DEV_RESOURCE_TYPE_SM) &&
	       r.sm.smCount == 4;
}

static bool no_device(void)
{
	return cuInit(0) == CUDA_ERROR_NO_DEVICE;
}

static bool refused(void)
{
	return cuInit(0) == CUDA_ERROR_INVALID_VALUE && nvmlInit_v2() != NVML_SUCCESS;
}

/* ---- the management library ---- */

static bool says(nvmlDevice_t d, const char *uuid, const char *name, unsigned long long bytes)
{
	char own[64], text[64];
	nvmlMemory_t m;

	return !nvmlDeviceGetUUID(d, own, sizeof(own)) && !strcmp(own, uuid) &&
	       !nvmlDeviceGetName(d, text, sizeof(text)) && !strcmp(text, name) &&
	       !nvmlDeviceGetMemoryInfo(d, &m) && m.total == bytes;
}

static bool gpus_are_listed(void)
{
	unsigned int n, now, next, most, is;
	nvmlDevice_t d;

	return !nvmlInit_v2() && !nvmlDeviceGetCount_v2(&n) && n == 2 &&
	       !nvmlDeviceGetHandleByIndex_v2(0, &d) &&
	       says(d, GPU_0, "Wormhole softgpu", 1024 * MIB) &&
	       !nvmlDeviceGetMigMode(d, &now, &next) && now == NVML_DEVICE_MIG_ENABLE &&
	       !nvmlDeviceGetMaxMigDeviceCount(d, &most) && most == 7 &&
	       !nvmlDeviceIsMigDeviceHandle(d, &is) && !is &&
	       !nvmlDeviceGetHandleByIndex_v2(1, &d) &&
	       says(d, GPU_1, "Wormhole softgpu", 512 * MIB) &&
	       nvmlDeviceGetMigMode(d, &now, &next) == NVML_ERROR_NOT_SUPPORTED &&
	       !nvmlDeviceGetMaxMigDeviceCount(d, &most) && !most;
}

static bool instances_are_listed(void)
{
	nvmlDeviceAttributes_t a;
	nvmlDevice_t gpu, d, of;
	unsigned int is, id;

	return !nvmlInit_v2() && !nvmlDeviceGetHandleByIndex_v2(0, &gpu) &&
	       !nvmlDeviceGetMigDeviceHandleByIndex(gpu, 1, &d) &&
	       says(d, SECOND, "Wormhole softgpu MIG 2g.256mb", 256 * MIB) &&
	       !nvmlDeviceIsMigDeviceHandle(d, &is) && is &&
	       !nvmlDeviceGetDeviceHandleFromMigDeviceHandle(d, &of) && of == gpu &&
	       !nvmlDeviceGetGpuInstanceId(d, &id) && id == 2 &&
	       !nvmlDeviceGetComputeInstanceId(d, &id) && id == 0 &&
	       !nvmlDeviceGetAttributes_v2(d, &a) && a.multiprocessorCount == 4 &&
	       a.gpuInstanceSliceCount == 2 && a.memorySizeMB == 256 &&
	       nvmlDeviceGetMigDeviceHandleByIndex(gpu, 3, &of) == NVML_ERROR_NOT_FOUND &&
	       nvmlDeviceGetAttributes_v2(gpu, &a) == NVML_ERROR_NOT_SUPPORTED;
}

static bool instance_is_found_by_its_uuid(void)
{
	nvmlDevice_t gpu, d, found;

	return !nvmlInit_v2() && !nvmlDeviceGetHandleByIndex_v2(0, &gpu) &&
	       !nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0, &d) &&
	       !nvmlDeviceGetHandleByUUID(FIRST, &found) && found == d;
}

/* ---- which of them ---- */

static void test_driver(void)
{
	ok(in_process(MIG, NULL, first), "a_process_has_the_first_instance_and_no_gpu_beside_it");
	ok(in_process(MIG, SECOND, second), "or_the_one_that_it_names");
	ok(in_process(MIG, "MIG-776f726d-686f-6c65-2d73-6f66746772", second) &&
	   in_process(MIG, "MIG-99", no_device), "by_the_beginning_of_its_uuid_too");
	ok(in_process(MIG, SECOND "," FIRST, second) && in_process(MIG, GPU_1 "," SECOND, second),
	   "of_several_it_has_an_instance_alone");
	ok(in_process(MIG, GPU_1, whole_gpu) && in_process(MIG, "1", whole_gpu),
	   "or_the_gpu_without_instances");
	ok(in_process(MIG, "0", first) && in_process(MIG, GPU_0, first),
	   "the_gpus_name_stands_for_its_first_instance");
	ok(in_process(MIG, SECOND, has_own_uuid), "an_instance_has_a_uuid_of_its_own");
	ok(in_process(MIG, SECOND, memory_is_the_instances), "its_memory_is_its_own");
	ok(in_process(MIG, SECOND, parts_are_of_its_sms), "its_resource_is_its_own_multiprocessors");
	ok(in_process("7", NULL, whole_instance), "an_instance_may_be_the_whole_gpu");
	ok(in_process("0,1", NULL, one_of_the_second), "each_gpu_has_its_word");
	ok(in_process("", NULL, two_gpus), "an_empty_variable_divides_nothing");
}

static void test_refusals(void)
{
	ok(in_process("4+3+1", NULL, refused), "more_slices_than_a_gpu_has_are_refused");
	ok(in_process("5", NULL, refused) && in_process("1+", NULL, refused) &&
	   in_process("1,1,1", NULL, refused) && in_process("2x", NULL, refused),
	   "so_is_what_is_no_list_of_slices");
	ok(in_process("1+1+1+1+1+1+1,1+1", NULL, refused), "so_are_more_than_eight_devices");
}

int main(void)
{
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("WORMHOLE_SOFTGPU_BOOKS");
	tap_plan(18);
	test_driver();
	test_refusals();
	ok(in_process(MIG, SECOND, gpus_are_listed), "nvml_lists_gpus_and_says_which_are_in_mig_mode");
	ok(in_process(MIG, SECOND, instances_are_listed), "and_their_instances");
	ok(in_process(MIG, NULL, instance_is_found_by_its_uuid), "an_instance_is_found_by_its_uuid");
	return tap_exit();
}
