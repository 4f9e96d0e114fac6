/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What generated and handwritten handlers share: reading the request, writing the
 * response, which addresses a client may name. A handler works on private copies
 * only: f->req was copied once and its size checked, f->rsp is copied out after the
 * handler has returned.
 */
#ifndef WORMHOLE_HANDLER_H
#define WORMHOLE_HANDLER_H

#include <string.h>

#include "limits/charge.h"
#include "limits/ipc.h"
#include "limits/limits.h"
#include "session/gate.h"
#include "session/reach.h"
#include "session/session.h"
#include "state/state.h"

/* hostblock.c: pinned memory besides the data area. */
struct wh_host_block {
	uint64_t addr;		/* in the far area, or the client's own in one process */
	uint64_t at;		/* where it is pinned: addr, or the client's own address */
	uint64_t size;
	uint32_t flags;		/* of cuMemHostRegister */
};
/* Is [addr, addr + size) in one block that lies at an address of the client's own? */
bool wh_host_alias(const struct wh_session *s, uint64_t addr, uint64_t size);
/* All registrations ended with their context: make them again. */
void wh_host_register_again(struct wh_session *s);
void wh_host_free(struct wh_session *s);

/* managed.c */
void wh_managed_free(struct wh_session *s);
void wh_managed_context_gone(struct wh_session *s, uint64_t ctx);
/* resource.c */
void wh_resources_free(struct wh_session *s);

/* Of a launch; what a newer driver has behind it may hold addresses. */
#define WH_LAST_LAUNCH_ATTRIBUTE CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING

struct wh_call_entry {
	CUresult (*run)(struct wh_session *s, struct wh_frame *f);
	uint32_t min_size;
	bool launch;		/* it calls wh_launch_begin() */
	bool together;		/* others may run at the same time: gate.h */
	bool ends;		/* it may end what another call has looked up */
};
extern const struct wh_call_entry wh_calls[WH_CALLS];

struct wh_driver_symbol {
	const char *name;
	size_t offset;
};
extern const struct wh_driver_symbol wh_driver_symbols[];

/* backend.c: fill s->drv from the library at path. */
bool wh_backend_load(struct wh_session *s, const char *path, char *err, size_t err_size);
/* context.c: make the request's context and capture mode current. */
void wh_context_enter(struct wh_session *s, const struct wh_req *q);
void wh_context_follow(struct wh_session *s);

/* --- Reading the request ------------------------------------------------------ */

/* The next array of the request: count objects of size. False if it is not all there. */
static inline bool wh_take(struct wh_frame *f, size_t count, size_t size, void **out)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || f->pos > f->req_size ||
	    bytes > f->req_size - f->pos)
		return false;
	*out = (uint8_t *)f->req + f->pos;
	f->pos += wh_wire_bytes(count, size);
	return true;
}

/* A string of `size` bytes with its NUL; size 0 is NULL. */
static inline bool wh_take_string(struct wh_frame *f, uint64_t size, const char **out)
{
	void *p;

	*out = NULL;
	if (!size)
		return true;
	if (!wh_take(f, size, 1, &p) || ((char *)p)[size - 1])
		return false;
	*out = p;
	return true;
}

/* --- Writing the response ------------------------------------------------------ */

/* Start the response with its zeroed fixed part. */
static inline void *wh_reply(struct wh_frame *f, size_t fixed)
{
	memset(f->rsp, 0, fixed);
	f->rsp_size = wh_wire_bytes(1, fixed);
	return f->rsp;
}

/* Room for an array behind what is there. False if the message area cannot hold it. */
static inline bool wh_room(struct wh_frame *f, size_t count, size_t size, void **out)
{
	size_t bytes = wh_wire_bytes(count, size);

	if (f->rsp_size > f->max || bytes > f->max - f->rsp_size)
		return false;
	*out = f->rsp + f->rsp_size;
	memset(*out, 0, bytes);
	f->rsp_size += bytes;
	return true;
}

/* Room that begins as the array of the request that *p points to. */
static inline bool wh_room_copy(struct wh_frame *f, size_t count, size_t size, void **p)
{
	const void *from = *p;

	if (!wh_room(f, count, size, p))
		return false;
	memcpy(*p, from, count * size);
	return true;
}

/* Append a string, cut to what fits; returns its size with the NUL, 0 for NULL. */
static inline uint64_t wh_put_string(struct wh_frame *f, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	void *p;

	if (!n || !wh_room(f, n, 1, &p))
		return 0;
	memcpy(p, s, n);
	return n;
}

/*
 * Does [addr, addr + size) stay the client's as long as the session lives? The
 * data area and the far area (a hole in it is memory of the client's, too).
 */
static inline bool wh_part_range(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	uint64_t base = (uintptr_t)s->data;

	if (addr >= base && addr - base <= s->data_size && size <= s->data_size - (addr - base))
		return true;
	base = (uintptr_t)s->far;
	return s->far_size && addr >= base && addr - base <= s->far_size &&
	       size <= s->far_size - (addr - base);
}

/* May a client name it as host memory? That, and what it registered. */
static inline bool wh_host_range(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	return wh_part_range(s, addr, size) || (s->hosts && wh_host_alias(s, addr, size));
}

/*
 * The same of a request's field. Of no bytes any address is right, and the driver gets none
 * of the client's choice: programs copy nothing from wherever they like.
 */
static inline bool wh_host_bytes(const struct wh_session *s, uint64_t *addr, uint64_t size)
{
	if (__builtin_expect(size, 1))
		return wh_host_range(s, *addr, size);
	*addr = (uintptr_t)s->data;
	return true;
}

/* May the client name [addr, addr + bytes)? See reach.h. */
static inline CUresult wh_reach(struct wh_session *s, uint64_t addr, uint64_t bytes)
{
	const struct wh_reach_last *l = &s->reach.last[wh_self.slot];
	uint64_t from[2] = { addr - l->range[0].base, addr - l->range[1].base };
	bool first = from[0] < l->range[0].size && bytes <= l->range[0].size - from[0];

	if (__builtin_expect(first || (from[1] < l->range[1].size &&
				       bytes <= l->range[1].size - from[1]), 1))
		return CUDA_SUCCESS;
	return wh_reach_slow(s, addr, bytes);
}

/* --- device.c ------------------------------------------------------------------------ */

/* Is the device, by the driver's number, another tenant's? */
bool wh_device_hidden(const struct wh_session *s, int device);
/* Is one of those in `count` objects, `stride` bytes each, with a CUmemLocation at `offset`? */
bool wh_locations_hidden(const struct wh_session *s, const void *first, size_t count,
			 size_t stride, size_t offset);

/* --- records.c ----------------------------------------------------------------------- */

/* A copy between unified addresses: counted where one side is host memory. */
void wh_count_moved(struct wh_session *s, CUdeviceptr to, CUdeviceptr from, uint64_t bytes);
/* Of boxes that went through wh_in_NAME(): records.c. */
void wh_count_CUDA_MEMCPY2D(struct wh_session *s, const CUDA_MEMCPY2D *c);
void wh_count_CUDA_MEMCPY3D(struct wh_session *s, const CUDA_MEMCPY3D *c);
void wh_count_CUDA_MEMCPY3D_PEER(struct wh_session *s, const CUDA_MEMCPY3D_PEER *c);

#endif
