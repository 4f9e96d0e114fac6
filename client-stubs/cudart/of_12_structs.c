// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of libcudart.so.12 whose structs have another layout than in 13. Most became
 * longer at their end, and a struct of 12 must not be written beyond it.
 */
#include <string.h>

#include "of_12.h"

/* The sizes in 12. What is before has the same layout in 13. */
#define POINTER_SIZE	24	/* struct cudaPointerAttributes */
#define RESOURCE_SIZE	64	/* struct cudaResourceDesc */
#define VIEW_SIZE	48	/* struct cudaResourceViewDesc */

_Static_assert(offsetof(struct cudaPointerAttributes, reserved) == POINTER_SIZE, "pointer");
_Static_assert(offsetof(struct cudaResourceViewDesc, reserved) == VIEW_SIZE, "view");
_Static_assert(offsetof(struct cudaResourceDesc, res.pitch2D.pitchInBytes) + sizeof(size_t) ==
	       RESOURCE_SIZE, "resource");

static cudaError_t give(cudaError_t err, void *to, const void *from, size_t size)
{
	if (!err)
		memcpy(to, from, size);
	return err;
}

cudaError_t of_12_cudaPointerGetAttributes(void *attributes, const void *ptr)
{
	struct cudaPointerAttributes a;

	if (!attributes)
		return rt_ret(cudaErrorInvalidValue);
	return give(cudaPointerGetAttributes(&a, ptr), attributes, &a, POINTER_SIZE);
}

cudaError_t of_12_cudaGetTextureObjectResourceDesc(void *desc, cudaTextureObject_t object)
{
	struct cudaResourceDesc d;

	if (!desc)
		return rt_ret(cudaErrorInvalidValue);
	return give(cudaGetTextureObjectResourceDesc(&d, object), desc, &d, RESOURCE_SIZE);
}

cudaError_t of_12_cudaGetSurfaceObjectResourceDesc(void *desc, cudaSurfaceObject_t object)
{
	struct cudaResourceDesc d;

	if (!desc)
		return rt_ret(cudaErrorInvalidValue);
	return give(cudaGetSurfaceObjectResourceDesc(&d, object), desc, &d, RESOURCE_SIZE);
}

cudaError_t of_12_cudaGetTextureObjectResourceViewDesc(void *desc, cudaTextureObject_t object)
{
	struct cudaResourceViewDesc d;

	if (!desc)
		return rt_ret(cudaErrorInvalidValue);
	return give(cudaGetTextureObjectResourceViewDesc(&d, object), desc, &d, VIEW_SIZE);
}

/* --- struct cudaDeviceProp ------------------------------------------------------------------ */

/* Fields that follow each other in both versions. */
struct piece {
	unsigned short from, to, size;
};

#define AT(field) offsetof(struct cudaDeviceProp, field)
#define PIECE(first, last, in_12) {					\
	.from = AT(first),						\
	.to = in_12,							\
	.size = AT(last) + sizeof(((struct cudaDeviceProp *)NULL)->last) - AT(first), \
}

static const struct piece pieces[] = {
	PIECE(name, maxGridSize, 0),
	PIECE(totalConstMem, texturePitchAlignment, 352),
	PIECE(multiProcessorCount, multiProcessorCount, 388),
	PIECE(integrated, canMapHostMemory, 396),
	PIECE(maxTexture1D, maxTexture1DMipmap, 408),
	PIECE(maxTexture2D, maxSurfaceCubemapLayered, 420),
	PIECE(surfaceAlignment, unifiedAddressing, 568),
	PIECE(memoryBusWidth, localL1CacheSupported, 612),
	PIECE(sharedMemPerMultiprocessor, hostNativeAtomicSupported, 640),
	PIECE(pageableMemoryAccess, cooperativeLaunch, 672),
	PIECE(sharedMemPerBlockOptin, unifiedFunctionPointers, 696),
};

/* Fields that 13 has no more, each an int. */
static const struct {
	unsigned short at;
	CUdevice_attribute attr;
} gone[] = {
	{ 348, CU_DEVICE_ATTRIBUTE_CLOCK_RATE },
	{ 384, CU_DEVICE_ATTRIBUTE_GPU_OVERLAP },
	{ 392, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT },
	{ 404, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE },
	{ 416, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH },
	{ 608, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE },
	{ 668, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO },
	{ 692, CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* As in 13, a field is 0 if the driver does not know its attribute. */
static cudaError_t read_gone(char *prop, int device)
{
	CUdevice dev;
	cudaError_t err = rt_device(device, &dev);
	CUresult res;
	size_t i;
	int value;

	for (i = 0; !err && i < COUNT(gone); i++) {
		value = 0;
		res = drv.cuDeviceGetAttribute(&value, gone[i].attr, dev);
		if (res != CUDA_SUCCESS && res != CUDA_ERROR_INVALID_VALUE)
			err = rt_error(res);
		memcpy(prop + gone[i].at, &value, sizeof(value));
	}
	return err;
}

static cudaError_t get_properties(void *prop, int device, size_t size)
{
	struct cudaDeviceProp of_13;
	char of_12[PROP_SIZE_12] = { 0 };
	cudaError_t err;
	size_t i;

	err = cudaGetDeviceProperties(prop ? &of_13 : NULL, device);
	if (err)
		return err;
	for (i = 0; i < COUNT(pieces); i++)
		memcpy(of_12 + pieces[i].to, (char *)&of_13 + pieces[i].from, pieces[i].size);
	return rt_ret(give(read_gone(of_12, device), prop, of_12, size));
}

cudaError_t of_12_cudaGetDeviceProperties_v2(void *prop, int device)
{
	return get_properties(prop, device, PROP_SIZE_12);
}

/* Programs that were built with headers of 12 call _v2: the plain name has the struct of 11. */
cudaError_t of_12_cudaGetDeviceProperties(void *prop, int device)
{
	return get_properties(prop, device, PROP_SIZE_11);
}

cudaError_t of_12_cudaChooseDevice(int *device, const void *prop)
{
	struct cudaDeviceProp wanted;
	size_t i;

	memset(&wanted, 0, sizeof(wanted));
	for (i = 0; prop && i < COUNT(pieces); i++)
		memcpy((char *)&wanted + pieces[i].from, (const char *)prop + pieces[i].to,
		       pieces[i].size);
	return cudaChooseDevice(device, prop ? &wanted : NULL);
}
