// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of cuDNN's backend descriptors in the worker. The attribute's type says what its
 * elements are. Handles and descriptors go through the handle table. Addresses must be the device's
 * or in the data area (the library reads values "by value" there). All other elements are bytes.
 */
#include "gen_cudnn_server.h"

#include <stdlib.h>

#define DESCRIPTOR	WH_H_cudnnBackendDescriptor_t

/* A handle's own struct begins with the library's handle (cudnn.c). */
static bool handles_in(struct wh_session *s, uint64_t *v, size_t n)
{
	void **h;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!v[i])
			continue;
		h = wh_handles_get(&s->handles, v[i], WH_H_cudnnHandle_t);
		if (!h)
			return false;
		v[i] = (uintptr_t)*h;
	}
	return true;
}

/* Turns the client's elements into what the library understands. */
static bool elements_in(struct wh_session *s, int32_t type, void *v, size_t n)
{
	size_t i;

	switch (type) {
	case CUDNN_TYPE_HANDLE:
		return handles_in(s, v, n);
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return wh_get_array(s, DESCRIPTOR, v, n);
	case CUDNN_TYPE_VOID_PTR:
		for (i = 0; i < n; i++)
			if (((uint64_t *)v)[i] && wh_reach(s, ((uint64_t *)v)[i], 1))
				return false;
	}
	return true;
}

/*
 * Takes the elements of a request. They are behind it, or in the data area. The client can still
 * change the data area, so those elements are copied first. NULL: they are wrong, or there is no
 * memory.
 */
static void *take_elements(struct wh_session *s, struct wh_frame *f,
			   const struct wh_req_cudnnAttribute *q, size_t bytes)
{
	void *p = NULL;

	f->pos = WH_WIRE_FIXED(*q);
	if (!q->area)
		return wh_request_take(f, bytes, 1, &p) ? p : NULL;
	if (!wh_host_range(s, q->area, bytes))
		return NULL;
	p = malloc(bytes ? bytes : 1);
	if (p)
		memcpy(p, (void *)q->area, bytes);
	return p;
}

/* One attribute may hold at most this much: texts of plans are the longest. */
#define MAX_BYTES	(16u << 20)

static bool sizes(const struct wh_req_cudnnAttribute *q, size_t *size, size_t *bytes)
{
	*size = wh_cudnn_attribute_size((cudnnBackendAttributeType_t)q->type);
	return *size && q->count >= 0 && !__builtin_mul_overflow((size_t)q->count, *size, bytes) &&
	       *bytes <= MAX_BYTES;
}

int32_t wh_do_cudnnBackendSetAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	const struct wh_req_cudnnAttribute *q = f->req;
	void *desc, *elements = NULL;
	size_t size, bytes;
	cudnnStatus_t res;

	if (f->req_size < sizeof(*q) || !wh_get(s, DESCRIPTOR, q->descriptor, &desc))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnBackendSetAttribute)
		return wh_library_missing(s, "cudnnBackendSetAttribute",
					  CUDNN_STATUS_NOT_SUPPORTED);
	if (!sizes(q, &size, &bytes))
		return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	if (!(q->hdr.null & 1)) {
		elements = take_elements(s, f, q, bytes);
		if (!elements)
			return CUDNN_STATUS_BAD_PARAM;
	}
	res = CUDNN_STATUS_BAD_PARAM;
	if (!elements || elements_in(s, q->type, elements, q->count))
		res = l->cudnnBackendSetAttribute(desc, (cudnnBackendAttributeName_t)q->name,
						  (cudnnBackendAttributeType_t)q->type, q->count,
						  elements);
	if (q->area)
		free(elements);
	return res;
}

/* --- Getting ------------------------------------------------------------------ */

/*
 * Returns the client's number of a handle that the library gave back, or 0 if it is none of them.
 */
static uint64_t handle_number(struct wh_session *s, uint64_t real)
{
	const struct wh_handle *e;
	uint32_t i;

	for (i = 1; i < s->handles.used; i++) {
		e = &s->handles.entry[i];
		if (e->real && e->type == WH_H_cudnnHandle_t && *(uint64_t *)e->real == real)
			return wh_handles_put(&s->handles, e->real, e->type, 0);
	}
	return 0;
}

