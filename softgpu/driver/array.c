// SPDX-License-Identifier: Apache-2.0
/*
 * Arrays and mipmapped arrays: their descriptors, which are checked as NVIDIA's driver
 * does, their memory, and linear copies from and to them. Rows follow each other without a
 * gap. Textures that read arrays are in texobj.c.
 */
#include <string.h>

#include "array.h"

#define FLAGS	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | \
		 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT)

size_t sgpu_format_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

/* ---- descriptors ---- */

static bool layered_ok(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (d->Flags & CUDA_ARRAY3D_CUBEMAP)
		return d->Width == d->Height && d->Width <= SGPU_MAX_CUBE && d->Depth &&
		       d->Depth % 6 == 0 && d->Depth <= SGPU_MAX_FACES;
	return d->Depth && d->Depth <= SGPU_MAX_LAYERS && d->Width <= SGPU_MAX_LAYERED &&
	       d->Height <= SGPU_MAX_LAYERED;
}

static bool extent_ok(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d->Width)
		return false;
	if (d->Flags & CUDA_ARRAY3D_LAYERED)
		return layered_ok(d);
	if (d->Flags & CUDA_ARRAY3D_CUBEMAP)
		return layered_ok(d) && d->Depth == 6;
	if (d->Depth)
		return d->Height && d->Width <= SGPU_MAX_BOX && d->Height <= SGPU_MAX_BOX &&
		       d->Depth <= SGPU_MAX_BOX;
	if (d->Height)
		return d->Width <= SGPU_MAX_WIDTH && d->Height <= SGPU_MAX_HEIGHT;
	return d->Width <= SGPU_MAX_LINE;
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4) ||
	    (d->Flags & ~FLAGS) || !sgpu_format_bytes(d->Format) || !extent_ok(d))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static size_t bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Width * d->NumChannels * sgpu_format_bytes(d->Format) *
	       (d->Height ? d->Height : 1) * (d->Depth ? d->Depth : 1);
}

/* Starts a call about an object. On NULL the call ends with @rc, and the lock is not held. */
static void *enter(enum sgpu_type type, const void *handle, CUresult *rc)
{
	struct sgpu_ctx *ctx;
	void *object;

	*rc = sgpu_enter(&ctx);
	if (*rc)
		return NULL;
	object = sgpu_obj_get(type, handle);
	if (!object)
		*rc = sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	return object;
}

/* ---- arrays ---- */

static struct sgpu_array *array_new(struct sgpu_ctx *ctx, const CUDA_ARRAY3D_DESCRIPTOR *d,
				    uint64_t base)
{
	struct sgpu_array *a = sgpu_obj_new(SGPU_ARRAY);

	if (!a)
		return NULL;
	a->ctx = ctx;
	a->d = *d;
	a->base = base;
	a->element = d->NumChannels * sgpu_format_bytes(d->Format);
	a->pitch = d->Width * a->element;
	a->rows = d->Height ? d->Height : 1;
	a->planes = d->Depth ? d->Depth : 1;
	return a;
}

static CUresult create(struct sgpu_ctx *ctx, CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct sgpu_array *a;
	uint64_t base;
	CUresult rc = out ? check(d) : CUDA_ERROR_INVALID_VALUE;

	if (!rc)
		rc = sgpu_capture_unsafe();
	if (!rc)
		rc = sgpu_mem_alloc(ctx, bytes(d), SGPU_MEM_ARRAY, NULL, &base);
	if (rc)
		return rc;
	a = array_new(ctx, d, base);
	if (!a) {
		sgpu_mem_release(base, 1u << SGPU_MEM_ARRAY);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (CUarray)a;
	return CUDA_SUCCESS;
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	return rc ? rc : sgpu_leave(create(ctx, out, d));
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR box;

	if (!d)
		return cuArray3DCreate_v2(out, NULL);
	box = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = d->Width, .Height = d->Height, .Format = d->Format,
		.NumChannels = d->NumChannels,
	};
	return cuArray3DCreate_v2(out, &box);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array)
{
	CUresult rc;
	struct sgpu_array *a = enter(SGPU_ARRAY, array, &rc);

	if (!a)
		return rc;
	if (!d)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*d = a->d;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR box;
	CUresult rc = cuArray3DGetDescriptor_v2(d ? &box : NULL, array);

	if (!rc)
		*d = (CUDA_ARRAY_DESCRIPTOR){
			.Width = box.Width, .Height = box.Height, .Format = box.Format,
			.NumChannels = box.NumChannels,
		};
	return rc;
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult rc;
	struct sgpu_array *a = enter(SGPU_ARRAY, array, &rc);

	if (!a)
		return rc;
	if (a->level)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	rc = sgpu_capture_unsafe();
	if (!rc)
		rc = sgpu_mem_release(a->base, 1u << SGPU_MEM_ARRAY);
	if (!rc)
		sgpu_obj_free(a);
	return sgpu_leave(rc);
}

