// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that softgpu's stand-in for cuSOLVER factors and solves, in all four element
 * types, and refuses what is documented as wrong. A result is judged by what it is for: factors by
 * their product, solutions by A x, eigenvectors by A v and by their products with each other. It
 * needs nvcc at build time, no hardware.
 */
#include <cuda.h>
#include <cusolverDn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "numbers.h"
#include "tap.h"

#define N	37
#define M	50
#define LD	53
#define MOST	(LD * M)

static cusolverDnHandle_t h;
static CUdeviceptr dev[6], values, pivots, info, work;
static num a[MOST], b[MOST], x[MOST], q[MOST], r[MOST];
static double real_values[M];

static void *P(int i)
{
	return (void *)(uintptr_t)dev[i];
}

static void put(int t, int i, const num *from)
{
	number_put(t, dev[i], from, MOST);
}

static void get(int t, int i, num *to)
{
	number_get(t, dev[i], to, MOST);
}

static void get_values(int t, int n)
{
	float room[M];

	if (t == D || t == Z) {
		cuMemcpyDtoH(real_values, values, n * sizeof(double));
		return;
	}
	cuMemcpyDtoH(room, values, n * sizeof(float));
	for (int i = 0; i < n; i++)
		real_values[i] = room[i];
}

static int result(void)
{
	int v = -1;

	cuMemcpyDtoH(&v, info, sizeof(v));
	cuMemsetD32(info, 77, 8);
	return v;
}

static void fill(int t, num *to)
{
	for (int k = 0; k < MOST; k++)
		to[k] = random_of(t);
}

/* op(A) of a host's matrix: 0 as it is, 1 transposed, 2 the adjoint. */
static num at(const num *m, int op, int i, int j)
{
	num v = op ? m[j + i * LD] : m[i + j * LD];

	return op == 2 ? conj(v) : v;
}

/* Whether op(A) (rows x inner) times op(B) (inner x columns) is C. */
static int product_is(int t, const num *l, int lop, const num *rr, int rop, int rows, int inner,
		      int columns, const num *want)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) {
			num sum = 0;

			for (int k = 0; k < inner; k++)
				sum += at(l, lop, i, k) * at(rr, rop, k, j);
			if (!(cabs(sum - want[i + j * LD]) <= tolerance(t) * inner)) {
				diag("element %d,%d: expected %g%+gi, got %g%+gi", i, j,
				     creal(want[i + j * LD]), cimag(want[i + j * LD]), creal(sum),
				     cimag(sum));
				return 0;
			}
		}
	return 1;
}

static void identity(num *to)
{
	memset(to, 0, MOST * sizeof(*to));
	for (int i = 0; i < M; i++)
		to[i + i * LD] = 1;
}

static int orthonormal(int t, const num *v, int rows, int columns)
{
	static num one[MOST];

	identity(one);
	return product_is(t, v, 2, v, 0, columns, rows, columns, one);
}

/* A Hermitian matrix in @a; positive definite if @shift is large enough. */
static void hermitian(int t, double shift)
{
	fill(t, a);
	for (int i = 0; i < N; i++)
		for (int j = 0; j <= i; j++)
			a[j + i * LD] = i == j ? creal(a[i + i * LD]) + shift : conj(a[i + j * LD]);
}

/* Leaves of @m the triangle alone. */
static void triangle(num *m, int lower, int unit)
{
	for (int j = 0; j < M; j++)
		for (int i = 0; i < LD; i++)
			if (i == j && unit)
				m[i + j * LD] = 1;
			else if (i != j && (i > j) != lower)
				m[i + j * LD] = 0;
}

