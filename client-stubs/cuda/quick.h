/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast path of a call, which makes no function call. It serves nearly every call, and looks
 * once at each thing that could need another way. If it finds one, call.c goes on, which
 * knows all cases; nothing is decided here. It is a part of wh_begin() for all calls. Stubs
 * that are worth the space also have it inline: there the call's number is a constant, and most
 * checks are gone.
 */
#ifndef WORMHOLE_QUICK_H
#define WORMHOLE_QUICK_H

#include "compiler.h"
#include "gen_effects.h"
#include "order.h"
#include "slots.h"

/*
 * Only the other libraries' own calls name what these calls make and free. Calls that may be
 * posted free nothing, and all others report it themselves (wh_library_run()).
 */
static inline uint16_t wh_effects_of(uint32_t call)
{
	return call < WH_CALLS ? wh_effects[call] : WH_EFFECT_NEUTRAL;
}

/* May the call wait for the device without a bound? */
static inline bool wh_post_waits(uint32_t call)
{
	return wh_effects_of(call) & WH_EFFECT_WAITS;
}

/* Runs for every call that begins, with its slot: the call may change what is known. */
static WH_INLINE void wh_post_begin(struct wh_slot_state *s, uint32_t call)
{
	const uint16_t changes = WH_EFFECT_NEUTRAL | WH_EFFECT_FREES;
	uint16_t e = wh_effects_of(call);

	s->running = call;
	if ((e & changes) != WH_EFFECT_NEUTRAL)
		wh_post_change(e);
}

/* Fills in what every request has; with the slot. */
static WH_INLINE void *wh_request(uint32_t slot, uint32_t call)
{
	struct wh_req *q = (struct wh_req *)wh_client.link.slot[slot].msg;
	const struct wh_thread *t = &wh_thread;

	q->call = call;
	q->null = 0;
	q->ctx = t->ctx;
	q->capture_mode = t->capture_mode;
	q->number = 0;
	return q;
}

/* Can calls be made, and in any slot? One look is enough for two fields that lie in one word. */
static WH_INLINE bool wh_quick_ready(void)
{
	const struct { int state, first_only; } ready = { .state = WH_READY };

	_Static_assert(offsetof(struct wh_client, first_only) == sizeof(int), "they are neighbours");
	return !memcmp(&wh_client, &ready, sizeof(ready));
}

/* A call on the fast path: its slot, and its request in the message area. */
struct wh_quick {
	struct wh_slot_state *state;
	void *msg;
};

/* Gives the slot back, if nothing was sent or the answer is read. */
static inline void wh_quick_drop(struct wh_quick k)
{
	wh_word_give(&wh_thread.holder, WH_LOCK_SLOT, &k.state->word);
}

/*
 * Works like wh_begin() in the message area, for the frame `frame` (lock.h). If msg is NULL,
 * nothing has happened, and wh_begin_slowly() may go on.
 */
static WH_INLINE struct wh_quick wh_quick_begin(const void *frame, uint32_t call, size_t size)
{
	struct wh_thread *t = &wh_thread;
	const uint32_t slot = wh_slot_preferred(t);
	struct wh_quick k = { &wh_slots[slot], NULL };

	/*
	 * Keeps the address, which the compiler would otherwise compute from the number at each
	 * use.
	 */
	__asm__("" : "+r" (k.state));
	if (WH_UNLIKELY(!t->known || (wh_slots_used > 1 && wh_post_waits(call)) ||
			     !wh_slot_try(t, frame, slot, &k.state->word)))
		return k;
	if (WH_UNLIKELY(!wh_quick_ready() || size > wh_client.link.room)) {
		wh_quick_drop(k);
		return k;
	}
	wh_post_begin(k.state, call);
	k.msg = wh_request(t->slot, call);
	return k;
}

/*
 * wh_quick_post() continues here if a call can be posted, or if the answer is more than plain
 * success.
 */
CUresult wh_quick_posted(struct wh_quick k, size_t size, size_t key);
CUresult wh_quick_rest(struct wh_quick k, size_t size, int status) __attribute__((cold));

/*
 * Does wh_post() and wh_end() for a call that changes nothing of what is known. If nothing is
 * posted, it does wh_run(). wh_end() would have nothing more to do after a plain success, if
 * there are no managed variables and no permit left by an abandoned call.
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
	if (WH_UNLIKELY(status || memcmp(k.msg, &success, sizeof(success)) ||
			     wh_client.mirrors || wh_thread.permitted))
		return wh_quick_rest(k, size, status);
	wh_quick_drop(k);
	return CUDA_SUCCESS;
}

#endif
