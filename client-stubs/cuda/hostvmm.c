// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual memory management with physical memory of the host (cuMemCreate). Such memory is a block
 * of the far area, which client and worker share, so its bytes stay with the handle. Mapped, the
 * same pages lie also at the reserved address, in the worker and here, and count as registered
 * there. Before the first mapping this side takes the addresses of the whole reservation, which
 * are the worker's until then. What is mapped in other reservations is known only to tell the two
 * kinds apart: the worker does everything else.
 */
#define _GNU_SOURCE
#include "stubs.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_WRITE	CU_MEM_ACCESS_FLAGS_PROT_READWRITE

/* Physical memory; it lives as long as a handle or its mapping is left. */
struct memory {
	struct memory *next;
	CUmemGenericAllocationHandle id;
	CUmemAllocationProp prop;
	uint8_t *far;
	size_t size;
	unsigned int handles;
	bool mapped;
};

struct reservation {
	uint8_t *start;
	size_t size;
	bool held;		/* for memory of the host: the addresses are taken here, too */
};

struct mapping {
	uint8_t *start;
	size_t size;
	struct memory *memory;	/* NULL: of a device, and the rest is not used */
	bool live;		/* some access is set: it is registered, and mapped here */
	uint64_t devices;	/* bit by bit, those that have access */
	bool host;		/* access of the host is set */
};

/* Only one thread uses what follows at a time. */
static pthread_mutex_t vmm_lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories WH_PAIR;
static struct reservation *reserved WH_PAIR;	/* by address */
static struct mapping *mapped WH_PAIR;		/* by address */
static size_t reservations WH_PAIR, reserved_room WH_PAIR;
static size_t mappings WH_PAIR, mapped_room WH_PAIR;

/* --- Tables -------------------------------------------------------------------------- */

/* Returns the reservation that holds all of it, or NULL. */
static struct reservation *reservation_of(const uint8_t *p, size_t size)
{
	size_t i = WH_ABOVE(reserved, reservations, start, p), at;

	if (!i)
		return NULL;
	at = p - reserved[i - 1].start;
	return at < reserved[i - 1].size && size <= reserved[i - 1].size - at ? &reserved[i - 1] :
										NULL;
}

void wh_after_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
				  CUdeviceptr addr, unsigned long long flags)
{
	size_t i;

	(void)alignment;
	(void)addr;
	(void)flags;
	wh_range_add(*ptr, size);
	pthread_mutex_lock(&vmm_lock);
	i = WH_ABOVE(reserved, reservations, start, *ptr);
	if (WH_MAKE_ROOM(reserved, reservations, reserved_room, 16)) {
		memmove(&reserved[i + 1], &reserved[i], (reservations - i) * sizeof(*reserved));
		reserved[i] = (struct reservation) { (uint8_t *)*ptr, size, false };
		reservations++;
	}
	pthread_mutex_unlock(&vmm_lock);
}

static bool insert(const struct mapping *p)
{
	size_t i = WH_ABOVE(mapped, mappings, start, p->start);

	if (!WH_MAKE_ROOM(mapped, mappings, mapped_room, 64))
		return false;
	memmove(&mapped[i + 1], &mapped[i], (mappings - i) * sizeof(*mapped));
	mapped[i] = *p;
	mappings++;
	return true;
}

static void drop(size_t i)
{
	memmove(&mapped[i], &mapped[i + 1], (mappings - i - 1) * sizeof(*mapped));
	mappings--;
}

static struct mapping *mapping_of(const void *p)
{
	size_t i = WH_ABOVE(mapped, mappings, start, p);

	return i && (const uint8_t *)p - mapped[i - 1].start < (ptrdiff_t)mapped[i - 1].size ?
	       &mapped[i - 1] : NULL;
}

/* Returns the first mapping that ends above p; `mappings`: there is none. */
static size_t first_from(const uint8_t *p)
{
	size_t i = WH_ABOVE(mapped, mappings, start, p);

	return i && p - mapped[i - 1].start < (ptrdiff_t)mapped[i - 1].size ? i - 1 : i;
}

/* How many mappings of one kind have a part of it? */
static size_t count(const uint8_t *p, size_t size, bool host)
{
	size_t i, n = 0;

	for (i = first_from(p); i < mappings &&
	     (mapped[i].start < p || (size_t)(mapped[i].start - p) < size); i++)
		n += (mapped[i].memory != NULL) == host;
	return n;
}

