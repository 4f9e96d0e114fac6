// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a product by cublasLt over shm is not waited for when a like
 * product has succeeded. This holds for any addresses and scalars, as long as they are
 * aligned as before. The fake library holds a product until this program has written its
 * result, which the program can only do if it need not wait for the product.
 */
#include <cublasLt.h>

#include "fake_cublas.h"
#include "lib_test.h"

static cublasLtHandle_t handle;
static cublasLtMatmulDesc_t desc;
static cublasLtMatrixLayout_t layout;
static CUdeviceptr a;
static float *here;	/* pinned: at one address in both processes */

static cublasStatus_t multiply(CUdeviceptr from)
{
	const float hold = HOLD, none = 0;

	return cublasLtMatmul(handle, desc, &hold, (void *)from, layout, (void *)a, layout, &none,
			      here, layout, here, layout, NULL, NULL, 0, NULL);
}

static int waited_for(CUdeviceptr from)
{
	int waited;

	*(volatile float *)here = 0;
	if (multiply(from))
		return -1;
	waited = *(volatile float *)here != 0;
	*(volatile float *)here = 1;
	cuCtxSynchronize();
	return waited;
}

static void bias(CUdeviceptr p)
{
	cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p, sizeof(p));
}

int main(void)
{
	const int32_t two = 2;

	tap_plan(9);
	if (cublasLtCreate(&handle) || cuMemHostAlloc((void **)&here, 4096, 0)) {
		printf("Bail out! cannot prepare\n");
		return 1;
	}
	a = device(NULL, 8192);
	cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
	cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1);
	bias(a);
	ok_eq(waited_for(a), 1, "first_product_of_its_kind_is_waited_for");
	ok_eq(waited_for(a), 0, "product_like_an_earlier_one_is_not_waited_for");
	bias(a + 512);
	ok_eq(waited_for(a + 1024), 0, "nor_is_one_of_other_memory");
	ok_eq(waited_for(a + 4), 1, "one_whose_memory_is_aligned_otherwise_is_waited_for");
	bias(0);
	ok_eq(waited_for(a), 1, "and_one_without_a_bias");
	cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &two,
					 sizeof(two));
	ok_eq(waited_for(a), 1, "and_one_of_another_layout");
	ok_eq(waited_for(a), 0, "the_next_of_its_kind_is_not");
	ok_eq(multiply(0), CUBLAS_STATUS_INVALID_VALUE, "missing_matrix_is_refused_at_once");
	cublasLtHeuristicsCacheSetCapacity(1);
	ok_eq(waited_for(a), 1, "after_a_call_that_may_change_others_it_is_waited_for");
	return tap_exit();
}
