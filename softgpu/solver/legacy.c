// SPDX-License-Identifier: Apache-2.0
/* The names of cuSOLVER's dense operations that are typed by a letter and have int sizes. */
#include "solver.h"

#include <limits.h>

#define ST	EXPORT cusolverStatus_t
#define H	cusolverDnHandle_t h
#define M(p, l)	((struct matrices){ .at = (p), .ld = (l) })
#define LIST(p, l) ((struct matrices){ .list = (p), .ld = (l) })

/* Answers a size of work; one that an int cannot say has no result. */
static cusolverStatus_t answer(cusolverDnHandle_t h, int64_t size, int *to)
{
	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!to || size < 0)
		return CUSOLVER_STATUS_INVALID_VALUE;
	if (size > INT_MAX) {
		standin_refuse("work of more than 2^31 elements");
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	}
	*to = (int)size;
	return CUSOLVER_STATUS_SUCCESS;
}

/* The work of a batch; one that 64 bits cannot say is as large as they can. */
static int64_t of_batch(int64_t each, int batch)
{
	int64_t all;

	return __builtin_mul_overflow(each, (int64_t)batch, &all) ? INT64_MAX : all;
}

static bool negative(int a, int b)
{
	return a < 0 || b < 0;
}

/* The sides that gesvdj's mode asks for. Both are columns. */
static struct sides jacobi_sides(cusolverEigMode_t job, bool econ, int m, int n)
{
	int least = m < n ? m : n;

	if (job != CUSOLVER_EIG_MODE_VECTOR)
		return (struct sides){ 0, 0, 0 };
	return (struct sides){ econ ? least : m, econ ? least : n, 0 };
}

static cusolverStatus_t gesvdj(cusolverDnHandle_t h, enum solver_type t, cusolverEigMode_t job,
			       int econ, int m, int n, struct matrices a, void *s,
			       struct matrices u, struct matrices v, void *work, int lwork,
			       int *info, const struct gesvdjInfo *params, int batch)
{
	if (!params || (unsigned int)job > CUSOLVER_EIG_MODE_VECTOR || negative(m, n))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return solver_gesvd(h, t, jacobi_sides(job, econ, m, n), m, n, a, s, u, v, work, lwork,
			    info, batch);
}

static cusolverStatus_t gesvd(cusolverDnHandle_t h, enum solver_type t, signed char jobu,
			      signed char jobvt, int m, int n, struct matrices a, void *s,
			      struct matrices u, struct matrices vt, void *work, int lwork,
			      int *info)
{
	struct sides sides;

	if (solver_letters(jobu, jobvt, m, n, a, &u, &vt, &sides))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return solver_gesvd(h, t, sides, m, n, a, s, u, vt, work, lwork, info, 1);
}

/* Matrices of a batch lie one after the other. */
static struct matrices packed(const void *p, int ld, int columns)
{
	return (struct matrices){ .at = p, .ld = ld, .apart = (int64_t)ld * columns };
}

#define CHOLESKY(X, T, t) \
ST cusolverDn##X##potrf_bufferSize(H, cublasFillMode_t uplo, int n, T *a, int lda, int *lwork) \
{ (void)uplo; (void)a; (void)lda; return answer(h, n < 0 ? -1 : 1, lwork); } \
ST cusolverDn##X##potrf(H, cublasFillMode_t uplo, int n, T *a, int lda, T *work, int lwork, \
			int *info) \
{ (void)work; (void)lwork; return solver_potrf(h, t, uplo, n, M(a, lda), info, 1); } \
ST cusolverDn##X##potrs(H, cublasFillMode_t uplo, int n, int nrhs, const T *a, int lda, T *b, \
			int ldb, int *info) \
{ return solver_potrs(h, t, uplo, n, nrhs, M(a, lda), M(b, ldb), info, 1); } \
ST cusolverDn##X##potrfBatched(H, cublasFillMode_t uplo, int n, T *a[], int lda, int *info, \
			       int batch) \
{ return solver_potrf(h, t, uplo, n, LIST(a, lda), info, batch); } \
ST cusolverDn##X##potrsBatched(H, cublasFillMode_t uplo, int n, int nrhs, T *a[], int lda, \
			       T *b[], int ldb, int *info, int batch) \
{ \
	return nrhs == 1 ? solver_potrs(h, t, uplo, n, nrhs, LIST(a, lda), LIST(b, ldb), info, \
					batch) : CUSOLVER_STATUS_INVALID_VALUE; \
} \
ST cusolverDn##X##potri_bufferSize(H, cublasFillMode_t uplo, int n, T *a, int lda, int *lwork) \
{ (void)uplo; (void)a; (void)lda; return answer(h, n < 0 ? -1 : solver_potri_work(n), lwork); } \
ST cusolverDn##X##potri(H, cublasFillMode_t uplo, int n, T *a, int lda, T *work, int lwork, \
			int *info) \
{ return solver_potri(h, t, uplo, n, M(a, lda), work, lwork, info); }

