// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that softgpu's stand-in for cuBLAS computes what BLAS says, in both
 * precisions and pointer modes, and refuses what cuBLAS documents as wrong. Results are
 * compared with plain loops in double precision. The same program passes with the genuine
 * library on a GPU (LD_LIBRARY_PATH). It needs nvcc at build time, no hardware.
 */
#include <cublas_v2.h>
#include <cuda.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define MOST 40000

static cublasHandle_t h;
static CUdeviceptr dev[4];
static double in[4][MOST], got[MOST], want[MOST];
static double tolerance;
static uint32_t seed = 1;

static double noise(void)
{
	seed = seed * 1664525 + 1013904223;
	return (int32_t)seed / 2147483648.0;
}

/* Fills array @i with noise that both precisions have, here and on the device. */
static void fill(int i, int d, int n)
{
	static float f[MOST];

	for (int k = 0; k < n; k++)
		in[i][k] = f[k] = noise();
	if (d)
		cuMemcpyHtoD(dev[i], in[i], n * sizeof(double));
	else
		cuMemcpyHtoD(dev[i], f, n * sizeof(float));
}

static void fetch(int i, int d, int n)
{
	static float f[MOST];

	if (d) {
		cuMemcpyDtoH(got, dev[i], n * sizeof(double));
		return;
	}
	cuMemcpyDtoH(f, dev[i], n * sizeof(float));
	for (int k = 0; k < n; k++)
		got[k] = f[k];
}

static int same(int i, int d, int n)
{
	tolerance = d ? 1e-12 : 2e-5;
	fetch(i, d, n);
	for (int k = 0; k < n; k++)
		if (!(fabs(got[k] - want[k]) <= tolerance * fmax(1, fabs(want[k])))) {
			diag("element %d: expected %.17g, got %.17g", k, want[k], got[k]);
			return 0;
		}
	return 1;
}

#define P(i)	((void *)(uintptr_t)dev[i])
/* Calls the float or the double function. */
#define CALL(d, name, ...) ((d) ? cublasD##name(h, __VA_ARGS__) : \
			    cublasS##name(h, __VA_ARGS__))

static float sf[2];
static double sd[2];

/* Returns scalar @i as the wanted type. */
static void *scalar(int d, int i, double v)
{
	sf[i] = v;
	sd[i] = v;
	return d ? (void *)&sd[i] : (void *)&sf[i];
}

static double at(const double *x, int i, int n, int inc)
{
	return x[inc < 0 ? (i - n + 1) * inc : i * inc];
}

static void vectors(int d)
{
	int n = 777, good;
	double r = 0, sum = 0, sq = 0;
	float rf;
	int where, best = 0;

	fill(0, d, 3 * n);
	fill(1, d, 2 * n);
	memcpy(want, in[1], sizeof(want));
	for (int i = 0; i < n; i++)
		want[2 * (n - 1 - i)] += 1.5 * in[0][3 * i];
	good = !CALL(d, axpy, n, scalar(d, 0, 1.5), P(0), 3, P(1), -2);
	ok(good && same(1, d, 2 * n - 1), d ? "axpy_double_runs_backwards" : "axpy_float_runs_backwards");

	fill(1, d, n);
	for (int i = 0; i < n; i++) {
		r += in[0][3 * i] * in[1][i];
		sum += fabs(in[0][3 * i]);
		sq += in[0][3 * i] * in[0][3 * i];
		if (fabs(in[0][3 * i]) > fabs(in[0][3 * best]))
			best = i;
	}
	want[0] = r;
	want[1] = sum;
	want[2] = sqrt(sq);
	if (d) {
		cublasDdot(h, n, P(0), 3, P(1), 1, &got[0]);
		cublasDasum(h, n, P(0), 3, &got[1]);
		cublasDnrm2(h, n, P(0), 3, &got[2]);
		cublasIdamax(h, n, P(0), 3, &where);
	} else {
		cublasSdot(h, n, P(0), 3, P(1), 1, &rf);
		got[0] = rf;
		cublasSasum(h, n, P(0), 3, &rf);
		got[1] = rf;
		cublasSnrm2(h, n, P(0), 3, &rf);
		got[2] = rf;
		cublasIsamax(h, n, P(0), 3, &where);
	}
	good = 1;
	for (int i = 0; i < 3; i++)
		good &= fabs(got[i] - want[i]) <= (d ? 1e-12 : 2e-5) * fabs(want[i]) + 1e-5 * !d;
	ok(good, d ? "dot_asum_nrm2_double_are_sums" : "dot_asum_nrm2_float_are_sums");
	ok_eq(where, best + 1, d ? "amax_double_counts_from_one" : "amax_float_counts_from_one");

	cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE);
	good = !CALL(d, dot, n, P(0), 3, P(1), 1, P(2));
	cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST);
	want[0] = r;
	ok(good && same(2, d, 1), d ? "device_mode_writes_a_double_result_on_the_device" :
	   "device_mode_writes_a_float_result_on_the_device");

	fill(0, d, n);
	fill(1, d, n);
	for (int i = 0; i < n; i++)
		want[i] = 0.6 * in[0][i] + 0.8 * in[1][i];
	CALL(d, rot, n, P(0), 1, P(1), 1, scalar(d, 0, 0.6), scalar(d, 1, 0.8));
	good = same(0, d, n);
	for (int i = 0; i < n; i++)
		want[i] = 0.6 * in[1][i] - 0.8 * in[0][i];
	ok(good && same(1, d, n), d ? "rot_double_turns_both" : "rot_float_turns_both");
}

