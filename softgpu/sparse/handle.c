// SPDX-License-Identifier: Apache-2.0
/* Handles of the stand-in for cuSPARSE, what operations share, and descriptors of old matrices. */
#include "sparse.h"

#include <stdlib.h>
#include <string.h>

#define THREADS	256	/* half.cuh's BLOCK */
#define OK	CUSPARSE_STATUS_SUCCESS

cusparseStatus_t sparse_enter(cusparseHandle_t h)
{
	if (!h)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	return standin_start() ? OK : CUSPARSE_STATUS_INTERNAL_ERROR;
}

bool sparse_type_of(cudaDataType data, enum sparse_type *t)
{
	static const cudaDataType types[TYPES] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F,
						   CUDA_R_16F, CUDA_R_16BF };

	for (*t = 0; *t < TYPES; (*t)++)
		if (types[*t] == data)
			return true;
	standin_refuse("an operation of cuSPARSE on these types");
	return false;
}

bool sparse_types(cudaDataType data, cudaDataType compute, enum sparse_type *t)
{
	if (!sparse_type_of(data, t))
		return false;
	if (compute == (*t >= TYPE_H ? CUDA_R_32F : data))
		return true;
	standin_refuse("an operation of cuSPARSE in this type of computation");
	return false;
}

int sparse_size(enum sparse_type t)
{
	return (const int[TYPES]){ 4, 8, 8, 16, 2, 2 }[t];
}

int sparse_sum_size(enum sparse_type t)
{
	return (const int[TYPES]){ 4, 8, 8, 16, 4, 4 }[t];
}

struct scalar sparse_scalar(cusparseHandle_t h, enum sparse_type t, const void *p)
{
	struct scalar s = { .at = NULL };

	if (h->pointers == CUSPARSE_POINTER_MODE_DEVICE)
		s.at = p;
	else
		memcpy(&s.value, p, sparse_sum_size(t));
	return s;
}

cusparseStatus_t sparse_launch(cusparseHandle_t h, struct standin_kernel *k, int64_t n, int batch,
			       void **args)
{
	int64_t blocks = (n + THREADS - 1) / THREADS;

	/* At most 4096 blocks are launched; the kernels loop over the remaining elements. */
	blocks = blocks < 1 ? 1 : blocks > 4096 ? 4096 : blocks;
	return standin_launch(k, (unsigned int[3]){ blocks, batch, 1 }, THREADS, h->stream, args) ?
	       CUSPARSE_STATUS_EXECUTION_FAILED : OK;
}

cusparseStatus_t sparse_clear(cusparseHandle_t h, void *p, int64_t bytes)
{
	static struct standin_kernel k = { "clear_bytes", NULL };

	return sparse_launch(h, &k, bytes, 1, (void *[]){ &p, &bytes });
}

cusparseStatus_t sparse_starts(cusparseHandle_t h, int64_t *counts, int64_t n, int64_t *total)
{
	static struct standin_kernel k = { "add_up", NULL };
	cusparseStatus_t st = sparse_launch(h, &k, 1, 1, (void *[]){ &counts, &n });

	if (st || !total)
		return st;
	if (standin_drv.cuMemcpyDtoHAsync_v2(total, (CUdeviceptr)(uintptr_t)(counts + n),
					     sizeof(*total), h->stream) ||
	    standin_drv.cuStreamSynchronize(h->stream))
		return CUSPARSE_STATUS_EXECUTION_FAILED;
	return OK;
}

/* --- Handles ------------------------------------------------------------------------ */

EXPORT cusparseStatus_t cusparseCreate(cusparseHandle_t *out)
{
	if (!out)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!standin_start())
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	*out = calloc(1, sizeof(**out));
	return *out ? OK : CUSPARSE_STATUS_ALLOC_FAILED;
}

EXPORT cusparseStatus_t cusparseDestroy(cusparseHandle_t h)
{
	if (!h)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	free(h);
	return OK;
}

