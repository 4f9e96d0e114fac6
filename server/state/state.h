/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a session, for all folders of a worker: the driver's functions, what the client may
 * name, what is charged. Decides nothing.
 */
#ifndef WORMHOLE_STATE_H
#define WORMHOLE_STATE_H

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL_ODR
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_wire.h"
#include "compiler.h"
#include "window.h"
#include "wire_calls.h"
#include "state/handles.h"
#include "state/interval.h"
#include "state/limits.h"
#include "state/messages.h"

/* Keeps a pointer, so that the compiler does not compute it again from an index at each use. */
#define WH_KEEP(p)	__asm__("" : "+r" (p))

struct wh_session;
struct wh_frame;

#include "gen_server.h"

#define WH_CTX_UNKNOWN	UINT64_MAX

/*
 * The state of the thread that runs a call. A driver keeps the current context and the capture mode
 * for each thread. A slot's calls run on one thread, or, in a client's own process, on the caller's
 * thread.
 */
struct wh_self {
	uint64_t ctx;		/* the thread's current context; or WH_CTX_UNKNOWN */
	uint32_t capture_mode;	/* this and the next member lie as in struct wh_req: dispatch.c */
	uint32_t number;	/* of the request that runs; 0 but while the client profiles */
	uint32_t ended;		/* value of wh_session.ended at that time */
	int device;		/* device of that context; -1: none. See wh_self_on() */
	uint64_t *launches;	/* the account's counter of that device; NULL: none */
	uint32_t slot;		/* the slot whose call the thread runs */
	bool alone;		/* no other call of the session runs (session/callers.h) */
	bool posted;		/* nobody waits for the call */
	bool deep;		/* posted calls may wait in the worker (shm.h) */
	uint32_t alike;		/* posted calls of one number do the same (shm.h); 0: not known */
	/* 1 + the device of which the driver had too little memory for the call; 0: none */
	uint32_t refused;
	/* While somebody traces: the record of the call, and the events around it. */
	struct wh_trace_record *traced;
	struct wh_trace_pair *pair;
};
extern __thread struct wh_self wh_self __attribute__((tls_model("initial-exec")));

/*
 * One slot's private buffers, and the call that runs on them. Each is in a cache line of its own.
 */
struct wh_frame {
	void *req;
	size_t req_size;
	size_t pos;		/* next array in the request */
	uint8_t *rsp;
	size_t rsp_size;	/* bytes of the response so far */
	size_t max;		/* size of a message area, and of both buffers */
	uint8_t *msg;		/* the slot's message area: shared */
} __attribute__((aligned(64)));

struct wh_fence {
	CUevent event;
	uint64_t ctx;
	bool pending;
};

/* A managed variable that the client has looked up. */
struct wh_managed_var {
	uint64_t addr, size;
	uint64_t owner;		/* its module or library */
	uint32_t type;		/* type of the owner: WH_H_* */
};
#define WH_MAX_MANAGED	65536

/*
 * Ranges that were handed out and not freed since: a tree by address. It only saves questions: for
 * an address outside of it, the driver is asked. Memory of graphs is the exception, since drivers
 * do not know it by its address.
 */
struct wh_reach {
	struct wh_intervals set;	/* lasting: memory of graphs */
	struct wh_reach_last {
		struct {
			uint64_t base, size;
		} range[2];		/* ranges found last: the two sides of a copy */
		unsigned int turn;
	} __attribute__((aligned(64))) last[WH_MAX_SLOTS];	/* each slot's own */
};

/*
 * Which slots are inside calls (session/callers.h). A slot's word is alone in its cache line, since
 * each call writes it.
 */
struct wh_callers {
	struct {
		uint32_t inside;	/* WH_GATE_* */
	} __attribute__((aligned(64))) slot[WH_MAX_SLOTS];
	uint32_t closed;		/* a call is alone, or is about to be */
	/* number of calls that want to end things once nobody is outside */
	uint32_t ending;
	uint32_t wanted;		/* number of calls that wait until it is open */
	uint32_t used;			/* slots from here on have never had a call */
	bool in_vm;			/* this is a server VM, where a sleep is a handoff */
};

/* limits/trace.h; all of it is shared by the threads of the worker. */
struct wh_trace {
	const uint32_t *on;	/* never NULL */
	struct wh_trace_head *head;
	struct wh_trace_record *ring;
	uint64_t *next;
	struct wh_trace_names *names;
	struct wh_trace_device *device;
	uint32_t client;
};

/* A library's file, see library.h. */
struct wh_library_file {
	void *functions;	/* a table of them; NULL until it is opened */
	uint32_t version;	/* see choice.h; only if a client wished for one */
};

