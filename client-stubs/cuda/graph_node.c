// SPDX-License-Identifier: Apache-2.0
/*
 * Graph nodes. Every call that makes or changes one becomes a whGraphNode with the parameters
 * of all types, and every question a whGraphNodeGet. If an answer has arrays that the driver
 * would own, they are kept here for each node until the next question about it.
 */
#include "callback.h"

#include <stdlib.h>

struct node_call {
	uint32_t op;
	uint64_t graph;
	uint64_t node;
	const CUgraphNode *deps;
	const CUgraphEdgeData *edges;
	size_t ndeps;
	CUgraphNodeParams p;
	struct wh_params kernel;
	const void *bytes;	/* for all types but kernels: what params point to */
	size_t nbytes;
	struct wh_callback *callback;
	/* results */
	uint64_t made;
	uint64_t value;
	bool kept;
	CUgraph *graphs;	/* of a conditional node, with room for p.conditional.size */
};

static uint64_t function_of(const struct node_call *n)
{
	return n->p.kernel.func ? (uint64_t)n->p.kernel.func : (uint64_t)n->p.kernel.kern;
}

/* Copies the parameters with the worker's numbers, and leaves out this side's pointers. */
static void put_params(CUgraphNodeParams *to, const struct node_call *n)
{
	*to = n->p;
	switch (to->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		to->kernel.kernelParams = NULL;
		to->kernel.extra = NULL;
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		to->host.fn = NULL;
		to->host.userData = n->callback;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		to->alloc.accessDescs = NULL;
		to->alloc.poolProps.win32SecurityAttributes = NULL;
		wh_locations_real(&to->alloc.poolProps.location, 1, sizeof(CUmemLocation), 0);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		to->memOp.paramArray = NULL;
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		to->conditional.phGraph_out = NULL;
		break;
	default:
		break;
	}
}

