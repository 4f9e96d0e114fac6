// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of launches, and of what a client must know to pack one. The parameter bytes arrive laid
 * out as the kernel wants them and are given to the driver as one buffer.
 */
#include "session/handler.h"

CUresult wh_do_whParamLayout(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whParamLayout *q = f->req;
	struct wh_rsp_whParamLayout *r = wh_reply(f, sizeof(*r));
	size_t offset, size, room;
	struct wh_param *p;
	void *real, *kernel;
	CUresult res;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	kernel = wh_handles_get(&s->handles, q->function, WH_H_CUkernel);
	real = kernel ? kernel : wh_handles_get(&s->handles, q->function, WH_H_CUfunction);
	if (!real)
		return CUDA_ERROR_INVALID_HANDLE;
	if (kernel ? !s->drv.cuKernelGetParamInfo : !s->drv.cuFuncGetParamInfo)
		return wh_missing(s, "cuFuncGetParamInfo");
	for (room = f->max / sizeof(*p); ; r->count++) {
		res = kernel ? s->drv.cuKernelGetParamInfo(real, r->count, &offset, &size) :
			       s->drv.cuFuncGetParamInfo(real, r->count, &offset, &size);
		/* The driver ends the list by this error, and only for an index above 0. */
		if (res != CUDA_SUCCESS)
			return res == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : res;
		if (r->count >= room || !wh_room(f, 1, sizeof(*p), (void **)&p))
			return CUDA_ERROR_NOT_SUPPORTED;
		p->offset = offset;
		p->size = size;
		if (offset + size > r->total)
			r->total = offset + size;
	}
}

/* Events inside attributes are handles; attributes that return an object are refused. */
static CUresult fix_attributes(struct wh_session *s, CUlaunchAttribute *a, uint32_t n)
{
	CUevent *event;
	uint32_t i;

	for (i = 0; i < n; i++) {
		switch (a[i].id) {
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			event = &a[i].value.programmaticEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			event = &a[i].value.launchCompletionEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			return CUDA_ERROR_NOT_SUPPORTED;
		default:
			if ((unsigned int)a[i].id > WH_LAST_LAUNCH_ATTRIBUTE)
				return CUDA_ERROR_NOT_SUPPORTED;
			continue;
		}
		if (!wh_get(s, WH_H_CUevent, (uintptr_t)*event, (void **)event))
			return CUDA_ERROR_INVALID_HANDLE;
	}
	return CUDA_SUCCESS;
}

struct launch {
	uint64_t id;		/* the client's handle of the function */
	CUfunction function;
	CUlaunchConfig *config;	/* in the request's copy */
	void *params;		/* param_bytes bytes */
	size_t param_bytes;
};

/*
 * The request's fields lie as in the driver's configuration; the driver's objects replace the
 * handles.
 */
