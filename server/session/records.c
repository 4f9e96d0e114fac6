// SPDX-License-Identifier: Apache-2.0
/*
 * Structs in requests whose unions and addresses the generator cannot judge. Handles inside become
 * the driver's objects, addresses must be ones that the client may name (reach.h), and fields that
 * a memory type does not use are cleared.
 */
#include "session/handler.h"

#include <stddef.h>

/* One side of a copy; `span` is how far it reaches from its address. */
struct side {
	CUmemorytype *type;
	const void **host;
	CUdeviceptr *device;
	CUarray *array;
	uint64_t span;
};

static CUresult check_host(struct wh_session *s, struct side *e)
{
	uint64_t addr = (uintptr_t)*e->host;

	if (!wh_host_bytes(s, &addr, e->span))
		return CUDA_ERROR_INVALID_VALUE;
	*e->host = (const void *)addr;
	return CUDA_SUCCESS;
}

static CUresult fix_side(struct wh_session *s, struct side *e)
{
	void *array;
	CUresult res;

	switch (*e->type) {
	case CU_MEMORYTYPE_HOST:
		*e->array = NULL;
		return check_host(s, e);
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		*e->host = NULL;
		*e->array = NULL;
		res = wh_reach(s, *e->device, e->span);
		/*
		 * A node of a graph may outlast this memory, and must not find other memory there.
		 */
		if (res == CUDA_SUCCESS && e->span && !wh_host_range(s, *e->device, e->span))
			*e->type = CU_MEMORYTYPE_DEVICE;
		return res;
	case CU_MEMORYTYPE_ARRAY:
		*e->host = NULL;
		if (!wh_get(s, WH_H_CUarray, (uintptr_t)*e->array, &array))
			return CUDA_ERROR_INVALID_HANDLE;
		*e->array = array;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Bytes from the base address to the end of the box; UINT64_MAX if there can be no such box. */
static uint64_t span(uint64_t x, uint64_t y, uint64_t z, uint64_t width, uint64_t height,
		     uint64_t depth, uint64_t pitch, uint64_t rows)
{
	unsigned __int128 n;

	if (!width || !height || !depth)
		return 0;
	pitch = pitch ? pitch : width;
	rows = rows ? rows : height;
	if (x >> 40 || y >> 40 || z >> 40 || width >> 40 || height >> 40 || depth >> 40 ||
	    pitch >> 40 || rows >> 40)
		return UINT64_MAX;
	n = ((unsigned __int128)(z + depth - 1) * rows + y + height - 1) * pitch + x + width;
	return n >> 63 ? UINT64_MAX : (uint64_t)n;
}

CUresult wh_in_CUDA_MEMCPY2D(struct wh_session *s, CUDA_MEMCPY2D *c)
{
	struct side src = {
		&c->srcMemoryType, &c->srcHost, &c->srcDevice, &c->srcArray,
		span(c->srcXInBytes, c->srcY, 0, c->WidthInBytes, c->Height, 1, c->srcPitch, 1),
	};
	struct side dst = {
		&c->dstMemoryType, (const void **)&c->dstHost, &c->dstDevice, &c->dstArray,
		span(c->dstXInBytes, c->dstY, 0, c->WidthInBytes, c->Height, 1, c->dstPitch, 1),
	};
	CUresult res = fix_side(s, &src);

	return res ? res : fix_side(s, &dst);
}

CUresult wh_in_CUDA_MEMCPY3D(struct wh_session *s, CUDA_MEMCPY3D *c)
{
	struct side src = {
		&c->srcMemoryType, &c->srcHost, &c->srcDevice, &c->srcArray,
		span(c->srcXInBytes, c->srcY, c->srcZ, c->WidthInBytes, c->Height, c->Depth,
		     c->srcPitch, c->srcHeight),
	};
	struct side dst = {
		&c->dstMemoryType, (const void **)&c->dstHost, &c->dstDevice, &c->dstArray,
		span(c->dstXInBytes, c->dstY, c->dstZ, c->WidthInBytes, c->Height, c->Depth,
		     c->dstPitch, c->dstHeight),
	};
	CUresult res = fix_side(s, &src);

	c->reserved0 = NULL;
	c->reserved1 = NULL;
	return res ? res : fix_side(s, &dst);
}

/* The struct equals CUDA_MEMCPY3D, with contexts in place of its reserved fields. */
_Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER) &&
	       offsetof(CUDA_MEMCPY3D, reserved0) == offsetof(CUDA_MEMCPY3D_PEER, srcContext) &&
	       offsetof(CUDA_MEMCPY3D, reserved1) == offsetof(CUDA_MEMCPY3D_PEER, dstContext),
	       "boxes between devices have another layout");

