// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cuRAND generator. Owns seed, offset and stream. If setting one cannot
 * fail, it makes no call, and the value is sent with the next call.
 */
#include "curand_stub.h"
#include "../handle.h"

#define ALIVE	0x7768637572616e64ULL

struct curandGenerator_st {
	struct wh_handle h;	/* alive: ALIVE */
	cudaStream_t stream;	/* as the program names it */
	struct wh_obj_curandGenerator_t o;
	uint64_t serial;
	curandRngType_t type;
	bool host;
};

static struct wh_handles generators = WH_HANDLES(struct curandGenerator_st);
static pthread_mutex_t fetching = PTHREAD_MUTEX_INITIALIZER;	/* one thread at a time */
WH_IN_CHILD(pthread_mutex_init(&generators.lock, NULL); pthread_mutex_init(&fetching, NULL))

static inline bool alive(const struct curandGenerator_st *g)
{
	return g && g->h.alive == ALIVE;
}

bool wh_pack_curandGenerator_t(curandGenerator_t g, struct wh_obj_curandGenerator_t *out)
{
	if (!alive(g))
		return false;
	*out = g->o;
	/* The per-thread default stream differs from thread to thread. */
	if (g->stream)
		out->stream = wh_library_stream(g->stream);
	return true;
}

/* --- Life -------------------------------------------------------------------------- */

static curandStatus_t create(uint32_t call, curandRngType_t type, uint64_t *id)
{
	const struct wh_rsp_curandCreateGenerator *r;
	struct wh_req_curandCreateGenerator *q;
	curandStatus_t res;
	struct wh_call c;

	q = wh_curand_begin(&c, call, sizeof(*q));
	if (!q)
		return wh_curand_lost(c.result);
	q->type = type;
	res = wh_curand_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CURAND_STATUS_SUCCESS)
		*id = r->generator;
	wh_end(&c);
	return res;
}

