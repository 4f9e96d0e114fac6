/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses a client may name: memory of the device, the part's data area, the far area, and
 * what the client registered. Everything else that is mapped here is the worker's own, and a driver
 * would read and write it as it would for any program. Included by handler.h; generated handlers
 * ask by the kind `device` of cuda-api/cuda.api.
 */
#ifndef WORMHOLE_REACH_H
#define WORMHOLE_REACH_H

#include "state/state.h"

struct wh_session;

/*
 * May the client name [addr, addr + bytes)? CUDA_ERROR_INVALID_VALUE if it may not,
 * CUDA_ERROR_INVALID_CONTEXT if it has no context either, or the driver's error. 0 bytes may be
 * anywhere.
 */
CUresult wh_reach_slow(struct wh_session *s, uint64_t addr, uint64_t bytes);
/* The same for arrays of addresses and sizes. */
CUresult wh_reach_each(struct wh_session *s, const CUdeviceptr *addr, const size_t *bytes,
		       size_t count);

/* The driver has given this range to the client, until wh_reach_frees(). */
void wh_reaches(struct wh_session *s, uint64_t addr, uint64_t bytes);
/* The same for an allocation in a stream; it is memory of a graph if the stream is captured. */
void wh_reaches_in(struct wh_session *s, uint64_t addr, uint64_t bytes, CUstream stream);
/* Notes memory of a graph: its addresses stay until wh_reach_forgets(). */
void wh_reaches_graph(struct wh_session *s, uint64_t addr, uint64_t bytes);
/* Call this before anything that may free the range that begins at addr. */
void wh_reach_frees(struct wh_session *s, uint64_t addr);
/* Call this before anything that may free all ranges: a context ends. */
void wh_reach_forgets(struct wh_session *s);

/* Bytes of rows that are `pitch` apart; UINT64_MAX if there can be no such memory. */
static inline uint64_t wh_rows(uint64_t pitch, uint64_t width, uint64_t height)
{
	uint64_t n;

	if (!width || !height)
		return 0;
	if (__builtin_mul_overflow(pitch, height - 1, &n) || __builtin_add_overflow(n, width, &n))
		return UINT64_MAX;
	return n;
}

/* Bytes of `count` objects of `size` bytes. */
static inline uint64_t wh_times(uint64_t count, uint64_t size)
{
	uint64_t n;

	return __builtin_mul_overflow(count, size, &n) ? UINT64_MAX : n;
}

/* Bytes of a texture in plain memory. */
uint64_t wh_texture_rows(uint64_t width, uint64_t height, CUarray_format format,
			 unsigned int channels, uint64_t pitch);

#endif
