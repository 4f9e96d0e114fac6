// SPDX-License-Identifier: Apache-2.0
/*
 * NCCL in the worker. A group is looked up and checked as a whole. Then one thread makes it, which
 * is not inside the session meanwhile (callers.h): the other ranks that it waits for may be threads
 * of the same client. What the group uses is counted until the thread is back, so that nobody ends
 * a communicator that a call still has. ncclCommAbort exists for exactly that: it ends the
 * communicator in NCCL, but not its record here.
 */
#include "gen_nccl_server.h"

#include <stdio.h>
#include <stdlib.h>

#include "libraries/nccl_group.h"

/* --- Meeting of ranks ---------------------------------------------------------------- */

const char *wh_nccl_hint;

uint64_t wh_nccl_put_hint(struct wh_frame *f, ncclResult_t res)
{
	return res == ncclSystemError && wh_nccl_hint ? wh_reply_put_string(f, wh_nccl_hint) : 0;
}

int32_t wh_do_ncclGetUniqueId(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nccl_functions *l = wh_library_functions(s, WH_LIB_nccl);
	struct wh_rsp_ncclGetUniqueId *r = wh_reply(f, sizeof(*r));
	ncclResult_t res;

	if (!l->ncclGetUniqueId)
		return wh_library_missing(s, "ncclGetUniqueId", ncclInvalidUsage);
	res = l->ncclGetUniqueId(&r->id);
	r->hint = wh_nccl_put_hint(f, res);
	return res;
}

/* --- Communicators ------------------------------------------------------------------ */

struct wh_nccl_comm *wh_nccl_find(struct wh_session *s, uint64_t id)
{
	return id ? wh_handles_get(&s->handles, id, WH_H_nccl_comm) : NULL;
}

/* Measures a communicator that was split off, whose size is not known before it is ready. */
bool wh_nccl_measure(const struct wh_nccl_functions *l, struct wh_nccl_comm *c)
{
	int ranks, rank;

	if (c->ranks >= 0)
		return true;
	if (!l->ncclCommCount || !l->ncclCommUserRank || !c->real ||
	    l->ncclCommCount(c->real, &ranks) || l->ncclCommUserRank(c->real, &rank))
		return false;
	c->ranks = ranks;
	c->rank = rank;
	return true;
}

int32_t wh_do_whNcclAsk(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nccl_functions *l = wh_library_functions(s, WH_LIB_nccl);
	const struct wh_req_whNcclAsk *q = f->req;
	struct wh_rsp_whNcclAsk *r = wh_reply(f, sizeof(*r));
	ncclResult_t error = ncclSuccess, res;
	struct wh_nccl_comm *c;

	if (f->req_size < sizeof(*q))
		return ncclInvalidArgument;
	c = wh_nccl_find(s, q->comm);
	if (!c || !c->real)
		return ncclInvalidArgument;
	if (!l->ncclCommGetAsyncError)
		return wh_library_missing(s, "ncclCommGetAsyncError", ncclInvalidUsage);
	res = l->ncclCommGetAsyncError(c->real, &error);
	r->error = error;
	r->ranks = r->rank = -1;
	if (res == ncclSuccess && error == ncclSuccess && wh_nccl_measure(l, c)) {
		r->ranks = c->ranks;
		r->rank = c->rank;
	}
	return res;
}

int32_t wh_do_whNcclLastError(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nccl_functions *l = wh_library_functions(s, WH_LIB_nccl);
	const struct wh_req_whNcclLastError *q = f->req;
	struct wh_rsp_whNcclLastError *r = wh_reply(f, sizeof(*r));
	struct wh_nccl_comm *c;

	if (f->req_size < sizeof(*q))
		return ncclInvalidArgument;
	if (!l->ncclGetLastError)
		return wh_library_missing(s, "ncclGetLastError", ncclInvalidUsage);
	c = wh_nccl_find(s, q->comm);
	r->size = wh_reply_put_string(f, l->ncclGetLastError(c ? c->real : NULL));
	return ncclSuccess;
}

