// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuSOLVER calls go right through the stub, over a library that
 * writes down what it is told. Matrix descriptors of cuSPARSE arrive as genuine ones,
 * host workspaces are the worker's and as large as the library asks for, and streams
 * travel with the next call.
 */
#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>

#include "lib_test.h"

static cusolverDnHandle_t dense;
static cusolverSpHandle_t sparse;
/* The test reserves these addresses of the device, because the worker lets no others pass. */
#define DEVICE	0x300000000000ULL
static void *const X = (void *)(DEVICE + 0x12340), *const Y = (void *)(DEVICE + 0x56780);
static void *const Z = (void *)(DEVICE + 0x9abc0);

/* --- The library and its handles ------------------------------------------------------ */

static void test_library(void)
{
	int value = 0;

	cusolverGetVersion(&value);
	cusolverGetVersion(&value);
	ok_eq(value, 12099, "version_is_the_workers");
	told("version", "and_asked_for_once");
	cusolverGetProperty(PATCH_LEVEL, &value);
	cusolverGetProperty(PATCH_LEVEL, &value);
	ok_eq(value, 52, "property_is_the_workers");
	told("property 2", "and_asked_for_once_too");
}

static int getrf(void)
{
	return cusolverDnSgetrf(dense, 2, 3, X, 2, Y, Z, Z);
}

#define GETRF "|2x3 lda=2 a=0x300000012340 work=0x300000056780 pivots=0x30000009abc0 info=0x30000009abc0"

static void test_handles(void)
{
	struct { uint64_t words[16]; } zeros = { { 0 } };
	cusolverDnHandle_t gone;
	CUdeviceptr device;
	cudaStream_t got;
	CUstream own;
	int size = 0;

	ok_eq(cusolverDnCreate(&dense), 0, "create_needs_no_call_before_it");
	told("create dense=1 stream=0", "one_library_handle_is_made");
	cusolverDnCreate(&gone);
	ok_eq(cusolverDnDestroy(gone), 0, "destroy_succeeds");
	told("create dense=2 stream=0|destroy dense=2 stream=0", "and_reaches_the_library");
	ok_eq(cusolverDnDestroy(gone), CUSOLVER_STATUS_NOT_INITIALIZED, "destroyed_handle_is_refused");
	ok_eq(cusolverDnSetStream((cusolverDnHandle_t)&zeros, NULL),
	      CUSOLVER_STATUS_NOT_INITIALIZED, "memory_that_is_no_handle_is_refused");
	ok_eq(cusolverSpCreate(&sparse), 0, "sparse_handle_is_made");
	told("create sparse=3 stream=0", "in_the_library");
	ok_eq(cusolverDnSgetrf((cusolverDnHandle_t)sparse, 1, 1, NULL, 1, NULL, NULL, NULL),
	      CUSOLVER_STATUS_NOT_INITIALIZED, "handle_of_another_kind_is_refused");
	told("", "before_the_library_sees_it");
	ok(!cuMemAddressReserve(&device, 2 << 20, 0, DEVICE, 0) && device == DEVICE,
	   "addresses_are_reserved");
	cuStreamCreate(&own, 0);
	ok_eq(cusolverDnSetStream(dense, own), 0, "stream_is_taken");
	told("", "setting_it_makes_no_call");
	cusolverDnGetStream(dense, &got);
	ok(got == own, "stream_is_given_back");
	ok_eq(getrf(), 0, "factorization_succeeds");
	told("set_stream dense=1 stream=own|getrf dense=1 stream=own" GETRF,
	     "stream_travels_with_the_next_call");
	cusolverDnSetStream(dense, NULL);
	getrf();
	told("set_stream dense=1 stream=0|getrf dense=1 stream=0" GETRF, "default_stream_does_too");
	cusolverDnSgetrf_bufferSize(dense, 30, 40, X, 30, &size);
	ok_eq(size, 1200, "size_comes_back_in_host_memory");
	news();
	ok_eq(cusolverDnSgetrf(dense, 2, 3, (float *)&size, 2, Y, Z, Z),
	      CUSOLVER_STATUS_INVALID_VALUE, "matrix_in_the_programs_memory_is_refused");
	told("", "before_the_library_sees_it_too");
}

/* --- Workspaces in host memory ---------------------------------------------------------- */

static int xgetrf(int64_t n, void *host, size_t size)
{
	return cusolverDnXgetrf(dense, NULL, n, n, CUDA_R_64F, X, n, Z, CUDA_R_64F, Y, 4096, host,
				size, Z);
}

