// SPDX-License-Identifier: Apache-2.0
/*
 * A cublasLt that takes every descriptor; a product whose alpha is HOLD waits for its client. Its
 * preference is that of its major: CUDA 11's struct is longer and has more attributes.
 */
#include <cublasLt.h>
#include <string.h>

#include "fake_cublas.h"
#include "fake_library.h"

struct cublasLtContext {
	int unused;
};

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
	*handle = calloc(1, sizeof(**handle));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, size_t size,
					       cublasComputeType_t compute, cudaDataType_t scale)
{
	(void)compute;
	(void)scale;
	memset(d, 0, size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
					      cublasLtMatmulDescAttributes_t attr, const void *buf,
					      size_t size)
{
	(void)d;
	(void)attr;
	(void)buf;
	(void)size;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t l, size_t size,
						 cudaDataType type, uint64_t rows, uint64_t cols,
						 int64_t ld)
{
	(void)type;
	(void)rows;
	(void)cols;
	(void)ld;
	memset(l, 0, size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
						cublasLtMatrixLayoutAttribute_t attr,
						const void *buf, size_t size)
{
	(void)l;
	(void)attr;
	(void)buf;
	(void)size;
	return CUBLAS_STATUS_SUCCESS;
}

#ifdef MAJOR
#define PREFERENCE	80
#else
#define PREFERENCE	sizeof(cublasLtMatmulPreferenceOpaque_t)
#endif

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t p, size_t size)
{
	if (size < PREFERENCE)
		return CUBLAS_STATUS_ALLOC_FAILED;
	memset(p, 0, PREFERENCE);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
						    cublasLtMatmulPreferenceAttributes_t attr,
						    const void *buf, size_t size)
{
	(void)p;
	note("preference %d = %u", attr, size == sizeof(int) ? *(const unsigned int *)buf : 0);
	if (PREFERENCE < 80 && (attr == 2 || attr == 4 || attr == 10 || attr == 11 || attr == 13))
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
		cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
		cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
		cublasLtMatmulHeuristicResult_t results[], int *n)
{
	(void)handle; (void)desc; (void)a; (void)b; (void)c; (void)d; (void)preference;
	note("heuristic %d", wanted);
	memset(results, 0, sizeof(*results));
	*n = 1;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
	(void)capacity;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
			      const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
			      const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
			      const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
			      cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
			      void *workspace, size_t size, cudaStream_t stream)
{
	(void)handle; (void)desc; (void)Adesc; (void)Bdesc; (void)beta; (void)C; (void)Cdesc;
	(void)Ddesc; (void)algo; (void)workspace; (void)size; (void)stream;
	if (!A || !B || !alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (*(const float *)alpha == HOLD)
		await_client((float *)D, -1);
	return CUBLAS_STATUS_SUCCESS;
}
