// SPDX-License-Identifier: Apache-2.0
/*
 * The events that this process has made, with their contexts. A proof of post.c is of one event,
 * which says nothing of a new one. But of a context's events that were only recorded, waited for
 * and asked about, CUDA accepts each where it accepted one. All are forgotten where that may end:
 * their context may have ended, or a capture, in which one may have been recorded.
 */
#include "known.h"

#define SETS	4096u	/* a power of two */
#define WAYS	4u	/* an event beyond that is unknown, and its calls are waited for */
#define TAKEN	1u	/* no handle: a thread fills this place */

/* Not WH_PAIR: most processes never touch it, and the child of a fork forgets it (order.c). */
static struct known {
	uint64_t event;		/* 0: free */
	uint64_t ctx;
} known[SETS][WAYS];
static bool any;

static struct known *set_of(uint64_t event)
{
	return known[event * 0x9e3779b97f4a7c15ULL >> 52];
}

static struct known *find(uint64_t event)
{
	struct known *set = set_of(event);
	unsigned int i;

	for (i = 0; i < WAYS; i++)
		if (__atomic_load_n(&set[i].event, __ATOMIC_ACQUIRE) == event)
			return &set[i];
	return NULL;
}

/* A handle is never used twice, so a place that still has it has its context. */
uint64_t wh_event_context(uint64_t event)
{
	struct known *k = event > TAKEN ? find(event) : NULL;
	uint64_t ctx = k ? __atomic_load_n(&k->ctx, __ATOMIC_ACQUIRE) : 0;

	return k && __atomic_load_n(&k->event, __ATOMIC_RELAXED) == event ? ctx : 0;
}

void wh_event_note(uint64_t event, uint64_t ctx)
{
	struct known *set = set_of(event);
	unsigned int i;

	for (i = 0; i < WAYS; i++) {
		uint64_t nobody = 0;

		if (!__atomic_compare_exchange_n(&set[i].event, &nobody, TAKEN, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&set[i].ctx, ctx, __ATOMIC_RELAXED);
		__atomic_store_n(&set[i].event, event, __ATOMIC_RELEASE);
		/* Last: whoever forgets all meanwhile leaves an event that nobody has used yet. */
		__atomic_store_n(&any, true, __ATOMIC_RELEASE);
		return;
	}
}

void wh_event_forget(uint64_t event)
{
	struct known *k = find(event);

	if (k)
		__atomic_compare_exchange_n(&k->event, &event, 0, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}

/* A place that another thread fills at this moment stays, as if it had come later. */
void wh_events_forget(void)
{
	unsigned int i, j;

	if (!__atomic_exchange_n(&any, false, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < SETS; i++)
		for (j = 0; j < WAYS; j++) {
			uint64_t event = __atomic_load_n(&known[i][j].event, __ATOMIC_RELAXED);

			if (event > TAKEN)
				__atomic_compare_exchange_n(&known[i][j].event, &event, 0, false,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		}
}
