/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ipc.c and ipc_pools.c share: the tenant's table of shared objects, and what this worker has
 * opened of it. Sessions with a tenant only, but for wh_ipc_refused().
 */
#ifndef WORMHOLE_IPC_TABLE_H
#define WORMHOLE_IPC_TABLE_H

#include "limits/ipc.h"
#include "limits/memory.h"

/* The handle that a client holds: 64 bytes, as many as the driver's own. */
#define HANDLE_MAGIC	0x434c4f4857ULL		/* "WHOLC" */
struct wh_ipc_handle {
	uint64_t magic;		/* the kind is in its highest byte */
	uint64_t id[2];
	uint64_t zero[5];
};
_Static_assert(sizeof(struct wh_ipc_handle) == sizeof(CUipcMemHandle) &&
	       sizeof(struct wh_ipc_handle) == sizeof(CUipcEventHandle) &&
	       sizeof(((struct wh_shared *)0)->real) == sizeof(struct wh_ipc_handle), "64 bytes each");
_Static_assert(WH_TENANT_WORKERS <= 64, "one bit for each worker");

/* An object that this worker has opened: its address or handle, and its entry in the table. */
struct wh_ipc_import {
	uint64_t addr, ctx, id[2];
	uint32_t kind;
	uint32_t entry;
	uint32_t opened;
};

struct wh_ipc {
	unsigned int account;
	uint32_t exports;	/* number of entries that may be ours */
	struct wh_ipc_import *import;
	size_t imports;
};

struct wh_shared_table *wh_ipc_table(struct wh_session *s);
bool wh_ipc_lock(struct wh_session *s);
void wh_ipc_unlock(struct wh_session *s);

/* With the lock: the entry of an object of ours; one that this worker may open. NULL: none. */
struct wh_shared *wh_ipc_find_ours(struct wh_session *s, uint32_t kind, uint64_t key);
struct wh_shared *wh_ipc_find(struct wh_session *s, uint32_t kind, const uint64_t id[2]);

/* True: *res is the answer. False: the caller uses the driver's own handles. */
bool wh_ipc_refused(struct wh_session *s, CUresult *res);
bool wh_ipc_taken(const struct wh_ipc_handle *h, uint32_t kind);
CUresult wh_ipc_publish(struct wh_session *s, const struct wh_shared *what,
			struct wh_ipc_handle *out);
/* Ends the export of an object of ours, if there is one. */
void wh_ipc_end(struct wh_session *s, uint32_t kind, uint64_t key);

/* ipc_paged.c. False: the address is in no allocation of paged.h. */
bool wh_ipc_paged_get(struct wh_session *s, struct wh_ipc_handle *out, CUdeviceptr addr,
		      CUresult *res);
CUresult wh_ipc_paged_open(struct wh_session *s, const struct wh_ipc_handle *h, CUdeviceptr *addr,
			   unsigned int flags);

/* May the driver be asked for a descriptor of this type? False: *res is the answer. */
bool wh_ipc_exports(struct wh_session *s, const void *handle, CUmemAllocationHandleType type,
		    CUresult *res);
/*
 * Makes 64 bytes that stand for a descriptor: of `a`, which is offered to others, or without a
 * tenant of this process. The descriptor is closed where that fails.
 */
CUresult wh_ipc_export_file(struct wh_session *s, uint32_t kind, const struct wh_mem_entry *a,
			    int fd, void *handle);
/* An import of such bytes. Without a descriptor (-1) the driver is not asked, and *res is set. */
struct wh_ipc_opening {
	struct wh_shared *entry;	/* NULL: without a tenant */
	int fd;
	bool had;			/* this worker had it open */
};
struct wh_ipc_opening wh_ipc_import_begin(struct wh_session *s, uint32_t kind, const void *handle,
					  CUmemAllocationHandleType type, CUresult *res);
/* The driver has been asked, and `object` is what it made, if that is `good`. */
void wh_ipc_import_end(struct wh_session *s, const struct wh_ipc_opening *o, uint64_t object,
		       bool good);
/* Its steps: the entry is marked as open, its owner is asked (-1: it has none), and it is noted. */
struct wh_shared *wh_ipc_reserve(struct wh_session *s, uint32_t kind, const uint64_t id[2],
				 bool *had, uint32_t *pid);
int wh_ipc_fetch(const struct wh_shared *e, uint32_t pid, const uint64_t id[2]);
void wh_ipc_settle(struct wh_session *s, struct wh_shared *e, uint64_t object, bool good, bool had);

struct wh_ipc_import *wh_ipc_import_at(struct wh_ipc *ipc, uint32_t kind, uint64_t addr);
/* Makes room for an import before the driver is asked, so that no opened object is ever lost. */
bool wh_ipc_make_room(struct wh_ipc *ipc);
/* With the lock. */
void wh_ipc_note_import(struct wh_session *s, uint64_t addr, uint64_t ctx,
			const struct wh_shared *e);
void wh_ipc_drop_import(struct wh_session *s, struct wh_ipc_import *i);

#endif
