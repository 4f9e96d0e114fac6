// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a subscriber of CUPTI's callbacks is told: the program's calls of the
 * driver and the runtime with their arguments, what they make, end and wait for, in each thread,
 * whatever the callback itself calls, and in no child of a fork.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_test.h"

#define DRIVER(name)	CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name
#define RUNTIME(name)	CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##name
#define MOST	4096

static const char ptx[] =
	".version 9.0\n.target sm_52\n.address_size 64\n"
	".visible .entry nothing()\n{\nret;\n}\n";

static struct event {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId cbid;
	CUpti_ApiCallbackSite site;
	pthread_t thread;
	const char *name;
	char symbol[32];
	CUcontext ctx;
	CUstream stream;
	uint32_t uid, correlation, module;
	uint64_t stored;	/* at the exit: what the entry has stored */
	int result;
	CUdeviceptr made;
	size_t bytes;
} event[MOST];
static int events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUpti_SubscriberHandle subscriber;
static int given = 42;		/* what the subscriber gives, and gets back */
static void *got;
static void (*in_callback)(const struct event *e);

static void note_alloc(struct event *e, const cuMemAlloc_v2_params *p)
{
	e->bytes = p->bytesize;
	if (e->site == CUPTI_API_EXIT && p->dptr)
		e->made = *p->dptr;
}

static void note_call(struct event *e, const CUpti_CallbackData *d)
{
	e->site = d->callbackSite;
	e->name = d->functionName;
	e->ctx = d->context;
	e->uid = d->contextUid;
	e->correlation = d->correlationId;
	snprintf(e->symbol, sizeof(e->symbol), "%s", d->symbolName ? d->symbolName : "");
	if (e->site == CUPTI_API_ENTER)
		*d->correlationData = 1000 + d->correlationId;
	else
		e->stored = *d->correlationData;
	e->result = e->site == CUPTI_API_EXIT ? *(const int *)d->functionReturnValue : 0;
	if (e->domain == CUPTI_CB_DOMAIN_DRIVER_API &&
	    e->cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2)
		note_alloc(e, d->functionParams);
	if (e->domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
	    e->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020)
		e->bytes = ((const cudaMalloc_v3020_params *)d->functionParams)->size;
}