static size_t put_bytes(struct wh_call *c, const struct node_call *n)
{
	void *to = c->msg + c->pos;

	if (n->p.type == CU_GRAPH_NODE_TYPE_KERNEL)
		return wh_params_pack(function_of(n), &n->kernel, to);
	if (n->nbytes)
		memcpy(to, n->bytes, n->nbytes);
	if (n->p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		wh_locations_real(to, n->nbytes / sizeof(CUmemAccessDesc), sizeof(CUmemAccessDesc),
				  offsetof(CUmemAccessDesc, location));
	return n->nbytes;
}

static void take_answer(struct wh_call *c, struct node_call *n)
{
	const struct wh_rsp_whGraphNode *r = c->rsp;

	n->made = r->node;
	n->value = r->value;
	n->kept = r->kept;
	if (n->graphs && r->graphs == n->p.conditional.size) {
		c->pos = WH_WIRE_FIXED(*r);
		wh_reply_take(c, n->graphs, r->graphs, sizeof(uint64_t));
	}
}

static CUresult send_once(struct node_call *n)
{
	bool kernel = n->p.type == CU_GRAPH_NODE_TYPE_KERNEL;
	struct wh_req_whGraphNode *q;
	struct wh_call c;
	CUresult res;
	size_t size;

	size = WH_WIRE_FIXED(*q) + wh_wire_bytes(n->ndeps, sizeof(uint64_t)) +
	       (n->edges ? wh_wire_bytes(n->ndeps, sizeof(CUgraphEdgeData)) : 0);
	q = wh_begin(&c, WH_CALL_whGraphNode, size + (kernel ? WH_MAX_PARAM_BYTES : n->nbytes));
	if (!q)
		return c.result;
	q->op = n->op;
	q->graph = n->graph;
	q->node = n->node;
	q->dependencies = n->ndeps;
	q->edges = n->edges != NULL;
	q->callback = (uintptr_t)n->callback;
	q->resv = 0;
	put_params(&q->params, n);
	c.pos = WH_WIRE_FIXED(*q);
	if (n->ndeps)
		wh_request_put(&c, n->deps, n->ndeps, sizeof(uint64_t));
	if (n->edges)
		wh_request_put(&c, n->edges, n->ndeps, sizeof(CUgraphEdgeData));
	q->bytes = put_bytes(&c, n);
	if (q->bytes == SIZE_MAX) {
		wh_end(&c);
		/* There is no layout yet; callers never return this. */
		return CUDA_ERROR_NOT_FOUND;
	}
	c.size = size + q->bytes;
	res = wh_run(&c, sizeof(struct wh_rsp_whGraphNode));
	if (res == CUDA_SUCCESS)
		take_answer(&c, n);
	wh_end(&c);
	return res;
}

static CUresult send(struct node_call *n)
{
	CUresult res;

	if (n->ndeps && !n->deps)
		return CUDA_ERROR_INVALID_VALUE;
	res = send_once(n);
	if (res != CUDA_ERROR_NOT_FOUND || n->p.type != CU_GRAPH_NODE_TYPE_KERNEL)
		return res;
	res = wh_params_ask(function_of(n));
	return res ? res : send_once(n);
}

/* --- Types that have a part on the client's side -------------------------------------------- */

static CUresult send_with_callback(struct node_call *n, const struct wh_callback_job *j)
{
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	n->callback = wh_callback_take(j);
	if (!n->callback)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = send(n);
	if (res != CUDA_SUCCESS)
		wh_callback_cancel(n->callback);
	else if (!n->kept)
		wh_callback_keep(n->callback);
	return res;
}

/*
 * An executable graph does not tell when a function is replaced, so each function has one
 * callback for good.
 */
static CUresult send_host(struct node_call *n)
{
	const struct wh_callback_job j = { .kind = WH_JOB_NODE, .fn = n->p.host.fn,
				       .data = n->p.host.userData };

	if (!j.fn)
		return CUDA_ERROR_INVALID_VALUE;
	if (n->op == WH_NODE_EXEC)
		n->callback = wh_callback_for_good(j.fn, j.data);
	return n->callback ? send(n) : send_with_callback(n, &j);
}

static CUresult send_copy_part(struct node_call *n, const CUDA_MEMCPY3D *p,
			       enum wh_copy_sides sides)
{
	struct wh_callback_job j = { .kind = WH_JOB_COPY };
	CUresult res = wh_graph_copy_new(p, sides, &j.copy);

	if (res != CUDA_SUCCESS)
		return res;
	if (sides == WH_SIDES_HOST)
		n->p.type = CU_GRAPH_NODE_TYPE_HOST;
	else
		n->p.memcpy.copyParams = j.copy->staged;
	return send_with_callback(n, &j);
}

/*
 * A node that was made for pageable memory keeps its form, and says so if it is given pinned
 * memory. The opposite change is not possible.
 */
static CUresult send_copy(struct node_call *n)
{
	CUDA_MEMCPY3D p;
	enum wh_copy_sides sides = wh_graph_copy_sides(&n->p.memcpy.copyParams, &p);
	CUresult res;

	n->p.memcpy.copyParams = p;
	if (sides != WH_SIDES_DEVICE) {
		res = send_copy_part(n, &p, sides);
	} else {
		res = send(n);
		if (res == CUDA_ERROR_NOT_READY && p.srcMemoryType == CU_MEMORYTYPE_HOST)
			res = send_copy_part(n, &p, WH_SIDES_IN);
		else if (res == CUDA_ERROR_NOT_READY && p.dstMemoryType == CU_MEMORYTYPE_HOST)
			res = send_copy_part(n, &p, WH_SIDES_OUT);
	}
	if (res == CUDA_ERROR_NOT_READY)
		return wh_refuse("another kind of memory for a copy node");
	return res;
}

static CUresult send_kernel(struct node_call *n)
{
	CUresult res = wh_params_take(n->p.kernel.kernelParams, n->p.kernel.extra, &n->kernel);

	return res ? res : send(n);
}

static CUresult send_alloc(struct node_call *n)
{
	CUresult res;

	n->bytes = n->p.alloc.accessDescs;
	n->nbytes = n->p.alloc.accessDescCount * sizeof(CUmemAccessDesc);
	if (n->p.alloc.accessDescCount > 1024 || (n->nbytes && !n->bytes))
		return CUDA_ERROR_INVALID_VALUE;
	res = send(n);
	if (res == CUDA_SUCCESS && n->op == WH_NODE_ADD) {
		n->p.alloc.dptr = n->value;
		wh_range_add(n->value, n->p.alloc.bytesize);
	}
	return res;
}

static CUresult send_memop(struct node_call *n)
{
	n->bytes = n->p.memOp.paramArray;
	n->nbytes = n->p.memOp.count * sizeof(CUstreamBatchMemOpParams);
	if (n->p.memOp.count > 256 || (n->nbytes && !n->bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return send(n);
}

/* The array of bodies is valid as long as the node, so it is never freed. */
static CUresult send_conditional(struct node_call *n)
{
	CUresult res;

	if (!n->p.conditional.size || n->p.conditional.size > WH_MAX_BODIES)
		return CUDA_ERROR_INVALID_VALUE;
	n->graphs = calloc(n->p.conditional.size, sizeof(CUgraph));
	if (!n->graphs)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = send(n);
	if (res == CUDA_SUCCESS)
		n->p.conditional.phGraph_out = n->graphs;
	else
		free(n->graphs);
	return res;
}

static CUresult send_any(struct node_call *n)
{
	CUresult res;

	switch (n->p.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return send_kernel(n);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return send_copy(n);
	case CU_GRAPH_NODE_TYPE_HOST:
		return send_host(n);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return send_alloc(n);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return send_memop(n);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return send_conditional(n);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return wh_refuse("a graph node of an external semaphore");
	case CU_GRAPH_NODE_TYPE_GRAPH:
		res = send(n);
		if (res == CUDA_SUCCESS && n->op == WH_NODE_ADD)
			n->p.graph.graph = (CUgraph)n->value;
		return res;
	default:
		return send(n);
	}
}

/* --- Making and changing ------------------------------------------------------------------ */

static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps,
		    const CUgraphEdgeData *edges, size_t ndeps, CUgraphNodeParams *p)
{
	struct node_call n = { .op = WH_NODE_ADD, .graph = (uint64_t)graph, .deps = deps,
			       .edges = ndeps ? edges : NULL, .ndeps = ndeps, .p = *p };
	CUresult res;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	res = send_any(&n);
	if (res != CUDA_SUCCESS)
		return res;
	*out = (CUgraphNode)n.made;
	if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || p->type == CU_GRAPH_NODE_TYPE_GRAPH ||
	    p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		*p = n.p;
	return CUDA_SUCCESS;
}

static CUresult change(uint32_t op, CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p)
{
	struct node_call n = { .op = op, .graph = (uint64_t)exec, .node = (uint64_t)node, .p = *p };

	return send_any(&n);
}

static CUresult set(CUgraphNode node, const CUgraphNodeParams *p)
{
	return change(WH_NODE_SET, NULL, node, p);
}

static CUresult set_exec(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p)
{
	return exec ? change(WH_NODE_EXEC, exec, node, p) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult capture(CUstream stream, struct node_call *n)
{
	n->op = WH_NODE_CAPTURE;
	n->graph = wh_stream(stream);
	return send_any(n);
}

CUresult wh_graph_capture_host(CUstream stream, CUhostFn fn, void *data)
{
	struct node_call n = { .p.type = CU_GRAPH_NODE_TYPE_HOST };

	n.p.host.fn = fn;
	n.p.host.userData = data;
	return capture(stream, &n);
}

CUresult wh_graph_capture_copy(const struct wh_staged *s)
{
	struct node_call n = { .p.type = CU_GRAPH_NODE_TYPE_MEMCPY };
	CUDA_MEMCPY3D *p = &n.p.memcpy.copyParams;
	bool in = s->kind == WH_COPY_TO_DEVICE || s->kind == WH_COPY_TO_ARRAY;
	bool array = s->kind >= WH_COPY_TO_ARRAY;
	CUmemorytype device = array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;

	*p = (CUDA_MEMCPY3D) { .WidthInBytes = s->size, .Height = 1, .Depth = 1 };
	p->srcMemoryType = in ? CU_MEMORYTYPE_HOST : device;
	p->dstMemoryType = in ? device : CU_MEMORYTYPE_HOST;
	if (in) {
		p->srcHost = s->host;
		p->dstDevice = array ? 0 : s->device;
		p->dstArray = array ? (CUarray)s->device : NULL;
		p->dstXInBytes = s->offset;
	} else {
		p->dstHost = s->host;
		p->srcDevice = array ? 0 : s->device;
		p->srcArray = array ? (CUarray)s->device : NULL;
		p->srcXInBytes = s->offset;
	}
	n.p.memcpy.copyCtx = (CUcontext)wh_thread.ctx;
	return capture((CUstream)s->stream, &n);
}

static bool reserved_clear(const CUgraphNodeParams *p)
{
	return !p->reserved0[0] && !p->reserved0[1] && !p->reserved0[2] && !p->reserved2;
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
			   const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
			   size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	if (!nodeParams || !reserved_clear(nodeParams))
		return CUDA_ERROR_INVALID_VALUE;
	return add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
}

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies,
				 nodeParams);
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	return nodeParams && reserved_clear(nodeParams) ? set(hNode, nodeParams) :
							  CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
				  CUgraphNodeParams *nodeParams)
{
	return nodeParams && reserved_clear(nodeParams) ? set_exec(hGraphExec, hNode, nodeParams) :
							  CUDA_ERROR_INVALID_VALUE;
}

/*
 * The calls for single types of nodes. Their structs begin like the general struct's part, and
 * end there or earlier; the assertions check it.
 */
static CUresult params_of(CUgraphNodeParams *to, CUgraphNodeType type, const void *from,
			  size_t size)
{
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	memset(to, 0, sizeof(*to));
	to->type = type;
	memcpy(&to->kernel, from, size);
	return CUDA_SUCCESS;
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3), "kernel");
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == offsetof(CUDA_KERNEL_NODE_PARAMS_v3, kern),
	       "kernel of CUDA 11");
