// SPDX-License-Identifier: Apache-2.0
/* Owns what a call of a library on several devices needs besides the library. */
#include "libraries/several.h"

bool wh_several_are_tenants(const struct wh_session *s, const int32_t *device, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (device[i] < 0 || device[i] >= WH_TENANT_DEVICES ||
		    wh_device_hidden(s, device[i]))
			return false;
	return true;
}

bool wh_several_may_run(struct wh_session *s, const int32_t *device, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (wh_sms_limited(s, device[i]) ||
		    (device[i] != wh_self.device && s->limits.temporal & 1u << device[i]))
			return false;
	/*
	 * What measures the call is put around it in the default stream, which takes nothing while
	 * another stream of the context is captured. The library's work would run all the same.
	 */
	return !count || wh_self.device < 0 || !(s->limits.temporal & 1u << wh_self.device) ||
	       wh_capture_of(s, NULL) == WH_CAPTURE_NONE;
}

CUcontext wh_several_leave(struct wh_session *s)
{
	CUcontext ctx = NULL;

	if (s->drv.cuCtxGetCurrent)
		s->drv.cuCtxGetCurrent(&ctx);
	return ctx;
}

void wh_several_back(struct wh_session *s, CUcontext ctx)
{
	if (s->drv.cuCtxSetCurrent)
		s->drv.cuCtxSetCurrent(ctx);
}

CUresult wh_several_wait(struct wh_session *s, const int32_t *device, uint32_t count)
{
	CUresult res = CUDA_SUCCESS, one;
	CUcontext ctx;
	uint32_t i;

	if (!s->drv.cuDevicePrimaryCtxRetain || !s->drv.cuDevicePrimaryCtxRelease_v2 ||
	    !s->drv.cuCtxSetCurrent || !s->drv.cuCtxSynchronize)
		return wh_missing(s, "cuDevicePrimaryCtxRetain or what belongs to it");
	for (i = 0; i < count; i++) {
		one = s->drv.cuDevicePrimaryCtxRetain(&ctx, device[i]);
		if (one == CUDA_SUCCESS) {
			one = s->drv.cuCtxSetCurrent(ctx);
			if (one == CUDA_SUCCESS)
				one = s->drv.cuCtxSynchronize();
			s->drv.cuDevicePrimaryCtxRelease_v2(device[i]);
		}
		res = res ? res : one;
	}
	return res;
}