static void note_resource(struct event *e, const CUpti_ResourceData *d)
{
	e->ctx = d->context;
	e->stream = d->resourceHandle.stream;
	if (e->cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
	    e->cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
		e->module = ((const CUpti_ModuleResourceData *)d->resourceDescriptor)->moduleId;
}

static void CUPTIAPI callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *data)
{
	struct event e = { .domain = domain, .cbid = cbid, .thread = pthread_self() };

	got = userdata;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		note_call(&e, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		note_resource(&e, data);
	else
		e.stream = ((const CUpti_SynchronizeData *)data)->stream;
	pthread_mutex_lock(&lock);
	if (events < MOST)
		event[events++] = e;
	pthread_mutex_unlock(&lock);
	if (in_callback)
		in_callback(&e);
}

static const struct event *find(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, int site)
{
	int i;

	for (i = 0; i < events; i++)
		if (event[i].domain == domain && event[i].cbid == cbid &&
		    (int)event[i].site == site)
			return &event[i];
	return NULL;
}

static void only(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	cuptiEnableAllDomains(0, subscriber);
	cuptiEnableCallback(1, subscriber, domain, cbid);
	events = 0;
}

static void only_domain(CUpti_CallbackDomain domain)
{
	cuptiEnableAllDomains(0, subscriber);
	cuptiEnableDomain(1, subscriber, domain);
	events = 0;
}

static CUcontext context;
static CUmodule module;
static CUfunction function;

static void prepare(void)
{
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	cuModuleLoadData(&module, ptx);
	cuModuleGetFunction(&function, module, "nothing");
}

static int launch(void)
{
	return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void test_subscribers(void)
{
	CUpti_SubscriberParams p = { .structSize = 0, .subscriberName = "first" };
	CUpti_SubscriberHandle other;
	char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";

	ok_eq(cuptiSubscribe_v2(&subscriber, callback, &given, &p), CUPTI_ERROR_INVALID_PARAMETER,
	      "parameters_without_their_size_are_refused");
	p.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
	ok_eq(cuptiSubscribe_v2(&subscriber, callback, &given, &p), 0, "subscriber_is_taken");
	p.oldSubscriberName = name;
	p.oldSubscriberSize = sizeof(name);
	ok(cuptiSubscribe_v2(&other, callback, NULL, &p) ==
	   CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && !strcmp(name, "CUPTI for first"),
	   "a_second_one_is_told_the_name_of_the_first");
	cuMemFree(device(NULL, 64));
	ok_eq(events, 0, "nothing_is_called_back_that_was_not_enabled");
}

static void test_states(void)
{
	uint32_t on = 7, off = 7;
	const char *name = "";

	cuptiEnableCallback(1, subscriber, DRIVER(cuMemAlloc_v2));
	ok(!cuptiGetCallbackState(&on, subscriber, DRIVER(cuMemAlloc_v2)) &&
	   !cuptiGetCallbackState(&off, subscriber, DRIVER(cuMemFree_v2)) && on == 1 && off == 0,
	   "state_says_which_callbacks_are_enabled");
	ok(!cuptiGetCallbackName(DRIVER(cuMemAlloc_v2), &name) && !strcmp(name, "cuMemAlloc_v2"),
	   "callback_has_the_name_of_its_function");
	ok_eq(cuptiEnableCallback(1, NULL, DRIVER(cuMemAlloc_v2)), CUPTI_ERROR_INVALID_PARAMETER,
	      "nobody_enables_without_a_subscriber");
}

static void test_driver(void)
{
	const struct event *in, *out;
	CUdeviceptr p = 0;

	only(DRIVER(cuMemAlloc_v2));
	cuMemAlloc(&p, 4096);
	in = find(DRIVER(cuMemAlloc_v2), CUPTI_API_ENTER);
	out = find(DRIVER(cuMemAlloc_v2), CUPTI_API_EXIT);
	ok(events == 2 && in && out && in < out, "a_call_calls_back_at_its_begin_and_its_end");
	if (!in || !out)
		return;
	ok(got == &given, "callback_gets_what_the_subscriber_gave");
	ok(!strcmp(in->name, "cuMemAlloc_v2") && !in->symbol[0], "it_has_the_functions_name");
	ok(in->bytes == 4096 && out->made == p && p, "it_has_the_arguments_and_what_they_point_to");
	ok(in->ctx == context && in->uid == 1, "it_has_the_context_and_its_number");
	ok(in->correlation && in->correlation == out->correlation &&
	   out->stored == 1000 + in->correlation, "end_finds_what_the_begin_has_stored");
	ok_eq(out->result, 0, "end_has_the_result");
	cuMemFree(p);
	ok_eq(events, 2, "a_call_that_is_not_enabled_calls_nobody_back");
	cuMemAlloc(NULL, 4096);
	ok(events == 4 && event[3].result == CUDA_ERROR_INVALID_VALUE,
	   "end_of_a_call_that_fails_has_its_error");
	ok(event[3].correlation > out->correlation, "each_call_has_a_number_of_its_own");
}

/* --- With records of activities ------------------------------------------------------- */

static struct {
	uint32_t kernel, call, other;	/* correlation ids: of the kernel, its call, another call */
	int calls;
} record;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = 1 << 16;
	*buffer = aligned_alloc(8, *size);
	*most = 0;
}

static void CUPTIAPI completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *a = NULL;
	const CUpti_ActivityAPI *api;

	(void)ctx, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS) {
		api = (const void *)a;
		if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			record.kernel = ((const CUpti_ActivityKernel10 *)a)->correlationId;
		if (a->kind != CUPTI_ACTIVITY_KIND_DRIVER && a->kind != CUPTI_ACTIVITY_KIND_RUNTIME)
			continue;
		record.calls++;
		if (api->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
			record.call = api->correlationId;
		else
			record.other = api->correlationId;
	}
	free(buffer);
}

static void profile(int on)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER,
		CUPTI_ACTIVITY_KIND_RUNTIME,
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		on ? cuptiActivityEnable(kinds[i]) : cuptiActivityDisable(kinds[i]);
	if (on)
		memset(&record, 0, sizeof(record));
	else
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

static void test_launch(void)
{
	const struct event *in;

	only(DRIVER(cuLaunchKernel));
	cuptiActivityRegisterCallbacks(requested, completed);
	profile(1);
	launch();
	cuCtxSynchronize();
	profile(0);
	in = find(DRIVER(cuLaunchKernel), CUPTI_API_ENTER);
	ok(in && !strcmp(in->symbol, "nothing"), "launch_has_the_name_of_its_kernel");
	ok(in && in->correlation == record.kernel && in->correlation == record.call,
	   "its_number_is_that_of_the_records_of_call_and_kernel");
	ok_eq(record.calls, 2, "what_the_callback_needs_has_no_record");
}

/* --- What a callback does ------------------------------------------------------------- */

static void fill(const struct event *e)
{
	static CUdeviceptr p;

	if (e->site == CUPTI_API_EXIT)
		return;
	cuMemAlloc(&p, 64);
	cuMemsetD8(p, 7, 64);
	cuMemFree(p);
}

