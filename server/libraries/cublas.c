// SPDX-License-Identifier: Apache-2.0
/*
 * cuBLAS handles in the worker. Owns what the library was last told about each handle (stream,
 * modes, workspace), and tells it what has changed before a call runs.
 */
#include "gen_cublas_server.h"
#include "cublas.h"

#include <stdlib.h>

struct handle {
	cublasHandle_t real;
	struct wh_obj_cublasHandle_t told;
};

cublasHandle_t wh_cublas_real(const struct wh_session *s, uint64_t id)
{
	const struct handle *h = wh_handles_get(&s->handles, id, WH_H_cublasHandle_t);

	return h ? h->real : NULL;
}

static bool same_stream(const struct wh_obj_cublasHandle_t *a,
			const struct wh_obj_cublasHandle_t *b)
{
	return a->stream == b->stream && a->own_workspace == b->own_workspace &&
	       a->workspace == b->workspace && a->workspace_size == b->workspace_size;
}

/* Setting a stream takes the workspace away, so it is set again, if there is one. */
static cublasStatus_t set_stream(struct wh_session *s, const struct wh_cublas_functions *l,
				 struct handle *h, const struct wh_obj_cublasHandle_t *o,
				 CUstream stream)
{
	cublasStatus_t res;

	if (o->own_workspace && o->workspace &&
	    wh_reach(s, o->workspace, o->workspace_size) != CUDA_SUCCESS)
		return CUBLAS_STATUS_INVALID_VALUE;

	/* If this fails, half of it may have happened: then all of it is done again. */
	h->told.stream = UINT64_MAX;
	res = l->cublasSetStream_v2(h->real, stream);
	if (res == CUBLAS_STATUS_SUCCESS && o->own_workspace)
		res = l->cublasSetWorkspace_v2(h->real, (void *)o->workspace, o->workspace_size);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	h->told.stream = o->stream;
	h->told.own_workspace = o->own_workspace;
	h->told.workspace = o->workspace;
	h->told.workspace_size = o->workspace_size;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_modes(const struct wh_cublas_functions *l, struct handle *h,
				const struct wh_obj_cublasHandle_t *o)
{
	cublasStatus_t res = CUBLAS_STATUS_SUCCESS;

	if (o->pointer_mode != h->told.pointer_mode) {
		if (o->pointer_mode > CUBLAS_POINTER_MODE_DEVICE)
			return CUBLAS_STATUS_INVALID_VALUE;
		res = l->cublasSetPointerMode_v2(h->real, (cublasPointerMode_t)o->pointer_mode);
		if (res != CUBLAS_STATUS_SUCCESS)
			return res;
		h->told.pointer_mode = o->pointer_mode;
	}
	if (o->math_mode != h->told.math_mode) {
		res = l->cublasSetMathMode(h->real, (cublasMath_t)o->math_mode);
		if (res == CUBLAS_STATUS_SUCCESS)
			h->told.math_mode = o->math_mode;
	}
	return res;
}

cublasStatus_t wh_enter_cublasHandle_t(struct wh_session *s, const struct wh_cublas_functions *l,
				       const struct wh_obj_cublasHandle_t *o, cublasHandle_t *real,
				       CUstream *stream)
{
	struct handle *h = wh_handles_get(&s->handles, o->id, WH_H_cublasHandle_t);
	cublasStatus_t res;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	/* This happens each time: a stream that was destroyed must not reach the library. */
	if (!wh_get(s, WH_H_CUstream, o->stream, (void **)stream))
		return CUBLAS_STATUS_INVALID_VALUE;
	*real = h->real;
	if (!same_stream(o, &h->told)) {
		res = set_stream(s, l, h, o, *stream);
		if (res != CUBLAS_STATUS_SUCCESS)
			return res;
	}
	if (o->pointer_mode == h->told.pointer_mode && o->math_mode == h->told.math_mode)
		return CUBLAS_STATUS_SUCCESS;
	return set_modes(l, h, o);
}

/*
 * Notes the state with which the library made the handle. What cannot be asked for is what cuBLAS
 * documents.
 */
static void ask_state(const struct wh_cublas_functions *l, struct handle *h)
{
	cublasPointerMode_t pointer = CUBLAS_POINTER_MODE_HOST;
	cublasMath_t math = CUBLAS_DEFAULT_MATH;

	if (l->cublasGetPointerMode_v2)
		l->cublasGetPointerMode_v2(h->real, &pointer);
	if (l->cublasGetMathMode)
		l->cublasGetMathMode(h->real, &math);
	h->told.pointer_mode = pointer;
	h->told.math_mode = math;
}

static bool complete(const struct wh_cublas_functions *l)
{
	return l->cublasCreate_v2 && l->cublasDestroy_v2 && l->cublasSetStream_v2 &&
	       l->cublasSetPointerMode_v2 && l->cublasSetMathMode && l->cublasSetWorkspace_v2;
}

int32_t wh_do_cublasCreate_v2(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublas_functions *l = wh_library_functions(s, WH_LIB_cublas);
	const struct wh_req *q = f->req;
	struct wh_rsp_cublasCreate_v2 *r = wh_reply(f, sizeof(*r));
	struct wh_charge charge;
	cublasStatus_t res;
	struct handle *h;

	if (!complete(l))
		return wh_library_missing(s, "cublasCreate_v2 or what belongs to it",
					  CUBLAS_STATUS_NOT_SUPPORTED);
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	/* The library's workspace is the tenant's memory. */
	wh_reconcile_begin(s, &charge);
	res = l->cublasCreate_v2(&h->real);
	if (res != CUBLAS_STATUS_SUCCESS) {
		free(h);
		return res;
	}
	ask_state(l, h);
	if (wh_reconciled(s, &charge))
		h->told.id = wh_new(s, WH_H_cublasHandle_t, h, q->ctx);
	r->handle = h->told;
	if (h->told.id)
		return CUBLAS_STATUS_SUCCESS;
	l->cublasDestroy_v2(h->real);
	wh_reconciled(s, &charge);
	free(h);
	return CUBLAS_STATUS_ALLOC_FAILED;
}

int32_t wh_do_cublasDestroy_v2(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cublas_functions *l = wh_library_functions(s, WH_LIB_cublas);
	const struct wh_req_cublasDestroy_v2 *q = f->req;
	cublasStatus_t res;
	struct handle *h;

	if (f->req_size < sizeof(*q))
		return CUBLAS_STATUS_INVALID_VALUE;
	h = wh_handles_get(&s->handles, q->handle, WH_H_cublasHandle_t);
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	res = l->cublasDestroy_v2(h->real);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	wh_drop(s, q->handle);
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}
