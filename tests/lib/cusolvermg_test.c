// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuSOLVERMg's operations work on the program's own columns on two devices,
 * that devices have the program's numbers, and that no address, length or object of a request is
 * believed. It runs over a library that computes on the CPU. Where there is one device, it is both.
 */
#include <cusolverMg.h>
#include <math.h>

#include "lib_test.h"

#define N	7
/* Blocks 0 and 2 of columns are on one device, 1 and 3, which is cut, on the other. */
#define BLOCK	2
#define MINE	4	/* columns on a device, at most */

#define LOWER	CUBLAS_FILL_MODE_LOWER
#define D	CUDA_R_64F

static int two[2];
static CUcontext ctx[2];
static cusolverMgHandle_t h;
static cudaLibMgGrid_t grid;
static cudaLibMgMatrixDesc_t da, db;	/* N x N, and N x 1 */
static void *a[2], *b[2], *work[2];
static int *pivots[2];
static int64_t lwork;

static void *on(int device, size_t size)
{
	CUdeviceptr p = 0;

	cuCtxSetCurrent(ctx[device]);
	cuMemAlloc(&p, size);
	cuMemsetD8(p, 0, size);
	cuCtxSetCurrent(ctx[0]);
	return (void *)p;
}

/* Returns the address of column c of A. */
static CUdeviceptr column(int c)
{
	int block = c / BLOCK;

	return (CUdeviceptr)a[block % 2] + (block / 2 * BLOCK + c % BLOCK) * N * sizeof(double);
}

static void put(const double *m)
{
	int c;

	for (c = 0; c < N; c++)
		cuMemcpyHtoD(column(c), m + c * N, N * sizeof(*m));
}

static void get(double *m)
{
	int c;

	for (c = 0; c < N; c++)
		cuMemcpyDtoH(m + c * N, column(c), N * sizeof(*m));
}

/* A symmetric matrix with a large diagonal, and b so that x = 1, 2, 3, ... */
static void problem(double *m, double *right)
{
	int i, k;

	for (i = 0; i < N; i++) {
		right[i] = 0;
		for (k = 0; k < N; k++) {
			m[i + k * N] = i == k ? 10 + i : 1.0 / (1 + i + k);
			right[i] += m[i + k * N] * (k + 1);
		}
	}
}

static int solved(void)
{
	double x[N];
	int i, good = 1;

	cuMemcpyDtoH(x, (CUdeviceptr)b[0], sizeof(x));
	for (i = 0; i < N; i++)
		good &= fabs(x[i] - (i + 1)) < 1e-12;
	return good;
}

/* --- Objects --------------------------------------------------------------- */

static void test_objects(void)
{
	cudaLibMgMatrixDesc_t d = NULL;
	cudaLibMgGrid_t g = NULL;
	char want[64];

	ok_eq(cusolverMgCreate(&h), 0, "handle_is_made");
	told("create", "by_the_library");
	snprintf(want, sizeof(want), "select %d,%d", two[0], two[1]);
	ok_eq(cusolverMgDeviceSelect(h, 2, two), 0, "devices_are_selected");
	told(want, "by_the_workers_numbers");
	ok_eq(cusolverMgCreateDeviceGrid(&grid, 1, 2, two, CUDALIBMG_GRID_MAPPING_COL_MAJOR), 0,
	      "grid_is_made");
	snprintf(want, sizeof(want), "grid 1x2 %d,%d 0", two[0], two[1]);
	told(want, "of_these_devices");
	ok(!cusolverMgCreateMatrixDesc(&da, N, N, N, BLOCK, D, grid) &&
	   !cusolverMgCreateMatrixDesc(&db, N, 1, N, BLOCK, D, grid), "descriptors_are_made");
	told("desc 7x7 in 7x2 type 1|desc 7x1 in 7x2 type 1", "with_their_sizes");

	cusolverMgCreateDeviceGrid(&g, 1, 1, two, CUDALIBMG_GRID_MAPPING_ROW_MAJOR);
	cusolverMgCreateMatrixDesc(&d, 4, 4, 4, 2, D, g);
	news();
	ok(!cusolverMgDestroyGrid(g) && !*news(), "grid_stays_for_its_descriptors");
	ok_eq(cusolverMgCreateMatrixDesc(&d, 4, 4, 4, 2, D, g), CUSOLVER_STATUS_INVALID_VALUE,
	      "though_the_program_has_it_no_more");
	ok_eq(cusolverMgDestroyMatrixDesc(d), 0, "descriptor_ends");
	told("desc of 1 devices ends|grid ends", "and_the_grid_with_the_last_one");
}

