/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the stand-in for cuSPARSE share. */
#ifndef WORMHOLE_SOFTGPU_SPARSE_H
#define WORMHOLE_SOFTGPU_SPARSE_H

#include "../standin/standin.h"
#include "args.h"

#include <cusparse.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct cusparseContext {
	CUstream stream;
	cusparsePointerMode_t pointers;
};

struct cusparseSpMatDescr {
	struct sparse_args args;
	cudaDataType type;
	int batch;
	cusparseFillMode_t fill;
	cusparseDiagType_t diagonal;
};

struct cusparseDnMatDescr {
	struct dense_args args;
	cudaDataType type;
	int batch;
};

/* A vector is a matrix of one column. */
struct cusparseDnVecDescr {
	struct dense_args args;
	cudaDataType type;
};

/* The element types, in the order of each operation's kernels. */
enum sparse_type { TYPE_F, TYPE_D, TYPE_C, TYPE_Z, TYPE_H, TYPE_B, TYPES };

/* A scalar as a kernel takes it: the value, or its address on the device. */
struct scalar {
	union { float f[2]; double d[2]; } value;
	const void *at;
};

#define SPARSE_KERNELS(name) static struct standin_kernel name##_kernel[TYPES] = { \
	{ #name "_f", NULL }, { #name "_d", NULL }, { #name "_c", NULL }, { #name "_z", NULL }, \
	{ #name "_h", NULL }, { #name "_b", NULL } }

/* Checks that the handle is valid and the driver is ready. */
cusparseStatus_t sparse_enter(cusparseHandle_t h);
/* Returns false, and says so on stderr, for a type that the stand-in lacks. */
bool sparse_type_of(cudaDataType data, enum sparse_type *t);
/* The same, where @compute is the type of sums and scalars, and must be the one of @data. */
bool sparse_types(cudaDataType data, cudaDataType compute, enum sparse_type *t);
int sparse_size(enum sparse_type t);		/* bytes of an element */
int sparse_sum_size(enum sparse_type t);	/* bytes of a sum and of a scalar */
struct scalar sparse_scalar(cusparseHandle_t h, enum sparse_type t, const void *p);
/* Launches @k on about @n threads of @batch matrices. */
cusparseStatus_t sparse_launch(cusparseHandle_t h, struct standin_kernel *k, int64_t n, int batch,
			       void **args);
/* Sets @bytes at @p to zero, in the stream's order. */
cusparseStatus_t sparse_clear(cusparseHandle_t h, void *p, int64_t bytes);
/* Makes the starts of @n lines from counts[1..n], and waits for the total if @total is given. */
cusparseStatus_t sparse_starts(cusparseHandle_t h, int64_t *counts, int64_t n, int64_t *total);

static inline int sparse_view(cusparseOperation_t op)
{
	return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? 0 :
	       op == CUSPARSE_OPERATION_TRANSPOSE ? 1 : 2;
}

static inline bool sparse_op_good(cusparseOperation_t op)
{
	return op == CUSPARSE_OPERATION_NON_TRANSPOSE || op == CUSPARSE_OPERATION_TRANSPOSE ||
	       op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

#endif
