/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What softgpu's stand-ins for CUDA libraries share: the driver that they use,
 * and their own kernels on it. Only documented driver calls are used, so the
 * same libraries run on a real GPU.
 */
#ifndef WORMHOLE_SOFTGPU_STANDIN_H
#define WORMHOLE_SOFTGPU_STANDIN_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#define STANDIN_CALLS(X) \
	X(cuInit, (unsigned int)) \
	X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) \
	X(cuCtxGetCurrent, (CUcontext *)) \
	X(cuCtxSetCurrent, (CUcontext)) \
	X(cuLibraryLoadData, (CUlibrary *, const void *, CUjit_option *, void **, \
			      unsigned int, CUlibraryOption *, void **, unsigned int)) \
	X(cuLibraryGetKernel, (CUkernel *, CUlibrary, const char *)) \
	X(cuLaunchKernel, (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, \
			   unsigned int, unsigned int, unsigned int, CUstream, void **, void **)) \
	X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) \
	X(cuMemFree_v2, (CUdeviceptr)) \
	X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
	X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *, CUstream)) \
	X(cuStreamSynchronize, (CUstream))

struct standin_driver {
#define STANDIN_MEMBER(name, args) CUresult (*name)args;
	STANDIN_CALLS(STANDIN_MEMBER)
#undef STANDIN_MEMBER
};

extern struct standin_driver standin_drv;

/* A kernel by its name; found at its first use. */
struct standin_kernel {
	const char *name;
	CUkernel kernel;
};

/* The library's own PTX, NUL-terminated (standin_image.S). */
extern const char standin_image[];

/*
 * Bind the driver and load the image, once for the process, and see to a
 * current context: as the genuine library does through the runtime, the first
 * device's primary one where there is none. False: said why on stderr.
 */
bool standin_start(void);

/* Launch @k; the arguments are as cuLaunchKernel() takes them. */
CUresult standin_launch(struct standin_kernel *k, const unsigned int grid[3],
			unsigned int threads, CUstream stream, void **args);

/* A public function that this library does not have: named once on stderr. */
void standin_refuse(const char *name);

/*
 * For a worker that has the driver open already: use @handle (of dlopen). To be
 * called before any other function. Without it: $WORMHOLE_SOFTGPU_DRIVER, then
 * the libcuda.so.1 beside this library, then the system's.
 */
void wormhole_standin_driver(void *handle) __attribute__((visibility("default")));

#endif
