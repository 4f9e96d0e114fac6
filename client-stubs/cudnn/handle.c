// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cuDNN handle. Owns the handle's stream. To set it makes no call; it is
 * sent with the next call.
 */
#include "cudnn_stub.h"
#include "../handle.h"

#define ALIVE	0x77686475646e6eULL

struct cudnnContext {
	struct wh_handle h;	/* alive: ALIVE */
	uint64_t id;
	cudaStream_t stream;	/* as the program names it */
};

static struct wh_handles handles = WH_HANDLES(struct cudnnContext);
WH_IN_CHILD(pthread_mutex_init(&handles.lock, NULL))

static inline bool alive(const struct cudnnContext *h)
{
	return h && h->h.alive == ALIVE;
}

cudnnHandle_t wh_cudnn_handle(uint64_t id)
{
	struct cudnnContext *found = NULL, *c;
	struct wh_handle *h;

	pthread_mutex_lock(&handles.lock);
	for (h = handles.all; h && !found; h = h->next) {
		c = (struct cudnnContext *)h;
		found = alive(c) && c->id == id ? c : NULL;
	}
	pthread_mutex_unlock(&handles.lock);
	return found;
}

bool wh_pack_cudnnHandle_t(cudnnHandle_t h, struct wh_obj_cudnnHandle_t *out)
{
	if (!alive(h))
		return false;
	out->id = h->id;
	/* The per-thread default stream differs from thread to thread. */
	out->stream = h->stream ? wh_library_stream(h->stream) : 0;
	return true;
}

static cudnnStatus_t create(uint64_t *id)
{
	const struct wh_rsp_cudnnCreate *r;
	struct wh_call c;
	cudnnStatus_t res;

	if (!wh_cudnn_begin(&c, WH_CALL_cudnnCreate, sizeof(struct wh_req_cudnnCreate)))
		return wh_cudnn_lost(c.result);
	res = wh_cudnn_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUDNN_STATUS_SUCCESS)
		*id = r->handle;
	wh_end(&c);
	return res;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
	struct cudnnContext *h;
	cudnnStatus_t res;

	if (!handle)
		return CUDNN_STATUS_BAD_PARAM;
	h = wh_handle_take(&handles);
	if (!h)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	res = create(&h->id);
	if (res != CUDNN_STATUS_SUCCESS) {
		wh_handle_put(&handles, &h->h);
		return res;
	}
	h->h.alive = ALIVE;
	*handle = h;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
	struct wh_req_cudnnDestroy *q;
	cudnnStatus_t res;
	struct wh_call c;

	if (!alive(handle))
		return CUDNN_STATUS_BAD_PARAM;
	/* The handle's plans must end before it. */
	wh_made_end_idle();
	q = wh_cudnn_begin(&c, WH_CALL_cudnnDestroy, sizeof(*q));
	if (!q)
		return wh_cudnn_lost(c.result);
	q->handle = handle->id;
	res = wh_cudnn_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUDNN_STATUS_SUCCESS)
		wh_handle_put(&handles, &handle->h);
	return res;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)
{
	if (!alive(handle))
		return CUDNN_STATUS_BAD_PARAM;
	handle->stream = streamId;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
	if (!alive(handle) || !streamId)
		return CUDNN_STATUS_BAD_PARAM;
	*streamId = handle->stream;
	return CUDNN_STATUS_SUCCESS;
}
