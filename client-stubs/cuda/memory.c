// SPDX-License-Identifier: Apache-2.0
/*
 * Host memory that the device can reach: blocks of the data area, at the same address in client
 * and worker. Managed memory is such a block, too. Every access of the device crosses the bus,
 * but both sides see the same bytes at the same address at any time, which is what the CUDA
 * model asks for.
 */
#include "stubs.h"

static CUresult usable(void)
{
	CUresult res = wh_usable();

	return res || wh_thread.ctx ? res : CUDA_ERROR_INVALID_CONTEXT;
}

/* Larger requests than this part of the data area go to the far area, which grows. */
#define NEAR_SHARE	8

static size_t pages(size_t size)
{
	return (size + WH_PAGE_SIZE - 1) & ~(size_t)(WH_PAGE_SIZE - 1);
}

/* If there is no far area, the data area is all there is. */
static CUresult far_alloc(void **pp, size_t size, unsigned int flags, bool managed)
{
	void *p = wh_far_alloc(size, flags, managed);
	CUresult res;

	if (!p) {
		*pp = wh_data_alloc(size, flags, managed);
		return *pp ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	res = wh_host_block(WH_HOST_PIN, p, pages(size), NULL, 0);
	if (res == CUDA_SUCCESS)
		*pp = p;
	else
		wh_data_free(p);
	return res;
}

/* The memory of ended copies of graphs is freed only when it is needed. */
static CUresult alloc(void **pp, size_t size, unsigned int flags, bool managed)
{
	CUresult res;

	*pp = NULL;
	if (size <= wh_client.link.data_size / NEAR_SHARE)
		*pp = wh_data_alloc(size, flags, managed);
	if (*pp)
		return CUDA_SUCCESS;
	do
		res = far_alloc(pp, size, flags, managed);
	while (res == CUDA_ERROR_OUT_OF_MEMORY && wh_graph_copies_reclaim());
	return res;
}

/* Pinned memory of no bytes is nothing, and a success. */
static CUresult host_alloc(void **pp, size_t size, unsigned int flags, bool managed)
{
	CUresult res = usable();
	void *p;

	if (res != CUDA_SUCCESS)
		return res;
	if (!pp || (!size && managed))
		return CUDA_ERROR_INVALID_VALUE;
	if (!size) {
		*pp = NULL;
		return CUDA_SUCCESS;
	}
	res = alloc(&p, size, flags, managed);
	if (res == CUDA_SUCCESS)
		*pp = p;
	return res;
}

/* A capture must not forbid this call, since it is not the program's. */
static uint32_t relax(void)
{
	uint32_t mode = wh_thread.capture_mode;

	wh_thread.capture_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	return mode;
}

void *wh_pinned_alloc(size_t size)
{
	uint32_t mode = relax();
	void *p;
	CUresult res = alloc(&p, size, 0, false);

	wh_thread.capture_mode = mode;
	return res == CUDA_SUCCESS ? p : NULL;
}

void wh_pinned_free(void *p)
{
	uint32_t mode = relax();
	struct wh_block b;

	if (wh_in_far(p, 1) && wh_data_block(p, &b)) {
		wh_host_block(WH_HOST_UNPIN, p, b.size, NULL, 0);
		wh_far_empty(p, b.size);
	}
	wh_data_free(p);
	wh_thread.capture_mode = mode;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return host_alloc(pp, bytesize, 0, false);
}

CUresult cuMemAllocHost(void **pp, unsigned int bytesize)
{
	return cuMemAllocHost_v2(pp, bytesize);
}

/* Each block is portable and mapped, whatever the flags say: CUDA allows to give more. */
CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	const unsigned int known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
				   CU_MEMHOSTALLOC_WRITECOMBINED;

	if (Flags & ~known)
		return CUDA_ERROR_INVALID_VALUE;
	return host_alloc(pp, bytesize, Flags, false);
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	void *p;
	CUresult res;

	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	res = host_alloc(&p, bytesize, 0, true);
	if (res == CUDA_SUCCESS && dptr)
		*dptr = (uintptr_t)p;
	return res;
}

/*
 * The device may still read the memory that the program frees. So it first waits for all work
 * of the context, as the driver's own free does.
 */
