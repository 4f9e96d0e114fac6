// SPDX-License-Identifier: Apache-2.0
/*
 * Groups. Calls of a thread between ncclGroupStart() and ncclGroupEnd() are kept here, and sent
 * together when the outermost group ends. In the worker one thread has to make them all, and
 * none of them may wait for another one's end. A single call is a group of one. Errors that
 * only the library can know are reported at the group's end.
 */
#include "nccl_stub.h"

/* A thread's group while it is open. */
struct group {
	int depth;
	ncclResult_t error;	/* the first one */
	struct wh_nccl_op *op;
	size_t nops, room;
	/* The bytes that follow the operations, and the communicators that the group will make. */
	uint8_t *more;
	size_t size, more_room;
	struct made {
		struct ncclComm *comm;
		ncclComm_t *to;
	} *made;
	size_t nmade, made_room;
	/* The communicators that are gone when the group has succeeded. */
	struct ncclComm **ended;
	size_t nended, ended_room;
};

static __thread struct group group;

static bool grow(void *array, size_t *room, size_t need, size_t each)
{
	size_t n = *room ? *room : 16;
	void *p;

	if (need <= *room)
		return true;
	while (n < need)
		n *= 2;
	p = realloc(*(void **)array, n * each);
	if (!p)
		return false;
	*(void **)array = p;
	*room = n;
	return true;
}

static void forget(void)
{
	int depth = group.depth;

	free(group.op);
	free(group.more);
	free(group.made);
	free(group.ended);
	group = (struct group) { .depth = depth };
}

/* The group failed, so none of its communicators exists. */
static void undo(void)
{
	size_t i;

	for (i = 0; i < group.nmade; i++) {
		wh_nccl_made(group.made[i].comm, 0);
		*group.made[i].to = NULL;
	}
	forget();
}

static bool put(const void *p, size_t count, size_t size)
{
	size_t n = wh_wire_bytes(count, size);

	if (!grow(&group.more, &group.more_room, group.size + n, 1))
		return false;
	memset(group.more + group.size, 0, n);
	memcpy(group.more + group.size, p, count * size);
	group.size += n;
	return true;
}

/* --- Sending ------------------------------------------------------------------------ */

static void done(const uint64_t *id, size_t n)
{
	size_t i;

	for (i = 0; i < group.nmade; i++) {
		wh_nccl_made(group.made[i].comm, i < n ? id[i] : 0);
		if (i >= n || !id[i])
			*group.made[i].to = NULL;
	}
	group.nmade = 0;
	for (i = 0; i < group.nended; i++)
		wh_nccl_gone(group.ended[i]);
}

static ncclResult_t receive(struct wh_call *c, ncclResult_t res, float *time)
{
	const struct wh_rsp_whNcclGroup *r = c->rsp;
	uint64_t *id;
	size_t n;

	/* A group that failed has made no communicator, and ended none. */
	if (res == ncclSystemError && r->hdr.size >= sizeof(*r))
		wh_nccl_explain(c, sizeof(*r), r->hint);
	if (res != ncclSuccess && res != ncclInProgress)
		return res;
	n = r->made <= group.nmade ? r->made : group.nmade;
	id = calloc(n + 1, sizeof(*id));
	if (!id)
		return ncclSystemError;
	c->pos = WH_WIRE_FIXED(*r);
	wh_reply_take(c, id, n, sizeof(*id));
	if (time)
		*time = r->time;
	done(id, n);
	free(id);
	return res;
}

static ncclResult_t send_group(bool together, float *time)
{
	size_t ops = wh_wire_bytes(group.nops, sizeof(*group.op));
	struct wh_req_whNcclGroup *q;
	ncclResult_t res;
	struct wh_call c;

	q = wh_nccl_begin(&c, WH_CALL_whNcclGroup, WH_WIRE_FIXED(*q) + ops + group.size);
	if (!q) {
		if (c.result == CUDA_ERROR_INVALID_VALUE)
			wh_complain("a group of %zu NCCL operations is longer than Wormhole sends at a time",
				    group.nops);
		return wh_nccl_lost(c.result);
	}
	q->count = group.nops;
	q->together = together;
	q->simulate = time != NULL;
	q->resv = 0;
	c.pos = WH_WIRE_FIXED(*q);
	wh_request_put(&c, group.op, group.nops, sizeof(*group.op));
	wh_request_put(&c, group.more, group.size, 1);
	res = wh_nccl_run(&c, sizeof(struct wh_rsp_whNcclGroup));
	res = receive(&c, res, time);
	wh_end(&c);
	return res;
}

