// SPDX-License-Identifier: Apache-2.0
/*
 * The memory limit. The memory that a tenant holds of a device is the sum over the accounts of its
 * living workers. A worker adds to its own account before it asks the driver, under the usage
 * region's lock. It subtracts again when the call failed or the memory is freed. So the sum is
 * never above the quota, whichever processes race, and a worker that dies gives everything back
 * with its account.
 *
 * The charge is what the driver takes, not what was asked for: whole blocks of 2 MiB, of which
 * small allocations share some. Some memory is visible in no call (contexts, code, stacks, library
 * workspaces). It comes from the driver's own figure for the process: the part of the figure above
 * the tracked sum is charged on top.
 */
#include "limits/memory.h"

#include "limits/ipc.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ENTRIES	1024u
/* The driver's figure is read again when it is older than this. */
#define FIGURE_AGE_US	20000u
/* It is also read again whenever less than this is left of the quota. */
#define MARGIN		(256ull << 20)

/* --- Entries: charges, by address or handle ----------------------------------------- */

static uint32_t hash(uint32_t type, uint64_t key)
{
	return (uint32_t)(((key ^ (uint64_t)type << 56) * 0x9e3779b97f4a7c15ULL) >> 32);
}

struct wh_mem_entry *wh_mem_find(struct wh_mem_state *m, uint32_t type, uint64_t key)
{
	uint32_t i;
	struct wh_mem_entry *e;

	for (i = hash(type, key); ; i++) {
		e = &m->table[i & (m->size - 1)];
		if (!e->used)
			return NULL;
		if (e->used == 1 && e->type == type && e->key == key)
			return e;
	}
}

static void place(struct wh_mem_entry *table, uint32_t size, const struct wh_mem_entry *e)
{
	uint32_t i = hash(e->type, e->key);

	while (table[i & (size - 1)].used == 1)
		i++;
	table[i & (size - 1)] = *e;
}

/* Rebuilds the table, larger if needed. This also drops the places of removed entries. */
static bool rebuild(struct wh_mem_state *m)
{
	uint32_t i, living = 0, size = m->size;
	struct wh_mem_entry *table;

	for (i = 0; i < m->size; i++)
		living += m->table[i].used == 1;
	if (living > size / 4)
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return false;
	for (i = 0; i < m->size; i++)
		if (m->table[i].used == 1)
			place(table, size, &m->table[i]);
	free(m->table);
	m->table = table;
	m->size = size;
	m->filled = living;
	return true;
}

struct wh_mem_entry *wh_mem_add(struct wh_mem_state *m, uint32_t type, uint64_t key)
{
	struct wh_mem_entry e = { .key = key, .type = type, .used = 1, .refs = 1, .device = -1 };

	/* The table is always half empty, so that searches end. */
	if (m->filled >= m->size / 2 && !rebuild(m) && m->filled + 1 >= m->size)
		return NULL;
	place(m->table, m->size, &e);
	m->filled++;
	return wh_mem_find(m, type, key);
}

void wh_mem_remove(struct wh_mem_state *m, struct wh_mem_entry *e)
{
	(void)m;
	e->used = 2;
}

/* --- The sum ------------------------------------------------------------------------- */

/*
 * A worker killed with the lock leaves it to the next one, which has nothing to repair: each
 * account is one word. The lock belongs to the tenant alone.
 */
bool wh_sums_lock(struct wh_session *s)
{
	return wh_usage_lock(s->limits.usage->lock);
}

void wh_sums_unlock(struct wh_session *s)
{
	wh_usage_unlock(s->limits.usage->lock);
}

static void hold(struct wh_session *s, int device, uint64_t bytes)
{
	struct wh_device_usage *u = &s->limits.account->device[device];

	__atomic_store_n(&u->memory, u->memory + bytes, __ATOMIC_RELAXED);
	s->limits.risen |= 1u << device;
}

