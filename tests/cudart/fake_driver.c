// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for hotpath.c. It has as much of a driver as one launch needs, no system call
// and no allocation in it, and counters that the test reads. FAKE_VERSION says its CUDA version.
#include <stddef.h>
#include <stdlib.h>

#include <cuda.h>

#undef cuGetProcAddress

unsigned long fake_launches, fake_last_stream, fake_retains;
int fake_lose_context;

static _Thread_local CUcontext current;

CUresult cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	const char *value = getenv("FAKE_VERSION");

	*version = value ? atoi(value) : 13000;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	*dev = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	(void)dev;
	fake_retains++;
	*ctx = (CUcontext)0x1000;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = current;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	current = ctx;
	return CUDA_SUCCESS;
}

/* The work before an event never ends. */
CUresult cuEventQuery(CUevent event)
{
	return event ? CUDA_ERROR_NOT_READY : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamQuery(CUstream stream)
{
	(void)stream;
	return CUDA_ERROR_NOT_READY;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
			   void **values, unsigned int count, CUlibraryOption *lib_options,
			   void **lib_values, unsigned int lib_count)
{
	(void)options, (void)values, (void)count, (void)lib_options, (void)lib_values;
	(void)lib_count;
	*library = (CUlibrary)code;
	return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary library)
{
	(void)library;
	return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	(void)library;
	*kernel = (CUkernel)(0x2000ul + (unsigned char)name[0]);
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			CUstream stream, void **params, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)params;
	if (fake_lose_context) {
		fake_lose_context = 0;
		current = NULL;
	}
	if (!current)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((unsigned long)f != 0x2000ul + 'k' || extra)
		return CUDA_ERROR_INVALID_HANDLE;
	fake_launches++;
	fake_last_stream = (unsigned long)stream;
	return CUDA_SUCCESS;
}