_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2),
	       "alloc");
_Static_assert(sizeof(CUDA_HOST_NODE_PARAMS_v1) == sizeof(CUDA_HOST_NODE_PARAMS_v2), "host");
_Static_assert(sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS_v1) == sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2),
	       "memory operations");

#define ADD(type, from)							\
	CUgraphNodeParams p;						\
	CUresult res = params_of(&p, CU_GRAPH_NODE_TYPE_##type, from, sizeof(*(from))); \
									\
	return res ? res : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &p)
#define SET(type, from)							\
	CUgraphNodeParams p;						\
	CUresult res = params_of(&p, CU_GRAPH_NODE_TYPE_##type, from, sizeof(*(from))); \
									\
	return res ? res : set(hNode, &p)
#define SET_EXEC(type, from)						\
	CUgraphNodeParams p;						\
	CUresult res = params_of(&p, CU_GRAPH_NODE_TYPE_##type, from, sizeof(*(from))); \
									\
	return res ? res : set_exec(hGraphExec, hNode, &p)

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	ADD(KERNEL, nodeParams);
}

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	ADD(KERNEL, nodeParams);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	SET(KERNEL, nodeParams);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	SET(KERNEL, nodeParams);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	SET_EXEC(KERNEL, nodeParams);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	SET_EXEC(KERNEL, nodeParams);
}

