// SPDX-License-Identifier: Apache-2.0
/*
 * Copies in graphs with pageable memory on one side. The worker's part is a copy between the
 * device and a mirror in the data area. This side's part is a copy between the mirror and the
 * program's memory. A callback runs it just before or after the worker's part, at each launch.
 */
#include "callback.h"

#include <stdlib.h>

/* Can the worker's driver use the address as it is? True also if nothing can work. */
static bool nameable(const void *p)
{
	return !p || wh_in_data(p, 1) || wh_range_has((CUdeviceptr)p);
}

static bool pageable(CUmemorytype *type, const void **host, CUdeviceptr *device)
{
	if (*type == CU_MEMORYTYPE_HOST && wh_managed_has(*host)) {
		*type = CU_MEMORYTYPE_DEVICE;
		*device = (CUdeviceptr)*host;
		return false;
	}
	if (*type == CU_MEMORYTYPE_HOST)
		return *host && !wh_in_data(*host, 1);
	if (*type != CU_MEMORYTYPE_UNIFIED || nameable((const void *)*device))
		return false;
	*type = CU_MEMORYTYPE_HOST;
	*host = (const void *)*device;
	return true;
}

/* Is it pinned memory of this process? Then its side of a copy can also be done here. */
static bool pinned(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST || (type == CU_MEMORYTYPE_UNIFIED &&
					      wh_in_data((const void *)device, 1) && !host);
}

enum wh_copy_sides wh_graph_copy_sides(const CUDA_MEMCPY3D *p, CUDA_MEMCPY3D *out)
{
	bool src, dst;

	*out = *p;
	src = pageable(&out->srcMemoryType, &out->srcHost, &out->srcDevice);
	dst = pageable(&out->dstMemoryType, (const void **)&out->dstHost, &out->dstDevice);
	if (src && (dst || pinned(out->dstMemoryType, NULL, out->dstDevice)))
		return WH_SIDES_HOST;
	if (dst && pinned(out->srcMemoryType, NULL, out->srcDevice))
		return WH_SIDES_HOST;
	return src ? WH_SIDES_IN : dst ? WH_SIDES_OUT : WH_SIDES_DEVICE;
}

struct side {
	uint8_t *base;
	size_t pitch, slice;
};

static struct side side(const void *base, size_t x, size_t y, size_t z, size_t pitch, size_t height,
			const CUDA_MEMCPY3D *p)
{
	struct side s;

	s.pitch = pitch ? pitch : p->WidthInBytes;
	s.slice = s.pitch * (height ? height : p->Height);
	s.base = (uint8_t *)base + z * s.slice + y * s.pitch + x;
	return s;
}

static const void *address(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return type == CU_MEMORYTYPE_HOST ? host : (const void *)device;
}

static struct side source(const CUDA_MEMCPY3D *p)
{
	return side(address(p->srcMemoryType, p->srcHost, p->srcDevice), p->srcXInBytes, p->srcY,
		    p->srcZ, p->srcPitch, p->srcHeight, p);
}

static struct side target(const CUDA_MEMCPY3D *p)
{
	return side(address(p->dstMemoryType, p->dstHost, p->dstDevice), p->dstXInBytes, p->dstY,
		    p->dstZ, p->dstPitch, p->dstHeight, p);
}

void wh_graph_copy_part(const struct wh_graph_copy *c)
{
	const CUDA_MEMCPY3D *p = &c->params;
	struct side mirror = side(c->mirror, 0, 0, 0, 0, 0, p), from, to;
	size_t y, z;

	from = c->mirror && !c->in ? mirror : source(p);
	to = c->mirror && c->in ? mirror : target(p);
	for (z = 0; z < p->Depth; z++)
		for (y = 0; y < p->Height; y++)
			memmove(to.base + z * to.slice + y * to.pitch,
				from.base + z * from.slice + y * from.pitch, p->WidthInBytes);
}

/*
 * A copy ends on the thread that runs callbacks, which must not wait for a call. So mirrors
 * outside of the data area stay pinned until somebody needs the memory.
 */
static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct wh_graph_copy *ended WH_PAIR;

void wh_graph_copy_free(struct wh_graph_copy *c)
{
	if (!c)
		return;
	if (c->mirror && wh_in_far(c->mirror, 1)) {
		pthread_mutex_lock(&lock);
		c->next = ended;
		ended = c;
		pthread_mutex_unlock(&lock);
		return;
	}
	if (c->mirror)
		wh_data_free(c->mirror);
	free(c);
}

bool wh_graph_copies_reclaim(void)
{
	struct wh_graph_copy *c, *next;

	pthread_mutex_lock(&lock);
	c = ended;
	ended = NULL;
	pthread_mutex_unlock(&lock);
	if (!c)
		return false;
	for (; c; c = next) {
		next = c->next;
		wh_pinned_free(c->mirror);
		free(c);
	}
	return true;
}

static void use_mirror(struct wh_graph_copy *c)
{
	CUDA_MEMCPY3D *p = &c->staged;

	*p = c->params;
	if (c->in) {
		p->srcMemoryType = CU_MEMORYTYPE_HOST;
		p->srcHost = c->mirror;
		p->srcXInBytes = p->srcY = p->srcZ = 0;
		p->srcPitch = p->WidthInBytes;
		p->srcHeight = p->Height;
	} else {
		p->dstMemoryType = CU_MEMORYTYPE_HOST;
		p->dstHost = c->mirror;
		p->dstXInBytes = p->dstY = p->dstZ = 0;
		p->dstPitch = p->WidthInBytes;
		p->dstHeight = p->Height;
	}
}

/* WH_SIDES_HOST has no mirror, since this side copies all of it. */
CUresult wh_graph_copy_new(const CUDA_MEMCPY3D *p, enum wh_copy_sides sides,
			   struct wh_graph_copy **out)
{
	struct wh_graph_copy *c;
	size_t size;

	if (__builtin_mul_overflow(p->WidthInBytes, p->Height, &size) ||
	    __builtin_mul_overflow(size, p->Depth, &size) || !size)
		return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->params = *p;
	c->in = sides == WH_SIDES_IN;
	if (sides != WH_SIDES_HOST) {
		do
			c->mirror = wh_pinned_alloc(size);
		while (!c->mirror && wh_callback_await_end());
		if (!c->mirror) {
			free(c);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		use_mirror(c);
	}
	*out = c;
	return CUDA_SUCCESS;
}