#define TAKING	(1u << 31)	/* a bit of `risen' that is no device */

/* The peak is not noted at the charge: until the driver agrees, memory is asked for, not held. */
void wh_mem_note_peak(struct wh_session *s)
{
	struct wh_device_usage *u = s->limits.account->device;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		if (s->limits.risen & 1u << d && u[d].memory > u[d].memory_peak)
			u[d].memory_peak = u[d].memory;
	if (s->limits.risen & TAKING)
		__atomic_store_n(&s->limits.account->taking, 0, __ATOMIC_RELAXED);
	s->limits.risen = 0;
}

uint64_t wh_mem_quota(struct wh_session *s, int device)
{
	/*
	 * Nothing fits in a hidden device, which nobody can ask for by number
	 * (server/session/device.c).
	 */
	if (wh_is_hidden(s->limits.page->hidden, device))
		return 1;
	if (s->limits.seen != __atomic_load_n(&s->limits.page->sequence, __ATOMIC_ACQUIRE))
		wh_limits_reread(s);
	return s->limits.limit[device].memory;
}

bool wh_mem_any_quota(struct wh_session *s)
{
	bool any = false;
	int d;

	for (d = 0; d < WH_TENANT_DEVICES && !any; d++)
		any = wh_mem_quota(s, d);
	return any;
}

bool wh_mem_take(struct wh_session *s, int device, uint64_t bytes)
{
	uint64_t quota, held;
	bool fits;

	if (!bytes)
		return true;
	quota = wh_mem_quota(s, device);
	if (!quota) {
		hold(s, device, bytes);
		return true;
	}
	if (!wh_sums_lock(s))
		return false;
	held = wh_tenant_memory(s->limits.usage, (unsigned int)device);
	fits = held <= quota && bytes <= quota - held;
	if (fits)
		hold(s, device, bytes);
	wh_sums_unlock(s);
	return fits;
}

void wh_mem_note_taken(struct wh_session *s, int device, uint64_t bytes)
{
	bool locked = wh_mem_quota(s, device) && wh_sums_lock(s);

	hold(s, device, bytes);
	if (locked)
		wh_sums_unlock(s);
}

/* A smaller figure is never wrong for the others, so this needs no lock. It does not go below 0. */
void wh_mem_give(struct wh_session *s, int device, uint64_t bytes)
{
	struct wh_device_usage *u = &s->limits.account->device[device];

	__atomic_store_n(&u->memory, bytes < u->memory ? u->memory - bytes : 0, __ATOMIC_RELAXED);
}

/* --- The driver's own figure ------------------------------------------------------------ */

bool wh_mem_driver(struct wh_session *s, int device, uint64_t *bytes)
{
	struct wh_mem_state *m = s->limits.mem;

	if (!m->figure_asked) {
		m->figure_asked = true;
		m->figure = wh_figure_open(s);
		s->limits.kernels = m->figure != NULL;
		m->pool_step = m->figure ? WH_MEM_POOL_STEP : 0;
	}
	return m->figure && wh_figure_read(m->figure, device, bytes);
}

/* Call this before the worker loses the right to open files. */
void wh_mem_prepare(struct wh_session *s)
{
	uint64_t unused;

	if (s->limits.mem && !s->limits.mem->figure_asked)
		wh_mem_driver(s, 0, &unused);
}

/* Makes the charge the greater of the tracked sum and the driver's figure. */
bool wh_mem_follow(struct wh_session *s, int device)
{
	struct wh_device_usage *u = &s->limits.account->device[device];
	struct wh_mem_device *d = &s->limits.mem->device[device];
	uint64_t bytes, tracked, extra, orphans;

	if (!wh_mem_driver(s, device, &bytes))
		return false;
	u->memory_driver = bytes;
	/* Orphans are charged to the tenant, not to this worker: wh_tenant_orphans(). */
	orphans = wh_ipc_orphans(s, device);
	bytes -= orphans < bytes ? orphans : bytes;
	tracked = u->memory > d->extra ? u->memory - d->extra : 0;
	extra = bytes > tracked ? bytes - tracked : 0;
	if (extra > d->extra)
		wh_mem_note_taken(s, device, extra - d->extra);
	else
		wh_mem_give(s, device, d->extra - extra);
	d->extra = extra;
	return true;
}

