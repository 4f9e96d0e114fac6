// SPDX-License-Identifier: Apache-2.0
/*
 * Communicators: the program's handle, how one is made, and its answers about itself. As
 * natively, a communicator's device is the one whose context is current; the worker is told the
 * context.
 */
#include "nccl_stub.h"

#define ALIVE	0x77684e63636c436dULL

static struct wh_handles comms = WH_HANDLES(struct ncclComm);
WH_IN_CHILD(pthread_mutex_init(&comms.lock, NULL))

bool wh_nccl_alive(const struct ncclComm *c)
{
	return c && c->h.alive == ALIVE;
}

struct ncclComm *wh_nccl_new(int ranks, int rank, int device)
{
	struct ncclComm *c = wh_handle_take(&comms);

	if (!c)
		return NULL;
	c->ranks = ranks;
	c->rank = rank;
	c->device = device;
	c->h.alive = ALIVE;
	return c;
}

void wh_nccl_gone(struct ncclComm *c)
{
	wh_handle_put(&comms, &c->h);
}

void wh_nccl_made(struct ncclComm *c, uint64_t id)
{
	c->id = id;
	if (!id)
		wh_nccl_gone(c);
}

/* --- Making them ------------------------------------------------------------------------- */

/*
 * Copies as much of the configuration as the program's header has. NCCL judges its size, magic
 * and version.
 */
static void pack_config(const ncclConfig_t *config, struct wh_nccl_made *out)
{
	static const ncclConfig_t none = NCCL_CONFIG_INITIALIZER;
	struct wh_nccl_config *to = &out->config;
	size_t size;

	out->has_config = config != NULL;
	if (!config)
		return;
	size = config->size < sizeof(*config) ? config->size : sizeof(*config);
	to->c = none;
	memcpy(&to->c, config, size);
	to->c.size = size;
	if (to->c.netName)
		strncpy(to->net, to->c.netName, sizeof(to->net) - 1);
	if (to->c.commName)
		strncpy(to->comm, to->c.commName, sizeof(to->comm) - 1);
	to->c.netName = to->c.commName = NULL;
}

/*
 * Finds the place of a new communicator: the thread's device, which becomes the first one if it
 * has none.
 */
static ncclResult_t here(uint64_t *ctx, int *device)
{
	CUcontext current = NULL;
	CUdevice dev = 0;
	CUresult res = wh_library_prepare(&wh_nccl_library);

	if (res == CUDA_SUCCESS)
		res = cuCtxGetCurrent(&current);
	if (res == CUDA_SUCCESS)
		res = cuCtxGetDevice(&dev);
	*ctx = (uintptr_t)current;
	*device = dev;
	return res == CUDA_SUCCESS ? ncclSuccess : wh_nccl_lost(res);
}

static ncclResult_t init(ncclComm_t *comm, int ranks, int rank, const ncclUniqueId *ids, int nids,
			 const ncclConfig_t *config)
{
	struct wh_nccl_op op = { .kind = nids == 1 ? WH_NCCL_INIT : WH_NCCL_INIT_SCALABLE };
	struct wh_nccl_made made = { .a = ranks, .b = rank, .n = nids };
	struct ncclComm *c;
	ncclResult_t res;
	int device;

	if (comm)
		*comm = NULL;
	if (!comm || !ids || nids < 1 || nids > WH_NCCL_MAX_IDS || ranks < 1 || rank < 0 ||
	    rank >= ranks)
		return wh_nccl_spoil(ncclInvalidArgument);
	res = here(&made.ctx, &device);
	if (res != ncclSuccess)
		return wh_nccl_spoil(res);
	c = wh_nccl_new(ranks, rank, device);
	if (!c)
		return wh_nccl_spoil(ncclSystemError);
	pack_config(config, &made);
	return wh_nccl_add_made(&op, &made, ids, c, comm);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	return init(comm, nranks, rank, &id, 1, NULL);
}
WH_NCCL_ALIAS(ncclCommInitRank);

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank,
				    ncclConfig_t *config)
{
	return init(comm, nranks, rank, &id, 1, config);
}
WH_NCCL_ALIAS(ncclCommInitRankConfig);

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids,
				      ncclUniqueId *ids, ncclConfig_t *config)
{
	return init(comm, nranks, rank, ids, nids, config);
}
WH_NCCL_ALIAS(ncclCommInitRankScalable);

