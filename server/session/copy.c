// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers around asynchronous work: copies between staging buffers and the device with a fence
 * behind them, and bounded waits.
 */
#include "session/callback.h"

/* --- Staged copies ------------------------------------------------------------- */

/* An event belongs to a context: a fence used in another one gets a new event. */
static bool has_event(const struct wh_fence *fence, uint64_t ctx)
{
	return fence->event && fence->ctx == ctx;
}

static CUresult signal_fence(struct wh_session *s, struct wh_fence *fence, CUstream stream,
			     uint64_t ctx)
{
	CUresult res;

	if (!has_event(fence, ctx)) {
		if (fence->event)
			s->drv.cuEventDestroy_v2(fence->event);
		fence->event = NULL;
		res = s->drv.cuEventCreate(&fence->event, CU_EVENT_DISABLE_TIMING);
		if (res != CUDA_SUCCESS)
			return res;
		fence->ctx = ctx;
	}
	res = s->drv.cuEventRecord(fence->event, stream);
	__atomic_store_n(&fence->pending, res == CUDA_SUCCESS, __ATOMIC_RELAXED);
	return res;
}

static CUresult start_copy(struct wh_session *s, const struct wh_req_whStageCopy *q,
			   CUstream stream)
{
	void *host = (void *)q->host;
	CUarray array = NULL;
	CUresult res = CUDA_SUCCESS;

	if (q->kind < WH_COPY_TO_ARRAY)
		res = wh_reach(s, q->device, q->size);
	else if (!wh_get(s, WH_H_CUarray, q->device, (void **)&array))
		res = CUDA_ERROR_INVALID_HANDLE;
	if (res != CUDA_SUCCESS)
		return res;
	switch (q->kind) {
	case WH_COPY_TO_DEVICE:
		return s->drv.cuMemcpyHtoDAsync_v2(q->device, host, q->size, stream);
	case WH_COPY_TO_HOST:
		return s->drv.cuMemcpyDtoHAsync_v2(host, q->device, q->size, stream);
	case WH_COPY_TO_ARRAY:
		if (!s->drv.cuMemcpyHtoAAsync_v2)
			return wh_missing(s, "cuMemcpyHtoAAsync_v2");
		return s->drv.cuMemcpyHtoAAsync_v2(array, q->offset, host, q->size, stream);
	case WH_COPY_FROM_ARRAY:
		if (!s->drv.cuMemcpyAtoHAsync_v2)
			return wh_missing(s, "cuMemcpyAtoHAsync_v2");
		return s->drv.cuMemcpyAtoHAsync_v2(host, array, q->offset, q->size, stream);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/*
 * Refuses to copy into a capturing stream: the graph would read the staging buffer again at each
 * replay, long after it holds other data. The client makes a node instead.
 */
CUresult wh_do_whStageCopy(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whStageCopy *q = f->req;
	CUstream stream;
	CUresult res;

	if (f->req_size < sizeof(*q) || q->fence >= WH_FENCES ||
	    !wh_host_range(s, q->host, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUstream, q->stream, (void **)&stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s->drv.cuMemcpyHtoDAsync_v2 || !s->drv.cuMemcpyDtoHAsync_v2 ||
	    !s->drv.cuEventCreate || !s->drv.cuEventRecord || !s->drv.cuEventDestroy_v2)
		return wh_missing(s, "cuMemcpyHtoDAsync_v2 or events");
	if (!wh_self.alone && !has_event(&s->fence[q->fence], q->hdr.ctx))
		return WH_ALONE;
	if (wh_capturing(s, stream))
		return CUDA_ERROR_NOT_READY;
	res = start_copy(s, q, stream);
	if (res == CUDA_SUCCESS)
		wh_count_copy(s, q->kind == WH_COPY_TO_DEVICE || q->kind == WH_COPY_TO_ARRAY,
			      q->size);
	return res ? res : signal_fence(s, &s->fence[q->fence], stream, q->hdr.ctx);
}

/*
 * Copies a few bytes from this worker's private memory, which the driver does not know. Like a
 * native program's pageable memory, it is copied before the call returns, and a small copy does not
 * wait for the device.
 */
static CUresult small_in(struct wh_session *s, const struct wh_req_whSmallIn *q, const void *bytes)
{
	CUstream stream;
	CUresult res = wh_reach(s, q->device, q->size);

	if (res != CUDA_SUCCESS)
		return res;
	if (!q->async) {
		if (!s->drv.cuMemcpyHtoD_v2)
			return wh_missing(s, "cuMemcpyHtoD_v2");
		return WH_OUTSIDE(s, s->drv.cuMemcpyHtoD_v2(q->device, bytes, q->size));
	}
	if (!wh_get(s, WH_H_CUstream, q->stream, (void **)&stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s->drv.cuMemcpyHtoDAsync_v2)
		return wh_missing(s, "cuMemcpyHtoDAsync_v2");
	if (wh_capturing(s, stream))
		return CUDA_ERROR_NOT_READY;
	return s->drv.cuMemcpyHtoDAsync_v2(q->device, bytes, q->size, stream);
}

CUresult wh_do_whSmallIn(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whSmallIn *q = f->req;
	void *bytes;
	CUresult res;

	if (f->req_size < sizeof(*q) || q->size > WH_SMALL_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = sizeof(*q);
	if (!wh_request_take(f, q->size, 1, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	res = small_in(s, q, bytes);
	if (res == CUDA_SUCCESS)
		wh_count_copy(s, true, q->size);
	return res;
}

/* --- Waits ----------------------------------------------------------------------- */

struct wait {
	CUresult (*query)(struct wh_session *s, struct wait *w);
	CUresult (*block)(struct wh_session *s, struct wait *w);
	CUstream stream;
	CUevent event;
};

static CUresult query_stream(struct wh_session *s, struct wait *w)
{
	return s->drv.cuStreamQuery ? s->drv.cuStreamQuery(w->stream) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult block_stream(struct wh_session *s, struct wait *w)
{
	return WH_OUTSIDE(s, s->drv.cuStreamSynchronize(w->stream));
}

static CUresult query_event(struct wh_session *s, struct wait *w)
{
	return s->drv.cuEventQuery ? s->drv.cuEventQuery(w->event) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult block_event(struct wh_session *s, struct wait *w)
{
	return WH_OUTSIDE(s, s->drv.cuEventSynchronize(w->event));
}

/*
 * No query exists for a whole context. So this wait has no bound, unless markers of the SM limit
 * say that its launches are not done. Other threads go on meanwhile.
 */
static CUresult block_context(struct wh_session *s, struct wait *w)
{
	(void)w;
	return WH_OUTSIDE(s, s->drv.cuCtxSynchronize());
}

static CUresult query_context(struct wh_session *s, struct wait *w)
{
	if (s->limits.temporal && wh_sm_look(s))
		return CUDA_ERROR_NOT_READY;
	return block_context(s, w);
}

static CUresult take_wait(struct wh_session *s, const struct wh_req_whWait *q, struct wait *w)
{
	switch (q->kind) {
	case WH_WAIT_STREAM:
		*w = (struct wait) { query_stream, block_stream, NULL, NULL };
		if (!wh_get(s, WH_H_CUstream, q->handle, (void **)&w->stream))
			return CUDA_ERROR_INVALID_HANDLE;
		return s->drv.cuStreamSynchronize ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
	case WH_WAIT_FENCE:
		if (q->handle >= WH_FENCES)
			return CUDA_ERROR_INVALID_VALUE;
		*w = (struct wait) { query_event, block_event, NULL, s->fence[q->handle].event };
		break;
	case WH_WAIT_EVENT:
		*w = (struct wait) { query_event, block_event, NULL, NULL };
		if (!wh_get(s, WH_H_CUevent, q->handle, (void **)&w->event))
			return CUDA_ERROR_INVALID_HANDLE;
		break;
	case WH_WAIT_CONTEXT:
		*w = (struct wait) { query_context, block_context, NULL, NULL };
		return s->drv.cuCtxSynchronize ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return s->drv.cuEventSynchronize ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/*
 * Spins in user mode, by the time stamp counter: a clock may be a system call, or a page of the
 * kernel that a client's CPU cannot read. Work that is done already costs one query. A call that
 * wants to be alone may run in between; the object of the wait may be gone after that.
 */
static CUresult spin(struct wh_session *s, const struct wh_req_whWait *q, struct wait *w)
{
	uint64_t end = __builtin_ia32_rdtsc() + q->slice_us * s->tsc_per_us;
	uint32_t ended = s->ended;
	CUresult res;

	for (;;) {
		res = w->query(s, w);
		if (res != CUDA_ERROR_NOT_READY || __builtin_ia32_rdtsc() >= end)
			return res;
		if (s->limits.temporal)
			wh_sm_look(s);
		__builtin_ia32_pause();
		/* In a server VM the client waits for the end of a suspension, not this thread. */
		if (WH_UNLIKELY(s->callers.in_vm && wh_callers_held(s)))
			return CUDA_ERROR_NOT_READY;
		if (WH_UNLIKELY(wh_callers_wanted(s))) {
			wh_callers_pass(s);
			/*
			 * Its context may have ended or been left meanwhile: the client asks again.
			 */
			if (s->ended != ended || s->limits.temporal)
				return CUDA_ERROR_NOT_READY;
			res = take_wait(s, q, w);
			if (res != CUDA_SUCCESS)
				return res;
		}
	}
}

CUresult wh_do_whWait(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whWait *q = f->req;
	struct wait w;
	CUresult res;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	res = take_wait(s, q, &w);
	if (res != CUDA_SUCCESS)
		return res;
	/* A fence that was never set, or that ended with its context, counts as done. */
	if (q->kind == WH_WAIT_FENCE &&
	    !__atomic_load_n(&s->fence[q->handle].pending, __ATOMIC_RELAXED))
		return CUDA_SUCCESS;
	res = q->slice_us ? spin(s, q, &w) : w.block(s, &w);
	/*
	 * A query neither prints what kernels left behind nor gives memory of pools back to the
	 * device; a wait does both.
	 */
	if (res == CUDA_SUCCESS && q->slice_us && (s->prints || s->pools) &&
	    w.block != block_context)
		res = w.block(s, &w);
	if (res == WH_AGAIN)
		return res;
	if (q->kind == WH_WAIT_FENCE && res != CUDA_ERROR_NOT_READY)
		__atomic_store_n(&s->fence[q->handle].pending, false, __ATOMIC_RELAXED);
	/* Memory that was freed to a pool has now gone back to the device. */
	if (s->limits.mem && res == CUDA_SUCCESS && wh_pools_changed(s)) {
		if (!wh_self.alone)
			return WH_ALONE;
		wh_pools_refresh(s);
	}
	return res;
}
