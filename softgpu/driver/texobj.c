// SPDX-License-Identifier: Apache-2.0
/*
 * Texture and surface objects: they are checked, stored and described. The fetches of
 * kernels read textures (exec/tex.c), their loads and stores reach surfaces (exec/surf.c).
 */
#include <string.h>

#include "array.h"

static CUresult linear_ok(CUdeviceptr p, size_t size, CUarray_format format, unsigned int channels)
{
	if (!sgpu_format_bytes(format) || !channels || channels == 3 || channels > 4 ||
	    p % SGPU_GRANULE)
		return CUDA_ERROR_INVALID_VALUE;
	return p && size ? sgpu_check_device(p, size) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sgpu_resource_ok(const CUDA_RESOURCE_DESC *r)
{
	size_t size;

	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return sgpu_obj_get(SGPU_ARRAY, r->res.array.hArray) ? CUDA_SUCCESS :
								       CUDA_ERROR_INVALID_HANDLE;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return sgpu_obj_get(SGPU_MIPMAP, r->res.mipmap.hMipmappedArray) ?
		       CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	case CU_RESOURCE_TYPE_LINEAR:
		return linear_ok(r->res.linear.devPtr, r->res.linear.sizeInBytes,
				 r->res.linear.format, r->res.linear.numChannels);
	case CU_RESOURCE_TYPE_PITCH2D:
		if (__builtin_mul_overflow(r->res.pitch2D.pitchInBytes, r->res.pitch2D.height,
					   &size))
			return CUDA_ERROR_INVALID_VALUE;
		return linear_ok(r->res.pitch2D.devPtr, size, r->res.pitch2D.format,
				 r->res.pitch2D.numChannels);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static bool is_cubemap(const CUDA_RESOURCE_DESC *r)
{
	const struct sgpu_array *a = NULL;
	const struct sgpu_mipmap *m;

	if (r->resType == CU_RESOURCE_TYPE_ARRAY) {
		a = sgpu_obj_get(SGPU_ARRAY, r->res.array.hArray);
	} else if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
		m = sgpu_obj_get(SGPU_MIPMAP, r->res.mipmap.hMipmappedArray);
		a = m ? m->level[0] : NULL;
	}
	return a && a->d.Flags & CUDA_ARRAY3D_CUBEMAP;
}

static CUresult sampling_ok(const CUDA_TEXTURE_DESC *t, const CUDA_RESOURCE_DESC *r)
{
	int i;

	if (t->flags & CU_TRSF_SEAMLESS_CUBEMAP && !is_cubemap(r))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < 3; i++)
		if ((unsigned int)t->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned int)t->filterMode > CU_TR_FILTER_MODE_LINEAR ||
	    (unsigned int)t->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static struct sgpu_texture *keep(enum sgpu_type type, struct sgpu_ctx *ctx,
				 const CUDA_RESOURCE_DESC *r)
{
	struct sgpu_texture *t = sgpu_obj_new(type);

	if (t) {
		t->ctx = ctx;
		t->resource = *r;
	}
	return t;
}

CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *r,
			   const CUDA_TEXTURE_DESC *s, const CUDA_RESOURCE_VIEW_DESC *v)
{
	struct sgpu_texture *t;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	rc = out && r && s ? sgpu_resource_ok(r) : CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		rc = sampling_ok(s, r);
	if (!rc && v && r->resType >= CU_RESOURCE_TYPE_LINEAR)
		rc = CUDA_ERROR_INVALID_VALUE;	/* only arrays can have a resource view */
	if (rc)
		return sgpu_leave(rc);
	t = keep(SGPU_TEXTURE, ctx, r);
	if (!t)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	t->sampling = *s;
	t->viewed = v;
	if (v)
		t->view = *v;
	*out = (uintptr_t)t;
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult destroy(enum sgpu_type type, unsigned long long object)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);
	struct sgpu_texture *t;

	if (rc)
		return rc;
	t = sgpu_obj_get(type, (void *)(uintptr_t)object);
	if (t && t->slot)	/* a reference lives as long as its module */
		t = NULL;
	if (t)
		sgpu_obj_free(t);
	return sgpu_leave(t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuTexObjectDestroy(CUtexObject object)
{
	return destroy(SGPU_TEXTURE, object);
}

/* Finds the object inside a call; on an error it ends the call. */
static CUresult find(enum sgpu_type type, unsigned long long object, const void *out,
		     struct sgpu_texture **t)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	*t = sgpu_obj_get(type, (void *)(uintptr_t)object);
	return *t && out ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUtexObject object)
{
	struct sgpu_texture *t;
	CUresult rc = find(SGPU_TEXTURE, object, r, &t);

	if (rc)
		return rc;
	*r = t->resource;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *s, CUtexObject object)
{
	struct sgpu_texture *t;
	CUresult rc = find(SGPU_TEXTURE, object, s, &t);

	if (rc)
		return rc;
	*s = t->sampling;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *v, CUtexObject object)
{
	struct sgpu_texture *t;
	CUresult rc = find(SGPU_TEXTURE, object, v, &t);

	if (rc)
		return rc;
	/* Without a view NVIDIA's driver succeeds, although its manual says otherwise. */
	*v = t->view;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- the description of a texture for a kernel's fetches ---- */

static uint8_t tex_format(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_HALF:
		return TEX_HALF;
	case CU_AD_FORMAT_FLOAT:
		return TEX_FLOAT;
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT32:
		return TEX_SINT;
	default:
		return TEX_UINT;
	}
}

