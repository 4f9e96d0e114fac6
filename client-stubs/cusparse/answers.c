// SPDX-License-Identifier: Apache-2.0
/*
 * What cuSPARSE says about itself: versions (the worker's, asked for once) and
 * statuses. And the calls whose scalars are as long as a vector's type says.
 */
#include "cusparse_stub.h"

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
	static int known[PATCH_LEVEL + 1], answer[PATCH_LEVEL + 1];
	cusparseStatus_t res;

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!__atomic_load_n(&known[type], __ATOMIC_ACQUIRE)) {
		res = wh_raw_cusparseGetProperty(type, &answer[type]);
		if (res != CUSPARSE_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&known[type], 1, __ATOMIC_RELEASE);
	}
	*value = answer[type];
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
	static int answer;
	struct wh_obj_cusparseHandle_t o;
	cusparseStatus_t res;
	int now = __atomic_load_n(&answer, __ATOMIC_RELAXED);

	if (!version || !wh_pack_cusparseHandle_t(handle, &o))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!now) {
		res = wh_raw_cusparseGetVersion(handle, &now);
		if (res != CUSPARSE_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&answer, now, __ATOMIC_RELAXED);
	}
	*version = now;
	return CUSPARSE_STATUS_SUCCESS;
}

/* --- Statuses ---------------------------------------------------------------------- */

static const struct {
	const char *name, *text;
} statuses[] = {
#define S(status, text) [status] = { #status, text }
	S(CUSPARSE_STATUS_SUCCESS, "success"),
	S(CUSPARSE_STATUS_NOT_INITIALIZED, "initialization error"),
	S(CUSPARSE_STATUS_ALLOC_FAILED, "out of memory"),
	S(CUSPARSE_STATUS_INVALID_VALUE, "invalid value"),
	S(CUSPARSE_STATUS_ARCH_MISMATCH, "architecture mismatch"),
	S(CUSPARSE_STATUS_MAPPING_ERROR, "texture memory mapping error"),
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
	return status < sizeof(statuses) / sizeof(*statuses) && statuses[status].name;
}

const char *cusparseGetErrorName(cusparseStatus_t status)
{
	return known_status(status) ? statuses[status].name : "unrecognized error code";
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
	return known_status(status) ? statuses[status].text : "unrecognized error code";
}

/* --- Scalars of a vector's type ----------------------------------------------------- */

struct scalar {
	_Alignas(16) uint8_t bytes[16];
};

/* In device memory it is left where it is. */
static const void *scalar(bool device, const void *p, cudaDataType type, struct scalar *copy)
{
	if (!p || device)
		return p;
	memset(copy, 0, sizeof(*copy));
	memcpy(copy->bytes, p, wh_cusparse_factor(type));
	return copy;
}

/* Whether a handle's scalars are in device memory, and a vector's type if they are not. */
static cusparseStatus_t look(cusparseHandle_t handle, cusparseConstDnVecDescr_t vec, bool *device,
			     cudaDataType *type)
{
	struct wh_obj_cusparseHandle_t o;
	const void *values;
	int64_t size;

	if (!wh_pack_cusparseHandle_t(handle, &o))
		return CUSPARSE_STATUS_INVALID_VALUE;
	*device = wh_device_mode_cusparseHandle_t(&o);
	return *device ? CUSPARSE_STATUS_SUCCESS :
			 cusparseConstDnVecGet(vec, &size, &values, type);
}

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void *alpha,
			       cusparseConstSpVecDescr_t vecX, const void *beta,
			       cusparseDnVecDescr_t vecY)
{
	cudaDataType type = CUDA_R_32F;
	struct scalar a, b;
	cusparseStatus_t res;
	bool device;

	res = look(handle, vecY, &device, &type);
	return res ? res : wh_raw_cusparseAxpby(handle, scalar(device, alpha, type, &a), vecX,
						scalar(device, beta, type, &b), vecY);
}

cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void *c_coeff, const void *s_coeff,
			     cusparseSpVecDescr_t vecX, cusparseDnVecDescr_t vecY)
{
	cudaDataType type = CUDA_R_32F;
	struct scalar a, b;
	cusparseStatus_t res;
	bool device;

	res = look(handle, vecY, &device, &type);
	return res ? res : wh_raw_cusparseRot(handle, scalar(device, c_coeff, type, &a),
					      scalar(device, s_coeff, type, &b), vecX, vecY);
}
