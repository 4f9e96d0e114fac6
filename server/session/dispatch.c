// SPDX-License-Identifier: Apache-2.0
/*
 * The path of one request through the worker: copy it out of the message area once, check what
 * every request has, enter the caller's context, run the handler on the copies, and put the
 * response back. There is no system call and no allocation on this path, and no lock but
 * callers.h's. A long request to a library, which no message area can hold, is copied from the data
 * area instead.
 */
#include "session/dispatch.h"

#include "limits/paged.h"
#include "session/library.h"
#include "session/output.h"
#include "session/room.h"
#include "session/traced.h"

#include <stdlib.h>
#include <time.h>

/* In these calls the driver ends events of their context. */
static bool ends_a_context(uint32_t call)
{
	switch (call) {
	case WH_CALL_cuCtxDestroy:
	case WH_CALL_cuCtxDestroy_v2:
	case WH_CALL_cuDevicePrimaryCtxRelease:
	case WH_CALL_cuDevicePrimaryCtxRelease_v2:
	case WH_CALL_cuDevicePrimaryCtxReset:
	case WH_CALL_cuDevicePrimaryCtxReset_v2:
	case WH_CALL_cuGreenCtxDestroy:
		return true;
	}
	return false;
}

/* Before a call that is no launch, in a session with a temporal limit. */
static void before_other_call(struct wh_session *s, const struct wh_req *q)
{
	wh_sm_other_call(s);
	if (ends_a_context(q->call))
		wh_awaited_over(s);
	else
		wh_awaited_say(s);
}

/*
 * Writes first what is behind the head, then the head. Responses are padded: each has at least 16
 * bytes.
 */
static WH_INLINE void respond(struct wh_frame *f, int32_t res)
{
	struct wh_rsp *r = (struct wh_rsp *)f->msg;
	size_t least = WH_WIRE_FIXED(*r), size = f->rsp_size;

	memcpy(r + 1, f->rsp + sizeof(*r), least - sizeof(*r));
	if (WH_UNLIKELY(size > least))
		memcpy(f->msg + least, f->rsp + least, size - least);
	r->result = res;
	r->size = size | __atomic_load_n(&wh_output_pending, __ATOMIC_RELAXED);
}

/*
 * Most requests are short. A message area always has more, so this much is copied from it without a
 * look at the request's length. The request still counts as req_size bytes.
 */
#define SHORT	128u