static void planes(void)
{
	double a = 3, b = 4, c, s, d1 = 2, d2 = 3, x1 = 1, y1 = 0.5, p[5] = { 9, 9, 9, 9, 9 };

	cublasDrotg(h, &a, &b, &c, &s);
	ok(fabs(a - 5) < 1e-14 && fabs(c - 0.6) < 1e-14 && fabs(s - 0.8) < 1e-14,
	   "rotg_makes_a_plane_rotation");
	cublasDrotmg(h, &d1, &d2, &x1, &y1, p);
	/* Since q1 = 2 > q2 = .75: flag 0, h21 = -.5, h12 = .75, u = 1.375. */
	ok(p[0] == 0 && p[2] == -0.5 && p[3] == 0.75 && fabs(d1 - 2 / 1.375) < 1e-14 &&
	   fabs(x1 - 1.375) < 1e-14, "rotmg_makes_a_modified_rotation");
}

static void matrix_vector(int d)
{
	int m = 37, n = 53, lda = 41, good = 1;

	for (int op = 0; op < 2; op++) {
		int rows = op ? n : m, cols = op ? m : n;

		fill(0, d, lda * n);
		fill(1, d, 2 * 53);
		fill(2, d, 53);
		for (int i = 0; i < rows; i++) {
			double v = 0;

			for (int j = 0; j < cols; j++)
				v += in[0][op ? j + i * lda : i + j * lda] * at(in[1], j, cols, 2);
			want[i] = 0.5 * v - 2 * in[2][i];
		}
		good &= !CALL(d, gemv, op ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, scalar(d, 0, 0.5),
			      P(0), lda, P(1), 2, scalar(d, 1, -2), P(2), 1);
		good &= same(2, d, rows);
	}
	ok(good, d ? "gemv_double_both_ways" : "gemv_float_both_ways");

	fill(0, d, lda * n);
	fill(1, d, m);
	fill(2, d, n);
	memcpy(want, in[0], sizeof(want));
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			want[i + j * lda] += 3 * in[1][i] * in[2][j];
	good = !CALL(d, ger, m, n, scalar(d, 0, 3), P(1), 1, P(2), 1, P(0), lda);
	ok(good && same(0, d, lda * n), d ? "ger_double_leaves_the_gap_alone" :
	   "ger_float_leaves_the_gap_alone");

	fill(0, d, lda * m);
	fill(1, d, m);
	fill(2, d, m);
	for (int i = 0; i < m; i++) {
		want[i] = in[2][i];
		for (int j = 0; j < m; j++)
			want[i] += in[0][i < j ? i + j * lda : j + i * lda] * in[1][j];
	}
	good = !CALL(d, symv, CUBLAS_FILL_MODE_UPPER, m, scalar(d, 0, 1), P(0), lda, P(1), 1,
		     scalar(d, 1, 1), P(2), 1);
	ok(good && same(2, d, m), d ? "symv_double_reads_one_triangle" :
	   "symv_float_reads_one_triangle");
}

