// SPDX-License-Identifier: Apache-2.0
/*
 * Tensor maps of tiled memory, for cp.async.bulk.tensor (exec/tensor.c). The requirements are those
 * of cuda.h. Interleaved layouts, packed types and the swizzles of larger atoms are refused, as
 * are maps of im2col.
 */
#include <string.h>

#include "driver.h"
#include "../exec/tensormap.h"

#define MAP_ALIGN	64
#define UNIT		16	/* to which addresses, strides and rows of a box are aligned */
#define MAX_STRIDE	(1ull << 40)
#define MAX_DIM		(1ull << 32)
#define MAX_BOX		256
#define MAX_STEP	8

/* Returns the bytes of an element; 0: the type does not exist, or is packed. */
static uint8_t element_bytes(CUtensorMapDataType type)
{
	switch (type) {
	case CU_TENSOR_MAP_DATA_TYPE_UINT8:
		return 1;
	case CU_TENSOR_MAP_DATA_TYPE_UINT16:
	case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
	case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
		return 2;
	case CU_TENSOR_MAP_DATA_TYPE_UINT64:
	case CU_TENSOR_MAP_DATA_TYPE_INT64:
	case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
		return 8;
	case CU_TENSOR_MAP_DATA_TYPE_UINT32:
	case CU_TENSOR_MAP_DATA_TYPE_INT32:
	case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
	case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
	case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
	case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
		return 4;
	default:
		return 0;
	}
}

/* Copies convert nothing, so those that flush or round are refused. */
static bool converts(CUtensorMapDataType type)
{
	return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ ||
	       type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 ||
	       type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

static bool is_float(CUtensorMapDataType type)
{
	return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 &&
	       type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

static bool known_enums(CUtensorMapDataType type, CUtensorMapInterleave interleave,
			CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
			CUtensorMapFloatOOBfill fill)
{
	return (unsigned int)type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
	       (unsigned int)interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
	       (unsigned int)swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
	       (unsigned int)promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B &&
	       (unsigned int)fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
}

/* Fills in the sizes. Returns false if one is out of its range. */
static bool take_sizes(struct exec_tensormap *m, const cuuint64_t *dim, const cuuint64_t *stride,
		       const cuuint32_t *box, const cuuint32_t *step)
{
	for (uint32_t i = 0; i < m->rank; i++) {
		if (!dim[i] || dim[i] > MAX_DIM || !box[i] || box[i] > MAX_BOX || !step[i] ||
		    step[i] > MAX_STEP)
			return false;
		m->last[i] = dim[i] - 1;
		m->box[i] = box[i];
		m->step[i] = i ? step[i] : 1;
	}
	for (uint32_t i = 0; i + 1 < m->rank; i++) {
		if (stride[i] % UNIT || stride[i] >= MAX_STRIDE)
			return false;
		m->stride[i] = stride[i];
	}
	return true;
}

static CUresult encode(struct exec_tensormap *m, const cuuint64_t *dim, const cuuint64_t *stride,
		       const cuuint32_t *box, const cuuint32_t *step)
{
	static const uint32_t widths[] = { MAX_BOX * 8, 32, 64, 128 };

	if (m->address % UNIT || !take_sizes(m, dim, stride, box, step) ||
	    m->box[0] * m->bytes % UNIT || m->box[0] * m->bytes > widths[m->swizzle])
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* @map is aligned to 64 bytes. Any thread with a current context may call. */
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				void *address, const cuuint64_t *dim, const cuuint64_t *stride,
				const cuuint32_t *box, const cuuint32_t *step,
				CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
	struct exec_tensormap m = {
		.magic = TENSORMAP_MAGIC, .address = (uintptr_t)address, .rank = rank,
		.bytes = element_bytes(type), .swizzle = swizzle, .fill = fill,
	};
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (!map || (uintptr_t)map % MAP_ALIGN || !rank || rank > TENSORMAP_DIMS || !dim || !box ||
	    !step || (rank > 1 && !stride) ||
	    !known_enums(type, interleave, swizzle, promotion, fill) || (fill && !is_float(type)))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!m.bytes || converts(type) || interleave || swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
		return sgpu_leave(CUDA_ERROR_NOT_SUPPORTED);
	rc = encode(&m, dim, stride, box, step);
	if (!rc)
		memcpy(map, &m, sizeof(m));
	return sgpu_leave(rc);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	struct exec_tensormap m;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (!map || (uintptr_t)map % MAP_ALIGN || (uintptr_t)address % UNIT)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	memcpy(&m, map, sizeof(m));
	if (m.magic != TENSORMAP_MAGIC)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	m.address = (uintptr_t)address;
	memcpy(map, &m, sizeof(m));
	return sgpu_leave(CUDA_SUCCESS);
}
