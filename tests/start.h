/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the first calls of a program of the driver API. */
#ifndef WORMHOLE_TESTS_START_H
#define WORMHOLE_TESTS_START_H

#include <cuda.h>

/* Makes a context of the first device and makes it current in this thread. */
static inline CUresult start_context(void)
{
	CUcontext ctx;
	CUresult res = cuInit(0);

	if (!res)
		res = cuDevicePrimaryCtxRetain(&ctx, 0);
	return res ? res : cuCtxSetCurrent(ctx);
}

/* Does the same, and loads a kernel from this code. */
static inline CUresult start_kernel(const char *ptx, const char *name, CUfunction *f)
{
	CUmodule m;
	CUresult res = start_context();

	if (!res)
		res = cuModuleLoadData(&m, ptx);
	return res ? res : cuModuleGetFunction(f, m, name);
}

#endif
