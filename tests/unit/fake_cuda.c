// SPDX-License-Identifier: Apache-2.0
/*
 * The least that a session accepts as a driver library. Tests put functions of their own
 * into the session's table after loading it.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

CUresult cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	return ctx == (CUcontext)0xdead ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

/* Answers for the memory that tests allocate; only what a session asks for, 8 bytes each. */
CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *which, void **to,
				CUdeviceptr p)
{
	int known = p - 0x7000 < 1ULL << 40;
	unsigned int i;

	for (i = 0; i < n; i++)
		*(unsigned long long *)to[i] =
			!known ? 0 :
			which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? CU_MEMORYTYPE_DEVICE :
			which[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ? 0x7000 : 1ULL << 40;
	return CUDA_SUCCESS;
}
