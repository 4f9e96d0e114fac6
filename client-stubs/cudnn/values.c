// SPDX-License-Identifier: Apache-2.0
/*
 * Host values whose size the type of a descriptor says: alpha and beta are
 * doubles beside doubles, else floats. Owns what is known of descriptors' types:
 * one word for each of the last few thousand, without a lock. What is not known
 * is asked for, so that forgetting is always right.
 */
#include "cudnn_stub.h"

#define SLOTS	4096

/* Number of the descriptor without its kind, type + 1 in the low byte; 0: nothing. */
static uint64_t known[SLOTS];

static uint64_t *slot(const void *desc)
{
	return &known[(uintptr_t)desc % SLOTS];
}

void wh_cudnn_type_set(const void *desc, cudnnDataType_t type)
{
	uint64_t word = (uint64_t)(uintptr_t)desc << 8 | (uint8_t)(type + 1);

	__atomic_store_n(slot(desc), word, __ATOMIC_RELAXED);
}

void wh_cudnn_type_forget(const void *desc)
{
	__atomic_store_n(slot(desc), 0, __ATOMIC_RELAXED);
}

static bool find(const void *desc, cudnnDataType_t *type)
{
	uint64_t word = __atomic_load_n(slot(desc), __ATOMIC_RELAXED);

	if (!word || (word ^ (uint64_t)(uintptr_t)desc << 8) >> 8)
		return false;
	*type = (cudnnDataType_t)((word & 0xff) - 1);
	return true;
}

/* A descriptor that nobody knows is refused by the call itself. */
cudnnDataType_t wh_cudnn_tensor_type(cudnnTensorDescriptor_t desc)
{
	int dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dims;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	if (!desc || find(desc, &type))
		return type;
	if (cudnnGetTensorNdDescriptor(desc, CUDNN_DIM_MAX, &type, &dims, dim, stride) ==
	    CUDNN_STATUS_SUCCESS)
		wh_cudnn_type_set(desc, type);
	return type;
}

cudnnDataType_t wh_cudnn_filter_type(cudnnFilterDescriptor_t desc)
{
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	int dim[CUDNN_DIM_MAX], dims;
	cudnnTensorFormat_t format;

	if (!desc || find(desc, &type))
		return type;
	if (cudnnGetFilterNdDescriptor(desc, CUDNN_DIM_MAX, &type, &format, &dims, dim) ==
	    CUDNN_STATUS_SUCCESS)
		wh_cudnn_type_set(desc, type);
	return type;
}

wh_cudnn_scale_t wh_cudnn_copy_scale(const void *p, cudnnDataType_t type)
{
	wh_cudnn_scale_t v = 0;

	if (p)
		memcpy(&v, p, type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_COMPLEX_FP64 ?
		       sizeof(double) : sizeof(float));
	return v;
}

wh_cudnn_element_t wh_cudnn_copy_element(const void *p, cudnnDataType_t type)
{
	wh_cudnn_element_t v = { { 0 } };

	if (p)
		memcpy(&v, p, wh_cudnn_size(type));
	return v;
}

/* --- What changes a descriptor's type ----------------------------------------- */

void wh_after_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc,
					 cudnnTensorFormat_t format, cudnnDataType_t dataType,
					 int n, int c, int h, int w)
{
	(void)format, (void)n, (void)c, (void)h, (void)w;
	wh_cudnn_type_set(tensorDesc, dataType);
}

void wh_after_cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
					   cudnnDataType_t dataType, int n, int c, int h, int w,
					   int nStride, int cStride, int hStride, int wStride)
{
	(void)n, (void)c, (void)h, (void)w;
	(void)nStride, (void)cStride, (void)hStride, (void)wStride;
	wh_cudnn_type_set(tensorDesc, dataType);
}

void wh_after_cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc,
					 cudnnDataType_t dataType, int nbDims, const int dimA[],
					 const int strideA[])
{
	(void)nbDims, (void)dimA, (void)strideA;
	wh_cudnn_type_set(tensorDesc, dataType);
}

void wh_after_cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc,
					   cudnnTensorFormat_t format, cudnnDataType_t dataType,
					   int nbDims, const int dimA[])
{
	(void)format, (void)nbDims, (void)dimA;
	wh_cudnn_type_set(tensorDesc, dataType);
}

