// SPDX-License-Identifier: Apache-2.0
// Four threads, each with a stream and memory of its own: each copies in, launches in
// several rounds, copies out and checks, while the others do the same.
#include <pthread.h>
#include <thread>
#include <vector>
#include "check.h"

#define N_THREADS	4
#define ROUNDS		8

static long wrong[N_THREADS];
static pthread_barrier_t together;

__global__ void step(unsigned int *x, int n, unsigned int salt)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] * 31 + salt;
}

static unsigned int first(int t, int i)
{
	return t * 1000003u + i;
}

static unsigned int expected(int t, int i, int rounds)
{
	unsigned int x = first(t, i);

	for (int r = 0; r < rounds; r++)
		x = x * 31 + t + r;
	return x;
}

static void work(int t, int n)
{
	size_t bytes = n * sizeof(unsigned int);
	unsigned int *host, *dev;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMallocHost(&host, bytes));
	CHECK(cudaMalloc(&dev, bytes));
	for (int i = 0; i < n; i++)
		host[i] = first(t, i);
	pthread_barrier_wait(&together);
	CHECK(cudaMemcpyAsync(dev, host, bytes, cudaMemcpyHostToDevice, stream));
	for (int r = 0; r < ROUNDS; r++) {
		step<<<(n + 127) / 128, 128, 0, stream>>>(dev, n, t + r);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(host, dev, bytes, cudaMemcpyDeviceToHost, stream));
		CHECK(cudaStreamSynchronize(stream));
		for (int i = 0; i < n; i++)
			wrong[t] += host[i] != expected(t, i, r + 1);
	}
	pthread_barrier_wait(&together);
	CHECK(cudaFree(dev));
	CHECK(cudaFreeHost(host));
	CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	int n = size_arg(argc, argv, 2000);
	std::vector<std::thread> threads;
	long sum = 0;

	pthread_barrier_init(&together, NULL, N_THREADS);
	for (int t = 0; t < N_THREADS; t++)
		threads.emplace_back(work, t, n);
	for (auto &t : threads)
		t.join();
	for (int t = 0; t < N_THREADS; t++)
		sum += wrong[t];
	return report("threads", sum, (long)N_THREADS * ROUNDS * n);
}
