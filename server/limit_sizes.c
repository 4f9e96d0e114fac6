// SPDX-License-Identifier: Apache-2.0
/*
 * How much device memory the driver will take for a shape, computed before it is
 * asked: never less than it takes. Sizes saturate; the driver judges the rest.
 */
#include "worker.h"

#define PITCH		512u
#define GOB_WIDTH	64u	/* arrays are tiled: 64 bytes by 8 rows */
#define GOB_HEIGHT	8u

static uint64_t mul(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return n > UINT64_MAX - to ? UINT64_MAX : (n + to - 1) / to * to;
}

uint64_t wh_pitch_bytes(uint64_t width, uint64_t height)
{
	return mul(round_up(width, PITCH), height);
}

/* Bits of one channel; planar and block formats by their average, rounded up. */
static unsigned int bits(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 8;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 16;
	case CU_AD_FORMAT_BC1_UNORM:
	case CU_AD_FORMAT_BC1_UNORM_SRGB:
	case CU_AD_FORMAT_BC4_UNORM:
	case CU_AD_FORMAT_BC4_SNORM:
		return 4;
	case CU_AD_FORMAT_BC2_UNORM:
	case CU_AD_FORMAT_BC2_UNORM_SRGB:
	case CU_AD_FORMAT_BC3_UNORM:
	case CU_AD_FORMAT_BC3_UNORM_SRGB:
	case CU_AD_FORMAT_BC5_UNORM:
	case CU_AD_FORMAT_BC5_SNORM:
	case CU_AD_FORMAT_BC6H_UF16:
	case CU_AD_FORMAT_BC6H_SF16:
	case CU_AD_FORMAT_BC7_UNORM:
	case CU_AD_FORMAT_BC7_UNORM_SRGB:
		return 8;
	case CU_AD_FORMAT_NV12:
		return 16;
	default:
		return 32;
	}
}

uint64_t wh_array_bytes(uint64_t width, uint64_t height, uint64_t depth, CUarray_format format,
			unsigned int channels, unsigned int flags)
{
	uint64_t row, rows;

	/* Physical memory comes later, by cuMemMap, and is charged there. */
	if (flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	row = mul(width, mul(bits(format), channels ? channels : 1)) / 8;
	row = round_up(row, GOB_WIDTH);
	rows = height > 1 ? round_up(height, GOB_HEIGHT) : 1;
	return mul(mul(row, rows), depth ? depth : 1);
}

static uint64_t level_of(uint64_t n, unsigned int level)
{
	return n >> level ? n >> level : n != 0;
}

uint64_t wh_mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	uint64_t sum = 0, bytes;
	unsigned int i;

	for (i = 0; i < levels && i < 64; i++) {
		bytes = wh_array_bytes(level_of(d->Width, i), level_of(d->Height, i),
				       layered ? d->Depth : level_of(d->Depth, i), d->Format,
				       d->NumChannels, d->Flags);
		sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
	}
	return sum;
}
