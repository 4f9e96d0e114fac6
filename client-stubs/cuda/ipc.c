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

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType handleType,
				      unsigned long long flags)
{
	union {
		unsigned char bytes[WH_SHAREABLE_BYTES];
		struct wh_shareable own;
	} h = { 0 };
	CUresult res = wh_usable();
	int fd;

	if (res != CUDA_SUCCESS)
		return res;
	if (!shareableHandle)
		return CUDA_ERROR_INVALID_VALUE;
	if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	res = wh_raw_cuMemExportToShareableHandle(h.bytes, handle, handleType, flags);
	if (res != CUDA_SUCCESS)
		return res;
	fd = h.own.magic == WH_SHAREABLE_OWN ? h.own.fd : make_file(h.bytes, sizeof(h));
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(shareableHandle, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
					CUmemAllocationHandleType shHandleType)
{
	union {
		unsigned char bytes[WH_SHAREABLE_BYTES];
		struct wh_shareable own;
	} h = { 0 };
	CUresult res = wh_usable();
	int fd = (int)(intptr_t)osHandle;

	if (res != CUDA_SUCCESS)
		return res;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	/* A file of another kind is the driver's own, which knows it in this process only. */
	if (!is_ours(fd) || pread(fd, h.bytes, sizeof(h), 0) != sizeof(h))
		h.own = (struct wh_shareable){ .magic = WH_SHAREABLE_OWN, .fd = fd };
	return wh_raw_cuMemImportFromShareableHandle(handle, h.bytes, shHandleType);
}