bool wh_mem_figure_is_old(const struct wh_session *s)
{
	return __builtin_ia32_rdtsc() - s->limits.mem->figure_tsc >= FIGURE_AGE_US * s->tsc_per_us;
}

void wh_mem_taking(struct wh_session *s)
{
	__atomic_store_n(&s->limits.account->taking, 1, __ATOMIC_RELAXED);
	s->limits.risen |= TAKING;
}

bool wh_mem_unsettled(const struct wh_session *s)
{
	return s->limits.mem->unseen;
}

void wh_mem_settle(struct wh_session *s)
{
	struct wh_mem_state *m = s->limits.mem;
	int d;

	m->unseen = 0;
	for (d = 0; m->figure && d < WH_TENANT_DEVICES; d++)
		if (wh_mem_quota(s, d))
			wh_mem_follow(s, d);
	m->figure_tsc = __builtin_ia32_rdtsc();
}

void wh_library_begins(struct wh_session *s)
{
	if (!s->limits.mem)
		return;
	wh_mem_prepare(s);
	__atomic_store_n(&s->limits.account->taking, 1, __ATOMIC_RELAXED);
}

#define LOOK_CALLS	64u	/* calls of a library until the clock is asked; a power of two */

/* One reading takes longer than many calls, so it waits for a pause, but not for long. */
void wh_library_ended(struct wh_session *s)
{
	if (!s->limits.mem)
		return;
	if (!(++s->limits.mem->unseen & (LOOK_CALLS - 1)) && wh_mem_figure_is_old(s))
		wh_mem_settle(s);
	__atomic_store_n(&s->limits.account->taking, 0, __ATOMIC_RELAXED);
}

/*
 * Call this before `bytes` more are taken. It reads an old figure again, and near the quota any
 * figure, so that memory that libraries took unseen is charged before it matters.
 */
void wh_mem_look(struct wh_session *s, int device, uint64_t bytes)
{
	struct wh_mem_state *m = s->limits.mem;
	uint64_t quota = wh_mem_quota(s, device), held;

	if (!quota || !bytes)
		return;
	held = s->limits.account->device[device].memory;
	if (!wh_mem_figure_is_old(s) && held < quota && bytes < quota - held &&
	    quota - held - bytes > MARGIN)
		return;
	m->figure_tsc = __builtin_ia32_rdtsc();
	wh_mem_follow(s, device);
}

void wh_mem_room(struct wh_session *s, int device, uint64_t *room, uint64_t *quota)
{
	uint64_t held;

	*room = *quota = UINT64_MAX;
	if (!s->limits.mem || device < 0 || device >= WH_TENANT_DEVICES || !wh_mem_quota(s, device))
		return;
	s->limits.mem->pools_dirty = true;
	wh_pools_refresh(s);
	wh_mem_follow(s, device);
	held = wh_tenant_memory(s->limits.usage, (unsigned int)device);
	*quota = s->limits.limit[device].memory;
	*room = held < *quota ? *quota - held : 0;
}

/* --- Charges ------------------------------------------------------------------------------ */

static uint64_t shared_blocks(uint64_t small)
{
	return wh_mem_round(small, WH_MEM_BLOCK);
}

static bool is_small(uint64_t bytes)
{
	return bytes <= WH_MEM_SMALL;
}

/* By how much the blocks grow if small memory grows by `bytes`. */
static uint64_t growth(const struct wh_mem_device *d, uint64_t bytes)
{
	return shared_blocks(d->small + bytes) - shared_blocks(d->small);
}

