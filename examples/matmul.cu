// SPDX-License-Identifier: Apache-2.0
// Computes C = A * B with 16x16 tiles in shared memory. Any size works, since edges are
// guarded.
#include <cmath>
#include <vector>
#include "check.h"

#define TILE 16

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y;
	int col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0.0f;

	for (int t = 0; t < n; t += TILE) {
		int x = t + threadIdx.x, y = t + threadIdx.y;

		ta[threadIdx.y][threadIdx.x] = row < n && x < n ? a[row * n + x] : 0.0f;
		tb[threadIdx.y][threadIdx.x] = y < n && col < n ? b[y * n + col] : 0.0f;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}

static long check(const std::vector<float> &a, const std::vector<float> &b,
		  const std::vector<float> &c, int n)
{
	long wrong = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0, size = 0;

			for (int k = 0; k < n; k++) {
				double term = (double)a[i * n + k] * b[k * n + j];

				sum += term;
				size += fabs(term);
			}
			// There are n float roundings, each relative to the sum of
			// magnitudes.
			wrong += !(fabs(c[i * n + j] - sum) <= size * n * 6e-8);
		}
	return wrong;
}

int main(int argc, char **argv)
{
	int n = size_arg(argc, argv, 72);
	size_t count = (size_t)n * n, bytes = count * sizeof(float);
	std::vector<float> a(count), b(count), c(count);
	dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
	float *da, *db, *dc;

	for (size_t i = 0; i < count; i++) {
		a[i] = (float)(i % 13) * 0.37f - 2.0f;
		b[i] = (float)(i % 7) * 0.51f - 1.5f;
	}
	CHECK(cudaMalloc(&da, bytes));
	CHECK(cudaMalloc(&db, bytes));
	CHECK(cudaMalloc(&dc, bytes));
	CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
	matmul<<<grid, block>>>(da, db, dc, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(da));
	CHECK(cudaFree(db));
	CHECK(cudaFree(dc));
	return report("matmul", check(a, b, c, n), (long)count);
}
