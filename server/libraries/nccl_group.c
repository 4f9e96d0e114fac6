// SPDX-License-Identifier: Apache-2.0
/*
 * One group of a client. It is decoded and checked as a whole before anything is done. Then this
 * thread makes it, with the session open to others, and afterwards its handles are given out and
 * taken back.
 */
#include "libraries/nccl_group.h"

#include <stdlib.h>

#define MAX_OPS	4096

/* An operation, with everything that it names looked up. */
struct step {
	const struct wh_nccl_op *op;
	/* NULL: the operation makes a client's first communicator */
	struct wh_nccl_comm *comm;
	CUstream stream;
	const struct wh_nccl_made *made;
	const void *list;		/* unique ids, or ranks to leave out */
	CUcontext ctx;
	struct wh_nccl_comm *fresh;
	ncclConfig_t config;
	bool counted;			/* among the users of comm */
	bool issued;			/* NCCL was asked, and did not call the operation invalid */
};

struct group {
	struct wh_session *s;
	const struct wh_nccl_functions *l;
	const struct wh_req_whNcclGroup *q;
	struct step *step;
	uint64_t serial;
	uint32_t count, launches;
	CUstream stream;		/* stream of the first launch */
};

/* --- Decoding ---------------------------------------------------------------------------- */

/* Counts how many times `count` a rank reads of `send` and writes of `recv`. */
static void extent(const struct wh_nccl_op *o, const struct wh_nccl_comm *c, uint64_t *send,
		   uint64_t *recv)
{
	bool root = o->peer == c->rank;
	uint64_t all = c->ranks;

	*send = *recv = 1;
	switch (o->kind) {
	case WH_NCCL_ALL_GATHER:
		*recv = all;
		break;
	case WH_NCCL_REDUCE_SCATTER:
		*send = all;
		break;
	case WH_NCCL_REDUCE:
		*recv = root;
		break;
	case WH_NCCL_BROADCAST:
		*send = root;
		break;
	case WH_NCCL_ALL_TO_ALL:
		*send = *recv = all;
		break;
	case WH_NCCL_GATHER:
		*recv = root ? all : 0;
		break;
	case WH_NCCL_SCATTER:
		*send = root ? all : 0;
		break;
	case WH_NCCL_SEND:
		*recv = 0;
		break;
	case WH_NCCL_RECV:
		*send = 0;
		break;
	}
}

static bool check_launch(struct group *g, struct step *t)
{
	const struct wh_nccl_op *o = t->op;
	uint64_t send, recv, bytes;

	if (o->type < 0 || o->type >= ncclNumTypes || !wh_nccl_measure(g->l, t->comm) ||
	    !wh_get(g->s, WH_H_CUstream, o->stream, (void **)&t->stream))
		return false;
	bytes = wh_times(o->count, wh_nccl_type_size(o->type));
	extent(o, t->comm, &send, &recv);
	if (bytes == UINT64_MAX || wh_reach(g->s, o->send, wh_times(bytes, send)) ||
	    wh_reach(g->s, o->recv, wh_times(bytes, recv)))
		return false;
	if (!g->launches++)
		g->stream = t->stream;
	return true;
}

static void unpack_config(struct step *t)
{
	const struct wh_nccl_config *c = &t->made->config;

	t->config = c->c;
	t->config.netName = c->net[0] ? c->net : NULL;
	t->config.commName = c->comm[0] ? c->comm : NULL;
}

/*
 * Takes the description of a new communicator; it is in the request, which stays while the call
 * runs.
 */
static bool take_made(struct group *g, struct wh_frame *f, struct step *t)
{
	uint32_t kind = t->op->kind;
	uint32_t most = kind == WH_NCCL_SHRINK ? WH_NCCL_MAX_RANKS : WH_NCCL_MAX_IDS;
	struct wh_nccl_made *m;
	void *list;

	if (!wh_request_take(f, 1, sizeof(*m), (void **)&m) || m->n > most ||
	    !wh_request_take(f, 1, wh_nccl_list(kind, m->n), &list))
		return false;
	m->config.net[WH_NCCL_NAME - 1] = m->config.comm[WH_NCCL_NAME - 1] = 0;
	t->made = m;
	t->list = list;
	if (m->has_config && m->config.c.size > sizeof(ncclConfig_t))
		return false;
	unpack_config(t);
	if (kind == WH_NCCL_SPLIT || kind == WH_NCCL_SHRINK)
		return kind == WH_NCCL_SHRINK || !m->n;
	return (kind == WH_NCCL_INIT ? m->n == 1 : m->n > 0) && m->a > 0 && m->b >= 0 &&
	       m->b < m->a && m->ctx && wh_get(g->s, WH_H_CUcontext, m->ctx, (void **)&t->ctx);
}

