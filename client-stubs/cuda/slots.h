/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of the pair: which one a call takes. Each thread prefers one slot, which is its own if
 * there are few threads. If another thread uses it, or a call that waits, the thread takes any
 * free one. A thread waits for a slot only if all are in calls. So nothing in a program depends
 * on a slot, except for the order of posted calls (post.c).
 *
 * While the worker takes turns with those of other tenants, all threads prefer slot 0. It runs one
 * call at a time then, whatever the slot. What a program posts waits there for the turn, and the
 * next call of another thread would wait in the program for what it must not overtake. So a
 * training whose backward pass is another thread's would prepare half a step.
 *
 * Only slot 0 is used while something is captured, since a capture belongs to the driver's
 * thread that began it (capture.c). The same holds while managed variables have to be copied,
 * since that counts the calls (managed.c). The number of these reasons is wh_client.first_only.
 */
#ifndef WORMHOLE_SLOTS_H
#define WORMHOLE_SLOTS_H

#include "client.h"

struct wh_slot_state {
	uint32_t word;		/* a word of lock.h */
	uint32_t users;		/* number of threads that prefer it */
	uint32_t running;	/* the call that began last; with the slot */
	bool output;		/* the worker has output; with the slot */
	/* Fetch managed variables when the running call ends; with the slot. */
	bool fetch;
	bool logged;		/* its thread has an entry for callbacks of the log (logs.c) */
	uint64_t crossings;	/* number of requests sent; written with the slot */
	uint64_t posted;	/* how many of them were not waited for */
	uint64_t ended;		/* number answered, or posted; written with the slot: rest.c */
} __attribute__((aligned(64)));
extern WH_HIDDEN struct wh_slot_state wh_slots[WH_MAX_SLOTS];
/* No call was ever made in slots from this number on. */
extern WH_HIDDEN uint32_t wh_slots_used;

/* With the slot: a request is posted or answered, and its call may return. */
static inline void wh_slot_ended(void)
{
	struct wh_slot_state *s = &wh_slots[wh_thread.slot];

	__atomic_store_n(&s->ended, s->ended + 1, __ATOMIC_RELEASE);
	wh_thread.ended++;
}

/* Must the slot be slot 0? */
static inline bool wh_slot_first_only(void)
{
	return WH_UNLIKELY(__atomic_load_n(&wh_client.first_only, __ATOMIC_RELAXED) & ~WH_PROFILED);
}

/* The slot that the thread prefers now. */
static inline uint32_t wh_slot_preferred(const struct wh_thread *t)
{
	return WH_UNLIKELY(__atomic_load_n(&wh_client.link.turns, __ATOMIC_RELAXED)) ? 0 :
										      t->own_slot;
}

/*
 * Takes a slot into t->slot, for the frame `frame`, by the rules of wh_hold(). *left: the slot
 * comes with a call that nobody waits for any more. `first`: take slot 0.
 */
CUresult wh_slot_slowly(struct wh_thread *t, const void *frame, bool first, bool *left);
CUresult wh_slot_again(struct wh_thread *t, const void *frame);	/* takes t->slot and no other */
void wh_slot_prefer(struct wh_thread *t);	/* at a thread's first call */
void wh_slot_leave(struct wh_thread *t);	/* at a thread's end */
bool wh_slot_is_mine(const struct wh_thread *t);
void wh_slot_give(struct wh_thread *t);
void wh_slots_after_fork(void);
/* Takes all slots at the end of the process, one after the other, for at most a second. */
bool wh_slots_at_end(struct wh_thread *t);
void wh_slots_give(struct wh_thread *t);
uint64_t wh_slots_crossings(uint64_t *posted);

/*
 * Call this before a call that waits without a bound. Such calls may fill all slots but two, or
 * what they wait for might never end. Giving the slot back ends the permit.
 */
void wh_slot_permit(struct wh_thread *t);

/*
 * Takes this slot, whose word is `word`, by the same rules. False: it is not free at once, and
 * nothing has changed.
 */
static inline bool wh_slot_try(struct wh_thread *t, const void *frame, uint32_t slot,
			       uint32_t *word)
{
	struct wh_holder *h = &t->holder;
	uint32_t nobody = 0, number = h->number;

	if (WH_UNLIKELY(h->held[WH_LOCK_SLOT] || !number))
		return false;
	h->held[WH_LOCK_SLOT] = frame;
	t->slot = slot;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (WH_LIKELY(__atomic_compare_exchange_n(word, &nobody, number, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return true;
	h->held[WH_LOCK_SLOT] = NULL;
	return false;
}

static inline CUresult wh_slot_take(struct wh_thread *t, const void *frame, bool first, bool *left)
{
	struct wh_holder *h = &t->holder;
	uint32_t nobody = 0, *word;

	*left = false;
	if (WH_UNLIKELY(h->held[WH_LOCK_SLOT] || !h->number))
		return wh_slot_slowly(t, frame, first, left);
	h->held[WH_LOCK_SLOT] = frame;
	t->slot = first ? 0 : wh_slot_preferred(t);
	word = &wh_slots[t->slot].word;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (WH_UNLIKELY(!__atomic_compare_exchange_n(word, &nobody, h->number, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return wh_slot_slowly(t, frame, first, left);
	return CUDA_SUCCESS;
}

#endif
