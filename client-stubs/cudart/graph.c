// SPDX-License-Identifier: Apache-2.0
/*
 * Graph nodes whose parameters differ between runtime and driver: the runtime names kernels by
 * their host functions, copies by their kind, and variables by symbols.
 */
#include <string.h>

#include "cudart.h"

/* --- Kernels ------------------------------------------------------------------------------ */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *out)
{
	CUkernel kernel;
	cudaError_t err = p ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_kernel(p->func, &kernel);
	if (err)
		return err;
	*out = (CUDA_KERNEL_NODE_PARAMS) {
		.kern = kernel,
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				   const cudaGraphNode_t *pDependencies, size_t numDependencies,
				   const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t err = kernel_params(pNodeParams, &p);

	if (!err)
		err = rt_error(DRV(cuGraphAddKernelNode(pGraphNode, graph, pDependencies,
							numDependencies, &p)));
	return rt_ret(err);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					 const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t err = kernel_params(pNodeParams, &p);

	if (!err)
		err = rt_error(DRV(cuGraphKernelNodeSetParams(node, &p)));
	return rt_ret(err);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t err = kernel_params(pNodeParams, &p);

	if (!err)
		err = rt_error(DRV(cuGraphExecKernelNodeSetParams(hGraphExec, node, &p)));
	return rt_ret(err);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
					 struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t err = pNodeParams ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuGraphKernelNodeGetParams(node, &p)));
	if (!err)
		*pNodeParams = (struct cudaKernelNodeParams) {
			.func = (void *)rt_host_function(p.kern, p.func),
			.gridDim = { p.gridDimX, p.gridDimY, p.gridDimZ },
			.blockDim = { p.blockDimX, p.blockDimY, p.blockDimZ },
			.sharedMemBytes = p.sharedMemBytes,
			.kernelParams = p.kernelParams,
			.extra = p.extra,
		};
	return rt_ret(err);
}

/* --- Copies -------------------------------------------------------------------------------- */

static cudaError_t copy_params(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c, CUcontext *ctx)
{
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_context(ctx);
	return err ? err : rt_copy_3d(p, c);
}

/* Returns the parameters of a copy of one row, by addresses alone. */
static struct cudaMemcpy3DParms one_row(void *dst, const void *src, size_t count,
					enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms) {
		.srcPtr = { (void *)src, count, count, 1 },
		.dstPtr = { dst, count, count, 1 },
		.extent = { count, 1, 1 },
		.kind = kind,
	};
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				   const cudaGraphNode_t *pDependencies, size_t numDependencies,
				   const struct cudaMemcpy3DParms *pCopyParams)
{
	CUDA_MEMCPY3D c;
	CUcontext ctx;
	cudaError_t err = copy_params(pCopyParams, &c, &ctx);

	if (!err)
		err = rt_error(DRV(cuGraphAddMemcpyNode(pGraphNode, graph, pDependencies,
							numDependencies, &c, ctx)));
	return rt_ret(err);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
					 const struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D c;
	CUcontext ctx;
	cudaError_t err = copy_params(pNodeParams, &c, &ctx);

	if (!err)
		err = rt_error(DRV(cuGraphMemcpyNodeSetParams(node, &c)));
	return rt_ret(err);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D c;
	CUcontext ctx;
	cudaError_t err = copy_params(pNodeParams, &c, &ctx);

	if (!err)
		err = rt_error(DRV(cuGraphExecMemcpyNodeSetParams(hGraphExec, node, &c, ctx)));
	return rt_ret(err);
}

static bool on_host(CUmemorytype type)
{
	return type == CU_MEMORYTYPE_HOST;
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *c)
{
	if (c->srcMemoryType == CU_MEMORYTYPE_UNIFIED || c->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	if (on_host(c->srcMemoryType))
		return on_host(c->dstMemoryType) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return on_host(c->dstMemoryType) ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static struct cudaPitchedPtr pitched(CUmemorytype type, const void *host, CUdeviceptr device,
				     size_t pitch, size_t height, const CUDA_MEMCPY3D *c)
{
	return (struct cudaPitchedPtr) {
		.ptr = on_host(type) ? (void *)host : (void *)(uintptr_t)device,
		.pitch = pitch,
		.xsize = c->WidthInBytes,
		.ysize = height,
	};
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
					 struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D c;
	cudaError_t err = pNodeParams ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuGraphMemcpyNodeGetParams(node, &c)));
	if (err)
		return rt_ret(err);
	*pNodeParams = (struct cudaMemcpy3DParms) {
		.srcArray = (cudaArray_t)c.srcArray,
		.srcPos = { c.srcXInBytes, c.srcY, c.srcZ },
		.srcPtr = pitched(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcPitch, c.srcHeight,
				  &c),
		.dstArray = (cudaArray_t)c.dstArray,
		.dstPos = { c.dstXInBytes, c.dstY, c.dstZ },
		.dstPtr = pitched(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.dstHeight,
				  &c),
		.extent = { c.WidthInBytes, c.Height, c.Depth },
		.kind = kind_of(&c),
	};
	return cudaSuccess;
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				     const cudaGraphNode_t *pDependencies, size_t numDependencies,
				     void *dst, const void *src, size_t count,
				     enum cudaMemcpyKind kind)
{
	const struct cudaMemcpy3DParms p = one_row(dst, src, count, kind);