static void test_host_work(void)
{
	size_t on_device = 0, on_host = 0, i;
	uint8_t *work;

	cusolverDnXgetrf_bufferSize(dense, NULL, 100, 100, CUDA_R_64F, X, 100, CUDA_R_64F,
				    &on_device, &on_host);
	ok(on_device == (1UL << 33) + 7 && on_host == 100000, "both_sizes_come_back");
	work = calloc(1, on_host);
	news();
	ok_eq(xgetrf(100, work, on_host), 0, "call_with_a_host_workspace_succeeds");
	told("xgetrf size dense=1 stream=0|xgetrf dense=1 stream=0|100x100 type=1 a=0x300000012340 lda=100 "
	     "params=NULL device=4096 host=some size=100000", "library_gets_one_of_that_size");
	for (i = 0; i < on_host && !work[i]; i++)
		;
	ok(i == on_host, "which_is_the_workers");
	ok_eq(xgetrf(100, work, on_host - 1), CUSOLVER_STATUS_INVALID_VALUE,
	      "smaller_one_than_the_library_asks_for_is_refused");
	ok_eq(xgetrf(100, NULL, on_host), CUSOLVER_STATUS_INVALID_VALUE, "and_so_is_none_at_all");
	told("xgetrf size dense=1 stream=0|xgetrf size dense=1 stream=0", "library_is_only_asked_for_sizes");
	ok_eq(xgetrf(100, work, SIZE_MAX), 0, "larger_one_costs_the_worker_nothing");
	told("xgetrf size dense=1 stream=0|xgetrf dense=1 stream=0|100x100 type=1 a=0x300000012340 lda=100 "
	     "params=NULL device=4096 host=some size=100000", "library_gets_what_it_asks_for");
	ok_eq(xgetrf(1L << 50, work, SIZE_MAX), CUSOLVER_STATUS_ALLOC_FAILED,
	      "what_the_worker_has_not_is_an_error_of_the_call");
	ok_eq(xgetrf(-1, work, SIZE_MAX), CUSOLVER_STATUS_INVALID_VALUE,
	      "what_the_library_says_to_the_size_is_the_answer");
	news();
	ok_eq(xgetrf(0, NULL, 0), 0, "where_none_is_needed_NULL_will_do");
	ok(strstr(news(), "host=NULL size=0") != NULL, "and_arrives");
	free(work);
}

/* --- Numbers in host memory --------------------------------------------------------------- */

static void test_numbers(void)
{
	double from = 0.5, to = 9.5, norms[4] = { 0, 0, 0, 7 }, residual = 0;
	float ffrom = 0.25, fto = 8.25;
	cusolver_int_t iterations = 0;
	int64_t count = 0;
	gesvdjInfo_t info;

	cusolverDnXsyevdx(dense, NULL, 0, CUSOLVER_EIG_RANGE_V, 0, 4, CUDA_R_64F, X, 4, &from, &to,
			  0, 0, &count, CUDA_R_64F, Y, CUDA_R_64F, Z, 4096, NULL, 0, Z);
	told("xsyevdx dense=1 stream=0|double from 0.5 to 9.5", "bounds_are_of_the_eigenvalues_type");
	ok_eq(count, 1L << 40, "count_comes_back");
	cusolverDnXsyevdx(dense, NULL, 0, CUSOLVER_EIG_RANGE_V, 0, 4, CUDA_R_32F, X, 4, &ffrom,
			  NULL, 0, 0, &count, CUDA_R_32F, Y, CUDA_R_32F, Z, 4096, NULL, 0, Z);
	told("xsyevdx dense=1 stream=0|float from 0.25 to -1", "and_may_be_NULL");
	(void)fto;
	cusolverDnSgesvdaStridedBatched(dense, 0, 1, 2, 2, X, 2, 4, X, 2, Y, 2, 4, Z, 2, 1L << 35,
					Y, 9, Z, norms, 3);
	told("gesvda dense=1 stream=0|stride_v=34359738368 batch=3 norms=some", "batch_is_told");
	ok(norms[0] == 0.5 && norms[2] == 2.5 && norms[3] == 7, "each_member_has_its_norm");
	cusolverDnSgesvdaStridedBatched(dense, 0, 1, 2, 2, X, 2, 4, X, 2, Y, 2, 4, Z, 2, 5, Y, 9, Z,
					NULL, 3);
	told("gesvda dense=1 stream=0|stride_v=5 batch=3 norms=NULL", "nobody_has_to_ask_for_them");
	cusolverDnSpotrfBatched(dense, 0, 2, X, 2, Z, 5);
	told("potrf batched dense=1 stream=0|array=0x300000012340 batch=5",
	     "arrays_of_addresses_are_the_devices");
	cusolverDnSSgesv(dense, 2, 1, X, 2, Z, Y, 2, Y, 2, Z, 64, &iterations, Z);
	ok_eq(iterations, -3, "iterations_come_back");
	cusolverDnCreateGesvdjInfo(&info);
	news();
	cusolverDnXgesvdjSetTolerance(info, 1e-4);
	told("tolerance", "information_is_set_in_the_worker");
	cusolverDnXgesvdjGetResidual(dense, info, &residual);
	ok(residual == 2e-4, "and_comes_back");
	ok_eq(cusolverDnDestroyGesvdjInfo(info), 0, "information_is_destroyed");
	told("destroy gesvdj info of 0.0001", "in_the_library_too");
	ok_eq(cusolverDnDestroyGesvdjInfo(info), CUSOLVER_STATUS_NOT_INITIALIZED, "and_only_once");
}

