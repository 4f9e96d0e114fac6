// SPDX-License-Identifier: Apache-2.0
/*
 * A client that writes into the ring what no client can have sent. Earlier each of these
 * attacks made the worker run 2^32 calls that nobody had made, on a CPU of its own. Now
 * the session ends.
 */
#include "hostile.h"

#define LIMIT_MS	60000	/* for what comes at once, on a busy machine too */

static bool deep;	/* the deep ring is tried */
static uint32_t cells;	/* in the ring that is tried */

static struct wh_shm_cell *cell_of(struct hostile *h, uint32_t number)
{
	return deep ? wh_shm_cell(&h->deep, number) : &h->cell[number % WH_SHM_CELLS];
}

static void begin(struct hostile *h)
{
	if (!hostile_begin(h))
		exit(1);
	h->slot->deep = deep;
}

static const char *named(const char *name)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s%s", name, deep ? "_in_the_deep_ring" : "");
	return text;
}

/* Writes one posted call as it should be: it asks for nothing. */
static void post(struct hostile *h, uint32_t number)
{
	struct wh_shm_cell *c = cell_of(h, number);
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

	begin(&h);
	h.slot->request_arg[1] = 0;
	hostile_send(&h, more ? h.calls + more : sent);
	ok(hostile_ends(&h, LIMIT_MS), named(name));
	hostile_leave(&h);
}

static void cell_at(uint32_t size, uint32_t handler, uint32_t place, const char *name)
{
	struct hostile h;

	begin(&h);
	h.slot->request_arg[1] = 0;
	post(&h, h.calls + 1);
	cell_of(&h, h.calls + 1)->size = size;
	cell_of(&h, h.calls + 1)->handler = handler;
	cell_of(&h, h.calls + 1)->place = place;
	hostile_send(&h, h.calls + 1);
	ok(hostile_ends(&h, LIMIT_MS), named(name));
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

	begin(&h);
	for (i = 1; i <= cells; i++)
		post(&h, h.calls + i);
	h.calls += cells;
	q = hostile_request(&h, WH_CALL_cuCtxGetFlags, sizeof(*q));
	ok_eq(hostile_call(&h, sizeof(*q)), 0, named("a_full_ring_and_an_answered_call_are_served"));
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
	ok(hostile_ends(&h, LIMIT_MS), "message_that_is_none_ends_the_session");
	hostile_leave(&h);
}

/* Says that calls are in the other ring, where none were written. */
static void ring_of_none(void)
{
	struct hostile h;

	begin(&h);
	h.slot->request_arg[1] = 0;
	post(&h, h.calls + 1);
	h.slot->deep = !deep;
	hostile_send(&h, h.calls + 1);
	ok(hostile_ends(&h, LIMIT_MS), named("call_that_is_in_the_other_ring_ends_it"));
	hostile_leave(&h);
}

static void try_ring(void)
{
	const uint32_t longs = deep ? WH_SHM_DEEP_LONGS : WH_SHM_LONGS;

	cells = deep ? WH_SHM_DEEP_CELLS : WH_SHM_CELLS;
	full_ring();
	number(0, 0xffffffff, "all_ones_end_the_session");
	number(cells + 2, 0, "one_more_than_the_ring_holds_ends_it");
	number(-1U, 0, "number_that_goes_back_ends_it");
	cell(WH_SHM_LONG + 1, WH_HANDLER_CUDA, "request_longer_than_its_place_ends_it");
	cell_at(WH_SHM_CELL, WH_HANDLER_CUDA, longs, "place_that_there_is_not_ends_it");
	cell_at(WH_SHM_CELL, WH_HANDLER_CUDA, -1U, "nor_is_there_one_before_the_first");
	cell(8, WH_HANDLER_CUDA, "request_shorter_than_its_head_ends_it");
	cell(64, WH_HANDLER_NULL, "handler_that_is_not_posted_ends_it");
	cell(64, 0x12345, "handler_that_is_none_ends_it");
	ring_of_none();
}

int main(void)
{
	tap_plan(24);
	slots_that_are_none();
	no_message();
	try_ring();
	deep = true;
	try_ring();
	return tap_exit();
}
