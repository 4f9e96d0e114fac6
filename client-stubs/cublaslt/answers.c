// SPDX-License-Identifier: Apache-2.0
/* cublasLt's answers about itself: versions (the worker's, asked for once) and statuses. */
#include "cublaslt_stub.h"
#include "../blas.h"

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	size_t room = sizeof(*value);
	cublasStatus_t res;

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (wh_recall(WH_CALL_cublasLtGetProperty, &type, sizeof(type), value, &room))
		return CUBLAS_STATUS_SUCCESS;
	res = wh_raw_cublasLtGetProperty(type, value);
	if (res == CUBLAS_STATUS_SUCCESS)
		wh_remember(WH_CALL_cublasLtGetProperty, &type, sizeof(type), value,
			       sizeof(*value));
	return res;
}

/* Returns 0 if the worker has no such library. */
size_t cublasLtGetVersion(void)
{
	int part[PATCH_LEVEL + 1], i;

	for (i = 0; i <= PATCH_LEVEL; i++)
		if (cublasLtGetProperty((libraryPropertyType)i, &part[i]) != CUBLAS_STATUS_SUCCESS)
			return 0;
	return part[MAJOR_VERSION] * 10000 + part[MINOR_VERSION] * 100 + part[PATCH_LEVEL];
}

size_t cublasLtGetCudartVersion(void)
{
	return CUDA_VERSION;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
	return wh_blas_status_name(status);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
	return wh_blas_status_text(status);
}
