/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of generated and handwritten handlers: reading the request, writing the response,
 * and the check of addresses. A handler works on private copies only: f->req was copied once and
 * its size checked, and f->rsp is copied out after the handler has returned.
 */
#ifndef WORMHOLE_HANDLER_H
#define WORMHOLE_HANDLER_H

#include <string.h>

#include "limits/charge.h"
#include "limits/ipc.h"
#include "limits/limits.h"
#include "session/callers.h"
#include "session/reach.h"
#include "state/state.h"

/* hostblock.c: pinned memory besides the data area. */
struct wh_host_block {
	uint64_t at;		/* where it is pinned; of a mapping, the client's address */
	uint64_t size;
	uint64_t addr;		/* in the far area; of bytes of a mapping, the same as `at` */
	uint64_t charged;	/* bytes of host memory; a mapping is charged as it is long */
	uint32_t flags;		/* of cuMemHostRegister */
	bool kept;		/* the driver does not know it: hostvmm.c */
};
/* Registers a block with the driver, for all contexts. A block that is only kept it leaves. */
CUresult wh_host_pin(struct wh_session *s, const struct wh_host_block *b);
/* Ends that. That it has ended with its context already is as good. */
CUresult wh_host_unpin(struct wh_session *s, const struct wh_host_block *b);
/* Returns the index of the block whose `addr` this is; s->hosts: there is none. */
size_t wh_host_find(const struct wh_session *s, uint64_t addr);
/* Gives a block another address, which nothing overlaps. The indexes of others change. */
void wh_host_move(struct wh_session *s, size_t i, uint64_t at, bool kept);
/* Is no block pinned or mapped at any of these addresses? There is one at least. */
bool wh_host_clear(const struct wh_session *s, uint64_t at, uint64_t size);
/* Maps the addresses of a block that is no longer there to nothing. */
void wh_host_nothing(uint64_t at, uint64_t size);
/* Maps the pages of a block at `at`, too. False: it could not, and nothing is mapped there. */
bool wh_host_second(const struct wh_host_block *b);
/* Takes addresses for good, so that the worker never uses them. False: it could not. */
bool wh_host_claim(struct wh_session *s, uint64_t at, uint64_t size);

/* hostvmm.c: blocks in addresses that the client has reserved, and what lies there besides. */
CUresult wh_host_place(struct wh_session *s, const struct wh_req_whHostBlock *q);
CUresult wh_host_back(struct wh_session *s, const struct wh_req_whHostBlock *q);
void wh_reserved_mapped(struct wh_session *s, uint64_t addr, uint64_t size);
void wh_reserved_unmapped(struct wh_session *s, uint64_t addr, uint64_t size);

/*
 * lent.c: files that the client has lent, as the server hands them on. The first function takes the
 * file of this number, or returns -1. The second maps pages of it at the addresses of a block that
 * are claimed. False: nothing is mapped there.
 */
int wh_lent_take(struct wh_session *s, uint32_t number);
bool wh_lent_map(struct wh_session *s, const struct wh_host_block *b, int fd, uint64_t offset);

/* Is [addr, addr + size) inside one registration? */
bool wh_host_alias(const struct wh_session *s, uint64_t addr, uint64_t size);
/* All registrations ended with their context: makes them again. */
void wh_host_register_again(struct wh_session *s);
void wh_host_free(struct wh_session *s);

/* managed.c */
void wh_managed_free(struct wh_session *s);
void wh_managed_context_gone(struct wh_session *s, uint64_t ctx);
/*
 * resource.c. The first function replaces the driver's, as those of limits/charge.h do; false: call
 * it. The others note what the driver has answered, with its own values.
 */
bool wh_resource_of_device(struct wh_session *s, CUdevice dev, CUdevResource *r,
			   CUdevResourceType type, CUresult *res);
CUresult wh_resource_of_context(struct wh_session *s, CUcontext ctx, const CUdevResource *r);
CUresult wh_resource_of_green(struct wh_session *s, CUgreenCtx green, const CUdevResource *r);
CUresult wh_resource_split(struct wh_session *s, const CUdevResource *from, const CUdevResource *to,
			   uint32_t n, const CUdevResource *rest);
CUresult wh_resource_described(struct wh_session *s, CUdevResourceDesc desc,
			       const CUdevResource *of, uint32_t n);
CUresult wh_resource_taken(struct wh_session *s, CUgreenCtx green, CUdevResourceDesc desc);
void wh_resources_free(struct wh_session *s);

/* The last known attribute of a launch. A later one, of a newer driver, may hold an address. */
#define WH_LAST_LAUNCH_ATTRIBUTE CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING

struct wh_call_entry {
	CUresult (*run)(struct wh_session *s, struct wh_frame *f);
	uint32_t min_size;
	bool launch;		/* it calls wh_launch_begin() */
	bool together;		/* others may run at the same time: callers.h */
	bool ends;		/* it may end an object that another call has looked up */
};
extern const struct wh_call_entry wh_calls[WH_CALLS];

