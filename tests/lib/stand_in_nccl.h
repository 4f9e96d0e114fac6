/* SPDX-License-Identifier: Apache-2.0 */
/* An NCCL that knows which communicators it made, and counts calls that come with an ended one. */
#ifndef WORMHOLE_TESTS_LIB_STAND_IN_NCCL_H
#define WORMHOLE_TESTS_LIB_STAND_IN_NCCL_H

#include "../unit/fuzz.h"
#include "libraries/nccl_group.h"

static int nccl_reached, nccl_foreign;

struct ncclComm {
	int alive;
};

/* The array is long, so that an ended communicator's place is not soon used for another one. */
#define NCCL_MOST	4096
static struct ncclComm nccl_all[NCCL_MOST];
static unsigned int nccl_made;

static void nccl_known(const struct ncclComm *c)
{
	nccl_reached++;
	nccl_foreign += !c || c->alive != 1;
}

static ncclResult_t nccl_init(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
			      ncclConfig_t *config)
{
	(void)n, (void)id, (void)rank;
	touch(config, sizeof(*config));
	if (config->netName)
		touch(config->netName, strlen(config->netName));
	nccl_reached++;
	if (next() % 8 == 0)
		return ncclInternalError;
	*comm = &nccl_all[nccl_made++ % NCCL_MOST];
	(*comm)->alive = 1;
	return next() % 8 ? ncclSuccess : ncclInProgress;
}

static ncclResult_t nccl_init_scalable(ncclComm_t *comm, int n, int rank, int nids,
				       ncclUniqueId *ids, ncclConfig_t *config)
{
	touch(ids, nids * sizeof(*ids));
	return nccl_init(comm, n, ids[0], rank, config);
}

static ncclResult_t nccl_split(ncclComm_t comm, int color, int key, ncclComm_t *out,
			       ncclConfig_t *config)
{
	static ncclConfig_t none;

	(void)color, (void)key;
	nccl_known(comm);
	return next() % 4 ? nccl_init(out, 1, (ncclUniqueId) { { 0 } }, 0,
				      config ? config : &none) : 0;
}

static ncclResult_t nccl_shrink(ncclComm_t comm, int *ranks, int n, ncclComm_t *out,
				ncclConfig_t *config, int flags)
{
	(void)flags;
	touch(ranks, n * sizeof(*ranks));
	return nccl_split(comm, 0, 0, out, config);
}

static ncclResult_t nccl_end(ncclComm_t comm)
{
	nccl_known(comm);
	comm->alive = 0;
	return next() % 8 ? ncclSuccess : ncclSystemError;
}

static ncclResult_t nccl_finalize(ncclComm_t comm)
{
	nccl_known(comm);
	return ncclSuccess;
}

static ncclResult_t nccl_revoke(ncclComm_t comm, int flags)
{
	(void)flags;
	nccl_known(comm);
	return ncclSuccess;
}

static ncclResult_t nccl_all_reduce(const void *send, void *recv, size_t n, ncclDataType_t type,
				    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)recv, (void)n, (void)type, (void)op, (void)stream;
	nccl_known(comm);
	return ncclSuccess;
}

static ncclResult_t nccl_reduce(const void *send, void *recv, size_t n, ncclDataType_t type,
				ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)root;
	return nccl_all_reduce(send, recv, n, type, op, comm, stream);
}

static ncclResult_t nccl_gather(const void *send, void *recv, size_t n, ncclDataType_t type,
				ncclComm_t comm, cudaStream_t stream)
{
	return nccl_all_reduce(send, recv, n, type, ncclSum, comm, stream);
}

static ncclResult_t nccl_rooted(const void *send, void *recv, size_t n, ncclDataType_t type,
				int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)root;
	return nccl_all_reduce(send, recv, n, type, ncclSum, comm, stream);
}

static ncclResult_t nccl_send_to(const void *send, size_t n, ncclDataType_t type, int peer,
				 ncclComm_t comm, cudaStream_t stream)
{
	(void)peer;
	return nccl_all_reduce(send, NULL, n, type, ncclSum, comm, stream);
}

static ncclResult_t nccl_recv_from(void *recv, size_t n, ncclDataType_t type, int peer,
				   ncclComm_t comm, cudaStream_t stream)
{
	(void)peer;
	return nccl_all_reduce(NULL, recv, n, type, ncclSum, comm, stream);
}

