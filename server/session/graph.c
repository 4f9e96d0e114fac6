// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of graph nodes. One message makes or changes a node of any type. Its union is checked by
 * type, and every address in it comes from the request's own bytes or is a callback. A copy with
 * pageable memory is a child graph of two nodes: the copy with a mirror in the data area, and the
 * client's part behind a callback.
 */
#include "session/callback.h"

#include <stdlib.h>

#define MAX_ARGS	4096

struct node {
	struct wh_req_whGraphNode *q;
	CUgraphNodeParams *p;	/* in the request's copy */
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	CUstream stream;
	CUgraphNode *deps;
	CUgraphEdgeData *edges;
	void *bytes;
	void *args[MAX_ARGS];	/* kernelParams */
	bool staged;
};

/* --- Parameters ----------------------------------------------------------------------------- */

/* Asks the driver for a parameter's offset and size, since the client's word does not count. */
static CUresult param_info(struct wh_session *s, void *function, bool kernel, size_t i,
			   size_t *offset, size_t *size)
{
	if (kernel ? !s->drv.cuKernelGetParamInfo : !s->drv.cuFuncGetParamInfo)
		return wh_missing(s, "cuFuncGetParamInfo");
	return kernel ? s->drv.cuKernelGetParamInfo(function, i, offset, size) :
			s->drv.cuFuncGetParamInfo(function, i, offset, size);
}

