// SPDX-License-Identifier: Apache-2.0
/*
 * Looks at work that is under way while a call of the client's is inside the driver. Many calls
 * wait there for the device (copies, freeing of memory) for as long as it works. The thread that
 * would look at the work is then the one that waits. So before such a call that thread says which
 * events stand behind which work, and a helper thread that does nothing else asks the driver for
 * them. Work that has begun and is not done makes the device busy (under_way.c). A driver may not
 * answer the helper thread while the other one is inside. Then nothing is known, and no program is
 * charged, or ended, for what only its driver knows.
 *
 * An event may be in this list only as long as it exists: whoever looks at the work itself, or ends
 * a context, first takes the whole list back. Calls that end contexts add nothing to the list.
 */
#include "limits/bucket.h"

#include <string.h>

#define LATE_NS	20000000u	/* a call that takes longer than this is late */

static uint64_t ns_since(const struct wh_session *s, uint64_t tsc)
{
	return (uint64_t)((double)(WH_TSC() - tsc) * 1000 / s->tsc_per_us);
}

static uint32_t said(const struct wh_sm_awaited *a)
{
	return __atomic_load_n(&a->n, __ATOMIC_RELAXED);
}

/*
 * Adds each stream's first unfinished work that has a marker behind it, with the event before it.
 */
static void say_context(struct wh_sm_awaited *a, const struct wh_sm_context *c)
{
	CUevent before[WH_SM_STREAMS] = { NULL };
	uint32_t seen = 0, i;
	const struct wh_marker *m;

	for (i = c->head; i != c->tail && a->n < WH_SM_AWAITED; i++) {
		m = &c->marker[i % WH_SM_MARKERS];
		if (m->done || seen & 1u << m->stream)
			continue;
		if (m->start) {
			before[m->stream] = m->event;
			continue;
		}
		seen |= 1u << m->stream;
		a->span[a->n] = (struct wh_sm_span){ before[m->stream], m->event, c->device };
		__atomic_store_n(&a->n, a->n + 1, __ATOMIC_RELAXED);
	}
}

void wh_awaited_say(struct wh_session *s)
{
	struct wh_sm_state *m = s->limits.sm;
	const struct wh_sm_context *c;
	void *ctx = NULL;

	wh_awaited_over(s);
	if (!m || !wh_sm_under_way(s))
		return;
	wh_get(s, WH_H_CUcontext, wh_self.ctx, &ctx);
	pthread_mutex_lock(&m->awaited.lock);
	m->awaited.ctx = ctx;
	__atomic_store_n(&m->awaited.since, WH_TSC(), __ATOMIC_RELAXED);
	for (c = ctx ? m->contexts : NULL; c; c = c->next)
		say_context(&m->awaited, c);
	pthread_mutex_unlock(&m->awaited.lock);
}

void wh_awaited_over(struct wh_session *s)
{
	struct wh_sm_awaited *a = s->limits.sm ? &s->limits.sm->awaited : NULL;

	if (!a || !said(a))
		return;
	pthread_mutex_lock(&a->lock);
	__atomic_store_n(&a->n, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&a->lock);
}

bool wh_awaited_late(const struct wh_session *s)
{
	const struct wh_sm_state *m = __atomic_load_n(&s->limits.sm, __ATOMIC_ACQUIRE);

	return m && said(&m->awaited) &&
	       ns_since(s, __atomic_load_n(&m->awaited.since, __ATOMIC_RELAXED)) > LATE_NS;
}

/* Enters the call's context, and a mode in which a query breaks no capture of another thread. */
static bool enter(struct wh_session *s, CUcontext ctx)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	static __thread bool relaxed;

	if (s->drv.cuCtxSetCurrent(ctx) != CUDA_SUCCESS)
		return false;
	if (!relaxed && s->drv.cuThreadExchangeStreamCaptureMode)
		s->drv.cuThreadExchangeStreamCaptureMode(&mode);
	relaxed = true;
	return true;
}

static bool has_begun(struct wh_session *s, const struct wh_sm_span *p)
{
	return (!p->before || s->drv.cuEventQuery(p->before) == CUDA_SUCCESS) &&
	       s->drv.cuEventQuery(p->event) == CUDA_ERROR_NOT_READY;
}

static void ask(struct wh_session *s, const struct wh_sm_awaited *a)
{
	uint32_t devices = 0, begun = 0, i;

	for (i = 0; i < a->n; i++) {
		devices |= 1u << a->span[i].device;
		if (!(begun & 1u << a->span[i].device) && has_begun(s, &a->span[i]))
			begun |= 1u << a->span[i].device;
	}
	for (i = 0; i < WH_TENANT_DEVICES; i++)
		if (devices & 1u << i)
			wh_busy_asked(s, (int)i, begun & 1u << i ? a->since : 0);
}

void wh_awaited_ask(struct wh_session *s)
{
	struct wh_sm_awaited *a = &s->limits.sm->awaited;

	pthread_mutex_lock(&a->lock);
	if (a->n && enter(s, a->ctx))
		ask(s, a);
	pthread_mutex_unlock(&a->lock);
}
