// SPDX-License-Identifier: Apache-2.0
/*
 * Memory and events that processes of one tenant share (CUDA IPC). Each client has a worker of its
 * own, so the workers share what the clients share. The exporter's worker puts the driver's handle
 * into the tenant's table (tenant.h), and the client gets a random number of 128 bits for it. A
 * process of the same tenant that presents the number is given the object. A worker maps the table
 * of its own tenant only: another tenant's number is as unknown as a guessed one.
 *
 * Memory is charged to its owner. Memory that the owner frees while others have it open stays on
 * the device, and is charged to the tenant until they close it.
 *
 * A session without a tenant in the client's own process (loopback) has nothing to protect: the
 * driver's handles are passed as they are. A session without a tenant in a process of its own
 * refuses.
 */
#define _GNU_SOURCE
#include "limits/ipc_table.h"
#include "limits/ipc_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "limits/memory.h"

/* --- The table -------------------------------------------------------------------- */

struct wh_shared_table *wh_ipc_table(struct wh_session *s)
{
	return &s->limits.usage->shared;
}

/* A worker that died with the lock left at most an entry without a number, which is free. */
bool wh_ipc_lock(struct wh_session *s)
{
	return wh_usage_lock(wh_ipc_table(s)->lock);
}

void wh_ipc_unlock(struct wh_session *s)
{
	wh_usage_unlock(wh_ipc_table(s)->lock);
}

static uint32_t top_of(const struct wh_shared_table *t)
{
	uint32_t top = __atomic_load_n(&t->top, __ATOMIC_ACQUIRE);

	return top < WH_TENANT_SHARED ? top : WH_TENANT_SHARED;
}

static bool is_free(const struct wh_shared *e)
{
	return !(e->id[0] | e->id[1]);
}

static void release(struct wh_shared *e)
{
	__atomic_store_n(&e->openers, 0, __ATOMIC_RELEASE);
	e->id[0] = e->id[1] = 0;
}

/* True if nobody can open the entry any more, and no living worker has it open. */
static bool is_over(const struct wh_tenant_usage *u, const struct wh_shared *e)
{
	return !wh_shared_alive(u, e) && !(e->openers & wh_tenant_living(u));
}

/* Drops entries that are over. Returns the first free entry, or NULL when there is none. */
static struct wh_shared *sweep(struct wh_session *s)
{
	struct wh_shared_table *t = wh_ipc_table(s);
	struct wh_shared *e, *first = NULL;
	uint32_t i, top = top_of(t), used = 0;

	for (i = 0; i < top; i++) {
		e = &t->entry[i];
		if (!is_free(e) && is_over(s->limits.usage, e))
			release(e);
		if (!is_free(e))
			used = i + 1;
		else if (!first)
			first = e;
	}
	__atomic_store_n(&t->top, used, __ATOMIC_RELEASE);
	if (first && first < &t->entry[used])
		return first;
	return used < WH_TENANT_SHARED ? &t->entry[used] : NULL;
}

static bool is_ours(struct wh_session *s, const struct wh_shared *e)
{
	return !is_free(e) && e->owner == s->limits.ipc->account &&
	       wh_shared_alive(s->limits.usage, e);
}

struct wh_shared *wh_ipc_find_ours(struct wh_session *s, uint32_t kind, uint64_t key)
{
	struct wh_shared_table *t = wh_ipc_table(s);
	uint32_t i, top = top_of(t);

	for (i = 0; i < top; i++)
		if (t->entry[i].kind == kind && t->entry[i].key == key && is_ours(s, &t->entry[i]))
			return &t->entry[i];
	return NULL;
}

/* An entry that was freed still exists for those who have it open. */
static bool can_open(struct wh_session *s, const struct wh_shared *e)
{
	return wh_shared_alive(s->limits.usage, e) || e->openers & 1ull << s->limits.ipc->account;
}

struct wh_shared *wh_ipc_find(struct wh_session *s, uint32_t kind, const uint64_t id[2])
{
	struct wh_shared_table *t = wh_ipc_table(s);
	uint32_t i, top = top_of(t);
	struct wh_shared *e;

