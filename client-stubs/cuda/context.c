// SPDX-License-Identifier: Apache-2.0
/*
 * The current context is a thread's own state, kept here and sent with each
 * call. Owns the stack of each thread and the list of contexts that this
 * process has seen, so that making one current needs no call.
 */
#include "known.h"
#include "rest.h"
#include "stubs.h"
#include "table.h"

#include <stdlib.h>

struct seen {
	uint64_t ctx;
	CUdevice dev;
};

/* How often cuCtxAttach() has counted a context, and cuCtxDetach() has not. */
struct attached {
	uint64_t ctx;
	size_t times;
};

static pthread_mutex_t seen_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct seen *seen WH_PAIR;
static size_t seen_count WH_PAIR, seen_room WH_PAIR;
static struct attached *attached WH_PAIR;
static size_t attached_count WH_PAIR, attached_room WH_PAIR;

void wh_context_seen(uint64_t ctx, CUdevice dev)
{
	size_t i;

	pthread_mutex_lock(&seen_lock);
	for (i = 0; i < seen_count && seen[i].ctx != ctx; i++)
		;
	if (!WH_MAKE_ROOM(seen, i, seen_room, 16))
		goto out;
	if (i == seen_count)
		seen_count++;
	/* Each context has a legacy default stream of its own. */
	if (seen_count > 1)
		wh_rest_contexts();
	seen[i] = (struct seen) { ctx, dev };
out:
	pthread_mutex_unlock(&seen_lock);
}

static void forget(uint64_t ctx)
{
	size_t i;

	pthread_mutex_lock(&seen_lock);
	for (i = 0; i < seen_count; i++)
		if (seen[i].ctx == ctx)
			seen[i--] = seen[--seen_count];
	for (i = 0; i < attached_count; i++)
		if (attached[i].ctx == ctx)
			attached[i--] = attached[--attached_count];
	pthread_mutex_unlock(&seen_lock);
}

static bool lookup(uint64_t ctx, CUdevice *dev)
{
	bool found = false;
	size_t i;

	pthread_mutex_lock(&seen_lock);
	for (i = 0; i < seen_count && !found; i++) {
		found = seen[i].ctx == ctx;
		if (found)
			*dev = seen[i].dev;
	}
	pthread_mutex_unlock(&seen_lock);
	return found;
}

/* A context that came from elsewhere (a stream, a pointer) is asked for once. */
static CUresult check(CUcontext ctx)
{
	unsigned int version;
	CUdevice dev;
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS || !ctx || lookup((uint64_t)ctx, &dev))
		return res;
	res = cuCtxGetApiVersion(ctx, &version);
	return res == CUDA_SUCCESS ? res : CUDA_ERROR_INVALID_CONTEXT;
}

/* --- The stack ------------------------------------------------------------------- */

static CUresult push(uint64_t ctx)
{
	struct wh_thread *t = &wh_thread;

	if (t->depth == WH_CTX_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->stack[t->depth++] = ctx;
	t->ctx = ctx;
	return CUDA_SUCCESS;
}

static uint64_t pop(void)
{
	struct wh_thread *t = &wh_thread;
	uint64_t top = t->stack[--t->depth];

	t->ctx = t->depth ? t->stack[t->depth - 1] : 0;
	return top;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)wh_thread.ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult res = check(ctx);

	if (res != CUDA_SUCCESS)
		return res;
	if (wh_thread.depth)
		pop();
	return ctx ? push((uint64_t)ctx) : CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult res = check(ctx);

	if (res == CUDA_SUCCESS && !ctx)
		return CUDA_ERROR_INVALID_VALUE;
	return res == CUDA_SUCCESS ? push((uint64_t)ctx) : res;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
	CUresult res = wh_usable();
	uint64_t ctx;

	if (res != CUDA_SUCCESS)
		return res;
	if (!wh_thread.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	ctx = pop();
	if (pctx)
		*pctx = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
	return cuCtxPopCurrent_v2(pctx);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	CUdevice dev;

	if (device && wh_thread.ctx && wh_client.state == WH_READY && lookup(wh_thread.ctx, &dev)) {
		*device = dev;
		return CUDA_SUCCESS;
	}
	return wh_raw_cuCtxGetDevice(device);
}

/*
 * In the native driver these act only under a profiler, and there is none here. Programs call
 * them without one around the work that they would have profiled.
 */
CUresult cuProfilerStart(void)
{
	CUresult res = wh_usable();

	return res == CUDA_SUCCESS && !wh_thread.ctx ? CUDA_ERROR_INVALID_CONTEXT : res;
}

CUresult cuProfilerStop(void)
{
	return cuProfilerStart();
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUresult res = wh_usable();
	uint32_t old = wh_thread.capture_mode;

	if (res != CUDA_SUCCESS)
		return res;
	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	wh_thread.capture_mode = *mode;
	*mode = (CUstreamCaptureMode)old;
	return CUDA_SUCCESS;
}

/* --- Birth and death ---------------------------------------------------------------- */

static void created(CUcontext ctx, CUdevice dev)
{
	wh_context_seen((uint64_t)ctx, dev);
	push((uint64_t)ctx);
}

void wh_after_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	(void)flags;
	created(*pctx, dev);
}

void wh_after_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	(void)flags;
	created(*pctx, dev);
}

