// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of whole graphs: they are made ready to run, updated, printed. Also attributes of kernel
 * nodes. Handlers of nodes are in graph.c.
 */
#define _GNU_SOURCE
#include "session/handler.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Executable graphs: answers that matter most when the call fails ---------------------- */

CUresult wh_do_cuGraphInstantiateWithParams(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_instantiate *q = f->req;
	struct wh_rsp_instantiate *r = wh_reply(f, sizeof(*r));
	CUDA_GRAPH_INSTANTIATE_PARAMS p = { 0 };
	CUgraphExec exec;
	CUgraph graph;
	CUresult res;

	r->result = CUDA_GRAPH_INSTANTIATE_ERROR;
	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	graph = wh_handles_get(&s->handles, q->graph, WH_H_CUgraph);
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUstream, q->stream, (void **)&p.hUploadStream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s->drv.cuGraphInstantiateWithParams)
		return wh_missing(s, "cuGraphInstantiateWithParams");
	p.flags = q->flags;
	res = s->drv.cuGraphInstantiateWithParams(&exec, graph, &p);
	if (res == CUDA_SUCCESS && !wh_exec_fits(s, exec))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->result = p.result_out;
	if (p.hErrNode_out)
		r->node = wh_handle_for(s, WH_H_CUgraphNode, p.hErrNode_out, q->graph);
	if (res != CUDA_SUCCESS)
		return res;
	wh_graph_copied(s, graph, exec);
	r->exec = wh_new(s, WH_H_CUgraphExec, exec, q->hdr.ctx);
	return CUDA_SUCCESS;
}

CUresult wh_do_cuGraphExecUpdate_v2(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_instantiate *q = f->req;
	struct wh_rsp_instantiate *r = wh_reply(f, sizeof(*r));
	CUgraphExecUpdateResultInfo info = { .result = CU_GRAPH_EXEC_UPDATE_ERROR };
	CUgraphExec exec;
	CUgraph graph;
	CUresult res;

	r->result = info.result;
	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	graph = wh_handles_get(&s->handles, q->graph, WH_H_CUgraph);
	exec = wh_handles_get(&s->handles, q->exec, WH_H_CUgraphExec);
	if (!graph || !exec)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->drv.cuGraphExecUpdate_v2)
		return wh_missing(s, "cuGraphExecUpdate_v2");
	res = s->drv.cuGraphExecUpdate_v2(exec, graph, &info);
	r->result = info.result;
	if (info.errorNode)
		r->node = wh_handle_for(s, WH_H_CUgraphNode, info.errorNode, q->graph);
	if (info.errorFromNode)
		r->from = wh_handle_for(s, WH_H_CUgraphNode, info.errorFromNode, q->graph);
	return res;
}

/* --- Attributes of kernel nodes: numbers only, as for streams ----------------------------- */

static CUresult node_attribute(unsigned int attr)
{
	switch (attr) {
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return attr > WH_LAST_LAUNCH_ATTRIBUTE ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult wh_check_cuGraphKernelNodeGetAttribute(struct wh_session *s,
		const struct wh_req_cuGraphKernelNodeGetAttribute *q)
{
	(void)s;
	return node_attribute(q->attr);
}

CUresult wh_check_cuGraphKernelNodeSetAttribute(struct wh_session *s,
		const struct wh_req_cuGraphKernelNodeSetAttribute *q)
{
	(void)s;
	return node_attribute(q->attr);
}

/* --- A picture of a graph ----------------------------------------------------------------- */

/* The driver writes a file. It is one in memory, whose pieces go to the client. */
static CUresult print_dot(struct wh_session *s, CUgraph graph, unsigned int flags)
{
	char path[64];

	if (s->dot)
		close(s->dot - 1);
	s->dot = memfd_create("wormhole-dot", MFD_CLOEXEC) + 1;
	if (!s->dot)
		return CUDA_ERROR_OPERATING_SYSTEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->dot - 1);
	return s->drv.cuGraphDebugDotPrint(graph, path, flags);
}

CUresult wh_do_cuGraphDebugDotPrint(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_dot *q = f->req;
	struct wh_rsp_dot *r = wh_reply(f, sizeof(*r));
	CUresult res = CUDA_SUCCESS;
	struct stat st;
	CUgraph graph;
	ssize_t n;

	if (f->req_size < sizeof(*q) || !wh_host_range(s, q->addr, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	graph = wh_handles_get(&s->handles, q->graph, WH_H_CUgraph);
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->drv.cuGraphDebugDotPrint)
		return wh_missing(s, "cuGraphDebugDotPrint");
	if (!q->offset)
		res = print_dot(s, graph, q->flags);
	if (res != CUDA_SUCCESS)
		return res;
	if (!s->dot || fstat(s->dot - 1, &st) || q->offset > INT64_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	n = pread(s->dot - 1, (void *)q->addr, q->size, q->offset);
	if (n < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	r->total = st.st_size;
	r->copied = n;
	return CUDA_SUCCESS;
}
