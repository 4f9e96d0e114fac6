/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a group of NCCL in the message area: operations, followed by the objects that
 * some of them make.
 */
#ifndef WORMHOLE_TESTS_LIB_NCCL_REQUESTS_H
#define WORMHOLE_TESTS_LIB_NCCL_REQUESTS_H

#include "../unit/fuzz.h"
#include "libraries/nccl_group.h"

struct nccl_writer {
	struct wh_req_whNcclGroup *q;
	struct wh_nccl_op *op;
	uint8_t *more;
};

static struct nccl_writer nccl_begin(struct wh_session *s, uint32_t count)
{
	struct nccl_writer w = { .q = request(s, 0, s->frame[0].max / 2) };

	w.q->count = count;
	w.op = (void *)((uint8_t *)w.q + WH_WIRE_FIXED(*w.q));
	w.more = (uint8_t *)w.op + wh_wire_bytes(count, sizeof(*w.op));
	return w;
}

static struct wh_nccl_made *nccl_put_made(struct nccl_writer *w, uint64_t ctx, uint32_t kind, int a,
					  int b, uint32_t n)
{
	struct wh_nccl_made *m = (void *)w->more;

	m->ctx = ctx;
	m->a = a;
	m->b = b;
	m->n = n;
	w->more += wh_wire_bytes(1, sizeof(*m)) + wh_nccl_list(kind, n);
	return m;
}

/* Makes a random operation of this communicator, with this memory. */
static void nccl_random_op(struct nccl_writer *w, struct wh_nccl_op *op, uint64_t ctx,
			   uint64_t comm, uint64_t device)
{
	uint32_t kind = next() % (WH_NCCL_KINDS + 1);

	*op = (struct wh_nccl_op) {
		.kind = kind, .type = next() % 13, .op = next() % 8, .peer = next() % 4,
		.comm = comm, .count = next() % 600, .send = device, .recv = device,
	};
	if (wh_nccl_makes(kind))
		nccl_put_made(w, ctx, kind, 1 + next() % 4, next() % 4,
			      kind == WH_NCCL_SPLIT ? 0 : 1);
}

#endif
