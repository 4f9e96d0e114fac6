/* SPDX-License-Identifier: Apache-2.0 */
/* Names of cublasStatus_t, for the stand-ins of cuBLAS and cublasLt. */
#ifndef WORMHOLE_SOFTGPU_CUBLAS_STATUS_H
#define WORMHOLE_SOFTGPU_CUBLAS_STATUS_H

#include <cublas_api.h>

#define STATUSES(X) \
	X(SUCCESS, "success") X(NOT_INITIALIZED, "the library was not initialized") \
	X(ALLOC_FAILED, "the resource allocation failed") \
	X(INVALID_VALUE, "an invalid value was used as an argument") \
	X(ARCH_MISMATCH, "an absent device architectural feature is required") \
	X(MAPPING_ERROR, "an access to GPU memory space failed") \
	X(EXECUTION_FAILED, "the function failed to launch on the GPU") \
	X(INTERNAL_ERROR, "an internal operation failed") \
	X(NOT_SUPPORTED, "the functionality is not supported") \
	X(LICENSE_ERROR, "an error was detected when checking the current licensing")

static inline const char *standin_cublas_name(cublasStatus_t status)
{
	switch (status) {
#define NAME(s, text) case CUBLAS_STATUS_##s: return "CUBLAS_STATUS_" #s;
	STATUSES(NAME)
#undef NAME
	default:
		return "unknown cublasStatus_t";
	}
}

static inline const char *standin_cublas_text(cublasStatus_t status)
{
	switch (status) {
#define TEXT(s, text) case CUBLAS_STATUS_##s: return text;
	STATUSES(TEXT)
#undef TEXT
	default:
		return "unknown cublasStatus_t";
	}
}

#endif
