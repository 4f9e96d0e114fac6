// SPDX-License-Identifier: Apache-2.0
/*
 * Callbacks of what the program's calls of the driver make, end and wait for: contexts, streams and
 * modules (CUPTI_CB_DOMAIN_RESOURCE), and waits for streams and contexts
 * (CUPTI_CB_DOMAIN_SYNCHRONIZE). They are told by the call that does it, which the runtime makes,
 * too.
 */
#include "cupti_stub.h"

#include <stdlib.h>

/* The arguments of the call `c`, which is one of `function`. */
#define OF(function)	((const function##_params *)c->params)
#define IS(function)	CUPTI_DRIVER_TRACE_CBID_##function

static CUcontext current_context(void)
{
	CUcontext ctx = NULL;

	CU_OWN_CALL(cuCtxGetCurrent(&ctx));
	return ctx;
}

static void tell(CUpti_CallbackIdResource what, CUcontext ctx, CUstream stream, void *more)
{
	const CUpti_ResourceData d = {
		.context = ctx, .resourceHandle.stream = stream, .resourceDescriptor = more,
	};

	cu_call_back(CUPTI_CB_DOMAIN_RESOURCE, what, &d);
}

/* --- Modules and libraries ------------------------------------------------------------ */

/* Those that were loaded while somebody asked, each with a number of its own. */
struct module {
	struct module *next;
	const void *handle;
	uint32_t id;
};
static struct module *modules;
static uint32_t last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	modules = NULL;
}
WH_IN_CHILD(in_child())

static uint32_t add_module(const void *handle)
{
	struct module *m = malloc(sizeof(*m));
	uint32_t id;

	pthread_mutex_lock(&lock);
	id = ++last_id;
	if (m) {
		*m = (struct module) { modules, handle, id };
		modules = m;
	}
	pthread_mutex_unlock(&lock);
	return id;
}

/* Returns its number, and forgets it. One that was loaded before has a number, too. */
static uint32_t take_module(const void *handle)
{
	struct module **p = &modules, *m;
	uint32_t id;

	pthread_mutex_lock(&lock);
	while (*p && (*p)->handle != handle)
		p = &(*p)->next;
	m = *p;
	if (m)
		*p = m->next;
	id = m ? m->id : ++last_id;
	pthread_mutex_unlock(&lock);
	free(m);
	return id;
}

/* The code that runs is made of the program's image in the worker, so none is told. */
static void tell_module(CUpti_CallbackIdResource what, uint32_t id)
{
	CUpti_ModuleResourceData d = { .moduleId = id };

	tell(what, current_context(), NULL, &d);
}

static void loaded(const void *handle)
{
	tell_module(CUPTI_CBID_RESOURCE_MODULE_LOADED, add_module(handle));
}

static void unloading(const void *handle)
{
	tell_module(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, take_module(handle));
}

/* --- Contexts and streams ------------------------------------------------------------- */

static bool is_active(CUdevice dev)
{
	CUresult res = CUDA_SUCCESS;
	unsigned int flags = 0;
	int active = 0;

	CU_OWN_CALL(res = cuDevicePrimaryCtxGetState(dev, &flags, &active));
	return res == CUDA_SUCCESS && active;
}

static void note_active(struct wh_api_call *c, CUdevice dev)
{
	if (is_active(dev))
		c->data[1] |= CU_ACTIVE;
}

static CUcontext primary_of(CUdevice dev)
{
	CUcontext ctx = NULL;

	/* It is there already: the second one is given back at once. */
	CU_OWN_CALL(if (cuDevicePrimaryCtxRetain(&ctx, dev) == CUDA_SUCCESS)
			    cuDevicePrimaryCtxRelease(dev));
	return ctx;
}

static void tell_stream(CUpti_CallbackIdResource what, CUstream stream)
{
	CUresult res = CUDA_SUCCESS;
	CUcontext ctx = NULL;

	CU_OWN_CALL(res = cuStreamGetCtx(stream, &ctx));
	tell(what, res == CUDA_SUCCESS ? ctx : current_context(), stream, NULL);
}

/* --- Calls ---------------------------------------------------------------------------- */

