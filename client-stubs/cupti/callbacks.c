// SPDX-License-Identifier: Apache-2.0
/*
 * Each call of the program to the driver and the runtime, while activities or the subscriber need
 * it: it gets a number, its record (calls.c), and callbacks at its begin and its end. A call of the
 * driver that the runtime makes has the number of the runtime's call, and no record of its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "cupti_stub.h"

/* --- Names of kernels ----------------------------------------------------------------- */

#define NAMES	1024u	/* of kernels; a power of two */

/* By what the program launches them: an address or a handle. */
static struct {
	const void *kernel;
	const char *name;
} names[NAMES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER;	/* of cu_watch() */

/* Handles of the parent's worker are not those of the child's. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&watching, NULL);
	memset(names, 0, sizeof(names));
}
WH_IN_CHILD(in_child())

void cu_kernels_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(names, 0, sizeof(names));
	pthread_mutex_unlock(&lock);
}

static unsigned int place_of(const void *kernel)
{
	return (uintptr_t)kernel * 0x9e3779b97f4a7c15ULL >> 54;
}

static const char *find_name(const void *kernel)
{
	unsigned int i = place_of(kernel);
	const char *name;

	pthread_mutex_lock(&lock);
	name = names[i].kernel == kernel ? names[i].name : NULL;
	pthread_mutex_unlock(&lock);
	return name;
}

static void keep_name(const void *kernel, const char *name)
{
	unsigned int i = place_of(kernel);

	pthread_mutex_lock(&lock);
	names[i].kernel = kernel;
	names[i].name = name;
	pthread_mutex_unlock(&lock);
}

/* Launches of the driver take a function, or a kernel in its place. */
static const char *driver_name(const void *kernel)
{
	const char *name = NULL;

	if (cuFuncGetName(&name, (CUfunction)kernel) != CUDA_SUCCESS &&
	    cuKernelGetName(&name, (CUkernel)kernel) != CUDA_SUCCESS)
		return NULL;
	return name;
}

/* Returns what a call of the driver launches; NULL: it is no launch. */
static const void *driver_kernel(uint32_t cbid, const void *params)
{
	switch (cbid) {
	case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
		return ((const cuLaunch_params *)params)->f;
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
		return ((const cuLaunchKernel_params *)params)->f;
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
		return ((const cuLaunchKernelEx_params *)params)->f;
	default:
		return NULL;
	}
}

static const char *kernel_name(const struct wh_api_call *c, uint32_t cbid)
{
	const struct wh_api_function *f = c->of;
	const void *kernel = NULL;
	const char *name;

	if (f->api == WH_API_DRIVER && c->params)
		kernel = driver_kernel(cbid, c->params);
	else if (f->kernel)
		kernel = f->kernel(c->params);
	name = kernel ? find_name(kernel) : NULL;
	if (!kernel || name)
		return name;
	CU_OWN_CALL(name = f->kernel_name ? f->kernel_name(kernel) : driver_name(kernel));
	if (name) {
		name = cu_keep_text(name);
		keep_name(kernel, name);
	}
	return name;
}

/* --- Callbacks at begin and end ------------------------------------------------------- */

static CUpti_CallbackDomain domain_of(const struct wh_api_call *c)
{
	return c->of->api == WH_API_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API :
	       CUPTI_CB_DOMAIN_DRIVER_API;
}

static void call_back(struct wh_api_call *c, uint32_t cbid, CUpti_ApiCallbackSite site)
{
	CUcontext ctx = NULL;
	CUpti_CallbackData d = {
		.callbackSite = site,
		.functionName = c->of->name,
		.functionParams = c->params,
		.functionReturnValue = c->result,
		.symbolName = kernel_name(c, cbid),
		.correlationData = &c->data[0],
		.correlationId = c->number,
	};

	CU_OWN_CALL(cuCtxGetCurrent(&ctx));
	d.context = ctx;
	d.contextUid = cu_context_uid(ctx);
	cu_call_back(domain_of(c), cbid, &d);
}

/*
 * The record begins after the callback: its time is not the call's, and external ids that it pushes
 * are.
 */
static void begin(struct wh_api_call *c)
{
	uint32_t cbid = cu_cbid_of(c->of), number = c->number;

	if (!number)
		c->number = cu_call_number();
	if (cu_in_own_call()) {
		if (!number && cu_profiling())
			cu_call_without_record(c->number);
		return;
	}
	if (!cu_in_callback()) {
		if (cbid && cu_wants(domain_of(c), cbid)) {
			call_back(c, cbid, CUPTI_API_ENTER);
			c->data[1] |= CU_ENTERED;
		}
		if (c->of->api == WH_API_DRIVER)
			cu_resources_begin(c, cbid);
	}
	if (!number && cu_profiling()) {
		cu_call_begin(c->number, c->of->api == WH_API_RUNTIME ?
			      CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER, cbid);
		c->data[1] |= CU_RECORDED;
	}
}

static void end(struct wh_api_call *c)
{
	uint32_t cbid = cu_cbid_of(c->of);

	if (c->data[1] & CU_RECORDED)
		cu_call_end(c->number, *c->result);
	if (cu_in_own_call() || cu_in_callback())
		return;
	if (c->of->api == WH_API_DRIVER)
		cu_resources_end(c, cbid);
	if (c->data[1] & CU_ENTERED)
		call_back(c, cbid, CUPTI_API_EXIT);
}

static const struct wh_watcher watcher = { .begin = begin, .end = end };

/* The driver's library calls this one from now on, even if the program closes it. */
static void stay(void)
{
	Dl_info own;

	if (dladdr(&watcher, &own))
		dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void cu_watch(void)
{
	static pthread_once_t stays = PTHREAD_ONCE_INIT;
	static bool was;
	bool on;

	pthread_once(&stays, stay);
	pthread_mutex_lock(&watching);
	on = cu_profiling() || cu_wants_any(CUPTI_CB_DOMAIN_DRIVER_API) ||
	     cu_wants_any(CUPTI_CB_DOMAIN_RUNTIME_API) || cu_wants_any(CUPTI_CB_DOMAIN_RESOURCE) ||
	     cu_wants_any(CUPTI_CB_DOMAIN_SYNCHRONIZE);
	/* Handles of what ended unwatched may stand for others now. */
	if (on && !was)
		cu_kernels_forget();
	was = on;
	wh_watch(on ? &watcher : NULL);
	pthread_mutex_unlock(&watching);
}
