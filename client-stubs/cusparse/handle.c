// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cuSPARSE handle. Owns the handle's settings (stream, pointer mode). To
 * set one makes no call; all of them are sent with the next call.
 */
#include "cusparse_stub.h"
#include "../handle.h"

#define ALIVE	0x7768737061727365ULL

struct cusparseContext {
	struct wh_handle h;	/* alive: ALIVE */
	cudaStream_t stream;	/* as the program names it */
	struct wh_obj_cusparseHandle_t o;
};

static struct wh_handles handles = WH_HANDLES(struct cusparseContext);
WH_IN_CHILD(pthread_mutex_init(&handles.lock, NULL))

static inline bool alive(const struct cusparseContext *h)
{
	return h && h->h.alive == ALIVE;
}

bool wh_pack_cusparseHandle_t(cusparseHandle_t h, struct wh_obj_cusparseHandle_t *out)
{
	if (!alive(h))
		return false;
	*out = h->o;
	/* The per-thread default stream differs from thread to thread. */
	if (h->stream)
		out->stream = wh_library_stream(h->stream);
	return true;
}

/* --- Life ------------------------------------------------------------------------- */

static cusparseStatus_t create(uint64_t *id)
{
	const struct wh_rsp_cusparseCreate *r;
	struct wh_call c;
	cusparseStatus_t res;

	if (!wh_cusparse_begin(&c, WH_CALL_cusparseCreate, sizeof(struct wh_req_cusparseCreate)))
		return wh_cusparse_lost(c.result);
	res = wh_cusparse_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUSPARSE_STATUS_SUCCESS)
		*id = r->handle;
	wh_end(&c);
	return res;
}

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
	struct cusparseContext *h;
	cusparseStatus_t res;

	if (!handle)
		return CUSPARSE_STATUS_INVALID_VALUE;
	h = wh_handle_take(&handles);
	if (!h)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	res = create(&h->o.id);
	if (res != CUSPARSE_STATUS_SUCCESS) {
		wh_handle_put(&handles, &h->h);
		return res;
	}
	h->o.pointer_mode = CUSPARSE_POINTER_MODE_HOST;
	h->h.alive = ALIVE;
	*handle = h;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
	struct wh_req_cusparseDestroy *q;
	cusparseStatus_t res;
	struct wh_call c;

	if (!handle)
		return CUSPARSE_STATUS_SUCCESS;
	if (!alive(handle))
		return CUSPARSE_STATUS_INVALID_VALUE;
	q = wh_cusparse_begin(&c, WH_CALL_cusparseDestroy, sizeof(*q));
	if (!q)
		return wh_cusparse_lost(c.result);
	q->handle = handle->o.id;
	res = wh_cusparse_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUSPARSE_STATUS_SUCCESS)
		wh_handle_put(&handles, &handle->h);
	return res;
}

/* --- State ------------------------------------------------------------------------ */

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t streamId)
{
	if (!alive(handle))
		return CUSPARSE_STATUS_INVALID_VALUE;
	handle->stream = streamId;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t *streamId)
{
	if (!alive(handle) || !streamId)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*streamId = handle->stream;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
	if (!alive(handle))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (mode != CUSPARSE_POINTER_MODE_HOST && mode != CUSPARSE_POINTER_MODE_DEVICE)
		return CUSPARSE_STATUS_INVALID_VALUE;
	handle->o.pointer_mode = mode;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode)
{
	if (!alive(handle) || !mode)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*mode = (cusparsePointerMode_t)handle->o.pointer_mode;
	return CUSPARSE_STATUS_SUCCESS;
}
