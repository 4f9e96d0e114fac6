// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cublasLt handle, which has no state. A handle of cuBLAS can be used as
 * one.
 */
#include "cublaslt_stub.h"
#include "../blas.h"

struct cublasLtContext {
	struct wh_blas_handle b;
};

static struct wh_handles handles = WH_HANDLES(struct cublasLtContext);
WH_IN_CHILD(pthread_mutex_init(&handles.lock, NULL))

bool wh_pack_cublasLtHandle_t(cublasLtHandle_t h, struct wh_obj_cublasLtHandle_t *out)
{
	if (!h || (h->b.h.alive != WH_CUBLASLT_ALIVE && h->b.h.alive != WH_CUBLAS_ALIVE))
		return false;
	out->id = h->b.id;
	return true;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	const struct wh_rsp_cublasLtCreate *r;
	struct cublasLtContext *h;
	struct wh_call c;
	cublasStatus_t res;

	if (!handle)
		return CUBLAS_STATUS_INVALID_VALUE;
	h = wh_handle_take(&handles);
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	if (!wh_cublaslt_begin(&c, WH_CALL_cublasLtCreate, sizeof(struct wh_req_cublasLtCreate))) {
		wh_handle_put(&handles, &h->b.h);
		return wh_cublaslt_lost(c.result);
	}
	res = wh_cublaslt_run(&c, sizeof(*r));
	r = c.rsp;
	h->b.id = res == CUBLAS_STATUS_SUCCESS ? r->handle : 0;
	wh_end(&c);
	if (res != CUBLAS_STATUS_SUCCESS) {
		wh_handle_put(&handles, &h->b.h);
		return res;
	}
	h->b.h.alive = WH_CUBLASLT_ALIVE;
	*handle = h;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	struct wh_req_cublasLtDestroy *q;
	cublasStatus_t res;
	struct wh_call c;

	if (!handle || handle->b.h.alive != WH_CUBLASLT_ALIVE)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	q = wh_cublaslt_begin(&c, WH_CALL_cublasLtDestroy, sizeof(*q));
	if (!q)
		return wh_cublaslt_lost_end(c.result);
	q->handle = handle->b.id;
	res = wh_cublaslt_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_handle_put(&handles, &handle->b.h);
	return res;
}
