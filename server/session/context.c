// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the right context current on the thread that runs a call. The client's threads have their
 * own current contexts and send them with each call; the worker's thread switches only when the
 * context differs from its last call's. This file also registers the data area with the driver, and
 * ends handles with their contexts.
 */
#include "limits/paged.h"
#include "session/output.h"
#include "session/handler.h"

#include <stdio.h>

/*
 * Once a context exists, the data area becomes pinned memory of every context: staging and
 * cuMemAllocHost memory are then copied without a detour. A primary context that was reset can be
 * made current but refuse the registration (seen with driver 580.159): the next call tries again.
 */
static void register_data(struct wh_session *s)
{
	CUresult res;

	s->registered = true;
	if (!s->drv.cuMemHostRegister_v2)
		return;
	res = s->drv.cuMemHostRegister_v2(s->data, s->data_size,
					  CU_MEMHOSTREGISTER_PORTABLE |
					  CU_MEMHOSTREGISTER_DEVICEMAP);
	if (res == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
		s->registered = false;
		wh_self.ctx = WH_CTX_UNKNOWN;
		return;
	}
	if (res != CUDA_SUCCESS && res != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		fprintf(wh_messages(), "warn: worker: data area is not pinned (error %d); copies are slower\n",
			res);
	wh_host_register_again(s);
}

/*
 * Limits and counters belong to the current context's device. A context that has no device now may
 * have one again: a primary context that was reset comes back under the same handle. So such a
 * context is not noted as entered, and the next call looks again.
 */
static void enter_device(struct wh_session *s)
{
	CUdevice dev;

	wh_self_on(s, -1);
	if (!wh_self.ctx || wh_self.ctx == WH_CTX_UNKNOWN || !s->drv.cuCtxGetDevice)
		return;
	if (s->drv.cuCtxGetDevice(&dev) != CUDA_SUCCESS || dev < 0)
		wh_self.ctx = WH_CTX_UNKNOWN;
	else if (dev < WH_TENANT_DEVICES)
		wh_self_on(s, dev);
}

/*
 * Markers go into the streams of the context that the last call used, whichever thread made it. So
 * under a share of time a thread continues in the context of the last call, as if there were only
 * one thread.
 */
void wh_context_follow(struct wh_session *s)
{
	uint64_t last = s->limits.ctx;
	CUcontext ctx = NULL;

	if (last == wh_self.ctx || last == WH_CTX_UNKNOWN)
		return;
	wh_get(s, WH_H_CUcontext, last, (void **)&ctx);
	wh_self.ctx = last;
	if (s->drv.cuCtxSetCurrent(ctx) != CUDA_SUCCESS)
		wh_self.ctx = WH_CTX_UNKNOWN;
	enter_device(s);
}

/*
 * A dead context is entered as no context. So the driver names the error, and no call ever runs in
 * a context that another thread's call left behind.
 */
void wh_context_enter(struct wh_session *s, const struct wh_req *q)
{
	CUstreamCaptureMode mode = (CUstreamCaptureMode)q->capture_mode;
	CUcontext ctx = NULL;

	if (q->ctx != wh_self.ctx) {
		/* First mark work in the streams of the context that is left. */
		if (s->limits.temporal)
			wh_sm_other_call(s);
		wh_get(s, WH_H_CUcontext, q->ctx, (void **)&ctx);
		wh_self.ctx = q->ctx;
		if (s->drv.cuCtxSetCurrent(ctx) != CUDA_SUCCESS) {
			s->drv.cuCtxSetCurrent(NULL);
			wh_self.ctx = WH_CTX_UNKNOWN;
		}
		enter_device(s);
		if (ctx && !s->registered && wh_self.ctx != WH_CTX_UNKNOWN)
			register_data(s);
	}
	if (q->capture_mode != wh_self.capture_mode && s->drv.cuThreadExchangeStreamCaptureMode &&
	    s->drv.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS)
		wh_self.capture_mode = q->capture_mode;
}

void wh_session_new_thread(struct wh_session *s)
{
	wh_self = (struct wh_self) {
		.ctx = WH_CTX_UNKNOWN, .capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL, .device = -1,
		.ended = __atomic_load_n(&s->ended, __ATOMIC_RELAXED),
	};
}

/* The driver has pushed the new context, but only the client keeps a stack of contexts: pop it. */
static void created(struct wh_session *s, CUresult res)
{
	CUcontext ctx;

	if (res == CUDA_SUCCESS && s->drv.cuCtxPopCurrent_v2)
		s->drv.cuCtxPopCurrent_v2(&ctx);
	wh_self.ctx = WH_CTX_UNKNOWN;
}

void wh_done_cuCtxCreate(struct wh_session *s, struct wh_req_cuCtxCreate *q, CUresult res)
{
	(void)q;
	created(s, res);
}

void wh_done_cuCtxCreate_v2(struct wh_session *s, struct wh_req_cuCtxCreate_v2 *q, CUresult res)
{
	(void)q;
	created(s, res);
}

void wh_done_cuCtxCreate_v3(struct wh_session *s, struct wh_req_cuCtxCreate_v3 *q, CUresult res)
{
	(void)q;
	created(s, res);
}

/* Registration and fences ended with their context; they are made again when needed. */
static void destroyed(struct wh_session *s, CUresult res, uint64_t id)
{
	int i;

	/* A thread that had it current must not go on in a context that comes in its place. */
	s->limits.ctx = wh_self.ctx = WH_CTX_UNKNOWN;
	__atomic_store_n(&s->ended, s->ended + 1, __ATOMIC_RELAXED);
	if (res != CUDA_SUCCESS)
		return;
	s->registered = false;
	wh_ipc_context_gone(s, id);
	wh_paged_context_gone(s, id);
	wh_mem_context_gone(s, id);
	wh_sm_context_gone(s, id);
	wh_trace_context_gone(s, id);
	wh_managed_context_gone(s, id);
	for (i = 0; i < WH_FENCES; i++)
		if (s->fence[i].ctx == id)
			s->fence[i] = (struct wh_fence) { 0 };
}

void wh_done_cuCtxDestroy(struct wh_session *s, struct wh_req_cuCtxDestroy *q, CUresult res)
{
	destroyed(s, res, q->ctx);
}

void wh_done_cuCtxDestroy_v2(struct wh_session *s, struct wh_req_cuCtxDestroy_v2 *q, CUresult res)
{
	destroyed(s, res, q->ctx);
}

/* --- Primary contexts: the handle outlives them, what they owned does not ------ */

static bool primary_active(struct wh_session *s, CUdevice dev)
{
	unsigned int flags;
	int active = 0;

	return s->drv.cuDevicePrimaryCtxGetState &&
	       s->drv.cuDevicePrimaryCtxGetState(dev, &flags, &active) == CUDA_SUCCESS && active;
}

/* Remembers which context is about to end, while the driver can still be asked for it. */
static CUresult primary_before(struct wh_session *s, CUdevice dev)
{
	s->primary = NULL;
	if (!primary_active(s, dev) || !s->drv.cuDevicePrimaryCtxRetain)
		return CUDA_SUCCESS;
	if (s->drv.cuDevicePrimaryCtxRetain(&s->primary, dev) == CUDA_SUCCESS)
		s->drv.cuDevicePrimaryCtxRelease_v2(dev);
	if (wh_sms_primary_of(s, dev))
		s->primary = wh_sms_primary_of(s, dev);
	return CUDA_SUCCESS;
}

/* Of a context in place of the primary one, not even the handle stays: the next one is another. */
static void stand_in_after(struct wh_session *s, CUdevice dev, bool reset)
{
	uint64_t id = wh_handle_for_new(s, WH_H_CUcontext, s->primary, 0);

	if (!wh_sms_primary_released(s, dev) && !reset)
		return;
	/* The driver ends what was made in it only with the primary context below it. */
	wh_sms_empty(s, s->primary);
	wh_handles_drop_owned(&s->handles, id);
	wh_sms_primary_gone(s, dev);
	destroyed(s, CUDA_SUCCESS, id);
	wh_drop(s, id);
}

static void primary_after(struct wh_session *s, CUdevice dev, CUresult res, bool reset)
{
	uint64_t id;

	if (res != CUDA_SUCCESS || !s->primary)
		return;
	if (wh_sms_primary_of(s, dev)) {
		stand_in_after(s, dev, reset);
		return;
	}
	/* A context that was never given to the client does not matter to it. */
	if (primary_active(s, dev) || !wh_handles_find(&s->handles, s->primary, WH_H_CUcontext))
		return;
	id = wh_handle_for_new(s, WH_H_CUcontext, s->primary, 0);
	wh_handles_drop_owned(&s->handles, id);
	destroyed(s, CUDA_SUCCESS, id);
}

#define ENDS(call, reset)									\
CUresult wh_check_##call(struct wh_session *s, const struct wh_req_##call *q)			\
{												\
	return primary_before(s, q->dev);							\
}												\
												\
void wh_done_##call(struct wh_session *s, struct wh_req_##call *q, CUresult res)		\
{												\
	primary_after(s, q->dev, res, reset);							\
}

ENDS(cuDevicePrimaryCtxRelease, false)
ENDS(cuDevicePrimaryCtxRelease_v2, false)
ENDS(cuDevicePrimaryCtxReset, true)
ENDS(cuDevicePrimaryCtxReset_v2, true)
#undef ENDS
