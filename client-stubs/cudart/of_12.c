// SPDX-License-Identifier: Apache-2.0
/*
 * What libcudart.so.12 has in another shape than libcudart.so.13, whose objects it is linked
 * from: the functions that 13 has no more, and those that take other arguments. of_12_NAME is
 * exported as NAME, and what 13 calls NAME gets another name then (cuda-api/runtime_12.txt). So a
 * call of NAME here is one of 13's function. libcudart.so.11.0 has all this too, if of_11.c has
 * not.
 */
#include <stdint.h>

#include "of_12.h"

/* --- Names that 13 has no more ------------------------------------------------------------- */

cudaError_t of_12_cudaThreadExit(void)
{
	return cudaDeviceReset();
}

cudaError_t of_12_cudaThreadSynchronize(void)
{
	return cudaDeviceSynchronize();
}

cudaError_t of_12_cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
	return cudaDeviceGetCacheConfig(config);
}

cudaError_t of_12_cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
	return cudaDeviceSetCacheConfig(config);
}

cudaError_t of_12_cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
	return cudaDeviceGetLimit(value, limit);
}

cudaError_t of_12_cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return cudaDeviceSetLimit(limit, value);
}

/* Devices without double are not served by any CUDA 12, so that nothing is to be converted. */
cudaError_t of_12_cudaSetDoubleForDevice(double *d)
{
	(void)d;
	return cudaSuccess;
}

cudaError_t of_12_cudaSetDoubleForHost(double *d)
{
	(void)d;
	return cudaSuccess;
}

cudaError_t of_12_cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return cudaEventElapsedTime(ms, start, end);
}

/* --- Graphs: edges without data ------------------------------------------------------------- */

cudaError_t of_12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					   const cudaGraphNode_t *to, size_t count)
{
	return cudaGraphAddDependencies(graph, from, to, NULL, count);
}

cudaError_t of_12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					      const cudaGraphNode_t *to, size_t count)
{
	return cudaGraphRemoveDependencies(graph, from, to, NULL, count);
}

cudaError_t of_12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				    size_t *count)
{
	return cudaGraphGetEdges(graph, from, to, NULL, count);
}

cudaError_t of_12_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
					       size_t *count)
{
	return cudaGraphNodeGetDependencies(node, nodes, NULL, count);
}

cudaError_t of_12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
						 size_t *count)
{
	return cudaGraphNodeGetDependentNodes(node, nodes, NULL, count);
}

cudaError_t of_12_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   struct cudaGraphNodeParams *params)
{
	return cudaGraphAddNode(node, graph, dependencies, NULL, count, params);
}

/* --- Capture -------------------------------------------------------------------------------- */

cudaError_t of_12_cudaStreamGetCaptureInfo(cudaStream_t stream,
					   enum cudaStreamCaptureStatus *status,
					   unsigned long long *id)
{
	return cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t of_12_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					      enum cudaStreamCaptureStatus *status,
					      unsigned long long *id, cudaGraph_t *graph,
					      const cudaGraphNode_t **dependencies, size_t *count)
{
	return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}

cudaError_t of_12_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						      cudaGraphNode_t *dependencies, size_t count,
						      unsigned int flags)
{
	return cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, count, flags);
}

cudaError_t of_12_cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream,
						enum cudaStreamCaptureStatus *status,
						unsigned long long *id)
{
	return of_12_cudaStreamGetCaptureInfo(rt_own_stream(stream), status, id);
}

cudaError_t of_12_cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream,
						   enum cudaStreamCaptureStatus *status,
						   unsigned long long *id, cudaGraph_t *graph,
						   const cudaGraphNode_t **dependencies,
						   size_t *count)
{
	return of_12_cudaStreamGetCaptureInfo_v2(rt_own_stream(stream), status, id, graph,
						 dependencies, count);
}

cudaError_t of_12_cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream,
							   cudaGraphNode_t *dependencies,
							   size_t count, unsigned int flags)
{
	return of_12_cudaStreamUpdateCaptureDependencies(rt_own_stream(stream), dependencies, count,
							 flags);
}

/* --- Managed memory: a device's number says where ------------------------------------------- */

static struct cudaMemLocation location(int device)
{
	bool host = device == cudaCpuDeviceId;

	return (struct cudaMemLocation) {
		.type = host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
		.id = host ? 0 : device,
	};
}

cudaError_t of_12_cudaMemAdvise(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
				int device)
{
	return cudaMemAdvise(ptr, count, advice, location(device));
}

cudaError_t of_12_cudaMemPrefetchAsync(const void *ptr, size_t count, int device,
				       cudaStream_t stream)
{
	return cudaMemPrefetchAsync(ptr, count, location(device), 0, stream);
}

cudaError_t of_12_cudaMemPrefetchAsync_ptsz(const void *ptr, size_t count, int device,
					    cudaStream_t stream)
{
	return of_12_cudaMemPrefetchAsync(ptr, count, device, rt_own_stream(stream));
}

/* --- Many copies in one call: 12 tells the copy that failed ---------------------------------- */

/* The driver does not say which. SIZE_MAX is the documented answer for an error of no one copy. */
static cudaError_t failed(cudaError_t err, size_t *which)
{
	if (err && which)
		*which = SIZE_MAX;
	return err;
}

cudaError_t of_12_cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
				       struct cudaMemcpyAttributes *attributes, size_t *indexes,
				       size_t attribute_count, size_t *which, cudaStream_t stream)
{
	return failed(cudaMemcpyBatchAsync((void *const *)to, (const void *const *)from, sizes,
					   count, attributes, indexes, attribute_count, stream),
		      which);
}

cudaError_t of_12_cudaMemcpyBatchAsync_ptsz(void **to, void **from, size_t *sizes, size_t count,
					    struct cudaMemcpyAttributes *attributes,
					    size_t *indexes, size_t attribute_count, size_t *which,
					    cudaStream_t stream)
{
	return of_12_cudaMemcpyBatchAsync(to, from, sizes, count, attributes, indexes,
					  attribute_count, which, rt_own_stream(stream));
}

cudaError_t of_12_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *ops,
					 size_t *which, unsigned long long flags,
					 cudaStream_t stream)
{
	return failed(cudaMemcpy3DBatchAsync(count, ops, flags, stream), which);
}

cudaError_t of_12_cudaMemcpy3DBatchAsync_ptsz(size_t count, struct cudaMemcpy3DBatchOp *ops,
					      size_t *which, unsigned long long flags,
					      cudaStream_t stream)
{
	return of_12_cudaMemcpy3DBatchAsync(count, ops, which, flags, rt_own_stream(stream));
}
