// SPDX-License-Identifier: Apache-2.0
/*
 * What a program sees of the allocations of paged.h: what it would see of cuMemAlloc()'s. These
 * functions stand in the session's table in the place of the driver's, which they call for all
 * other memory. A worker has one session.
 */
#include "limits/paged.h"

#include "limits/ipc.h"
#include "tenant/tenant.h"

static struct wh_session *session;

/* Identifiers of the driver's own count from 1. */
#define IDS	(1ull << 62)

static struct wh_paged *paged(void)
{
	return session->limits.paged;
}

/* A copy of the range that the address lies in; its address is 0 if there is none. */
static struct wh_paged_range range_at(uint64_t addr)
{
	struct wh_paged_range r = { 0 };
	const struct wh_paged_range *at;

	pthread_mutex_lock(&paged()->lock);
	at = wh_paged_find(paged(), addr);
	if (at)
		r = *at;
	pthread_mutex_unlock(&paged()->lock);
	return r;
}

/* Programs manage only addresses that they have reserved themselves. */
static bool is_ours(uint64_t addr, uint64_t size)
{
	bool yes;

	pthread_mutex_lock(&paged()->lock);
	yes = size && wh_paged_overlaps(paged(), addr, size);
	pthread_mutex_unlock(&paged()->lock);
	return yes;
}

/* --- Allocations ------------------------------------------------------------------------- */

static bool is_for_us(uint64_t bytes)
{
	return bytes >= WH_PAGED_LEAST && wh_paged_moves(session);
}

static CUresult alloc(CUdeviceptr *out, size_t bytes)
{
	return out && is_for_us(bytes) ? wh_paged_take(session, out, bytes) :
	       paged()->real.cuMemAlloc_v2(out, bytes);
}

/* The driver's own row is as long as it says for a row of the same width. */
static CUresult alloc_pitch(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	const struct wh_driver *real = &paged()->real;
	CUdeviceptr one;
	size_t row = 0, bytes;
	CUresult res;

	if (!out || !pitch || __builtin_mul_overflow(width, height, &bytes) || !is_for_us(bytes))
		return real->cuMemAllocPitch_v2(out, pitch, width, height, element);
	res = real->cuMemAllocPitch_v2(&one, &row, width, 1, element);
	if (res != CUDA_SUCCESS)
		return res;
	real->cuMemFree_v2(one);
	if (__builtin_mul_overflow(row, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = wh_paged_take(session, out, bytes);
	if (res == CUDA_SUCCESS)
		*pitch = row;
	return res;
}

static CUresult free_now(CUdeviceptr addr)
{
	struct wh_paged_range r = range_at(addr);

	if (!r.addr)
		return paged()->real.cuMemFree_v2(addr);
	return r.foreign ? CUDA_ERROR_INVALID_VALUE : wh_paged_give(session, addr);
}

/* Memory that is no pool's leaves when the stream's work has ended; that is awaited here. */
static CUresult free_in_order(CUdeviceptr addr, CUstream stream)
{
	struct wh_paged_range r = range_at(addr);
	CUresult res;

	if (!r.addr)
		return paged()->real.cuMemFreeAsync(addr, stream);
	if (r.foreign || r.addr != addr)
		return CUDA_ERROR_INVALID_VALUE;
	res = paged()->real.cuStreamSynchronize(stream);
	return res == CUDA_SUCCESS ? wh_paged_end(paged(), addr) : res;
}

/* --- Questions ----------------------------------------------------------------------------- */

static CUresult address_range(CUdeviceptr *base, size_t *size, CUdeviceptr addr)
{
	struct wh_paged_range r = range_at(addr);

	if (!r.addr)
		return paged()->real.cuMemGetAddressRange_v2(base, size, addr);
	if (base)
		*base = r.addr;
	if (size)
		*size = r.bytes;
	return CUDA_SUCCESS;
}

/* True: it is known here, since the driver says something else of mappings. */
static bool answer(const struct wh_paged_range *r, CUpointer_attribute which, void *to)
{
	switch (which) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)to = r->real;
		return true;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(uint64_t *)to = IDS + r->id;
		return true;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(bool *)to = !r->foreign;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)to = r->addr;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)to = r->bytes;
		return true;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(uint64_t *)to = 0;
		return true;
	default:
		return false;
	}
}

