// SPDX-License-Identifier: Apache-2.0
/*
 * Stream-ordered allocation. Streams are always idle, so allocating and freeing take effect
 * at once. A pool counts what was taken from it, and returns freed memory to the device at
 * once.
 */
#include <string.h>

#include "driver.h"

#define FREEABLE (1u << SGPU_MEM_DEVICE | 1u << SGPU_MEM_MANAGED | \
		  1u << SGPU_MEM_POOL)

/* Of each device. */
static struct sgpu_mempool *standard[SGPU_DEVICES], *chosen[SGPU_DEVICES];

static struct sgpu_mempool *pool_new(int device)
{
	struct sgpu_mempool *p = sgpu_obj_new(SGPU_MEMPOOL);

	if (p) {
		p->reuse[0] = p->reuse[1] = p->reuse[2] = 1;
		p->device = device;
	}
	return p;
}

static struct sgpu_mempool *pool_standard(int device)
{
	if (!standard[device])
		standard[device] = pool_new(device);
	return standard[device];
}

static struct sgpu_mempool *pool_now(int device)
{
	return chosen[device] ? chosen[device] : pool_standard(device);
}

static CUresult enter_pools(CUdevice dev, const void *arg)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	if (!arg)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!sgpu_device_ok(dev))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	return pool_standard(dev) ? CUDA_SUCCESS : sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
	CUresult rc = enter_pools(dev, out);

	if (rc)
		return rc;
	*out = (CUmemoryPool)standard[dev];
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
	CUresult rc = enter_pools(dev, out);

	if (rc)
		return rc;
	*out = (CUmemoryPool)pool_now(dev);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
	struct sgpu_mempool *p;
	CUresult rc = enter_pools(dev, handle);

	if (rc)
		return rc;
	p = sgpu_obj_get(SGPU_MEMPOOL, handle);
	if (!p || p->device != dev || p->from_pid)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	chosen[dev] = p;
	return sgpu_leave(CUDA_SUCCESS);
}

static CUresult pool_create(CUmemoryPool *out, const CUmemPoolProps *props)
{
	struct sgpu_mempool *p;

	if (!out || !props ||
	    props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    (unsigned int)props->handleTypes & ~SGPU_POOL_HANDLES)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!sgpu_device_ok(props->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	p = pool_new(props->location.id);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->max_size = props->maxSize;
	p->shareable = props->handleTypes;
	*out = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	CUresult rc = sgpu_beside_global();

	return rc ? rc : sgpu_leave(pool_create(out, props));
}

/* Removes the pool from its memory: memory that is still in use outlives its pool. */
static void forget_pool(struct sgpu_mempool *p)
{
	sgpu_mem_forget_pool(p);
	if (chosen[p->device] == p)
		chosen[p->device] = NULL;
	sgpu_obj_free(p);
}

static CUresult enter_pool(CUmemoryPool handle, bool args_ok,
			   struct sgpu_mempool **p)
{
	CUresult rc = sgpu_beside_global();

	if (rc)
		return rc;
	*p = sgpu_obj_get(SGPU_MEMPOOL, handle);
	return *p && args_ok ? CUDA_SUCCESS :
			       sgpu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
	struct sgpu_mempool *p;
	CUresult rc = enter_pool(handle, true, &p);

	if (rc)
		return rc;
	if (p == standard[p->device])
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	forget_pool(p);
	return sgpu_leave(CUDA_SUCCESS);
}

/* A pool keeps no freed memory, so there is nothing to trim. */
CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
	struct sgpu_mempool *p;
	CUresult rc = enter_pool(handle, true, &p);

	(void)keep;
	return rc ? rc : sgpu_leave(CUDA_SUCCESS);
}