/* True if so little is left of the quota that each block matters. */
static bool is_tight(struct wh_session *s, int device)
{
	uint64_t quota = wh_mem_quota(s, device);
	uint64_t held = wh_tenant_memory(s->limits.usage, (unsigned int)device);

	return quota && (held >= quota || quota - held < MARGIN);
}

/*
 * Returns how much to reserve: for small memory a block, unless a block has room. For arrays only
 * handles are known, no addresses, so their blocks follow from the sum of their sizes.
 */
static uint64_t needed(struct wh_session *s, const struct wh_charge *c)
{
	if (!is_small(c->bytes))
		return c->bytes;
	if (c->type != WH_MEM_ADDRESS)
		return growth(&s->limits.mem->device[c->device], c->bytes);
	return is_tight(s, c->device) && wh_block_gap(s, c->device, c->bytes) ? 0 : WH_MEM_BLOCK;
}

static bool try_take(struct wh_session *s, struct wh_charge *c)
{
	c->reserved = needed(s, c);
	wh_mem_look(s, c->device, c->reserved);
	if (!wh_mem_take(s, c->device, c->reserved))
		return false;
	if (is_small(c->bytes) && c->type != WH_MEM_ADDRESS)
		s->limits.mem->device[c->device].small += c->bytes;
	return true;
}

/* Returns how much less the driver has without something that is forgotten here. */
static uint64_t forget(struct wh_session *s, int device, uint64_t bytes, uint32_t type,
		       uint64_t key)
{
	struct wh_mem_device *d = &s->limits.mem->device[device];

	if (!is_small(bytes))
		return bytes;
	if (type == WH_MEM_ADDRESS)
		return wh_block_drop(s, device, key, bytes) ? WH_MEM_BLOCK : 0;
	d->small -= bytes < d->small ? bytes : d->small;
	return growth(d, bytes);
}

static void give_back(struct wh_session *s, int device, uint64_t bytes, uint32_t type, uint64_t key)
{
	wh_mem_give(s, device, forget(s, device, bytes, type, key));
}

/*
 * The charge is never less than what the driver has, so nobody else takes it meanwhile. Without a
 * figure for the process only the end of the stream's work says that the memory is free; if that
 * cannot be had, it stays charged until the worker ends.
 */
void wh_mem_give_in_order(struct wh_session *s, int device, uint64_t bytes, const CUstream *order)
{
	uint64_t unused;
	CUresult res = CUDA_ERROR_NOT_SUPPORTED;

	if (!wh_mem_quota(s, device)) {
		wh_mem_give(s, device, bytes);
		return;
	}
	if (wh_mem_driver(s, device, &unused)) {
		s->limits.mem->device[device].extra += bytes;
		s->limits.mem->freeing = true;
		wh_mem_follow(s, device);
		return;
	}
	if (order && s->drv.cuStreamSynchronize)
		res = s->drv.cuStreamSynchronize(*order);
	else if (!order && s->drv.cuCtxSynchronize)
		res = s->drv.cuCtxSynchronize();
	if (res == CUDA_SUCCESS)
		wh_mem_give(s, device, bytes);
}

void wh_mem_make_room(struct wh_session *s, int device)
{
	uint64_t least = 0;
	uint32_t i;
	struct wh_mem_state *m = s->limits.mem;

	wh_pools_refresh(s);
	for (i = 0; i < m->size && s->drv.cuMemPoolTrimTo; i++)
		if (m->table[i].used == 1 && m->table[i].type == WH_H_CUmemoryPool &&
		    m->table[i].device == device && m->table[i].bytes)
			s->drv.cuMemPoolTrimTo((CUmemoryPool)m->table[i].key, least);
	if (s->drv.cuDeviceGraphMemTrim && wh_mem_find(m, WH_MEM_GRAPHS, (uint64_t)device)) {
		s->drv.cuDeviceGraphMemTrim(device);
		m->trims++;
	}
	m->pools_dirty = true;
	wh_pools_refresh(s);
	wh_mem_follow(s, device);
}