/*
 * For a call about a range that has memory of the host: whole mappings in a row have to fill it,
 * and a device's memory may not be among them. Gives the first and their number.
 */
static CUresult row(const uint8_t *p, size_t size, const char *name, size_t *first, size_t *n)
{
	size_t i = first_from(p), done = 0;

	if (count(p, size, false))
		return wh_refuse(name);
	for (*first = i; i < mappings && mapped[i].start == p + done && done < size; i++)
		done += mapped[i].size;
	*n = i - *first;
	return done == size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- Addresses here --------------------------------------------------------------------- */

/* A fork's child has a worker of its own, and with it other reservations. */
static void *nothing(void *p, size_t size, int how)
{
	void *got = mmap(p, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1,
			 0);

	if (got == p)
		madvise(p, size, MADV_DONTFORK);
	return got;
}

static CUresult hold(struct reservation *r)
{
	void *p;

	if (r->held)
		return CUDA_SUCCESS;
	if (count(r->start, r->size, false))
		return wh_refuse("cuMemMap of host memory beside a device's in one reservation");
	p = nothing(r->start, r->size, MAP_FIXED_NOREPLACE);
	if (p != r->start) {
		if (p != MAP_FAILED)
			munmap(p, r->size);
		return wh_refuse("cuMemMap of host memory at addresses that are in use here");
	}
	r->held = true;
	/* From now on only what is registered there has a device address. */
	wh_range_remove((CUdeviceptr)r->start);
	return CUDA_SUCCESS;
}

/* Puts the pages at their address, for the device and for the program. */
static CUresult go_live(struct mapping *p)
{
	uint8_t *far = p->memory->far;
	CUresult res = wh_host_block(WH_HOST_PLACE, far, p->size, p->start, 0);

	if (res != CUDA_SUCCESS)
		return res;
	/* With size 0 the block also stays where it is. */
	if (mremap(far, 0, p->size, MREMAP_MAYMOVE | MREMAP_FIXED, p->start) == p->start) {
		madvise(p->start, p->size, MADV_DOFORK);
		p->live = wh_registered_add(p->start, p->size);
	}
	if (p->live)
		return CUDA_SUCCESS;
	nothing(p->start, p->size, MAP_FIXED);
	wh_host_block(WH_HOST_BACK, far, p->size, NULL, 0);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult go_back(struct mapping *p)
{
	CUresult res = CUDA_SUCCESS;

	if (!p->live)
		return res;
	res = wh_host_block(WH_HOST_BACK, p->memory->far, p->size, NULL, 0);
	if (res != CUDA_SUCCESS)
		return res;
	wh_registered_drop(p->start);
	nothing(p->start, p->size, MAP_FIXED);
	p->live = false;
	return res;
}

/* --- Memory ---------------------------------------------------------------------------- */

static struct memory *memory_of(CUmemGenericAllocationHandle handle)
{
	struct memory *m;

	for (m = memories; m && (m->id != handle || !m->handles); m = m->next)
		;
	return m;
}

static void put(struct memory *m)
{
	struct memory **p;

	if (m->handles || m->mapped)
		return;
	for (p = &memories; *p != m; p = &(*p)->next)
		;
	*p = m->next;
	wh_host_block(WH_HOST_UNPIN, m->far, m->size, NULL, 0);
	wh_far_empty(m->far, m->size);
	wh_data_free(m->far);
	free(m);
}

/* Such memory is served here. Everything else is left to the worker, also what it refuses. */
static bool is_host(const CUmemAllocationProp *p)
{
	return wh_client.state == WH_READY && p && p->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
	       (p->location.type == CU_MEM_LOCATION_TYPE_HOST ||
		p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) &&
	       wh_client.link.far && !wh_client.link.one_process;
}

/* A kernel without NUMA has no list of nodes, and node 0 is its memory. */
static bool is_node(int id)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", id);
	return id == 0 || (id > 0 && access(path, F_OK) == 0);
}

static CUresult may_make(size_t size, const CUmemAllocationProp *prop)
{
	size_t grain;
	CUresult res = cuMemGetAllocationGranularity(&grain, prop,
						     CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (res != CUDA_SUCCESS)
		return res;
	if (!size || size % grain ||
	    (prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && !is_node(prop->location.id)))
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes)
		return wh_refuse("cuMemCreate of host memory for other processes");
	if (prop->allocFlags.compressionType || prop->allocFlags.usage ||
	    prop->allocFlags.gpuDirectRDMACapable)
		return wh_refuse("cuMemCreate of host memory with flags");
	return CUDA_SUCCESS;
}

static CUresult make(struct memory *m)
{
	CUresult res;

	m->far = wh_far_alloc(m->size, 0, false);
	if (!m->far)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = wh_host_block(WH_HOST_KEEP, m->far, m->size, NULL, 0);
	if (res != CUDA_SUCCESS)
		wh_data_free(m->far);
	return res;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct memory *m;
	CUresult res;

	if (!is_host(prop))
		return wh_raw_cuMemCreate(handle, size, prop, flags);
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	res = may_make(size, prop);
	if (res != CUDA_SUCCESS)
		return res;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*m = (struct memory) { .id = wh_block_id(), .prop = *prop, .size = size, .handles = 1 };
	res = make(m);
	if (res != CUDA_SUCCESS) {
		free(m);
		return res;
	}
	*handle = m->id;
	pthread_mutex_lock(&vmm_lock);
	m->next = memories;
	memories = m;
	pthread_mutex_unlock(&vmm_lock);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct memory *m;

	pthread_mutex_lock(&vmm_lock);
	m = memory_of(handle);
	if (m) {
		m->handles--;
		put(m);
	}
	pthread_mutex_unlock(&vmm_lock);
	return m ? CUDA_SUCCESS : wh_raw_cuMemRelease(handle);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct mapping *p;
	bool found;

	pthread_mutex_lock(&vmm_lock);
	p = mapping_of(addr);
	found = p && p->memory;
	if (found && handle) {
		p->memory->handles++;
		*handle = p->memory->id;
	}
	pthread_mutex_unlock(&vmm_lock);
	if (!found)
		return wh_raw_cuMemRetainAllocationHandle(handle, addr);
	return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	struct memory *m;

	pthread_mutex_lock(&vmm_lock);
	m = memory_of(handle);
	if (m && prop)
		*prop = m->prop;
	pthread_mutex_unlock(&vmm_lock);
	if (!m)
		return wh_raw_cuMemGetAllocationPropertiesFromHandle(prop, handle);
	return prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- Mappings --------------------------------------------------------------------------- */

/* A part of a handle's memory is refused as the driver refuses it (seen on an H200). */
static CUresult map_host(uint8_t *p, size_t size, size_t offset, struct memory *m,
			 unsigned long long flags)
{
	struct mapping new = { .start = p, .size = size, .memory = m };
	struct reservation *r = reservation_of(p, size);
	CUresult res;

	if (flags || !size || !r || (uintptr_t)p % WH_PAGE_SIZE || count(p, size, true))
		return CUDA_ERROR_INVALID_VALUE;
	if (offset || size != m->size)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (m->mapped)
		return wh_refuse("cuMemMap of host memory that is mapped already");
	res = hold(r);
	if (res != CUDA_SUCCESS)
		return res;
	if (!insert(&new))
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->mapped = true;
	return CUDA_SUCCESS;
}

/* The lock is kept, so that no other thread puts host memory beside it. */
static CUresult map_device(CUdeviceptr ptr, size_t size, size_t offset,
			   CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct mapping new = { .start = (uint8_t *)ptr, .size = size };
	struct reservation *r = reservation_of(new.start, size);
	CUresult res;

	if (r && r->held)
		return wh_refuse("cuMemMap of a device's memory beside the host's in one reservation");
	res = wh_raw_cuMemMap(ptr, size, offset, handle, flags);
	if (res == CUDA_SUCCESS && !insert(&new)) {
		wh_raw_cuMemUnmap(ptr, size);
		res = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return res;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct memory *m;
	CUresult res;

	pthread_mutex_lock(&vmm_lock);
	m = memory_of(handle);
	res = m ? map_host((uint8_t *)ptr, size, offset, m, flags) :
		  map_device(ptr, size, offset, handle, flags);
	pthread_mutex_unlock(&vmm_lock);
	return res;
}

static CUresult unmap_device(CUdeviceptr ptr, size_t size)
{
	CUresult res = wh_raw_cuMemUnmap(ptr, size);
	size_t i;

	if (res != CUDA_SUCCESS)
		return res;
	i = first_from((uint8_t *)ptr);
	while (i < mappings && (size_t)mapped[i].start - ptr < size)
		drop(i);
	return res;
}

/* The device may still use the memory, so it waits for all work of the context. */
static CUresult unmap_host(uint8_t *p, size_t size)
{
	CUresult res;
	size_t i, n;

	res = row(p, size, "cuMemUnmap of a device's and the host's memory in one call", &i, &n);
	if (res != CUDA_SUCCESS)
		return res;
	if (wh_thread.ctx && wh_raw_cuCtxSynchronize() == CUDA_ERROR_NOT_PERMITTED)
		return CUDA_ERROR_NOT_PERMITTED;
	for (; n; n--) {
		struct memory *m = mapped[i].memory;

		res = go_back(&mapped[i]);
		if (res != CUDA_SUCCESS)
			return res;
		drop(i);
		m->mapped = false;
		put(m);
	}
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult res;

	pthread_mutex_lock(&vmm_lock);
	res = count((uint8_t *)ptr, size, true) ? unmap_host((uint8_t *)ptr, size) :
						  unmap_device(ptr, size);
	pthread_mutex_unlock(&vmm_lock);
	return res;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct reservation *r;
	CUresult res;

	pthread_mutex_lock(&vmm_lock);
	r = reservation_of((uint8_t *)ptr, 1);
	if (r && count(r->start, r->size, true))
		res = CUDA_ERROR_INVALID_VALUE;
	else
		res = wh_raw_cuMemAddressFree(ptr, size);
	if (res == CUDA_SUCCESS) {
		wh_range_remove(ptr);
		if (r && r->held)
			munmap(r->start, r->size);
		if (r) {
			memmove(r, r + 1, (reserved + reservations - r - 1) * sizeof(*r));
			reservations--;
		}
	}
	pthread_mutex_unlock(&vmm_lock);
	return res;
}

/* --- Access ------------------------------------------------------------------------------ */

/*
 * Where access is set, both sides have it. So it can be given and not be taken away before the
 * memory is unmapped.
 */
static CUresult check_access(const CUmemAccessDesc *d)
{
	const CUmemLocation *l = &d->location;

	if (!(l->type == CU_MEM_LOCATION_TYPE_DEVICE ? wh_is_device(l->id) :
	      l->type == CU_MEM_LOCATION_TYPE_HOST || l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || d->flags == CU_MEM_ACCESS_FLAGS_PROT_READ)
		return wh_refuse("cuMemSetAccess to host memory other than to read and write it");
	return d->flags == READ_WRITE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void note_access(struct mapping *p, const CUmemAccessDesc *desc, size_t count)
{
	for (; count--; desc++) {
		if (desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			p->devices |= 1ULL << desc->location.id;
		else
			p->host = true;
	}
}

static CUresult set_access(uint8_t *p, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult res = wh_thread.ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	size_t i, n;

	if (!desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < count && res == CUDA_SUCCESS; i++)
		res = check_access(&desc[i]);
	if (res == CUDA_SUCCESS)
		res = row(p, size, "cuMemSetAccess to a device's and the host's memory in one call",
			  &i, &n);
	for (; res == CUDA_SUCCESS && n; i++, n--) {
		if (!mapped[i].live)
			res = go_live(&mapped[i]);
		if (res == CUDA_SUCCESS)
			note_access(&mapped[i], desc, count);
	}
	return res;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	CUresult res;
	bool host;

	pthread_mutex_lock(&vmm_lock);
	host = count((uint8_t *)ptr, size, true);
	res = host ? set_access((uint8_t *)ptr, size, desc, n) : CUDA_SUCCESS;
	pthread_mutex_unlock(&vmm_lock);
	return host ? res : wh_raw_cuMemSetAccess(ptr, size, desc, n);
}

static CUresult get_access(unsigned long long *flags, const CUmemLocation *l,
			   const struct mapping *p)
{
	bool has;

	if (!flags || !l)
		return CUDA_ERROR_INVALID_VALUE;
	switch (l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (!wh_is_device(l->id))
			return CUDA_ERROR_INVALID_VALUE;
		has = p->devices & 1ULL << l->id;
		break;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		has = p->host;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	*flags = has ? READ_WRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
	CUresult res = CUDA_SUCCESS;
	struct mapping *p;
	bool host;

	pthread_mutex_lock(&vmm_lock);
	p = mapping_of((void *)ptr);
	host = p && p->memory;
	if (host)
		res = get_access(flags, location, p);
	pthread_mutex_unlock(&vmm_lock);
	return host ? res : wh_raw_cuMemGetAccess(flags, location, ptr);
}
