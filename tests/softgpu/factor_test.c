// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that softgpu's stand-in for cuBLAS solves with triangles and factors batches,
 * in all four types. A solution is judged by its product with the matrix. It needs nvcc at build
 * time, no hardware.
 */
#include <cublas_v2.h>
#include <math.h>
#include <stdio.h>

#include "numbers.h"
#include "tap.h"

#define M	12
#define N	7
#define LD	15
#define MOST	(LD * LD)
#define BATCH	3

static cublasHandle_t h;
static CUdeviceptr dev[BATCH], right[BATCH], tau[BATCH], lists[3], pivots, info;
static num a[BATCH][MOST], b[BATCH][MOST], x[MOST];

#define AT(p)	((void *)(uintptr_t)(p))
#define CALL(t, name, ...) \
	((t) == F ? cublasS##name(h, __VA_ARGS__) : (t) == D ? cublasD##name(h, __VA_ARGS__) : \
	 (t) == C ? cublasC##name(h, __VA_ARGS__) : cublasZ##name(h, __VA_ARGS__))

static void *scalar(int t, num v)
{
	static num z;
	static float complex c;

	z = v;
	c = v;
	return t == D || t == Z ? (void *)&z : &c;
}

/* Fills a matrix, with a diagonal that makes it easy to solve. */
static void fill(int t, num *to, double diagonal)
{
	for (int i = 0; i < MOST; i++)
		to[i] = random_of(t) + (i % LD == i / LD ? diagonal : 0);
}

static num at(const num *m, int op, int i, int j)
{
	num v = op ? m[j + i * LD] : m[i + j * LD];

	return op == 2 ? conj(v) : v;
}

/* Element (i, j) of the triangle that a call names. */
static num of_triangle(int lower, int unit, int op, int i, int j)
{
	if (i == j && unit)
		return 1;
	/* The transpose of a lower triangle is an upper one. */
	return i != j && (i > j) != (op ? !lower : lower) ? 0 : at(a[0], op, i, j);
}

/* op(A) X = alpha B from the left, X op(A) = alpha B from the right; X is M x N. */
static int solved(int t, int right_side, int lower, int unit, int op)
{
	num alpha = t == C || t == Z ? CMPLX(2, 1) : 2;
	int inner = right_side ? N : M, good;

	fill(t, a[0], 4);
	fill(t, b[0], 0);
	number_put(t, dev[0], a[0], MOST);
	number_put(t, right[0], b[0], MOST);
	good = !CALL(t, trsm, right_side ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT,
		     lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER, op,
		     unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, M, N, scalar(t, alpha),
		     AT(dev[0]), LD, AT(right[0]), LD);
	number_get(t, right[0], x, MOST);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			num sum = 0;
			double most = 1;

			for (int k = 0; k < inner; k++) {
				num v = right_side ? x[i + k * LD] : x[k + j * LD];

				sum += v * (right_side ? of_triangle(lower, unit, op, k, j) :
					    of_triangle(lower, unit, op, i, k));
				most = fmax(most, cabs(v));
			}
			good &= cabs(sum - alpha * b[0][i + j * LD]) < tolerance(t) * inner * most;
		}
	return good;
}

static void triangles(int t)
{
	int left = 1, from_right = 1;

	for (int i = 0; i < 12; i++) {
		left &= solved(t, 0, i & 1, i >> 1 & 1, i / 4);
		from_right &= solved(t, 1, i & 1, i >> 1 & 1, i / 4);
	}
	ok(left, named(t, "triangles_are_solved_from_the_left"));
	ok(from_right, named(t, "triangles_are_solved_from_the_right"));
	fill(t, b[0], 0);
	number_put(t, right[0], b[0], MOST);
	CALL(t, trsm, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, M, N,
	     scalar(t, 0), NULL, LD, AT(right[0]), LD);
	number_get(t, right[0], x, MOST);
	ok(x[0] == 0 && x[M - 1 + (N - 1) * LD] == 0 && x[M] != 0,
	   named(t, "factor_of_zero_clears_without_a_matrix"));
}

static void put_batch(int t)
{
	for (int i = 0; i < BATCH; i++) {
		fill(t, a[i], i == 1 ? 0 : 4);
		fill(t, b[i], 0);
		number_put(t, dev[i], a[i], MOST);
		number_put(t, right[i], b[i], MOST);
	}
}