/* The communicator does not exist after this operation. */
static bool ends(uint32_t kind)
{
	return kind == WH_NCCL_DESTROY || kind == WH_NCCL_ABORT;
}

/*
 * A communicator belongs to one group at a time, as NCCL requires, except for operations that exist
 * for calls that do not come back. An operation that ends it must be the only one on it in its
 * group.
 */
static bool take_comm(struct group *g, struct step *t)
{
	struct wh_nccl_comm *c = wh_nccl_find(g->s, t->op->comm);
	uint32_t kind = t->op->kind;
	bool again;

	if (!c || !c->real || c->closing)
		return false;
	again = c->users && c->group == g->serial;
	if (again ? ends(kind) : c->users && kind != WH_NCCL_ABORT && kind != WH_NCCL_REVOKE)
		return false;
	c->group = g->serial;
	c->closing = ends(kind);
	c->users++;
	t->counted = true;
	t->comm = c;
	return true;
}

static bool take_step(struct group *g, struct wh_frame *f, struct step *t)
{
	uint32_t kind = t->op->kind;
	bool first = kind == WH_NCCL_INIT || kind == WH_NCCL_INIT_SCALABLE;

	if (kind >= WH_NCCL_KINDS || (!first && !take_comm(g, t)))
		return false;
	if (kind < WH_NCCL_LAUNCHES)
		return check_launch(g, t);
	return !wh_nccl_makes(kind) || take_made(g, f, t);
}

static ncclResult_t decode(struct group *g, struct wh_frame *f)
{
	static uint64_t groups;		/* whoever decodes is alone in the process */
	struct wh_nccl_op *op;
	uint32_t i;

	f->pos = WH_WIRE_FIXED(*g->q);
	if (f->req_size < sizeof(*g->q) || !g->q->count || g->q->count > MAX_OPS ||
	    !wh_request_take(f, g->q->count, sizeof(*op), (void **)&op))
		return ncclInvalidArgument;
	g->step = calloc(g->q->count, sizeof(*g->step));
	if (!g->step)
		return ncclSystemError;
	g->count = g->q->count;
	g->serial = ++groups;
	for (i = 0; i < g->count; i++) {
		g->step[i].op = &op[i];
		if (!take_step(g, f, &g->step[i]))
			return ncclInvalidArgument;
	}
	return ncclSuccess;
}

/* Returns what the worker's library lacks, or NULL. */
static const char *lacks(const struct group *g)
{
	static const size_t need[WH_NCCL_KINDS] = {
#define NEED(kind, fn)	[WH_NCCL_##kind] = offsetof(struct wh_nccl_functions, fn)
		NEED(ALL_REDUCE, ncclAllReduce), NEED(ALL_GATHER, ncclAllGather),
		NEED(REDUCE_SCATTER, ncclReduceScatter), NEED(REDUCE, ncclReduce),
		NEED(BROADCAST, ncclBroadcast), NEED(ALL_TO_ALL, ncclAlltoAll),
		NEED(GATHER, ncclGather), NEED(SCATTER, ncclScatter), NEED(SEND, ncclSend),
		NEED(RECV, ncclRecv), NEED(INIT, ncclCommInitRankConfig),
		NEED(INIT_SCALABLE, ncclCommInitRankScalable), NEED(SPLIT, ncclCommSplit),
		NEED(SHRINK, ncclCommShrink), NEED(FINALIZE, ncclCommFinalize),
		NEED(DESTROY, ncclCommDestroy), NEED(ABORT, ncclCommAbort),
		NEED(REVOKE, ncclCommRevoke),
#undef NEED
	};
	uint32_t i;

	if (!g->l->ncclGroupStart || !g->l->ncclGroupEnd || !g->l->ncclCommAbort ||
	    (g->q->simulate && !g->l->ncclGroupSimulateEnd))
		return "ncclGroupStart or what belongs to it";
	for (i = 0; i < g->count; i++)
		if (!*(void *const *)((const char *)g->l + need[g->step[i].op->kind]))
			return "an operation that a group has";
	return NULL;
}

/* --- Making -------------------------------------------------------------------------------- */

