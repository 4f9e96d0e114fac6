// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of ordinary nvcc output for kernels.c: each uses another part of what a program
 * and its driver agree on.
 */
#include <cassert>
#include <cstdio>

struct mixed {
	char c;
	double d[3];
	short s;
};

__constant__ float coeff[16];
__device__ int counter = 40;
__device__ static int hidden[1000];

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void reduce(const int *in, int *out, int n)
{
	__shared__ int part[32];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int v = i < n ? in[i] : 0;

	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(0xffffffff, v, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int k = 1; k < blockDim.x / 32; k++)
			v += part[k];
		atomicAdd(out, v);
	}
}

extern "C" __global__ void by_value(mixed m, double *out, unsigned char last)
{
	out[0] = m.c + m.d[0] + m.d[1] + m.d[2] + m.s + last;
}

extern "C" __global__ void reverse(int *data)
{
	extern __shared__ int room[];

	room[threadIdx.x] = data[threadIdx.x];
	__syncthreads();
	data[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void variables(float *out)
{
	int i = threadIdx.x;

	hidden[i] = i;
	__syncthreads();
	if (i == 0)
		counter += 2;
	out[i] = coeff[i] * 2 + hidden[15 - i];
}

/* Every block waits for all others, which only ends when all run at once. */
extern "C" __global__ void meet(volatile int *here, int *out)
{
	if (threadIdx.x == 0) {
		atomicAdd((int *)here, 1);
		while (*here < gridDim.x)
			;
		atomicAdd(out, 1);
	}
}

extern "C" __global__ void hello(int n)
{
	printf("block %d says %d, %s and %.2f\n", blockIdx.x, n, "a text", 1.5);
}

extern "C" __global__ void claims(int n)
{
	assert(n == 1);
}

extern "C" __global__ void writes(int *p, int n)
{
	p[n] = 1;
}