void wh_after_cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc,
					 cudnnDataType_t dataType, cudnnTensorFormat_t format,
					 int k, int c, int h, int w)
{
	(void)format, (void)k, (void)c, (void)h, (void)w;
	wh_cudnn_type_set(filterDesc, dataType);
}

void wh_after_cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc,
					 cudnnDataType_t dataType, cudnnTensorFormat_t format,
					 int nbDims, const int filterDimA[])
{
	(void)format, (void)nbDims, (void)filterDimA;
	wh_cudnn_type_set(filterDesc, dataType);
}

void wh_after_cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derivedBnDesc,
					    const cudnnTensorDescriptor_t xDesc,
					    cudnnBatchNormMode_t mode)
{
	(void)xDesc, (void)mode;
	wh_cudnn_type_forget(derivedBnDesc);
}

void wh_after_cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t derivedNormScaleBiasDesc,
					      cudnnTensorDescriptor_t derivedNormMeanVarDesc,
					      const cudnnTensorDescriptor_t xDesc,
					      cudnnNormMode_t mode, int groupCnt)
{
	(void)xDesc, (void)mode, (void)groupCnt;
	wh_cudnn_type_forget(derivedNormScaleBiasDesc);
	wh_cudnn_type_forget(derivedNormMeanVarDesc);
}

void wh_after_cudnnInitTransformDest(const cudnnTensorTransformDescriptor_t transformDesc,
				     const cudnnTensorDescriptor_t srcDesc,
				     cudnnTensorDescriptor_t destDesc, size_t *destSizeInBytes)
{
	(void)transformDesc, (void)srcDesc, (void)destSizeInBytes;
	wh_cudnn_type_forget(destDesc);
}

void wh_after_cudnnGetFoldedConvBackwardDataDescriptors(const cudnnHandle_t handle,
		const cudnnFilterDescriptor_t filterDesc, const cudnnTensorDescriptor_t diffDesc,
		const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t gradDesc,
		const cudnnTensorFormat_t transformFormat, cudnnFilterDescriptor_t foldedFilterDesc,
		cudnnTensorDescriptor_t paddedDiffDesc, cudnnConvolutionDescriptor_t foldedConvDesc,
		cudnnTensorDescriptor_t foldedGradDesc,
		cudnnTensorTransformDescriptor_t filterFoldTransDesc,
		cudnnTensorTransformDescriptor_t diffPadTransDesc,
		cudnnTensorTransformDescriptor_t gradFoldTransDesc,
		cudnnTensorTransformDescriptor_t gradUnfoldTransDesc)
{
	(void)handle, (void)filterDesc, (void)diffDesc, (void)convDesc, (void)gradDesc;
	(void)transformFormat, (void)foldedConvDesc, (void)filterFoldTransDesc;
	(void)diffPadTransDesc, (void)gradFoldTransDesc, (void)gradUnfoldTransDesc;
	wh_cudnn_type_forget(foldedFilterDesc);
	wh_cudnn_type_forget(paddedDiffDesc);
	wh_cudnn_type_forget(foldedGradDesc);
}

void wh_after_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
				      int32_t pseudoLayer, size_t weightSpaceSize,
				      const void *weightSpace, int32_t linLayerID,
				      cudnnTensorDescriptor_t mDesc, void **mAddr,
				      cudnnTensorDescriptor_t bDesc, void **bAddr)
{
	(void)handle, (void)rnnDesc, (void)pseudoLayer, (void)weightSpaceSize;
	(void)weightSpace, (void)linLayerID, (void)mAddr, (void)bAddr;
	wh_cudnn_type_forget(mDesc);
	wh_cudnn_type_forget(bDesc);
}

void wh_after_cudnnGetMultiHeadAttnWeights(cudnnHandle_t handle,
					   const cudnnAttnDescriptor_t attnDesc,
					   cudnnMultiHeadAttnWeightKind_t wKind,
					   size_t weightSizeInBytes, const void *weights,
					   cudnnTensorDescriptor_t wDesc, void **wAddr)
{
	(void)handle, (void)attnDesc, (void)wKind, (void)weightSizeInBytes;
	(void)weights, (void)wAddr;
	wh_cudnn_type_forget(wDesc);
}
