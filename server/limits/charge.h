/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What handlers call around the driver's functions for the limits: generated
 * ones by the flags of cuda-api/cuda.api (+charge, +pool, +launch, ...),
 * handwritten ones by hand. Memory is in bytes of one
 * device; everything here costs one test when the session has no tenant.
 */
#ifndef WORMHOLE_CHARGE_H
#define WORMHOLE_CHARGE_H

#include "limits/trace.h"
#include "state/state.h"

/* One call's reservation, on the handler's stack. */
struct wh_charge {
	int device;		/* -1: nothing is charged */
	unsigned int type;	/* of the key that it will be kept under */
	uint64_t bytes;		/* asked for, rounded as the driver does */
	uint64_t reserved;	/* small memory: a block, or nothing */
	uint64_t before;	/* what the driver or the pool had taken before the call */
	void *pool;		/* or the function that is launched */
	uint64_t asked;		/* of a pool, as it will be counted */
	uint64_t stack;		/* of each thread of the kernel that is launched */
	bool entered;		/* a thread without a context runs it in its stream's */
	bool captured;		/* it only becomes a node of a graph */
};

/* --- Memory: memory.c --------------------------------------------------------- */

/*
 * Reserve before the driver's call: CUDA_ERROR_OUT_OF_MEMORY beyond the quota. The
 * type is of the key under which it will be kept: WH_H_*, WH_H_NONE for an address.
 */
CUresult wh_charge(struct wh_session *s, struct wh_charge *c, unsigned int type, int device,
		   uint64_t bytes);
/*
 * After it: keep the reservation under the key, or give it back if the call failed.
 * Small memory that came to lie in one block too many is freed again: out of memory.
 */
CUresult wh_charged(struct wh_session *s, struct wh_charge *c, CUresult res, uint64_t key,
		    uint64_t ctx);
/* Given back once; an unknown key is somebody else's memory and no matter. */
void wh_uncharge(struct wh_session *s, unsigned int type, uint64_t key);

/* Physical memory lives by its handles and its mappings; handle: the driver's. */
void wh_mapped(struct wh_session *s, uint64_t addr, uint64_t size, uint64_t handle);
void wh_unmapped(struct wh_session *s, uint64_t addr, uint64_t size);
/* One more handle of the allocation that is mapped at an address. */
void wh_retained(struct wh_session *s, uint64_t addr, uint64_t handle);

/*
 * Around a call of a library, which takes what it needs unasked. It is charged when the
 * driver's figure is old, else by wh_mem_settle(), at the latest when the client pauses: what a
 * worker holds beyond its limit and has not charged ends it (figures/judge.c).
 */
void wh_library_begins(struct wh_session *s);
void wh_library_ended(struct wh_session *s);
bool wh_mem_unsettled(const struct wh_session *s);
/* The caller is alone in the session. */
void wh_mem_settle(struct wh_session *s);
/* Around a call that takes memory which only the driver knows of. */
void wh_reconcile_begin(struct wh_session *s, struct wh_charge *c);
/* False: with what was taken the tenant is over its quota, and the call must be undone. */
bool wh_reconciled(struct wh_session *s, struct wh_charge *c);
/* The same for what ends with (type, key): a module, a library. */
bool wh_reconciled_as(struct wh_session *s, struct wh_charge *c, unsigned int type, uint64_t key);
/*
 * Around the making of a context, device -1 for none: all of a device take the
 * same, so that after the tenant's first one it is reserved before. False: it is
 * one too many and must be undone.
 */
CUresult wh_context_charge(struct wh_session *s, struct wh_charge *c, int device);
bool wh_context_charged(struct wh_session *s, struct wh_charge *c, CUresult res);
/* The device if its primary context is not there yet, or -1. */
int wh_unless_active(struct wh_session *s, CUdevice dev);
void wh_undo_context(struct wh_session *s, CUcontext ctx);
/*
 * Code that the client loads: looked at when it is there, then around its loading.
 * What code and globals take is for wh_reconciled_as() to see; this is for what
 * printf() and malloc() in it take of a context, which no unloading gives back.
 */
void wh_look_at_code(struct wh_session *s, const void *image, size_t size);
CUresult wh_code_charge(struct wh_session *s, struct wh_charge *c);
void wh_code_charged(struct wh_session *s, struct wh_charge *c, CUresult res);
/* Has the current device a limit? */
bool wh_mem_limited(struct wh_session *s);
/*
 * After a graph was made ready to run: with its kernels' stacks, which stay without it, it may be
 * one too many. False: it was, and is undone.
 */
bool wh_exec_fits(struct wh_session *s, CUgraphExec exec);
/* Around a context's limit: is there memory for it? And back to what it was. */
CUresult wh_limit_fits(struct wh_session *s, CUlimit limit, uint64_t value);
void wh_undo_limit(struct wh_session *s, CUlimit limit);

