// SPDX-License-Identifier: Apache-2.0
/* What cuSOLVER says about itself: the worker's versions, asked for once. */
#include "cusolver_stub.h"

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
	static int known[PATCH_LEVEL + 1], answer[PATCH_LEVEL + 1];
	cusolverStatus_t res;

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (!__atomic_load_n(&known[type], __ATOMIC_ACQUIRE)) {
		res = wh_raw_cusolverGetProperty(type, &answer[type]);
		if (res != CUSOLVER_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&known[type], 1, __ATOMIC_RELEASE);
	}
	*value = answer[type];
	return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverGetVersion(int *version)
{
	static int answer;
	int now = __atomic_load_n(&answer, __ATOMIC_RELAXED);
	cusolverStatus_t res;

	if (!version)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (!now) {
		res = wh_raw_cusolverGetVersion(&now);
		if (res != CUSOLVER_STATUS_SUCCESS)
			return res;
		__atomic_store_n(&answer, now, __ATOMIC_RELAXED);
	}
	*version = now;
	return CUSOLVER_STATUS_SUCCESS;
}
