// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a lock's life that waits or decides: thread numbers, futexes, and whether a
 * signal handler may take over what its thread holds.
 */
#define _GNU_SOURCE
#include "lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

uint32_t wh_lock_word[WH_LOCKS] WH_PAIR;

/*
 * A handler's frames begin below the interrupted one by more than the kernel's
 * smallest signal frame with its red zone, 1080 bytes.
 */
#define SIGNAL_FRAME	1024

/*
 * Has the frame that took the lock ended without giving it back, for example by siglongjmp()?
 * That is certain only on one stack, and if no handler's frame fits between the two. If in
 * doubt, the answer is no.
 */
static bool left_behind(const struct wh_holder *t, const void *held, const void *frame)
{
	uintptr_t h = (uintptr_t)held, f = (uintptr_t)frame;

	return h >= t->stack_low && h < t->stack_high && f >= t->stack_low &&
	       f < t->stack_high && f + SIGNAL_FRAME > h;
}

bool wh_word_await(uint32_t *word, uint32_t number, uint64_t deadline, uint32_t nap_ns)
{
	const struct timespec nap = { .tv_nsec = nap_ns };
	uint32_t seen = 0;

	while (!__atomic_compare_exchange_n(word, &seen, number | WH_LOCK_AWAITED, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if ((seen & ~WH_LOCK_AWAITED) == number)
			return true;	/* the lock is taken over */
		if (seen && ((seen & WH_LOCK_AWAITED) ||
			     __atomic_compare_exchange_n(word, &seen, seen | WH_LOCK_AWAITED, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
			syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen | WH_LOCK_AWAITED, &nap,
				NULL, 0);
		if (wh_now_ns() > deadline)
			return false;
		seen = 0;
	}
	return true;
}

bool wh_holder_may(struct wh_holder *h, enum wh_lock id, const void *frame)
{
	if (!h->number)
		h->number = syscall(SYS_gettid);
	/* The lock is held by this very attempt, or by an earlier one of the same frame. */
	if (!h->held[id] || h->held[id] == frame || left_behind(h, h->held[id], frame))
		return true;
	wh_log("a CUDA call on top of another one of its thread is refused: it comes from a signal handler, or after one that never returned");
	return false;
}

CUresult wh_lock_slowly(struct wh_holder *h, enum wh_lock id, const void *frame)
{
	if (!wh_holder_may(h, id, frame))
		return CUDA_ERROR_NOT_PERMITTED;
	h->held[id] = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	wh_word_await(&wh_lock_word[id], h->number, UINT64_MAX, WH_LOCK_NAP_NS);
	return CUDA_SUCCESS;
}

void wh_lock_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#define END_TIMEOUT_NS	1000000000

bool wh_lock_at_end(struct wh_holder *h, uint32_t *word)
{
	if (!h->number)
		h->number = syscall(SYS_gettid);
	return wh_word_await(word, h->number, wh_now_ns() + END_TIMEOUT_NS, WH_LOCK_NAP_NS);
}

void wh_locks_after_fork(struct wh_holder *h)
{
	int id;

	for (id = 0; id < WH_LOCKS; id++) {
		wh_lock_word[id] = 0;
		h->held[id] = NULL;
	}
	h->number = 0;
}
