/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublasXt: matrices of any place, calls that return when the result is there. All of it is
 * the client's, over cuBLAS and copies: xt.c has handles and brings matrices to the device,
 * xt_gemm.c does products in blocks, xt_level3.c all others with whole matrices.
 */
#ifndef WORMHOLE_CUBLAS_XT_H
#define WORMHOLE_CUBLAS_XT_H

#include <cublasXt.h>

#include "cublas_stub.h"

/* Column-major. What lies on the device is used where it is. */
struct wh_xt_matrix {
	void *from;		/* the program's */
	int64_t rows, cols, ld;
	bool in, out;		/* its values count, before or after the call */
	void *at;		/* on the device */
	int64_t at_ld;
	bool own;		/* `at` is room of ours */
};
#define WH_XT_IN(p, rows, cols, ld)	{ (void *)(p), rows, cols, ld, true, false, NULL, 0, false }
#define WH_XT_OUT(p, rows, cols, ld)	{ (void *)(p), rows, cols, ld, true, true, NULL, 0, false }

/* Of a handle whose device was chosen: that device current, its cuBLAS handle. */
cublasStatus_t wh_xt_begin(cublasXtHandle_t handle, cublasHandle_t *blas);
/* Waits for what was begun, if it went well, and gives the thread its own device back. */
cublasStatus_t wh_xt_end(cublasXtHandle_t handle, cublasStatus_t status);
int64_t wh_xt_block(cublasXtHandle_t handle);

bool wh_xt_on_device(const void *p);
/* Bring matrices of `size` bytes an element; all or none. */
cublasStatus_t wh_xt_bring(struct wh_xt_matrix **m, unsigned int n, size_t size);
/* Take back what the call has changed, if it went well, and free the room. */
cublasStatus_t wh_xt_take_back(struct wh_xt_matrix **m, unsigned int n, size_t size,
			       cublasStatus_t status);

#endif
