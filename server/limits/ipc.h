/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and events of other processes of the same tenant. Included by session/handler.h; generated
 * handlers call these functions as cuda-api/cuda.api says. True: *res is the call's result, and the
 * driver is not called again.
 */
#ifndef WORMHOLE_IPC_H
#define WORMHOLE_IPC_H

#include "state/state.h"

bool wh_ipc_get_memory(struct wh_session *s, CUipcMemHandle *out, CUdeviceptr addr, CUresult *res);
bool wh_ipc_open_memory(struct wh_session *s, CUdeviceptr *addr, const CUipcMemHandle *handle,
			unsigned int flags, CUresult *res);
/* `id` is the event's handle in the client's world. */
bool wh_ipc_get_event(struct wh_session *s, CUipcEventHandle *out, CUevent event, uint64_t id,
		      CUresult *res);
bool wh_ipc_open_event(struct wh_session *s, CUevent *event, const CUipcEventHandle *handle,
		       CUresult *res);

/* `handle`: 64 bytes that stand for a descriptor, in both directions (WH_SHAREABLE_*). */
bool wh_ipc_export(struct wh_session *s, void *handle, CUmemGenericAllocationHandle allocation,
		   CUmemAllocationHandleType type, uint64_t flags, CUresult *res);
bool wh_ipc_import(struct wh_session *s, CUmemGenericAllocationHandle *allocation,
		   const void *handle, CUmemAllocationHandleType type, CUresult *res);
/* The last handle and the last mapping of memory of cuMemCreate, or of imported memory, is gone. */
void wh_ipc_allocation_gone(struct wh_session *s, uint64_t real);
bool wh_ipc_passes_files(const struct wh_session *s);

/* Pools of other processes of the tenant: `handle` as above, `data` has 64 bytes. */
bool wh_ipc_export_pool(struct wh_session *s, void *handle, CUmemoryPool pool,
			CUmemAllocationHandleType type, uint64_t flags, CUresult *res);
bool wh_ipc_import_pool(struct wh_session *s, CUmemoryPool *pool, const void *handle,
			CUmemAllocationHandleType type, uint64_t flags, CUresult *res);
bool wh_ipc_export_pooled(struct wh_session *s, CUmemPoolPtrExportData *out, CUdeviceptr addr,
			  CUresult *res);
bool wh_ipc_import_pooled(struct wh_session *s, CUdeviceptr *addr, CUmemoryPool pool,
			  const CUmemPoolPtrExportData *data, CUresult *res);
/* A pool is destroyed. Call this before its charge ends. */
void wh_ipc_pool_gone(struct wh_session *s, uint64_t pool);
/* Is the pool another process's? It gives no memory, and nothing of it is charged here. */
bool wh_ipc_pool_imported(const struct wh_session *s, CUmemoryPool pool);
/* For cuMemPoolTrimTo() and cuMemPoolSetAttribute(): an exported pool keeps what it has. */
bool wh_ipc_pool_keeps(struct wh_session *s, CUmemoryPool pool, CUresult *res);
bool wh_ipc_pool_attribute(struct wh_session *s, CUmemoryPool pool, CUmemPool_attribute which,
			   CUresult *res);
/*
 * A pool of ours has so many bytes of its device now. Returns what it is charged with, which is no
 * less than before while others have it open.
 */
uint64_t wh_ipc_pool_has(struct wh_session *s, uint64_t pool, uint64_t bytes);

/* An allocation is about to be given back. After this nobody can open it. */
void wh_ipc_freed(struct wh_session *s, uint64_t addr);
/* The same for an event, by its handle in the client's world. */
void wh_ipc_event_gone(struct wh_session *s, uint64_t id);
/* The driver has closed, once, what wh_ipc_open_memory() opened at this address. */
void wh_ipc_closed(struct wh_session *s, uint64_t addr);
/* Is this the last time that memory of limits/paged.h, which was opened here, is closed? */
bool wh_ipc_opened_once(struct wh_session *s, CUdeviceptr addr);
void wh_ipc_context_gone(struct wh_session *s, uint64_t ctx);
/* Closes what was opened in a context. Call it before the context ends, while it is current. */
void wh_ipc_end_with(struct wh_session *s, uint64_t ctx);
/*
 * Returns how much of the tenant's orphaned memory the driver is taken to count for this process.
 */
uint64_t wh_ipc_orphans(struct wh_session *s, int device);
/* Can handles be made and opened in this session at all? */
bool wh_ipc_works(const struct wh_session *s);

/* For sessions with a tenant only. */
bool wh_ipc_open(struct wh_session *s);
void wh_ipc_close(struct wh_session *s);

#endif
