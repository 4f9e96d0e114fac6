// SPDX-License-Identifier: Apache-2.0
/*
 * cuRAND generators in the worker. Owns what the library was last told about each generator, the
 * host memory that host generators write to if the client's own is out of reach, and the tables
 * that clients fetch.
 */
#include "gen_curand_server.h"

#include <stdio.h>
#include <stdlib.h>

/* The most bytes of numbers for one call; more would not fit a worker's memory anyway. */
#define MAX_NUMBERS	(4UL << 30)

struct generator {
	curandGenerator_t real;
	bool host;
	uint64_t stream;	/* the stream that the library was told */
	uint64_t seed_serial, offset_serial;
};

struct state {
	void *numbers;		/* numbers of the last call that gave no place for them */
	size_t size;
};

static struct state *state_of(struct wh_session *s)
{
	if (!s->library_state[WH_LIB_curand])
		s->library_state[WH_LIB_curand] = calloc(1, sizeof(struct state));
	return s->library_state[WH_LIB_curand];
}

/* --- State that travels ------------------------------------------------------------- */

static curandStatus_t tell_seed(const struct wh_curand_functions *l, struct generator *g,
				const struct wh_obj_curandGenerator_t *o)
{
	curandStatus_t res;

	if (o->seed_serial == g->seed_serial)
		return CURAND_STATUS_SUCCESS;
	res = l->curandSetPseudoRandomGeneratorSeed(g->real, o->seed);
	if (res == CURAND_STATUS_SUCCESS)
		g->seed_serial = o->seed_serial;
	return res;
}

static curandStatus_t tell_offset(const struct wh_curand_functions *l, struct generator *g,
				  const struct wh_obj_curandGenerator_t *o)
{
	curandStatus_t res;

	if (o->offset_serial == g->offset_serial)
		return CURAND_STATUS_SUCCESS;
	res = l->curandSetGeneratorOffset(g->real, o->offset);
	if (res == CURAND_STATUS_SUCCESS)
		g->offset_serial = o->offset_serial;
	return res;
}

/* Sets them in the order in which the program set them. */
static curandStatus_t tell(const struct wh_curand_functions *l, struct generator *g,
			   const struct wh_obj_curandGenerator_t *o)
{
	bool seed_first = o->seed_serial < o->offset_serial;
	curandStatus_t res;

	res = seed_first ? tell_seed(l, g, o) : tell_offset(l, g, o);
	if (res != CURAND_STATUS_SUCCESS)
		return res;
	return seed_first ? tell_offset(l, g, o) : tell_seed(l, g, o);
}

static curandStatus_t enter(struct wh_session *s, const struct wh_curand_functions *l,
			    const struct wh_obj_curandGenerator_t *o, struct generator **out,
			    CUstream *stream)
{
	struct generator *g = wh_handles_get(&s->handles, o->id, WH_H_curandGenerator_t);
	curandStatus_t res;

	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	/* This happens each time: a stream that was destroyed must not reach the library. */
	if (!wh_get(s, WH_H_CUstream, o->stream, (void **)stream))
		return CURAND_STATUS_LAUNCH_FAILURE;
	*out = g;
	if (o->stream != g->stream) {
		res = l->curandSetStream(g->real, *stream);
		if (res != CURAND_STATUS_SUCCESS)
			return res;
		g->stream = o->stream;
	}
	if (o->seed_serial == g->seed_serial && o->offset_serial == g->offset_serial)
		return CURAND_STATUS_SUCCESS;
	return tell(l, g, o);
}

curandStatus_t wh_enter_curandGenerator_t(struct wh_session *s, const struct wh_curand_functions *l,
					  const struct wh_obj_curandGenerator_t *o,
					  curandGenerator_t *real, CUstream *stream)
{
	struct generator *g;
	curandStatus_t res = enter(s, l, o, &g, stream);

	if (res == CURAND_STATUS_SUCCESS)
		*real = g->real;
	return res;
}

/* --- Life ----------------------------------------------------------------------------- */

static bool complete(const struct wh_curand_functions *l)
{
	return l->curandCreateGenerator && l->curandDestroyGenerator && l->curandSetStream &&
	       l->curandSetPseudoRandomGeneratorSeed && l->curandSetGeneratorOffset;
}

