// SPDX-License-Identifier: Apache-2.0
/*
 * References to textures and surfaces: variables of a module that hold an object. That of a
 * reference is not created by the program but changed by what is bound and set. Kernels find it
 * while something is bound.
 */
#include <stddef.h>
#include <string.h>

#include "array.h"

static struct sgpu_texture *get(CUtexref ref)
{
	struct sgpu_texture *t = sgpu_obj_get(SGPU_TEXTURE, ref);

	return t && t->slot ? t : NULL;
}

/* Enters a call; on an error it ends the call. */
static CUresult enter(CUtexref ref, bool args_ok, struct sgpu_texture **t)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	*t = get(ref);
	if (!*t)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	return args_ok ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

struct wanted {
	const uint64_t *slot;
	struct sgpu_texture *found;
};

static void look(void *object, void *arg)
{
	struct sgpu_texture *t = object;
	struct wanted *w = arg;

	if (t->slot == w->slot)
		w->found = t;
}

static struct sgpu_texture *make(enum sgpu_type type, struct sgpu_module *mod, uint64_t *slot)
{
	struct sgpu_texture *t = sgpu_obj_new(type);

	if (!t)
		return NULL;
	t->ctx = mod->ctx;
	t->slot = slot;
	t->mod = mod;
	t->format = CU_AD_FORMAT_FLOAT;
	t->channels = 1;
	return t;
}

/* Finds a reference of a module; the same one has the same handle each time. */
static CUresult of_module(enum sgpu_type type, void **out, CUmodule handle, const char *name)
{
	struct wanted w = { 0 };
	const struct ptx_var *var;
	struct sgpu_module *mod;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (!out || !name)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	mod = sgpu_obj_get(SGPU_MODULE, handle);
	if (!mod || !mod->ctx)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	var = ptx_find_var(mod->ptx, name);
	if (!var || !(type == SGPU_TEXTURE ? var->texref : var->surfref))
		return sgpu_leave(CUDA_ERROR_NOT_FOUND);
	w.slot = var->addr;
	sgpu_obj_each(type, look, &w);
	if (!w.found)
		w.found = make(type, mod, var->addr);
	if (!w.found)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*out = w.found;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuModuleGetTexRef(CUtexref *out, CUmodule handle, const char *name)
{
	return of_module(SGPU_TEXTURE, (void **)out, handle, name);
}

CUresult cuModuleGetSurfRef(CUsurfref *out, CUmodule handle, const char *name)
{
	return of_module(SGPU_SURFACE, (void **)out, handle, name);
}

static void drop(void *object, void *mod)
{
	struct sgpu_texture *t = object;

	if (t->mod == mod)
		sgpu_obj_free(t);
}

void sgpu_texref_drop_module(struct sgpu_module *mod)
{
	sgpu_obj_each(SGPU_TEXTURE, drop, mod);
	sgpu_obj_each(SGPU_SURFACE, drop, mod);
}

/* ---- what is bound ---- */

static CUresult bind(struct sgpu_texture *t, const CUDA_RESOURCE_DESC *r)
{
	CUresult rc = sgpu_resource_ok(r);

	if (rc)
		return rc;
	t->resource = *r;
	*t->slot = (uintptr_t)t;
	return CUDA_SUCCESS;
}

static void unbind(struct sgpu_texture *t)
{
	t->resource = (CUDA_RESOURCE_DESC){ 0 };
	*t->slot = 0;
}

/* The memory begins at a granule; the offset says how far behind that the program's is. */
CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref ref, CUdeviceptr p, size_t bytes)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_LINEAR };
	size_t skip = p % SGPU_GRANULE;
	struct sgpu_texture *t;
	CUresult rc = enter(ref, true, &t);

	if (rc)
		return rc;
	if (!p) {
		unbind(t);
		return sgpu_leave(CUDA_SUCCESS);
	}
	if ((skip && !offset) || bytes > SIZE_MAX - skip)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	r.res.linear.devPtr = p - skip;
	r.res.linear.sizeInBytes = bytes + skip;
	r.res.linear.format = t->format;
	r.res.linear.numChannels = t->channels;
	rc = bind(t, &r);
	if (!rc && offset)
		*offset = skip;
	return sgpu_leave(rc);
}

