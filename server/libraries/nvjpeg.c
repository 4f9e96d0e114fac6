// SPDX-License-Identifier: Apache-2.0
/*
 * nvJPEG in the worker. Owns what the library may read after the call that brought it, the number
 * of images of each batch, and which images a client may name.
 */
#include "gen_nvjpeg_server.h"

#include <stdlib.h>

/* Parsed bytes that an object may still read. A client that only sends broken ones has so many. */
#define MOST_KEPT	16

struct kept {
	struct kept *next;	/* the older one */
	bool tables;
	bool parsed;		/* the library has accepted them */
	unsigned char data[];
};

/* What the worker knows of an object of the client. */
struct known {
	struct known *next;
	const struct wh_session *session;
	uint64_t id;
	uint32_t batch;		/* images of a state's batch; 0: none was begun */
	struct kept *kept;	/* the newest first */
};

/* Calls of libraries run alone. */
static struct known *all;

static struct known **place(const struct wh_session *s, uint64_t id)
{
	struct known **p = &all;

	while (*p && ((*p)->id != id || (*p)->session != s))
		p = &(*p)->next;
	return p;
}

static struct known *know(const struct wh_session *s, uint64_t id)
{
	struct known **p = place(s, id);

	if (!*p && (*p = calloc(1, sizeof(**p)))) {
		(*p)->session = s;
		(*p)->id = id;
	}
	return *p;
}

static void forget(const struct wh_session *s, uint64_t id)
{
	struct known **p = place(s, id), *old = *p;
	struct kept *k;

	if (!old)
		return;
	*p = old->next;
	while ((k = old->kept)) {
		old->kept = k->next;
		free(k);
	}
	free(old);
}

/* --- Bytes that are parsed ------------------------------------------------------------ */

nvjpegStatus_t wh_nvjpeg_keep(struct wh_session *s, uint64_t id, unsigned char **data,
			      size_t length, bool tables)
{
	struct known *of = know(s, id);
	unsigned int n = 0;
	struct kept *k;

	if (!*data)
		return NVJPEG_STATUS_SUCCESS;	/* the library judges NULL */
	for (k = of ? of->kept : NULL; k; k = k->next)
		n++;
	k = of && n < MOST_KEPT ? malloc(sizeof(*k) + length) : NULL;
	if (!k)
		return NVJPEG_STATUS_ALLOCATOR_FAILURE;
	*k = (struct kept) { .next = of->kept, .tables = tables };
	memcpy(k->data, *data, length);
	of->kept = k;
	*data = k->data;
	return NVJPEG_STATUS_SUCCESS;
}

/*
 * What was parsed last takes the place of older bytes. After a failure the object may refer to
 * either.
 */
static void parsed(const struct wh_session *s, uint64_t id, nvjpegStatus_t res)
{
	struct known *of = *place(s, id);
	struct kept **p, *old;

	if (res != NVJPEG_STATUS_SUCCESS || !of || !of->kept || of->kept->parsed)
		return;
	of->kept->parsed = true;
	for (p = &of->kept->next; (old = *p);) {
		if (old->tables != of->kept->tables) {
			p = &old->next;
			continue;
		}
		*p = old->next;
		free(old);
	}
}

void wh_done_nvjpegJpegStreamParse(struct wh_session *s, struct wh_req_nvjpegJpegStreamParse *q,
				   nvjpegStatus_t res)
{
	parsed(s, q->jpeg_stream, res);
}

void wh_done_nvjpegJpegStreamParseHeader(struct wh_session *s,
					 struct wh_req_nvjpegJpegStreamParseHeader *q,
					 nvjpegStatus_t res)
{
	parsed(s, q->jpeg_stream, res);
}

void wh_done_nvjpegJpegStreamParseTables(struct wh_session *s,
					 struct wh_req_nvjpegJpegStreamParseTables *q,
					 nvjpegStatus_t res)
{
	parsed(s, q->jpeg_stream, res);
}

void wh_done_nvjpegDecodeBatchedParseJpegTables(struct wh_session *s,
		struct wh_req_nvjpegDecodeBatchedParseJpegTables *q, nvjpegStatus_t res)
{
	parsed(s, q->jpeg_handle, res);
}

void wh_done_nvjpegJpegStreamDestroy(struct wh_session *s, struct wh_req_nvjpegJpegStreamDestroy *q,
				     nvjpegStatus_t res)
{
	if (res == NVJPEG_STATUS_SUCCESS)
		forget(s, q->jpeg_stream);
}

/* --- Batches -------------------------------------------------------------------------- */

void wh_done_nvjpegDecodeBatchedInitialize(struct wh_session *s,
		struct wh_req_nvjpegDecodeBatchedInitialize *q, nvjpegStatus_t res)
{
	struct known *of = know(s, q->jpeg_handle);

	if (of)
		of->batch = res == NVJPEG_STATUS_SUCCESS && q->batch_size > 0 ? q->batch_size : 0;
}

void wh_done_nvjpegJpegStateDestroy(struct wh_session *s, struct wh_req_nvjpegJpegStateDestroy *q,
				    nvjpegStatus_t res)
{
	if (res == NVJPEG_STATUS_SUCCESS)
		forget(s, q->jpeg_handle);
}