/* Copies a request into the frame, once. False: this is no size of a request. */
static WH_INLINE bool copy_once(struct wh_frame *f, const void *from, uint64_t size)
{
	if (size < sizeof(struct wh_req) || size > f->max)
		return false;
	if (WH_LIKELY(from == f->msg && size <= SHORT))
		memcpy(f->req, from, SHORT);
	else
		memcpy(f->req, from, size);
	/* Shared memory may change, so from here on nothing is read there again. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	f->req_size = size;
	f->pos = 0;
	return true;
}

/* No context has this number: it would match a thread that has entered no context. */
static inline bool is_nobodys(const struct wh_req *q)
{
	return q->ctx == WH_CTX_UNKNOWN;
}

/* Copies a request, and checks what every request has. */
static WH_INLINE int64_t copy_in(struct wh_session *s, struct wh_frame *f, const void *from,
				 uint64_t size)
{
	const struct wh_req *q = f->req;

	return !copy_once(f, from, size) || (q->number && !s->profile) || is_nobodys(q) ?
	       WH_EINVAL : WH_OK;
}

/* Is this no result, but one of the values that only dispatch sees (limits/charge.h)? */
static inline bool is_delay(int32_t res)
{
	return WH_UNLIKELY(res >= WH_RETRY);
}

/* A call that has to wait has not begun: its request stays in the message area unchanged. */
static WH_INLINE int64_t finish(struct wh_session *s, int32_t res, const struct wh_call_entry *e,
				int *result)
{
	*result = res;
	if (is_delay(res))
		return res - WH_RETRY;
	/* A launch has looked itself. */
	if (WH_UNLIKELY(s->limits.temporal) && !(e && e->launch))
		wh_sm_look(s);
	if (WH_UNLIKELY(s->limits.risen))
		wh_mem_note_peak(s);
	return WH_OK;
}

/* Calls run one by one under a share of time, and also when the limits have changed. */
static inline bool may_share(const struct wh_session *s)
{
	const struct wh_limits *l = &s->limits;

	return !__atomic_load_n(&l->temporal, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&l->seen, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&l->page->sequence, __ATOMIC_RELAXED);
}

/* Is the thread in the state that the call wants, so that nothing must change before it? */
static inline bool prepared(const struct wh_session *s, const struct wh_req *q)
{
	_Static_assert(sizeof(q->capture_mode) + sizeof(q->number) == sizeof(uint64_t) &&
		       offsetof(struct wh_self, number) - offsetof(struct wh_self, capture_mode) ==
		       offsetof(struct wh_req, number) - offsetof(struct wh_req, capture_mode),
		       "two fields, one look");
	return q->ctx == wh_self.ctx &&
	       !memcmp(&q->capture_mode, &wh_self.capture_mode, sizeof(uint64_t)) &&
	       wh_self.ended == s->ended;
}

/*
 * Called alone. Under a share of time it enters the context of the last call. A context that ended
 * since this thread's last call is forgotten first, so that only a thread that is really in a
 * context leaves it.
 */
static void go_on(struct wh_session *s)
{
	if (WH_UNLIKELY(wh_self.ended != s->ended)) {
		wh_self.ctx = WH_CTX_UNKNOWN;
		wh_self.ended = s->ended;
	}
	if (WH_UNLIKELY(s->limits.temporal))
		wh_context_follow(s);
}

/* Called alone. */
static void prepare(struct wh_session *s, const struct wh_req *q)
{
	go_on(s);
	if (q->ctx != wh_self.ctx || q->capture_mode != wh_self.capture_mode)
		wh_context_enter(s, q);
	if (WH_UNLIKELY(s->limits.temporal))
		s->limits.ctx = wh_self.ctx;
}

/* Goes inside, together with others. False: not possible now. */
static inline bool go_together(struct wh_session *s, const struct wh_req *q)
{
	if (!wh_callers_together(s))
		return false;
	if (WH_LIKELY(may_share(s) && prepared(s, q)))
		return true;
	wh_callers_leave(s);
	return false;
}

static bool go_alone(struct wh_session *s, const struct wh_req *q, bool ends)
{
	if (!wh_callers_alone(s, ends))
		return false;
	/* It may have come to rest since the look in go_in(): the driver is asked nothing. */
	if (WH_UNLIKELY(s->callers.in_vm && wh_callers_held(s))) {
		wh_callers_leave(s);
		return false;
	}
	prepare(s, q);
	return true;
}

/* Takes the call inside, whether the tenant is suspended or not. */
static inline bool go_in_anyway(struct wh_session *s, const struct wh_req *q, bool alone, bool ends)
{
	if (!alone && may_share(s)) {
		if (WH_LIKELY(go_together(s, q)))
			return true;
		/* Perhaps only the context has to be entered, which is done alone. */
		if (!go_alone(s, q, false))
			return false;
		wh_callers_leave(s);
		if (go_together(s, q))
			return true;
	}
	return go_alone(s, q, ends);
}

/*
 * Takes the call inside, alone where that is needed; wh_callers_leave() ends that. A call of a
 * suspended tenant waits here, and in a server VM at its client, where a sleep is no handoff. There
 * it asks the driver for nothing on its way in: the driver may be locked. Returns WH_OK, or after
 * how many microseconds the client has to send the call again (callers.h).
 */
static inline int64_t go_in(struct wh_session *s, const struct wh_req *q, bool alone, bool ends)
{
	for (;;) {
		if (wh_callers_held(s) && s->callers.in_vm)
			return WH_CALLERS_HELD_US;
		if (!go_in_anyway(s, q, alone, ends))
			return WH_CALLERS_TURN_US;
		if (WH_LIKELY(!wh_callers_held(s)))
			return WH_OK;
		wh_callers_leave(s);
		if (!s->callers.in_vm)
			wh_callers_await_resume(s);
	}
}

/*
 * Has the call to be run again? If so, waits until it may. Sets *alone if it must run alone, and
 * *last if nobody has room for what the driver refuses then.
 */
static inline bool again(struct wh_session *s, int32_t res, bool *alone, bool *last)
{
	if (WH_UNLIKELY(res == CUDA_ERROR_OUT_OF_MEMORY) && !*last && wh_room_helps(s)) {
		wh_callers_leave(s);
		*last = !wh_room_await(s);
		return true;
	}
	if (!is_delay(res) || (res != (int32_t)WH_ALONE && res != (int32_t)WH_AGAIN))
		return false;
	wh_callers_leave(s);
	if (res == (int32_t)WH_AGAIN)
		wh_callers_await_ends(s);
	else
		*alone = true;
	return true;
}

/* Has the client said hello in this session? */
static inline bool greeted(const struct wh_session *s)
{
	return __atomic_load_n(&s->calls, __ATOMIC_RELAXED);
}

/* Puts the request into the frame and its call's entry into *entry, or returns why it is none. */
static WH_INLINE int64_t take_request(struct wh_session *s, struct wh_frame *f, const void *from,
				      uint64_t size, const struct wh_call_entry **entry)
{
	const struct wh_req *q = f->req;
	int64_t rc = copy_in(s, f, from, size);

	if (rc != WH_OK)
		return rc;
	if (q->call >= WH_CALLS || !wh_calls[q->call].run)
		return WH_ENOSYS;
	*entry = &wh_calls[q->call];
	if (size < (*entry)->min_size)
		return WH_EINVAL;
	return greeted(s) || q->call == WH_CALL_whHello ? WH_OK : WH_EPERM;
}

/* The call is among the callers. */
static WH_INLINE int32_t run_handler(struct wh_session *s, struct wh_frame *f,
				     const struct wh_call_entry *e)
{
	f->rsp_size = WH_WIRE_FIXED(struct wh_rsp);
	if (WH_UNLIKELY(s->limits.temporal) && !e->launch)
		before_other_call(s, f->req);
	return wh_tracing(s) ? wh_run_traced(s, f, e, NULL) : (int32_t)e->run(s, f);
}

/* The driver knows nothing of a context that has ended; the client may still have it current. */
static int32_t why_no_context(const struct wh_session *s, const struct wh_req *q)
{
	return q->ctx && !wh_handles_get(&s->handles, q->ctx, WH_H_CUcontext) ?
	       CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
}

/* What the thread does from here on is of no numbered request. */
static inline void number_ends(struct wh_session *s)
{
	if (WH_LIKELY(!wh_self.number))
		return;
	s->profile(0);
	wh_self.number = 0;
}

static int64_t run_cuda(struct wh_session *s, struct wh_frame *f, const void *from, uint64_t size,
			 int *result)
{
	const struct wh_call_entry *e;
	const struct wh_req *q = f->req;
	bool alone = false, last = false;
	int64_t rc;
	int32_t res;

	do {
		rc = take_request(s, f, from, size, &e);
		if (rc != WH_OK)
			return rc;
		/* prepared() compares equal numbers. */
		wh_self.number = q->number;
		rc = go_in(s, q, alone || !e->together, e->ends);
		if (WH_UNLIKELY(rc != WH_OK)) {
			wh_self.number = 0;
			return rc;
		}
		wh_self.refused = 0;
		if (WH_UNLIKELY(wh_self.number))
			s->profile(wh_self.number);
		res = run_handler(s, f, e);
		number_ends(s);
		if (WH_UNLIKELY(res == CUDA_ERROR_INVALID_CONTEXT))
			res = why_no_context(s, f->req);
	} while (again(s, res, &alone, &last));
	rc = finish(s, res, e, result);
	if (rc == WH_OK)
		wh_count(&s->limits.account->calls, 1);
	wh_callers_leave(s);
	return rc;
}

/*
 * A context that does not exist, or has ended, is entered as none; a library would then choose the
 * device's own. NVML and CUPTI have nothing to do with contexts.
 */
static bool sheltered(struct wh_session *s, const struct wh_req *q)
{
	return q->call >> WH_LIBRARY_SHIFT == WH_LIB_nvml ||
	       q->call >> WH_LIBRARY_SHIFT == WH_LIB_cupti ||
	       wh_handles_get(&s->handles, q->ctx, WH_H_CUcontext) ||
	       wh_sms_shelter(s) == CUDA_SUCCESS;
}

_Static_assert(WH_H_TYPES <= WH_HANDLE_LIBRARIES, "the driver's types are below the libraries'");

static int64_t run_library(struct wh_session *s, struct wh_frame *f, const void *from,
			   uint64_t size, int *result)
{
	const struct wh_req *q = f->req;
	const struct wh_library_entry *e;
	int64_t rc = copy_in(s, f, from, size);
	int32_t res;

	if (rc != WH_OK)
		return rc;
	e = wh_library_find(q->call & ~WH_EDITION_MASK);
	if (!e)
		return WH_ENOSYS;
	if (size < e->min_size)
		return WH_EINVAL;
	if (!greeted(s))
		return WH_EPERM;
	rc = go_in(s, q, true, e->ends);
	if (rc != WH_OK)
		return rc;
	if (wh_library_enter(s, f->req) && sheltered(s, q)) {
		wh_reply(f, sizeof(struct wh_rsp));
		wh_library_begins(s);
		wh_self.number = q->number;
		if (WH_UNLIKELY(wh_self.number))
			s->profile(wh_self.number);
		/* A call that ends nothing is work, like a launch. Any other call may wait. */
		if (s->limits.temporal && e->ends)
			before_other_call(s, q);
		res = wh_tracing(s) ? wh_run_traced(s, f, NULL, e) : e->run(s, f);
		number_ends(s);
		wh_library_ended(s);
		rc = finish(s, res, NULL, result);
		if (rc == WH_OK)
			wh_count(&s->limits.account->calls, 1);
		/* If no context is current, NVIDIA's libraries make one current. */
		if (!q->ctx)
			wh_self.ctx = WH_CTX_UNKNOWN;
	} else {
		rc = WH_EPERM;
	}
	wh_library_leave(s);
	wh_callers_leave(s);
	return rc;
}

int64_t wh_dispatch_posted(struct wh_session *s, uint32_t slot, uint32_t handler, const void *from,
			   uint32_t size, int *res)
{
	int64_t rc = WH_ENOSYS;

	wh_self.slot = slot;
	wh_count(&s->limits.account->posted, 1);
	wh_self.posted = true;
	switch (handler) {
	case WH_HANDLER_CUDA:
		rc = run_cuda(s, &s->frame[slot], from, size, res);
		break;
	case WH_HANDLER_LIBRARY:
		rc = run_library(s, &s->frame[slot], from, size, res);
		break;
	}
	wh_self.posted = false;
	return rc;
}

bool wh_dispatch_takes_turns(const struct wh_session *s)
{
	return s->limits.temporal;
}

int wh_dispatch_wants_answers(const struct wh_session *s)
{
	return s->limits.temporal && wh_sm_wants_answers(s);
}

int wh_dispatch_wants_idle(const struct wh_session *s)
{
	return s->limits.temporal != 0;
}

int wh_dispatch_busy(const struct wh_session *s)
{
	return s->limits.temporal && wh_sm_under_way(s);
}

int wh_dispatch_idle(struct wh_session *s, uint32_t slot, int end)
{
	bool busy;

	wh_self.slot = slot;
	if (!wh_callers_alone(s, false))
		return true;
	/* The driver is locked, or will be. */
	busy = false;
	if (!wh_callers_held(s)) {
		go_on(s);
		busy = wh_sm_idle(s, end);
	}
	wh_callers_leave(s);
	return busy;
}

uint32_t wh_dispatch_suspension(const struct wh_session *s)
{
	const uint32_t *word = &s->limits.page->suspension;
	uint32_t number;

	while (!(number = __atomic_load_n(word, __ATOMIC_ACQUIRE)))
		wh_tenant_await(word, 0, 0);
	return number;
}

/*
 * The time that the device has worked is counted up to here: from now on it is the time of a
 * program that does nothing.
 */
static bool settle_all(struct wh_session *s)
{
	bool busy;

	go_on(s);
	busy = s->limits.temporal && wh_sm_idle(s, true);
	if (s->limits.mem && wh_mem_unsettled(s))
		wh_mem_settle(s);
	return !busy;
}

/*
 * Who ends a suspension might end before the order. In a server VM its workers end with it, and a
 * timer of theirs would keep the VM awake, and its judge asking (vm/judge.c).
 */
#define REST_LOOK_MS	1000

void wh_dispatch_rest(struct wh_session *s, uint32_t number)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	struct wh_worker_usage *own = s->limits.account;
	/* Orders of before are not for this suspension. */
	uint32_t seen = __atomic_load_n(&own->order, __ATOMIC_ACQUIRE), order;
	bool settled;

	while (wh_callers_rest(s, number)) {
		settled = settle_all(s);
		wh_callers_leave(s);
		if (settled)
			break;
		nanosleep(&nap, NULL);
	}
	__atomic_store_n(&own->at_rest, number, __ATOMIC_RELEASE);
	wh_tenant_wake(&own->at_rest);
	/* The end of the suspension is an order, too (daemon/suspend.c). */
	for (;;) {
		order = __atomic_load_n(&own->order, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&s->limits.page->suspension, __ATOMIC_ACQUIRE) != number)
			return;
		if (order != seen)
			wh_paging_obey(s, order);
		seen = order;
		wh_tenant_await(&own->order, seen, s->callers.in_vm ? 0 : REST_LOOK_MS);
	}
}

