// SPDX-License-Identifier: Apache-2.0
/*
 * Knows what is proven of calls that nobody waits for (post.c), and their order. Each call that
 * begins, and each answer, may change what is known: then a new epoch begins.
 *
 * Order between slots. A slot's calls run in their order, calls of different slots at the same
 * time. A call must not overtake some of the calls that were posted in other slots. So before
 * it is sent, it waits until the driver has taken those (wh_post_order()).
 *
 * A posted call notes its number in its own slot's table, by stream and by event, before it
 * returns. A call into a legacy default stream, or one of which neither is known, notes its
 * number for all. A call that names a stream or an event looks up the numbers of these and of
 * "all" in every other slot. Any other call takes the last number.
 *
 * Why that is enough: a program may rely on an order only between a call that has returned and
 * one that begins after the program knows of that. Then the number was noted before it is
 * looked up. Numbers of one place only rise, so the call waits for that number or for a later
 * one of its slot, which runs after it. CUDA orders the other calls by streams and events, or
 * it orders all. Nobody waits for a call that was not sent, and a sent call waits for nothing
 * but the driver: no two threads wait for each other.
 */
#include "known.h"
#include "quick.h"
#include "gen_order.h"

#define PLACES	256u	/* of streams and events; two in one place wait more, never less */

uint64_t wh_epoch = 1, wh_epoch_memory = 1;
uint64_t wh_epoch_library[WH_LIBS];
/*
 * While something is captured, earlier proofs do not hold: the beginning and the end of a
 * capture change what is known. A call that names an event may join another stream to the
 * capture, or be refused for a stream that it did not join. So it is waited for.
 */
int wh_captures WH_PAIR;
/*
 * Events may be shared with other processes. After a program has recorded such an event, or
 * waited for it, it may tell those processes, and they rely on it.
 */
bool wh_shares_events WH_PAIR;
/* Then a copy has arrived before its call returns (rest.c). */
bool wh_apart WH_PAIR;

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void raise_by_one(uint64_t *p)
{
	__atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST);
}

/* The end of the process takes the transport away beside this (process.c). */
bool wh_posts(void)
{
	const struct wh_transport *t = __atomic_load_n(&wh_client.link.t, __ATOMIC_ACQUIRE);

	return t && t->post;
}

uint32_t wh_post_running(void)
{
	return wh_slots[wh_thread.slot].running;
}

uint64_t wh_post_epoch(void)
{
	return load(&wh_epoch);
}

