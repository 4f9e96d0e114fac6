// SPDX-License-Identifier: Apache-2.0
/*
 * A cuBLAS that writes down what it is told. Its few functions are right as well: over
 * softgpu a device address is an address of the worker's process.
 */
#include <cublas_v2.h>
#include <string.h>
#include <time.h>

#include "fake_cublas.h"
#include "fake_library.h"

struct cublasContext {
	int number;
	cudaStream_t stream;
	cublasPointerMode_t mode;
	cublasMath_t math;
	cublasAtomicsMode_t atomics;
};

static int created;

/* Writes down a call on a handle with the handle's state. */
static void on(cublasHandle_t h, const char *what)
{
	note("%s handle=%d stream=%s mode=%d math=%d", what, h->number, h->stream ? "own" : "0",
	     h->mode, h->math);
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	if (!has_context())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	(*handle)->number = ++created;
	note("create %d", created);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	note("destroy %d", handle->number);
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
	note("set_stream %s", stream ? "own" : "0");
	handle->stream = stream;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size)
{
	(void)handle;
	note("set_workspace %d %zu", workspace != NULL, size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	note("set_pointer_mode %d", mode);
	handle->mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
	*mode = handle->mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	note("set_math_mode %d", mode);
	handle->math = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
	*mode = handle->math;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
	handle->atomics = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t *mode)
{
	*mode = handle->atomics;
	return CUBLAS_STATUS_SUCCESS;
}

/* One is built as CUDA 12's. */
#ifndef MAJOR
#define MAJOR 13
#endif

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	note("property %d", type);
	*value = type == MAJOR_VERSION ? MAJOR : type == MINOR_VERSION ? 7 : 42;
	return CUBLAS_STATUS_SUCCESS;
}

/* --- Work ---------------------------------------------------------------------------- */

static void sgemm(int m, int n, int k, float alpha, const float *A, int lda, const float *B,
		  int ldb, float beta, float *C, int ldc)
{
	int i, j, x;
	float sum;

	for (j = 0; j < n; j++)
		for (i = 0; i < m; i++) {
			for (sum = 0, x = 0; x < k; x++)
				sum += A[i + x * lda] * B[x + j * ldb];
			C[i + j * ldc] = alpha * sum + (beta ? beta * C[i + j * ldc] : 0);
		}
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
			      cublasOperation_t transb, int m, int n, int k, const float *alpha,
			      const float *A, int lda, const float *B, int ldb, const float *beta,
			      float *C, int ldc)
{
	on(handle, "sgemm");
	if (transa || transb || m < 0 || !alpha || !beta || !C)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (*alpha == FAIL)
		return CUBLAS_STATUS_EXECUTION_FAILED;
	if (*alpha == HOLD)
		await_client(C, -1);
	else
		sgemm(m, n, k, *alpha, A, lda, B, ldb, *beta, C, ldc);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSdot_v2(cublasHandle_t handle, int n, const float *x, int incx, const float *y,
			     int incy, float *result)
{
	float sum = 0;
	int i;

	on(handle, "sdot");
	for (i = 0; i < n; i++)
		sum += x[i * incx] * y[i * incy];
	*result = sum;
	return CUBLAS_STATUS_SUCCESS;
}

/*
 * This is no rotation, but enough to see which number went where. fake_threads.c has
 * another one.
 */
__attribute__((weak))
cublasStatus_t cublasSrotg_v2(cublasHandle_t handle, float *a, float *b, float *c, float *s)
{
	on(handle, "srotg");
	*c = *a + 1;
	*s = *b + 1;
	*a += 100;
	*b += 100;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDrotm_v2(cublasHandle_t handle, int n, double *x, int incx, double *y,
			      int incy, const double *param)
{
	(void)n; (void)x; (void)incx; (void)y; (void)incy;
	on(handle, "drotm");
	note("param %g %g %g %g %g", param[0], param[1], param[2], param[3], param[4]);
	return CUBLAS_STATUS_SUCCESS;
}

/* The scalars are bytes, because their type is a parameter. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
			    cublasOperation_t transb, int m, int n, int k, const void *alpha,
			    const void *A, cudaDataType Atype, int lda, const void *B,
			    cudaDataType Btype, int ldb, const void *beta, void *C,
			    cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
			    cublasGemmAlgo_t algo)
{
	double a, b;

	(void)transa; (void)transb; (void)m; (void)n; (void)k; (void)A; (void)Atype; (void)lda;
	(void)B; (void)Btype; (void)ldb; (void)C; (void)Ctype; (void)ldc; (void)algo;
	on(handle, "gemm_ex");
	if (computeType != CUBLAS_COMPUTE_64F)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memcpy(&a, alpha, sizeof(a));
	memcpy(&b, beta, sizeof(b));
	note("scalars %g %g", a, b);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemmGroupedBatched(cublasHandle_t handle, const cublasOperation_t transa[],
					 const cublasOperation_t transb[], const int m[],
					 const int n[], const int k[], const float alpha[],
					 const float *const A[], const int lda[],
					 const float *const B[], const int ldb[],
					 const float beta[], float *const C[], const int ldc[],
					 int groups, const int size[])
{
	int g, i, x = 0;

	on(handle, "grouped");
	note("groups %d", groups);
	for (g = 0; g < groups; g++)
		for (i = 0; i < size[g]; i++, x++) {
			if (transa[g] || transb[g])
				return CUBLAS_STATUS_INVALID_VALUE;
			sgemm(m[g], n[g], k[g], alpha[g], A[x], lda[g], B[x], ldb[g], beta[g], C[x],
			      ldc[g]);
		}
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgetrsBatched(cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,
				   const float *const A[], int lda, const int *pivot,
				   float *const B[], int ldb, int *info, int batch)
{
	(void)trans; (void)nrhs; (void)A; (void)lda; (void)pivot; (void)B; (void)ldb; (void)batch;
	on(handle, "getrs");
	*info = -n;
	return CUBLAS_STATUS_SUCCESS;
}
