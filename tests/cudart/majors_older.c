// SPDX-License-Identifier: Apache-2.0
// The library of majors_test.c that was built with CUDA 12, or with CUDA 11.
#include <cuda_runtime_api.h>

#include "majors.h"

#if CUDART_VERSION / 1000 == 12
#define NAME major_12
#elif CUDART_VERSION / 1000 == 11
#define NAME major_11
#else
#error "the headers of CUDA 12 or 11 come first"
#endif

static int version(void)
{
	int version = 0;

	return cudaRuntimeGetVersion(&version) ? -1 : version;
}

static int processors(void)
{
	struct cudaDeviceProp p;

	return cudaGetDeviceProperties(&p, 0) ? -1 : p.multiProcessorCount;
}

static void *memory(size_t size)
{
	void *p = NULL;

	return cudaMalloc(&p, size) ? NULL : p;
}

static void *stream(void)
{
	cudaStream_t s = NULL;

	return cudaStreamCreate(&s) ? NULL : s;
}

static int first_byte(const void *p)
{
	unsigned char value = 0;

	return cudaMemcpy(&value, p, 1, cudaMemcpyDeviceToHost) ? -1 : value;
}

static int fail(void)
{
	return cudaSetDevice(99);
}

static int last_error(void)
{
	return cudaGetLastError();
}

const struct major NAME = { version, processors, memory, stream, first_byte, fail, last_error };
