// SPDX-License-Identifier: Apache-2.0
/*
 * Arrays and mipmapped arrays: their formats in the runtime's and the driver's terms, their
 * life, and questions about them. A cudaArray_t is the driver's CUarray. Copies are in
 * array_copy.c, objects in texture.c.
 */
#include <string.h>

#include "cudart.h"

/* --- Formats ---------------------------------------------------------------------- */

#define KIND(k)	cudaChannelFormatKind##k

/*
 * Formats that have a kind of their own. Bits are those of a channel; for a compressed format,
 * those that the runtime gives.
 */
static const struct format {
	enum cudaChannelFormatKind kind;
	CUarray_format format;
	unsigned int channels;
	int bits[4];
} formats[] = {
	{ KIND(NV12), CU_AD_FORMAT_NV12, 3, { 8, 8, 8, 0 } },
	{ KIND(UnsignedNormalized8X1), CU_AD_FORMAT_UNORM_INT8X1, 1, { 8 } },
	{ KIND(UnsignedNormalized8X2), CU_AD_FORMAT_UNORM_INT8X2, 2, { 8, 8 } },
	{ KIND(UnsignedNormalized8X4), CU_AD_FORMAT_UNORM_INT8X4, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedNormalized16X1), CU_AD_FORMAT_UNORM_INT16X1, 1, { 16 } },
	{ KIND(UnsignedNormalized16X2), CU_AD_FORMAT_UNORM_INT16X2, 2, { 16, 16 } },
	{ KIND(UnsignedNormalized16X4), CU_AD_FORMAT_UNORM_INT16X4, 4, { 16, 16, 16, 16 } },
	{ KIND(SignedNormalized8X1), CU_AD_FORMAT_SNORM_INT8X1, 1, { 8 } },
	{ KIND(SignedNormalized8X2), CU_AD_FORMAT_SNORM_INT8X2, 2, { 8, 8 } },
	{ KIND(SignedNormalized8X4), CU_AD_FORMAT_SNORM_INT8X4, 4, { 8, 8, 8, 8 } },
	{ KIND(SignedNormalized16X1), CU_AD_FORMAT_SNORM_INT16X1, 1, { 16 } },
	{ KIND(SignedNormalized16X2), CU_AD_FORMAT_SNORM_INT16X2, 2, { 16, 16 } },
	{ KIND(SignedNormalized16X4), CU_AD_FORMAT_SNORM_INT16X4, 4, { 16, 16, 16, 16 } },
	{ KIND(UnsignedBlockCompressed1), CU_AD_FORMAT_BC1_UNORM, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed1SRGB), CU_AD_FORMAT_BC1_UNORM_SRGB, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed2), CU_AD_FORMAT_BC2_UNORM, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed2SRGB), CU_AD_FORMAT_BC2_UNORM_SRGB, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed3), CU_AD_FORMAT_BC3_UNORM, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed3SRGB), CU_AD_FORMAT_BC3_UNORM_SRGB, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed4), CU_AD_FORMAT_BC4_UNORM, 1, { 8 } },
	{ KIND(SignedBlockCompressed4), CU_AD_FORMAT_BC4_SNORM, 1, { 8 } },
	{ KIND(UnsignedBlockCompressed5), CU_AD_FORMAT_BC5_UNORM, 2, { 8, 8 } },
	{ KIND(SignedBlockCompressed5), CU_AD_FORMAT_BC5_SNORM, 2, { 8, 8 } },
	{ KIND(UnsignedBlockCompressed6H), CU_AD_FORMAT_BC6H_UF16, 3, { 16, 16, 16 } },
	{ KIND(SignedBlockCompressed6H), CU_AD_FORMAT_BC6H_SF16, 3, { 16, 16, 16 } },
	{ KIND(UnsignedBlockCompressed7), CU_AD_FORMAT_BC7_UNORM, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedBlockCompressed7SRGB), CU_AD_FORMAT_BC7_UNORM_SRGB, 4, { 8, 8, 8, 8 } },
	{ KIND(UnsignedNormalized1010102), CU_AD_FORMAT_UNORM_INT_101010_2, 4, { 10, 10, 10, 2 } },
};

#define FORMATS	(sizeof(formats) / sizeof(*formats))

/*
 * Returns the format of a channel of `bits` bits of one of the three plain kinds; 0: there is
 * none.
 */
static CUarray_format plain(enum cudaChannelFormatKind kind, int bits)
{
	switch (kind) {
	case KIND(Unsigned):
		return bits == 8 ? CU_AD_FORMAT_UNSIGNED_INT8 :
		       bits == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 :
		       bits == 32 ? CU_AD_FORMAT_UNSIGNED_INT32 : 0;
	case KIND(Signed):
		return bits == 8 ? CU_AD_FORMAT_SIGNED_INT8 :
		       bits == 16 ? CU_AD_FORMAT_SIGNED_INT16 :
		       bits == 32 ? CU_AD_FORMAT_SIGNED_INT32 : 0;
	case KIND(Float):
		return bits == 16 ? CU_AD_FORMAT_HALF : bits == 32 ? CU_AD_FORMAT_FLOAT : 0;
	default:
		return 0;
	}
}

/*
 * Counts the channels: those that have bits. They must come first and be alike. CUDA has no
 * three channels.
 */
static unsigned int plain_channels(const struct cudaChannelFormatDesc *d)
{
	const int bits[4] = { d->x, d->y, d->z, d->w };
	unsigned int i, n = 0;

	while (n < 4 && bits[n])
		n++;
	for (i = 0; i < 4; i++)
		if (bits[i] != (i < n ? bits[0] : 0))
			return 0;
	return n == 3 ? 0 : n;
}

