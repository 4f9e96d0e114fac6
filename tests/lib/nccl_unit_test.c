// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the worker's side of NCCL survives bad requests, under
 * sanitizers. It sends addresses of a group's operations, one wrong at a time, and groups
 * at random with living communicators. The library keeps what it made and notices objects
 * that have ended.
 */
#include "nccl_requests.h"
#include "stand_in_nccl.h"

#define DEVICE		0x40000000ULL
#define DEVICE_SIZE	0x1000ULL
#define ROUNDS		20000

#include "one_range.h"

static uint64_t context, comms[32];
static uint64_t own[8];

static CUresult quiet(void)
{
	return CUDA_SUCCESS;
}

static void fill(struct wh_session *s)
{
	s->drv.cuPointerGetAttributes = attributes;
	s->drv.cuCtxSetCurrent = (void *)quiet;
	s->library_file[0][WH_LIB_nccl].functions = stand_in_nccl();
	context = wh_handle_for(s, WH_H_CUcontext, (void *)0x1000, 0);
}

/* --- Requests -------------------------------------------------------------------------------- */

static int32_t ask(struct wh_session *s, struct nccl_writer *w)
{
	w->q->hdr.call = WH_CALL_whNcclGroup;
	w->q->hdr.ctx = 0;
	nccl_reached = 0;
	return wh_dispatch_slot(s, 0, WH_HANDLER_LIBRARY, w->more - (uint8_t *)w->q) ?
	       -1 : rsp(s)->result;
}

static uint64_t made_one(struct wh_session *s)
{
	struct wh_rsp_whNcclGroup *r = msg(s);
	struct nccl_writer w;
	int i;

	for (i = 0; i < 100; i++) {
		w = nccl_begin(s, 1);
		w.op->kind = WH_NCCL_INIT;
		nccl_put_made(&w, context, WH_NCCL_INIT, 4, 1, 1);
		if (ask(s, &w) == ncclSuccess)
			return *(uint64_t *)((uint8_t *)msg(s) + WH_WIRE_FIXED(*r));
	}
	return 0;
}

/* --- One wrong thing at a time ----------------------------------------------------------- */

static int32_t launch(struct wh_session *s, uint64_t comm, uint32_t kind, uint64_t send,
		      uint64_t recv, uint64_t count)
{
	struct nccl_writer w = nccl_begin(s, 1);

	*w.op = (struct wh_nccl_op) {
		.kind = kind, .comm = comm, .send = send, .recv = recv, .count = count, .peer = 1,
	};
	return ask(s, &w);
}

/* The rank is the root, so that each operation that has one uses both addresses. */
static void test_addresses(struct wh_session *s, uint64_t comm)
{
	const uint64_t mine = (uintptr_t)own, all = DEVICE_SIZE / 4;
	int right = 0, refused = 0, bounded = 0;
	uint32_t k;

	for (k = 0; k < WH_NCCL_LAUNCHES; k++) {
		right += !launch(s, comm, k, DEVICE, DEVICE, all) && nccl_reached;
		if (k != WH_NCCL_RECV)
			refused += launch(s, comm, k, mine, DEVICE, 8) && !nccl_reached;
		if (k != WH_NCCL_SEND)
			refused += launch(s, comm, k, DEVICE, mine, 8) && !nccl_reached;
		bounded += launch(s, comm, k, DEVICE, DEVICE, DEVICE_SIZE + 1) && !nccl_reached;
	}
	ok_eq(right, WH_NCCL_LAUNCHES, "every_operation_with_device_memory_arrives");
	ok_eq(refused, 2 * WH_NCCL_LAUNCHES - 2, "and_none_with_the_workers_own");
	ok_eq(bounded, WH_NCCL_LAUNCHES, "nor_beyond_the_devices");
	ok(launch(s, comm, WH_NCCL_ALL_GATHER, DEVICE, DEVICE, all + 1) && !nccl_reached,
	   "what_all_ranks_write_counts");
	ok(launch(s, comm, WH_NCCL_REDUCE_SCATTER, DEVICE, DEVICE, all + 1) && !nccl_reached,
	   "what_all_ranks_read_counts");
	ok(launch(s, comm, WH_NCCL_ALL_TO_ALL, DEVICE, DEVICE, UINT64_MAX / 2) && !nccl_reached,
	   "count_that_wraps_is_refused");
	ok(launch(s, comm ^ 1ULL << 40, WH_NCCL_ALL_REDUCE, DEVICE, DEVICE, 8) && !nccl_reached,
	   "communicator_that_is_none_is_refused");
}

