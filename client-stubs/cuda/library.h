/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stub library of ours (libcublas.so.13, ...) uses of our libcuda.so.1:
 * the process's one connection. The functions below are exported under the
 * version WORMHOLE_PRIVATE_3 (cuda-api/cuda.api lists them), so a stub library
 * does not load with any other libcuda.so.1. A change here is a new version.
 */
#ifndef WORMHOLE_LIBRARY_H
#define WORMHOLE_LIBRARY_H

#include <cuda.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "log.h"
#include "wire.h"

/* --- A call ---------------------------------------------------------------------- */

struct wh_call {
	void *rsp;		/* the message area, as a response */
	uint8_t *msg;
	size_t size;		/* of the request */
	size_t pos;		/* next array */
	CUresult result;	/* when no request was started or no response came */
	/* Of a long one: what stands in the message area, and the bytes that msg has. */
	void *head;
	size_t room;
};

/* One library; its own object, static in it. */
struct wh_library {
	const char *name;	/* "cublas" */
	const char *soname;
	uint32_t number;	/* WH_LIB_* */
	bool bare;		/* its calls need neither cuInit nor a context */
	uint64_t hash;		/* of its description: both ends must agree */
	int state;		/* 0 = not asked yet, 1 = open, 2 = refused for good */
	CUresult refused;	/* why */
};

/*
 * What a file of a stub library does in a fork's child, which has no pair yet (fork.c):
 * its locks may have been held by threads that are not there. Once in a file.
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
 * Take the slot and start a request of `size` bytes to a library; the first one
 * of a process connects, makes the device's primary context current if the
 * thread has none (as NVIDIA's libraries do), and has the worker load the
 * library. NULL: c->result says why. Leave by wh_end().
 */
void *wh_library_begin(struct wh_call *c, struct wh_library *lib, uint32_t call, size_t size);
/*
 * The same where the response has `answer` bytes and either may be longer than a message
 * area: then they lie in the data area for the time of the call (long.c).
 */
void *wh_library_begin_long(struct wh_call *c, struct wh_library *lib, uint32_t call, size_t size,
			    size_t answer);
/* What comes before a first call, alone: to fail early, or to copy. */
CUresult wh_library_prepare(struct wh_library *lib);
/* Send it. False: no response came, and c->result says why. */
bool wh_library_run(struct wh_call *c, size_t fixed);
/*
 * In its place, for a call whose status is its only answer and that changes no
 * other call's: send it and return at once where that changes no status (post.c).
 * The first `key` bytes of the request, whole words, decide about the status; of
 * the words in `addresses` (wh_word) it is only whether they are 0.
 */
bool wh_library_post(struct wh_call *c, size_t key, uint64_t addresses);
#define wh_word(type, field)	(1ULL << offsetof(type, field) / 8)
void wh_end(struct wh_call *c);

void wh_take(struct wh_call *c, void *dst, size_t count, size_t size);
/* A string of the worker's, kept for the life of the process as the library's own would be. */
const char *wh_take_string(struct wh_call *c, uint64_t size);

static inline void *wh_put(struct wh_call *c, const void *p, size_t count, size_t size)
{
	void *to = c->msg + c->pos;

	/* Such a request was not begun; said for the compiler. */
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

static inline uint64_t wh_put_string(struct wh_call *c, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;

	/* Room was made for this length: if another thread has grown the string since, cut. */
	if (!n || n > c->size || c->pos > c->size - n)
		return 0;
	wh_put(c, s, n, 1);
	return n;
}

/* --- The rest ---------------------------------------------------------------------- */

/* One line under WORMHOLE_LOG=1 names the function, once. */
CUresult wh_refuse(const char *name);

/* What a stream is called on the wire; may make a call, so not between begin and end. */
uint64_t wh_library_stream(CUstream stream);
/* Is [p, p + n) in the data area, and thus the same memory in the worker? */
bool wh_library_in_data(const void *p, size_t n);
/* Is it an address of the device's that this process knows? */
bool wh_range_has(CUdeviceptr p);
/* A buffer in the data area for one short use, given back by wh_staging_put(). */
CUresult wh_staging_get(uint8_t **buf, size_t *size);
void wh_staging_put(void);

#endif
