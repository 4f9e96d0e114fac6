// SPDX-License-Identifier: Apache-2.0
/* Matrix-vector operations of the stand-in for cuBLAS. */
#include "blas.h"

BLAS_KERNELS(gemv);
BLAS_KERNELS(symv);
BLAS_KERNELS(ger);

static bool uplo_good(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER;
}

static cublasStatus_t gemv(cublasHandle_t h, int d, cublasOperation_t op, int64_t m, int64_t n,
			   const void *alpha, const void *a, int64_t lda, const void *x,
			   int64_t incx, const void *beta, void *y, int64_t incy)
{
	cublasStatus_t st = blas_enter(h);
	int64_t rs = 1, cs = lda, rows = m, cols = n;
	struct scalar aa, bb;

	if (st)
		return st;
	if (!blas_op_good(op) || m < 0 || n < 0 || lda < blas_max1(m) || !incx || !incy)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (op != CUBLAS_OP_N) {
		rs = lda;
		cs = 1;
		rows = n;
		cols = m;
	}
	aa = blas_scalar(h, d, alpha);
	bb = blas_scalar(h, d, beta);
	return blas_launch(h, gemv_kernel, d, rows,
			   (void *[]){ &rows, &cols, &aa.value, &aa.at, &a, &rs, &cs, &x, &incx,
				       &bb.value, &bb.at, &y, &incy });
}

static cublasStatus_t symv(cublasHandle_t h, int d, cublasFillMode_t uplo, int64_t n,
			   const void *alpha, const void *a, int64_t lda, const void *x,
			   int64_t incx, const void *beta, void *y, int64_t incy)
{
	int upper = uplo == CUBLAS_FILL_MODE_UPPER;
	cublasStatus_t st = blas_enter(h);
	struct scalar aa, bb;

	if (st)
		return st;
	if (!uplo_good(uplo) || n < 0 || lda < blas_max1(n) || !incx || !incy)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	aa = blas_scalar(h, d, alpha);
	bb = blas_scalar(h, d, beta);
	return blas_launch(h, symv_kernel, d, n,
			   (void *[]){ &upper, &n, &aa.value, &aa.at, &a, &lda, &x, &incx,
				       &bb.value, &bb.at, &y, &incy });
}

/* @part is what the kernel expects: 0 all, 1 the upper triangle, 2 the lower one. */
static cublasStatus_t rank1(cublasHandle_t h, int d, int part, int64_t m, int64_t n,
			    const void *alpha, const void *x, int64_t incx, const void *y,
			    int64_t incy, void *a, int64_t lda)
{
	cublasStatus_t st = blas_enter(h);
	struct scalar aa;

	if (st)
		return st;
	if (part < 0 || m < 0 || n < 0 || !incx || !incy || lda < blas_max1(m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	aa = blas_scalar(h, d, alpha);
	if (blas_is_zero(aa, d))
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch(h, ger_kernel, d, m * n,
			   (void *[]){ &part, &m, &n, &aa.value, &aa.at, &x, &incx, &y, &incy, &a,
				       &lda });
}

static cublasStatus_t ger(cublasHandle_t h, int d, int64_t m, int64_t n, const void *alpha,
			  const void *x, int64_t incx, const void *y, int64_t incy, void *a,
			  int64_t lda)
{
	return rank1(h, d, 0, m, n, alpha, x, incx, y, incy, a, lda);
}

static cublasStatus_t syr(cublasHandle_t h, int d, cublasFillMode_t uplo, int64_t n,
			  const void *alpha, const void *x, int64_t incx, void *a, int64_t lda)
{
	int part = !uplo_good(uplo) ? -1 : uplo == CUBLAS_FILL_MODE_UPPER ? 1 : 2;

	return rank1(h, d, part, n, n, alpha, x, incx, x, incx, a, lda);
}

#define LEVEL 2
#include "typed.h"
