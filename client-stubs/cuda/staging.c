// SPDX-License-Identifier: Apache-2.0
/*
 * Pageable memory reaches the device through buffers in the data area, piece by piece: while
 * the device copies one, the next is filled. Owns the buffers and their fences. A buffer whose
 * copy may still run is waited for before its next use, never after, so an asynchronous copy to
 * the device returns early.
 */
#include "rest.h"
#include "stubs.h"

#define BUFFERS		4
#define MAX_BUFFER	(2UL << 20)
#define MIN_BUFFER	(64UL << 10)
/*
 * A copy is cut into this many pieces: enough to make the time for filling the first one and
 * copying the last one small. Below MIN_PIECE the calls would cost more.
 */
#define PIECES		8
#define MIN_PIECE	(512UL << 10)

_Static_assert(BUFFERS <= WH_FENCES, "a fence for each buffer");

static uint8_t *buffer[BUFFERS] WH_PAIR;
static bool in_flight[BUFFERS] WH_PAIR;
/* Of a copy into a legacy default stream: that one's context; else 0. */
static uint64_t legacy[BUFFERS] WH_PAIR;
static size_t buffer_size WH_PAIR;
static unsigned int next_buffer WH_PAIR;

bool wh_staging_init(void)
{
	uint8_t *p;
	int i;

	buffer_size = wh_client.link.data_size / 64 & ~(size_t)(MIN_BUFFER - 1);
	buffer_size = buffer_size > MAX_BUFFER ? MAX_BUFFER : buffer_size;
	buffer_size = buffer_size < MIN_BUFFER ? MIN_BUFFER : buffer_size;
	p = wh_data_alloc(BUFFERS * buffer_size, 0, false);
	for (i = 0; i < BUFFERS; i++)
		buffer[i] = p + i * buffer_size;
	return p;
}

static CUresult settle(unsigned int b, struct wh_rest_mark *m)
{
	CUresult res;

	if (!in_flight[b])
		return CUDA_SUCCESS;
	res = wh_wait_from(m, WH_WAIT_FENCE, b);
	in_flight[b] = false;
	return res;
}

static CUresult start(const struct wh_staged *c, unsigned int b, size_t done, size_t n,
		      struct wh_rest_mark *m)
{
	bool array = c->kind >= WH_COPY_TO_ARRAY;
	struct wh_req_whStageCopy *q;
	struct wh_call call;
	CUresult res;

	q = wh_begin(&call, WH_CALL_whStageCopy, sizeof(*q));
	if (!q)
		return call.result;
	q->stream = c->stream;
	q->device = array ? c->device : c->device + done;
	q->offset = array ? c->offset + done : 0;
	q->host = (uintptr_t)buffer[b];
	q->size = n;
	q->kind = c->kind;
	q->fence = b;
	legacy[b] = c->stream ? 0 : wh_thread.ctx;
	in_flight[b] = true;	/* it is set early, since a handler may leave the call for good */
	res = wh_post_copy(&call, sizeof(*q));
	wh_end(&call);
	m->own++;
	in_flight[b] = res == CUDA_SUCCESS;
	return res;
}

static size_t piece(const struct wh_staged *c, size_t done)
{
	size_t n = (c->size / PIECES + MIN_BUFFER - 1) & ~(size_t)(MIN_BUFFER - 1);

	n = n < MIN_PIECE ? MIN_PIECE : n;
	n = n > buffer_size ? buffer_size : n;
	return n < c->size - done ? n : c->size - done;
}

void wh_staging_rests(void)
{
	unsigned int b;

	for (b = 0; b < BUFFERS; b++)
		if (legacy[b] && legacy[b] == wh_thread.ctx)
			in_flight[b] = false;
}

static CUresult to_device(const struct wh_staged *c)
{
	struct wh_rest_mark m = wh_rest_begin();
	CUresult res = CUDA_SUCCESS;
	size_t done, n;
	unsigned int b = 0;

	if (!c->stream && wh_rest_empty())
		wh_staging_rests();
	for (done = 0; done < c->size && res == CUDA_SUCCESS; done += n) {
		n = piece(c, done);
		b = next_buffer++ % BUFFERS;
		res = settle(b, &m);
		if (res != CUDA_SUCCESS)
			break;
		wh_bulk_copy(buffer[b], (const uint8_t *)c->host + done, n, c->size);
		res = start(c, b, done, n, &m);
	}
	return res == CUDA_SUCCESS && c->wait ? settle(b, &m) : res;
}

/* Starts pieces ahead: the device fills buffers while the last one is emptied. */
static CUresult to_host(const struct wh_staged *c)
{
	size_t started = 0, done = 0, n;
	unsigned int b, first = next_buffer;
	struct wh_rest_mark m = wh_rest_begin();
	CUresult res = CUDA_SUCCESS;

	while (done < c->size && res == CUDA_SUCCESS) {
		while (started < c->size && next_buffer - first < BUFFERS - 1 &&
		       res == CUDA_SUCCESS) {
			b = next_buffer++ % BUFFERS;
			res = settle(b, &m);
			n = piece(c, started);
			if (res == CUDA_SUCCESS)
				res = start(c, b, started, n, &m);
			started += n;
		}
		if (res != CUDA_SUCCESS)
			break;
		b = first++ % BUFFERS;
		n = piece(c, done);
		res = settle(b, &m);
		if (res == CUDA_SUCCESS)
			wh_bulk_copy((uint8_t *)c->host + done, buffer[b], n, c->size);
		done += n;
	}
	/* The last fence stands behind all that the stream had before. */
	if (res == CUDA_SUCCESS)
		wh_rest_reached(m, c->stream, true);
	return res;
}

static CUresult copy(const struct wh_staged *c)
{
	bool in = c->kind == WH_COPY_TO_DEVICE || c->kind == WH_COPY_TO_ARRAY;
	CUresult res = wh_lock(WH_LOCK_STAGE);

	if (res != CUDA_SUCCESS)
		return res;
	res = in ? to_device(c) : to_host(c);
	wh_unlock(WH_LOCK_STAGE);
	if (WH_UNLIKELY(wh_client.mirrors && res == CUDA_SUCCESS))
		wh_managed_after();
	/* The stream captures, and staging would hold other bytes when the graph runs. */
	return res == CUDA_ERROR_NOT_READY ? wh_graph_capture_copy(c) : res;
}

CUresult wh_staged_copy(const struct wh_staged *c)
{
	uint32_t before = 0;
	CUresult res;

	if (!wh_profiled())
		return copy(c);
	/* Its requests are of one call. */
	before = wh_profile_begin_call(WH_CALL_whStageCopy);
	res = copy(c);
	wh_profile_end(before, res);
	return res;
}

CUresult wh_staging_get(uint8_t **buf, size_t *size)
{
	struct wh_rest_mark m = { 0, 0 };
	CUresult res = wh_lock(WH_LOCK_STAGE);
	unsigned int b;

	if (res != CUDA_SUCCESS)
		return res;
	b = next_buffer % BUFFERS;
	settle(b, &m);
	*size = buffer_size;
	*buf = buffer[b];
	return CUDA_SUCCESS;
}

void wh_staging_put(void)
{
	wh_unlock(WH_LOCK_STAGE);
}
