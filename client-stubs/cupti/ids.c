// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers by which records name contexts, streams and graphs. They are those of the worker's
 * CUPTI, as they are in its records.
 */
#include "cupti_stub.h"

static CUptiResult ask(uint32_t what, CUcontext ctx, const void *handle, uint64_t *id)
{
	const struct wh_rsp_whCuptiId *r;
	struct wh_req_whCuptiId *q;
	struct wh_call c;
	CUptiResult res;

	q = wh_cupti_begin(&c, WH_CALL_whCuptiId, sizeof(*q));
	if (!q)
		return cu_ret(wh_cupti_lost(c.result));
	q->what = what;
	q->resv = 0;
	q->ctx = (uintptr_t)ctx;
	q->handle = (uintptr_t)handle;
	res = wh_cupti_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUPTI_SUCCESS)
		*id = r->id;
	wh_end(&c);
	return cu_ret(res);
}

static CUptiResult ask_short(uint32_t what, CUcontext ctx, const void *handle, uint32_t *id)
{
	uint64_t wide = 0;
	CUptiResult res;

	if (!id)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	res = ask(what, ctx, handle, &wide);
	if (res == CUPTI_SUCCESS)
		*id = wide;
	return res;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	return ask_short(WH_CUPTI_CONTEXT, context, NULL, contextId);
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
			       uint32_t *streamId)
{
	const void *there = (const void *)(uintptr_t)wh_library_stream(stream);

	return ask_short(perThreadStream ? WH_CUPTI_STREAM_PER_THREAD : WH_CUPTI_STREAM, context,
			 there, streamId);
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	return ask_short(WH_CUPTI_GRAPH, NULL, graph, pId);
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	return ask_short(WH_CUPTI_GRAPH_EXEC, NULL, graphExec, pId);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	return nodeId ? ask(WH_CUPTI_NODE, NULL, node, nodeId) :
	       cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
}

/* A context's device has the program's number already. */
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	CUcontext before = NULL;
	CUdevice dev;
	CUresult res;

	if (!deviceId)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	res = context ? cuCtxPushCurrent(context) : CUDA_SUCCESS;
	if (res != CUDA_SUCCESS)
		return cu_ret(CUPTI_ERROR_INVALID_CONTEXT);
	res = cuCtxGetDevice(&dev);
	if (context)
		cuCtxPopCurrent(&before);
	if (res != CUDA_SUCCESS)
		return cu_ret(CUPTI_ERROR_INVALID_CONTEXT);
	*deviceId = dev;
	return CUPTI_SUCCESS;
}
