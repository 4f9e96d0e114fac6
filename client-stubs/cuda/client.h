/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the client's libcuda.so.1: the one connection of this process, the
 * state of each of its threads, and the helpers that generated and handwritten
 * stubs share. A request is built in place in the message area of a slot (slots.h), under
 * the slot's lock; without contention that costs no system call.
 */
#ifndef WORMHOLE_CLIENT_H
#define WORMHOLE_CLIENT_H

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL_ODR
#include <cuda.h>
#include <cudaProfiler.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gen_wire.h"
#include "wire_calls.h"
#include "window.h"
#include "library.h"
#include "lock.h"
#include "transport.h"

#include "gen_client.h"

/* --- The process ------------------------------------------------------------- */

enum wh_state {
	WH_CLOSED,	/* not connected yet, or the attempt failed */
	WH_CONNECTED,	/* hello done */
	WH_READY,	/* cuInit done */
	WH_DEAD,	/* the worker is gone: every call fails from now on */
	WH_FORKED,	/* a child that has not called cuInit itself */
	WH_ENDED,	/* the process is ending and has given its pair back */
};

/* What every call uses comes first. */
struct wh_client {
	int state;			/* enum wh_state; with the next by one look: quick.h */
	int first_only;			/* reasons to use slot 0 alone: slots.h */
	int captures;			/* under way */
	size_t mirrors;			/* managed variables that have to be copied */
	struct wh_link link;
	size_t registered;		/* ranges of cuMemHostRegister */
	int global_captures;		/* of those under way those in global mode */
	int driver_version;
	int devices;			/* that CUDA_VISIBLE_DEVICES leaves */
	struct wh_device_info *device;	/* one for each */
	int *real;			/* what the worker calls each */
	int pid;			/* of the process that connected */
	int threads;			/* that have used the library and live */
	CUresult last;			/* WH_DEAD: what every call returns */
} __attribute__((aligned(64)));
extern WH_HIDDEN struct wh_client wh_client;

/* So many reasons more, or fewer, to use slot 0 alone. */
static inline void wh_first_only_by(int by)
{
	__atomic_fetch_add(&wh_client.first_only, by, __ATOMIC_RELAXED);
}

/* Open the transport and say hello; with init, what cuInit does. */
CUresult wh_connect(bool init);
/* CUDA_SUCCESS when calls can be made, else what they return. */
CUresult wh_usable(void);

/* fork.c: what a child begins with. */
void wh_fork_matters(void);	/* from now on there is something that a child must not have */
bool wh_fork_may_connect(void);	/* in a child */
bool wh_registered_hold(void);	/* register.c: around a fork */
void wh_registered_release(void);
void wh_registered_after_fork(void);	/* in the child */
void wh_managed_after_fork(void);
void wh_post_after_fork(void);
void wh_thread_after_fork(void);

/* --- A thread ------------------------------------------------------------------ */

#define WH_CTX_DEPTH	64
struct wh_thread {
	uint64_t ctx;			/* top of the stack below, 0 for none */
	uint32_t capture_mode;
	bool known;			/* counted in wh_client.threads */
	bool permitted;			/* to make a call that waits: slots.h */
	struct wh_holder holder;
	uint32_t slot;			/* of the call that it makes, or made last */
	uint32_t own_slot;		/* that it prefers */
	struct wh_thread_stream *streams;	/* per-thread default streams */
	uint32_t depth;
	uint64_t stack[WH_CTX_DEPTH];
};
extern WH_HIDDEN __thread struct wh_thread wh_thread __attribute__((tls_model("initial-exec")));

void wh_thread_first(void);		/* first call of a thread */

/* For a lock that the caller's own frame holds. */
#define wh_lock(id)	wh_hold(&wh_thread.holder, id, __builtin_frame_address(0))

/* Not for WH_LOCK_SLOT. */
static inline void wh_unlock(enum wh_lock id)
{
	wh_let_go(&wh_thread.holder, id);
}

/* --- A call ---------------------------------------------------------------------- */

/* Take the slot and start a request of `size` bytes; NULL: return c->result. */
void *wh_begin(struct wh_call *c, uint32_t call, size_t size);
/* The rest of it, where quick.h does not suffice. */
void *wh_begin_slowly(struct wh_call *c, uint32_t call, size_t size);
/* The same before cuInit, too, once there is a connection. */
void *wh_begin_connected(struct wh_call *c, uint32_t call, size_t size);
/* Send it. The response stays readable until wh_end(). */
CUresult wh_run(struct wh_call *c, size_t fixed);
/* What comes after the transport has said `status`. */
CUresult wh_run_rest(struct wh_call *c, size_t fixed, int status);
/* The same for any handler; whatever the response says, CUDA_SUCCESS means that one came. */
CUresult wh_run_on(struct wh_call *c, uint32_t handler);
/*
 * In place of wh_run(), for a call whose result is its only answer: send it and
 * return at once where that changes no result (post.c). The first `key` bytes
 * of the request, whole words, decide about what CUDA answers to it.
 */