CUresult cuTexRefSetAddress2D_v3(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr p,
				 size_t pitch)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_PITCH2D };
	struct sgpu_texture *t;
	CUresult rc = enter(ref, d, &t);

	if (rc)
		return rc;
	r.res.pitch2D.devPtr = p;
	r.res.pitch2D.width = d->Width;
	r.res.pitch2D.height = d->Height;
	r.res.pitch2D.pitchInBytes = pitch;
	r.res.pitch2D.format = d->Format;
	r.res.pitch2D.numChannels = d->NumChannels;
	rc = bind(t, &r);
	if (!rc) {
		t->format = d->Format;
		t->channels = d->NumChannels;
	}
	return sgpu_leave(rc);
}

CUresult cuTexRefSetAddress2D_v2(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr p,
				 size_t pitch)
{
	return cuTexRefSetAddress2D_v3(ref, d, p, pitch);
}

/* An array is sampled in its own format. The one flag says that the reference takes that, too. */
CUresult cuTexRefSetArray(CUtexref ref, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	const struct sgpu_array *a;
	struct sgpu_texture *t;
	CUresult rc = enter(ref, flags == CU_TRSA_OVERRIDE_FORMAT, &t);

	if (rc)
		return rc;
	r.res.array.hArray = array;
	rc = bind(t, &r);
	if (!rc) {
		a = sgpu_obj_get(SGPU_ARRAY, array);
		t->format = a->d.Format;
		t->channels = a->d.NumChannels;
	}
	return sgpu_leave(rc);
}

CUresult cuTexRefSetMipmappedArray(CUtexref ref, CUmipmappedArray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
	struct sgpu_texture *t;
	CUresult rc = enter(ref, flags == CU_TRSA_OVERRIDE_FORMAT, &t);

	if (rc)
		return rc;
	r.res.mipmap.hMipmappedArray = array;
	return sgpu_leave(bind(t, &r));
}

CUresult cuTexRefGetAddress_v2(CUdeviceptr *out, CUtexref ref)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, out, &t);

	if (rc)
		return rc;
	if (!*t->slot || t->resource.resType < CU_RESOURCE_TYPE_LINEAR)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = t->resource.resType == CU_RESOURCE_TYPE_LINEAR ? t->resource.res.linear.devPtr :
								t->resource.res.pitch2D.devPtr;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetArray(CUarray *out, CUtexref ref)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, out, &t);

	if (rc)
		return rc;
	if (!*t->slot || t->resource.resType != CU_RESOURCE_TYPE_ARRAY)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = t->resource.res.array.hArray;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- surfaces: an array is all that is bound ---- */

