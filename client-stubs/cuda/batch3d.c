// SPDX-License-Identifier: Apache-2.0
/*
 * Batches of box copies. A batch promises no order among its copies, so it is right to make one
 * after the other. Each becomes the single copy whose code knows pageable memory. Extents and
 * offsets count elements if an array takes part.
 */
#include "stubs.h"

static size_t format_bytes(CUarray_format f)
{
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT8X4:
	case CU_AD_FORMAT_SNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X4:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_UNORM_INT16X4:
	case CU_AD_FORMAT_SNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X4:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;	/* blocks and planes have no elements */
	}
}

/* Finds the bytes of an element of the operand; 1 for memory. */
static CUresult element(const CUmemcpy3DOperand *o, size_t *size)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult res;

	*size = 1;
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		return CUDA_SUCCESS;
	if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	res = cuArray3DGetDescriptor_v2(&d, o->op.array.array);
	if (res != CUDA_SUCCESS)
		return res;
	*size = format_bytes(d.Format) * d.NumChannels;
	return *size ? CUDA_SUCCESS : wh_refuse("cuMemcpy3DBatchAsync of an array without plain elements");
}

static CUresult describe(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *c)
{
	const CUmemcpy3DOperand *s = &op->src, *d = &op->dst;
	bool from = s->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
	bool to = d->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
	size_t size, other;
	CUresult res = element(s, &size);

	if (res == CUDA_SUCCESS)
		res = element(d, &other);
	if (res != CUDA_SUCCESS)
		return res;
	if ((from && to && size != other) || !op->extent.width || !op->extent.height ||
	    !op->extent.depth)
		return CUDA_ERROR_INVALID_VALUE;
	size = to ? other : size;
	*c = (CUDA_MEMCPY3D) {
		.srcMemoryType = from ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
		.dstMemoryType = to ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED,
		.WidthInBytes = op->extent.width * size, .Height = op->extent.height,
		.Depth = op->extent.depth,
	};
	if (from) {
		c->srcArray = s->op.array.array;
		c->srcXInBytes = s->op.array.offset.x * size;
		c->srcY = s->op.array.offset.y;
		c->srcZ = s->op.array.offset.z;
	} else {
		c->srcDevice = s->op.ptr.ptr;
		c->srcPitch = s->op.ptr.rowLength * size;
		c->srcHeight = s->op.ptr.layerHeight;
	}
	if (to) {
		c->dstArray = d->op.array.array;
		c->dstXInBytes = d->op.array.offset.x * size;
		c->dstY = d->op.array.offset.y;
		c->dstZ = d->op.array.offset.z;
	} else {
		c->dstDevice = d->op.ptr.ptr;
		c->dstPitch = d->op.ptr.rowLength * size;
		c->dstHeight = d->op.ptr.layerHeight;
	}
	return CUDA_SUCCESS;
}

/*
 * In the old form of the call, `failed` says which copy failed; SIZE_MAX means "none in
 * particular".
 */
static CUresult batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
		      unsigned long long flags, CUstream stream)
{
	CUDA_MEMCPY3D c;
	CUresult res;
	size_t i;

	*failed = SIZE_MAX;
	if (!count || !list || flags || !stream)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count; i++) {
		res = describe(&list[i], &c);
		if (res == CUDA_SUCCESS)
			res = cuMemcpy3DAsync_v2(&c, stream);
		if (res != CUDA_SUCCESS) {
			*failed = i;
			return res;
		}
	}
	return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
				 unsigned long long flags, CUstream hStream)
{
	size_t failed;

	return batch(numOps, opList, &failed, flags, hStream);
}

CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
			      unsigned long long flags, CUstream hStream)
{
	size_t failed;
	CUresult res = batch(numOps, opList, &failed, flags, hStream);

	if (res != CUDA_SUCCESS && failIdx)
		*failIdx = failed;
	return res;
}
