// SPDX-License-Identifier: Apache-2.0
/*
 * Kernel launches, from the configuration that <<<>>> pushes to the driver call. An ordinary
 * launch takes no lock, allocates nothing and makes no system call.
 */
#include <limits.h>

#include "cudart.h"

unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
					 cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				       void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
			       size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
				    void **args, size_t sharedMem, cudaStream_t stream);
cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args);

/* If the result is not 0, the program skips the launch that would follow. */
unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
					 cudaStream_t stream)
{
	struct rt_thread *t = &rt_self;

	if (t->depth == RT_CONFIG_DEPTH)
		return rt_ret(cudaErrorInvalidConfiguration);
	t->config[t->depth++] = (struct rt_config) {
		.grid = gridDim,
		.block = blockDim,
		.shared = sharedMem,
		.stream = stream,
	};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				       void *stream)
{
	struct rt_thread *t = &rt_self;
	struct rt_config *c;

	if (!t->depth)
		return rt_ret(cudaErrorMissingConfiguration);
	c = &t->config[--t->depth];
	*gridDim = c->grid;
	*blockDim = c->block;
	*sharedMem = c->shared;
	*(cudaStream_t *)stream = c->stream;
	return cudaSuccess;
}

/* The driver checks all else. It could not see this, since its parameter is narrower. */
static cudaError_t check_shared(size_t shared)
{
	return shared > UINT_MAX ? cudaErrorInvalidValue : cudaSuccess;
}

static inline cudaError_t launch(const void *func, dim3 grid, dim3 block, void **args,
				 size_t shared, cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t err = rt_enter();

	if (!err)
		err = check_shared(shared);
	if (!err)
		err = rt_kernel(func, &kernel);
	if (!err)
		err = rt_error(DRV(cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z,
						  block.x, block.y, block.z,
						  (unsigned int)shared, (CUstream)stream,
						  args, NULL)));
	return rt_ret(err);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
			       size_t sharedMem, cudaStream_t stream)
{
	return launch(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
				    void **args, size_t sharedMem, cudaStream_t stream)
{
	return launch(kernel, gridDim, blockDim, args, sharedMem, rt_own_stream(stream));
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
			     size_t sharedMem, cudaStream_t stream)
{
	return launch(func, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
					void **args, size_t sharedMem, cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t err = rt_enter();

	if (!err)
		err = check_shared(sharedMem);
	if (!err)
		err = rt_kernel(func, &kernel);
	if (!err)
		err = rt_error(DRV(cuLaunchCooperativeKernel((CUfunction)kernel, gridDim.x,
							     gridDim.y, gridDim.z, blockDim.x,
							     blockDim.y, blockDim.z,
							     (unsigned int)sharedMem,
							     (CUstream)stream, args)));
	return rt_ret(err);
}

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "launch attribute");
_Static_assert(offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value),
	       "launch attribute value");

/* Attribute numbers and values are the same in runtime and driver. */
cudaError_t rt_launch_config(const cudaLaunchConfig_t *in, CUlaunchConfig *out)
{
	if (!in || (in->numAttrs && !in->attrs))
		return cudaErrorInvalidValue;
	*out = (CUlaunchConfig) {
		.gridDimX = in->gridDim.x,
		.gridDimY = in->gridDim.y,
		.gridDimZ = in->gridDim.z,
		.blockDimX = in->blockDim.x,
		.blockDimY = in->blockDim.y,
		.blockDimZ = in->blockDim.z,
		.sharedMemBytes = (unsigned int)in->dynamicSmemBytes,
		.hStream = (CUstream)in->stream,
		.attrs = (CUlaunchAttribute *)in->attrs,
		.numAttrs = in->numAttrs,
	};
	return check_shared(in->dynamicSmemBytes);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	CUlaunchConfig driver_config;
	CUkernel kernel;
	cudaError_t err = rt_enter();

	if (!err)
		err = rt_launch_config(config, &driver_config);
	if (!err)
		err = rt_kernel(func, &kernel);
	if (!err)
		err = rt_error(DRV(cuLaunchKernelEx(&driver_config, (CUfunction)kernel, args,
						    NULL)));
	return rt_ret(err);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *func,
				     void **args)
{
	cudaLaunchConfig_t own;

	if (!config)
		return rt_ret(cudaErrorInvalidValue);
	own = *config;
	own.stream = rt_own_stream(own.stream);
	return cudaLaunchKernelExC(&own, func, args);
}
