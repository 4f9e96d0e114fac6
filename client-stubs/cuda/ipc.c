// SPDX-License-Identifier: Apache-2.0
/*
 * Memory and events of other processes. The worker does the work. This side remembers which
 * addresses are the device's, for copies and attributes. A descriptor that programs pass on is
 * a sealed file that holds the worker's number for the object.
 */
#define _GNU_SOURCE
#include "stubs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Allocations -------------------------------------------------------------------- */

CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

void wh_after_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
	CUdeviceptr base;
	size_t size;

	(void)handle;
	(void)Flags;
	if (wh_raw_cuMemGetAddressRange_v2(&base, &size, *pdptr) == CUDA_SUCCESS)
		wh_range_add(*pdptr, size - (*pdptr - base));
}

/* Memory that was opened twice has to be closed twice. Until then the address is still good. */
void wh_after_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	CUdeviceptr base;
	size_t size;

	if (wh_raw_cuMemGetAddressRange_v2(&base, &size, dptr) != CUDA_SUCCESS)
		wh_range_remove(dptr);
}

/* --- Memory of cuMemCreate: descriptors ----------------------------------------------- */

static int make_file(const void *bytes, size_t n)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	int fd = memfd_create("wormhole-allocation", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && write(fd, bytes, n) == (ssize_t)n && !fcntl(fd, F_ADD_SEALS, seals))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool is_ours(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && seals & F_SEAL_WRITE && !fstat(fd, &st) &&
	       st.st_size == WH_SHAREABLE_BYTES;
}

union shareable {
	unsigned char bytes[WH_SHAREABLE_BYTES];
	struct wh_shareable own;
};

/* Makes a descriptor of what the worker answered, and puts it where the program wants it. */
static CUresult give_file(void *to, const union shareable *h)
{
	int fd = h->own.magic == WH_SHAREABLE_OWN ? h->own.fd : make_file(h, sizeof(*h));

	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(to, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

/* A file of another kind is the driver's own, which knows it in this process only. */
static void take_file(union shareable *h, void *handle)
{
	int fd = (int)(intptr_t)handle;

	if (!is_ours(fd) || pread(fd, h->bytes, sizeof(*h), 0) != sizeof(*h))
		h->own = (struct wh_shareable){ .magic = WH_SHAREABLE_OWN, .fd = fd };
}

/* Can anything of this kind go to or come from another process? */
static CUresult passes(const void *pointer, CUmemAllocationHandleType type)
{
	CUresult res = wh_usable();

	if (res != CUDA_SUCCESS)
		return res;
	if (!pointer)
		return CUDA_ERROR_INVALID_VALUE;
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_SUCCESS :
								  CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType handleType,
				      unsigned long long flags)
{
	CUresult res = passes(shareableHandle, handleType);
	union shareable h = { 0 };

	if (res == CUDA_SUCCESS)
		res = wh_raw_cuMemExportToShareableHandle(h.bytes, handle, handleType, flags);
	return res ? res : give_file(shareableHandle, &h);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
					CUmemAllocationHandleType shHandleType)
{
	CUresult res = passes(handle, shHandleType);
	union shareable h = { 0 };

	if (res != CUDA_SUCCESS)
		return res;
	take_file(&h, osHandle);
	return wh_raw_cuMemImportFromShareableHandle(handle, h.bytes, shHandleType);
}

/* --- Pools -------------------------------------------------------------------------- */

CUresult cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
					  CUmemAllocationHandleType handleType,
					  unsigned long long flags)
{
	CUresult res = passes(handle_out, handleType);
	union shareable h = { 0 };

	if (res == CUDA_SUCCESS)
		res = wh_raw_cuMemPoolExportToShareableHandle(h.bytes, pool, handleType, flags);
	return res ? res : give_file(handle_out, &h);
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
					    CUmemAllocationHandleType handleType,
					    unsigned long long flags)
{
	CUresult res = passes(pool_out, handleType);
	union shareable h = { 0 };

	if (res != CUDA_SUCCESS)
		return res;
	take_file(&h, handle);
	return wh_raw_cuMemPoolImportFromShareableHandle(pool_out, h.bytes, handleType, flags);
}

void wh_after_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
				     CUmemPoolPtrExportData *shareData)
{
	CUdeviceptr base;
	size_t size;

	(void)pool;
	(void)shareData;
	if (wh_raw_cuMemGetAddressRange_v2(&base, &size, *ptr_out) == CUDA_SUCCESS)
		wh_range_add(*ptr_out, size - (*ptr_out - base));
}