static curandStatus_t make(curandGenerator_t *generator, curandRngType_t type, bool host)
{
	struct curandGenerator_st *g = wh_handle_take(&generators);
	curandStatus_t res;

	if (!g)
		return CURAND_STATUS_ALLOCATION_FAILED;
	g->type = type;
	g->host = host;
	res = create(host ? WH_CALL_curandCreateGeneratorHost : WH_CALL_curandCreateGenerator, type,
		     &g->o.id);
	if (res != CURAND_STATUS_SUCCESS) {
		wh_handle_put(&generators, &g->h);
		return res;
	}
	g->h.alive = ALIVE;
	*generator = g;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t rng_type)
{
	return generator ? make(generator, rng_type, false) : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t rng_type)
{
	return generator ? make(generator, rng_type, true) : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t curandDestroyGenerator(curandGenerator_t generator)
{
	struct wh_req_curandDestroyGenerator *q;
	curandStatus_t res;
	struct wh_call c;

	if (!alive(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	q = wh_curand_begin(&c, WH_CALL_curandDestroyGenerator, sizeof(*q));
	if (!q)
		return wh_curand_lost_end(c.result);
	q->generator = generator->o.id;
	res = wh_curand_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CURAND_STATUS_SUCCESS)
		wh_handle_put(&generators, &generator->h);
	return res;
}

/* --- State -------------------------------------------------------------------------- */

/* Does the generator have a seed and an offset? For all other types the worker answers. */
static bool seeded(const struct curandGenerator_st *g)
{
	switch (g->type) {
	case CURAND_RNG_PSEUDO_DEFAULT:
	case CURAND_RNG_PSEUDO_XORWOW:
	case CURAND_RNG_PSEUDO_MRG32K3A:
	case CURAND_RNG_PSEUDO_PHILOX4_32_10:
		return true;
	default:
		return false;
	}
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream)
{
	if (!alive(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	generator->stream = stream;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
						  unsigned long long seed)
{
	if (!alive(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	if (!seeded(generator))
		return wh_raw_curandSetPseudoRandomGeneratorSeed(generator, seed);
	generator->o.seed = seed;
	generator->o.seed_serial = ++generator->serial;
	return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
	if (!alive(generator))
		return CURAND_STATUS_NOT_INITIALIZED;
	if (!seeded(generator))
		return wh_raw_curandSetGeneratorOffset(generator, offset);
	generator->o.offset = offset;
	generator->o.offset_serial = ++generator->serial;
	return CURAND_STATUS_SUCCESS;
}

/* --- Numbers ------------------------------------------------------------------------- */

struct numbers {
	uint32_t kind;
	void *out;
	size_t count;
	double a, b;
	uint32_t method;
};

/*
 * The words of a request that do not decide about its status: seed and offset, for which any
 * sent value is valid, and the place for the numbers.
 */
#define STATE(field)	wh_word(struct wh_req_whCurandGenerate, generator.field)
#define FREE_WORDS	(STATE(seed) | STATE(offset) | STATE(seed_serial) | STATE(offset_serial) | \
			 wh_word(struct wh_req_whCurandGenerate, out))

static curandStatus_t ask(curandGenerator_t g, const struct numbers *n, uint64_t out)
{
	struct wh_obj_curandGenerator_t o;
	struct wh_req_whCurandGenerate *q;
	curandStatus_t res;
	struct wh_call c;

	if (!wh_pack_curandGenerator_t(g, &o))
		return CURAND_STATUS_NOT_INITIALIZED;
	q = wh_curand_begin(&c, WH_CALL_whCurandGenerate, sizeof(*q));
	if (!q)
		return wh_curand_lost(c.result);
	q->generator = o;
	q->out = out;
	q->count = n->count;
	q->a = n->a;
	q->b = n->b;
	q->kind = n->kind;
	q->method = n->method;
	/*
	 * A host generator has written its numbers when it returns. A device generator writes
	 * them in the stream.
	 */
	res = g->host ? wh_curand_run(&c, sizeof(struct wh_rsp)) :
			wh_curand_post(&c, sizeof(*q), FREE_WORDS);
	wh_end(&c);
	return res;
}

/*
 * Makes a host generator's numbers: directly in the data area if the program's memory is there,
 * else in the worker's memory, from which one thread at a time fetches them. In both cases one
 * call makes all numbers, since pieces would be another sequence.
 */
static curandStatus_t generate(curandGenerator_t g, struct numbers n)
{
	curandStatus_t res;
	size_t size;

	if (!alive(g))
		return CURAND_STATUS_NOT_INITIALIZED;
	if (!g->host)
		return ask(g, &n, (uintptr_t)n.out);
	if (__builtin_mul_overflow(n.count, wh_curand_size(n.kind), &size))
		return CURAND_STATUS_ALLOCATION_FAILED;
	if (wh_library_in_data(n.out, size))
		return ask(g, &n, (uintptr_t)n.out);
	pthread_mutex_lock(&fetching);
	res = ask(g, &n, 0);
	if (res == CURAND_STATUS_SUCCESS)
		res = wh_curand_fetch(WH_CURAND_NUMBERS, n.out, size);
	pthread_mutex_unlock(&fetching);
	return res;
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int *outputPtr, size_t num)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_BITS, .out = outputPtr, .count = num });
}

curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long *outputPtr,
				      size_t num)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_BITS64, .out = outputPtr, .count = num });
}

curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *outputPtr, size_t num)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_UNIFORM, .out = outputPtr, .count = num });
}

curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double *outputPtr,
					   size_t num)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_UNIFORM64, .out = outputPtr, .count = num });
}

curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *outputPtr, size_t n,
				    float mean, float stddev)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_NORMAL, .out = outputPtr, .count = n, .a = mean, .b = stddev });
}

curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double *outputPtr, size_t n,
					  double mean, double stddev)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_NORMAL64, .out = outputPtr, .count = n, .a = mean, .b = stddev });
}

curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float *outputPtr, size_t n,
				       float mean, float stddev)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_LOG_NORMAL, .out = outputPtr, .count = n, .a = mean,
		.b = stddev });
}

curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double *outputPtr,
					     size_t n, double mean, double stddev)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_LOG_NORMAL64, .out = outputPtr, .count = n, .a = mean,
		.b = stddev });
}

curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int *outputPtr, size_t n,
				     double lambda)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_POISSON, .out = outputPtr, .count = n, .a = lambda });
}

curandStatus_t curandGeneratePoissonMethod(curandGenerator_t generator, unsigned int *outputPtr,
					   size_t n, double lambda, curandMethod_t method)
{
	return generate(generator, (struct numbers) {
		.kind = WH_CURAND_POISSON_METHOD, .out = outputPtr, .count = n, .a = lambda,
		.method = method });
}
