/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that libcudart.so.11.0 has in another shape than libcudart.so.12 (of_12.h):
 * of_11_NAME is exported as NAME. The structs that 13 has in another layout are passed as `void *`.
 */
#ifndef WORMHOLE_CUDART_OF_11_H
#define WORMHOLE_CUDART_OF_11_H

#include "cudart.h"

struct textureReference;
struct surfaceReference;

void of_11___cudaRegisterTexture(void **module, const struct textureReference *host,
				 const void **device, const char *name, int dimensions,
				 int normalized, int external);
void of_11___cudaRegisterSurface(void **module, const struct surfaceReference *host,
				 const void **device, const char *name, int dimensions,
				 int external);
cudaError_t of_11_cudaBindTexture(size_t *offset, const struct textureReference *texref,
				  const void *devPtr, const struct cudaChannelFormatDesc *desc,
				  size_t size);
cudaError_t of_11_cudaBindTexture2D(size_t *offset, const struct textureReference *texref,
				    const void *devPtr, const struct cudaChannelFormatDesc *desc,
				    size_t width, size_t height, size_t pitch);
cudaError_t of_11_cudaBindTextureToArray(const struct textureReference *texref,
					 cudaArray_const_t array,
					 const struct cudaChannelFormatDesc *desc);
cudaError_t of_11_cudaBindTextureToMipmappedArray(const struct textureReference *texref,
						  cudaMipmappedArray_const_t array,
						  const struct cudaChannelFormatDesc *desc);
cudaError_t of_11_cudaUnbindTexture(const struct textureReference *texref);
cudaError_t of_11_cudaGetTextureAlignmentOffset(size_t *offset,
						const struct textureReference *texref);
cudaError_t of_11_cudaGetTextureReference(const struct textureReference **texref,
					  const void *symbol);
cudaError_t of_11_cudaBindSurfaceToArray(const struct surfaceReference *surfref,
					 cudaArray_const_t array,
					 const struct cudaChannelFormatDesc *desc);
cudaError_t of_11_cudaGetSurfaceReference(const struct surfaceReference **surfref,
					  const void *symbol);
cudaError_t of_11_cudaGetDriverEntryPoint(const char *symbol, void **func,
					  unsigned long long flags);
cudaError_t of_11_cudaGetDriverEntryPoint_ptsz(const char *symbol, void **func,
					       unsigned long long flags);
cudaError_t of_11_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
				       cudaGraphNode_t *error_node, char *log, size_t size);
cudaError_t of_11_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
				      cudaGraphNode_t *error_node,
				      enum cudaGraphExecUpdateResult *result);
cudaError_t of_11_cudaChooseDevice(int *device, const void *prop);
cudaError_t of_11_cudaFuncGetAttributes(void *attributes, const void *func);
cudaError_t of_11_cudaCreateTextureObject(cudaTextureObject_t *object,
					  const struct cudaResourceDesc *res, const void *tex,
					  const struct cudaResourceViewDesc *view);
cudaError_t of_11_cudaCreateTextureObject_v2(cudaTextureObject_t *object,
					     const struct cudaResourceDesc *res,
					     const struct cudaTextureDesc *tex,
					     const struct cudaResourceViewDesc *view);
cudaError_t of_11_cudaGetTextureObjectTextureDesc(void *desc, cudaTextureObject_t object);

/* 13's, which no header declares. */
cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
					 unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *driverStatus);

#endif
