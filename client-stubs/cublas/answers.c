// SPDX-License-Identifier: Apache-2.0
/* cuBLAS's answers about itself: versions (the worker's, asked for once) and statuses. */
#include "cublas_stub.h"
#include "../blas.h"
#include "../property.h"

#include <stdio.h>

WH_GET_PROPERTY(cublasStatus_t, cublasGetProperty, CUBLAS_STATUS_INVALID_VALUE)

/* This function needs no handle. */
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	int major, minor, patch;
	cublasStatus_t res;

	(void)handle;
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	res = cublasGetProperty(MAJOR_VERSION, &major);
	if (res == CUBLAS_STATUS_SUCCESS)
		res = cublasGetProperty(MINOR_VERSION, &minor);
	if (res == CUBLAS_STATUS_SUCCESS)
		res = cublasGetProperty(PATCH_LEVEL, &patch);
	if (res == CUBLAS_STATUS_SUCCESS)
		*version = major * 10000 + minor * 100 + patch;
	return res;
}

size_t cublasGetCudartVersion(void)
{
	return CUDA_VERSION;
}

void cublasXerbla(const char *srName, int info)
{
	printf(" ** On entry to %s parameter number %d had an illegal value\n", srName, info);
}

/* --- Statuses ---------------------------------------------------------------------- */

const char *cublasGetStatusName(cublasStatus_t status)
{
	return wh_blas_status_name(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	return wh_blas_status_text(status);
}