/* ---- mipmapped arrays ---- */

static size_t half(size_t n)
{
	return n > 1 ? n / 2 : n;
}

/* Returns the next smaller level of a mipmap. The number of layers stays the same. */
static CUDA_ARRAY3D_DESCRIPTOR next_level(CUDA_ARRAY3D_DESCRIPTOR d)
{
	d.Width = half(d.Width);
	d.Height = half(d.Height);
	if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		d.Depth = half(d.Depth);
	return d;
}

static unsigned int most_levels(CUDA_ARRAY3D_DESCRIPTOR d)
{
	size_t depth = d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) ? 0 : d.Depth;
	size_t n = d.Width > d.Height ? d.Width : d.Height;
	unsigned int levels = 0;

	for (n = n > depth ? n : depth; n; n /= 2)
		levels++;
	return levels;
}

static void mipmap_free(struct sgpu_mipmap *m)
{
	unsigned int i;

	for (i = 0; i < m->levels; i++)
		if (m->level[i])
			sgpu_obj_free(m->level[i]);
	sgpu_obj_free(m);
}

static bool make_levels(struct sgpu_mipmap *m, CUDA_ARRAY3D_DESCRIPTOR d)
{
	uint64_t base = m->base;
	unsigned int i;

	for (i = 0; i < m->levels; i++) {
		m->level[i] = array_new(m->ctx, &d, base);
		if (!m->level[i])
			return false;
		m->level[i]->level = true;
		base += bytes(&d);
		d = next_level(d);
	}
	return true;
}

static CUresult mipmap_create(struct sgpu_ctx *ctx, CUmipmappedArray *out,
			      const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	CUresult rc = out ? check(d) : CUDA_ERROR_INVALID_VALUE;
	CUDA_ARRAY3D_DESCRIPTOR l;
	struct sgpu_mipmap *m;
	size_t size = 0;
	unsigned int i;

	if (rc || !levels)
		return rc ? rc : CUDA_ERROR_INVALID_VALUE;
	levels = levels < most_levels(*d) ? levels : most_levels(*d);
	for (i = 0, l = *d; i < levels; i++, l = next_level(l))
		size += bytes(&l);
	m = sgpu_obj_new(SGPU_MIPMAP);
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->ctx = ctx;
	m->levels = levels;
	rc = sgpu_mem_alloc(ctx, size, SGPU_MEM_ARRAY, NULL, &m->base);
	if (!rc && !make_levels(m, *d)) {
		sgpu_mem_release(m->base, 1u << SGPU_MEM_ARRAY);
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (rc)
		mipmap_free(m);
	else
		*out = (CUmipmappedArray)m;
	return rc;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
				unsigned int levels)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	rc = sgpu_capture_unsafe();
	return sgpu_leave(rc ? rc : mipmap_create(ctx, out, d, levels));
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray mipmap, unsigned int level)
{
	CUresult rc;
	struct sgpu_mipmap *m = enter(SGPU_MIPMAP, mipmap, &rc);

	if (!m)
		return rc;
	if (!out || level >= m->levels)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = (CUarray)m->level[level];
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
	CUresult rc;
	struct sgpu_mipmap *m = enter(SGPU_MIPMAP, mipmap, &rc);

	if (!m)
		return rc;
	rc = sgpu_capture_unsafe();
	if (!rc)
		rc = sgpu_mem_release(m->base, 1u << SGPU_MEM_ARRAY);
	if (!rc)
		mipmap_free(m);
	return sgpu_leave(rc);
}

