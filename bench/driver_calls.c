// SPDX-License-Identifier: Apache-2.0
/*
 * libdriver_calls.so: counts the calls of the CUDA driver that a process makes natively,
 * with CUPTI's callbacks. torch_requests.py uses it.
 */
#include <cupti.h>
#include <dlfcn.h>

static unsigned long long calls, waits;

static int is_wait(CUpti_CallbackId id)
{
	switch (id) {
	case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize:
	case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize:
	case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz:
	case CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize:
	case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2:
	case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2:
		return 1;
	default:
		return 0;
	}
}

static void CUPTIAPI called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *info)
{
	(void)data, (void)domain;
	if (((const CUpti_CallbackData *)info)->callbackSite != CUPTI_API_ENTER)
		return;
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (is_wait(id))
		__atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
}

/*
 * Starts with NVIDIA's CUPTI in that file. Returns 0, CUPTI's error, or -1 if the file is
 * no CUPTI.
 */
int driver_calls_begin(const char *cupti)
{
	CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
	CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain);
	void *lib = dlopen(cupti, RTLD_NOW);
	CUpti_SubscriberHandle s;
	CUptiResult res;

	if (!lib)
		return -1;
	subscribe = (__typeof__(subscribe))dlsym(lib, "cuptiSubscribe");
	enable = (__typeof__(enable))dlsym(lib, "cuptiEnableDomain");
	if (!subscribe || !enable)
		return -1;
	res = subscribe(&s, called, NULL);
	if (res == CUPTI_SUCCESS)
		res = enable(1, s, CUPTI_CB_DOMAIN_DRIVER_API);
	return (int)res;
}

unsigned long long driver_calls(void)
{
	return calls;
}

unsigned long long driver_waits(void)
{
	return waits;
}
