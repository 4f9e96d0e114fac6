// SPDX-License-Identifier: Apache-2.0
/*
 * The worker's side of NCCL, under sanitizers: addresses of a group's operations, one
 * wrong at a time, and groups at random with living communicators, against a library
 * that keeps what it made and says when something comes that was ended.
 */
#include "fuzz.h"

#include "libraries/nccl_group.h"

#define DEVICE		0x40000000ULL
#define DEVICE_SIZE	0x1000ULL
#define ROUNDS		20000

#include "one_range.h"

static int reached, foreign;
static uint64_t context, comms[32];
static uint64_t own[8];

/* --- A library that knows what it made --------------------------------------------------- */

struct ncclComm {
	int alive;
};

/* One that was ended is not soon another. */
#define MOST	4096
static struct ncclComm all[MOST];
static unsigned int made;

static void known(const struct ncclComm *c)
{
	reached++;
	foreign += !c || c->alive != 1;
}

static ncclResult_t init(ncclComm_t *comm, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	(void)n, (void)id, (void)rank;
	touch(config, sizeof(*config));
	if (config->netName)
		touch(config->netName, strlen(config->netName));
	reached++;
	if (next() % 8 == 0)
		return ncclInternalError;
	*comm = &all[made++ % MOST];
	(*comm)->alive = 1;
	return next() % 8 ? ncclSuccess : ncclInProgress;
}

static ncclResult_t init_scalable(ncclComm_t *comm, int n, int rank, int nids, ncclUniqueId *ids,
				  ncclConfig_t *config)
{
	touch(ids, nids * sizeof(*ids));
	return init(comm, n, ids[0], rank, config);
}

static ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t *out,
			  ncclConfig_t *config)
{
	static ncclConfig_t none;

	(void)color, (void)key;
	known(comm);
	return next() % 4 ? init(out, 1, (ncclUniqueId) { { 0 } }, 0, config ? config : &none) : 0;
}

static ncclResult_t shrink(ncclComm_t comm, int *ranks, int n, ncclComm_t *out,
			   ncclConfig_t *config, int flags)
{
	(void)flags;
	touch(ranks, n * sizeof(*ranks));
	return split(comm, 0, 0, out, config);
}

static ncclResult_t end(ncclComm_t comm)
{
	known(comm);
	comm->alive = 0;
	return next() % 8 ? ncclSuccess : ncclSystemError;
}

static ncclResult_t finalize(ncclComm_t comm)
{
	known(comm);
	return ncclSuccess;
}

static ncclResult_t revoke(ncclComm_t comm, int flags)
{
	(void)flags;
	known(comm);
	return ncclSuccess;
}

static ncclResult_t all_reduce(const void *send, void *recv, size_t n, ncclDataType_t type,
			       ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)recv, (void)n, (void)type, (void)op, (void)stream;
	known(comm);
	return ncclSuccess;
}

static ncclResult_t reduce(const void *send, void *recv, size_t n, ncclDataType_t type,
			   ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)root;
	return all_reduce(send, recv, n, type, op, comm, stream);
}

static ncclResult_t gather(const void *send, void *recv, size_t n, ncclDataType_t type,
			   ncclComm_t comm, cudaStream_t stream)
{
	return all_reduce(send, recv, n, type, ncclSum, comm, stream);
}

static ncclResult_t rooted(const void *send, void *recv, size_t n, ncclDataType_t type, int root,
			   ncclComm_t comm, cudaStream_t stream)
{
	(void)root;
	return all_reduce(send, recv, n, type, ncclSum, comm, stream);
}

static ncclResult_t send_to(const void *send, size_t n, ncclDataType_t type, int peer,
			    ncclComm_t comm, cudaStream_t stream)
{
	(void)peer;
	return all_reduce(send, NULL, n, type, ncclSum, comm, stream);
}

static ncclResult_t recv_from(void *recv, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
			      cudaStream_t stream)
{
	(void)peer;
	return all_reduce(NULL, recv, n, type, ncclSum, comm, stream);
}

static ncclResult_t number(const ncclComm_t comm, int *n)
{
	known(comm);
	*n = 1;
	return ncclSuccess;
}

static int depth;

static ncclResult_t start(void)
{
	depth++;
	return ncclSuccess;
}

static ncclResult_t finish(void)
{
	depth--;
	return next() % 8 ? ncclSuccess : ncclInternalError;
}

