/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of the pair: which one a call takes. Each thread has one that it prefers, which
 * with few threads is its own. Where that is in use by another thread, or by a call that
 * waits, it takes any free one: a thread waits for a slot only when all are in calls. So
 * nothing of a program's depends on a slot, but for the order of posted calls (post.c).
 *
 * Slot 0 alone is used while something is captured, since a capture is the affair of the
 * driver's thread that began it (capture.c), and while managed variables have to be
 * copied, since that counts the calls (managed.c): wh_client.first_only.
 */
#ifndef WORMHOLE_SLOTS_H
#define WORMHOLE_SLOTS_H

#include "client.h"

struct wh_slot_state {
	uint32_t word;		/* as of lock.h */
	uint32_t users;		/* threads that prefer it */
	uint32_t running;	/* the call that was begun last; with the slot */
	bool output;		/* the worker has some; with the slot */
	bool fetch;		/* when the running call ends; with the slot */
	uint64_t crossings;	/* requests sent; written with the slot */
	uint64_t posted;	/* of them not waited for */
} __attribute__((aligned(64)));
extern WH_HIDDEN struct wh_slot_state wh_slots[WH_MAX_SLOTS];
extern WH_HIDDEN uint32_t wh_slots_used;	/* no call was ever made in others */

/* Has it to be slot 0? */
static inline bool wh_slot_first_only(void)
{
	return __builtin_expect(__atomic_load_n(&wh_client.first_only, __ATOMIC_RELAXED), 0);
}

/*
 * Take one into t->slot, for the frame `frame`, by the rules of wh_hold(). *left: the
 * slot comes with a call that nobody waits for any more. `first`: slot 0.
 */
CUresult wh_slot_slowly(struct wh_thread *t, const void *frame, bool first, bool *left);
CUresult wh_slot_again(struct wh_thread *t, const void *frame);	/* t->slot and no other */
void wh_slot_prefer(struct wh_thread *t);	/* at a thread's first call */
void wh_slot_leave(struct wh_thread *t);	/* at its end */
bool wh_slot_is_mine(const struct wh_thread *t);
void wh_slot_give(struct wh_thread *t);
void wh_slots_after_fork(void);
/* At the end of the process: all slots, one after the other for a second at most. */
bool wh_slots_at_end(struct wh_thread *t);
void wh_slots_give(struct wh_thread *t);
uint64_t wh_slots_crossings(uint64_t *posted);

/*
 * Calls that wait without a bound may fill all slots but two, or what they wait for could
 * come to no end: before such a call begins; giving the slot ends it.
 */
void wh_slot_permit(struct wh_thread *t);

/* This one, whose word it is, by the same rules. False: not at once, and nothing has changed. */
static inline bool wh_slot_try(struct wh_thread *t, const void *frame, uint32_t slot,
			       uint32_t *word)
{
	struct wh_holder *h = &t->holder;
	uint32_t nobody = 0, number = h->number;

	if (__builtin_expect(h->held[WH_LOCK_SLOT] || !number, 0))
		return false;
	h->held[WH_LOCK_SLOT] = frame;
	t->slot = slot;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_compare_exchange_n(word, &nobody, number, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 1))
		return true;
	h->held[WH_LOCK_SLOT] = NULL;
	return false;
}

static inline CUresult wh_slot_take(struct wh_thread *t, const void *frame, bool first, bool *left)
{
	struct wh_holder *h = &t->holder;
	uint32_t nobody = 0, *word;

	*left = false;
	if (__builtin_expect(h->held[WH_LOCK_SLOT] || !h->number, 0))
		return wh_slot_slowly(t, frame, first, left);
	h->held[WH_LOCK_SLOT] = frame;
	t->slot = first ? 0 : t->own_slot;
	word = &wh_slots[t->slot].word;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(!__atomic_compare_exchange_n(word, &nobody, h->number, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 0))
		return wh_slot_slowly(t, frame, first, left);
	return CUDA_SUCCESS;
}

#endif
