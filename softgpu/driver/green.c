// SPDX-License-Identifier: Apache-2.0
/*
 * Green contexts: contexts whose kernels see only a part of the device's multiprocessors
 * (%smid). As in NVIDIA's driver, a green context depends on the primary context: it keeps
 * the primary context alive, which cannot be reset meanwhile, and memory allocated in it
 * belongs to that. A resource is a set of multiprocessors. The set is stored in the
 * resource's padding, which programs must not use.
 */
#include <string.h>

#include "queue.h"

#define ALL_SMS		((1ull << SGPU_NSM) - 1)
#define COSCHEDULED	8u	/* a part has at least so many, and a multiple of it */
#define LEAST		2u	/* the same with IGNORE_SM_COSCHEDULING */

struct inside {
	uint64_t magic, sms;
};
#define MAGIC	0x534d53554d475053ull

static void resource_of(uint64_t sms, CUdevResource *r)
{
	struct inside in = { MAGIC, sms };

	memset(r, 0, sizeof(*r));
	r->type = CU_DEV_RESOURCE_TYPE_SM;
	r->sm.smCount = (unsigned int)__builtin_popcountll(sms);
	r->sm.minSmPartitionSize = COSCHEDULED;
	r->sm.smCoscheduledAlignment = COSCHEDULED;
	memcpy(r->_internal_padding, &in, sizeof(in));
}

/* Returns the set of multiprocessors behind a resource, or 0 if it is no valid resource. */
static uint64_t sms_of(const CUdevResource *r)
{
	struct inside in;

	memcpy(&in, r->_internal_padding, sizeof(in));
	return r->type == CU_DEV_RESOURCE_TYPE_SM && in.magic == MAGIC ? in.sms & ALL_SMS : 0;
}

static CUresult answer(uint64_t sms, CUdevResource *r, CUdevResourceType type)
{
	if (!r || type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	resource_of(sms, r);
	return CUDA_SUCCESS;
}

/* Returns the set of all multiprocessors of a device. */
static uint64_t all_of(int device)
{
	return (1ull << sgpu_device_sms(device)) - 1;
}

CUresult cuDeviceGetDevResource(CUdevice dev, CUdevResource *r, CUdevResourceType type)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	return sgpu_leave(sgpu_device_ok(dev) ? answer(all_of(dev), r, type) :
						CUDA_ERROR_INVALID_DEVICE);
}

static struct sgpu_green *green_of(CUgreenCtx handle)
{
	struct sgpu_green *g = sgpu_obj_get(SGPU_GREEN, handle);

	return g && g->ctx->alive ? g : NULL;
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource *r, CUdevResourceType type)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	ctx = sgpu_obj_get(SGPU_CTX, handle);
	if (!ctx || !ctx->alive)
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	return sgpu_leave(answer(ctx->sms ? ctx->sms : all_of(ctx->device), r, type));
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *r, CUdevResourceType type)
{
	struct sgpu_green *g;
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	g = green_of(handle);
	return sgpu_leave(g ? answer(g->ctx->sms, r, type) : CUDA_ERROR_INVALID_CONTEXT);
}

/* Takes the lowest @n multiprocessors out of a set. */
static uint64_t take(uint64_t *from, unsigned int n)
{
	uint64_t out = 0;

	for (; n && *from; n--) {
		out |= *from & -*from;
		*from &= *from - 1;
	}
	return out;
}

static CUresult split(CUdevResource *result, unsigned int *n, const CUdevResource *in,
		      CUdevResource *rest, unsigned int flags, unsigned int least)
{
	unsigned int step = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING ? LEAST :
								COSCHEDULED;
	uint64_t left = in ? sms_of(in) : 0;
	unsigned int most, i;

	if (!n || !left)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	if (least > SGPU_NSM)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	least = least ? (least + step - 1) / step * step : step;
	most = (unsigned int)__builtin_popcountll(left) / least;
	*n = !result || *n > most ? most : *n;
	if (!*n)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	for (i = 0; result && i < *n; i++)
		resource_of(take(&left, least), &result[i]);
	if (rest)
		memset(rest, 0, sizeof(*rest));
	if (rest && left)
		resource_of(left, rest);
	return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *n,
				     const CUdevResource *in, CUdevResource *rest,
				     unsigned int flags, unsigned int least)
{
	CUresult rc = sgpu_enter_global();

	return rc ? rc : sgpu_leave(split(result, n, in, rest, flags, least));
}

static CUresult describe(CUdevResourceDesc *out, CUdevResource *r, unsigned int n)
{
	struct sgpu_desc *d;
	uint64_t sms = 0;
	unsigned int i;

	if (!out || !r || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n; i++) {
		/* No multiprocessor may be in two parts. */
		if (!sms_of(&r[i]) || sms & sms_of(&r[i]))
			return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
		sms |= sms_of(&r[i]);
	}
	d = sgpu_obj_new(SGPU_DESC);
	if (!d)
		return CUDA_ERROR_OUT_OF_MEMORY;
	d->sms = sms;
	*out = (CUdevResourceDesc)d;
	return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *r, unsigned int n)
{
	CUresult rc = sgpu_enter_global();

	return rc ? rc : sgpu_leave(describe(out, r, n));
}

