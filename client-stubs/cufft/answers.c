// SPDX-License-Identifier: Apache-2.0
/* cuFFT's answers about itself: the worker's versions, asked for once. */
#include "cufft_stub.h"
#include "../property.h"

WH_GET_PROPERTY(cufftResult, cufftGetProperty, CUFFT_INVALID_VALUE)

cufftResult cufftGetVersion(int *version)
{
	static int answer;
	cufftResult res;
	int v;

	if (!version)
		return CUFFT_INVALID_VALUE;
	v = __atomic_load_n(&answer, __ATOMIC_RELAXED);
	if (!v) {
		res = wh_raw_cufftGetVersion(&v);
		if (res != CUFFT_SUCCESS)
			return res;
		__atomic_store_n(&answer, v, __ATOMIC_RELAXED);
	}
	*version = v;
	return CUFFT_SUCCESS;
}
