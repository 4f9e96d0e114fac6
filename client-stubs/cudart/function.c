// SPDX-License-Identifier: Apache-2.0
/*
 * Attributes of kernels, and those occupancy questions whose arguments need translation. The
 * other questions are generated.
 */
#include <string.h>

#include "cudart.h"

/* A field of the struct, int or size_t, and the attribute that it shows. */
struct attr_field {
	unsigned short offset;
	unsigned short size;
	CUfunction_attribute attr;
};

#define ATTR(field, name) {						\
	.offset = offsetof(struct cudaFuncAttributes, field),		\
	.size = sizeof(((struct cudaFuncAttributes *)NULL)->field),	\
	.attr = CU_FUNC_ATTRIBUTE_##name,				\
}

static const struct attr_field attr_fields[] = {
	ATTR(sharedSizeBytes, SHARED_SIZE_BYTES),
	ATTR(constSizeBytes, CONST_SIZE_BYTES),
	ATTR(localSizeBytes, LOCAL_SIZE_BYTES),
	ATTR(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
	ATTR(numRegs, NUM_REGS),
	ATTR(ptxVersion, PTX_VERSION),
	ATTR(binaryVersion, BINARY_VERSION),
	ATTR(cacheModeCA, CACHE_MODE_CA),
	ATTR(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES),
	ATTR(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT),
	ATTR(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET),
	ATTR(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH),
	ATTR(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT),
	ATTR(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH),
	ATTR(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE),
	ATTR(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
};

/* Finds the kernel for a host function, and the device that the thread works on. */
static cudaError_t kernel_here(const void *func, CUkernel *kernel, CUdevice *dev)
{
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_kernel(func, kernel);
	return err ? err : rt_current_device(dev);
}

static cudaError_t read_attr(struct cudaFuncAttributes *out, const struct attr_field *f,
			     CUkernel kernel, CUdevice dev)
{
	char *field = (char *)out + f->offset;
	int value = 0;
	cudaError_t err;

	err = rt_error(DRV(cuKernelGetAttribute(&value, f->attr, kernel, dev)));
	if (err)
		return err;
	if (f->size == sizeof(int))
		*(int *)field = value;
	else
		*(size_t *)field = (unsigned int)value;
	return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	struct cudaFuncAttributes out;
	CUkernel kernel;
	CUdevice dev;
	cudaError_t err;
	size_t i;

	if (!attr)
		return rt_ret(cudaErrorInvalidValue);
	memset(&out, 0, sizeof(out));
	err = kernel_here(func, &kernel, &dev);
	for (i = 0; !err && i < sizeof(attr_fields) / sizeof(attr_fields[0]); i++)
		err = read_attr(&out, &attr_fields[i], kernel, dev);
	if (!err)
		*attr = out;
	return rt_ret(err);
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	CUkernel kernel;
	CUdevice dev;
	cudaError_t err = kernel_here(func, &kernel, &dev);

	if (!err)
		err = rt_error(DRV(cuKernelSetAttribute((CUfunction_attribute)attr, value, kernel,
							dev)));
	return rt_ret(err);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
					    int value, int device)
{
	CUkernel driver_kernel;
	CUdevice dev;
	cudaError_t err = rt_device(device, &dev);

	if (!err)
		err = rt_kernel(kernel, &driver_kernel);
	if (!err)
		err = rt_error(DRV(cuKernelSetAttribute((CUfunction_attribute)attr, value,
							driver_kernel, dev)));
	return rt_ret(err);
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
	CUkernel kernel;
	CUdevice dev;
	cudaError_t err = kernel_here(func, &kernel, &dev);

	if (!err)
		err = rt_error(DRV(cuKernelSetCacheConfig(kernel, (CUfunc_cache)cacheConfig, dev)));
	return rt_ret(err);
}

static cudaError_t function_here(const void *func, CUfunction *function)
{
	CUkernel kernel;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_function(func, &kernel);
	return err ? err : rt_error(DRV(cuKernelGetFunction(function, kernel)));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	CUfunction function;
	cudaError_t err = function_here(func, &function);

	if (!err)
		err = rt_error(DRV(cuFuncSetSharedMemConfig(function, (CUsharedconfig)config)));
	return rt_ret(err);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	if (!functionPtr)
		return rt_ret(cudaErrorInvalidValue);
	return rt_ret(function_here(symbolPtr, (CUfunction *)functionPtr));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
					   const cudaLaunchConfig_t *launchConfig)
{
	CUlaunchConfig config;
	CUkernel kernel;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_launch_config(launchConfig, &config);
	if (!err)
		err = rt_kernel(func, &kernel);
	if (!err)
		err = rt_error(DRV(cuOccupancyMaxActiveClusters(numClusters, (CUfunction)kernel,
								&config)));
	return rt_ret(err);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
						 const cudaLaunchConfig_t *launchConfig)
{
	CUlaunchConfig config;
	CUkernel kernel;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_launch_config(launchConfig, &config);
	if (!err)
		err = rt_kernel(func, &kernel);
	if (!err)
		err = rt_error(DRV(cuOccupancyMaxPotentialClusterSize(clusterSize,
								      (CUfunction)kernel,
								      &config)));
	return rt_ret(err);
}
