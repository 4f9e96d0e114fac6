// SPDX-License-Identifier: Apache-2.0
// The library of majors_test.c that was built with CUDA 12.
#include <cuda_runtime_api.h>

#include "majors.h"

#if CUDART_VERSION / 1000 != 12
#error "the headers of CUDA 12 come first"
#endif

int version_12(void)
{
	int version = 0;

	return cudaRuntimeGetVersion(&version) ? -1 : version;
}

int processors_12(void)
{
	struct cudaDeviceProp p;

	return cudaGetDeviceProperties(&p, 0) ? -1 : p.multiProcessorCount;
}

void *memory_12(size_t size)
{
	void *p = NULL;

	return cudaMalloc(&p, size) ? NULL : p;
}

void *stream_12(void)
{
	cudaStream_t s = NULL;

	return cudaStreamCreate(&s) ? NULL : s;
}

int first_byte_12(const void *p)
{
	unsigned char value = 0;

	return cudaMemcpy(&value, p, 1, cudaMemcpyDeviceToHost) ? -1 : value;
}

int fail_12(void)
{
	return cudaSetDevice(99);
}

int last_error_12(void)
{
	return cudaGetLastError();
}