static void test_wrong_objects(void)
{
	int wrong[] = { two[0], 99 }, cpu[] = { two[0], -1 };
	cudaLibMgMatrixDesc_t d = NULL;
	cusolverMgHandle_t x = NULL;
	cudaLibMgGrid_t g = NULL;

	ok_eq(cusolverMgDeviceSelect(h, 2, wrong), CUSOLVER_STATUS_INVALID_VALUE,
	      "device_that_is_none_is_refused");
	ok_eq(cusolverMgCreateDeviceGrid(&g, 1, 2, wrong, CUDALIBMG_GRID_MAPPING_COL_MAJOR),
	      CUSOLVER_STATUS_INVALID_VALUE, "so_it_is_in_a_grid");
	ok_eq(cusolverMgCreateDeviceGrid(&g, 1, 2, cpu, CUDALIBMG_GRID_MAPPING_COL_MAJOR),
	      CUSOLVER_STATUS_NOT_SUPPORTED, "the_cpu_is_not_supported");
	ok_eq(cusolverMgCreateDeviceGrid(&g, 2, 1, two, CUDALIBMG_GRID_MAPPING_COL_MAJOR),
	      CUSOLVER_STATUS_NOT_SUPPORTED, "nor_are_rows_of_devices");
	ok_eq(cusolverMgCreateMatrixDesc(&d, N, N, N, BLOCK, D, da), CUSOLVER_STATUS_INVALID_VALUE,
	      "descriptor_is_no_grid");
	ok_eq(cusolverMgCreateMatrixDesc(&d, N, N, N, 0, D, grid), CUSOLVER_STATUS_INVALID_VALUE,
	      "block_of_no_column_is_refused");
	ok_eq(cusolverMgDestroy((cusolverMgHandle_t)grid), CUSOLVER_STATUS_NOT_INITIALIZED,
	      "grid_is_no_handle");
	ok_eq(cusolverMgDestroy(NULL), CUSOLVER_STATUS_NOT_INITIALIZED, "neither_is_null");
	cusolverMgCreate(&x);
	news();
	ok_eq(cusolverMgPotrf_bufferSize(x, LOWER, N, a, 1, 1, da, D, &lwork),
	      CUSOLVER_STATUS_INVALID_VALUE, "handle_without_devices_runs_nothing");
	ok(!*news(), "and_the_library_hears_nothing_of_that");
	ok(!cusolverMgDestroy(x) && cusolverMgDestroy(x) == CUSOLVER_STATUS_NOT_INITIALIZED,
	   "handle_ends_once");
	news();
}

/* --- Operations ------------------------------------------------------------ */

static void test_cholesky(void)
{
	double m[N * N], inverse[N * N], right[N];
	int info = 9, i, k, good = 1;

	problem(m, right);
	put(m);
	cuMemcpyHtoD((CUdeviceptr)b[0], right, sizeof(right));
	news();
	ok(!cusolverMgPotrf_bufferSize(h, LOWER, N, a, 1, 1, da, D, &lwork) && lwork == 5 * N,
	   "size_of_the_workspace_comes_back");
	told("potrf size 0 7", "from_the_library");
	work[0] = on(0, lwork * sizeof(double));
	work[1] = on(1, lwork * sizeof(double));
	ok(!cusolverMgPotrf(h, LOWER, N, a, 1, 1, da, D, work, lwork, &info) && !info,
	   "matrix_is_factored");
	told("potrf 0 7 at 1,1 type 1 work 35", "with_all_that_the_call_says");
	ok(!cusolverMgPotrs_bufferSize(h, LOWER, N, 1, a, 1, 1, da, b, 1, 1, db, D, &lwork) &&
	   !cusolverMgPotrs(h, LOWER, N, 1, a, 1, 1, da, b, 1, 1, db, D, work, lwork, &info),
	   "system_is_solved");
	told("potrs size 0 7 1|potrs 0 7 1 at 1,1 and 1,1 type 1 work 35", "in_two_calls");
	ok(solved(), "with_the_columns_of_both_devices");
	ok(!cusolverMgPotri_bufferSize(h, LOWER, N, a, 1, 1, da, D, &lwork) &&
	   !cusolverMgPotri(h, LOWER, N, a, 1, 1, da, D, work, lwork, &info), "matrix_is_inverted");
	get(inverse);
	for (i = 0; i < N; i++) {
		right[i] = 0;
		for (k = 0; k < N; k++)
			right[i] += m[i + k * N] * inverse[k + 2 * N];
		good &= fabs(right[i] - (i == 2)) < 1e-12;
	}
	ok(good, "into_its_inverse");
	m[3 + 3 * N] = -100;
	put(m);
	ok(!cusolverMgPotrf(h, LOWER, N, a, 1, 1, da, D, work, lwork, &info) && info == 4,
	   "info_says_which_minor_is_not_positive");
	news();
}

