// SPDX-License-Identifier: Apache-2.0
/*
 * Records a call while somebody traces: what it was, from its request before the handler changes
 * it, and when it ran. A request is read only as far as its size was checked.
 */
#include "session/traced.h"
#include "tenant/clock.h"

/* --- Describing a call ---------------------------------------------------------------------- */

static void name_kernel(struct wh_session *s, uint64_t id, struct wh_trace_record *r)
{
	void *kernel = wh_handles_get(&s->handles, id, WH_H_CUkernel), *function = NULL;
	CUresult (*of_function)(const char **, CUfunction) = s->drv.cuFuncGetName;
	CUresult (*of_kernel)(const char **, CUkernel) = s->drv.cuKernelGetName;
	CUresult res = CUDA_ERROR_NOT_SUPPORTED;
	const char *name = NULL;

	if (!kernel)
		function = wh_handles_get(&s->handles, id, WH_H_CUfunction);
	r->name = id;
	if ((!kernel && !function) || wh_trace_named(s, id))
		return;
	if (kernel && of_kernel)
		res = of_kernel(&name, kernel);
	else if (function && of_function)
		res = of_function(&name, function);
	if (res == CUDA_SUCCESS && name)
		wh_trace_say_name(s, id, name);
}

static void launch(struct wh_session *s, const struct wh_req_whLaunch *q,
		   struct wh_trace_record *r)
{
	r->kind = WH_TRACE_LAUNCH;
	r->stream = q->stream;
	memcpy(r->grid, q->grid, sizeof(r->grid));
	memcpy(r->block, q->block, sizeof(r->block));
	name_kernel(s, q->function, r);
}

static void copy(struct wh_trace_record *r, uint64_t stream, uint64_t bytes, int way)
{
	r->kind = WH_TRACE_COPY;
	r->stream = stream;
	r->value = bytes;
	r->way = (uint8_t)way;
}

static void fill(struct wh_trace_record *r, uint64_t stream, uint64_t bytes)
{
	r->kind = WH_TRACE_FILL;
	r->stream = stream;
	r->value = bytes;
}

static int way_of(CUmemorytype from, CUmemorytype to)
{
	if ((from == CU_MEMORYTYPE_HOST) == (to == CU_MEMORYTYPE_HOST))
		return WH_TRACE_NO_WAY;
	return from == CU_MEMORYTYPE_HOST ? WH_TRACE_TO_DEVICE : WH_TRACE_TO_HOST;
}