static void test_calls_in_callbacks(void)
{
	only_domain(CUPTI_CB_DOMAIN_DRIVER_API);
	in_callback = fill;
	profile(1);
	ok_eq(launch(), 0, "a_call_whose_callback_calls_cuda_succeeds");
	in_callback = NULL;
	cuptiEnableAllDomains(0, subscriber);
	cuCtxSynchronize();
	profile(0);
	ok(events == 2 && find(DRIVER(cuLaunchKernel), CUPTI_API_EXIT),
	   "calls_in_a_callback_call_nobody_back");
	ok(record.calls == 5 && record.other != record.call && record.kernel == record.call,
	   "they_are_calls_of_their_own_in_the_records");
}

static void leave(const struct event *e)
{
	(void)e;
	cuptiUnsubscribe(subscriber);
}

static void test_unsubscribing(void)
{
	only(DRIVER(cuMemAlloc_v2));
	in_callback = leave;
	cuMemFree(device(NULL, 64));
	in_callback = NULL;
	ok(events == 1 && event[0].site == CUPTI_API_ENTER,
	   "a_subscriber_that_leaves_in_its_callback_gets_no_other_one");
	cuMemFree(device(NULL, 64));
	ok(events == 1 && cuptiUnsubscribe(subscriber) == CUPTI_ERROR_INVALID_PARAMETER,
	   "and_is_none_any_more");
	ok_eq(cuptiSubscribe(&subscriber, callback, &given), 0, "another_one_may_come");
}

#define CALLS	200

static void *allocate(void *arg)
{
	int i;

	(void)arg;
	cuCtxSetCurrent(context);
	for (i = 0; i < CALLS; i++)
		cuMemFree(device(NULL, 64));
	return NULL;
}

static void test_threads(void)
{
	int i, j, alone = 0, twice = 0;
	pthread_t thread[2];

	only(DRIVER(cuMemAlloc_v2));
	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, allocate, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < events; i++) {
		const struct event *next = NULL;

		for (j = i + 1; j < events && !next; j++)
			if (event[j].thread == event[i].thread)
				next = &event[j];
		if (event[i].site == CUPTI_API_ENTER) {
			alone += !next || next->site != CUPTI_API_EXIT ||
				 next->correlation != event[i].correlation;
			for (j = 0; j < i; j++)
				twice += event[j].site == CUPTI_API_ENTER &&
					 event[j].correlation == event[i].correlation;
		}
	}
	ok_eq(events, 4 * CALLS, "each_call_of_two_threads_calls_back_twice");
	ok_eq(alone, 0, "end_follows_begin_in_its_thread");
	ok_eq(twice, 0, "no_two_calls_have_one_number");
}

/* --- The runtime ---------------------------------------------------------------------- */

