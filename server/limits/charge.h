/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What handlers call around the driver's functions so that limits hold. Generated handlers make
 * these calls by the flags of cuda-api/cuda.api (+charge, +pool, +launch, ...), handwritten ones by
 * hand. Memory is counted in bytes of one device. Each function here costs one test if the session
 * has no tenant.
 */
#ifndef WORMHOLE_CHARGE_H
#define WORMHOLE_CHARGE_H

#include "limits/trace.h"
#include "state/state.h"

/* One call's reservation, on the handler's stack. */
struct wh_charge {
	int device;		/* -1: nothing is charged */
	unsigned int type;	/* type of the key under which the charge will be kept */
	uint64_t bytes;		/* the size that was asked for, rounded as the driver does it */
	uint64_t reserved;	/* for small memory: a block, or nothing */
	uint64_t before;	/* what the driver or the pool had taken before the call */
	void *pool;		/* the pool, or the function that is launched */
	uint64_t asked;		/* bytes from a pool, as they will be counted */
	uint64_t stack;		/* stack of each thread of the launched kernel */
	/* a thread without a context runs the call in the context of its stream */
	bool entered;
	bool captured;		/* the call only adds a node to a graph */
};

/* Notes that the driver has no memory for what the quota allows (session/room.h). */
static inline void wh_note_refused(const struct wh_charge *c, CUresult res)
{
	if (WH_UNLIKELY(res == CUDA_ERROR_OUT_OF_MEMORY) && c->device >= 0)
		wh_self.refused = (uint32_t)c->device + 1;
}

/* --- Memory: memory.c --------------------------------------------------------- */

/*
 * Reserves memory before the driver's call. CUDA_ERROR_OUT_OF_MEMORY: beyond the quota. `type` is
 * the type of the key under which the charge will be kept: WH_H_*, or WH_H_NONE for an address.
 */
CUresult wh_charge(struct wh_session *s, struct wh_charge *c, unsigned int type, int device,
		   uint64_t bytes);
/*
 * Call this after the driver's call: it keeps the reservation under the key, or gives it back if
 * the call failed. Small memory that came to lie in one block too many is freed again, and the
 * result is out of memory.
 */
CUresult wh_charged(struct wh_session *s, struct wh_charge *c, CUresult res, uint64_t key,
		    uint64_t ctx);
/* Gives a charge back, once. An unknown key is memory of somebody else and is ignored. */
void wh_uncharge(struct wh_session *s, unsigned int type, uint64_t key);
/* The same for memory that was freed in the order of a stream: the driver may still have it. */
void wh_freed_in_order(struct wh_session *s, uint64_t address, CUstream stream);

/* Physical memory lives as long as it has handles or mappings. `handle` is the driver's. */
void wh_mapped(struct wh_session *s, uint64_t addr, uint64_t size, uint64_t handle);
void wh_unmapped(struct wh_session *s, uint64_t addr, uint64_t size);
/* The client got one more handle of the allocation that is mapped at an address. */
void wh_retained(struct wh_session *s, uint64_t addr, uint64_t handle);

/*
 * Call these around a call of a library, which takes the memory that it needs without a call that
 * says so. The memory is charged when the driver's figure is old, or else by wh_mem_settle(), at
 * the latest when the client pauses. If a worker holds more than its limit and has not charged it,
 * the server ends the worker (figures/judge.c).
 */
void wh_library_begins(struct wh_session *s);
void wh_library_ended(struct wh_session *s);
bool wh_mem_unsettled(const struct wh_session *s);
/* The caller is alone in the session. */
void wh_mem_settle(struct wh_session *s);
/* Call these around a call that takes memory which only the driver knows of. */
void wh_reconcile_begin(struct wh_session *s, struct wh_charge *c);
/* False: with the memory that was taken the tenant is over its quota; the call must be undone. */
bool wh_reconciled(struct wh_session *s, struct wh_charge *c);
/* The same for memory that is freed with the object (type, key): a module or a library. */
bool wh_reconciled_as(struct wh_session *s, struct wh_charge *c, unsigned int type, uint64_t key);
/*
 * Call these around the making of a context; device -1: none is made. All contexts of a device take
 * the same memory, so it is reserved before the call once the tenant has had its first one. False:
 * the context is one too many and must be undone.
 */
CUresult wh_context_charge(struct wh_session *s, struct wh_charge *c, int device);
bool wh_context_charged(struct wh_session *s, struct wh_charge *c, CUresult res);
/* Returns the device if its primary context does not exist yet, or -1. */
int wh_unless_active(struct wh_session *s, CUdevice dev);
void wh_undo_context(struct wh_session *s, CUcontext ctx);
/*
 * Code that the client loads: it is looked at when it has arrived, and charged around its loading.
 * wh_reconciled_as() sees what code and globals take. These functions are for the memory of the
 * context that printf() and malloc() in the code take, which no unloading gives back.
 */