EXPORT cusparseStatus_t cusparseGetVersion(cusparseHandle_t h, int *version)
{
	if (!h)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!version)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*version = CUSPARSE_VERSION;
	return OK;
}

EXPORT cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*value = version[type];
	return OK;
}

#define MODE(Name, type, member, good) \
EXPORT cusparseStatus_t cusparseSet##Name(cusparseHandle_t h, type v) \
{ \
	if (!h) \
		return CUSPARSE_STATUS_NOT_INITIALIZED; \
	if (!(good)) \
		return CUSPARSE_STATUS_INVALID_VALUE; \
	h->member = (__typeof__(h->member))v; \
	return OK; \
} \
EXPORT cusparseStatus_t cusparseGet##Name(cusparseHandle_t h, type *v) \
{ \
	if (!h) \
		return CUSPARSE_STATUS_NOT_INITIALIZED; \
	if (!v) \
		return CUSPARSE_STATUS_INVALID_VALUE; \
	*v = (type)h->member; \
	return OK; \
}

MODE(Stream, cudaStream_t, stream, true)
MODE(PointerMode, cusparsePointerMode_t, pointers, (unsigned int)v <= CUSPARSE_POINTER_MODE_DEVICE)

#define STATUSES(X) \
	X(SUCCESS, "success") X(NOT_INITIALIZED, "initialization error") \
	X(ALLOC_FAILED, "out of memory") X(INVALID_VALUE, "invalid value") \
	X(ARCH_MISMATCH, "architecture mismatch") X(MAPPING_ERROR, "texture or data error") \
	X(EXECUTION_FAILED, "kernel launch failure") X(INTERNAL_ERROR, "internal error") \
	X(MATRIX_TYPE_NOT_SUPPORTED, "matrix type not supported") X(ZERO_PIVOT, "zero pivot") \
	X(NOT_SUPPORTED, "operation not supported") \
	X(INSUFFICIENT_RESOURCES, "insufficient resources")

EXPORT const char *cusparseGetErrorName(cusparseStatus_t status)
{
	switch (status) {
#define NAME(s, text) case CUSPARSE_STATUS_##s: return "CUSPARSE_STATUS_" #s;
	STATUSES(NAME)
#undef NAME
	default:
		return "unrecognized error code";
	}
}

EXPORT const char *cusparseGetErrorString(cusparseStatus_t status)
{
	switch (status) {
#define TEXT(s, text) case CUSPARSE_STATUS_##s: return text;
	STATUSES(TEXT)
#undef TEXT
	default:
		return "unrecognized error code";
	}
}

/* --- Descriptors of the old interface: four numbers ------------------------------------- */

struct cusparseMatDescr {
	cusparseMatrixType_t MatType;
	cusparseFillMode_t MatFillMode;
	cusparseDiagType_t MatDiagType;
	cusparseIndexBase_t MatIndexBase;
};

EXPORT cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *d)
{
	if (!d)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*d = calloc(1, sizeof(**d));
	return *d ? OK : CUSPARSE_STATUS_ALLOC_FAILED;
}

EXPORT cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t d)
{
	free(d);
	return OK;
}

#define PART(Name, type, most) \
EXPORT cusparseStatus_t cusparseSet##Name(cusparseMatDescr_t d, type v) \
{ \
	if (!d || (unsigned int)v > (most)) \
		return CUSPARSE_STATUS_INVALID_VALUE; \
	d->Name = v; \
	return OK; \
} \
EXPORT type cusparseGet##Name(const cusparseMatDescr_t d) \
{ \
	return d->Name; \
}

PART(MatType, cusparseMatrixType_t, CUSPARSE_MATRIX_TYPE_TRIANGULAR)
PART(MatFillMode, cusparseFillMode_t, CUSPARSE_FILL_MODE_UPPER)
PART(MatDiagType, cusparseDiagType_t, CUSPARSE_DIAG_TYPE_UNIT)
PART(MatIndexBase, cusparseIndexBase_t, CUSPARSE_INDEX_BASE_ONE)
