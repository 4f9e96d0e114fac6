// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that marks and ranges of NVTX's header have records, and call a subscriber
 * back, if NVTX_INJECTION64_PATH names the client's library of CUPTI.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <cupti.h>
#include <generated_nvtx_meta.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#include <wchar.h>

#include "lib_test.h"

#define MOST	256

static CUpti_ActivityMarker2 marker[MOST];
static CUpti_ActivityMarkerData data[MOST];
static int markers, datas;
static uint64_t kernel_start;
static uint32_t kernels;

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

	(void)ctx, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS) {
		if (a->kind == CUPTI_ACTIVITY_KIND_MARKER && markers < MOST)
			marker[markers++] = *(const CUpti_ActivityMarker2 *)a;
		if (a->kind == CUPTI_ACTIVITY_KIND_MARKER_DATA && datas < MOST)
			data[datas++] = *(const CUpti_ActivityMarkerData *)a;
		if (a->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			kernels++;
			kernel_start = ((const CUpti_ActivityMemset4 *)a)->start;
		}
	}
	free(buffer);
}

static void flush(void)
{
	markers = datas = kernels = 0;
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

static int is(int i, CUpti_ActivityFlag flags, const char *name)
{
	const CUpti_ActivityMarker2 *m = &marker[i];

	return i < markers && m->flags == flags &&
	       (name ? m->name && !strcmp(m->name, name) : !m->name);
}

#define INSTANT	CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS
#define START	CUPTI_ACTIVITY_FLAG_MARKER_START
#define END	CUPTI_ACTIVITY_FLAG_MARKER_END

static void test_before(void)
{
	nvtxMarkA("before");
	ok_eq(nvtxRangePushA("open"), 0, "a_range_may_begin_before_anybody_profiles");
	cuptiActivityRegisterCallbacks(requested, completed);
	ok(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER) &&
	   !cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MARKER_DATA), "markers_are_enabled");
	nvtxRangePop();
	flush();
	ok_eq(markers, 0, "what_began_before_has_no_record_and_no_end");
}

static void test_marks(void)
{
	uint64_t before, after;

	cuptiGetTimestamp(&before);
	nvtxMarkA("here");
	cuptiGetTimestamp(&after);
	nvtxMarkW(L"gr\u00fc\u00df");
	flush();
	ok(markers == 2 && is(0, INSTANT, "here") && !marker[0].domain,
	   "a_mark_is_an_instant_with_its_name");
	ok(marker[0].timestamp >= before && marker[0].timestamp <= after, "it_has_its_time");
	ok(marker[0].objectKind == CUPTI_ACTIVITY_OBJECT_THREAD &&
	   marker[0].objectId.pt.processId == (uint32_t)getpid() &&
	   marker[0].objectId.pt.threadId == (uint32_t)pthread_self(), "it_has_its_thread");
	ok(is(1, INSTANT, "gr\xc3\xbc\xc3\x9f"), "a_name_of_wide_characters_is_utf_8");
	flush();
	ok_eq(markers, 0, "no_mark_comes_twice");
}

static void test_ranges(void)
{
	ok(nvtxRangePushA("outer") == 0 && nvtxRangePushA("inner") == 1 && nvtxRangePop() == 1 &&
	   nvtxRangePop() == 0, "push_and_pop_say_how_deep_they_are");
	ok(nvtxRangePop() < 0, "pop_of_nothing_is_an_error");
	flush();
	ok(markers == 4 && is(0, START, "outer") && is(1, START, "inner") && is(2, END, NULL) &&
	   is(3, END, NULL), "a_range_has_a_start_with_its_name_and_an_end");
	ok(marker[0].id != marker[1].id && marker[2].id == marker[1].id &&
	   marker[3].id == marker[0].id, "pop_ends_what_was_pushed_last");
	ok(marker[0].timestamp <= marker[1].timestamp && marker[1].timestamp <= marker[2].timestamp,
	   "their_times_are_in_order");
}

static void *end_it(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return (void *)(uintptr_t)(nvtxRangePop() < 0);
}

static void test_threads(void)
{
	nvtxRangeId_t id = nvtxRangeStartA("long"), other = nvtxRangeStartA("other");
	pthread_t thread;
	void *empty = NULL;

	nvtxRangePushA("mine");
	pthread_create(&thread, NULL, end_it, &id);
	pthread_join(thread, &empty);
	nvtxRangePop();
	nvtxRangeEnd(other);
	flush();
	ok(markers == 6 && marker[3].flags == END && marker[3].id == marker[0].id &&
	   marker[3].objectId.pt.threadId != marker[0].objectId.pt.threadId,
	   "a_range_may_end_in_another_thread");
	ok(empty != NULL, "a_thread_pops_nothing_of_another_one");
	ok(marker[5].id == marker[1].id && marker[4].id == marker[2].id,
	   "ranges_may_end_in_any_order");
}

static pthread_key_t late;

