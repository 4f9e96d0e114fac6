// SPDX-License-Identifier: Apache-2.0
/*
 * The exported calls that allocate, free and describe device memory. The arena that they
 * use is in memory.c; host memory is in hostmem.c.
 */
#include "driver.h"

#define FREEABLE	(1u << SGPU_MEM_DEVICE | 1u << SGPU_MEM_MANAGED | \
			 1u << SGPU_MEM_POOL)
#define DESCRIBED	(FREEABLE | 1u << SGPU_MEM_GRAPH | 1u << SGPU_MEM_HOST | \
			 1u << SGPU_MEM_REGISTERED | 1u << SGPU_MEM_IMPORT | \
			 1u << SGPU_MEM_MODULE_MANAGED)

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (sgpu_books_fail())
		return sgpu_leave(CUDA_ERROR_UNKNOWN);
	if (free)
		*free = sgpu_books_free(sgpu_device_place(ctx->device),
					sgpu_mem_free_bytes(ctx->device));
	if (total)
		*total = sgpu_device_total(ctx->device);
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult alloc(CUdeviceptr *out, size_t size, enum sgpu_kind kind)
{
	struct sgpu_ctx *ctx;
	uint64_t addr = 0;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = sgpu_capture_unsafe();
	if (!rc)
		rc = sgpu_mem_alloc(ctx, size, kind, NULL, &addr);
	if (!rc)
		*out = addr;
	return sgpu_leave(rc);
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
	return alloc(out, size, SGPU_MEM_DEVICE);
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		/* A size of 0 makes alloc() refuse the call. */
		size = 0;
	return alloc(out, size, SGPU_MEM_MANAGED);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width,
			    size_t height, unsigned int element)
{
	size_t row, size;
	CUresult rc;

	/* Wrong arguments become a size of 0, which alloc() refuses. */
	if (!pitch || (element != 4 && element != 8 && element != 16) ||
	    __builtin_add_overflow(width, SGPU_GRANULE - 1, &row))
		row = 0;
	row &= ~(size_t)(SGPU_GRANULE - 1);
	if (__builtin_mul_overflow(row, height, &size))
		size = SIZE_MAX;
	rc = alloc(out, size, SGPU_MEM_DEVICE);
	if (!rc)
		*pitch = row;
	return rc;
}

CUresult cuMemFree_v2(CUdeviceptr addr)
{
	CUresult rc = sgpu_enter_healthy();

	if (rc)
		return rc;
	if (!addr)
		return sgpu_leave(CUDA_SUCCESS);
	rc = sgpu_capture_unsafe();
	if (!rc && !sgpu_galloc_free(addr, &rc) && !sgpu_ipc_free_pooled(addr))
		rc = sgpu_mem_release(addr, FREEABLE);
	return sgpu_leave(rc);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size,
				 CUdeviceptr addr)
{
	struct sgpu_range range;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!sgpu_range_find(addr, &range) || !(DESCRIBED & 1u << range.kind))
		return sgpu_leave(CUDA_ERROR_NOT_FOUND);
	if (base)
		*base = range.base;
	if (size)
		*size = range.size;
	return sgpu_leave(CUDA_SUCCESS);
}
