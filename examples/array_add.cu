// SPDX-License-Identifier: Apache-2.0
// Adds 1 to each of 32 doubles on the GPU and prints the array before and after.
#include "check.h"

__global__ void add_one(double *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] += 1.0;
}

static void print(const char *label, const double *a, int n)
{
	printf("%s", label);
	for (int i = 0; i < n; i++)
		printf(" %g", a[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	int n = size_arg(argc, argv, 32);
	double *a = new double[n], *dev;
	long wrong = 0;

	for (int i = 0; i < n; i++)
		a[i] = i * 0.5;
	print("before:", a, n);

	CHECK(cudaMalloc(&dev, n * sizeof(double)));
	CHECK(cudaMemcpy(dev, a, n * sizeof(double), cudaMemcpyHostToDevice));
	add_one<<<(n + 31) / 32, 32>>>(dev, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(a, dev, n * sizeof(double), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(dev));

	print("after: ", a, n);
	for (int i = 0; i < n; i++)
		wrong += a[i] != i * 0.5 + 1.0;
	delete[] a;
	return report("array_add", wrong, n);
}
