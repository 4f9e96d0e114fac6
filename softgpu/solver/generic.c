// SPDX-License-Identifier: Apache-2.0
/* The names of cuSOLVER's dense operations whose types are arguments (cusolverDnX). */
#include "solver.h"

#define ST	EXPORT cusolverStatus_t
#define H	cusolverDnHandle_t h, cusolverDnParams_t params
#define M(p, l)	((struct matrices){ .at = (p), .ld = (l) })

/* The stand-in computes in the type of the elements alone. Returns false after it said so. */
static bool type_of(cudaDataType data, cudaDataType other, cudaDataType compute,
		    enum solver_type *t)
{
	static const cudaDataType types[TYPES] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };

	for (*t = 0; *t < TYPES; (*t)++)
		if (types[*t] == data && data == other && data == compute)
			return true;
	standin_refuse("an operation of cuSOLVER on these types");
	return false;
}

/* The type of eigenvalues and singular values. */
static cudaDataType real_of(cudaDataType t)
{
	return t == CUDA_C_32F ? CUDA_R_32F : t == CUDA_C_64F ? CUDA_R_64F : t;
}

static int64_t bytes_of(enum solver_type t)
{
	static const int64_t bytes[TYPES] = { 4, 8, 8, 16 };

	return bytes[t];
}

static cusolverStatus_t sizes(cusolverDnHandle_t h, int64_t bytes, size_t *device, size_t *host)
{
	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (!device || !host)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*device = (size_t)bytes;
	*host = 0;
	return CUSOLVER_STATUS_SUCCESS;
}

/* Longer sides than int has would overflow a size; the operation itself refuses them, too. */
static bool side_good(int64_t n)
{
	return n >= 0 && n <= INT32_MAX;
}

ST cusolverDnXpotrf_bufferSize(H, cublasFillMode_t uplo, int64_t n, cudaDataType type,
			       const void *a, int64_t lda, cudaDataType compute, size_t *device,
			       size_t *host)
{
	enum solver_type t;

	(void)params; (void)uplo; (void)n; (void)a; (void)lda;
	return type_of(type, type, compute, &t) ? sizes(h, 0, device, host) :
	       CUSOLVER_STATUS_NOT_SUPPORTED;
}

ST cusolverDnXpotrf(H, cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a, int64_t lda,
		    cudaDataType compute, void *device, size_t device_bytes, void *host,
		    size_t host_bytes, int *info)
{
	enum solver_type t;

	(void)params; (void)device; (void)device_bytes; (void)host; (void)host_bytes;
	return type_of(type, type, compute, &t) ? solver_potrf(h, t, uplo, n, M(a, lda), info, 1) :
	       CUSOLVER_STATUS_NOT_SUPPORTED;
}

