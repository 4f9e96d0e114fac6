// SPDX-License-Identifier: Apache-2.0
/*
 * cublasLt in the worker: handles, products and transformations, and questions about algorithms.
 * Their descriptors come by value (cublaslt_build.c).
 */
#include "cublaslt.h"
#include "cublas.h"

/* --- Handles ------------------------------------------------------------------------ */

/* A handle of cuBLAS contains one of cublasLt, and is documented to stand for it. */
cublasStatus_t wh_enter_cublasLtHandle_t(struct wh_session *s,
					 const struct wh_cublaslt_functions *l,
					 const struct wh_obj_cublasLtHandle_t *o,
					 cublasLtHandle_t *real, CUstream *stream)
{
	(void)l;
	(void)stream;
	*real = wh_handles_get(&s->handles, o->id, WH_H_cublasLtHandle_t);
	if (!*real)
		*real = (cublasLtHandle_t)wh_cublas_real(s, o->id);
	return *real ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

int32_t wh_do_cublasLtCreate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublaslt_functions *l = wh_library_functions(s, WH_LIB_cublaslt);
	struct wh_rsp_cublasLtCreate *r = wh_reply(f, sizeof(*r));
	const struct wh_req *q = f->req;
	struct wh_charge charge;
	cublasLtHandle_t real;
	cublasStatus_t res;

	if (!l->cublasLtDestroy)
		return wh_library_missing(s, "cublasLtDestroy", CUBLAS_STATUS_NOT_SUPPORTED);
	wh_reconcile_begin(s, &charge);
	res = l->cublasLtCreate(&real);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (wh_reconciled(s, &charge))
		r->handle = wh_new(s, WH_H_cublasLtHandle_t, real, q->ctx);
	if (r->handle)
		return CUBLAS_STATUS_SUCCESS;
	l->cublasLtDestroy(real);
	wh_reconciled(s, &charge);
	return CUBLAS_STATUS_ALLOC_FAILED;
}

int32_t wh_do_cublasLtDestroy(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublaslt_functions *l = wh_library_functions(s, WH_LIB_cublaslt);
	const struct wh_req_cublasLtDestroy *q = f->req;
	cublasLtHandle_t real;
	cublasStatus_t res;

	if (f->req_size < sizeof(*q))
		return CUBLAS_STATUS_INVALID_VALUE;
	real = wh_handles_get(&s->handles, q->handle, WH_H_cublasLtHandle_t);
	if (!real || !l->cublasLtDestroy)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	res = l->cublasLtDestroy(real);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_drop(s, q->handle);
	return res;
}

/* --- Operations ----------------------------------------------------------------------- */

static void *scalar(const union wh_lt_scalar *v, bool host, bool null)
{
	if (null)
		return NULL;
	return host ? (void *)v->host : (void *)v->device;
}

/* The begin of a request's packed descriptors, and the end of the request. */
#define PACKED(q)	((const uint8_t *)((q) + 1))
#define END(f)		((const uint8_t *)(f)->req + (f)->req_size)

/*
 * Begins an operation: checks that its request is complete, and that its function and its handle
 * exist.
 */
static cublasStatus_t begin(struct wh_session *s, struct wh_frame *f, size_t size, const void *has,
			    const char *name, const struct wh_obj_cublasLtHandle_t *o,
			    cublasLtHandle_t *handle)
{
	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < size)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!has)
		return wh_library_missing(s, name, CUBLAS_STATUS_NOT_SUPPORTED);
	return wh_enter_cublasLtHandle_t(s, NULL, o, handle, NULL);
}

static bool unpack(const struct wh_req_cublasLtMatmul *q, const uint8_t *end,
		   struct wh_lt_described *d)
{
	const unsigned int layouts = q->hdr.null & WH_LT_D_IS_AS_C ? 3 : 4;
	const uint8_t *at;
	unsigned int i;

	d->desc = wh_lt_new_matmul();
	d->emulation = wh_lt_new_emulation();
	at = wh_lt_unpack(WH_LT_MATMUL, &d->desc, PACKED(q), end);
	for (i = 0; i < layouts; i++) {
		d->layout[i] = wh_lt_new_layout();
		at = wh_lt_unpack(WH_LT_LAYOUT, &d->layout[i], at, end);
	}
	if (layouts == 3)
		d->layout[3] = d->layout[2];
	if (d->desc.emulation)
		at = wh_lt_unpack(WH_LT_EMULATION, &d->emulation, at, end);
	return at;
}