	if (!(id[0] | id[1]))
		return NULL;
	for (i = 0; i < top; i++) {
		e = &t->entry[i];
		if (e->id[0] == id[0] && e->id[1] == id[1])
			return e->kind == kind && can_open(s, e) ? e : NULL;
	}
	return NULL;
}

/* The number is written last: until then nobody finds the entry, and if we die it is free. */
static CUresult fill(struct wh_session *s, struct wh_shared *e, const struct wh_shared *what)
{
	uint32_t at = (uint32_t)(e - wh_ipc_table(s)->entry);
	uint64_t id[2] = { 0 };

	if (getrandom(id, sizeof(id), 0) != sizeof(id) || !(id[0] | id[1]))
		return CUDA_ERROR_OPERATING_SYSTEM;
	*e = *what;
	if (at >= top_of(wh_ipc_table(s)))
		__atomic_store_n(&wh_ipc_table(s)->top, at + 1, __ATOMIC_RELEASE);
	e->id[1] = id[1];
	__atomic_store_n(&e->id[0], id[0], __ATOMIC_RELEASE);
	s->limits.ipc->exports++;
	return CUDA_SUCCESS;
}

static void give(struct wh_ipc_handle *out, const struct wh_shared *e)
{
	*out = (struct wh_ipc_handle){ .magic = HANDLE_MAGIC | (uint64_t)e->kind << 56,
				.id = { e->id[0], e->id[1] } };
}

bool wh_ipc_taken(const struct wh_ipc_handle *h, uint32_t kind)
{
	static const uint64_t zero[5];

	return h->magic == (HANDLE_MAGIC | (uint64_t)kind << 56) &&
	       !memcmp(h->zero, zero, sizeof(zero));
}

/*
 * The owner has freed the object. Call this before its charge ends, so that some sum always has it.
 */
static void end_export(struct wh_session *s, struct wh_shared *e)
{
	if (e->kind == WH_SHARED_ALLOCATION || e->kind == WH_SHARED_POOL ||
	    e->kind == WH_SHARED_PAGED)
		wh_ipc_files_withdraw(e->id);
	__atomic_store_n(&e->gone, 1, __ATOMIC_SEQ_CST);
	if (!(e->openers & wh_tenant_living(s->limits.usage)))
		release(e);
	if (s->limits.ipc->exports)
		s->limits.ipc->exports--;
}

/*
 * Exports an object. The same object gets the same number each time, as it does natively. If the
 * driver's handle has changed, the address was used again for something else.
 */
CUresult wh_ipc_publish(struct wh_session *s, const struct wh_shared *what,
			struct wh_ipc_handle *out)
{
	struct wh_shared *e;
	CUresult res = CUDA_SUCCESS;