static CUresult point_args(struct wh_session *s, struct node *n, void *function, bool kernel)
{
	size_t i, offset, size;
	CUresult res;

	for (i = 0; i < MAX_ARGS; i++) {
		res = param_info(s, function, kernel, i, &offset, &size);
		if (res != CUDA_SUCCESS)
			return res == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : res;
		if (offset > n->q->bytes || size > n->q->bytes - offset)
			return CUDA_ERROR_INVALID_VALUE;
		n->args[i] = (uint8_t *)n->bytes + offset;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult take_kernel(struct wh_session *s, struct node *n)
{
	CUDA_KERNEL_NODE_PARAMS_v3 *k = &n->p->kernel;
	uint64_t id = k->func ? (uintptr_t)k->func : (uintptr_t)k->kern;
	void *kernel = wh_handles_get(&s->handles, id, WH_H_CUkernel);
	void *func = wh_handles_get(&s->handles, id, WH_H_CUfunction);
	CUresult res;

	if (!kernel && !func)
		return id ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUcontext, (uintptr_t)k->ctx, (void **)&k->ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	res = point_args(s, n, kernel ? kernel : func, kernel);
	k->func = func;
	k->kern = kernel;
	k->kernelParams = n->q->bytes ? n->args : NULL;
	k->extra = NULL;
	return res;
}

static CUresult take_copy(struct wh_session *s, struct node *n)
{
	CUDA_MEMCPY_NODE_PARAMS *m = &n->p->memcpy;

	n->staged = n->q->callback;
	if (n->staged && !wh_callback_ok(s, n->q->callback))
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUcontext, (uintptr_t)m->copyCtx, (void **)&m->copyCtx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return wh_in_CUDA_MEMCPY3D(s, &m->copyParams);
}

static CUresult take_host(struct wh_session *s, struct node *n)
{
	if (!wh_callback_ok(s, n->q->callback))
		return CUDA_ERROR_INVALID_VALUE;
	n->p->host.fn = wh_callback_function;
	n->p->host.userData = (void *)n->q->callback;
	return CUDA_SUCCESS;
}

static CUresult take_alloc(struct wh_session *s, struct node *n)
{
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 *a = &n->p->alloc;

	if (a->accessDescCount != n->q->bytes / sizeof(CUmemAccessDesc))
		return CUDA_ERROR_INVALID_VALUE;
	if (wh_locations_hidden(s, &a->poolProps.location, 1, 0, 0) ||
	    wh_locations_hidden(s, n->bytes, a->accessDescCount, sizeof(CUmemAccessDesc),
				offsetof(CUmemAccessDesc, location)))
		return CUDA_ERROR_INVALID_DEVICE;
	a->accessDescs = n->bytes;
	a->poolProps.win32SecurityAttributes = NULL;
	/* A handle of the worker would mean nothing to the client. */
	return a->poolProps.handleTypes ? CUDA_ERROR_NOT_SUPPORTED :
	       wh_only_device_memory(&a->poolProps.location, a->poolProps.allocType);
}

static CUresult take_memop(struct wh_session *s, struct node *n)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *m = &n->p->memOp;
	CUresult res;

	if (m->count != n->q->bytes / sizeof(CUstreamBatchMemOpParams))
		return CUDA_ERROR_INVALID_VALUE;
	m->paramArray = n->bytes;
	res = wh_reach_CUstreamBatchMemOpParams(s, m->paramArray, m->count);
	if (res != CUDA_SUCCESS)
		return res;
	return wh_get(s, WH_H_CUcontext, (uintptr_t)m->ctx, (void **)&m->ctx) ?
	       CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult take_memset(struct wh_session *s, struct node *n)
{
	CUDA_MEMSET_NODE_PARAMS_v2 *m = &n->p->memset;

	if (!wh_get(s, WH_H_CUcontext, (uintptr_t)m->ctx, (void **)&m->ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return wh_reach(s, m->dst, wh_rows(m->pitch, wh_times(m->width, m->elementSize),
					   m->height));
}

#define HANDLE(type, field, bad)						\
	(wh_get(s, WH_H_##type, (uintptr_t)(field), (void **)&(field)) ? CUDA_SUCCESS : (bad))

static CUresult take_params(struct wh_session *s, struct node *n)
{
	CUgraphNodeParams *p = n->p;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return take_kernel(s, n);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return take_copy(s, n);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return take_memset(s, n);
	case CU_GRAPH_NODE_TYPE_HOST:
		return take_host(s, n);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return HANDLE(CUgraph, p->graph.graph, CUDA_ERROR_INVALID_VALUE);
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return HANDLE(CUevent, p->eventWait.event, CUDA_ERROR_INVALID_HANDLE);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return HANDLE(CUevent, p->eventRecord.event, CUDA_ERROR_INVALID_HANDLE);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return take_alloc(s, n);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return take_memop(s, n);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		p->conditional.phGraph_out = NULL;
		if (!wh_known(s, WH_H_CUgraphConditionalHandle, p->conditional.handle) ||
		    p->conditional.size > WH_MAX_BODIES)
			return CUDA_ERROR_INVALID_VALUE;
		return HANDLE(CUcontext, p->conditional.ctx, CUDA_ERROR_INVALID_CONTEXT);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static bool take_target(struct wh_session *s, struct node *n)
{
	const struct wh_req_whGraphNode *q = n->q;

	switch (q->op) {
	case WH_NODE_ADD:
		n->graph = wh_handles_get(&s->handles, q->graph, WH_H_CUgraph);
		return n->graph;
	case WH_NODE_SET:
		n->node = wh_handles_get(&s->handles, q->node, WH_H_CUgraphNode);
		return n->node;
	case WH_NODE_EXEC:
		n->exec = wh_handles_get(&s->handles, q->graph, WH_H_CUgraphExec);
		n->node = wh_handles_get(&s->handles, q->node, WH_H_CUgraphNode);
		return n->exec && n->node;
	case WH_NODE_CAPTURE:
		return wh_get(s, WH_H_CUstream, q->graph, (void **)&n->stream);
	}
	return false;
}

static CUresult take_node(struct wh_session *s, struct wh_frame *f, struct node *n)
{
	struct wh_req_whGraphNode *q = f->req;

	n->q = q;
	n->p = &q->params;
	f->pos = WH_WIRE_FIXED(*q);
	if (f->req_size < sizeof(*q) || q->edges > 1 || q->resv || !take_target(s, n) ||
	    !wh_request_take(f, q->dependencies, sizeof(uint64_t), (void **)&n->deps) ||
	    (q->edges &&
	     !wh_request_take(f, q->dependencies, sizeof(*n->edges), (void **)&n->edges)) ||
	    !wh_request_take(f, q->bytes, 1, &n->bytes) ||
	    !wh_get_array(s, WH_H_CUgraphNode, n->deps, q->dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	return take_params(s, n);
}

/* --- Copies with pageable memory -------------------------------------------------------------- */

/* Finds the two nodes of such a copy; false for every other graph. */
static bool staged_nodes(struct wh_session *s, CUgraphNode node, CUgraph *graph, CUgraphNode *copy,
			 CUgraphNode *host, void **callback)
{
	CUDA_HOST_NODE_PARAMS p;
	CUgraphNodeType type;
	CUgraphNode in[3];
	size_t n = 3, i;

	*copy = *host = NULL;
	if (!s->drv.cuGraphNodeGetType || !s->drv.cuGraphChildGraphNodeGetGraph ||
	    !s->drv.cuGraphGetNodes || !s->drv.cuGraphHostNodeGetParams ||
	    s->drv.cuGraphNodeGetType(node, &type) || type != CU_GRAPH_NODE_TYPE_GRAPH ||
	    s->drv.cuGraphChildGraphNodeGetGraph(node, graph) ||
	    s->drv.cuGraphGetNodes(*graph, in, &n) || n != 2)
		return false;
	for (i = 0; i < 2; i++) {
		if (s->drv.cuGraphNodeGetType(in[i], &type))
			return false;
		if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
			*copy = in[i];
		if (type == CU_GRAPH_NODE_TYPE_HOST &&
		    !s->drv.cuGraphHostNodeGetParams(in[i], &p) && p.fn == wh_callback_copy) {
			*host = in[i];
			*callback = p.userData;
		}
	}
	return *copy && *host;
}

/* From now on the callback is freed when the graph and all its copies have ended. */
static bool hold_callback(struct wh_session *s, CUgraph graph, uint64_t callback)
{
	CUuserObject object;

	if (!s->drv.cuUserObjectCreate || !s->drv.cuGraphRetainUserObject)
		return false;
	if (s->drv.cuUserObjectCreate(&object, (void *)callback, wh_callback_gone, 1,
				      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
		return false;
	/*
	 * If this fails, the object lives on: the callback stays, and nothing is freed too early.
	 */
	return s->drv.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) ==
	       CUDA_SUCCESS;
}

static CUresult staged_graph(struct wh_session *s, struct node *n, CUgraph *out, bool *kept)
{
	CUgraphNodeParams host = { .type = CU_GRAPH_NODE_TYPE_HOST }, *first, *second;
	bool in = n->p->memcpy.copyParams.srcMemoryType == CU_MEMORYTYPE_HOST;
	CUgraphNode a, b;
	CUresult res;

	host.host.fn = wh_callback_copy;
	host.host.userData = (void *)n->q->callback;
	first = in ? &host : n->p;
	second = in ? n->p : &host;
	res = s->drv.cuGraphCreate(out, 0);
	if (res != CUDA_SUCCESS)
		return res;
	res = s->drv.cuGraphAddNode_v2(&a, *out, NULL, NULL, 0, first);
	if (res == CUDA_SUCCESS)
		res = s->drv.cuGraphAddNode_v2(&b, *out, &a, NULL, 1, second);
	if (res != CUDA_SUCCESS)
		s->drv.cuGraphDestroy(*out);
	else
		*kept = hold_callback(s, *out, n->q->callback);
	return res;
}

static CUresult set_staged(struct wh_session *s, struct node *n, bool *kept)
{
	CUDA_HOST_NODE_PARAMS p = { wh_callback_copy, (void *)n->q->callback };
	CUgraphNode copy, host;
	CUgraph graph;
	CUresult res;
	void *callback;

	if (!staged_nodes(s, n->node, &graph, &copy, &host, &callback))
		return CUDA_ERROR_NOT_READY;
	if (n->q->op == WH_NODE_EXEC) {
		res = staged_graph(s, n, &graph, kept);
		if (res != CUDA_SUCCESS)
			return res;
		res = s->drv.cuGraphExecChildGraphNodeSetParams(n->exec, n->node, graph);
		s->drv.cuGraphDestroy(graph);
		return res;
	}
	res = s->drv.cuGraphMemcpyNodeSetParams(copy, &n->p->memcpy.copyParams);
	if (res == CUDA_SUCCESS)
		res = s->drv.cuGraphHostNodeSetParams(host, &p);
	if (res == CUDA_SUCCESS)
		*kept = hold_callback(s, graph, n->q->callback);
	return res;
}

/* --- Making and changing ------------------------------------------------------------------ */

static CUresult add_node(struct wh_session *s, struct node *n, CUgraphNode *out, bool *kept)
{
	CUgraph child, added = n->p->graph.graph;
	CUresult res;

	if (!n->staged) {
		res = s->drv.cuGraphAddNode_v2(out, n->graph, n->deps, n->edges,
					       n->q->dependencies, n->p);
		if (res == CUDA_SUCCESS && n->p->type == CU_GRAPH_NODE_TYPE_HOST)
			*kept = hold_callback(s, n->graph, n->q->callback);
		if (res == CUDA_SUCCESS && n->p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
			wh_graph_needs(s, n->graph,
				       wh_location_device(&n->p->alloc.poolProps.location),
				       n->p->alloc.bytesize);
			wh_reaches_graph(s, n->p->alloc.dptr, n->p->alloc.bytesize);
		}
		if (res == CUDA_SUCCESS && n->p->type == CU_GRAPH_NODE_TYPE_GRAPH)
			wh_graph_copied(s, added, n->graph);
		return res;
	}
	res = staged_graph(s, n, &child, kept);
	if (res != CUDA_SUCCESS)
		return res;
	*n->p = (CUgraphNodeParams) { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	n->p->graph.graph = child;
	res = s->drv.cuGraphAddNode_v2(out, n->graph, n->deps, n->edges, n->q->dependencies,
				       n->p);
	s->drv.cuGraphDestroy(child);
	return res;
}

static CUresult capture_node(struct wh_session *s, struct node *n, bool *kept)
{
	const CUgraphEdgeData *edges = NULL;
	CUstreamCaptureStatus status;
	const CUgraphNode *deps;
	CUgraphNode node;
	cuuint64_t id;
	CUresult res;
	size_t count;

	if (!s->drv.cuStreamGetCaptureInfo_v3 || !s->drv.cuStreamUpdateCaptureDependencies_v2)
		return wh_missing(s, "cuStreamGetCaptureInfo_v3");
	res = s->drv.cuStreamGetCaptureInfo_v3(n->stream, &status, &id, &n->graph, &deps, &edges,
					       &count);
	if (res != CUDA_SUCCESS)
		return res;
	if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return status == CU_STREAM_CAPTURE_STATUS_NONE ?
		       CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	n->deps = (CUgraphNode *)deps;
	n->edges = (CUgraphEdgeData *)edges;
	n->q->dependencies = count;
	res = add_node(s, n, &node, kept);
	if (res != CUDA_SUCCESS)
		return res;
	return s->drv.cuStreamUpdateCaptureDependencies_v2(n->stream, &node, NULL, 1,
							   CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

static CUresult change_node(struct wh_session *s, struct node *n, bool *kept)
{
	CUgraphNode copy, host;
	uint64_t owner;
	CUgraph graph;
	CUresult res;
	void *callback;

	if (n->staged)
		return set_staged(s, n, kept);
	if (n->p->type == CU_GRAPH_NODE_TYPE_MEMCPY &&
	    staged_nodes(s, n->node, &graph, &copy, &host, &callback))
		return CUDA_ERROR_NOT_READY;
	if (n->q->op == WH_NODE_EXEC)
		return s->drv.cuGraphExecNodeSetParams(n->exec, n->node, n->p);
	res = s->drv.cuGraphNodeSetParams(n->node, n->p);
	owner = wh_handles_owner(&s->handles, n->q->node);
	graph = wh_handles_get(&s->handles, owner, WH_H_CUgraph);
	if (res == CUDA_SUCCESS && n->p->type == CU_GRAPH_NODE_TYPE_HOST && graph)
		*kept = hold_callback(s, graph, n->q->callback);
	return res;
}

static CUresult answer_added(struct wh_session *s, struct wh_frame *f, const struct node *n,
			     CUgraphNode node)
{
	struct wh_rsp_whGraphNode *r = (struct wh_rsp_whGraphNode *)f->rsp;
	const CUgraphNodeParams *p = n->p;
	uint64_t *out;
	uint32_t i;

	r->node = wh_new(s, WH_H_CUgraphNode, node, n->q->graph);
	if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
		r->value = p->alloc.dptr;
	} else if (p->type == CU_GRAPH_NODE_TYPE_GRAPH && !n->staged) {
		r->value = wh_new(s, WH_H_CUgraph, p->graph.graph, r->node);
	} else if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && p->conditional.phGraph_out) {
		if (!wh_room(f, p->conditional.size, sizeof(*out), (void **)&out))
			return CUDA_ERROR_NOT_SUPPORTED;
		r->graphs = p->conditional.size;
		for (i = 0; i < r->graphs; i++)
			out[i] = wh_new(s, WH_H_CUgraph, p->conditional.phGraph_out[i], r->node);
	}
	return CUDA_SUCCESS;
}

static bool has_all(const struct wh_session *s)
{
	return s->drv.cuGraphAddNode_v2 && s->drv.cuGraphNodeSetParams &&
	       s->drv.cuGraphExecNodeSetParams && s->drv.cuGraphCreate && s->drv.cuGraphDestroy &&
	       s->drv.cuGraphMemcpyNodeSetParams && s->drv.cuGraphHostNodeSetParams &&
	       s->drv.cuGraphExecChildGraphNodeSetParams;
}

static CUresult run_node(struct wh_session *s, struct wh_frame *f, struct node *n)
{
	struct wh_rsp_whGraphNode *r = wh_reply(f, sizeof(*r));
	CUgraphNode node = NULL;
	bool kept = false;
	CUresult res = take_node(s, f, n);

	if (res != CUDA_SUCCESS)
		return res;
	if (n->q->op == WH_NODE_ADD)
		res = add_node(s, n, &node, &kept);
	else if (n->q->op == WH_NODE_CAPTURE)
		res = capture_node(s, n, &kept);
	else
		res = change_node(s, n, &kept);
	r->kept = kept;
	return res || !node ? res : answer_added(s, f, n, node);
}

CUresult wh_do_whGraphNode(struct wh_session *s, struct wh_frame *f)
{
	struct node *n;
	CUresult res;

	if (!has_all(s))
		return wh_missing(s, "cuGraphAddNode_v2");
	n = calloc(1, sizeof(*n));
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = run_node(s, f, n);
	free(n);
	return res;
}

/* --- Asking ------------------------------------------------------------------------------- */

static const void *extra_buffer(void **extra, size_t *size)
{
	const void *buffer = NULL;

	*size = 0;
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*size = *(size_t *)extra[1];
	}
	return buffer;
}

/* Puts first the layout, then the values: the layout says how many bytes the values are. */
static CUresult put_kernel_args(struct wh_session *s, struct wh_frame *f,
				const CUDA_KERNEL_NODE_PARAMS_v2 *k)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	void *function = k->func ? (void *)k->func : (void *)k->kern, *to;
	size_t offset, size, total = 0, given, i;
	const uint8_t *buffer = extra_buffer(k->extra, &given);
	struct wh_param *param, *first = NULL;
	CUresult res;

	for (i = 0; i < MAX_ARGS; i++) {
		res = param_info(s, function, !k->func, i, &offset, &size);
		if (res != CUDA_SUCCESS)
			break;
		if (!wh_room(f, 1, sizeof(*param), (void **)&param))
			return CUDA_ERROR_NOT_SUPPORTED;
		first = first ? first : param;
		*param = (struct wh_param) { .offset = offset, .size = size };
		total = offset + size > total ? offset + size : total;
	}
	if (res != CUDA_ERROR_INVALID_VALUE)
		return res ? res : CUDA_ERROR_NOT_SUPPORTED;
	r->count = i;
	r->bytes = total;
	if (!wh_room(f, total, 1, &to))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (buffer)
		memcpy(to, buffer, given < total ? given : total);
	for (i = 0; i < r->count && k->kernelParams && !buffer; i++)
		memcpy((uint8_t *)to + first[i].offset, k->kernelParams[i], first[i].size);
	return CUDA_SUCCESS;
}

static CUresult get_kernel(struct wh_session *s, struct wh_frame *f, CUgraphNode node, uint64_t id)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	CUDA_KERNEL_NODE_PARAMS_v3 *to = &r->params.kernel;
	CUDA_KERNEL_NODE_PARAMS_v2 k = { 0 };
	CUresult res;

	if (!s->drv.cuGraphKernelNodeGetParams_v2)
		return wh_missing(s, "cuGraphKernelNodeGetParams_v2");
	res = s->drv.cuGraphKernelNodeGetParams_v2(node, &k);
	if (res != CUDA_SUCCESS)
		return res;
	memcpy(to, &k, sizeof(k));
	to->kernelParams = NULL;
	to->extra = NULL;
	to->func = (CUfunction)wh_handle_for(s, WH_H_CUfunction, k.func, id);
	to->kern = (CUkernel)wh_handle_for(s, WH_H_CUkernel, k.kern, id);
	to->ctx = (CUcontext)wh_handle_for(s, WH_H_CUcontext, k.ctx, 0);
	return k.func || k.kern ? put_kernel_args(s, f, &k) : CUDA_SUCCESS;
}

/* Is this host memory that the client could have named? */
static bool named(struct wh_session *s, const void *host)
{
	return wh_host_range(s, (uintptr_t)host, 1) || wh_host_alias(s, (uintptr_t)host, 1);
}

static CUresult get_copy(struct wh_session *s, struct wh_frame *f, CUgraphNode node)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	CUDA_MEMCPY3D *c = &r->params.memcpy.copyParams;
	CUgraphNode copy, host;
	CUgraph graph;
	CUresult res;
	void *callback;

	if (!s->drv.cuGraphMemcpyNodeGetParams)
		return wh_missing(s, "cuGraphMemcpyNodeGetParams");
	if (staged_nodes(s, node, &graph, &copy, &host, &callback)) {
		r->callback = (uintptr_t)callback;
		node = copy;
	}
	res = s->drv.cuGraphMemcpyNodeGetParams(node, c);
	if (res != CUDA_SUCCESS)
		return res;
	/* The client may not know an address outside of the data area. */
	if (c->srcMemoryType == CU_MEMORYTYPE_HOST && !named(s, c->srcHost))
		c->srcHost = NULL;
	if (c->dstMemoryType == CU_MEMORYTYPE_HOST && !named(s, c->dstHost))
		c->dstHost = NULL;
	c->srcArray = c->srcMemoryType == CU_MEMORYTYPE_ARRAY ?
		      (CUarray)wh_handle_for(s, WH_H_CUarray, c->srcArray, 0) : NULL;
	c->dstArray = c->dstMemoryType == CU_MEMORYTYPE_ARRAY ?
		      (CUarray)wh_handle_for(s, WH_H_CUarray, c->dstArray, 0) : NULL;
	return CUDA_SUCCESS;
}

static CUresult get_host(struct wh_session *s, struct wh_frame *f, CUgraphNode node)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	CUDA_HOST_NODE_PARAMS p;
	CUresult res;

	if (!s->drv.cuGraphHostNodeGetParams)
		return wh_missing(s, "cuGraphHostNodeGetParams");
	res = s->drv.cuGraphHostNodeGetParams(node, &p);
	if (res == CUDA_SUCCESS && p.fn != wh_callback_function)
		return CUDA_ERROR_NOT_SUPPORTED;
	r->callback = res ? 0 : (uintptr_t)p.userData;
	return res;
}

static CUresult put_array(struct wh_frame *f, const void *from, size_t count, size_t size)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	void *to;

	if (!wh_room(f, count, size, &to))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (count)
		memcpy(to, from, count * size);
	r->bytes = count * size;
	return CUDA_SUCCESS;
}

static CUresult get_alloc(struct wh_session *s, struct wh_frame *f, CUgraphNode node)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	CUDA_MEM_ALLOC_NODE_PARAMS p;
	CUresult res;

	if (!s->drv.cuGraphMemAllocNodeGetParams)
		return wh_missing(s, "cuGraphMemAllocNodeGetParams");
	res = s->drv.cuGraphMemAllocNodeGetParams(node, &p);
	if (res != CUDA_SUCCESS)
		return res;
	memcpy(&r->params.alloc, &p, sizeof(p));
	r->params.alloc.accessDescs = NULL;
	r->params.alloc.poolProps.win32SecurityAttributes = NULL;
	return put_array(f, p.accessDescs, p.accessDescs ? p.accessDescCount : 0,
			 sizeof(*p.accessDescs));
}

static CUresult get_memop(struct wh_session *s, struct wh_frame *f, CUgraphNode node)
{
	struct wh_rsp_whGraphNodeGet *r = (struct wh_rsp_whGraphNodeGet *)f->rsp;
	CUDA_BATCH_MEM_OP_NODE_PARAMS p;
	CUresult res;

	if (!s->drv.cuGraphBatchMemOpNodeGetParams)
		return wh_missing(s, "cuGraphBatchMemOpNodeGetParams");
	res = s->drv.cuGraphBatchMemOpNodeGetParams(node, &p);
	if (res != CUDA_SUCCESS)
		return res;
	memcpy(&r->params.memOp, &p, sizeof(p));
	r->params.memOp.paramArray = NULL;
	r->params.memOp.ctx = (CUcontext)wh_handle_for(s, WH_H_CUcontext, p.ctx, 0);
	return put_array(f, p.paramArray, p.count, sizeof(*p.paramArray));
}

CUresult wh_do_whGraphNodeGet(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whGraphNodeGet *q = f->req;
	struct wh_rsp_whGraphNodeGet *r = wh_reply(f, sizeof(*r));
	CUgraphNode node;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	node = wh_handles_get(&s->handles, q->node, WH_H_CUgraphNode);
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	r->params.type = (CUgraphNodeType)q->type;
	switch (q->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return get_kernel(s, f, node, q->node);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return get_copy(s, f, node);
	case CU_GRAPH_NODE_TYPE_HOST:
		return get_host(s, f, node);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return get_alloc(s, f, node);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return get_memop(s, f, node);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult wh_do_cuGraphNodeGetType(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_node_type *q = f->req;
	struct wh_rsp_node_type *r = wh_reply(f, sizeof(*r));
	CUgraphNode node, copy, host;
	CUgraphNodeType type;
	CUgraph graph;
	CUresult res;
	void *callback;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	node = wh_handles_get(&s->handles, q->node, WH_H_CUgraphNode);
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->drv.cuGraphNodeGetType)
		return wh_missing(s, "cuGraphNodeGetType");
	res = s->drv.cuGraphNodeGetType(node, &type);
	if (res == CUDA_SUCCESS && staged_nodes(s, node, &graph, &copy, &host, &callback))
		type = CU_GRAPH_NODE_TYPE_MEMCPY;
	r->type = res ? 0 : type;
	return res;
}