static int32_t multiply(struct wh_session *s, const struct wh_cublaslt_functions *l,
			const struct wh_req_cublasLtMatmul *q, const struct wh_lt_described *d,
			cublasLtHandle_t handle, CUstream stream)
{
	const int32_t mode = d->desc.pointer_mode;
	struct wh_lt_product p;
	CUresult limit;
	cublasStatus_t res;

	res = wh_lt_build_product(s, l, &d->desc, d->layout, &d->emulation, &p);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	limit = wh_launch_begin(s, stream);
	if (limit != CUDA_SUCCESS)
		return limit;
	res = l->cublasLtMatmul(handle, &p.desc,
				scalar(&q->alpha, wh_lt_alpha_is_host(mode),
				       q->hdr.null & WH_LT_NO_ALPHA),
				(void *)q->a, &p.layout[0], (void *)q->b, &p.layout[1],
				scalar(&q->beta, wh_lt_beta_is_host(mode),
				       q->hdr.null & WH_LT_NO_BETA),
				(void *)q->c, &p.layout[2], (void *)q->d, &p.layout[3],
				q->hdr.null & WH_LT_NO_ALGO ? NULL : &q->algo,
				(void *)q->workspace, q->workspace_size, stream);
	wh_launch_end(s, stream);
	return res;
}

int32_t wh_do_cublasLtMatmul(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublaslt_functions *l = wh_library_functions(s, WH_LIB_cublaslt);
	const struct wh_req_cublasLtMatmul *q = f->req;
	struct wh_lt_described d;
	cublasLtHandle_t handle;
	cublasStatus_t res;
	CUstream stream;

	res = begin(s, f, sizeof(*q), l->cublasLtMatmul, "cublasLtMatmul", &q->handle, &handle);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (!unpack(q, END(f), &d) || !wh_get(s, WH_H_CUstream, q->stream, (void **)&stream) ||
	    !wh_lt_reach_matmul(s, q, &d))
		return CUBLAS_STATUS_INVALID_VALUE;
	return multiply(s, l, q, &d, handle, stream);
}

static bool unpack_turned(const struct wh_req_cublasLtMatrixTransform *q, const uint8_t *end,
			  struct wh_lt_turned *d)
{
	const uint8_t *at;
	unsigned int i;

	memset(&d->desc, 0, sizeof(d->desc));
	at = wh_lt_unpack(WH_LT_TRANSFORM, &d->desc, PACKED(q), end);
	for (i = 0; i < 3; i++) {
		d->has[i] = !(q->hdr.null & WH_LT_NO_LAYOUT << i);
		d->layout[i] = wh_lt_new_layout();
		if (d->has[i])
			at = wh_lt_unpack(WH_LT_LAYOUT, &d->layout[i], at, end);
	}
	return at;
}

static int32_t transform(struct wh_session *s, const struct wh_cublaslt_functions *l,
			 const struct wh_req_cublasLtMatrixTransform *q,
			 const struct wh_lt_turned *d, cublasLtHandle_t handle, CUstream stream)
{
	const bool host = wh_lt_alpha_is_host(d->desc.pointer_mode);
	cublasLtMatrixTransformDescOpaque_t desc;
	cublasLtMatrixLayoutOpaque_t layout[3];
	cublasLtMatrixLayout_t at[3] = { NULL };
	CUresult limit;
	cublasStatus_t res;
	unsigned int i;

	res = wh_lt_build_transform(s, l, &d->desc, &desc);
	for (i = 0; i < 3 && res == CUBLAS_STATUS_SUCCESS; i++)
		if (d->has[i]) {
			at[i] = &layout[i];
			res = wh_lt_build_layout(s, l, &d->layout[i], at[i]);
		}
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	limit = wh_launch_begin(s, stream);
	if (limit != CUDA_SUCCESS)
		return limit;
	res = l->cublasLtMatrixTransform(handle, &desc,
					 scalar(&q->alpha, host, q->hdr.null & WH_LT_NO_ALPHA),
					 (void *)q->a, at[0],
					 scalar(&q->beta, host, q->hdr.null & WH_LT_NO_BETA),
					 (void *)q->b, at[1], (void *)q->c, at[2], stream);
	wh_launch_end(s, stream);
	return res;
}