CUresult wh_post(struct wh_call *c, size_t key);
CUresult wh_post_memory(struct wh_call *c, size_t key);	/* with addresses among them */
/* An asynchronous copy of the program's own memory. */
CUresult wh_post_copy(struct wh_call *c, size_t key);
void wh_post_change(uint16_t effects);	/* of a call that begins: quick.h */
/* Of what is known; never 0. What was true at one epoch is true while it lasts. */
uint64_t wh_post_epoch(void);
void wh_post_library_changes(void);	/* of every one to a library that is not posted */
bool wh_library_answer(struct wh_call *c, size_t fixed);	/* wh_library_run() but for that */
/* long.c: the same of a request in the data area, and its end. */
bool wh_long_answer(struct wh_call *c, size_t fixed);
void wh_long_end(struct wh_call *c);
CUresult wh_post_end(CUresult res);	/* of every answer: what is returned for it */
/* Before a request is sent: those posted in other slots that it must not overtake are done. */
int wh_post_order(const struct wh_call *c, uint32_t handler);
void wh_managed_missed(void);	/* a call ended that nobody counted */

/* --- Streams --------------------------------------------------------------------- */

uint64_t wh_thread_default_stream(void);

/* What a stream is called on the wire. The per-thread default one is a real one of ours. */
static inline uint64_t wh_stream(CUstream s)
{
	return s == CU_STREAM_PER_THREAD ? wh_thread_default_stream() : (uintptr_t)s;
}

/* Wait without holding the slot for long when other threads want it. */
CUresult wh_wait(uint32_t kind, uint64_t handle);
void wh_drop_thread_streams(struct wh_thread *t);

/* --- Devices: the worker has its own numbers for them (visible.c) ------------------- */

/* Does the list leave no device, whatever there is? */
bool wh_visible_none(const char *list);
/*
 * The numbers of the n devices that the program shall see, by the values of
 * CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; NULL = not set.
 */
CUresult wh_visible_select(const char *list, const char *order, const struct wh_device_info *info,
			   int n, int *chosen, int *count);
/* The worker's number for a device of the program's; special ones (< 0) stay. */
int wh_device_real(int dev);
/* The program's number for a device of the worker's, or CUDA_ERROR_INVALID_DEVICE. */
CUresult wh_device_shown(int *dev, int real);
/* The same for `count` memory locations, `offset` bytes into objects of `stride` bytes. */
void wh_locations_real(void *first, size_t count, size_t stride, size_t offset);
void wh_locations_shown(void *first, size_t count, size_t stride, size_t offset);

/* --- Memory ------------------------------------------------------------------------ */

/* data.c: the data area and the far area. Blocks are page aligned; NULL when full. */
bool wh_data_init(void);
void *wh_data_alloc(size_t size, unsigned int flags, bool managed);
/*
 * memory.c: pinned memory of our own. Freeing it is a call where it is outside of the data area.
 */
void *wh_pinned_alloc(size_t size);
void wh_pinned_free(void *p);
/* graph_copy.c: gives back what ended copies of graphs had pinned. False: nothing. */
bool wh_graph_copies_reclaim(void);
void *wh_far_alloc(size_t size, unsigned int flags, bool managed);	/* not pinned yet */
bool wh_data_free(void *p);
/* The block or registered range that holds p. */
struct wh_block {
	uint8_t *start;
	size_t size;
	unsigned int flags;	/* of cuMemHostAlloc */
	bool managed;
	bool used;
	bool registered;	/* the program's own memory, by cuMemHostRegister */
	CUdeviceptr device;	/* of a registered block: where the device sees it */
};
bool wh_data_block(const void *p, struct wh_block *out);

/* register.c: memory that the program registers. */
bool wh_registered_block(const void *p, struct wh_block *out);
/* Is all of it at the same address in the worker? */
bool wh_registered_there(const void *p, size_t n);
/* A block of the far area becomes pinned memory; `at`: at that address in the worker, too. */
CUresult wh_host_block(uint32_t op, void *addr, size_t size, void *at, unsigned int flags);
/* Drop what a block of the far area holds: its pages become holes again. */
void wh_far_empty(void *p, size_t size);

