/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the stand-in for cuSOLVER share. An operation is written once,
 * for all element types and with 64-bit sizes; legacy.c and generic.c define its public names.
 */
#ifndef WORMHOLE_SOFTGPU_SOLVER_H
#define WORMHOLE_SOFTGPU_SOLVER_H

#include "../standin/standin.h"

#include <cusolverDn.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct cusolverDnContext {
	CUstream stream;
	cusolverDeterministicMode_t order;
	cusolverMathMode_t math;
};

/* The element types, in the order of each operation's kernels. */
enum solver_type { TYPE_F, TYPE_D, TYPE_C, TYPE_Z, TYPES };

/* A matrix, or a batch of them: at a fixed distance, or by a list of addresses on the device. */
struct matrices {
	const void *at;
	const void *list;
	int64_t ld, apart;
};

/* Row interchanges, of int or of 64 bits; @at may be NULL for none. */
struct pivots {
	const void *at;
	int wide;
};

/* Which vectors a singular value decomposition writes: a number of columns, 0 for none. */
struct sides {
	int64_t left, right;
	int adjoint;		/* the right ones are rows */
};

/*
 * The operations. @info is on the device and holds the result of each matrix of the batch.
 * @elements is the size of @work, in elements of the type. All return CUSOLVER_STATUS_INVALID_VALUE
 * for what the documentation forbids, before anything is launched.
 */
cusolverStatus_t solver_potrf(cusolverDnHandle_t h, enum solver_type t, cublasFillMode_t uplo,
			      int64_t n, struct matrices a, int *info, int64_t batch);
cusolverStatus_t solver_potrs(cusolverDnHandle_t h, enum solver_type t, cublasFillMode_t uplo,
			      int64_t n, int64_t nrhs, struct matrices a, struct matrices b,
			      int *info, int64_t batch);
cusolverStatus_t solver_potri(cusolverDnHandle_t h, enum solver_type t, cublasFillMode_t uplo,
			      int64_t n, struct matrices a, void *work, int64_t elements,
			      int *info);
cusolverStatus_t solver_getrf(cusolverDnHandle_t h, enum solver_type t, int64_t m, int64_t n,
			      struct matrices a, struct pivots p, int *info);
cusolverStatus_t solver_getrs(cusolverDnHandle_t h, enum solver_type t, cublasOperation_t op,
			      int64_t n, int64_t nrhs, struct matrices a, struct pivots p,
			      struct matrices b, int *info);
cusolverStatus_t solver_geqrf(cusolverDnHandle_t h, enum solver_type t, int64_t m, int64_t n,
			      struct matrices a, void *tau, int *info);
cusolverStatus_t solver_orgqr(cusolverDnHandle_t h, enum solver_type t, int64_t m, int64_t n,
			      int64_t k, struct matrices a, const void *tau, int *info);
cusolverStatus_t solver_ormqr(cusolverDnHandle_t h, enum solver_type t, cublasSideMode_t side,
			      cublasOperation_t op, int64_t m, int64_t n, int64_t k,
			      struct matrices a, const void *tau, struct matrices c, int *info);
cusolverStatus_t solver_syevd(cusolverDnHandle_t h, enum solver_type t, cusolverEigMode_t job,
			      cublasFillMode_t uplo, int64_t n, struct matrices a, void *w,
			      void *work, int64_t elements, int *info, int64_t batch);
cusolverStatus_t solver_gesvd(cusolverDnHandle_t h, enum solver_type t, struct sides sides,
			      int64_t m, int64_t n, struct matrices a, void *s, struct matrices u,
			      struct matrices v, void *work, int64_t elements, int *info,
			      int64_t batch);

/* The sides that the two letters of LAPACK's gesvd ask for. @a is what the letter O overwrites. */
cusolverStatus_t solver_letters(signed char jobu, signed char jobvt, int64_t m, int64_t n,
				struct matrices a, struct matrices *u, struct matrices *vt,
				struct sides *sides);

/* Elements of work that an operation on one matrix needs, at least one. */
static inline int64_t solver_potri_work(int64_t n)
{
	return n > 0 ? n * n : 1;
}

static inline int64_t solver_syevd_work(int64_t n)
{
	return n > 0 ? n * n + n + 1 : 1;
}

static inline int64_t solver_gesvd_work(int64_t m, int64_t n)
{
	int64_t least = m < n ? m : n;

	return least > 0 ? m * n + least * least : 1;
}

#endif