static void elements_out(struct wh_session *s, int32_t type, uint64_t *v, size_t n, uint64_t owner)
{
	size_t i;

	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		wh_handle_for_array(s, DESCRIPTOR, v, n, owner);
	for (i = 0; type == CUDNN_TYPE_HANDLE && i < n; i++)
		v[i] = handle_number(s, v[i]);
}

/* The descriptors to be filled come with the request; the library writes into them. */
static bool wanted_in(struct wh_session *s, struct wh_frame *f,
		      const struct wh_req_cudnnAttribute *q, void *room, size_t bytes)
{
	void *p;

	if (q->type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return true;
	f->pos = WH_WIRE_FIXED(*q);
	if (!wh_request_take(f, bytes, 1, &p) || !wh_get_array(s, DESCRIPTOR, p, q->count))
		return false;
	memcpy(room, p, bytes);
	return true;
}

/*
 * Returns where the library writes: the response, or memory of our own that is copied to the data
 * area afterwards. NULL when there is no room.
 */
static void *get_room(struct wh_session *s, struct wh_frame *f,
		      const struct wh_req_cudnnAttribute *q, size_t bytes)
{
	void *room = NULL;

	if (!q->area)
		return wh_room(f, bytes, 1, &room) ? room : NULL;
	if (q->type == CUDNN_TYPE_BACKEND_DESCRIPTOR || q->type == CUDNN_TYPE_HANDLE ||
	    !wh_host_range(s, q->area, bytes))
		return NULL;
	return calloc(1, bytes ? bytes : 1);
}

/* Passes on only what the library says that it wrote, and no address of the worker. */
static void give_elements(struct wh_session *s, const struct wh_req_cudnnAttribute *q,
			  struct wh_rsp_cudnnAttribute *r, cudnnStatus_t res, uint8_t *room,
			  size_t size, size_t bytes)
{
	size_t n = res != CUDNN_STATUS_SUCCESS || r->count < 0 ? 0 :
		   r->count < q->count ? r->count : q->count;

	r->elements = n;
	elements_out(s, q->type, (uint64_t *)room, n, q->descriptor);
	if (q->area)
		memcpy((void *)q->area, room, n * size);
	else
		memset(room + n * size, 0, bytes - n * size);
}

int32_t wh_do_cudnnBackendGetAttribute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	struct wh_rsp_cudnnAttribute *r = wh_reply(f, sizeof(*r));
	const struct wh_req_cudnnAttribute *q = f->req;
	bool wanted = !(q->hdr.null & 1);
	void *desc, *room = NULL;
	size_t size, bytes;
	cudnnStatus_t res;

	if (f->req_size < sizeof(*q) || !wh_get(s, DESCRIPTOR, q->descriptor, &desc))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnBackendGetAttribute)
		return wh_library_missing(s, "cudnnBackendGetAttribute",
					  CUDNN_STATUS_NOT_SUPPORTED);
	if (!sizes(q, &size, &bytes))
		return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	if (wanted) {
		room = get_room(s, f, q, bytes);
		if (!room)
			return CUDNN_STATUS_BAD_PARAM;
	}
	res = CUDNN_STATUS_BAD_PARAM;
	if (!wanted || wanted_in(s, f, q, room, bytes))
		res = l->cudnnBackendGetAttribute(desc, (cudnnBackendAttributeName_t)q->name,
						  (cudnnBackendAttributeType_t)q->type, q->count,
						  &r->count, room);
	if (wanted)
		give_elements(s, q, r, res, room, size, bytes);
	if (q->area)
		free(room);
	return res;
}

/* --- Executing ---------------------------------------------------------------- */

/* The parts of a variant pack, as they came. */
struct parts {
	int64_t *id;
	uint64_t *pointer;
	uint64_t workspace;
	uint32_t n;
	bool has_workspace;
};

/* Makes pointers to values point into the request's copy, which the client cannot reach. */
static bool place_values(struct parts *p, struct wh_cudnn_value *value, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (value[i].pointer >= p->n)
			return false;
		p->pointer[value[i].pointer] = (uintptr_t)value[i].bytes;
	}
	return true;
}