struct wh_driver_symbol {
	const char *name;
	size_t offset;
};
extern const struct wh_driver_symbol wh_driver_symbols[];

/* backend.c: fills s->drv from the library at path. */
bool wh_backend_load(struct wh_session *s, const char *path, char *err, size_t err_size);
/* context.c: makes the request's context and capture mode current. */
void wh_context_enter(struct wh_session *s, const struct wh_req *q);
void wh_context_follow(struct wh_session *s);

/* --- Reading the request ------------------------------------------------------ */

/*
 * Takes the next array of the request: `count` objects of `size` bytes. False if it is incomplete.
 */
static inline bool wh_request_take(struct wh_frame *f, size_t count, size_t size, void **out)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || f->pos > f->req_size ||
	    bytes > f->req_size - f->pos)
		return false;
	*out = (uint8_t *)f->req + f->pos;
	f->pos += wh_wire_bytes(count, size);
	return true;
}

/* Takes a string of `size` bytes with its NUL; size 0 means NULL. */
static inline bool wh_request_take_string(struct wh_frame *f, uint64_t size, const char **out)
{
	void *p;

	*out = NULL;
	if (!size)
		return true;
	if (!wh_request_take(f, size, 1, &p) || ((char *)p)[size - 1])
		return false;
	*out = p;
	return true;
}

/* --- Writing the response ------------------------------------------------------ */

/* Starts the response with its zeroed fixed part. */
static inline void *wh_reply(struct wh_frame *f, size_t fixed)
{
	memset(f->rsp, 0, fixed);
	f->rsp_size = wh_wire_bytes(1, fixed);
	return f->rsp;
}

/* Makes room for an array behind what is there. False if the message area cannot hold it. */
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

/* Makes room that begins as a copy of the request's array to which *p points. */
static inline bool wh_room_copy(struct wh_frame *f, size_t count, size_t size, void **p)
{
	const void *from = *p;

	if (!wh_room(f, count, size, p))
		return false;
	memcpy(*p, from, count * size);
	return true;
}

/* Appends a string, cut to what fits; returns its size with the NUL, or 0 for NULL. */
static inline uint64_t wh_reply_put_string(struct wh_frame *f, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	void *p;

	if (!n || !wh_room(f, n, 1, &p))
		return 0;
	memcpy(p, s, n);
	return n;
}

/*
 * Does [addr, addr + size) stay the client's as long as the session lives? This holds for the data
 * area and the far area (a hole in it is memory of the client, too).
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

/* May a client name it as host memory? It may name the part, and what it registered. */
static inline bool wh_host_range(const struct wh_session *s, uint64_t addr, uint64_t size)
{
	return wh_part_range(s, addr, size) || (s->hosts && wh_host_alias(s, addr, size));
}

/*
 * The same for a field of a request. For 0 bytes any address is right, since programs copy nothing
 * from arbitrary addresses. The driver then gets an address of the data area instead.
 */
static inline bool wh_host_bytes(const struct wh_session *s, uint64_t *addr, uint64_t size)
{
	if (WH_LIKELY(size))
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

	if (WH_LIKELY(first || (from[1] < l->range[1].size &&
				       bytes <= l->range[1].size - from[1])))
		return CUDA_SUCCESS;
	return wh_reach_slow(s, addr, bytes);
}

/* --- device.c ------------------------------------------------------------------------ */

/* Does the device, by the driver's number, belong to another tenant? */
bool wh_device_hidden(const struct wh_session *s, int device);
/* Call this before cuInit(). False: the driver cannot be told the order of the devices. */
bool wh_devices_in_order(const struct wh_session *s);
/* Is this device of the worker's a MIG instance? */
bool wh_device_is_instance(const struct wh_session *s, int device);
/*
 * Is a device hidden that is named in one of `count` objects of `stride` bytes, each with a
 * CUmemLocation at `offset`?
 */
bool wh_locations_hidden(const struct wh_session *s, const void *first, size_t count,
			 size_t stride, size_t offset);

/* --- records.c ----------------------------------------------------------------------- */

/* Counts a copy between unified addresses, if one side is host memory. */
void wh_count_moved(struct wh_session *s, CUdeviceptr to, CUdeviceptr from, uint64_t bytes);
/* records.c: for structs that went through wh_in_NAME(). */
void wh_count_CUDA_MEMCPY2D(struct wh_session *s, const CUDA_MEMCPY2D *c);
void wh_count_CUDA_MEMCPY3D(struct wh_session *s, const CUDA_MEMCPY3D *c);
void wh_count_CUDA_MEMCPY3D_PEER(struct wh_session *s, const CUDA_MEMCPY3D_PEER *c);

#endif
