// SPDX-License-Identifier: Apache-2.0
/*
 * What nodes do: their parameters are set and read here. The calls of each type that set
 * them are in graph_node_calls.c. A node owns copies of everything that its parameters
 * point to.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

void sgpu_node_drop(struct sgpu_node *n)
{
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		free(n->kernel.args);
		free(n->kernel.attr);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (n->child)
			sgpu_graph_free(n->child);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if (n->alloc)
			sgpu_galloc_put(n->alloc);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		sgpu_cond_node_drop(n);
		break;
	default:
		break;
	}
	memset(&n->kernel, 0, SGPU_NODE_BODY);
}

/* ---- kernels ---- */

/* Replaces the kernel and its arguments, but keeps the attributes, which are no parameters. */
CUresult sgpu_node_kernel(struct sgpu_node *n, const void *handle,
			  const struct sgpu_launch *l)
{
	struct sgpu_kernel_node k = { .handle = handle, .launch = *l,
				      .attr = n->kernel.attr };
	const char *bytes;
	const struct ptx_func *f;
	CUresult rc;

	k.launch.cooperative |= k.attr &&
				k.attr[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative;
	if (!k.launch.cluster[0] && !k.launch.cluster[1] && !k.launch.cluster[2])
		memcpy(k.launch.cluster, n->kernel.launch.cluster, sizeof(k.launch.cluster));
	rc = sgpu_launch_check(n->ctx, handle, &k.launch, &bytes);
	if (rc)
		return rc;
	f = k.launch.func->ptx;
	k.func_id = k.launch.func->obj.id;
	k.args = malloc(f->nparams * sizeof(*k.args) + f->param_bytes + 1);
	if (!k.args)
		return CUDA_ERROR_OUT_OF_MEMORY;
	k.bytes = (char *)(k.args + f->nparams);
	memcpy(k.bytes, bytes, f->param_bytes);
	for (uint32_t i = 0; i < f->nparams; i++)
		k.args[i] = k.bytes + f->params[i].offset;
	k.launch.params = NULL;
	k.launch.extra = NULL;
	free(n->kernel.args);
	n->kernel = k;
	return CUDA_SUCCESS;
}

static CUresult set_kernel(struct sgpu_node *n,
			   const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
	const void *handle = p->func ? (const void *)p->func : p->kern;
	struct sgpu_launch l = {
		.grid = { p->gridDimX, p->gridDimY, p->gridDimZ },
		.block = { p->blockDimX, p->blockDimY, p->blockDimZ },
		.shared = p->sharedMemBytes,
		.params = p->kernelParams, .extra = p->extra,
	};
	CUresult rc;

	rc = sgpu_node_kernel(n, handle, &l);
	if (!rc)
		n->kernel.by_kernel = !p->func;
	return rc;
}

static CUresult copy_kernel(struct sgpu_node *to, const struct sgpu_node *from)
{
	struct sgpu_launch l = from->kernel.launch;
	size_t size = sizeof(CUlaunchAttributeValue) * CU_LAUNCH_ATTRIBUTE_MAX;
	CUresult rc;

	l.params = from->kernel.args;
	rc = sgpu_node_kernel(to, from->kernel.handle, &l);
	if (rc)
		return rc;
	to->kernel.by_kernel = from->kernel.by_kernel;
	if (!from->kernel.attr)
		return CUDA_SUCCESS;
	if (!to->kernel.attr)
		to->kernel.attr = malloc(size);
	if (!to->kernel.attr)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(to->kernel.attr, from->kernel.attr, size);
	return CUDA_SUCCESS;
}

/* ---- all types ---- */

static CUresult set_child(struct sgpu_node *n, const void *handle)
{
	struct sgpu_graph *g = sgpu_obj_get(SGPU_GRAPH, handle), *c;

	if (!g || g == n->graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (g->memory || g->conditional)
		return CUDA_ERROR_NOT_SUPPORTED;
	c = sgpu_graph_copy(g);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->owned = true;
	if (n->child)
		sgpu_graph_free(n->child);
	n->child = c;
	return CUDA_SUCCESS;
}

static CUresult set_event(struct sgpu_node *n, CUevent event)
{
	if (!sgpu_obj_get(SGPU_EVENT, event))
		return CUDA_ERROR_INVALID_HANDLE;
	n->event = event;
	return CUDA_SUCCESS;
}

static CUresult set_copy(struct sgpu_node *n, const CUDA_MEMCPY3D *c)
{
	CUresult rc = sgpu_copy_box(c, false);

	if (!rc)
		n->copy = *c;
	return rc;
}

static CUresult set_fill(struct sgpu_node *n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	CUresult rc = sgpu_fill_box(p, false);

	if (!rc)
		n->fill = *p;
	return rc;
}

static CUresult set_fill_v2(struct sgpu_node *n,
			    const CUDA_MEMSET_NODE_PARAMS_v2 *p)
{
	const CUDA_MEMSET_NODE_PARAMS old = {
		.dst = p->dst, .pitch = p->pitch, .value = p->value,
		.elementSize = p->elementSize, .width = p->width,
		.height = p->height,
	};
	struct sgpu_range range;

	/* A new node without a context takes the context from its pointer. */
	if (!p->ctx && !n->fill.elementSize && sgpu_mem_find_absent(p->dst, &range))
		return CUDA_ERROR_INVALID_VALUE;
	return set_fill(n, &old);
}

static CUresult set_alloc(struct sgpu_node *n,
			  const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
	const CUDA_MEM_ALLOC_NODE_PARAMS old = {
		.poolProps = p->poolProps, .accessDescs = p->accessDescs,
		.accessDescCount = p->accessDescCount, .bytesize = p->bytesize,
	};

	return n->alloc ? CUDA_ERROR_NOT_SUPPORTED : sgpu_node_alloc(n, &old);
}

CUresult sgpu_node_set(struct sgpu_node *n, const CUgraphNodeParams *p)
{
	if (p->type != n->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return set_kernel(n, &p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return set_copy(n, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_fill_v2(n, &p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		if (!p->host.fn)
			return CUDA_ERROR_INVALID_VALUE;
		n->host.fn = p->host.fn;
		n->host.userData = p->host.userData;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return set_child(n, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return set_event(n, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return set_event(n, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return set_alloc(n, &p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		n->free = p->free.dptr;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return sgpu_cond_node(n, &p->conditional);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult sgpu_node_take(struct sgpu_node *to, const struct sgpu_node *from)
{
	switch (from->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return copy_kernel(to, from);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return set_child(to, from->child);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if (!to->alloc) {
			to->alloc = from->alloc;
			to->alloc->refs++;
		}
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return sgpu_cond_node_take(to, from);
	default:
		memcpy(&to->kernel, &from->kernel, SGPU_NODE_BODY);
		return CUDA_SUCCESS;
	}
}

/* ---- adding ---- */

CUresult sgpu_node_add(CUgraphNode *out, CUgraph handle, const CUgraphNode *deps,
		       const CUgraphEdgeData *edges, size_t ndeps,
		       const CUgraphNodeParams *p)
{
	struct sgpu_graph *g;
	struct sgpu_node *n = NULL;
	struct sgpu_ctx *ctx = NULL;
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GRAPH, handle);
	if (!g || !out || !p)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	sgpu_ctx_current(&ctx);
	if (!ctx && (p->type == CU_GRAPH_NODE_TYPE_KERNEL ||
		     p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC))
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	rc = sgpu_node_new(g, p->type, ctx, deps, edges, ndeps, &n);
	if (!rc) {
		rc = sgpu_node_set(n, p);
		if (rc)
			sgpu_node_free(n);
	}
	if (!rc) {
		g->memory |= n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
			     n->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
		*out = (CUgraphNode)n;
	}
	return sgpu_leave(rc);
}

static bool reserved_clear(const CUgraphNodeParams *p)
{
	return !p->reserved0[0] && !p->reserved0[1] && !p->reserved0[2] &&
	       !p->reserved2;
}

CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			   const CUgraphEdgeData *edges, size_t ndeps,
			   CUgraphNodeParams *p)
{
	CUresult rc;

	if (!p || !reserved_clear(p))
		return CUDA_ERROR_INVALID_VALUE;
	rc = sgpu_node_add(out, g, deps, edges, ndeps, p);
	if (!rc && p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		p->alloc.dptr = ((struct sgpu_node *)*out)->alloc->addr;
	if (!rc && p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		p->graph.graph = (CUgraph)((struct sgpu_node *)*out)->child;
	if (!rc && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		p->conditional.phGraph_out = (CUgraph *)((struct sgpu_node *)*out)->cond.body;
	return rc;
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			size_t ndeps, CUgraphNodeParams *p)
{
	return cuGraphAddNode_v2(out, g, deps, NULL, ndeps, p);
}

/* ---- asking ---- */

static CUresult enter_typed(CUgraphNode handle, CUgraphNodeType type,
			    const void *arg, struct sgpu_node **n)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	*n = sgpu_obj_get(SGPU_NODE, handle);
	if (!arg || !*n || (*n)->type != type)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle,
				       CUDA_KERNEL_NODE_PARAMS *p)
{
	struct sgpu_kernel_node *k;
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_KERNEL, p, &n);

	if (rc)
		return rc;
	k = &n->kernel;
	*p = (CUDA_KERNEL_NODE_PARAMS){
		.func = k->by_kernel ? NULL : (CUfunction)k->handle,
		.kern = k->by_kernel ? (CUkernel)k->handle : NULL,
		.ctx = (CUcontext)n->ctx,
		.gridDimX = k->launch.grid[0], .gridDimY = k->launch.grid[1],
		.gridDimZ = k->launch.grid[2], .blockDimX = k->launch.block[0],
		.blockDimY = k->launch.block[1],
		.blockDimZ = k->launch.block[2],
		.sharedMemBytes = k->launch.shared, .kernelParams = k->args,
	};
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle,
				    CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS now;
	CUresult rc = p ? cuGraphKernelNodeGetParams_v2(handle, &now) :
			  CUDA_ERROR_INVALID_VALUE;

	if (!rc)
		memcpy(p, &now, sizeof(*p));
	return rc;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_MEMCPY, p, &n);

	if (rc)
		return rc;
	*p = n->copy;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle,
				    CUDA_MEMSET_NODE_PARAMS *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_MEMSET, p, &n);

	if (rc)
		return rc;
	*p = n->fill;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_HOST, p, &n);

	if (rc)
		return rc;
	*p = n->host;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_GRAPH, p, &n);

	if (rc)
		return rc;
	*p = (CUgraph)n->child;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_EVENT_RECORD, p, &n);

	if (rc)
		return rc;
	*p = n->event;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_WAIT_EVENT, p, &n);

	if (rc)
		return rc;
	*p = n->event;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle,
				      CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_MEM_ALLOC, p, &n);

	if (rc)
		return rc;
	*p = n->alloc->params;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *p)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_MEM_FREE, p, &n);

	if (rc)
		return rc;
	*p = n->free;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- changing ---- */

CUresult cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *p)
{
	struct sgpu_node *n;
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	n = sgpu_obj_get(SGPU_NODE, handle);
	if (!n || !p || !reserved_clear(p))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(sgpu_node_set(n, p));
}

/* ---- attributes of kernel nodes ---- */

/* Programs that were built before CUDA 11.8 have room for this much. All members fit in there. */
#define ATTRIBUTE_BYTES	32

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle,
				       CUkernelNodeAttrID which,
				       CUkernelNodeAttrValue *value)
{
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_KERNEL, value, &n);

	if (rc)
		return rc;
	if ((unsigned int)which >= CU_LAUNCH_ATTRIBUTE_MAX)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (n->kernel.attr)
		memcpy(value, &n->kernel.attr[which], ATTRIBUTE_BYTES);
	else
		memset(value, 0, ATTRIBUTE_BYTES);
	if (which == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value->cooperative = n->kernel.launch.cooperative;
	if (which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		value->clusterDim.x = n->kernel.launch.cluster[0];
		value->clusterDim.y = n->kernel.launch.cluster[1];
		value->clusterDim.z = n->kernel.launch.cluster[2];
	}
	return sgpu_leave(CUDA_SUCCESS);
}

