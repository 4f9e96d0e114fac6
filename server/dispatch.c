// SPDX-License-Identifier: Apache-2.0
/*
 * The way of one request through the worker: copy it out of the message area
 * once, check what every request has, enter the caller's context, run the
 * handler on the copies, and put the response back. No system call, no lock,
 * no allocation on this path.
 */
#include "worker.h"

static int64_t run_null(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	(void)s;
	(void)f;
	(void)size;
	return WH_OK;
}

/* Of a session with a temporal limit: a call that is no launch. */
static void before_other_call(struct wh_session *s, const struct wh_call_entry *e)
{
	if (!e->launch)
		wh_sm_other_call(s);
}

static void respond(struct wh_frame *f, CUresult res)
{
	struct wh_rsp *r = (struct wh_rsp *)f->rsp;

	r->result = res;
	r->size = f->rsp_size;
	memcpy(f->msg, f->rsp, f->rsp_size);
}

static int64_t run_cuda(struct wh_session *s, struct wh_frame *f, const void *from, uint64_t size,
			CUresult *result)
{
	const struct wh_call_entry *e;
	const struct wh_req *q = f->req;
	CUresult res;

	if (size < sizeof(*q) || size > f->max)
		return WH_EINVAL;
	memcpy(f->req, from, size);
	if (q->call >= WH_CALLS)
		return WH_ENOSYS;
	e = &wh_calls[q->call];
	if (!e->run)
		return WH_ENOSYS;
	if (size < e->min_size || q->resv)
		return WH_EINVAL;
	if (!s->hello && q->call != WH_CALL_whHello)
		return WH_EPERM;
	s->limits.slot->calls++;
	f->req_size = size;
	f->pos = 0;
	wh_reply(f, sizeof(struct wh_rsp));
	if (q->ctx != s->ctx || q->capture_mode != s->capture_mode)
		wh_context_enter(s, q);
	if (__builtin_expect(s->limits.temporal, 0))
		before_other_call(s, e);
	res = e->run(s, f);
	/* The request stays in the message area as it is. */
	if (__builtin_expect((uint32_t)res >= WH_RETRY, 0))
		return (uint32_t)res - WH_RETRY;
	if (__builtin_expect(s->limits.temporal, 0))
		wh_sm_look(s);
	*result = res;
	return WH_OK;
}

static int64_t answer_cuda(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	CUresult res;
	int64_t status = run_cuda(s, f, f->msg, size, &res);

	if (status == WH_OK)
		respond(f, res);
	return status;
}

int64_t wh_dispatch_posted(struct wh_session *s, uint32_t handler, const void *from, uint32_t size,
			   int *res)
{
	CUresult result = CUDA_SUCCESS;
	int64_t status;

	if (handler != WH_HANDLER_CUDA)
		return WH_ENOSYS;
	s->limits.slot->crossings++;
	status = run_cuda(s, &s->frame[0], from, size, &result);
	*res = result;
	return status;
}

int wh_dispatch_wants_answers(const struct wh_session *s)
{
	return s->limits.temporal;
}

int64_t wh_dispatch_slot(struct wh_session *s, uint32_t slot, uint32_t handler, uint64_t arg)
{
	if (slot >= s->nslots)
		return WH_EINVAL;
	s->limits.slot->crossings++;
	switch (handler) {
	case WH_HANDLER_NULL:
		return run_null(s, &s->frame[slot], arg);
	case WH_HANDLER_CUDA:
		return answer_cuda(s, &s->frame[slot], arg);
	}
	return WH_ENOSYS;
}

int64_t wh_dispatch(struct wh_session *s, uint32_t handler, uint64_t arg)
{
	return wh_dispatch_slot(s, 0, handler, arg);
}

static int64_t handler_null(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)arg1;
	return wh_dispatch_slot(session, slot, WH_HANDLER_NULL, arg0);
}

static int64_t handler_cuda(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)arg1;
	return wh_dispatch_slot(session, slot, WH_HANDLER_CUDA, arg0);
}

wh_handler_fn *const wh_handlers[WH_HANDLERS] = {
	[WH_HANDLER_NULL] = handler_null,
	[WH_HANDLER_CUDA] = handler_cuda,
};
