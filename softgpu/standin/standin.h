/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that softgpu's stand-ins for CUDA libraries share: the driver that they use,
 * and their own kernels on it. They use only documented driver calls, so the same libraries
 * run on a real GPU.
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

/* A kernel by its name. It is found at its first use. */
struct standin_kernel {
	const char *name;
	CUkernel kernel;
};

/* The library's own PTX, which ends with NUL (image.S). */
extern const char standin_image[];

/*
 * Binds the driver and loads the image, once per process, and makes sure that a context is
 * current. If none is, it uses the primary context of the first device, as NVIDIA's library
 * does through the runtime. Returns false after printing the reason on stderr.
 */
bool standin_start(void);

/* Launches @k. The arguments are in the form that cuLaunchKernel() takes. */
CUresult standin_launch(struct standin_kernel *k, const unsigned int grid[3],
			unsigned int threads, CUstream stream, void **args);

/* Reports on stderr that the library lacks this function. At most 32 lines are printed. */
void standin_refuse(const char *name);

/*
 * For a worker that has opened the driver already: makes the library use @handle (of
 * dlopen). Must be called before any other function. Otherwise the library looks for
 * $WORMHOLE_SOFTGPU_DRIVER, then for libcuda.so.1 beside itself, then for the system's.
 */
void wormhole_standin_driver(void *handle) __attribute__((visibility("default")));

#endif