static inline bool wh_in_near(const void *p, size_t n)
{
	uintptr_t a = (uintptr_t)p, base = (uintptr_t)wh_client.link.data;

	return a >= base && a - base <= wh_client.link.data_size &&
	       n <= wh_client.link.data_size - (a - base);
}

static inline bool wh_in_far(const void *p, size_t n)
{
	uintptr_t a = (uintptr_t)p, base = (uintptr_t)wh_client.link.far;

	return a >= base && a - base < wh_client.link.far_size &&
	       n <= wh_client.link.far_size - (a - base);
}

/* Is [p, p + n) the same memory at the same address in the worker? */
static inline bool wh_in_data(const void *p, size_t n)
{
	return wh_in_near(p, n) || wh_in_far(p, n) ||
	       (wh_client.registered && wh_registered_there(p, n));
}

/* ranges.c: which addresses are the device's. */
void wh_range_add(CUdeviceptr start, size_t size);
void wh_range_remove(CUdeviceptr start);

/*
 * managed.c: managed variables. Where the worker is another process, a mirror of
 * each lies at its address here. While wh_client.mirrors says that there are
 * some, the hooks below run.
 */
/* It was looked up: from now on the program can use it. */
CUresult wh_managed_add(uint64_t owner, uint64_t addr, uint64_t size);
/* Is p in one, mirrored or not? */
bool wh_managed_has(const void *p);
/* Before a call begins: what the host has written goes to the device. */
CUresult wh_managed_before(uint32_t call);
CUresult wh_managed_give(void);
/* With the slot: a call is about to be sent; a launch also says into which stream. */
void wh_managed_sent(uint32_t call);
void wh_managed_launched(uint64_t stream);
/* With the slot: its result. wh_slots[].fetch says whether the device's work is done. */
void wh_managed_answered(CUresult res);
/* With the slot, before a wait is sent: what it waits for; 0: nobody knows. */
uint64_t wh_managed_ticket(uint32_t kind, uint64_t handle);
/* After it: what the device has written comes back. */
CUresult wh_managed_fetch(uint64_t ticket);
/* The same where no result can say that it failed: the next call does. */
void wh_managed_after(void);

/* staging.c: copies between pageable memory and the device, in pieces. */
struct wh_staged {
	uint32_t kind;		/* WH_COPY_* */
	uint64_t device;	/* address or array handle */
	uint64_t offset;	/* in an array */
	void *host;
	size_t size;
	uint64_t stream;	/* on the wire */
	bool wait;		/* return only when a copy to the device has arrived, too */
};
bool wh_staging_init(void);
CUresult wh_staged_copy(const struct wh_staged *c);

/*
 * bulk.c: memcpy() for the staging lock's holder, on several CPUs if that helps. n bytes, a part
 * of a copy of `whole`.
 */
void wh_bulk_copy(void *dst, const void *src, size_t n, size_t whole);

/* launch.c: a kernel's parameters in one block, as its layout says. */
struct wh_params {
	void **array;		/* kernelParams, or NULL */
	const void *buffer;	/* from `extra` */
	size_t size;
};
CUresult wh_params_take(void **array, void **extra, struct wh_params *p);
/* With the slot held: bytes packed to `to`, or SIZE_MAX while the layout is unknown. */
size_t wh_params_pack(uint64_t function, const struct wh_params *p, uint8_t *to);
CUresult wh_params_ask(uint64_t function);

/* capture.c: the mode that a call has to travel with while something is captured. */
uint32_t wh_capture_mode_now(const struct wh_thread *t);

/* graph_node.c: what a capturing stream cannot do itself. */
CUresult wh_graph_capture_host(CUstream stream, CUhostFn fn, void *data);
CUresult wh_graph_capture_copy(const struct wh_staged *c);

/* output.c: print what the driver printed in the worker. */
void wh_output_print(void);

/* image.c: size a module image and bring it to the worker. */
CUresult wh_upload(const void *data, size_t size);
struct wh_image_part;
CUresult wh_upload_image(const void *image, uint32_t *kind, struct wh_image_part **parts,
			 uint32_t *count);
/* The whole file in memory, with a NUL behind it; free() it. */
CUresult wh_read_file(const char *path, void **data, size_t *size);

/* context.c: contexts that this process has seen, with their devices. */
void wh_context_seen(uint64_t ctx, CUdevice dev);

#endif
