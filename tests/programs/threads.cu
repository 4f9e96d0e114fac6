// SPDX-License-Identifier: Apache-2.0
// Runs eight threads with sixteen streams. Each thread drives two of them and its own default
// stream, hands values to its neighbour's stream by an event, and counts callbacks. It prints a
// hash for each thread, in the threads' order.
//
// 	threads [rounds=50] [n=4096]
#include <atomic>
#include <pthread.h>
#include <thread>
#include "program.h"

#define N_THREADS	8
#define PER_THREAD	2

static int rounds, n;
static cudaStream_t stream[N_THREADS][PER_THREAD];
static cudaEvent_t ready[N_THREADS];
static unsigned int *dev[N_THREADS][PER_THREAD], *own[N_THREADS], *seen[N_THREADS];
static std::atomic<int> host_functions[N_THREADS], callbacks[N_THREADS];
static uint64_t result[N_THREADS];
static pthread_barrier_t together;

__global__ void mix(unsigned int *x, int n, unsigned int salt)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = (x[i] ^ salt) * 2654435761u + i;
}

__global__ void take(unsigned int *to, const unsigned int *from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = to[i] * 31 + from[i];
}

static void CUDART_CB on_host(void *counter)
{
	(*(std::atomic<int> *)counter)++;
}

static void CUDART_CB on_stream(cudaStream_t, cudaError_t status, void *counter)
{
	if (status == cudaSuccess)
		(*(std::atomic<int> *)counter)++;
}

/* Makes a round, which has four parts with a barrier between, so that events are in order. */
static void one_round(int t, int r)
{
	int blocks = (n + 127) / 128, neighbour = (t + 1) % N_THREADS;

	for (int s = 0; s < PER_THREAD; s++) {
		mix<<<blocks, 128, 0, stream[t][s]>>>(dev[t][s], n, t * 1000 + s * 100 + r);
		CHECK_LAUNCH();
	}
	CHECK(cudaEventRecord(ready[t], stream[t][1]));
	pthread_barrier_wait(&together);
	/* This thread's first stream reads what the neighbour's second one has made. */
	CHECK(cudaStreamWaitEvent(stream[t][0], ready[neighbour], 0));
	take<<<blocks, 128, 0, stream[t][0]>>>(dev[t][0], dev[neighbour][1], n);
	CHECK_LAUNCH();
	CHECK(cudaLaunchHostFunc(stream[t][0], on_host, &host_functions[t]));
	if (r % 10 == 0)
		CHECK(cudaStreamAddCallback(stream[t][1], on_stream, &callbacks[t], 0));
	/* The thread's own default stream works beside all this. */
	mix<<<blocks, 128, 0, cudaStreamPerThread>>>(own[t], n, r);
	CHECK_LAUNCH();
	CHECK(cudaMemcpyAsync(seen[t], own[t], n * sizeof(int), cudaMemcpyDeviceToHost,
			      cudaStreamPerThread));
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	result[t] = hash_bytes(seen[t], n * sizeof(int), result[t]);
	CHECK(cudaStreamSynchronize(stream[t][0]));
	pthread_barrier_wait(&together);
}

static void prepare(int t)
{
	for (int s = 0; s < PER_THREAD; s++) {
		CHECK(cudaStreamCreateWithFlags(&stream[t][s], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&dev[t][s], n * sizeof(int)));
		CHECK(cudaMemsetAsync(dev[t][s], t + s, n * sizeof(int), stream[t][s]));
	}
	CHECK(cudaMalloc(&own[t], n * sizeof(int)));
	CHECK(cudaMemsetAsync(own[t], 0x55, n * sizeof(int), cudaStreamPerThread));
	CHECK(cudaMallocHost(&seen[t], n * sizeof(int)));
	CHECK(cudaEventCreateWithFlags(&ready[t], cudaEventDisableTiming));
}

static void work(int t)
{
	prepare(t);
	pthread_barrier_wait(&together);
	for (int r = 0; r < rounds; r++)
		one_round(t, r);
	for (int s = 0; s < PER_THREAD; s++) {
		CHECK(cudaStreamSynchronize(stream[t][s]));
		result[t] = hash_device(dev[t][s], n, result[t]);
	}
	/* A thread must not see another thread's error, and no other thread may see this one's. */
	if (t % 2 && cudaSetDevice(-1) == cudaSuccess)
		exit(3);
	pthread_barrier_wait(&together);
	if (cudaGetLastError() != (t % 2 ? cudaErrorInvalidDevice : cudaSuccess))
		printf("thread %d has another's last error\n", t);
}

static void clean_up(int t)
{
	for (int s = 0; s < PER_THREAD; s++) {
		CHECK(cudaStreamDestroy(stream[t][s]));
		CHECK(cudaFree(dev[t][s]));
	}
	CHECK(cudaFree(own[t]));
	CHECK(cudaFreeHost(seen[t]));
	CHECK(cudaEventDestroy(ready[t]));
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	rounds = option(argc, argv, "rounds", 50);
	n = option(argc, argv, "n", 4096);
	pthread_barrier_init(&together, NULL, N_THREADS);
	for (int t = 0; t < N_THREADS; t++)
		threads.emplace_back(work, t);
	for (auto &t : threads)
		t.join();
	for (int t = 0; t < N_THREADS; t++)
		printf("thread %d: %016llx, %d host functions, %d callbacks\n", t,
		       (unsigned long long)result[t], host_functions[t].load(),
		       callbacks[t].load());
	for (int t = 0; t < N_THREADS; t++)
		clean_up(t);
	return 0;
}
