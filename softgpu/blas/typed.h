/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public names of a level's operations, for float and double, and with int and 64-bit
 * sizes. The file has no include guard: each level's file includes it once, with LEVEL set.
 */
#define H	cublasHandle_t h
#define OP	cublasOperation_t
#define ST	EXPORT cublasStatus_t

#if LEVEL == 1
#define TYPED(X, T, d, I, w) \
ST cublas##X##axpy_v2##w(H, I n, const T *a, const T *x, I incx, T *y, I incy) \
{ return axpy(h, d, n, a, x, incx, y, incy); } \
ST cublas##X##scal_v2##w(H, I n, const T *a, T *x, I incx) \
{ return scal(h, d, n, a, x, incx); } \
ST cublas##X##copy_v2##w(H, I n, const T *x, I incx, T *y, I incy) \
{ return copy(h, d, n, x, incx, y, incy); } \
ST cublas##X##swap_v2##w(H, I n, T *x, I incx, T *y, I incy) \
{ return swap(h, d, n, x, incx, y, incy); } \
ST cublas##X##rot_v2##w(H, I n, T *x, I incx, T *y, I incy, const T *c, const T *s) \
{ return rot(h, d, n, x, incx, y, incy, c, s); } \
ST cublas##X##rotm_v2##w(H, I n, T *x, I incx, T *y, I incy, const T *param) \
{ return rotm(h, d, n, x, incx, y, incy, param); } \
ST cublas##X##dot_v2##w(H, I n, const T *x, I incx, const T *y, I incy, T *result) \
{ return dot(h, d, n, x, incx, y, incy, result); } \
ST cublas##X##asum_v2##w(H, I n, const T *x, I incx, T *result) \
{ return asum(h, d, n, x, incx, result); } \
ST cublas##X##nrm2_v2##w(H, I n, const T *x, I incx, T *result) \
{ return nrm2(h, d, n, x, incx, result); }

#define INDEX(x, T, d, I, w) \
ST cublasI##x##amax_v2##w(H, I n, const T *v, I incx, I *result) \
{ return extreme(h, d, 1, sizeof(I), n, v, incx, result); } \
ST cublasI##x##amin_v2##w(H, I n, const T *v, I incx, I *result) \
{ return extreme(h, d, 0, sizeof(I), n, v, incx, result); }

INDEX(s, float, 0, int, )
INDEX(d, double, 1, int, )
INDEX(s, float, 0, int64_t, _64)
INDEX(d, double, 1, int64_t, _64)

#define SINGLE(X, T, d) \
ST cublas##X##rotg_v2(H, T *a, T *b, T *c, T *s) \
{ return rotg(h, d, a, b, c, s); } \
ST cublas##X##rotmg_v2(H, T *d1, T *d2, T *x1, const T *y1, T *param) \
{ return rotmg(h, d, d1, d2, x1, y1, param); }

SINGLE(S, float, 0)
SINGLE(D, double, 1)

#elif LEVEL == 2
#define TYPED(X, T, d, I, w) \
ST cublas##X##gemv_v2##w(H, OP op, I m, I n, const T *alpha, const T *a, I lda, const T *x, \
			 I incx, const T *beta, T *y, I incy) \
{ return gemv(h, d, op, m, n, alpha, a, lda, x, incx, beta, y, incy); } \
ST cublas##X##symv_v2##w(H, cublasFillMode_t uplo, I n, const T *alpha, const T *a, I lda, \
			 const T *x, I incx, const T *beta, T *y, I incy) \
{ return symv(h, d, uplo, n, alpha, a, lda, x, incx, beta, y, incy); } \
ST cublas##X##ger_v2##w(H, I m, I n, const T *alpha, const T *x, I incx, const T *y, I incy, \
			T *a, I lda) \
{ return ger(h, d, m, n, alpha, x, incx, y, incy, a, lda); } \
ST cublas##X##syr_v2##w(H, cublasFillMode_t uplo, I n, const T *alpha, const T *x, I incx, \
			T *a, I lda) \
{ return syr(h, d, uplo, n, alpha, x, incx, a, lda); }

#else
#define TYPED(X, T, d, I, w) \
ST cublas##X##gemm_v2##w(H, OP ta, OP tb, I m, I n, I k, const T *alpha, const T *a, I lda, \
			 const T *b, I ldb, const T *beta, T *c, I ldc) \
{ return gemm(h, d, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); } \
ST cublas##X##gemmBatched##w(H, OP ta, OP tb, I m, I n, I k, const T *alpha, \
			     const T *const a[], I lda, const T *const b[], I ldb, \
			     const T *beta, T *const c[], I ldc, I batch) \
{ return gemm_batched(h, d, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch); } \
ST cublas##X##gemmStridedBatched##w(H, OP ta, OP tb, I m, I n, I k, const T *alpha, const T *a, \
				    I lda, long long sa, const T *b, I ldb, long long sb, \
				    const T *beta, T *c, I ldc, long long sc, I batch) \
{ return gemm_strided(h, d, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, \
		      batch); } \
ST cublas##X##geam##w(H, OP ta, OP tb, I m, I n, const T *alpha, const T *a, I lda, \
		      const T *beta, const T *b, I ldb, T *c, I ldc) \
{ return geam(h, d, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc); } \
ST cublas##X##dgmm##w(H, cublasSideMode_t side, I m, I n, const T *a, I lda, const T *x, \
		      I incx, T *c, I ldc) \
{ return dgmm(h, d, side, m, n, a, lda, x, incx, c, ldc); }
#endif

TYPED(S, float, 0, int, )
TYPED(D, double, 1, int, )
TYPED(S, float, 0, int64_t, _64)
TYPED(D, double, 1, int64_t, _64)