void wh_look_at_code(struct wh_session *s, const void *image, size_t size);
CUresult wh_code_charge(struct wh_session *s, struct wh_charge *c);
void wh_code_charged(struct wh_session *s, struct wh_charge *c, CUresult res);
/* Has the current device a limit? */
bool wh_mem_limited(struct wh_session *s);
/*
 * Call this after a graph was made ready to run. The stacks of its kernels, which stay when the
 * graph ends, may be too much. False: they were, and the graph is undone.
 */
bool wh_exec_fits(struct wh_session *s, CUgraphExec exec);
/*
 * Call these around a change of a context's limit: is there memory for it? The second one sets the
 * limit back.
 */
CUresult wh_limit_fits(struct wh_session *s, CUlimit limit, uint64_t value);
void wh_undo_limit(struct wh_session *s, CUlimit limit);

/*
 * Call these around a launch of a kernel that is not known: it may need bigger stacks and the heap.
 * If nothing is charged for kernels, every kernel is known. Call all of them only in sessions with
 * limits.kernels, with a charge that is {-1} before.
 */
bool wh_kernel_known(struct wh_session *s, const void *function);
CUresult wh_kernel_charge(struct wh_session *s, struct wh_charge *c, void *function, bool kernel,
			  CUstream stream);
void wh_kernel_charged(struct wh_session *s, struct wh_charge *c, CUresult res);

/* The context is gone, and so is the memory that was allocated in it. */
void wh_mem_context_gone(struct wh_session *s, uint64_t ctx);
/*
 * Gives the driver back what was made in a context. Call it before the context ends, while it is
 * current.
 */
void wh_mem_end_with(struct wh_session *s, uint64_t ctx);
/*
 * Returns how much memory may still be taken, and the quota; both are UINT64_MAX without a quota.
 */
void wh_mem_room(struct wh_session *s, int device, uint64_t *room, uint64_t *quota);

/* --- Pools and graphs: pool.c ------------------------------------------------ */

/* `pool` NULL: the current pool of the stream's device. */
CUresult wh_pool_charge(struct wh_session *s, struct wh_charge *c, CUmemoryPool pool,
			CUstream stream, uint64_t bytes);
CUresult wh_pool_charged(struct wh_session *s, struct wh_charge *c, CUresult res,
			 CUdeviceptr address, CUstream stream);
/* Reads again how much memory the pools and the graphs have taken. */
void wh_pools_refresh(struct wh_session *s);
/* might the next reading give another figure? */
bool wh_pools_changed(const struct wh_session *s);
/* The driver has given back memory that a pool, or the graphs of a device, did not use. */
void wh_pool_trimmed(struct wh_session *s);
void wh_graphs_trimmed(struct wh_session *s);

/*
 * The memory nodes of graphs. wh_graph_needs(): to run this graph, `bytes` more of a device are
 * needed. An executable graph needs what its graph needs; a launch reserves it.
 */
void wh_graph_gone(struct wh_session *s, void *graph);
void wh_graph_needs(struct wh_session *s, CUgraph graph, int device, uint64_t bytes);
void wh_graph_copied(struct wh_session *s, void *from, void *to);
CUresult wh_graph_charge(struct wh_session *s, void *exec);
void wh_graph_charged(struct wh_session *s, void *exec, CUresult res);

/* --- SM share: bucket.c ------------------------------------------------------------- */

/*
 * A handler returns this when nothing was done and the client is to send the same request again
 * after so many microseconds. It is never in a response: dispatch turns it into a status of its
 * own.
 */
#define WH_RETRY	0x40000000
static inline CUresult wh_retry(uint64_t us)
{
	return (CUresult)(WH_RETRY + us);
}

/*
 * Two more values of that kind, which only dispatch sees. Nothing was changed, and dispatch runs
 * the request again from its message. WH_ALONE: the call must run alone, since it changes what
 * other calls read (session/callers.h). WH_AGAIN: it runs after the calls that want to end
 * something.
 */
#define WH_ALONE	((CUresult)0x7ffffffe)
#define WH_AGAIN	((CUresult)0x7fffffff)

CUresult wh_sm_begin(struct wh_session *s, CUstream stream);
void wh_sm_end(struct wh_session *s, CUstream stream);
/* Call this before any call that is no launch, in a session with a temporal limit. */
void wh_sm_other_call(struct wh_session *s);
/* Must the client wait for the answers to its launches, so that it can be held back? */
bool wh_sm_wants_answers(const struct wh_session *s);
/* Looks which work is done and passes the turn on. Returns true if work is under way. */
bool wh_sm_look(struct wh_session *s);
/* Returns the same as far as it is known without a look, also to a thread that is no caller. */
bool wh_sm_under_way(const struct wh_session *s);
/*
 * No call has come for a moment: does the same as wh_sm_look(), and puts a marker behind work that
 * has none in time. `end`: this function will not be called again until the next call.
 */
bool wh_sm_idle(struct wh_session *s, bool end);
void wh_sm_context_gone(struct wh_session *s, uint64_t ctx);
/*
 * What a held-back launch waits for, besides the time: a word of the worker that has the turn,
 * which changes when the turn ends. `word` NULL: it waits for nothing else. Valid until the
 * thread's next call.
 */