static CUresult host_free(void *p, bool managed)
{
	struct wh_block b;
	CUresult res = usable();

	if (res == CUDA_ERROR_INVALID_CONTEXT)
		res = CUDA_SUCCESS;
	if (res != CUDA_SUCCESS || (!p && !managed))
		return res;
	if (!wh_data_block(p, &b) || b.start != p || b.managed != managed || b.registered)
		return CUDA_ERROR_INVALID_VALUE;
	res = wh_thread.ctx ? wh_raw_cuCtxSynchronize() : CUDA_SUCCESS;
	/* It could not wait at all, so the block is still in use. */
	if (res == CUDA_ERROR_NOT_PERMITTED)
		return res;
	if (wh_in_far(p, 1)) {
		if (wh_host_block(WH_HOST_UNPIN, p, b.size, NULL, 0) == CUDA_ERROR_NOT_PERMITTED)
			return CUDA_ERROR_NOT_PERMITTED;
		wh_far_empty(p, b.size);
	}
	if (managed)
		wh_hints_end(&b);
	wh_data_free(p);
	return res;
}

CUresult cuMemFreeHost(void *p)
{
	return host_free(p, false);
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
	CUresult res;

	if (wh_client.state == WH_READY && dptr && wh_in_data((void *)dptr, 1))
		return host_free((void *)dptr, true);
	res = wh_raw_cuMemFree_v2(dptr);
	if (res == CUDA_SUCCESS)
		wh_range_remove(dptr);
	return res;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	CUresult res = wh_raw_cuMemFreeAsync(dptr, hStream);

	if (res == CUDA_SUCCESS)
		wh_range_remove(dptr);
	return res;
}

/* --- Decompression -------------------------------------------------------------------------- */

/* Which operation an error is of does not come back: it is told as one of the batch. */
CUresult cuMemBatchDecompressAsync(CUmemDecompressParams *paramsArray, size_t count,
				   unsigned int flags, size_t *errorIndex, CUstream stream)
{
	size_t unused;
	CUresult res = wh_raw_cuMemBatchDecompressAsync(paramsArray, count, flags, &unused, stream);

	if (res != CUDA_SUCCESS && errorIndex)
		*errorIndex = SIZE_MAX;
	return res;
}

/* --- Queries ---------------------------------------------------------------------------- */

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct wh_block b;
	CUresult res = usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!pFlags || !wh_data_block(p, &b) || b.managed)
		return CUDA_ERROR_INVALID_VALUE;
	*pFlags = b.flags | CU_MEMHOSTALLOC_DEVICEMAP;	/* each block is mapped */
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	struct wh_block b;

	if (wh_client.state == WH_READY && !wh_data_block(p, &b))
		return CUDA_ERROR_INVALID_VALUE;
	if (wh_client.state == WH_READY && b.registered)
		p = (void *)(b.device + ((uint8_t *)p - b.start));
	return wh_raw_cuMemHostGetDevicePointer_v2(pdptr, p, Flags);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *pdptr, void *p, unsigned int Flags)
{
	(void)pdptr;
	(void)p;
	(void)Flags;
	return wh_refuse("cuMemHostGetDevicePointer");
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct wh_block b;

	if (wh_client.state != WH_READY || !wh_data_block((void *)dptr, &b))
		return wh_raw_cuMemGetAddressRange_v2(pbase, psize, dptr);
	if (pbase)
		*pbase = (uintptr_t)b.start;
	if (psize)
		*psize = b.asked;
	return CUDA_SUCCESS;
}

/* --- Pools: the first three attributes are int, the others 64 bits ------------------------ */

static size_t pool_value(CUmemPool_attribute attr)
{
	return attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES ? sizeof(int) :
									     sizeof(uint64_t);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	uint64_t v = 0;
	CUresult res = wh_raw_cuMemPoolGetAttribute(pool, attr, value ? &v : NULL);

	if (res == CUDA_SUCCESS && value)
		memcpy(value, &v, pool_value(attr));
	return res;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	uint64_t v = 0;

	if (value)
		memcpy(&v, value, pool_value(attr));
	return wh_raw_cuMemPoolSetAttribute(pool, attr, value ? &v : NULL);
}
