// SPDX-License-Identifier: Apache-2.0
/* Operations between ranks. Each is an operation of a group, described by its numbers. */
#include "nccl_stub.h"

/* To find the stream's name may need a call, so it comes before anything else. */
#define OP(k, ...) \
	wh_nccl_add(&(struct wh_nccl_op) { \
		    .kind = WH_NCCL_##k, .stream = wh_library_stream(stream), \
		    .comm = (uintptr_t)comm, .type = datatype, __VA_ARGS__ })
#define SEND	.send = (uintptr_t)sendbuff
#define RECV	.recv = (uintptr_t)recvbuff

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
			   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
			   cudaStream_t stream)
{
	return OP(ALL_REDUCE, SEND, RECV, .count = count, .op = op);
}
WH_NCCL_ALIAS(ncclAllReduce);

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
			   ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
	return OP(ALL_GATHER, SEND, RECV, .count = sendcount);
}
WH_NCCL_ALIAS(ncclAllGather);

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
			       ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
			       cudaStream_t stream)
{
	return OP(REDUCE_SCATTER, SEND, RECV, .count = recvcount, .op = op);
}
WH_NCCL_ALIAS(ncclReduceScatter);

ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count,
			ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
			cudaStream_t stream)
{
	return OP(REDUCE, SEND, RECV, .count = count, .op = op, .peer = root);
}
WH_NCCL_ALIAS(ncclReduce);

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
			   ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
	return OP(BROADCAST, SEND, RECV, .count = count, .peer = root);
}
WH_NCCL_ALIAS(ncclBroadcast);

ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
		       cudaStream_t stream)
{
	return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}
WH_NCCL_ALIAS(ncclBcast);

ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
			  ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream)
{
	return OP(ALL_TO_ALL, SEND, RECV, .count = count);
}
WH_NCCL_ALIAS(ncclAlltoAll);

ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
			int root, ncclComm_t comm, cudaStream_t stream)
{
	return OP(GATHER, SEND, RECV, .count = count, .peer = root);
}
WH_NCCL_ALIAS(ncclGather);

ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
			 ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
	return OP(SCATTER, SEND, RECV, .count = count, .peer = root);
}
WH_NCCL_ALIAS(ncclScatter);

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
		      ncclComm_t comm, cudaStream_t stream)
{
	return OP(SEND, SEND, .count = count, .peer = peer);
}
WH_NCCL_ALIAS(ncclSend);

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
		      ncclComm_t comm, cudaStream_t stream)
{
	return OP(RECV, RECV, .count = count, .peer = peer);
}
WH_NCCL_ALIAS(ncclRecv);