#define LIES_AS(field, member) \
	_Static_assert(offsetof(struct wh_req_whLaunch, field) - \
		       offsetof(struct wh_req_whLaunch, grid) == \
		       offsetof(CUlaunchConfig, member), #member " is where the driver wants it")
LIES_AS(grid, gridDimX);
LIES_AS(block, blockDimX);
LIES_AS(shared, sharedMemBytes);
LIES_AS(stream, hStream);
LIES_AS(function, attrs);
LIES_AS(attrs, numAttrs);
_Static_assert(offsetof(struct wh_req_whLaunch, grid) + sizeof(CUlaunchConfig) ==
	       sizeof(struct wh_req_whLaunch), "and nothing is behind it");

static CUresult take_attributes(struct wh_session *s, struct wh_frame *f, CUlaunchConfig *c)
{
	f->pos = WH_WIRE_FIXED(struct wh_req_whLaunch);
	if (c->numAttrs > WH_MAX_LAUNCH_ATTRS ||
	    !wh_request_take(f, c->numAttrs, sizeof(*c->attrs), (void **)&c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	return fix_attributes(s, c->attrs, c->numAttrs);
}

/* Turns a request into what the driver gets, and checks everything. */
static WH_INLINE CUresult take_launch(struct wh_session *s, struct wh_frame *f, struct launch *l)
{
	struct wh_req_whLaunch *q = f->req;
	size_t pos = WH_WIRE_FIXED(*q), size = f->req_size;
	CUlaunchConfig *c = (CUlaunchConfig *)q->grid;
	void *function, *stream;
	CUresult res;

	if (size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	l->id = q->function;
	l->param_bytes = q->param_bytes;
	c->attrs = NULL;
	if (WH_UNLIKELY(c->numAttrs)) {
		res = take_attributes(s, f, c);
		if (res != CUDA_SUCCESS)
			return res;
		pos = f->pos;
	}
	l->params = (uint8_t *)q + pos;
	if (l->param_bytes > WH_MAX_PARAM_BYTES || pos > size || l->param_bytes > size - pos)
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUfunction, l->id, &function) ||
	    !wh_get(s, WH_H_CUstream, q->stream, &stream))
		return CUDA_ERROR_INVALID_HANDLE;
	l->function = function;
	c->hStream = stream;
	l->config = c;
	return CUDA_SUCCESS;
}

static CUresult with_params(struct wh_session *s, const CUlaunchConfig *config,
			    CUfunction function, void *params, size_t bytes)
{
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
		CU_LAUNCH_PARAM_END,
	};

	return s->drv.cuLaunchKernelEx(config, function, NULL, extra);
}

/*
 * This always uses cuLaunchKernelEx(): in driver 580.159 it takes 0.1 us less than
 * cuLaunchKernel().
 */
static WH_INLINE CUresult by_the_driver(struct wh_session *s, const struct launch *l)
{
	if (l->param_bytes)
		return with_params(s, l->config, l->function, l->params, l->param_bytes);
	return s->drv.cuLaunchKernelEx(l->config, l->function, NULL, NULL);
}

static __attribute__((noinline)) CUresult launch_watched(struct wh_session *s, struct launch l)
{
	CUstream stream = l.config->hStream;
	CUresult res = wh_launch_begin_slowly(s, stream);

	if (res != CUDA_SUCCESS)
		return res;
	res = by_the_driver(s, &l);
	wh_launch_end(s, stream);
	return res;
}

static WH_INLINE CUresult launch(struct wh_session *s, const struct launch *l)
{
	CUresult res;

	if (!wh_launch_is_plain(s))
		return launch_watched(s, *l);
	res = by_the_driver(s, l);
	wh_launch_count();
	return res;
}

static bool is_kernel(const struct wh_session *s, uint64_t id)
{
	return wh_handles_get(&s->handles, id, WH_H_CUkernel) != NULL;
}

/* Launches a kernel that is not known yet: the memory that it may take is charged before. */
static __attribute__((noinline)) CUresult launch_first(struct wh_session *s, struct launch l)
{
	struct wh_charge charge = { .device = -1 };
	CUresult res;

	if (!wh_self.alone)
		return WH_ALONE;
	res = wh_kernel_charge(s, &charge, l.function, is_kernel(s, l.id), l.config->hStream);
	if (res == CUDA_SUCCESS)
		res = launch(s, &l);
	if (charge.device >= 0)
		wh_kernel_charged(s, &charge, res);
	return res;
}

CUresult wh_do_whLaunch(struct wh_session *s, struct wh_frame *f)
{
	struct launch l;
	CUresult res = take_launch(s, f, &l);

	if (res != CUDA_SUCCESS)
		return res;
	if (WH_UNLIKELY(!s->drv.cuLaunchKernelEx))
		return wh_missing(s, "cuLaunchKernelEx");
	if (WH_UNLIKELY(s->limits.kernels) && !wh_kernel_known(s, l.function))
		return launch_first(s, l);
	return launch(s, &l);
}

static CUresult cluster_query(struct wh_session *s, struct wh_frame *f,
			      CUresult (*query)(int *, CUfunction, const CUlaunchConfig *))
{
	struct wh_rsp_cluster *r = wh_reply(f, sizeof(*r));
	struct launch l;
	CUresult res;

	if (!query)
		return wh_missing(s, "cuOccupancyMaxActiveClusters");
	res = take_launch(s, f, &l);
	return res == CUDA_SUCCESS ? query(&r->value, l.function, l.config) : res;
}

CUresult wh_do_cuOccupancyMaxActiveClusters(struct wh_session *s, struct wh_frame *f)
{
	return cluster_query(s, f, s->drv.cuOccupancyMaxActiveClusters);
}

CUresult wh_do_cuOccupancyMaxPotentialClusterSize(struct wh_session *s, struct wh_frame *f)
{
	return cluster_query(s, f, s->drv.cuOccupancyMaxPotentialClusterSize);
}
