// SPDX-License-Identifier: Apache-2.0
/*
 * The stand-in for cuRAND: the generators of cuRAND's host API, on our own kernels. This
 * file owns a generator's position; rand.cu decides which word becomes which output. A host
 * generator also computes on the device, and copies the results.
 */
#include "../standin/standin.h"

#include <curand.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum what { BITS, UNIFORM, UNIFORM2, NORMAL, NORMAL2, LOG, LOG2, NWHAT };
enum family { XORWOW, MRG, PHILOX };

static const struct {
	uint8_t size;		/* bytes of an output */
	uint8_t pair;		/* outputs come in pairs */
} shape[NWHAT] = {
	{ 4, 0 }, { 4, 0 }, { 8, 0 }, { 4, 1 }, { 8, 1 }, { 4, 1 }, { 8, 1 },
};

#define NAMES(f) { { #f "_bits" }, { #f "_uniform" }, { #f "_uniform2" }, { #f "_normal" }, \
		   { #f "_normal2" }, { #f "_log" }, { #f "_log2" } }

static struct standin_kernel kernels[][NWHAT] = {
	[XORWOW] = NAMES(xorwow), [MRG] = NAMES(mrg), [PHILOX] = NAMES(philox),
};

struct curandGenerator_st {
	enum family family;
	bool host;
	unsigned int width;	/* number of subsequences that take turns */
	CUstream stream;
	CUdeviceptr states;	/* states of the subsequences, made at the first use */
	unsigned long long seed;
	unsigned long long offset;	/* position of the next start */
	unsigned long long start;	/* states exist from this position on */
	unsigned long long pos;		/* position of the next output */
};

static const size_t state_size[] = { [XORWOW] = 48, [MRG] = 72 };

#define LEGACY_WIDTH	4096u
#define MRG_WIDTH	81920u	/* the width of MRG32k3a's default order */
#define THREADS		128u

/* --- Generators and their settings --------------------------------------------- */

static void restart(curandGenerator_t g)
{
	g->start = g->pos = g->offset;
}

static curandStatus_t create(curandGenerator_t *out, curandRngType_t type, bool host)
{
	curandGenerator_t g;
	enum family family;

	if (!out)
		return CURAND_STATUS_OUT_OF_RANGE;
	switch (type) {
	case CURAND_RNG_PSEUDO_DEFAULT:
	case CURAND_RNG_PSEUDO_XORWOW:
		family = XORWOW;
		break;
	case CURAND_RNG_PSEUDO_MRG32K3A:
		family = MRG;
		break;
	case CURAND_RNG_PSEUDO_PHILOX4_32_10:
		family = PHILOX;
		break;
	case CURAND_RNG_PSEUDO_MTGP32:
	case CURAND_RNG_PSEUDO_MT19937:
	case CURAND_RNG_QUASI_DEFAULT:
	case CURAND_RNG_QUASI_SOBOL32:
	case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
	case CURAND_RNG_QUASI_SOBOL64:
	case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
		standin_refuse("a generator other than XORWOW, Philox and MRG32k3a");
		return CURAND_STATUS_ARCH_MISMATCH;
	default:
		return CURAND_STATUS_TYPE_ERROR;
	}
	if (!standin_start())
		return CURAND_STATUS_INITIALIZATION_FAILED;
	g = calloc(1, sizeof(*g));
	if (!g)
		return CURAND_STATUS_ALLOCATION_FAILED;
	g->family = family;
	g->host = host;
	g->width = family == MRG ? MRG_WIDTH : LEGACY_WIDTH;
	*out = g;
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandCreateGenerator(curandGenerator_t *g, curandRngType_t type)
{
	return create(g, type, false);
}

EXPORT curandStatus_t curandCreateGeneratorHost(curandGenerator_t *g, curandRngType_t type)
{
	return create(g, type, true);
}

static void drop_states(curandGenerator_t g)
{
	if (g->states)
		standin_drv.cuMemFree_v2(g->states);
	g->states = 0;
}

EXPORT curandStatus_t curandDestroyGenerator(curandGenerator_t g)
{
	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	drop_states(g);
	free(g);
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandGetVersion(int *version)
{
	if (!version)
		return CURAND_STATUS_OUT_OF_RANGE;
	*version = CURAND_VERSION;
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CURAND_STATUS_OUT_OF_RANGE;
	*value = version[type];
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandSetStream(curandGenerator_t g, cudaStream_t stream)
{
	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	/* The stream that made the states must be done before another one uses them. */
	if (g->states && g->stream != (CUstream)stream)
		standin_drv.cuStreamSynchronize(g->stream);
	g->stream = (CUstream)stream;
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g,
							 unsigned long long seed)
{
	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	g->seed = seed;
	restart(g);
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset)
{
	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	g->offset = offset;
	restart(g);
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandSetGeneratorOrdering(curandGenerator_t g, curandOrdering_t order)
{
	unsigned int width = LEGACY_WIDTH;

	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	switch (order) {
	case CURAND_ORDERING_PSEUDO_BEST:
	case CURAND_ORDERING_PSEUDO_DEFAULT:
		if (g->family == MRG)
			width = MRG_WIDTH;
		break;
	case CURAND_ORDERING_PSEUDO_LEGACY:
		break;
	case CURAND_ORDERING_PSEUDO_DYNAMIC:
		/* Each device has an order of its own; softgpu's is the default order. */
		if (g->host)
			return CURAND_STATUS_OUT_OF_RANGE;
		if (g->family == MRG)
			width = MRG_WIDTH;
		break;
	case CURAND_ORDERING_PSEUDO_SEEDED:
		if (g->family == XORWOW)
			standin_refuse("the seeded ordering");
		return CURAND_STATUS_OUT_OF_RANGE;
	default:
		return CURAND_STATUS_OUT_OF_RANGE;
	}
	if (width != g->width)
		drop_states(g);
	g->width = width;
	restart(g);
	return CURAND_STATUS_SUCCESS;
}

EXPORT curandStatus_t curandGenerateSeeds(curandGenerator_t g)
{
	/* A state is made at the first turn of its subsequence. */
	return g ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}

/* --- Numbers -------------------------------------------------------------------- */

static curandStatus_t run(curandGenerator_t g, enum what what, CUdeviceptr out, size_t n,
			  double mean, double dev)
{
	/* A turn makes one output or one pair; with Philox it makes four positions. */
	unsigned long long count = n, threads, grid;

	if (g->family == PHILOX) {
		threads = (g->pos + n - 1) / 4 - g->pos / 4 + 1;
	} else {
		count = shape[what].pair ? n / 2 : n;
		threads = count < g->width ? count : g->width;
		if (!g->states && standin_drv.cuMemAlloc_v2(&g->states, (size_t)g->width *
							    state_size[g->family]))
			return CURAND_STATUS_ALLOCATION_FAILED;
	}
	grid = (threads + THREADS - 1) / THREADS;
	if (grid > 0x7fffffff)
		return CURAND_STATUS_LAUNCH_FAILURE;
	if (standin_launch(&kernels[g->family][what], (unsigned int[3]){ grid, 1, 1 }, THREADS,
			   g->stream, (void *[]){ &g->states, &g->width, &g->seed, &g->start,
						  &g->pos, &count, &out, &mean, &dev }))
		return CURAND_STATUS_LAUNCH_FAILURE;
	g->pos += count;
	return CURAND_STATUS_SUCCESS;
}

static curandStatus_t run_host(curandGenerator_t g, enum what what, void *out, size_t n,
			       double mean, double dev)
{
	size_t bytes = n * shape[what].size;
	curandStatus_t st;
	CUdeviceptr room;

	if (standin_drv.cuMemAlloc_v2(&room, bytes))
		return CURAND_STATUS_ALLOCATION_FAILED;
	st = run(g, what, room, n, mean, dev);
	if (!st && (standin_drv.cuMemcpyDtoHAsync_v2(out, room, bytes, g->stream) ||
		    standin_drv.cuStreamSynchronize(g->stream)))
		st = CURAND_STATUS_LAUNCH_FAILURE;
	standin_drv.cuMemFree_v2(room);
	return st;
}

static curandStatus_t generate(curandGenerator_t g, enum what what, void *out, size_t n,
			       double mean, double dev)
{
	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	/* Only Philox can make single normals, so the others need an even number. */
	if (shape[what].pair && n % 2 && g->family != PHILOX)
		return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
	if (!n)
		return CURAND_STATUS_SUCCESS;
	if (!standin_start())
		return CURAND_STATUS_PREEXISTING_FAILURE;
	if (g->host)
		return run_host(g, what, out, n, mean, dev);
	return run(g, what, (uintptr_t)out, n, mean, dev);
}

EXPORT curandStatus_t curandGenerate(curandGenerator_t g, unsigned int *out, size_t n)
{
	return generate(g, BITS, out, n, 0, 0);
}

EXPORT curandStatus_t curandGenerateLongLong(curandGenerator_t g, unsigned long long *out,
					     size_t n)
{
	(void)out;
	(void)n;
	/* Only 64-bit generators have this call, and there is none here. */
	return g ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_NOT_INITIALIZED;
}

EXPORT curandStatus_t curandGenerateUniform(curandGenerator_t g, float *out, size_t n)
{
	return generate(g, UNIFORM, out, n, 0, 0);
}

EXPORT curandStatus_t curandGenerateUniformDouble(curandGenerator_t g, double *out, size_t n)
{
	return generate(g, UNIFORM2, out, n, 0, 0);
}

EXPORT curandStatus_t curandGenerateNormal(curandGenerator_t g, float *out, size_t n, float mean,
					   float stddev)
{
	return generate(g, NORMAL, out, n, mean, stddev);
}

EXPORT curandStatus_t curandGenerateNormalDouble(curandGenerator_t g, double *out, size_t n,
						 double mean, double stddev)
{
	return generate(g, NORMAL2, out, n, mean, stddev);
}

EXPORT curandStatus_t curandGenerateLogNormal(curandGenerator_t g, float *out, size_t n,
					      float mean, float stddev)
{
	return generate(g, LOG, out, n, mean, stddev);
}

EXPORT curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t g, double *out, size_t n,
						    double mean, double stddev)
{
	return generate(g, LOG2, out, n, mean, stddev);
}