int wh_dispatch_unsettled(const struct wh_session *s)
{
	return s->limits.mem && wh_mem_unsettled(s);
}

void wh_dispatch_settle(struct wh_session *s, uint32_t slot)
{
	wh_self.slot = slot;
	if (!wh_callers_alone(s, false))
		return;
	if (!wh_callers_held(s))
		wh_mem_settle(s);
	wh_callers_leave(s);
}

static int64_t answer_cuda(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	int res;
	int64_t rc = run_cuda(s, f, f->msg, size, &res);

	if (rc == WH_OK)
		respond(f, res);
	return rc;
}

/*
 * Returns the session as if the slot were its first one. The slot's frame and its word of the
 * callers are then at constant offsets from one address.
 */
static inline struct wh_session *at_slot(struct wh_session *s, uint64_t slot)
{
	uint8_t *at = (uint8_t *)s + slot * sizeof(s->frame[0]);

	_Static_assert(sizeof(s->frame[0]) == sizeof(s->callers.slot[0]), "they go in step");
	WH_KEEP(at);
	return (struct wh_session *)at;
}

/*
 * Does the work of take_request() for a call that runs together with others. NULL: it is no such
 * call, for whatever reason. prepared() makes the other checks of the head that take_request()
 * makes.
 */
static WH_INLINE const struct wh_call_entry *quick_request(struct wh_session *s, struct wh_frame *f,
							   uint64_t size)
{
	const struct wh_req *q = f->req;
	const struct wh_call_entry *e;

	if (WH_UNLIKELY(!copy_once(f, f->msg, size) ||
			     q->call >= __atomic_load_n(&s->calls, __ATOMIC_RELAXED)))
		return NULL;
	e = &wh_calls[q->call];
	WH_KEEP(e);
	/* An entry without a call has no `together` either. */
	return WH_LIKELY(e->together && size >= e->min_size) ? e : NULL;
}

