// SPDX-License-Identifier: Apache-2.0
/*
 * cuSPARSE's answers about itself: versions (the worker's, asked for once) and statuses. Also
 * the calls whose scalars have a vector's type.
 */
#include "cusparse_stub.h"
#include "../property.h"
#include "../sparse.h"

WH_GET_PROPERTY(cusparseStatus_t, cusparseGetProperty, CUSPARSE_STATUS_INVALID_VALUE)

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

const char *cusparseGetErrorName(cusparseStatus_t status)
{
	return wh_sparse_status(status).name;
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
	return wh_sparse_status(status).text;
}

/* --- Scalars of a vector's type ----------------------------------------------------- */

struct scalar {
	_Alignas(16) uint8_t bytes[16];
};

/* Returns the scalar, copied if it is in host memory. One in device memory stays where it is. */
static const void *scalar(bool device, const void *p, cudaDataType type, struct scalar *copy)
{
	if (!p || device)
		return p;
	memset(copy, 0, sizeof(*copy));
	memcpy(copy->bytes, p, wh_cusparse_factor(type));
	return copy;
}

/* Finds out whether a handle's scalars are in device memory, and if not, a vector's type. */
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