static void tex_memory(struct exec_texture *out, CUdeviceptr p, CUarray_format format,
		       unsigned int channels, size_t width, size_t height, size_t pitch)
{
	out->base = (const uint8_t *)(uintptr_t)p;
	out->format = tex_format(format);
	out->bytes = sgpu_format_bytes(format);
	out->channels = channels;
	out->size[0] = width;
	out->size[1] = height;
	out->size[2] = 1;
	out->pitch = pitch;
}

static bool tex_array(struct exec_texture *out, const struct sgpu_array *a)
{
	if (!a)
		return false;
	out->layered = a->d.Flags & CUDA_ARRAY3D_LAYERED;
	out->cube = a->d.Flags & CUDA_ARRAY3D_CUBEMAP;
	tex_memory(out, a->base, a->d.Format, a->d.NumChannels, a->d.Width, a->rows, a->pitch);
	out->size[2] = a->planes;
	out->slice = a->pitch * a->rows;
	return true;
}

static bool tex_resource(struct exec_texture *out, const CUDA_RESOURCE_DESC *r)
{
	const struct sgpu_mipmap *m;
	size_t element;

	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return tex_array(out, sgpu_obj_get(SGPU_ARRAY, r->res.array.hArray));
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		m = sgpu_obj_get(SGPU_MIPMAP, r->res.mipmap.hMipmappedArray);
		return m && tex_array(out, m->level[0]);
	case CU_RESOURCE_TYPE_LINEAR:
		element = sgpu_format_bytes(r->res.linear.format) * r->res.linear.numChannels;
		tex_memory(out, r->res.linear.devPtr, r->res.linear.format,
			   r->res.linear.numChannels, r->res.linear.sizeInBytes / element, 1, 0);
		out->fetch = true;
		return !sgpu_check_device(r->res.linear.devPtr, r->res.linear.sizeInBytes);
	default:
		tex_memory(out, r->res.pitch2D.devPtr, r->res.pitch2D.format,
			   r->res.pitch2D.numChannels, r->res.pitch2D.width, r->res.pitch2D.height,
			   r->res.pitch2D.pitchInBytes);
		element = (size_t)out->bytes * out->channels;
		return out->size[1] && out->size[0] * element <= out->pitch &&
		       !sgpu_check_device(r->res.pitch2D.devPtr, out->pitch * (out->size[1] - 1) +
					  out->size[0] * element);
	}
}