/*
 * Called inside. Only a call that is alone changes limits and contexts, so one look here is enough;
 * launches look at the limits themselves.
 */
static WH_INLINE int32_t run_quickly(struct wh_session *s, struct wh_frame *f,
				     const struct wh_call_entry *e)
{
	if (WH_UNLIKELY((!e->launch && !may_share(s)) || is_nobodys(f->req) ||
			     !prepared(s, f->req)))
		return (int32_t)WH_AGAIN;
	f->rsp_size = WH_WIRE_FIXED(struct wh_rsp);
	return wh_tracing(s) ? wh_run_traced(s, f, e, NULL) : (int32_t)e->run(s, f);
}

/*
 * Answers a request by the short path, for a call that runs together with others and whose thread
 * is in the right state. Any other call starts again, from the request on, by the general path.
 */
static WH_INLINE int64_t answer_together(struct wh_session *s, uint64_t slot, uint64_t size)
{
	struct wh_session *at = at_slot(s, slot);
	struct wh_frame *f = &at->frame[0];
	uint32_t *inside = &at->callers.slot[0].inside;
	const struct wh_call_entry *e;
	int32_t res;

	wh_self.slot = slot;
	wh_count(&s->limits.account->waited, 1);
	e = quick_request(s, f, size);
	if (WH_UNLIKELY(!e))
		return answer_cuda(s, f, size);
	if (WH_UNLIKELY(!wh_callers_together_in(s, inside)))
		return WH_CALLERS_TURN_US;
	res = run_quickly(s, f, e);
	if (WH_UNLIKELY(is_delay(res))) {
		wh_callers_leave(s);
		return answer_cuda(s, f, size);
	}
	if (WH_UNLIKELY(s->limits.risen))
		wh_mem_note_peak(s);
	__atomic_store_n(inside, WH_CALLERS_NONE, __ATOMIC_RELEASE);
	wh_count(&s->limits.account->calls, 1);
	respond(f, res);
	return WH_OK;
}

