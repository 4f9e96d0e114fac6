// SPDX-License-Identifier: Apache-2.0
/*
 * Hints on managed memory. They have no effect, since all memory is in one place, but are kept to
 * be asked for (cuda-api/hints.h).
 */
#define _GNU_SOURCE
#include "driver.h"
#include "hints.h"

static struct wh_hints hints;

void sgpu_hints_end(uint64_t base, uint64_t size)
{
	wh_hints_forget(&hints, base, size);
}

/* Finds the allocation that the bytes are of, if it is managed memory. */
static CUresult find(CUdeviceptr addr, size_t size, struct wh_hinted *bytes)
{
	struct sgpu_range range;

	if (!size || !sgpu_mem_find(addr, &range) || !sgpu_is_managed(range.kind) ||
	    size > range.size - (addr - range.base))
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = (struct wh_hinted) { range.base, range.size, addr, size };
	return CUDA_SUCCESS;
}

static CUresult keep(CUdeviceptr addr, size_t size, CUmem_advise advice, CUmemLocation place)
{
	struct wh_hinted bytes;
	CUresult rc = find(addr, size, &bytes);

	return rc ? rc : wh_hints_give(&hints, &bytes, advice, place);
}

static bool is_device(CUmemLocation place)
{
	return place.type != CU_MEM_LOCATION_TYPE_DEVICE || sgpu_device_ok(place.id);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr addr, size_t size,
			       CUmemLocation location, unsigned int flags,
			       CUstream stream)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	rc = flags ? CUDA_ERROR_INVALID_VALUE : sgpu_stream_check(ctx, stream);
	if (!rc && !is_device(location))
		rc = CUDA_ERROR_INVALID_DEVICE;
	if (!rc && !wh_hint_can_be(WH_HINT_PREFETCH, &location))
		rc = CUDA_ERROR_INVALID_VALUE;
	return sgpu_leave(rc ? rc : keep(addr, size, WH_HINT_PREFETCH, location));
}

CUresult cuMemPrefetchAsync(CUdeviceptr addr, size_t size, CUdevice dev,
			    CUstream stream)
{
	return cuMemPrefetchAsync_v2(addr, size, wh_hint_place(dev), 0, stream);
}

CUresult cuMemAdvise_v2(CUdeviceptr addr, size_t size, CUmem_advise advice,
			CUmemLocation location)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
	    advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		rc = CUDA_ERROR_INVALID_VALUE;
	else if (!wh_hint_anywhere(advice) &&
		 !(is_device(location) && wh_hint_can_be(advice, &location)))
		rc = CUDA_ERROR_INVALID_VALUE;
	return sgpu_leave(rc ? rc : keep(addr, size, advice, location));
}

CUresult cuMemAdvise(CUdeviceptr addr, size_t size, CUmem_advise advice,
		     CUdevice dev)
{
	return cuMemAdvise_v2(addr, size, advice, wh_hint_place(dev));
}

static CUresult ask(void *data, size_t data_size, CUmem_range_attribute attribute,
		    CUdeviceptr addr, size_t size)
{
	struct wh_hinted bytes;
	CUresult rc = find(addr, size, &bytes);

	return rc ? rc : wh_hints_ask(&hints, &bytes, data, data_size, attribute);
}

CUresult cuMemRangeGetAttribute(void *data, size_t data_size,
				CUmem_range_attribute attribute,
				CUdeviceptr addr, size_t size)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	return rc ? rc : sgpu_leave(ask(data, data_size, attribute, addr, size));
}

CUresult cuMemRangeGetAttributes(void **data, size_t *data_sizes,
				 CUmem_range_attribute *attributes, size_t n,
				 CUdeviceptr addr, size_t size)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	if (!data || !data_sizes || !attributes || !n)
		rc = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && !rc; i++)
		rc = ask(data[i], data_sizes[i], attributes[i], addr, size);
	return sgpu_leave(rc);
}