_Static_assert(TEX_WRAP == (int)CU_TR_ADDRESS_MODE_WRAP &&
	       TEX_CLAMP == (int)CU_TR_ADDRESS_MODE_CLAMP &&
	       TEX_MIRROR == (int)CU_TR_ADDRESS_MODE_MIRROR &&
	       TEX_BORDER == (int)CU_TR_ADDRESS_MODE_BORDER, "the same numbers");

/* The memory may have been freed meanwhile, so each fetch looks it up again. */
bool sgpu_texture_exec(void *ctx, uint64_t handle, struct exec_texture *out)
{
	const struct sgpu_texture *t = sgpu_obj_get(SGPU_TEXTURE, (void *)(uintptr_t)handle);
	bool floats;

	(void)ctx;
	*out = (struct exec_texture){ 0 };
	if (!t || t->viewed || t->sampling.flags & CU_TRSF_SRGB || !tex_resource(out, &t->resource))
		return false;
	for (int i = 0; i < 3; i++)
		out->mode[i] = t->sampling.addressMode[i];
	out->promote = out->bytes < 4 && out->format <= TEX_SINT &&
		       !(t->sampling.flags & CU_TRSF_READ_AS_INTEGER);
	floats = out->promote || out->format > TEX_SINT;
	out->linear = floats && !out->fetch &&
		      t->sampling.filterMode == CU_TR_FILTER_MODE_LINEAR;
	out->normalized = t->sampling.flags & CU_TRSF_NORMALIZED_COORDINATES;
	out->seamless = t->sampling.flags & CU_TRSF_SEAMLESS_CUBEMAP;
	if (floats && !out->fetch)
		memcpy(out->border, t->sampling.borderColor, sizeof(out->border));
	return out->size[0];
}

/* ---- surfaces ---- */

CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *r)
{
	const struct sgpu_array *a;
	struct sgpu_texture *t;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (!out || !r || r->resType != CU_RESOURCE_TYPE_ARRAY)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	a = sgpu_obj_get(SGPU_ARRAY, r->res.array.hArray);
	if (!a)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!(a->d.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	t = keep(SGPU_SURFACE, ctx, r);
	if (!t)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (uintptr_t)t;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuSurfObjectDestroy(CUsurfObject object)
{
	return destroy(SGPU_SURFACE, object);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUsurfObject object)
{
	struct sgpu_texture *t;
	CUresult rc = find(SGPU_SURFACE, object, r, &t);

	if (rc)
		return rc;
	*r = t->resource;
	return sgpu_leave(CUDA_SUCCESS);
}

/* The faces of cubes are layers to a surface. The array may have been destroyed meanwhile. */
bool sgpu_surface_exec(void *ctx, uint64_t handle, struct exec_surface *out)
{
	const struct sgpu_texture *t = sgpu_obj_get(SGPU_SURFACE, (void *)(uintptr_t)handle);
	const struct sgpu_array *a;

	(void)ctx;
	a = t ? sgpu_obj_get(SGPU_ARRAY, t->resource.res.array.hArray) : NULL;
	if (!a)
		return false;
	*out = (struct exec_surface){
		.base = (uint8_t *)(uintptr_t)a->base, .width = a->pitch, .rows = a->rows,
		.planes = a->planes, .pitch = a->pitch, .slice = a->pitch * a->rows,
		.layered = a->d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP),
	};
	return true;
}

bool sgpu_texture_beside(void *ctx, uint64_t handle, struct exec_texture *out)
{
	bool found;

	sgpu_lock();
	found = sgpu_texture_exec(ctx, handle, out);
	sgpu_unlock();
	return found;
}

bool sgpu_surface_beside(void *ctx, uint64_t handle, struct exec_surface *out)
{
	bool found;

	sgpu_lock();
	found = sgpu_surface_exec(ctx, handle, out);
	sgpu_unlock();
	return found;
}

static void drop(void *object, void *ctx)
{
	struct sgpu_texture *t = object;

	if (t->ctx == ctx)
		sgpu_obj_free(t);
}

void sgpu_texture_drop_ctx(struct sgpu_ctx *ctx)
{
	sgpu_obj_each(SGPU_TEXTURE, drop, ctx);
	sgpu_obj_each(SGPU_SURFACE, drop, ctx);
}