static void test_pivots(void)
{
	double m[N * N], right[N], first;
	int info = 9, p[BLOCK], i;

	problem(m, right);
	/* The first two rows change places. */
	for (i = 0; i < N; i++) {
		first = m[i * N];
		m[i * N] = m[1 + i * N];
		m[1 + i * N] = first;
	}
	put(m);
	first = right[0];
	right[0] = right[1];
	right[1] = first;
	cuMemcpyHtoD((CUdeviceptr)b[0], right, sizeof(right));
	ok(!cusolverMgGetrf_bufferSize(h, N, N, a, 1, 1, da, pivots, D, &lwork),
	   "size_for_factors_with_pivots_comes");
	told("getrf size 7 7 first=1 pivots=1", "from_the_library_which_has_the_arrays");
	ok(!cusolverMgGetrf(h, N, N, a, 1, 1, da, pivots, D, work, lwork, &info) && !info,
	   "matrix_is_factored_with_pivots");
	cuMemcpyDtoH(p, (CUdeviceptr)pivots[0], sizeof(p));
	ok(p[0] == 2 && p[1] == 2, "pivots_are_where_their_columns_are");
	cuMemcpyDtoH(p, (CUdeviceptr)pivots[1], sizeof(p));
	ok(p[0] == 3 && p[1] == 4, "on_the_other_device_too");
	ok(!cusolverMgGetrs_bufferSize(h, CUBLAS_OP_N, N, 1, a, 1, 1, da, pivots, b, 1, 1, db, D,
				       &lwork) &&
	   !cusolverMgGetrs(h, CUBLAS_OP_N, N, 1, a, 1, 1, da, pivots, b, 1, 1, db, D, work, lwork,
			    &info), "its_system_is_solved");
	told("getrf 7 7 pivots=1|getrs size 0 7 1|getrs 0 7 1", "in_as_many_calls");
	ok(solved(), "rightly");
	ok(!cusolverMgGetrf(h, N, N, a, 1, 1, da, NULL, D, work, lwork, &info),
	   "pivots_may_be_left_out");
	told("getrf 7 7 pivots=0", "as_the_library_sees");
}

static void test_values(void)
{
	double m[N * N] = { 0 }, w[N] = { 0 };
	int info = 9, i, good = 1;

	for (i = 0; i < N; i++)
		m[i + i * N] = N - i;
	put(m);
	ok(!cusolverMgSyevd_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, LOWER, N, a, 1, 1, da, w, D, D,
				       &lwork), "size_for_eigenvalues_comes");
	ok(!cusolverMgSyevd(h, CUSOLVER_EIG_MODE_VECTOR, LOWER, N, a, 1, 1, da, w, D, D, work,
			    lwork, &info) && !info, "eigenvalues_are_found");
	for (i = 0; i < N; i++)
		good &= w[i] == i + 1;
	ok(good, "and_come_into_the_programs_memory");
	told("syevd size 1 0 7 type 1|syevd 1 0 7", "in_two_calls_again");
	ok_eq(cusolverMgSyevd(h, CUSOLVER_EIG_MODE_VECTOR, LOWER, N, a, 1, 1, da, NULL, D, D, work,
			      lwork, &info), CUSOLVER_STATUS_INVALID_VALUE,
	      "without_a_place_for_them_there_are_none");
}

/* --- What is not the client's ---------------------------------------------- */

static cusolverStatus_t factor(void *at[], void *w[], int64_t n)
{
	int info;

	return cusolverMgPotrf(h, LOWER, N, at, 1, 1, da, D, w, n, &info);
}

/* As the genuine library, which crashes for want of arrays where these are refused. */
static void test_sizes_without_arrays(void)
{
	int64_t n = 0;

	ok(!cusolverMgPotrf_bufferSize(h, LOWER, N, NULL, 1, 1, da, D, &n) &&
	   !cusolverMgGetrf_bufferSize(h, N, N, NULL, 1, 1, da, NULL, D, &n) &&
	   !cusolverMgGetrs_bufferSize(h, CUBLAS_OP_N, N, 1, NULL, 1, 1, da, NULL, NULL, 1, 1, db,
				       D, &n) &&
	   !cusolverMgSyevd_bufferSize(h, CUSOLVER_EIG_MODE_VECTOR, LOWER, N, NULL, 1, 1, da, NULL,
				       D, D, &n) && n, "sizes_of_some_need_no_arrays");
	news();
	ok(cusolverMgPotrs_bufferSize(h, LOWER, N, 1, a, 1, 1, da, NULL, 1, 1, db, D, &n) ==
	   CUSOLVER_STATUS_INVALID_VALUE &&
	   cusolverMgPotri_bufferSize(h, LOWER, N, NULL, 1, 1, da, D, &n) ==
	   CUSOLVER_STATUS_INVALID_VALUE && !*news(), "those_of_potrs_and_potri_do");
}

