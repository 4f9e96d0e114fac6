// SPDX-License-Identifier: Apache-2.0
/*
 * Waits, and the per-thread default streams. The driver's own per-thread stream is one for each
 * thread of the worker, and a client thread's calls may come to any of these. So each client
 * thread gets a real stream instead, made at first use.
 */
#include "rest.h"
#include "stubs.h"

#include <sched.h>
#include <stdlib.h>

/* --- Waits --------------------------------------------------------------------------- */

/*
 * The caller has the slot while the worker waits. If there are no other threads, it waits long
 * at a time. If other threads use CUDA, it leaves often, since what it waits for may depend on
 * them.
 */
#define SLICE_ALONE_US	20000
#define SLICE_SHARED_US	200

static CUresult wait_slice(uint32_t kind, uint64_t handle, uint32_t slice, uint64_t *ticket)
{
	struct wh_req_whWait *q;
	struct wh_call c;
	CUresult res;

	/* The driver waits for a context without a bound. */
	if (kind == WH_WAIT_CONTEXT)
		wh_slot_permit(&wh_thread);
	q = wh_begin(&c, WH_CALL_whWait, sizeof(*q));
	if (!q)
		return c.result;
	q->handle = handle;
	q->kind = kind;
	q->slice_us = slice;
	if (WH_UNLIKELY(wh_client.mirrors))
		*ticket = wh_managed_ticket(kind, handle);
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

/*
 * The work is done, so managed variables are the host's again. Staging fetches them when all of
 * it is done.
 */
static CUresult fetch(uint32_t kind, uint64_t ticket)
{
	return kind == WH_WAIT_FENCE ? CUDA_SUCCESS : wh_managed_fetch(ticket);
}

CUresult wh_wait_from(struct wh_rest_mark *m, uint32_t kind, uint64_t handle)
{
	uint64_t ticket = 0;
	CUresult res;

	for (;;) {
		bool alone = __atomic_load_n(&wh_client.threads, __ATOMIC_RELAXED) <= 1;

		res = wait_slice(kind, handle, alone ? SLICE_ALONE_US : SLICE_SHARED_US, &ticket);
		m->own++;
		if (WH_UNLIKELY(wh_client.mirrors && res == CUDA_SUCCESS))
			return fetch(kind, ticket);
		if (res != CUDA_ERROR_NOT_READY)
			return res;
		if (!alone)
			sched_yield();
	}
}

CUresult wh_wait(uint32_t kind, uint64_t handle)
{
	struct wh_rest_mark m = wh_rest_begin();
	bool whole = kind == WH_WAIT_CONTEXT;
	CUresult res;

	if (kind == WH_WAIT_STREAM && wh_rest_waited(handle))
		return CUDA_SUCCESS;
	res = wh_wait_from(&m, kind, handle);
	if (res == CUDA_SUCCESS && (whole || kind == WH_WAIT_STREAM))
		wh_rest_reached(m, whole ? 0 : handle, true);
	return res;
}

CUresult cuStreamSynchronize(CUstream hStream)
{
	return wh_wait(WH_WAIT_STREAM, wh_stream(hStream));
}

CUresult cuEventSynchronize(CUevent hEvent)
{
	return hEvent ? wh_wait(WH_WAIT_EVENT, (uint64_t)hEvent) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuCtxSynchronize(void)
{
	return wh_wait(WH_WAIT_CONTEXT, 0);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	uint64_t mine = wh_thread.ctx;
	CUresult res;

	if (!ctx || (uint64_t)ctx == mine)
		return cuCtxSynchronize();
	wh_thread.ctx = (uint64_t)ctx;
	res = cuCtxSynchronize();
	wh_thread.ctx = mine;
	return res;
}

/* --- Per-thread default streams --------------------------------------------------------- */

struct wh_thread_stream {
	struct wh_thread_stream *next;
	uint64_t ctx;
	uint64_t stream;
};

/* Such a stream is in no order with the legacy default stream. */
static void note_flags(unsigned int flags)
{
	if (flags & CU_STREAM_NON_BLOCKING)
		wh_rest_apart();
}

/* As with the driver (tests/softgpu/answers.ref), no old stream is left after a failure. */
CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	if (phStream)
		*phStream = NULL;
	note_flags(Flags);
	return wh_raw_cuStreamCreate(phStream, Flags);
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	if (phStream)
		*phStream = NULL;
	note_flags(flags);
	return wh_raw_cuStreamCreateWithPriority(phStream, flags, priority);
}

/* A thread has one for each context that it has used, since streams belong to contexts. */
uint64_t wh_thread_default_stream(void)
{
	struct wh_thread *t = &wh_thread;
	struct wh_thread_stream *s;
	CUstream stream;

	for (s = t->streams; s; s = s->next)
		if (s->ctx == t->ctx)
			return s->stream;
	s = malloc(sizeof(*s));
	/* The worker knows no such handle, so the caller gets CUDA's error for that. */
	if (!s || cuStreamCreate(&stream, CU_STREAM_DEFAULT) != CUDA_SUCCESS) {
		free(s);
		return (uintptr_t)CU_STREAM_PER_THREAD;
	}
	*s = (struct wh_thread_stream) { t->streams, t->ctx, (uint64_t)stream };
	t->streams = s;
	return s->stream;
}

/* At a thread's end its work goes on; destroying a stream does not wait for it. */
void wh_drop_thread_streams(struct wh_thread *t)
{
	struct wh_thread_stream *s;

	while ((s = t->streams)) {
		t->streams = s->next;
		cuStreamDestroy_v2((CUstream)s->stream);
		free(s);
	}
}
