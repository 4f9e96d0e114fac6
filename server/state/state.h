/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of a worker: the session, the frame of a running call, and the small
 * helpers that generated and handwritten handlers share. A handler works on
 * private copies only: f->req was copied once and its size checked, f->rsp is
 * copied out after the handler has returned.
 */
#ifndef WORMHOLE_WORKER_H
#define WORMHOLE_WORKER_H

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL_ODR
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gen_wire.h"
#include "wire_calls.h"
#include "wormhole_abi.h"
#include "handles.h"
#include "limit_state.h"
#include "reach.h"
#include "session.h"

struct wh_session;
struct wh_frame;

#include "gen_server.h"

/* One slot's private buffers; `f` describes the call that runs on it. */
struct wh_frame {
	void *req;
	size_t req_size;
	size_t pos;		/* next array in the request */
	uint8_t *rsp;
	size_t rsp_size;	/* bytes of the response so far */
	size_t max;		/* size of a message area, and of both buffers */
	uint8_t *msg;		/* the slot's message area: shared */
};

struct wh_fence {
	CUevent event;
	uint64_t ctx;
	bool pending;
};

/* A managed variable that the client has looked up. */
struct wh_managed_var {
	uint64_t addr, size;
	uint64_t owner;		/* its module or library */
	uint32_t type;		/* of that: WH_H_* */
};
#define WH_MAX_MANAGED	65536

struct wh_session {
	struct wh_driver drv;
	struct wh_handles handles;
	uint64_t ctx;		/* what the worker thread has current; WH_CTX_UNKNOWN */
	uint32_t capture_mode;
	uint64_t tsc_per_us;
	bool hello;
	CUcontext primary;	/* about to be released or reset */
	bool registered;	/* the data area is known to the driver as host memory */
	struct wh_frame frame[WH_MAX_SLOTS];
	uint32_t nslots;
	uint8_t *part;
	size_t part_size;
	uint8_t *data;
	size_t data_size;
	uint8_t *far;		/* shared memory besides the part: blocks are in host[] */
	size_t far_size;
	bool one_process;
	struct wh_host_block *host;
	size_t hosts;
	struct wh_intervals aliases;	/* where blocks have ever been at the client's addresses */
	void *backend;		/* dlopen handle */
	struct wh_fence fence[WH_FENCES];
	struct {
		uint8_t *buf;
		uint64_t total, got;
	} upload;
	void *link;		/* struct link_state of the one open linker */
	void *link_image;	/* of cuLinkComplete: the driver's memory */
	size_t link_size;
	uint64_t link_state;
	bool prints;		/* an image that was loaded may print */
	bool pools;		/* memory of pools is in use, which waits give back */
	int dot;		/* file of cuGraphDebugDotPrint, plus 1 */
	struct {
		struct wh_managed_var *var;	/* by address, disjoint */
		size_t n, room;
		CUstream stream;	/* of copies to and from them, in context ctx */
		uint64_t ctx;
	} managed;
	struct wh_reach reach;
	struct wh_limits limits;
	void *library[WH_LIBS];	/* tables of functions, see library.h; NULL until opened */
	void *library_state[WH_LIBS];	/* a library's own, one block of malloc */
	uint32_t library_failed;	/* bit i: library i was not loaded, and the log says so */
};

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

/* do_managed.c */
void wh_managed_free(struct wh_session *s);
void wh_managed_context_gone(struct wh_session *s, uint64_t ctx);

/* Of a launch; what a newer driver has behind it may hold addresses. */
#define WH_LAST_LAUNCH_ATTRIBUTE CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING

#define WH_CTX_UNKNOWN	UINT64_MAX