/* Calls the function of the type; in complex types Q and symmetric ones have another name. */
#define CALL(t, fs, fd, fc, fz, ...) \
	((t) == F ? cusolverDn##fs(h, __VA_ARGS__) : (t) == D ? cusolverDn##fd(h, __VA_ARGS__) : \
	 (t) == C ? cusolverDn##fc(h, __VA_ARGS__) : cusolverDn##fz(h, __VA_ARGS__))
#define SAME(t, name, ...) CALL(t, S##name, D##name, C##name, Z##name, __VA_ARGS__)
#define Q_OF(t, name, ...) CALL(t, Sor##name, Dor##name, Cun##name, Zun##name, __VA_ARGS__)
#define SYM(t, name, ...) CALL(t, Ssy##name, Dsy##name, Che##name, Zhe##name, __VA_ARGS__)
#define INFO	((int *)(uintptr_t)info)
#define PIV	((int *)(uintptr_t)pivots)
#define W	((void *)(uintptr_t)values)
#define WORK	((void *)(uintptr_t)work)

static void cholesky(int t, int lower)
{
	cublasFillMode_t uplo = lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
	int size = -1, good;

	hermitian(t, 2 * N);
	put(t, 0, a);
	good = !SAME(t, potrf_bufferSize, uplo, N, P(0), LD, &size) && size > 0 &&
	       !SAME(t, potrf, uplo, N, P(0), LD, WORK, size, INFO) && !result();
	get(t, 0, q);
	memcpy(r, q, sizeof(r));
	triangle(q, lower, 0);
	ok(good && product_is(t, q, lower ? 0 : 2, q, lower ? 2 : 0, N, N, N, a),
	   named(t, lower ? "lower_factor_of_cholesky_gives_the_matrix" :
		 "upper_factor_of_cholesky_gives_the_matrix"));
	good = 1;
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			if (i != j && (i > j) != lower)
				good &= r[i + j * LD] == a[i + j * LD];
	ok(good, named(t, lower ? "other_triangle_stays_with_lower" :
		       "other_triangle_stays_with_upper"));

	fill(t, b);
	put(t, 1, b);
	good = !SAME(t, potrs, uplo, N, 5, P(0), LD, P(1), LD, INFO) && !result();
	get(t, 1, x);
	ok(good && product_is(t, a, 0, x, 0, N, N, 5, b),
	   named(t, lower ? "lower_factor_solves" : "upper_factor_solves"));

	good = !SAME(t, potri_bufferSize, uplo, N, P(0), LD, &size) &&
	       !SAME(t, potri, uplo, N, P(0), LD, WORK, size, INFO) && !result();
	get(t, 0, x);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			if (i != j && (i > j) != lower)
				x[i + j * LD] = conj(x[j + i * LD]);
	identity(b);
	ok(good && product_is(t, a, 0, x, 0, N, N, N, b),
	   named(t, lower ? "lower_factor_inverts" : "upper_factor_inverts"));
}

static void not_definite(int t)
{
	hermitian(t, 2 * N);
	a[11 + 11 * LD] = -1;
	put(t, 0, a);
	ok(!SAME(t, potrf, CUBLAS_FILL_MODE_LOWER, N, P(0), LD, WORK, 1, INFO),
	   named(t, "matrix_that_is_not_definite_is_no_error_of_the_call"));
	ok_eq(result(), 12, named(t, "minor_that_is_not_positive_is_named"));
}

static void lu(int t)
{
	static const char *const names[] = { "lu_solves", "lu_solves_the_transpose",
					     "lu_solves_the_adjoint" };
	int size, good, p[N];

	fill(t, a);
	a[0] = 0;	/* the first pivot must be another row */
	put(t, 0, a);
	good = !SAME(t, getrf_bufferSize, N, N, P(0), LD, &size) && size > 0 &&
	       !SAME(t, getrf, N, N, P(0), LD, WORK, PIV, INFO) && !result();
	get(t, 0, q);
	memcpy(r, q, sizeof(r));
	triangle(q, 1, 1);
	triangle(r, 0, 0);
	memcpy(b, a, sizeof(b));
	cuMemcpyDtoH(p, pivots, sizeof(p));
	for (int i = 0; i < N; i++)
		for (int j = 0; good && j < N; j++) {
			num v = b[i + j * LD];

			good &= p[i] > i && p[i] <= N;
			if (good) {
				b[i + j * LD] = b[p[i] - 1 + j * LD];
				b[p[i] - 1 + j * LD] = v;
			}
		}
	ok(good && product_is(t, q, 0, r, 0, N, N, N, b),
	   named(t, "lu_gives_the_interchanged_matrix"));
	for (int op = 0; op < 3; op++) {
		fill(t, b);
		put(t, 1, b);
		good = !SAME(t, getrs, op, N, 3, P(0), LD, PIV, P(1), LD, INFO) && !result();
		get(t, 1, x);
		ok(good && product_is(t, a, op, x, 0, N, N, 3, b), named(t, names[op]));
	}
	for (int i = 0; i < N; i++)
		a[i + 4 * LD] = 0;
	put(t, 0, a);
	SAME(t, getrf, N, 5, P(0), LD, WORK, PIV, INFO);
	ok_eq(result(), 5, named(t, "zero_of_u_is_named"));
}

static void qr(int t)
{
	int size, good;

	fill(t, a);
	put(t, 0, a);
	good = !SAME(t, geqrf_bufferSize, M, N, P(0), LD, &size) && size > 0 &&
	       !SAME(t, geqrf, M, N, P(0), LD, P(2), WORK, size, INFO) && !result();
	get(t, 0, r);
	triangle(r, 0, 0);

	put(t, 1, a);
	good &= !Q_OF(t, mqr_bufferSize, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, M, N, N, P(0), LD, P(2),
		      P(1), LD, &size) && size > 0;
	good &= !Q_OF(t, mqr, CUBLAS_SIDE_LEFT, t >= C ? CUBLAS_OP_C : CUBLAS_OP_T, M, N, N, P(0),
		      LD, P(2), P(1), LD, WORK, size, INFO) && !result();
	get(t, 1, x);
	identity(b);
	for (int j = 0; j < N; j++)
		for (int i = N; i < M; i++)
			r[i + j * LD] = 0;
	ok(good && product_is(t, b, 0, x, 0, M, M, N, r), named(t, "adjoint_of_q_makes_r"));

	/* From the right: B Q, and back by the adjoint. */
	fill(t, b);
	put(t, 1, b);
	good = !Q_OF(t, mqr, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 20, M, N, P(0), LD, P(2), P(1), LD,
		     WORK, size, INFO);
	get(t, 1, x);
	good &= !Q_OF(t, mqr, CUBLAS_SIDE_RIGHT, t >= C ? CUBLAS_OP_C : CUBLAS_OP_T, 20, M, N, P(0),
		      LD, P(2), P(1), LD, WORK, size, INFO);
	get(t, 1, q);
	ok(good && cabs(x[0] - b[0]) > 1e-3 && cabs(q[0] - b[0]) < tolerance(t) * 10 &&
	   cabs(q[19 + 49 * LD] - b[19 + 49 * LD]) < tolerance(t) * 10,
	   named(t, "q_from_the_right_is_undone_by_its_adjoint"));

	good = !Q_OF(t, gqr_bufferSize, M, N, N, P(0), LD, P(2), &size) && size > 0 &&
	       !Q_OF(t, gqr, M, N, N, P(0), LD, P(2), WORK, size, INFO) && !result();
	get(t, 0, q);
	ok(good && orthonormal(t, q, M, N), named(t, "columns_of_q_are_orthonormal"));
	ok(product_is(t, q, 0, r, 0, M, N, N, a), named(t, "q_r_is_the_matrix"));
	/* B Q of before, whose first columns are those of this Q. */
	ok(product_is(t, b, 0, q, 0, 20, M, N, x), named(t,
							 "q_from_the_right_is_a_product_with_q"));
}

/* A v = w v, ascending values, orthonormal vectors. */
static int is_eigen(int t, const num *v, int n)
{
	get_values(t, n);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			r[i + j * LD] = v[i + j * LD] * real_values[j];
	for (int j = 1; j < n; j++)
		if (real_values[j] < real_values[j - 1])
			return 0;
	return product_is(t, a, 0, v, 0, n, n, n, r) && orthonormal(t, v, n, n);
}

static void eigen(int t, int lower)
{
	cublasFillMode_t uplo = lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
	double before[N];
	syevjInfo_t params;
	int size, good;

	hermitian(t, 0);
	memcpy(b, a, sizeof(b));
	/* The other triangle is not to be read. */
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			if (i != j && (i > j) != lower)
				b[i + j * LD] = 1e9;
	put(t, 0, b);
	good = !SYM(t, evd_bufferSize, CUSOLVER_EIG_MODE_VECTOR, uplo, N, P(0), LD, W, &size) &&
	       !SYM(t, evd, CUSOLVER_EIG_MODE_VECTOR, uplo, N, P(0), LD, W, WORK, size, INFO) &&
	       !result();
	get(t, 0, q);
	ok(good && is_eigen(t, q, N), named(t, lower ? "lower_syevd_finds_eigenvectors" :
					    "upper_syevd_finds_eigenvectors"));
	memcpy(before, real_values, sizeof(before));
	put(t, 0, b);
	cusolverDnCreateSyevjInfo(&params);
	good = !SYM(t, evj_bufferSize, CUSOLVER_EIG_MODE_NOVECTOR, uplo, N, P(0), LD, W, &size,
		    params) &&
	       !SYM(t, evj, CUSOLVER_EIG_MODE_NOVECTOR, uplo, N, P(0), LD, W, WORK, size, INFO,
		    params) && !result();
	cusolverDnDestroySyevjInfo(params);
	get_values(t, N);
	for (int i = 0; i < N; i++)
		good &= fabs(before[i] - real_values[i]) < tolerance(t) * N;
	ok(good, named(t, lower ? "lower_syevj_finds_the_values_alone" :
		       "upper_syevj_finds_the_values_alone"));
}

/* U diag(s) V' is the matrix; @v is as columns, or as rows of conjugates if @rows. */
static int is_svd(int t, const num *u, const num *v, int rows, int m, int n, int least)
{
	get_values(t, least);
	for (int j = 0; j < least; j++) {
		if (real_values[j] < 0 || (j && real_values[j] > real_values[j - 1]))
			return 0;
		for (int i = 0; i < m; i++)
			r[i + j * LD] = u[i + j * LD] * real_values[j];
	}
	return product_is(t, r, 0, v, rows ? 0 : 2, m, least, n, a);
}

static void svd(int t)
{
	gesvdjInfo_t params;
	int size, good, m = 40, n = 21;

	fill(t, a);
	/* A column that is a sum of others makes the rank one less, so that U must be completed. */
	for (int i = 0; i < m; i++)
		a[i + 7 * LD] = a[i] + a[i + 3 * LD];
	put(t, 0, a);
	good = !SAME(t, gesvd_bufferSize, m, n, &size) &&
	       !SAME(t, gesvd, 'A', 'A', m, n, P(0), LD, W, P(1), LD, P(2), LD, WORK, size, NULL,
		     INFO) && !result();
	get(t, 1, q);
	get(t, 2, x);
	ok(good && is_svd(t, q, x, 1, m, n, n), named(t, "gesvd_gives_the_matrix"));
	ok(real_values[n - 1] < tolerance(t) && real_values[n - 2] > 1e-2,
	   named(t, "gesvd_sees_the_rank"));
	ok(orthonormal(t, q, m, m), named(t, "all_left_vectors_of_gesvd_are_orthonormal"));
	ok(orthonormal(t, x, n, n), named(t, "right_vectors_of_gesvd_are_orthonormal"));

	put(t, 0, a);
	good = !SAME(t, gesvd, 'O', 'S', m, n, P(0), LD, W, NULL, LD, P(2), LD, WORK, size, NULL,
		     INFO) && !result();
	get(t, 0, q);
	get(t, 2, x);
	ok(good && is_svd(t, q, x, 1, m, n, n), named(t,
						      "gesvd_puts_left_vectors_over_the_matrix"));

	fill(t, a);
	put(t, 0, a);
	cusolverDnCreateGesvdjInfo(&params);
	good = !SAME(t, gesvdj_bufferSize, CUSOLVER_EIG_MODE_VECTOR, 0, n, m, P(0), LD, W, P(1), LD,
		     P(2), LD, &size, params) &&
	       !SAME(t, gesvdj, CUSOLVER_EIG_MODE_VECTOR, 0, n, m, P(0), LD, W, P(1), LD, P(2), LD,
		     WORK, size, INFO, params) && !result();
	get(t, 1, q);
	get(t, 2, x);
	ok(good && is_svd(t, q, x, 0, n, m, n) && orthonormal(t, x, m, m),
	   named(t, "gesvdj_gives_a_wide_matrix_and_all_its_right_vectors"));
	ok(!SAME(t, gesvdj, CUSOLVER_EIG_MODE_VECTOR, 1, n, m, P(0), LD, W, P(1), LD, P(2), LD,
		 WORK, size, INFO, params) && !result() && (get(t, 2, x), orthonormal(t, x, m, n)),
	   named(t, "economic_gesvdj_writes_the_short_side"));
	ok_eq(SAME(t, gesvdj, CUSOLVER_EIG_MODE_VECTOR, 1, n, m, P(0), LD, W, P(1), LD, P(2), LD,
		   WORK, size - 1, INFO, params), CUSOLVER_STATUS_INVALID_VALUE,
	      named(t, "work_that_is_too_small_is_refused"));
	cusolverDnDestroyGesvdjInfo(params);
}

/* Three matrices, one after the other and by a list of addresses. */
static void batches(int t)
{
	CUdeviceptr list[3];
	syevjInfo_t params;
	int size, good, found[3];

	hermitian(t, 2 * N);
	a[5 + 5 * LD] = -3;
	put(t, 0, a);
	hermitian(t, 2 * N);
	put(t, 1, a);
	put(t, 2, a);
	list[0] = dev[1];
	list[1] = dev[0];
	list[2] = dev[2];
	cuMemcpyHtoD(work, list, sizeof(list));
	good = !SAME(t, potrfBatched, CUBLAS_FILL_MODE_LOWER, N, WORK, LD, INFO, 3);
	cuMemcpyDtoH(found, info, sizeof(found));
	get(t, 2, q);
	triangle(q, 1, 0);
	ok(good && product_is(t, q, 0, q, 2, N, N, N, a),
	   named(t, "batch_of_cholesky_factors_its_last"));
	ok(!found[0] && found[1] == 6 && !found[2], named(t,
							  "batch_of_cholesky_names_the_bad_one"));

	/* N by N, close together: the second of two is judged. */
	fill(t, b);
	put(t, 0, b);
	cusolverDnCreateSyevjInfo(&params);
	memset(a, 0, sizeof(a));
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++) {
			num v = b[64 + (i > j ? i + 8 * j : j + 8 * i)];

			a[i + j * LD] = i == j ? creal(v) : i > j ? v : conj(v);
		}
	good = !SYM(t, evjBatched_bufferSize, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 8,
		    P(0), 8, W, &size, params, 2) &&
	       !SYM(t, evjBatched, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 8, P(0), 8, W,
		    WORK, size, INFO, params, 2) && !result();
	cusolverDnDestroySyevjInfo(params);
	get(t, 0, x);
	memset(q, 0, sizeof(q));
	for (int i = 0; i < 64; i++)
		q[i % 8 + i / 8 * LD] = x[64 + i];
	cuMemcpyDtoD(values, values + 8 * (t == D || t == Z ? 8 : 4), 64);
	ok(good && is_eigen(t, q, 8), named(t, "batch_of_syevj_finds_eigenvectors_of_its_second"));
}

