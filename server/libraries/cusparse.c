// SPDX-License-Identifier: Apache-2.0
/*
 * cuSPARSE in the worker. Owns what the library was last told about each handle (stream, pointer
 * mode), and the genuine matrix descriptors. There is one descriptor for each value that a
 * descriptor can have, since calls of cuSPARSE and cuSOLVER name values.
 */
#include "gen_cusparse_server.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Handles ----------------------------------------------------------------------- */

struct handle {
	cusparseHandle_t real;
	uint64_t stream;
	uint32_t pointer_mode;
};

static cusparseStatus_t tell(const struct wh_cusparse_functions *l, struct handle *h,
			     const struct wh_obj_cusparseHandle_t *o, CUstream stream)
{
	cusparseStatus_t res;

	if (o->stream != h->stream) {
		res = l->cusparseSetStream(h->real, stream);
		if (res != CUSPARSE_STATUS_SUCCESS)
			return res;
		h->stream = o->stream;
	}
	if (o->pointer_mode != h->pointer_mode) {
		res = l->cusparseSetPointerMode(h->real, (cusparsePointerMode_t)o->pointer_mode);
		if (res != CUSPARSE_STATUS_SUCCESS)
			return res;
		h->pointer_mode = o->pointer_mode;
	}
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t wh_enter_cusparseHandle_t(struct wh_session *s,
					   const struct wh_cusparse_functions *l,
					   const struct wh_obj_cusparseHandle_t *o,
					   cusparseHandle_t *real, CUstream *stream)
{
	struct handle *h = wh_handles_get(&s->handles, o->id, WH_H_cusparseHandle_t);

	if (!h || o->pointer_mode > CUSPARSE_POINTER_MODE_DEVICE)
		return CUSPARSE_STATUS_INVALID_VALUE;
	/* This happens each time: a stream that was destroyed must not reach the library. */
	if (!wh_get(s, WH_H_CUstream, o->stream, (void **)stream))
		return CUSPARSE_STATUS_INVALID_VALUE;
	*real = h->real;
	return tell(l, h, o, *stream);
}

int32_t wh_do_cusparseCreate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusparse_functions *l = wh_library_functions(s, WH_LIB_cusparse);
	struct wh_rsp_cusparseCreate *r = wh_reply(f, sizeof(*r));
	const struct wh_req *q = f->req;
	struct wh_charge charge;
	cusparseStatus_t res;
	struct handle *h;

	if (!l->cusparseDestroy || !l->cusparseSetStream || !l->cusparseSetPointerMode)
		return wh_library_missing(s, "what belongs to cusparseCreate",
					  CUSPARSE_STATUS_NOT_SUPPORTED);
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	h->pointer_mode = CUSPARSE_POINTER_MODE_HOST;
	/* The library's workspace is the tenant's memory. */
	wh_reconcile_begin(s, &charge);
	res = l->cusparseCreate(&h->real);
	if (res == CUSPARSE_STATUS_SUCCESS) {
		if (wh_reconciled(s, &charge))
			r->handle = wh_new(s, WH_H_cusparseHandle_t, h, q->ctx);
		if (r->handle)
			return CUSPARSE_STATUS_SUCCESS;
		l->cusparseDestroy(h->real);
		wh_reconciled(s, &charge);
		res = CUSPARSE_STATUS_ALLOC_FAILED;
	}
	free(h);
	return res;
}

int32_t wh_do_cusparseDestroy(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cusparse_functions *l = wh_library_functions(s, WH_LIB_cusparse);
	const struct wh_req_cusparseDestroy *q = f->req;
	cusparseStatus_t res;
	struct handle *h;

	if (f->req_size < sizeof(*q))
		return CUSPARSE_STATUS_INVALID_VALUE;
	h = wh_handles_get(&s->handles, q->handle, WH_H_cusparseHandle_t);
	if (!h)
		return CUSPARSE_STATUS_INVALID_VALUE;
	res = l->cusparseDestroy(h->real);
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	wh_drop(s, q->handle);
	free(h);
	return CUSPARSE_STATUS_SUCCESS;
}

/* --- Matrix descriptors ------------------------------------------------------------- */

#define VALUES (WH_CUSPARSE_TYPES * WH_CUSPARSE_FILLS * WH_CUSPARSE_DIAGS * WH_CUSPARSE_BASES)

/* They are made when first needed, and stay, so a call may keep one. */
struct descriptors {
	cusparseMatDescr_t real[VALUES];
};

static cusparseMatDescr_t make(const struct wh_cusparse_functions *l,
			       const struct wh_obj_cusparseMatDescr_t *o)
{
	cusparseMatDescr_t d = NULL;

	if (!l->cusparseCreateMatDescr || !l->cusparseDestroyMatDescr || !l->cusparseSetMatType ||
	    !l->cusparseSetMatFillMode || !l->cusparseSetMatDiagType ||
	    !l->cusparseSetMatIndexBase || l->cusparseCreateMatDescr(&d))
		return NULL;
	if (!l->cusparseSetMatType(d, (cusparseMatrixType_t)o->type) &&
	    !l->cusparseSetMatFillMode(d, (cusparseFillMode_t)o->fill) &&
	    !l->cusparseSetMatDiagType(d, (cusparseDiagType_t)o->diag) &&
	    !l->cusparseSetMatIndexBase(d, (cusparseIndexBase_t)o->base))
		return d;
	l->cusparseDestroyMatDescr(d);
	return NULL;
}

/* cuSOLVER's first descriptor may come before any call of cuSPARSE. */
static const struct wh_cusparse_functions *functions(struct wh_session *s)
{
	char err[512];

	if (!wh_library_load(s, WH_LIB_cusparse, 0, err, sizeof(err))) {
		if (!(s->library_failed & 1u << WH_LIB_cusparse))
			fprintf(stderr, "warn: worker: cusparse: %s; calls with its descriptors are refused\n",
				err);
		s->library_failed |= 1u << WH_LIB_cusparse;
		return NULL;
	}
	return wh_library_functions(s, WH_LIB_cusparse);
}

bool wh_enter_cusparseMatDescr_t(struct wh_session *s, const struct wh_obj_cusparseMatDescr_t *o,
				 cusparseMatDescr_t *real)
{
	struct descriptors *all = s->library_state[WH_LIB_cusparse];
	const struct wh_cusparse_functions *l;
	unsigned int i;

	*real = NULL;
	if (!o->there)
		return true;
	if (o->type >= WH_CUSPARSE_TYPES || o->fill >= WH_CUSPARSE_FILLS ||
	    o->diag >= WH_CUSPARSE_DIAGS || o->base >= WH_CUSPARSE_BASES)
		return false;
	if (!all)
		all = s->library_state[WH_LIB_cusparse] = calloc(1, sizeof(*all));
	if (!all)
		return false;
	i = ((o->type * WH_CUSPARSE_FILLS + o->fill) * WH_CUSPARSE_DIAGS + o->diag) *
	    WH_CUSPARSE_BASES + o->base;
	if (!all->real[i]) {
		l = functions(s);
		all->real[i] = l ? make(l, o) : NULL;
	}
	*real = all->real[i];
	return *real;
}
