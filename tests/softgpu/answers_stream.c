// SPDX-License-Identifier: Apache-2.0
/* Records answers of streams, events and host functions. */
#include "answers.h"

static void streams(void)
{
	unsigned long long id, id2;
	CUcontext ctx = answer_ctx(), got = NULL;
	CUstreamCaptureStatus status = 9;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	unsigned int flags = 9;
	CUstream s;
	CUdevice dev = 9;
	int priority = 99;

	A(cuStreamCreate(NULL, 0));
	A(cuStreamCreate(&s, 2));
	A(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	A(cuStreamGetFlags(s, &flags));
	V(flags);
	A(cuStreamGetFlags(s, NULL));
	A(cuStreamGetFlags(NULL, &flags));
	V(flags);
	A(cuStreamGetFlags(CU_STREAM_PER_THREAD, &flags));
	V(flags);
	A(cuStreamGetPriority(s, &priority));
	V(priority);
	A(cuStreamGetPriority(NULL, &priority));
	V(priority);
	A(cuStreamQuery(s));
	A(cuStreamQuery(NULL));
	A(cuStreamQuery(CU_STREAM_LEGACY));
	A(cuStreamQuery(CU_STREAM_PER_THREAD));
	A(cuStreamSynchronize(s));
	A(cuStreamGetCtx(s, &got));
	V(got == ctx);
	A(cuStreamGetCtx(NULL, &got));
	A(cuStreamGetCtx(s, NULL));
	A(cuStreamGetDevice(s, &dev));
	V(dev);
	A(cuStreamGetId(s, &id));
	A(cuStreamGetId(s, NULL));
	A(cuStreamGetId(NULL, &id));
	A(cuStreamGetId(CU_STREAM_LEGACY, &id2));
	V(id == id2);
	A(cuStreamGetId(CU_STREAM_PER_THREAD, &id2));
	V(id == id2);
	A(cuStreamIsCapturing(s, &status));
	V(status);
	A(cuStreamIsCapturing(NULL, &status));
	A(cuStreamIsCapturing(s, NULL));
	A(cuThreadExchangeStreamCaptureMode(&mode));
	V(mode);
	A(cuStreamDestroy(s));
	A(cuStreamDestroy(NULL));
	A(cuStreamDestroy(CU_STREAM_LEGACY));
	A(cuStreamCreateWithPriority(&s, 0, -99));
	A(cuStreamGetPriority(s, &priority));
	V(priority);
	A(cuStreamCreateWithPriority(&s, 0, 99));
	A(cuStreamGetPriority(s, &priority));
	V(priority);
	A(cuStreamCreateWithPriority(&s, 2, 0));
}

static void events(void)
{
	CUevent a = NULL, b = NULL, c = NULL;
	float ms = -5;

	answer_ctx();
	A(cuEventCreate(NULL, 0));
	A(cuEventCreate(&a, 0x10));
	A(cuEventCreate(&a, CU_EVENT_INTERPROCESS));
	A(cuEventCreate(&a, 0));
	A(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
	A(cuEventCreate(&c, CU_EVENT_DISABLE_TIMING));
	A(cuEventQuery(a));
	A(cuEventSynchronize(a));
	A(cuEventElapsedTime(&ms, a, b));
	A(cuEventRecord(a, NULL));
	A(cuEventElapsedTime(&ms, a, b));
	A(cuEventRecord(b, NULL));
	A(cuEventRecord(c, NULL));
	A(cuCtxSynchronize());
	A(cuEventElapsedTime(NULL, a, b));
	A(cuEventElapsedTime(&ms, a, b));
	V(ms >= 0 && ms < 1000);
	A(cuEventElapsedTime(&ms, b, a));
	V(ms <= 0);
	A(cuEventElapsedTime(&ms, a, a));
	V(ms == 0);
	A(cuEventElapsedTime(&ms, a, c));
	A(cuEventElapsedTime(&ms, NULL, a));
	A(cuEventQuery(NULL));
	A(cuEventSynchronize(NULL));
	A(cuEventRecord(NULL, NULL));
	A(cuEventRecordWithFlags(a, NULL, 2));
	A(cuEventRecordWithFlags(a, NULL, 0));
	A(cuStreamWaitEvent(NULL, a, 0));
	A(cuStreamWaitEvent(NULL, a, 2));
	A(cuStreamWaitEvent(NULL, NULL, 0));
	A(cuEventDestroy(a));
	A(cuEventDestroy(NULL));
}

static void two_contexts(void)
{
	CUcontext a, b;
	CUstream s;
	CUevent e;
	CUdeviceptr p;
	static char buf[100];

	cuInit(0);
	cuCtxCreate(&a, NULL, 0, 0);
	cuStreamCreate(&s, 0);
	cuEventCreate(&e, 0);
	cuMemAlloc(&p, 100);
	cuCtxCreate(&b, NULL, 0, 0);
	A(cuStreamSynchronize(s));
	A(cuStreamQuery(s));
	A(cuEventRecord(e, s));
	A(cuEventRecord(e, NULL));
	A(cuStreamSynchronize(s));
	A(cuEventQuery(e));
	A(cuMemcpyHtoDAsync(p, buf, 100, s));
	A(cuMemcpyHtoD(p, buf, 100));
	A(cuMemsetD8(p, 0, 100));
	A(cuMemsetD8Async(p, 0, 100, s));
	A(cuMemFree(p));
	A(cuStreamDestroy(s));
	A(cuEventDestroy(e));
}

static CUresult in_call[2];

static void call_back(void *arg)
{
	CUdeviceptr p;

	in_call[0] = cuMemAlloc(&p, 16);
	in_call[1] = cuCtxSynchronize();
	*(int *)arg = 5;
}

static void call_back2(CUstream s, CUresult status, void *arg)
{
	(void)s;
	in_call[0] = status;
	*(int *)arg = 6;
}

static void host_functions(void)
{
	int seen = 0;

	answer_ctx();
	A(cuLaunchHostFunc(NULL, NULL, NULL));
	A(cuLaunchHostFunc(NULL, call_back, &seen));
	A(cuStreamSynchronize(NULL));
	V(seen);
	A(in_call[0]);
	A(in_call[1]);
	A(cuStreamAddCallback(NULL, NULL, NULL, 0));
	A(cuStreamAddCallback(NULL, call_back2, &seen, 1));
	A(cuStreamAddCallback(NULL, call_back2, &seen, 0));
	A(cuStreamSynchronize(NULL));
	V(seen);
	A(in_call[0]);
}

const struct section stream_sections[] = {
	{ "streams", streams },
	{ "events", events },
	{ "two_contexts", two_contexts },
	{ "host_functions", host_functions },
	{ NULL, NULL },
};