static int64_t answer_library(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	int res;
	int64_t rc = run_library(s, f, f->msg, size, &res);

	if (rc == WH_OK)
		respond(f, res);
	return rc;
}

/* Makes a frame of its own for a request that no message area holds, and for its response. */
static bool long_frame(struct wh_frame *f, const struct wh_req_long *q)
{
	*f = (struct wh_frame) {
		.req = malloc(q->room), .rsp = malloc(q->room), .max = q->room,
		.msg = (uint8_t *)q->at,
	};
	return f->req && f->rsp;
}

static CUresult run_long(struct wh_session *s, const struct wh_req_long *q, int64_t *rc)
{
	CUresult res = CUDA_ERROR_OUT_OF_MEMORY;
	struct wh_frame f;
	int status;

	if (long_frame(&f, q)) {
		*rc = run_library(s, &f, f.msg, q->size, &status);
		if (*rc == WH_OK)
			respond(&f, status);
		res = CUDA_SUCCESS;
	}
	free(f.req);
	free(f.rsp);
	return res;
}

/*
 * Answers a long request. It is in the data area, and is copied from there once. The short request
 * that describes it was copied, too. No room may be less than a message area, in which the fixed
 * part of every response fits.
 */
static int64_t answer_long(struct wh_session *s, struct wh_frame *f, uint64_t size)
{
	const struct wh_req_long *q = f->req;
	int64_t rc = copy_in(s, f, f->msg, size);
	CUresult res;

	if (rc != WH_OK)
		return rc;
	if (size < sizeof(*q) || q->room < f->max || q->room > WH_LONG_MOST || q->size > q->room ||
	    !wh_part_range(s, q->at, q->room))
		return WH_EINVAL;
	if (!greeted(s))
		return WH_EPERM;
	res = run_long(s, q, &rc);
	if (rc != WH_OK)
		return rc;
	wh_reply(f, sizeof(struct wh_rsp));
	respond(f, res);
	return WH_OK;
}

