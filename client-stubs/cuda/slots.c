// SPDX-License-Identifier: Apache-2.0
/*
 * The part of slots.h that looks for a free slot or waits for one, and decides which threads
 * prefer which slot.
 */
#define _GNU_SOURCE
#include "slots.h"

#include <sched.h>
#include <time.h>

struct wh_slot_state wh_slots[WH_MAX_SLOTS] WH_PAIR;
uint32_t wh_slots_used WH_PAIR = 1;

static uint32_t count(void)
{
	uint32_t n = wh_client.link.slots;

	return n ? n : 1;
}

static bool try(struct wh_thread *t, uint32_t slot)
{
	uint32_t nobody = 0;

	/* This is stored first, so that a call which is left at any point is found again. */
	t->slot = slot;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __atomic_compare_exchange_n(&wh_slots[slot].word, &nobody, t->holder.number, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

#define LOOKS	100
#define NAP_NS	1000000
#define BRIEFLY	200	/* looks at a slot whose holder most likely posts a call */

/* Is the slot free soon? The thread that has it may also wait for an answer. */
static bool try_briefly(struct wh_thread *t, uint32_t slot)
{
	int i;

	for (i = 0; i < BRIEFLY; i++) {
		if (!__atomic_load_n(&wh_slots[slot].word, __ATOMIC_RELAXED) && try(t, slot))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

/* Takes its own slot, any other that is free, or the first that becomes free. */
static void take_any(struct wh_thread *t)
{
	uint32_t n = count(), preferred = wh_slot_preferred(t), i, looks;

	if (preferred != t->own_slot && try_briefly(t, preferred))
		return;
	for (looks = 0; ; looks++) {
		for (i = 0; i < n; i++)
			if (try(t, (t->own_slot + i) % n))
				return;
		if (looks < LOOKS) {
			sched_yield();
			continue;
		}
		t->slot = t->own_slot;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		/* It waits only for one nap, since another slot may be free before this one. */
		if (wh_word_await(&wh_slots[t->slot].word, t->holder.number, 0, NAP_NS))
			return;
	}
}

static void take_first(struct wh_thread *t)
{
	t->slot = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	wh_word_await(&wh_slots[0].word, t->holder.number, UINT64_MAX, WH_LOCK_NAP_NS);
}

static void note_use(const struct wh_thread *t)
{
	uint32_t used = __atomic_load_n(&wh_slots_used, __ATOMIC_RELAXED);

	while (used <= t->slot &&
	       !__atomic_compare_exchange_n(&wh_slots_used, &used, t->slot + 1, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

CUresult wh_slot_slowly(struct wh_thread *t, const void *frame, bool first, bool *left)
{
	struct wh_holder *h = &t->holder;

	if (!wh_holder_may(h, WH_LOCK_SLOT, frame))
		return CUDA_ERROR_NOT_PERMITTED;
	h->held[WH_LOCK_SLOT] = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*left = wh_slot_is_mine(t);
	if (*left)
		return CUDA_SUCCESS;
	if (first)
		take_first(t);
	else
		take_any(t);
	note_use(t);
	return CUDA_SUCCESS;
}

CUresult wh_slot_again(struct wh_thread *t, const void *frame)
{
	struct wh_holder *h = &t->holder;

	if (!wh_holder_may(h, WH_LOCK_SLOT, frame))
		return CUDA_ERROR_NOT_PERMITTED;
	h->held[WH_LOCK_SLOT] = frame;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	wh_word_await(&wh_slots[t->slot].word, h->number, UINT64_MAX, WH_LOCK_NAP_NS);
	return CUDA_SUCCESS;
}

bool wh_slot_is_mine(const struct wh_thread *t)
{
	return wh_word_is_mine(&t->holder, wh_slots[t->slot].word);
}

/* --- Calls that wait -------------------------------------------------------------------- */

static uint32_t permits WH_PAIR;	/* number given out */

static bool permit(uint32_t most)
{
	uint32_t n = __atomic_load_n(&permits, __ATOMIC_RELAXED);

	while (n < most)
		if (__atomic_compare_exchange_n(&permits, &n, n + 1, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

/*
 * One more slot is kept free for a call that began when there was one thread and that was not
 * counted.
 */
void wh_slot_permit(struct wh_thread *t)
{
	static const struct timespec nap = { .tv_nsec = 100000 };
	uint32_t n = count();

	if (n < 3 || wh_slots_used == 1 || t->permitted || t->holder.held[WH_LOCK_SLOT])
		return;
	while (!permit(n - 2))
		nanosleep(&nap, NULL);
	t->permitted = true;
}

static void end_permit(struct wh_thread *t)
{
	t->permitted = false;
	__atomic_fetch_sub(&permits, 1, __ATOMIC_RELAXED);
}

void wh_slot_give(struct wh_thread *t)
{
	if (WH_UNLIKELY(t->permitted))
		end_permit(t);
	wh_word_give(&t->holder, WH_LOCK_SLOT, &wh_slots[t->slot].word);
}

/* --- Which thread prefers which slot -------------------------------------------------- */

static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;

void wh_slot_prefer(struct wh_thread *t)
{
	uint32_t best = 0, i;

	pthread_mutex_lock(&lock);
	for (i = 1; i < count(); i++)
		if (wh_slots[i].users < wh_slots[best].users)
			best = i;
	wh_slots[best].users++;
	pthread_mutex_unlock(&lock);
	t->own_slot = t->slot = best;
	note_use(t);
}

void wh_slot_leave(struct wh_thread *t)
{
	if (t->permitted)
		end_permit(t);
	pthread_mutex_lock(&lock);
	wh_slots[t->own_slot].users--;
	pthread_mutex_unlock(&lock);
}

/* --- Fork and the end ------------------------------------------------------------------ */

void wh_slots_after_fork(void)
{
	int i;

	for (i = 0; i < WH_MAX_SLOTS; i++)
		wh_slots[i].word = 0;
	permits = 0;
	wh_slots_used = 1;
	pthread_mutex_init(&lock, NULL);
}

static void give_first(struct wh_thread *t, uint32_t n)
{
	while (n--)
		wh_word_give(&t->holder, WH_LOCK_SLOT, &wh_slots[n].word);
}

bool wh_slots_at_end(struct wh_thread *t)
{
	uint32_t i;

	for (i = 0; i < count(); i++) {
		if (wh_lock_at_end(&t->holder, &wh_slots[i].word))
			continue;
		give_first(t, i);
		return false;
	}
	return true;
}

void wh_slots_give(struct wh_thread *t)
{
	give_first(t, count());
}

uint64_t wh_slots_crossings(uint64_t *posted)
{
	uint64_t sum = 0;
	int i;

	*posted = 0;
	for (i = 0; i < WH_MAX_SLOTS; i++) {
		sum += wh_slots[i].crossings;
		*posted += wh_slots[i].posted;
	}
	return sum;
}