	if (!wh_ipc_lock(s))
		return CUDA_ERROR_OPERATING_SYSTEM;
	e = wh_ipc_find_ours(s, what->kind, what->key);
	if (e && memcmp(e->real, what->real, sizeof(e->real))) {
		end_export(s, e);
		e = NULL;
	}
	if (!e) {
		e = sweep(s);
		res = e ? fill(s, e, what) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (res == CUDA_SUCCESS)
		give(out, e);
	wh_ipc_unlock(s);
	if (!e)
		fprintf(wh_messages(), "warn: worker: the tenant shares %d objects, the most there may be\n",
			WH_TENANT_SHARED);
	return res;
}

void wh_ipc_end(struct wh_session *s, uint32_t kind, uint64_t key)
{
	struct wh_shared *e;

	if (!s->limits.ipc || !s->limits.ipc->exports || !wh_ipc_lock(s))
		return;
	e = wh_ipc_find_ours(s, kind, key);
	if (e)
		end_export(s, e);
	wh_ipc_unlock(s);
}


/* --- Whether it can be done --------------------------------------------------------- */

bool wh_ipc_works(const struct wh_session *s)
{
	return s->limits.ipc || s->one_process;
}

/* True: *res is the answer. False: the caller uses the driver's own handles. */
bool wh_ipc_refused(struct wh_session *s, CUresult *res)
{
	static bool said;

	if (s->one_process)
		return false;
	*res = CUDA_ERROR_NOT_SUPPORTED;
	if (!said)
		fprintf(wh_messages(), "warn: worker: IPC handles need a tenant, and this client has none\n");
	said = true;
	return true;
}

/* --- Exports ------------------------------------------------------------------------ */

/* Memory ends with the context in which it was allocated, which need not be the current one. */
static uint64_t context_of(struct wh_session *s, CUdeviceptr base)
{
	const struct wh_mem_entry *e = wh_mem_find(s->limits.mem, WH_MEM_ADDRESS, base);

	return e && e->ctx ? e->ctx : wh_self.ctx;
}

bool wh_ipc_get_memory(struct wh_session *s, CUipcMemHandle *out, CUdeviceptr addr, CUresult *res)
{
	struct wh_shared what = { .kind = WH_SHARED_MEMORY };
	CUdeviceptr base = addr;
	CUipcMemHandle real;
	size_t size = 0;

	if (!s->limits.ipc)
		return wh_ipc_refused(s, res);
	if (wh_ipc_paged_get(s, (struct wh_ipc_handle *)out, addr, res))
		return true;
	*res = s->drv.cuIpcGetMemHandle(out ? &real : NULL, addr);
	if (!out && *res == CUDA_SUCCESS)
		*res = CUDA_ERROR_INVALID_VALUE;
	if (*res == CUDA_SUCCESS && s->drv.cuMemGetAddressRange_v2)
		*res = s->drv.cuMemGetAddressRange_v2(&base, &size, addr);
	if (*res != CUDA_SUCCESS)
		return true;
	what.device = (int16_t)wh_self.device;
	what.owner = (uint8_t)s->limits.ipc->account;
	what.generation = s->limits.account->generation;
	what.key = base;
	what.ctx = context_of(s, base);
	what.bytes = wh_mem_round(size, WH_MEM_BLOCK);
	memcpy(what.real, &real, sizeof(real));
	*res = wh_ipc_publish(s, &what, (struct wh_ipc_handle *)out);
	return true;
}

bool wh_ipc_get_event(struct wh_session *s, CUipcEventHandle *out, CUevent event, uint64_t id,
		      CUresult *res)
{
	struct wh_shared what = { .kind = WH_SHARED_EVENT, .device = -1, .key = id };
	CUipcEventHandle real;

	if (!s->limits.ipc)
		return wh_ipc_refused(s, res);
	*res = s->drv.cuIpcGetEventHandle(out ? &real : NULL, event);
	if (!out && *res == CUDA_SUCCESS)
		*res = CUDA_ERROR_INVALID_VALUE;
	if (*res != CUDA_SUCCESS)
		return true;
	what.owner = (uint8_t)s->limits.ipc->account;
	what.generation = s->limits.account->generation;
	what.ctx = wh_self.ctx;
	memcpy(what.real, &real, sizeof(real));
	*res = wh_ipc_publish(s, &what, (struct wh_ipc_handle *)out);
	return true;
}

void wh_ipc_event_gone(struct wh_session *s, uint64_t id)
{
	wh_ipc_end(s, WH_SHARED_EVENT, id);
}

/* --- Imports ------------------------------------------------------------------------ */

struct wh_ipc_import *wh_ipc_import_at(struct wh_ipc *ipc, uint32_t kind, uint64_t addr)
{
	size_t i;

