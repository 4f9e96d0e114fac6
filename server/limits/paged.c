// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the allocations of paged.h. Each has a reservation of addresses, physical memory of one
 * device, and a mapping of the whole; all devices of the tenant that can reach that device may use
 * it. The table is sorted by address.
 */
#include "limits/paged.h"

#include <stdlib.h>
#include <string.h>

#include "limits/ipc.h"

/* --- The table ------------------------------------------------------------------------- */

/* The first range that ends behind the address. */
static size_t place_of(const struct wh_paged *p, uint64_t addr)
{
	size_t low = 0, high = p->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (p->range[middle].addr + p->range[middle].size > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct wh_paged_range *wh_paged_find(struct wh_paged *p, uint64_t addr)
{
	size_t i = place_of(p, addr);

	return i < p->n && p->range[i].addr <= addr ? &p->range[i] : NULL;
}

bool wh_paged_overlaps(struct wh_paged *p, uint64_t addr, uint64_t size)
{
	size_t i = place_of(p, addr);

	return i < p->n && (p->range[i].addr <= addr || p->range[i].addr - addr < size);
}

static bool put(struct wh_paged *p, const struct wh_paged_range *r)
{
	size_t room = p->room ? 2 * p->room : 64, i;
	struct wh_paged_range *grown;

	if (p->n == p->room) {
		grown = realloc(p->range, room * sizeof(*grown));
		if (!grown)
			return false;
		p->range = grown;
		p->room = room;
	}
	i = place_of(p, r->addr);
	memmove(&p->range[i + 1], &p->range[i], (p->n - i) * sizeof(*p->range));
	p->range[i] = *r;
	p->n++;
	return true;
}

static void drop(struct wh_paged *p, struct wh_paged_range *r)
{
	size_t i = (size_t)(r - p->range);

	p->n--;
	memmove(&p->range[i], &p->range[i + 1], (p->n - i) * sizeof(*p->range));
}

/* --- Memory of a range -------------------------------------------------------------------- */

static CUmemAllocationProp memory_of(int device, bool shared)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
		.requestedHandleTypes = shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
	};
}

/*
 * Memory of cuMemAlloc() is for other devices after cuCtxEnablePeerAccess(), which does nothing for
 * mappings. Libraries call that unseen, so a device that could be asked for is let in at once.
 */
static CUresult let_in(struct wh_paged *p, uint64_t addr, uint64_t size, int device)
{
	CUmemAccessDesc who[WH_TENANT_DEVICES];
	int devices = 0, can, d;
	size_t n = 0;

	p->real.cuDeviceGetCount(&devices);
	for (d = 0; d < devices && d < WH_TENANT_DEVICES; d++) {
		can = 0;
		if (d != device && !wh_is_hidden(p->hidden, d))
			p->real.cuDeviceCanAccessPeer(&can, d, device);
		if (d != device && !can)
			continue;
		who[n++] = (CUmemAccessDesc){
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d },
			.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
		};
	}
	return p->real.cuMemSetAccess(addr, size, who, n);
}

/* Maps memory at an address and lets devices in. On an error nothing is mapped. */
static CUresult map(struct wh_paged *p, uint64_t addr, uint64_t size, int device,
		    CUmemGenericAllocationHandle handle)
{
	CUresult res = p->real.cuMemMap(addr, size, 0, handle, 0);

	if (res != CUDA_SUCCESS)
		return res;
	res = let_in(p, addr, size, device);
	if (res != CUDA_SUCCESS)
		p->real.cuMemUnmap(addr, size);
	return res;
}

CUresult wh_paged_fill(struct wh_paged *p, struct wh_paged_range *r)
{
	CUmemAllocationProp prop = memory_of(r->device, r->shared);
	CUmemGenericAllocationHandle handle;
	CUresult res = p->real.cuMemCreate(&handle, r->size, &prop, 0);

	if (res != CUDA_SUCCESS)
		return res;
	res = map(p, r->addr, r->size, r->device, handle);
	if (res == CUDA_SUCCESS)
		r->handle = handle;
	else
		p->real.cuMemRelease(handle);
	return res;
}