/* --- Buffers ---------------------------------------------------------------------------- */

int32_t wh_do_whNcclRegister(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nccl_functions *l = wh_library_functions(s, WH_LIB_nccl);
	const struct wh_req_whNcclRegister *q = f->req;
	struct wh_rsp_whNcclRegister *r = wh_reply(f, sizeof(*r));
	struct wh_nccl_comm *c;
	ncclResult_t res;
	void *handle;

	if (f->req_size < sizeof(*q))
		return ncclInvalidArgument;
	c = wh_nccl_find(s, q->comm);
	if (!c || !c->real || c->users || wh_reach(s, q->addr, q->size))
		return ncclInvalidArgument;
	if (!l->ncclCommRegister || !l->ncclCommDeregister)
		return wh_library_missing(s, "ncclCommRegister", ncclInvalidUsage);
	handle = NULL;
	res = l->ncclCommRegister(c->real, (void *)q->addr, q->size, &handle);
	/* If registering has no use, NCCL gives no handle, and takes none back. */
	if (res != ncclSuccess || !handle)
		return res;
	r->buffer = wh_new(s, WH_H_nccl_buffer, handle, q->hdr.ctx);
	if (r->buffer)
		return ncclSuccess;
	l->ncclCommDeregister(c->real, handle);
	return ncclSystemError;
}

int32_t wh_do_whNcclDeregister(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nccl_functions *l = wh_library_functions(s, WH_LIB_nccl);
	const struct wh_req_whNcclDeregister *q = f->req;
	struct wh_nccl_comm *c;
	ncclResult_t res;
	void *handle;

	if (f->req_size < sizeof(*q))
		return ncclInvalidArgument;
	c = wh_nccl_find(s, q->comm);
	if (!c || !c->real || c->users)
		return ncclInvalidArgument;
	if (!q->buffer)
		return ncclSuccess;
	handle = wh_handles_get(&s->handles, q->buffer, WH_H_nccl_buffer);
	if (!handle || !l->ncclCommDeregister)
		return ncclInvalidArgument;
	res = l->ncclCommDeregister(c->real, handle);
	if (res == ncclSuccess)
		wh_drop(s, q->buffer);
	return res;
}

/* --- Operators ------------------------------------------------------------------------------ */

static ncclResult_t make_op(struct wh_session *s, const struct wh_nccl_functions *l,
			    struct wh_req_whNcclRedOp *q, ncclComm_t comm, int32_t *out)
{
	bool host = q->residence == ncclScalarHostImmediate;
	ncclRedOp_t op = ncclSum;
	ncclResult_t res;

	if (!host && (q->residence != ncclScalarDevice || !q->addr || wh_reach(s, q->addr, 8)))
		return ncclInvalidArgument;
	if (!l->ncclRedOpCreatePreMulSum)
		return wh_library_missing(s, "ncclRedOpCreatePreMulSum", ncclInvalidUsage);
	res = l->ncclRedOpCreatePreMulSum(&op, host ? (void *)&q->factor : (void *)q->addr,
					  (ncclDataType_t)q->type,
					  (ncclScalarResidence_t)q->residence, comm);
	*out = (int32_t)op;
	return res;
}

int32_t wh_do_whNcclRedOp(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_nccl_functions *l = wh_library_functions(s, WH_LIB_nccl);
	struct wh_req_whNcclRedOp *q = f->req;
	struct wh_rsp_whNcclRedOp *r = wh_reply(f, sizeof(*r));
	struct wh_nccl_comm *c;

	if (f->req_size < sizeof(*q) || q->type < 0 || q->type >= ncclNumTypes)
		return ncclInvalidArgument;
	c = wh_nccl_find(s, q->comm);
	if (!c || !c->real || c->users)
		return ncclInvalidArgument;
	if (!q->destroy)
		return make_op(s, l, q, c->real, &r->op);
	if (!l->ncclRedOpDestroy)
		return wh_library_missing(s, "ncclRedOpDestroy", ncclInvalidUsage);
	return l->ncclRedOpDestroy((ncclRedOp_t)q->op, c->real);
}
