// SPDX-License-Identifier: Apache-2.0
/*
 * Triangular solutions, and factors of batches, of the stand-in for cuBLAS: in float, double, and
 * complex numbers of either. The algorithms are those of the stand-in for cuSOLVER.
 */
#include "blas.h"

#include <limits.h>
#include <string.h>

#define ST	EXPORT cublasStatus_t
#define H	cublasHandle_t h
#define OP	cublasOperation_t

enum type { TYPE_F, TYPE_D, TYPE_C, TYPE_Z, TYPES };

#define FACTOR_KERNELS(name) static struct standin_kernel name##_kernel[TYPES] = { \
	{ #name "_f", NULL }, { #name "_d", NULL }, { #name "_c", NULL }, { #name "_z", NULL } }

FACTOR_KERNELS(trsm);
FACTOR_KERNELS(getrf_batch);
FACTOR_KERNELS(getrs_batch);
FACTOR_KERNELS(geqrf_batch);

/* A matrix, or a batch of them by a list of addresses on the device. */
struct matrices {
	const void *at;
	const void *list;
	int64_t ld, apart;
};

/* A complex number, or a real one in its beginning. */
struct alpha {
	union { float f[2]; double d[2]; } value;
	const void *at;
};

static struct alpha scalar_of(cublasHandle_t h, enum type t, const void *p)
{
	static const size_t size[TYPES] = { 4, 8, 8, 16 };
	struct alpha s = { .at = NULL };

	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		s.at = p;
	else
		memcpy(&s.value, p, size[t]);
	return s;
}

static cublasStatus_t launch(cublasHandle_t h, struct standin_kernel *k, int64_t batch, void **args)
{
	if (!batch)
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch_grid(h, k, (unsigned int[3]){ (unsigned int)batch, 1, 1 }, args);
}

static bool size_good(int64_t n)
{
	return n >= 0 && n <= INT_MAX;
}

static cublasStatus_t trsm(cublasHandle_t h, enum type t, cublasSideMode_t side,
			   cublasFillMode_t uplo, OP op, cublasDiagType_t diagonal, int64_t m,
			   int64_t n, const void *alpha, struct matrices a, struct matrices b,
			   int64_t batch)
{
	int right = side == CUBLAS_SIDE_RIGHT, lower = uplo == CUBLAS_FILL_MODE_LOWER;
	int unit = diagonal == CUBLAS_DIAG_UNIT, how = op;
	cublasStatus_t st = blas_enter(h);
	struct alpha s;

	if (st)
		return st;
	if ((unsigned int)side > CUBLAS_SIDE_RIGHT || (unsigned int)uplo > CUBLAS_FILL_MODE_UPPER ||
	    (unsigned int)diagonal > CUBLAS_DIAG_UNIT || !blas_op_good(op) || !size_good(m) ||
	    !size_good(n) || !size_good(batch) || a.ld < blas_max1(right ? n : m) ||
	    b.ld < blas_max1(m) || !alpha)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	s = scalar_of(h, t, alpha);
	return launch(h, &trsm_kernel[t], batch, (void *[]){ &right, &lower, &how, &unit, &m, &n,
							     &s.value, &s.at, &a, &b });
}

static cublasStatus_t getrf(cublasHandle_t h, enum type t, int size, struct matrices a, int *pivots,
			    int *info, int batch)
{
	cublasStatus_t st = blas_enter(h);
	int64_t n = size;

	if (st)
		return st;
	if (!size_good(n) || batch < 0 || a.ld < blas_max1(n) || !info)
		return CUBLAS_STATUS_INVALID_VALUE;
	return launch(h, &getrf_batch_kernel[t], batch, (void *[]){ &n, &a, &pivots, &info });
}

/* @info is in host memory: 0, or the negative number of the parameter that is wrong. */
static cublasStatus_t getrs(cublasHandle_t h, enum type t, OP op, int size, int sides,
			    struct matrices a, const int *pivots, struct matrices b, int *info,
			    int batch)
{
	cublasStatus_t st = blas_enter(h);
	int64_t n = size, nrhs = sides;
	int how = op;

	if (st)
		return st;
	if (!info)
		return CUBLAS_STATUS_INVALID_VALUE;
	*info = !blas_op_good(op) ? -1 : n < 0 ? -2 : nrhs < 0 ? -3 : a.ld < blas_max1(n) ? -5 :
		b.ld < blas_max1(n) ? -8 : batch < 0 ? -10 : 0;
	if (*info)
		return CUBLAS_STATUS_INVALID_VALUE;
	return launch(h, &getrs_batch_kernel[t], batch,
		      (void *[]){ &how, &n, &nrhs, &a, &pivots, &b });
}

static cublasStatus_t geqrf(cublasHandle_t h, enum type t, int rows, int columns, struct matrices a,
			    const void *tau, int *info, int batch)
{
	cublasStatus_t st = blas_enter(h);
	int64_t m = rows, n = columns;

	if (st)
		return st;
	if (!info)
		return CUBLAS_STATUS_INVALID_VALUE;
	*info = m < 0 ? -1 : n < 0 ? -2 : a.ld < blas_max1(m) ? -4 : batch < 0 ? -7 : 0;
	if (*info)
		return CUBLAS_STATUS_INVALID_VALUE;
	return launch(h, &geqrf_batch_kernel[t], batch, (void *[]){ &m, &n, &a, &tau });
}

#define M(p, l)	((struct matrices){ .at = (p), .ld = (l) })
#define LIST(p, l) ((struct matrices){ .list = (p), .ld = (l) })

#define SOLVE(X, T, t, I, w) \
ST cublas##X##trsm_v2##w(H, cublasSideMode_t side, cublasFillMode_t uplo, OP op, \
			 cublasDiagType_t diagonal, I m, I n, const T *alpha, const T *a, I lda, \
			 T *b, I ldb) \
{ return trsm(h, t, side, uplo, op, diagonal, m, n, alpha, M(a, lda), M(b, ldb), 1); } \
ST cublas##X##trsmBatched##w(H, cublasSideMode_t side, cublasFillMode_t uplo, OP op, \
			     cublasDiagType_t diagonal, I m, I n, const T *alpha, \
			     const T *const a[], I lda, T *const b[], I ldb, I batch) \
{ return trsm(h, t, side, uplo, op, diagonal, m, n, alpha, LIST(a, lda), LIST(b, ldb), batch); }

#define FACTOR(X, T, t) \
SOLVE(X, T, t, int, ) \
SOLVE(X, T, t, int64_t, _64) \
ST cublas##X##getrfBatched(H, int n, T *const a[], int lda, int *pivots, int *info, int batch) \
{ return getrf(h, t, n, LIST(a, lda), pivots, info, batch); } \
ST cublas##X##getrsBatched(H, OP op, int n, int nrhs, const T *const a[], int lda, \
			   const int *pivots, T *const b[], int ldb, int *info, int batch) \
{ return getrs(h, t, op, n, nrhs, LIST(a, lda), pivots, LIST(b, ldb), info, batch); } \
ST cublas##X##geqrfBatched(H, int m, int n, T *const a[], int lda, T *const tau[], int *info, \
			   int batch) \
{ return geqrf(h, t, m, n, LIST(a, lda), tau, info, batch); }

FACTOR(S, float, TYPE_F)
FACTOR(D, double, TYPE_D)
FACTOR(C, cuComplex, TYPE_C)
FACTOR(Z, cuDoubleComplex, TYPE_Z)
