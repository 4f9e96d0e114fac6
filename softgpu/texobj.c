// SPDX-License-Identifier: Apache-2.0
/*
 * Texture and surface objects: checked, kept and described. No instruction
 * samples them: PTX that has one does not load (PTX.md).
 */
#include "array.h"

static CUresult linear_ok(CUdeviceptr p, size_t size, CUarray_format format, unsigned int channels)
{
	if (!sgpu_format_bytes(format) || !channels || channels == 3 || channels > 4 ||
	    p % SGPU_GRANULE)
		return CUDA_ERROR_INVALID_VALUE;
	return p && size ? sgpu_check_device(p, size) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult resource_ok(const CUDA_RESOURCE_DESC *r)
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
		if (__builtin_mul_overflow(r->res.pitch2D.pitchInBytes, r->res.pitch2D.height, &size))
			return CUDA_ERROR_INVALID_VALUE;
		return linear_ok(r->res.pitch2D.devPtr, size, r->res.pitch2D.format,
				 r->res.pitch2D.numChannels);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult sampling_ok(const CUDA_TEXTURE_DESC *t)
{
	int i;

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
	rc = out && r && s ? resource_ok(r) : CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		rc = sampling_ok(s);
	if (!rc && v && r->resType >= CU_RESOURCE_TYPE_LINEAR)
		rc = CUDA_ERROR_INVALID_VALUE;	/* only arrays can be viewed otherwise */
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
	void *t;

	if (rc)
		return rc;
	t = sgpu_obj_get(type, (void *)(uintptr_t)object);
	if (t)
		sgpu_obj_free(t);
	return sgpu_leave(t ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuTexObjectDestroy(CUtexObject object)
{
	return destroy(SGPU_TEXTURE, object);
}

/* Inside a call: the object, or the call's end with an error. */
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
	if (!t->viewed)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*v = t->view;
	return sgpu_leave(CUDA_SUCCESS);
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
