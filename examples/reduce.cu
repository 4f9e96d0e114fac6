// SPDX-License-Identifier: Apache-2.0
// Computes the sum and maximum of an int array with warp shuffles, shared memory, and one
// atomic per block.
#include <algorithm>
#include <climits>
#include <vector>
#include "check.h"

__device__ int warp_sum(int v)
{
	for (int d = 16; d; d >>= 1)
		v += __shfl_down_sync(0xffffffffu, v, d);
	return v;
}

__device__ int warp_max(int v)
{
	for (int d = 16; d; d >>= 1)
		v = max(v, __shfl_xor_sync(0xffffffffu, v, d));
	return v;
}

__global__ void reduce(const int *in, int n, unsigned long long *sum, int *top)
{
	__shared__ int sums[8], tops[8];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int s = 0, m = INT_MIN;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		s += in[i];
		m = max(m, in[i]);
	}
	s = warp_sum(s);
	m = warp_max(m);
	if (lane == 0) {
		sums[warp] = s;
		tops[warp] = m;
	}
	__syncthreads();
	if (warp == 0) {
		s = warp_sum(lane < 8 ? sums[lane] : 0);
		m = warp_max(lane < 8 ? tops[lane] : INT_MIN);
		if (lane == 0) {
			// In two's complement negative block sums add up modulo 2^64.
			atomicAdd(sum, (unsigned long long)(long long)s);
			atomicMax(top, m);
		}
	}
}

int main(int argc, char **argv)
{
	int n = size_arg(argc, argv, 100000), lowest = INT_MIN, top, *din, *dtop;
	unsigned long long *dsum, sum;
	long long want_sum = 0;
	int want_top = INT_MIN;
	std::vector<int> in(n);
	unsigned int seed = 12345;

	for (int i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		in[i] = (int)(seed >> 12) % 2001 - 1000;
		want_sum += in[i];
		want_top = std::max(want_top, in[i]);
	}
	CHECK(cudaMalloc(&din, n * sizeof(int)));
	CHECK(cudaMalloc(&dsum, sizeof(*dsum)));
	CHECK(cudaMalloc(&dtop, sizeof(*dtop)));
	CHECK(cudaMemcpy(din, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(dsum, 0, sizeof(*dsum)));
	CHECK(cudaMemcpy(dtop, &lowest, sizeof(lowest), cudaMemcpyHostToDevice));
	reduce<<<16, 256>>>(din, n, dsum, dtop);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&sum, dsum, sizeof(sum), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(&top, dtop, sizeof(top), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(din));
	CHECK(cudaFree(dsum));
	CHECK(cudaFree(dtop));
	printf("reduce: sum %lld (CPU %lld), maximum %d (CPU %d)\n", (long long)sum, want_sum,
	       top, want_top);
	return report("reduce", ((long long)sum != want_sum) + (top != want_top), 2);
}