static ncclResult_t launch(const struct wh_nccl_functions *l, const struct step *t)
{
	const struct wh_nccl_op *o = t->op;
	const void *send = (const void *)o->send;
	ncclDataType_t type = (ncclDataType_t)o->type;
	ncclRedOp_t op = (ncclRedOp_t)o->op;
	ncclComm_t comm = t->comm->real;
	void *recv = (void *)o->recv;

	switch (o->kind) {
	case WH_NCCL_ALL_REDUCE:
		return l->ncclAllReduce(send, recv, o->count, type, op, comm, t->stream);
	case WH_NCCL_ALL_GATHER:
		return l->ncclAllGather(send, recv, o->count, type, comm, t->stream);
	case WH_NCCL_REDUCE_SCATTER:
		return l->ncclReduceScatter(send, recv, o->count, type, op, comm, t->stream);
	case WH_NCCL_REDUCE:
		return l->ncclReduce(send, recv, o->count, type, op, o->peer, comm, t->stream);
	case WH_NCCL_BROADCAST:
		return l->ncclBroadcast(send, recv, o->count, type, o->peer, comm, t->stream);
	case WH_NCCL_ALL_TO_ALL:
		return l->ncclAlltoAll(send, recv, o->count, type, comm, t->stream);
	case WH_NCCL_GATHER:
		return l->ncclGather(send, recv, o->count, type, o->peer, comm, t->stream);
	case WH_NCCL_SCATTER:
		return l->ncclScatter(send, recv, o->count, type, o->peer, comm, t->stream);
	case WH_NCCL_SEND:
		return l->ncclSend(send, o->count, type, o->peer, comm, t->stream);
	default:
		return l->ncclRecv(recv, o->count, type, o->peer, comm, t->stream);
	}
}

static ncclResult_t make(struct wh_session *s, const struct wh_nccl_functions *l, struct step *t)
{
	static const ncclConfig_t plain = NCCL_CONFIG_INITIALIZER;
	const struct wh_nccl_made *m = t->made;
	ncclConfig_t none = plain, *given = m->has_config ? &t->config : NULL;
	ncclUniqueId id;

	/* NCCL takes the device whose context is current. */
	if (t->ctx && s->drv.cuCtxSetCurrent(t->ctx) != CUDA_SUCCESS)
		return ncclUnhandledCudaError;
	switch (t->op->kind) {
	case WH_NCCL_INIT:
		memcpy(&id, t->list, sizeof(id));
		return l->ncclCommInitRankConfig(&t->fresh->real, m->a, id, m->b,
						 given ? given : &none);
	case WH_NCCL_INIT_SCALABLE:
		return l->ncclCommInitRankScalable(&t->fresh->real, m->a, m->b, (int)m->n,
						   (ncclUniqueId *)t->list, given ? given : &none);
	case WH_NCCL_SPLIT:
		return l->ncclCommSplit(t->comm->real, m->a, m->b, &t->fresh->real, given);
	default:
		return l->ncclCommShrink(t->comm->real, (int *)t->list, (int)m->n, &t->fresh->real,
					 given, m->a);
	}
}

static ncclResult_t run_op(struct wh_session *s, const struct wh_nccl_functions *l, struct step *t)
{
	switch (t->op->kind) {
	case WH_NCCL_FINALIZE:
		return l->ncclCommFinalize(t->comm->real);
	case WH_NCCL_DESTROY:
		return l->ncclCommDestroy(t->comm->real);
	case WH_NCCL_ABORT:
		return l->ncclCommAbort(t->comm->real);
	case WH_NCCL_REVOKE:
		return l->ncclCommRevoke(t->comm->real, t->op->op);
	}
	return wh_nccl_makes(t->op->kind) ? make(s, l, t) : launch(l, t);
}

static ncclResult_t run(struct wh_session *s, const struct wh_nccl_functions *l, struct step *t)
{
	ncclResult_t res = run_op(s, l, t);

	t->issued = res != ncclInvalidArgument && res != ncclInvalidUsage;
	return res;
}

/* ncclGroupEnd is called in each case, since it ends the group in this thread. */
static ncclResult_t run_all(struct group *g, float *time)
{
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
	ncclResult_t res = ncclSuccess, end;
	uint32_t i;

	if (!g->q->together && !g->q->simulate && g->count == 1)
		return run(g->s, g->l, &g->step[0]);
	res = g->l->ncclGroupStart();
	if (res != ncclSuccess)
		return res;
	for (i = 0; i < g->count && (res == ncclSuccess || res == ncclInProgress); i++)
		res = run(g->s, g->l, &g->step[i]);
	end = g->q->simulate ? g->l->ncclGroupSimulateEnd(&info) : g->l->ncclGroupEnd();
	*time = info.estimatedTime;
	return res == ncclSuccess || res == ncclInProgress ? end : res;
}

/* --- Before and after ------------------------------------------------------------------------- */

static bool prepare(struct group *g)
{
	struct step *t;

	for (t = g->step; t < g->step + g->count; t++) {
		if (!wh_nccl_makes(t->op->kind))
			continue;
		t->fresh = calloc(1, sizeof(*t->fresh));
		if (!t->fresh)
			return false;
		t->fresh->ranks = t->ctx ? t->made->a : -1;
		t->fresh->rank = t->ctx ? t->made->b : -1;
	}
	return true;
}

