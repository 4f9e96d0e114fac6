// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of libraries whose request or response is longer than a message area. Both lie in a
 * block of the data area, or of the far area if there is one, and a short request says where
 * (struct wh_req_long). Owns the block during the call.
 */
#include "stubs.h"

static void *take_block(size_t size)
{
	void *p = wh_data_alloc(size, 0, false);

	return p ? p : wh_far_alloc(size, 0, false);
}

static void give_block(void *p, size_t size)
{
	/* Nobody pinned the block, so its pages need not stay. */
	if (wh_in_far(p, 1))
		wh_far_empty(p, (size + WH_PAGE_SIZE - 1) & ~(size_t)(WH_PAGE_SIZE - 1));
	wh_data_free(p);
}

static void *refuse(struct wh_call *c, const struct wh_library *lib, size_t room)
{
	/*
	 * If no memory has such a size, for example because of a negative count, the call
	 * itself is wrong.
	 */
	if (room >= WH_WIRE_NEVER) {
		c->result = CUDA_ERROR_INVALID_VALUE;
		return NULL;
	}
	if (room > WH_LONG_MOST)
		wh_complain("%s: a call with %zu MiB of arrays in host memory; %zu MiB at most",
			    lib->soname, (room >> 20) + 1, WH_LONG_MOST >> 20);
	else
		wh_complain("%s: a call with %zu KiB of arrays in host memory, which the data area "
			    "of %zu MiB has no room for", lib->soname, room >> 10,
			    wh_client.link.data_size >> 20);
	c->result = CUDA_ERROR_OUT_OF_MEMORY;
	return NULL;
}

/* Starts the real request in the block: it begins like the short one. */
static void *begin_in(struct wh_call *c, struct wh_req_long *q, void *block, size_t size,
		      size_t room)
{
	q->at = (uintptr_t)block;
	q->size = size;
	q->room = room;
	memcpy(block, &q->hdr, sizeof(q->hdr));
	c->head = q;
	c->room = room;
	c->msg = c->rsp = block;
	c->size = size;
	return block;
}

void *wh_library_begin_long(struct wh_call *c, struct wh_library *lib, uint32_t call, size_t size,
			    size_t answer)
{
	size_t room = size > answer ? size : answer;
	struct wh_req_long *q;
	void *block;

	/* Only a connection knows how long a message may be. */
	c->result = wh_library_prepare(lib);
	if (c->result != CUDA_SUCCESS)
		return NULL;
	if (room <= wh_client.link.msg_size)
		return wh_library_begin(c, lib, call, size);
	block = room > WH_LONG_MOST ? NULL : take_block(room);
	if (!block)
		return refuse(c, lib, room);
	q = wh_library_begin(c, lib, call, sizeof(*q));
	if (q)
		return begin_in(c, q, block, size, room);
	give_block(block, room);
	return NULL;
}

bool wh_long_answer(struct wh_call *c, size_t fixed)
{
	struct wh_rsp *r = c->rsp;
	uint32_t size;

	c->msg = c->rsp = c->head;
	c->size = sizeof(struct wh_req_long);
	c->result = wh_run_on(c, WH_HANDLER_LONG);
	/* An error may have kept the worker from starting the call at all. */
	if (c->result == CUDA_SUCCESS)
		c->result = ((struct wh_rsp *)c->rsp)->result;
	c->rsp = r;
	c->msg = c->rsp;
	if (c->result != CUDA_SUCCESS)
		return false;
	size = r->size & ~WH_RSP_OUTPUT;
	r->size = size;
	if (size >= sizeof(*r) && size <= c->room && (r->result || size >= fixed))
		return true;
	c->result = CUDA_ERROR_UNKNOWN;
	return false;
}

void wh_long_end(struct wh_call *c)
{
	give_block(c->msg, c->room);
	c->head = NULL;
}
