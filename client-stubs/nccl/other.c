// SPDX-License-Identifier: Apache-2.0
/*
 * The other parts of NCCL: its version and errors, memory, buffers, and the program's own
 * operators.
 */
#include "nccl_stub.h"

/* --- The library -------------------------------------------------------------------------- */

ncclResult_t ncclGetVersion(int *version)
{
	return version ? wh_raw_ncclGetVersion(version) : ncclInvalidArgument;
}
WH_NCCL_ALIAS(ncclGetVersion);

void wh_nccl_explain(struct wh_call *c, size_t fixed, uint64_t size)
{
	static bool said;
	const char *text;

	c->pos = wh_wire_bytes(1, fixed);
	text = wh_reply_take_string(c, size);
	if (text && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		wh_complain("%s", text);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	const struct wh_rsp_ncclGetUniqueId *r;
	struct wh_call c;
	ncclResult_t res;

	if (!id)
		return ncclInvalidArgument;
	if (!wh_nccl_begin(&c, WH_CALL_ncclGetUniqueId, sizeof(struct wh_req)))
		return wh_nccl_lost(c.result);
	res = wh_nccl_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == ncclSuccess)
		*id = r->id;
	else if (res == ncclSystemError && r->hdr.size >= sizeof(*r))
		wh_nccl_explain(&c, sizeof(*r), r->hint);
	wh_end(&c);
	return res;
}
WH_NCCL_ALIAS(ncclGetUniqueId);

const char *ncclGetErrorString(ncclResult_t result)
{
	switch (result) {
	case ncclSuccess:		return "no error";
	case ncclUnhandledCudaError:	return "unhandled cuda error (the server's log may say more)";
	case ncclSystemError:		return "unhandled system error (the server's log may say more)";
	case ncclInternalError:		return "internal error (the server's log may say more)";
	case ncclInvalidArgument:	return "invalid argument (the server's log may say more)";
	case ncclInvalidUsage:		return "invalid usage (the server's log may say more)";
	case ncclRemoteError:		return "remote process exited or there was a network error";
	case ncclInProgress:		return "NCCL operation in progress";
	default:			return "unknown result code";
	}
}
WH_NCCL_ALIAS(ncclGetErrorString);

const char *ncclGetLastError(ncclComm_t comm)
{
	const struct wh_rsp_whNcclLastError *r;
	struct wh_req_whNcclLastError *q;
	const char *text = "";
	struct wh_call c;

	q = wh_nccl_begin(&c, WH_CALL_whNcclLastError, sizeof(*q));
	if (!q)
		return text;
	q->comm = wh_nccl_alive(comm) ? comm->id : 0;
	if (wh_nccl_run(&c, sizeof(*r)) == ncclSuccess) {
		r = c.rsp;
		c.pos = WH_WIRE_FIXED(*r);
		text = wh_reply_take_string(&c, r->size);
	}
	wh_end(&c);
	return text ? text : "";
}
WH_NCCL_ALIAS(ncclGetLastError);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void ncclResetDebugInit(void)
{
	wh_refuse("ncclResetDebugInit");
}
WH_NCCL_ALIAS(ncclResetDebugInit);
#pragma GCC diagnostic pop

/* nccl_device.h declares this; a build need not have that header. */
ncclResult_t ncclDevCommCreate(void);
ncclResult_t ncclDevCommCreate(void)
{
	return wh_nccl_refuse("ncclDevCommCreate");
}
WH_NCCL_ALIAS(ncclDevCommCreate);

ncclResult_t ncclDevCommDestroy(void);
ncclResult_t ncclDevCommDestroy(void)
{
	return wh_nccl_refuse("ncclDevCommDestroy");
}
WH_NCCL_ALIAS(ncclDevCommDestroy);

/* --- Memory and buffers ---------------------------------------------------------------------- */

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
	CUdeviceptr p = 0;
	CUresult res;

	if (!ptr || !size)
		return ncclInvalidArgument;
	res = wh_library_prepare(&wh_nccl_library);
	if (res == CUDA_SUCCESS)
		res = cuMemAlloc(&p, size);
	*ptr = (void *)(uintptr_t)p;
	return res == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}
WH_NCCL_ALIAS(ncclMemAlloc);

ncclResult_t ncclMemFree(void *ptr)
{
	return cuMemFree((uintptr_t)ptr) == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}
WH_NCCL_ALIAS(ncclMemFree);

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size, void **handle)
{
	const struct wh_rsp_whNcclRegister *r;
	struct wh_req_whNcclRegister *q;
	ncclResult_t res;
	struct wh_call c;

	if (!wh_nccl_alive(comm) || !handle)
		return ncclInvalidArgument;
	q = wh_nccl_begin(&c, WH_CALL_whNcclRegister, sizeof(*q));
	if (!q)
		return wh_nccl_lost(c.result);
	q->comm = comm->id;
	q->addr = (uintptr_t)buff;
	q->size = size;
	res = wh_nccl_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == ncclSuccess)
		*handle = (void *)(uintptr_t)r->buffer;
	wh_end(&c);
	return res;
}
WH_NCCL_ALIAS(ncclCommRegister);

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	struct wh_req_whNcclDeregister *q;
	ncclResult_t res;
	struct wh_call c;

	if (!wh_nccl_alive(comm))
		return ncclInvalidArgument;
	q = wh_nccl_begin(&c, WH_CALL_whNcclDeregister, sizeof(*q));
	if (!q)
		return wh_nccl_lost(c.result);
	q->comm = comm->id;
	q->buffer = (uintptr_t)handle;
	res = wh_nccl_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}
WH_NCCL_ALIAS(ncclCommDeregister);

/* --- Operators of the program's ------------------------------------------------------------ */

static ncclResult_t red_op(const struct wh_req_whNcclRedOp *what, ncclComm_t comm, ncclRedOp_t *op)
{
	const struct wh_rsp_whNcclRedOp *r;
	struct wh_req_whNcclRedOp *q;
	ncclResult_t res;
	struct wh_call c;

	if (!wh_nccl_alive(comm))
		return ncclInvalidArgument;
	q = wh_nccl_begin(&c, WH_CALL_whNcclRedOp, sizeof(*q));
	if (!q)
		return wh_nccl_lost(c.result);
	memcpy(&q->hdr + 1, &what->hdr + 1, sizeof(*q) - sizeof(q->hdr));
	q->comm = comm->id;
	res = wh_nccl_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == ncclSuccess && op)
		*op = (ncclRedOp_t)r->op;
	wh_end(&c);
	return res;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
				      ncclScalarResidence_t residence, ncclComm_t comm)
{
	struct wh_req_whNcclRedOp q = { .type = datatype, .residence = residence };

	if (!op || !scalar)
		return ncclInvalidArgument;
	if (residence == ncclScalarHostImmediate)
		memcpy(&q.factor, scalar, wh_nccl_type_size(datatype));
	else
		q.addr = (uintptr_t)scalar;
	return red_op(&q, comm, op);
}
WH_NCCL_ALIAS(ncclRedOpCreatePreMulSum);

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	return red_op(&(struct wh_req_whNcclRedOp) { .op = op, .destroy = 1 }, comm, NULL);
}
WH_NCCL_ALIAS(ncclRedOpDestroy);
