/* SPDX-License-Identifier: Apache-2.0 */
/* What of_12_test.c and of_11_test.c share: each includes it with the headers of its own CUDA. */
#ifndef WORMHOLE_TESTS_CUDART_OF_OLDER_H
#define WORMHOLE_TESTS_CUDART_OF_OLDER_H

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

#define GUARD 64	/* bytes behind a struct that must stay */

static int ok_err(cudaError_t got, cudaError_t want, const char *name)
{
	int same = ok(got == want, name);

	if (!same)
		diag("expected %s, got %s", cudaGetErrorName(want), cudaGetErrorName(got));
	return same;
}

#define NEED(call) do {							\
	cudaError_t need_err_ = (call);					\
	if (need_err_) {						\
		printf("Bail out! line %d: %s: %s\n", __LINE__, #call,	\
		       cudaGetErrorString(need_err_));			\
		exit(1);						\
	}								\
} while (0)

/* A struct with bytes behind it, by which a write beyond its end shows. */
#define GUARDED(type) struct { type it; unsigned char guard[GUARD]; }
#define FILL(g) memset(&(g), 0xa5, sizeof(g))

static int untouched(const unsigned char *guard, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (guard[i] != 0xa5)
			return 0;
	return 1;
}

#define KEPT(g) untouched((g).guard, GUARD)

/* --- The fields of a device's properties, and the attributes that they show ------------------ */

static const struct {
	const char *name;
	size_t offset, size;
	enum cudaDeviceAttr attr;
} fields[] = {
#define FIELD(field, name) { #field, offsetof(struct cudaDeviceProp, field), \
	sizeof(((struct cudaDeviceProp *)0)->field), cudaDevAttr##name }
	FIELD(sharedMemPerBlock, MaxSharedMemoryPerBlock),
	FIELD(warpSize, WarpSize),
	FIELD(maxThreadsDim[2], MaxBlockDimZ),
	FIELD(maxGridSize[2], MaxGridDimZ),
	FIELD(clockRate, ClockRate),
	FIELD(totalConstMem, TotalConstantMemory),
	FIELD(major, ComputeCapabilityMajor),
	FIELD(minor, ComputeCapabilityMinor),
	FIELD(texturePitchAlignment, TexturePitchAlignment),
	FIELD(deviceOverlap, GpuOverlap),
	FIELD(multiProcessorCount, MultiProcessorCount),
	FIELD(kernelExecTimeoutEnabled, KernelExecTimeout),
	FIELD(integrated, Integrated),
	FIELD(canMapHostMemory, CanMapHostMemory),
	FIELD(computeMode, ComputeMode),
	FIELD(maxTexture1D, MaxTexture1DWidth),
	FIELD(maxTexture1DMipmap, MaxTexture1DMipmappedWidth),
	FIELD(maxTexture1DLinear, MaxTexture1DLinearWidth),
	FIELD(maxTexture2D[1], MaxTexture2DHeight),
	FIELD(maxTexture3D[2], MaxTexture3DDepth),
	FIELD(maxSurfaceCubemapLayered[1], MaxSurfaceCubemapLayeredLayers),
	FIELD(surfaceAlignment, SurfaceAlignment),
	FIELD(concurrentKernels, ConcurrentKernels),
	FIELD(pciBusID, PciBusId),
	FIELD(asyncEngineCount, AsyncEngineCount),
	FIELD(unifiedAddressing, UnifiedAddressing),
	FIELD(memoryClockRate, MemoryClockRate),
	FIELD(memoryBusWidth, GlobalMemoryBusWidth),
	FIELD(l2CacheSize, L2CacheSize),
	FIELD(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
	FIELD(localL1CacheSupported, LocalL1CacheSupported),
	FIELD(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor),
	FIELD(regsPerMultiprocessor, MaxRegistersPerMultiprocessor),
	FIELD(managedMemory, ManagedMemory),
	FIELD(hostNativeAtomicSupported, HostNativeAtomicSupported),
	FIELD(singleToDoublePrecisionPerfRatio, SingleToDoublePrecisionPerfRatio),
	FIELD(pageableMemoryAccess, PageableMemoryAccess),
	FIELD(concurrentManagedAccess, ConcurrentManagedAccess),
	FIELD(cooperativeLaunch, CooperativeLaunch),
	FIELD(cooperativeMultiDeviceLaunch, CooperativeMultiDeviceLaunch),
	FIELD(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin),
	FIELD(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
	FIELD(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock),
#if CUDART_VERSION >= 12000
	FIELD(memoryPoolsSupported, MemoryPoolsSupported),
	FIELD(memoryPoolSupportedHandleTypes, MemoryPoolSupportedHandleTypes),
	FIELD(clusterLaunch, ClusterLaunch),
#endif
};

/* Returns how many of the fields within `size` bytes differ from the attribute. */
static int wrong_fields(const void *prop, size_t size)
{
	int value, wrong = 0;
	long long got;
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].offset >= size)
			continue;
		value = 0;
		if (cudaDeviceGetAttribute(&value, fields[i].attr, 0) != cudaSuccess)
			cudaGetLastError();
		got = 0;
		memcpy(&got, (const char *)prop + fields[i].offset, fields[i].size);
		if (got != value)
			wrong++;
		if (got != value)
			diag("%s is %lld, the attribute %d", fields[i].name, got, value);
	}
	return wrong;
}

