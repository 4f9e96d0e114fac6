// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a program of CUDA 11 gets the functions of cuSPARSE that later majors
 * lack, over a library that has them: it is linked with libcusparse.so.11. Scalars have the size of
 * their type, objects are the program's own, and addresses are the device's.
 */
#include <gone_cusparse.h>

#include "lib_test.h"

static cusparseHandle_t handle;
static cusparseMatDescr_t descr;
/* The test reserves these addresses of the device, because the worker lets no others pass. */
#define DEVICE	0x300000000000ULL
static void *const X = (void *)(DEVICE + 0x12340), *const Y = (void *)(DEVICE + 0x56780);
static void *const Z = (void *)(DEVICE + 0x9abc0);
#define ADDRESS_X	"0x300000012340"
#define ADDRESS_Y	"0x300000056780"
#define ADDRESS_Z	"0x30000009abc0"
#define BAD	CUSPARSE_STATUS_INVALID_VALUE

static void test_vectors(void)
{
	double mine = 1, c = 0.5, s = 0.25;
	CUdeviceptr cosine, sine;

	ok_eq(cusparseDgthr(handle, 3, Y, X, Z, CUSPARSE_INDEX_BASE_ONE), 0, "gather_succeeds");
	told("gthr handle=1 stream=0 mode=host|nnz=3 " ADDRESS_Y " " ADDRESS_X " " ADDRESS_Z " base=1",
	     "and_reaches_the_library");
	ok_eq(cusparseDgthr(handle, 3, &mine, X, Z, CUSPARSE_INDEX_BASE_ONE), BAD,
	      "memory_of_the_programs_own_is_not_gathered_from");
	ok_eq(cusparseDgthr(handle, 3, Y, &mine, Z, CUSPARSE_INDEX_BASE_ONE), BAD,
	      "nor_gathered_into");
	told("", "before_the_library_sees_it");
	cusparseDroti(handle, 1, X, Z, Y, &c, &s, CUSPARSE_INDEX_BASE_ZERO);
	told("roti handle=1 stream=0 mode=host|c=0.5 s=0.25", "rotation_is_read_in_host_memory");
	cosine = device(&s, sizeof(s));
	sine = device(&c, sizeof(c));
	cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE);
	cusparseDroti(handle, 1, X, Z, Y, (void *)cosine, (void *)sine, CUSPARSE_INDEX_BASE_ZERO);
	told("set_mode device|roti handle=1 stream=0 mode=device|c=0.25 s=0.5",
	     "or_in_device_memory_as_the_mode_says");
	ok_eq(cusparseDroti(handle, 1, X, Z, Y, &c, &s, CUSPARSE_INDEX_BASE_ZERO), BAD,
	      "then_it_is_no_memory_of_the_programs_own");
	cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
	news();
}

static cusparseStatus_t csrmv(const void *alpha, cudaDataType alphatype, const void *beta,
			      cudaDataType betatype, void *buffer)
{
	return cusparseCsrmvEx(handle, CUSPARSE_ALG_MERGE_PATH, CUSPARSE_OPERATION_TRANSPOSE, 4, 5,
			       6, alpha, alphatype, descr, X, CUDA_R_32F, Y, Z, X, CUDA_R_32F,
			       beta, betatype, Y, CUDA_R_32F, CUDA_R_32F, buffer);
}

static void test_csrmv(void)
{
	struct { uint32_t before; float value; } alpha = { 0xffffffff, 3 };
	double beta = 0.125;
	size_t size = 0;

	news();
	ok_eq(csrmv(&alpha.value, CUDA_R_32F, &beta, CUDA_R_64F, Z), 0, "product_succeeds");
	told("set_mode host|matdescr 1|csrmv handle=1 stream=0 mode=host|op=1 4x5 nnz=6 alpha=3 beta=0.125 "
	     ADDRESS_X " " ADDRESS_Y " " ADDRESS_Z " " ADDRESS_X " " ADDRESS_Y " " ADDRESS_Z
	     "|A descr#1 type=0 fill=0 diag=0 base=1", "each_scalar_is_of_its_own_type");
	cusparseCsrmvEx_bufferSize(handle, CUSPARSE_ALG_MERGE_PATH, CUSPARSE_OPERATION_TRANSPOSE, 4,
				   5, 6, &alpha.value, CUDA_R_32F, descr, X, CUDA_R_32F, Y, Z, X,
				   CUDA_R_32F, &beta, CUDA_R_64F, Y, CUDA_R_32F, CUDA_R_32F, &size);
	ok(size == (1UL << 34) + 7, "size_of_its_buffer_comes_back");
	news();
	ok_eq(csrmv(&alpha.value, CUDA_R_32F, &beta, CUDA_R_64F, &size), BAD,
	      "buffer_is_no_memory_of_the_programs_own");
	told("", "which_the_library_does_not_see");
}

