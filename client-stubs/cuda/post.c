// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that nobody has to wait for, over a transport that can post (shm). CUDA
 * reports a mistake in a launch at the launch, so a call is posted only when it
 * cannot be one: the same request (of a launch: all but the kernel's parameters)
 * has succeeded before, and nothing has happened since that could change the
 * answer. What could is every call that cuda.api does not say is neutral, every error,
 * and, for requests that name memory, every free. What is left are errors of the
 * device, which come late natively, too: they surface at a later call. Of another
 * library, what could change an answer is also every call of it that is not posted.
 * Everything here runs with a slot. What is known is the process's; what is proven, each
 * slot's own.
 *
 * Order between slots. A slot's calls run in their order, different slots' at the same
 * time. So before a call is sent, those that were posted in other slots and that it must
 * not overtake are waited for, until the driver has taken them (wh_post_order()). Which
 * these are: a posted call notes its number in its own slot's table, by stream and by event,
 * before it returns; one into a legacy default stream, or of which neither is known, notes
 * it for all. A call that names a stream or an event looks up the numbers of these and
 * of "all" in every other slot; any other call takes the last number. Why that is enough:
 * a program may rely on an order only between a call that has returned and one that begins
 * after it knows of that. Then the number was noted before it is looked up, and numbers
 * of one place only rise, so the call waits for that one or for a later one of its slot,
 * which runs after it. What CUDA orders of the rest, it orders by streams and events, or it
 * orders all. Nobody waits for a call that was not sent, and a sent one waits for
 * nothing but the driver: no two threads wait for each other.
 */
#include "quick.h"

#define PROOFS	512u	/* sets of them, a power of two */
#define WAYS	4u
#define PLACES	256u	/* of streams and events; two in one place wait more, never less */

static uint64_t proven[WH_MAX_SLOTS][PROOFS][WAYS];	/* the last one first */
static uint64_t epoch = 1;	/* of what is known; part of each proof */
static uint64_t memory = 1;	/* the same of what also depends on addresses */
static uint64_t library[WH_LIBS];	/* the same of each library's own calls */
/*
 * While something is captured, what was proven before is not: a capture's beginning and its end
 * change what is known. A call that names an event may join another stream to the capture, or be
 * refused for one that it did not join: it is waited for.
 */
static int captures WH_PAIR;
/*
 * Events are shared with other processes: what a program does after it has
 * recorded one, or waited for one, it may tell them, and they rely on it.
 */
static bool shares_events WH_PAIR;

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void raise_by_one(uint64_t *p)
{
	__atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST);
}

static uint32_t running(void)
{
	return wh_slots[wh_thread.slot].running;
}

uint64_t wh_post_epoch(void)
{
	return load(&epoch);
}