	for (i = 0; i < ipc->imports; i++)
		if (ipc->import[i].kind == kind && ipc->import[i].addr == addr)
			return &ipc->import[i];
	return NULL;
}

static bool has_open(const struct wh_ipc *ipc, uint32_t entry)
{
	size_t i;

	for (i = 0; i < ipc->imports; i++)
		if (ipc->import[i].entry == entry)
			return true;
	return false;
}

/* Makes room for an import before the driver is asked, so that no opened object is ever lost. */
bool wh_ipc_make_room(struct wh_ipc *ipc)
{
	struct wh_ipc_import *p = realloc(ipc->import, (ipc->imports + 1) * sizeof(*p));

	if (p)
		ipc->import = p;
	return p;
}

void wh_ipc_note_import(struct wh_session *s, uint64_t addr, uint64_t ctx,
			const struct wh_shared *e)
{
	struct wh_ipc *ipc = s->limits.ipc;
	struct wh_ipc_import *i = wh_ipc_import_at(ipc, e->kind, addr);

	if (!i) {
		i = &ipc->import[ipc->imports++];
		*i = (struct wh_ipc_import){ .addr = addr, .ctx = ctx, .id = { e->id[0], e->id[1] },
				      .kind = e->kind,
				      .entry = (uint32_t)(e - wh_ipc_table(s)->entry) };
	}
	i->opened++;
}

/* Call this with the lock held. */
void wh_ipc_drop_import(struct wh_session *s, struct wh_ipc_import *i)
{
	struct wh_ipc *ipc = s->limits.ipc;
	struct wh_shared *e = &wh_ipc_table(s)->entry[i->entry];
	uint64_t id[2] = { i->id[0], i->id[1] };
	uint32_t entry = i->entry;

	*i = ipc->import[--ipc->imports];
	if (has_open(ipc, entry) || e->id[0] != id[0] || e->id[1] != id[1])
		return;
	__atomic_and_fetch(&e->openers, ~(1ull << ipc->account), __ATOMIC_SEQ_CST);
	if (is_over(s->limits.usage, e))
		release(e);
}

/*
 * The lock is held across the driver's call, so that the owner cannot free the object uncounted
 * meanwhile.
 */
static CUresult open_entry(struct wh_session *s, const struct wh_ipc_handle *h, CUdeviceptr *addr,
			   unsigned int flags)
{
	struct wh_shared *e = wh_ipc_find(s, WH_SHARED_MEMORY, h->id);
	CUipcMemHandle real;
	bool had;
	CUresult res;

	if (!e)
		return CUDA_ERROR_INVALID_HANDLE;
	memcpy(&real, e->real, sizeof(real));
	had = e->openers & 1ull << s->limits.ipc->account;
	__atomic_or_fetch(&e->openers, 1ull << s->limits.ipc->account, __ATOMIC_SEQ_CST);
	res = s->drv.cuIpcOpenMemHandle_v2(addr, real, flags);
	if (res == CUDA_SUCCESS)
		wh_ipc_note_import(s, *addr, wh_self.ctx, e);
	else if (!had)
		__atomic_and_fetch(&e->openers, ~(1ull << s->limits.ipc->account),
				   __ATOMIC_SEQ_CST);
	return res;
}

bool wh_ipc_open_memory(struct wh_session *s, CUdeviceptr *addr, const CUipcMemHandle *handle,
			unsigned int flags, CUresult *res)
{
	struct wh_ipc_handle h;

	if (!s->limits.ipc)
		return wh_ipc_refused(s, res);
	memcpy(&h, handle, sizeof(h));
	*res = CUDA_ERROR_INVALID_VALUE;
	if (addr && wh_ipc_taken(&h, WH_SHARED_PAGED))
		*res = wh_ipc_paged_open(s, &h, addr, flags);
	if (!addr || !wh_ipc_taken(&h, WH_SHARED_MEMORY))
		return true;
	if (!wh_ipc_make_room(s->limits.ipc)) {
		*res = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (wh_ipc_lock(s)) {
		*res = open_entry(s, &h, addr, flags);
		wh_ipc_unlock(s);
	}
	return true;
}

void wh_ipc_closed(struct wh_session *s, uint64_t addr)
{
	struct wh_ipc *ipc = s->limits.ipc;
	struct wh_ipc_import *i = ipc ? wh_ipc_import_at(ipc, WH_SHARED_MEMORY, addr) : NULL;

	if (ipc && !i)
		i = wh_ipc_import_at(ipc, WH_SHARED_PAGED, addr);
	if (!i || --i->opened || !wh_ipc_lock(s))
		return;
	wh_ipc_drop_import(s, i);
	wh_ipc_unlock(s);
}

bool wh_ipc_open_event(struct wh_session *s, CUevent *event, const CUipcEventHandle *handle,
		       CUresult *res)
{
	CUipcEventHandle real;
	struct wh_shared *e;
	struct wh_ipc_handle h;

	if (!s->limits.ipc)
		return wh_ipc_refused(s, res);
	memcpy(&h, handle, sizeof(h));
	*res = event ? CUDA_ERROR_MAP_FAILED : CUDA_ERROR_INVALID_VALUE;
	if (!event || !wh_ipc_taken(&h, WH_SHARED_EVENT) || !wh_ipc_lock(s))
		return true;
	e = wh_ipc_find(s, WH_SHARED_EVENT, h.id);
	if (e)
		memcpy(&real, e->real, sizeof(real));
	wh_ipc_unlock(s);
	*res = e ? s->drv.cuIpcOpenEventHandle(event, real) : CUDA_ERROR_INVALID_HANDLE;
	return true;
}

/* --- Memory of cuMemCreate: a descriptor ---------------------------------------------- */

bool wh_ipc_passes_files(const struct wh_session *s)
{
	return s->limits.ipc ? wh_ipc_files_work() : s->one_process;
}

/* Returns the first handle of an allocation, which stands for it; NULL: it was not made here. */
static const struct wh_mem_entry *allocation_of(struct wh_session *s, uint64_t real)
{
	struct wh_mem_state *m = s->limits.mem;
	const struct wh_mem_entry *e = wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, real);

	if (e && e->object)
		e = wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, e->object);
	return e && e->device >= 0 ? e : NULL;
}

