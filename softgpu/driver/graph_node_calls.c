// SPDX-License-Identifier: Apache-2.0
/*
 * The calls that exist once for each type of node: add a node, change it, and change it in
 * an executable graph. Each converts its parameters to the form for all types, and leaves
 * the rest to the calls for all types (graph_node.c, graph_exec.c).
 */
#include <string.h>

#include "graph.h"

/*
 * Each function here converts the parameters of one type to those for all types. NULL stays
 * NULL, so that the calls for all types refuse it.
 */
static CUgraphNodeParams *kernel(CUgraphNodeParams *to, const void *p, size_t size)
{
	*to = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL };
	if (p)
		memcpy(&to->kernel, p, size);
	return p ? to : NULL;
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3),
	       "two names of one struct");
_Static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v3, kern) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1),
	       "the old one, and more");

static CUgraphNodeParams *copy(CUgraphNodeParams *to, const CUDA_MEMCPY3D *p)
{
	*to = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	if (p)
		to->memcpy.copyParams = *p;
	return p ? to : NULL;
}

static CUgraphNodeParams *fill(CUgraphNodeParams *to, const CUDA_MEMSET_NODE_PARAMS *p,
			       CUcontext ctx)
{
	*to = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_MEMSET };
	if (p)
		memcpy(&to->memset, p, sizeof(*p));
	to->memset.ctx = ctx;
	return p ? to : NULL;
}

_Static_assert(offsetof(CUDA_MEMSET_NODE_PARAMS_v2, ctx) == sizeof(CUDA_MEMSET_NODE_PARAMS),
	       "the old one, and a context");

static CUgraphNodeParams *host(CUgraphNodeParams *to, const CUDA_HOST_NODE_PARAMS *p)
{
	*to = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST };
	if (p) {
		to->host.fn = p->fn;
		to->host.userData = p->userData;
	}
	return p ? to : NULL;
}

static CUgraphNodeParams *recording(CUgraphNodeParams *to, CUevent event)
{
	*to = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };
	to->eventRecord.event = event;
	return to;
}

static CUgraphNodeParams *waiting(CUgraphNodeParams *to, CUevent event)
{
	*to = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };
	to->eventWait.event = event;
	return to;
}

/* ---- kernels ---- */

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
				 size_t ndeps, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return sgpu_node_add(out, g, deps, NULL, ndeps, kernel(&all, p, sizeof(*p)));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, kernel(&all, p, sizeof(*p)));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec x, CUgraphNode n,
					   const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return cuGraphExecNodeSetParams(x, n, kernel(&all, p, sizeof(*p)));
}

CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUgraphNodeParams all;

	return sgpu_node_add(out, g, deps, NULL, ndeps, kernel(&all, p, sizeof(*p)));
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, kernel(&all, p, sizeof(*p)));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec x, CUgraphNode n,
					const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUgraphNodeParams all;

	return cuGraphExecNodeSetParams(x, n, kernel(&all, p, sizeof(*p)));
}

/* ---- copies: there is one device, so it does not matter which context is named ---- */

CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
			      const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	CUgraphNodeParams all;

	(void)ctx;
	return sgpu_node_add(out, g, deps, NULL, ndeps, copy(&all, p));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode n, const CUDA_MEMCPY3D *p)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, copy(&all, p));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_MEMCPY3D *p,
					CUcontext ctx)
{
	CUgraphNodeParams all;

	(void)ctx;
	return cuGraphExecNodeSetParams(x, n, copy(&all, p));
}

/* ---- fills ---- */

CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
			      const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	CUgraphNodeParams all;

	return sgpu_node_add(out, g, deps, NULL, ndeps, fill(&all, p, ctx));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, fill(&all, p, NULL));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode n,
					const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	CUgraphNodeParams all;

	return cuGraphExecNodeSetParams(x, n, fill(&all, p, ctx));
}

/* ---- host functions and events ---- */

CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
			    const CUDA_HOST_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return sgpu_node_add(out, g, deps, NULL, ndeps, host(&all, p));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, host(&all, p));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p)
{
	CUgraphNodeParams all;

	return cuGraphExecNodeSetParams(x, n, host(&all, p));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
				   size_t ndeps, CUevent event)
{
	CUgraphNodeParams all;

	return sgpu_node_add(out, g, deps, NULL, ndeps, recording(&all, event));
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode n, CUevent event)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, recording(&all, event));
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec x, CUgraphNode n, CUevent event)
{
	CUgraphNodeParams all;

	return cuGraphExecNodeSetParams(x, n, recording(&all, event));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
				 size_t ndeps, CUevent event)
{
	CUgraphNodeParams all;

	return sgpu_node_add(out, g, deps, NULL, ndeps, waiting(&all, event));
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode n, CUevent event)
{
	CUgraphNodeParams all;

	return cuGraphNodeSetParams(n, waiting(&all, event));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec x, CUgraphNode n, CUevent event)
{
	CUgraphNodeParams all;

	return cuGraphExecNodeSetParams(x, n, waiting(&all, event));
}

/* ---- types of nodes that can be added but not changed ---- */

CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
				  size_t ndeps, CUgraph child)
{
	CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

	all.graph.graph = child;
	return sgpu_node_add(out, g, deps, NULL, ndeps, &all);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps)
{
	CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_EMPTY };

	return sgpu_node_add(out, g, deps, NULL, ndeps, &all);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
				size_t ndeps, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&all.alloc, p, sizeof(*p));
	rc = cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &all);
	if (!rc)
		p->dptr = all.alloc.dptr;
	return rc;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			       size_t ndeps, CUdeviceptr addr)
{
	CUgraphNodeParams all = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };

	all.free.dptr = addr;
	return sgpu_node_add(out, g, deps, NULL, ndeps, &all);
}