void wh_post_change(uint16_t e)
{
	if (e & WH_EFFECT_FREES)
		raise_by_one(&wh_epoch_memory);
	if (e & WH_EFFECT_NEUTRAL)
		return;
	raise_by_one(&wh_epoch);
	if (e & WH_EFFECT_SHARES)
		__atomic_store_n(&wh_shares_events, true, __ATOMIC_RELAXED);
	if (e & WH_EFFECT_APART)
		__atomic_store_n(&wh_apart, true, __ATOMIC_RELAXED);
	if (e & WH_EFFECT_BEGINS_CAPTURE)
		__atomic_fetch_add(&wh_captures, 1, __ATOMIC_RELAXED);
	else if (e & WH_EFFECT_ENDS_CAPTURE && __atomic_load_n(&wh_captures, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&wh_captures, 1, __ATOMIC_RELAXED);
	if (e & WH_EFFECT_ENDS_CAPTURE)
		wh_events_forget();
}

/* Proofs and answers hold for the parent's worker only. */
void wh_post_after_fork(void)
{
	unsigned int i;

	for (i = 0; i < WH_LIBS; i++)
		raise_by_one(&wh_epoch_library[i]);
	raise_by_one(&wh_epoch);
	raise_by_one(&wh_epoch_memory);
	wh_events_forget();
}

/*
 * Another thread may have proven something while this call ran, from an answer before the
 * call's effect. So the end of a call changes what is known as its beginning does.
 */
static void changed(uint16_t e)
{
	if (wh_slots_used == 1)
		return;
	if (e & WH_EFFECT_FREES)
		raise_by_one(&wh_epoch_memory);
	if (!(e & WH_EFFECT_NEUTRAL))
		raise_by_one(&wh_epoch);
	if (e & WH_EFFECT_ENDS_CAPTURE)
		wh_events_forget();
}

CUresult wh_post_end(CUresult res)
{
	struct wh_link_slot *l = &wh_client.link.slot[wh_thread.slot];
	uint32_t call = wh_post_running();

	if (WH_UNLIKELY(l->deferred) && res == CUDA_SUCCESS && call < WH_CALLS &&
	    wh_effects[call] & WH_EFFECT_REPORTS) {
		res = (CUresult)l->deferred;
		l->deferred = 0;
	}
	if (WH_UNLIKELY(res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY))
		raise_by_one(&wh_epoch);
	changed(wh_effects_of(call));
	return res;
}

void wh_post_library_changes(void)
{
	raise_by_one(&wh_epoch_library[wh_post_running() >> WH_LIBRARY_SHIFT]);
	raise_by_one(&wh_epoch_memory);
}

/* --- Order ------------------------------------------------------------------------------ */

/* Written by the thread that has the slot, read by all. */
static struct noted {
	uint64_t at[PLACES];	/* number of the last call in that place */
	uint64_t all;		/* number of the last call that all have to wait for */
} noted[WH_MAX_SLOTS] WH_PAIR;

static void add_key(struct wh_keys *k, uint64_t key)
{
	k->key[k->n++] = key;
}

/* A legacy default stream is ordered against all others of its context. */
static void add_stream(struct wh_keys *k, uint64_t stream)
{
	k->all |= stream <= (uintptr_t)CU_STREAM_PER_THREAD;
	add_key(k, stream);
}

static void keys_of_wait(struct wh_keys *k, const struct wh_req_whWait *q)
{
	switch (q->kind) {
	case WH_WAIT_STREAM:
		add_stream(k, q->handle);
		break;
	case WH_WAIT_EVENT:
		add_key(k, q->handle);
		break;
	/* A fence may be any thread's, and its copy may have been posted in any slot. */
	default:
		k->all = true;
	}
}

static uint64_t handle_at(const struct wh_req *q, uint16_t offset)
{
	return *(const uint64_t *)((const char *)q + offset);
}

uint16_t wh_event_at(uint32_t call)
{
	return wh_named[call].event;
}

struct wh_keys wh_keys_of(const struct wh_req *q, uint32_t handler)
{
	struct wh_keys k = { .all = handler != WH_HANDLER_CUDA || wh_client.mirrors };
	const struct wh_named *named;

	if (k.all)
		return k;
	named = &wh_named[q->call];
	if (named->event)
		add_key(&k, handle_at(q, named->event));
	if (named->stream)
		add_stream(&k, handle_at(q, named->stream));
	if (q->call == WH_CALL_whWait)
		keys_of_wait(&k, (const struct wh_req_whWait *)q);
	else
		k.all |= !named->known;
	/* Attributes of a launch may name events. */
	if (q->call == WH_CALL_whLaunch)
		k.all |= ((const struct wh_req_whLaunch *)q)->attrs != 0;
	return k;
}

static unsigned int place_of(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ULL >> 56;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int await_slot(struct wh_link *l, uint32_t slot, const struct wh_keys *k)
{
	const struct noted *n = &noted[slot];
	uint64_t number = k->all ? load(&l->slot[slot].posted) : load(&n->all);
	unsigned int i;

	for (i = 0; i < k->n && !k->all; i++)
		number = later(number, load(&n->at[place_of(k->key[i])]));
	return number ? l->t->reached(l, slot, number) : WH_OK;
}

int wh_order(const struct wh_keys *k)
{
	struct wh_link *l = &wh_client.link;
	uint32_t i, used = __atomic_load_n(&wh_slots_used, __ATOMIC_SEQ_CST);
	int status = WH_OK;

	for (i = 0; i < used && !status; i++)
		if (i != wh_thread.slot)
			status = await_slot(l, i, k);
	return status;
}

int wh_post_order(const struct wh_call *c, uint32_t handler)
{
	struct wh_keys k;

	if (WH_LIKELY(wh_slots_used == 1) || !wh_client.link.t->reached)
		return WH_OK;
	k = wh_keys_of((const struct wh_req *)c->msg, handler);
	return wh_order(&k);
}

void wh_order_note(const struct wh_keys *k)
{
	struct noted *n = &noted[wh_thread.slot];
	uint64_t number = wh_client.link.slot[wh_thread.slot].posted;
	unsigned int i;

	if (k->all)
		__atomic_store_n(&n->all, number, __ATOMIC_RELEASE);
	for (i = 0; i < k->n; i++)
		__atomic_store_n(&n->at[place_of(k->key[i])], number, __ATOMIC_RELEASE);
}
