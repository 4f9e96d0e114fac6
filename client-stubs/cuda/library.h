/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of our libcuda.so.1 that a stub library of ours (libcublas.so.13, ...) uses:
 * the process's one connection. They are exported under the version WORMHOLE_PRIVATE_4
 * (cuda-api/cuda.api lists them), so a stub library does not load with any other libcuda.so.1.
 * A change here needs a new version; a further function does not, since the loader names it.
 */
#ifndef WORMHOLE_LIBRARY_H
#define WORMHOLE_LIBRARY_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api_call.h"
#include "log.h"
#include "wire.h"

/* --- A call ---------------------------------------------------------------------- */

struct wh_call {
	void *rsp;		/* the message area, as a response */
	uint8_t *msg;
	size_t size;		/* bytes of the request */
	size_t pos;		/* offset of the next array */
	CUresult result;	/* set if no request was started or no response came */
	/* Of a long call: the request in the message area, and the bytes that msg has. */
	void *head;
	size_t room;
};

/*
 * The soname of the stub library that has this code (soname.c): a library of CUDA 12 is linked from
 * the same objects as that of 13.
 */
extern const char wh_soname[];

/* One library. Each stub library has its own, which is static. */
struct wh_library {
	const char *name;	/* "cublas" */
	const char *soname;
	uint32_t number;	/* WH_LIB_* */
	bool bare;		/* its calls need neither cuInit nor a context */
	uint64_t hash;		/* hash of its description: both ends must agree */
	int state;		/* 0 = not asked yet, 1 = open, 2 = refused for good */
	uint32_t edition;	/* the bits of its calls that say which file serves it (wire.h) */
	CUresult refused;	/* the reason */
};

/*
 * Runs `does` for a file of a stub library in a fork's child, which has no pair yet (fork.c): its
 * locks may have been held by threads that do not exist there. A file uses this once.
 */
#define WH_IN_CHILD(does)						\
	static void wh_in_child(void)					\
	{								\
		does;							\
	}								\
	__attribute__((constructor)) static void wh_watch_forks(void)	\
	{								\
		pthread_atfork(NULL, NULL, wh_in_child);		\
	}

/*
 * Takes a slot and starts a request of `size` bytes to a library. The first request of a
 * process connects, makes the device's primary context current if the thread has none (as
 * NVIDIA's libraries do), and has the worker load the library. NULL: c->result says why. The
 * caller ends the call by wh_end().
 */
void *wh_library_begin(struct wh_call *c, struct wh_library *lib, uint32_t call, size_t size);
/*
 * The same if the response has `answer` bytes and either may be longer than a message area.
 * Then both lie in the data area during the call (long.c).
 */
void *wh_library_begin_long(struct wh_call *c, struct wh_library *lib, uint32_t call, size_t size,
			    size_t answer);
/* Does only what precedes a first call, to fail early or to copy. */
CUresult wh_library_prepare(struct wh_library *lib);
/* Sends the request. False: no response came, and c->result says why. */
bool wh_library_run(struct wh_call *c, size_t fixed);
/*
 * Replaces wh_library_run() for a call whose status is its only answer and that changes no
 * other call's status. It sends the request and returns at once if that changes no status
 * (post.c). The first `key` bytes of the request, whole words, decide about the status. Of the
 * words in `addresses` (wh_word) it only matters whether they are 0.
 */
bool wh_library_post(struct wh_call *c, size_t key, uint64_t addresses);
/*
 * Replaces wh_library_run() for a question. Its answer of `fixed` bytes depends on the `size` bytes
 * of its request, whole words, and on what the library's calls that are waited for have done. So it
 * is asked once until the next such call.
 */
bool wh_library_ask(struct wh_call *c, size_t size, size_t fixed);
#define wh_word(type, field)	(1ULL << offsetof(type, field) / 8)
void wh_end(struct wh_call *c);

void wh_reply_take(struct wh_call *c, void *dst, size_t count, size_t size);
/*
 * Returns a string of the worker, kept for the life of the process as the library's own would
 * be.
 */
const char *wh_reply_take_string(struct wh_call *c, uint64_t size);

static inline void *wh_request_put(struct wh_call *c, const void *p, size_t count, size_t size)
{
	void *to = c->msg + c->pos;

	/* Such a request was never begun; this tells the compiler. */
	if (count * size > SIZE_MAX / 8)
		__builtin_unreachable();
	memcpy(to, p, count * size);
	c->pos += wh_wire_bytes(count, size);
	return to;
}

static inline size_t wh_string_bytes(const char *s)
{
	return s ? wh_wire_bytes(strlen(s) + 1, 1) : 0;
}

static inline uint64_t wh_request_put_string(struct wh_call *c, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;

	/*
	 * There is room for this length: if another thread has made the string longer since, it
	 * is cut.
	 */
	if (!n || n > c->size || c->pos > c->size - n)
		return 0;
	wh_request_put(c, s, n, 1);
	return n;
}

/* --- A profiler ---------------------------------------------------------------------- */

/* What is told of requests, in the thread that sends each (profile.c). */
struct wh_profiler {
	/*
	 * A request that is no part of an API call begins. Returns its number, which is not 0 and
	 * below `of_library`.
	 */
	uint32_t (*begin)(uint32_t call);
	void (*end)(uint32_t number, int result);
	/* A request of the call of that number is about to be sent. */
	void (*sent)(uint32_t number, uint32_t call);
	uint32_t of_library;	/* a bit of the number in requests to other libraries */
	uint32_t library;	/* the profiler's own WH_LIB_*: its requests have no number */
};

/*
 * Begins or, by NULL, ends to give requests the numbers of their API calls. The worker must expect
 * numbers before.
 */
void wh_profile(const struct wh_profiler *p);
/* Returns the program's number of a device of the worker, or the number itself. */
uint32_t wh_profile_device(uint32_t real);
/* Begins or, by NULL, ends to tell a watcher of the program's API calls. */
void wh_watch(const struct wh_watcher *w);
/* libcudart: is told whether it has to tell of the functions that the program calls. */
void wh_watch_runtime(void (*watch)(bool on));
/* libcudart: around a function that is watched. */
void wh_api_begin(struct wh_api_call *c);
void wh_api_end(struct wh_api_call *c);

/* --- The rest ---------------------------------------------------------------------- */

/* Returns the refusal of a function. One line under WORMHOLE_LOG=1 names the function, once. */
CUresult wh_refuse(const char *name);

/*
 * Returns the stream's number in requests. It may make a call, so it must not run between begin
 * and end.
 */
uint64_t wh_library_stream(CUstream stream);
/*
 * May no other thread's call be sent while cuLaunchHostFunc() waits for its function? So it is in a
 * program that has managed variables, or captures something: one call is sent at a time then.
 */
bool wh_library_waits(void);
/*
 * Returns the worker's number of a device of the program's. For what is none it is a number that
 * the worker refuses. Valid once the process has begun a request.
 */
int wh_library_device(int dev);
/* Is [p, p + n) in the data area, and thus the same memory in the worker? */
bool wh_library_in_data(const void *p, size_t n);
/* Is this a device address that this process knows? */
bool wh_range_has(CUdeviceptr p);
/* Gives out a buffer in the data area for one short use. wh_staging_put() gives it back. */
CUresult wh_staging_get(uint8_t **buf, size_t *size);
void wh_staging_put(void);

#endif
