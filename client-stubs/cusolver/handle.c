// SPDX-License-Identifier: Apache-2.0
/*
 * The client's side of cuSOLVER's three kinds of handles. Owns a handle's stream. To set it
 * makes no call; it is sent with the next call.
 */
#include "cusolver_stub.h"
#include "../cusparse/matdescr.h"

/* Each kind has a word of its own. */
enum kind { DENSE, SPARSE, REFACTOR };
static const uint64_t alive_word[] = {
	0x776864656e7365ULL, 0x77687370617273ULL, 0x77687265666163ULL,
};

struct handle {
	struct wh_handle h;	/* alive: alive_word[] of its kind */
	uint64_t id;
	cudaStream_t stream;	/* as the program names it */
};

static struct wh_handles handles = WH_HANDLES(struct handle);
WH_IN_CHILD(pthread_mutex_init(&handles.lock, NULL))

static struct handle *known(void *p, enum kind kind)
{
	struct handle *h = p;

	return h && h->h.alive == alive_word[kind] ? h : NULL;
}

static bool pack(void *handle, enum kind kind, struct wh_cusolver_handle *out)
{
	struct handle *h = known(handle, kind);

	if (!h)
		return false;
	out->id = h->id;
	/* The per-thread default stream differs from thread to thread. */
	out->stream = h->stream ? wh_library_stream(h->stream) : 0;
	return true;
}

bool wh_pack_cusolverDnHandle_t(cusolverDnHandle_t h, struct wh_obj_cusolverDnHandle_t *out)
{
	return pack(h, DENSE, &out->h);
}

bool wh_pack_cusolverSpHandle_t(cusolverSpHandle_t h, struct wh_obj_cusolverSpHandle_t *out)
{
	return pack(h, SPARSE, &out->h);
}

bool wh_pack_cusolverRfHandle_t(cusolverRfHandle_t h, struct wh_obj_cusolverRfHandle_t *out)
{
	return pack(h, REFACTOR, &out->h);
}

bool wh_pack_cusparseMatDescr_t(cusparseMatDescr_t d, struct wh_obj_cusparseMatDescr_t *out)
{
	return wh_matdescr_pack(d, out);
}

/* --- Life ------------------------------------------------------------------------- */

static cusolverStatus_t ask(uint32_t call, uint64_t *id)
{
	const struct wh_rsp_cusolverCreate *r;
	struct wh_call c;
	cusolverStatus_t res;

	if (!wh_cusolver_begin(&c, call, sizeof(struct wh_req_cusolverCreate)))
		return wh_cusolver_lost(c.result);
	res = wh_cusolver_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUSOLVER_STATUS_SUCCESS)
		*id = r->handle;
	wh_end(&c);
	return res;
}

static cusolverStatus_t create(void **handle, enum kind kind, uint32_t call)
{
	struct handle *h;
	cusolverStatus_t res;

	if (!handle)
		return CUSOLVER_STATUS_INVALID_VALUE;
	h = wh_handle_take(&handles);
	if (!h)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	res = ask(call, &h->id);
	if (res != CUSOLVER_STATUS_SUCCESS) {
		wh_handle_put(&handles, &h->h);
		return res;
	}
	h->h.alive = alive_word[kind];
	*handle = h;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t destroy(void *handle, enum kind kind, uint32_t call)
{
	struct handle *h = known(handle, kind);
	struct wh_req_cusolverDestroy *q;
	cusolverStatus_t res;
	struct wh_call c;

	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	q = wh_cusolver_begin(&c, call, sizeof(*q));
	if (!q)
		return wh_cusolver_lost(c.result);
	q->handle = h->id;
	res = wh_cusolver_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUSOLVER_STATUS_SUCCESS)
		wh_handle_put(&handles, &h->h);
	return res;
}

#define LIFE(sort, kind) \
cusolverStatus_t cusolver##sort##Create(cusolver##sort##Handle_t *handle) \
{ \
	return create((void **)handle, kind, WH_CALL_cusolver##sort##Create); \
} \
cusolverStatus_t cusolver##sort##Destroy(cusolver##sort##Handle_t handle) \
{ \
	return destroy(handle, kind, WH_CALL_cusolver##sort##Destroy); \
}

LIFE(Dn, DENSE)
LIFE(Sp, SPARSE)
LIFE(Rf, REFACTOR)

/* --- Streams ---------------------------------------------------------------------- */

#define STREAM(sort, kind) \
cusolverStatus_t cusolver##sort##SetStream(cusolver##sort##Handle_t handle, cudaStream_t streamId) \
{ \
	struct handle *h = known(handle, kind); \
\
	if (!h) \
		return CUSOLVER_STATUS_NOT_INITIALIZED; \
	h->stream = streamId; \
	return CUSOLVER_STATUS_SUCCESS; \
} \
cusolverStatus_t cusolver##sort##GetStream(cusolver##sort##Handle_t handle, \
					   cudaStream_t *streamId) \
{ \
	struct handle *h = known(handle, kind); \
\
	if (!h) \
		return CUSOLVER_STATUS_NOT_INITIALIZED; \
	if (!streamId) \
		return CUSOLVER_STATUS_INVALID_VALUE; \
	*streamId = h->stream; \
	return CUSOLVER_STATUS_SUCCESS; \
}

STREAM(Dn, DENSE)
STREAM(Sp, SPARSE)
