// SPDX-License-Identifier: Apache-2.0
/* Handles and versions of the stand-in for cuDNN, and what all operations use. */
#include "dnn.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS	256	/* half.cuh's BLOCK */

cudnnStatus_t dnn_enter(cudnnHandle_t h)
{
	if (!h)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	return standin_start() ? OK : CUDNN_STATUS_NOT_INITIALIZED;
}

bool dnn_type_of(cudnnDataType_t type, enum dnn_type *t)
{
	static const cudnnDataType_t types[TYPES] = { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE,
						      CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };

	for (*t = 0; *t < TYPES; (*t)++)
		if (types[*t] == type)
			return true;
	standin_refuse("an operation of cuDNN on this type");
	return false;
}

union scalar dnn_number(enum dnn_type t, double v)
{
	union scalar s = { .d = 0 };

	if (t == TYPE_D)
		s.d = v;
	else
		s.f = (float)v;
	return s;
}

union scalar dnn_scalar(enum dnn_type t, const void *p)
{
	return dnn_number(t, t == TYPE_D ? *(const double *)p : *(const float *)p);
}

cudnnStatus_t dnn_launch(cudnnHandle_t h, struct standin_kernel *k, int64_t n, void **args)
{
	int64_t blocks = (n + THREADS - 1) / THREADS;

	if (n <= 0)
		return OK;
	/* At most 4096 blocks are launched; the kernels loop over the remaining elements. */
	blocks = blocks > 4096 ? 4096 : blocks;
	return standin_launch(k, (unsigned int[3]){ blocks, 1, 1 }, THREADS, h->stream, args) ?
	       CUDNN_STATUS_EXECUTION_FAILED : OK;
}

int64_t dnn_elements(const struct tensor_args *t)
{
	int64_t n = 1;
	int d;

	for (d = 0; d < t->rank; d++)
		n *= t->n[d];
	return t->rank ? n : 0;
}

bool dnn_same_sizes(const struct tensor_args *a, const struct tensor_args *b)
{
	int d;

	for (d = 0; d < a->rank && a->rank == b->rank; d++)
		if (a->n[d] != b->n[d])
			return false;
	return a->rank && a->rank == b->rank;
}

struct tensor_args dnn_tensor(const struct tensor_args *t, const void *at)
{
	struct tensor_args args = *t;

	args.at = (void *)at;
	return args;
}

bool dnn_image(const struct tensor_args *t, const void *at, struct image_args *to)
{
	int space = t->rank - 2, d;

	if (space < 0 || space > DNN_SPACE)
		return false;
	*to = (struct image_args){ .at = (void *)at, .n = { t->n[0], t->n[1], 1, 1, 1 },
				   .stride = { t->stride[0], t->stride[1] } };
	for (d = 0; d < space; d++) {
		to->n[2 + DNN_SPACE - space + d] = t->n[2 + d];
		to->stride[2 + DNN_SPACE - space + d] = t->stride[2 + d];
	}
	return true;
}

int64_t dnn_output(int64_t n, int64_t pad, int64_t size, int64_t apart, int64_t step)
{
	int64_t room = n + 2 * pad - ((size - 1) * apart + 1);

	return room < 0 ? 0 : room / step + 1;
}

/* --- The library ------------------------------------------------------------------ */

ST cudnnCreate(cudnnHandle_t *out)
{
	if (!out)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!standin_start())
		return CUDNN_STATUS_NOT_INITIALIZED;
	*out = calloc(1, sizeof(**out));
	return *out ? OK : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

ST cudnnDestroy(cudnnHandle_t h)
{
	free(h);
	return OK;
}

ST cudnnSetStream(cudnnHandle_t h, cudaStream_t stream)
{
	if (!h)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	h->stream = (CUstream)stream;
	return OK;
}

ST cudnnGetStream(cudnnHandle_t h, cudaStream_t *stream)
{
	if (!h || !stream)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*stream = (cudaStream_t)h->stream;
	return OK;
}

EXPORT size_t cudnnGetVersion(void)
{
	return CUDNN_VERSION;
}

EXPORT size_t cudnnGetMaxDeviceVersion(void)
{
	return 1210;	/* compute capability 12.1, the latest that softgpu has */
}

EXPORT size_t cudnnGetCudartVersion(void)
{
	return 13000;
}

ST cudnnGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUDNN_STATUS_BAD_PARAM;
	*value = version[type];
	return OK;
}

ST cudnnGraphVersionCheck(void)
{
	return OK;
}

ST cudnnOpsVersionCheck(void)
{
	return OK;
}

ST cudnnCnnVersionCheck(void)
{
	return OK;
}

/* All errors are known when a call returns, so none comes later. */
ST cudnnQueryRuntimeError(cudnnHandle_t h, cudnnStatus_t *status, cudnnErrQueryMode_t mode,
			  cudnnRuntimeTag_t *tag)
{
	(void)mode; (void)tag;
	if (!h || !status)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*status = OK;
	return OK;
}

#define STATUSES(X) \
	X(SUCCESS) X(NOT_INITIALIZED) X(BAD_PARAM) X(BAD_PARAM_NULL_POINTER) \
	X(BAD_PARAM_SIZE_INSUFFICIENT) X(BAD_PARAM_SHAPE_MISMATCH) X(BAD_PARAM_OUT_OF_BOUND) \
	X(NOT_SUPPORTED) X(INTERNAL_ERROR_HOST_ALLOCATION_FAILED) X(EXECUTION_FAILED)

EXPORT const char *cudnnGetErrorString(cudnnStatus_t status)
{
	switch (status) {
#define NAME(s) case CUDNN_STATUS_##s: return "CUDNN_STATUS_" #s;
	STATUSES(NAME)
#undef NAME
	default:
		return "a status that the stand-in never returns";
	}
}

/* The stand-in keeps no text of an error: stderr has what it refused. */
EXPORT void cudnnGetLastErrorString(char *message, size_t size)
{
	if (message && size)
		message[0] = 0;
}
