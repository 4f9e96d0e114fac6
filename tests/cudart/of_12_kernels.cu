// SPDX-License-Identifier: Apache-2.0
// The device code of of_12_test.c, which the compiler of CUDA 13 makes: what it registers and how
// it launches is the same in 12. No function of the runtime that differs is called here.
__global__ void add(int *x, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += v;
}

extern "C" void *of_12_kernel(void)
{
	return (void *)add;
}

extern "C" void of_12_launch(int *x, int n, int v)
{
	add<<<(n + 63) / 64, 64>>>(x, n, v);
}