static ncclResult_t simulate(ncclSimInfo_t *info)
{
	(void)info;
	return finish();
}

static CUresult quiet(void)
{
	return CUDA_SUCCESS;
}

static void fill(struct wh_session *s)
{
	static struct wh_nccl_functions l = {
		.ncclGroupStart = start, .ncclGroupEnd = finish, .ncclGroupSimulateEnd = simulate,
		.ncclCommInitRankConfig = init, .ncclCommInitRankScalable = init_scalable,
		.ncclCommSplit = split, .ncclCommShrink = shrink, .ncclCommFinalize = finalize,
		.ncclCommDestroy = end, .ncclCommAbort = end, .ncclCommRevoke = revoke,
		.ncclAllReduce = all_reduce, .ncclAllGather = gather,
		.ncclReduceScatter = all_reduce,
		.ncclReduce = reduce, .ncclBroadcast = rooted, .ncclAlltoAll = gather,
		.ncclGather = rooted, .ncclScatter = rooted, .ncclSend = send_to,
		.ncclRecv = recv_from, .ncclCommCount = number, .ncclCommUserRank = number,
	};

	s->drv.cuPointerGetAttributes = attributes;
	s->drv.cuCtxSetCurrent = (void *)quiet;
	s->library[WH_LIB_nccl] = &l;
	context = wh_put(s, WH_H_CUcontext, (void *)0x1000, 0);
}

/* --- Requests -------------------------------------------------------------------------------- */

struct writer {
	struct wh_req_whNcclGroup *q;
	struct wh_nccl_op *op;
	uint8_t *more;
};

static struct writer begin(struct wh_session *s, uint32_t count)
{
	struct writer w = { .q = request(s, 0, s->frame[0].max / 2) };

	w.q->count = count;
	w.op = (void *)((uint8_t *)w.q + WH_WIRE_FIXED(*w.q));
	w.more = (uint8_t *)w.op + wh_wire_bytes(count, sizeof(*w.op));
	return w;
}

static struct wh_nccl_made *put_made(struct writer *w, uint32_t kind, int a, int b, uint32_t n)
{
	struct wh_nccl_made *m = (void *)w->more;

	m->ctx = context;
	m->a = a;
	m->b = b;
	m->n = n;
	w->more += wh_wire_bytes(1, sizeof(*m)) + wh_nccl_list(kind, n);
	return m;
}

static int32_t ask(struct wh_session *s, struct writer *w)
{
	w->q->hdr.call = WH_CALL_whNcclGroup;
	w->q->hdr.ctx = 0;
	reached = 0;
	return wh_dispatch_slot(s, 0, WH_HANDLER_LIBRARY, w->more - (uint8_t *)w->q) ?
	       -1 : rsp(s)->result;
}

static uint64_t made_one(struct wh_session *s)
{
	struct wh_rsp_whNcclGroup *r = msg(s);
	struct writer w;
	int i;

	for (i = 0; i < 100; i++) {
		w = begin(s, 1);
		w.op->kind = WH_NCCL_INIT;
		put_made(&w, WH_NCCL_INIT, 4, 1, 1);
		if (ask(s, &w) == ncclSuccess)
			return *(uint64_t *)((uint8_t *)msg(s) + WH_WIRE_FIXED(*r));
	}
	return 0;
}

/* --- One wrong thing at a time ----------------------------------------------------------- */

static int32_t launch(struct wh_session *s, uint64_t comm, uint32_t kind, uint64_t send,
		      uint64_t recv, uint64_t count)
{
	struct writer w = begin(s, 1);

	*w.op = (struct wh_nccl_op) {
		.kind = kind, .comm = comm, .send = send, .recv = recv, .count = count, .peer = 1,
	};
	return ask(s, &w);
}

