// SPDX-License-Identifier: Apache-2.0
/*
 * Hooks of generated handlers for the limits, where a flag of cuda-api/cuda.api does not say
 * enough. They tell server/limits/ in plain values what a request says, and make what a tenant sees
 * of a device's memory.
 */
#include "session/handler.h"

/* --- Physical memory, and what is mapped of it ------------------------------------- */

void wh_done_cuMemMap(struct wh_session *s, struct wh_req_cuMemMap *q, CUresult res)
{
	void *real;

	if (res != CUDA_SUCCESS)
		return;
	wh_reserved_mapped(s, q->ptr, q->size);
	if (wh_get(s, WH_H_CUmemGenericAllocationHandle, q->handle, &real))
		wh_mapped(s, q->ptr, q->size, (uintptr_t)real);
}

void wh_done_cuMemUnmap(struct wh_session *s, struct wh_req_cuMemUnmap *q, CUresult res)
{
	if (res != CUDA_SUCCESS)
		return;
	wh_reserved_unmapped(s, q->ptr, q->size);
	wh_unmapped(s, q->ptr, q->size);
}

CUresult wh_check_cuMemCreate(struct wh_session *s, const struct wh_req_cuMemCreate *q)
{
	(void)s;
	return wh_only_device_memory(&q->prop.location, q->prop.type);
}

/* --- Pools ------------------------------------------------------------------------- */

CUresult wh_check_cuMemPoolCreate(struct wh_session *s, const struct wh_req_cuMemPoolCreate *q)
{
	(void)s;
	return wh_only_device_memory(&q->poolProps.location, q->poolProps.allocType);
}

/* These pools always exist. */
CUresult wh_check_cuMemGetMemPool(struct wh_session *s, const struct wh_req_cuMemGetMemPool *q)
{
	(void)s;
	return wh_only_device_memory(&q->location, q->type);
}

CUresult wh_check_cuMemGetDefaultMemPool(struct wh_session *s,
					 const struct wh_req_cuMemGetDefaultMemPool *q)
{
	(void)s;
	return wh_only_device_memory(&q->location, q->type);
}

/*
 * This also holds for memory that is not a pool's: it stays with the process until somebody waits.
 */
void wh_done_cuMemFreeAsync(struct wh_session *s, struct wh_req_cuMemFreeAsync *q, CUresult res)
{
	(void)q;
	s->pools = s->pools || res == CUDA_SUCCESS;
}

void wh_done_cuMemPoolTrimTo(struct wh_session *s, struct wh_req_cuMemPoolTrimTo *q, CUresult res)
{
	(void)q;
	if (res == CUDA_SUCCESS)
		wh_pool_trimmed(s);
}

void wh_done_cuDeviceGraphMemTrim(struct wh_session *s, struct wh_req_cuDeviceGraphMemTrim *q,
				  CUresult res)
{
	(void)q;
	if (res == CUDA_SUCCESS)
		wh_graphs_trimmed(s);
}

/* --- Objects that processes of a tenant share -------------------------------------- */

void wh_done_cuEventDestroy(struct wh_session *s, struct wh_req_cuEventDestroy *q, CUresult res)
{
	if (res == CUDA_SUCCESS)
		wh_ipc_event_gone(s, q->hEvent);
}

void wh_done_cuEventDestroy_v2(struct wh_session *s, struct wh_req_cuEventDestroy_v2 *q,
			       CUresult res)
{
	if (res == CUDA_SUCCESS)
		wh_ipc_event_gone(s, q->hEvent);
}

void wh_done_cuIpcCloseMemHandle(struct wh_session *s, struct wh_req_cuIpcCloseMemHandle *q,
				 CUresult res)
{
	if (res == CUDA_SUCCESS)
		wh_ipc_closed(s, q->dptr);
}

/* --- Contexts ---------------------------------------------------------------------- */

CUresult wh_check_cuCtxSetLimit(struct wh_session *s, const struct wh_req_cuCtxSetLimit *q)
{
	return wh_limit_fits(s, q->limit, q->value);
}

/* --- Figures that the client sees -------------------------------------------------- */

void wh_answer_cuMemGetInfo_v2(struct wh_session *s, const struct wh_req_cuMemGetInfo_v2 *q,
			       struct wh_rsp_cuMemGetInfo_v2 *r)
{
	uint64_t room, quota;

	(void)q;
	wh_mem_room(s, wh_self.device, &room, &quota);
	if (room < r->free)
		r->free = room;
	if (quota < r->total)
		r->total = quota;
}

/* These fields have 32 bits in CUDA 3.1. A larger value is reported as the largest. */
void wh_answer_cuMemGetInfo(struct wh_session *s, const struct wh_req_cuMemGetInfo *q,
			    struct wh_rsp_cuMemGetInfo *r)
{
	uint64_t room, quota;

	(void)q;
	wh_mem_room(s, wh_self.device, &room, &quota);
	if (room < r->free)
		r->free = (unsigned int)room;
	if (quota < r->total)
		r->total = (unsigned int)quota;
}

void wh_answer_cuDeviceTotalMem(struct wh_session *s, const struct wh_req_cuDeviceTotalMem *q,
				struct wh_rsp_cuDeviceTotalMem *r)
{
	uint64_t room, quota;

	wh_mem_room(s, q->dev, &room, &quota);
	if (quota < r->bytes)
		r->bytes = (unsigned int)quota;
}