void wh_after_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
			     unsigned int flags, CUdevice dev)
{
	(void)paramsArray;
	(void)numParams;
	(void)flags;
	created(*pctx, dev);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
			CUdevice dev)
{
	if (!ctxCreateParams)
		return cuCtxCreate_v2(pctx, flags, dev);
	if (ctxCreateParams->cigParams)
		return wh_refuse("cuCtxCreate_v4 with a graphics context");
	return cuCtxCreate_v3(pctx, ctxCreateParams->execAffinityParams,
			      ctxCreateParams->numExecAffinityParams, flags, dev);
}

/* CUDA pops a destroyed context from the caller's stack if it is on top. */
static void destroyed(CUcontext ctx)
{
	forget((uint64_t)ctx);
	wh_events_forget();
	if (wh_thread.depth && wh_thread.ctx == (uint64_t)ctx)
		pop();
}

void wh_after_cuCtxDestroy(CUcontext ctx)
{
	destroyed(ctx);
}

void wh_after_cuCtxDestroy_v2(CUcontext ctx)
{
	destroyed(ctx);
}

/*
 * Whoever makes a context has its first use, and cuCtxAttach() adds others. The current context is
 * asked for itself, since it may have ended: a use of that would hide its end from the program.
 */
CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
	unsigned int version;
	CUresult res = wh_usable();
	size_t i;

	if (res != CUDA_SUCCESS)
		return res;
	if (!wh_thread.ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!pctx || flags)
		return CUDA_ERROR_INVALID_VALUE;
	res = cuCtxGetApiVersion((CUcontext)wh_thread.ctx, &version);
	if (res != CUDA_SUCCESS)
		return res;
	pthread_mutex_lock(&seen_lock);
	for (i = 0; i < attached_count && attached[i].ctx != wh_thread.ctx; i++)
		;
	if (!WH_MAKE_ROOM(attached, i, attached_room, 16)) {
		res = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		if (i == attached_count)
			attached[attached_count++] = (struct attached) { wh_thread.ctx, 0 };
		attached[i].times++;
		*pctx = (CUcontext)wh_thread.ctx;
	}
	pthread_mutex_unlock(&seen_lock);
	return res;
}

/* Takes back one use that cuCtxAttach() has counted. */
static bool detach(uint64_t ctx)
{
	bool counted = false;
	size_t i;

	pthread_mutex_lock(&seen_lock);
	for (i = 0; i < attached_count && attached[i].ctx != ctx; i++)
		;
	if (i < attached_count) {
		counted = true;
		if (!--attached[i].times)
			attached[i] = attached[--attached_count];
	}
	pthread_mutex_unlock(&seen_lock);
	return counted;
}

CUresult cuCtxDetach(CUcontext ctx)
{
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!ctx || (uint64_t)ctx != wh_thread.ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	return detach((uint64_t)ctx) ? CUDA_SUCCESS : cuCtxDestroy_v2(ctx);
}

/* --- Primary contexts --------------------------------------------------------------- */

/*
 * The worker's answer about a device's primary context, and its time. Frameworks ask before
 * nearly everything that they do, and only calls of this process change the answer.
 */
#define PRIMARIES	16

static struct primary {
	uint64_t when;		/* 0: nobody asked */
	unsigned int flags;
	int active;
} primaries[PRIMARIES] WH_PAIR;
static uint64_t primary_changes WH_PAIR = 1;
static pthread_mutex_t primary_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;

/* It runs after the call, so an answer that was asked for before the call is not kept. */
static void primary_changed(void)
{
	__atomic_fetch_add(&primary_changes, 1, __ATOMIC_SEQ_CST);
}

void wh_after_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	primary_changed();
	wh_context_seen((uint64_t)*pctx, dev);
}

/* These may end what is in the context; the context's handle stays. */
static void primary_left(void)
{
	primary_changed();
	wh_events_forget();
}

#define LEAVES(call)	void wh_after_##call(CUdevice dev) { (void)dev; primary_left(); }
LEAVES(cuDevicePrimaryCtxRelease)
LEAVES(cuDevicePrimaryCtxRelease_v2)
LEAVES(cuDevicePrimaryCtxReset)
LEAVES(cuDevicePrimaryCtxReset_v2)
#undef LEAVES

void wh_after_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	(void)dev, (void)flags;
	primary_changed();
}

void wh_after_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	wh_after_cuDevicePrimaryCtxSetFlags(dev, flags);
}

static bool primary_known(CUdevice dev, struct primary *out)
{
	bool known = false;

	if (dev < 0 || dev >= PRIMARIES || wh_usable() != CUDA_SUCCESS)
		return false;
	pthread_mutex_lock(&primary_lock);
	*out = primaries[dev];
	known = out->when == __atomic_load_n(&primary_changes, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&primary_lock);
	return known;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	uint64_t when = __atomic_load_n(&primary_changes, __ATOMIC_SEQ_CST);
	struct primary p;
	CUresult res;

	if (flags && active && primary_known(dev, &p)) {
		*flags = p.flags;
		*active = p.active;
		return CUDA_SUCCESS;
	}
	res = wh_raw_cuDevicePrimaryCtxGetState(dev, flags, active);
	if (res == CUDA_SUCCESS && flags && active && dev >= 0 && dev < PRIMARIES) {
		pthread_mutex_lock(&primary_lock);
		primaries[dev] = (struct primary) { when, *flags, *active };
		pthread_mutex_unlock(&primary_lock);
	}
	return res;
}

void wh_after_cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
	(void)pContext;
	(void)hCtx;	/* the worker is asked for the device when somebody wants to know */
	/* It has a default stream of its own, which follows none of another context. */
	wh_rest_apart();
}
