// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the worker's handle table: a client value names an object of one type
 * as long as that object lives, and nothing else ever.
 */
#include "tap.h"
#include "state/handles.h"

#include <string.h>

enum { STREAM = 1, EVENT, CONTEXT, MODULE, FUNCTION, LIBRARY_S = WH_HANDLE_LIBRARIES };

static void *obj(uintptr_t n)
{
	return (void *)(0x1000 + n * 16);
}

static void test_lookup(struct wh_handles *h)
{
	uint64_t id = wh_handles_new(h, obj(1), STREAM, 0);

	ok(id && wh_handles_get(h, id, STREAM) == obj(1), "handle_names_its_object");
	ok(!wh_handles_get(h, id, EVENT), "handle_of_another_type_is_refused");
	ok(!wh_handles_get(h, (id & ~(0xffULL << 56)) | (uint64_t)EVENT << 56, EVENT),
	   "type_written_into_a_handle_does_not_change_it");
	ok(!wh_handles_get(h, id + 1, STREAM), "index_never_given_out_is_refused");
	ok(!wh_handles_get(h, id + (1ULL << 32), STREAM), "wrong_generation_is_refused");
	ok(!wh_handles_get(h, (uint64_t)STREAM << 56 | 0xffffffff, STREAM), "huge_index_is_refused");
	ok(!wh_handles_get(h, (uintptr_t)obj(1), STREAM), "address_of_the_object_is_refused");
	ok(wh_handles_put(h, obj(1), STREAM, 0) == id, "known_object_keeps_its_handle");
	wh_handles_drop(h, id);
	ok(!wh_handles_get(h, id, STREAM), "dropped_handle_is_refused");
}

/* The child of a fork has another session, whose table has other objects. */
static void test_places(struct wh_handles *h)
{
	struct wh_handles other;
	uint64_t id;

	wh_handles_init(&other);
	wh_handles_new(&other, obj(9), EVENT, 0);
	ok(wh_handles_place(h, 2, obj(5), STREAM) && wh_handles_place(&other, 2, obj(6), STREAM),
	   "an_object_is_put_at_a_place");
	id = wh_handles_put(h, obj(5), STREAM, 0);
	ok(id && wh_handles_get(h, id, STREAM) == obj(5) &&
	   wh_handles_get(&other, id, STREAM) == obj(6), "its_handle_is_the_same_in_each_session");
	ok(!wh_handles_place(h, 2, obj(7), STREAM) && wh_handles_get(h, id, STREAM) == obj(5),
	   "a_place_is_given_once");
	ok(!wh_handles_place(h, WH_HANDLE_PLACES, obj(7), STREAM) &&
	   !wh_handles_place(h, 3, NULL, STREAM) && !wh_handles_get(h, id + 1, STREAM),
	   "there_are_only_these_places");
	wh_handles_free(&other);
}

/* Handles that the client knows before their objects are made. */
static void test_reserved(struct wh_handles *h)
{
	uint64_t id = wh_handles_reserve(h, EVENT), other = wh_handles_new(h, obj(3), EVENT, 0);

	ok(id && other != id && !wh_handles_get(h, id, EVENT), "a_reserved_handle_has_no_object");
	ok(wh_handles_reserved(h, id, EVENT) && !wh_handles_reserved(h, id, STREAM) &&
	   !wh_handles_reserved(h, id + (1ULL << 32), EVENT) &&
	   !wh_handles_reserved(h, other, EVENT) && !wh_handles_reserved(h, ~0ULL, EVENT),
	   "it_is_reserved_for_its_type_alone");
	wh_handles_drop(h, id);
	ok(wh_handles_reserved(h, id, EVENT), "nobody_drops_it");
	wh_handles_new_reserved(h, id, obj(3), 0);
	ok(wh_handles_get(h, id, EVENT) == obj(3) && !wh_handles_reserved(h, id, EVENT),
	   "it_gets_its_object_once");
	ok(!wh_handles_get(h, other, EVENT), "an_older_handle_of_that_object_ends");
	wh_handles_drop(h, id);
	ok(!wh_handles_get(h, id, EVENT) && !wh_handles_reserved(h, id, EVENT), "then_it_ends_as_any");
}

/* A program may have several files of a library, of different majors. */
static void test_older(struct wh_handles *h)
{
	uint64_t newer = wh_handles_new(h, obj(1), LIBRARY_S, 0), older, event;

	h->edition = 1;
	ok(!wh_handles_get(h, newer, LIBRARY_S), "object_of_the_newer_file_is_none_of_the_older");
	older = wh_handles_put(h, obj(1), LIBRARY_S, 0);
	event = wh_handles_new(h, obj(1), EVENT, 0);
	ok(older != newer && wh_handles_get(h, older, LIBRARY_S) == obj(1) &&
	   wh_handles_new_value(h, 7, LIBRARY_S, 0), "the_older_has_objects_of_its_own");
	h->edition = 0;
	ok(!wh_handles_get(h, older, LIBRARY_S) && !wh_handles_known(h, 7, LIBRARY_S),
	   "which_are_none_of_the_newer");
	h->edition = 2;
	ok(!wh_handles_get(h, older, LIBRARY_S) && !wh_handles_known(h, 7, LIBRARY_S),
	   "nor_of_the_oldest");
	h->edition = 0;
	ok(wh_handles_get(h, event, EVENT) == obj(1), "the_drivers_objects_are_everybodys");
	wh_handles_drop(h, newer);
	h->edition = 1;
	ok(wh_handles_get(h, older, LIBRARY_S) == obj(1), "and_outlive_it");
	wh_handles_drop(h, older);
	wh_handles_drop_value(h, 7, LIBRARY_S);
	h->edition = 0;
	wh_handles_drop(h, event);
}

