// SPDX-License-Identifier: Apache-2.0
/*
 * Runs every operation of cublasXt in single precision and some of the others, on
 * matrices of host memory. It prints sums of the results to four digits, since blocks of
 * another size add in another order. They must be the same with the genuine library and
 * with ours. It needs a GPU.
 */
#include <cublasXt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N	300

static float a[2 * N * N], b[2 * N * N], c[2 * N * N];
static cublasXtHandle_t handle;

/* The diagonal is large, because triangular systems are solved. */
static void fill(void)
{
	int i;

	for (i = 0; i < 2 * N * N; i++) {
		a[i] = (float)(i % 17 - 8) / 64;
		b[i] = (float)(i % 13 - 6) / 8;
		c[i] = (float)(i % 11 - 5);
	}
	for (i = 0; i < N; i++)
		a[i + i * N] = 40 + i % 7;
}

static void show(const char *name, cublasStatus_t st, const float *m)
{
	double sum = 0;
	int i;

	for (i = 0; i < N * N; i++)
		sum += fabs(m[i]) * (1 + i % 5);
	printf("%s: %d %.4g\n", name, st, sum);
	fill();
}

#define L CUBLAS_FILL_MODE_LOWER
#define LEFT CUBLAS_SIDE_LEFT
#define NO CUBLAS_OP_N
#define YES CUBLAS_OP_T

int main(void)
{
	const float two = 2, half = 0.5;
	const cuComplex z = { 1, 1 };
	cuComplex *ca = (cuComplex *)a, *cb = (cuComplex *)b, *cc = (cuComplex *)c;
	int device = 0;

	if (cublasXtCreate(&handle) || cublasXtDeviceSelect(handle, 1, &device)) {
		printf("no handle\n");
		return 1;
	}
	fill();
	cublasXtSetBlockDim(handle, 128);
	show("gemm", cublasXtSgemm(handle, NO, YES, N, N - 1, N - 2, &two, a, N, b, N, &half, c, N), c);
	show("cgemm", cublasXtCgemm(handle, NO, CUBLAS_OP_C, N, N, N, &z, ca, N, cb, N, &z, cc, N), c);
	show("syrk", cublasXtSsyrk(handle, L, NO, N, N, &two, a, N, &half, c, N), c);
	show("syr2k", cublasXtSsyr2k(handle, L, YES, N, N, &two, a, N, b, N, &half, c, N), c);
	show("syrkx", cublasXtSsyrkx(handle, L, NO, N, N, &two, a, N, b, N, &half, c, N), c);
	show("symm", cublasXtSsymm(handle, LEFT, L, N, N, &two, a, N, b, N, &half, c, N), c);
	show("trsm", cublasXtStrsm(handle, LEFT, L, NO, CUBLAS_DIAG_NON_UNIT, N, N, &two, a, N, b, N), b);
	show("trmm", cublasXtStrmm(handle, LEFT, L, NO, CUBLAS_DIAG_NON_UNIT, N, N, &two, a, N, b, N, c, N), c);
	show("herk", cublasXtCherk(handle, L, NO, N, N, &two, ca, N, &half, cc, N), c);
	show("her2k", cublasXtCher2k(handle, L, NO, N, N, &z, ca, N, cb, N, &half, cc, N), c);
	show("hemm", cublasXtChemm(handle, LEFT, L, N, N, &z, ca, N, cb, N, &z, cc, N), c);
	printf("destroyed: %d\n", cublasXtDestroy(handle));
	return 0;
}
