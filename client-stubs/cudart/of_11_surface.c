// SPDX-License-Identifier: Apache-2.0
/*
 * References to surfaces, which programs from before CUDA 12 may have. A reference is a variable of
 * the program's device code that the driver knows by its name. An array is all that is bound to it,
 * and has its own format.
 */
#include "of_11.h"

void of_11___cudaRegisterSurface(void **module, const struct surfaceReference *host,
				 const void **device, const char *name, int dimensions,
				 int external)
{
	(void)device, (void)dimensions, (void)external;
	rt_surface_register(module, host, name);
}

cudaError_t of_11_cudaBindSurfaceToArray(const struct surfaceReference *surfref,
					 cudaArray_const_t array,
					 const struct cudaChannelFormatDesc *desc)
{
	CUsurfref ref;
	cudaError_t err = surfref && array && desc ? rt_enter() : cudaErrorInvalidValue;

	if (!err)
		err = rt_surface_find(surfref, &ref);
	if (!err)
		err = rt_error(DRV(cuSurfRefSetArray(ref, (CUarray)array, 0)));
	return rt_ret(err);
}

cudaError_t of_11_cudaGetSurfaceReference(const struct surfaceReference **surfref,
					  const void *symbol)
{
	if (!surfref)
		return rt_ret(cudaErrorInvalidValue);
	if (!symbol || !rt_is_surface(symbol))
		return rt_ret(cudaErrorInvalidSurface);
	*surfref = symbol;
	return cudaSuccess;
}
