/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a request for pinned memory, with any values that a client may write into it. */
#ifndef WORMHOLE_TESTS_ATTACK_HOSTBLOCK_H
#define WORMHOLE_TESTS_ATTACK_HOSTBLOCK_H

#include "wire_calls.h"

/* @q is zeroed but for its header. Returns the size of the request. */
static inline size_t host_block(struct wh_req_whHostBlock *q, uint32_t op, uint64_t addr,
				uint64_t size, uint64_t at)
{
	q->op = op;
	q->addr = addr;
	q->size = size;
	q->at = at;
	return sizeof(*q);
}

#endif
