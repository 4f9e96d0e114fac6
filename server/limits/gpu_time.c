// SPDX-License-Identifier: Apache-2.0
/*
 * Measures for how long a device works for this session, by timing events in the client's own
 * streams. A pair of events around each launch would cost 3 us and distort what it measures, so
 * there are few markers. There is one behind every 32 launches that come in a row (128 posted
 * ones). Each marker ends a span that began at the stream's previous marker, or at a start marker
 * if the stream was idle then. Before any other call, launches without a marker get one. The spans
 * of all streams are merged, so that work that ran at the same time counts once.
 *
 * A client may pause between launches without any call. Over shm the worker sees that and marks the
 * launches that it has (wh_sm_idle()). Over other transports the last marker of a batch comes late
 * and counts the pause. That happens only a few times: from then on each launch gets its own marker
 * until thousands have come without a pause.
 */
#include "limits/bucket.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MAX	32u
#define BATCH_POSTED	96u	/* looked at every 32 launches, so a batch has 128 at most */
#define GROW_MIN	64u	/* launches without a pause until a batch doubles, at first */
#define GROW_MAX	2048u	/* the most such launches; the number doubles after each pause */
#define PAUSE_US	50u
#define CHAIN_US	20u	/* a marker younger than this is taken as not done */
#define MARK_AGE_US	200u
#define MARK_AGE_POSTED_US	1000u
#define REBASE_NS	1e9	/* a float of milliseconds is exact to 60 ns within it */
#define PAIRS		4
#define PAIR_WAIT_US	500u

double wh_gpu_now(const struct wh_session *s, uint64_t tsc)
{
	return (double)(int64_t)(tsc - s->limits.sm->origin) * 1000.0 / s->tsc_per_us;
}

/* --- Events ------------------------------------------------------------------------- */

/*
 * A query would break a capture that another thread of the client has begun in
 * the global mode; in the relaxed mode it does not.
 */
static CUstreamCaptureMode relaxed(struct wh_session *s)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (s->drv.cuThreadExchangeStreamCaptureMode)
		s->drv.cuThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

static void restore(struct wh_session *s, CUstreamCaptureMode mode)
{
	if (s->drv.cuThreadExchangeStreamCaptureMode)
		s->drv.cuThreadExchangeStreamCaptureMode(&mode);
}

