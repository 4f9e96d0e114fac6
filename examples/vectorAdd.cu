// SPDX-License-Identifier: Apache-2.0
// Computes c = a + b for vectors whose length is not a multiple of the block.
#include <vector>
#include "check.h"

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
	int n = size_arg(argc, argv, 50000);
	size_t bytes = n * sizeof(float);
	std::vector<float> a(n), b(n), c(n);
	float *da, *db, *dc;
	long wrong = 0;

	for (int i = 0; i < n; i++) {
		a[i] = (float)(i % 1000) * 0.25f;
		b[i] = (float)(i % 77) - 38.5f;
	}
	CHECK(cudaMalloc(&da, bytes));
	CHECK(cudaMalloc(&db, bytes));
	CHECK(cudaMalloc(&dc, bytes));
	CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));

	vector_add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
	CHECK(cudaGetLastError());

	CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaFree(da));
	CHECK(cudaFree(db));
	CHECK(cudaFree(dc));
	for (int i = 0; i < n; i++)
		wrong += c[i] != a[i] + b[i];
	return report("vectorAdd", wrong, n);
}
