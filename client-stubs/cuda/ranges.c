// SPDX-License-Identifier: Apache-2.0
/*
 * Knows which addresses are the device's. A copy with unified addresses does not say where its
 * two ends are, and an address of this process may by chance be valid in the worker. So the
 * client remembers what the driver gave it.
 */
#include "stubs.h"
#include "table.h"

struct range {
	CUdeviceptr start;
	size_t size;
};

static pthread_rwlock_t range_lock WH_PAIR = PTHREAD_RWLOCK_INITIALIZER;
static struct range *range WH_PAIR;	/* by address, disjoint */
static size_t ranges WH_PAIR, range_room WH_PAIR;

/* Returns the index of the first range that starts above p. */
static size_t above(CUdeviceptr p)
{
	return WH_ABOVE(range, ranges, start, p);
}

void wh_range_add(CUdeviceptr start, size_t size)
{
	size_t i;

	if (!start || !size)
		return;
	pthread_rwlock_wrlock(&range_lock);
	i = above(start);
	if (i && range[i - 1].start == start) {
		if (range[i - 1].size < size)
			range[i - 1].size = size;
		goto out;
	}
	if (!WH_MAKE_ROOM(range, ranges, range_room, 256))
		goto out;
	memmove(&range[i + 1], &range[i], (ranges - i) * sizeof(*range));
	range[i] = (struct range) { start, size };
	ranges++;
out:
	pthread_rwlock_unlock(&range_lock);
}

void wh_range_remove(CUdeviceptr start)
{
	size_t i;

	pthread_rwlock_wrlock(&range_lock);
	i = above(start);
	if (i && range[i - 1].start == start) {
		memmove(&range[i - 1], &range[i], (ranges - i) * sizeof(*range));
		ranges--;
	}
	pthread_rwlock_unlock(&range_lock);
}

bool wh_range_has(CUdeviceptr p)
{
	bool found;
	size_t i;

	pthread_rwlock_rdlock(&range_lock);
	i = above(p);
	found = i && p - range[i - 1].start < range[i - 1].size;
	pthread_rwlock_unlock(&range_lock);
	return found;
}

/*
 * A range that ended with its context is still in the list, and may lie inside a newer one. So the
 * one that reaches furthest counts.
 */
size_t wh_range_left(CUdeviceptr p)
{
	size_t left = 0, at, i;

	pthread_rwlock_rdlock(&range_lock);
	for (i = above(p); i--; ) {
		at = p - range[i].start;
		if (at < range[i].size && range[i].size - at > left)
			left = range[i].size - at;
	}
	pthread_rwlock_unlock(&range_lock);
	return left;
}

/* --- Where device addresses come from -------------------------------------------- */

void wh_after_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	wh_range_add(*dptr, bytesize);
}

void wh_after_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
				 size_t Height, unsigned int ElementSizeBytes)
{
	(void)WidthInBytes;
	(void)ElementSizeBytes;
	wh_range_add(*dptr, *pPitch * Height);
}

void wh_after_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	(void)hStream;
	wh_range_add(*dptr, bytesize);
}

void wh_after_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
				      CUstream hStream)
{
	(void)pool;
	(void)hStream;
	wh_range_add(*dptr, bytesize);
}