/* The functions whose types are arguments. */
static void generic(int t)
{
	cudaDataType type = (cudaDataType[]){ CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F }[t];
	cudaDataType real = t == D || t == Z ? CUDA_R_64F : CUDA_R_32F;
	int64_t p[N];
	cusolverDnParams_t params;
	size_t device, host;
	int good;

	cusolverDnCreateParams(&params);
	fill(t, a);
	a[0] = 0;
	put(t, 0, a);
	fill(t, b);
	put(t, 1, b);
	good = !cusolverDnXgetrf_bufferSize(h, params, N, N, type, P(0), LD, type, &device,
					    &host) &&
	       !cusolverDnXgetrf(h, params, N, N, type, P(0), LD, (int64_t *)PIV, type, WORK,
				 device, NULL, host, INFO) && !result() &&
	       !cusolverDnXgetrs(h, params, CUBLAS_OP_N, N, 3, type, P(0), LD, (int64_t *)PIV, type,
				 P(1), LD, INFO) && !result();
	get(t, 1, x);
	cuMemcpyDtoH(p, pivots, sizeof(p));
	ok(good && p[0] > 1 && p[0] <= N && product_is(t, a, 0, x, 0, N, N, 3, b),
	   named(t, "generic_lu_solves_with_long_pivots"));

	hermitian(t, 2 * N);
	put(t, 0, a);
	put(t, 1, b);
	good = !cusolverDnXpotrf_bufferSize(h, params, CUBLAS_FILL_MODE_UPPER, N, type, P(0), LD,
					    type, &device, &host) &&
	       !cusolverDnXpotrf(h, params, CUBLAS_FILL_MODE_UPPER, N, type, P(0), LD, type, WORK,
				 device, NULL, host, INFO) && !result() &&
	       !cusolverDnXpotrs(h, params, CUBLAS_FILL_MODE_UPPER, N, 3, type, P(0), LD, type,
				 P(1), LD, INFO) && !result();
	get(t, 1, x);
	ok(good && product_is(t, a, 0, x, 0, N, N, 3, b), named(t, "generic_cholesky_solves"));

	put(t, 0, a);
	good = !cusolverDnXsyevd_bufferSize(h, params, CUSOLVER_EIG_MODE_VECTOR,
					    CUBLAS_FILL_MODE_LOWER,
					    N, type, P(0), LD, real, W, type, &device, &host) &&
	       !cusolverDnXsyevd(h, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N,
				 type, P(0), LD, real, W, type, WORK, device, NULL, host, INFO) &&
					 !result();
	get(t, 0, q);
	ok(good && is_eigen(t, q, N), named(t, "generic_syevd_finds_eigenvectors"));

	fill(t, a);
	put(t, 0, a);
	good = !cusolverDnXgeqrf_bufferSize(h, params, M, N, type, P(0), LD, type, P(2), type,
					    &device, &host) &&
	       !cusolverDnXgeqrf(h, params, M, N, type, P(0), LD, type, P(2), type, WORK, device,
				 NULL, host, INFO) && !result();
	get(t, 0, r);
	good &= !Q_OF(t, gqr, M, N, N, P(0), LD, P(2), WORK, 1, INFO);
	get(t, 0, q);
	triangle(r, 0, 0);
	ok(good && product_is(t, q, 0, r, 0, M, N, N, a), named(t, "generic_qr_gives_the_matrix"));

	put(t, 0, a);
	good = !cusolverDnXgesvd_bufferSize(h, params, 'S', 'S', M, N, type, P(0), LD, real, W,
					    type, P(1), LD, type, P(2), LD, type, &device, &host) &&
	       !cusolverDnXgesvd(h, params, 'S', 'S', M, N, type, P(0), LD, real, W, type, P(1), LD,
				 type, P(2), LD, type, WORK, device, NULL, host, INFO) && !result();
	get(t, 1, q);
	get(t, 2, x);
	ok(good && is_svd(t, q, x, 1, M, N, N), named(t, "generic_gesvd_gives_the_matrix"));
	cusolverDnDestroyParams(params);
}

