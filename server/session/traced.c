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

void wh_trace_kind(struct wh_trace_record *r, uint64_t stream, enum wh_trace_kind kind)
{
	r->kind = kind;
	r->stream = stream;
}

void wh_trace_copy(struct wh_trace_record *r, uint64_t stream, uint64_t bytes, int way)
{
	wh_trace_kind(r, stream, WH_TRACE_COPY);
	r->value = bytes;
	r->way = (uint8_t)way;
}

void wh_trace_fill(struct wh_trace_record *r, uint64_t stream, uint64_t bytes)
{
	wh_trace_kind(r, stream, WH_TRACE_FILL);
	r->value = bytes;
}

int wh_trace_way(CUmemorytype from, CUmemorytype to)
{
	if ((from == CU_MEMORYTYPE_HOST) == (to == CU_MEMORYTYPE_HOST))
		return WH_TRACE_NO_WAY;
	return from == CU_MEMORYTYPE_HOST ? WH_TRACE_TO_DEVICE : WH_TRACE_TO_HOST;
}

static bool stage(const struct wh_req_whStageCopy *q, struct wh_trace_record *r)
{
	bool in = q->kind == WH_COPY_TO_DEVICE || q->kind == WH_COPY_TO_ARRAY;

	wh_trace_copy(r, q->stream, q->size, in ? WH_TRACE_TO_DEVICE : WH_TRACE_TO_HOST);
	return true;
}

/*
 * The requests that only our own ends know are described here, all others by cuda.api. Returns
 * true for an asynchronous copy or fill. Launches measure their begin and end themselves.
 */
static bool describe(struct wh_session *s, const struct wh_req *q, size_t size,
		     struct wh_trace_record *r)
{
	const struct wh_req_whSmallIn *in = (const void *)q;
	const struct wh_req_whWait *wait = (const void *)q;

	if (q->call == WH_CALL_whLaunch && size >= sizeof(struct wh_req_whLaunch))
		launch(s, (const void *)q, r);
	else if (q->call == WH_CALL_whStageCopy && size >= sizeof(struct wh_req_whStageCopy))
		return stage((const void *)q, r);
	else if (q->call == WH_CALL_whSmallIn && size >= sizeof(*in))
		wh_trace_copy(r, in->stream, in->size, WH_TRACE_TO_DEVICE);
	else if (q->call == WH_CALL_whWait && size >= sizeof(*wait))
		wh_trace_kind(r, wait->kind == WH_WAIT_STREAM ? wait->handle : 0, WH_TRACE_WAIT);
	else
		/* Dispatch has checked that such a request has its call's least size. */
		return wh_told(q, r);
	return false;
}

/* --- Running it ----------------------------------------------------------------------------- */

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
	bool async = false;

	if (!wh_trace_lives(s))
		return run(s, f, e, l);
	if (e)
		async = describe(s, q, f->req_size, &r) &&
			wh_get(s, WH_H_CUstream, r.stream, (void **)&stream);
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
