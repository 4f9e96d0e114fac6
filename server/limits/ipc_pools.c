// SPDX-License-Identifier: Apache-2.0
/*
 * Pools that processes of one tenant share: a descriptor for the pool, and 64 bytes for each piece
 * of its memory, which stand for the driver's own in the tenant's table (ipc.c).
 *
 * What others have open of a pool stays on the device when the owner frees it. So an exported pool
 * keeps all it ever had, and its entry says how much: that is charged to the owner, and when the
 * owner has destroyed the pool or has ended, to the tenant until the last importer has freed its
 * memory and destroyed its pool.
 */
#include "limits/ipc_table.h"
#include "limits/ipc_files.h"

#include <string.h>
#include <unistd.h>

#include "limits/memory.h"

/* Keeps what is freed, since others may have it open. */
static CUresult keep_all(struct wh_session *s, CUmemoryPool pool)
{
	cuuint64_t most = UINT64_MAX;

	if (!s->drv.cuMemPoolSetAttribute)
		return CUDA_ERROR_NOT_SUPPORTED;
	return s->drv.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most);
}

bool wh_ipc_export_pool(struct wh_session *s, void *handle, CUmemoryPool pool,
			CUmemAllocationHandleType type, uint64_t flags, CUresult *res)
{
	const struct wh_mem_entry *e = NULL;
	int fd = -1;

	if (!wh_ipc_exports(s, handle, type, res))
		return true;
	if (s->limits.ipc)
		e = wh_mem_find(s->limits.mem, WH_H_CUmemoryPool, (uintptr_t)pool);
	/* A pool that was not made here, but imported, is its maker's to export. */
	*res = s->limits.ipc && (!e || e->device < 0) ? CUDA_ERROR_INVALID_VALUE :
	       s->drv.cuMemPoolExportToShareableHandle(&fd, pool, type, flags);
	if (*res != CUDA_SUCCESS)
		return true;
	if (e)
		*res = keep_all(s, pool);
	if (*res == CUDA_SUCCESS)
		*res = wh_ipc_export_file(s, WH_SHARED_POOL, e, fd, handle);
	else
		close(fd);
	return true;
}

bool wh_ipc_import_pool(struct wh_session *s, CUmemoryPool *pool, const void *handle,
			CUmemAllocationHandleType type, uint64_t flags, CUresult *res)
{
	struct wh_ipc_opening o = wh_ipc_import_begin(s, WH_SHARED_POOL, handle, type, res);

	if (o.fd >= 0)
		*res = s->drv.cuMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)o.fd, type,
								 flags);
	wh_ipc_import_end(s, &o, (uintptr_t)*pool, *res == CUDA_SUCCESS);
	return true;
}

/* The driver's own 64 bytes stay in the table. Without the pool's own export they are of no use. */
static CUresult export_pooled(struct wh_session *s, CUdeviceptr addr, struct wh_ipc_handle *out)
{
	struct wh_mem_state *m = s->limits.mem;
	const struct wh_mem_entry *part = wh_mem_find(m, WH_MEM_POOLED, addr);
	struct wh_shared what = {
		.kind = WH_SHARED_POOLED, .device = -1, .key = addr,
		.owner = (uint8_t)s->limits.ipc->account,
		.generation = s->limits.account->generation,
	};
	CUmemPoolPtrExportData real;
	CUresult res;

	if (!part || part->inside != WH_H_CUmemoryPool)
		return CUDA_ERROR_INVALID_VALUE;
	res = s->drv.cuMemPoolExportPointer(&real, addr);
	if (res != CUDA_SUCCESS)
		return res;
	memcpy(what.real, &real, sizeof(what.real));
	return wh_ipc_publish(s, &what, out);
}

bool wh_ipc_export_pooled(struct wh_session *s, CUmemPoolPtrExportData *out, CUdeviceptr addr,
			  CUresult *res)
{
	if (!s->limits.ipc)
		return wh_ipc_refused(s, res);
	*res = out ? export_pooled(s, addr, (struct wh_ipc_handle *)out) : CUDA_ERROR_INVALID_VALUE;
	return true;
}

