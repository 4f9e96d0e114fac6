// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of launches and of what a client must know to pack one. The
 * parameter bytes arrive laid out as the kernel wants them and are given to
 * the driver as one buffer.
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
		/* The end of the list is said by this error, and only for an index above 0. */
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

/* Events inside attributes are handles; whatever returns an object is refused. */
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
	CUfunction function;
	CUstream stream;
	CUlaunchAttribute *attrs;
	void *params;		/* param_bytes of them */
	size_t param_bytes;
};

static CUresult take_attributes(struct wh_session *s, struct wh_frame *f, uint32_t attrs,
				CUlaunchAttribute **out)
{
	if (attrs > WH_MAX_LAUNCH_ATTRS ||
	    !wh_take(f, attrs, sizeof(**out), (void **)out))
		return CUDA_ERROR_INVALID_VALUE;
	return fix_attributes(s, *out, attrs);
}

/* From the request to what the driver gets; everything is checked here. */
static WH_INLINE CUresult take_launch(struct wh_session *s, struct wh_frame *f,
				      const struct wh_req_whLaunch *q, struct launch *l)
{
	size_t pos = WH_WIRE_FIXED(*q), size = f->req_size;
	CUlaunchAttribute *attrs = NULL;
	void *function, *stream;
	CUresult res;

	if (size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_expect(q->attrs, 0)) {
		f->pos = pos;
		res = take_attributes(s, f, q->attrs, &attrs);
		if (res != CUDA_SUCCESS)
			return res;
		pos = f->pos;
	}
	l->attrs = attrs;
	l->param_bytes = q->param_bytes;
	l->params = (uint8_t *)f->req + pos;
	if (l->param_bytes > WH_MAX_PARAM_BYTES || pos > size || l->param_bytes > size - pos)
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUfunction, q->function, &function) ||
	    !wh_get(s, WH_H_CUstream, q->stream, &stream))
		return CUDA_ERROR_INVALID_HANDLE;
	l->function = function;
	l->stream = stream;
	return CUDA_SUCCESS;
}

static WH_INLINE void fill_config(CUlaunchConfig *c, const struct wh_req_whLaunch *q,
				  const struct launch *l)
{
	c->gridDimX = q->grid[0];
	c->gridDimY = q->grid[1];
	c->gridDimZ = q->grid[2];
	c->blockDimX = q->block[0];
	c->blockDimY = q->block[1];
	c->blockDimZ = q->block[2];
	c->sharedMemBytes = q->shared;
	c->hStream = l->stream;
	c->attrs = l->attrs;
	c->numAttrs = q->attrs;
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

/* Always by cuLaunchKernelEx(): in driver 580.159 it takes 0.1 us less than cuLaunchKernel(). */
static WH_INLINE CUresult launch(struct wh_session *s, const struct wh_req_whLaunch *q,
				 const struct launch *l)
{
	CUresult res = wh_launch_begin(s, l->stream);
	CUlaunchConfig config;

	if (res != CUDA_SUCCESS)
		return res;
	fill_config(&config, q, l);
	if (l->param_bytes)
		res = with_params(s, &config, l->function, l->params, l->param_bytes);
	else
		res = s->drv.cuLaunchKernelEx(&config, l->function, NULL, NULL);
	wh_launch_end(s, l->stream);
	return res;
}

static bool is_kernel(const struct wh_session *s, uint64_t id)
{
	return wh_handles_get(&s->handles, id, WH_H_CUkernel) != NULL;
}

/* Of a kernel that is not known: what it may take is charged before. */
static __attribute__((noinline)) CUresult launch_first(struct wh_session *s,
						       const struct wh_req_whLaunch *q,
						       struct launch l)
{
	struct wh_charge charge = { .device = -1 };
	CUresult res;

	if (!wh_self.alone)
		return WH_ALONE;
	res = wh_kernel_charge(s, &charge, l.function, is_kernel(s, q->function), l.stream);
	if (res == CUDA_SUCCESS)
		res = launch(s, q, &l);
	if (charge.device >= 0)
		wh_kernel_charged(s, &charge, res);
	return res;
}

CUresult wh_do_whLaunch(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whLaunch *q = f->req;
	struct launch l;
	CUresult res = take_launch(s, f, q, &l);

	if (res != CUDA_SUCCESS)
		return res;
	if (__builtin_expect(!s->drv.cuLaunchKernelEx, 0))
		return wh_missing(s, "cuLaunchKernelEx");
	if (s->limits.mem && !wh_kernel_known(s, l.function))
		return launch_first(s, q, l);
	return launch(s, q, &l);
}

static CUresult cluster_query(struct wh_session *s, struct wh_frame *f,
			      CUresult (*query)(int *, CUfunction, const CUlaunchConfig *))
{
	const struct wh_req_whLaunch *q = f->req;
	struct wh_rsp_cluster *r = wh_reply(f, sizeof(*r));
	CUlaunchConfig config;
	struct launch l;
	CUresult res;

	if (!query)
		return wh_missing(s, "cuOccupancyMaxActiveClusters");
	res = take_launch(s, f, q, &l);
	if (res != CUDA_SUCCESS)
		return res;
	fill_config(&config, q, &l);
	return query(&r->value, l.function, &config);
}

CUresult wh_do_cuOccupancyMaxActiveClusters(struct wh_session *s, struct wh_frame *f)
{
	return cluster_query(s, f, s->drv.cuOccupancyMaxActiveClusters);
}

CUresult wh_do_cuOccupancyMaxPotentialClusterSize(struct wh_session *s, struct wh_frame *f)
{
	return cluster_query(s, f, s->drv.cuOccupancyMaxPotentialClusterSize);
}
