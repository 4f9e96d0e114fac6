/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the hints on managed memory that cuMemAdvise() and cuMemPrefetchAsync() give, and answers
 * cuMemRangeGetAttribute(), by what cuda.h documents of them. The client keeps those on its own
 * managed memory, softgpu those on its own. A hint is about whole pages, but never about memory
 * beyond its allocation. Nothing here knows which devices there are, and callers hold a lock.
 */
#ifndef WORMHOLE_HINTS_H
#define WORMHOLE_HINTS_H

#include <cuda.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WH_HINT_PAGE	4096ULL
/* Stands beside CUmem_advise for a prefetch. */
#define WH_HINT_PREFETCH	((CUmem_advise)0)

/* What holds for all bytes from `start` to before `end`, which are of one allocation. */
struct wh_hint {
	uint64_t block, start, end;
	uint64_t users;			/* bit n: it is accessed by device n */
	CUmemLocation preferred, fetched;	/* of no type: nowhere */
	bool read_mostly, host_uses;
};

struct wh_hints {
	struct wh_hint *of;		/* by address; memory of none has no hints */
	size_t count, room;
};

/* `count` bytes at `at`, of the allocation of `size` bytes at `block`. */
struct wh_hinted {
	uint64_t block, size, at, count;
};

/* --- Places ------------------------------------------------------------------------- */