static int first_value(const int *dev)
{
	int value = -1;

	NEED(cudaMemcpy(&value, dev, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

/* --- Tests of what both have in the same shape ----------------------------------------------- */

static void test_old_names(void)
{
	size_t heap = 0, again = 1;
	enum cudaFuncCache config;
	double d = 1.5;

	ok_err(cudaThreadSynchronize(), cudaSuccess, "a_thread_synchronises");
	ok(!cudaThreadGetLimit(&heap, cudaLimitMallocHeapSize) &&
	   !cudaDeviceGetLimit(&again, cudaLimitMallocHeapSize) && heap == again,
	   "a_threads_limit_is_the_devices");
	ok_err(cudaThreadSetLimit(cudaLimitMallocHeapSize, heap), cudaSuccess, "a_threads_limit_is_set");
	ok(!cudaThreadSetCacheConfig(cudaFuncCachePreferNone) && !cudaThreadGetCacheConfig(&config),
	   "a_threads_cache_is_set_and_told");
	ok(!cudaSetDoubleForDevice(&d) && !cudaSetDoubleForHost(&d) && d == 1.5,
	   "a_double_stays_as_it_is");
}

static void test_pointers(void)
{
	GUARDED(struct cudaPointerAttributes) a;
	void *p;

	FILL(a);
	NEED(cudaMalloc(&p, 4096));
	ok_err(cudaPointerGetAttributes(&a.it, p), cudaSuccess, "a_pointer_has_attributes");
	ok(a.it.type == cudaMemoryTypeDevice && a.it.devicePointer == p, "they_are_right");
	ok(KEPT(a), "nothing_is_written_behind_the_attributes");
	ok_err(cudaPointerGetAttributes(NULL, p), cudaErrorInvalidValue, "no_struct_is_refused");
	cudaGetLastError();
	NEED(cudaFree(p));
}

static void test_managed(void)
{
	int *m;

	NEED(cudaMallocManaged((void **)&m, 4096, cudaMemAttachGlobal));
	m[0] = 3;
	ok_err(cudaMemAdvise(m, 4096, cudaMemAdviseSetPreferredLocation, 0), cudaSuccess,
	       "a_device_is_preferred");
	ok_err(cudaMemAdvise(m, 4096, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId), cudaSuccess,
	       "the_host_is_named_by_its_number");
	ok_err(cudaMemPrefetchAsync(m, 4096, 0, NULL), cudaSuccess, "memory_is_brought_to_a_device");
	ok_err(cudaMemPrefetchAsync(m, 4096, cudaCpuDeviceId, NULL), cudaSuccess,
	       "memory_is_brought_to_the_host");
	NEED(cudaDeviceSynchronize());
	ok_eq(m[0], 3, "the_memory_has_kept_its_value");
	NEED(cudaFree(m));
}

#endif
