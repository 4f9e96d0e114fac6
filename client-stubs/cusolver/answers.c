// SPDX-License-Identifier: Apache-2.0
/* cuSOLVER's answers about itself: the worker's versions, asked for once. */
#include "cusolver_stub.h"
#include "../property.h"

WH_GET_PROPERTY(cusolverStatus_t, cusolverGetProperty, CUSOLVER_STATUS_INVALID_VALUE)

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
