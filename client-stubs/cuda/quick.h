/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The straight way of a call, without a call in it: what nearly every one meets, with one
 * look at each thing that could make it another's. What finds anything is client.c's, which
 * knows all cases; nothing is decided here. A part of wh_begin() for all, and of stubs that
 * are worth the place, where the call's number is a constant and most looks are gone.
 */
#ifndef WORMHOLE_QUICK_H
#define WORMHOLE_QUICK_H

#include "gen_effects.h"
#include "slots.h"

#define WH_INLINE	inline __attribute__((always_inline))

/*
 * Of the other libraries: what their calls make and free, only their own calls name; those
 * that may be posted free nothing, and all others say so themselves (wh_library_run()).
 */
static inline uint16_t wh_effects_of(uint32_t call)
{
	return call < WH_CALLS ? wh_effects[call] : WH_EFFECT_NEUTRAL;
}

/* May it wait for the device without a bound? */
static inline bool wh_post_waits(uint32_t call)
{
	return wh_effects_of(call) & WH_EFFECT_WAITS;
}

/* Of every call that begins, with its slot: it may change what is known. */
static WH_INLINE void wh_post_begin(struct wh_slot_state *s, uint32_t call)
{
	const uint16_t changes = WH_EFFECT_NEUTRAL | WH_EFFECT_FREES;
	uint16_t e = wh_effects_of(call);

	s->running = call;
	if ((e & changes) != WH_EFFECT_NEUTRAL)
		wh_post_change(e);
}

/* What every request has; with the slot. */
static WH_INLINE void *wh_request(uint32_t slot, uint32_t call)
{
	struct wh_req *q = (struct wh_req *)wh_client.link.slot[slot].msg;
	const struct wh_thread *t = &wh_thread;

	q->call = call;
	q->null = 0;
	q->ctx = t->ctx;
	q->capture_mode = t->capture_mode;
	q->resv = 0;
	return q;
}

/*
 * wh_begin() into the message area, for the frame `frame` (lock.h). NULL: nothing has
 * happened, and wh_begin_slowly() may go on.
 */
static WH_INLINE void *wh_quick_begin(const void *frame, uint32_t call, size_t size)
{
	const struct wh_client *cl = &wh_client;
	struct wh_thread *t = &wh_thread;
	struct wh_slot_state *s;

	if (__builtin_expect(!t->known || (wh_slots_used > 1 && wh_post_waits(call)), 0))
		return NULL;
	s = wh_slot_try(t, frame);
	if (__builtin_expect(!s, 0))
		return NULL;
	if (__builtin_expect(cl->state != WH_READY || wh_slot_first_only() ||
			     size > cl->link.room, 0)) {
		wh_word_give(&t->holder, WH_LOCK_SLOT, &s->word);
		return NULL;
	}
	wh_post_begin(s, call);
	return wh_request(s - wh_slots, call);
}

/*
 * wh_post() of a request that lies there, and changes nothing of what is known: wh_run()
 * where nothing is posted.
 */
static WH_INLINE CUresult wh_quick_post(void *msg, size_t size, size_t key)
{
	struct wh_link *l = &wh_client.link;
	const struct wh_rsp *r = msg;
	uint32_t slot = wh_thread.slot;
	int status;

	if (l->t->post)
		return wh_post(&(struct wh_call) { .rsp = msg, .msg = msg, .size = size }, key);
	wh_slots[slot].crossings++;
	status = l->t->call(l, WH_HANDLER_CUDA, size, slot);
	if (__builtin_expect(!status && r->result == CUDA_SUCCESS &&
			     r->size == WH_WIRE_FIXED(*r) && !wh_client.mirrors, 1))
		return CUDA_SUCCESS;
	return wh_run_rest(&(struct wh_call) { .rsp = msg, .msg = msg, .size = size },
			   sizeof(*r), status);
}

static WH_INLINE void wh_quick_end(void)
{
	struct wh_thread *t = &wh_thread;
	struct wh_slot_state *s = &wh_slots[t->slot];

	if (__builtin_expect(s->output || s->fetch || t->permitted || wh_client.mirrors, 0))
		wh_end(NULL);
	else
		wh_word_give(&t->holder, WH_LOCK_SLOT, &s->word);
}

#endif