struct wh_hold {
	const uint32_t *word;
	uint32_t seen;
};
struct wh_hold wh_sm_held(void);
/*
 * Sleeps in the client's place, outside of the session, for `us` microseconds or until the turn
 * ends, which wakes the sleeper. For a worker with a thread to spare.
 */
void wh_sm_hold(uint64_t us);
/*
 * under_way.c: charges for the work under way. May be called by one thread besides the session's
 * callers. True: a launch holds a device for longer than it may, and its program is to end. *again:
 * how soon to look again, in milliseconds.
 */
bool wh_sm_watch(struct wh_session *s, unsigned int *again);
/*
 * Call this before a call that may wait for the device inside the driver, after wh_sm_other_call().
 * Another thread, which the driver may keep waiting, calls wh_awaited_late(), which says whether it
 * is time to ask, and wh_awaited_ask(), which asks.
 */
void wh_awaited_say(struct wh_session *s);
/* Takes back what was said. Call this before one of the events ends or is used again. */
void wh_awaited_over(struct wh_session *s);
bool wh_awaited_late(const struct wh_session *s);
void wh_awaited_ask(struct wh_session *s);
/*
 * These devices (bits, or 0) have no temporal limit any more: the measuring of their work ends
 * here.
 */
void wh_sm_share_gone(struct wh_session *s, uint32_t devices);

/* The parts of wh_launch_begin() and wh_launch_end() for launches that are not plain. */
CUresult wh_launch_begin_slowly(struct wh_session *s, CUstream stream);
void wh_launch_end_slowly(struct wh_session *s, CUstream stream);

/* True if a launch needs nothing but to be counted. */
static inline bool wh_launch_is_plain(const struct wh_session *s)
{
	const struct wh_limits *l = &s->limits;

	if (WH_UNLIKELY(__atomic_load_n(&l->watched, __ATOMIC_RELAXED)))
		return false;
	return l->seen == __atomic_load_n(&l->page->sequence, __ATOMIC_RELAXED);
}

/*
 * Call these around any call that puts kernels into a stream. A result above WH_RETRY is not an
 * error of CUDA's: return it as it is, and call nothing.
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
	if (WH_LIKELY(wh_self.launches != NULL))
		wh_count(wh_self.launches, 1);
}

static inline void wh_launch_end(struct wh_session *s, CUstream stream)
{
	wh_launch_count();
	if (WH_UNLIKELY(__atomic_load_n(&s->limits.watched, __ATOMIC_RELAXED)))
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

/* host.c: CUDA_ERROR_NOT_SUPPORTED for memory that would lie on the host. */
CUresult wh_only_device_memory(const CUmemLocation *where, CUmemAllocationType type);

/* --- Spatial SM share: sms.c ---------------------------------------------------- */

/* True if the tenant has only a part of the device's SMs. */
bool wh_sms_limited(struct wh_session *s, CUdevice dev);
/* The client retains the device's primary context: it gets another one in its place. */
CUresult wh_sms_primary(struct wh_session *s, CUdevice dev, CUcontext *ctx);
/* Returns the context that the client has in place of the primary one; NULL: none. */
CUcontext wh_sms_primary_of(struct wh_session *s, CUdevice dev);
/* The client has released it once more. Returns true if that was the last time. */
bool wh_sms_primary_released(struct wh_session *s, CUdevice dev);
void wh_sms_primary_gone(struct wh_session *s, CUdevice dev);
/* A context that was made here is about to end: this first ends what was made in it. */
void wh_sms_empty(struct wh_session *s, CUcontext ctx);
/* Returns the device of a driver's context, whichever is current; -1: the driver does not say. */
CUdevice wh_device_of_context(struct wh_session *s, CUcontext ctx);
/* These replace the driver's functions. False: the device is not limited; call the driver. */
bool wh_sms_create(struct wh_session *s, CUcontext *ctx, CUdevice dev, CUresult *res);
bool wh_sms_destroy(struct wh_session *s, CUcontext ctx, CUresult *res);
bool wh_sms_reset(struct wh_session *s, CUdevice dev, CUresult *res);
/* Turns a stream's contexts, as the driver names them, into the client's. */
CUresult wh_sms_of_stream(struct wh_session *s, CUcontext *ctx, CUgreenCtx *green);
/*
 * No context is current, and a library is about to be called: under a limit, makes a limited one
 * current.
 */
CUresult wh_sms_shelter(struct wh_session *s);
/*
 * A part of a limited device's SMs has a number, and another one when it changes. The first
 * function says the number of the part that the tenant has now (0: not known), the second that of
 * a context that was made here (0: it was not). The third replaces the driver's function for the
 * resource of a device, as wh_sms_create() does.
 */
uint32_t wh_sms_part(struct wh_session *s, CUdevice dev);
uint32_t wh_sms_part_of(struct wh_session *s, CUcontext ctx, CUdevice *dev);
bool wh_sms_resource(struct wh_session *s, CUdevice dev, CUdevResource *r, uint32_t *number,
		     CUresult *res);
/* Returns how many SMs contexts will have of a device with `all` SMs. */
int wh_sms_count(struct wh_session *s, CUdevice dev, int all);

#endif