/* Checks what a node would launch with other clusters, and takes their shape. */
static CUresult clusters_fit(const struct sgpu_node *n, struct sgpu_launch *launch)
{
	struct sgpu_launch l = *launch;
	CUresult rc = sgpu_func_get(n->ctx, n->kernel.handle, &l.func);

	if (!rc)
		rc = sgpu_cluster_check(&l);
	if (!rc)
		sgpu_cluster_shape(&l, launch->shape);
	return rc;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle,
				       CUkernelNodeAttrID which,
				       const CUkernelNodeAttrValue *value)
{
	CUlaunchAttribute a = { .id = which };
	struct sgpu_launch l;
	struct sgpu_node *n;
	CUresult rc = enter_typed(handle, CU_GRAPH_NODE_TYPE_KERNEL, value, &n);

	if (rc)
		return rc;
	if ((unsigned int)which >= CU_LAUNCH_ATTRIBUTE_MAX)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	a.value = *value;
	l = n->kernel.launch;
	rc = sgpu_launch_attribute(&l, &a);
	if (!rc && which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
		rc = clusters_fit(n, &l);
	if (!rc && !n->kernel.attr) {
		n->kernel.attr = calloc(CU_LAUNCH_ATTRIBUTE_MAX,
					sizeof(*n->kernel.attr));
		if (!n->kernel.attr)
			rc = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!rc) {
		n->kernel.launch = l;
		n->kernel.attr[which] = *value;
	}
	return sgpu_leave(rc);
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to_handle,
					 CUgraphNode from_handle)
{
	size_t size = sizeof(CUlaunchAttributeValue) * CU_LAUNCH_ATTRIBUTE_MAX;
	CUlaunchAttributeValue *attr = NULL;
	struct sgpu_node *to, *from;
	struct sgpu_launch l;
	CUresult rc = enter_typed(to_handle, CU_GRAPH_NODE_TYPE_KERNEL,
				  from_handle, &to);

	if (rc)
		return rc;
	from = sgpu_obj_get(SGPU_NODE, from_handle);
	if (!from || from->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (from == to)
		return sgpu_leave(CUDA_SUCCESS);
	l = to->kernel.launch;
	l.cooperative = from->kernel.launch.cooperative;
	memcpy(l.cluster, from->kernel.launch.cluster, sizeof(l.cluster));
	rc = clusters_fit(to, &l);
	if (rc)
		return sgpu_leave(rc);
	if (from->kernel.attr) {
		attr = malloc(size);
		if (!attr)
			return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
		memcpy(attr, from->kernel.attr, size);
	}
	free(to->kernel.attr);
	to->kernel.attr = attr;
	to->kernel.launch = l;
	return sgpu_leave(CUDA_SUCCESS);
}
