// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cublasXt multiplies matrices of host and device memory, in
 * blocks of any size, and that the result is there when it returns. What it does not have
 * is refused. Exports that no header declares exist and are refused as well. It runs over
 * softgpu's cuBLAS.
 */
#include <cublasXt.h>
#include <dlfcn.h>
#include <math.h>

#include "lib_test.h"

#define M	7
#define N	5
#define K	11
#define LD	13

static cublasXtHandle_t handle;
static double a[LD * LD], b[LD * LD], c[LD * LD], was[LD * LD];

static void fill(double *v)
{
	static uint32_t seed = 1;
	int i;

	for (i = 0; i < LD * LD; i++) {
		seed = seed * 1664525 + 1013904223;
		v[i] = (int)(seed >> 24) - 128;
	}
}

static int right(cublasOperation_t ta, cublasOperation_t tb, int k, double alpha, double beta,
		 const double *got)
{
	int i, j, l, bad = 0;

	for (j = 0; j < N; j++)
		for (i = 0; i < M; i++) {
			double v = 0;

			for (l = 0; l < k; l++)
				v += a[ta ? l + i * LD : i + l * LD] *
				     b[tb ? j + l * LD : l + j * LD];
			v = alpha * v + beta * was[i + j * LD];
			if (got[i + j * LD] != v && !bad++)
				diag("(%d, %d): expected %g, got %g", i, j, v, got[i + j * LD]);
		}
	/* Nothing beside C was changed. */
	for (j = 0; j < N; j++)
		for (i = M; i < LD; i++)
			bad += got[i + j * LD] != was[i + j * LD];
	return !bad;
}

static void start(void)
{
	fill(a);
	fill(b);
	fill(c);
	memcpy(was, c, sizeof(c));
}

static void product(cublasOperation_t ta, cublasOperation_t tb, int k, double alpha, double beta,
		    int block, const char *name)
{
	cublasStatus_t st;

	start();
	cublasXtSetBlockDim(handle, block);
	st = cublasXtDgemm(handle, ta, tb, M, N, k, &alpha, a, LD, b, LD, &beta, c, LD);
	ok(!st && right(ta, tb, k, alpha, beta, c), name);
}

static void test_products(void)
{
	float one = 1, none = 0, x[4] = { 1, 2, 3, 4 }, y[4] = { 1, 0, 0, 1 },
	      z[4] = { NAN, NAN, NAN, NAN };

	product(CUBLAS_OP_N, CUBLAS_OP_N, K, 1, 0, 100, "product_in_one_block");
	product(CUBLAS_OP_N, CUBLAS_OP_N, K, 2, 3, 3, "product_in_blocks_with_a_rest");
	product(CUBLAS_OP_T, CUBLAS_OP_T, K, 1, -1, 4, "turned_matrices_in_blocks");
	product(CUBLAS_OP_N, CUBLAS_OP_T, K, 1, 1, 1, "blocks_of_one_element");
	product(CUBLAS_OP_N, CUBLAS_OP_N, 0, 1, 2, 3, "with_nothing_to_add_c_is_scaled");
	ok(!cublasXtSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, y, 2, &none, z,
			  2) &&
		   !memcmp(x, z, sizeof(x)),
	   "old_values_of_c_do_not_matter_where_beta_is_0");
}

static void test_device(void)
{
	const double one = 1, two = 2;
	CUdeviceptr db, dc;
	double got[LD * LD];
	cublasStatus_t st;

	start();
	db = device(b, sizeof(b));
	dc = device(c, sizeof(c));
	cublasXtSetBlockDim(handle, 3);
	st = cublasXtDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &one, a, LD, (double *)db, LD,
			   &two, (double *)dc, LD);
	cuMemcpyDtoH(got, dc, sizeof(got));
	ok(!st && right(CUBLAS_OP_T, CUBLAS_OP_N, K, 1, 2, got), "matrices_of_host_and_device_mix");
	cuMemFree(db);
	cuMemFree(dc);
}

static void test_refusals(void)
{
	const double one = 1;
	cublasXtHandle_t other = NULL;
	size_t before, after, all;
	int boards = 0, bad = 99;
	cublasStatus_t st;

	cublasXtCreate(&other);
	ok_eq(cublasXtDgemm(other, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, b, 1, &one, c, 1),
	      CUBLAS_STATUS_NOT_INITIALIZED, "without_a_device_nothing_is_computed");
	ok_eq(cublasXtDeviceSelect(other, 1, &bad), CUBLAS_STATUS_INVALID_VALUE,
	      "device_that_is_none_is_refused");
	cublasXtDestroy(other);
	ok_eq(cublasXtDestroy(other), CUBLAS_STATUS_NOT_INITIALIZED, "handle_is_not_destroyed_twice");
	ok(!cublasXtMaxBoards(&boards) && boards == 1, "each_device_is_a_board");
	ok_eq(cublasXtDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, a, M - 1, b, LD, &one,
			    c, LD),
	      CUBLAS_STATUS_INVALID_VALUE, "columns_that_overlap_are_refused");
	ok_eq(cublasXtDspmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 1, 1, &one, a, b, 1,
			    &one, c, 1),
	      CUBLAS_STATUS_NOT_SUPPORTED, "packed_matrices_are_refused");
	/* The stand-in has no syrk: the device memory that was prepared for it must be freed. */
	cuMemGetInfo(&before, &all);
	st = cublasXtDsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, N, K, &one, a, LD, &one, c,
			   LD);
	cuMemGetInfo(&after, &all);
	ok(st == CUBLAS_STATUS_NOT_SUPPORTED && before == after, "what_cublas_refuses_leaves_nothing_behind");
}

static void test_undeclared(void)
{
	void *lib = dlopen("libcublas.so.13", RTLD_NOW);
	cublasStatus_t (*f)(int);

	*(void **)&f = lib ? dlsym(lib, "cublasSetEnvironmentMode") : NULL;
	ok(f && f(1) == CUBLAS_STATUS_NOT_SUPPORTED, "export_of_no_header_is_there_and_refuses");
}

int main(void)
{
	CUcontext ctx;
	int first = 0;

	if (cublasXtCreate(&handle) || cublasXtDeviceSelect(handle, 1, &first)) {
		printf("Bail out! no handle\n");
		return 1;
	}
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	tap_plan(17);
	ok(cublasXtSetBlockDim(handle, 0) == CUBLAS_STATUS_INVALID_VALUE &&
	   !cublasXtSetBlockDim(handle, 3) && !cublasXtGetBlockDim(handle, &first) && first == 3,
	   "block_of_a_size_is_set");
	test_products();
	test_device();
	test_refusals();
	test_undeclared();
	ok_eq(cublasXtDestroy(handle), CUBLAS_STATUS_SUCCESS, "handle_is_destroyed");
	return tap_exit();
}