CUresult wh_paged_empty(struct wh_paged *p, struct wh_paged_range *r)
{
	CUresult res = p->real.cuMemUnmap(r->addr, r->size);

	if (res == CUDA_SUCCESS && r->handle)
		p->real.cuMemRelease(r->handle);
	if (res == CUDA_SUCCESS)
		r->handle = 0;
	return res;
}

static bool round_up(struct wh_paged *p, int device, uint64_t bytes, uint64_t *size)
{
	uint64_t *g = &p->granularity[device];
	CUmemAllocationProp prop = memory_of(device, false);

	if (!*g && p->real.cuMemGetAllocationGranularity(g, &prop,
				CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
		*g = 0;
	if (!*g || bytes > UINT64_MAX - *g)
		return false;
	*size = (bytes + *g - 1) / *g * *g;
	return true;
}

/* --- Allocations --------------------------------------------------------------------------- */

/* Makes the range of @r, whose size and device are known, with memory or with that of `handle'. */
static CUresult make(struct wh_paged *p, struct wh_paged_range *r,
		     CUmemGenericAllocationHandle handle)
{
	CUdeviceptr addr;
	CUresult res = p->real.cuMemAddressReserve(&addr, r->size, 0, 0, 0);

	/* More than there are addresses is more than any device has. */
	if (res == CUDA_ERROR_INVALID_VALUE)
		res = CUDA_ERROR_OUT_OF_MEMORY;
	if (res != CUDA_SUCCESS)
		return res;
	r->addr = addr;
	res = handle ? map(p, addr, r->size, r->device, handle) : wh_paged_fill(p, r);
	if (res == CUDA_SUCCESS) {
		pthread_mutex_lock(&p->lock);
		r->id = ++p->ids;
		if (!put(p, r))
			res = CUDA_ERROR_OUT_OF_MEMORY;
		pthread_mutex_unlock(&p->lock);
		if (res != CUDA_SUCCESS)
			wh_paged_empty(p, r);
	}
	if (res != CUDA_SUCCESS)
		p->real.cuMemAddressFree(addr, r->size);
	return res;
}

/* The current context and its device, in the state that an allocation needs. */
static CUresult here(struct wh_paged *p, struct wh_paged_range *r)
{
	size_t free, total;
	CUdevice device = -1;
	CUresult res = p->real.cuCtxGetCurrent(&r->real);

	if (res == CUDA_SUCCESS)
		res = p->real.cuCtxGetDevice(&device);
	/* A context that a kernel has broken has no memory to give, and says so here. */
	if (res == CUDA_SUCCESS)
		res = p->real.cuMemGetInfo_v2(&free, &total);
	if (res == CUDA_SUCCESS && (device < 0 || device >= WH_TENANT_DEVICES))
		res = CUDA_ERROR_INVALID_DEVICE;
	r->device = device;
	r->ctx = wh_self.ctx;
	return res;
}

CUresult wh_paged_take(struct wh_session *s, CUdeviceptr *out, uint64_t bytes)
{
	struct wh_paged *p = s->limits.paged;
	struct wh_paged_range r = { .bytes = bytes };
	CUresult res = here(p, &r);

	if (res != CUDA_SUCCESS)
		return res;
	if (!round_up(p, r.device, bytes, &r.size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = make(p, &r, 0);
	if (res == CUDA_SUCCESS)
		*out = r.addr;
	return res;
}

/* The driver waits before it frees memory, and does not before it unmaps some. */
static CUresult await_context(struct wh_paged *p, CUcontext ctx)
{
	CUcontext unused;
	CUresult res = p->real.cuCtxPushCurrent_v2(ctx);

	if (res != CUDA_SUCCESS)
		return res;
	res = p->real.cuCtxSynchronize();
	p->real.cuCtxPopCurrent_v2(&unused);
	return res;
}

/* Nothing of the range is in use. */
CUresult wh_paged_end(struct wh_paged *p, uint64_t addr)
{
	struct wh_paged_range r, *at;
	CUresult res = CUDA_SUCCESS;

	pthread_mutex_lock(&p->lock);
	at = wh_paged_find(p, addr);
	if (at && !at->away)
		res = wh_paged_empty(p, at);
	if (at && res == CUDA_SUCCESS) {
		r = *at;
		drop(p, at);
		p->real.cuMemAddressFree(r.addr, r.size);
	}
	pthread_mutex_unlock(&p->lock);
	return at ? res : CUDA_ERROR_INVALID_VALUE;
}

CUresult wh_paged_give(struct wh_session *s, uint64_t addr)
{
	struct wh_paged *p = s->limits.paged;
	const struct wh_paged_range *r;
	CUcontext ctx = NULL;
	CUresult res;

	pthread_mutex_lock(&p->lock);
	r = wh_paged_find(p, addr);
	if (r && r->addr == addr)
		ctx = r->real;
	pthread_mutex_unlock(&p->lock);
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	res = await_context(p, ctx);
	return res == CUDA_SUCCESS ? wh_paged_end(p, addr) : res;
}

void wh_paged_context_gone(struct wh_session *s, uint64_t ctx)
{
	struct wh_paged *p = s->limits.paged;
	size_t i = 0, parts;

	if (!p)
		return;
	while (i < p->n)
		if (p->range[i].ctx != ctx || wh_paged_end(p, p->range[i].addr) != CUDA_SUCCESS)
			i++;
	/* What was pinned in a context may be no more; to pin it again finds out. */
	pthread_mutex_lock(&p->place_lock);
	for (parts = 0; parts < p->parts; parts++)
		p->part[parts]->pinned = false;
	pthread_mutex_unlock(&p->place_lock);
}

/* --- For other workers of the tenant -------------------------------------------------------- */

bool wh_paged_is(struct wh_session *s, uint64_t addr, uint64_t *base, uint64_t *bytes)
{
	struct wh_paged *p = s->limits.paged;
	const struct wh_paged_range *r;

	if (!p)
		return false;
	pthread_mutex_lock(&p->lock);
	r = wh_paged_find(p, addr);
	if (r && !r->foreign) {
		*base = r->addr;
		*bytes = r->bytes;
	}
	pthread_mutex_unlock(&p->lock);
	return r && !r->foreign;
}

/* Copies what a range has to other memory of its device, which takes its place. */
static CUresult exchange(struct wh_paged *p, struct wh_paged_range *r,
			 CUmemGenericAllocationHandle handle)
{
	CUdeviceptr other;
	CUresult res = p->real.cuMemAddressReserve(&other, r->size, 0, 0, 0);

	if (res != CUDA_SUCCESS)
		return res;
	res = map(p, other, r->size, r->device, handle);
	if (res == CUDA_SUCCESS) {
		res = p->real.cuMemcpyDtoD_v2(other, r->addr, r->size);
		if (res == CUDA_SUCCESS)
			res = p->real.cuCtxSynchronize();
		p->real.cuMemUnmap(other, r->size);
	}
	p->real.cuMemAddressFree(other, r->size);
	if (res == CUDA_SUCCESS)
		res = p->real.cuMemUnmap(r->addr, r->size);
	if (res != CUDA_SUCCESS)
		return res;
	res = map(p, r->addr, r->size, r->device, handle);
	if (res != CUDA_SUCCESS)	/* what was there comes back */
		return map(p, r->addr, r->size, r->device, r->handle) == CUDA_SUCCESS ? res :
		       CUDA_ERROR_UNKNOWN;
	p->real.cuMemRelease(r->handle);
	r->handle = handle;
	return CUDA_SUCCESS;
}

/* Work of any context may use the range: others' devices have access to it. */
static CUresult await_all(struct wh_session *s)
{
	const struct wh_handle *e = s->handles.entry;
	CUresult res = CUDA_SUCCESS;
	uint32_t i;

	for (i = 1; res == CUDA_SUCCESS && i < s->handles.used; i++) {
		if (e[i].real && e[i].type == WH_H_CUcontext)
			res = await_context(s->limits.paged, e[i].real);
		/* The handle of a primary context outlives it. */
		if (res == CUDA_ERROR_CONTEXT_IS_DESTROYED || res == CUDA_ERROR_INVALID_CONTEXT)
			res = CUDA_SUCCESS;
	}
	return res;
}

/* Memory can be handed out if it was made for that, which few is. */
static CUresult make_shareable(struct wh_session *s, struct wh_paged_range *r)
{
	CUmemAllocationProp prop = memory_of(r->device, true);
	CUmemGenericAllocationHandle handle;
	struct wh_paged *p = s->limits.paged;
	CUresult res;

	if (r->shared)
		return CUDA_SUCCESS;
	res = await_all(s);
	if (res == CUDA_SUCCESS)
		res = p->real.cuMemCreate(&handle, r->size, &prop, 0);
	/* It can run again when somebody has made room. */
	if (res == CUDA_ERROR_OUT_OF_MEMORY)
		wh_self.refused = (uint32_t)r->device + 1;
	if (res != CUDA_SUCCESS)
		return res;
	res = exchange(p, r, handle);
	r->shared = res == CUDA_SUCCESS;
	if (res != CUDA_SUCCESS)
		p->real.cuMemRelease(handle);
	return res;
}

CUresult wh_paged_export(struct wh_session *s, uint64_t addr, int *fd)
{
	struct wh_paged *p = s->limits.paged;
	struct wh_paged_range *r;
	CUresult res;

	pthread_mutex_lock(&p->lock);
	r = wh_paged_find(p, addr);
	res = r ? make_shareable(s, r) : CUDA_ERROR_INVALID_VALUE;
	if (res == CUDA_SUCCESS)
		res = p->real.cuMemExportToShareableHandle(fd, r->handle,
				CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	pthread_mutex_unlock(&p->lock);
	return res;
}

CUresult wh_paged_import(struct wh_session *s, int fd, int device, uint64_t size, CUdeviceptr *out)
{
	struct wh_paged *p = s->limits.paged;
	struct wh_paged_range r = { .bytes = size, .size = size, .foreign = true };
	CUmemGenericAllocationHandle handle;
	CUresult res = here(p, &r);

	if (res != CUDA_SUCCESS)
		return res;
	r.device = device;
	res = p->real.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
						     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	if (res != CUDA_SUCCESS)
		return res;
	res = make(p, &r, handle);
	/* The mapping keeps it. */
	p->real.cuMemRelease(handle);
	if (res == CUDA_SUCCESS)
		*out = r.addr;
	return res;
}

/* --- Life ------------------------------------------------------------------------------------ */

/* Everything that is called without a look whether the driver has it. */
static bool has_all(const struct wh_driver *d)
{
	return d->cuMemAddressReserve && d->cuMemAddressFree && d->cuMemCreate && d->cuMemRelease &&
	       d->cuMemMap && d->cuMemUnmap && d->cuMemSetAccess && d->cuMemAlloc_v2 &&
	       d->cuMemGetAllocationGranularity && d->cuMemExportToShareableHandle &&
	       d->cuMemImportFromShareableHandle && d->cuMemFree_v2 && d->cuMemGetInfo_v2 &&
	       d->cuMemcpyDtoD_v2 && d->cuMemcpyDtoHAsync_v2 && d->cuMemcpyHtoDAsync_v2 &&
	       d->cuMemHostRegister_v2 && d->cuCtxGetCurrent && d->cuCtxSetCurrent &&
	       d->cuCtxGetDevice && d->cuCtxPushCurrent_v2 && d->cuCtxPopCurrent_v2 &&
	       d->cuCtxSynchronize && d->cuCtxRecordEvent && d->cuEventCreate && d->cuEventQuery &&
	       d->cuEventDestroy_v2 && d->cuStreamCreate && d->cuStreamSynchronize &&
	       d->cuStreamDestroy_v2 && d->cuDeviceGetCount && d->cuDeviceCanAccessPeer;
}

bool wh_paged_moves(const struct wh_session *s)
{
	return s->limits.paged &&
	       __atomic_load_n(&s->limits.page->state, __ATOMIC_ACQUIRE) & WH_MAKES_ROOM;
}

bool wh_paged_begin(struct wh_session *s)
{
	struct wh_paged *p;

	/* Without them all allocations are the driver's own, and it parks such a worker. */
	if (!s->limits.usage || s->limits.paged || !has_all(&s->drv))
		return true;
	p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	p->real = s->drv;
	p->hidden = s->limits.page->hidden;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->place_lock, NULL);
	pthread_cond_init(&p->team.settled, NULL);
	s->limits.paged = p;
	wh_paged_replace(s);
	return true;
}