bool wh_ipc_exports(struct wh_session *s, const void *handle, CUmemAllocationHandleType type,
		    CUresult *res)
{
	*res = handle ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	if (handle && !s->limits.ipc)
		return !wh_ipc_refused(s, res);
	return handle && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

static CUresult offer(struct wh_session *s, uint32_t kind, const struct wh_mem_entry *a, int fd,
		      struct wh_ipc_handle *out)
{
	struct wh_shared what = {
		.kind = kind, .device = a->device, .key = a->key, .bytes = a->bytes,
		.owner = (uint8_t)s->limits.ipc->account,
		.generation = s->limits.account->generation,
	};
	CUresult res = CUDA_ERROR_NOT_SUPPORTED;

	if (wh_ipc_files_start(s->limits.usage, (char *)what.real))
		res = wh_ipc_publish(s, &what, out);
	if (res == CUDA_SUCCESS)
		return wh_ipc_files_offer(out->id, fd) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	close(fd);
	return res;
}

CUresult wh_ipc_export_file(struct wh_session *s, uint32_t kind, const struct wh_mem_entry *a,
			    int fd, void *handle)
{
	struct wh_shareable *own = handle;

	if (s->limits.ipc && a)
		return offer(s, kind, a, fd, handle);
	if (s->limits.ipc) {
		close(fd);
		return CUDA_ERROR_INVALID_VALUE;
	}
	own->magic = WH_SHAREABLE_OWN;
	own->fd = fd;
	return CUDA_SUCCESS;
}

bool wh_ipc_export(struct wh_session *s, void *handle, CUmemGenericAllocationHandle allocation,
		   CUmemAllocationHandleType type, uint64_t flags, CUresult *res)
{
	const struct wh_mem_entry *a;
	int fd = -1;

	if (!wh_ipc_exports(s, handle, type, res))
		return true;
	*res = s->drv.cuMemExportToShareableHandle(&fd, allocation, type, flags);
	if (*res != CUDA_SUCCESS)
		return true;
	a = s->limits.ipc ? allocation_of(s, allocation) : NULL;
	*res = wh_ipc_export_file(s, WH_SHARED_ALLOCATION, a, fd, handle);
	return true;
}

/* Finds an entry and marks it as open while it is asked for, so that its memory is counted. */
struct wh_shared *wh_ipc_reserve(struct wh_session *s, uint32_t kind, const uint64_t id[2],
				 bool *had, uint32_t *pid)
{
	struct wh_shared *e = NULL;

	if (!wh_ipc_make_room(s->limits.ipc) || !wh_ipc_lock(s))
		return NULL;
	e = wh_ipc_find(s, kind, id);
	if (e) {
		*had = e->openers & 1ull << s->limits.ipc->account;
		*pid = s->limits.usage->worker[e->owner % WH_TENANT_WORKERS].pid;
		__atomic_or_fetch(&e->openers, 1ull << s->limits.ipc->account, __ATOMIC_SEQ_CST);
	}
	wh_ipc_unlock(s);
	return e;
}

/* Counts imported memory by its handles and mappings, like our own, but charges it to nobody. */
static bool note_allocation(struct wh_session *s, uint64_t real)
{
	struct wh_mem_state *m = s->limits.mem;
	struct wh_mem_entry *e = wh_mem_find(m, WH_H_CUmemGenericAllocationHandle, real);

	if (e)
		e->refs++;
	else
		e = wh_mem_add(m, WH_H_CUmemGenericAllocationHandle, real);
	return e;
}

/* Asks the owner for the descriptor that was offered with an entry. -1: there is none. */
int wh_ipc_fetch(const struct wh_shared *e, uint32_t pid, const uint64_t id[2])
{
	char name[WH_IPC_NAME];

	memcpy(name, e->real, sizeof(name));
	return wh_ipc_files_fetch(name, pid, id);
}

/* The import has ended with `good`: the entry is noted as open, or no longer marked. */
void wh_ipc_settle(struct wh_session *s, struct wh_shared *e, uint64_t object, bool good, bool had)
{
	if (!wh_ipc_lock(s))
		return;
	/* A mapping ends with its context (limits/paged.c); the others' objects belong to none. */
	if (good)
		wh_ipc_note_import(s, object, e->kind == WH_SHARED_PAGED ? wh_self.ctx : 0, e);
	else if (!had)
		__atomic_and_fetch(&e->openers, ~(1ull << s->limits.ipc->account),
				   __ATOMIC_SEQ_CST);
	wh_ipc_unlock(s);
}

struct wh_ipc_opening wh_ipc_import_begin(struct wh_session *s, uint32_t kind, const void *handle,
					  CUmemAllocationHandleType type, CUresult *res)
{
	struct wh_ipc_opening o = { .fd = -1 };
	const struct wh_shareable *own = handle;
	struct wh_ipc_handle h;
	uint32_t pid = 0;

	*res = CUDA_ERROR_INVALID_VALUE;
	if (!handle)
		return o;
	if (!s->limits.ipc) {
		if (!wh_ipc_refused(s, res) && own->magic == WH_SHAREABLE_OWN)
			o.fd = own->fd;
		return o;
	}
	memcpy(&h, handle, sizeof(h));
	if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && wh_ipc_taken(&h, kind))
		o.entry = wh_ipc_reserve(s, kind, h.id, &o.had, &pid);
	if (o.entry)
		o.fd = wh_ipc_fetch(o.entry, pid, h.id);
	return o;
}

