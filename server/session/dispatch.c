// SPDX-License-Identifier: Apache-2.0
/*
 * The way of one request through the worker: copy it out of the message area
 * once, check what every request has, enter the caller's context, run the
 * handler on the copies, and put the response back. No system call, no lock,
 * no allocation on this path.
 */
#include "session/library.h"
#include "session/output.h"

static int64_t answer_null(struct wh_session *s)
{
	s->limits.account->crossings++;
	return WH_OK;
}

/* Of a session with a temporal limit: a call that is no launch. */
static void before_other_call(struct wh_session *s, const struct wh_call_entry *e)
{
	if (!e->launch)
		wh_sm_other_call(s);
}

static void respond(struct wh_frame *f, int32_t res)
{
	struct wh_rsp *r = (struct wh_rsp *)f->rsp;

	r->result = res;
	r->size = f->rsp_size | (__atomic_load_n(&wh_output_pending, __ATOMIC_RELAXED) ?
				 WH_RSP_OUTPUT : 0);
	if (__builtin_expect(f->rsp_size == sizeof(*r), 1))
		memcpy(f->msg, r, sizeof(*r));
	else
		memcpy(f->msg, f->rsp, f->rsp_size);
}

/* Into the frame, once; what every request has is checked there. */
static inline int64_t copy_in(struct wh_frame *f, const void *from, uint64_t size)
{
	const struct wh_req *q = f->req;

	if (size < sizeof(*q) || size > f->max)
		return WH_EINVAL;
	memcpy(f->req, from, size);
	f->req_size = size;
	f->pos = 0;
	return q->resv ? WH_EINVAL : WH_OK;
}

/* A call that has to wait was not begun: its request stays in the message area as it is. */
static inline int64_t finish(struct wh_session *s, int32_t res, bool launch, int *result)
{
	if (__builtin_expect((uint32_t)res >= WH_RETRY && (uint32_t)res <= INT32_MAX, 0))
		return (uint32_t)res - WH_RETRY;
	/* A launch has looked already. */
	if (__builtin_expect(s->limits.temporal, 0) && !launch)
		wh_sm_look(s);
	if (__builtin_expect(s->limits.risen, 0))
		wh_mem_note_peak(s);
	*result = res;
	return WH_OK;
}

static inline void prepare(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req *q = f->req;

	wh_reply(f, sizeof(struct wh_rsp));
	if (q->ctx != s->ctx || q->capture_mode != s->capture_mode)
		wh_context_enter(s, q);
}

static int64_t run_cuda(struct wh_session *s, struct wh_frame *f, const void *from, uint64_t size,
			int *result)
{
	const struct wh_call_entry *e;
	const struct wh_req *q = f->req;
	int64_t rc = copy_in(f, from, size);

	if (rc != WH_OK)
		return rc;
	if (q->call >= WH_CALLS)
		return WH_ENOSYS;
	e = &wh_calls[q->call];
	if (!e->run)
		return WH_ENOSYS;
	if (size < e->min_size)
		return WH_EINVAL;
	if (!s->hello && q->call != WH_CALL_whHello)
		return WH_EPERM;
	s->limits.account->calls++;
	prepare(s, f);
	if (__builtin_expect(s->limits.temporal, 0))
		before_other_call(s, e);
	return finish(s, e->run(s, f), e->launch, result);
}

static int64_t run_library(struct wh_session *s, struct wh_frame *f, const void *from,
			   uint64_t size, int *result)
{
	const struct wh_req *q = f->req;
	const struct wh_library_entry *e;
	int64_t rc = copy_in(f, from, size);

	if (rc != WH_OK)
		return rc;
	e = wh_library_find(q->call);
	if (!e)
		return WH_ENOSYS;
	if (size < e->min_size)
		return WH_EINVAL;
	if (!wh_library_functions(s, q->call >> WH_LIBRARY_SHIFT))
		return WH_EPERM;
	s->limits.account->calls++;
	prepare(s, f);
	rc = finish(s, e->run(s, f), false, result);
	/* Where nothing is current, NVIDIA's libraries make something current. */
	if (!q->ctx)
		s->ctx = WH_CTX_UNKNOWN;
	return rc;
}

int64_t wh_dispatch_posted(struct wh_session *s, uint32_t handler, const void *from, uint32_t size,
			   int *res)
{
	int64_t rc = WH_ENOSYS;

	s->limits.account->crossings++;
	s->limits.posted = true;
	switch (handler) {
	case WH_HANDLER_CUDA:
		rc = run_cuda(s, &s->frame[0], from, size, res);
		break;
	case WH_HANDLER_LIBRARY:
		rc = run_library(s, &s->frame[0], from, size, res);
		break;
	}
	s->limits.posted = false;
	return rc;
}

int wh_dispatch_wants_answers(const struct wh_session *s)
{
	return s->limits.temporal && wh_sm_wants_answers(s);
}

int wh_dispatch_wants_idle(const struct wh_session *s)
{
	return s->limits.temporal != 0;
}

int wh_dispatch_idle(struct wh_session *s, int end)
{
	return wh_sm_idle(s, end);
}

static int64_t answer_cuda(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	int res;
	int64_t rc = run_cuda(s, f, f->msg, size, &res);

	if (rc == WH_OK)
		respond(f, res);
	return rc;
}

static int64_t answer_library(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	int res;
	int64_t rc = run_library(s, f, f->msg, size, &res);

	if (rc == WH_OK)
		respond(f, res);
	return rc;
}

int64_t wh_dispatch_slot(struct wh_session *s, uint32_t slot, uint32_t handler, uint64_t arg)
{
	if (slot >= s->nslots)
		return WH_EINVAL;
	if (handler == WH_HANDLER_NULL)
		return answer_null(s);
	s->limits.account->crossings++;
	switch (handler) {
	case WH_HANDLER_CUDA:
		return answer_cuda(s, &s->frame[slot], arg);
	case WH_HANDLER_LIBRARY:
		return answer_library(s, &s->frame[slot], arg);
	}
	return WH_ENOSYS;
}

int64_t wh_dispatch(struct wh_session *s, uint32_t handler, uint64_t arg)
{
	return wh_dispatch_slot(s, 0, handler, arg);
}

static int64_t handler_null(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)slot, (void)arg0, (void)arg1;
	return answer_null(session);
}

static int64_t handler_cuda(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)arg1;
	return wh_dispatch_slot(session, slot, WH_HANDLER_CUDA, arg0);
}

static int64_t handler_library(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)arg1;
	return wh_dispatch_slot(session, slot, WH_HANDLER_LIBRARY, arg0);
}

wh_handler_fn *const wh_handlers[WH_HANDLERS] = {
	[WH_HANDLER_NULL] = handler_null,
	[WH_HANDLER_CUDA] = handler_cuda,
	[WH_HANDLER_LIBRARY] = handler_library,
};
