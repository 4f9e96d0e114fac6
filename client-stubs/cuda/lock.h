/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that a thread may hold while it makes calls. Each is a word: 0, or the holder's thread
 * number, with WH_LOCK_AWAITED if others sleep. They work like a mutex, but the word says
 * whether its holder is the calling thread, which decides what a signal handler may do. Taking
 * a free lock makes no call.
 */
#ifndef WORMHOLE_LOCK_H
#define WORMHOLE_LOCK_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* The locks in the order in which they are taken. */
enum wh_lock {
	WH_LOCK_CONNECT,
	WH_LOCK_LINK,
	WH_LOCK_LOAD,
	WH_LOCK_STAGE,
	WH_LOCK_MANAGED,
	WH_LOCK_SLOT,		/* any of the slots, which have words of their own: slots.h */
	WH_LOCKS,
};

/* The calling thread's side of the locks. */
struct wh_holder {
	uint32_t number;	/* its thread's number in the words; 0: not asked for yet */
	const void *held[WH_LOCKS];	/* an address in the stack frame that took each lock */
	uintptr_t stack_low, stack_high;	/* the thread's own stack */
};

/*
 * Marks state of the process's pair, or of its locks, which is zero again in a fork's child
 * (fork.c). All other variables stay as they are.
 */
#define WH_PAIR		__attribute__((section("wh_pair")))

#define WH_HIDDEN	__attribute__((visibility("hidden")))

#define WH_LOCK_AWAITED	0x80000000u	/* above every thread number of Linux */
extern WH_HIDDEN uint32_t wh_lock_word[WH_LOCKS];

/* wh_hold() and the like continue here if the lock is not free or was left behind. */
CUresult wh_lock_slowly(struct wh_holder *h, enum wh_lock id, const void *frame);
void wh_lock_wake(uint32_t *word);
/* May the thread take a lock of this kind now? Asks for its thread number first. */
bool wh_holder_may(struct wh_holder *h, enum wh_lock id, const void *frame);
/*
 * Sleeps are short: a thread that was woken may leave by siglongjmp() before it has taken the
 * lock, and nobody else would learn that it is free.
 */
#define WH_LOCK_NAP_NS	50000000
/*
 * Returns false if the word is not free until `deadline`, a time of wh_now_ns(), and one nap
 * more.
 */
bool wh_word_await(uint32_t *word, uint32_t number, uint64_t deadline, uint32_t nap_ns);

/*
 * Waits for other threads, but never for the caller's own: a signal handler on top of a holder
 * gets CUDA_ERROR_NOT_PERMITTED. `frame` is an address in the holder's stack frame; the lock of
 * a frame that is gone is taken over. `held` is set before and cleared after, since a handler
 * in between must not wait, either.
 */
static inline CUresult wh_hold(struct wh_holder *h, enum wh_lock id, const void *frame)
{
	uint32_t nobody = 0;

	if (WH_UNLIKELY(h->held[id] || !h->number))
		return wh_lock_slowly(h, id, frame);
	h->held[id] = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (WH_UNLIKELY(!__atomic_compare_exchange_n(&wh_lock_word[id], &nobody, h->number,
							  false, __ATOMIC_ACQUIRE,
							  __ATOMIC_RELAXED)))
		return wh_lock_slowly(h, id, frame);
	return CUDA_SUCCESS;
}

static inline void wh_word_give(struct wh_holder *h, enum wh_lock id, uint32_t *word)
{
	uint32_t was = __atomic_exchange_n(word, 0, __ATOMIC_RELEASE);

	if (WH_UNLIKELY(was & WH_LOCK_AWAITED))
		wh_lock_wake(word);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	h->held[id] = NULL;
}

static inline void wh_let_go(struct wh_holder *h, enum wh_lock id)
{
	wh_word_give(h, id, &wh_lock_word[id]);
}

/* Does the calling thread hold the word? True also if the frame that took it is gone. */
static inline bool wh_word_is_mine(const struct wh_holder *h, uint32_t word)
{
	return h->number && (word & ~WH_LOCK_AWAITED) == h->number;
}

static inline bool wh_lock_is_mine(const struct wh_holder *h, enum wh_lock id)
{
	return wh_word_is_mine(h, __atomic_load_n(&wh_lock_word[id], __ATOMIC_RELAXED));
}

/* Takes a lock at the end of the process, whatever the thread holds. Waits for at most a second. */
bool wh_lock_at_end(struct wh_holder *h, uint32_t *word);
/* In a fork's child nobody holds anything. */
void wh_locks_after_fork(struct wh_holder *h);

#endif
