// SPDX-License-Identifier: Apache-2.0
// The kernel of of_11_test.c, registered and launched as code of CUDA 11's compiler does it: what
// 12 and 13 have for that is not in 11. The device code is that of of_12_kernels.cu.
#include <cuda_runtime_api.h>
#include <stdint.h>

#if CUDART_VERSION / 1000 != 11
#error "the headers of CUDA 11 come first"
#endif

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid,
			    dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterTexture(void **fatCubinHandle, const struct textureReference *hostVar,
			   const void **deviceAddress, const char *deviceName, int dim, int norm,
			   int ext);
void __cudaRegisterSurface(void **fatCubinHandle, const struct surfaceReference *hostVar,
			   const void **deviceAddress, const char *deviceName, int dim, int ext);
unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
					 struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
				       void *stream);

__asm__(".section .nv_fatbin, \"a\"\n"
	".balign 8\n"
	"device_code: .incbin \"" FATBIN "\"\n"
	".previous\n");
__asm__(".section .nv_fatbin, \"a\"\n"
	".balign 8\n"
	"texture_code: .incbin \"" TEXTURE_FATBIN "\"\n"
	".previous\n");
extern const char device_code[], texture_code[];

static const struct wrapper {
	uint32_t magic, version;
	const void *code, *unused;
} wrapper __attribute__((section(".nvFatBinSegment"), used)) = { 0x466243b1, 1, device_code, 0 },
  textures __attribute__((section(".nvFatBinSegment"), used)) = { 0x466243b1, 1, texture_code, 0 };

static void **module, **texture_module;

/* The program has references to textures and a surface, as code before 12 may. */
struct textureReference of_11_row, of_11_plane;
struct surfaceReference of_11_surface;

static void stub(int *x, int n, int v)
{
	void *args[] = { &x, &n, &v }, *stream;
	dim3 grid, block;
	size_t shared;

	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
		cudaLaunchKernel((const void *)stub, grid, block, args, shared, stream);
}

/* By their addresses the kernels that use references are launched. */
void of_11_fetch_row(void)
{
}

void of_11_fetch_plane(void)
{
}

void of_11_draw(void)
{
}

__attribute__((constructor))
static void register_all(void)
{
	module = __cudaRegisterFatBinary((void *)&wrapper);
	__cudaRegisterFunction(module, (const char *)stub, "_Z3addPiii", "_Z3addPiii", -1, 0, 0, 0,
			       0, 0);
	__cudaRegisterFatBinaryEnd(module);
	texture_module = __cudaRegisterFatBinary((void *)&textures);
	__cudaRegisterFunction(texture_module, (const char *)of_11_fetch_row, "fetch_row",
			       "fetch_row", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(texture_module, (const char *)of_11_fetch_plane, "fetch_plane",
			       "fetch_plane", -1, 0, 0, 0, 0, 0);
	__cudaRegisterFunction(texture_module, (const char *)of_11_draw, "draw", "draw", -1, 0, 0, 0,
			       0, 0);
	__cudaRegisterSurface(texture_module, &of_11_surface, 0, "surface", 2, 0);
	__cudaRegisterTexture(texture_module, &of_11_row, 0, "row", 1, 0, 0);
	__cudaRegisterTexture(texture_module, &of_11_plane, 0, "plane", 2, 1, 0);
	__cudaRegisterFatBinaryEnd(texture_module);
}

__attribute__((destructor))
static void unregister_all(void)
{
	__cudaUnregisterFatBinary(texture_module);
	__cudaUnregisterFatBinary(module);
}

void *of_11_kernel(void)
{
	return (void *)stub;
}

void of_11_launch(int *x, int n, int v)
{
	dim3 grid = { (n + 63) / 64, 1, 1 }, block = { 64, 1, 1 };

	if (!__cudaPushCallConfiguration(grid, block, 0, 0))
		stub(x, n, v);
}
