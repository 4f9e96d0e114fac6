// SPDX-License-Identifier: Apache-2.0
// Makes a mix of 40 functions, as Caffe's Neuron layer tests call them in a paper's trace of 1.1
// million calls. The numbers of the first five are the paper's (tests/programs/neuron.cu). Of the
// other 35 only the number of functions is known here. So they are functions that Caffe
// imports, and share what is left of 1,100,000 evenly: a model.
//
//	mix40 [calls=12600]
//
// Prints what neuron prints. Each of the 35 comes once in 12,164 calls.
#include <cublas_v2.h>
#include <curand.h>
#include <functional>
#include "../tests/programs/program.h"
#include "../tests/programs/shares.h"

#define N	120	// floats: 480 bytes
#define WHOLE	1100000

__global__ void neuron(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] > 0 ? x[i] : 0.5f * x[i];
}

// What the functions work on. Those that make something come before those that use and end it.
static float host[N], result, *dev, *other, *made_dev, *made_host;
static const float one = 1, part = 0.5f;
static cudaStream_t stream;
static cudaEvent_t first, second;
static cublasHandle_t blas, made_blas;
static curandGenerator_t generator, made_generator;
static long copies, calls_made;
static uint64_t hash_of_copies = hash_bytes("", 0);

static void copy()
{
	if (copies++ % 2) {
		CHECK(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
		hash_of_copies = hash_bytes(host, sizeof(host), hash_of_copies);
	} else {
		host[copies % N] = (float)(copies % 977) / 977 - 0.5f;
		CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	}
}

#define RUN(call)	[] { CHECK(call); }
#define ASK(call)	[] { CHECK_STATUS(call); }

static const struct Kind {
	long share;	// 0: one of those that share the rest
	void (*call)();
} kinds[] = {
	{ 290122, copy },
	{ 268537, ASK(curandSetPseudoRandomGeneratorSeed(generator, 1701 + calls_made)) },
	{ 268536, ASK(curandSetGeneratorOffset(generator, 0)) },
	{ 142394, [] { neuron<<<1, 128>>>(dev, N); } },
	{ 127246, RUN(cudaPeekAtLastError()) },
	{ 0, [] { int n; CHECK(cudaGetDeviceCount(&n)); } },
	{ 0, [] { int d; CHECK(cudaGetDevice(&d)); } },
	{ 0, RUN(cudaSetDevice(0)) },
	{ 0, [] { int v; CHECK(cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0)); } },
	{ 0, [] { cudaDeviceProp p; CHECK(cudaGetDeviceProperties(&p, 0)); } },
	{ 0, RUN(cudaGetLastError()) },
	{ 0, RUN(cudaMalloc(&made_dev, sizeof(host))) },
	{ 0, RUN(cudaMallocHost(&made_host, sizeof(host))) },
	{ 0, RUN(cudaMemset(made_dev, 0, sizeof(host))) },
	{ 0, RUN(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) },
	{ 0, RUN(cudaEventCreate(&first)) },
	{ 0, RUN(cudaEventRecord(first, stream)) },
	{ 0, RUN(cudaMemcpyAsync(made_host, made_dev, sizeof(host), cudaMemcpyDeviceToHost,
				 stream)) },
	{ 0, RUN(cudaStreamSynchronize(stream)) },
	{ 0, RUN(cudaEventSynchronize(first)) },
	{ 0, [] { float ms; CHECK(cudaEventElapsedTime(&ms, second, second)); } },
	{ 0, RUN(cudaEventDestroy(first)) },
	{ 0, RUN(cudaStreamDestroy(stream)) },
	{ 0, RUN(cudaFreeHost(made_host)) },
	{ 0, RUN(cudaFree(made_dev)) },
	{ 0, ASK(curandCreateGenerator(&made_generator, CURAND_RNG_PSEUDO_XORWOW)) },
	{ 0, ASK(curandGenerateUniform(made_generator, other, N)) },
	{ 0, ASK(curandGenerateNormal(made_generator, other, N, 0, 1)) },
	{ 0, ASK(curandDestroyGenerator(made_generator)) },
	{ 0, ASK(cublasCreate(&made_blas)) },
	{ 0, ASK(cublasSetStream(made_blas, NULL)) },
	{ 0, [] { cudaStream_t s; CHECK_STATUS(cublasGetStream(made_blas, &s)); } },
	{ 0, ASK(cublasDestroy(made_blas)) },
	{ 0, ASK(cublasSasum(blas, N, dev, 1, &result)) },
	{ 0, ASK(cublasSaxpy(blas, N, &part, dev, 1, other, 1)) },
	{ 0, ASK(cublasScopy(blas, N, dev, 1, other, 1)) },
	{ 0, ASK(cublasSdot(blas, N, dev, 1, other, 1, &result)) },
	{ 0, ASK(cublasSscal(blas, N, &part, other, 1)) },
	{ 0, ASK(cublasSgemv(blas, CUBLAS_OP_N, 10, 12, &one, dev, 10, dev, 1, &part, other, 1)) },
	{ 0, ASK(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, dev, 8, dev, 8, &part,
			     other, 8)) },
};
static const int KINDS = sizeof(kinds) / sizeof(kinds[0]), KNOWN = 5;
static_assert(sizeof(kinds) / sizeof(kinds[0]) == 40, "the paper's table has 40 functions");

// Shares and debts are in 35ths of a call. The rest starts with debts apart, so that each of
// them comes in its turn.
static long share[KINDS], debt[KINDS], made[KINDS];

static long set_shares()
{
	long rest = WHOLE;

	for (int j = 0; j < KNOWN; j++)
		rest -= kinds[j].share;
	for (int j = 0; j < KINDS; j++) {
		share[j] = j < KNOWN ? kinds[j].share * (KINDS - KNOWN) : rest;
		debt[j] = j < KNOWN ? 0 : -(long)WHOLE * (j - KNOWN);
	}
	return (long)WHOLE * (KINDS - KNOWN);
}

static void start()
{
	CHECK(cudaMalloc(&dev, sizeof(host)));
	CHECK(cudaMalloc(&other, sizeof(host)));
	CHECK(cudaMemset(other, 0, sizeof(host)));
	CHECK(cudaEventCreate(&second));
	CHECK(cudaEventRecord(second));
	CHECK_STATUS(cublasCreate(&blas));
	CHECK_STATUS(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW));
	CHECK(cudaMemcpy(dev, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	long calls = option(argc, argv, "calls", 12600), total = set_shares(), rest = 0;
	double begin;

	start();
	begin = now();
	for (; calls_made < calls; calls_made++) {
		int k = next_kind(debt, share, KINDS, total);

		kinds[k].call();
		made[k]++;
	}
	CHECK(cudaDeviceSynchronize());
	fprintf(stderr, "rate %.0f calls/s\n", calls / (now() - begin));
	for (int j = KNOWN; j < KINDS; j++)
		rest += made[j];
	print_hash("copies", hash_of_copies);
	print_hash("other", hash_device(other, N));
	printf("calls %ld: %ld copies %ld seeds %ld offsets %ld launches %ld peeks %ld of others\n",
	       calls, made[0], made[1], made[2], made[3], made[4], rest);
	return 0;
}
