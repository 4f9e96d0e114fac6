// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that WORMHOLE_SOFTGPU_CAPABILITY chooses the devices' compute capability, in
 * the driver and in NVML, and with it which PTX loads. The variable is read by cuInit(), so each
 * case is a process of its own.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* Runs @fn in a process with the variable set to @value, or unset. */
static bool in_process(const char *value, bool (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (value)
			setenv("WORMHOLE_SOFTGPU_CAPABILITY", value, 1);
		else
			unsetenv("WORMHOLE_SOFTGPU_CAPABILITY");
		_exit(!fn());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool start(void)
{
	CUcontext ctx;

	return !cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx);
}

/* Is the capability this one, by each way to ask? */
static bool is(int major, int minor)
{
	int a, b, c, d;

	return start() && !cuDeviceComputeCapability(&a, &b, 0) && a == major && b == minor &&
	       !cuDeviceGetAttribute(&c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) &&
	       !cuDeviceGetAttribute(&d, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0) &&
	       c == major && d == minor;
}

static const char *ptx(int target)
{
	static char text[256];

	snprintf(text, sizeof(text), ".version 8.7\n.target sm_%d\n.address_size 64\n"
		 ".visible .entry k() { ret; }\n", target);
	return text;
}

static CUresult load(const void *image)
{
	CUmodule m;

	return cuModuleLoadData(&m, image);
}

/* Makes a fatbin whose only entry is the text for @target, without compression. */
static const void *fatbin(int target)
{
	static uint64_t image[64];
	char *p = (char *)image;
	uint32_t magic = 0xba55ed50, header = 0x40, sm = target;
	uint16_t version = 1, top = 16, kind = 1;
	uint64_t text = (strlen(ptx(target)) + 8) & ~7ull, all = header + text;

	memset(image, 0, sizeof(image));
	memcpy(p, &magic, 4);
	memcpy(p + 4, &version, 2);
	memcpy(p + 6, &top, 2);
	memcpy(p + 8, &all, 8);
	memcpy(p + 16, &kind, 2);
	memcpy(p + 20, &header, 4);
	memcpy(p + 24, &text, 8);
	memcpy(p + 16 + 28, &sm, 4);
	strcpy(p + 16 + header, ptx(target));
	return image;
}

static bool default_is_9(void)
{
	return is(9, 0) && !load(ptx(90)) && load(ptx(100)) == CUDA_ERROR_INVALID_PTX &&
	       !load(fatbin(90)) && load(fatbin(120)) == CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static bool twelve(void)
{
	return is(12, 0);
}

static bool twelve_takes_newer_ptx(void)
{
	return start() && !load(ptx(120)) && !load(ptx(90)) && !load(fatbin(120)) &&
	       load(ptx(121)) == CUDA_ERROR_INVALID_PTX;
}

static bool eight_takes_older_ptx(void)
{
	return is(8, 6) && !load(ptx(86)) && load(ptx(90)) == CUDA_ERROR_INVALID_PTX &&
	       load(fatbin(90)) == CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static bool is_refused(void)
{
	return cuInit(0) == CUDA_ERROR_INVALID_VALUE;
}

static bool nvml_says_twelve(void)
{
	int (*init)(void), (*get)(unsigned int, void **), (*capability)(void *, int *, int *);
	int major = 0, minor = -1;
	char path[4096];
	void *lib, *dev;
	Dl_info info;

	if (!dladdr((void *)cuInit, &info))
		return false;
	snprintf(path, sizeof(path), "%.*slibnvidia-ml.so.1",
		 (int)(strrchr(info.dli_fname, '/') + 1 - info.dli_fname), info.dli_fname);
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		return false;
	*(void **)&init = dlsym(lib, "nvmlInit_v2");
	*(void **)&get = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
	*(void **)&capability = dlsym(lib, "nvmlDeviceGetCudaComputeCapability");
	return init && get && capability && !init() && !get(0, &dev) &&
	       !capability(dev, &major, &minor) && major == 12 && minor == 0;
}

int main(void)
{
	ok(in_process(NULL, default_is_9), "without_the_variable_it_is_9.0_and_newer_ptx_is_refused");
	ok(in_process("", default_is_9), "an_empty_variable_is_none");
	ok(in_process("12.0", twelve), "the_variable_chooses_the_capability");
	ok(in_process("12.0", twelve_takes_newer_ptx), "a_newer_capability_takes_newer_ptx");
	ok(in_process("8.6", eight_takes_older_ptx), "an_older_capability_takes_older_ptx_alone");
	ok(in_process("12.0", nvml_says_twelve), "nvml_has_the_same_capability");
	ok(in_process("12", is_refused) && in_process("9.9", is_refused) &&
	   in_process("9.0 ", is_refused), "what_is_no_capability_fails_the_start");
	return tap_exit();
}
