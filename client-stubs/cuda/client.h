/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the client's libcuda.so.1: the one connection of this process, the state of each
 * of its threads, and the helpers that generated and handwritten stubs share. A request is
 * built in place in the message area of a slot (slots.h), under the slot's lock. Without
 * contention that costs no system call.
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
	WH_FORKED,	/* this is a fork's child that has not called cuInit itself */
	WH_ENDED,	/* the process is ending and has given its pair back */
};

/* The members that every call uses come first. */
struct wh_client {
	/* enum wh_state; quick.h reads it and the next one at once. */
	int state;
	/* number of reasons to use slot 0 alone: slots.h. WH_PROFILED: somebody profiles. */
	int first_only;
	int captures;			/* number of captures under way */
	size_t mirrors;			/* number of managed variables that have to be copied */
	struct wh_link link;
	size_t registered;		/* number of ranges of cuMemHostRegister */
	int global_captures;		/* how many of the captures are in global mode */
	int driver_version;
	int devices;			/* number that CUDA_VISIBLE_DEVICES leaves */
	struct wh_device_info *device;	/* one for each */
	int *real;			/* the worker's number of each */
	int pid;			/* the process that connected */
	int threads;			/* number that have used the library and live */
	CUresult last;			/* WH_DEAD: the result of every call */
} __attribute__((aligned(64)));
extern WH_HIDDEN struct wh_client wh_client;

/* A flag in wh_client.first_only, far above any number of reasons. */
#define WH_PROFILED	0x40000000

static inline bool wh_profiled(void)
{
	return WH_UNLIKELY(__atomic_load_n(&wh_client.first_only, __ATOMIC_RELAXED) & WH_PROFILED);
}

/* Adds `by` to the number of reasons to use slot 0 alone. */
static inline void wh_first_only_by(int by)
{
	__atomic_fetch_add(&wh_client.first_only, by, __ATOMIC_RELAXED);
}

/* Returns CUDA_SUCCESS if calls can be made, else the error that they return. */
CUresult wh_usable(void);

void wh_thread_after_fork(void);	/* in a fork's child */

/* --- A thread ------------------------------------------------------------------ */

/* What had been sent when a call began whose success says that a stream is at rest (rest.c). */
struct wh_rest_mark {
	uint64_t own;		/* requests of this thread; the call adds those that it makes */
	uint64_t others;	/* requests of other threads that had ended */
};

/* The last stream that a thread knows to be at rest. */
struct wh_rest {
	struct wh_rest_mark at;
	uint64_t ctx, stream;
	bool known;
	bool waited;		/* by a request that does all that a wait for the stream does */
	bool copied;		/* a copy was posted into it since */
};

#define WH_CTX_DEPTH	64
struct wh_thread {
	uint64_t ctx;			/* top of the stack below; 0: none */
	uint32_t capture_mode;
	bool known;			/* counted in wh_client.threads */
	bool permitted;			/* it may make a call that waits: slots.h */
	bool in_callback;		/* it runs a host function, which may make no call */
	struct wh_holder holder;
	uint32_t slot;			/* the slot of its current or last call */
	uint32_t own_slot;		/* the slot that it prefers (wh_slot_preferred()) */
	/* profile.c: the API call that runs, and the request that is no part of one */
	uint32_t number, request;
	uint64_t ended;			/* number of its requests that have ended: rest.c */
	struct wh_rest rest;
	struct wh_thread_stream *streams;	/* per-thread default streams */
	uint32_t depth;
	uint64_t stack[WH_CTX_DEPTH];
};
extern WH_HIDDEN __thread struct wh_thread wh_thread __attribute__((tls_model("initial-exec")));

void wh_thread_first(void);		/* runs at a thread's first call */

/* Takes a lock for the caller's own stack frame. */
#define wh_lock(id)	wh_hold(&wh_thread.holder, id, __builtin_frame_address(0))

/* Gives a lock back; not for WH_LOCK_SLOT. */
static inline void wh_unlock(enum wh_lock id)
{
	wh_let_go(&wh_thread.holder, id);
}

/* --- A call ---------------------------------------------------------------------- */

/* Takes a slot and starts a request of `size` bytes. NULL: the stub returns c->result. */
void *wh_begin(struct wh_call *c, uint32_t call, size_t size);
/* The same, for what quick.h does not handle. */
void *wh_begin_slowly(struct wh_call *c, uint32_t call, size_t size);
/* The same, also before cuInit, once there is a connection. */
void *wh_begin_connected(struct wh_call *c, uint32_t call, size_t size);
/* Sends the request. The response stays readable until wh_end(). */
CUresult wh_run(struct wh_call *c, size_t fixed);
/* Does what follows after the transport has returned `status`. */
CUresult wh_run_rest(struct wh_call *c, size_t fixed, int status);
/* The same for any handler. CUDA_SUCCESS means that a response came, whatever it says. */
CUresult wh_run_on(struct wh_call *c, uint32_t handler);
/*
 * The caller has taken a slot with a call that nobody waits for any more. Returns whether the slot
 * is usable now.
 */
bool wh_drop_abandoned(uint32_t slot);

/* profile.c: does somebody watch the program's calls? Each export looks at it. */
extern WH_HIDDEN bool wh_watched;
/* profile.c: gives a request that is about to be sent the number of its API call. */
void wh_profile_request(struct wh_req *q, uint32_t handler);
/*
 * Begins a call that is named by a request, and that several requests are of, unless it is part of
 * an API call. wh_profile_end() gets what it returns.
 */
uint32_t wh_profile_begin_call(uint32_t call);
void wh_profile_end(uint32_t before, int result);
/* The thread's request is answered, and was an API call by itself. */
void wh_profile_ended(void);

/* --- Hooks of the files above --------------------------------------------------------- */

/* The hooks that call.c calls on the way of a call; hooks.c says which file serves each. */
struct wh_hooks {
	/* Called before a call begins, if there are mirrors of managed variables. */
	CUresult (*before)(uint32_t call);
	void (*sent)(uint32_t call);		/* with the slot: the call is about to be sent */
	void (*answered)(CUresult res);		/* with the slot: the call has this result */
	/* With the slot: a call ended that nobody counted. */
	void (*missed)(void);
	void (*after)(void);			/* without the slot: the call has ended */
	/* Returns the mode to send with a call while something is captured. */
	uint32_t (*capture_mode)(const struct wh_thread *t);
	void (*output)(void);			/* the worker has output to print */
	void (*failed)(uint32_t call, CUresult res);	/* with the slot: the call failed */
	void (*refused)(const char *name);	/* a function is not supported */
	void (*logged)(void);			/* without the slot: callbacks of the log wait */
	void (*long_end)(struct wh_call *c);	/* ends a call whose request is in the data area */
	void (*thread_end)(struct wh_thread *t);
};
extern WH_HIDDEN const struct wh_hooks wh_hooks;

#endif
