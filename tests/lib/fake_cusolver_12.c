// SPDX-License-Identifier: Apache-2.0
/*
 * What the fake cuSOLVER has besides as a library of CUDA 12: a function that 13 lacks.
 * fake_cusolver.c has the rest, and says how calls are written down.
 */
#include <gone_cusolver.h>

#include "fake_library.h"

cusolverStatus_t cusolverDnPotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
	cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
	cudaDataType computeType, void *pBuffer, size_t workspaceInBytes, int *info)
{
	(void)handle, (void)params, (void)info;
	note("potrf uplo=%d n=%ld lda=%ld types=%d,%d %p %p %zu", uplo, n, lda, dataTypeA,
	     computeType, A, pBuffer, workspaceInBytes);
	return CUSOLVER_STATUS_SUCCESS;
}