/* The pool's entry is open as long as the memory is. Its index is good: nobody else frees it. */
static CUresult import_pooled(struct wh_session *s, CUdeviceptr *addr, CUmemoryPool pool,
			      const struct wh_ipc_handle *h)
{
	struct wh_ipc_import *of = wh_ipc_import_at(s->limits.ipc, WH_SHARED_POOL, (uintptr_t)pool);
	CUmemPoolPtrExportData real;
	struct wh_shared *e, *p;
	CUresult res;

	if (!of)
		return CUDA_ERROR_INVALID_VALUE;
	p = &wh_ipc_table(s)->entry[of->entry];
	e = wh_ipc_find(s, WH_SHARED_POOLED, h->id);
	if (!e || p->id[0] != of->id[0] || p->id[1] != of->id[1] ||
	    e->owner != p->owner || e->generation != p->generation)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&real, e->real, sizeof(real));
	res = s->drv.cuMemPoolImportPointer(addr, pool, &real);
	if (res == CUDA_SUCCESS)
		wh_ipc_note_import(s, *addr, 0, p);
	return res;
}

bool wh_ipc_import_pooled(struct wh_session *s, CUdeviceptr *addr, CUmemoryPool pool,
			  const CUmemPoolPtrExportData *data, CUresult *res)
{
	struct wh_ipc_handle h;

	if (!s->limits.ipc)
		return wh_ipc_refused(s, res);
	*res = CUDA_ERROR_INVALID_VALUE;
	if (!addr || !data)
		return true;
	memcpy(&h, data, sizeof(h));
	if (!wh_ipc_taken(&h, WH_SHARED_POOLED))
		return true;
	if (!wh_ipc_make_room(s->limits.ipc)) {
		*res = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (wh_ipc_lock(s)) {
		*res = import_pooled(s, addr, pool, &h);
		wh_ipc_unlock(s);
	}
	return true;
}

/* An imported pool, or imported memory of one, is gone. */
static void drop_pooled(struct wh_session *s, uint64_t object)
{
	struct wh_ipc_import *i = wh_ipc_import_at(s->limits.ipc, WH_SHARED_POOL, object);

	if (!i || --i->opened || !wh_ipc_lock(s))
		return;
	wh_ipc_drop_import(s, i);
	wh_ipc_unlock(s);
}

void wh_ipc_freed(struct wh_session *s, uint64_t addr)
{
	wh_ipc_end(s, WH_SHARED_MEMORY, addr);
	wh_ipc_end(s, WH_SHARED_PAGED, addr);
	wh_ipc_end(s, WH_SHARED_POOLED, addr);
	if (s->limits.ipc && s->limits.ipc->imports)
		drop_pooled(s, addr);
}

void wh_ipc_pool_gone(struct wh_session *s, uint64_t pool)
{
	wh_ipc_end(s, WH_SHARED_POOL, pool);
	if (s->limits.ipc && s->limits.ipc->imports)
		drop_pooled(s, pool);
}

bool wh_ipc_pool_imported(const struct wh_session *s, CUmemoryPool pool)
{
	return s->limits.ipc && wh_ipc_import_at(s->limits.ipc, WH_SHARED_POOL, (uintptr_t)pool);
}

static bool exported(struct wh_session *s, CUmemoryPool pool)
{
	bool yes;

	if (!s->limits.ipc || !s->limits.ipc->exports || !wh_ipc_lock(s))
		return false;
	yes = wh_ipc_find_ours(s, WH_SHARED_POOL, (uintptr_t)pool);
	wh_ipc_unlock(s);
	return yes;
}

/* Trimming gives back what can be given back, which is nothing. */
bool wh_ipc_pool_keeps(struct wh_session *s, CUmemoryPool pool, CUresult *res)
{
	*res = CUDA_SUCCESS;
	return exported(s, pool);
}

bool wh_ipc_pool_attribute(struct wh_session *s, CUmemoryPool pool, CUmemPool_attribute which,
			   CUresult *res)
{
	*res = CUDA_ERROR_NOT_SUPPORTED;
	return which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && exported(s, pool);
}

uint64_t wh_ipc_pool_has(struct wh_session *s, uint64_t pool, uint64_t bytes)
{
	struct wh_shared *e;

	if (!s->limits.ipc || !s->limits.ipc->exports || !wh_ipc_lock(s))
		return bytes;
	e = wh_ipc_find_ours(s, WH_SHARED_POOL, pool);
	if (e && bytes < e->bytes && e->openers & wh_tenant_living(s->limits.usage))
		bytes = e->bytes;
	if (e)
		e->bytes = bytes;
	wh_ipc_unlock(s);
	return bytes;
}