static void reference_gemm(int ta, int tb, int m, int n, int k, double alpha, int lda, int ldb,
			   double beta, int ldc)
{
	memcpy(want, in[2], sizeof(want));
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			double v = 0;

			for (int l = 0; l < k; l++)
				v += in[0][ta ? l + i * lda : i + l * lda] *
				     in[1][tb ? j + l * ldb : l + j * ldb];
			want[i + j * ldc] = alpha * v + (beta ? beta * in[2][i + j * ldc] : 0);
		}
}

static void matrices(int d)
{
	static const int sizes[][3] = { { 64, 64, 16 }, { 1, 1, 1 }, { 70, 33, 50 }, { 5, 129, 17 },
					{ 100, 3, 1 } };
	double nans[64];
	int good = 1;

	for (int s = 0; s < 5; s++)
		for (int t = 0; t < 4; t++) {
			int m = sizes[s][0], n = sizes[s][1], k = sizes[s][2], ta = t & 1;
			int tb = t >> 1, lda = (ta ? k : m) + 3, ldb = (tb ? n : k) + 1;
			int ldc = m + 2;

			fill(0, d, lda * (ta ? m : k));
			fill(1, d, ldb * (tb ? k : n));
			fill(2, d, ldc * n);
			reference_gemm(ta, tb, m, n, k, 0.75, lda, ldb, -1.5, ldc);
			good &= !CALL(d, gemm, ta ? CUBLAS_OP_T : CUBLAS_OP_N,
				      tb ? CUBLAS_OP_C : CUBLAS_OP_N, m, n, k,
				      scalar(d, 0, 0.75), P(0), lda, P(1), ldb,
				      scalar(d, 1, -1.5), P(2), ldc);
			good &= same(2, d, ldc * n);
		}
	ok(good, d ? "gemm_double_in_every_shape" : "gemm_float_in_every_shape");

	fill(0, d, 64);
	fill(1, d, 64);
	reference_gemm(0, 0, 8, 8, 8, 1, 8, 8, 0, 8);
	memset(nans, 0xff, sizeof(nans));
	cuMemcpyHtoD(dev[2], nans, sizeof(nans));
	good = !CALL(d, gemm, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, scalar(d, 0, 1), P(0), 8, P(1), 8,
		     scalar(d, 1, 0), P(2), 8);
	ok(good && same(2, d, 64), d ? "gemm_double_with_beta_zero_does_not_read_c" :
	   "gemm_float_with_beta_zero_does_not_read_c");

	fill(2, d, 64);
	memcpy(want, in[2], sizeof(want));
	for (int i = 0; i < 64; i++)
		want[i] *= 2;
	cuMemcpyHtoD(dev[0], nans, sizeof(nans));
	good = !CALL(d, gemm, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, scalar(d, 0, 0), P(0), 8, P(1), 8,
		     scalar(d, 1, 2), P(2), 8);
	ok(good && same(2, d, 64), d ? "gemm_double_with_alpha_zero_does_not_read_a" :
	   "gemm_float_with_alpha_zero_does_not_read_a");
}