static ncclResult_t nccl_number(const ncclComm_t comm, int *n)
{
	nccl_known(comm);
	*n = 1;
	return ncclSuccess;
}

static int nccl_depth;

static ncclResult_t nccl_start(void)
{
	nccl_depth++;
	return ncclSuccess;
}

static ncclResult_t nccl_finish(void)
{
	nccl_depth--;
	return next() % 8 ? ncclSuccess : ncclInternalError;
}

static ncclResult_t nccl_simulate(ncclSimInfo_t *info)
{
	(void)info;
	return nccl_finish();
}

static ncclResult_t nccl_version(int *version)
{
	if (!version)
		return ncclInvalidArgument;
	*version = 22809;
	return ncclSuccess;
}

static ncclResult_t nccl_unique_id(ncclUniqueId *id)
{
	memset(id, 1, sizeof(*id));
	return next() % 8 ? ncclSuccess : ncclSystemError;
}

/* Returns a text of any length. */
static const char *nccl_last_error(ncclComm_t comm)
{
	static char text[300];

	if (comm)
		nccl_known(comm);
	memset(text, 'e', sizeof(text) - 1);
	return text + next() % sizeof(text);
}

static ncclResult_t nccl_async_error(ncclComm_t comm, ncclResult_t *error)
{
	nccl_known(comm);
	*error = next() % 8 ? ncclSuccess : ncclInProgress;
	return ncclSuccess;
}

static ncclResult_t nccl_register(const ncclComm_t comm, void *buffer, size_t size, void **handle)
{
	(void)size;
	nccl_known(comm);
	*handle = next() % 8 ? buffer : NULL;
	return ncclSuccess;
}

static ncclResult_t nccl_deregister(const ncclComm_t comm, void *handle)
{
	(void)handle;
	nccl_known(comm);
	return ncclSuccess;
}

/* Makes an operator; a factor in host memory is read. */
static ncclResult_t nccl_make_op(ncclRedOp_t *op, void *factor, ncclDataType_t type,
				 ncclScalarResidence_t where, ncclComm_t comm)
{
	nccl_known(comm);
	if (where == ncclScalarHostImmediate)
		touch(factor, wh_nccl_type_size(type));
	*op = ncclNumOps;
	return ncclSuccess;
}

static ncclResult_t nccl_end_op(ncclRedOp_t op, ncclComm_t comm)
{
	(void)op;
	nccl_known(comm);
	return ncclSuccess;
}

static struct wh_nccl_functions *stand_in_nccl(void)
{
	static struct wh_nccl_functions l = {
		.ncclGetVersion = nccl_version, .ncclGetUniqueId = nccl_unique_id,
		.ncclGetLastError = nccl_last_error, .ncclCommGetAsyncError = nccl_async_error,
		.ncclCommRegister = nccl_register, .ncclCommDeregister = nccl_deregister,
		.ncclRedOpCreatePreMulSum = nccl_make_op, .ncclRedOpDestroy = nccl_end_op,
		.ncclGroupStart = nccl_start, .ncclGroupEnd = nccl_finish,
		.ncclGroupSimulateEnd = nccl_simulate,
		.ncclCommInitRankConfig = nccl_init, .ncclCommInitRankScalable = nccl_init_scalable,
		.ncclCommSplit = nccl_split, .ncclCommShrink = nccl_shrink,
		.ncclCommFinalize = nccl_finalize,
		.ncclCommDestroy = nccl_end, .ncclCommAbort = nccl_end,
		.ncclCommRevoke = nccl_revoke,
		.ncclAllReduce = nccl_all_reduce, .ncclAllGather = nccl_gather,
		.ncclReduceScatter = nccl_all_reduce,
		.ncclReduce = nccl_reduce, .ncclBroadcast = nccl_rooted,
		.ncclAlltoAll = nccl_gather,
		.ncclGather = nccl_rooted, .ncclScatter = nccl_rooted, .ncclSend = nccl_send_to,
		.ncclRecv = nccl_recv_from, .ncclCommCount = nccl_number,
		.ncclCommUserRank = nccl_number,
	};

	return &l;
}

#endif