/*
 * Around a launch of a kernel that is not known: it may need bigger stacks and
 * the heap. Where nothing is charged for it, every kernel is known. All of sessions with
 * limits.kernels only; the charge is {-1} before.
 */
bool wh_kernel_known(struct wh_session *s, const void *function);
CUresult wh_kernel_charge(struct wh_session *s, struct wh_charge *c, void *function, bool kernel,
			  CUstream stream);
void wh_kernel_charged(struct wh_session *s, struct wh_charge *c, CUresult res);

/* The context is gone, and with it what was allocated in it. */
void wh_mem_context_gone(struct wh_session *s, uint64_t ctx);
/* Gives the driver back what was made in a context that is to end and is current; before that. */
void wh_mem_end_with(struct wh_session *s, uint64_t ctx);
/* How much may still be taken, and of how much; UINT64_MAX twice without a quota. */
void wh_mem_room(struct wh_session *s, int device, uint64_t *room, uint64_t *quota);

/* --- Pools and graphs: pool.c ------------------------------------------------ */

/* pool NULL: the current one of the stream's device. */
CUresult wh_pool_charge(struct wh_session *s, struct wh_charge *c, CUmemoryPool pool,
			CUstream stream, uint64_t bytes);
CUresult wh_pool_charged(struct wh_session *s, struct wh_charge *c, CUresult res,
			 CUdeviceptr address, CUstream stream);
/* Read again what the pools and the graphs' memory have taken. */
void wh_pools_refresh(struct wh_session *s);
bool wh_pools_changed(const struct wh_session *s);	/* might that give another figure? */
/* The driver has given back what a pool, or the graphs of a device, did not use. */
void wh_pool_trimmed(struct wh_session *s);
void wh_graphs_trimmed(struct wh_session *s);

/*
 * A graph's memory nodes: `bytes` more of a device will be needed to run this graph. An
 * executable graph needs what its graph needs; a launch reserves it.
 */
void wh_graph_gone(struct wh_session *s, void *graph);
void wh_graph_needs(struct wh_session *s, CUgraph graph, int device, uint64_t bytes);
void wh_graph_copied(struct wh_session *s, void *from, void *to);
CUresult wh_graph_charge(struct wh_session *s, void *exec);
void wh_graph_charged(struct wh_session *s, void *exec, CUresult res);

/* --- SM share: bucket.c ------------------------------------------------------------- */

/*
 * What a handler returns when nothing was done and the client is to send the
 * same request again after so many microseconds. Never in a response: dispatch
 * turns it into its own status.
 */
#define WH_RETRY	0x40000000
static inline CUresult wh_retry(uint64_t us)
{
	return (CUresult)(WH_RETRY + us);
}

/*
 * Others of that kind, which dispatch alone sees: the request is run again, from its
 * message; nothing was changed. First alone, since it changes what other calls read
 * (session/gate.h), or after those that want to end something.
 */
#define WH_ALONE	((CUresult)0x7ffffffe)
#define WH_AGAIN	((CUresult)0x7fffffff)

CUresult wh_sm_begin(struct wh_session *s, CUstream stream);
void wh_sm_end(struct wh_session *s, CUstream stream);
/* Before any call that is no launch, of a session with a temporal limit. */
void wh_sm_other_call(struct wh_session *s);
/* Must the client wait for the answers to its launches, so that it can be held back? */
bool wh_sm_wants_answers(const struct wh_session *s);
/* See what is done and pass the turn on. Is work under way? */
bool wh_sm_look(struct wh_session *s);
/* The same, as far as is known without a look, and without the gate. */
bool wh_sm_under_way(const struct wh_session *s);
/*
 * No call has come for a moment: the same, and what has no marker gets one in
 * time. `end`: it will not be called again until the next call.
 */
bool wh_sm_idle(struct wh_session *s, bool end);
void wh_sm_context_gone(struct wh_session *s, uint64_t ctx);
/*
 * What a launch that was held back waits for besides the time: this word of whoever has the
 * turn, which changes with its end. NULL: for nothing else. Valid until the thread's next call.
 */
struct wh_hold {
	const uint32_t *word;
	uint32_t seen;
};
struct wh_hold wh_sm_held(void);
/*
 * A worker with a thread to spare sleeps in its client's place, outside of the session: that
 * long, or until the turn ends, which wakes it.
 */
void wh_sm_hold(uint64_t us);
/*
 * under_way.c: charges what is under way. May be called without the gate, by one thread
 * besides those that are inside. True: a launch holds a device for longer than it may, and
 * its program is to end. *again: how soon to look again, in milliseconds.
 */