/* The rank is the root, so that each operation that has one uses both. */
static void test_addresses(struct wh_session *s, uint64_t comm)
{
	const uint64_t mine = (uintptr_t)own, all = DEVICE_SIZE / 4;
	int right = 0, refused = 0, bounded = 0;
	uint32_t k;

	for (k = 0; k < WH_NCCL_LAUNCHES; k++) {
		right += !launch(s, comm, k, DEVICE, DEVICE, all) && reached;
		if (k != WH_NCCL_RECV)
			refused += launch(s, comm, k, mine, DEVICE, 8) && !reached;
		if (k != WH_NCCL_SEND)
			refused += launch(s, comm, k, DEVICE, mine, 8) && !reached;
		bounded += launch(s, comm, k, DEVICE, DEVICE, DEVICE_SIZE + 1) && !reached;
	}
	ok_eq(right, WH_NCCL_LAUNCHES, "every_operation_with_device_memory_arrives");
	ok_eq(refused, 2 * WH_NCCL_LAUNCHES - 2, "and_none_with_the_workers_own");
	ok_eq(bounded, WH_NCCL_LAUNCHES, "nor_beyond_the_devices");
	ok(launch(s, comm, WH_NCCL_ALL_GATHER, DEVICE, DEVICE, all + 1) && !reached,
	   "what_all_ranks_write_counts");
	ok(launch(s, comm, WH_NCCL_REDUCE_SCATTER, DEVICE, DEVICE, all + 1) && !reached,
	   "what_all_ranks_read_counts");
	ok(launch(s, comm, WH_NCCL_ALL_TO_ALL, DEVICE, DEVICE, UINT64_MAX / 2) && !reached,
	   "count_that_wraps_is_refused");
	ok(launch(s, comm ^ 1ULL << 40, WH_NCCL_ALL_REDUCE, DEVICE, DEVICE, 8) && !reached,
	   "communicator_that_is_none_is_refused");
}

static void test_twice(struct wh_session *s, uint64_t comm)
{
	struct writer w = begin(s, 2);

	w.op[0] = w.op[1] = (struct wh_nccl_op) { .kind = WH_NCCL_DESTROY, .comm = comm };
	ok(ask(s, &w) == ncclInvalidArgument && !reached, "group_ends_no_communicator_twice");
	ok(!launch(s, comm, WH_NCCL_ALL_REDUCE, DEVICE, DEVICE, 8) && reached,
	   "which_then_is_as_it_was");
}

static void test_limits(struct wh_session *s)
{
	struct writer w = begin(s, 1);
	struct wh_nccl_made *m;

	w.op->kind = WH_NCCL_INIT_SCALABLE;
	m = put_made(&w, WH_NCCL_INIT_SCALABLE, 4, 1, 1);
	m->n = 2;
	ok(ask(s, &w) == ncclInvalidArgument && !reached, "ids_that_did_not_come_are_missed");
	w = begin(s, 1);
	w.op->kind = WH_NCCL_INIT;
	m = put_made(&w, WH_NCCL_INIT, 4, 1, 1);
	m->has_config = 1;
	m->config.c.size = sizeof(ncclConfig_t) + 1;
	ok(ask(s, &w) == ncclInvalidArgument && !reached, "settings_longer_than_ours_are_refused");
	w = begin(s, 1);
	w.q->count = 1u << 31;
	ok(ask(s, &w) == ncclInvalidArgument && !reached, "more_operations_than_came_are_refused");
}

/* --- At random --------------------------------------------------------------------------- */

static uint64_t any_comm(void)
{
	return next() % 16 ? comms[next() % 32] : next();
}

static void random_op(struct writer *w, struct wh_nccl_op *op)
{
	uint32_t kind = next() % (WH_NCCL_KINDS + 1);

	*op = (struct wh_nccl_op) {
		.kind = kind, .type = next() % 13, .op = next() % 8, .peer = next() % 4,
		.comm = any_comm(), .count = next() % 600, .send = DEVICE, .recv = DEVICE,
	};
	if (wh_nccl_makes(kind))
		put_made(w, kind, 1 + next() % 4, next() % 4, kind == WH_NCCL_SPLIT ? 0 : 1);
}

static uint32_t strew(struct wh_session *s)
{
	struct wh_rsp_whNcclGroup *r = msg(s);
	uint32_t round, i, n, good = 0;
	struct writer w;
	uint64_t *id;
	int32_t res;

	for (round = 0; round < ROUNDS; round++) {
		n = 1 + next() % 4;
		w = begin(s, n);
		w.q->together = next() % 2;
		w.q->simulate = next() % 16 == 0;
		for (i = 0; i < n; i++)
			random_op(&w, &w.op[i]);
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
	static struct wh_session *s;	/* it is not closed */
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
	ok_eq(foreign, 0, "none_reached_the_library_with_a_communicator_that_was_ended");
	ok_eq(depth, 0, "every_group_was_ended");
	return tap_exit();
}
