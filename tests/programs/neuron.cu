// SPDX-License-Identifier: Apache-2.0
// Makes the mix of calls of Caffe's Neuron Layer tests, as a paper traced it: of each 1,096,835
// calls 290,122 are cudaMemcpy, 268,537 curandSetPseudoRandomGeneratorSeed, 268,536
// curandSetGeneratorOffset, 142,394 launches, and 127,246 cudaPeekAtLastError. They are evenly
// spread; the copies are small and go both ways. The last line on stdout says how many calls it
// made, for programs that count crossings.
//
// 	neuron [calls=100000] [bytes=480]
#include <curand.h>
#include "program.h"
#include "shares.h"

enum kind { COPY, SEED, OFFSET, LAUNCH, PEEK, KINDS };

static const long share[KINDS] = { 290122, 268537, 268536, 142394, 127246 };

__global__ void neuron(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] > 0 ? x[i] : 0.5f * x[i];
}

int main(int argc, char **argv)
{
	long calls = option(argc, argv, "calls", 100000), bytes = option(argc, argv, "bytes", 480);
	long total = 0, debt[KINDS] = { 0 }, made[KINDS] = { 0 };
	int n = bytes / sizeof(float);
	std::vector<float> host(n);
	Random random(3);
	curandGenerator_t g;
	uint64_t h = hash_bytes("", 0);
	double start;
	float *dev;

	for (long s : share)
		total += s;
	CHECK(cudaMalloc(&dev, n * sizeof(float)));
	CHECK_STATUS(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_XORWOW));
	for (float &f : host)
		f = random.real();
	CHECK(cudaMemcpy(dev, host.data(), bytes, cudaMemcpyHostToDevice));
	start = now();
	for (long i = 0; i < calls; i++) {
		int k = next_kind(debt, share, KINDS, total);

		switch (k) {
		case COPY:
			if (made[COPY] % 2) {
				CHECK(cudaMemcpy(host.data(), dev, bytes, cudaMemcpyDeviceToHost));
				h = hash_bytes(host.data(), bytes, h);
			} else {
				host[made[COPY] % n] = random.real();
				CHECK(cudaMemcpy(dev, host.data(), bytes, cudaMemcpyHostToDevice));
			}
			break;
		case SEED:
			CHECK_STATUS(curandSetPseudoRandomGeneratorSeed(g, 1701 + i));
			break;
		case OFFSET:
			CHECK_STATUS(curandSetGeneratorOffset(g, 0));
			break;
		case LAUNCH:
			neuron<<<(n + 127) / 128, 128>>>(dev, n);
			break;
		case PEEK:
			CHECK(cudaPeekAtLastError());
			break;
		}
		made[k]++;
	}
	CHECK(cudaDeviceSynchronize());
	fprintf(stderr, "rate %.0f calls/s\n", calls / (now() - start));
	/* The seed and offset of the last calls must have arrived with this call. */
	CHECK_STATUS(curandGenerateUniform(g, dev, n / 2 * 2));
	print_hash("copies", h);
	print_hash("random", hash_device(dev, n));
	CHECK_STATUS(curandDestroyGenerator(g));
	CHECK(cudaFree(dev));
	printf("calls %ld: %ld copies %ld seeds %ld offsets %ld launches %ld peeks\n", calls,
	       made[COPY], made[SEED], made[OFFSET], made[LAUNCH], made[PEEK]);
	return 0;
}