static void batches(int d)
{
	int size = d ? 8 : 4, good;
	uint64_t list[3][3];

	fill(0, d, 300);
	fill(1, d, 300);
	fill(2, d, 300);
	memcpy(want, in[2], sizeof(want));
	for (int z = 0; z < 3; z++)
		for (int e = 0; e < 64; e++) {
			double v = 0;

			for (int l = 0; l < 8; l++)
				v += in[0][z * 100 + e % 8 + l * 8] * in[1][z * 64 + l + e / 8 * 8];
			want[z * 80 + e] = v + in[2][z * 80 + e];
		}
	good = !CALL(d, gemmStridedBatched, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, scalar(d, 0, 1),
		     P(0), 8, 100, P(1), 8, 64, scalar(d, 1, 1), P(2), 8, 80, 3);
	ok(good && same(2, d, 300), d ? "strided_batches_double" : "strided_batches_float");

	fill(2, d, 300);
	memcpy(want, in[2], sizeof(want));
	for (int z = 0; z < 3; z++) {
		list[0][z] = dev[0] + z * 100 * size;
		list[1][z] = dev[1] + z * 64 * size;
		list[2][z] = dev[2] + (2 - z) * 64 * size;
		for (int e = 0; e < 64; e++) {
			double v = 0;

			for (int l = 0; l < 8; l++)
				v += in[0][z * 100 + e % 8 + l * 8] * in[1][z * 64 + l + e / 8 * 8];
			want[(2 - z) * 64 + e] = v;
		}
	}
	cuMemcpyHtoD(dev[3], list, sizeof(list));
	good = !CALL(d, gemmBatched, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, scalar(d, 0, 1),
		     P(3), 8, (void *)(uintptr_t)(dev[3] + 24), 8, scalar(d, 1, 0),
		     (void *)(uintptr_t)(dev[3] + 48), 8, 3);
	ok(good && same(2, d, 300), d ? "listed_batches_double" : "listed_batches_float");

	for (int e = 0; e < 64; e++)
		want[e] = 2 * in[0][e / 8 + e % 8 * 8] - in[1][e];
	good = !CALL(d, geam, CUBLAS_OP_T, CUBLAS_OP_N, 8, 8, scalar(d, 0, 2), P(0), 8,
		     scalar(d, 1, -1), P(1), 8, P(2), 8);
	good = good && same(2, d, 64);
	for (int e = 0; e < 64; e++)
		want[e] = in[0][e] * in[1][e / 8];
	good &= !CALL(d, dgmm, CUBLAS_SIDE_RIGHT, 8, 8, P(0), 8, P(1), 1, P(2), 8);
	ok(good && same(2, d, 64), d ? "geam_and_dgmm_double" : "geam_and_dgmm_float");
}

/* ---- products of f16 and bf16, with sums in f32 ---- */

/* Returns @v rounded to a type of @bits bits, none of which is lost below 2^-14. */
static double rounded(double v, int bits)
{
	int e;

	frexp(v, &e);
	return ldexp(rint(ldexp(v, bits - e)), e - bits);
}

/* The bits of a small number of sixteenths, which both types have. */
static uint16_t narrow(double v, int bf16)
{
	float f = v;
	uint32_t u;
	int e;

	memcpy(&u, &f, sizeof(u));
	e = (int)(u >> 23 & 255) - 127;
	return bf16 ? u >> 16 : !f ? 0 : (u >> 16 & 0x8000) | (e + 15) << 10 | (u >> 13 & 0x3ff);
}

static double wide(uint16_t v, int bf16)
{
	uint32_t u = (uint32_t)v << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	if (bf16)
		return f;
	f = v & 0x7c00 ? ldexp(1024 + (v & 0x3ff), (v >> 10 & 31) - 25) : ldexp(v & 0x3ff, -24);
	return v & 0x8000 ? -f : f;
}

/* Fills array @i with sixteenths from -2 to 2. */
static void fill_narrow(int i, int bf16, int n)
{
	static uint16_t half[MOST];

	for (int k = 0; k < n; k++) {
		in[i][k] = rint(noise() * 32) / 16;
		half[k] = narrow(in[i][k], bf16);
	}
	cuMemcpyHtoD(dev[i], half, n * sizeof(half[0]));
}

static int same_narrow(int bf16, int n)
{
	static uint16_t half[MOST];

	cuMemcpyDtoH(half, dev[2], n * sizeof(half[0]));
	for (int k = 0; k < n; k++) {
		double v = wide(half[k], bf16), exp = rounded(want[k], bf16 ? 8 : 11);

		if (v == exp)
			continue;
		diag("element %d: expected %.17g, got %.17g", k, exp, v);
		return 0;
	}
	return 1;
}

