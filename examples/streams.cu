// SPDX-License-Identifier: Apache-2.0
// Two streams: each copies in, computes and copies out from pinned memory. The second one
// waits by an event for a value that the first one computes.
#include "check.h"

__global__ void scale(float *x, int n, float f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= f;
}

__global__ void add(float *x, const float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += y[i];
}

int main(int argc, char **argv)
{
	int n = size_arg(argc, argv, 20000), blocks = (n + 127) / 128;
	size_t bytes = n * sizeof(float);
	cudaEvent_t begin, scaled, end;
	cudaStream_t stream[2];
	float *host[2], *dev[2];
	long wrong = 0;
	float ms = -1;

	for (int s = 0; s < 2; s++) {
		CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
		CHECK(cudaMallocHost(&host[s], bytes));
		CHECK(cudaMalloc(&dev[s], bytes));
		for (int i = 0; i < n; i++)
			host[s][i] = (float)(i % 512 + s);
	}
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreateWithFlags(&scaled, cudaEventDisableTiming));
	CHECK(cudaEventCreate(&end));

	CHECK(cudaEventRecord(begin, stream[0]));
	for (int s = 0; s < 2; s++) {
		CHECK(cudaMemcpyAsync(dev[s], host[s], bytes, cudaMemcpyHostToDevice, stream[s]));
		scale<<<blocks, 128, 0, stream[s]>>>(dev[s], n, s + 2.0f);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaEventRecord(scaled, stream[0]));
	CHECK(cudaStreamWaitEvent(stream[1], scaled, 0));
	add<<<blocks, 128, 0, stream[1]>>>(dev[1], dev[0], n);
	CHECK(cudaGetLastError());
	for (int s = 0; s < 2; s++)
		CHECK(cudaMemcpyAsync(host[s], dev[s], bytes, cudaMemcpyDeviceToHost, stream[s]));
	CHECK(cudaEventRecord(end, stream[1]));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaStreamSynchronize(stream[0]));
	CHECK(cudaEventElapsedTime(&ms, begin, end));

	for (int i = 0; i < n; i++) {
		float first = (i % 512) * 2.0f, second = (i % 512 + 1) * 3.0f + first;

		wrong += (host[0][i] != first) + (host[1][i] != second);
	}
	wrong += !(ms >= 0);
	for (int s = 0; s < 2; s++) {
		CHECK(cudaFree(dev[s]));
		CHECK(cudaFreeHost(host[s]));
		CHECK(cudaStreamDestroy(stream[s]));
	}
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(scaled));
	CHECK(cudaEventDestroy(end));
	return report("streams", wrong, 2L * n + 1);
}
