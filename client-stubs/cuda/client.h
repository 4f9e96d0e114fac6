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

/* CUDA_SUCCESS when calls can be made, else what they return. */
CUresult wh_usable(void);

void wh_thread_after_fork(void);	/* in a child */

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

/* --- What lies above ---------------------------------------------------------------- */

/* What client.c comes to that is not its affair: hooks.c says whose it is. */
struct wh_hooks {
	/* Where there are mirrors of managed variables: a call begins; */
	CUresult (*before)(uint32_t call);
	void (*sent)(uint32_t call);		/* with the slot: it is about to be sent; */
	void (*answered)(CUresult res);		/* its result; */
	void (*missed)(void);			/* one ended that nobody counted; */
	void (*after)(void);			/* without the slot: it has ended */
	/* The mode that a call has to travel with while something is captured. */
	uint32_t (*capture_mode)(const struct wh_thread *t);
	void (*output)(void);			/* the worker has some to print */
	void (*long_end)(struct wh_call *c);	/* of a request in the data area */
	void (*thread_end)(struct wh_thread *t);
};
extern WH_HIDDEN const struct wh_hooks wh_hooks;

#endif