static void test_reuse(struct wh_handles *h)
{
	uint64_t a = wh_handles_new(h, obj(2), EVENT, 0), b;

	wh_handles_drop(h, a);
	b = wh_handles_new(h, obj(2), EVENT, 0);
	ok(a != b && !wh_handles_get(h, a, EVENT), "stale_handle_does_not_name_a_newer_object");
	a = wh_handles_new(h, obj(2), EVENT, 0);
	ok(a != b && !wh_handles_get(h, b, EVENT) && wh_handles_get(h, a, EVENT) == obj(2),
	   "new_object_at_an_old_address_gets_a_new_handle");
	ok(wh_handles_new(h, NULL, EVENT, 0) == 0, "null_has_no_handle");
	wh_handles_drop(h, 12345);
	wh_handles_drop(h, 0);
	ok(wh_handles_get(h, a, EVENT) == obj(2), "dropping_nonsense_changes_nothing");
	wh_handles_drop(h, a);
	wh_handles_drop(h, a);
	a = wh_handles_new(h, obj(3), EVENT, 0);
	b = wh_handles_new(h, obj(4), EVENT, 0);
	ok(a != b && wh_handles_get(h, a, EVENT) == obj(3) && wh_handles_get(h, b, EVENT) == obj(4),
	   "handle_dropped_twice_frees_one_entry");
}

static void test_owners(struct wh_handles *h)
{
	uint64_t ctx = wh_handles_new(h, obj(10), CONTEXT, 0);
	uint64_t other = wh_handles_new(h, obj(11), CONTEXT, 0);
	uint64_t mod = wh_handles_new(h, obj(12), MODULE, ctx);
	uint64_t fun = wh_handles_new(h, obj(13), FUNCTION, mod);
	uint64_t stream = wh_handles_new(h, obj(14), STREAM, ctx);
	uint64_t far = wh_handles_new(h, obj(15), STREAM, other);

	wh_handles_drop(h, mod);
	ok(!wh_handles_get(h, fun, FUNCTION), "function_ends_with_its_module");
	ok(wh_handles_get(h, stream, STREAM) != NULL, "sibling_of_a_dropped_handle_lives");
	mod = wh_handles_new(h, obj(12), MODULE, ctx);
	fun = wh_handles_new(h, obj(13), FUNCTION, mod);
	wh_handles_drop_owned(h, ctx);
	ok(wh_handles_get(h, ctx, CONTEXT) && !wh_handles_get(h, mod, MODULE) &&
	   !wh_handles_get(h, fun, FUNCTION) && !wh_handles_get(h, stream, STREAM),
	   "everything_below_a_context_ends_at_its_reset");
	ok(wh_handles_get(h, far, STREAM) != NULL, "other_context_keeps_its_handles");
}

static void test_values(struct wh_handles *h)
{
	wh_handles_new_value(h, 0x77, 9, 0);
	ok(wh_handles_known(h, 0x77, 9), "value_given_out_is_known");
	ok(!wh_handles_known(h, 0x78, 9) && !wh_handles_known(h, 0x77, 8) &&
	   !wh_handles_known(h, 0, 9), "other_values_and_types_are_not_known");
	wh_handles_drop_value(h, 0x77, 9);
	ok(!wh_handles_known(h, 0x77, 9), "dropped_value_is_not_known");
}

/* Goes past several growths of the table, with holes. */
static void test_many(void)
{
	enum { N = 50000 };
	static uint64_t id[N];
	struct wh_handles h;
	int i, bad = 0;

	wh_handles_init(&h);
	for (i = 0; i < N; i++) {
		id[i] = wh_handles_new(&h, obj(i), STREAM, 0);
		if (i % 3 == 0)
			wh_handles_drop(&h, id[i]);
	}
	for (i = 0; i < N; i++)
		bad += wh_handles_get(&h, id[i], STREAM) != (i % 3 ? obj(i) : NULL);
	ok_eq(bad, 0, "fifty_thousand_handles_name_the_right_objects");
	for (i = 0; i < N; i++)
		if (i % 3)
			bad += wh_handles_put(&h, obj(i), STREAM, 0) != id[i];
	ok_eq(bad, 0, "objects_find_their_handles_after_growth");
	wh_handles_free(&h);
}

static void test_full(void)
{
	struct wh_handles h;
	uint64_t last = 1;
	uintptr_t i;

	wh_handles_init(&h);
	for (i = 0; i < WH_MAX_HANDLES + 10 && last; i++)
		last = wh_handles_new(&h, obj(i), STREAM, 0);
	ok(!last && i >= WH_MAX_HANDLES / 2, "full_table_gives_no_handle");
	wh_handles_free(&h);
}

static void test_retained(struct wh_handles *h)
{
	uint64_t id = wh_handles_new(h, obj(70), STREAM, 0);

	ok(wh_handles_retain(h, obj(70), STREAM, 0) == id, "retained_object_keeps_its_handle");
	wh_handles_drop(h, id);
	ok(wh_handles_get(h, id, STREAM) == obj(70), "one_drop_leaves_a_retained_handle");
	wh_handles_drop(h, id);
	ok(!wh_handles_get(h, id, STREAM), "the_last_drop_ends_it");
}

int main(void)
{
	struct wh_handles h;

	tap_plan(43);
	wh_handles_init(&h);
	test_lookup(&h);
	test_places(&h);
	test_reserved(&h);
	test_older(&h);
	test_reuse(&h);
	test_owners(&h);
	test_values(&h);
	test_retained(&h);
	wh_handles_free(&h);
	test_many();
	test_full();
	return tap_exit();
}