static void test_twice(struct wh_session *s, uint64_t comm)
{
	struct nccl_writer w = nccl_begin(s, 2);

	w.op[0] = w.op[1] = (struct wh_nccl_op) { .kind = WH_NCCL_DESTROY, .comm = comm };
	ok(ask(s, &w) == ncclInvalidArgument && !nccl_reached, "group_ends_no_communicator_twice");
	ok(!launch(s, comm, WH_NCCL_ALL_REDUCE, DEVICE, DEVICE, 8) && nccl_reached,
	   "which_then_is_as_it_was");
}

static void test_limits(struct wh_session *s)
{
	struct nccl_writer w = nccl_begin(s, 1);
	struct wh_nccl_made *m;

	w.op->kind = WH_NCCL_INIT_SCALABLE;
	m = nccl_put_made(&w, context, WH_NCCL_INIT_SCALABLE, 4, 1, 1);
	m->n = 2;
	ok(ask(s, &w) == ncclInvalidArgument && !nccl_reached, "ids_that_did_not_come_are_missed");
	w = nccl_begin(s, 1);
	w.op->kind = WH_NCCL_INIT;
	m = nccl_put_made(&w, context, WH_NCCL_INIT, 4, 1, 1);
	m->has_config = 1;
	m->config.c.size = sizeof(ncclConfig_t) + 1;
	ok(ask(s, &w) == ncclInvalidArgument && !nccl_reached, "settings_longer_than_ours_are_refused");
	w = nccl_begin(s, 1);
	w.q->count = 1u << 31;
	ok(ask(s, &w) == ncclInvalidArgument && !nccl_reached, "more_operations_than_came_are_refused");
}

/* --- At random --------------------------------------------------------------------------- */

static uint64_t any_comm(void)
{
	return next() % 16 ? comms[next() % 32] : next();
}

static uint32_t strew(struct wh_session *s)
{
	struct wh_rsp_whNcclGroup *r = msg(s);
	uint32_t round, i, n, good = 0;
	struct nccl_writer w;
	uint64_t *id;
	int32_t res;

	for (round = 0; round < ROUNDS; round++) {
		n = 1 + next() % 4;
		w = nccl_begin(s, n);
		w.q->together = next() % 2;
		w.q->simulate = next() % 16 == 0;
		for (i = 0; i < n; i++)
			nccl_random_op(&w, &w.op[i], context, any_comm(), DEVICE);
		if (next() % 16 == 0)
			w.more -= 8;
		res = ask(s, &w);
		good += !res;
		id = (uint64_t *)((uint8_t *)r + WH_WIRE_FIXED(*r));
		for (i = 0; (res == ncclSuccess || res == ncclInProgress) && i < r->made; i++)
			comms[next() % 32] = id[i];
	}
	return good;
}

int main(int argc, char **argv)
{
	static struct wh_session *s;	/* the session is never closed */
	uint64_t comm;
	uint32_t good;

	(void)argc;
	s = open_session(argv[0]);
	tap_plan(16);
	fuzz_start();
	say_hello(s);
	fill(s);
	comm = made_one(s);
	ok(comm, "communicator_is_made");
	test_addresses(s, comm);
	test_twice(s, comm);
	test_limits(s);
	good = strew(s);
	diag("%u of %u groups succeeded", good, ROUNDS);
	ok(good > ROUNDS / 20, "random_groups_do_no_harm_and_many_pass");
	ok_eq(nccl_foreign, 0, "none_reached_the_library_with_a_communicator_that_was_ended");
	ok_eq(nccl_depth, 0, "every_group_was_ended");
	return tap_exit();
}