ST cusolverDnXpotrs(H, cublasFillMode_t uplo, int64_t n, int64_t nrhs, cudaDataType type,
		    const void *a, int64_t lda, cudaDataType type_b, void *b, int64_t ldb,
		    int *info)
{
	enum solver_type t;

	(void)params;
	if (!type_of(type, type_b, type, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return solver_potrs(h, t, uplo, n, nrhs, M(a, lda), M(b, ldb), info, 1);
}

ST cusolverDnXgetrf_bufferSize(H, int64_t m, int64_t n, cudaDataType type, const void *a,
			       int64_t lda, cudaDataType compute, size_t *device, size_t *host)
{
	enum solver_type t;

	(void)params; (void)m; (void)n; (void)a; (void)lda;
	return type_of(type, type, compute, &t) ? sizes(h, 0, device, host) :
	       CUSOLVER_STATUS_NOT_SUPPORTED;
}

ST cusolverDnXgetrf(H, int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda,
		    int64_t *pivots, cudaDataType compute, void *device, size_t device_bytes,
		    void *host, size_t host_bytes, int *info)
{
	enum solver_type t;

	(void)params; (void)device; (void)device_bytes; (void)host; (void)host_bytes;
	if (!type_of(type, type, compute, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return solver_getrf(h, t, m, n, M(a, lda), (struct pivots){ pivots, 1 }, info);
}

ST cusolverDnXgetrs(H, cublasOperation_t op, int64_t n, int64_t nrhs, cudaDataType type,
		    const void *a, int64_t lda, const int64_t *pivots, cudaDataType type_b,
		    void *b, int64_t ldb, int *info)
{
	enum solver_type t;

	(void)params;
	if (!type_of(type, type_b, type, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	return solver_getrs(h, t, op, n, nrhs, M(a, lda), (struct pivots){ pivots, 1 }, M(b, ldb),
			    info);
}

ST cusolverDnXgeqrf_bufferSize(H, int64_t m, int64_t n, cudaDataType type, const void *a,
			       int64_t lda, cudaDataType type_tau, const void *tau,
			       cudaDataType compute, size_t *device, size_t *host)
{
	enum solver_type t;

	(void)params; (void)m; (void)n; (void)a; (void)lda; (void)tau;
	return type_of(type, type_tau, compute, &t) ? sizes(h, 0, device, host) :
	       CUSOLVER_STATUS_NOT_SUPPORTED;
}

ST cusolverDnXgeqrf(H, int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda,
		    cudaDataType type_tau, void *tau, cudaDataType compute, void *device,
		    size_t device_bytes, void *host, size_t host_bytes, int *info)
{
	enum solver_type t;

	(void)params; (void)device; (void)device_bytes; (void)host; (void)host_bytes;
	return type_of(type, type_tau, compute, &t) ?
	       solver_geqrf(h, t, m, n, M(a, lda), tau, info) : CUSOLVER_STATUS_NOT_SUPPORTED;
}

ST cusolverDnXsyevd_bufferSize(H, cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
			       cudaDataType type, const void *a, int64_t lda, cudaDataType type_w,
			       const void *w, cudaDataType compute, size_t *device, size_t *host)
{
	return cusolverDnXsyevBatched_bufferSize(h, params, job, uplo, n, type, a, lda, type_w, w,
						 compute, device, host, 1);
}

ST cusolverDnXsyevd(H, cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n, cudaDataType type,
		    void *a, int64_t lda, cudaDataType type_w, void *w, cudaDataType compute,
		    void *device, size_t device_bytes, void *host, size_t host_bytes, int *info)
{
	return cusolverDnXsyevBatched(h, params, job, uplo, n, type, a, lda, type_w, w, compute,
				      device, device_bytes, host, host_bytes, info, 1);
}

ST cusolverDnXsyevBatched_bufferSize(H, cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
				     cudaDataType type, const void *a, int64_t lda,
				     cudaDataType type_w, const void *w, cudaDataType compute,
				     size_t *device, size_t *host, int64_t batch)
{
	enum solver_type t;
	int64_t bytes;

	(void)params; (void)job; (void)uplo; (void)a; (void)lda; (void)w;
	if (type_w != real_of(type) || !type_of(type, type, compute, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	if (!side_good(n) || batch < 0 ||
	    __builtin_mul_overflow(solver_syevd_work(n), batch, &bytes) ||
	    __builtin_mul_overflow(bytes, bytes_of(t), &bytes))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return sizes(h, bytes, device, host);
}

ST cusolverDnXsyevBatched(H, cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
			  cudaDataType type, void *a, int64_t lda, cudaDataType type_w, void *w,
			  cudaDataType compute, void *device, size_t device_bytes, void *host,
			  size_t host_bytes, int *info, int64_t batch)
{
	enum solver_type t;

	(void)params; (void)host; (void)host_bytes;
	if (type_w != real_of(type) || !type_of(type, type, compute, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	if (!side_good(n) || !side_good(lda))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return solver_syevd(h, t, job, uplo, n,
			    (struct matrices){ .at = a, .ld = lda, .apart = lda * n }, w, device,
			    (int64_t)(device_bytes / bytes_of(t)), info, batch);
}

ST cusolverDnXgesvd_bufferSize(H, signed char jobu, signed char jobvt, int64_t m, int64_t n,
			       cudaDataType type, const void *a, int64_t lda, cudaDataType type_s,
			       const void *s, cudaDataType type_u, const void *u, int64_t ldu,
			       cudaDataType type_vt, const void *vt, int64_t ldvt,
			       cudaDataType compute, size_t *device, size_t *host)
{
	enum solver_type t;
	int64_t bytes;

	(void)params; (void)jobu; (void)jobvt; (void)a; (void)lda; (void)s; (void)u; (void)ldu;
	(void)vt; (void)ldvt;
	if (type_s != real_of(type) || type_vt != type || !type_of(type, type_u, compute, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	if (!side_good(m) || !side_good(n) || m < n ||
	    __builtin_mul_overflow(solver_gesvd_work(m, n), bytes_of(t), &bytes))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return sizes(h, bytes, device, host);
}

ST cusolverDnXgesvd(H, signed char jobu, signed char jobvt, int64_t m, int64_t n,
		    cudaDataType type, void *a, int64_t lda, cudaDataType type_s, void *s,
		    cudaDataType type_u, void *u, int64_t ldu, cudaDataType type_vt, void *vt,
		    int64_t ldvt, cudaDataType compute, void *device, size_t device_bytes,
		    void *host, size_t host_bytes, int *info)
{
	struct matrices to_u = M(u, ldu), to_vt = M(vt, ldvt);
	struct sides sides;
	enum solver_type t;

	(void)params; (void)host; (void)host_bytes;
	if (type_s != real_of(type) || type_vt != type || !type_of(type, type_u, compute, &t))
		return CUSOLVER_STATUS_NOT_SUPPORTED;
	if (!side_good(m) || !side_good(n) ||
	    solver_letters(jobu, jobvt, m, n, M(a, lda), &to_u, &to_vt, &sides))
		return CUSOLVER_STATUS_INVALID_VALUE;
	return solver_gesvd(h, t, sides, m, n, M(a, lda), s, to_u, to_vt, device,
			    (int64_t)(device_bytes / bytes_of(t)), info, 1);
}
