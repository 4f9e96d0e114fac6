/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of a request and its response in a message area, for both ends. The structs of the
 * single calls are generated (gen_wire.h): the fixed part comes first, then arrays and strings
 * in the order of the parameters, each padded to WH_WIRE_ALIGN.
 */
#ifndef WORMHOLE_WIRE_H
#define WORMHOLE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "gen_libraries.h"

#define WH_WIRE_ALIGN	16

/* Opens every request. */
struct wh_req {
	uint32_t call;		/* WH_CALL_*; a library's number in the upper half */
	uint32_t null;		/* bit i: pointer parameter i was NULL */
	uint64_t ctx;		/* the calling thread's current context, 0 for none */
	uint32_t capture_mode;	/* the calling thread's CUstreamCaptureMode */
	uint32_t number;	/* of its API call, while the client profiles; else 0 */
};

/* Opens every response. */
struct wh_rsp {
	int32_t result;		/* the driver's or library's own: 0 is success */
	uint32_t size;		/* bytes of the response, this header included */
};

/* A bit of `size`: the driver has printed something, to be fetched by whOutput. */
#define WH_RSP_OUTPUT	0x80000000u

/* The upper half of a call's number is its library's, WH_LIB_*. */
#define WH_LIBRARY_SHIFT	16
/*
 * Its two upper bits say which of a library's editions the call is for, and so are the objects it
 * names: 0 is today's major, 1 that of CUDA 12, 2 that of CUDA 11.
 */
#define WH_EDITION_SHIFT	30
#define WH_EDITION_MASK		(3u << WH_EDITION_SHIFT)
#define WH_EDITION_11		2
#define WH_EDITIONS		3
/* In the place of a version's minor and patch numbers: any of the major, and do not say which. */
#define WH_ANY_OF_MAJOR		0xffffffu

/*
 * Returns the bytes of `count` objects of `size` in a message, or WH_WIRE_NEVER if that cannot
 * be.
 */
#define WH_WIRE_NEVER	(SIZE_MAX / 4)
static inline size_t wh_wire_bytes(size_t count, size_t size)
{
	size_t n;

	if (__builtin_mul_overflow(count, size, &n) || n > WH_WIRE_NEVER)
		return WH_WIRE_NEVER;
	return (n + WH_WIRE_ALIGN - 1) & ~(size_t)(WH_WIRE_ALIGN - 1);
}

/* Adds `bytes` to `sum`, so that a sum of many never wraps to a small one. */
static inline size_t wh_wire_more(size_t sum, size_t bytes)
{
	return bytes >= WH_WIRE_NEVER - sum ? WH_WIRE_NEVER : sum + bytes;
}

/* Returns the position of the first array after a fixed part. */
#define WH_WIRE_FIXED(type) wh_wire_bytes(1, sizeof(type))

#endif