static CUresult attribute(void *to, CUpointer_attribute which, CUdeviceptr addr)
{
	struct wh_paged_range r = range_at(addr);

	if (r.addr && to && answer(&r, which, to))
		return CUDA_SUCCESS;
	return paged()->real.cuPointerGetAttribute(to, which, addr);
}

static CUresult attributes(unsigned int n, CUpointer_attribute *which, void **to, CUdeviceptr addr)
{
	CUresult res = paged()->real.cuPointerGetAttributes(n, which, to, addr);
	struct wh_paged_range r = range_at(addr);
	unsigned int i;

	for (i = 0; res == CUDA_SUCCESS && r.addr && i < n; i++)
		if (to[i])
			answer(&r, which[i], to[i]);
	return res;
}

/* --- What is for a program's own mappings alone ---------------------------------------------- */

static CUresult unmap(CUdeviceptr addr, size_t size)
{
	return is_ours(addr, size) ? CUDA_ERROR_INVALID_VALUE :
	       paged()->real.cuMemUnmap(addr, size);
}

static CUresult address_free(CUdeviceptr addr, size_t size)
{
	return is_ours(addr, size) ? CUDA_ERROR_INVALID_VALUE :
	       paged()->real.cuMemAddressFree(addr, size);
}

static CUresult set_access(CUdeviceptr addr, size_t size, const CUmemAccessDesc *who, size_t n)
{
	return is_ours(addr, size) ? CUDA_ERROR_INVALID_VALUE :
	       paged()->real.cuMemSetAccess(addr, size, who, n);
}

static CUresult get_access(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr addr)
{
	return is_ours(addr, 1) ? CUDA_ERROR_INVALID_VALUE :
	       paged()->real.cuMemGetAccess(flags, where, addr);
}

static CUresult retain(CUmemGenericAllocationHandle *out, void *addr)
{
	return is_ours((uintptr_t)addr, 1) ? CUDA_ERROR_INVALID_VALUE :
	       paged()->real.cuMemRetainAllocationHandle(out, addr);
}

/* --- Other workers' memory ------------------------------------------------------------- */

/* ipc.c counts how often it was opened, and notes that it is closed when this has returned. */
static CUresult close_opened(CUdeviceptr addr)
{
	struct wh_paged_range r = range_at(addr);

	if (!r.addr)
		return paged()->real.cuIpcCloseMemHandle(addr);
	if (!r.foreign || r.addr != addr)
		return CUDA_ERROR_INVALID_VALUE;
	return wh_ipc_opened_once(session, addr) ? wh_paged_give(session, addr) : CUDA_SUCCESS;
}

/* --- The table ---------------------------------------------------------------------------- */

/* A function that the driver lacks stays missing. */
#define REPLACE(name, by)	(s->drv.name = s->drv.name ? (by) : NULL)

void wh_paged_replace(struct wh_session *s)
{
	session = s;
	REPLACE(cuMemAlloc_v2, alloc);
	REPLACE(cuMemAllocPitch_v2, alloc_pitch);
	REPLACE(cuMemFree_v2, free_now);
	REPLACE(cuMemFreeAsync, free_in_order);
	REPLACE(cuMemGetAddressRange_v2, address_range);
	REPLACE(cuPointerGetAttribute, attribute);
	REPLACE(cuPointerGetAttributes, attributes);
	REPLACE(cuMemUnmap, unmap);
	REPLACE(cuMemAddressFree, address_free);
	REPLACE(cuMemSetAccess, set_access);
	REPLACE(cuMemGetAccess, get_access);
	REPLACE(cuMemRetainAllocationHandle, retain);
	REPLACE(cuIpcCloseMemHandle, close_opened);
}
