// SPDX-License-Identifier: Apache-2.0
/*
 * Events, and the clock behind them: the time stamp counter. Its rate is measured once
 * against the system's monotonic clock, so recording and measuring make no system call. An event
 * of a stream that has work to follow is work itself, and its time is that of its turn.
 */
#include <cpuid.h>
#include <time.h>
#include <x86intrin.h>

#include "queue.h"

#define CALIBRATE_NS	2000000ull
#define EVENT_FLAGS	(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | \
			 CU_EVENT_INTERPROCESS)

static double tsc_per_ms;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Returns the rate that the processor itself states, in kHz, or 0 if it states none. */
static uint64_t tsc_khz_stated(void)
{
	unsigned int denominator, numerator, hz, unused;

	if (__get_cpuid_max(0, NULL) < 0x15)
		return 0;
	__cpuid(0x15, denominator, numerator, hz, unused);
	if (!denominator || !numerator || !hz)
		return 0;
	return (uint64_t)hz * numerator / denominator / 1000;
}

void sgpu_clock_init(void)
{
	uint64_t t0, ns0, ns1;

	tsc_per_ms = tsc_khz_stated();
	if (tsc_per_ms > 0)
		return;
	ns0 = now_ns();
	t0 = __rdtsc();
	do
		ns1 = now_ns();
	while (ns1 - ns0 < CALIBRATE_NS);
	tsc_per_ms = (double)(__rdtsc() - t0) * 1e6 / (ns1 - ns0);
}

static void drop_if_of(void *object, void *ctx)
{
	struct sgpu_event *e = object;

	if (e->ctx != ctx)
		return;
	sgpu_nodes_clear(&e->front);
	sgpu_obj_free(e);
}

void sgpu_event_drop_ctx(struct sgpu_ctx *ctx)
{
	sgpu_obj_each(SGPU_EVENT, drop_if_of, ctx);
}

CUresult sgpu_event_new(struct sgpu_ctx *ctx, CUevent *out, unsigned int flags)
{
	struct sgpu_event *e;

	if (!out || flags & ~EVENT_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	e = sgpu_obj_new(SGPU_EVENT);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->ctx = ctx;
	e->flags = flags;
	*out = (CUevent)e;
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(sgpu_event_new(ctx, out, flags));
}

CUresult cuEventDestroy_v2(CUevent handle)
{
	struct sgpu_event *e;
	CUresult rc = sgpu_beside_healthy();

	if (rc)
		return rc;
	e = sgpu_obj_get(SGPU_EVENT, handle);
	if (!e)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	sgpu_nodes_clear(&e->front);
	sgpu_obj_free(e);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent handle)
	__attribute__((alias("cuEventDestroy_v2")));

void sgpu_event_now(struct sgpu_event *e)
{
	e->capture = 0;
	e->recorded = true;
	e->ticket = 0;
	e->tsc = __rdtsc();
}

struct queued {
	struct sgpu_task work;
	struct sgpu_event *event;
	uint64_t id;
};

/* Only the last record of an event that still lives counts. */
static void run_record(struct sgpu_task *w)
{
	struct queued *q = (struct queued *)w;

	if (sgpu_obj_get(SGPU_EVENT, q->event) && q->event->obj.id == q->id &&
	    q->event->ticket == w->ticket)
		q->event->tsc = __rdtsc();
}

static CUresult record_later(struct sgpu_stream *s, struct sgpu_event *e)
{
	struct queued *q = sgpu_task_new(sizeof(*q), run_record);

	if (!q)
		return CUDA_ERROR_OUT_OF_MEMORY;
	q->event = e;
	q->id = e->obj.id;
	e->capture = 0;
	e->recorded = true;
	e->ticket = sgpu_task_submit(s, &q->work);
	return CUDA_SUCCESS;
}

static CUresult event_record(struct sgpu_ctx *ctx, CUevent handle,
			     CUstream stream, bool external)
{
	struct sgpu_event *e = sgpu_obj_get(SGPU_EVENT, handle);
	struct sgpu_stream *s = sgpu_stream_get(ctx, stream), *capturing;
	CUresult rc;

	if (!e || !s || e->ctx != s->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = sgpu_capture_stream(ctx, stream, &capturing);
	if (rc || capturing)
		return rc ? rc : sgpu_capture_record(capturing, e, external);
	/* Other processes see no ticket: for them the event is recorded when this call ends. */
	if (e->flags & CU_EVENT_INTERPROCESS && !sgpu_stream_free(s)) {
		sgpu_queue_wait(sgpu_stream_behind(s));
		return CUDA_ERROR_NOT_READY;
	}
	if (!sgpu_stream_free(s))
		return record_later(s, e);
	sgpu_event_now(e);
	return CUDA_SUCCESS;
}

/* NOT_READY: it has waited, and looks up everything again. */
static CUresult record(CUevent event, CUstream stream, bool external)
{
	struct sgpu_ctx *ctx;
	CUresult rc;

	do {
		rc = sgpu_submit(&ctx);
		if (!rc)
			rc = sgpu_leave(event_record(ctx, event, stream, external));
	} while (rc == CUDA_ERROR_NOT_READY);
	return rc;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return record(event, stream, false);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream,
				unsigned int flags)
{
	if (flags & ~CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	return record(event, stream, flags & CU_EVENT_RECORD_EXTERNAL);
}

static CUresult event_done(CUevent handle, bool wait)
{
	struct sgpu_event *e;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	e = sgpu_obj_get(SGPU_EVENT, handle);
	if (!e)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (e->capture)
		return sgpu_leave(wait ? CUDA_ERROR_INVALID_VALUE :
					 CUDA_ERROR_CAPTURED_EVENT);
	if (wait)
		return sgpu_leave(sgpu_await(e->ticket));
	return sgpu_leave(sgpu_queue_ask(e->ticket));
}

CUresult cuEventQuery(CUevent event)
{
	return event_done(event, false);
}

CUresult cuEventSynchronize(CUevent event)
{
	return event_done(event, true);
}

static CUresult event_elapsed(float *ms, CUevent start, CUevent end)
{
	struct sgpu_event *a = sgpu_obj_get(SGPU_EVENT, start);
	struct sgpu_event *b = sgpu_obj_get(SGPU_EVENT, end);

	if (!ms || !a || !b || !a->recorded || !b->recorded ||
	    (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!sgpu_queue_done(a->ticket) || !sgpu_queue_done(b->ticket))
		return CUDA_ERROR_NOT_READY;
	*ms = (double)(int64_t)(b->tsc - a->tsc) / tsc_per_ms;
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(event_elapsed(ms, start, end));
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
	__attribute__((alias("cuEventElapsedTime_v2")));
