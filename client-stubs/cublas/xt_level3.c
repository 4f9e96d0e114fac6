// SPDX-License-Identifier: Apache-2.0
/*
 * cublasXt's operations with triangles and symmetry. Whole matrices go to the device, which
 * must have room for them, and cuBLAS does the rest.
 */
#include "xt.h"

/* `call` uses `blas`, and the members `at` and `at_ld` of the matrices. */
#define RUN(handle, size, call, ...) do {							\
	struct wh_xt_matrix *all[] = { __VA_ARGS__ };						\
	const unsigned int n_ = sizeof(all) / sizeof(*all);					\
	cublasHandle_t blas;									\
	cublasStatus_t res = wh_xt_begin(handle, &blas);					\
												\
	if (res != CUBLAS_STATUS_SUCCESS)							\
		return res;									\
	res = wh_xt_bring(all, n_, size);							\
	if (res == CUBLAS_STATUS_SUCCESS)							\
		res = wh_xt_take_back(all, n_, size, call);					\
	return wh_xt_end(handle, res);								\
} while (0)

/* op(A) has n rows and k columns. */
#define TALL(p, ld)	WH_XT_IN(p, trans == CUBLAS_OP_N ? n : k, trans == CUBLAS_OP_N ? k : n, ld)

#define RANK_K(xt, name, T, S)									\
cublasStatus_t xt(cublasXtHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,	\
		  size_t n, size_t k, const S *alpha, const T *A, size_t lda, const S *beta,	\
		  T *C, size_t ldc)								\
{												\
	struct wh_xt_matrix a = TALL(A, lda), c = WH_XT_OUT(C, n, n, ldc);			\
												\
	RUN(handle, sizeof(T), name(blas, uplo, trans, n, k, alpha, a.at, a.at_ld, beta, c.at,	\
				    c.at_ld), &a, &c);						\
}

RANK_K(cublasXtSsyrk, cublasSsyrk_v2_64, float, float)
RANK_K(cublasXtDsyrk, cublasDsyrk_v2_64, double, double)
RANK_K(cublasXtCsyrk, cublasCsyrk_v2_64, cuComplex, cuComplex)
RANK_K(cublasXtZsyrk, cublasZsyrk_v2_64, cuDoubleComplex, cuDoubleComplex)
RANK_K(cublasXtCherk, cublasCherk_v2_64, cuComplex, float)
RANK_K(cublasXtZherk, cublasZherk_v2_64, cuDoubleComplex, double)

#define RANK_2K(xt, name, T, S)									\
cublasStatus_t xt(cublasXtHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,	\
		  size_t n, size_t k, const T *alpha, const T *A, size_t lda, const T *B,	\
		  size_t ldb, const S *beta, T *C, size_t ldc)					\
{												\
	struct wh_xt_matrix a = TALL(A, lda), b = TALL(B, ldb), c = WH_XT_OUT(C, n, n, ldc);	\
												\
	RUN(handle, sizeof(T), name(blas, uplo, trans, n, k, alpha, a.at, a.at_ld, b.at,	\
				    b.at_ld, beta, c.at, c.at_ld), &a, &b, &c);			\
}

RANK_2K(cublasXtSsyr2k, cublasSsyr2k_v2_64, float, float)
RANK_2K(cublasXtDsyr2k, cublasDsyr2k_v2_64, double, double)
RANK_2K(cublasXtCsyr2k, cublasCsyr2k_v2_64, cuComplex, cuComplex)
RANK_2K(cublasXtZsyr2k, cublasZsyr2k_v2_64, cuDoubleComplex, cuDoubleComplex)
RANK_2K(cublasXtCher2k, cublasCher2k_v2_64, cuComplex, float)
RANK_2K(cublasXtZher2k, cublasZher2k_v2_64, cuDoubleComplex, double)
RANK_2K(cublasXtSsyrkx, cublasSsyrkx_64, float, float)
RANK_2K(cublasXtDsyrkx, cublasDsyrkx_64, double, double)
RANK_2K(cublasXtCsyrkx, cublasCsyrkx_64, cuComplex, cuComplex)
RANK_2K(cublasXtZsyrkx, cublasZsyrkx_64, cuDoubleComplex, cuDoubleComplex)
RANK_2K(cublasXtCherkx, cublasCherkx_64, cuComplex, float)
RANK_2K(cublasXtZherkx, cublasZherkx_64, cuDoubleComplex, double)

