// SPDX-License-Identifier: Apache-2.0
/*
 * Memory and events of other processes. The first export of an allocation makes the arena a
 * file (memory.c). A handle names that file and the place of the allocation in it; the
 * process that opens the handle maps those pages. The exporter hands the file to processes
 * of the same user (ipc_file.c), so a process that dies leaves nothing behind. Mapped
 * memory stays valid when the exporter ends.
 *
 * Events share nothing: work is done when it is submitted, so an event of any process has
 * already happened when another process asks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

#define MEMORY_MAGIC	0x4d454d5550475353ULL	/* "SSGPUMEM" */
#define EVENT_MAGIC	0x4e56455550475353ULL	/* "SSGPUEVN" */
#define POOLED_MAGIC	0x4c4f4f5000000000ULL	/* "POOL", and the pool's id */
#define PAGE		4096ULL

/* The contents of both kinds of handles, which have 64 bytes each. */
struct handle {
	uint64_t magic;
	int32_t pid;
	uint32_t number;	/* number of the exporter's socket */
	uint64_t dev, ino;	/* identify the file, since a process id may be used again */
	uint64_t offset, size;
	uint64_t id;		/* id of the allocation or event */
	uint64_t alive;		/* file offset of the id while the allocation lives */
};
_Static_assert(sizeof(struct handle) == sizeof(CUipcMemHandle) &&
	       sizeof(struct handle) == sizeof(CUipcEventHandle), "a handle is what travels");

struct import {
	struct handle from;
	struct sgpu_ctx *ctx;
	char *map;		/* whole pages */
	uint64_t base, id;
	unsigned int opened;
	bool pooled;
};

static struct import *imports;
static size_t nimports;

/* ---- memory ---- */

static CUresult export_memory(struct handle *h, uint64_t addr, enum sgpu_kind kind)
{
	struct sgpu_range range;
	struct stat st;
	uint64_t alive;
	uint32_t number;
	int fd;

	if (!sgpu_mem_find(addr, &range) || range.kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	fd = sgpu_mem_file();
	alive = sgpu_mem_export(addr);
	if (fd < 0 || !alive || fstat(fd, &st) || !sgpu_ipc_offer(fd, &number))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*h = (struct handle){
		.magic = MEMORY_MAGIC, .pid = getpid(), .number = number,
		.dev = st.st_dev, .ino = st.st_ino,
		.offset = sgpu_mem_offset(range.base), .size = range.size, .id = range.id,
		.alive = alive,
	};
	sgpu_mem_count_shared(range.base, h->ino, h->id);
	return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr addr)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	return sgpu_leave(out ? export_memory((struct handle *)out, addr, SGPU_MEM_DEVICE) :
				CUDA_ERROR_INVALID_VALUE);
}

/*
 * Returns the exporter's file, or -1 if the exporter has gone or never existed, or the
 * memory was freed.
 */
static int open_file(const struct handle *h)
{
	struct stat st;
	uint64_t id;
	int fd = sgpu_ipc_fetch(h->pid, h->number);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_dev == h->dev && st.st_ino == h->ino &&
	    h->offset <= (uint64_t)st.st_size && h->size <= (uint64_t)st.st_size - h->offset &&
	    pread(fd, &id, sizeof(id), h->alive) == sizeof(id) && id == h->id)
		return fd;
	close(fd);
	return -1;
}

static struct import *import_of(uint64_t addr)
{
	size_t i;

	for (i = 0; i < nimports; i++)
		if (addr - imports[i].base < imports[i].from.size)
			return &imports[i];
	return NULL;
}

static uint64_t skipped(const struct handle *h)
{
	return h->offset % PAGE;
}

/* Returns the bytes that the allocation takes of its owner's device, in whole granules. */
static uint64_t granules(const struct handle *h)
{
	return (h->size + SGPU_GRANULE - 1) / SGPU_GRANULE * SGPU_GRANULE;
}

