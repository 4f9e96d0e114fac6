/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA functions that benches need, from whichever libcuda.so.1 the loader finds, and
 * an empty kernel. Any failure ends the program with the name of the call.
 */
#ifndef WORMHOLE_LAUNCH_H
#define WORMHOLE_LAUNCH_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	typeof(cuInit) *init;
	typeof(cuDevicePrimaryCtxRetain) *retain;
	typeof(cuCtxSetCurrent) *set_current;
	typeof(cuModuleLoadData) *load;
	typeof(cuModuleGetFunction) *get_function;
	typeof(cuLaunchKernel) *launch;
	typeof(cuMemAlloc) *alloc;
	typeof(cuMemcpyHtoD) *to_device;
	typeof(cuMemcpyDtoH) *to_host;
	typeof(cuMemAllocHost) *alloc_host;
	typeof(cuCtxSynchronize) *synchronize;
	CUfunction empty;
} cuda;

static inline void cuda_must(const char *what, CUresult res)
{
	if (res == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", what, res);
	exit(1);
}

static inline void *cuda_symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (p)
		return p;
	fprintf(stderr, "libcuda.so.1 has no %s\n", name);
	exit(1);
}

static inline void cuda_bind(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	cuda.init = cuda_symbol(lib, "cuInit");
	cuda.retain = cuda_symbol(lib, "cuDevicePrimaryCtxRetain");
	cuda.set_current = cuda_symbol(lib, "cuCtxSetCurrent");
	cuda.load = cuda_symbol(lib, "cuModuleLoadData");
	cuda.get_function = cuda_symbol(lib, "cuModuleGetFunction");
	cuda.launch = cuda_symbol(lib, "cuLaunchKernel");
	cuda.alloc = cuda_symbol(lib, "cuMemAlloc_v2");
	cuda.to_device = cuda_symbol(lib, "cuMemcpyHtoD_v2");
	cuda.to_host = cuda_symbol(lib, "cuMemcpyDtoH_v2");
	cuda.alloc_host = cuda_symbol(lib, "cuMemAllocHost_v2");
	cuda.synchronize = cuda_symbol(lib, "cuCtxSynchronize");
}

static inline void cuda_start(void)
{
	static const char ptx[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry empty()\n{\n\tret;\n}\n";
	CUcontext ctx;
	CUmodule mod;

	cuda_bind();
	cuda_must("cuInit", cuda.init(0));
	cuda_must("cuDevicePrimaryCtxRetain", cuda.retain(&ctx, 0));
	cuda_must("cuCtxSetCurrent", cuda.set_current(ctx));
	cuda_must("cuModuleLoadData", cuda.load(&mod, ptx));
	cuda_must("cuModuleGetFunction", cuda.get_function(&cuda.empty, mod, "empty"));
}

static inline void cuda_launch_empty(void)
{
	cuda_must("cuLaunchKernel", cuda.launch(cuda.empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

#endif
