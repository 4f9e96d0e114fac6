// SPDX-License-Identifier: Apache-2.0
/*
 * Streams. A stream is the ticket of the work that it has to follow (queue.h). Where the device
 * has no thread, work is done when it is submitted, and that ticket is always 0. The legacy and the
 * per-thread default stream are two streams, and each stream has its context, flags, priority
 * and id. Work that is submitted outlives its stream.
 */
#include "queue.h"

#define GREATEST	(-5)	/* the priority that cuCtxGetStreamPriorityRange() reports */

struct sgpu_stream *sgpu_stream_new(struct sgpu_ctx *ctx, unsigned int flags,
				    int priority, bool builtin)
{
	struct sgpu_stream *s = sgpu_obj_new(SGPU_STREAM);

	if (!s)
		return NULL;
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority > 0 ? 0 :
		      priority < GREATEST ? GREATEST : priority;
	s->builtin = builtin;
	return s;
}

struct sgpu_stream *sgpu_stream_get(struct sgpu_ctx *ctx, CUstream handle)
{
	struct sgpu_stream *s;

	if (!handle || handle == CU_STREAM_LEGACY)
		return ctx->legacy;
	if (handle == CU_STREAM_PER_THREAD)
		return ctx->per_thread;
	s = sgpu_obj_get(SGPU_STREAM, handle);
	return s && !s->builtin ? s : NULL;
}

CUresult sgpu_stream_check(struct sgpu_ctx *ctx, CUstream handle)
{
	return sgpu_stream_get(ctx, handle) ? CUDA_SUCCESS :
					      CUDA_ERROR_INVALID_HANDLE;
}

static void drop_if_of(void *object, void *ctx)
{
	struct sgpu_stream *s = object;

	if (s->ctx != ctx)
		return;
	sgpu_capture_leave(s);
	sgpu_obj_free(s);
}

void sgpu_stream_drop_ctx(struct sgpu_ctx *ctx)
{
	sgpu_obj_each(SGPU_STREAM, drop_if_of, ctx);
}

static CUresult stream_create(struct sgpu_ctx *ctx, CUstream *out,
			      unsigned int flags, int priority)
{
	struct sgpu_stream *s;

	if (!out || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	s = sgpu_stream_new(ctx, flags, priority, false);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags,
				    int priority)
{
	struct sgpu_ctx *ctx;
	CUresult rc;

	if (out)
		*out = NULL;
	rc = sgpu_beside(&ctx);
	return rc ? rc : sgpu_leave(stream_create(ctx, out, flags, priority));
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
	struct sgpu_stream *s;
	CUresult rc = handle ? sgpu_beside_healthy() : sgpu_beside_global();

	if (rc)
		return rc;
	s = sgpu_obj_get(SGPU_STREAM, handle);
	if (!s || s->builtin)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	sgpu_capture_leave(s);
	sgpu_obj_free(s);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy(CUstream handle)
	__attribute__((alias("cuStreamDestroy_v2")));

/* @rc is what @enter's twin with a context has returned. */
static CUresult by_stream(CUresult rc, CUresult (*enter)(void), CUstream stream,
			  struct sgpu_ctx **ctx)
{
	struct sgpu_stream *s;

	if (rc != CUDA_ERROR_INVALID_CONTEXT)
		return rc;
	rc = enter();
	if (rc)
		return rc;
	s = sgpu_obj_get(SGPU_STREAM, stream);
	if (!s || s->builtin)
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	*ctx = s->ctx;
	return CUDA_SUCCESS;
}

CUresult sgpu_enter_stream(CUstream stream, struct sgpu_ctx **ctx)
{
	return by_stream(sgpu_enter(ctx), sgpu_enter_healthy, stream, ctx);
}

CUresult sgpu_beside_stream(CUstream stream, struct sgpu_ctx **ctx)
{
	return by_stream(sgpu_beside(ctx), sgpu_beside_healthy, stream, ctx);
}

CUresult sgpu_submit_stream(CUstream stream, struct sgpu_ctx **ctx)
{
	return by_stream(sgpu_submit(ctx), sgpu_submit_healthy, stream, ctx);
}

static CUresult find(CUresult rc, struct sgpu_ctx *ctx, CUstream handle, struct sgpu_stream **s)
{
	if (rc)
		return rc;
	*s = sgpu_stream_get(ctx, handle);
	return *s ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
}

/* Starts each call on one stream: finds its object and takes the lock. */
static CUresult enter_stream(CUstream handle, struct sgpu_stream **s)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_stream(handle, &ctx);

	return find(rc, ctx, handle, s);
}

/* Querying or waiting for work that only a graph will do ends the capture. */
static CUresult wait_check(struct sgpu_stream *s, CUstream handle)
{
	struct sgpu_stream *capturing;
	CUresult rc;

	rc = sgpu_capture_stream(s->ctx, handle, &capturing);
	return !rc && capturing ? sgpu_capture_break(capturing) : rc;
}

/* The legacy stream has the work of all streams that it synchronizes with. */
static uint64_t work_of(const struct sgpu_stream *s)
{
	return s == s->ctx->legacy ? sgpu_stream_behind(s) : s->last;
}

CUresult cuStreamQuery(CUstream handle)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	rc = wait_check(s, handle);
	return sgpu_leave(rc ? rc : sgpu_queue_ask(work_of(s)));
}

