// SPDX-License-Identifier: Apache-2.0
/*
 * cudaGetDeviceProperties() and cudaChooseDevice(). struct cudaDeviceProp is put together from
 * the driver's attributes, once per device.
 */
#include <pthread.h>
#include <string.h>

#include "cudart.h"

#define MAX_CACHED 64

/* A field of the struct, int or size_t, and the attribute that it shows. */
struct prop_field {
	unsigned short offset;
	unsigned short size;
	CUdevice_attribute attr;
};

#define PROP(field, name) {						\
	.offset = offsetof(struct cudaDeviceProp, field),		\
	.size = sizeof(((struct cudaDeviceProp *)NULL)->field),		\
	.attr = CU_DEVICE_ATTRIBUTE_##name,				\
}

static const struct prop_field prop_fields[] = {
	PROP(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
	PROP(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
	PROP(warpSize, WARP_SIZE),
	PROP(memPitch, MAX_PITCH),
	PROP(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
	PROP(maxThreadsDim[0], MAX_BLOCK_DIM_X),
	PROP(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
	PROP(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
	PROP(maxGridSize[0], MAX_GRID_DIM_X),
	PROP(maxGridSize[1], MAX_GRID_DIM_Y),
	PROP(maxGridSize[2], MAX_GRID_DIM_Z),
	PROP(totalConstMem, TOTAL_CONSTANT_MEMORY),
	PROP(major, COMPUTE_CAPABILITY_MAJOR),
	PROP(minor, COMPUTE_CAPABILITY_MINOR),
	PROP(textureAlignment, TEXTURE_ALIGNMENT),
	PROP(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
	PROP(multiProcessorCount, MULTIPROCESSOR_COUNT),
	PROP(integrated, INTEGRATED),
	PROP(canMapHostMemory, CAN_MAP_HOST_MEMORY),
	PROP(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
	PROP(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
	PROP(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
	PROP(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
	PROP(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
	PROP(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
	PROP(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
	PROP(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
	PROP(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
	PROP(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH),
	PROP(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
	PROP(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
	PROP(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
	PROP(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
	PROP(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
	PROP(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
	PROP(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
	PROP(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
	PROP(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
	PROP(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
	PROP(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
	PROP(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
	PROP(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
	PROP(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
	PROP(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
	PROP(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
	PROP(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH),
	PROP(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
	PROP(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH),
	PROP(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT),
	PROP(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
	PROP(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH),
	PROP(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
	PROP(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH),
	PROP(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
	PROP(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
	PROP(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
	PROP(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
	PROP(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
	PROP(surfaceAlignment, SURFACE_ALIGNMENT),
	PROP(concurrentKernels, CONCURRENT_KERNELS),
	PROP(ECCEnabled, ECC_ENABLED),
	PROP(pciBusID, PCI_BUS_ID),
	PROP(pciDeviceID, PCI_DEVICE_ID),
	PROP(pciDomainID, PCI_DOMAIN_ID),
	PROP(tccDriver, TCC_DRIVER),
	PROP(asyncEngineCount, ASYNC_ENGINE_COUNT),
	PROP(unifiedAddressing, UNIFIED_ADDRESSING),
	PROP(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
	PROP(l2CacheSize, L2_CACHE_SIZE),
	PROP(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
	PROP(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
	PROP(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
	PROP(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
	PROP(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
	PROP(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
	PROP(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
	PROP(managedMemory, MANAGED_MEMORY),
	PROP(isMultiGpuBoard, MULTI_GPU_BOARD),
	PROP(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
	PROP(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
	PROP(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
	PROP(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
	PROP(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
	PROP(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
	PROP(cooperativeLaunch, COOPERATIVE_LAUNCH),
	PROP(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
	PROP(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
	PROP(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
	PROP(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
	PROP(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
	PROP(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
	PROP(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
	PROP(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
	PROP(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
	PROP(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
	PROP(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
	PROP(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
	PROP(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
	PROP(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING),
	PROP(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
	PROP(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
	PROP(ipcEventSupported, IPC_EVENT_SUPPORTED),
	PROP(clusterLaunch, CLUSTER_LAUNCH),
	PROP(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
	PROP(deviceNumaConfig, NUMA_CONFIG),
	PROP(deviceNumaId, NUMA_ID),
	PROP(mpsEnabled, MPS_ENABLED),
	PROP(hostNumaId, HOST_NUMA_ID),
	PROP(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
	PROP(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
	PROP(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED),
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cudaDeviceProp cache[MAX_CACHED];
static bool cached[MAX_CACHED];

/* In a fork's child a device number may mean another device, so nothing that was cached stays. */
void rt_properties_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(cached, 0, sizeof(cached));
}

/* If the driver does not know an attribute, the field stays 0. */
static cudaError_t read_field(struct cudaDeviceProp *prop, const struct prop_field *f, CUdevice dev)
{
	char *field = (char *)prop + f->offset;
	int value = 0;
	CUresult res = drv.cuDeviceGetAttribute(&value, f->attr, dev);

	if (res != CUDA_SUCCESS && res != CUDA_ERROR_INVALID_VALUE)
		return rt_error(res);
	if (f->size == sizeof(int))
		*(int *)field = value;
	else
		*(size_t *)field = (unsigned int)value;
	return cudaSuccess;
}

static cudaError_t read_props(struct cudaDeviceProp *prop, CUdevice dev)
{
	CUuuid uuid;
	cudaError_t err;
	size_t i;

	memset(prop, 0, sizeof(*prop));
	err = rt_error(drv.cuDeviceGetName(prop->name, sizeof(prop->name), dev));
	if (!err)
		err = rt_error(drv.cuDeviceGetUuid(&uuid, dev));
	if (!err)
		err = rt_error(drv.cuDeviceTotalMem(&prop->totalGlobalMem, dev));
	if (!err)
		memcpy(&prop->uuid, &uuid, sizeof(uuid));
	for (i = 0; !err && i < sizeof(prop_fields) / sizeof(prop_fields[0]); i++)
		err = read_field(prop, &prop_fields[i], dev);
	return err;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	CUdevice dev;
	cudaError_t err = rt_device(device, &dev);

	if (!err && !prop)
		err = cudaErrorInvalidValue;
	if (!err && device >= MAX_CACHED)
		err = cudaErrorInvalidDevice;
	if (err)
		return rt_ret(err);
	pthread_mutex_lock(&lock);
	if (!cached[device]) {
		err = read_props(&cache[device], dev);
		cached[device] = !err;
	}
	if (!err)
		*prop = cache[device];
	pthread_mutex_unlock(&lock);
	return rt_ret(err);
}

/* Counts how many of the wishes in `want` the device meets. */
static int score(const struct cudaDeviceProp *have, const struct cudaDeviceProp *want)
{
	int n = 0;

	n += want->name[0] && !strcmp(have->name, want->name);
	n += want->major && have->major >= want->major;
	n += want->minor && (have->major > want->major || have->minor >= want->minor);
	n += want->totalGlobalMem && have->totalGlobalMem >= want->totalGlobalMem;
	n += want->multiProcessorCount && have->multiProcessorCount >= want->multiProcessorCount;
	n += want->sharedMemPerBlock && have->sharedMemPerBlock >= want->sharedMemPerBlock;
	n += want->maxThreadsPerBlock && have->maxThreadsPerBlock >= want->maxThreadsPerBlock;
	return n;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	struct cudaDeviceProp have;
	int i, count, best = -1;
	cudaError_t err;

	if (!device || !prop)
		return rt_ret(cudaErrorInvalidValue);
	err = cudaGetDeviceCount(&count);
	for (i = 0; !err && i < count; i++) {
		err = cudaGetDeviceProperties(&have, i);
		if (!err && score(&have, prop) > best) {
			best = score(&have, prop);
			*device = i;
		}
	}
	return rt_ret(err);
}