static void drop_array(void *object, void *ctx)
{
	struct sgpu_array *a = object;

	if (a->ctx == ctx)
		sgpu_obj_free(a);
}

static void drop_mipmap(void *object, void *ctx)
{
	struct sgpu_mipmap *m = object;

	if (m->ctx == ctx)
		sgpu_obj_free(m);
}

/* Frees the array objects of a context. Their memory is freed with the context's other memory. */
void sgpu_array_drop_ctx(struct sgpu_ctx *ctx)
{
	sgpu_obj_each(SGPU_MIPMAP, drop_mipmap, ctx);
	sgpu_obj_each(SGPU_ARRAY, drop_array, ctx);
}

/* ---- copies ---- */

static bool fits(size_t at, size_t n, size_t size)
{
	return at <= size && n <= size - at;
}

CUresult sgpu_array_place(const struct sgpu_array *a, size_t x, size_t y, size_t z, size_t width,
			  size_t height, size_t depth, uint64_t *addr)
{
	if (!fits(x, width, a->pitch) || !fits(y, height, a->rows) || !fits(z, depth, a->planes) ||
	    x % a->element || width % a->element)
		return CUDA_ERROR_INVALID_VALUE;
	*addr = a->base + (z * a->rows + y) * a->pitch + x;
	return CUDA_SUCCESS;
}

/* One end of a linear copy: a position in a line of an array, or an address in memory. */
struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t at;
};

static struct end host(const void *p)
{
	return (struct end){ .type = CU_MEMORYTYPE_HOST, .host = p };
}

static struct end device(CUdeviceptr p)
{
	return (struct end){ .type = CU_MEMORYTYPE_DEVICE, .device = p };
}

static struct end line(CUarray array, size_t at)
{
	return (struct end){ .type = CU_MEMORYTYPE_ARRAY, .array = array, .at = at };
}

static CUresult end_ok(struct end e)
{
	struct sgpu_array *a;
	CUresult rc;

	if (e.type != CU_MEMORYTYPE_ARRAY)
		return CUDA_SUCCESS;
	a = enter(SGPU_ARRAY, e.array, &rc);
	if (!a)
		return rc;
	return sgpu_leave(a->rows == 1 && a->planes == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult linear(struct end dst, struct end src, size_t n, bool async, CUstream stream)
{
	const CUDA_MEMCPY3D c = {
		.srcMemoryType = src.type, .srcHost = src.host, .srcDevice = src.device,
		.srcArray = src.array, .srcXInBytes = src.at,
		.dstMemoryType = dst.type, .dstHost = (void *)dst.host, .dstDevice = dst.device,
		.dstArray = dst.array, .dstXInBytes = dst.at,
		.WidthInBytes = n, .Height = 1, .Depth = 1,
	};
	CUresult rc = end_ok(src);

	if (!rc)
		rc = end_ok(dst);
	if (rc)
		return rc;
	return async ? cuMemcpy3DAsync_v2(&c, stream) : cuMemcpy3D_v2(&c);
}

CUresult cuMemcpyHtoA_v2(CUarray dst, size_t at, const void *src, size_t n)
{
	return linear(line(dst, at), host(src), n, false, NULL);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst, size_t at, const void *src, size_t n, CUstream stream)
{
	return linear(line(dst, at), host(src), n, true, stream);
}

CUresult cuMemcpyAtoH_v2(void *dst, CUarray src, size_t at, size_t n)
{
	return linear(host(dst), line(src, at), n, false, NULL);
}

CUresult cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t at, size_t n, CUstream stream)
{
	return linear(host(dst), line(src, at), n, true, stream);
}

CUresult cuMemcpyDtoA_v2(CUarray dst, size_t at, CUdeviceptr src, size_t n)
{
	return linear(line(dst, at), device(src), n, false, NULL);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t at, size_t n)
{
	return linear(device(dst), line(src, at), n, false, NULL);
}

CUresult cuMemcpyAtoA_v2(CUarray dst, size_t to, CUarray src, size_t at, size_t n)
{
	return linear(line(dst, to), line(src, at), n, false, NULL);
}
