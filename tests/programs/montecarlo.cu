// SPDX-License-Identifier: Apache-2.0
// Computes pi and a European call option by Monte Carlo over cuRAND, with XORWOW and Philox,
// uniform and normal, float and double, seeds and offsets. Counts are integers and sums have a
// fixed order, so each figure is the same in every run.
//
// 	montecarlo [n=1048576]
#include <algorithm>
#include <cmath>
#include <curand.h>
#include "program.h"

#define THREADS	256
#define BLOCKS	64

static const struct {
	const char *name;
	curandRngType_t type;
} kinds[] = {
	{ "xorwow", CURAND_RNG_PSEUDO_XORWOW },
	{ "philox", CURAND_RNG_PSEUDO_PHILOX4_32_10 },
};

__global__ void count_inside(const float *xy, int pairs, unsigned long long *inside)
{
	unsigned long long n = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x)
		n += xy[2 * i] * xy[2 * i] + xy[2 * i + 1] * xy[2 * i + 1] <= 1.0f;
	atomicAdd(inside, n);
}

/* Computes one sum for each thread; the host adds them up in their order. */
__global__ void pay_off(const double *z, int n, double *sum)
{
	const double s0 = 100, strike = 105, rate = 0.03, sigma = 0.2;
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	double total = 0;

	for (int i = t; i < n; i += gridDim.x * blockDim.x) {
		double s = s0 * exp(rate - sigma * sigma / 2 + sigma * z[i]);

		total += s > strike ? exp(-rate) * (s - strike) : 0;
	}
	sum[t] = total;
}

static curandGenerator_t generator(curandRngType_t type, unsigned long long seed,
				   unsigned long long offset)
{
	curandGenerator_t g;

	CHECK_STATUS(curandCreateGenerator(&g, type));
	CHECK_STATUS(curandSetPseudoRandomGeneratorSeed(g, seed));
	CHECK_STATUS(curandSetGeneratorOffset(g, offset));
	return g;
}

static void pi(const char *name, curandGenerator_t g, int n)
{
	unsigned long long *inside, count;
	float *xy;

	CHECK(cudaMalloc(&xy, n * sizeof(*xy)));
	CHECK(cudaMalloc(&inside, sizeof(*inside)));
	CHECK(cudaMemset(inside, 0, sizeof(*inside)));
	CHECK_STATUS(curandGenerateUniform(g, xy, n));
	count_inside<<<BLOCKS, THREADS>>>(xy, n / 2, inside);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(&count, inside, sizeof(count), cudaMemcpyDeviceToHost));
	printf("%s pi %llu of %d: %a\n", name, count, n / 2, 4.0 * count / (n / 2));
	CHECK(cudaFree(xy));
	CHECK(cudaFree(inside));
}

static void option_price(const char *name, curandGenerator_t g, int n)
{
	double *z, *sum, total = 0;
	std::vector<double> host(BLOCKS * THREADS);

	CHECK(cudaMalloc(&z, n * sizeof(*z)));
	CHECK(cudaMalloc(&sum, host.size() * sizeof(*sum)));
	CHECK_STATUS(curandGenerateNormalDouble(g, z, n, 0, 1));
	pay_off<<<BLOCKS, THREADS>>>(z, n, sum);
	CHECK_LAUNCH();
	CHECK(cudaMemcpy(host.data(), sum, host.size() * sizeof(*sum), cudaMemcpyDeviceToHost));
	for (double s : host)
		total += s;
	printf("%s call option %a\n", name, total / n);
	CHECK(cudaFree(z));
	CHECK(cudaFree(sum));
}

/* Prints the bits of each kind of number, and of the numbers after an offset and a new seed. */
static void sequences(const char *name, curandGenerator_t g, int n)
{
	unsigned int *bits;
	double *wide;
	float *f;
	uint64_t h;

	CHECK(cudaMalloc(&bits, n * sizeof(*bits)));
	CHECK(cudaMalloc(&f, n * sizeof(*f)));
	CHECK(cudaMalloc(&wide, n * sizeof(*wide)));
	CHECK_STATUS(curandGenerate(g, bits, n));
	h = hash_device(bits, n);
	CHECK_STATUS(curandGenerateUniform(g, f, n));
	h = hash_device(f, n, h);
	CHECK_STATUS(curandGenerateUniformDouble(g, wide, n));
	h = hash_device(wide, n, h);
	CHECK_STATUS(curandGenerateNormal(g, f, n, 1, 2));
	h = hash_device(f, n, h);
	CHECK_STATUS(curandSetGeneratorOffset(g, 12345));
	CHECK_STATUS(curandGenerate(g, bits, n));
	h = hash_device(bits, n, h);
	CHECK_STATUS(curandSetPseudoRandomGeneratorSeed(g, 99));
	CHECK_STATUS(curandGenerate(g, bits, n));
	printf("%s sequences %016llx\n", name, (unsigned long long)hash_device(bits, n, h));
	CHECK(cudaFree(bits));
	CHECK(cudaFree(f));
	CHECK(cudaFree(wide));
}

int main(int argc, char **argv)
{
	int n = option(argc, argv, "n", 1 << 20);

	for (auto &k : kinds) {
		curandGenerator_t g = generator(k.type, 42, 1000);

		pi(k.name, g, n);
		option_price(k.name, g, n);
		sequences(k.name, g, std::min(n, 100000) / 2 * 2);
		CHECK_STATUS(curandDestroyGenerator(g));
	}
	return 0;
}