/* Runs after the library's own end of the thread, whose keys are older. */
static void push_late(void *rounds)
{
	if ((uintptr_t)rounds < 3) {
		pthread_setspecific(late, (char *)rounds + 1);
		return;
	}
	nvtxRangePushA("late");
	nvtxRangePop();
}

static void *push_early(void *arg)
{
	pthread_setspecific(late, (void *)1);
	nvtxRangePushA("early");
	return arg;
}

static void test_end_of_a_thread(void)
{
	pthread_t thread;

	pthread_key_create(&late, push_late);
	pthread_create(&thread, NULL, push_early, NULL);
	pthread_join(thread, NULL);
	flush();
	ok(markers == 3 && is(0, START, "early") && is(1, START, "late") &&
	   marker[2].id == marker[1].id, "a_range_may_begin_while_its_thread_ends");
}

static void test_domains(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "registered");
	nvtxEventAttributes_t a = {
		.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .category = 17,
		.colorType = NVTX_COLOR_ARGB, .color = 0xff336699,
		.payloadType = NVTX_PAYLOAD_TYPE_INT32, .payload.iValue = -5,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED, .message.registered = text,
	};

	nvtxRangePushA("default");
	ok_eq(nvtxDomainRangePushEx(domain, &a), 0, "a_domain_has_levels_of_its_own");
	nvtxRangePop();
	nvtxDomainRangePop(domain);
	flush();
	ok(is(1, START, "registered") && marker[1].domain && !strcmp(marker[1].domain, "library"),
	   "a_range_of_a_domain_has_its_name_and_that_of_the_domain");
	ok(marker[2].id == marker[0].id && marker[3].id == marker[1].id && !marker[2].domain,
	   "ranges_of_domains_may_overlap");
	ok(datas == 2 && data[1].id == marker[1].id && data[1].color == 0xff336699 &&
	   data[1].flags == CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB && data[1].category == 17,
	   "data_has_colour_and_category");
	ok(data[1].payloadKind == CUPTI_METRIC_VALUE_KIND_INT64 &&
	   data[1].payload.metricValueInt64 == -5, "data_has_the_payload");
	ok_eq(data[0].flags, CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE, "no_colour_is_said_to_be_none");
	a.size = 4;
	nvtxMarkEx(&a);
	flush();
	ok(is(0, INSTANT, ""), "attributes_that_are_too_short_are_not_read");
}

static void test_device(void)
{
	CUdeviceptr p = 0;
	CUcontext ctx;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	p = device(NULL, 4096);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	nvtxRangePushA("fill");
	cuMemsetD8Async(p, 1, 4096, NULL);
	cuCtxSynchronize();
	nvtxRangePop();
	flush();
	ok(kernels == 1 && markers == 2 && marker[0].timestamp < kernel_start &&
	   kernel_start < marker[1].timestamp, "work_of_the_device_is_inside_of_its_range");
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET);
}

/* --- Callbacks -------------------------------------------------------------------------- */

static int calls, level = -1;
static char text[64];

static void CUPTIAPI callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			      const void *cbdata)
{
	const CUpti_NvtxData *d = cbdata;

	(void)userdata;
	calls++;
	if (domain != CUPTI_CB_DOMAIN_NVTX || cbid != CUPTI_CBID_NVTX_nvtxRangePushA ||
	    strcmp(d->functionName, "nvtxRangePushA"))
		return;
	snprintf(text, sizeof(text), "%s", ((const nvtxRangePushA_params *)d->functionParams)->message);
	level = *(const int *)d->functionReturnValue;
	nvtxMarkA("in the callback");
}

static void test_callbacks(void)
{
	CUpti_SubscriberHandle subscriber;
	const char *name = "";

	cuptiSubscribe(&subscriber, callback, NULL);
	nvtxRangePushA("unseen");
	ok_eq(calls, 0, "nobody_is_called_back_until_the_domain_is_enabled");
	cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_NVTX);
	nvtxRangePushA("seen");
	ok(calls == 1 && !strcmp(text, "seen"), "a_range_calls_the_subscriber_back_with_its_name");
	ok_eq(level, 1, "and_with_what_the_function_returns");
	nvtxRangePop();
	ok_eq(calls, 2, "so_does_its_end");
	cuptiUnsubscribe(subscriber);
	nvtxRangePop();
	ok_eq(calls, 2, "nobody_is_called_back_after_the_subscriber_has_left");
	ok(!cuptiGetCallbackName(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxMarkA, &name) &&
	   !strcmp(name, "nvtxMarkA"), "callback_has_the_name_of_its_function");
}

int main(void)
{
	/* The header looks at it at its first call. */
	setenv("NVTX_INJECTION64_PATH", "libcupti.so.13", 1);
	test_before();
	test_marks();
	test_ranges();
	test_threads();
	test_end_of_a_thread();
	test_domains();
	test_device();
	test_callbacks();
	return tap_exit();
}
