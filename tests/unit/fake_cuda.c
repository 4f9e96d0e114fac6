// SPDX-License-Identifier: Apache-2.0
/*
 * The least that a session takes for a driver library. Tests put functions of
 * their own into the session's table after loading it.
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
