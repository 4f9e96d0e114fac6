// SPDX-License-Identifier: Apache-2.0
/*
 * A cuRAND that writes down what it is told. Its numbers count up from
 * 1000 * seed + offset, so that a wrong seed, offset or length shows.
 */
#include <curand.h>

#include "fake_curand.h"
#include "fake_library.h"

struct curandGenerator_st {
	unsigned long long seed, offset;
	curandRngType_t type;
	int host;
};

static curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, int host)
{
	if (!host && !has_context())
		return CURAND_STATUS_INITIALIZATION_FAILED;
	*generator = calloc(1, sizeof(**generator));
	(*generator)->type = type;
	(*generator)->host = host;
	note("create %d host=%d", type, host);
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type)
{
	return create(generator, type, 0);
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type)
{
	return create(generator, type, 1);
}

curandStatus_t curandDestroyGenerator(curandGenerator_t generator)
{
	note("destroy");
	free(generator);
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream)
{
	(void)generator;
	note("set_stream %s", stream ? "own" : "0");
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
						  unsigned long long seed)
{
	note("seed %llu", seed);
	if (generator->type >= CURAND_RNG_QUASI_DEFAULT)
		return CURAND_STATUS_TYPE_ERROR;
	generator->seed = seed;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
	note("offset %llu", offset);
	generator->offset = offset;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int n)
{
	note("dimensions %u", n);
	return generator->type < CURAND_RNG_QUASI_DEFAULT ? CURAND_STATUS_TYPE_ERROR :
							    CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int *out, size_t n)
{
	size_t i;

	note("generate %zu", n);
	if (n == HOLD_NUMBERS) {
		await_client(out, -1u);
		return CURAND_STATUS_SUCCESS;
	}
	for (i = 0; i < n; i++)
		out[i] = 1000 * generator->seed + generator->offset++;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double *out, size_t n,
					  double mean, double stddev)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = mean + stddev * generator->offset++;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetVersion(int *version)
{
	note("version");
	*version = 10499;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetScrambleConstants64(unsigned long long **constants)
{
	static unsigned long long table[20000];
	int i;

	note("constants");
	for (i = 0; i < 20000; i++)
		table[i] = 3ULL * i;
	*constants = table;
	return CURAND_STATUS_SUCCESS;
}

/* The distribution is a device address, which kernels get as a parameter. */
curandStatus_t curandCreatePoissonDistribution(double lambda, curandDiscreteDistribution_t *out)
{
	*out = (curandDiscreteDistribution_t)(unsigned long)(lambda * 4096);
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t distribution)
{
	note("drop distribution %lx", (unsigned long)distribution);
	return CURAND_STATUS_SUCCESS;
}