static ncclResult_t flush(bool together, float *time)
{
	ncclResult_t res = group.error;

	if (res == ncclSuccess && group.nops)
		res = send_group(together, time);
	undo();
	return res;
}

/* --- Operations ------------------------------------------------------------------------ */

ncclResult_t wh_nccl_spoil(ncclResult_t res)
{
	if (group.depth && group.error == ncclSuccess)
		group.error = res;
	return res;
}

/* Does the operation end the client's side of a communicator, too? */
static bool ends(uint32_t kind)
{
	return kind == WH_NCCL_DESTROY || kind == WH_NCCL_ABORT;
}

static ncclResult_t add(const struct wh_nccl_op *op, struct ncclComm *comm)
{
	struct wh_nccl_op *o;

	if (!grow(&group.op, &group.room, group.nops + 1, sizeof(*op)) ||
	    !grow(&group.ended, &group.ended_room, group.nended + 1, sizeof(*group.ended)))
		return wh_nccl_spoil(ncclSystemError);
	o = &group.op[group.nops++];
	*o = *op;
	o->comm = comm ? comm->id : 0;
	if (ends(op->kind))
		group.ended[group.nended++] = comm;
	return group.depth ? ncclSuccess : flush(false, NULL);
}

/* The operation has the program's communicator as it was given. */
ncclResult_t wh_nccl_add(const struct wh_nccl_op *op)
{
	struct ncclComm *comm = (void *)(uintptr_t)op->comm;

	/*
	 * A communicator that the same group makes cannot be used yet, which is so natively,
	 * too.
	 */
	if (!wh_nccl_alive(comm) || !comm->id)
		return wh_nccl_spoil(ncclInvalidArgument);
	return add(op, comm);
}

ncclResult_t wh_nccl_add_made(const struct wh_nccl_op *op, const struct wh_nccl_made *made,
			      const void *list, struct ncclComm *comm, ncclComm_t *made_comm)
{
	struct ncclComm *parent = (void *)(uintptr_t)op->comm;
	size_t each = op->kind == WH_NCCL_SHRINK ? sizeof(int) : sizeof(ncclUniqueId);

	if (!grow(&group.made, &group.made_room, group.nmade + 1, sizeof(*group.made)) ||
	    !put(made, 1, sizeof(*made)) || (made->n && !put(list, made->n, each))) {
		wh_nccl_made(comm, 0);
		return wh_nccl_spoil(ncclSystemError);
	}
	*made_comm = comm;
	group.made[group.nmade++] = (struct made) { comm, made_comm };
	return add(op, parent);
}

/* --- Beginning and end ------------------------------------------------------------------ */

ncclResult_t ncclGroupStart(void)
{
	group.depth++;
	return ncclSuccess;
}
WH_NCCL_ALIAS(ncclGroupStart);

static ncclResult_t end(float *time)
{
	if (!group.depth)
		return ncclInvalidUsage;
	if (--group.depth)
		return ncclSuccess;
	return flush(true, time);
}

ncclResult_t ncclGroupEnd(void)
{
	return end(NULL);
}
WH_NCCL_ALIAS(ncclGroupEnd);

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	float time = NCCL_UNDEF_FLOAT;
	ncclResult_t res;

	if (!info || info->size < sizeof(*info))
		return wh_nccl_spoil(ncclInvalidArgument);
	res = end(&time);
	info->estimatedTime = time;
	return res;
}
WH_NCCL_ALIAS(ncclGroupSimulateEnd);