CUresult wh_charge(struct wh_session *s, struct wh_charge *c, unsigned int type, int device,
		   uint64_t bytes)
{
	bool usable = s->limits.mem && device >= 0 && device < WH_TENANT_DEVICES;

	*c = (struct wh_charge) { .device = usable ? device : -1, .type = type };
	if (!usable)
		return CUDA_SUCCESS;
	c->bytes = wh_mem_round(bytes, is_small(bytes) ? WH_MEM_ALIGN : WH_MEM_BLOCK);
	if (try_take(s, c))
		return CUDA_SUCCESS;
	wh_mem_make_room(s, device);
	if (try_take(s, c))
		return CUDA_SUCCESS;
	s->limits.account->device[device].refused++;
	c->device = -1;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/*
 * Notes a small allocation by its address: in a block that is known, in the block that was
 * reserved, or in one more block.
 */
static bool place_small(struct wh_session *s, struct wh_charge *c, uint64_t address)
{
	enum wh_block_found found = wh_block_add(s, c->device, address, c->bytes);

	if (found == WH_BLOCK_KNOWN) {
		wh_mem_give(s, c->device, c->reserved);
		return true;
	}
	if (c->reserved || wh_mem_take(s, c->device, WH_MEM_BLOCK))
		return true;
	if (found == WH_BLOCK_NEW)
		wh_block_drop(s, c->device, address, c->bytes);
	return false;
}

/*
 * For a small array near the quota: did the driver take one block more than the sum of arrays
 * needs?
 */
static bool place_array(struct wh_session *s, struct wh_charge *c)
{
	uint64_t before = s->limits.account->device[c->device].memory, quota;

	if (!is_tight(s, c->device) || !wh_mem_follow(s, c->device))
		return true;
	quota = wh_mem_quota(s, c->device);
	if (s->limits.account->device[c->device].memory <= before ||
	    wh_tenant_memory(s->limits.usage, (unsigned int)c->device) <= quota)
		return true;
	give_back(s, c->device, c->bytes, c->type, 0);
	return false;
}

static void undo(struct wh_session *s, const struct wh_charge *c, uint64_t key)
{
	void *object = (void *)(uintptr_t)key;

	if (c->type == WH_MEM_ADDRESS && s->drv.cuMemFree_v2)
		s->drv.cuMemFree_v2(key);
	else if (c->type == WH_H_CUarray && s->drv.cuArrayDestroy)
		s->drv.cuArrayDestroy(object);
	else if (c->type == WH_H_CUmipmappedArray && s->drv.cuMipmappedArrayDestroy)
		s->drv.cuMipmappedArrayDestroy(object);
	else if (c->type == WH_H_CUmemGenericAllocationHandle && s->drv.cuMemRelease)
		s->drv.cuMemRelease(key);
	else if (c->type == WH_H_CUmemoryPool && s->drv.cuMemPoolDestroy)
		s->drv.cuMemPoolDestroy(object);
}

static void undo_small(struct wh_session *s, const struct wh_charge *c, uint64_t key)
{
	s->limits.account->device[c->device].refused++;
	undo(s, c, key);
	wh_mem_follow(s, c->device);
}

static CUresult undo_unknown(struct wh_session *s, const struct wh_charge *c, uint64_t key)
{
	undo(s, c, key);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void keep(struct wh_session *s, const struct wh_charge *c, uint64_t key, uint64_t ctx)
{
	struct wh_mem_entry *e = wh_mem_add(s->limits.mem, c->type, key);

	/* Without memory for an entry it stays charged until the worker ends. */
	if (!e)
		return;
	e->bytes = c->bytes;
	e->device = (int16_t)c->device;
	/* Physical memory and pools live without a context. */
	if (c->type != WH_H_CUmemGenericAllocationHandle && c->type != WH_H_CUmemoryPool)
		e->ctx = ctx;
}

CUresult wh_charged(struct wh_session *s, struct wh_charge *c, CUresult res, uint64_t key,
		    uint64_t ctx)
{
	bool small = is_small(c->bytes), fits = true;

	/* If no device is known, the driver should have refused the call. */
	if (c->device < 0)
		return res == CUDA_SUCCESS && s->limits.mem && wh_mem_any_quota(s) ?
		       undo_unknown(s, c, key) : res;
	wh_note_refused(c, res);
	if (res != CUDA_SUCCESS) {
		if (small && c->type == WH_MEM_ADDRESS)
			wh_mem_give(s, c->device, c->reserved);
		else
			give_back(s, c->device, c->bytes, c->type, key);
		return res;
	}
	/* The driver gave the same name again, so the object that had it before is gone. */
	wh_uncharge(s, c->type, key);
	if (small && c->bytes)
		fits = c->type == WH_MEM_ADDRESS ? place_small(s, c, key) : place_array(s, c);
	if (!fits) {
		undo_small(s, c, key);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	keep(s, c, key, ctx);
	return CUDA_SUCCESS;
}

static void drop(struct wh_session *s, struct wh_mem_entry *e)
{
	if (--e->refs)
		return;
	if (e->type == WH_H_CUmemGenericAllocationHandle)
		wh_ipc_allocation_gone(s, e->key);
	if (e->device >= 0)
		give_back(s, e->device, e->bytes, e->type, e->key);
	wh_mem_remove(s->limits.mem, e);
}

/* A second handle of an allocation stands for a reference to the first one. */
static struct wh_mem_entry *object_of(struct wh_mem_state *m, struct wh_mem_entry *e)
{
	if (!e->object)
		return e;
	return wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, e->object);
}

void wh_uncharge(struct wh_session *s, unsigned int type, uint64_t key)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e, *object;

	if (!m)
		return;
	if (type == WH_MEM_ADDRESS)
		wh_ipc_freed(s, key);
	if (type == WH_H_CUmemoryPool)
		wh_ipc_pool_gone(s, key);
	if (type == WH_H_CUgraph || type == WH_H_CUgraphExec)
		wh_graph_gone(s, (void *)key);
	/* Another function may later have the address of a function of this code. */
	if (type == WH_H_CUmodule || type == WH_H_CUlibrary)
		memset(m->launched, 0, sizeof(m->launched));
	e = wh_mem_find(m, type, key);
	if (!e) {
		/* Most likely it was freed to a pool. What the pool keeps is seen later. */
		m->pools_dirty = true;
		if (type == WH_MEM_ADDRESS && wh_pool_freed(s, key))
			return;
		if (m->figure && wh_self.device >= 0 &&
		    (type == WH_H_CUmodule || type == WH_H_CUlibrary))
			wh_mem_follow(s, wh_self.device);
		return;
	}
	object = object_of(m, e);
	if (type == WH_H_CUmemoryPool) {
		wh_pool_destroyed(s, e);
	} else if (object && object != e) {
		if (!--e->refs)
			wh_mem_remove(m, e);
		drop(s, object);
	} else {
		drop(s, e);
	}
}

void wh_freed_in_order(struct wh_session *s, uint64_t address, CUstream stream)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e = m ? wh_mem_find(m, WH_MEM_ADDRESS, address) : NULL;
	uint64_t bytes;
	int device;

	if (!e || e->device < 0) {
		wh_uncharge(s, WH_MEM_ADDRESS, address);
		return;
	}
	/* Others may have it open: then it stays charged as theirs from now on. */
	wh_ipc_freed(s, address);
	device = e->device;
	bytes = forget(s, device, e->bytes, WH_MEM_ADDRESS, address);
	wh_mem_remove(m, e);
	wh_mem_give_in_order(s, device, bytes, &stream);
}

