// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that events of contexts work: those that a green context or another one
 * records hold what its streams were given, and contexts wait for events. What is of another
 * kind, or captures, is refused.
 */
#include <cuda.h>

#include <stdlib.h>

#include "tap.h"

static CUgreenCtx make(void)
{
	CUdevResource all, part[1], rest;
	unsigned int n = 1;
	CUdevResourceDesc desc;
	CUgreenCtx green = NULL;

	if (cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) ||
	    cuDevSmResourceSplitByCount(part, &n, &all, &rest, 0, 8) ||
	    cuDevResourceGenerateDesc(&desc, part, 1) ||
	    cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM))
		return NULL;
	return green;
}

static void events(CUgreenCtx green, CUcontext ctx, CUstream s)
{
	CUdeviceptr p = 0;
	CUevent a, b;
	unsigned int v = 0;
	float ms = -1;

	cuMemAlloc(&p, 4096);
	cuEventCreate(&a, 0);
	cuEventCreate(&b, 0);
	ok(!cuGreenCtxRecordEvent(green, a), "a_green_context_records_an_event");
	cuMemsetD32Async(p, 7, 1024, s);
	ok(!cuGreenCtxRecordEvent(green, b) && !cuEventSynchronize(b) && !cuMemcpyDtoH(&v, p, 4) &&
	   v == 7, "the_event_is_behind_the_work_of_its_streams");
	ok(!cuEventElapsedTime(&ms, a, b) && ms >= 0, "times_between_such_events_are_measured");
	ok(!cuGreenCtxWaitEvent(green, b), "a_green_context_waits_for_an_event");
	ok(!cuCtxRecordEvent(ctx, b) && !cuEventSynchronize(b), "so_does_another_context_record");
	ok(!cuCtxWaitEvent(ctx, b), "and_wait");
	cuMemFree(p);
	cuEventDestroy(b);
	/* NVIDIA's driver reads an event that is gone, and crashes. */
	if (getenv("WORMHOLE_TRANSPORT"))
		ok(cuGreenCtxRecordEvent(green, b) != 0, "an_event_that_is_gone_is_refused");
	else
		skip("an_event_that_is_gone_is_refused", "the driver reads it");
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED);
	ok(cuGreenCtxRecordEvent(green, a) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	   "a_context_with_a_capture_records_nothing");
	cuEventDestroy(a);
}

int main(void)
{
	CUgreenCtx green;
	CUcontext ctx;
	CUstream s = NULL;

	tap_plan(10);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	green = make();
	ok(green != NULL, "a_green_context_is_made");
	ok(!cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0), "it_has_a_stream");
	events(green, ctx, s);
	return tap_exit();
}