static void test_runtime(void)
{
	void *lib = dlopen("libcudart.so.13", RTLD_NOW);
	int (*alloc)(void **, size_t), (*load)(void **, const void *, ...);
	int (*get)(void **, void *, const char *), (*release)(void *);
	int (*run)(const void *, dim3, dim3, void **, size_t, cudaStream_t);
	void *p = NULL, *library, *kernel;
	dim3 one = { 1, 1, 1 };
	const struct event *in;

	*(void **)&alloc = dlsym(lib, "cudaMalloc");
	*(void **)&release = dlsym(lib, "cudaFree");
	*(void **)&load = dlsym(lib, "cudaLibraryLoadData");
	*(void **)&get = dlsym(lib, "cudaLibraryGetKernel");
	*(void **)&run = dlsym(lib, "cudaLaunchKernel");
	only(RUNTIME(cudaMalloc_v3020));
	alloc(&p, 512);
	in = find(RUNTIME(cudaMalloc_v3020), CUPTI_API_ENTER);
	ok(in && events == 2 && !strcmp(in->name, "cudaMalloc") && in->bytes == 512,
	   "first_call_of_the_runtime_has_name_and_arguments");
	release(p);
	only(RUNTIME(cudaMalloc_v3020));
	cuptiEnableCallback(1, subscriber, DRIVER(cuMemAlloc_v2));
	alloc(&p, 512);
	ok(events == 4 && event[0].domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
	   event[1].domain == CUPTI_CB_DOMAIN_DRIVER_API && event[1].bytes == 512 &&
	   event[2].site == CUPTI_API_EXIT && event[3].domain == CUPTI_CB_DOMAIN_RUNTIME_API,
	   "the_drivers_call_is_inside_of_the_runtimes");
	ok(event[0].correlation == event[1].correlation, "and_has_its_number");
	release(p);
	only(RUNTIME(cudaLaunchKernel_v7000));
	load(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
	get(&kernel, library, "nothing");
	run(kernel, one, one, NULL, 0, NULL);
	in = find(RUNTIME(cudaLaunchKernel_v7000), CUPTI_API_ENTER);
	ok(in && !strcmp(in->symbol, "nothing"), "launch_of_the_runtime_has_the_name_of_its_kernel");
}

/* A function that CUDA 12 has in another shape than 13 has a number of its own. */
static void test_older_runtime(void)
{
	void *lib = dlopen("libcudart.so.12", RTLD_NOW);
	int (*wait)(void), (*advise)(const void *, size_t, int, int);

	*(void **)&wait = dlsym(lib, "cudaThreadSynchronize");
	*(void **)&advise = dlsym(lib, "cudaMemAdvise");
	only(RUNTIME(cudaThreadSynchronize_v3020));
	cuptiEnableCallback(1, subscriber, RUNTIME(cudaMemAdvise_v8000));
	wait();
	ok(events == 2 && !strcmp(event[0].name, "cudaThreadSynchronize"),
	   "a_function_that_cuda_12_alone_has_calls_back");
	advise(NULL, 0, 0, 0);
	ok(events == 4 && event[2].cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMemAdvise_v8000,
	   "one_of_another_shape_has_its_own_number");
}

/* --- Resources and waits -------------------------------------------------------------- */

#define RESOURCE(name)	CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_##name

static void test_contexts(void)
{
	const struct event *made, *ends;
	CUcontext ctx = NULL, again;

	only_domain(CUPTI_CB_DOMAIN_RESOURCE);
	cuCtxCreate(&ctx, NULL, 0, 0);
	made = find(RESOURCE(CONTEXT_CREATED), 0);
	ok(made && made->ctx == ctx && ctx, "context_that_is_made_is_told");
	cuCtxDestroy(ctx);
	ends = find(RESOURCE(CONTEXT_DESTROY_STARTING), 0);
	ok(ends && ends->ctx == ctx, "context_that_ends_is_told");
	events = 0;
	cuDevicePrimaryCtxRetain(&again, 0);
	cuDevicePrimaryCtxRelease(0);
	ok_eq(events, 0, "a_device_context_that_is_there_is_not_made_again");
}

static void test_streams(void)
{
	const struct event *e;
	CUstream stream;

	events = 0;
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	e = find(RESOURCE(STREAM_CREATED), 0);
	ok(e && e->stream == stream && e->ctx == context, "stream_is_told_with_its_context");
	only_domain(CUPTI_CB_DOMAIN_SYNCHRONIZE);
	cuStreamSynchronize(stream);
	ok(events == 1 && event[0].stream == stream &&
	   event[0].cbid == CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, "wait_for_a_stream_is_told");
	cuCtxSynchronize();
	ok(events == 2 && event[1].cbid == CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED,
	   "wait_for_a_context_is_told");
	cuStreamSynchronize((CUstream)0x1234567);
	ok_eq(events, 2, "a_wait_that_fails_is_not");
	only_domain(CUPTI_CB_DOMAIN_RESOURCE);
	cuStreamDestroy(stream);
	e = find(RESOURCE(STREAM_DESTROY_STARTING), 0);
	ok(e && e->stream == stream, "stream_that_ends_is_told");
}

static void test_modules(void)
{
	const struct event *made, *ends;
	CUmodule m;

	only_domain(CUPTI_CB_DOMAIN_RESOURCE);
	cuModuleLoadData(&m, ptx);
	cuModuleUnload(m);
	made = find(RESOURCE(MODULE_LOADED), 0);
	ends = find(RESOURCE(MODULE_UNLOAD_STARTING), 0);
	ok(made && ends && made->module && made->module == ends->module,
	   "module_has_one_number_when_it_comes_and_goes");
}

/* --- fork ----------------------------------------------------------------------------- */

static void test_fork(void)
{
	int status = -1;
	pid_t child;

	if (getenv("WORMHOLE_TRANSPORT") && !strcmp(getenv("WORMHOLE_TRANSPORT"), "loopback")) {
		skip("forks_child_calls_nobody_back", "loopback has one process");
		return;
	}
	only_domain(CUPTI_CB_DOMAIN_DRIVER_API);
	child = fork();
	if (!child) {
		prepare();
		_exit(launch() || cuCtxSynchronize() || events ||
		      cuptiSubscribe(&subscriber, callback, NULL) ||
		      cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) ||
		      launch() || events != 2);
	}
	waitpid(child, &status, 0);
	ok_eq(status, 0, "forks_child_calls_nobody_back_until_it_subscribes");
	launch();
	ok_eq(events, 2, "and_the_parents_subscriber_stays");
}

int main(void)
{
	prepare();
	test_subscribers();
	test_states();
	test_driver();
	test_launch();
	test_calls_in_callbacks();
	test_unsubscribing();
	test_threads();
	test_runtime();
	test_older_runtime();
	test_contexts();
	test_streams();
	test_modules();
	test_fork();
	return tap_exit();
}