static void test_infos(void)
{
	int info = 9;

	ok(cusolverMgPotrf(h, LOWER, N, a, 0, 1, da, D, work, lwork, &info) ==
	   CUSOLVER_STATUS_INVALID_VALUE && info == -5,
	   "info_says_which_argument_the_library_refuses");
	info = 9;
	ok(cusolverMgPotrf(h, LOWER, N, NULL, 1, 1, da, D, work, lwork, &info) ==
	   CUSOLVER_STATUS_INVALID_VALUE && info == 9,
	   "and_is_as_it_was_where_the_library_is_not_asked");
	news();
}

static void test_addresses(void)
{
	void *bad[2] = { a[0], (void *)told }, *past[2], *null[2] = { NULL, NULL };
	int *p[2] = { pivots[0], (int *)told }, info;
	CUdeviceptr base;
	size_t size;

	cuMemGetAddressRange(&base, &size, (CUdeviceptr)a[1]);
	news();
	ok_eq(factor(bad, work, lwork), CUSOLVER_STATUS_INVALID_VALUE,
	      "address_of_a_process_among_them_is_refused");
	past[0] = a[0];
	past[1] = (void *)(base + size - N * sizeof(double));
	ok_eq(factor(past, work, lwork), CUSOLVER_STATUS_INVALID_VALUE,
	      "as_are_columns_past_the_end_of_their_memory");
	ok_eq(factor(null, work, lwork), CUSOLVER_STATUS_INVALID_VALUE, "and_columns_nowhere");
	ok_eq(factor(NULL, work, lwork), CUSOLVER_STATUS_INVALID_VALUE, "and_no_array");
	bad[0] = work[0];
	ok_eq(factor(a, bad, lwork), CUSOLVER_STATUS_INVALID_VALUE, "workspace_is_looked_at_too");
	ok_eq(factor(a, work, 1 << 20), CUSOLVER_STATUS_INVALID_VALUE, "to_its_end");
	ok_eq(factor(a, work, -1), CUSOLVER_STATUS_INVALID_VALUE, "which_is_not_before_its_begin");
	ok_eq(factor(a, work, INT64_MAX), CUSOLVER_STATUS_INVALID_VALUE, "nor_beyond_all_memory");
	ok_eq(cusolverMgGetrf(h, N, N, a, 1, 1, da, p, D, work, lwork, &info),
	      CUSOLVER_STATUS_INVALID_VALUE, "pivots_are_looked_at_too");
	bad[0] = b[0];
	ok(!cusolverMgPotrf_bufferSize(h, LOWER, N, bad, 1, 1, da, D, &lwork),
	   "question_about_sizes_needs_no_memory");
	told("potrf size 0 7", "and_is_the_only_one_of_these_that_came_to_the_library");
	test_sizes_without_arrays();
	/* The second device has no block of B, so its address is nothing that is read. */
	bad[0] = b[0];
	ok(!cusolverMgPotrs(h, LOWER, N, 1, a, 1, 1, da, bad, 1, 1, db, D, work, lwork, &info),
	   "address_for_a_device_without_columns_is_not_read");
	ok_eq(cusolverMgPotrf(h, LOWER, N, a, 1, 1, da, D, work, lwork, NULL),
	      CUSOLVER_STATUS_INVALID_VALUE, "info_needs_a_place");
	news();
}

int main(void)
{
	int i, devices = 0;

	cuInit(0);
	cuDeviceGetCount(&devices);
	two[1] = devices > 1;
	for (i = 0; i < 2; i++) {
		cuDevicePrimaryCtxRetain(&ctx[i], two[i]);
		cuCtxSetCurrent(ctx[0]);
	}
	for (i = 0; i < 2; i++) {
		a[i] = on(i, MINE * N * sizeof(double));
		b[i] = on(i, N * sizeof(double));
		pivots[i] = on(i, MINE * sizeof(int));
	}
	test_objects();
	test_wrong_objects();
	test_cholesky();
	test_pivots();
	test_values();
	test_addresses();
	test_infos();
	ok(!cusolverMgDestroyMatrixDesc(da) && !cusolverMgDestroyMatrixDesc(db) &&
	   !cusolverMgDestroyGrid(grid) && !cusolverMgDestroy(h), "all_end");
	told("desc of 2 devices ends|desc of 2 devices ends|grid ends|destroy", "in_the_library");
	return tap_exit();
}
