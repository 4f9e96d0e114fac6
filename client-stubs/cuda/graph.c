// SPDX-License-Identifier: Apache-2.0
/*
 * Graph functions that are more than one forwarded call: instantiation with a struct of
 * parameters, and capture information. The driver owns the dependency arrays of the latter, so
 * they are kept for each thread until its next question.
 */
#include "stubs.h"

#include <stdio.h>
#include <stdlib.h>

static CUresult ask_exec(uint32_t call, const struct wh_req_instantiate *ask,
			 struct wh_rsp_instantiate *r)
{
	struct wh_req_instantiate *q;
	struct wh_call c;
	CUresult res;

	memset(r, 0, sizeof(*r));
	q = wh_begin(&c, call, sizeof(*q));
	if (!q)
		return c.result;
	q->graph = ask->graph;
	q->exec = ask->exec;
	q->flags = ask->flags;
	q->stream = ask->stream;
	res = wh_run(&c, sizeof(*r));
	if (((const struct wh_rsp *)c.rsp)->size >= sizeof(*r))
		memcpy(r, c.rsp, sizeof(*r));
	wh_end(&c);
	return res;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS *p = instantiateParams;
	struct wh_req_instantiate ask = { .graph = (uint64_t)hGraph };
	struct wh_rsp_instantiate r;
	CUresult res;

	if (!p || !phGraphExec)
		return CUDA_ERROR_INVALID_VALUE;
	ask.flags = p->flags;
	ask.stream = wh_stream(p->hUploadStream);
	res = ask_exec(WH_CALL_cuGraphInstantiateWithParams, &ask, &r);
	p->hErrNode_out = (CUgraphNode)r.node;
	p->result_out = (CUgraphInstantiateResult)r.result;
	if (res == CUDA_SUCCESS)
		*phGraphExec = (CUgraphExec)r.exec;
	return res;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
			      CUgraphExecUpdateResultInfo *resultInfo)
{
	struct wh_req_instantiate ask = { .graph = (uint64_t)hGraph, .exec = (uint64_t)hGraphExec };
	struct wh_rsp_instantiate r;
	CUresult res;

	if (!resultInfo)
		return CUDA_ERROR_INVALID_VALUE;
	res = ask_exec(WH_CALL_cuGraphExecUpdate_v2, &ask, &r);
	resultInfo->result = (CUgraphExecUpdateResult)r.result;
	resultInfo->errorNode = (CUgraphNode)r.node;
	resultInfo->errorFromNode = (CUgraphNode)r.from;
	return res;
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
			   CUgraphExecUpdateResult *updateResult_out)
{
	CUgraphExecUpdateResultInfo info;
	CUresult res;

	if (!hErrorNode_out || !updateResult_out)
		return CUDA_ERROR_INVALID_VALUE;
	res = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
	*hErrorNode_out = info.errorNode;
	*updateResult_out = info.result;
	return res;
}

/* --- A picture of a graph ----------------------------------------------------------------- */

static CUresult dot_piece(CUgraph graph, unsigned int flags, uint64_t offset, uint8_t *buf,
			  size_t size, struct wh_rsp_dot *r)
{
	struct wh_req_dot *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_cuGraphDebugDotPrint, sizeof(*q));
	if (!q)
		return c.result;
	q->graph = (uint64_t)graph;
	q->flags = flags;
	q->offset = offset;
	q->addr = (uintptr_t)buf;
	q->size = size;
	q->resv = 0;
	res = wh_run(&c, sizeof(*r));
	if (res == CUDA_SUCCESS)
		memcpy(r, c.rsp, sizeof(*r));
	wh_end(&c);
	return res;
}