void wh_ipc_import_end(struct wh_session *s, const struct wh_ipc_opening *o, uint64_t object,
		       bool good)
{
	if (!o->entry)
		return;
	if (o->fd >= 0)
		close(o->fd);
	wh_ipc_settle(s, o->entry, object, good, o->had);
}

bool wh_ipc_import(struct wh_session *s, CUmemGenericAllocationHandle *allocation,
		   const void *handle, CUmemAllocationHandleType type, CUresult *res)
{
	struct wh_ipc_opening o = wh_ipc_import_begin(s, WH_SHARED_ALLOCATION, handle, type, res);

	if (o.fd >= 0)
		*res = s->drv.cuMemImportFromShareableHandle(allocation,
							     (void *)(intptr_t)o.fd, type);
	wh_ipc_import_end(s, &o, *allocation, *res == CUDA_SUCCESS && o.entry &&
			  note_allocation(s, *allocation));
	return true;
}

void wh_ipc_allocation_gone(struct wh_session *s, uint64_t real)
{
	struct wh_ipc *ipc = s->limits.ipc;
	struct wh_ipc_import *i;

	if (!ipc)
		return;
	wh_ipc_end(s, WH_SHARED_ALLOCATION, real);
	i = wh_ipc_import_at(ipc, WH_SHARED_ALLOCATION, real);
	if (i && wh_ipc_lock(s)) {
		wh_ipc_drop_import(s, i);
		wh_ipc_unlock(s);
	}
}

