// SPDX-License-Identifier: Apache-2.0
/*
 * Events whose handles the client knows before they are made, so that it need not wait for an
 * answer. Such a handle is one of the table's reserved entries; nobody reaches an object by it
 * until the event is made.
 */
#include "session/handler.h"

/* Puts the handles behind the answer. Where the table is full there are fewer. */
static void reserve(struct wh_session *s, struct wh_frame *f, struct wh_rsp_whEventCreate *r,
		    uint32_t spares)
{
	uint64_t *id;
	void *out;

	if (!spares || !wh_room(f, spares, sizeof(*id), &out))
		return;
	for (id = out; r->spares < spares; r->spares++) {
		id[r->spares] = wh_handles_reserve(&s->handles, WH_H_CUevent);
		if (!id[r->spares])
			break;
	}
}

CUresult wh_do_whEventCreate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whEventCreate *q = f->req;
	struct wh_rsp_whEventCreate *r = wh_reply(f, sizeof(*r));
	CUevent event = NULL;
	CUresult res;

	if (f->req_size < sizeof(*q) || q->flags > UINT32_MAX || q->spares > WH_EVENT_SPARES)
		return CUDA_ERROR_INVALID_VALUE;
	if (q->event && !wh_handles_reserved(&s->handles, q->event, WH_H_CUevent))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!s->drv.cuEventCreate || !s->drv.cuEventDestroy_v2)
		return wh_missing(s, "cuEventCreate");
	res = s->drv.cuEventCreate(&event, (unsigned int)q->flags);
	if (res != CUDA_SUCCESS)
		return res;
	r->event = q->event;
	if (q->event)
		wh_handles_new_reserved(&s->handles, q->event, event, q->hdr.ctx);
	else
		r->event = wh_new(s, WH_H_CUevent, event, q->hdr.ctx);
	if (!r->event) {
		s->drv.cuEventDestroy_v2(event);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	reserve(s, f, r, q->spares);
	return CUDA_SUCCESS;
}
