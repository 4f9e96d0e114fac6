// SPDX-License-Identifier: Apache-2.0
/*
 * NPP's functions for memory, which are the driver's with a context of the runtime's; and its
 * version, the worker's.
 */
#include "npp_stub.h"

#include <nppi_support_functions.h>
#include <npps_support_functions.h>

/* --- Memory -------------------------------------------------------------------------- */

static void *signal(size_t count, size_t size)
{
	CUdeviceptr p = 0;
	size_t bytes;

	if (!count || __builtin_mul_overflow(count, size, &bytes) ||
	    wh_library_prepare(&wh_npp_library) != CUDA_SUCCESS ||
	    cuMemAlloc(&p, bytes) != CUDA_SUCCESS)
		return NULL;
	return (void *)p;
}

static void *image(int width, int height, size_t size, int *step)
{
	CUdeviceptr p = 0;
	size_t pitch;

	if (width <= 0 || height <= 0 || !step ||
	    wh_library_prepare(&wh_npp_library) != CUDA_SUCCESS ||
	    cuMemAllocPitch(&p, &pitch, width * size, height, 4) != CUDA_SUCCESS)
		return NULL;
	*step = pitch;
	return (void *)p;
}

#define SIGNAL(type)							\
Npp##type *nppsMalloc_##type(size_t nSize)				\
{									\
	return signal(nSize, sizeof(Npp##type));			\
}
SIGNAL(8u)
SIGNAL(8s)
SIGNAL(16u)
SIGNAL(16s)
SIGNAL(16sc)
SIGNAL(32u)
SIGNAL(32s)
SIGNAL(32sc)
SIGNAL(32f)
SIGNAL(32fc)
SIGNAL(64s)
SIGNAL(64sc)
SIGNAL(64f)
SIGNAL(64fc)

#define IMAGE(type, n)							\
Npp##type *nppiMalloc_##type##_C##n(int nWidthPixels, int nHeightPixels, int *pStepBytes) \
{									\
	return image(nWidthPixels, nHeightPixels, n * sizeof(Npp##type), pStepBytes); \
}
IMAGE(8u, 1)
IMAGE(8u, 2)
IMAGE(8u, 3)
IMAGE(8u, 4)
IMAGE(16u, 1)
IMAGE(16u, 2)
IMAGE(16u, 3)
IMAGE(16u, 4)
IMAGE(16s, 1)
IMAGE(16s, 2)
IMAGE(16s, 4)
IMAGE(16sc, 1)
IMAGE(16sc, 2)
IMAGE(16sc, 3)
IMAGE(16sc, 4)
IMAGE(32s, 1)
IMAGE(32s, 3)
IMAGE(32s, 4)
IMAGE(32sc, 1)
IMAGE(32sc, 2)
IMAGE(32sc, 3)
IMAGE(32sc, 4)
IMAGE(32f, 1)
IMAGE(32f, 2)
IMAGE(32f, 3)
IMAGE(32f, 4)
IMAGE(32fc, 1)
IMAGE(32fc, 2)
IMAGE(32fc, 3)
IMAGE(32fc, 4)

void nppiFree(void *pData)
{
	cuMemFree((CUdeviceptr)pData);
}

void nppsFree(void *pValues)
{
	cuMemFree((CUdeviceptr)pValues);
}

/* --- The version -------------------------------------------------------------------------- */

/* Without a worker, it is that of the library's soname. */
const NppLibraryVersion *nppGetLibVersion(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static NppLibraryVersion version = { .major = 13 };
	static bool asked;
	struct wh_call c;

	pthread_mutex_lock(&lock);
	if (!asked && wh_library_begin(&c, &wh_npp_library, WH_CALL_whNppVersion,
				       sizeof(struct wh_req))) {
		asked = wh_library_run(&c, sizeof(struct wh_rsp_whNppVersion)) &&
			!((const struct wh_rsp *)c.rsp)->result;
		if (asked)
			version = ((const struct wh_rsp_whNppVersion *)c.rsp)->version;
		wh_end(&c);
	}
	pthread_mutex_unlock(&lock);
	return &version;
}
