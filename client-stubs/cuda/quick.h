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
#include "order.h"
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

/* Can calls be made, and in any slot? One look at two fields that lie in one word. */
static WH_INLINE bool wh_quick_ready(void)
{
	const struct { int state, first_only; } ready = { .state = WH_READY };

	_Static_assert(offsetof(struct wh_client, first_only) == sizeof(int), "they are neighbours");
	return !memcmp(&wh_client, &ready, sizeof(ready));
}

/* A call on this way: its slot and its request, which lies there. */
struct wh_quick {
	struct wh_slot_state *state;
	void *msg;
};

/* Nothing was sent, or its answer is read. */
static inline void wh_quick_drop(struct wh_quick k)
{
	wh_word_give(&wh_thread.holder, WH_LOCK_SLOT, &k.state->word);
}

/*
 * wh_begin() into the message area, for the frame `frame` (lock.h). msg NULL: nothing has
 * happened, and wh_begin_slowly() may go on.
 */
static WH_INLINE struct wh_quick wh_quick_begin(const void *frame, uint32_t call, size_t size)
{
	struct wh_thread *t = &wh_thread;
	struct wh_quick k = { &wh_slots[t->own_slot], NULL };

	/* An address to keep, which is not to be made of the number each time that it is used. */
	__asm__("" : "+r" (k.state));
	if (__builtin_expect(!t->known || (wh_slots_used > 1 && wh_post_waits(call)) ||
			     !wh_slot_try(t, frame, t->own_slot, &k.state->word), 0))
		return k;
	if (__builtin_expect(!wh_quick_ready() || size > wh_client.link.room, 0)) {
		wh_quick_drop(k);
		return k;
	}
	wh_post_begin(k.state, call);
	k.msg = wh_request(t->slot, call);
	return k;
}

/* The rest of the below, where a call can be posted; and with an answer that is no plain one. */
CUresult wh_quick_posted(struct wh_quick k, size_t size, size_t key);
CUresult wh_quick_rest(struct wh_quick k, size_t size, int status) __attribute__((cold));

/*
 * wh_post() and wh_end() of a call that changes nothing of what is known. Where nothing is
 * posted, wh_run(); a plain success, with no managed variables about and no permit that a call
 * which was left has kept, leaves nothing behind that wh_end() would have to see to.
 */
static WH_INLINE CUresult wh_quick_post(struct wh_quick k, size_t size, size_t key)
{
	const struct wh_rsp success = { CUDA_SUCCESS, WH_WIRE_FIXED(success) };
	struct wh_link *l = &wh_client.link;
	const struct wh_transport *t = l->t;
	int status;

	if (t->post)
		return wh_quick_posted(k, size, key);
	k.state->crossings++;
	status = t->call(l, WH_HANDLER_CUDA, size, wh_thread.slot);
	if (__builtin_expect(status || memcmp(k.msg, &success, sizeof(success)) ||
			     wh_client.mirrors || wh_thread.permitted, 0))
		return wh_quick_rest(k, size, status);
	wh_quick_drop(k);
	return CUDA_SUCCESS;
}

#endif