void wh_mem_context_gone(struct wh_session *s, uint64_t ctx)
{
	struct wh_mem_state *m = s->limits.mem;
	uint32_t i;
	int d;

	if (!m || !ctx)
		return;
	for (i = 0; i < m->size; i++) {
		if (m->table[i].used != 1 || m->table[i].ctx != ctx)
			continue;
		m->table[i].refs = 1;
		drop(s, &m->table[i]);
	}
	m->pools_dirty = true;
	for (d = 0; m->figure && d < WH_TENANT_DEVICES; d++)
		wh_mem_follow(s, d);
}

void wh_mem_end_with(struct wh_session *s, uint64_t ctx)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_charge c = { .device = -1 };
	uint32_t i;

	for (i = 0; m && ctx && i < m->size; i++) {
		c.type = m->table[i].type;
		if (m->table[i].used == 1 && m->table[i].ctx == ctx)
			undo(s, &c, m->table[i].key);
	}
}

/* --- Physical memory: kept by handles and by mappings ---------------------------------- */

void wh_mapped(struct wh_session *s, uint64_t addr, uint64_t size, uint64_t handle)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e, *object;
	uint64_t first;

	object = m ? wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, handle) : NULL;
	object = object ? object_of(m, object) : NULL;
	if (!object)
		return;
	object->refs++;
	first = object->key;
	e = wh_mem_add(m, WH_MEM_MAPPING, addr);
	if (e) {
		e->object = first;
		e->bytes = size;
	}
}