static CUresult attr_get(const struct sgpu_mempool *p, CUmemPool_attribute which,
			 void *value)
{
	switch (which) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = p->reuse[which - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = p->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = p->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = p->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = p->used_high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* A high-water mark can only be set to 0, which resets it to the memory in use now. */
static CUresult attr_set(struct sgpu_mempool *p, CUmemPool_attribute which,
			 const void *value)
{
	switch (which) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->reuse[which - 1] = *(const int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->threshold = *(const cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(const cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
			p->used_high = p->used;
		else
			p->reserved_high = p->used;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/*
 * Without a context NVIDIA's driver was seen to answer nothing, and with a destroyed one it
 * answers, so softgpu does the same.
 */
CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute which,
			       void *value)
{
	struct sgpu_mempool *p;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_healthy();

	if (rc)
		return rc;
	sgpu_leave(rc);
	rc = enter_pool(handle, value, &p);
	if (rc)
		return rc;
	if (sgpu_ctx_current(&ctx) == CUDA_ERROR_INVALID_CONTEXT)
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	return sgpu_leave(sgpu_books_fail() ? CUDA_ERROR_UNKNOWN : attr_get(p, which, value));
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute which,
			       void *value)
{
	struct sgpu_mempool *p;
	CUresult rc = enter_pool(handle, value, &p);

	return rc ? rc : sgpu_leave(attr_set(p, which, value));
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
			    CUmemLocation *location)
{
	struct sgpu_mempool *p;
	CUresult rc = enter_pool(handle, flags && location, &p);

	if (rc)
		return rc;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !sgpu_device_ok(location->id))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return sgpu_leave(CUDA_SUCCESS);
}

/* A device always has access, and no call can take it away. */
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map,
			    size_t count)
{
	struct sgpu_mempool *p;
	CUresult rc = enter_pool(handle, map || !count, &p);

	for (size_t i = 0; !rc && i < count; i++)
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    !sgpu_device_ok(map[i].location.id) ||
		    map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return rc ? rc : sgpu_leave(CUDA_SUCCESS);
}

/* ---- allocation ---- */

static CUresult pool_alloc(struct sgpu_ctx *ctx, CUdeviceptr *out, size_t size,
			   struct sgpu_mempool *p)
{
	struct sgpu_range range;
	uint64_t addr = 0;
	CUresult rc;

	*out = 0;
	if (!size)
		return CUDA_SUCCESS;
	if (p->max_size && (size > p->max_size || p->used > p->max_size - size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = sgpu_mem_alloc(ctx, size, SGPU_MEM_POOL, p, &addr);
	if (rc)
		return rc;
	sgpu_mem_find(addr, &range);
	p->used += range.room;
	if (p->used > p->used_high)
		p->used_high = p->used;
	if (p->used > p->reserved_high)
		p->reserved_high = p->used;
	*out = addr;
	return CUDA_SUCCESS;
}

static CUresult alloc_captured(struct sgpu_stream *s, CUdeviceptr *out,
			       size_t size, int device)
{
	const CUDA_MEM_ALLOC_NODE_PARAMS p = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { CU_MEM_LOCATION_TYPE_DEVICE, device } },
		.bytesize = size,
	};

	return sgpu_capture_alloc(s, &p, out);
}

/* @any: of the pool that the stream's device has now. */
static CUresult alloc_async(CUdeviceptr *out, size_t size, CUmemoryPool handle, bool any,
			    CUstream stream)
{
	struct sgpu_mempool *p;
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside_stream(stream, &ctx);

	if (rc)
		return rc;
	p = any ? pool_now(ctx->device) : sgpu_obj_get(SGPU_MEMPOOL, handle);
	if (any && !p)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	if (!out || !p || p->from_pid)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = sgpu_work_stream(ctx, stream, &capturing);
	if (!rc && capturing)
		rc = alloc_captured(capturing, out, size, p->device);
	else if (!rc)
		rc = pool_alloc(ctx, out, size, p);
	return sgpu_leave(rc);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size,
				 CUmemoryPool handle, CUstream stream)
{
	return alloc_async(out, size, handle, false, stream);
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
	return alloc_async(out, size, NULL, true, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr addr, CUstream stream)
{
	struct sgpu_stream *capturing;
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter_stream(stream, &ctx);

	if (rc)
		return rc;
	rc = sgpu_work_stream(ctx, stream, &capturing);
	if (!rc && capturing)
		rc = sgpu_capture_free(capturing, addr);
	else if (!rc && addr && !sgpu_galloc_free(addr, &rc) && !sgpu_ipc_free_pooled(addr))
		rc = sgpu_mem_release(addr, FREEABLE);
	return sgpu_leave(rc);
}