static CUresult copy_params(CUgraphNodeParams *to, const CUDA_MEMCPY3D *from, CUcontext ctx)
{
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	*to = (CUgraphNodeParams) { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	to->memcpy.copyCtx = ctx;
	to->memcpy.copyParams = *from;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	CUgraphNodeParams p;
	CUresult res = copy_params(&p, copyParams, ctx);

	return res ? res : add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &p);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	CUgraphNodeParams p;
	CUresult res = copy_params(&p, nodeParams, (CUcontext)wh_thread.ctx);

	return res ? res : set(hNode, &p);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	CUgraphNodeParams p;
	CUresult res = copy_params(&p, copyParams, ctx);

	return res ? res : set_exec(hGraphExec, hNode, &p);
}

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			    const CUgraphNode *dependencies, size_t numDependencies,
			    const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	ADD(HOST, nodeParams);
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	SET(HOST, nodeParams);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
				      const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	SET_EXEC(HOST, nodeParams);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				const CUgraphNode *dependencies, size_t numDependencies,
				CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	CUgraphNodeParams p;
	CUresult res = params_of(&p, CU_GRAPH_NODE_TYPE_MEM_ALLOC, nodeParams, sizeof(*nodeParams));

	if (res == CUDA_SUCCESS)
		res = add(phGraphNode, hGraph, dependencies, NULL, numDependencies, &p);
	if (res == CUDA_SUCCESS)
		nodeParams->dptr = p.alloc.dptr;
	return res;
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				  const CUgraphNode *dependencies, size_t numDependencies,
				  const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
	ADD(BATCH_MEM_OP, nodeParams);
}

CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
					const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
	SET(BATCH_MEM_OP, nodeParams);
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
	SET_EXEC(BATCH_MEM_OP, nodeParams);
}

/* --- Asking ------------------------------------------------------------------------------- */

struct answer {
	CUgraphNodeParams p;
	uint64_t callback;
	void *array;		/* kept for the node: addresses of parameters, or the objects */
};

/* Found by the node handle's index, so that a reused handle takes the place of the old one. */
struct kept {
	struct kept *next;
	uint32_t index;
	void *block;
};

static pthread_mutex_t kept_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept[256] WH_PAIR;

static bool keep(uint64_t node, void *block)
{
	uint32_t index = (uint32_t)node;
	struct kept *k;

	pthread_mutex_lock(&kept_lock);
	for (k = kept[index % 256]; k && k->index != index; k = k->next)
		;
	if (!k && (k = calloc(1, sizeof(*k)))) {
		k->index = index;
		k->next = kept[index % 256];
		kept[index % 256] = k;
	}
	if (k) {
		free(k->block);
		k->block = block;
	}
	pthread_mutex_unlock(&kept_lock);
	return k;
}

/* Returns the addresses of the parameters, followed by the parameters. */
static void *take_kernel(struct wh_call *c, uint32_t count, uint32_t bytes)
{
	struct wh_param *param = malloc(count * sizeof(*param) + 1);
	void **block = malloc(count * sizeof(void *) + bytes + 1);
	uint32_t i;

	if (param && block) {
		wh_reply_take(c, param, count, sizeof(*param));
		wh_reply_take(c, block + count, bytes, 1);
		for (i = 0; i < count; i++)
			block[i] = (uint8_t *)(block + count) +
				   (param[i].offset < bytes ? param[i].offset : 0);
	}
	free(param);
	return block;
}

