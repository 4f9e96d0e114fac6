// SPDX-License-Identifier: Apache-2.0
/*
 * Handles of the stand-in for cuBLAS, their modes, and the launch that every operation
 * uses. A result is fetched at once in host mode, and stays on the device in device mode.
 */
#include "blas.h"
#include "../standin/cublas_status.h"

#include <stdlib.h>
#include <string.h>

#define THREADS	256

cublasStatus_t blas_enter(cublasHandle_t h)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	return standin_start() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

struct scalar blas_scalar(cublasHandle_t h, int d, const void *p)
{
	struct scalar s = { .at = NULL };

	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		s.at = p;
	else if (d)
		s.value.d = *(const double *)p;
	else
		s.value.f = *(const float *)p;
	return s;
}

bool blas_is_zero(struct scalar s, int d)
{
	return !s.at && (d ? s.value.d == 0 : s.value.f == 0);
}

cublasStatus_t blas_launch_grid(cublasHandle_t h, struct standin_kernel *k,
				const unsigned int grid[3], void **args)
{
	return standin_launch(k, grid, THREADS, h->stream, args) ?
	       CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t blas_launch(cublasHandle_t h, struct standin_kernel k[2], int d, int64_t n,
			   void **args)
{
	int64_t blocks = (n + THREADS - 1) / THREADS;

	/* At most 4096 blocks are launched; the kernels loop over the remaining elements. */
	blocks = blocks < 1 ? 1 : blocks > 4096 ? 4096 : blocks;
	return blas_launch_grid(h, &k[d], (unsigned int[3]){ blocks, 1, 1 }, args);
}

cublasStatus_t blas_fetch(cublasHandle_t h, void *to, size_t at, size_t bytes)
{
	if (standin_drv.cuMemcpyDtoHAsync_v2(to, h->room + at, bytes, h->stream) ||
	    standin_drv.cuStreamSynchronize(h->stream))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t blas_store(cublasHandle_t h, size_t at, const void *from, size_t bytes)
{
	return standin_drv.cuMemcpyHtoDAsync_v2(h->room + at, from, bytes, h->stream) ?
	       CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* --- Handles -------------------------------------------------------------------- */

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
	cublasHandle_t h;

	if (!out)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!standin_start())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	if (standin_drv.cuMemAlloc_v2(&h->room, ROOM)) {
		free(h);
		return CUBLAS_STATUS_ALLOC_FAILED;
	}
	*out = h;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
	cublasStatus_t st = blas_enter(h);

	if (st)
		return st;
	standin_drv.cuMemFree_v2(h->room);
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasGetVersion_v2(cublasHandle_t h, int *version)
{
	(void)h;		/* NVIDIA's library accepts NULL, too */
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = CUBLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = version[type];
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT size_t cublasGetCudartVersion(void)
{
	return 13000;
}

EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *workspace, size_t size)
{
	(void)workspace;	/* no operation here needs one */
	(void)size;
	return h ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

#define MODE(Name, type, member, good) \
EXPORT cublasStatus_t cublasSet##Name(cublasHandle_t h, type v) \
{ \
	if (!h) \
		return CUBLAS_STATUS_NOT_INITIALIZED; \
	if (!(good)) \
		return CUBLAS_STATUS_INVALID_VALUE; \
	h->member = (__typeof__(h->member))v; \
	return CUBLAS_STATUS_SUCCESS; \
} \
EXPORT cublasStatus_t cublasGet##Name(cublasHandle_t h, type *v) \
{ \
	if (!h) \
		return CUBLAS_STATUS_NOT_INITIALIZED; \
	if (!v) \
		return CUBLAS_STATUS_INVALID_VALUE; \
	*v = (type)h->member; \
	return CUBLAS_STATUS_SUCCESS; \
}

MODE(Stream_v2, cudaStream_t, stream, true)
MODE(PointerMode_v2, cublasPointerMode_t, pointers, (unsigned int)v <= CUBLAS_POINTER_MODE_DEVICE)
MODE(AtomicsMode, cublasAtomicsMode_t, atomics, (unsigned int)v <= CUBLAS_ATOMICS_ALLOWED)
/* Every operation computes in the precision of its type, which every math mode allows. */
MODE(MathMode, cublasMath_t, math, true)
MODE(SmCountTarget, int, sm_target, v >= 0)

/* --- Names of statuses ----------------------------------------------------------- */

EXPORT const char *cublasGetStatusName(cublasStatus_t status)
{
	return standin_cublas_name(status);
}

EXPORT const char *cublasGetStatusString(cublasStatus_t status)
{
	return standin_cublas_text(status);
}

EXPORT void cublasXerbla(const char *name, int info)
{
	(void)info;
	standin_refuse(name);
}