static void halves(int bf16)
{
	cudaDataType type = bf16 ? CUDA_R_16BF : CUDA_R_16F;
	float two = 2, half = 0.5, zero = 0;
	int good = 1, n = 37, m = 70, k = 50;

	for (int t = 0; t < 4; t++) {
		int ta = t & 1, tb = t >> 1, lda = ta ? k : m, ldb = tb ? n : k;

		fill_narrow(0, bf16, m * k);
		fill_narrow(1, bf16, k * n);
		fill_narrow(2, bf16, m * n);
		reference_gemm(ta, tb, m, n, k, 0.5, lda, ldb, 2, m);
		good &= !cublasGemmEx(h, ta ? CUBLAS_OP_T : CUBLAS_OP_N,
				      tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &half, P(0), type,
				      lda, P(1), type, ldb, &two, P(2), type, m,
				      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
		good &= same_narrow(bf16, m * n);
	}
	ok(good, bf16 ? "products_of_bf16_are_rounded_once" : "products_of_f16_are_rounded_once");

	fill_narrow(0, bf16, 3 * 64);
	fill_narrow(1, bf16, 3 * 64);
	for (int z = 0; z < 3; z++)
		for (int e = 0; e < 64; e++) {
			want[64 * z + e] = 0;
			for (int l = 0; l < 8; l++)
				want[64 * z + e] += in[0][64 * z + e % 8 + 8 * l] *
						    in[1][64 * z + l + e / 8 * 8];
		}
	good = !cublasGemmStridedBatchedEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, scalar(0, 0, 1),
					   P(0), type, 8, 64, P(1), type, 8, 64, &zero, P(2),
					   CUDA_R_32F, 8, 64, 3, CUBLAS_COMPUTE_32F,
					   CUBLAS_GEMM_DEFAULT);
	ok(good && same(2, 0, 3 * 64), bf16 ? "batches_of_bf16_have_sums_in_f32" :
	   "batches_of_f16_have_sums_in_f32");
}

static void wrong(void)
{
	float one = 1;
	int n = 8;

#define GEMM(ta, m, n, k, lda) cublasSgemm(h, ta, CUBLAS_OP_N, m, n, k, &one, P(0), lda, P(1), 8, \
					   &one, P(2), 8)
	ok_eq(GEMM(CUBLAS_OP_N, -1, n, n, 8), CUBLAS_STATUS_INVALID_VALUE, "negative_m_is_refused");
	ok_eq(GEMM(CUBLAS_OP_N, n, n, n, 7), CUBLAS_STATUS_INVALID_VALUE, "short_lda_is_refused");
	ok_eq(GEMM(CUBLAS_OP_N, 0, n, n, 8), CUBLAS_STATUS_SUCCESS, "no_rows_are_no_work");
	ok_eq(cublasSgemv(h, CUBLAS_OP_N, n, n, &one, P(0), n, P(1), 0, &one, P(2), 1),
	      CUBLAS_STATUS_INVALID_VALUE, "zero_increment_is_refused");
	ok_eq(cublasSaxpy(h, -5, &one, P(0), 1, P(1), 1), CUBLAS_STATUS_SUCCESS,
	      "negative_count_of_a_vector_is_no_work");
	ok_eq(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, P(0), CUDA_R_16F, 8, P(1),
			   CUDA_R_16BF, 8, &one, P(2), CUDA_R_16F, 8, CUBLAS_COMPUTE_32F,
			   CUBLAS_GEMM_DEFAULT), CUBLAS_STATUS_NOT_SUPPORTED,
	      "a_product_of_f16_and_bf16_is_refused");
	ok_eq(cublasSetStream(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED, "null_handle_is_refused");
}

int main(void)
{
	CUcontext ctx;

	tap_plan(41);
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cublasCreate(&h)) {
		diag("no device, or no handle");
		return 1;
	}
	for (int i = 0; i < 4; i++)
		cuMemAlloc(&dev[i], MOST * sizeof(double));
	planes();
	for (int d = 0; d < 2; d++) {
		vectors(d);
		matrix_vector(d);
		matrices(d);
		batches(d);
	}
	halves(0);
	halves(1);
	wrong();
	cublasDestroy(h);
	return tap_exit();
}