static int32_t create(struct wh_session *s, struct wh_frame *f, bool host)
{
	const struct wh_curand_functions *l = wh_library_functions(s, WH_LIB_curand);
	const struct wh_req_curandCreateGenerator *q = f->req;
	struct wh_rsp_curandCreateGenerator *r = wh_reply(f, sizeof(*r));
	struct wh_charge charge;
	struct generator *g;
	curandStatus_t res;

	if (f->req_size < sizeof(*q))
		return CURAND_STATUS_OUT_OF_RANGE;
	if (!complete(l) || (host && !l->curandCreateGeneratorHost))
		return wh_library_missing(s,
				host ? "curandCreateGeneratorHost" : "curandCreateGenerator",
					  CURAND_STATUS_ARCH_MISMATCH);
	g = calloc(1, sizeof(*g));
	if (!g)
		return CURAND_STATUS_ALLOCATION_FAILED;
	g->host = host;
	wh_reconcile_begin(s, &charge);
	res = host ? l->curandCreateGeneratorHost(&g->real, q->type) :
		     l->curandCreateGenerator(&g->real, q->type);
	if (res == CURAND_STATUS_SUCCESS) {
		if (wh_reconciled(s, &charge))
			r->generator = wh_new(s, WH_H_curandGenerator_t, g, q->hdr.ctx);
		if (r->generator)
			return CURAND_STATUS_SUCCESS;
		l->curandDestroyGenerator(g->real);
		wh_reconciled(s, &charge);
		res = CURAND_STATUS_ALLOCATION_FAILED;
	}
	free(g);
	return res;
}

int32_t wh_do_curandCreateGenerator(struct wh_session *s, struct wh_frame *f)
{
	return create(s, f, false);
}

int32_t wh_do_curandCreateGeneratorHost(struct wh_session *s, struct wh_frame *f)
{
	return create(s, f, true);
}

int32_t wh_do_curandDestroyGenerator(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_curand_functions *l = wh_library_functions(s, WH_LIB_curand);
	const struct wh_req_curandDestroyGenerator *q = f->req;
	struct generator *g;
	curandStatus_t res;

	if (f->req_size < sizeof(*q))
		return CURAND_STATUS_OUT_OF_RANGE;
	g = wh_handles_get(&s->handles, q->generator, WH_H_curandGenerator_t);
	if (!g)
		return CURAND_STATUS_NOT_INITIALIZED;
	res = l->curandDestroyGenerator(g->real);
	if (res != CURAND_STATUS_SUCCESS)
		return res;
	wh_drop(s, q->generator);
	free(g);
	return CURAND_STATUS_SUCCESS;
}

/* --- Numbers ---------------------------------------------------------------------------- */

/* A function that the library lacks is NULL. */
static bool has(const struct wh_curand_functions *l, uint32_t kind)
{
	const void *const fn[WH_CURAND_KINDS] = {
		[WH_CURAND_BITS] = l->curandGenerate,
		[WH_CURAND_BITS64] = l->curandGenerateLongLong,
		[WH_CURAND_UNIFORM] = l->curandGenerateUniform,
		[WH_CURAND_UNIFORM64] = l->curandGenerateUniformDouble,
		[WH_CURAND_NORMAL] = l->curandGenerateNormal,
		[WH_CURAND_NORMAL64] = l->curandGenerateNormalDouble,
		[WH_CURAND_LOG_NORMAL] = l->curandGenerateLogNormal,
		[WH_CURAND_LOG_NORMAL64] = l->curandGenerateLogNormalDouble,
		[WH_CURAND_POISSON] = l->curandGeneratePoisson,
		[WH_CURAND_POISSON_METHOD] = l->curandGeneratePoissonMethod,
	};

	return fn[kind];
}

static curandStatus_t run(const struct wh_curand_functions *l, curandGenerator_t g,
			  const struct wh_req_whCurandGenerate *q, void *out)
{
	switch (q->kind) {
	case WH_CURAND_BITS:
		return l->curandGenerate(g, out, q->count);
	case WH_CURAND_BITS64:
		return l->curandGenerateLongLong(g, out, q->count);
	case WH_CURAND_UNIFORM:
		return l->curandGenerateUniform(g, out, q->count);
	case WH_CURAND_UNIFORM64:
		return l->curandGenerateUniformDouble(g, out, q->count);
	case WH_CURAND_NORMAL:
		return l->curandGenerateNormal(g, out, q->count, q->a, q->b);
	case WH_CURAND_NORMAL64:
		return l->curandGenerateNormalDouble(g, out, q->count, q->a, q->b);
	case WH_CURAND_LOG_NORMAL:
		return l->curandGenerateLogNormal(g, out, q->count, q->a, q->b);
	case WH_CURAND_LOG_NORMAL64:
		return l->curandGenerateLogNormalDouble(g, out, q->count, q->a, q->b);
	case WH_CURAND_POISSON:
		return l->curandGeneratePoisson(g, out, q->count, q->a);
	default:
		return l->curandGeneratePoissonMethod(g, out, q->count, q->a,
				(curandMethod_t)q->method);
	}
}

/* A generator of the device writes by kernels, or copies numbers that it has made before. */
static curandStatus_t device_place(struct wh_session *s, const struct wh_req_whCurandGenerate *q)
{
	return wh_reach(s, q->out, wh_times(q->count, wh_curand_size(q->kind))) ?
	       CURAND_STATUS_OUT_OF_RANGE : CURAND_STATUS_SUCCESS;
}

