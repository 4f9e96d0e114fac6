// SPDX-License-Identifier: Apache-2.0
/*
 * Pools of other processes. A descriptor is a sealed file that names the pool and its process.
 * Memory of the pool is shared as other memory is (ipc.c): what the file names gives no access by
 * itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"

#define MAGIC	0x4c4f4f5055504753ULL	/* "SGPUPOOL" */
#define SEALS	(F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

struct descriptor {
	uint64_t magic;
	int32_t pid;
	int32_t device;
	uint64_t id;
};

_Static_assert(sizeof(CUmemPoolPtrExportData) == 64, "as large as the handles of ipc.c");

static int make_file(const struct descriptor *d)
{
	int fd = memfd_create("softgpu-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && write(fd, d, sizeof(*d)) == sizeof(*d) && !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool read_file(int fd, struct descriptor *d)
{
	struct stat st;

	return fcntl(fd, F_GET_SEALS) == SEALS && !fstat(fd, &st) && st.st_size == sizeof(*d) &&
	       pread(fd, d, sizeof(*d), 0) == sizeof(*d) && d->magic == MAGIC && d->pid > 0;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle,
					  CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_mempool *p;
	struct descriptor d;
	int fd;

	if (rc)
		return rc;
	p = sgpu_obj_get(SGPU_MEMPOOL, handle);
	if (!p || !out || flags || (unsigned int)type != SGPU_POOL_HANDLES || !p->shareable)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	d = (struct descriptor){ MAGIC, getpid(), p->device, p->obj.id };
	fd = make_file(&d);
	if (fd < 0)
		return sgpu_leave(CUDA_ERROR_OPERATING_SYSTEM);
	memcpy(out, &fd, sizeof(fd));
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
					    CUmemAllocationHandleType type,
					    unsigned long long flags)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_mempool *p;
	struct descriptor d;

	if (rc)
		return rc;
	if (!out || flags || (unsigned int)type != SGPU_POOL_HANDLES ||
	    !read_file((int)(intptr_t)handle, &d) || !sgpu_device_ok(d.device))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	p = sgpu_obj_new(SGPU_MEMPOOL);
	if (!p)
		return sgpu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	p->device = d.device;
	p->from_pid = d.pid;
	p->from_id = d.id;
	*out = (CUmemoryPool)p;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr addr)
{
	CUresult rc = sgpu_enter_global();
	struct sgpu_range range;

	if (rc)
		return rc;
	if (!out || !sgpu_mem_find(addr, &range) || !range.pool || !range.pool->shareable)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_leave(sgpu_ipc_export_pooled(out, addr, range.pool->obj.id));
}

CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle,
				CUmemPoolPtrExportData *data)
{
	struct sgpu_mempool *p;
	struct sgpu_ctx *ctx;
	uint64_t addr = 0;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	p = sgpu_obj_get(SGPU_MEMPOOL, handle);
	if (!out || !data || !p || !p->from_pid)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	rc = sgpu_ipc_import_pooled(ctx, data, p->from_pid, p->from_id, &addr);
	if (!rc)
		*out = addr;
	return sgpu_leave(rc);
}
