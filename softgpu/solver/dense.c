// SPDX-License-Identifier: Apache-2.0
/* Operations on dense matrices of the stand-in for cuSOLVER: checks and launches. */
#include "solver.h"

#include <limits.h>

#define THREADS	256	/* the same value as in factor.cuh */
#define OK	CUSOLVER_STATUS_SUCCESS
#define WRONG	CUSOLVER_STATUS_INVALID_VALUE
/* No matrix has a longer side. So products of two sides fit in 64 bits. */
#define MOST	INT_MAX

#define KERNELS(name) static struct standin_kernel name##_kernel[TYPES] = { \
	{ #name "_f", NULL }, { #name "_d", NULL }, { #name "_c", NULL }, { #name "_z", NULL } }

KERNELS(potrf);
KERNELS(potrs);
KERNELS(potri);
KERNELS(getrf);
KERNELS(getrs);
KERNELS(geqrf);
KERNELS(orgqr);
KERNELS(ormqr);
KERNELS(syevd);
KERNELS(gesvd);
static struct standin_kernel good_kernel = { "good_result", NULL };

static cusolverStatus_t launch(cusolverDnHandle_t h, struct standin_kernel *k, int64_t batch,
			       void **args)
{
	if (!batch)
		return OK;
	return standin_launch(k, (unsigned int[3]){ (unsigned int)batch, 1, 1 }, THREADS,
			      h->stream, args) ? CUSOLVER_STATUS_EXECUTION_FAILED : OK;
}

/* Operations that cannot fail say so in @info, if the caller gave one. */
static cusolverStatus_t launch_good(cusolverDnHandle_t h, struct standin_kernel *k, int64_t batch,
				    void **args, int *info)
{
	cusolverStatus_t st = launch(h, k, batch, args);

	return st || !info ? st : launch(h, &good_kernel, 1, (void *[]){ &info });
}

static cusolverStatus_t enter(cusolverDnHandle_t h)
{
	return h && standin_start() ? OK : CUSOLVER_STATUS_NOT_INITIALIZED;
}

static bool size_good(int64_t n)
{
	return n >= 0 && n <= MOST;
}

static bool ld_good(struct matrices a, int64_t rows)
{
	return a.ld >= (rows > 1 ? rows : 1);
}

static bool uplo_good(cublasFillMode_t uplo)
{
	return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER;
}

static bool batch_good(int64_t batch)
{
	return batch >= 0 && batch <= INT_MAX;
}

cusolverStatus_t solver_potrf(cusolverDnHandle_t h, enum solver_type t, cublasFillMode_t uplo,
			      int64_t n, struct matrices a, int *info, int64_t batch)
{
	int lower = uplo == CUBLAS_FILL_MODE_LOWER;

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!uplo_good(uplo) || !size_good(n) || !ld_good(a, n) || !info || !batch_good(batch))
		return WRONG;
	return launch(h, &potrf_kernel[t], batch, (void *[]){ &lower, &n, &a, &info });
}

cusolverStatus_t solver_potrs(cusolverDnHandle_t h, enum solver_type t, cublasFillMode_t uplo,
			      int64_t n, int64_t nrhs, struct matrices a, struct matrices b,
			      int *info, int64_t batch)
{
	int lower = uplo == CUBLAS_FILL_MODE_LOWER;

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!uplo_good(uplo) || !size_good(n) || !size_good(nrhs) || !ld_good(a, n) ||
	    !ld_good(b, n) || !batch_good(batch))
		return WRONG;
	return launch_good(h, &potrs_kernel[t], batch, (void *[]){ &lower, &n, &nrhs, &a, &b },
			   info);
}

cusolverStatus_t solver_potri(cusolverDnHandle_t h, enum solver_type t, cublasFillMode_t uplo,
			      int64_t n, struct matrices a, void *work, int64_t elements,
			      int *info)
{
	int lower = uplo == CUBLAS_FILL_MODE_LOWER;

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!uplo_good(uplo) || !size_good(n) || !ld_good(a, n) || !info ||
	    (n && elements < solver_potri_work(n)))
		return WRONG;
	return launch(h, &potri_kernel[t], 1, (void *[]){ &lower, &n, &a, &work, &info });
}

cusolverStatus_t solver_getrf(cusolverDnHandle_t h, enum solver_type t, int64_t m, int64_t n,
			      struct matrices a, struct pivots p, int *info)
{
	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!size_good(m) || !size_good(n) || !ld_good(a, m) || !info)
		return WRONG;
	return launch(h, &getrf_kernel[t], 1, (void *[]){ &m, &n, &a, &p, &info });
}

cusolverStatus_t solver_getrs(cusolverDnHandle_t h, enum solver_type t, cublasOperation_t op,
			      int64_t n, int64_t nrhs, struct matrices a, struct pivots p,
			      struct matrices b, int *info)
{
	int how = op;

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if ((unsigned int)op > CUBLAS_OP_C || !size_good(n) || !size_good(nrhs) ||
	    !ld_good(a, n) || !ld_good(b, n))
		return WRONG;
	return launch_good(h, &getrs_kernel[t], 1, (void *[]){ &how, &n, &nrhs, &a, &p, &b }, info);
}

