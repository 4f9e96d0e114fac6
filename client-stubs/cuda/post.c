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
 * Everything here runs under the slot's lock.
 */
#include "client.h"
#include "gen_effects.h"

#define PROOFS	1024u	/* a power of two */

static uint64_t proven[PROOFS];
static uint64_t epoch = 1;	/* of what is known; part of each proof */
static uint64_t memory = 1;	/* the same of what also depends on addresses */
static uint64_t library[WH_LIBS];	/* the same of each library's own calls */
static uint32_t running;	/* the call that was begun last */
static unsigned int captures;
/*
 * Events are shared with other processes: what a program does after it has
 * recorded one, or waited for one, it may tell them, and they rely on it.
 */
static bool shares_events;

void wh_post_begin(uint32_t call)
{
	/* Of the other libraries: they make and free what only their own calls name. */
	uint16_t e = call < WH_CALLS ? wh_effects[call] : WH_EFFECT_NEUTRAL | WH_EFFECT_FREES;

	running = call;
	memory += !!(e & WH_EFFECT_FREES);
	if (__builtin_expect(e & WH_EFFECT_NEUTRAL, WH_EFFECT_NEUTRAL))
		return;
	epoch++;
	shares_events |= !!(e & WH_EFFECT_SHARES);
	if (e & WH_EFFECT_BEGINS_CAPTURE)
		captures++;
	else if (e & WH_EFFECT_ENDS_CAPTURE && captures)
		captures--;
}

CUresult wh_post_end(CUresult res)
{
	struct wh_link *l = &wh_client.link;

	if (__builtin_expect(l->deferred, 0) && res == CUDA_SUCCESS && running < WH_CALLS &&
	    wh_effects[running] & WH_EFFECT_REPORTS) {
		res = (CUresult)l->deferred;
		l->deferred = 0;
	}
	if (__builtin_expect(res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY, 0))
		epoch++;
	return res;
}

void wh_post_library_changes(void)
{
	library[running >> WH_LIBRARY_SHIFT]++;
}

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

static bool sent(struct wh_call *c, uint32_t handler, bool known)
{
	struct wh_link *l = &wh_client.link;

	if (!known || l->no_post || l->deferred || wh_client.state >= WH_DEAD ||
	    l->t->post(l, handler, c->size) != WH_OK)
		return false;
	wh_client.crossings++;
	return true;
}

static CUresult post(struct wh_call *c, size_t key, uint64_t state)
{
	uint64_t *place, proof;
	CUresult res;

	if (!wh_client.link.t->post || captures ||
	    (__builtin_expect(shares_events, 0) && wh_effects[running] & WH_EFFECT_EVENT))
		return wh_run(c, sizeof(struct wh_rsp));
	proof = hash(c->msg, key, 0, state);
	place = &proven[proof % PROOFS];
	if (sent(c, WH_HANDLER_CUDA, *place == proof))
		return CUDA_SUCCESS;
	/* With this result goes whatever there was to say about posted ones. */
	res = wh_run(c, sizeof(struct wh_rsp));
	if (res == CUDA_SUCCESS)
		*place = proof;
	return res;
}

CUresult wh_post(struct wh_call *c, size_t key)
{
	return post(c, key, epoch);
}

CUresult wh_post_memory(struct wh_call *c, size_t key)
{
	return post(c, key, epoch ^ memory << 32);
}

bool wh_library_post(struct wh_call *c, size_t key, uint64_t addresses)
{
	uint64_t *place, proof, state = mix(epoch, library[running >> WH_LIBRARY_SHIFT]);
	struct wh_rsp *r = c->rsp;

	if (!wh_client.link.t->post || captures)
		return wh_library_answer(c, sizeof(*r));
	proof = hash(c->msg, key, addresses, state);
	place = &proven[proof % PROOFS];
	if (sent(c, WH_HANDLER_LIBRARY, *place == proof)) {
		*r = (struct wh_rsp) { .size = sizeof(*r) };
		return true;
	}
	if (!wh_library_answer(c, sizeof(*r)))
		return false;
	if (r->result == 0)
		*place = proof;
	return true;
}
