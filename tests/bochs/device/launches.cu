// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, waits, and checks what it did, many times. On the test device (backend.c)
// the device's engine does the kernel's work; elsewhere the kernel runs as it stands here.
#include "../../../examples/check.h"

extern "C" __global__ void accumulate(unsigned long long *sum, unsigned int add)
{
	*sum += add;
}

int main(int argc, char **argv)
{
	unsigned long long *sum, seen, want = 1000;
	int n = size_arg(argc, argv, 10000);
	cudaStream_t stream;
	long wrong = 0;

	CHECK(cudaMalloc(&sum, sizeof(*sum)));
	CHECK(cudaMemcpy(sum, &want, sizeof(want), cudaMemcpyHostToDevice));
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < n; i++) {
		accumulate<<<1, 1, 0, stream>>>(sum, i);
		CHECK(cudaStreamSynchronize(stream));
		CHECK(cudaMemcpy(&seen, sum, sizeof(seen), cudaMemcpyDeviceToHost));
		want += i;
		wrong += seen != want;
	}
	CHECK(cudaGetLastError());
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(sum));
	return report("launches", wrong, n);
}