cudaError_t rt_format(const struct cudaChannelFormatDesc *d, CUarray_format *format,
		      unsigned int *channels)
{
	size_t i;

	for (i = 0; i < FORMATS; i++)
		if (formats[i].kind == d->f) {
			*format = formats[i].format;
			*channels = formats[i].channels;
			return cudaSuccess;
		}
	*channels = plain_channels(d);
	*format = plain(d->f, d->x);
	return *channels && *format ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaError_t rt_channels(CUarray_format format, unsigned int channels,
			struct cudaChannelFormatDesc *d)
{
	static const int bits[] = { 8, 16, 32 };
	unsigned int kind, i;

	for (i = 0; i < FORMATS; i++)
		if (formats[i].format == format) {
			*d = (struct cudaChannelFormatDesc) {
				formats[i].bits[0], formats[i].bits[1], formats[i].bits[2],
				formats[i].bits[3], formats[i].kind,
			};
			return cudaSuccess;
		}
	for (kind = KIND(Signed); kind <= KIND(Float); kind++)
		for (i = 0; i < 3; i++)
			if (plain(kind, bits[i]) == format) {
				*d = (struct cudaChannelFormatDesc) {
					bits[i], channels > 1 ? bits[i] : 0,
					channels > 2 ? bits[i] : 0,
					channels > 3 ? bits[i] : 0, kind,
				};
				return cudaSuccess;
			}
	return cudaErrorInvalidChannelDescriptor;
}

/* Returns the bytes of an element; 0 for formats that have none (planes, compressed blocks). */
size_t rt_element(const CUDA_ARRAY3D_DESCRIPTOR *a)
{
	struct cudaChannelFormatDesc d;

	if ((a->Format >= CU_AD_FORMAT_BC1_UNORM && a->Format <= CU_AD_FORMAT_BC7_UNORM_SRGB) ||
	    a->Format == CU_AD_FORMAT_NV12 || rt_channels(a->Format, a->NumChannels, &d))
		return 0;
	return (size_t)(d.x + d.y + d.z + d.w) / 8;
}

cudaError_t rt_array(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR *a)
{
	return rt_error(DRV(cuArray3DGetDescriptor(a, (CUarray)(uintptr_t)array)));
}

/* --- Life -------------------------------------------------------------------------- */

static cudaError_t describe(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			    unsigned int flags, CUDA_ARRAY3D_DESCRIPTOR *a)
{
	*a = (CUDA_ARRAY3D_DESCRIPTOR) {
		.Width = extent.width, .Height = extent.height, .Depth = extent.depth,
		.Flags = flags,
	};
	return rt_format(desc, &a->Format, &a->NumChannels);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			      struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR a;
	cudaError_t err = array && desc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = describe(desc, extent, flags, &a);
	if (!err)
		err = rt_error(DRV(cuArray3DCreate((CUarray *)array, &a)));
	return rt_ret(err);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
			    size_t width, size_t height, unsigned int flags)
{
	return cudaMalloc3DArray(array, desc, (struct cudaExtent) { width, height, 0 }, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
				     const struct cudaChannelFormatDesc *desc,
				     struct cudaExtent extent, unsigned int numLevels,
				     unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR a;
	cudaError_t err = mipmappedArray && desc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = describe(desc, extent, flags, &a);
	if (!err)
		err = rt_error(DRV(cuMipmappedArrayCreate((CUmipmappedArray *)mipmappedArray, &a,
							  numLevels)));
	return rt_ret(err);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	cudaError_t err = rt_enter();

	if (!err && array)
		err = rt_error(DRV(cuArrayDestroy((CUarray)array)));
	return rt_ret(err);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
	cudaError_t err = rt_enter();

	if (!err && mipmappedArray)
		err = rt_error(DRV(cuMipmappedArrayDestroy((CUmipmappedArray)mipmappedArray)));
	return rt_ret(err);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
				       cudaMipmappedArray_const_t mipmappedArray,
				       unsigned int level)
{
	cudaError_t err = levelArray ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuMipmappedArrayGetLevel((CUarray *)levelArray,
				(CUmipmappedArray)(uintptr_t)mipmappedArray, level)));
	return rt_ret(err);
}

/* --- Queries ------------------------------------------------------------------------- */

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR a;
	cudaError_t err = desc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_array(array, &a);
	if (!err)
		err = rt_channels(a.Format, a.NumChannels, desc);
	return rt_ret(err);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			     unsigned int *flags, cudaArray_t array)
{
	struct cudaChannelFormatDesc d;
	CUDA_ARRAY3D_DESCRIPTOR a;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_array(array, &a);
	if (!err)
		err = rt_channels(a.Format, a.NumChannels, &d);
	if (err)
		return rt_ret(err);
	if (desc)
		*desc = d;
	if (extent)
		*extent = (struct cudaExtent) { a.Width, a.Height, a.Depth };
	if (flags)
		*flags = a.Flags;
	return rt_ret(cudaSuccess);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
						 const struct cudaChannelFormatDesc *fmtDesc,
						 int device)
{
	unsigned int channels;
	CUarray_format format;
	CUdevice dev;
	cudaError_t err = maxWidthInElements && fmtDesc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_device(device, &dev);
	if (!err)
		err = rt_format(fmtDesc, &format, &channels);
	if (!err)
		err = rt_error(DRV(cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format,
								      channels, dev)));
	return rt_ret(err);
}