CUresult wh_in_CUDA_MEMCPY3D_PEER(struct wh_session *s, CUDA_MEMCPY3D_PEER *c)
{
	void *from, *to;
	CUresult res;

	if (!wh_get(s, WH_H_CUcontext, (uintptr_t)c->srcContext, &from) ||
	    !wh_get(s, WH_H_CUcontext, (uintptr_t)c->dstContext, &to))
		return CUDA_ERROR_INVALID_CONTEXT;
	res = wh_in_CUDA_MEMCPY3D(s, (CUDA_MEMCPY3D *)c);
	c->srcContext = from;
	c->dstContext = to;
	return res;
}

/* --- Bytes that cross between host and device ------------------------------------- */

static void count(struct wh_session *s, bool to_host, bool from_host, uint64_t bytes)
{
	if (to_host != from_host)
		wh_count_copy(s, from_host, bytes);
}

void wh_count_moved(struct wh_session *s, CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
{
	count(s, wh_host_range(s, to, 1), wh_host_range(s, from, 1), bytes);
}

static bool is_host(const struct wh_session *s, CUmemorytype type, CUdeviceptr address)
{
	return type == CU_MEMORYTYPE_HOST ||
	       (type != CU_MEMORYTYPE_ARRAY && wh_host_range(s, address, 1));
}

#define COUNT_BOX(s, c, slices) \
	count(s, is_host(s, (c)->dstMemoryType, (c)->dstDevice), \
	      is_host(s, (c)->srcMemoryType, (c)->srcDevice), \
	      (c)->WidthInBytes * (c)->Height * (slices))

void wh_count_CUDA_MEMCPY2D(struct wh_session *s, const CUDA_MEMCPY2D *c)
{
	COUNT_BOX(s, c, 1);
}

void wh_count_CUDA_MEMCPY3D(struct wh_session *s, const CUDA_MEMCPY3D *c)
{
	COUNT_BOX(s, c, c->Depth);
}

void wh_count_CUDA_MEMCPY3D_PEER(struct wh_session *s, const CUDA_MEMCPY3D_PEER *c)
{
	wh_count_CUDA_MEMCPY3D(s, (const CUDA_MEMCPY3D *)c);
}

/* --- Resources of textures ------------------------------------------------------- */

CUresult wh_in_CUDA_RESOURCE_DESC(struct wh_session *s, CUDA_RESOURCE_DESC *d)
{
	void *real;

	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		if (!wh_get(s, WH_H_CUarray, (uintptr_t)d->res.array.hArray, &real))
			return CUDA_ERROR_INVALID_HANDLE;
		d->res.array.hArray = real;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		if (!wh_get(s, WH_H_CUmipmappedArray,
			    (uintptr_t)d->res.mipmap.hMipmappedArray, &real))
			return CUDA_ERROR_INVALID_HANDLE;
		d->res.mipmap.hMipmappedArray = real;
		return CUDA_SUCCESS;
	case CU_RESOURCE_TYPE_LINEAR:
		/*
		 * Only kernels read it, and they reach all of that memory by pointers, too. The
		 * driver does not look at the end either, and programs that pad (the sample
		 * convolutionFFT2D) name more than they have.
		 */
		return wh_reach(s, d->res.linear.devPtr, 1);
	case CU_RESOURCE_TYPE_PITCH2D:
		return wh_reach(s, d->res.pitch2D.devPtr,
				wh_texture_rows(d->res.pitch2D.width, d->res.pitch2D.height,
						d->res.pitch2D.format, d->res.pitch2D.numChannels,
						d->res.pitch2D.pitchInBytes));
	}
	return CUDA_ERROR_INVALID_VALUE;
}

void wh_out_CUDA_RESOURCE_DESC(struct wh_session *s, CUDA_RESOURCE_DESC *d)
{
	if (d->resType == CU_RESOURCE_TYPE_ARRAY)
		d->res.array.hArray = (CUarray)wh_handle_for(s, WH_H_CUarray,
							     d->res.array.hArray, 0);
	else if (d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		d->res.mipmap.hMipmappedArray = (CUmipmappedArray)wh_handle_for(s,
			WH_H_CUmipmappedArray, d->res.mipmap.hMipmappedArray, 0);
}
