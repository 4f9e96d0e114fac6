/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of NPP that are right: every function's addresses, as its shape has them. */
#ifndef WORMHOLE_TESTS_LIB_TABLE_REQUESTS_H
#define WORMHOLE_TESTS_LIB_TABLE_REQUESTS_H

#include "gen_npp_shapes.h"

struct table_call {
	uint8_t *address[64];	/* of device memory, in the request */
	unsigned int addresses;
	size_t size;		/* of the request */
};

/* Puts `device` into each address of the request for a call, and says that host memory is there. */
static void table_addresses(struct wh_req_table *q, uint32_t number, uint64_t device,
			    struct table_call *t)
{
	const struct wh_table_shape *shape = &wh_npp_shapes[wh_npp_shape[number]];
	const struct wh_table_arg *a = wh_npp_args + shape->first, *end = a + shape->args;
	uint8_t *stack = (uint8_t *)q + WH_WIRE_FIXED(*q), *next, *at;
	const uint64_t there = 1, stream = 0;
	unsigned int i;

	t->addresses = 0;
	next = stack + wh_wire_bytes(shape->words, 8);
	for (; a < end; a++) {
		at = a->place < WH_TABLE_INTEGERS ? (uint8_t *)&q->integer[a->place] :
		     stack + 8 * (a->place - WH_TABLE_INTEGERS);
		if (a->kind == WH_TABLE_STREAM)
			memcpy(at, &stream, 8);
		else if (a->kind == WH_TABLE_DEVICE)
			t->address[t->addresses++] = at;
		else
			memcpy(at, &there, 8);
		if (a->kind == WH_TABLE_DEVICES)
			for (i = 0; i < a->bytes / 8u; i++)
				t->address[t->addresses++] = next + 8 * i;
		if (a->kind == WH_TABLE_DEVICES || a->kind == WH_TABLE_IN)
			next += wh_wire_bytes(a->bytes, 1);
	}
	for (i = 0; i < t->addresses; i++)
		memcpy(t->address[i], &device, 8);
	t->size = next - (uint8_t *)q;
}

#endif