/* The arrays of a batch, in the request. `data` is made from it. */
struct batch {
	size_t *length;
	nvjpegImage_t *image;
	void **params;
	const unsigned char **data;
};

/* The caller frees b->data, whatever this returns. */
static bool take(struct wh_session *s, struct wh_frame *f, const struct wh_req_whNvjpegBatch *q,
		 struct batch *b)
{
	void *bytes;
	uint32_t i;

	f->pos = WH_WIRE_FIXED(struct wh_req_whNvjpegBatch);
	if (!wh_request_take(f, q->count, sizeof(*b->length), (void **)&b->length) ||
	    !wh_request_take(f, q->count, sizeof(*b->image), (void **)&b->image) ||
	    (q->ex && !wh_request_take(f, q->count, sizeof(*b->params), (void **)&b->params)))
		return false;
	b->data = calloc(q->count, sizeof(*b->data));
	if (!b->data)
		return false;
	for (i = 0; i < q->count; i++) {
		if (wh_in_nvjpegImage_t(s, &b->image[i]) != NVJPEG_STATUS_SUCCESS ||
		    !wh_request_take(f, b->length[i], 1, &bytes))
			return false;
		b->data[i] = bytes;
	}
	return !q->ex || wh_get_array(s, WH_H_nvjpegDecodeParams_t, b->params, q->count);
}

static nvjpegStatus_t decode(const struct wh_nvjpeg_functions *l, nvjpegHandle_t handle,
			     nvjpegJpegState_t state, const struct batch *b, bool ex,
			     CUstream stream)
{
	if (!ex)
		return l->nvjpegDecodeBatched(handle, state, b->data, b->length, b->image, stream);
	return l->nvjpegDecodeBatchedEx(handle, state, b->data, b->length, b->image,
					(nvjpegDecodeParams_t *)b->params, stream);
}

int32_t wh_do_whNvjpegBatch(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nvjpeg_functions *l = wh_library_functions(s, WH_LIB_nvjpeg);
	const struct wh_req_whNvjpegBatch *q = f->req;
	struct batch b = { 0 };
	nvjpegJpegState_t state;
	nvjpegHandle_t handle;
	const struct known *of;
	CUstream stream;
	int32_t res;

	wh_reply(f, sizeof(struct wh_rsp_whNvjpegBatch));
	if (f->req_size < sizeof(*q) || q->ex > 1)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	if (!(q->ex ? (void *)l->nvjpegDecodeBatchedEx : (void *)l->nvjpegDecodeBatched))
		return wh_library_missing(s, "nvjpegDecodeBatched",
					  NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED);
	if (!wh_get(s, WH_H_nvjpegHandle_t, q->handle, (void **)&handle) ||
	    !wh_get(s, WH_H_nvjpegJpegState_t, q->state, (void **)&state) ||
	    !wh_get(s, WH_H_CUstream, q->stream, (void **)&stream))
		return NVJPEG_STATUS_INVALID_PARAMETER;
	/* The library reads as many as the state has. */
	of = *place(s, q->state);
	if (!of || !of->batch || q->count != of->batch)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	res = NVJPEG_STATUS_INVALID_PARAMETER;
	if (take(s, f, q, &b)) {
		res = wh_launch_begin(s, stream);
		if (res == CUDA_SUCCESS) {
			res = decode(l, handle, state, &b, q->ex, stream);
			wh_launch_end(s, stream);
		}
	}
	free(b.data);
	return res;
}

/* --- What a client may name ------------------------------------------------------------- */

/*
 * The library writes as far as the image says. In device memory the driver sees to its bounds;
 * behind the client's host memory is the worker's own, so none of that passes.
 */
static bool of_device(struct wh_session *s, uint64_t address)
{
	return !address || (wh_reach(s, address, 1) == CUDA_SUCCESS &&
			    !wh_host_range(s, address, 1));
}

nvjpegStatus_t wh_in_nvjpegImage_t(struct wh_session *s, nvjpegImage_t *rec)
{
	unsigned int i;

	for (i = 0; i < NVJPEG_MAX_COMPONENT; i++)
		if (!of_device(s, (uintptr_t)rec->channel[i]))
			return NVJPEG_STATUS_INVALID_PARAMETER;
	return NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t backend(nvjpegBackend_t b)
{
	return wh_nvjpeg_of_device(b) ? NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED :
					NVJPEG_STATUS_SUCCESS;
}

nvjpegStatus_t wh_check_nvjpegCreate(struct wh_session *s, const struct wh_req_nvjpegCreate *q)
{
	(void)s;
	return backend(q->backend);
}

nvjpegStatus_t wh_check_nvjpegCreateEx(struct wh_session *s, const struct wh_req_nvjpegCreateEx *q)
{
	(void)s;
	return backend(q->backend);
}

nvjpegStatus_t wh_check_nvjpegCreateExV2(struct wh_session *s,
					 const struct wh_req_nvjpegCreateExV2 *q)
{
	(void)s;
	return backend(q->backend);
}

nvjpegStatus_t wh_check_nvjpegDecoderCreate(struct wh_session *s,
					    const struct wh_req_nvjpegDecoderCreate *q)
{
	(void)s;
	return backend(q->implementation);
}
