// SPDX-License-Identifier: Apache-2.0
// A helper of preload_test.sh: a library with a static CUDA runtime of its own, which a
// constructor and its caller use.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add_five(int *p)
{
	p[threadIdx.x] += 5;
}

extern "C" int plugin_compute(int x)
{
	int host[32], *dev;

	for (int i = 0; i < 32; i++)
		host[i] = x + i;
	if (cudaMalloc(&dev, sizeof(host)) ||
	    cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice))
		return -1;
	add_five<<<1, 32>>>(dev);
	if (cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost) || cudaFree(dev))
		return -2;
	return host[7];
}

struct start {
	start()
	{
		printf("constructor %d\n", plugin_compute(100));
		fflush(stdout);
	}
};

static start at_load;
