// SPDX-License-Identifier: Apache-2.0
// Runs threads that come and go, each with a cuBLAS handle and a cuRAND generator of its own.
// What libraries and driver keep for a thread has to end with it, and a new thread often gets the
// identity of one that ended. Every other thread leaves its handle to the main thread. The
// program prints a hash for each round.
//
// 	blas_threads [rounds=20] [n=64]
#include <thread>
#include <cublas_v2.h>
#include <curand.h>
#include "program.h"

#define N_THREADS	4

static int n;
static cublasHandle_t left[N_THREADS];
static uint64_t result[N_THREADS];

static void fill(float *p, int seed, cudaStream_t stream)
{
	curandGenerator_t g;

	CHECK_STATUS(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10));
	CHECK_STATUS(curandSetPseudoRandomGeneratorSeed(g, seed));
	CHECK_STATUS(curandSetStream(g, stream));
	CHECK_STATUS(curandGenerateUniform(g, p, 2 * n * n));
	CHECK_STATUS(curandDestroyGenerator(g));
}

static void work(int t, int seed)
{
	const float one = 1, zero = 0;
	cublasHandle_t handle;
	cudaStream_t stream;
	float *a;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&a, 3 * n * n * sizeof(float)));
	CHECK_STATUS(cublasCreate(&handle));
	CHECK_STATUS(cublasSetStream(handle, stream));
	fill(a, seed, stream);
	CHECK_STATUS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, a + n * n,
				 n, &zero, a + 2 * n * n, n));
	CHECK(cudaStreamSynchronize(stream));
	result[t] = hash_device(a + 2 * n * n, n * n, result[t]);
	CHECK(cudaFree(a));
	if (t % 2) {
		CHECK_STATUS(cublasSetStream(handle, NULL));
		left[t] = handle;
	} else {
		CHECK_STATUS(cublasDestroy(handle));
	}
	CHECK(cudaStreamDestroy(stream));
}

static void one_round(int r)
{
	std::vector<std::thread> threads;
	uint64_t h = 0;

	for (int t = 0; t < N_THREADS; t++)
		threads.emplace_back(work, t, r * N_THREADS + t);
	for (auto &t : threads)
		t.join();
	for (int t = 0; t < N_THREADS; t++) {
		if (t % 2)
			CHECK_STATUS(cublasDestroy(left[t]));
		h = hash_bytes(&result[t], sizeof(result[t]), h);
	}
	printf("round %d: %016llx\n", r, (unsigned long long)h);
}

int main(int argc, char **argv)
{
	int rounds = option(argc, argv, "rounds", 20);

	n = option(argc, argv, "n", 64);
	for (int r = 0; r < rounds; r++)
		one_round(r);
	return 0;
}
