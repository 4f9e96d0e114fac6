// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the allocator over the data area: blocks never overlap, and all
 * memory comes back.
 */
#include "tap.h"
#include "stubs.h"

struct wh_client wh_client;

#define AREA	(8UL << 20)

/* This replaces register.c: nothing is registered here. */
bool wh_registered_block(const void *p, struct wh_block *out)
{
	(void)p;
	(void)out;
	return false;
}

bool wh_registered_there(const void *p, size_t n)
{
	(void)p;
	(void)n;
	return false;
}

static void test_basics(void)
{
	uint8_t *a = wh_data_alloc(100, 3, false), *b = wh_data_alloc(5000, 0, true);
	struct wh_block k;

	ok(a && b && (uintptr_t)a % WH_PAGE_SIZE == (uintptr_t)wh_client.link.data % WH_PAGE_SIZE,
	   "blocks_start_at_pages");
	ok(b >= a + 100 || a >= b + 5000, "blocks_do_not_overlap");
	ok(wh_data_block(a + 50, &k) && k.start == a && k.flags == 3 && !k.managed,
	   "block_is_found_by_an_inner_address");
	ok(wh_data_block(b, &k) && k.managed, "managed_block_says_so");
	ok(!wh_data_free(a + 50), "inner_address_cannot_be_freed");
	ok(wh_data_free(a) && !wh_data_free(a), "block_is_freed_once");
	ok(!wh_data_block(a, &k), "freed_block_is_not_found");
	ok(!wh_data_free(&k), "foreign_address_cannot_be_freed");
	wh_data_free(b);
	ok(!wh_data_alloc(0, 0, false), "nothing_is_not_allocated");
	ok(!wh_data_alloc(AREA + 1, 0, false), "more_than_the_area_is_not_allocated");
	ok(!wh_data_alloc(SIZE_MAX, 0, false), "size_that_wraps_is_not_allocated");
	a = wh_data_alloc(AREA, 0, false);
	ok(a == wh_client.link.data, "freed_neighbours_become_one_again");
	ok(!wh_data_alloc(1, 0, false), "full_area_gives_nothing");
	wh_data_free(a);
}

static uint32_t rnd;

static uint32_t next(void)
{
	rnd = rnd * 1664525 + 1013904223;
	return rnd >> 8;
}

/* Each block carries its number; a foreign number means an overlap. */
static void test_random(void)
{
	enum { N = 64 };
	uint8_t *p[N] = { 0 };
	size_t size[N];
	int i, k, bad = 0;

	for (i = 0; i < 20000; i++) {
		k = next() % N;
		if (p[k]) {
			bad += p[k][0] != k || p[k][size[k] - 1] != k;
			bad += !wh_data_free(p[k]);
			p[k] = NULL;
			continue;
		}
		size[k] = next() % 200000 + 1;
		p[k] = wh_data_alloc(size[k], 0, false);
		if (p[k])
			p[k][0] = p[k][size[k] - 1] = k;
	}
	for (k = 0; k < N; k++)
		if (p[k])
			wh_data_free(p[k]);
	ok_eq(bad, 0, "random_use_never_overlaps");
	ok(wh_data_alloc(AREA, 0, false) != NULL, "random_use_leaks_nothing");
}

int main(void)
{
	rnd = 12345;
	wh_client.link.data = aligned_alloc(WH_PAGE_SIZE, AREA);
	wh_client.link.data_size = AREA;
	tap_plan(16);
	ok(wh_data_init(), "area_is_taken");
	test_basics();
	test_random();
	free(wh_client.link.data);
	return tap_exit();
}