static void refusals(void)
{
	float *p = P(0);
	int size;

	ok_eq(cusolverDnSpotrf(NULL, CUBLAS_FILL_MODE_LOWER, N, p, LD, p, 1, INFO),
	      CUSOLVER_STATUS_NOT_INITIALIZED, "no_handle_is_named");
	ok_eq(cusolverDnSpotrf(h, CUBLAS_FILL_MODE_LOWER, N, p, N - 1, p, 1, INFO),
	      CUSOLVER_STATUS_INVALID_VALUE, "leading_dimension_below_the_rows_is_refused");
	ok_eq(cusolverDnSpotrf(h, CUBLAS_FILL_MODE_LOWER, -1, p, LD, p, 1, INFO),
	      CUSOLVER_STATUS_INVALID_VALUE, "negative_size_is_refused");
	ok_eq(cusolverDnSgesvd_bufferSize(h, N, M, &size), CUSOLVER_STATUS_INVALID_VALUE,
	      "gesvd_of_a_wide_matrix_is_refused");
	ok_eq(cusolverDnSorgqr(h, N, M, N, p, LD, p, p, 1, INFO), CUSOLVER_STATUS_INVALID_VALUE,
	      "q_with_more_columns_than_rows_is_refused");
	ok_eq(cusolverDnSsytrf_bufferSize(h, N, p, LD, &size), CUSOLVER_STATUS_NOT_SUPPORTED,
	      "function_that_is_not_there_says_so");
}

int main(void)
{
	CUcontext ctx;

	tap_plan(4 * (8 + 2 + 5 + 5 + 4 + 8 + 3 + 5) + 6);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cusolverDnCreate(&h)) {
		diag("no device, or no handle");
		return 1;
	}
	for (int i = 0; i < 6; i++)
		cuMemAlloc(&dev[i], MOST * sizeof(num));
	cuMemAlloc(&values, M * sizeof(double) * 2);
	cuMemAlloc(&pivots, M * sizeof(int64_t));
	cuMemAlloc(&info, 64);
	cuMemAlloc(&work, 4 * MOST * sizeof(num));
	for (int t = F; t <= Z; t++) {
		cholesky(t, 1);
		cholesky(t, 0);
		not_definite(t);
		lu(t);
		qr(t);
		eigen(t, 1);
		eigen(t, 0);
		svd(t);
		batches(t);
		generic(t);
	}
	refusals();
	cusolverDnDestroy(h);
	return tap_exit();
}
