// SPDX-License-Identifier: Apache-2.0
/*
 * How much device memory the driver takes for a shape, computed before the driver is asked. Sizes
 * saturate; the driver judges the rest.
 *
 * Arrays are tiled by blocks of 64 bytes by 8 rows. A power of two of them lie above each other
 * and, in three dimensions, behind each other, up to 16. The rules are those that explain every one
 * of the 250 shapes measured on an H200 (driver 580.159) by NVML's figure for many arrays of each.
 */
#include "limits/charge.h"
#include "limits/limits.h"

#define PITCH		512u
#define GOB_WIDTH	64u
#define GOB_HEIGHT	8u
#define MOST		16u	/* such blocks in a row */

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

/* Bytes of a 4 by 4 block of a compressed format, 0 for the others. */
static unsigned int block_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_BC1_UNORM:
	case CU_AD_FORMAT_BC1_UNORM_SRGB:
	case CU_AD_FORMAT_BC4_UNORM:
	case CU_AD_FORMAT_BC4_SNORM:
		return 8;
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
		return 16;
	default:
		return 0;
	}
}

/* Bytes of one channel. Planar formats were not measured, so they count as the largest. */
static unsigned int channel_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_NV12:
		return 2;
	default:
		return 4;
	}
}

static bool is_layered(unsigned int flags)
{
	return flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

static uint64_t power_of_two(uint64_t least)
{
	uint64_t n = 1;

	while (n < least && n < MOST)
		n *= 2;
	return n;
}

/* How many blocks lie above each other. In three dimensions no more than leave no gap. */
static uint64_t tile_height(uint64_t gobs, bool box)
{
	uint64_t n = power_of_two(gobs);

	while (box && gobs % n)
		n /= 2;
	return n;
}

/* Bytes of one level of one layer, or of the whole box; *tile gets the bytes of a tile. */
static uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int level, uint64_t *tile)
{
	bool box = d->Depth && !is_layered(d->Flags);
	uint64_t w = d->Width >> level, h = d->Height >> level, depth = box ? d->Depth >> level : 1;
	uint64_t gobs, high, deep, row;
	unsigned int block = block_bytes(d->Format);

	w = w ? w : 1;
	h = h ? h : 1;
	depth = depth ? depth : 1;
	if (block) {
		row = mul(round_up(w, 4) / 4, block);
		h = round_up(h, 4) / 4;
	} else {
		row = mul(mul(w, channel_bytes(d->Format)), d->NumChannels ? d->NumChannels : 1);
	}
	gobs = round_up(h, GOB_HEIGHT) / GOB_HEIGHT;
	high = tile_height(gobs, box);
	deep = power_of_two(depth);
	*tile = GOB_WIDTH * GOB_HEIGHT * high * deep;
	return mul(mul(round_up(row, GOB_WIDTH), mul(round_up(gobs, high), GOB_HEIGHT)),
		   round_up(depth, deep));
}

/* The driver makes no more levels than those down to size 1. */
static unsigned int levels_of(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	uint64_t most = d->Width | d->Height | (is_layered(d->Flags) ? 0 : d->Depth);
	unsigned int n = 1;

	while (most >>= 1)
		n++;
	return levels < n ? levels : n;
}

uint64_t wh_mipmap_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	uint64_t sum = 0, bytes, tile, first = 1;
	unsigned int i;

	/* Physical memory is added later, by cuMemMap, and is charged there. */
	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	levels = levels_of(d, levels);
	for (i = 0; i < levels; i++) {
		bytes = level_bytes(d, i, &tile);
		sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
		first = i ? first : tile;
	}
	if (!is_layered(d->Flags))
		return sum;
	/* Each layer has all its levels together, and begins with a whole tile. */
	return mul(round_up(sum, first), d->Depth ? d->Depth : 1);
}

uint64_t wh_array_bytes(uint64_t width, uint64_t height, uint64_t depth, CUarray_format format,
			unsigned int channels, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { width, height, depth, format, channels, flags };

	return wh_mipmap_bytes(&d, 1);
}