static cusparseStatus_t nnz_of(csrgemm2Info_t info, int *nnz)
{
	return cusparseXcsrgemm2Nnz(handle, 2, 3, 4, descr, 5, X, Y, descr, 6, X, Y, NULL, 0, NULL,
				    NULL, descr, Z, nnz, info, X);
}

static void test_gemm(void)
{
	csrgemm2Info_t info = NULL;
	csrsv2Info_t other = NULL;
	int nnz = 0;

	ok(!cusparseCreateCsrgemm2Info(&info) && info, "product_of_matrices_has_an_object");
	news();
	ok(!nnz_of(info, &nnz) && nnz == 4712, "number_of_its_values_comes_back");
	told("gemm nnz handle=1 stream=0 mode=host|2x3x4 nnz=5,6,0 C=" ADDRESS_Z " info=1|D NULL#0 type=0 fill=0 diag=0 base=0|"
	     "C descr#1 type=0 fill=0 diag=0 base=1", "matrix_that_is_not_added_is_NULL_in_the_library");
	cusparseCreateCsrsv2Info(&other);
	ok_eq(nnz_of((csrgemm2Info_t)other, &nnz), BAD, "object_of_another_kind_is_refused");
	cusparseDestroyCsrsv2Info(other);
	news();
	ok_eq(cusparseDestroyCsrgemm2Info(info), 0, "object_is_destroyed");
	told("destroy gemm info 1", "in_the_library_too");
	ok_eq(nnz_of(info, &nnz), BAD, "then_it_is_none_any_more");
}

static void test_solve(void)
{
	csrsv2Info_t info = NULL;
	double alpha = 2.5;
	int size = 0, position = 0;

	ok(!cusparseCreateCsrsv2Info(&info) &&
	   !cusparseDcsrsv2_bufferSize(handle, 0, 4, 5, descr, X, Y, Z, info, &size) && size == 321,
	   "system_says_its_buffers_size");
	news();
	ok_eq(cusparseDcsrsv2_analysis(handle, 0, 4, 5, descr, X, Y, Z, info,
				       CUSPARSE_SOLVE_POLICY_USE_LEVEL, X), 0, "it_is_analysed");
	cusparseDcsrsv2_solve(handle, 0, 4, 5, &alpha, descr, X, Y, Z, info, X, Y,
			      CUSPARSE_SOLVE_POLICY_USE_LEVEL, Z);
	told("csrsv analysis handle=1 stream=0 mode=host|csrsv handle=1 stream=0 mode=host|"
	     "m=4 nnz=5 alpha=2.5 analysed=1 " ADDRESS_X " " ADDRESS_Y " " ADDRESS_Z,
	     "and_solved_with_the_same_object");
	ok(cusparseXcsrsv2_zeroPivot(handle, info, &position) == CUSPARSE_STATUS_ZERO_PIVOT &&
	   position == 5, "pivot_comes_with_its_status");
	ok_eq(cusparseDestroyCsrsv2Info(info), 0, "and_it_ends");
}

static cusparseStatus_t multiply(cusparseSpMatDescr_t mat, cusparseDnVecDescr_t vec)
{
	float one = 1;

	return cusparseSpMV(handle, 0, &one, mat, vec, &one, vec, CUDA_R_32F, 0, Z) ||
	       cuCtxSynchronize() ? BAD : 0;
}

static void test_pairs(void)
{
	void *indices = NULL, *values = NULL;
	CUdeviceptr gone = device(NULL, 4096);
	int64_t rows = 0, cols = 0, nnz = 0;
	cusparseIndexType_t index;
	cusparseSpMatDescr_t mat;
	cusparseDnVecDescr_t vec;
	cusparseIndexBase_t base;
	cudaDataType type;

	cusparseCreateDnVec(&vec, 4, Y, CUDA_R_32F);
	ok(!cusparseCreateCooAoS(&mat, 4, 4, 5, (void *)gone, X, CUSPARSE_INDEX_32I,
				 CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) && !multiply(mat, vec),
	   "matrix_of_pairs_is_multiplied");
	ok(!cusparseCooAoSGet(mat, &rows, &cols, &nnz, &indices, &values, &index, &base, &type) &&
	   rows == 4 && nnz == 5 && indices == (void *)gone && values == X, "what_it_is_comes_back");
	cuMemFree(gone);
	news();
	ok(multiply(mat, vec) == BAD && !strstr(news(), "spmv"),
	   "it_is_none_when_its_indices_are_freed");
}

int main(void)
{
	CUdeviceptr at = 0;
	CUcontext ctx;

	tap_plan(28);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	cuMemAddressReserve(&at, 2 << 20, 0, DEVICE, 0);
	if (cusparseCreate(&handle) || cusparseCreateMatDescr(&descr) ||
	    cusparseSetMatIndexBase(descr, CUSPARSE_INDEX_BASE_ONE))
		return 1;
	news();
	test_vectors();
	test_csrmv();
	test_gemm();
	test_solve();
	test_pairs();
	return tap_exit();
}