struct wh_call_entry {
	CUresult (*run)(struct wh_session *s, struct wh_frame *f);
	uint32_t min_size;
	bool launch;		/* it calls wh_launch_begin() */
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
/* limits.c: of every session, with a tenant or without. */
bool wh_limits_init(struct wh_session *s);
void wh_limits_free(struct wh_session *s);
void wh_limits_reread(struct wh_session *s);
bool wh_mem_open(struct wh_session *s);
void wh_mem_prepare(struct wh_session *s);
void wh_mem_close(struct wh_session *s);
void wh_sm_close(struct wh_session *s);
void wh_sms_close(struct wh_session *s);
/* limit_host.c: host memory that the driver keeps in place. false: beyond the limit. */
bool wh_host_take(struct wh_session *s, uint64_t bytes);
void wh_host_give(struct wh_session *s, uint64_t bytes);
/* The driver lacks a function: say which, once for each session. */
CUresult wh_missing(struct wh_session *s, const char *name);

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

/* --- Handles --------------------------------------------------------------------- */

/*
 * Client value to driver object. 0 is NULL, which the driver judges; streams
 * know the legacy default; a CUfunction may be a CUkernel, as CUDA says.
 */
static inline bool wh_get(struct wh_session *s, unsigned int type, uint64_t id, void **out)
{
	*out = NULL;
	if (!id)
		return true;
	if (type == WH_H_CUstream && id == (uintptr_t)CU_STREAM_LEGACY) {
		*out = CU_STREAM_LEGACY;
		return true;
	}
	*out = wh_handles_get(&s->handles, id, type);
	if (!*out && type == WH_H_CUfunction)
		*out = wh_handles_get(&s->handles, id, WH_H_CUkernel);
	return *out;
}

static inline bool wh_get_array(struct wh_session *s, unsigned int type, void *array, size_t count)
{
	uint64_t *id = array;
	size_t i;
	void *p;

	for (i = 0; i < count; i++) {
		if (!wh_get(s, type, id[i], &p))
			return false;
		id[i] = (uintptr_t)p;
	}
	return true;
}

static inline uint64_t wh_put(struct wh_session *s, unsigned int type, void *real, uint64_t owner)
{
	/* The default streams have no handle: they are what they are. */
	if (type == WH_H_CUstream && (uintptr_t)real <= (uintptr_t)CU_STREAM_PER_THREAD)
		return (uintptr_t)real;
	return wh_handles_put(&s->handles, real, type, owner);
}

static inline uint64_t wh_new(struct wh_session *s, unsigned int type, void *real, uint64_t owner)
{
	return wh_handles_new(&s->handles, real, type, owner);
}

static inline uint64_t wh_retain(struct wh_session *s, unsigned int type, void *real,
				 uint64_t owner)
{
	return wh_handles_retain(&s->handles, real, type, owner);
}

static inline void wh_put_array(struct wh_session *s, unsigned int type, void *array,
				size_t count, uint64_t owner)
{
	uint64_t *p = array;
	size_t i;

	for (i = 0; i < count; i++)
		p[i] = wh_put(s, type, (void *)(uintptr_t)p[i], owner);
}

static inline void wh_drop(struct wh_session *s, uint64_t id)
{
	wh_handles_drop(&s->handles, id);
}

static inline bool wh_known(struct wh_session *s, unsigned int type, uint64_t value)
{
	return wh_handles_known(&s->handles, value, type);
}

static inline void wh_new_value(struct wh_session *s, unsigned int type, uint64_t value,
				uint64_t owner)
{
	wh_handles_new_value(&s->handles, value, type, owner);
}

static inline void wh_drop_value(struct wh_session *s, unsigned int type, uint64_t value)
{
	wh_handles_drop_value(&s->handles, value, type);
}

#include "charge.h"
#include "ipc.h"

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

/* May the client name [addr, addr + bytes)? See reach.h. */
static inline CUresult wh_reach(struct wh_session *s, uint64_t addr, uint64_t bytes)
{
	uint64_t from[2] = { addr - s->reach.last[0].base, addr - s->reach.last[1].base };

	if (__builtin_expect((from[0] < s->reach.last[0].size &&
			      bytes <= s->reach.last[0].size - from[0]) ||
			     (from[1] < s->reach.last[1].size &&
			      bytes <= s->reach.last[1].size - from[1]), 1))
		return CUDA_SUCCESS;
	return wh_reach_slow(s, addr, bytes);
}

#endif