/* Whether op(A) X = B for each of the batch. */
static int batch_solved(int t, int op)
{
	int good = 1;

	for (int i = 0; i < BATCH; i++) {
		number_get(t, right[i], x, MOST);
		for (int r = 0; r < M; r++)
			for (int j = 0; j < N; j++) {
				num sum = 0;
				double most = 1;

				for (int k = 0; k < M; k++) {
					sum += at(a[i], op, r, k) * x[k + j * LD];
					most = fmax(most, cabs(x[k + j * LD]));
				}
				good &= cabs(sum - b[i][r + j * LD]) < tolerance(t) * M * most;
			}
	}
	return good;
}

static void factors(int t)
{
	int found[BATCH], wrong = 5, good;

	put_batch(t);
	good = !CALL(t, getrfBatched, M, AT(lists[0]), LD, AT(pivots), AT(info), BATCH) &&
	       !CALL(t, getrsBatched, CUBLAS_OP_N, M, N, AT(lists[0]), LD, AT(pivots), AT(lists[1]),
		     LD,
		     &wrong, BATCH) && !wrong;
	cuMemcpyDtoH(found, info, sizeof(found));
	ok(good && !found[0] && !found[1] && !found[2] && batch_solved(t, 0),
	   named(t, "batch_is_factored_and_solved"));
	for (int i = 0; i < BATCH; i++)
		number_put(t, right[i], b[i], MOST);
	good = !CALL(t, getrsBatched, CUBLAS_OP_C, M, N, AT(lists[0]), LD, AT(pivots), AT(lists[1]),
		     LD,
		     &wrong, BATCH);
	ok(good && batch_solved(t, 2), named(t, "adjoints_of_a_batch_are_solved"));
	ok_eq(CALL(t, getrsBatched, CUBLAS_OP_N, M, N, AT(lists[0]), M - 1, AT(pivots),
		   AT(lists[1]),
		   LD, &wrong, BATCH), CUBLAS_STATUS_INVALID_VALUE,
	      named(t, "leading_dimension_below_the_rows_is_refused"));

	/* R'R is A'A, since Q'Q is one. */
	put_batch(t);
	good = !CALL(t, geqrfBatched, M, N, AT(lists[0]), LD, AT(lists[2]), &wrong, BATCH) &&
		!wrong;
	number_get(t, dev[2], x, MOST);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			num sum = 0;

			for (int k = 0; k < M; k++)
				sum += conj(a[2][k + i * LD]) * a[2][k + j * LD];
			for (int k = 0; k <= i && k <= j; k++)
				sum -= conj(x[k + i * LD]) * x[k + j * LD];
			good &= cabs(sum) < tolerance(t) * M * 20;
		}
	ok(good, named(t, "batch_of_qr_keeps_the_lengths"));
	good = !CALL(t, trsmBatched, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
		     CUBLAS_DIAG_NON_UNIT, N, N, scalar(t, 1), AT(lists[0]), LD, AT(lists[1]), LD,
		     BATCH);
	memcpy(a[0], x, sizeof(x));
	number_get(t, right[2], x, MOST);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			num sum = -b[2][i + j * LD];

			for (int k = i; k < N; k++)
				sum += a[0][i + k * LD] * x[k + j * LD];
			good &= cabs(sum) < tolerance(t) * N * 20;
		}
	ok(good, named(t, "batch_of_triangles_is_solved"));
}

int main(void)
{
	CUdeviceptr *of_lists[] = { dev, right, tau };
	CUcontext ctx;

	tap_plan(4 * 8);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cublasCreate(&h)) {
		diag("no device, or no handle");
		return 1;
	}
	for (int i = 0; i < BATCH; i++) {
		cuMemAlloc(&dev[i], MOST * sizeof(num));
		cuMemAlloc(&right[i], MOST * sizeof(num));
		cuMemAlloc(&tau[i], M * sizeof(num));
	}
	for (int i = 0; i < 3; i++) {
		cuMemAlloc(&lists[i], sizeof(dev));
		cuMemcpyHtoD(lists[i], of_lists[i], sizeof(dev));
	}
	cuMemAlloc(&pivots, BATCH * M * sizeof(int));
	cuMemAlloc(&info, BATCH * sizeof(int));
	for (int t = F; t <= Z; t++) {
		triangles(t);
		factors(t);
	}
	cublasDestroy(h);
	return tap_exit();
}
