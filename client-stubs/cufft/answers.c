// SPDX-License-Identifier: Apache-2.0
/* What cuFFT says about itself: versions, the worker's, asked for once. */
#include "cufft_stub.h"

cufftResult cufftGetProperty(libraryPropertyType type, int *value)
{
	static int known[PATCH_LEVEL + 1], answer[PATCH_LEVEL + 1];
	cufftResult res;

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUFFT_INVALID_VALUE;
	if (!__atomic_load_n(&known[type], __ATOMIC_ACQUIRE)) {
		res = wh_raw_cufftGetProperty(type, &answer[type]);
		if (res != CUFFT_SUCCESS)
			return res;
		__atomic_store_n(&known[type], 1, __ATOMIC_RELEASE);
	}
	*value = answer[type];
	return CUFFT_SUCCESS;
}

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