bool wh_sm_watch(struct wh_session *s, unsigned int *again);
/*
 * Before a call that may wait for the device inside of the driver, behind wh_sm_other_call(). The
 * last two are another thread's, which the driver may keep waiting: is it time to ask, and ask.
 */
void wh_awaited_say(struct wh_session *s);
/* What was said is not to be asked for any more: before an event ends, or is used again. */
void wh_awaited_over(struct wh_session *s);
bool wh_awaited_late(const struct wh_session *s);
void wh_awaited_ask(struct wh_session *s);
/* These devices (bits, or 0) have no temporal limit any more: what is under way ends here. */
void wh_sm_share_gone(struct wh_session *s, uint32_t devices);

/* Where there is something to do. */
CUresult wh_launch_begin_slowly(struct wh_session *s, CUstream stream);
void wh_launch_end_slowly(struct wh_session *s, CUstream stream);

/* Is there nothing to do around a launch but to count it? */
static inline bool wh_launch_is_plain(const struct wh_session *s)
{
	const struct wh_limits *l = &s->limits;

	if (__builtin_expect(__atomic_load_n(&l->watched, __ATOMIC_RELAXED), 0))
		return false;
	return l->seen == __atomic_load_n(&l->page->sequence, __ATOMIC_RELAXED);
}

/*
 * Around whatever puts kernels into a stream. The result is not an error of
 * CUDA's when it is above WH_RETRY: return it as it is, and call nothing.
 */
static inline CUresult wh_launch_begin(struct wh_session *s, CUstream stream)
{
	return wh_launch_is_plain(s) ? CUDA_SUCCESS : wh_launch_begin_slowly(s, stream);
}

/* A counter of the account that calls of several slots may raise at once. */
static inline void wh_count(uint64_t *counter, uint64_t by)
{
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static inline void wh_launch_count(void)
{
	if (__builtin_expect(wh_self.launches != NULL, 1))
		wh_count(wh_self.launches, 1);
}

static inline void wh_launch_end(struct wh_session *s, CUstream stream)
{
	wh_launch_count();
	if (__builtin_expect(__atomic_load_n(&s->limits.watched, __ATOMIC_RELAXED), 0))
		wh_launch_end_slowly(s, stream);
}

/* --- Counters ------------------------------------------------------------------------ */

static inline void wh_count_copy(struct wh_session *s, bool to_device, uint64_t bytes)
{
	struct wh_worker_usage *a = s->limits.account;

	wh_count(to_device ? &a->bytes_to_device : &a->bytes_from_device, bytes);
}

/* --- Sizes ---------------------------------------------------------------------------- */

uint64_t wh_pitch_bytes(uint64_t width, uint64_t height);
uint64_t wh_array_bytes(uint64_t width, uint64_t height, uint64_t depth, CUarray_format format,
			unsigned int channels, unsigned int flags);
uint64_t wh_mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels);

/* The device of a CUmemLocation, -1 for host memory. */
static inline int wh_location_device(const CUmemLocation *l)
{
	return l->type == CU_MEM_LOCATION_TYPE_DEVICE ? l->id : -1;
}

/* CUDA_ERROR_NOT_SUPPORTED for memory that would lie on the host: host.c. */
CUresult wh_only_device_memory(const CUmemLocation *where, CUmemAllocationType type);

/* --- Spatial SM share: sms.c ---------------------------------------------------- */

/* Has the tenant a part of the device's SMs only? */
bool wh_sms_limited(struct wh_session *s, CUdevice dev);
/* The device's primary context is retained: the client gets another one in its place. */
CUresult wh_sms_primary(struct wh_session *s, CUdevice dev, CUcontext *ctx);
/* What the client has in its place, NULL for nothing; and it ends with it. */
CUcontext wh_sms_primary_of(struct wh_session *s, CUdevice dev);
/* The client has released it once more: was that the last time? */
bool wh_sms_primary_released(struct wh_session *s, CUdevice dev);
void wh_sms_primary_gone(struct wh_session *s, CUdevice dev);
/* A context that was made here is to end: so does, before it, what was made in it. */
void wh_sms_empty(struct wh_session *s, CUcontext ctx);
/* Instead of the driver's functions; false: not limited, call them. */
bool wh_sms_create(struct wh_session *s, CUcontext *ctx, CUdevice dev, CUresult *res);
bool wh_sms_destroy(struct wh_session *s, CUcontext ctx, CUresult *res);
/* A stream's contexts as the driver says them become the client's. */
CUresult wh_sms_of_stream(struct wh_session *s, CUcontext *ctx, CUgreenCtx *green);
/* No context is current, and a library is about to be called: under a limit one is made so. */
CUresult wh_sms_shelter(struct wh_session *s);
/* Of a device with `all` SMs, those that contexts will have. */
int wh_sms_count(struct wh_session *s, CUdevice dev, int all);

#endif
