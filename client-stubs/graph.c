// SPDX-License-Identifier: Apache-2.0
/*
 * Graph functions that are not one forwarded call: instantiation with a struct
 * of parameters, and capture information, whose dependency arrays belong to the
 * driver and are kept for each thread until its next question.
 */
#include "client.h"

#include <stdlib.h>

CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS *p = instantiateParams;
	CUresult res;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	p->hErrNode_out = NULL;
	p->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
	res = cuGraphInstantiateWithFlags(phGraphExec, hGraph,
					  p->flags & ~(cuuint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD);
	if (res != CUDA_SUCCESS)
		return res;
	p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	if (p->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		return cuGraphUpload(*phGraphExec, p->hUploadStream);
	return CUDA_SUCCESS;
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
		if (info->dependencies > wh_client.link.msg_size || !make_room(info->dependencies)) {
			res = CUDA_ERROR_OUT_OF_MEMORY;
		} else {
			wh_take(&c, kept.nodes, info->dependencies, sizeof(*kept.nodes));
			if (info->edges)
				wh_take(&c, kept.edges, info->dependencies, sizeof(*kept.edges));
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
				   const CUgraphNode **dependencies_out, size_t *numDependencies_out)
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
				   const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
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
