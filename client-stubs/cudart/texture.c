// SPDX-License-Identifier: Apache-2.0
/*
 * Texture and surface objects. Translates the runtime's three descriptors into the driver's,
 * and back. The object is the same number for both.
 */
#include <string.h>

#include "cudart.h"

/* --- Resources ----------------------------------------------------------------------- */

static cudaError_t linear(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *d)
{
	d->res.linear.devPtr = rt_ptr(r->res.linear.devPtr);
	d->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
	return rt_format(&r->res.linear.desc, &d->res.linear.format, &d->res.linear.numChannels);
}

static cudaError_t pitched(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *d)
{
	d->res.pitch2D.devPtr = rt_ptr(r->res.pitch2D.devPtr);
	d->res.pitch2D.width = r->res.pitch2D.width;
	d->res.pitch2D.height = r->res.pitch2D.height;
	d->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
	return rt_format(&r->res.pitch2D.desc, &d->res.pitch2D.format, &d->res.pitch2D.numChannels);
}

static cudaError_t to_resource(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *d)
{
	*d = (CUDA_RESOURCE_DESC) { .resType = (CUresourcetype)r->resType };
	switch (r->resType) {
	case cudaResourceTypeArray:
		d->res.array.hArray = (CUarray)r->res.array.array;
		return cudaSuccess;
	case cudaResourceTypeMipmappedArray:
		d->res.mipmap.hMipmappedArray = (CUmipmappedArray)r->res.mipmap.mipmap;
		return cudaSuccess;
	case cudaResourceTypeLinear:
		return linear(r, d);
	case cudaResourceTypePitch2D:
		return pitched(r, d);
	}
	return cudaErrorInvalidValue;
}

static cudaError_t from_resource(const CUDA_RESOURCE_DESC *d, struct cudaResourceDesc *r)
{
	*r = (struct cudaResourceDesc) { .resType = (enum cudaResourceType)d->resType };
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		r->res.array.array = (cudaArray_t)d->res.array.hArray;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		r->res.mipmap.mipmap = (cudaMipmappedArray_t)d->res.mipmap.hMipmappedArray;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		r->res.linear.devPtr = (void *)(uintptr_t)d->res.linear.devPtr;
		r->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
		return rt_channels(d->res.linear.format, d->res.linear.numChannels,
				   &r->res.linear.desc);
	case CU_RESOURCE_TYPE_PITCH2D:
		r->res.pitch2D.devPtr = (void *)(uintptr_t)d->res.pitch2D.devPtr;
		r->res.pitch2D.width = d->res.pitch2D.width;
		r->res.pitch2D.height = d->res.pitch2D.height;
		r->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
		return rt_channels(d->res.pitch2D.format, d->res.pitch2D.numChannels,
				   &r->res.pitch2D.desc);
	default:
		return cudaErrorInvalidValue;
	}
}

/* --- Sampling: the enumerations have the same numbers --------------------------------- */