static CUresult map_file(struct sgpu_ctx *ctx, const struct handle *h, uint64_t *addr)
{
	struct import *grown = realloc(imports, (nimports + 1) * sizeof(*imports));
	int fd;
	char *p;

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	imports = grown;
	fd = open_file(h);
	if (fd < 0)
		return CUDA_ERROR_INVALID_HANDLE;
	p = mmap(NULL, skipped(h) + h->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 h->offset - skipped(h));
	close(fd);
	if (p == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	imports[nimports++] = (struct import){
		.from = *h, .ctx = ctx, .map = p, .base = (uintptr_t)p + skipped(h),
		.id = sgpu_new_id(), .opened = 1,
	};
	sgpu_books_share(sgpu_device_place(ctx->device), h->ino, h->id, granules(h), false);
	*addr = (uintptr_t)p + skipped(h);
	return CUDA_SUCCESS;
}

/*
 * Opening a handle again returns the same address, which must be closed as often as it was
 * opened.
 */
static CUresult open_memory(struct sgpu_ctx *ctx, const struct handle *h, uint64_t *addr)
{
	size_t i;

	if (h->magic != MEMORY_MAGIC || !h->size || h->pid <= 0 || h->offset % SGPU_GRANULE)
		return CUDA_ERROR_INVALID_VALUE;
	if (h->pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	for (i = 0; i < nimports; i++)
		if (imports[i].ctx == ctx && !memcmp(&imports[i].from, h, sizeof(*h))) {
			imports[i].opened++;
			*addr = imports[i].base;
			return CUDA_SUCCESS;
		}
	return map_file(ctx, h, addr);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
	struct handle h;
	struct sgpu_ctx *ctx;
	uint64_t addr = 0;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	memcpy(&h, &handle, sizeof(h));
	rc = open_memory(ctx, &h, &addr);
	if (!rc)
		*out = addr;
	return sgpu_leave(rc);
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
	__attribute__((alias("cuIpcOpenMemHandle_v2")));

static void unmap(struct import *m)
{
	munmap(m->map, skipped(&m->from) + m->from.size);
	sgpu_books_unshare(m->from.ino, m->from.id, false);
	*m = imports[--nimports];
}

CUresult cuIpcCloseMemHandle(CUdeviceptr addr)
{
	struct sgpu_ctx *ctx;
	struct import *m;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	m = import_of(addr);
	if (!m || m->base != addr || m->pooled)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (!--m->opened)
		unmap(m);
	return sgpu_leave(CUDA_SUCCESS);
}

/* ---- memory of pools ---- */

CUresult sgpu_ipc_export_pooled(void *data, uint64_t addr, uint64_t pool)
{
	struct handle h;
	CUresult rc = export_memory(&h, addr, SGPU_MEM_POOL);

	if (rc)
		return rc;
	h.magic = POOLED_MAGIC | (uint32_t)pool;
	memcpy(data, &h, sizeof(h));
	return CUDA_SUCCESS;
}

CUresult sgpu_ipc_import_pooled(struct sgpu_ctx *ctx, const void *data, int32_t pid, uint64_t pool,
				uint64_t *addr)
{
	struct handle h;
	CUresult rc;
	size_t i;

	memcpy(&h, data, sizeof(h));
	if (h.magic != (POOLED_MAGIC | (uint32_t)pool) || h.pid != pid)
		return CUDA_ERROR_INVALID_VALUE;
	h.magic = MEMORY_MAGIC;
	for (i = 0; i < nimports; i++)
		if (!memcmp(&imports[i].from, &h, sizeof(h)))
			return CUDA_ERROR_INVALID_VALUE;
	rc = open_memory(ctx, &h, addr);
	if (!rc)
		import_of(*addr)->pooled = true;
	return rc;
}

bool sgpu_ipc_free_pooled(uint64_t addr)
{
	struct import *m = nimports ? import_of(addr) : NULL;

	if (!m || !m->pooled || m->base != addr)
		return false;
	unmap(m);
	return true;
}

void sgpu_ipc_drop_ctx(struct sgpu_ctx *ctx)
{
	size_t i = 0;

	while (i < nimports) {
		if (imports[i].ctx == ctx)
			unmap(&imports[i]);
		else
			i++;
	}
}

bool sgpu_ipc_find(uint64_t addr, struct sgpu_range *out)
{
	struct import *m = nimports ? import_of(addr) : NULL;

	if (!m)
		return false;
	*out = (struct sgpu_range){
		.base = m->base, .size = m->from.size, .room = m->from.size,
		.id = m->id, .ctx = m->ctx, .kind = SGPU_MEM_IMPORT,
	};
	return true;
}

bool sgpu_ipc_any(void)
{
	return nimports;
}

/* ---- events ---- */

CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
	struct sgpu_event *e;
	struct sgpu_ctx *ctx;
	struct handle h;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	e = sgpu_obj_get(SGPU_EVENT, event);
	if (!e || !(e->flags & CU_EVENT_INTERPROCESS) || e->imported)
		return sgpu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	h = (struct handle){ .magic = EVENT_MAGIC, .pid = getpid(), .id = e->obj.id };
	memcpy(out, &h, sizeof(h));
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
	struct sgpu_ctx *ctx;
	struct handle h;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	memcpy(&h, &handle, sizeof(h));
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (h.magic != EVENT_MAGIC || h.pid <= 0 || h.number || h.dev || h.ino || h.offset ||
	    h.size || h.alive || (kill(h.pid, 0) && errno == ESRCH))
		return sgpu_leave(CUDA_ERROR_MAP_FAILED);
	if (h.pid == getpid())
		return sgpu_leave(CUDA_ERROR_INVALID_CONTEXT);
	rc = sgpu_event_new(ctx, out, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
	if (!rc)
		((struct sgpu_event *)*out)->imported = true;
	return sgpu_leave(rc);
}