static CUevent take_event(struct wh_session *s, struct wh_sm_context *c)
{
	CUevent e = NULL;

	if (c->spares)
		return c->spare[--c->spares];
	return s->drv.cuEventCreate(&e, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? e : NULL;
}

static void give_event(struct wh_session *s, struct wh_sm_context *c, CUevent e)
{
	if (c->spares < sizeof(c->spare) / sizeof(*c->spare))
		c->spare[c->spares++] = e;
	else
		s->drv.cuEventDestroy_v2(e);
}

static bool await(struct wh_session *s, CUevent e)
{
	uint64_t end = WH_TSC() + PAIR_WAIT_US * s->tsc_per_us;
	CUresult res;

	do
		res = s->drv.cuEventQuery(e);
	while (res == CUDA_ERROR_NOT_READY && WH_TSC() < end);
	return res == CUDA_SUCCESS;
}

/*
 * Events themselves take time on the device: the least that an empty pair of
 * them measures is taken off every span that begins with a start marker.
 */
static void measure_pair(struct wh_session *s, struct wh_sm_context *c)
{
	CUevent a = take_event(s, c), b = take_event(s, c);
	CUstream stream;
	double least = -1;
	float ms;
	int i;

	if (a && b && s->drv.cuStreamCreate && s->drv.cuStreamDestroy_v2 &&
	    s->drv.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS) {
		for (i = 0; i < PAIRS; i++)
			if (s->drv.cuEventRecord(a, stream) == CUDA_SUCCESS &&
			    s->drv.cuEventRecord(b, stream) == CUDA_SUCCESS && await(s, b) &&
			    s->drv.cuEventElapsedTime(&ms, a, b) == CUDA_SUCCESS &&
			    (least < 0 || ms * 1e6 < least))
				least = ms * 1e6;
		s->drv.cuStreamDestroy_v2(stream);
	}
	c->pair_ns = least > 0 && least < 10000 ? least : 0;
	if (a)
		give_event(s, c, a);
	if (b)
		give_event(s, c, b);
}

static struct wh_sm_context *new_context(struct wh_session *s)
{
	struct wh_sm_context *c = calloc(1, sizeof(*c));
	CUstreamCaptureMode mode;

	if (!c)
		return NULL;
	c->ctx = wh_self.ctx;
	c->device = wh_self.device;
	mode = relaxed(s);
	measure_pair(s, c);
	restore(s, mode);
	c->next = s->limits.sm->contexts;
	s->limits.sm->contexts = c;
	return c;
}

/* The state of the current context, if something was launched there. */
static struct wh_sm_context *known_context(const struct wh_session *s)
{
	struct wh_sm_context *c = s->limits.sm->contexts;

	while (c && c->ctx != wh_self.ctx)
		c = c->next;
	return c;
}

struct wh_sm_context *wh_gpu_context(struct wh_session *s)
{
	struct wh_sm_context *c = known_context(s);

	if (c)
		return c;
	if (!s->drv.cuEventCreate || !s->drv.cuEventRecord || !s->drv.cuEventQuery ||
	    !s->drv.cuEventElapsedTime || !s->drv.cuEventDestroy_v2)
		return NULL;
	return new_context(s);
}

/* --- The union of spans ------------------------------------------------------------------ */

static void remove_covered(struct wh_sm_device *d, unsigned int first, unsigned int n)
{
	d->ncovered -= n;
	memmove(&d->covered[first], &d->covered[first + n],
		(d->ncovered - first) * sizeof(*d->covered));
}

double wh_gpu_cover(struct wh_sm_device *d, double from, double to)
{
	unsigned int i = 0, n = 0;
	double fresh = to - from;
	struct wh_covered *c;

	if (to <= from)
		return 0;
	while (i < d->ncovered && d->covered[i].to < from)
		i++;
	/* The new span swallows all that touch it. Time that they had is not new. */
	for (c = &d->covered[i]; i + n < d->ncovered && c[n].from <= to; n++) {
		double low = c[n].from > from ? c[n].from : from;
		double high = c[n].to < to ? c[n].to : to;

		fresh -= high - low;
		from = c[n].from < from ? c[n].from : from;
		to = c[n].to > to ? c[n].to : to;
	}
	if (n > 1)
		remove_covered(d, i + 1, n - 1);
	if (!n) {
		if (d->ncovered == WH_SM_COVERED) {
			/* Drop the oldest: no work comes from so long ago any more. */
			remove_covered(d, 0, 1);
			i -= i > 0;
		}
		memmove(&d->covered[i + 1], &d->covered[i],
			(d->ncovered - i) * sizeof(*d->covered));
		d->ncovered++;
	}
	d->covered[i] = (struct wh_covered) { from, to };
	return fresh > 0 ? fresh : 0;
}

/* --- Markers ------------------------------------------------------------------------------ */

static struct wh_marker *marker(struct wh_sm_context *c, uint32_t i)
{
	return &c->marker[i % WH_SM_MARKERS];
}

#define NOBODYS	((CUstream)UINTPTR_MAX)

static bool full(const struct wh_sm_context *c)
{
	return c->tail - c->head >= WH_SM_MARKERS;
}

static struct wh_sm_device *device_of(struct wh_session *s, const struct wh_sm_context *c)
{
	return &s->limits.sm->device[c->device];
}

/* So many launches are not outstanding any more. */
static void settle(struct wh_sm_device *d, uint32_t launches, const struct wh_sm_work *work)
{
	d->outstanding -= launches < d->outstanding ? launches : d->outstanding;
	wh_work_done(&d->work, work, d->outstanding);
}

/* Gives a stream up in which nothing can be measured: its work under way counts by the clock. */
static void lose_stream(struct wh_session *s, struct wh_sm_context *c, struct wh_sm_stream *st)
{
	struct wh_sm_device *d = device_of(s, c);
	uint64_t since = st->last_mark ? st->last_mark : st->last_launch;
	double ns;

	ns = wh_gpu_cover(d, wh_gpu_now(s, since), wh_gpu_now(s, WH_TSC()));
	wh_sm_used(s, c->device, wh_busy_rest(d, ns, ns));
	settle(d, st->unmarked, &st->work);
	st->unmarked = 0;
	st->work = (struct wh_sm_work) { 0 };
	st->chained = false;
}

static bool put_marker(struct wh_session *s, struct wh_sm_context *c, struct wh_sm_stream *st,
		       bool start)
{
	CUevent e = full(c) ? NULL : take_event(s, c);
	bool starved = !st->pending;
	struct wh_marker *m;

	if (!e)
		return false;
	if (s->drv.cuEventRecord(e, st->stream) != CUDA_SUCCESS) {
		give_event(s, c, e);
		/* The address may be another stream's by now, so its owner is looked up again. */
		st->stream = NOBODYS;
		return false;
	}
	m = marker(c, c->tail++);
	*m = (struct wh_marker) {
		.event = e,
		.stream = (uint16_t)(st - c->stream),
		.launches = start ? 0 : (uint16_t)st->unmarked,
		.first = st->recent.launches - st->unmarked,
		.start = start,
		.starved = starved,
		.tsc = WH_TSC(),
	};
	m->own_tsc = wh_sm_own_time(s->limits.sm, m->tsc);
	m->company = device_of(s, c)->crowded ? 0 : device_of(s, c)->company + 1;
	st->pending++;
	st->last_mark = m->tsc;
	st->chained = true;
	if (start)
		return true;
	m->work = st->work;
	st->unmarked = 0;
	st->work = (struct wh_sm_work) { 0 };
	return true;
}

static void mark(struct wh_session *s, struct wh_sm_context *c, struct wh_sm_stream *st)
{
	if (st->unmarked && !put_marker(s, c, st, false) && !full(c))
		lose_stream(s, c, st);
}

static void mark_context(struct wh_session *s, struct wh_sm_context *c, uint32_t most)
{
	struct wh_sm_stream *st;

	for (st = c->stream; st < c->stream + WH_SM_STREAMS; st++)
		if (st->unmarked && st->pending <= most)
			mark(s, c, st);
}

static void mark_current(struct wh_session *s, uint32_t most)
{
	struct wh_sm_context *c;

	for (c = s->limits.sm->contexts; c; c = c->next)
		if (c->ctx == wh_self.ctx)
			mark_context(s, c, most);
}

void wh_gpu_mark_all(struct wh_session *s)
{
	mark_current(s, UINT32_MAX);
}

void wh_gpu_mark_last(struct wh_session *s)
{
	mark_current(s, 0);
}

/* --- Streams ------------------------------------------------------------------------------- */

static struct wh_sm_stream *known_stream(struct wh_sm_context *c, CUstream stream)
{
	struct wh_sm_stream *st;

	for (st = c->stream; st < c->stream + WH_SM_STREAMS && st->used; st++)
		if (st->stream == stream)
			return st;
	return NULL;
}

bool wh_gpu_has_stream(struct wh_session *s, CUstream stream)
{
	struct wh_sm_context *c = known_context(s);

	return c && known_stream(c, stream);
}

static struct wh_sm_stream *idle_place(struct wh_sm_context *c)
{
	struct wh_sm_stream *st, *oldest = NULL;

	for (st = c->stream; st < c->stream + WH_SM_STREAMS; st++) {
		if (!st->used)
			return st;
		if (!st->pending && !st->unmarked &&
		    (!oldest || st->last_launch < oldest->last_launch))
			oldest = st;
	}
	return oldest;
}

static struct wh_sm_stream *stream_of(struct wh_sm_context *c, CUstream stream)
{
	struct wh_sm_stream *st = known_stream(c, stream);

	if (st)
		return st;
	st = idle_place(c);
	if (st)
		*st = (struct wh_sm_stream) { .stream = stream, .used = true };
	return st;
}

/* There was a pause that no marker saw: makes batches shorter for a while. */
static void paused(struct wh_sm_state *m)
{
	m->batch = 1;
	if (m->grow < GROW_MAX)
		m->grow = m->grow < GROW_MIN ? GROW_MIN : m->grow * 2;
	m->batch_left = m->grow;
}

static void grow_batch(struct wh_sm_state *m)
{
	if (m->batch >= BATCH_MAX || --m->batch_left)
		return;
	m->batch *= 2;
	m->batch_left = m->grow;
}

bool wh_gpu_before(struct wh_session *s, struct wh_sm_context *c, CUstream stream)
{
	struct wh_sm_state *m = s->limits.sm;
	struct wh_sm_stream *st = stream_of(c, stream);
	uint64_t now = m->entered;

	if (!st || c->tail - c->head > WH_SM_MARKERS - 2)
		return false;
	wh_awaited_over(s);
	wh_busy_launch(s, c->device, now);
	if (st->unmarked && !st->posted && now - st->last_launch > PAUSE_US * s->tsc_per_us) {
		if (st->pending)
			wh_gpu_poll(s);
		/* While the device works on an older marker, it has not noticed the pause. */
		if (!st->pending) {
			paused(m);
			mark(s, c, st);
		}
	}
	/* If the device is still at this stream's work, the chain of spans goes on. */
	if (st->chained && st->epoch == m->epoch) {
		if (st->unmarked || now - st->last_mark < CHAIN_US * s->tsc_per_us)
			return true;
		if (st->pending)
			wh_gpu_poll(s);
		if (st->pending)
			return true;
	}
	if (st->unmarked)
		mark(s, c, st);
	st->epoch = m->epoch;
	/* If no event can be recorded, the launch itself will hardly succeed. */
	if (!put_marker(s, c, st, true))
		st->end = wh_gpu_now(s, WH_TSC());
	return true;
}

/* Is it time for a marker behind the launch that was just made? */
static bool due(const struct wh_session *s, const struct wh_sm_device *d,
		const struct wh_sm_stream *st, uint64_t now)
{
	uint32_t batch = st->posted ? BATCH_POSTED : s->limits.sm->batch;
	uint64_t age = st->posted ? MARK_AGE_POSTED_US : MARK_AGE_US;

	return st->unmarked >= batch || wh_work_ns(&d->kinds, &st->work) >= d->room_ns / 4 ||
	       now - st->last_mark > age * s->tsc_per_us;
}

static void launched(struct wh_sm_device *d, struct wh_sm_stream *st)
{
	wh_kind_launched(&d->kinds, wh_kind_of(&d->kinds, wh_self.alike), &st->recent, &st->work,
			 &d->work);
	st->unmarked++;
	d->outstanding++;
}

void wh_gpu_credit(struct wh_session *s)
{
	launched(&s->limits.sm->device[wh_self.device], s->limits.sm->credit_place);
}

void wh_gpu_after(struct wh_session *s, struct wh_sm_context *c, CUstream stream)
{
	struct wh_sm_state *m = s->limits.sm;
	struct wh_sm_stream *st = stream_of(c, stream);
	uint64_t now = m->entered;

	wh_busy_launch(s, c->device, 0);
	if (!st) {
		m->credit = 0;
		return;
	}
	launched(device_of(s, c), st);
	st->last_launch = now;
	/* What waited in a deep ring was not posted just now: its client may be far ahead. */
	st->posted = wh_self.posted && (m->plenty || !wh_self.deep);
	if (!st->posted)
		grow_batch(m);
	if (due(s, device_of(s, c), st, now)) {
		/* Look whether the device has caught up. */
		if (st->pending)
			wh_gpu_poll(s);
		mark(s, c, st);
	}
	m->credit_place = st;
	m->credit_stream = stream;
}

/* --- Work that is done ------------------------------------------------------------------------ */

/* Returns when a marker was reached. Its event becomes the base if the old base is too long ago. */
static bool time_of(struct wh_session *s, struct wh_sm_context *c, struct wh_marker *m, double *ns)
{
	float ms;

	if (!c->base) {
		c->base = m->event;
		c->base_ns = *ns = wh_gpu_now(s, m->tsc);
		m->event = NULL;
		return true;
	}
	if (s->drv.cuEventElapsedTime(&ms, c->base, m->event) != CUDA_SUCCESS)
		return false;
	*ns = c->base_ns + ms * 1e6;
	if (ms * 1e6 > REBASE_NS) {
		give_event(s, c, c->base);
		c->base = m->event;
		c->base_ns = *ns;
		m->event = NULL;
	}
	return true;
}

/*
 * Returns by how much a span is longer because it is measured. The tenant got nothing for that
 * time. While the device waits for launches it is the engine's own time between them; otherwise it
 * is the cost of a marker.
 */
static double overhead(struct wh_session *s, const struct wh_sm_context *c,
		       const struct wh_marker *m, double ns)
{
	struct wh_sm_state *sm = s->limits.sm;
	uint64_t own = m->own_tsc > sm->own_charged ? m->own_tsc - sm->own_charged : 0;
	double more = m->starved ? (double)own * 1000.0 / s->tsc_per_us : c->pair_ns;

	sm->own_charged += own;
	return more < ns / 2 ? more : ns / 2;
}

static void finish(struct wh_session *s, struct wh_sm_context *c, struct wh_marker *m, CUresult res)
{
	struct wh_sm_stream *st = &c->stream[m->stream];
	struct wh_sm_device *d = device_of(s, c);
	double now, fresh, cost, from = st->end;
	/* Nobody else was seen at work from the marker before this one until now. */
	bool alone = !d->crowded && m->company == d->company + 1 && m->company == st->company;

	m->done = true;
	st->company = m->company;
	st->pending--;
	d->finished = true;
	/* A context in error measures nothing, so the clock is used. */
	if (res != CUDA_SUCCESS || !time_of(s, c, m, &now))
		now = wh_gpu_now(s, WH_TSC());
	st->end = now;
	if (m->start)
		wh_rank_gap(d, alone, now - d->done_ns);
	if (now > d->done_ns)
		d->done_ns = now;
	if (m->start) {
		/*
		 * The span begins later by the cost of the pair, but by no more than the span
		 * itself.
		 */
		st->end = now + c->pair_ns;
		if (m->own_tsc > s->limits.sm->own_charged)
			s->limits.sm->own_charged = m->own_tsc;
	} else if (now > from) {
		fresh = wh_gpu_cover(d, from, now);
		cost = wh_rank_cost(d, alone, fresh - overhead(s, c, m, fresh), m->launches);
		wh_sm_used(s, c->device, wh_busy_rest(d, fresh, cost));
		wh_kinds_learn(&d->kinds, &st->recent, m->first, m->launches,
			       alone || !d->open ? now - from : cost);
	}
	settle(d, m->launches, &m->work);
	if (m->event)
		give_event(s, c, m->event);
	m->event = NULL;
}

/* Makes one query for each stream that has unfinished work. */
static void poll_context(struct wh_session *s, struct wh_sm_context *c)
{
	uint32_t i, blocked = 0;
	struct wh_marker *m;
	CUresult res;

	_Static_assert(WH_SM_STREAMS <= 32, "bits of blocked");
	for (i = c->head; i != c->tail; i++) {
		m = marker(c, i);
		if (m->done || blocked & 1u << m->stream)
			continue;
		res = s->drv.cuEventQuery(m->event);
		if (res == CUDA_ERROR_NOT_READY) {
			blocked |= 1u << m->stream;
			/*
			 * The marker before it is done, so the device works on what lies between.
			 */
			device_of(s, c)->begun |= !m->start;
		} else {
			finish(s, c, m, res);
		}
	}
	while (c->head != c->tail && marker(c, c->head)->done)
		c->head++;
}

void wh_gpu_poll(struct wh_session *s)
{
	CUstreamCaptureMode mode = relaxed(s);
	struct wh_sm_context *c;

	s->limits.sm->polled = WH_TSC();
	wh_awaited_over(s);
	for (c = s->limits.sm->contexts; c; c = c->next)
		device_of(s, c)->begun = false;
	for (c = s->limits.sm->contexts; c; c = c->next)
		if (c->head != c->tail)
			poll_context(s, c);
	for (c = s->limits.sm->contexts; c; c = c->next)
		wh_busy_polled(s, c->device, device_of(s, c)->begun);
	restore(s, mode);
}

/* --- Ends ------------------------------------------------------------------------ */

/* Ends all spans of a context. If it is not the current one, they can end only by the clock. */
static void end_spans(struct wh_session *s, struct wh_sm_context *c)
{
	struct wh_sm_stream *st;

	if (c->ctx == wh_self.ctx)
		mark_context(s, c, UINT32_MAX);
	for (st = c->stream; st < c->stream + WH_SM_STREAMS; st++) {
		if (st->unmarked)
			lose_stream(s, c, st);
		st->chained = false;
	}
}

void wh_gpu_end(struct wh_session *s, int device)
{
	struct wh_sm_context *c;

	for (c = s->limits.sm->contexts; c; c = c->next)
		if (c->device == device)
			end_spans(s, c);
}

/*
 * Frees a context's state. Its events ended with it. The driver has waited for its work, or ended
 * it.
 */
static void drop_context(struct wh_session *s, struct wh_sm_context *c)
{
	struct wh_sm_device *d = device_of(s, c);
	uint64_t first = UINT64_MAX;
	uint32_t i;
	double ns;

	wh_awaited_over(s);
	for (i = c->head; i != c->tail; i++) {
		if (marker(c, i)->done)
			continue;
		settle(d, marker(c, i)->launches, &marker(c, i)->work);
		if (marker(c, i)->tsc < first)
			first = marker(c, i)->tsc;
	}
	for (i = 0; i < WH_SM_STREAMS; i++) {
		settle(d, c->stream[i].unmarked, &c->stream[i].work);
		if (c->stream[i].unmarked && c->stream[i].last_mark < first)
			first = c->stream[i].last_mark;
	}
	if (first != UINT64_MAX) {
		ns = wh_gpu_cover(d, wh_gpu_now(s, first), wh_gpu_now(s, WH_TSC()));
		wh_sm_used(s, c->device, wh_busy_rest(d, ns, ns));
	}
	wh_busy_end(s, c->device);
	free(c);
}

void wh_gpu_context_gone(struct wh_session *s, uint64_t ctx)
{
	struct wh_sm_context **p, *c;

	for (p = &s->limits.sm->contexts; (c = *p);) {
		if (c->ctx != ctx) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		drop_context(s, c);
	}
}

void wh_gpu_close(struct wh_session *s)
{
	struct wh_sm_context *c;

	wh_awaited_over(s);
	while ((c = s->limits.sm->contexts)) {
		s->limits.sm->contexts = c->next;
		free(c);
	}
}