#define COPY(name, way, stream) \
	case WH_CALL_##name: \
		copy(r, stream, ((const struct wh_req_##name *)q)->ByteCount, way); \
		break
#define STREAM(name)	(((const struct wh_req_##name *)q)->hStream)
#define BOX(name, stream, slices) \
	case WH_CALL_##name: { \
		const struct wh_req_##name *b = (const void *)q; \
		copy(r, stream, b->pCopy.WidthInBytes * b->pCopy.Height * (slices), \
		     way_of(b->pCopy.srcMemoryType, b->pCopy.dstMemoryType)); \
		break; \
	}
#define FILL(name, size) \
	case WH_CALL_##name: \
		fill(r, STREAM(name), ((const struct wh_req_##name *)q)->N * (size)); \
		break
#define WAIT(name) \
	case WH_CALL_##name: \
		r->kind = WH_TRACE_WAIT; \
		break

static void stage(const struct wh_req_whStageCopy *q, struct wh_trace_record *r)
{
	bool in = q->kind == WH_COPY_TO_DEVICE || q->kind == WH_COPY_TO_ARRAY;

	copy(r, q->stream, q->size, in ? WH_TRACE_TO_DEVICE : WH_TRACE_TO_HOST);
}

static void wait_for(const struct wh_req_whWait *q, struct wh_trace_record *r)
{
	r->kind = WH_TRACE_WAIT;
	r->stream = q->kind == WH_WAIT_STREAM ? q->handle : 0;
}

/*
 * Describes a call of the driver. Dispatch has checked that the request has the call's least size.
 */
static void describe(struct wh_session *s, const struct wh_req *q, size_t size,
		     struct wh_trace_record *r)
{
	switch (q->call) {
	case WH_CALL_whLaunch:
		if (size >= sizeof(struct wh_req_whLaunch))
			launch(s, (const void *)q, r);
		break;
	case WH_CALL_cuGraphLaunch:
		r->kind = WH_TRACE_LAUNCH;
		r->stream = STREAM(cuGraphLaunch);
		break;
	case WH_CALL_whStageCopy:
		if (size >= sizeof(struct wh_req_whStageCopy))
			stage((const void *)q, r);
		break;
	case WH_CALL_whSmallIn:
		if (size >= sizeof(struct wh_req_whSmallIn))
			copy(r, ((const struct wh_req_whSmallIn *)q)->stream,
			     ((const struct wh_req_whSmallIn *)q)->size, WH_TRACE_TO_DEVICE);
		break;
	case WH_CALL_whWait:
		if (size >= sizeof(struct wh_req_whWait))
			wait_for((const void *)q, r);
		break;
	COPY(cuMemcpy, WH_TRACE_NO_WAY, 0);
	COPY(cuMemcpyAsync, WH_TRACE_NO_WAY, STREAM(cuMemcpyAsync));
	COPY(cuMemcpyHtoD_v2, WH_TRACE_TO_DEVICE, 0);
	COPY(cuMemcpyHtoDAsync_v2, WH_TRACE_TO_DEVICE, STREAM(cuMemcpyHtoDAsync_v2));
	COPY(cuMemcpyDtoH_v2, WH_TRACE_TO_HOST, 0);
	COPY(cuMemcpyDtoHAsync_v2, WH_TRACE_TO_HOST, STREAM(cuMemcpyDtoHAsync_v2));
	COPY(cuMemcpyDtoD_v2, WH_TRACE_NO_WAY, 0);
	COPY(cuMemcpyDtoDAsync_v2, WH_TRACE_NO_WAY, STREAM(cuMemcpyDtoDAsync_v2));
	BOX(cuMemcpy2D_v2, 0, 1)
	BOX(cuMemcpy2DUnaligned_v2, 0, 1)
	BOX(cuMemcpy2DAsync_v2, STREAM(cuMemcpy2DAsync_v2), 1)
	BOX(cuMemcpy3D_v2, 0, b->pCopy.Depth)
	BOX(cuMemcpy3DAsync_v2, STREAM(cuMemcpy3DAsync_v2), b->pCopy.Depth)
	FILL(cuMemsetD8Async, 1);
	FILL(cuMemsetD16Async, 2);
	FILL(cuMemsetD32Async, 4);
	WAIT(cuStreamSynchronize);
	WAIT(cuEventSynchronize);
	WAIT(cuCtxSynchronize);
	}
}

/* --- Running it ----------------------------------------------------------------------------- */

/* Is this an asynchronous copy or fill? Launches measure their begin and end themselves. */
static bool is_async(const struct wh_req *q, const struct wh_trace_record *r)
{
	switch (q->call) {
	case WH_CALL_whStageCopy:
	case WH_CALL_cuMemcpyAsync:
	case WH_CALL_cuMemcpyHtoDAsync_v2:
	case WH_CALL_cuMemcpyDtoHAsync_v2:
	case WH_CALL_cuMemcpyDtoDAsync_v2:
	case WH_CALL_cuMemcpy2DAsync_v2:
	case WH_CALL_cuMemcpy3DAsync_v2:
		return true;
	}
	return r->kind == WH_TRACE_FILL;
}

static int32_t run(struct wh_session *s, struct wh_frame *f, const struct wh_call_entry *e,
		   const struct wh_library_entry *l)
{
	return e ? (int32_t)e->run(s, f) : l->run(s, f);
}

int32_t wh_run_traced(struct wh_session *s, struct wh_frame *f, const struct wh_call_entry *e,
		      const struct wh_library_entry *l)
{
	const struct wh_req *q = f->req;
	struct wh_trace_record r = { .kind = WH_TRACE_CALL, .call = q->call };
	CUstream stream = NULL;
	int32_t res;
	bool async;

	if (!wh_trace_lives(s))
		return run(s, f, e, l);
	if (e)
		describe(s, q, f->req_size, &r);
	async = is_async(q, &r) && wh_get(s, WH_H_CUstream, r.stream, (void **)&stream);
	wh_self.traced = &r;
	__atomic_fetch_or(&s->limits.watched, WH_WATCHED_TRACE, __ATOMIC_RELAXED);
	if (async)
		wh_trace_device_begin(s, stream);
	r.begin_ns = wh_now_ns();
	res = run(s, f, e, l);
	r.end_ns = wh_now_ns();
	if (wh_self.pair && res >= WH_RETRY)
		wh_trace_device_forget(s);
	else if (wh_self.pair)
		wh_trace_device_end(s, stream);
	wh_self.traced = NULL;
	/*
	 * A call that was not done runs again, and is recorded then. A call that was held back is
	 * recorded as such.
	 */
	if (res >= (int32_t)WH_ALONE)
		return res;
	if (res >= WH_RETRY) {
		r.kind = WH_TRACE_HELD;
		r.end_ns = r.begin_ns + (uint64_t)(res - WH_RETRY) * 1000;
	}
	wh_trace_put(s, &r);
	wh_trace_device_look(s);
	return res;
}