static bool good(ncclResult_t res)
{
	return res == ncclSuccess || res == ncclInProgress;
}

/* NULL is a valid answer, too: for a split without a color. */
static ncclResult_t give_out(struct group *g, uint64_t ctx, uint64_t *id)
{
	ncclResult_t res = ncclSuccess;
	struct step *t;

	for (t = g->step; t < g->step + g->count; t++) {
		if (!t->fresh)
			continue;
		*id = t->fresh->real ? wh_new(g->s, WH_H_nccl_comm, t->fresh,
					      t->ctx ? t->made->ctx : ctx) : 0;
		if (t->fresh->real && !*id)
			res = ncclSystemError;
		else if (t->fresh->real)
			t->fresh = NULL;
		id++;
	}
	return res;
}

/* Ends communicators that did not become handles. */
static void drop_fresh(struct group *g)
{
	struct step *t;

	for (t = g->step; g->step && t < g->step + g->count; t++) {
		if (t->fresh && t->fresh->real)
			g->l->ncclCommAbort(t->fresh->real);
		free(t->fresh);
		t->fresh = NULL;
	}
}

/*
 * Releases communicators. One that NCCL was told to end does not exist any more, even if the group
 * failed, since nobody knows how far it came. A record stays until the last call that has it is
 * back.
 */
static void release(struct group *g)
{
	struct wh_nccl_comm *c;
	struct step *t;

	for (t = g->step; g->step && t < g->step + g->count; t++) {
		c = t->comm;
		if (!t->counted)
			continue;
		if (ends(t->op->kind)) {
			c->closing = false;
			c->ended = t->issued;
			if (t->issued)
				wh_drop(g->s, t->op->comm);
		}
		if (!--c->users && c->ended)
			free(c);
	}
}

static uint32_t made_of(const struct group *g)
{
	uint32_t i, n = 0;

	for (i = 0; i < g->count; i++)
		n += wh_nccl_makes(g->step[i].op->kind);
	return n;
}

/* Runs the group outside of the session, between two times of being alone in it. */
static ncclResult_t away(struct group *g, float *time)
{
	ncclResult_t res;

	wh_callers_depart(g->s);
	res = run_all(g, time);
	wh_callers_rejoin(g->s);
	/* Another context may be current now. */
	if (made_of(g))
		wh_self.ctx = WH_CTX_UNKNOWN;
	return res;
}

static int32_t perform(struct group *g, struct wh_frame *f, struct wh_rsp_whNcclGroup *r)
{
	uint64_t ctx = g->q->hdr.ctx, *id = NULL;
	uint32_t made = made_of(g);
	struct wh_charge charge;
	ncclResult_t res;
	CUresult limit;

	if (made && !wh_room(f, made, sizeof(*id), (void **)&id))
		return ncclInvalidArgument;
	if (g->launches) {
		limit = wh_launch_begin(g->s, g->stream);
		if (limit != CUDA_SUCCESS)
			return limit;	/* the call has to wait, see charge.h */
	}
	if (!prepare(g)) {
		res = ncclSystemError;
		goto out;
	}
	wh_reconcile_begin(g->s, &charge);
	res = away(g, &r->time);
	/* The communicator's buffers are the tenant's memory. */
	if (made && good(res) && !wh_reconciled(g->s, &charge))
		res = ncclUnhandledCudaError;
	if (made && good(res)) {
		ncclResult_t given = give_out(g, ctx, id);

		res = given == ncclSuccess ? res : given;
		r->made = made;
	}
out:
	if (g->launches)
		wh_launch_end(g->s, g->stream);
	return res;
}

int32_t wh_do_whNcclGroup(struct wh_session *s, struct wh_frame *f)
{
	struct group g = { .s = s, .l = wh_library_functions(s, WH_LIB_nccl), .q = f->req };
	struct wh_rsp_whNcclGroup *r = wh_reply(f, sizeof(*r));
	const char *missing;
	int32_t res;

	res = decode(&g, f);
	if (res == ncclSuccess) {
		missing = lacks(&g);
		res = missing ? wh_library_missing(s, missing, ncclInvalidUsage) :
				perform(&g, f, r);
	}
	/* The hint goes in place of the handles, which only a group that succeeded has. */
	if (res == ncclSystemError && !r->made) {
		f->rsp_size = WH_WIRE_FIXED(*r);
		r->hint = wh_nccl_put_hint(f, (ncclResult_t)res);
	}
	release(&g);
	drop_fresh(&g);
	free(g.step);
	return res;
}
