// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels of the stand-in for cuSOLVER, for float (_f), double (_d) and complex numbers of
 * either (_c, _z). One block works on one matrix; a batch has a block for each.
 */
#include "jacobi.cuh"

/* Writes the triangle of the inverse from the factor of Cholesky. @work has n n elements. */
template <class T> FN void invert(bool lower, i64 n, T *a, i64 lda, T *work, int *info)
{
	__shared__ i64 zero;

	if (!threadIdx.x)
		zero = n;
	__syncthreads();
	for (i64 i = threadIdx.x; i < n; i += BLOCK)
		if (magnitude(a[i + i * lda]) == 0)
			atomicMin((long long *)&zero, i);
	__syncthreads();
	if (!threadIdx.x)
		*info = zero < n ? (int)zero + 1 : 0;
	if (zero < n)
		return;
	identity(n, work, n);
	solve(cholesky_factor(lower, (const T *)a, lda), n, work, 1, n, n);
	solve(cholesky_adjoint(lower, (const T *)a, lda), n, work, 1, n, n);
	for (i64 e = threadIdx.x; e < n * n; e += BLOCK)
		if (e % n == e / n || (e % n > e / n) == lower)
			a[e % n + e / n * lda] = work[e];
}

#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK)
#define OF_TYPE(T, t) \
KERNEL potrf_##t(int lower, i64 n, matrices<T> a, int *info) \
{ cholesky(lower, n, a.mine(), a.ld, info + blockIdx.x); } \
KERNEL potrs_##t(int lower, i64 n, i64 nrhs, matrices<T> a, matrices<T> b) \
{ \
	solve(cholesky_factor(lower, (const T *)a.mine(), a.ld), n, b.mine(), 1, b.ld, nrhs); \
	solve(cholesky_adjoint(lower, (const T *)a.mine(), a.ld), n, b.mine(), 1, b.ld, nrhs); \
} \
KERNEL potri_##t(int lower, i64 n, matrices<T> a, T *work, int *info) \
{ invert(lower, n, a.mine(), a.ld, work, info); } \
KERNEL getrf_##t(i64 m, i64 n, matrices<T> a, pivots p, int *info) \
{ lu(m, n, a.mine(), a.ld, p, info); } \
KERNEL getrs_##t(int op, i64 n, i64 nrhs, matrices<T> a, pivots p, matrices<T> b) \
{ lu_solve(op, n, nrhs, (const T *)a.mine(), a.ld, p, b.mine(), b.ld); } \
KERNEL geqrf_##t(i64 m, i64 n, matrices<T> a, T *tau) \
{ qr(m, n, a.mine(), a.ld, tau); } \
KERNEL orgqr_##t(i64 m, i64 n, i64 k, matrices<T> a, const T *tau) \
{ make_q(m, n, k, a.mine(), a.ld, tau); } \
KERNEL ormqr_##t(int right, int adjoint, i64 m, i64 n, i64 k, matrices<T> a, const T *tau, \
		 matrices<T> c) \
{ apply_q(right, adjoint, m, n, k, (const T *)a.mine(), a.ld, tau, c.mine(), c.ld); } \
KERNEL syevd_##t(int vectors, int lower, i64 n, matrices<T> a, number<T>::real *w, T *work, \
		 i64 each, int *info) \
{ \
	eigen(vectors, lower, n, a.mine(), a.ld, w + blockIdx.x * n, work + blockIdx.x * each, \
	      info + blockIdx.x); \
} \
KERNEL gesvd_##t(i64 m, i64 n, matrices<T> a, number<T>::real *s, i64 each_s, matrices<T> u, \
		 i64 left, matrices<T> v, i64 right, int adjoint, T *work, i64 each, int *info) \
{ \
	vectors<T> to_u = { left ? u.mine() : (T *)0, u.ld, left, false }; \
	vectors<T> to_v = { right ? v.mine() : (T *)0, v.ld, right, (bool)adjoint }; \
\
	singular(m, n, (const T *)a.mine(), a.ld, s + blockIdx.x * each_s, to_u, to_v, \
		 work + blockIdx.x * each, info + blockIdx.x); \
}

OF_TYPE(float, f)
OF_TYPE(double, d)
OF_TYPE(complex<float>, c)
OF_TYPE(complex<double>, z)

/* Sets the result of an operation that cannot fail. */
KERNEL good_result(int *info) { if (!threadIdx.x) *info = 0; }