static void ending(struct wh_api_call *c, uint32_t cbid)
{
	switch (cbid) {
	case IS(cuCtxDestroy):
	case IS(cuCtxDestroy_v2):
		tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, OF(cuCtxDestroy_v2)->ctx, NULL,
		     NULL);
		break;
	case IS(cuDevicePrimaryCtxReset):
	case IS(cuDevicePrimaryCtxReset_v2):
		if (is_active(OF(cuDevicePrimaryCtxReset_v2)->dev))
			tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
			     primary_of(OF(cuDevicePrimaryCtxReset_v2)->dev), NULL, NULL);
		break;
	case IS(cuDevicePrimaryCtxRetain):
		note_active(c, OF(cuDevicePrimaryCtxRetain)->dev);
		break;
	case IS(cuStreamDestroy):
	case IS(cuStreamDestroy_v2):
		tell_stream(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
			    OF(cuStreamDestroy_v2)->hStream);
		break;
	case IS(cuModuleUnload):
		unloading(OF(cuModuleUnload)->hmod);
		break;
	case IS(cuLibraryUnload):
		unloading(OF(cuLibraryUnload)->library);
		break;
	}
}

static void made(struct wh_api_call *c, uint32_t cbid)
{
	switch (cbid) {
	case IS(cuInit):
		tell(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
		break;
	case IS(cuCtxCreate):
	case IS(cuCtxCreate_v2):
	case IS(cuCtxCreate_v3):
	case IS(cuCtxCreate_v4):
		tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *OF(cuCtxCreate_v2)->pctx, NULL, NULL);
		break;
	case IS(cuDevicePrimaryCtxRetain):
		if (!(c->data[1] & CU_ACTIVE))
			tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
			     *OF(cuDevicePrimaryCtxRetain)->pctx, NULL, NULL);
		break;
	case IS(cuStreamCreate):
	case IS(cuStreamCreateWithPriority):
	case IS(cuGreenCtxStreamCreate):
		tell_stream(CUPTI_CBID_RESOURCE_STREAM_CREATED, *OF(cuStreamCreate)->phStream);
		break;
	case IS(cuModuleLoad):
	case IS(cuModuleLoadData):
	case IS(cuModuleLoadDataEx):
	case IS(cuModuleLoadFatBinary):
		loaded(*OF(cuModuleLoad)->module);
		break;
	case IS(cuLibraryLoadData):
	case IS(cuLibraryLoadFromFile):
		loaded(*OF(cuLibraryLoadData)->library);
		break;
	}
}

static void waited(struct wh_api_call *c, uint32_t cbid)
{
	CUpti_SynchronizeData d = { .context = current_context() };

	switch (cbid) {
	case IS(cuStreamSynchronize):
	case IS(cuStreamSynchronize_ptsz):
		d.stream = OF(cuStreamSynchronize)->hStream;
		cu_call_back(CUPTI_CB_DOMAIN_SYNCHRONIZE,
			     CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, &d);
		break;
	case IS(cuCtxSynchronize_v2):
		d.context = OF(cuCtxSynchronize_v2)->ctx ? OF(cuCtxSynchronize_v2)->ctx : d.context;
		/* fall through */
	case IS(cuCtxSynchronize):
		cu_call_back(CUPTI_CB_DOMAIN_SYNCHRONIZE,
			     CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, &d);
		break;
	}
}

void cu_resources_begin(struct wh_api_call *c, uint32_t cbid)
{
	if (cu_wants_any(CUPTI_CB_DOMAIN_RESOURCE))
		ending(c, cbid);
}

/* After these, other objects may have the handles of those that ended. */
static void forget(struct wh_api_call *c, uint32_t cbid)
{
	switch (cbid) {
	case IS(cuCtxDestroy):
	case IS(cuCtxDestroy_v2):
		cu_context_forget(OF(cuCtxDestroy_v2)->ctx);
		cu_kernels_forget();
		break;
	case IS(cuDevicePrimaryCtxReset):
	case IS(cuDevicePrimaryCtxReset_v2):
	case IS(cuModuleUnload):
	case IS(cuLibraryUnload):
		cu_kernels_forget();
		break;
	}
}

void cu_resources_end(struct wh_api_call *c, uint32_t cbid)
{
	if (*c->result != CUDA_SUCCESS)
		return;
	forget(c, cbid);
	if (cu_wants_any(CUPTI_CB_DOMAIN_RESOURCE))
		made(c, cbid);
	if (cu_wants_any(CUPTI_CB_DOMAIN_SYNCHRONIZE))
		waited(c, cbid);
}
