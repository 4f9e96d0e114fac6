// SPDX-License-Identifier: Apache-2.0
/*
 * A client that wants more pinned memory than its tenant may have, by requests that no
 * program of ours sends. Earlier pinned memory was checked and never charged, so a client
 * that asked often enough got round its limit. The tenant has 100 MiB, of which the part
 * takes 16. The far area, whose blocks are pinned, begins at WH_SHM_FAR_VA.
 */
#include "hostile.h"
#include "hostblock.h"

#define MIB	(1ULL << 20)
#define PAGE	4096ULL
#define AT(n)	(WH_SHM_FAR_VA + (n) * MIB)

static int block(struct hostile *h, uint32_t op, uint64_t addr, uint64_t size, uint64_t to)
{
	struct wh_req_whHostBlock *q = hostile_request(h, WH_CALL_whHostBlock, sizeof(*q));

	return hostile_call(h, host_block(q, op, addr, size, to));
}

static int pin(struct hostile *h, uint64_t addr, uint64_t size)
{
	return block(h, WH_HOST_PIN, addr, size, 0);
}

static int unpin(struct hostile *h, uint64_t addr)
{
	return block(h, WH_HOST_UNPIN, addr, 0, 0);
}

/* Returns how much more can be pinned, in MiB: pins all of it, and gives it back. */
static unsigned int room(struct hostile *h)
{
	unsigned int n = 0, i;

	while (n < 100 && !pin(h, AT(n), MIB))
		n++;
	for (i = 0; i < n; i++)
		unpin(h, AT(i));
	return n;
}

/* Pins blocks where others are already: each page is charged once and pinned once. */
static void again(struct hostile *h)
{
	ok(!pin(h, AT(0), 64 * MIB), "what_fits_is_pinned");
	ok(pin(h, AT(0), 64 * MIB) > 0 && pin(h, AT(32), 64 * MIB) > 0 && pin(h, AT(0), PAGE) > 0 &&
	   block(h, WH_HOST_ALIAS, AT(0), 64 * MIB, 0x500000000000) > 0,
	   "the_same_memory_is_not_pinned_again");
	ok_eq(pin(h, AT(64), 21 * MIB), CUDA_ERROR_OUT_OF_MEMORY, "nor_is_more_than_is_left");
	unpin(h, AT(0));
	ok_eq(room(h), 84, "and_what_was_refused_is_not_charged");
}

/* Uses sizes and places whose sums overflow to small numbers. */
static void strange(struct hostile *h)
{
	static const uint64_t sizes[] = { 0, 1, PAGE + 1, 1ULL << 40, 1ULL << 63, -PAGE, -1ULL };
	bool refused = true;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		refused &= pin(h, AT(0), sizes[i]) > 0;
		refused &= pin(h, -PAGE, sizes[i]) > 0;
		refused &= block(h, WH_HOST_ALIAS, AT(0), sizes[i], -PAGE) > 0;
	}
	refused &= pin(h, AT(0) - PAGE, 2 * PAGE) > 0;
	refused &= pin(h, AT(100), PAGE) > 0;
	refused &= pin(h, AT(99), 2 * MIB) > 0;
	ok(refused, "strange_sizes_and_places_are_refused");
	ok_eq(room(h), 84, "and_cost_nothing");
}

/* Memory of cuMemCreate() is not pinned before it is mapped, and counts from the start. */
static void created(struct hostile *h)
{
	block(h, WH_HOST_KEEP, AT(0), 64 * MIB, 0);
	ok_eq(block(h, WH_HOST_KEEP, AT(64), 21 * MIB, 0), CUDA_ERROR_OUT_OF_MEMORY,
	      "memory_that_is_only_created_counts_the_same");
	unpin(h, AT(0));
	ok_eq(room(h), 84, "until_it_is_given_back");
}

/* Gives back memory twice, and memory that it never had: this makes no room. */
static void give_back(struct hostile *h)
{
	bool refused;
	int i;

	pin(h, AT(0), 64 * MIB);
	pin(h, AT(64), 16 * MIB);
	unpin(h, AT(64));
	refused = unpin(h, AT(64)) > 0 && unpin(h, AT(1)) > 0 && unpin(h, WH_SHM_PART_VA) > 0 &&
		  unpin(h, 0) > 0;
	for (i = 0; i < 100; i++)
		refused &= block(h, WH_HOST_UNPIN, AT(64), 64 * MIB, 0) > 0;
	ok(refused, "what_is_not_pinned_is_not_given_back");
	ok_eq(pin(h, AT(64), 21 * MIB), CUDA_ERROR_OUT_OF_MEMORY, "and_makes_no_room");
	unpin(h, AT(0));
}

/* Pinned memory outlives the context that it was pinned in. */
static void other_context(struct hostile *h)
{
	pin(h, AT(0), 64 * MIB);
	hostile_request(h, WH_CALL_cuDevicePrimaryCtxReset_v2,
			sizeof(struct wh_req_cuDevicePrimaryCtxReset_v2));
	hostile_call(h, sizeof(struct wh_req_cuDevicePrimaryCtxReset_v2));
	ok_eq(pin(h, AT(64), 21 * MIB), CUDA_ERROR_OUT_OF_MEMORY, "a_context_that_ends_makes_no_room");
	unpin(h, AT(0));
}

/* Connects as many clients as it likes: what is left for one of them is left for all together. */
static void many(struct hostile *first)
{
	unsigned int n = 0, parts = 1;
	struct hostile h[8];
	size_t i;

	for (i = 0; i < 8 && hostile_connect(&h[i]) && !hostile_hello(&h[i]); i++)
		parts++;
	ok_eq(parts, 6, "each_clients_part_is_charged");
	for (i = 0; i + 1 < parts; i++)
		while (!pin(&h[i], AT(n), MIB))
			n++;
	ok_eq(n, 4, "and_all_of_them_share_what_is_left");
	ok_eq(pin(first, AT(0), MIB), CUDA_ERROR_OUT_OF_MEMORY, "so_does_the_first");
	for (i = 0; i + 1 < parts; i++)
		hostile_leave(&h[i]);
}

int main(void)
{
	struct hostile h;

	if (!hostile_begin(&h))
		return 1;
	tap_plan(14);
	again(&h);
	strange(&h);
	created(&h);
	give_back(&h);
	other_context(&h);
	many(&h);
	return tap_exit();
}
