/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublasXt takes matrices in any memory, and its calls return when the result is there. The
 * client does all of it, over cuBLAS and copies: xt.c has handles and brings matrices to the
 * device, xt_gemm.c makes products in blocks, xt_level3.c all other operations with whole
 * matrices.
 */
#ifndef WORMHOLE_CUBLAS_XT_H
#define WORMHOLE_CUBLAS_XT_H

#include <cublasXt.h>

#include "cublas_stub.h"

/* A column-major matrix. If it is in device memory, it is used there. */
struct wh_xt_matrix {
	void *from;		/* in the program's memory */
	int64_t rows, cols, ld;
	bool in, out;		/* its values count, before or after the call */
	void *at;		/* on the device */
	int64_t at_ld;
	bool own;		/* we allocated `at` */
};
#define WH_XT_IN(p, rows, cols, ld)	{ (void *)(p), rows, cols, ld, true, false, NULL, 0, false }
#define WH_XT_OUT(p, rows, cols, ld)	{ (void *)(p), rows, cols, ld, true, true, NULL, 0, false }

/*
 * Makes the handle's device current and returns its cuBLAS handle. The device must have been
 * chosen.
 */
cublasStatus_t wh_xt_begin(cublasXtHandle_t handle, cublasHandle_t *blas);
/*
 * Waits for the work that was begun, if it went well, and makes the thread's own device current
 * again.
 */
cublasStatus_t wh_xt_end(cublasXtHandle_t handle, cublasStatus_t status);
int64_t wh_xt_block(cublasXtHandle_t handle);

bool wh_xt_on_device(const void *p);
/* Brings matrices with elements of `size` bytes to the device; all or none. */
cublasStatus_t wh_xt_bring(struct wh_xt_matrix **m, unsigned int n, size_t size);
/* Copies back what the call has changed, if it went well, and frees the memory. */
cublasStatus_t wh_xt_take_back(struct wh_xt_matrix **m, unsigned int n, size_t size,
			       cublasStatus_t status);

#endif
