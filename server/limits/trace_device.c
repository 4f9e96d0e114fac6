// SPDX-License-Identifier: Apache-2.0
/*
 * Times of the device, for a trace: a pair of timing events around each launch and each
 * asynchronous copy. That costs the device some microseconds per call, so it is done only while
 * somebody traces. Events tell how long work took and how long after another event it began. A base
 * event, whose time on the CPU's clock is known and which is not older than a second, tells when it
 * began.
 */
#include "limits/trace.h"
#include "tenant/clock.h"

#include <pthread.h>
#include <stdlib.h>

#define PAIRS		512u
#define BASES		8u
#define BASE_AGE_NS	1000000000ULL
#define BASE_WAIT_NS	1000000ULL
#define LOOKS		16u	/* looks in vain at a time */

enum state { FREE, OPEN, PENDING };

struct wh_trace_pair {
	enum state state;
	uint64_t ctx;
	CUevent from, to;
	struct wh_trace_record call;
};

/* The time of an event of this context. */
struct base {
	uint64_t ctx;
	CUevent event;
	uint64_t ns;
};

struct wh_trace_device {
	pthread_mutex_t lock;
	uint32_t next;			/* where the search for a free pair goes on */
	struct base base[BASES];
	uint32_t next_base;
	struct wh_trace_pair pair[PAIRS];
};

static bool able(const struct wh_driver *d)
{
	return d->cuEventCreate && d->cuEventRecord && d->cuEventQuery && d->cuEventElapsedTime &&
	       d->cuEventDestroy_v2 && d->cuStreamCreate && d->cuStreamDestroy_v2;
}

/*
 * Returns the state with its lock held, made at the first call. NULL: no memory, or a driver
 * without events.
 */
static struct wh_trace_device *lock_device(struct wh_session *s)
{
	struct wh_trace_device *d = __atomic_load_n(&s->trace.device, __ATOMIC_ACQUIRE), *mine;

