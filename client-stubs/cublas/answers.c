// SPDX-License-Identifier: Apache-2.0
/* What cuBLAS says about itself: versions (the worker's, asked for once) and statuses. */
#include "cublas_stub.h"

#include <stdio.h>

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	static int known[PATCH_LEVEL + 1], answer[PATCH_LEVEL + 1];
	cublasStatus_t res;

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!__atomic_load_n(&known[type], __ATOMIC_ACQUIRE)) {
		res = wh_raw_cublasGetProperty(type, &answer[type]);
		if (res != CUBLAS_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&known[type], 1, __ATOMIC_RELEASE);
	}
	*value = answer[type];
	return CUBLAS_STATUS_SUCCESS;
}

/* Needs no handle. */
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

static const struct {
	const char *name, *text;
} statuses[] = {
#define S(status, text) [status] = { #status, text }
	S(CUBLAS_STATUS_SUCCESS, "success"),
	S(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
	S(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
	S(CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed to the function"),
	S(CUBLAS_STATUS_ARCH_MISMATCH, "the function requires an architectural feature absent from the device"),
	S(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed"),
	S(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
	S(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
	S(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported"),
	S(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"),
#undef S
};

static bool known_status(unsigned int status)
{
	return status < sizeof(statuses) / sizeof(*statuses) && statuses[status].name;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
	return known_status(status) ? statuses[status].name : "unrecognized status";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	return known_status(status) ? statuses[status].text : "unrecognized status";
}
