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
	CUlaunchConfig config;
	void *params;
	size_t param_bytes;
	void *extra[5];
};

/* From the request to the driver's arguments; everything is checked here. */
static CUresult take_launch(struct wh_session *s, struct wh_frame *f,
			    const struct wh_req_whLaunch *q, struct launch *l)
{
	CUresult res;

	if (f->req_size < sizeof(*q) || q->attrs > WH_MAX_LAUNCH_ATTRS ||
	    q->param_bytes > WH_MAX_PARAM_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = WH_WIRE_FIXED(*q);
	if (!wh_take(f, q->attrs, sizeof(CUlaunchAttribute), (void **)&l->config.attrs) ||
	    !wh_take(f, q->param_bytes, 1, &l->params))
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_get(s, WH_H_CUfunction, q->function, (void **)&l->function) ||
	    !wh_get(s, WH_H_CUstream, q->stream, (void **)&l->config.hStream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (q->attrs) {
		res = fix_attributes(s, l->config.attrs, q->attrs);
		if (res != CUDA_SUCCESS)
			return res;
	}
	l->param_bytes = q->param_bytes;
	l->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	l->extra[1] = l->params;
	l->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	l->extra[3] = &l->param_bytes;
	l->extra[4] = CU_LAUNCH_PARAM_END;
	return CUDA_SUCCESS;
}

static void fill_config(CUlaunchConfig *c, const struct wh_req_whLaunch *q)
{
	c->gridDimX = q->grid[0];
	c->gridDimY = q->grid[1];
	c->gridDimZ = q->grid[2];
	c->blockDimX = q->block[0];
	c->blockDimY = q->block[1];
	c->blockDimZ = q->block[2];
	c->sharedMemBytes = q->shared;
	c->numAttrs = q->attrs;
}

static bool is_kernel(const struct wh_session *s, uint64_t id)
{
	return wh_handles_get(&s->handles, id, WH_H_CUkernel) != NULL;
}

/* Always by cuLaunchKernelEx(): in driver 580.159 it takes 0.1 us less than cuLaunchKernel(). */
CUresult wh_do_whLaunch(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whLaunch *q = f->req;
	struct wh_charge charge = { .device = -1 };
	struct launch l;
	CUresult res;

	res = take_launch(s, f, q, &l);
	if (res != CUDA_SUCCESS)
		return res;
	if (!s->drv.cuLaunchKernelEx)
		return wh_missing(s, "cuLaunchKernelEx");
	if (s->limits.mem && !wh_kernel_known(s, l.function))
		res = !wh_self.alone ? WH_ALONE :
		      wh_kernel_charge(s, &charge, l.function, is_kernel(s, q->function),
				       l.config.hStream);
	if (res == CUDA_SUCCESS)
		res = wh_launch_begin(s, l.config.hStream);
	if (res != CUDA_SUCCESS) {
		if (charge.device >= 0)
			wh_kernel_charged(s, &charge, res);
		return res;
	}
	fill_config(&l.config, q);
	res = s->drv.cuLaunchKernelEx(&l.config, l.function, NULL,
				      q->param_bytes ? l.extra : NULL);
	wh_launch_end(s, l.config.hStream);
	if (charge.device >= 0)
		wh_kernel_charged(s, &charge, res);
	return res;
}

static CUresult cluster_query(struct wh_session *s, struct wh_frame *f,
			      CUresult (*query)(int *, CUfunction, const CUlaunchConfig *))
{
	const struct wh_req_whLaunch *q = f->req;
	struct wh_rsp_cluster *r = wh_reply(f, sizeof(*r));
	struct launch l;
	CUresult res;

	if (!query)
		return wh_missing(s, "cuOccupancyMaxActiveClusters");
	res = take_launch(s, f, q, &l);
	if (res != CUDA_SUCCESS)
		return res;
	fill_config(&l.config, q);
	return query(&r->value, l.function, &l.config);
}

CUresult wh_do_cuOccupancyMaxActiveClusters(struct wh_session *s, struct wh_frame *f)
{
	return cluster_query(s, f, s->drv.cuOccupancyMaxActiveClusters);
}

CUresult wh_do_cuOccupancyMaxPotentialClusterSize(struct wh_session *s, struct wh_frame *f)
{
	return cluster_query(s, f, s->drv.cuOccupancyMaxPotentialClusterSize);
}