/* --- Sparse matrices ------------------------------------------------------------------------ */

static int lsvqr(cusparseMatDescr_t descr, int *singularity)
{
	return cusolverSpDcsrlsvqr(sparse, 4, 9, descr, X, Y, Z, X, 0.125, 1, Y, singularity);
}

#define LSVQR "m=4 nnz=9 0x300000012340 0x300000056780 0x30000009abc0 0x300000012340 tol=0.125 reorder=1 " \
	"0x300000056780"

static void test_sparse(void)
{
	cusparseMatDescr_t descr, gone;
	cusparseHandle_t handle;
	int singularity = 5;

	cusparseCreateMatDescr(&descr);
	cusparseSetMatType(descr, CUSPARSE_MATRIX_TYPE_HERMITIAN);
	cusparseSetMatIndexBase(descr, CUSPARSE_INDEX_BASE_ONE);
	told("", "descriptor_makes_no_call");
	ok_eq(lsvqr(descr, &singularity), 0, "cusolver_takes_the_descriptor_of_cusparse");
	told("matdescr 1|lsvqr sparse=3 stream=0|descr#1 type=2 fill=0 diag=0 base=1|" LSVQR,
	     "and_sees_a_genuine_one_although_cusparse_was_not_called_yet");
	ok_eq(singularity, -1, "singularity_comes_back_in_host_memory");
	ok_eq(lsvqr(NULL, &singularity), 0, "NULL_is_the_librarys_to_judge");
	told("lsvqr sparse=3 stream=0|NULL#0 type=0 fill=0 diag=0 base=0|" LSVQR, "which_sees_it");
	cusparseCreate(&handle);
	told("create 1", "cusparse_may_come_later");
	lsvqr(descr, &singularity);
	told("lsvqr sparse=3 stream=0|descr#1 type=2 fill=0 diag=0 base=1|" LSVQR,
	     "and_the_descriptor_is_the_same_one");
	cusparseCreateMatDescr(&gone);
	cusparseDestroyMatDescr(gone);
	ok_eq(lsvqr(gone, &singularity), CUSOLVER_STATUS_NOT_INITIALIZED,
	      "released_descriptor_is_refused");
	ok_eq(lsvqr((cusparseMatDescr_t)handle, &singularity), CUSOLVER_STATUS_NOT_INITIALIZED,
	      "and_so_is_a_handle_of_cusparse");
	ok_eq(cusparseXcsrgeam2Nnz((cusparseHandle_t)sparse, 1, 1, descr, 1, X, Y, descr, 1, X, Y,
				   descr, Z, &singularity, X), CUSPARSE_STATUS_INVALID_VALUE,
	      "cusparse_refuses_a_handle_of_cusolver");
	told("", "nothing_of_that_reaches_a_library");
}

static void test_refactorization(void)
{
	cusolverRfHandle_t handle;
	double *values;
	int n = 0, *rows, *cols;

	ok_eq(cusolverRfCreate(&handle), 0, "refactorization_has_a_handle");
	news();
	ok_eq(cusolverRfResetValues(4, 9, X, Y, Z, X, Y, handle), 0, "which_may_come_last");
	told("reset refactor=4 stream=0|n=4 nnz=9", "and_reaches_the_library");
	cusolverRfAccessBundledFactorsDevice(handle, &n, &rows, &cols, &values);
	ok(n == 9 && rows == (void *)(DEVICE + 0x100) && cols == (void *)(DEVICE + 0x200) &&
	   values == (void *)(DEVICE + 0x300), "addresses_of_the_device_come_back");
	news();
	ok_eq(cusolverRfDestroy(handle), 0, "it_is_destroyed");
	told("destroy refactor=4 stream=0", "in_the_library_as_well");
	ok_eq(cusolverRfBatchAnalyze(handle), CUSOLVER_STATUS_NOT_SUPPORTED, "batches_are_refused");
}

int main(void)
{
	tap_plan(69);
	test_handles();
	test_library();
	test_host_work();
	test_numbers();
	test_sparse();
	test_refactorization();
	return tap_exit();
}