#define LU(X, T, t) \
ST cusolverDn##X##getrf_bufferSize(H, int m, int n, T *a, int lda, int *lwork) \
{ (void)a; (void)lda; return answer(h, negative(m, n) ? -1 : 1, lwork); } \
ST cusolverDn##X##getrf(H, int m, int n, T *a, int lda, T *work, int *pivots, int *info) \
{ \
	(void)work; \
	return solver_getrf(h, t, m, n, M(a, lda), (struct pivots){ pivots, 0 }, info); \
} \
ST cusolverDn##X##getrs(H, cublasOperation_t op, int n, int nrhs, const T *a, int lda, \
			const int *pivots, T *b, int ldb, int *info) \
{ \
	return solver_getrs(h, t, op, n, nrhs, M(a, lda), (struct pivots){ pivots, 0 }, \
			    M(b, ldb), info); \
}

/* @or is "or" or "un", as LAPACK begins the names of real and complex Q. */
#define QR(X, or, T, t) \
ST cusolverDn##X##geqrf_bufferSize(H, int m, int n, T *a, int lda, int *lwork) \
{ (void)a; (void)lda; return answer(h, negative(m, n) ? -1 : 1, lwork); } \
ST cusolverDn##X##geqrf(H, int m, int n, T *a, int lda, T *tau, T *work, int lwork, int *info) \
{ (void)work; (void)lwork; return solver_geqrf(h, t, m, n, M(a, lda), tau, info); } \
ST cusolverDn##X##or##gqr_bufferSize(H, int m, int n, int k, const T *a, int lda, const T *tau, \
				     int *lwork) \
{ (void)k; (void)a; (void)lda; (void)tau; return answer(h, negative(m, n) ? -1 : 1, lwork); } \
ST cusolverDn##X##or##gqr(H, int m, int n, int k, T *a, int lda, const T *tau, T *work, \
			  int lwork, int *info) \
{ (void)work; (void)lwork; return solver_orgqr(h, t, m, n, k, M(a, lda), tau, info); } \
ST cusolverDn##X##or##mqr_bufferSize(H, cublasSideMode_t side, cublasOperation_t op, int m, \
				     int n, int k, const T *a, int lda, const T *tau, \
				     const T *c, int ldc, int *lwork) \
{ \
	(void)side; (void)op; (void)k; (void)a; (void)lda; (void)tau; (void)c; (void)ldc; \
	return answer(h, negative(m, n) ? -1 : 1, lwork); \
} \
ST cusolverDn##X##or##mqr(H, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, \
			  const T *a, int lda, const T *tau, T *c, int ldc, T *work, int lwork, \
			  int *info) \
{ \
	(void)work; (void)lwork; \
	return solver_ormqr(h, t, side, op, m, n, k, M(a, lda), tau, M(c, ldc), info); \
}

/* @sy is "sy" or "he", as LAPACK begins the names of symmetric and Hermitian matrices. */
#define EIGEN(X, sy, T, R, t) \
ST cusolverDn##X##sy##evd_bufferSize(H, cusolverEigMode_t job, cublasFillMode_t uplo, int n, \
				     const T *a, int lda, const R *w, int *lwork) \
{ \
	(void)job; (void)uplo; (void)a; (void)lda; (void)w; \
	return answer(h, n < 0 ? -1 : solver_syevd_work(n), lwork); \
} \
ST cusolverDn##X##sy##evd(H, cusolverEigMode_t job, cublasFillMode_t uplo, int n, T *a, \
			  int lda, R *w, T *work, int lwork, int *info) \
{ return solver_syevd(h, t, job, uplo, n, M(a, lda), w, work, lwork, info, 1); } \
ST cusolverDn##X##sy##evj_bufferSize(H, cusolverEigMode_t job, cublasFillMode_t uplo, int n, \
				     const T *a, int lda, const R *w, int *lwork, \
				     syevjInfo_t params) \
{ \
	(void)job; (void)uplo; (void)a; (void)lda; (void)w; (void)params; \
	return answer(h, n < 0 ? -1 : solver_syevd_work(n), lwork); \
} \
ST cusolverDn##X##sy##evj(H, cusolverEigMode_t job, cublasFillMode_t uplo, int n, T *a, \
			  int lda, R *w, T *work, int lwork, int *info, syevjInfo_t params) \
{ \
	return params ? solver_syevd(h, t, job, uplo, n, M(a, lda), w, work, lwork, info, 1) : \
	       CUSOLVER_STATUS_INVALID_VALUE; \
} \
ST cusolverDn##X##sy##evjBatched_bufferSize(H, cusolverEigMode_t job, cublasFillMode_t uplo, \
					    int n, const T *a, int lda, const R *w, int *lwork, \
					    syevjInfo_t params, int batch) \
{ \
	(void)job; (void)uplo; (void)a; (void)lda; (void)w; (void)params; \
	return answer(h, negative(n, batch) ? -1 : of_batch(solver_syevd_work(n), batch), lwork); \
} \
ST cusolverDn##X##sy##evjBatched(H, cusolverEigMode_t job, cublasFillMode_t uplo, int n, T *a, \
				 int lda, R *w, T *work, int lwork, int *info, \
				 syevjInfo_t params, int batch) \
{ \
	return params ? solver_syevd(h, t, job, uplo, n, packed(a, lda, n), w, work, lwork, info, \
				     batch) : CUSOLVER_STATUS_INVALID_VALUE; \
}