void wh_post_change(uint16_t e)
{
	if (e & WH_EFFECT_FREES)
		raise_by_one(&memory);
	if (e & WH_EFFECT_NEUTRAL)
		return;
	raise_by_one(&epoch);
	if (e & WH_EFFECT_SHARES)
		__atomic_store_n(&shares_events, true, __ATOMIC_RELAXED);
	if (e & WH_EFFECT_BEGINS_CAPTURE)
		__atomic_fetch_add(&captures, 1, __ATOMIC_RELAXED);
	else if (e & WH_EFFECT_ENDS_CAPTURE && __atomic_load_n(&captures, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&captures, 1, __ATOMIC_RELAXED);
}

/* What is proven is so for another worker. */
void wh_post_after_fork(void)
{
	raise_by_one(&epoch);
	raise_by_one(&memory);
}

/*
 * What another thread has proven while this call ran may have been before it: the end
 * of a call changes what is known as its beginning does.
 */
static void changed(uint16_t e)
{
	if (wh_slots_used == 1)
		return;
	if (e & WH_EFFECT_FREES)
		raise_by_one(&memory);
	if (!(e & WH_EFFECT_NEUTRAL))
		raise_by_one(&epoch);
}

CUresult wh_post_end(CUresult res)
{
	struct wh_link_slot *l = &wh_client.link.slot[wh_thread.slot];
	uint32_t call = running();

	if (__builtin_expect(l->deferred, 0) && res == CUDA_SUCCESS && call < WH_CALLS &&
	    wh_effects[call] & WH_EFFECT_REPORTS) {
		res = (CUresult)l->deferred;
		l->deferred = 0;
	}
	if (__builtin_expect(res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY, 0))
		raise_by_one(&epoch);
	changed(wh_effects_of(call));
	return res;
}

void wh_post_library_changes(void)
{
	raise_by_one(&library[running() >> WH_LIBRARY_SHIFT]);
	raise_by_one(&memory);
}

/* --- Order ------------------------------------------------------------------------------ */

/* Written by who has the slot, read by all. */
static struct noted {
	uint64_t at[PLACES];	/* number of the last call there */
	uint64_t all;		/* of the last one that all have to wait for */
} noted[WH_MAX_SLOTS] WH_PAIR;

/* What a call is ordered by. */
struct keys {
	uint64_t key[2];
	unsigned int n;
	bool all;
};

static void add_key(struct keys *k, uint64_t key)
{
	k->key[k->n++] = key;
}

/* A legacy default stream is ordered against all others of its context. */
static void add_stream(struct keys *k, uint64_t stream)
{
	k->all |= stream <= (uintptr_t)CU_STREAM_PER_THREAD;
	add_key(k, stream);
}

static void keys_of_wait(struct keys *k, const struct wh_req_whWait *q)
{
	switch (q->kind) {
	case WH_WAIT_STREAM:
		add_stream(k, q->handle);
		break;
	case WH_WAIT_EVENT:
		add_key(k, q->handle);
		break;
	/* A fence is any thread's, and its copy may have been posted in any slot. */
	default:
		k->all = true;
	}
}

#define STREAM_OF(call, q, k) \
	case WH_CALL_##call: \
		add_stream(k, ((const struct wh_req_##call *)(q))->hStream); \
		break
#define EVENT_OF(call, q, k) \
	case WH_CALL_##call: \
		add_key(k, ((const struct wh_req_##call *)(q))->hEvent); \
		break
#define BOTH_OF(call, q, k) \
	case WH_CALL_##call: \
		add_key(k, ((const struct wh_req_##call *)(q))->hEvent); \
		add_stream(k, ((const struct wh_req_##call *)(q))->hStream); \
		break

/* Of whatever is not here nothing is known: all. */
static struct keys keys_of(const struct wh_req *q, uint32_t handler)
{
	struct keys k = { .all = handler != WH_HANDLER_CUDA };

	if (k.all || wh_client.mirrors) {
		k.all = true;
		return k;
	}
	switch (q->call) {
	case WH_CALL_whLaunch:
		add_stream(&k, ((const struct wh_req_whLaunch *)q)->stream);
		/* They may name events. */
		k.all |= ((const struct wh_req_whLaunch *)q)->attrs != 0;
		break;
	case WH_CALL_whStageCopy:
		add_stream(&k, ((const struct wh_req_whStageCopy *)q)->stream);
		break;
	case WH_CALL_whSmallIn:
		add_stream(&k, ((const struct wh_req_whSmallIn *)q)->stream);
		break;
	case WH_CALL_whWait:
		keys_of_wait(&k, (const struct wh_req_whWait *)q);
		break;
	case WH_CALL_whParamLayout:
	case WH_CALL_whOutput:
	case WH_CALL_cuFuncGetAttribute:
	case WH_CALL_cuKernelGetAttribute:
		break;
	STREAM_OF(cuMemcpyHtoDAsync_v2, q, &k);
	STREAM_OF(cuMemcpyDtoHAsync_v2, q, &k);
	STREAM_OF(cuMemcpyDtoDAsync_v2, q, &k);
	STREAM_OF(cuMemsetD8Async, q, &k);
	STREAM_OF(cuMemsetD16Async, q, &k);
	STREAM_OF(cuMemsetD32Async, q, &k);
	STREAM_OF(cuStreamQuery, q, &k);
	EVENT_OF(cuEventQuery, q, &k);
	BOTH_OF(cuEventRecord, q, &k);
	BOTH_OF(cuEventRecordWithFlags, q, &k);
	BOTH_OF(cuStreamWaitEvent, q, &k);
	default:
		k.all = true;
	}
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

static int await_slot(struct wh_link *l, uint32_t slot, const struct keys *k)
{
	const struct noted *n = &noted[slot];
	uint64_t number = k->all ? load(&l->slot[slot].posted) : load(&n->all);
	unsigned int i;

	for (i = 0; i < k->n && !k->all; i++)
		number = later(number, load(&n->at[place_of(k->key[i])]));
	return number ? l->t->reached(l, slot, number) : WH_OK;
}

static int order(const struct keys *k)
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
	struct keys k;

	if (__builtin_expect(wh_slots_used == 1, 1) || !wh_client.link.t->reached)
		return WH_OK;
	k = keys_of((const struct wh_req *)c->msg, handler);
	return order(&k);
}

/* Before the call returns to the program. */
static void note(const struct keys *k)
{
	struct noted *n = &noted[wh_thread.slot];
	uint64_t number = wh_client.link.slot[wh_thread.slot].posted;
	unsigned int i;

	if (k->all)
		__atomic_store_n(&n->all, number, __ATOMIC_RELEASE);
	for (i = 0; i < k->n; i++)
		__atomic_store_n(&n->at[place_of(k->key[i])], number, __ATOMIC_RELEASE);
}

/* --- Proofs ------------------------------------------------------------------------------ */

/* Of whole words. A wrong match would need equal hashes of 64 bits in one epoch. */
static uint64_t mix(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static uint64_t word(const uint8_t *p, size_t i)
{
	uint64_t w;

	memcpy(&w, p + i * sizeof(w), sizeof(w));
	return w;
}

/* Of the words in `addresses` it is only whether they are 0. */
static uint64_t hash(const uint8_t *p, size_t n, uint64_t addresses, uint64_t h)
{
	size_t i;

	for (i = 0; i < n / sizeof(h); i++)
		h = mix(h, addresses >> i & 1 ? word(p, i) != 0 : word(p, i));
	return h;
}

/* In this slot, whose only thread we are. */
static bool is_proven(uint64_t proof)
{
	const uint64_t *p = proven[wh_thread.slot][proof % PROOFS];
	unsigned int i;

	for (i = 0; i < WAYS; i++)
		if (p[i] == proof)
			return true;
	return false;
}

static void prove(uint64_t proof)
{
	uint64_t *p = proven[wh_thread.slot][proof % PROOFS];

	if (is_proven(proof))
		return;
	memmove(p + 1, p, (WAYS - 1) * sizeof(*p));
	p[0] = proof;
}

static bool sent(struct wh_call *c, uint32_t handler, bool known)
{
	struct wh_link *l = &wh_client.link;
	struct wh_link_slot *s = &l->slot[wh_thread.slot];
	struct keys k;

	if (!known || s->no_post || s->deferred || wh_client.state >= WH_DEAD)
		return false;
	k = keys_of((const struct wh_req *)c->msg, handler);
	if (__builtin_expect(wh_slots_used > 1, 0) && order(&k) != WH_OK)
		return false;
	if (l->t->post(l, wh_thread.slot, handler, c->size) != WH_OK)
		return false;
	note(&k);
	wh_slots[wh_thread.slot].crossings++;
	wh_slots[wh_thread.slot].posted++;
	return true;
}

static CUresult post(struct wh_call *c, size_t key, uint64_t state)
{
	uint64_t proof;
	CUresult res;

	if (!wh_client.link.t->post || (__builtin_expect(captures || shares_events, 0) &&
					wh_effects[running()] & WH_EFFECT_EVENT))
		return wh_run(c, sizeof(struct wh_rsp));
	proof = hash(c->msg, key, 0, state);
	if (sent(c, WH_HANDLER_CUDA, is_proven(proof)))
		return CUDA_SUCCESS;
	/* With this result goes whatever there was to say about posted ones. */
	res = wh_run(c, sizeof(struct wh_rsp));
	if (res == CUDA_SUCCESS)
		prove(proof);
	return res;
}

CUresult wh_post(struct wh_call *c, size_t key)
{
	return post(c, key, load(&epoch));
}

CUresult wh_post_memory(struct wh_call *c, size_t key)
{
	return post(c, key, load(&epoch) ^ load(&memory) << 32);
}

/* One into a stream that captures is answered at once, and becomes a node (capture.c). */
CUresult wh_post_copy(struct wh_call *c, size_t key)
{
	if (__builtin_expect(captures || wh_client.mirrors, 0))
		return wh_run(c, sizeof(struct wh_rsp));
	return wh_post_memory(c, key);
}

bool wh_library_post(struct wh_call *c, size_t key, uint64_t addresses)
{
	uint64_t own = load(&library[running() >> WH_LIBRARY_SHIFT]);
	uint64_t proof, state = mix(load(&epoch), own);
	struct wh_rsp *r = c->rsp;

	if (!wh_client.link.t->post)
		return wh_library_answer(c, sizeof(*r));
	proof = hash(c->msg, key, addresses, state);
	if (sent(c, WH_HANDLER_LIBRARY, is_proven(proof))) {
		*r = (struct wh_rsp) { .size = sizeof(*r) };
		return true;
	}
	if (!wh_library_answer(c, sizeof(*r)))
		return false;
	if (r->result == 0)
		prove(proof);
	return true;
}
