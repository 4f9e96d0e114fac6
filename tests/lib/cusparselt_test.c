// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that structs of cuSPARSELt in the program's memory stand for the
 * worker's structs. These keep each other's addresses as long as a plan needs them, and
 * no longer. An invalid struct is noticed. It runs over a library that follows these
 * addresses.
 */
#include <stdalign.h>

#include <cusparseLt.h>

#include "lib_test.h"

#define HOLD	12345.0f
#define MATRICES "structured 64 0|dense 33x32/32 2 2|dense 34x32/32 2 2|dense 35x32/32 2 2"
#define NONE	CUSPARSE_STATUS_NOT_INITIALIZED
#define BAD	CUSPARSE_STATUS_INVALID_VALUE

static cusparseLtHandle_t handle;
static cusparseLtMatDescriptor_t a, b, c, d;
static cusparseLtMatmulDescriptor_t matmul;
static cusparseLtMatmulAlgSelection_t alg;
static cusparseLtMatmulPlan_t plan;
static CUdeviceptr data;	/* 4096 bytes */

static cusparseStatus_t dense(cusparseLtMatDescriptor_t *m, int rows)
{
	return cusparseLtDenseDescriptorInit(&handle, m, rows, 32, 32, 16, CUDA_R_16F,
					     CUSPARSE_ORDER_ROW);
}

static void make(void)
{
	cusparseLtStructuredDescriptorInit(&handle, &a, 64, 32, 32, 16, CUDA_R_16F,
					   CUSPARSE_ORDER_ROW, CUSPARSELT_SPARSITY_50_PERCENT);
	dense(&b, 33);
	dense(&c, 34);
	dense(&d, 35);
	cusparseLtMatmulDescriptorInit(&handle, &matmul, CUSPARSE_OPERATION_NON_TRANSPOSE,
				       CUSPARSE_OPERATION_TRANSPOSE, &a, &b, &c, &d,
				       CUSPARSE_COMPUTE_32F);
	cusparseLtMatmulAlgSelectionInit(&handle, &alg, &matmul, CUSPARSELT_MATMUL_ALG_DEFAULT);
	cusparseLtMatmulPlanInit(&handle, &plan, &matmul, &alg);
}

static void end_matrices(void)
{
	cusparseLtMatDescriptorDestroy(&a);
	cusparseLtMatDescriptorDestroy(&b);
	cusparseLtMatDescriptorDestroy(&c);
	cusparseLtMatDescriptorDestroy(&d);
}

static cusparseStatus_t multiply(const void *alpha, CUdeviceptr work, void *to, CUstream s)
{
	const float beta = 0.5;
	cudaStream_t stream = (cudaStream_t)s;

	return cusparseLtMatmul(&handle, &plan, alpha, (void *)data, (void *)data, &beta,
				(void *)data, to, (void *)work, &stream, 1);
}

static void test_life(void)
{
	cusparseLtMatmulDescriptor_t copy;

	ok_eq(cusparseLtInit(&handle), 0, "handle_is_made");
	news();
	make();
	told(MATRICES "|" MATRICES "|matmul 0 1 2|alg|plan", "all_that_describes_a_product_arrives");
	copy = matmul;
	end_matrices();
	news();
	ok_eq(cusparseLtMatmulPlanDestroy(&plan), 0, "plan_ends_after_its_matrices");
	told("", "and_is_kept_for_the_next_like_it");
	ok(cusparseLtMatmulPlanDestroy(&plan) == NONE && cusparseLtMatDescriptorDestroy(&a) == NONE,
	   "what_has_ended_is_none");
	ok(cusparseLtMatmulAlgSelectionInit(&handle, &alg, &matmul, 0) == NONE &&
	   cusparseLtMatmulPlanInit(&handle, &plan, &copy, &alg) == NONE,
	   "what_was_made_from_it_has_ended_too");
	ok_eq(dense(&a, 0), BAD, "bad_size_is_the_librarys_status");
	ok(cusparseLtMatDescriptorDestroy(&a) == NONE &&
	   cusparseLtMatDescriptorDestroy((void *)&handle) == NONE &&
	   cusparseLtMatDescriptorDestroy(NULL) == NONE, "what_is_no_descriptor_is_none");
	ok_eq(cusparseLtInit(NULL), BAD, "no_place_for_it_is_refused");
	news();
}

static void test_attributes(void)
{
	int two = 2, got = 0, relu = 1;
	void *bias = (void *)data, *wild = &two;

	make();
	news();
	ok(!cusparseLtMatDescSetAttribute(&handle, &a, CUSPARSELT_MAT_NUM_BATCHES, &two, 4) &&
	   !cusparseLtMatDescGetAttribute(&handle, &a, CUSPARSELT_MAT_NUM_BATCHES, &got, 4) &&
	   got == 2, "attribute_of_a_matrix_is_kept");
	ok(!cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_ACTIVATION_RELU,
					     &relu, 4) &&
	   !cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_BIAS_POINTER,
					     &bias, 8), "attributes_of_a_product_are_set");
	told(MATRICES "|matmul 0 1 2|alg|plan|attribute 0 of 4|attribute 8 of 8",
	     "by_their_numbers_and_sizes");
	ok(cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_BIAS_POINTER,
					    &wild, 8) == BAD &&
	   cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_BIAS_POINTER,
					    &bias, 4) == BAD &&
	   cusparseLtMatmulDescSetAttribute(&handle, &matmul, 77, &bias, 8) == BAD,
	   "address_that_is_not_the_devices_is_refused_and_so_is_what_nobody_knows");
	ok(!strstr(news(), "attribute 8 of 4") && !strstr(news(), "attribute 77"),
	   "without_a_word_to_the_library");
}