/* Unmaps whole mappings, which lie side by side. */
void wh_unmapped(struct wh_session *s, uint64_t addr, uint64_t size)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e, *object;
	uint64_t at = addr, end = addr + size;

	while (m && at < end) {
		e = wh_mem_find(m, WH_MEM_MAPPING, at);
		/* Imported memory has no entry, so go on by the smallest mapping. */
		if (!e) {
			at += WH_MEM_BLOCK;
			continue;
		}
		at += e->bytes;
		object = wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, e->object);
		wh_mem_remove(m, e);
		if (object)
			drop(s, object);
	}
}

static struct wh_mem_entry *mapping_at(struct wh_mem_state *m, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < m->size; i++)
		if (m->table[i].used == 1 && m->table[i].type == WH_MEM_MAPPING &&
		    addr - m->table[i].key < m->table[i].bytes)
			return &m->table[i];
	return NULL;
}

/*
 * The client got one more handle of the memory mapped at an address: the same handle again, or
 * another.
 */
void wh_retained(struct wh_session *s, uint64_t addr, uint64_t handle)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *map = m ? mapping_at(m, addr) : NULL, *object, *e;
	uint64_t first = map ? map->object : 0;

	object = first ? wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, first) : NULL;
	if (!object)
		return;
	object->refs++;
	if (handle == first)
		return;
	e = wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, handle);
	if (e && e->object == first) {
		e->refs++;
		return;
	}
	e = wh_mem_add(m, WH_H_CUmemGenericAllocationHandle, handle);
	if (e)
		e->object = first;
}

/* --- Life ------------------------------------------------------------------------ */

bool wh_mem_open(struct wh_session *s)
{
	struct wh_mem_state *m = calloc(1, sizeof(*m));

	if (!m)
		return false;
	m->size = FIRST_ENTRIES;
	m->trims = 1;
	m->table = calloc(m->size, sizeof(*m->table));
	if (!m->table) {
		free(m);
		return false;
	}
	s->limits.mem = m;
	return true;
}

void wh_mem_close(struct wh_session *s)
{
	struct wh_mem_state *m = s->limits.mem;

	if (!m)
		return;
	wh_figure_close(m->figure);
	wh_blocks_free(m);
	free(m->table);
	free(m);
	s->limits.mem = NULL;
}
