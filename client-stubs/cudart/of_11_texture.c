// SPDX-License-Identifier: Apache-2.0
/*
 * References to textures, which programs from before CUDA 12 may have. A reference is a struct of
 * the program, and a variable of its device code that the driver knows by its name. What the struct
 * says counts at the moment of the binding.
 */
#include <limits.h>

#include "of_11.h"

/* As 11.8's texture_types.h has it; the headers of 13 have it no more. */
struct textureReference {
	int normalized;
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureAddressMode addressMode[3];
	struct cudaChannelFormatDesc channelDesc;
	int sRGB;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
	int disableTrilinearOptimization;
	int reserved[14];
};

_Static_assert(sizeof(struct textureReference) == 124, "as in 11.8");

/* `normalized`: values are read as floating-point numbers of [0, 1] or [-1, 1]. */
void of_11___cudaRegisterTexture(void **module, const struct textureReference *host,
				 const void **device, const char *name, int dimensions,
				 int normalized, int external)
{
	(void)device, (void)dimensions, (void)external;
	rt_texture_register(module, host, name, normalized);
}

/* --- Binding --------------------------------------------------------------------------------- */

/* Finds the driver's reference, and tells it how the program wants it sampled. */
static cudaError_t begin(const struct textureReference *host, struct rt_texture **t, CUtexref *ref)
{
	unsigned int flags, i;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_texture_find(host, t, ref);
	if (err)
		return err;
	flags = ((*t)->normalized ? 0 : CU_TRSF_READ_AS_INTEGER) |
		(host->normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
		(host->sRGB ? CU_TRSF_SRGB : 0) |
		(host->disableTrilinearOptimization ?
		 CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0);
	err = rt_error(DRV(cuTexRefSetFlags(*ref, flags)));
	for (i = 0; i < 3 && !err; i++)
		err = rt_error(DRV(cuTexRefSetAddressMode(*ref, (int)i,
							  (CUaddress_mode)host->addressMode[i])));
	if (!err)
		err = rt_error(DRV(cuTexRefSetFilterMode(*ref, (CUfilter_mode)host->filterMode)));
	if (!err && host->maxAnisotropy)
		err = rt_error(DRV(cuTexRefSetMaxAnisotropy(*ref, host->maxAnisotropy)));
	return err;
}

static cudaError_t end(struct rt_texture *t, size_t offset, cudaError_t err)
{
	if (!err) {
		t->offset = offset;
		t->bound = true;
	}
	return rt_ret(err);
}

/* Without a size it is all that follows in the allocation. */
static cudaError_t size_of(const void *p, size_t *size)
{
	CUdeviceptr base;
	cudaError_t err;
	size_t whole;

	if (*size != UINT_MAX)
		return cudaSuccess;
	err = rt_error(DRV(cuMemGetAddressRange(&base, &whole, rt_ptr(p))));
	if (!err)
		*size = whole - (rt_ptr(p) - base);
	return err;
}

/* The driver binds from an aligned address on, and the offset leads to the program's. */
static cudaError_t set_address(CUtexref ref, const void *p,
			       const struct cudaChannelFormatDesc *desc, size_t size,
			       bool may_skip, size_t *skipped)
{
	CUarray_format format;
	unsigned int channels;
	cudaError_t err = rt_format(desc, &format, &channels);

	if (!err)
		err = size_of(p, &size);
	if (!err)
		err = rt_error(DRV(cuTexRefSetFormat(ref, format, (int)channels)));
	if (!err)
		err = rt_error(DRV(cuTexRefSetAddress(skipped, ref, rt_ptr(p), size)));
	return !err && *skipped && !may_skip ? cudaErrorInvalidValue : err;
}

cudaError_t of_11_cudaBindTexture(size_t *offset, const struct textureReference *texref,
				  const void *devPtr, const struct cudaChannelFormatDesc *desc,
				  size_t size)
{
	struct rt_texture *t;
	size_t skipped = 0;
	cudaError_t err;
	CUtexref ref;

	err = texref && devPtr && desc ? begin(texref, &t, &ref) : cudaErrorInvalidValue;
	if (err)
		return rt_ret(err);
	err = set_address(ref, devPtr, desc, size, offset, &skipped);
	if (!err && offset)
		*offset = skipped;
	return end(t, skipped, err);
}

cudaError_t of_11_cudaBindTexture2D(size_t *offset, const struct textureReference *texref,
				    const void *devPtr, const struct cudaChannelFormatDesc *desc,
				    size_t width, size_t height, size_t pitch)
{
	CUDA_ARRAY_DESCRIPTOR d = { .Width = width, .Height = height };
	struct rt_texture *t;
	cudaError_t err;
	CUtexref ref;

	err = texref && devPtr && desc ? begin(texref, &t, &ref) : cudaErrorInvalidValue;
	if (err)
		return rt_ret(err);
	err = rt_format(desc, &d.Format, &d.NumChannels);
	if (!err)
		err = rt_error(DRV(cuTexRefSetAddress2D(ref, &d, rt_ptr(devPtr), pitch)));
	if (!err && offset)
		*offset = 0;
	return end(t, 0, err);
}

/* An array is sampled in its own format. */
cudaError_t of_11_cudaBindTextureToArray(const struct textureReference *texref,
					 cudaArray_const_t array,
					 const struct cudaChannelFormatDesc *desc)
{
	struct rt_texture *t;
	cudaError_t err;
	CUtexref ref;

	err = texref && array && desc ? begin(texref, &t, &ref) : cudaErrorInvalidValue;
	if (err)
		return rt_ret(err);
	return end(t, 0, rt_error(DRV(cuTexRefSetArray(ref, (CUarray)array,
						       CU_TRSA_OVERRIDE_FORMAT))));
}

cudaError_t of_11_cudaBindTextureToMipmappedArray(const struct textureReference *texref,
						  cudaMipmappedArray_const_t array,
						  const struct cudaChannelFormatDesc *desc)
{
	struct rt_texture *t;
	cudaError_t err;
	CUtexref ref;

	err = texref && array && desc ? begin(texref, &t, &ref) : cudaErrorInvalidValue;
	if (err)
		return rt_ret(err);
	err = rt_error(DRV(cuTexRefSetMipmappedArray(ref, (CUmipmappedArray)array,
						     CU_TRSA_OVERRIDE_FORMAT)));
	if (!err)
		err = rt_error(DRV(cuTexRefSetMipmapFilterMode(
			ref, (CUfilter_mode)texref->mipmapFilterMode)));
	if (!err)
		err = rt_error(DRV(cuTexRefSetMipmapLevelBias(ref, texref->mipmapLevelBias)));
	if (!err)
		err = rt_error(DRV(cuTexRefSetMipmapLevelClamp(ref, texref->minMipmapLevelClamp,
							       texref->maxMipmapLevelClamp)));
	return end(t, 0, err);
}

/* --- What is bound ---------------------------------------------------------------------------- */

/* The driver has no such call. What a kernel reads that uses the reference now is undefined. */
cudaError_t of_11_cudaUnbindTexture(const struct textureReference *texref)
{
	struct rt_texture *t = texref ? rt_texture_of(texref) : NULL;

	if (!t)
		return rt_ret(cudaErrorInvalidTexture);
	t->bound = false;
	return cudaSuccess;
}

cudaError_t of_11_cudaGetTextureAlignmentOffset(size_t *offset,
						const struct textureReference *texref)
{
	struct rt_texture *t = texref ? rt_texture_of(texref) : NULL;

	if (!offset)
		return rt_ret(cudaErrorInvalidValue);
	if (!t)
		return rt_ret(cudaErrorInvalidTexture);
	if (!t->bound)
		return rt_ret(cudaErrorInvalidTextureBinding);
	*offset = t->offset;
	return cudaSuccess;
}

cudaError_t of_11_cudaGetTextureReference(const struct textureReference **texref,
					  const void *symbol)
{
	if (!texref)
		return rt_ret(cudaErrorInvalidValue);
	if (!symbol || !rt_texture_of(symbol))
		return rt_ret(cudaErrorInvalidTexture);
	*texref = symbol;
	return cudaSuccess;
}