/* Finds where a host generator may write: the data area, or memory of our own. */
static curandStatus_t host_place(struct wh_session *s, const struct wh_req_whCurandGenerate *q,
				 void **out)
{
	struct state *st = state_of(s);
	size_t size;

	if (!st || __builtin_mul_overflow(q->count, wh_curand_size(q->kind), &size) ||
	    size > MAX_NUMBERS)
		return CURAND_STATUS_ALLOCATION_FAILED;
	*out = (void *)q->out;
	if (q->out)
		return wh_host_range(s, q->out, size) ? CURAND_STATUS_SUCCESS :
							CURAND_STATUS_OUT_OF_RANGE;
	free(st->numbers);
	st->numbers = malloc(size ? size : 1);
	st->size = st->numbers ? size : 0;
	*out = st->numbers;
	return st->numbers ? CURAND_STATUS_SUCCESS : CURAND_STATUS_ALLOCATION_FAILED;
}

int32_t wh_do_whCurandGenerate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_curand_functions *l = wh_library_functions(s, WH_LIB_curand);
	const struct wh_req_whCurandGenerate *q = f->req;
	CUstream stream = NULL;
	struct generator *g;
	curandStatus_t res;
	CUresult limit;
	void *out;

	if (f->req_size < sizeof(*q) || q->kind >= WH_CURAND_KINDS)
		return CURAND_STATUS_OUT_OF_RANGE;
	if (!has(l, q->kind))
		return wh_library_missing(s, "curandGenerate of some kind",
				CURAND_STATUS_ARCH_MISMATCH);
	res = enter(s, l, &q->generator, &g, &stream);
	out = (void *)q->out;
	if (res == CURAND_STATUS_SUCCESS)
		res = g->host ? host_place(s, q, &out) : device_place(s, q);
	if (res != CURAND_STATUS_SUCCESS)
		return res;
	limit = wh_launch_begin(s, stream);
	if (limit != CUDA_SUCCESS)
		return limit;	/* the call has to wait, see charge.h */
	res = run(l, g->real, q, out);
	wh_launch_end(s, stream);
	return res;
}

/* --- Host memory of ours -------------------------------------------------------------------- */

static curandStatus_t find_table(struct wh_session *s, uint32_t source, void **from)
{
	const struct wh_curand_functions *l = wh_library_functions(s, WH_LIB_curand);

	switch (source) {
	case CURAND_DIRECTION_VECTORS_32_JOEKUO6:
	case CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6:
		return l->curandGetDirectionVectors32 ?
		       l->curandGetDirectionVectors32((curandDirectionVectors32_t **)from,
						      (curandDirectionVectorSet_t)source) :
		       CURAND_STATUS_ARCH_MISMATCH;
	case CURAND_DIRECTION_VECTORS_64_JOEKUO6:
	case CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6:
		return l->curandGetDirectionVectors64 ?
		       l->curandGetDirectionVectors64((curandDirectionVectors64_t **)from,
						      (curandDirectionVectorSet_t)source) :
		       CURAND_STATUS_ARCH_MISMATCH;
	case WH_CURAND_CONSTANTS32:
		return l->curandGetScrambleConstants32 ?
		       l->curandGetScrambleConstants32((unsigned int **)from) :
		       CURAND_STATUS_ARCH_MISMATCH;
	case WH_CURAND_CONSTANTS64:
		return l->curandGetScrambleConstants64 ?
		       l->curandGetScrambleConstants64((unsigned long long **)from) :
		       CURAND_STATUS_ARCH_MISMATCH;
	default:
		return CURAND_STATUS_OUT_OF_RANGE;
	}
}

int32_t wh_do_whCurandFetch(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whCurandFetch *q = f->req;
	struct state *st = state_of(s);
	curandStatus_t res;
	size_t size;
	void *from;

	if (f->req_size < sizeof(*q) || !st || !wh_host_range(s, q->to, q->size))
		return CURAND_STATUS_OUT_OF_RANGE;
	if (q->source == WH_CURAND_NUMBERS) {
		from = st->numbers;
		size = st->size;
	} else {
		size = wh_curand_table(q->source);
		res = find_table(s, q->source, &from);
		if (res != CURAND_STATUS_SUCCESS)
			return res;
	}
	if (q->offset > size || q->size > size - q->offset)
		return CURAND_STATUS_OUT_OF_RANGE;
	/* If nothing was generated, there is no memory to copy from. */
	if (q->size)
		memcpy((void *)q->to, (const uint8_t *)from + q->offset, q->size);
	/* After the last piece the memory is freed, since many numbers take much of it. */
	if (q->source == WH_CURAND_NUMBERS && q->offset + q->size == size) {
		free(st->numbers);
		*st = (struct state) { 0 };
	}
	return CURAND_STATUS_SUCCESS;
}
