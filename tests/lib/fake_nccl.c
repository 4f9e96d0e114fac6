// SPDX-License-Identifier: Apache-2.0
/*
 * An NCCL that writes down what it is told, thread by thread. A communicator outside of a
 * group waits until all of its ranks are there, as with the genuine NCCL; a communicator
 * in a group is made when the group ends.
 */
#include <nccl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "fake_library.h"

struct ncclComm {
	int number, ranks, rank;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static int made, arrived;
static __thread int depth;

ncclResult_t ncclGetVersion(int *version)
{
	*version = 22809;
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	memset(id, 0, sizeof(*id));
	strcpy(id->internal, "the fake's id");
	id->internal[127] = 'z';
	return ncclSuccess;
}

const char *ncclGetLastError(ncclComm_t comm)
{
	return comm ? "of a communicator" : "of none";
}

/* --- Communicators ---------------------------------------------------------------------- */

static ncclResult_t await(int ranks)
{
	struct timespec end;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	pthread_mutex_lock(&lock);
	arrived++;
	pthread_cond_broadcast(&came);
	while (arrived % ranks && !rc)
		rc = pthread_cond_timedwait(&came, &lock, &end);
	pthread_cond_broadcast(&came);
	pthread_mutex_unlock(&lock);
	return rc ? ncclSystemError : ncclSuccess;
}

static ncclComm_t make(int ranks, int rank)
{
	ncclComm_t c = calloc(1, sizeof(*c));

	pthread_mutex_lock(&lock);
	c->number = ++made;
	pthread_mutex_unlock(&lock);
	c->ranks = ranks;
	c->rank = rank;
	return c;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
				    ncclConfig_t *config)
{
	if (strcmp(id.internal, "the fake's id") || id.internal[127] != 'z')
		return ncclInvalidArgument;
	*comm = make(ranks, rank);
	note("init ranks=%d rank=%d blocking=%d net=%s context=%d", ranks, rank,
	     config->blocking != 0, config->netName ? config->netName : "-", has_context());
	if (!config->blocking)
		return ncclInProgress;
	return depth || ranks == 1 ? ncclSuccess : await(ranks);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *out,
			   ncclConfig_t *config)
{
	note("split %d color=%d key=%d config=%d", comm->number, color, key, config != NULL);
	*out = color == NCCL_SPLIT_NOCOLOR ? NULL : make(7, 3);
	return ncclSuccess;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *exclude, int n, ncclComm_t *out,
			    ncclConfig_t *config, int flags)
{
	note("shrink %d without %d of %d flags=%d config=%d", comm->number, n ? exclude[n - 1] : -1, n,
	     flags, config != NULL);
	*out = make(comm->ranks - n, 0);
	return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	note("finalize %d", comm->number);
	return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	note("destroy %d", comm->number);
	free(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	note("abort %d", comm->number);
	free(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	(void)comm;
	*error = ncclSuccess;
	return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *n)
{
	*n = comm->ranks;
	return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *n)
{
	*n = comm->rank;
	return ncclSuccess;
}

/* --- Groups and operations ---------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void)
{
	note("start");
	depth++;
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
	depth--;
	note("end");
	return ncclSuccess;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	depth--;
	note("simulate");
	info->estimatedTime = 12.5f;
	return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	note("all_reduce %d same=%d count=%zu type=%d op=%d stream=%s", comm->number, send == recv,
	     count, type, op, stream ? "own" : "0");
	return op == 4711 ? ncclInvalidArgument : ncclSuccess;
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)stream;
	note("reduce %d to=%d count=%zu type=%d op=%d recv=%d", comm->number, root, count, type, op,
	     recv != NULL);
	return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)recv, (void)stream;
	note("all_gather %d count=%zu type=%d", comm->number, count, type);
	return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
			   int root, ncclComm_t comm, cudaStream_t stream)
{
	(void)stream;
	note("broadcast %d from=%d same=%d count=%zu type=%d", comm->number, root, send == recv, count,
	     type);
	return ncclSuccess;
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)stream;
	note("send %d to=%d count=%zu type=%d", comm->number, peer, count, type);
	return ncclSuccess;
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
		      cudaStream_t stream)
{
	(void)recv, (void)stream;
	note("recv %d from=%d count=%zu type=%d", comm->number, peer, count, type);
	return ncclSuccess;
}

/* --- Buffers and operators ------------------------------------------------------------------ */

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle)
{
	note("register %d size=%zu", comm->number, size);
	*handle = buff;
	return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	note("deregister %d known=%d", comm->number, handle != NULL);
	return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
				      ncclScalarResidence_t residence, ncclComm_t comm)
{
	if (residence == ncclScalarHostImmediate)
		note("factor %d %g type=%d", comm->number, *(float *)scalar, type);
	*op = (ncclRedOp_t)42;
	return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	note("forget %d op=%d", comm->number, op);
	return ncclSuccess;
}
