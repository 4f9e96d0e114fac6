// SPDX-License-Identifier: Apache-2.0
/*
 * Events that come and go while a program prepares work: a new one in each step is common. Over a
 * transport that can post, nobody waits for the worker then. A program that is held back by its
 * share of time would otherwise prepare no more than one step.
 *
 * An answer brings handles that the worker has reserved, and a later call gives its event one of
 * these. It is posted by the rule of post.c: the same context has made an event with the same
 * flags, and nothing has happened since that could change the answer. Using and ending an event is
 * posted by what is known of it (known.c).
 */
#include "known.h"
#include "order.h"
#include "stubs.h"

/* --- Making ------------------------------------------------------------------------------- */

/*
 * Handles that the worker has reserved; with the slot. The call that brings more of them is waited
 * for, behind all that was posted. So there are soon as many as a deep ring can use.
 */
static struct spares {
	uint32_t left;
	uint32_t more;		/* how many to ask for next; 0: at first */
} spares[WH_MAX_SLOTS] WH_PAIR;
static uint64_t spare[WH_MAX_SLOTS][WH_EVENT_SPARES];	/* `left` of them count */

#define FIRST	1u	/* most programs make a few events, and keep them */
#define TIMES	8u	/* so many times as many the next time */

static void take_spares(struct spares *s, struct wh_call *c, uint32_t most)
{
	const struct wh_rsp_whEventCreate *r = c->rsp;
	uint64_t *to = spare[wh_thread.slot];
	uint32_t n = r->spares < most ? r->spares : most;

	c->pos = WH_WIRE_FIXED(*r);
	memset(to, 0, n * sizeof(*to));
	wh_reply_take(c, to, n, sizeof(*to));
	s->left = n;
	s->more = TIMES * most < WH_EVENT_SPARES ? TIMES * most : WH_EVENT_SPARES;
}

/* By a reserved handle. */
static CUresult create_posted(struct wh_call *c, struct spares *s, uint64_t *event)
{
	struct wh_req_whEventCreate *q = (struct wh_req_whEventCreate *)c->msg;
	CUresult res;

	*event = spare[wh_thread.slot][--s->left];
	q->event = *event;
	res = wh_post(c, offsetof(struct wh_req_whEventCreate, event));
	if (res != CUDA_SUCCESS)
		s->left++;
	return res;
}

static CUresult create_answered(struct wh_call *c, struct spares *s, uint64_t *event)
{
	struct wh_req_whEventCreate *q = (struct wh_req_whEventCreate *)c->msg;
	uint32_t most = s->more ? s->more : FIRST;
	CUresult res;

	q->event = 0;
	q->spares = most;
	res = wh_run(c, sizeof(struct wh_rsp_whEventCreate));
	if (res != CUDA_SUCCESS)
		return res;
	*event = ((const struct wh_rsp_whEventCreate *)c->rsp)->event;
	take_spares(s, c, most);
	return res;
}

static CUresult create(uint64_t *event, unsigned int flags)
{
	struct wh_req_whEventCreate *q;
	struct wh_call c;
	struct spares *s;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whEventCreate, sizeof(*q));
	if (!q)
		return c.result;
	q->flags = flags;
	q->spares = q->resv = 0;
	s = &spares[wh_thread.slot];
	res = s->left ? create_posted(&c, s, event) : create_answered(&c, s, event);
	wh_end(&c);
	return res;
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	uint64_t event = 0, ctx = wh_thread.ctx;
	CUresult res;

	if (!phEvent || !wh_posts())
		return wh_raw_cuEventCreate(phEvent, Flags);
	res = create(&event, Flags);
	if (res != CUDA_SUCCESS)
		return res;
	/* Other processes may use such an event, too. */
	if (!(Flags & CU_EVENT_INTERPROCESS))
		wh_event_note(event, ctx);
	*phEvent = (CUevent)event;
	return CUDA_SUCCESS;
}

/* --- Ending --------------------------------------------------------------------------------- */

/*
 * Two requests that do the same. The effect of cuEventDestroy is that nothing is known any more:
 * of an event that is unknown here, something may have been proven, which is not true any longer.
 */
CUresult cuEventDestroy_v2(CUevent hEvent)
{
	CUresult res;

	if (!wh_event_context((uint64_t)hEvent))
		return wh_raw_cuEventDestroy(hEvent);
	res = wh_raw_cuEventDestroy_v2(hEvent);
	wh_event_forget((uint64_t)hEvent);
	return res;
}

CUresult cuEventDestroy(CUevent hEvent)
{
	return cuEventDestroy_v2(hEvent);
}
