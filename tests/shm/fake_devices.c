// SPDX-License-Identifier: Apache-2.0
/*
 * A driver library of four devices that do nothing but answer with the number under which
 * they were asked, so that what arrives shows how numbers were translated. It refuses to
 * start when the client's choice of devices has reached it.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 4

static int current = -1;
static CUmemLocation kept;

static CUresult known(CUdevice dev)
{
	return dev >= 0 && dev < DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuInit(unsigned int flags)
{
	const char *order = getenv("CUDA_DEVICE_ORDER");

	if (getenv("FAKE_STRICT") && (getenv("CUDA_VISIBLE_DEVICES") || order))
		return CUDA_ERROR_UNKNOWN;
	return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = DEVICES;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	snprintf(name, len, "device %d", dev);
	return known(dev);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	*bytes = (size_t)(dev + 1) << 30;
	return known(dev);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	memset(uuid, 0x10 + dev, sizeof(*uuid));
	return known(dev);
}

CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice dev)
{
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*v = 9 - dev;
		break;
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
		*v = getenv("FAKE_HMM") && dev == 2;
		break;
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
	case CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
		*v = 1;
		break;
	default:
		*v = 0;
	}
	return known(dev);
}

CUresult cuDeviceGetPCIBusId(char *text, int len, CUdevice dev)
{
	snprintf(text, len, "0000:%02x:00.0", 9 - dev);
	return known(dev);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *text)
{
	*dev = 9 - (int)strtol(text + 5, NULL, 16);
	return known(*dev);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	*can = dev * 10 + peer;
	return known(dev) ? known(dev) : known(peer);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	*ctx = (CUcontext)(size_t)(0x1000 + dev);
	return known(dev);
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	(void)flags;
	*ctx = (CUcontext)(size_t)(0x2000 + dev);
	return known(dev);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	current = (int)(size_t)ctx & 0xfff;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *dev)
{
	(void)stream;
	*dev = current;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	(void)n;
	*p = 0x700000000000;
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr p)
{
	(void)p;
	if (a != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)data = current;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	kept = props->location;
	*pool = (CUmemoryPool)0x5000;
	return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *desc, size_t count)
{
	(void)p;
	(void)n;
	kept = desc[count - 1].location;
	return CUDA_SUCCESS;
}

/* Returns what the last two calls were given; by then the number has been translated back. */
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	(void)handle;
	memset(prop, 0, sizeof(*prop));
	prop->location = kept;
	return CUDA_SUCCESS;
}

/* Returns the number of the last location as it came. */
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	*pool = (CUmemoryPool)(size_t)(0x6000 + dev);
	return kept.id == dev ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuMemPrefetchAsync(CUdeviceptr p, size_t n, CUdevice dev, CUstream stream)
{
	(void)p;
	(void)n;
	(void)stream;
	return dev == CU_DEVICE_CPU ? CUDA_SUCCESS : known(dev);
}