/* Makes one rank on a device, whose context is current only meanwhile. */
static ncclResult_t init_on(ncclComm_t *comm, int n, int rank, const ncclUniqueId *id, int device)
{
	CUcontext ctx = NULL;
	ncclResult_t res;
	CUdevice dev;
	CUresult err;

	err = cuDeviceGet(&dev, device);
	if (err == CUDA_SUCCESS)
		err = cuDevicePrimaryCtxRetain(&ctx, dev);
	if (err == CUDA_SUCCESS)
		err = cuCtxPushCurrent(ctx);
	if (err != CUDA_SUCCESS)
		return wh_nccl_spoil(err == CUDA_ERROR_INVALID_DEVICE ? ncclInvalidArgument :
				     ncclUnhandledCudaError);
	res = init(comm, n, rank, id, 1, NULL);
	cuCtxPopCurrent(&ctx);
	return res;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
	ncclResult_t res, end;
	ncclUniqueId id;
	int i;

	if (!comm || ndev < 1)
		return wh_nccl_spoil(ncclInvalidArgument);
	res = ncclGetUniqueId(&id);
	if (res != ncclSuccess)
		return wh_nccl_spoil(res);
	ncclGroupStart();
	for (i = 0; i < ndev && res == ncclSuccess; i++)
		res = init_on(&comm[i], ndev, i, &id, devlist ? devlist[i] : i);
	end = ncclGroupEnd();
	return res == ncclSuccess ? end : res;
}
WH_NCCL_ALIAS(ncclCommInitAll);

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
			   ncclConfig_t *config)
{
	struct wh_nccl_op op = { .kind = WH_NCCL_SPLIT, .comm = (uintptr_t)comm };
	struct wh_nccl_made made = { .a = color, .b = key };
	struct ncclComm *c;

	if (!wh_nccl_alive(comm) || !comm->id || !newcomm)
		return wh_nccl_spoil(ncclInvalidArgument);
	c = wh_nccl_new(-1, -1, comm->device);
	if (!c)
		return wh_nccl_spoil(ncclSystemError);
	pack_config(config, &made);
	return wh_nccl_add_made(&op, &made, NULL, c, newcomm);
}
WH_NCCL_ALIAS(ncclCommSplit);

ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int n, ncclComm_t *newcomm,
			    ncclConfig_t *config, int flags)
{
	struct wh_nccl_op op = { .kind = WH_NCCL_SHRINK, .comm = (uintptr_t)comm };
	struct wh_nccl_made made = { .a = flags, .n = n };
	struct ncclComm *c;

	if (!wh_nccl_alive(comm) || !comm->id || !newcomm || n < 0 || n > WH_NCCL_MAX_RANKS ||
	    (n && !exclude))
		return wh_nccl_spoil(ncclInvalidArgument);
	c = wh_nccl_new(-1, -1, comm->device);
	if (!c)
		return wh_nccl_spoil(ncclSystemError);
	pack_config(config, &made);
	return wh_nccl_add_made(&op, &made, exclude, c, newcomm);
}
WH_NCCL_ALIAS(ncclCommShrink);

/* --- Ending them ---------------------------------------------------------------------------- */

static ncclResult_t simple(ncclComm_t comm, uint32_t kind, int flags)
{
	return wh_nccl_add(&(struct wh_nccl_op) {
		.kind = kind, .comm = (uintptr_t)comm, .op = flags,
	});
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	return simple(comm, WH_NCCL_FINALIZE, 0);
}
WH_NCCL_ALIAS(ncclCommFinalize);

/* As natively, it is no error to end no communicator. */
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	return comm ? simple(comm, WH_NCCL_DESTROY, 0) : ncclSuccess;
}
WH_NCCL_ALIAS(ncclCommDestroy);

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	return comm ? simple(comm, WH_NCCL_ABORT, 0) : ncclSuccess;
}
WH_NCCL_ALIAS(ncclCommAbort);

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
	return simple(comm, WH_NCCL_REVOKE, flags);
}
WH_NCCL_ALIAS(ncclCommRevoke);

/* --- What they say ---------------------------------------------------------------------------- */

static ncclResult_t ask(ncclComm_t comm, int *error, int *ranks, int *rank)
{
	const struct wh_rsp_whNcclAsk *r;
	struct wh_req_whNcclAsk *q;
	ncclResult_t res;
	struct wh_call c;

	if (!wh_nccl_alive(comm) || !comm->id)
		return ncclInvalidArgument;
	q = wh_nccl_begin(&c, WH_CALL_whNcclAsk, sizeof(*q));
	if (!q)
		return wh_nccl_lost(c.result);
	q->comm = comm->id;
	res = wh_nccl_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == ncclSuccess) {
		*error = r->error;
		*ranks = r->ranks;
		*rank = r->rank;
	}
	wh_end(&c);
	return res;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	int e, ranks, rank;
	ncclResult_t res;

	if (!error)
		return ncclInvalidArgument;
	res = ask(comm, &e, &ranks, &rank);
	if (res == ncclSuccess)
		*error = (ncclResult_t)e;
	return res;
}
WH_NCCL_ALIAS(ncclCommGetAsyncError);

/* Returns a number. If the communicator was split off, only the worker knows it. */
static ncclResult_t number(ncclComm_t comm, int *out, const int *known)
{
	int error, ranks, rank;
	ncclResult_t res;

	if (!wh_nccl_alive(comm) || !out)
		return ncclInvalidArgument;
	if (*known < 0) {
		res = ask(comm, &error, &ranks, &rank);
		if (res != ncclSuccess)
			return res;
		if (ranks < 0)
			return ncclInProgress;
		comm->ranks = ranks;
		comm->rank = rank;
	}
	*out = *known;
	return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
	return number(comm, count, comm ? &comm->ranks : NULL);
}
WH_NCCL_ALIAS(ncclCommCount);

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
	return number(comm, rank, comm ? &comm->rank : NULL);
}
WH_NCCL_ALIAS(ncclCommUserRank);

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
	return number(comm, device, comm ? &comm->device : NULL);
}
WH_NCCL_ALIAS(ncclCommCuDevice);
