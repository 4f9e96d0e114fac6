// SPDX-License-Identifier: Apache-2.0
/*
 * The one device: count, name, UUID, PCI address, properties and attributes. The numbers
 * describe what the executor really accepts: a launch checks the limits of blocks, grids
 * and shared memory against the same constants.
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"

#define MAX_PITCH	0x7fffffff
#define CLOCK_KHZ	1000000
#define L2_BYTES	(1 << 20)
#define BUS_BITS	64

static const CUuuid device_uuid = { .bytes = SGPU_UUID };

/* Attributes that are not listed are 0: softgpu lacks the feature. */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = SGPU_MAX_BLOCK_THREADS,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = SGPU_MAX_BLOCK_THREADS,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = SGPU_MAX_BLOCK_THREADS,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = SGPU_MAX_BLOCK_Z,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = SGPU_MAX_GRID_X,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = SGPU_MAX_GRID_YZ,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = SGPU_MAX_GRID_YZ,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = SGPU_SHARED_PLAIN,
	[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
	[CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
	[CU_DEVICE_ATTRIBUTE_MAX_PITCH] = MAX_PITCH,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = SGPU_SM_REGS,
	[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = CLOCK_KHZ,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
	[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = SGPU_NSM,
	[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_MODE] = CU_COMPUTEMODE_DEFAULT,
	[CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT] = 512,
	[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = CLOCK_KHZ,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = BUS_BITS,
	[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = L2_BYTES,
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = SGPU_SM_THREADS,
	[CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = SGPU_CC_MAJOR,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = SGPU_CC_MINOR,
	[CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] =
		SGPU_SM_SHARED,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = SGPU_SM_REGS,
	[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO] = 2,
	[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
	[CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
	[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] =
		SGPU_SHARED_OPTIN,
	[CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST] = 1,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = SGPU_SM_BLOCKS,
	[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] =
		SGPU_SHARED_RESERVED,
	[CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT] = 1,
	[CU_DEVICE_ATTRIBUTE_NUMA_ID] = -1,
	[CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID] = -1,
	[CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
};

/* Checks what all device queries check. On success the lock is held. */
static CUresult enter_device(CUdevice dev, const void *out)
{
	CUresult rc = sgpu_enter_global();

	if (rc)
		return rc;
	if (!out)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	return sgpu_device_ok(dev) ? CUDA_SUCCESS :
				     sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGet(CUdevice *dev, int ordinal)
{
	CUresult rc = enter_device(ordinal, dev);

	if (rc)
		return rc;
	*dev = ordinal;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult rc = enter_device(0, count);

	if (rc)
		return rc;
	*count = 1;
	return sgpu_leave(CUDA_SUCCESS);
}

static void copy_text(char *out, int len, const char *text)
{
	size_t n = strlen(text);

	if (n > (size_t)len - 1)
		n = (size_t)len - 1;
	memcpy(out, text, n);
	out[n] = '\0';
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CUresult rc = enter_device(dev, name);

	if (rc)
		return rc;
	if (len <= 0)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	copy_text(name, len, SGPU_NAME);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	CUresult rc = enter_device(dev, uuid);

	if (rc)
		return rc;
	*uuid = device_uuid;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
	__attribute__((alias("cuDeviceGetUuid_v2")));

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	CUresult rc = enter_device(dev, bytes);

	if (rc)
		return rc;
	*bytes = sgpu_mem_total();
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which,
			      CUdevice dev)
{
	CUresult rc = enter_device(dev, value);

	if (rc)
		return rc;
	if (which <= 0 || which >= CU_DEVICE_ATTRIBUTE_MAX)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*value = attributes[which];
	if (which == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
		*value = sgpu_hmm();
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult rc = enter_device(dev, major);

	if (rc)
		return rc;
	if (!minor)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*major = SGPU_CC_MAJOR;
	*minor = SGPU_CC_MINOR;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	CUresult rc = enter_device(dev, prop);

	if (rc)
		return rc;
	*prop = (CUdevprop){
		.maxThreadsPerBlock = SGPU_MAX_BLOCK_THREADS,
		.maxThreadsDim = { SGPU_MAX_BLOCK_THREADS,
				   SGPU_MAX_BLOCK_THREADS, SGPU_MAX_BLOCK_Z },
		.maxGridSize = { SGPU_MAX_GRID_X, SGPU_MAX_GRID_YZ,
				 SGPU_MAX_GRID_YZ },
		.sharedMemPerBlock = SGPU_SHARED_PLAIN,
		.totalConstantMemory = 65536,
		.SIMDWidth = 32,
		.memPitch = MAX_PITCH,
		.regsPerBlock = SGPU_SM_REGS,
		.clockRate = CLOCK_KHZ,
		.textureAlign = 512,
	};
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	CUresult rc = enter_device(dev, id);

	if (rc)
		return rc;
	if (len < (int)sizeof(SGPU_PCI_BUS_ID))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	copy_text(id, len, SGPU_PCI_BUS_ID);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned int domain = 0, bus, slot, function = 0;
	CUresult rc = enter_device(0, dev);

	if (rc)
		return rc;
	if (!id || (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot,
			   &function) < 3 &&
		    sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2))
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	if (domain || bus || slot || function)
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	*dev = 0;
	return sgpu_leave(CUDA_SUCCESS);
}

/* There is one device, and no device is a peer of itself. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	CUresult rc = enter_device(dev, can);

	if (rc)
		return rc;
	if (!sgpu_device_ok(peer))
		return sgpu_leave(CUDA_ERROR_INVALID_DEVICE);
	*can = 0;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetExecAffinitySupport(int *can, CUexecAffinityType type,
					CUdevice dev)
{
	CUresult rc = enter_device(dev, can);

	if (rc)
		return rc;
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*can = 0;
	return sgpu_leave(CUDA_SUCCESS);
}
