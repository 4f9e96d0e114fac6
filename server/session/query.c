// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers of queries whose answer has no fixed shape: pointer attributes and the state of a
 * capture. Also the checks in front of generated ones.
 */
#include "session/handler.h"

/* Returns what the driver answers for an attribute that it does not know. */
static CUresult no_attribute(CUpointer_attribute a)
{
	return a == CU_POINTER_ATTRIBUTE_P2P_TOKENS ? CUDA_ERROR_NOT_SUPPORTED :
						      CUDA_ERROR_INVALID_VALUE;
}

CUresult wh_do_cuPointerGetAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_cuPointerGetAttribute *q = f->req;
	struct wh_rsp_cuPointerGetAttribute *r = wh_reply(f, sizeof(*r));
	CUpointer_attribute a;
	uint64_t value;
	CUresult res;

	if (!s->drv.cuPointerGetAttribute)
		return wh_missing(s, "cuPointerGetAttribute");
	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	a = (CUpointer_attribute)q->attribute;
	r->bytes = wh_pointer_attribute_bytes(a);
	if (!r->bytes)
		return no_attribute(a);
	res = wh_reach(s, q->ptr, 1);
	if (res != CUDA_SUCCESS)
		return res;
	res = s->drv.cuPointerGetAttribute(r->value, a, q->ptr);
	if (res != CUDA_SUCCESS)
		return res;
	memcpy(&value, r->value, sizeof(value));
	if (a == CU_POINTER_ATTRIBUTE_CONTEXT)
		value = wh_handle_for(s, WH_H_CUcontext, (void *)value, 0);
	else if (a == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
		value = wh_handle_for(s, WH_H_CUmemoryPool, (void *)value, 0);
	memcpy(r->value, &value, sizeof(value));
	return CUDA_SUCCESS;
}

struct capture {
	CUstreamCaptureStatus status;
	cuuint64_t id;
	CUgraph graph;
	const CUgraphNode *nodes;
	const CUgraphEdgeData *edges;
	size_t count;
};

static CUresult capture_reply(struct wh_session *s, struct wh_frame *f, const struct capture *c)
{
	struct wh_rsp_capture_info *r = wh_reply(f, sizeof(*r));
	void *nodes, *edges;

	r->status = c->status;
	if (c->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	r->id = c->id;
	r->graph = wh_handle_for(s, WH_H_CUgraph, c->graph, 0);
	r->dependencies = c->count;
	if (!wh_room(f, c->count, sizeof(CUgraphNode), &nodes))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (c->count)
		memcpy(nodes, c->nodes, c->count * sizeof(CUgraphNode));
	wh_handle_for_array(s, WH_H_CUgraphNode, nodes, c->count, r->graph);
	if (!c->edges)
		return CUDA_SUCCESS;
	if (!wh_room(f, c->count, sizeof(CUgraphEdgeData), &edges))
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(edges, c->edges, c->count * sizeof(CUgraphEdgeData));
	r->edges = 1;
	return CUDA_SUCCESS;
}

static CUresult take_stream(struct wh_session *s, struct wh_frame *f, CUstream *stream)
{
	const struct wh_req_capture_info *q = f->req;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	return wh_get(s, WH_H_CUstream, q->stream, (void **)stream) ? CUDA_SUCCESS :
								     CUDA_ERROR_INVALID_HANDLE;
}

CUresult wh_do_cuStreamGetCaptureInfo_v2(struct wh_session *s, struct wh_frame *f)
{
	struct capture c = { 0 };
	CUstream stream;
	CUresult res = take_stream(s, f, &stream);

	if (res != CUDA_SUCCESS)
		return res;
	if (!s->drv.cuStreamGetCaptureInfo_v2)
		return wh_missing(s, "cuStreamGetCaptureInfo_v2");
	res = s->drv.cuStreamGetCaptureInfo_v2(stream, &c.status, &c.id, &c.graph, &c.nodes,
					       &c.count);
	return res ? res : capture_reply(s, f, &c);
}

CUresult wh_do_cuStreamGetCaptureInfo_v3(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_capture_info *q = f->req;
	struct capture c = { 0 };
	CUstream stream;
	CUresult res = take_stream(s, f, &stream);

	if (res != CUDA_SUCCESS)
		return res;
	if (!s->drv.cuStreamGetCaptureInfo_v3)
		return wh_missing(s, "cuStreamGetCaptureInfo_v3");
	res = s->drv.cuStreamGetCaptureInfo_v3(stream, &c.status, &c.id, &c.graph, &c.nodes,
					       q->edges ? &c.edges : NULL, &c.count);
	return res ? res : capture_reply(s, f, &c);
}

/* Attributes of streams that hold numbers only; the others would be addresses or handles. */
static CUresult stream_attribute(unsigned int attr)
{
	switch (attr) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult wh_check_cuStreamGetAttribute(struct wh_session *s,
				       const struct wh_req_cuStreamGetAttribute *q)
{
	(void)s;
	return stream_attribute(q->attr);
}

CUresult wh_check_cuStreamSetAttribute(struct wh_session *s,
				       const struct wh_req_cuStreamSetAttribute *q)
{
	(void)s;
	return stream_attribute(q->attr);
}