/*
 * Returns the memory without an owner that is in the driver's figure of this process for sure: what
 * this process alone has open. Of several the driver chooses one, and does not say which. If each
 * took it out of its figure, or the wrong one did, an idle process would have it uncharged; so with
 * several openers it is charged twice. What cuMemCreate made is in no figure once its maker has
 * given it up (seen on an H100, driver 580.159), so it is not here.
 */
uint64_t wh_ipc_orphans(struct wh_session *s, int device)
{
	const struct wh_tenant_usage *u = s->limits.usage;
	const struct wh_shared *e = u->shared.entry;
	uint64_t sum = 0, openers;
	uint32_t i;

	if (!s->limits.ipc || !s->limits.ipc->imports)
		return 0;
	/* By entries, not by imports: memory that is open at two addresses is there once. */
	for (i = 0; i < top_of(&u->shared); i++, e++) {
		openers = e->openers & wh_tenant_living(u);
		if (e->kind == WH_SHARED_MEMORY && e->device == device &&
		    openers == 1ull << s->limits.ipc->account && !wh_shared_alive(u, e))
			sum += e->bytes;
	}
	return sum;
}

/* --- Ends --------------------------------------------------------------------------- */

void wh_ipc_context_gone(struct wh_session *s, uint64_t ctx)
{
	struct wh_ipc *ipc = s->limits.ipc;
	struct wh_shared_table *t;
	uint32_t i;
	size_t j;

	if (!ipc || (!ipc->exports && !ipc->imports) || !wh_ipc_lock(s))
		return;
	t = wh_ipc_table(s);
	for (i = 0; i < top_of(t); i++)
		if (t->entry[i].ctx == ctx && is_ours(s, &t->entry[i]))
			end_export(s, &t->entry[i]);
	for (j = 0; j < ipc->imports; )
		if (ipc->import[j].ctx == ctx)
			wh_ipc_drop_import(s, &ipc->import[j]);
		else
			j++;
	wh_ipc_unlock(s);
}

/*
 * Closes each import as often as it was opened. wh_ipc_context_gone() then notes that they are
 * closed.
 */
void wh_ipc_end_with(struct wh_session *s, uint64_t ctx)
{
	const struct wh_ipc *ipc = s->limits.ipc;
	size_t i;
	uint32_t n;

	for (i = 0; ipc && s->drv.cuIpcCloseMemHandle && i < ipc->imports; i++)
		for (n = 0; ipc->import[i].ctx == ctx && n < ipc->import[i].opened; n++)
			s->drv.cuIpcCloseMemHandle(ipc->import[i].addr);
}

/* The former user of the account may have had objects open: its bits are cleared. */
bool wh_ipc_open(struct wh_session *s)
{
	struct wh_shared_table *t;
	struct wh_ipc *ipc = calloc(1, sizeof(*ipc));
	uint32_t i;

	if (!ipc)
		return false;
	ipc->account = (unsigned int)(s->limits.account - s->limits.usage->worker);
	s->limits.ipc = ipc;
	if (!wh_ipc_lock(s))
		return false;
	t = wh_ipc_table(s);
	for (i = 0; i < top_of(t); i++)
		__atomic_and_fetch(&t->entry[i].openers, ~(1ull << ipc->account), __ATOMIC_SEQ_CST);
	wh_ipc_unlock(s);
	return true;
}

void wh_ipc_close(struct wh_session *s)
{
	if (!s->limits.ipc)
		return;
	wh_ipc_files_stop();
	free(s->limits.ipc->import);
	free(s->limits.ipc);
	s->limits.ipc = NULL;
}