/* The square matrix stands left or right of the other one. */
#define EDGE		(side == CUBLAS_SIDE_LEFT ? m : n)
#define SQUARE(p, ld)	WH_XT_IN(p, EDGE, EDGE, ld)

#define SYMMETRIC(xt, name, T)									\
cublasStatus_t xt(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,	\
		  size_t m, size_t n, const T *alpha, const T *A, size_t lda, const T *B,	\
		  size_t ldb, const T *beta, T *C, size_t ldc)					\
{												\
	struct wh_xt_matrix a = SQUARE(A, lda), b = WH_XT_IN(B, m, n, ldb),			\
			    c = WH_XT_OUT(C, m, n, ldc);					\
												\
	RUN(handle, sizeof(T), name(blas, side, uplo, m, n, alpha, a.at, a.at_ld, b.at,		\
				    b.at_ld, beta, c.at, c.at_ld), &a, &b, &c);			\
}

SYMMETRIC(cublasXtSsymm, cublasSsymm_v2_64, float)
SYMMETRIC(cublasXtDsymm, cublasDsymm_v2_64, double)
SYMMETRIC(cublasXtCsymm, cublasCsymm_v2_64, cuComplex)
SYMMETRIC(cublasXtZsymm, cublasZsymm_v2_64, cuDoubleComplex)
SYMMETRIC(cublasXtChemm, cublasChemm_v2_64, cuComplex)
SYMMETRIC(cublasXtZhemm, cublasZhemm_v2_64, cuDoubleComplex)

#define SOLVE(xt, name, T)									\
cublasStatus_t xt(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,	\
		  cublasOperation_t trans, cublasDiagType_t diag, size_t m, size_t n,		\
		  const T *alpha, const T *A, size_t lda, T *B, size_t ldb)			\
{												\
	struct wh_xt_matrix a = SQUARE(A, lda), b = WH_XT_OUT(B, m, n, ldb);			\
												\
	RUN(handle, sizeof(T), name(blas, side, uplo, trans, diag, m, n, alpha, a.at, a.at_ld,	\
				    b.at, b.at_ld), &a, &b);					\
}

SOLVE(cublasXtStrsm, cublasStrsm_v2_64, float)
SOLVE(cublasXtDtrsm, cublasDtrsm_v2_64, double)
SOLVE(cublasXtCtrsm, cublasCtrsm_v2_64, cuComplex)
SOLVE(cublasXtZtrsm, cublasZtrsm_v2_64, cuDoubleComplex)

#define TRIANGULAR(xt, name, T)									\
cublasStatus_t xt(cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,	\
		  cublasOperation_t trans, cublasDiagType_t diag, size_t m, size_t n,		\
		  const T *alpha, const T *A, size_t lda, const T *B, size_t ldb, T *C,		\
		  size_t ldc)									\
{												\
	struct wh_xt_matrix a = SQUARE(A, lda), b = WH_XT_IN(B, m, n, ldb),			\
			    c = WH_XT_OUT(C, m, n, ldc);					\
												\
	RUN(handle, sizeof(T), name(blas, side, uplo, trans, diag, m, n, alpha, a.at, a.at_ld,	\
				    b.at, b.at_ld, c.at, c.at_ld), &a, &b, &c);			\
}

TRIANGULAR(cublasXtStrmm, cublasStrmm_v2_64, float)
TRIANGULAR(cublasXtDtrmm, cublasDtrmm_v2_64, double)
TRIANGULAR(cublasXtCtrmm, cublasCtrmm_v2_64, cuComplex)
TRIANGULAR(cublasXtZtrmm, cublasZtrmm_v2_64, cuDoubleComplex)
