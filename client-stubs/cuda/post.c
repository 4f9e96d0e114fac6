// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that nobody has to wait for, over a transport that can post (shm). CUDA reports a
 * mistake in a launch at the launch, so a call is posted only if it cannot be one. The same
 * request (of a launch: all but the kernel's parameters) has succeeded before, and nothing has
 * happened since that could change the answer.
 *
 * These could change it: every call that cuda.api does not call neutral, every error, and, for
 * requests that name memory, every free. For another library, every call of it that is not
 * posted could change it, too. The remaining errors are those of the device, which come late
 * natively, too: they surface at a later call.
 *
 * Everything here runs with a slot. What is known is the process's; what is proven is each
 * slot's own.
 */
#include "known.h"
#include "quick.h"
#include "stubs.h"

#define PROOFS	512u	/* number of sets of them, a power of two */
#define WAYS	4u

static uint64_t proven[WH_MAX_SLOTS][PROOFS][WAYS];	/* the last one first */

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Mixes whole words. A wrong match would need equal hashes of 64 bits in one epoch. */
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

/* Hashes a request. Of the words in `addresses` it only matters whether they are 0. */
static uint64_t hash(const uint8_t *p, size_t n, uint64_t addresses)
{
	uint64_t h = 0xd1b54a32d192ed03ULL;
	size_t i;

	for (i = 0; i < n / sizeof(h); i++)
		h = mix(h, addresses >> i & 1 ? word(p, i) != 0 : word(p, i));
	return h;
}

/* Looks in this slot, whose only thread we are. */
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

/*
 * A request that is proven in this state is posted. What all its like have in common is a hash. The
 * worker is told it as well: it learns how long such calls take (server/limits/kinds.c).
 */
static bool sent(struct wh_call *c, uint32_t handler, uint64_t hash, uint64_t state)
{
	struct wh_link *l = &wh_client.link;
	struct wh_link_slot *s = &l->slot[wh_thread.slot];
	struct wh_keys k;

	if (!is_proven(mix(hash, state)) || s->no_post || s->deferred || wh_client.state >= WH_DEAD)
		return false;
	k = wh_keys_of((const struct wh_req *)c->msg, handler);
	if (WH_UNLIKELY(wh_slots_used > 1) && wh_order(&k) != WH_OK)
		return false;
	/* The proof is of the request without its number. */
	if (wh_profiled())
		wh_profile_request((struct wh_req *)c->msg, handler);
	s->alike = (uint32_t)(hash >> 32);
	if (l->t->post(l, wh_thread.slot, handler, c->size) != WH_OK)
		return false;
	wh_order_note(&k);
	wh_slot_ended();
	wh_slots[wh_thread.slot].crossings++;
	wh_slots[wh_thread.slot].posted++;
	return true;
}

/*
 * The hash of a request that names an event. If the event is known, any other of its context will
 * do as well.
 */
static uint64_t hash_with_event(const struct wh_call *c, size_t key)
{
	uint16_t at = wh_event_at(wh_post_running());
	uint64_t ctx = wh_event_context(word(c->msg, at / sizeof(uint64_t)));

	return ctx ? mix(hash(c->msg, key, 1ull << at / sizeof(uint64_t)), ctx) :
		     hash(c->msg, key, 0);
}

static CUresult post(struct wh_call *c, size_t key, uint64_t state)
{
	bool event = wh_effects[wh_post_running()] & WH_EFFECT_EVENT;
	uint64_t h;
	CUresult res;

	if (!wh_client.link.t->post || (WH_UNLIKELY(wh_captures || wh_shares_events) && event))
		return wh_run(c, sizeof(struct wh_rsp));
	h = event ? hash_with_event(c, key) : hash(c->msg, key, 0);
	if (sent(c, WH_HANDLER_CUDA, h, state))
		return CUDA_SUCCESS;
	/* This result also reports all that there was to say about posted calls. */
	res = wh_run(c, sizeof(struct wh_rsp));
	if (res == CUDA_SUCCESS)
		prove(mix(h, state));
	return res;
}

CUresult wh_post(struct wh_call *c, size_t key)
{
	return post(c, key, load(&wh_epoch));
}

CUresult wh_post_memory(struct wh_call *c, size_t key)
{
	return post(c, key, load(&wh_epoch) ^ load(&wh_epoch_memory) << 32);
}

/* A copy into a stream that captures is answered at once, and becomes a node (capture.c). */
CUresult wh_post_copy(struct wh_call *c, size_t key)
{
	if (WH_UNLIKELY(wh_captures || wh_client.mirrors))
		return wh_run(c, sizeof(struct wh_rsp));
	return wh_post_memory(c, key);
}

bool wh_library_post(struct wh_call *c, size_t key, uint64_t addresses)
{
	uint64_t own = load(&wh_epoch_library[wh_post_running() >> WH_LIBRARY_SHIFT]);
	uint64_t h, state = mix(load(&wh_epoch), own);
	struct wh_rsp *r = c->rsp;

	if (!wh_client.link.t->post)
		return wh_library_answer(c, sizeof(*r));
	h = hash(c->msg, key, addresses);
	if (sent(c, WH_HANDLER_LIBRARY, h, state)) {
		*r = (struct wh_rsp) { .size = sizeof(*r) };
		return true;
	}
	if (!wh_library_answer(c, sizeof(*r)))
		return false;
	if (r->result == 0)
		prove(mix(h, state));
	return true;
}

CUresult wh_quick_posted(struct wh_quick k, size_t size, size_t key)
{
	struct wh_call c = { .rsp = k.msg, .msg = k.msg, .size = size };
	CUresult res = wh_post(&c, key);

	if (WH_UNLIKELY(k.state->output || k.state->fetch || k.state->logged ||
			     wh_thread.permitted || wh_client.mirrors))
		wh_end(NULL);
	else
		wh_quick_drop(k);
	return res;
}

/* --- Questions that are asked once --------------------------------------------------------- */

#define QUESTIONS	256u	/* number of sets of them, a power of two */
#define ANSWER		48u	/* bytes of the longest one, its head included */

struct answer {
	uint64_t question;	/* hash; 0: none */
	uint32_t size;
	uint8_t rsp[ANSWER];
};

static struct answer told[WH_MAX_SLOTS][QUESTIONS][WAYS];	/* the last one first */

static const struct answer *told_before(uint64_t question, size_t size)
{
	const struct answer *a = told[wh_thread.slot][question % QUESTIONS];
	unsigned int i;

	for (i = 0; i < WAYS; i++)
		if (a[i].question == question && a[i].size == size)
			return &a[i];
	return NULL;
}

static void remember(uint64_t question, const void *rsp, size_t size)
{
	struct answer *a = told[wh_thread.slot][question % QUESTIONS];

	memmove(a + 1, a, (WAYS - 1) * sizeof(*a));
	a->question = question;
	a->size = (uint32_t)size;
	memcpy(a->rsp, rsp, size);
}

/* A call that is waited for makes its library's epoch another one before and after it. */
bool wh_library_ask(struct wh_call *c, size_t size, size_t fixed)
{
	uint64_t own = load(&wh_epoch_library[wh_post_running() >> WH_LIBRARY_SHIFT]);
	uint64_t question = mix(hash(c->msg, size, 0), own);
	const struct answer *a = told_before(question, fixed);
	struct wh_rsp *r = c->rsp;

	if (a) {
		memcpy(r, a->rsp, fixed);
		r->size = (uint32_t)fixed;
		return true;
	}
	if (!wh_library_answer(c, fixed))
		return false;
	if (r->result == 0 && fixed <= ANSWER)
		remember(question, r, fixed);
	return true;
}