static void to_sampling(const struct cudaTextureDesc *t, CUDA_TEXTURE_DESC *d)
{
	int i;

	*d = (CUDA_TEXTURE_DESC) {
		.filterMode = (CUfilter_mode)t->filterMode,
		.flags = (t->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
			 (t->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
			 (t->sRGB ? CU_TRSF_SRGB : 0) |
			 (t->disableTrilinearOptimization ?
			  CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
			 (t->seamlessCubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0),
		.maxAnisotropy = t->maxAnisotropy,
		.mipmapFilterMode = (CUfilter_mode)t->mipmapFilterMode,
		.mipmapLevelBias = t->mipmapLevelBias,
		.minMipmapLevelClamp = t->minMipmapLevelClamp,
		.maxMipmapLevelClamp = t->maxMipmapLevelClamp,
	};
	for (i = 0; i < 3; i++)
		d->addressMode[i] = (CUaddress_mode)t->addressMode[i];
	memcpy(d->borderColor, t->borderColor, sizeof(d->borderColor));
}

static void from_sampling(const CUDA_TEXTURE_DESC *d, struct cudaTextureDesc *t)
{
	int i;

	*t = (struct cudaTextureDesc) {
		.filterMode = (enum cudaTextureFilterMode)d->filterMode,
		.readMode = d->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType :
								  cudaReadModeNormalizedFloat,
		.sRGB = !!(d->flags & CU_TRSF_SRGB),
		.normalizedCoords = !!(d->flags & CU_TRSF_NORMALIZED_COORDINATES),
		.maxAnisotropy = d->maxAnisotropy,
		.mipmapFilterMode = (enum cudaTextureFilterMode)d->mipmapFilterMode,
		.mipmapLevelBias = d->mipmapLevelBias,
		.minMipmapLevelClamp = d->minMipmapLevelClamp,
		.maxMipmapLevelClamp = d->maxMipmapLevelClamp,
		.disableTrilinearOptimization =
			!!(d->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
		.seamlessCubemap = !!(d->flags & CU_TRSF_SEAMLESS_CUBEMAP),
	};
	for (i = 0; i < 3; i++)
		t->addressMode[i] = (enum cudaTextureAddressMode)d->addressMode[i];
	memcpy(t->borderColor, d->borderColor, sizeof(t->borderColor));
}

static void to_view(const struct cudaResourceViewDesc *v, CUDA_RESOURCE_VIEW_DESC *d)
{
	*d = (CUDA_RESOURCE_VIEW_DESC) {
		.format = (CUresourceViewFormat)v->format,
		.width = v->width, .height = v->height, .depth = v->depth,
		.firstMipmapLevel = v->firstMipmapLevel, .lastMipmapLevel = v->lastMipmapLevel,
		.firstLayer = v->firstLayer, .lastLayer = v->lastLayer,
	};
}

static void from_view(const CUDA_RESOURCE_VIEW_DESC *d, struct cudaResourceViewDesc *v)
{
	*v = (struct cudaResourceViewDesc) {
		.format = (enum cudaResourceViewFormat)d->format,
		.width = d->width, .height = d->height, .depth = d->depth,
		.firstMipmapLevel = d->firstMipmapLevel, .lastMipmapLevel = d->lastMipmapLevel,
		.firstLayer = d->firstLayer, .lastLayer = d->lastLayer,
	};
}

/* --- Objects ------------------------------------------------------------------------------ */

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
				    const struct cudaResourceDesc *pResDesc,
				    const struct cudaTextureDesc *pTexDesc,
				    const struct cudaResourceViewDesc *pResViewDesc)
{
	CUDA_RESOURCE_VIEW_DESC view;
	CUDA_RESOURCE_DESC res;
	CUDA_TEXTURE_DESC tex;
	cudaError_t err;

	err = pTexObject && pResDesc && pTexDesc ? rt_enter() : cudaErrorInvalidValue;
	if (!err)
		err = to_resource(pResDesc, &res);
	if (err)
		return rt_ret(err);
	to_sampling(pTexDesc, &tex);
	if (pResViewDesc)
		to_view(pResViewDesc, &view);
	return rt_ret(rt_error(DRV(cuTexObjectCreate((CUtexObject *)pTexObject, &res, &tex,
						     pResViewDesc ? &view : NULL))));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
	cudaError_t err = rt_enter();

	if (!err && texObject)
		err = rt_error(DRV(cuTexObjectDestroy((CUtexObject)texObject)));
	return rt_ret(err);
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
					     cudaTextureObject_t texObject)
{
	CUDA_RESOURCE_DESC d;
	cudaError_t err = pResDesc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuTexObjectGetResourceDesc(&d, (CUtexObject)texObject)));
	if (!err)
		err = from_resource(&d, pResDesc);
	return rt_ret(err);
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
					    cudaTextureObject_t texObject)
{
	CUDA_TEXTURE_DESC d;
	cudaError_t err = pTexDesc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuTexObjectGetTextureDesc(&d, (CUtexObject)texObject)));
	if (!err)
		from_sampling(&d, pTexDesc);
	return rt_ret(err);
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
						 cudaTextureObject_t texObject)
{
	CUDA_RESOURCE_VIEW_DESC d;
	cudaError_t err = pResViewDesc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuTexObjectGetResourceViewDesc(&d, (CUtexObject)texObject)));
	if (!err)
		from_view(&d, pResViewDesc);
	return rt_ret(err);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
				    const struct cudaResourceDesc *pResDesc)
{
	CUDA_RESOURCE_DESC res;
	cudaError_t err = pSurfObject && pResDesc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = to_resource(pResDesc, &res);
	if (!err)
		err = rt_error(DRV(cuSurfObjectCreate((CUsurfObject *)pSurfObject, &res)));
	return rt_ret(err);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
	cudaError_t err = rt_enter();

	if (!err && surfObject)
		err = rt_error(DRV(cuSurfObjectDestroy((CUsurfObject)surfObject)));
	return rt_ret(err);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
					     cudaSurfaceObject_t surfObject)
{
	CUDA_RESOURCE_DESC d;
	cudaError_t err = pResDesc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuSurfObjectGetResourceDesc(&d, (CUsurfObject)surfObject)));
	if (!err)
		err = from_resource(&d, pResDesc);
	return rt_ret(err);
}