cusolverStatus_t solver_geqrf(cusolverDnHandle_t h, enum solver_type t, int64_t m, int64_t n,
			      struct matrices a, void *tau, int *info)
{
	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!size_good(m) || !size_good(n) || !ld_good(a, m))
		return WRONG;
	return launch_good(h, &geqrf_kernel[t], 1, (void *[]){ &m, &n, &a, &tau }, info);
}

cusolverStatus_t solver_orgqr(cusolverDnHandle_t h, enum solver_type t, int64_t m, int64_t n,
			      int64_t k, struct matrices a, const void *tau, int *info)
{
	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!size_good(m) || !size_good(n) || n > m || k < 0 || k > n || !ld_good(a, m))
		return WRONG;
	return launch_good(h, &orgqr_kernel[t], 1, (void *[]){ &m, &n, &k, &a, &tau }, info);
}

cusolverStatus_t solver_ormqr(cusolverDnHandle_t h, enum solver_type t, cublasSideMode_t side,
			      cublasOperation_t op, int64_t m, int64_t n, int64_t k,
			      struct matrices a, const void *tau, struct matrices c, int *info)
{
	int right = side == CUBLAS_SIDE_RIGHT, adjoint = op != CUBLAS_OP_N;
	int64_t order = right ? n : m;

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	/* Of complex matrices LAPACK has the adjoint alone, not the transpose. */
	if ((unsigned int)side > CUBLAS_SIDE_RIGHT || (unsigned int)op > CUBLAS_OP_C ||
	    (op == CUBLAS_OP_T && t >= TYPE_C) || !size_good(m) || !size_good(n) || k < 0 ||
	    k > order || !ld_good(a, order) || !ld_good(c, m))
		return WRONG;
	return launch_good(h, &ormqr_kernel[t], 1, (void *[]){ &right, &adjoint, &m, &n, &k, &a,
							       &tau, &c }, info);
}

cusolverStatus_t solver_syevd(cusolverDnHandle_t h, enum solver_type t, cusolverEigMode_t job,
			      cublasFillMode_t uplo, int64_t n, struct matrices a, void *w,
			      void *work, int64_t elements, int *info, int64_t batch)
{
	int vectors = job == CUSOLVER_EIG_MODE_VECTOR, lower = uplo == CUBLAS_FILL_MODE_LOWER;
	int64_t each = solver_syevd_work(n);

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if ((unsigned int)job > CUSOLVER_EIG_MODE_VECTOR || !uplo_good(uplo) || !size_good(n) ||
	    !ld_good(a, n) || !info || !batch_good(batch) || (batch && elements / batch < each))
		return WRONG;
	return launch(h, &syevd_kernel[t], batch, (void *[]){ &vectors, &lower, &n, &a, &w, &work,
							      &each, &info });
}

static bool sides_good(struct sides sides, int64_t m, int64_t n, struct matrices u,
		       struct matrices v)
{
	return (!sides.left || ld_good(u, m)) &&
	       (!sides.right || ld_good(v, sides.adjoint ? sides.right : n));
}

cusolverStatus_t solver_gesvd(cusolverDnHandle_t h, enum solver_type t, struct sides sides,
			      int64_t m, int64_t n, struct matrices a, void *s, struct matrices u,
			      struct matrices v, void *work, int64_t elements, int *info,
			      int64_t batch)
{
	int64_t each = solver_gesvd_work(m, n), least = m < n ? m : n;

	if (enter(h))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!size_good(m) || !size_good(n) || !ld_good(a, m) || !info || !batch_good(batch) ||
	    !sides_good(sides, m, n, u, v) || (batch && elements / batch < each))
		return WRONG;
	if (!least)
		return launch(h, &good_kernel, batch, (void *[]){ &info });
	return launch(h, &gesvd_kernel[t], batch,
		      (void *[]){ &m, &n, &a, &s, &least, &u, &sides.left, &v, &sides.right,
				  &sides.adjoint, &work, &each, &info });
}

/* How many of @all vectors a letter asks for, -1 if it is none of LAPACK's. */
static int64_t wanted(signed char letter, int64_t all, int64_t least)
{
	switch (letter) {
	case 'A':
		return all;
	case 'S':
	case 'O':
		return least;
	case 'N':
		return 0;
	default:
		return -1;
	}
}

cusolverStatus_t solver_letters(signed char jobu, signed char jobvt, int64_t m, int64_t n,
				struct matrices a, struct matrices *u, struct matrices *vt,
				struct sides *sides)
{
	int64_t left = wanted(jobu, m, n), right = wanted(jobvt, n, n);

	/* As the documentation says, the matrix must not be wide. */
	if (m < n || left < 0 || right < 0 || (jobu == 'O' && jobvt == 'O'))
		return WRONG;
	if (jobu == 'O')
		*u = a;
	if (jobvt == 'O')
		*vt = a;
	*sides = (struct sides){ left, right, 1 };
	return OK;
}
