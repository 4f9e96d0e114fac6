// SPDX-License-Identifier: Apache-2.0
/*
 * cuSOLVER's three kinds of handles in the worker. Owns what the library was last told about each
 * handle: its stream, if it has one.
 */
#include "gen_cusolver_server.h"

#include <stdlib.h>

struct handle {
	void *real;
	uint64_t stream;
};

/* Finds the handle of an id and the stream that goes with it. */
static struct handle *look_up(struct wh_session *s, const struct wh_cusolver_handle *o,
			      unsigned int type, CUstream *stream, cusolverStatus_t *res)
{
	struct handle *h = wh_handles_get(&s->handles, o->id, type);

	*res = CUSOLVER_STATUS_NOT_INITIALIZED;
	/* This happens each time: a stream that was destroyed must not reach the library. */
	if (h && !wh_get(s, WH_H_CUstream, o->stream, (void **)stream)) {
		*res = CUSOLVER_STATUS_INVALID_VALUE;
		return NULL;
	}
	return h;
}

static cusolverStatus_t told(struct handle *h, uint64_t stream, cusolverStatus_t res)
{
	if (res == CUSOLVER_STATUS_SUCCESS)
		h->stream = stream;
	return res;
}

cusolverStatus_t wh_enter_cusolverDnHandle_t(struct wh_session *s,
					     const struct wh_cusolver_functions *l,
					     const struct wh_obj_cusolverDnHandle_t *o,
					     cusolverDnHandle_t *real, CUstream *stream)
{
	cusolverStatus_t res;
	struct handle *h = look_up(s, &o->h, WH_H_cusolverDnHandle_t, stream, &res);

	if (!h)
		return res;
	*real = h->real;
	if (o->h.stream == h->stream)
		return CUSOLVER_STATUS_SUCCESS;
	return told(h, o->h.stream, l->cusolverDnSetStream(h->real, *stream));
}

cusolverStatus_t wh_enter_cusolverSpHandle_t(struct wh_session *s,
					     const struct wh_cusolver_functions *l,
					     const struct wh_obj_cusolverSpHandle_t *o,
					     cusolverSpHandle_t *real, CUstream *stream)
{
	cusolverStatus_t res;
	struct handle *h = look_up(s, &o->h, WH_H_cusolverSpHandle_t, stream, &res);

	if (!h)
		return res;
	*real = h->real;
	if (o->h.stream == h->stream)
		return CUSOLVER_STATUS_SUCCESS;
	return told(h, o->h.stream, l->cusolverSpSetStream(h->real, *stream));
}

/* This kind of handle has no stream of its own. */
cusolverStatus_t wh_enter_cusolverRfHandle_t(struct wh_session *s,
					     const struct wh_cusolver_functions *l,
					     const struct wh_obj_cusolverRfHandle_t *o,
					     cusolverRfHandle_t *real, CUstream *stream)
{
	struct handle *h = wh_handles_get(&s->handles, o->h.id, WH_H_cusolverRfHandle_t);

	(void)l;
	*stream = NULL;
	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	*real = h->real;
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- Life: the same for all three -------------------------------------------------- */

typedef cusolverStatus_t create_t(void **), destroy_t(void *);

static int32_t create(struct wh_session *s, struct wh_frame *f, unsigned int type,
		      create_t *make, destroy_t *end)
{
	struct wh_rsp_cusolverCreate *r = wh_reply(f, sizeof(*r));
	const struct wh_req *q = f->req;
	struct wh_charge charge;
	cusolverStatus_t res;
	struct handle *h;

	if (!make || !end)
		return wh_library_missing(s, "cusolver*Create or what belongs to it",
					  CUSOLVER_STATUS_NOT_SUPPORTED);
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	/* The library's workspace is the tenant's memory. */
	wh_reconcile_begin(s, &charge);
	res = make(&h->real);
	if (res == CUSOLVER_STATUS_SUCCESS) {
		if (wh_reconciled(s, &charge))
			r->handle = wh_new(s, type, h, q->ctx);
		if (r->handle)
			return CUSOLVER_STATUS_SUCCESS;
		end(h->real);
		wh_reconciled(s, &charge);
		res = CUSOLVER_STATUS_ALLOC_FAILED;
	}
	free(h);
	return res;
}

static int32_t destroy(struct wh_session *s, struct wh_frame *f, unsigned int type,
		       destroy_t *end)
{
	const struct wh_req_cusolverDestroy *q = f->req;
	cusolverStatus_t res;
	struct handle *h;

	if (f->req_size < sizeof(*q))
		return CUSOLVER_STATUS_INVALID_VALUE;
	h = wh_handles_get(&s->handles, q->handle, type);
	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	res = end(h->real);
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	wh_drop(s, q->handle);
	free(h);
	return CUSOLVER_STATUS_SUCCESS;
}

#define LIFE(sort, complete) \
int32_t wh_do_cusolver##sort##Create(struct wh_session *s, struct wh_frame *f) \
{ \
	const struct wh_cusolver_functions *l = wh_library_functions(s, WH_LIB_cusolver); \
\
	return create(s, f, WH_H_cusolver##sort##Handle_t, \
		      (complete) ? (create_t *)l->cusolver##sort##Create : NULL, \
		      (destroy_t *)l->cusolver##sort##Destroy); \
} \
int32_t wh_do_cusolver##sort##Destroy(struct wh_session *s, struct wh_frame *f) \
{ \
	const struct wh_cusolver_functions *l = wh_library_functions(s, WH_LIB_cusolver); \
\
	return destroy(s, f, WH_H_cusolver##sort##Handle_t, \
		       (destroy_t *)l->cusolver##sort##Destroy); \
}

LIFE(Dn, l->cusolverDnSetStream)
LIFE(Sp, l->cusolverSpSetStream)
LIFE(Rf, true)
