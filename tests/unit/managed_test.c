// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the worker's side of managed variables: a client reaches only what it
 * has looked up, only while the module is there, and only from the data area.
 */
#include "session_fixture.h"

#define A	0x7000000000ULL		/* two variables side by side, and a plain one */
#define B	(A + 256)
#define PLAIN	(A + 4096)

static struct {
	int in, out, streams, destroyed, queries;
	uint64_t dev, host, size;
	CUstream stream;
	unsigned int flags;
	CUresult fail;
} seen;

static CUresult get_global(CUdeviceptr *p, size_t *n, CUmodule m, const char *name)
{
	(void)m;
	if (!p || !n || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*p = !strcmp(name, "a") ? A : !strcmp(name, "b") ? B : PLAIN;
	*n = 256;
	return CUDA_SUCCESS;
}

static CUresult attribute(void *to, CUpointer_attribute which, CUdeviceptr p)
{
	*(unsigned int *)to = which == CU_POINTER_ATTRIBUTE_IS_MANAGED && p < PLAIN;
	return CUDA_SUCCESS;
}

static CUresult to_device(CUdeviceptr d, const void *h, size_t n, CUstream s)
{
	seen.in++;
	seen.dev = d;
	seen.host = (uintptr_t)h;
	seen.size = n;
	seen.stream = s;
	return seen.fail;
}

static CUresult to_host(void *h, CUdeviceptr d, size_t n, CUstream s)
{
	seen.out++;
	seen.dev = d;
	seen.host = (uintptr_t)h;
	seen.size = n;
	seen.stream = s;
	return seen.fail;
}

static CUresult stream_create(CUstream *s, unsigned int flags)
{
	*s = (CUstream)(uintptr_t)(0x9000 + 16 * ++seen.streams);
	seen.flags = flags;
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream s)
{
	(void)s;
	seen.destroyed++;
	return CUDA_SUCCESS;
}

/* The work is not done at first: an answer that did not wait for it would come too early. */
static CUresult stream_query(CUstream s)
{
	(void)s;
	return ++seen.queries % 3 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static void fill_driver(struct wh_session *s)
{
	s->drv.cuModuleGetGlobal_v2 = get_global;
	s->drv.cuPointerGetAttribute = attribute;
	s->drv.cuMemcpyHtoDAsync_v2 = to_device;
	s->drv.cuMemcpyDtoHAsync_v2 = to_host;
	s->drv.cuStreamCreate = stream_create;
	s->drv.cuStreamDestroy_v2 = stream_destroy;
	s->drv.cuStreamQuery = stream_query;
}

/* --- Requests ------------------------------------------------------------------------------ */

static CUresult look_up(struct wh_session *s, uint64_t module, const char *name, uint32_t null)
{
	struct wh_req_whGlobal *q = request(s, WH_CALL_whGlobal, WH_WIRE_FIXED(*q) + 16);

	q->hdr.null = null;
	q->owner = module;
	q->kind = WH_GLOBAL_MODULE;
	q->name_size = strlen(name) + 1;
	strcpy((char *)msg(s) + WH_WIRE_FIXED(*q), name);
	return send(s, WH_WIRE_FIXED(*q) + 16) ? CUDA_ERROR_UNKNOWN : (CUresult)rsp(s)->result;
}

struct ask {
	uint64_t ctx, buffer, size;
	uint32_t op, pieces;
	struct wh_managed_piece piece[2];
};

static CUresult copy(struct wh_session *s, const struct ask *a)
{
	size_t size = WH_WIRE_FIXED(struct wh_req_whManaged) + sizeof(a->piece);
	struct wh_req_whManaged *q = request(s, WH_CALL_whManaged, size);

	q->hdr.ctx = a->ctx;
	q->buffer = a->buffer;
	q->size = a->size;
	q->op = a->op;
	q->pieces = a->pieces;
	memcpy((char *)msg(s) + WH_WIRE_FIXED(*q), a->piece, sizeof(a->piece));
	return send(s, size) ? CUDA_ERROR_UNKNOWN : (CUresult)rsp(s)->result;
}

static uint32_t named(struct wh_session *s)
{
	return ((const struct wh_rsp_whManaged *)msg(s))->piece;
}

/* --- Tests ---------------------------------------------------------------------------------- */

static void test_names(struct wh_session *s, uint64_t module)
{
	const struct wh_rsp_whGlobal *r = msg(s);

	ok(look_up(s, module, "a", 0) == 0 && r->addr == A && r->size == 256 && r->managed == 1,
	   "a_managed_variable_is_known_as_one");
	ok(look_up(s, module, "plain", 0) == 0 && r->addr == PLAIN && !r->managed, "a_plain_one_is_not");
	ok(look_up(s, module, "a", 3) == CUDA_ERROR_INVALID_VALUE, "null_pointers_are_the_drivers_matter");
	ok(look_up(s, module + 1, "a", 0) == CUDA_ERROR_INVALID_HANDLE, "a_module_that_is_none_is_refused");
	look_up(s, module, "b", 0);
}

static void test_copies(struct wh_session *s, struct ask a)
{
	ok(copy(s, &a) == 0 && seen.in == 1 && seen.dev == A + 8 && seen.size == 16 &&
	   seen.host == a.buffer + 64, "a_piece_goes_to_the_variable");
	ok(seen.stream && seen.flags == CU_STREAM_NON_BLOCKING, "in_a_stream_that_waits_for_no_other");
	ok(seen.queries % 3 == 0, "and_is_there_when_the_answer_comes");
	a.op = WH_MANAGED_OUT;
	ok(copy(s, &a) == 0 && seen.out == 1 && seen.host == a.buffer + 64, "and_back");
	seen.fail = CUDA_ERROR_ILLEGAL_ADDRESS;
	seen.queries = 0;
	ok(copy(s, &a) == CUDA_ERROR_ILLEGAL_ADDRESS && seen.queries == 3,
	   "an_error_is_answered_when_nothing_is_under_way_any_more");
	seen.fail = CUDA_SUCCESS;
}

static int refused(struct wh_session *s, const struct ask *a, CUresult with)
{
	int before = seen.in + seen.out;

	return copy(s, a) == with && seen.in + seen.out == before;
}

static void test_bounds(struct wh_session *s, const struct ask good)
{
	struct ask a = good;

	a.piece[0].addr = PLAIN;
	ok(refused(s, &a, CUDA_ERROR_NOT_FOUND), "a_plain_variable_cannot_be_reached");
	a.piece[0].addr = A - 1;
	ok(refused(s, &a, CUDA_ERROR_NOT_FOUND), "nor_what_is_before_the_first");
	a.piece[0] = (struct wh_managed_piece) { A + 250, 7, 0 };
	ok(refused(s, &a, CUDA_ERROR_NOT_FOUND), "nor_beyond_an_end_even_into_a_neighbour");
	a.piece[0] = (struct wh_managed_piece) { A, 0, 0 };
	ok(refused(s, &a, CUDA_ERROR_NOT_FOUND), "an_empty_piece_is_none");
	a = good;
	a.pieces = 2;
	a.piece[1] = (struct wh_managed_piece) { UINT64_MAX - 3, 16, 0 };
	ok(refused(s, &a, CUDA_ERROR_NOT_FOUND) && named(s) == 1, "one_bad_piece_stops_all_and_is_named");
	a = good;
	a.buffer = (uintptr_t)&a;
	ok(refused(s, &a, CUDA_ERROR_INVALID_VALUE), "the_buffer_is_in_the_data_area");
	a = good;
	a.size = 79;
	ok(refused(s, &a, CUDA_ERROR_INVALID_VALUE), "a_piece_is_in_the_buffer");
	a.piece[0].at = UINT32_MAX;
	ok(refused(s, &a, CUDA_ERROR_INVALID_VALUE), "wherever_it_begins");
	a = good;
	a.pieces = 3;
	ok(refused(s, &a, CUDA_ERROR_INVALID_VALUE), "pieces_that_did_not_come_are_not_read");
	a.pieces = WH_MANAGED_PIECES + 1;
	ok(refused(s, &a, CUDA_ERROR_INVALID_VALUE), "nor_more_than_there_may_be");
	a = good;
	a.op = 2;
	ok(refused(s, &a, CUDA_ERROR_INVALID_VALUE), "there_are_two_directions");
}

static void test_contexts(struct wh_session *s, struct ask a)
{
	uint64_t other = wh_handle_for(s, WH_H_CUcontext, (CUcontext)0x220, 0);
	int streams = seen.streams;

	copy(s, &a);
	ok(seen.streams == streams, "the_stream_is_kept");
	a.ctx = other;
	ok(copy(s, &a) == 0 && seen.streams == streams + 1 && seen.destroyed == 1,
	   "another_context_has_another");
	wh_managed_context_gone(s, other);
	ok(copy(s, &a) == 0 && seen.streams == streams + 2 && seen.destroyed == 1,
	   "one_that_went_with_its_context_is_not_touched");
}

static void test_ends(struct wh_session *s, uint64_t module, const struct ask a)
{
	uint64_t again;

	wh_drop(s, module);
	ok(refused(s, &a, CUDA_ERROR_NOT_FOUND), "variables_end_with_their_module");
	again = wh_handle_for(s, WH_H_CUmodule, (CUmodule)0x120, 0);
	look_up(s, again, "a", 0);
	ok(copy(s, &a) == 0, "and_begin_with_the_next_one_at_the_same_place");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	uint64_t module, ctx;
	struct ask good;

	(void)argc;
	tap_plan(25);
	say_hello(s);
	fill_driver(s);
	module = wh_handle_for(s, WH_H_CUmodule, (CUmodule)0x110, 0);
	ctx = wh_handle_for(s, WH_H_CUcontext, (CUcontext)0x210, 0);
	good = (struct ask) { ctx, (uintptr_t)s->data + 4096, 1024, WH_MANAGED_IN, 1,
			      { { A + 8, 16, 64 } } };
	test_names(s, module);
	test_copies(s, good);
	test_bounds(s, good);
	test_contexts(s, good);
	test_ends(s, module, good);
	wh_session_close(s);
	return tap_exit();
}
