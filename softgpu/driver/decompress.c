// SPDX-License-Identifier: Apache-2.0
/*
 * Decompression in batches: LZ4 blocks and Snappy. Deflate is not offered, and the device's
 * attribute says so. Work is done at once, so that what is corrupt is an error of the call.
 */
#include <lz4.h>
#include <string.h>

#include "driver.h"

#define MOST	SGPU_DECOMPRESS_MOST

struct in {
	const uint8_t *p, *end;
};

static bool take(struct in *in, unsigned int bytes, uint32_t *v)
{
	*v = 0;
	if (bytes > (size_t)(in->end - in->p))
		return false;
	memcpy(v, in->p, bytes);
	in->p += bytes;
	return true;
}

/* The length at the head of a Snappy stream. */
static bool take_length(struct in *in, uint32_t *n)
{
	uint32_t byte, shift = 0;

	*n = 0;
	do {
		if (shift > 28 || !take(in, 1, &byte))
			return false;
		*n |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128);
	return true;
}

static bool literal(struct in *in, uint32_t tag, uint8_t *to, uint32_t room, uint32_t *n)
{
	*n = tag >> 2;
	if (*n >= 60 && !take(in, *n - 59, n))
		return false;
	if (*n >= room || *n >= (size_t)(in->end - in->p))
		return false;
	*n += 1;
	memcpy(to, in->p, *n);
	in->p += *n;
	return true;
}

/* Repeats what was written @back bytes before; the two may overlap. */
static bool repeat(struct in *in, uint32_t tag, uint8_t *to, uint32_t done, uint32_t room,
		   uint32_t *n)
{
	uint32_t back;

	if (!take(in, (tag & 3) == 3 ? 4 : tag & 3, &back))
		return false;
	*n = (tag >> 2) + 1;
	if ((tag & 3) == 1) {
		*n = (tag >> 2 & 7) + 4;
		back |= tag >> 5 << 8;
	}
	if (!back || back > done || *n > room)
		return false;
	for (uint32_t i = 0; i < *n; i++)
		to[i] = to[i - (size_t)back];
	return true;
}

/* Returns the bytes written, or -1. */
static int64_t snappy(const void *src, size_t bytes, uint8_t *dst, size_t room)
{
	struct in in = { src, (const uint8_t *)src + bytes };
	uint32_t all, done = 0, tag, n;

	if (!take_length(&in, &all) || all > room)
		return -1;
	while (in.p < in.end) {
		if (!take(&in, 1, &tag) ||
		    !(tag & 3 ? repeat(&in, tag, dst + done, done, all - done, &n) :
				literal(&in, tag, dst + done, all - done, &n)))
			return -1;
		done += n;
	}
	return done == all ? (int64_t)done : -1;
}

/* Finds device memory of at least @bytes at @p; *room: all that there is from there on. */
static bool device(const void *p, size_t bytes, size_t *room)
{
	struct sgpu_range r;

	if (!sgpu_mem_find((uintptr_t)p, &r))
		return false;
	*room = r.base + r.size - (uintptr_t)p;
	return bytes <= *room;
}

static CUresult decompress(const CUmemDecompressParams *p)
{
	size_t there, room, word;
	int64_t n = -1;

	if (!p->srcNumBytes || p->srcNumBytes > MOST || p->dstNumBytes > MOST ||
	    !device(p->src, p->srcNumBytes, &there) || !device(p->dst, p->dstNumBytes, &room) ||
	    !device(p->dstActBytes, sizeof(uint32_t), &word) || (uintptr_t)p->dstActBytes % 4)
		return CUDA_ERROR_INVALID_VALUE;
	room = p->dstNumBytes ? p->dstNumBytes : room < MOST ? room : MOST;
	if (p->algo == CU_MEM_DECOMPRESS_ALGORITHM_LZ4)
		n = LZ4_decompress_safe(p->src, p->dst, (int)p->srcNumBytes, (int)room);
	else if (p->algo == CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY)
		n = snappy(p->src, p->srcNumBytes, p->dst, room);
	else
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n < 0)
		return CUDA_ERROR_INVALID_VALUE;
	*p->dstActBytes = (uint32_t)n;
	return CUDA_SUCCESS;
}

CUresult cuMemBatchDecompressAsync(CUmemDecompressParams *p, size_t count, unsigned int flags,
				   size_t *bad, CUstream stream)
{
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter_stream(stream, &ctx);

	if (rc)
		return rc;
	rc = sgpu_work_stream(ctx, stream, &capturing);
	if (!rc && capturing)
		rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!rc && (!p || !count || flags))
		rc = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; !rc && i < count; i++) {
		rc = decompress(&p[i]);
		if (rc && bad)
			*bad = i;
	}
	return sgpu_leave(rc);
}