static bool take_parts(struct wh_session *s, struct wh_frame *f,
		       const struct wh_req_cudnnBackendExecute *q, struct parts *p)
{
	const uint32_t values = q->values;
	void *id, *pointer, *value;

	*p = (struct parts) { .n = q->pointers, .workspace = q->workspace,
			      .has_workspace = q->hdr.null & WH_CUDNN_WORKSPACE };
	f->pos = WH_WIRE_FIXED(*q);
	if (p->n > WH_CUDNN_POINTERS || values > p->n ||
	    !wh_request_take(f, p->n, sizeof(*p->id), &id) ||
	    !wh_request_take(f, p->n, sizeof(*p->pointer), &pointer) ||
	    !wh_request_take(f, values, sizeof(struct wh_cudnn_value), &value))
		return false;
	p->id = id;
	p->pointer = pointer;
	return elements_in(s, CUDNN_TYPE_VOID_PTR, p->pointer, p->n) &&
	       elements_in(s, CUDNN_TYPE_VOID_PTR, &p->workspace, 1) &&
	       place_values(p, value, values);
}

static cudnnStatus_t set_parts(const struct wh_cudnn_functions *l, void *pack,
			       const struct parts *p)
{
	cudnnStatus_t res = CUDNN_STATUS_SUCCESS;

	if (p->n)
		res = l->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
						  CUDNN_TYPE_INT64, p->n, p->id);
	if (p->n && res == CUDNN_STATUS_SUCCESS)
		res = l->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
						  CUDNN_TYPE_VOID_PTR, p->n, p->pointer);
	if (p->has_workspace && res == CUDNN_STATUS_SUCCESS)
		res = l->cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
						  CUDNN_TYPE_VOID_PTR, 1, &p->workspace);
	return res == CUDNN_STATUS_SUCCESS ? l->cudnnBackendFinalize(pack) : res;
}

static int32_t execute(struct wh_session *s, const struct wh_cudnn_functions *l,
		       cudnnHandle_t handle, CUstream stream, void *plan, void *pack)
{
	CUresult limit = wh_launch_begin(s, stream);
	cudnnStatus_t res;

	if (limit != CUDA_SUCCESS)
		return limit;
	res = l->cudnnBackendExecute(handle, plan, pack);
	wh_launch_end(s, stream);
	return res;
}

/* Executes with a pack of its own, which the library has only during the call. */
static int32_t execute_parts(struct wh_session *s, const struct wh_cudnn_functions *l,
			     cudnnHandle_t handle, CUstream stream, void *plan,
			     const struct parts *p)
{
	cudnnBackendDescriptor_t pack = NULL;
	int32_t res;

	res = l->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	res = set_parts(l, pack, p);
	if (res == CUDNN_STATUS_SUCCESS)
		res = execute(s, l, handle, stream, plan, pack);
	l->cudnnBackendDestroyDescriptor(pack);
	return res;
}

int32_t wh_do_cudnnBackendExecute(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_cudnn_functions *l = wh_library_functions(s, WH_LIB_cudnn);
	const struct wh_req_cudnnBackendExecute *q = f->req;
	CUstream stream = NULL;
	cudnnHandle_t handle;
	void *plan, *pack;
	struct parts p;
	cudnnStatus_t res;

	wh_reply(f, sizeof(struct wh_rsp));
	if (f->req_size < sizeof(*q))
		return CUDNN_STATUS_BAD_PARAM;
	if (!l->cudnnBackendExecute || !l->cudnnBackendCreateDescriptor ||
	    !l->cudnnBackendDestroyDescriptor || !l->cudnnBackendSetAttribute ||
	    !l->cudnnBackendFinalize)
		return wh_library_missing(s, "cudnnBackendExecute or what belongs to it",
					  CUDNN_STATUS_NOT_SUPPORTED);
	res = wh_enter_cudnnHandle_t(s, l, &q->handle, &handle, &stream);
	if (res != CUDNN_STATUS_SUCCESS)
		return res;
	if (!wh_get(s, DESCRIPTOR, q->plan, &plan) || !wh_get(s, DESCRIPTOR, q->pack, &pack))
		return CUDNN_STATUS_BAD_PARAM;
	if (pack)
		return execute(s, l, handle, stream, plan, pack);
	if (!take_parts(s, f, q, &p))
		return CUDNN_STATUS_BAD_PARAM;
	return execute_parts(s, l, handle, stream, plan, &p);
}