CUresult cuStreamSynchronize(CUstream handle)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	rc = wait_check(s, handle);
	return sgpu_leave(rc ? rc : sgpu_await(work_of(s)));
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	struct sgpu_event *e;
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	if (flags & ~CU_EVENT_WAIT_EXTERNAL)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	e = sgpu_obj_get(SGPU_EVENT, event);
	if (!e)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	rc = sgpu_capture_wait(s, e, flags & CU_EVENT_WAIT_EXTERNAL);
	if (!rc && !s->capture)
		sgpu_stream_follow(s, e->ticket);
	return sgpu_leave(rc);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	if (!flags)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = s->flags;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	if (!priority)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*priority = s->priority;
	return sgpu_leave(CUDA_SUCCESS);
}

/* Each thread has a per-thread stream of its own, so each has an id of its own. */
static uint64_t thread_stream_id(const struct sgpu_stream *s)
{
	static __thread uint64_t id __attribute__((tls_model("initial-exec")));

	if (!id)
		id = sgpu_new_id();
	return s->obj.id << 32 | id;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	if (!id)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*id = s == s->ctx->per_thread ? thread_stream_id(s) : s->obj.id;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	if (!ctx)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*ctx = (CUcontext)s->ctx;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *dev)
{
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	if (!dev)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*dev = s->ctx->device;
	return sgpu_leave(CUDA_SUCCESS);
}

/* Managed memory is plain memory: it is always attached to everything. */
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr addr, size_t n,
				unsigned int flags)
{
	struct sgpu_range range;
	struct sgpu_stream *s;
	CUresult rc = enter_stream(handle, &s);

	if (rc)
		return rc;
	(void)n;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	    flags != CU_MEM_ATTACH_SINGLE)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!sgpu_mem_find(addr, &range) || !sgpu_is_managed(range.kind))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(CUDA_SUCCESS);
}

struct host_call {
	struct sgpu_task work;
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream stream;
	void *arg;
};

static void call_host(void *arg)
{
	struct host_call *c = arg;

	if (c->fn)
		c->fn(c->arg);
	else
		c->callback(c->stream, sgpu_health(), c->arg);
}

static void run_host(struct sgpu_task *w)
{
	sgpu_queue_call_out(call_host, w);
}

/* A callback runs even after a fault, which it is told. */
static CUresult submit_host(struct sgpu_stream *s, struct host_call *call)
{
	struct host_call *c;

	if (!sgpu_queue_on()) {
		sgpu_call_out(call_host, call);
		return CUDA_SUCCESS;
	}
	c = sgpu_task_new(sizeof(*c), run_host);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	call->work = c->work;
	*c = *call;
	c->work.always = call->callback;
	c->work.calls = true;
	sgpu_task_submit(s, &c->work);
	return CUDA_SUCCESS;
}

/* Starts each call that submits work to one stream. */
static CUresult submit_stream(CUstream handle, struct sgpu_stream **s)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_submit_stream(handle, &ctx);

	return find(rc, ctx, handle, s);
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *arg)
{
	struct host_call call = { .fn = fn, .arg = arg };
	struct sgpu_stream *s, *capturing;
	CUresult rc = submit_stream(handle, &s);

	if (rc)
		return rc;
	if (!fn)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = sgpu_capture_stream(s->ctx, handle, &capturing);
	if (rc || capturing)
		return sgpu_leave(rc ? rc : sgpu_capture_host(capturing, fn, arg));
	return sgpu_leave(submit_host(s, &call));
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
			     void *arg, unsigned int flags)
{
	struct host_call call = { .callback = callback, .stream = handle,
				  .arg = arg };
	struct sgpu_stream *s;
	CUresult rc = submit_stream(handle, &s);

	if (rc)
		return rc;
	if (!callback || flags)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = wait_check(s, handle);
	if (rc)
		return sgpu_leave(rc);
	return sgpu_leave(submit_host(s, &call));
}