/* Does the place not matter for this advice? */
static inline bool wh_hint_anywhere(CUmem_advise advice)
{
	return advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
	       advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
	       advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

static inline CUmemLocation wh_hint_place(CUdevice dev)
{
	return (CUmemLocation) {
		.type = dev == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST :
					       CU_MEM_LOCATION_TYPE_DEVICE,
		.id = dev,
	};
}

/*
 * Returns whether a hint can be about such a place, and gives the thread's own node its number.
 * Whether a device is there is the caller's to find out.
 */
static inline bool wh_hint_can_be(CUmem_advise advice, CUmemLocation *place)
{
	bool user = advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
		    advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
	unsigned int node = 0;

	switch ((int)place->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return place->id >= 0 && place->id < 64;
	case CU_MEM_LOCATION_TYPE_HOST:
		return true;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return !user && place->id >= 0;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		getcpu(NULL, &node);
		*place = (CUmemLocation) { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = node };
		return !user;
	}
	return false;
}

static inline bool wh_hint_same_place(CUmemLocation a, CUmemLocation b)
{
	return a.type == b.type &&
	       (a.id == b.id || (a.type != CU_MEM_LOCATION_TYPE_DEVICE &&
				 a.type != CU_MEM_LOCATION_TYPE_HOST_NUMA));
}

/* --- The table ------------------------------------------------------------------------ */

/* Returns the index of the first hint that ends above the address. */
static inline size_t wh_hint_at(const struct wh_hints *h, uint64_t at)
{
	size_t lo = 0, hi = h->count, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (h->of[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static inline void wh_hint_insert(struct wh_hints *h, size_t i, struct wh_hint new)
{
	memmove(&h->of[i + 1], &h->of[i], (h->count - i) * sizeof(*h->of));
	h->of[i] = new;
	h->count++;
}

/* Makes hint i end at the address, and another that is alike begin there. */
static inline void wh_hint_cut(struct wh_hints *h, uint64_t at)
{
	size_t i = wh_hint_at(h, at);

	if (i == h->count || h->of[i].start >= at)
		return;
	wh_hint_insert(h, i, h->of[i]);
	h->of[i].end = at;
	h->of[i + 1].start = at;
}

static inline bool wh_hint_equal(const struct wh_hint *a, const struct wh_hint *b)
{
	return a->users == b->users && a->read_mostly == b->read_mostly &&
	       a->host_uses == b->host_uses && wh_hint_same_place(a->preferred, b->preferred) &&
	       wh_hint_same_place(a->fetched, b->fetched);
}

/* Joins hints that are alike, and drops those that say nothing. */
static inline void wh_hints_tidy(struct wh_hints *h)
{
	const struct wh_hint none = { 0 };
	size_t i, kept = 0;

	for (i = 0; i < h->count; i++) {
		struct wh_hint *last = kept ? &h->of[kept - 1] : NULL;
		struct wh_hint *this = &h->of[i];

		if (wh_hint_equal(this, &none))
			continue;
		if (last && last->block == this->block && last->end == this->start &&
		    wh_hint_equal(last, this))
			last->end = this->end;
		else
			h->of[kept++] = *this;
	}
	h->count = kept;
}

/* Two cuts, and a new hint in each gap. */
static inline bool wh_hints_reserve(struct wh_hints *h)
{
	size_t need = 2 * h->count + 4;
	struct wh_hint *more;

	if (need <= h->room)
		return true;
	more = realloc(h->of, 2 * need * sizeof(*more));
	if (!more)
		return false;
	h->of = more;
	h->room = 2 * need;
	return true;
}

/* Sees to it that there are hints for all of the bytes, and for no other bytes with them. */
static inline void wh_hints_cover(struct wh_hints *h, uint64_t block, uint64_t start, uint64_t end)
{
	size_t i;

	wh_hint_cut(h, start);
	wh_hint_cut(h, end);
	for (i = wh_hint_at(h, start); start < end; i++) {
		uint64_t to = i < h->count && h->of[i].start < end ? h->of[i].start : end;

		if (start < to)
			wh_hint_insert(h, i, (struct wh_hint) {
				.block = block, .start = start, .end = to });
		start = h->of[i].end;
	}
}

/* --- What is said, and what is answered ------------------------------------------------ */

static inline void wh_hint_set(struct wh_hint *h, CUmem_advise advice, CUmemLocation place)
{
	bool on = advice == CU_MEM_ADVISE_SET_ACCESSED_BY;

	switch ((int)advice) {
	case WH_HINT_PREFETCH:
		h->fetched = place;
		break;
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		h->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		h->preferred = place;
		break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		h->preferred = (CUmemLocation) { 0 };
		break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		if (place.type == CU_MEM_LOCATION_TYPE_HOST)
			h->host_uses = on;
		else if (on)
			h->users |= 1ULL << place.id;
		else
			h->users &= ~(1ULL << place.id);
		break;
	}
}

/*
 * Keeps a hint on the pages that hold these bytes. The place is one that wh_hint_can_be() has
 * taken, or one of those that do not matter.
 */
static inline CUresult wh_hints_give(struct wh_hints *h, const struct wh_hinted *b,
				     CUmem_advise advice, CUmemLocation place)
{
	uint64_t start = b->at & -WH_HINT_PAGE;
	uint64_t end = (b->at + b->count + WH_HINT_PAGE - 1) & -WH_HINT_PAGE;
	size_t i;

	if (start < b->block)
		start = b->block;
	if (end > b->block + b->size)
		end = b->block + b->size;
	if (!wh_hints_reserve(h))
		return CUDA_ERROR_OUT_OF_MEMORY;
	wh_hints_cover(h, b->block, start, end);
	for (i = wh_hint_at(h, start); i < h->count && h->of[i].start < end; i++)
		wh_hint_set(&h->of[i], advice, place);
	wh_hints_tidy(h);
	return CUDA_SUCCESS;
}

/* The allocation at this address has ended. */
static inline void wh_hints_forget(struct wh_hints *h, uint64_t block, uint64_t size)
{
	size_t from = wh_hint_at(h, block), to = from;

	while (to < h->count && h->of[to].start < block + size)
		to++;
	memmove(&h->of[from], &h->of[to], (h->count - to) * sizeof(*h->of));
	h->count -= to - from;
}

/* Leaves in `all` what it has in common with the next bytes. */
static inline void wh_hint_common(struct wh_hint *all, const struct wh_hint *next)
{
	const CUmemLocation nowhere = { 0 };

	all->read_mostly &= next->read_mostly;
	all->host_uses &= next->host_uses;
	all->users &= next->users;
	if (!wh_hint_same_place(all->preferred, next->preferred))
		all->preferred = nowhere;
	if (!wh_hint_same_place(all->fetched, next->fetched))
		all->fetched = nowhere;
}

static inline struct wh_hint wh_hints_of(const struct wh_hints *h, const struct wh_hinted *b)
{
	const struct wh_hint none = { 0 };
	struct wh_hint all = none;
	uint64_t at = b->at, end = b->at + b->count;
	size_t i;

	for (i = wh_hint_at(h, at); i < h->count && h->of[i].start < end; i++) {
		if (at == b->at)
			all = h->of[i];
		else
			wh_hint_common(&all, &h->of[i]);
		if (h->of[i].start > at)
			return none;
		at = h->of[i].end;
	}
	return at < end ? none : all;
}

/* Lists the devices; what is left of the room holds no device. */
static inline CUresult wh_hint_users(const struct wh_hint *h, int *list, size_t size)
{
	size_t room = size / sizeof(*list), n = 0;
	int dev;

	if (!size || size % sizeof(*list))
		return CUDA_ERROR_INVALID_VALUE;
	for (dev = 0; dev < 64 && n < room; dev++)
		if (h->users >> dev & 1)
			list[n++] = dev;
	if (h->host_uses && n < room)
		list[n++] = CU_DEVICE_CPU;
	while (n < room)
		list[n++] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

/* A node of the host counts as the host where an answer knows devices and the host alone. */
static inline int wh_hint_number(CUmemLocation place, bool nodes)
{
	if (place.type == CU_MEM_LOCATION_TYPE_DEVICE ||
	    (nodes && place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA))
		return place.id;
	return place.type ? CU_DEVICE_CPU : CU_DEVICE_INVALID;
}

/*
 * Answers a question about these bytes: as cuMemRangeGetAttribute(), after the caller has found
 * that they are of one allocation.
 */
static inline CUresult wh_hints_ask(const struct wh_hints *h, const struct wh_hinted *b, int *data,
				    size_t size, CUmem_range_attribute attribute)
{
	struct wh_hint all = wh_hints_of(h, b);

	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY)
		return wh_hint_users(&all, data, size);
	if (size != sizeof(*data))
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*data = all.read_mostly;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*data = wh_hint_number(all.preferred, attribute !=
				       CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*data = wh_hint_number(all.fetched, attribute !=
				       CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*data = all.preferred.type;
		return CUDA_SUCCESS;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*data = all.fetched.type;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

#endif