static CUresult enter_surface(CUsurfref ref, bool args_ok, struct sgpu_texture **t)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	*t = sgpu_obj_get(SGPU_SURFACE, ref);
	if (!*t || !(*t)->slot)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	return args_ok ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuSurfRefSetArray(CUsurfref ref, CUarray array, unsigned int flags)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	const struct sgpu_array *a;
	struct sgpu_texture *t;
	CUresult rc = enter_surface(ref, !flags, &t);

	if (rc)
		return rc;
	r.res.array.hArray = array;
	a = sgpu_obj_get(SGPU_ARRAY, array);
	if (a && !(a->d.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(bind(t, &r));
}

CUresult cuSurfRefGetArray(CUarray *out, CUsurfref ref)
{
	struct sgpu_texture *t;
	CUresult rc = enter_surface(ref, out, &t);

	if (rc)
		return rc;
	if (!*t->slot)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*out = t->resource.res.array.hArray;
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- how it is sampled ---- */

/* Memory that is bound is read in the new format from then on. */
CUresult cuTexRefSetFormat(CUtexref ref, CUarray_format format, int channels)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, sgpu_format_bytes(format) && channels > 0 && channels < 5 &&
			    channels != 3, &t);

	if (rc)
		return rc;
	t->format = format;
	t->channels = (unsigned int)channels;
	if (*t->slot && t->resource.resType == CU_RESOURCE_TYPE_LINEAR) {
		t->resource.res.linear.format = format;
		t->resource.res.linear.numChannels = t->channels;
	}
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetFormat(CUarray_format *format, int *channels, CUtexref ref)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, true, &t);

	if (rc)
		return rc;
	if (format)
		*format = t->format;
	if (channels)
		*channels = (int)t->channels;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexRefSetAddressMode(CUtexref ref, int axis, CUaddress_mode mode)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, axis >= 0 && axis < 3 &&
			    (unsigned int)mode <= CU_TR_ADDRESS_MODE_BORDER, &t);

	if (rc)
		return rc;
	t->sampling.addressMode[axis] = mode;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref ref, int axis)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, mode && axis >= 0 && axis < 3, &t);

	if (rc)
		return rc;
	*mode = t->sampling.addressMode[axis];
	return sgpu_leave(CUDA_SUCCESS);
}

#define AT(member)	offsetof(struct sgpu_texture, sampling.member)

/* Sets `n` bytes of the texture if they are right. */
static CUresult set(CUtexref ref, bool right, size_t at, const void *value, size_t n)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, right, &t);

	if (rc)
		return rc;
	memcpy((char *)t + at, value, n);
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult tell(CUtexref ref, size_t at, void *value, size_t n)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, value, &t);

	if (rc)
		return rc;
	memcpy(value, (const char *)t + at, n);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuTexRefSetFilterMode(CUtexref ref, CUfilter_mode mode)
{
	return set(ref, (unsigned int)mode <= CU_TR_FILTER_MODE_LINEAR, AT(filterMode), &mode,
		   sizeof(mode));
}

CUresult cuTexRefGetFilterMode(CUfilter_mode *mode, CUtexref ref)
{
	return tell(ref, AT(filterMode), mode, sizeof(*mode));
}

CUresult cuTexRefSetFlags(CUtexref ref, unsigned int flags)
{
	const unsigned int known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
				   CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
				   CU_TRSF_SEAMLESS_CUBEMAP;

	return set(ref, !(flags & ~known), AT(flags), &flags, sizeof(flags));
}

CUresult cuTexRefGetFlags(unsigned int *flags, CUtexref ref)
{
	return tell(ref, AT(flags), flags, sizeof(*flags));
}

CUresult cuTexRefSetBorderColor(CUtexref ref, float *color)
{
	return set(ref, color, AT(borderColor), color,
		   4 * sizeof(*color));
}

/* No fetch depends on this, and on the levels of a mipmap: the first one is read. */
CUresult cuTexRefSetMaxAnisotropy(CUtexref ref, unsigned int most)
{
	return set(ref, true, AT(maxAnisotropy), &most, sizeof(most));
}

CUresult cuTexRefSetMipmapFilterMode(CUtexref ref, CUfilter_mode mode)
{
	return set(ref, (unsigned int)mode <= CU_TR_FILTER_MODE_LINEAR, AT(mipmapFilterMode), &mode,
		   sizeof(mode));
}

CUresult cuTexRefSetMipmapLevelBias(CUtexref ref, float bias)
{
	return set(ref, true, AT(mipmapLevelBias), &bias, sizeof(bias));
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref ref, float low, float high)
{
	struct sgpu_texture *t;
	CUresult rc = enter(ref, true, &t);

	if (rc)
		return rc;
	t->sampling.minMipmapLevelClamp = low;
	t->sampling.maxMipmapLevelClamp = high;
	return sgpu_leave(CUDA_SUCCESS);
}
