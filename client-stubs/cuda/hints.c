// SPDX-License-Identifier: Apache-2.0
/*
 * Hints on managed memory. That of the data area is where it is, so that they have no effect: they
 * are refused where the driver refuses them (tests/softgpu/answers.ref), and kept to be asked for
 * (cuda-api/hints.h). The worker's driver keeps those on managed variables.
 */
#define _GNU_SOURCE
#include "stubs.h"
#include "hints.h"

static pthread_mutex_t hints_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct wh_hints hints WH_PAIR;

void wh_hints_end(const struct wh_block *b)
{
	pthread_mutex_lock(&hints_lock);
	wh_hints_forget(&hints, (uintptr_t)b->start, b->size);
	pthread_mutex_unlock(&hints_lock);
}

static bool managed_block(CUdeviceptr p, struct wh_block *b)
{
	return wh_client.state == WH_READY && wh_data_block((void *)p, b) && b->managed;
}

static bool is_part(const struct wh_block *b, CUdeviceptr p, size_t count)
{
	return count && count <= b->asked - (p - (uintptr_t)b->start);
}

static CUresult keep(const struct wh_block *b, CUdeviceptr p, size_t count, CUmem_advise advice,
		     CUmemLocation place)
{
	const struct wh_hinted bytes = { (uintptr_t)b->start, b->asked, p, count };
	CUresult res;

	if (!is_part(b, p, count))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&hints_lock);
	res = wh_hints_give(&hints, &bytes, advice, place);
	pthread_mutex_unlock(&hints_lock);
	return res;
}

static bool is_device(CUmemLocation place)
{
	return place.type != CU_MEM_LOCATION_TYPE_DEVICE || wh_is_device(place.id);
}

static CUresult advise(const struct wh_block *b, CUdeviceptr p, size_t count, CUmem_advise advice,
		       CUmemLocation place)
{
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	if (!wh_hint_anywhere(advice) && !(is_device(place) && wh_hint_can_be(advice, &place)))
		return CUDA_ERROR_INVALID_VALUE;
	return keep(b, p, count, advice, place);
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	struct wh_block b;

	if (!managed_block(devPtr, &b))
		return wh_raw_cuMemAdvise(devPtr, count, advice, device);
	return advise(&b, devPtr, count, advice, wh_hint_place(device));
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
			CUmemLocation location)
{
	struct wh_block b;

	if (!managed_block(devPtr, &b))
		return wh_raw_cuMemAdvise_v2(devPtr, count, advice, location);
	return advise(&b, devPtr, count, advice, location);
}

static CUresult prefetch(const struct wh_block *b, CUdeviceptr p, size_t count,
			 CUmemLocation place)
{
	if (!is_device(place))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!wh_hint_can_be(WH_HINT_PREFETCH, &place))
		return CUDA_ERROR_INVALID_VALUE;
	return keep(b, p, count, WH_HINT_PREFETCH, place);
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	struct wh_block b;

	if (!managed_block(devPtr, &b))
		return wh_raw_cuMemPrefetchAsync(devPtr, count, dstDevice, hStream);
	return prefetch(&b, devPtr, count, wh_hint_place(dstDevice));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
			       unsigned int flags, CUstream hStream)
{
	struct wh_block b;

	if (!managed_block(devPtr, &b))
		return wh_raw_cuMemPrefetchAsync_v2(devPtr, count, location, flags, hStream);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return prefetch(&b, devPtr, count, location);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
				 CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
				 size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	size_t i, loc = 0;
	CUresult res = CUDA_SUCCESS;

	if (!dptrs || !sizes || !prefetchLocs || !prefetchLocIdxs || !numPrefetchLocs || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count && res == CUDA_SUCCESS; i++) {
		while (loc + 1 < numPrefetchLocs && prefetchLocIdxs[loc + 1] <= i)
			loc++;
		res = cuMemPrefetchAsync_v2(dptrs[i], sizes[i], prefetchLocs[loc], 0, hStream);
	}
	return res;
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
				unsigned int flags)
{
	struct wh_block b;

	if (!managed_block(dptr, &b))
		return wh_raw_cuStreamAttachMemAsync(hStream, dptr, length, flags);
	return flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
	       flags == CU_MEM_ATTACH_SINGLE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- Questions ------------------------------------------------------------------------ */

static bool names_device(CUmem_range_attribute type, CUdeviceptr p, size_t count)
{
	unsigned int kind;

	return wh_raw_cuMemRangeGetAttribute(&kind, sizeof(kind), type, p, count) ==
	       CUDA_SUCCESS && kind == CU_MEM_LOCATION_TYPE_DEVICE;
}

/* The worker's driver answers with its own numbers of devices. */
static CUresult ask_driver(void *data, size_t dataSize, CUmem_range_attribute attribute,
			   CUdeviceptr devPtr, size_t count)
{
	CUresult res = wh_raw_cuMemRangeGetAttribute(data, dataSize, attribute, devPtr, count);
	size_t i, numbers = 0;
	int *dev = data;

	if (res != CUDA_SUCCESS)
		return res;
	if (attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
	    attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ||
	    attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION)
		numbers = dataSize / sizeof(*dev);
	else if ((attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID &&
		  names_device(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, devPtr, count)) ||
		 (attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID &&
		  names_device(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, devPtr, count)))
		numbers = 1;
	for (i = 0; i < numbers; i++)
		if (wh_device_shown(&dev[i], dev[i]) != CUDA_SUCCESS)
			dev[i] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
				CUdeviceptr devPtr, size_t count)
{
	struct wh_hinted bytes;
	struct wh_block b;
	CUresult res;

	if (!managed_block(devPtr, &b))
		return ask_driver(data, dataSize, attribute, devPtr, count);
	if (!is_part(&b, devPtr, count))
		return CUDA_ERROR_INVALID_VALUE;
	bytes = (struct wh_hinted) { (uintptr_t)b.start, b.asked, devPtr, count };
	pthread_mutex_lock(&hints_lock);
	res = wh_hints_ask(&hints, &bytes, data, dataSize, attribute);
	pthread_mutex_unlock(&hints_lock);
	return res;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
				 size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
	CUresult res = CUDA_SUCCESS;
	size_t i;

	if (!data || !dataSizes || !attributes || !numAttributes)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < numAttributes && res == CUDA_SUCCESS; i++)
		res = cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
	return res;
}