static CUresult dot_to(FILE *f, CUgraph graph, unsigned int flags)
{
	struct wh_rsp_dot r = { .copied = 1 };
	uint64_t done = 0;
	uint8_t *buf;
	size_t size;
	CUresult res = wh_staging_get(&buf, &size);

	if (res != CUDA_SUCCESS)
		return res;
	do {
		res = dot_piece(graph, flags, done, buf, size, &r);
		if (res != CUDA_SUCCESS)
			break;
		if (r.copied > size || fwrite(buf, 1, r.copied, f) != r.copied)
			res = CUDA_ERROR_OPERATING_SYSTEM;
		done += r.copied;
	} while (res == CUDA_SUCCESS && r.copied && done < r.total);
	wh_staging_put();
	return res;
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	CUresult res = wh_usable();
	FILE *f;

	if (res != CUDA_SUCCESS)
		return res;
	f = path ? fopen(path, "w") : NULL;
	if (!f)
		return CUDA_ERROR_INVALID_VALUE;
	res = dot_to(f, hGraph, flags);
	if (fclose(f) && res == CUDA_SUCCESS)
		res = CUDA_ERROR_OPERATING_SYSTEM;
	return res;
}

CUresult wh_per_thread_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
		CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	if (instantiateParams && !instantiateParams->hUploadStream)
		instantiateParams->hUploadStream = CU_STREAM_PER_THREAD;
	return cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams);
}

/* --- Capture information --------------------------------------------------------------- */

static __thread struct {
	CUgraphNode *nodes;
	CUgraphEdgeData *edges;
	size_t room;
} kept __attribute__((tls_model("initial-exec")));

static bool make_room(size_t n)
{
	CUgraphNode *nodes;
	CUgraphEdgeData *edges;

	if (n <= kept.room)
		return true;
	nodes = realloc(kept.nodes, n * sizeof(*nodes));
	if (nodes)
		kept.nodes = nodes;
	edges = realloc(kept.edges, n * sizeof(*edges));
	if (edges)
		kept.edges = edges;
	if (!nodes || !edges)
		return false;
	kept.room = n;
	return true;
}

static CUresult ask(uint32_t call, CUstream stream, bool edges, struct wh_rsp_capture_info *info)
{
	uint64_t id = wh_stream(stream);
	struct wh_req_capture_info *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, call, sizeof(*q));
	if (!q)
		return c.result;
	q->stream = id;
	q->edges = edges;
	res = wh_run(&c, sizeof(*info));
	if (res == CUDA_SUCCESS) {
		memcpy(info, c.rsp, sizeof(*info));
		c.pos = WH_WIRE_FIXED(*info);
		if (info->dependencies > wh_client.link.msg_size ||
		    !make_room(info->dependencies)) {
			res = CUDA_ERROR_OUT_OF_MEMORY;
		} else {
			wh_reply_take(&c, kept.nodes, info->dependencies, sizeof(*kept.nodes));
			if (info->edges)
				wh_reply_take(&c, kept.edges, info->dependencies,
					      sizeof(*kept.edges));
		}
	}
	wh_end(&c);
	return res;
}

static void give(const struct wh_rsp_capture_info *i, CUstreamCaptureStatus *status,
		 cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps, size_t *n)
{
	*status = (CUstreamCaptureStatus)i->status;
	if (i->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return;
	if (id)
		*id = i->id;
	if (graph)
		*graph = (CUgraph)i->graph;
	if (deps)
		*deps = kept.nodes;
	if (n)
		*n = i->dependencies;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
				   cuuint64_t *id_out, CUgraph *graph_out,
				   const CUgraphNode **dependencies_out,
				   size_t *numDependencies_out)
{
	struct wh_rsp_capture_info info;
	CUresult res;

	if (!captureStatus_out)
		return CUDA_ERROR_INVALID_VALUE;
	res = ask(WH_CALL_cuStreamGetCaptureInfo_v2, hStream, false, &info);
	if (res == CUDA_SUCCESS)
		give(&info, captureStatus_out, id_out, graph_out, dependencies_out,
		     numDependencies_out);
	return res;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
				   cuuint64_t *id_out, CUgraph *graph_out,
				   const CUgraphNode **dependencies_out,
				   const CUgraphEdgeData **edgeData_out,
				   size_t *numDependencies_out)
{
	struct wh_rsp_capture_info info;
	CUresult res;

	if (!captureStatus_out)
		return CUDA_ERROR_INVALID_VALUE;
	res = ask(WH_CALL_cuStreamGetCaptureInfo_v3, hStream, edgeData_out, &info);
	if (res != CUDA_SUCCESS)
		return res;
	give(&info, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
	if (edgeData_out)
		*edgeData_out = info.edges ? kept.edges : NULL;
	return CUDA_SUCCESS;
}
