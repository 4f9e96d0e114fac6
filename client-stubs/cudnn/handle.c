// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of a cuDNN handle. Owns the handle's stream: setting it makes
 * no call, it travels with the next one. A handle is memory that is never given
 * back, so that one that was destroyed is seen as such.
 */
#include "cudnn_stub.h"

#include <pthread.h>
#include <stdlib.h>

#define ALIVE	0x77686475646e6eULL

struct cudnnContext {
	uint64_t alive;		/* ALIVE, or something else */
	uint64_t id;
	cudaStream_t stream;	/* the program's name for it */
	struct cudnnContext *next;	/* of all that ever were */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cudnnContext *all;

static inline bool alive(const struct cudnnContext *h)
{
	return h && h->alive == ALIVE;
}

static struct cudnnContext *take(void)
{
	struct cudnnContext *h;

	pthread_mutex_lock(&lock);
	for (h = all; h && h->alive; h = h->next)
		;
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (h) {
			h->next = all;
			all = h;
		}
	}
	if (h)
		h->alive = 1;	/* taken */
	pthread_mutex_unlock(&lock);
	return h;
}

static void put(struct cudnnContext *h)
{
	pthread_mutex_lock(&lock);
	h->alive = 0;
	pthread_mutex_unlock(&lock);
}

cudnnHandle_t wh_cudnn_handle(uint64_t id)
{
	struct cudnnContext *h;

	pthread_mutex_lock(&lock);
	for (h = all; h && !(alive(h) && h->id == id); h = h->next)
		;
	pthread_mutex_unlock(&lock);
	return h;
}

bool wh_pack_cudnnHandle_t(cudnnHandle_t h, struct wh_obj_cudnnHandle_t *out)
{
	if (!alive(h))
		return false;
	out->id = h->id;
	/* The per-thread default stream is another one for each thread. */
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
	h = take();
	if (!h)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	h->stream = NULL;
	res = create(&h->id);
	if (res != CUDNN_STATUS_SUCCESS) {
		put(h);
		return res;
	}
	h->alive = ALIVE;
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
	q = wh_cudnn_begin(&c, WH_CALL_cudnnDestroy, sizeof(*q));
	if (!q)
		return wh_cudnn_lost(c.result);
	q->handle = handle->id;
	res = wh_cudnn_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUDNN_STATUS_SUCCESS)
		put(handle);
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