	return cudaGraphAddMemcpyNode(pGraphNode, graph, pDependencies, numDependencies, &p);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
					   size_t count, enum cudaMemcpyKind kind)
{
	const struct cudaMemcpy3DParms p = one_row(dst, src, count, kind);

	return cudaGraphMemcpyNodeSetParams(node, &p);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					       void *dst, const void *src, size_t count,
					       enum cudaMemcpyKind kind)
{
	const struct cudaMemcpy3DParms p = one_row(dst, src, count, kind);

	return cudaGraphExecMemcpyNodeSetParams(hGraphExec, node, &p);
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					   const cudaGraphNode_t *pDependencies,
					   size_t numDependencies, const void *symbol,
					   const void *src, size_t count, size_t offset,
					   enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_to_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies,
						    numDependencies, addr, src, count, kind);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					     const cudaGraphNode_t *pDependencies,
					     size_t numDependencies, void *dst, const void *symbol,
					     size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_from_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaGraphAddMemcpyNode1D(pGraphNode, graph, pDependencies,
						    numDependencies, dst, addr, count, kind);
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
						 const void *src, size_t count, size_t offset,
						 enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_to_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaGraphMemcpyNodeSetParams1D(node, addr, src, count, kind);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
						   const void *symbol, size_t count, size_t offset,
						   enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_from_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaGraphMemcpyNodeSetParams1D(node, dst, addr, count, kind);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
						     cudaGraphNode_t node, const void *symbol,
						     const void *src, size_t count, size_t offset,
						     enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_to_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, addr, src, count,
							      kind);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
						       cudaGraphNode_t node, void *dst,
						       const void *symbol, size_t count,
						       size_t offset, enum cudaMemcpyKind kind)
{
	void *addr;
	cudaError_t err = rt_from_symbol(symbol, count, offset, kind, &addr);

	return err ? err : cudaGraphExecMemcpyNodeSetParams1D(hGraphExec, node, dst, addr, count,
							      kind);
}

/* --- All types in one struct ------------------------------------------------------------------ */

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams), "node parameters");
_Static_assert(offsetof(struct cudaGraphNodeParams, kernel) == offsetof(CUgraphNodeParams, kernel),
	       "node parameters");
_Static_assert(sizeof(struct cudaMemAllocNodeParamsV2) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2) &&
	       offsetof(struct cudaMemAllocNodeParamsV2, dptr) ==
	       offsetof(CUDA_MEM_ALLOC_NODE_PARAMS_v2, dptr), "allocation");
_Static_assert(offsetof(struct cudaConditionalNodeParams, phGraph_out) ==
	       offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out), "conditional");

static cudaError_t all_params(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out)
{
	CUcontext ctx;
	cudaError_t err = p ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_context(&ctx);
	if (err)
		return err;
	memcpy(out, p, sizeof(*out));
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		memset(&out->kernel, 0, sizeof(out->kernel));
		return kernel_params((const struct cudaKernelNodeParams *)&p->kernel,
				     (CUDA_KERNEL_NODE_PARAMS *)&out->kernel);
	case cudaGraphNodeTypeMemcpy:
		memset(&out->memcpy, 0, sizeof(out->memcpy));
		out->memcpy.flags = p->memcpy.flags;
		out->memcpy.copyCtx = ctx;
		return rt_copy_3d(&p->memcpy.copyParams, &out->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		out->memset.ctx = ctx;
		return cudaSuccess;
	case cudaGraphNodeTypeConditional:
		out->conditional.ctx = ctx;
		return cudaSuccess;
	default:
		return cudaSuccess;
	}
}

_Static_assert(sizeof(struct cudaKernelNodeParamsV2) == sizeof(struct cudaKernelNodeParams),
	       "one struct, two names");
_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == sizeof(CUDA_KERNEL_NODE_PARAMS_v3),
	       "one struct, two names");

cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
			     const cudaGraphNode_t *pDependencies,
			     const cudaGraphEdgeData *dependencyData, size_t numDependencies,
			     struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t err = all_params(nodeParams, &p);

	if (!err)
		err = rt_error(DRV(cuGraphAddNode(pGraphNode, graph, pDependencies,
						  (const CUgraphEdgeData *)dependencyData,
						  numDependencies, &p)));
	if (err)
		return rt_ret(err);
	if (p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		nodeParams->alloc.dptr = (void *)(uintptr_t)p.alloc.dptr;
	else if (p.type == CU_GRAPH_NODE_TYPE_GRAPH)
		nodeParams->graph.graph = p.graph.graph;
	else if (p.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		nodeParams->conditional.phGraph_out = p.conditional.phGraph_out;
	return cudaSuccess;
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t err = all_params(nodeParams, &p);

	if (!err)
		err = rt_error(DRV(cuGraphNodeSetParams(node, &p)));
	return rt_ret(err);
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
				       struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t err = all_params(nodeParams, &p);

	if (!err)
		err = rt_error(DRV(cuGraphExecNodeSetParams(graphExec, node, &p)));
	return rt_ret(err);
}
