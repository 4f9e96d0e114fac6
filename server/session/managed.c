// SPDX-License-Identifier: Apache-2.0
/*
 * Variables of modules and libraries by name, and copies between the managed ones and the client,
 * which keeps a mirror of each at the same address. A client can name only variables that it has
 * looked up and whose owner lives. The copies go through a stream of their own, which waits for no
 * other stream, and for which no other stream waits: kernels may be running, and host functions may
 * hold up other streams.
 */
#include "session/handler.h"

#include <stdlib.h>

/* Returns the index of the first variable that starts above addr. */
static size_t above(const struct wh_session *s, uint64_t addr)
{
	size_t lo = 0, hi = s->managed.n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (s->managed.var[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool lives(const struct wh_session *s, const struct wh_managed_var *v)
{
	return wh_handles_get(&s->handles, v->owner, v->type);
}

static bool may_touch(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	size_t i = above(s, addr);
	const struct wh_managed_var *v = i ? &s->managed.var[i - 1] : NULL;

	return v && size && addr - v->addr < v->size && size <= v->size - (addr - v->addr) &&
	       lives(s, v);
}

/* An old variable that has ended is replaced by the one that the driver puts there now. */
static void drop_overlapping(struct wh_session *s, const struct wh_managed_var *v)
{
	struct wh_managed_var *old = s->managed.var;
	size_t i, n = 0;

	for (i = 0; i < s->managed.n; i++)
		if (old[i].addr + old[i].size <= v->addr || v->addr + v->size <= old[i].addr)
			old[n++] = old[i];
	s->managed.n = n;
}

static bool remember(struct wh_session *s, const struct wh_managed_var *v)
{
	struct wh_managed_var *p;
	size_t i, room;

	drop_overlapping(s, v);
	if (s->managed.n == s->managed.room) {
		room = s->managed.room ? s->managed.room * 2 : 16;
		p = room <= WH_MAX_MANAGED ? realloc(s->managed.var, room * sizeof(*p)) : NULL;
		if (!p)
			return false;
		s->managed.var = p;
		s->managed.room = room;
	}
	i = above(s, v->addr);
	p = s->managed.var;
	memmove(&p[i + 1], &p[i], (s->managed.n - i) * sizeof(*p));
	p[i] = *v;
	s->managed.n++;
	return true;
}

void wh_managed_free(struct wh_session *s)
{
	free(s->managed.var);
}

/* --- By name ----------------------------------------------------------------------- */

static CUresult look_up(struct wh_session *s, const struct wh_req_whGlobal *q, void *owner,
			const char *name, CUdeviceptr *addr, size_t *size)
{
	switch (q->kind) {
	case WH_GLOBAL_MODULE:
		return s->drv.cuModuleGetGlobal_v2 ?
		       s->drv.cuModuleGetGlobal_v2(addr, size, owner, name) :
		       wh_missing(s, "cuModuleGetGlobal_v2");
	case WH_GLOBAL_LIBRARY:
		return s->drv.cuLibraryGetGlobal ?
		       s->drv.cuLibraryGetGlobal(addr, size, owner, name) :
		       wh_missing(s, "cuLibraryGetGlobal");
	case WH_GLOBAL_MANAGED:
		return s->drv.cuLibraryGetManaged ?
		       s->drv.cuLibraryGetManaged(addr, size, owner, name) :
		       wh_missing(s, "cuLibraryGetManaged");
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static bool is_managed(struct wh_session *s, uint32_t kind, CUdeviceptr addr)
{
	uint64_t managed = 0;	/* the driver writes a bool or an int */

	if (kind == WH_GLOBAL_MANAGED)
		return true;
	return s->drv.cuPointerGetAttribute &&
	       s->drv.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, addr) ==
	       CUDA_SUCCESS && (uint8_t)managed;
}

CUresult wh_do_whGlobal(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whGlobal *q = f->req;
	struct wh_rsp_whGlobal *r = wh_reply(f, sizeof(*r));
	struct wh_managed_var v = { .type = WH_H_CUmodule };
	bool neither = (q->hdr.null & 3) == 3;
	CUdeviceptr addr = 0;
	size_t size = 0;
	const char *name;
	void *owner;
	CUresult res;

	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = WH_WIRE_FIXED(*q);
	if (!wh_request_take_string(f, q->name_size, &name))
		return CUDA_ERROR_INVALID_VALUE;
	if (q->kind != WH_GLOBAL_MODULE)
		v.type = WH_H_CUlibrary;
	if (!wh_get(s, v.type, q->owner, &owner))
		return CUDA_ERROR_INVALID_HANDLE;
	res = look_up(s, q, owner, name, neither ? NULL : &addr, neither ? NULL : &size);
	if (res != CUDA_SUCCESS)
		return res;
	r->addr = v.addr = addr;
	r->size = v.size = size;
	v.owner = q->owner;
	r->managed = addr && size && is_managed(s, q->kind, addr);
	return !r->managed || remember(s, &v) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- Copies -------------------------------------------------------------------------- */

/* A stream belongs to a context, so another context gets a new stream. */
static CUresult own_stream(struct wh_session *s, uint64_t ctx)
{
	CUresult res;

	if (s->managed.stream && s->managed.ctx == ctx)
		return CUDA_SUCCESS;
	if (s->managed.stream)
		s->drv.cuStreamDestroy_v2(s->managed.stream);
	s->managed.stream = NULL;
	res = s->drv.cuStreamCreate(&s->managed.stream, CU_STREAM_NON_BLOCKING);
	s->managed.ctx = ctx;
	return res;
}

void wh_managed_context_gone(struct wh_session *s, uint64_t ctx)
{
	if (s->managed.ctx == ctx)
		s->managed.stream = NULL;
}

/* Waits in user mode: the copies are short, and wait only for each other. */
static CUresult await(struct wh_session *s)
{
	CUresult res;

	while ((res = s->drv.cuStreamQuery(s->managed.stream)) == CUDA_ERROR_NOT_READY)
		__builtin_ia32_pause();
	return res;
}

static CUresult start(struct wh_session *s, const struct wh_req_whManaged *q,
		      const struct wh_managed_piece *p)
{
	void *host = (void *)(q->buffer + p->at);

	wh_count_copy(s, q->op == WH_MANAGED_IN, p->size);
	if (q->op == WH_MANAGED_IN)
		return s->drv.cuMemcpyHtoDAsync_v2(p->addr, host, p->size, s->managed.stream);
	return s->drv.cuMemcpyDtoHAsync_v2(host, p->addr, p->size, s->managed.stream);
}

static CUresult copy(struct wh_session *s, const struct wh_req_whManaged *q,
		     const struct wh_managed_piece *p)
{
	CUresult res, end;
	uint32_t i;

	if (!s->drv.cuMemcpyHtoDAsync_v2 || !s->drv.cuMemcpyDtoHAsync_v2 ||
	    !s->drv.cuStreamCreate || !s->drv.cuStreamDestroy_v2 || !s->drv.cuStreamQuery)
		return wh_missing(s, "cuMemcpyHtoDAsync_v2 or streams");
	res = own_stream(s, q->hdr.ctx);
	if (res != CUDA_SUCCESS)
		return res;
	for (i = 0; i < q->pieces && res == CUDA_SUCCESS; i++)
		res = start(s, q, &p[i]);
	/* Wait also after an error: the buffer is then the client's again. */
	end = await(s);
	return res ? res : end;
}

CUresult wh_do_whManaged(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whManaged *q = f->req;
	struct wh_rsp_whManaged *r = wh_reply(f, sizeof(*r));
	const struct wh_managed_piece *p;

	if (f->req_size < sizeof(*q) || q->pieces > WH_MANAGED_PIECES || q->op > WH_MANAGED_OUT ||
	    !wh_host_range(s, q->buffer, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = WH_WIRE_FIXED(*q);
	if (!wh_request_take(f, q->pieces, sizeof(*p), (void **)&p))
		return CUDA_ERROR_INVALID_VALUE;
	for (r->piece = 0; r->piece < q->pieces; r->piece++) {
		const struct wh_managed_piece *k = &p[r->piece];

		if (k->at > q->size || k->size > q->size - k->at)
			return CUDA_ERROR_INVALID_VALUE;
		if (!may_touch(s, k->addr, k->size))
			return CUDA_ERROR_NOT_FOUND;
	}
	return copy(s, q, p);
}