	if (!d && able(&s->drv)) {
		mine = calloc(1, sizeof(*mine));
		if (mine)
			pthread_mutex_init(&mine->lock, NULL);
		if (!mine || __atomic_compare_exchange_n(&s->trace.device, &d, mine, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			d = mine;
		else
			free(mine);
	}
	if (d)
		pthread_mutex_lock(&d->lock);
	return d;
}

/* Calls with events would break a capture that another thread has begun in the global mode. */
static CUstreamCaptureMode exchange(struct wh_session *s, CUstreamCaptureMode mode)
{
	if (s->drv.cuThreadExchangeStreamCaptureMode)
		s->drv.cuThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

/* --- When an event was ------------------------------------------------------------------ */

/* Measures in a stream of its own, where nothing keeps the event waiting. */
static bool measure(struct wh_session *s, struct base *b)
{
	uint64_t begin, end;
	CUresult res;
	CUstream own;

	if (!b->event && s->drv.cuEventCreate(&b->event, CU_EVENT_DEFAULT))
		return false;
	if (s->drv.cuStreamCreate(&own, CU_STREAM_NON_BLOCKING))
		return false;
	begin = wh_now_ns();
	res = s->drv.cuEventRecord(b->event, own);
	while (!res && (res = s->drv.cuEventQuery(b->event)) == CUDA_ERROR_NOT_READY &&
	       wh_now_ns() - begin < BASE_WAIT_NS)
		res = CUDA_SUCCESS;
	end = wh_now_ns();
	s->drv.cuStreamDestroy_v2(own);
	b->ns = begin + (end - begin) / 2;
	return res == CUDA_SUCCESS;
}

static struct base *base_of(struct wh_trace_device *d, uint64_t ctx)
{
	struct base *b;

	for (b = d->base; b < d->base + BASES; b++)
		if (b->event && b->ctx == ctx)
			return b;
	return NULL;
}

static struct base *fresh_base(struct wh_session *s, struct wh_trace_device *d)
{
	struct base *b = base_of(d, wh_self.ctx);

	if (b && wh_now_ns() - b->ns < BASE_AGE_NS)
		return b;
	if (!b) {
		b = &d->base[d->next_base++ % BASES];
		/* the events of the old context ended with it */
		*b = (struct base) { .ctx = wh_self.ctx };
	}
	return measure(s, b) ? b : NULL;
}

/* --- Pairs -------------------------------------------------------------------------------- */

static struct wh_trace_pair *take_pair(struct wh_session *s, struct wh_trace_device *d)
{
	struct wh_trace_pair *p;
	uint32_t i;

	for (i = 0; i < PAIRS; i++) {
		p = &d->pair[d->next++ % PAIRS];
		if (p->state != FREE || (p->from && p->ctx != wh_self.ctx))
			continue;
		p->ctx = wh_self.ctx;
		if (!p->from && s->drv.cuEventCreate(&p->from, CU_EVENT_DEFAULT))
			p->from = NULL;
		if (!p->to && s->drv.cuEventCreate(&p->to, CU_EVENT_DEFAULT))
			p->to = NULL;
		return p->from && p->to ? p : NULL;
	}
	return NULL;
}

void wh_trace_device_begin(struct wh_session *s, CUstream stream)
{
	struct wh_trace_device *d;
	CUstreamCaptureMode mode;
	struct wh_trace_pair *p = NULL;

	if (!wh_self.traced || wh_self.pair || wh_capture_of(s, stream) != WH_CAPTURE_NONE)
		return;
	d = lock_device(s);
	if (!d)
		return;
	mode = exchange(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (fresh_base(s, d))
		p = take_pair(s, d);
	if (p && !s->drv.cuEventRecord(p->from, stream)) {
		p->state = OPEN;
		p->call = *wh_self.traced;
		wh_self.pair = p;
	}
	exchange(s, mode);
	pthread_mutex_unlock(&d->lock);
}

void wh_trace_device_end(struct wh_session *s, CUstream stream)
{
	struct wh_trace_pair *p = wh_self.pair;
	struct wh_trace_device *d;
	CUstreamCaptureMode mode;

	if (!p)
		return;
	wh_self.pair = NULL;
	d = lock_device(s);
	mode = exchange(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (p->state == OPEN)
		p->state = s->drv.cuEventRecord(p->to, stream) ? FREE : PENDING;
	exchange(s, mode);
	pthread_mutex_unlock(&d->lock);
}

void wh_trace_device_forget(struct wh_session *s)
{
	struct wh_trace_pair *p = wh_self.pair;
	struct wh_trace_device *d;

	wh_self.pair = NULL;
	d = lock_device(s);
	if (p->state == OPEN)
		p->state = FREE;
	pthread_mutex_unlock(&d->lock);
}

static void write_down(struct wh_session *s, struct wh_trace_device *d,
		       const struct wh_trace_pair *p)
{
	const struct base *b = base_of(d, p->ctx);
	struct wh_trace_record r = p->call;
	float after, took;

	if (!b || s->drv.cuEventElapsedTime(&after, b->event, p->from) ||
	    s->drv.cuEventElapsedTime(&took, p->from, p->to))
		return;
	r.of = r.kind;
	r.kind = WH_TRACE_DEVICE;
	r.begin_ns = b->ns + (int64_t)((double)after * 1e6);
	r.end_ns = r.begin_ns + (uint64_t)((double)took * 1e6);
	wh_trace_put(s, &r);
}

void wh_trace_device_look(struct wh_session *s)
{
	struct wh_trace_device *d = __atomic_load_n(&s->trace.device, __ATOMIC_ACQUIRE);
	CUstreamCaptureMode mode;
	uint32_t i, vain = 0;
	struct wh_trace_pair *p;
	CUresult res;

	if (!d || pthread_mutex_trylock(&d->lock))
		return;
	mode = exchange(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	/* Begin with the oldest pair. */
	for (i = 0; i < PAIRS && vain < LOOKS; i++) {
		p = &d->pair[(d->next + i) % PAIRS];
		if (p->state != PENDING)
			continue;
		res = s->drv.cuEventQuery(p->to);
		vain += res == CUDA_ERROR_NOT_READY;
		if (res == CUDA_SUCCESS)
			write_down(s, d, p);
		if (res != CUDA_ERROR_NOT_READY)
			p->state = FREE;
	}
	exchange(s, mode);
	pthread_mutex_unlock(&d->lock);
}

/* The context's events ended with it. */
void wh_trace_context_gone(struct wh_session *s, uint64_t ctx)
{
	struct wh_trace_device *d = __atomic_load_n(&s->trace.device, __ATOMIC_ACQUIRE);
	uint32_t i;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	for (i = 0; i < PAIRS; i++)
		if (d->pair[i].ctx == ctx)
			d->pair[i] = (struct wh_trace_pair) { 0 };
	for (i = 0; i < BASES; i++)
		if (d->base[i].ctx == ctx)
			d->base[i] = (struct base) { 0 };
	pthread_mutex_unlock(&d->lock);
}
