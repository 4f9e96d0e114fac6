// SPDX-License-Identifier: Apache-2.0
/* Facts about a pointer: cuPointerGetAttribute() and cuPointerGetAttributes(). */
#include <string.h>

#include "driver.h"

static bool is_host(const struct sgpu_range *r)
{
	return r->kind == SGPU_MEM_HOST || r->kind == SGPU_MEM_REGISTERED;
}

static bool host_can_use(const struct sgpu_range *r)
{
	return is_host(r) || sgpu_is_managed(r->kind);
}

/* Stores an answer with the width that the attribute has. */
#define PUT(type, value) (*(type *)out = (type)(value), CUDA_SUCCESS)

static CUresult answer(const struct sgpu_range *r, uint64_t addr,
		       CUpointer_attribute which, void *out)
{
	switch (which) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return PUT(CUcontext, r->ctx && r->ctx->parent ? r->ctx->parent : r->ctx);
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return PUT(unsigned int, is_host(r) ? CU_MEMORYTYPE_HOST :
						      CU_MEMORYTYPE_DEVICE);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return PUT(CUdeviceptr, addr);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host_can_use(r))
			return CUDA_ERROR_INVALID_VALUE;
		return PUT(void *, (uintptr_t)addr);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		return PUT(bool, r->sync);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return PUT(unsigned long long, r->id);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return PUT(bool, sgpu_is_managed(r->kind));
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		return PUT(bool, r->kind == SGPU_MEM_DEVICE);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return PUT(int, r->ctx ? r->ctx->device : r->device);
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return PUT(bool, false);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return PUT(CUdeviceptr, r->base);
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		return PUT(size_t, r->size);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return PUT(bool, true);
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return PUT(unsigned long long, CU_MEM_HANDLE_TYPE_NONE);
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return PUT(CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS,
			   CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return PUT(CUmemoryPool, r->pool);
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return PUT(unsigned long long, r->id);
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute which,
			       CUdeviceptr addr)
{
	struct sgpu_range range;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!out || !sgpu_range_find(addr, &range))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(answer(&range, addr, which, out));
}

/*
 * cuPointerGetAttributes() answers for any pointer: an attribute that does not apply reads
 * as empty.
 */
static CUresult answer_none(uint64_t addr, CUpointer_attribute which, void *out)
{
	switch (which) {
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return PUT(int, -2);
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return PUT(uint64_t, 0);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:	/* NULL for device memory */
		return PUT(uint64_t, sgpu_mem_in_arena(addr) ? 0 : addr);
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return PUT(unsigned int, 0);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return PUT(bool, false);
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *which,
				void **out, CUdeviceptr addr)
{
	struct sgpu_range range;
	CUresult rc = sgpu_beside_global();
	bool known;

	if (rc)
		return rc;
	if (!n || !which || !out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	known = sgpu_range_find(addr, &range);
	for (unsigned int i = 0; i < n; i++) {
		if (!out[i])
			return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
		rc = known ? answer(&range, addr, which[i], out[i]) :
			     CUDA_ERROR_INVALID_VALUE;
		if (rc)
			rc = answer_none(addr, which[i], out[i]);
		if (rc)
			return sgpu_leave(rc);
	}
	return sgpu_leave(CUDA_SUCCESS);
}

/* The setting is only stored for later questions, since all work is done at once anyway. */
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute which,
			       CUdeviceptr addr)
{
	struct sgpu_range range;
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!value || which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
	    !sgpu_mem_find(addr, &range))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	sgpu_mem_set_sync(addr, *(const unsigned int *)value);
	return sgpu_leave(CUDA_SUCCESS);
}
