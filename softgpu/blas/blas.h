/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the stand-in for cuBLAS share. An operation is written
 * once, for both element types (@d: 0 float, 1 double) and with 64-bit sizes; typed.h
 * defines its public names.
 */
#ifndef WORMHOLE_SOFTGPU_BLAS_H
#define WORMHOLE_SOFTGPU_BLAS_H

#include "../standin/standin.h"

#include <cublas_api.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct cublasContext {
	CUstream stream;
	cublasPointerMode_t pointers;
	cublasAtomicsMode_t atomics;
	cublasMath_t math;
	int sm_target;
	CUdeviceptr room;	/* results and parameters of host mode; ROOM bytes */
};

#define ROOM	256

/* A scalar as a kernel takes it: the value, or its address on the device. */
struct scalar {
	union { float f; double d; } value;
	const void *at;
};

/* Checks that the handle is valid and the driver is ready. */
cublasStatus_t blas_enter(cublasHandle_t h);
struct scalar blas_scalar(cublasHandle_t h, int d, const void *p);
/* Returns true if the scalar is known to be zero, which only host mode can tell. */
bool blas_is_zero(struct scalar s, int d);

/* Launches @k[@d]: @k holds the float and the double kernel. @n threads could be used. */
cublasStatus_t blas_launch(cublasHandle_t h, struct standin_kernel k[2], int d, int64_t n,
			   void **args);
cublasStatus_t blas_launch_grid(cublasHandle_t h, struct standin_kernel *k,
				const unsigned int grid[3], void **args);
/* Copy from or to the handle's room on the device. blas_fetch() waits for the copy. */
cublasStatus_t blas_fetch(cublasHandle_t h, void *to, size_t at, size_t bytes);
cublasStatus_t blas_store(cublasHandle_t h, size_t at, const void *from, size_t bytes);

static inline bool blas_op_good(cublasOperation_t op)
{
	return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static inline int64_t blas_max1(int64_t v)
{
	return v > 1 ? v : 1;
}

#define BLAS_KERNELS(name) static struct standin_kernel name##_kernel[2] = \
	{ { #name "_f", NULL }, { #name "_d", NULL } }

#endif