static CUresult create(CUgreenCtx *out, CUdevResourceDesc handle, CUdevice dev, unsigned int flags)
{
	struct sgpu_desc *d = sgpu_obj_get(SGPU_DESC, handle);
	struct sgpu_green *g;
	CUresult rc;

	if (!out || !d || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sgpu_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	g = sgpu_obj_new(SGPU_GREEN);
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = sgpu_ctx_green(dev, d->sms, &g->ctx);
	if (rc)
		sgpu_obj_free(g);
	else
		*out = (CUgreenCtx)g;
	return rc;
}

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev,
			  unsigned int flags)
{
	CUresult rc = sgpu_enter_healthy();

	return rc ? rc : sgpu_leave(create(out, desc, dev, flags));
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
	struct sgpu_green *g;
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	g = sgpu_obj_get(SGPU_GREEN, handle);
	if (!g)
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	sgpu_ctx_green_end(g->ctx);
	sgpu_obj_free(g);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle)
{
	struct sgpu_green *g;
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	g = green_of(handle);
	if (!g || !out)
		return sgpu_leave(g ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT);
	*out = (CUcontext)g->ctx;
	return sgpu_leave(CUDA_SUCCESS);
}

struct search {
	const struct sgpu_ctx *ctx;
	struct sgpu_green *found;
};

static void look(void *object, void *arg)
{
	struct sgpu_green *g = object;
	struct search *s = arg;

	if (g->ctx == s->ctx)
		s->found = g;
}

/* Returns the green context behind a context, or NULL for other contexts. */
static CUgreenCtx green_behind(const struct sgpu_ctx *ctx)
{
	struct search s = { .ctx = ctx };

	sgpu_obj_each(SGPU_GREEN, look, &s);
	return (CUgreenCtx)s.found;
}

static CUresult stream_in(CUstream handle, struct sgpu_stream **s)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	*s = sgpu_stream_get(ctx, handle);
	return *s ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *ctx, CUgreenCtx *green)
{
	struct sgpu_stream *s;
	CUresult rc = stream_in(handle, &s);

	if (rc)
		return rc;
	if (!ctx || !green)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*green = green_behind(s->ctx);
	*ctx = (CUcontext)(s->ctx->parent ? s->ctx->parent : s->ctx);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *green)
{
	struct sgpu_stream *s;
	CUresult rc = stream_in(handle, &s);

	if (rc)
		return rc;
	if (!green)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*green = green_behind(s->ctx);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned int flags, int priority)
{
	struct sgpu_green *g;
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	g = green_of(handle);
	if (!g)
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!out || flags != CU_STREAM_NON_BLOCKING)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = (CUstream)sgpu_stream_new(g->ctx, flags, priority, false);
	return sgpu_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *id)
{
	struct sgpu_green *g;
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	g = green_of(handle);
	if (!g || !id)
		return sgpu_leave(g ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT);
	*id = g->obj.id;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- events of contexts: all work has been done when it was submitted ---- */

struct capturing {
	const struct sgpu_ctx *ctx;
	bool any;
};

static void look_at_capture(void *object, void *arg)
{
	struct capturing *c = arg;
	struct sgpu_stream *s = object;

	c->any |= s->ctx == c->ctx && s->capture;
}

static const struct sgpu_ctx *root(const struct sgpu_ctx *ctx)
{
	return ctx->parent ? ctx->parent : ctx;
}

static CUresult context_event(struct sgpu_ctx *ctx, CUevent handle, bool record)
{
	struct sgpu_event *e = sgpu_obj_get(SGPU_EVENT, handle);
	struct capturing c = { .ctx = ctx };
	uint64_t ticket;

	if (!ctx || !ctx->alive)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!e || (record && root(e->ctx) != root(ctx)))
		return CUDA_ERROR_INVALID_HANDLE;
	sgpu_obj_each(SGPU_STREAM, look_at_capture, &c);
	if (c.any || e->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	/* All streams of the context follow an event, or come before it. */
	ticket = record ? ctx->last : e->ticket;
	if (!sgpu_queue_done(ticket)) {
		sgpu_queue_wait(ticket);
		return CUDA_ERROR_NOT_READY;
	}
	if (record)
		sgpu_event_now(e);
	return CUDA_SUCCESS;
}

static CUresult green_event(CUgreenCtx handle, CUevent event, bool record)
{
	struct sgpu_green *g;
	CUresult rc;

	do {
		rc = sgpu_beside_healthy();
		if (rc)
			return rc;
		g = green_of(handle);
		rc = sgpu_leave(context_event(g ? g->ctx : NULL, event, record));
	} while (rc == CUDA_ERROR_NOT_READY);
	return rc;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx ctx, CUevent event)
{
	return green_event(ctx, event, true);
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx ctx, CUevent event)
{
	return green_event(ctx, event, false);
}

static CUresult any_event(CUcontext handle, CUevent event, bool record)
{
	CUresult rc;

	do {
		rc = sgpu_beside_healthy();
		if (rc)
			return rc;
		rc = sgpu_leave(context_event(sgpu_obj_get(SGPU_CTX, handle), event, record));
	} while (rc == CUDA_ERROR_NOT_READY);
	return rc;
}

CUresult cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
	return any_event(ctx, event, true);
}

CUresult cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	return any_event(ctx, event, false);
}
