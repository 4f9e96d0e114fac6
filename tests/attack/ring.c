// SPDX-License-Identifier: Apache-2.0
/*
 * A client that writes into the ring what no client can have sent. Earlier each of these
 * attacks made the worker run 2^32 calls that nobody had made, on a CPU of its own. Now
 * the session ends.
 */
#include "hostile.h"

#define SOON_MS	5000

/* Writes one posted call as it should be: it asks for nothing. */
static void post(struct hostile *h, uint32_t number)
{
	struct wh_shm_cell *c = &h->cell[number % WH_SHM_CELLS];
	struct wh_req *q = (struct wh_req *)c->request;

	memset(c, 0, sizeof(*c));
	c->size = sizeof(struct wh_req_cuCtxGetFlags);
	c->handler = WH_HANDLER_CUDA;
	q->call = WH_CALL_cuCtxGetFlags;
	q->ctx = h->ctx;
}

static void number(uint32_t more, uint32_t sent, const char *name)
{
	struct hostile h;

	if (!hostile_begin(&h))
		exit(1);
	h.slot->request_arg[1] = 0;
	hostile_send(&h, more ? h.calls + more : sent);
	ok(hostile_ends(&h, SOON_MS), name);
	hostile_leave(&h);
}

static void cell_at(uint32_t size, uint32_t handler, uint32_t place, const char *name)
{
	struct hostile h;

	if (!hostile_begin(&h))
		exit(1);
	h.slot->request_arg[1] = 0;
	post(&h, h.calls + 1);
	h.cell[(h.calls + 1) % WH_SHM_CELLS].size = size;
	h.cell[(h.calls + 1) % WH_SHM_CELLS].handler = handler;
	h.cell[(h.calls + 1) % WH_SHM_CELLS].place = place;
	hostile_send(&h, h.calls + 1);
	ok(hostile_ends(&h, SOON_MS), name);
	hostile_leave(&h);
}

static void cell(uint32_t size, uint32_t handler, const char *name)
{
	cell_at(size, handler, 0, name);
}

/* Posts as many calls as there is room for, and makes one call that is waited for. */
static void full_ring(void)
{
	struct wh_req_cuCtxGetFlags *q;
	struct hostile h;
	uint32_t i;

	if (!hostile_begin(&h))
		exit(1);
	for (i = 1; i <= WH_SHM_CELLS; i++)
		post(&h, h.calls + i);
	h.calls += WH_SHM_CELLS;
	q = hostile_request(&h, WH_CALL_cuCtxGetFlags, sizeof(*q));
	ok_eq(hostile_call(&h, sizeof(*q)), 0, "a_full_ring_and_an_answered_call_are_served");
	hostile_leave(&h);
}

static bool say(struct hostile *h, uint32_t magic, uint32_t number)
{
	const struct wh_shm_use use = { .magic = magic, .slot = number };

	return send(h->sock, &use, sizeof(use), MSG_NOSIGNAL) == sizeof(use);
}

/*
 * Names slots that do not exist. The worker goes on, in the first slot and in one that
 * was named often.
 */
static void slots_that_are_none(void)
{
	struct wh_req_cuCtxGetFlags *q;
	struct hostile h;
	bool good = true;
	int i;

	if (!hostile_begin(&h))
		exit(1);
	for (i = 0; i < 50; i++)
		good &= say(&h, WH_SHM_MAGIC, WH_MAX_SLOTS + i) && say(&h, WH_SHM_MAGIC, 0) &&
			say(&h, WH_SHM_MAGIC, 1) && say(&h, WH_SHM_MAGIC, UINT32_MAX);
	q = hostile_request(&h, WH_CALL_cuCtxGetFlags, sizeof(*q));
	ok(good && !hostile_call(&h, sizeof(*q)), "slot_that_is_none_is_no_matter");
	hostile_leave(&h);
}

static void no_message(void)
{
	struct hostile h;

	if (!hostile_begin(&h))
		exit(1);
	say(&h, ~WH_SHM_MAGIC, 1);
	ok(hostile_ends(&h, SOON_MS), "message_that_is_none_ends_the_session");
	hostile_leave(&h);
}

int main(void)
{
	tap_plan(12);
	slots_that_are_none();
	no_message();
	full_ring();
	number(0, 0xffffffff, "all_ones_end_the_session");
	number(WH_SHM_CELLS + 2, 0, "one_more_than_the_ring_holds_ends_it");
	number(-1U, 0, "number_that_goes_back_ends_it");
	cell(WH_SHM_LONG + 1, WH_HANDLER_CUDA, "request_longer_than_its_place_ends_it");
	cell_at(WH_SHM_CELL, WH_HANDLER_CUDA, WH_SHM_LONGS, "place_that_there_is_not_ends_it");
	cell_at(WH_SHM_CELL, WH_HANDLER_CUDA, -1U, "nor_is_there_one_before_the_first");
	cell(8, WH_HANDLER_CUDA, "request_shorter_than_its_head_ends_it");
	cell(64, WH_HANDLER_NULL, "handler_that_is_not_posted_ends_it");
	cell(64, 0x12345, "handler_that_is_none_ends_it");
	return tap_exit();
}
