// SPDX-License-Identifier: Apache-2.0
/*
 * Knows when a stream has nothing under way. A thread that has waited for a stream, by a wait or by
 * a copy, and has sent nothing since, need not ask again: a wait is answered here, and a copy from
 * pageable memory has nothing to wait for before it, so it is posted.
 *
 * Requests are counted where they end, before their call returns to the program: each thread counts
 * its own, each slot those of all threads. The mark of a wait is taken before the wait is put in
 * order with other slots (order.c). A program may rely on a stream's work only if the call that
 * made it has returned, in this thread or in one that has told this thread of it. Then the call is
 * in the numbers. Either it was in them at the mark, and the wait came behind it; or the numbers
 * differ from the mark's, and the worker is asked.
 *
 * A copy that is posted instead of waited for may arrive after its call has returned, which CUDA
 * documents for pageable memory. What comes later in the legacy default stream's order is behind
 * it. A program that has something out of that order is served as before: a stream that does not
 * block, a second context, memory or events that other processes see (the effect `apart`).
 */
#include "order.h"
#include "rest.h"
#include "stubs.h"

/* Natively, so much is staged without a wait for the device, too. */
#define COPY_BYTES	(64UL << 10)

static uint64_t others(uint64_t own)
{
	uint32_t i, used = __atomic_load_n(&wh_slots_used, __ATOMIC_SEQ_CST);
	uint64_t sum = 0;

	for (i = 0; i < used; i++)
		sum += __atomic_load_n(&wh_slots[i].ended, __ATOMIC_ACQUIRE);
	return sum - own;
}

struct wh_rest_mark wh_rest_begin(void)
{
	uint64_t own = wh_thread.ended;

	return (struct wh_rest_mark) { own, others(own) };
}

/* The other name of the legacy default stream. */
static uint64_t one_name(uint64_t stream)
{
	return stream == (uintptr_t)CU_STREAM_LEGACY ? 0 : stream;
}

void wh_rest_reached(struct wh_rest_mark m, uint64_t stream, bool waited)
{
	wh_thread.rest = (struct wh_rest) {
		.at = m, .ctx = wh_thread.ctx, .stream = one_name(stream), .known = true,
		.waited = waited,
	};
}

/*
 * Cheap questions come first. A slot that is held says that a call was left, or that this is a
 * signal handler on top of one. What has to be copied, recorded or reported needs the worker.
 */
static bool at_rest(uint64_t stream)
{
	const struct wh_thread *t = &wh_thread;
	const struct wh_rest *r = &t->rest;

	return r->known && r->at.own == t->ended && r->stream == one_name(stream) &&
	       r->ctx == t->ctx && t->ctx && !t->holder.held[WH_LOCK_SLOT] &&
	       wh_usable() == CUDA_SUCCESS && wh_posts() && !wh_profiled() &&
	       !wh_client.mirrors && !__atomic_load_n(&wh_client.captures, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&wh_captures, __ATOMIC_RELAXED) && others(t->ended) == r->at.others;
}

bool wh_rest_waited(uint64_t stream)
{
	return wh_thread.rest.waited && !wh_thread.rest.copied && at_rest(stream);
}

bool wh_rest_empty(void)
{
	return !wh_thread.rest.copied && at_rest(0);
}

bool wh_rest_before_copy(CUdeviceptr dst, size_t n)
{
	return n <= COPY_BYTES && at_rest(0) && !__atomic_load_n(&wh_apart, __ATOMIC_RELAXED) &&
	       wh_range_has(dst) && !wh_in_data((const void *)dst, n);
}

static bool several WH_PAIR;

void wh_rest_contexts(void)
{
	__atomic_store_n(&several, true, __ATOMIC_RELAXED);
	wh_rest_apart();
}

bool wh_rest_tells(CUdeviceptr src)
{
	return !__atomic_load_n(&several, __ATOMIC_RELAXED) && wh_range_has(src);
}

void wh_rest_apart(void)
{
	__atomic_store_n(&wh_apart, true, __ATOMIC_RELAXED);
}

/* A wait has this copy to wait for; another copy has not. */
void wh_rest_copied(void)
{
	wh_thread.rest.at.own++;
	wh_thread.rest.copied = true;
}
