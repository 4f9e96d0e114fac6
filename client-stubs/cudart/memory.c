// SPDX-License-Identifier: Apache-2.0
/*
 * Allocation of device, host and managed memory, and questions about a pointer. Copies are in
 * copy.c.
 */
#include <limits.h>
#include <string.h>

#include "cudart.h"

/* The driver wants the size of the widest access; rows are aligned for any. */
#define PITCH_ELEMENT 16

/* Unlike the driver, size 0 gives the null pointer and no error. */
cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	CUdeviceptr addr = 0;
	cudaError_t err = devPtr ? rt_enter() : cudaErrorInvalidValue;

	if (!err && size)
		err = rt_error(DRV(cuMemAlloc(&addr, size)));
	if (!err)
		*devPtr = (void *)(uintptr_t)addr;
	return rt_ret(err);
}

/* A null pointer only makes the context. Programs use it for just that. */
cudaError_t cudaFree(void *devPtr)
{
	cudaError_t err = rt_enter();

	if (!err && devPtr)
		err = rt_error(DRV(cuMemFree(rt_ptr(devPtr))));
	return rt_ret(err);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	void *p = NULL;
	cudaError_t err = pHost ? rt_enter() : cudaErrorInvalidValue;

	if (!err && size)
		err = rt_error(DRV(cuMemHostAlloc(&p, size, flags)));
	if (!err)
		*pHost = p;
	return rt_ret(err);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *ptr)
{
	cudaError_t err = rt_enter();

	if (!err && ptr)
		err = rt_error(DRV(cuMemFreeHost(ptr)));
	return rt_ret(err);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	CUdeviceptr addr;
	cudaError_t err = pDevice ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_error(DRV(cuMemHostGetDevicePointer(&addr, pHost, flags)));
	if (!err)
		*pDevice = (void *)(uintptr_t)addr;
	return rt_ret(err);
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	CUdeviceptr addr = 0;
	cudaError_t err = devPtr ? rt_enter() : cudaErrorInvalidValue;

	if (!err && size)
		err = rt_error(DRV(cuMemAllocManaged(&addr, size, flags)));
	if (!err)
		*devPtr = (void *)(uintptr_t)addr;
	return rt_ret(err);
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr addr = 0;
	size_t row = 0;
	cudaError_t err = devPtr && pitch ? rt_enter() : cudaErrorInvalidValue;

	if (!err && width && height)
		err = rt_error(DRV(cuMemAllocPitch(&addr, &row, width, height, PITCH_ELEMENT)));
	if (!err) {
		*devPtr = (void *)(uintptr_t)addr;
		*pitch = row;
	}
	return rt_ret(err);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	void *addr;
	size_t pitch, rows;
	cudaError_t err;

	if (!pitchedDevPtr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return rt_ret(cudaErrorInvalidValue);
	err = cudaMallocPitch(&addr, &pitch, extent.width, rows);
	if (!err)
		*pitchedDevPtr = (struct cudaPitchedPtr) {
			.ptr = addr,
			.pitch = pitch,
			.xsize = extent.width,
			.ysize = extent.height,
		};
	return err;
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	CUdeviceptr addr = 0;
	cudaError_t err = devPtr ? rt_enter() : cudaErrorInvalidValue;

	if (!err && size)
		err = rt_error(DRV(cuMemAllocAsync(&addr, size, (CUstream)hStream)));
	if (!err)
		*devPtr = (void *)(uintptr_t)addr;
	return rt_ret(err);
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
				    cudaStream_t stream)
{
	CUdeviceptr addr = 0;
	cudaError_t err = ptr ? rt_enter() : cudaErrorInvalidValue;

	if (!err && size)
		err = rt_error(DRV(cuMemAllocFromPoolAsync(&addr, size, (CUmemoryPool)memPool,
							   (CUstream)stream)));
	if (!err)
		*ptr = (void *)(uintptr_t)addr;
	return rt_ret(err);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	cudaError_t err = rt_enter();

	if (!err && devPtr)
		err = rt_error(DRV(cuMemFreeAsync(rt_ptr(devPtr), (CUstream)hStream)));
	return rt_ret(err);
}

/* The driver's answers about a pointer; all zero for memory that it does not know. */
struct pointer_facts {
	CUmemorytype type;
	CUdeviceptr device;
	void *host;
	unsigned int managed;
	int ordinal;
};

static cudaError_t pointer_facts(struct pointer_facts *f, const void *ptr)
{
	CUpointer_attribute attrs[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
	};
	void *values[] = { &f->type, &f->device, &f->host, &f->managed, &f->ordinal };

	memset(f, 0, sizeof(*f));
	return rt_error(DRV(cuPointerGetAttributes(sizeof(attrs) / sizeof(attrs[0]), attrs,
						   values, rt_ptr(ptr))));
}

static enum cudaMemoryType memory_type(const struct pointer_facts *f)
{
	if (f->managed)
		return cudaMemoryTypeManaged;
	if (f->type == CU_MEMORYTYPE_HOST)
		return cudaMemoryTypeHost;
	if (f->type == CU_MEMORYTYPE_DEVICE)
		return cudaMemoryTypeDevice;
	return cudaMemoryTypeUnregistered;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	struct pointer_facts f;
	cudaError_t err = attributes ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = pointer_facts(&f, ptr);
	if (err)
		return rt_ret(err);
	memset(attributes, 0, sizeof(*attributes));
	attributes->type = memory_type(&f);
	if (attributes->type == cudaMemoryTypeUnregistered) {
		attributes->device = cudaInvalidDeviceId;
		attributes->hostPointer = (void *)(uintptr_t)ptr;
		return cudaSuccess;
	}
	attributes->device = f.ordinal;
	attributes->devicePointer = (void *)(uintptr_t)f.device;
	attributes->hostPointer = f.host;
	return cudaSuccess;
}