#define SVD(X, T, R, t) \
ST cusolverDn##X##gesvd_bufferSize(H, int m, int n, int *lwork) \
{ return answer(h, negative(m, n) || m < n ? -1 : solver_gesvd_work(m, n), lwork); } \
ST cusolverDn##X##gesvd(H, signed char jobu, signed char jobvt, int m, int n, T *a, int lda, \
			R *s, T *u, int ldu, T *vt, int ldvt, T *work, int lwork, R *rwork, \
			int *info) \
{ \
	(void)rwork; \
	return gesvd(h, t, jobu, jobvt, m, n, M(a, lda), s, M(u, ldu), M(vt, ldvt), work, lwork, \
		     info); \
} \
ST cusolverDn##X##gesvdj_bufferSize(H, cusolverEigMode_t job, int econ, int m, int n, \
				    const T *a, int lda, const R *s, const T *u, int ldu, \
				    const T *v, int ldv, int *lwork, gesvdjInfo_t params) \
{ \
	(void)job; (void)econ; (void)a; (void)lda; (void)s; (void)u; (void)ldu; (void)v; \
	(void)ldv; (void)params; \
	return answer(h, negative(m, n) ? -1 : solver_gesvd_work(m, n), lwork); \
} \
ST cusolverDn##X##gesvdj(H, cusolverEigMode_t job, int econ, int m, int n, T *a, int lda, R *s, \
			 T *u, int ldu, T *v, int ldv, T *work, int lwork, int *info, \
			 gesvdjInfo_t params) \
{ \
	return gesvdj(h, t, job, econ, m, n, M(a, lda), s, M(u, ldu), M(v, ldv), work, lwork, \
		      info, params, 1); \
} \
ST cusolverDn##X##gesvdjBatched_bufferSize(H, cusolverEigMode_t job, int m, int n, const T *a, \
					   int lda, const R *s, const T *u, int ldu, \
					   const T *v, int ldv, int *lwork, \
					   gesvdjInfo_t params, int batch) \
{ \
	(void)job; (void)a; (void)lda; (void)s; (void)u; (void)ldu; (void)v; (void)ldv; \
	(void)params; \
	return answer(h, negative(m, n) || batch < 0 ? -1 : \
		      of_batch(solver_gesvd_work(m, n), batch), lwork); \
} \
ST cusolverDn##X##gesvdjBatched(H, cusolverEigMode_t job, int m, int n, T *a, int lda, R *s, \
				T *u, int ldu, T *v, int ldv, T *work, int lwork, int *info, \
				gesvdjInfo_t params, int batch) \
{ \
	return gesvdj(h, t, job, 0, m, n, packed(a, lda, n), s, packed(u, ldu, m), \
		      packed(v, ldv, n), work, lwork, info, params, batch); \
}

#define ALL(X, or, sy, T, R, t) \
	CHOLESKY(X, T, t) LU(X, T, t) QR(X, or, T, t) EIGEN(X, sy, T, R, t) SVD(X, T, R, t)

ALL(S, or, sy, float, float, TYPE_F)
ALL(D, or, sy, double, double, TYPE_D)
ALL(C, un, he, cuComplex, float, TYPE_C)
ALL(Z, un, he, cuDoubleComplex, double, TYPE_Z)