static CUresult take_get(struct wh_call *c, uint64_t node, struct answer *a)
{
	const struct wh_rsp_whGraphNodeGet *r = c->rsp;
	uint32_t count = r->count, bytes = r->bytes;

	a->p = r->params;
	a->callback = r->callback;
	a->array = NULL;
	if (!bytes && !count)
		return CUDA_SUCCESS;
	if (count > wh_client.link.msg_size || bytes > wh_client.link.msg_size)
		return CUDA_ERROR_UNKNOWN;
	c->pos = WH_WIRE_FIXED(*r);
	if (count) {
		a->array = take_kernel(c, count, bytes);
	} else {
		a->array = malloc(bytes);
		if (a->array)
			wh_reply_take(c, a->array, bytes, 1);
	}
	if (a->array && keep(node, a->array))
		return CUDA_SUCCESS;
	free(a->array);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult get(CUgraphNode node, CUgraphNodeType type, struct answer *a)
{
	struct wh_req_whGraphNodeGet *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_whGraphNodeGet, sizeof(*q));
	if (!q)
		return c.result;
	q->node = (uint64_t)node;
	q->type = type;
	q->resv = 0;
	res = wh_run(&c, sizeof(struct wh_rsp_whGraphNodeGet));
	if (res == CUDA_SUCCESS)
		res = take_get(&c, (uint64_t)node, a);
	wh_end(&c);
	return res;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct answer a;
	CUresult res = nodeParams ? get(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &a) :
				    CUDA_ERROR_INVALID_VALUE;

	if (res != CUDA_SUCCESS)
		return res;
	a.p.kernel.kernelParams = a.array;
	memcpy(nodeParams, &a.p.kernel, sizeof(*nodeParams));
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUresult res = nodeParams ? cuGraphKernelNodeGetParams_v2(hNode, &p) :
				    CUDA_ERROR_INVALID_VALUE;

	if (res == CUDA_SUCCESS)
		memcpy(nodeParams, &p, sizeof(*nodeParams));
	return res;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
	struct wh_callback_job j;
	struct answer a;
	CUresult res = nodeParams ? get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &a) :
				    CUDA_ERROR_INVALID_VALUE;

	if (res != CUDA_SUCCESS)
		return res;
	*nodeParams = a.p.memcpy.copyParams;
	if (!a.callback)
		return CUDA_SUCCESS;
	if (!wh_callback_job_at(a.callback, &j) || j.kind != WH_JOB_COPY)
		return CUDA_ERROR_UNKNOWN;
	*nodeParams = j.copy->params;
	return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct wh_callback_job j;
	struct answer a;
	CUresult res = nodeParams ? get(hNode, CU_GRAPH_NODE_TYPE_HOST, &a) :
				    CUDA_ERROR_INVALID_VALUE;

	if (res != CUDA_SUCCESS)
		return res;
	if (!wh_callback_job_at(a.callback, &j) || j.kind != WH_JOB_NODE)
		return wh_refuse("the parameters of a copy from host to host");
	*nodeParams = (CUDA_HOST_NODE_PARAMS) { j.fn, j.data };
	return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
	struct answer a;
	CUresult res = params_out ? get(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &a) :
				    CUDA_ERROR_INVALID_VALUE;

	if (res != CUDA_SUCCESS)
		return res;
	a.p.alloc.accessDescs = a.array;
	wh_locations_shown(&a.p.alloc.poolProps.location, 1, sizeof(CUmemLocation), 0);
	wh_locations_shown(a.array, a.p.alloc.accessDescCount, sizeof(CUmemAccessDesc),
			   offsetof(CUmemAccessDesc, location));
	memcpy(params_out, &a.p.alloc, sizeof(*params_out));
	return CUDA_SUCCESS;
}

CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
					CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
	struct answer a;
	CUresult res = nodeParams_out ? get(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &a) :
					CUDA_ERROR_INVALID_VALUE;

	if (res != CUDA_SUCCESS)
		return res;
	a.p.memOp.paramArray = a.array;
	memcpy(nodeParams_out, &a.p.memOp, sizeof(*nodeParams_out));
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	struct wh_req_node_type *q;
	struct wh_call c;
	CUresult res;

	if (!type)
		return CUDA_ERROR_INVALID_VALUE;
	q = wh_begin(&c, WH_CALL_cuGraphNodeGetType, sizeof(*q));
	if (!q)
		return c.result;
	q->node = (uint64_t)hNode;
	res = wh_run(&c, sizeof(struct wh_rsp_node_type));
	if (res == CUDA_SUCCESS)
		*type = (CUgraphNodeType)((const struct wh_rsp_node_type *)c.rsp)->type;
	wh_end(&c);
	return res;
}
