/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libcusolver.so.11 that the library of today lacks. cuda-api/gone.py writes this
 * file, from CUDA 11's headers (majors_11.txt names the packages); cusolver.api describes
 * the functions.
 */
#ifndef WORMHOLE_GONE_CUSOLVER_H
#define WORMHOLE_GONE_CUSOLVER_H

#include <cusolverDn.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>
#include <cusolverRf.h>

#ifdef __cplusplus
extern "C" {
#endif

cusolverStatus_t cusolverDnGeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
	int64_t n, cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeTau,
	void *tau, cudaDataType computeType, void *pBuffer, size_t workspaceInBytes, int *info);
cusolverStatus_t cusolverDnGeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
	int64_t m, int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
	cudaDataType dataTypeTau, const void *tau, cudaDataType computeType,
	size_t *workspaceInBytes);
cusolverStatus_t cusolverDnGesvd(cusolverDnHandle_t handle, cusolverDnParams_t params,
	signed char jobu, signed char jobvt, int64_t m, int64_t n, cudaDataType dataTypeA,
	void *A, int64_t lda, cudaDataType dataTypeS, void *S, cudaDataType dataTypeU, void *U,
	int64_t ldu, cudaDataType dataTypeVT, void *VT, int64_t ldvt, cudaDataType computeType,
	void *pBuffer, size_t workspaceInBytes, int *info);
cusolverStatus_t cusolverDnGesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
	signed char jobu, signed char jobvt, int64_t m, int64_t n, cudaDataType dataTypeA,
	const void *A, int64_t lda, cudaDataType dataTypeS, const void *S, cudaDataType dataTypeU,
	const void *U, int64_t ldu, cudaDataType dataTypeVT, const void *VT, int64_t ldvt,
	cudaDataType computeType, size_t *workspaceInBytes);
cusolverStatus_t cusolverDnGetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
	int64_t n, cudaDataType dataTypeA, void *A, int64_t lda, int64_t *ipiv,
	cudaDataType computeType, void *pBuffer, size_t workspaceInBytes, int *info);
cusolverStatus_t cusolverDnGetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
	int64_t m, int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
	cudaDataType computeType, size_t *workspaceInBytes);
cusolverStatus_t cusolverDnGetrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cublasOperation_t trans, int64_t n, int64_t nrhs, cudaDataType dataTypeA, const void *A,
	int64_t lda, const int64_t *ipiv, cudaDataType dataTypeB, void *B, int64_t ldb,
	int *info);
cusolverStatus_t cusolverDnPotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
	cudaDataType computeType, void *pBuffer, size_t workspaceInBytes, int *info);
cusolverStatus_t cusolverDnPotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, const void *A, int64_t lda,
	cudaDataType computeType, size_t *workspaceInBytes);
cusolverStatus_t cusolverDnPotrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cublasFillMode_t uplo, int64_t n, int64_t nrhs, cudaDataType dataTypeA, const void *A,
	int64_t lda, cudaDataType dataTypeB, void *B, int64_t ldb, int *info);
cusolverStatus_t cusolverDnSyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, void *A,
	int64_t lda, cudaDataType dataTypeW, void *W, cudaDataType computeType, void *pBuffer,
	size_t workspaceInBytes, int *info);
cusolverStatus_t cusolverDnSyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA,
	const void *A, int64_t lda, cudaDataType dataTypeW, const void *W,
	cudaDataType computeType, size_t *workspaceInBytes);
cusolverStatus_t cusolverDnSyevdx(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cusolverEigMode_t jobz, cusolverEigRange_t range, cublasFillMode_t uplo, int64_t n,
	cudaDataType dataTypeA, void *A, int64_t lda, void *vl, void *vu, int64_t il, int64_t iu,
	int64_t *meig64, cudaDataType dataTypeW, void *W, cudaDataType computeType, void *pBuffer,
	size_t workspaceInBytes, int *info);
cusolverStatus_t cusolverDnSyevdx_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cusolverEigMode_t jobz, cusolverEigRange_t range, cublasFillMode_t uplo, int64_t n,
	cudaDataType dataTypeA, const void *A, int64_t lda, void *vl, void *vu, int64_t il,
	int64_t iu, int64_t *h_meig, cudaDataType dataTypeW, const void *W,
	cudaDataType computeType, size_t *workspaceInBytes);

#ifdef __cplusplus
}
#endif

#endif
