// SPDX-License-Identifier: Apache-2.0
/* What cuSPARSELt says about itself: versions, the worker's, asked for once; statuses. */
#include "cusparselt_stub.h"

cusparseStatus_t cusparseLtGetProperty(libraryPropertyType type, int *value)
{
	static int known[PATCH_LEVEL + 1], answer[PATCH_LEVEL + 1];
	cusparseStatus_t res;

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!__atomic_load_n(&known[type], __ATOMIC_ACQUIRE)) {
		res = wh_raw_cusparseLtGetProperty(type, &answer[type]);
		if (res != CUSPARSE_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&known[type], 1, __ATOMIC_RELEASE);
	}
	*value = answer[type];
	return CUSPARSE_STATUS_SUCCESS;
}

static const struct {
	const char *name, *text;
} statuses[] = {
#define S(status, text) [status] = { #status, text }
	S(CUSPARSE_STATUS_SUCCESS, "success"),
	S(CUSPARSE_STATUS_NOT_INITIALIZED, "initialization error"),
	S(CUSPARSE_STATUS_ALLOC_FAILED, "out of memory"),
	S(CUSPARSE_STATUS_INVALID_VALUE, "invalid value"),
	S(CUSPARSE_STATUS_ARCH_MISMATCH, "architecture mismatch"),
	S(CUSPARSE_STATUS_MAPPING_ERROR, "mapping error"),
	S(CUSPARSE_STATUS_EXECUTION_FAILED, "kernel launch failure"),
	S(CUSPARSE_STATUS_INTERNAL_ERROR, "internal error"),
	S(CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, "matrix type not supported"),
	S(CUSPARSE_STATUS_ZERO_PIVOT, "zero pivot"),
	S(CUSPARSE_STATUS_NOT_SUPPORTED, "operation not supported"),
	S(CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "insufficient resources"),
#undef S
};

static bool known_status(unsigned int status)
{
	return status < sizeof(statuses) / sizeof(*statuses);
}

const char *cusparseLtGetErrorName(cusparseStatus_t status)
{
	return known_status(status) ? statuses[status].name : "unrecognized error code";
}

const char *cusparseLtGetErrorString(cusparseStatus_t status)
{
	return known_status(status) ? statuses[status].text : "unrecognized error code";
}