int64_t wh_dispatch_slot(struct wh_session *s, uint32_t slot, uint32_t handler, uint64_t arg)
{
	if (slot >= s->nslots)
		return WH_EINVAL;
	if (handler == WH_HANDLER_NULL)
		return WH_OK;
	wh_self.slot = slot;
	wh_count(&s->limits.account->waited, 1);
	switch (handler) {
	case WH_HANDLER_CUDA:
		return answer_cuda(s, &s->frame[slot], arg);
	case WH_HANDLER_LIBRARY:
		return answer_library(s, &s->frame[slot], arg);
	case WH_HANDLER_LONG:
		return answer_long(s, &s->frame[slot], arg);
	}
	return WH_ENOSYS;
}

/* This is no request, so nothing is counted. */
static int64_t handler_null(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)session, (void)slot, (void)arg0, (void)arg1;
	return WH_OK;
}

static int64_t handler_cuda(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	struct wh_session *s = session;

	(void)arg1;
	return slot < s->nslots ? answer_together(s, slot, arg0) : WH_EINVAL;
}

static int64_t handler_library(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)arg1;
	return wh_dispatch_slot(session, slot, WH_HANDLER_LIBRARY, arg0);
}

static int64_t handler_long(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	(void)arg1;
	return wh_dispatch_slot(session, slot, WH_HANDLER_LONG, arg0);
}

wh_handler_fn *wh_handler(uint32_t number)
{
	switch (number) {
	case WH_HANDLER_NULL:
		return handler_null;
	case WH_HANDLER_CUDA:
		return handler_cuda;
	case WH_HANDLER_LIBRARY:
		return handler_library;
	case WH_HANDLER_LONG:
		return handler_long;
	}
	return NULL;
}
