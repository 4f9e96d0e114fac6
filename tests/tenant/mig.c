// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what a program sees of its devices, for the test of MIG instances.
 *   cuda   a line for each device: its UUID's bytes, MiB of memory, multiprocessors
 *   nvml   a line for each GPU and for each instance of it: its UUID, MiB of memory and so on, or
 *          the number of NVML's error in their place
 *   find UUID  by NVML: "found", or the number of the error
 *   sum    computes on device 0, and prints whether the result is right
 */
#include <cuda.h>
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stdio.h>
#include <string.h>

static int say_cuda(void)
{
	int n = 0, i, k, sms = 0;
	size_t bytes = 0;
	CUuuid uuid;
	CUresult res = cuInit(0);

	if (res) {
		printf("error %d\n", (int)res);
		return 1;
	}
	cuDeviceGetCount(&n);
	for (i = 0; i < n; i++) {
		cuDeviceGetUuid(&uuid, i);
		cuDeviceTotalMem(&bytes, i);
		cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i);
		for (k = 0; k < 16; k++)
			printf("%02x", (unsigned char)uuid.bytes[k]);
		printf(" %zu %d\n", bytes >> 20, sms);
	}
	return 0;
}

static void say_memory(nvmlDevice_t d)
{
	nvmlMemory_t m;
	nvmlReturn_t rc = nvmlDeviceGetMemoryInfo(d, &m);

	if (rc)
		printf(" memory !%d", rc);
	else
		printf(" memory %llu", m.total >> 20);
}

static void say_processes(nvmlDevice_t d)
{
	unsigned int n = 64;
	nvmlProcessInfo_t list[64];
	nvmlReturn_t rc = nvmlDeviceGetComputeRunningProcesses_v3(d, &n, list);

	if (rc)
		printf(" processes !%d", rc);
	else
		printf(" processes %u", n);
}

static void say_instance(nvmlDevice_t gpu, unsigned int i)
{
	unsigned int is = 0, gi = 99, ci = 99, index = 99;
	nvmlDeviceAttributes_t a = { 0 };
	nvmlDevice_t d, back = NULL;
	char uuid[96] = "?";
	nvmlReturn_t rc = nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &d);

	if (rc) {
		printf("  %u !%d\n", i, rc);
		return;
	}
	nvmlDeviceGetUUID(d, uuid, sizeof(uuid));
	nvmlDeviceIsMigDeviceHandle(d, &is);
	nvmlDeviceGetGpuInstanceId(d, &gi);
	nvmlDeviceGetComputeInstanceId(d, &ci);
	nvmlDeviceGetIndex(d, &index);
	nvmlDeviceGetAttributes_v2(d, &a);
	nvmlDeviceGetDeviceHandleFromMigDeviceHandle(d, &back);
	printf("  %u %s is %u gi %u ci %u index %u slices %u size %llu parent %s", i, uuid, is, gi, ci,
	       index, a.gpuInstanceSliceCount, a.memorySizeMB, back == gpu ? "same" : "other");
	say_memory(d);
	say_processes(d);
	puts("");
}

static int say_nvml(void)
{
	unsigned int n = 0, i, k, most, now, next;
	nvmlUtilization_t u;
	nvmlReturn_t rc = nvmlInit_v2();
	char uuid[96] = "?";
	nvmlDevice_t d;

	if (rc) {
		printf("error %d\n", rc);
		return 1;
	}
	nvmlDeviceGetCount_v2(&n);
	for (i = 0; i < n; i++) {
		now = most = 0;
		nvmlDeviceGetHandleByIndex_v2(i, &d);
		nvmlDeviceGetUUID(d, uuid, sizeof(uuid));
		nvmlDeviceGetMigMode(d, &now, &next);
		nvmlDeviceGetMaxMigDeviceCount(d, &most);
		printf("%u %s mode %u most %u", i, uuid, now, most);
		say_memory(d);
		say_processes(d);
		printf(" utilisation !%d\n", nvmlDeviceGetUtilizationRates(d, &u));
		for (k = 0; k < most; k++)
			say_instance(d, k);
	}
	return 0;
}

static int say_found(const char *uuid)
{
	nvmlDevice_t d;
	nvmlReturn_t rc = nvmlInit_v2();

	if (!rc)
		rc = nvmlDeviceGetHandleByUUID(uuid, &d);
	if (rc)
		printf("error %d\n", rc);
	else
		puts("found");
	return rc;
}

static int say_sum(void)
{
	static const char ptx[] =
		".version 8.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n"
		"ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
		"add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\nadd.s32 %r2, %r2, %r1;\n"
		"st.global.u32 [%rd3], %r2;\nret;\n}\n";
	unsigned int v[64], i;
	CUdeviceptr p;
	CUcontext ctx;
	CUfunction f;
	CUmodule m;
	void *params[] = { &p };

	for (i = 0; i < 64; i++)
		v[i] = 1000;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cuMemAlloc(&p, sizeof(v)) || cuMemcpyHtoD(p, v, sizeof(v)) ||
	    cuModuleLoadData(&m, ptx) ||
	    cuModuleGetFunction(&f, m, "k") ||
	    cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL) ||
	    cuMemcpyDtoH(v, p, sizeof(v)))
		return 1;
	for (i = 0; i < 64 && v[i] == 1000 + i; i++)
		;
	puts(i == 64 ? "right" : "wrong");
	return i != 64;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "cuda"))
		return say_cuda();
	if (argc == 2 && !strcmp(argv[1], "nvml"))
		return say_nvml();
	if (argc == 2 && !strcmp(argv[1], "sum"))
		return say_sum();
	return argc == 3 && !strcmp(argv[1], "find") ? say_found(argv[2]) : 2;
}