struct wh_session {
	struct wh_driver drv;
	struct wh_handles handles;
	struct wh_callers callers;
	/* counts contexts that have ended: a thread's current context may be one of them */
	uint32_t ended;
	uint64_t tsc_per_us;
	uint32_t calls;		/* WH_CALLS once the client has said hello; 0 before */
	CUcontext primary;	/* the primary context that is about to be released or reset */
	bool registered;	/* the data area is known to the driver as host memory */
	struct wh_frame frame[WH_MAX_SLOTS];
	uint32_t nslots;
	uint8_t *part;
	size_t part_size;
	uint8_t *data;
	size_t data_size;
	uint8_t *far;		/* shared memory besides the part; its blocks: host[], mapped[] */
	size_t far_size;
	bool one_process;
	int lent;		/* where files come from that the client lends; 0: nowhere */
	int holes;		/* userfaultfd for their missing pages, if lent is not 0 */
	struct wh_host_block *host, *mapped;	/* registrations and kept blocks; mappings */
	size_t hosts, mappings;
	/* ranges of the client's addresses where blocks have ever been */
	struct wh_intervals aliases;
	/* hostvmm.c: what cuMemAddressReserve() gave, and where cuMemMap() has put memory */
	struct wh_intervals reserved, device_mapped;
	void *backend;		/* dlopen handle */
	struct wh_fence fence[WH_FENCES];
	struct {
		uint8_t *buf;
		uint64_t total, got;
	} upload;
	void *link;		/* struct link_state of the one open linker */
	void *link_image;	/* result of cuLinkComplete, in the driver's memory */
	size_t link_size;
	uint64_t link_state;
	struct wh_resources *resources;	/* session/resource.c */
	bool prints;		/* an image that was loaded may print */
	bool pools;		/* memory of pools is in use, which waits give back */
	int dot;		/* file of cuGraphDebugDotPrint, plus 1 */
	struct {
		struct wh_managed_var *var;	/* by address, disjoint */
		size_t n, room;
		CUstream stream;	/* for copies to and from them, in context ctx */
		uint64_t ctx;
	} managed;
	struct wh_reach reach;
	struct wh_limits limits;
	struct wh_trace trace;
	/* A program may have a file of each of several majors: by edition. */
	struct wh_library_file library_file[WH_EDITIONS][WH_LIBS];
	void *library[WH_LIBS];	/* the functions of the file that the running call is for */
	void *library_state[WH_LIBS];	/* a library's own, one block of malloc */
	void *library_work;		/* host memory of the one call that has some, library.h */
	struct wh_box *boxes;	/* session/box.c */
	struct wh_held *held;	/* session/held.c, by index of the handle */
	uint32_t held_room;
	/*
	 * Called when a launch lasts longer than it may: ends the worker. NULL: there is none to
	 * end.
	 */
	void (*out_of_time)(struct wh_session *s);
	/*
	 * Called in the thread of a request that has a number: with it before the call, and with 0
	 * after it. NULL: the client has never profiled, and no request may have a number.
	 */
	void (*profile)(uint32_t number);
	uint32_t library_failed;	/* bit i: library i was not loaded, and the log says so */
};

/* The thread's calls are counted for this device from now on; -1: for none. */
static inline void wh_self_on(const struct wh_session *s, int device)
{
	wh_self.device = device;
	wh_self.launches = device < 0 ? NULL : &s->limits.account->device[device].launches;
}

/* --- Messages ---------------------------------------------------------------------- */

/*
 * The driver lacks a function: says which, in at most 32 lines of the log, and returns the error.
 */
CUresult wh_missing(struct wh_session *s, const char *name);

/* --- Handles --------------------------------------------------------------------- */

/*
 * Translates a client value into a driver object. 0 is NULL, which the driver judges; for streams
 * the legacy default is known; a CUfunction may be a CUkernel, as CUDA allows.
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
	return wh_handles_has(&s->handles, id, type, out) ||
	       (type == WH_H_CUfunction &&
		wh_handles_has(&s->handles, id, WH_H_CUkernel, out));
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

/*
 * Turns an object that the driver has answered into the client's value. This happens only here: by
 * its type (wh_shown(), from the lines `names` of cuda-api/cuda.api), since the object that the
 * driver names need not be the one that the client was given.
 */
static inline uint64_t wh_handle_for(struct wh_session *s, unsigned int type, void *real,
				     uint64_t owner)
{
	/* The default streams have no handle: their values stay as they are. */
	if (type == WH_H_CUstream && (uintptr_t)real <= (uintptr_t)CU_STREAM_PER_THREAD)
		return (uintptr_t)real;
	return wh_handles_put(&s->handles, wh_shown(s, type, real), type, owner);
}

/* The same for an object that a call of the client has made, or got for good: the flag +makes. */
static inline uint64_t wh_handle_for_new(struct wh_session *s, unsigned int type, void *real,
					 uint64_t owner)
{
	return wh_handles_put(&s->handles, real, type, owner);
}

/* The same for a library's types with `names made`: gives a handle that exists already, or 0. */
static inline uint64_t wh_handle_for_made(struct wh_session *s, unsigned int type, void *real,
					  uint64_t owner)
{
	return wh_handles_find(&s->handles, real, type) ?
	       wh_handles_put(&s->handles, real, type, owner) : 0;
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

static inline void wh_handle_for_array(struct wh_session *s, unsigned int type, void *array,
				       size_t count, uint64_t owner)
{
	uint64_t *p = array;
	size_t i;

	for (i = 0; i < count; i++)
		p[i] = wh_handle_for(s, type, (void *)(uintptr_t)p[i], owner);
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

/* --- Captures ---------------------------------------------------------------------- */

/* The state of a stream's capture. While it captures, work for it becomes part of a graph. */
enum wh_capture {
	WH_CAPTURE_NONE,
	WH_CAPTURE_ACTIVE,
	/* broken, or it may not be asked because of another stream's capture */
	WH_CAPTURE_ERROR,
};

static inline enum wh_capture wh_capture_of(struct wh_session *s, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!s->drv.cuStreamIsCapturing)
		return WH_CAPTURE_NONE;
	if (s->drv.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS)
		return WH_CAPTURE_ERROR;
	switch (status) {
	case CU_STREAM_CAPTURE_STATUS_NONE:
		return WH_CAPTURE_NONE;
	case CU_STREAM_CAPTURE_STATUS_ACTIVE:
		return WH_CAPTURE_ACTIVE;
	default:
		return WH_CAPTURE_ERROR;
	}
}

static inline bool wh_capturing(struct wh_session *s, CUstream stream)
{
	return wh_capture_of(s, stream) == WH_CAPTURE_ACTIVE;
}

#endif
