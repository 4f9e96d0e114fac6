/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that libcudart.so.12 has in its own shape: of_12_NAME is exported as NAME. The
 * structs that 13 has in another layout are passed as `void *`.
 */
#ifndef WORMHOLE_CUDART_OF_12_H
#define WORMHOLE_CUDART_OF_12_H

#include "cudart.h"

/* The sizes of struct cudaDeviceProp. That of 11.8 is the beginning of 12's. */
#define PROP_SIZE_12	1032
#define PROP_SIZE_11	728

cudaError_t of_12_cudaThreadExit(void);
cudaError_t of_12_cudaThreadSynchronize(void);
cudaError_t of_12_cudaThreadGetCacheConfig(enum cudaFuncCache *config);
cudaError_t of_12_cudaThreadSetCacheConfig(enum cudaFuncCache config);
cudaError_t of_12_cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t of_12_cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t of_12_cudaSetDoubleForDevice(double *d);
cudaError_t of_12_cudaSetDoubleForHost(double *d);
cudaError_t of_12_cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t of_12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					   const cudaGraphNode_t *to, size_t count);
cudaError_t of_12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					      const cudaGraphNode_t *to, size_t count);
cudaError_t of_12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				    size_t *count);
cudaError_t of_12_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
					       size_t *count);
cudaError_t of_12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
						 size_t *count);
cudaError_t of_12_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph,
				   const cudaGraphNode_t *dependencies, size_t count,
				   struct cudaGraphNodeParams *params);
cudaError_t of_12_cudaStreamGetCaptureInfo(cudaStream_t stream,
					   enum cudaStreamCaptureStatus *status,
					   unsigned long long *id);
cudaError_t of_12_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					      enum cudaStreamCaptureStatus *status,
					      unsigned long long *id, cudaGraph_t *graph,
					      const cudaGraphNode_t **dependencies, size_t *count);
cudaError_t of_12_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						      cudaGraphNode_t *dependencies, size_t count,
						      unsigned int flags);
cudaError_t of_12_cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream,
						enum cudaStreamCaptureStatus *status,
						unsigned long long *id);
cudaError_t of_12_cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream,
						   enum cudaStreamCaptureStatus *status,
						   unsigned long long *id, cudaGraph_t *graph,
						   const cudaGraphNode_t **dependencies,
						   size_t *count);
cudaError_t of_12_cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream,
							   cudaGraphNode_t *dependencies,
							   size_t count, unsigned int flags);
cudaError_t of_12_cudaMemAdvise(const void *ptr, size_t count, enum cudaMemoryAdvise advice,
				int device);
cudaError_t of_12_cudaMemPrefetchAsync(const void *ptr, size_t count, int device,
				       cudaStream_t stream);
cudaError_t of_12_cudaMemPrefetchAsync_ptsz(const void *ptr, size_t count, int device,
					    cudaStream_t stream);
cudaError_t of_12_cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
				       struct cudaMemcpyAttributes *attributes, size_t *indexes,
				       size_t attribute_count, size_t *which, cudaStream_t stream);
cudaError_t of_12_cudaMemcpyBatchAsync_ptsz(void **to, void **from, size_t *sizes, size_t count,
					    struct cudaMemcpyAttributes *attributes,
					    size_t *indexes, size_t attribute_count, size_t *which,
					    cudaStream_t stream);
cudaError_t of_12_cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *ops,
					 size_t *which, unsigned long long flags,
					 cudaStream_t stream);
cudaError_t of_12_cudaMemcpy3DBatchAsync_ptsz(size_t count, struct cudaMemcpy3DBatchOp *ops,
					      size_t *which, unsigned long long flags,
					      cudaStream_t stream);
cudaError_t of_12_cudaPointerGetAttributes(void *attributes, const void *ptr);
cudaError_t of_12_cudaGetTextureObjectResourceDesc(void *desc, cudaTextureObject_t object);
cudaError_t of_12_cudaGetSurfaceObjectResourceDesc(void *desc, cudaSurfaceObject_t object);
cudaError_t of_12_cudaGetTextureObjectResourceViewDesc(void *desc, cudaTextureObject_t object);
cudaError_t of_12_cudaGetDeviceProperties_v2(void *prop, int device);
cudaError_t of_12_cudaGetDeviceProperties(void *prop, int device);
cudaError_t of_12_cudaChooseDevice(int *device, const void *prop);

#endif