int32_t wh_do_cublasLtMatrixTransform(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublaslt_functions *l = wh_library_functions(s, WH_LIB_cublaslt);
	const struct wh_req_cublasLtMatrixTransform *q = f->req;
	struct wh_lt_turned d;
	cublasLtHandle_t handle;
	cublasStatus_t res;
	CUstream stream;

	res = begin(s, f, sizeof(*q), l->cublasLtMatrixTransform, "cublasLtMatrixTransform",
		    &q->handle, &handle);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (!unpack_turned(q, END(f), &d) ||
	    !wh_get(s, WH_H_CUstream, q->stream, (void **)&stream) ||
	    !wh_lt_reach_transform(s, q, &d))
		return CUBLAS_STATUS_INVALID_VALUE;
	return transform(s, l, q, &d, handle, stream);
}

/* --- Questions about algorithms --------------------------------------------------------- */

struct question {
	struct wh_lt_product product;
	cublasLtHandle_t handle;
	const cublasLtMatmulAlgo_t *algo;	/* there are `algos` of them */
	cublasLtMatmulHeuristicResult_t *results;	/* room for `wanted` */
};

static cublasStatus_t read_question(struct wh_session *s, struct wh_frame *f,
				    const struct wh_cublaslt_functions *l, struct question *out)
{
	struct wh_req_cublasLtQuestion *q = f->req;
	cublasStatus_t res;
	void *algo;

	wh_reply(f, sizeof(struct wh_rsp_cublasLtQuestion));
	f->pos = sizeof(*q);
	if (f->req_size < sizeof(*q) || q->wanted < 1 || q->wanted > WH_LT_MOST_RESULTS ||
	    q->algos < 0 || q->algos > q->wanted ||
	    !wh_request_take(f, q->algos, sizeof(*out->algo), &algo) ||
	    !wh_room(f, q->wanted, sizeof(*out->results), (void **)&out->results))
		return CUBLAS_STATUS_INVALID_VALUE;
	out->algo = algo;
	res = wh_enter_cublasLtHandle_t(s, l, &q->handle, &out->handle, NULL);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	wh_lt_leads_nowhere(&q->desc, &q->emulation);
	return wh_lt_build_product(s, l, &q->desc, q->layout, &q->emulation, &out->product);
}

/* Sets the number of results, and drops the room behind them. */
static void answer(struct wh_frame *f, int n)
{
	struct wh_rsp_cublasLtQuestion *r = (void *)f->rsp;

	r->results = n;
	f->rsp_size = WH_WIRE_FIXED(*r) +
		      wh_wire_bytes(n, sizeof(cublasLtMatmulHeuristicResult_t));
}

int32_t wh_do_cublasLtMatmulAlgoGetHeuristic(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublaslt_functions *l = wh_library_functions(s, WH_LIB_cublaslt);
	const struct wh_req_cublasLtQuestion *q = f->req;
	union wh_lt_genuine_preference preference;
	struct question w;
	cublasStatus_t res;
	int i, n = 0;

	if (!l->cublasLtMatmulAlgoGetHeuristic)
		return wh_library_missing(s, "cublasLtMatmulAlgoGetHeuristic",
					  CUBLAS_STATUS_NOT_SUPPORTED);
	res = read_question(s, f, l, &w);
	if (res == CUBLAS_STATUS_SUCCESS)
		res = wh_lt_build_preference(s, l, &q->preference, &preference);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	for (i = 0; i < q->algos; i++)
		w.results[i].algo = w.algo[i];
	res = l->cublasLtMatmulAlgoGetHeuristic(w.handle, &w.product.desc, &w.product.layout[0],
						&w.product.layout[1], &w.product.layout[2],
						&w.product.layout[3], &preference.today, q->wanted,
						w.results, &n);
	if (res == CUBLAS_STATUS_SUCCESS)
		answer(f, n < 0 ? 0 : n < q->wanted ? n : q->wanted);
	return res;
}

int32_t wh_do_cublasLtMatmulAlgoCheck(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublaslt_functions *l = wh_library_functions(s, WH_LIB_cublaslt);
	const struct wh_req_cublasLtQuestion *q = f->req;
	struct question w;
	cublasStatus_t res;

	if (!l->cublasLtMatmulAlgoCheck)
		return wh_library_missing(s, "cublasLtMatmulAlgoCheck",
					  CUBLAS_STATUS_NOT_SUPPORTED);
	res = read_question(s, f, l, &w);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (q->algos != 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	res = l->cublasLtMatmulAlgoCheck(w.handle, &w.product.desc, &w.product.layout[0],
					 &w.product.layout[1], &w.product.layout[2],
					 &w.product.layout[3], w.algo, w.results);
	if (res == CUBLAS_STATUS_SUCCESS)
		answer(f, 1);
	return res;
}