static void test_products(void)
{
	CUdeviceptr scales = device(NULL, 256);
	const float alpha = 2;
	int vectors = 1, config = 0;
	CUstream s;

	cuStreamCreate(&s, 0);
	ok_eq(multiply(&alpha, data, (void *)data, s), 0, "product_succeeds");
	told("product 2 0.5 relu=1 bias=1 own|of 2 and 0", "with_its_numbers_attributes_and_stream");
	ok_eq(multiply(&alpha, scales + 128, (void *)data, NULL), BAD,
	      "workspace_that_ends_too_early_is_refused");
	ok_eq(cusparseLtMatmulSearch(&handle, &plan, &alpha, (void *)data, (void *)data, &alpha,
				     (void *)data, (void *)data, (void *)data, NULL, 0), 0,
	      "search_succeeds");
	ok(!cusparseLtMatmulAlgGetAttribute(&handle, &alg, CUSPARSELT_MATMUL_ALG_CONFIG_ID, &config,
					    4) && config == 3, "what_it_found_is_in_the_selection");
	cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_ALPHA_VECTOR_SCALING,
					 &vectors, 4);
	news();
	ok_eq(multiply((void *)scales, data, (void *)data, NULL), 0, "alpha_may_be_in_the_device");
	told("product of vectors|of 2 and 3", "one_for_each_row");
	ok_eq(multiply(NULL, data, (void *)data, NULL), 0, "missing_alpha_is_the_librarys_to_judge");
	vectors = 0;
	cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_ALPHA_VECTOR_SCALING,
					 &vectors, 4);
	cuStreamDestroy(s);
	news();
}

static int waited_for(float *here)
{
	const float alpha = HOLD;
	int waited;

	*(volatile float *)here = 0;
	if (multiply(&alpha, data, here, NULL))
		return -1;
	waited = *(volatile float *)here != 0;
	*(volatile float *)here = 1;
	cuCtxSynchronize();
	return waited;
}

static void test_posting(int shm)
{
	float *here;

	cuMemHostAlloc((void **)&here, 4096, 0);
	ok_eq(waited_for(here), 1, "first_product_is_waited_for");
	ok_eq(waited_for(here), !shm, "over_shm_the_next_one_is_not");
}

static void test_rest(void)
{
	size_t size = 0, buffer = 0;
	int v = 0, w = 0;
	const char *got;

	ok(!cusparseLtSpMMACompressedSize2(&handle, &a, &size, &buffer) && size == 6400 &&
	   buffer == 7, "both_sizes_come_back");
	news();
	ok_eq(cusparseLtSpMMACompress2(&handle, &a, 1, CUSPARSE_OPERATION_NON_TRANSPOSE,
				       (void *)data, (void *)data, (void *)data, NULL), 0,
	      "compression_succeeds");
	told("compress 64 1 0 0", "with_its_parameters");
	ok_eq(cusparseLtSpMMAPrune(&handle, &matmul, (void *)data, (void *)data, 0, NULL),
	      CUSPARSE_STATUS_NOT_SUPPORTED, "function_that_the_library_lacks_is_refused");
	news();
	ok(!cusparseLtGetProperty(MINOR_VERSION, &v) && !cusparseLtGetProperty(MINOR_VERSION, &w) &&
	   v == 41 && w == v, "property_is_the_librarys");
	told("property 1", "and_asked_for_once");
	ok(!strcmp(cusparseLtGetErrorName(3), "CUSPARSE_STATUS_INVALID_VALUE") &&
	   !strcmp(cusparseLtGetErrorString(10), "operation not supported"), "statuses_have_names");
	end_matrices();
	cusparseLtMatmulPlanDestroy(&plan);
	news();
	ok_eq(cusparseLtDestroy(&handle), 0, "handle_ends");
	got = news();
	ok(strstr(got, "|destroy 1001") && strstr(got, "end of a plan that is sound|end of mat") &&
	   !strstr(got, "broken"), "behind_all_that_was_made_with_it");
	ok_eq(cusparseLtDestroy(&handle), NONE, "then_it_is_none");
}

/* Describes a product anew for each use, as a framework does it. */
static int described_product(void)
{
	const float alpha = 2;
	void *bias = (void *)data;
	size_t work = 0;
	int zero = 0, max = 0;

	make();
	cusparseLtMatmulPlanDestroy(&plan);
	cusparseLtMatmulDescSetAttribute(&handle, &matmul, CUSPARSELT_MATMUL_BIAS_POINTER, &bias,
					 8);
	cusparseLtMatmulAlgSelectionInit(&handle, &alg, &matmul, CUSPARSELT_MATMUL_ALG_DEFAULT);
	cusparseLtMatmulAlgGetAttribute(&handle, &alg, CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID, &max,
					4);
	cusparseLtMatmulAlgSetAttribute(&handle, &alg, CUSPARSELT_MATMUL_ALG_CONFIG_ID, &zero, 4);
	if (cusparseLtMatmulPlanInit(&handle, &plan, &matmul, &alg) ||
	    cusparseLtMatmulGetWorkspace(&handle, &plan, &work) || work != 256 ||
	    multiply(&alpha, data, (void *)data, NULL))
		return 1;
	end_matrices();
	return cusparseLtMatmulPlanDestroy(&plan) != 0;
}

/* Runs the products for cusparselt_requests_test.sh. */
static int requests(int n)
{
	int res = cusparseLtInit(&handle);

	data = device(NULL, 4096);
	while (!res && n--)
		res = described_product();
	return res;
}

int main(int argc, char **argv)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");

	if (argc == 3)
		return requests(atoi(argv[2]));

	tap_plan(34);
	test_life();
	data = device(NULL, 4096);
	test_attributes();
	test_products();
	test_posting(!transport || strcmp(transport, "loopback"));
	test_rest();
	return tap_exit();
}
