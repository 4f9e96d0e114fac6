// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a library's call over shm is not waited for when a like call has
 * succeeded, and that only the time tells a program so. Order, results and statuses are
 * as before, and what the library refuses at once is refused at once. The fake library
 * holds a product whose alpha is HOLD until this program has written its result, which
 * the program can only do if it need not wait for the product.
 */
#include <cublas_v2.h>
#include <curand.h>

#include "fake_cublas.h"
#include "fake_curand.h"
#include "lib_test.h"

static cublasHandle_t handle;
static CUdeviceptr a, b, c;
static float *here;	/* pinned: at one address in both processes */

static cublasStatus_t gemm(int n, float alpha, void *to)
{
	const float beta = 0;

	return cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, 1, 1, &alpha, (void *)a, 1,
			      (void *)b, 1, &beta, to, 1);
}

static int waited_for(int n)
{
	int waited;

	*(volatile float *)here = 0;
	if (gemm(n, HOLD, here))
		return -1;
	waited = *(volatile float *)here != 0;
	*(volatile float *)here = 1;
	cuCtxSynchronize();
	return waited;
}

static float result(void)
{
	float f = -1;

	cuMemcpyDtoH(&f, c, sizeof(f));
	return f;
}

static void test_waiting(void)
{
	ok_eq(waited_for(1), 1, "first_call_of_its_kind_is_waited_for");
	ok_eq(waited_for(1), 0, "call_like_an_earlier_one_is_not_waited_for");
	ok_eq(waited_for(2), 1, "call_with_other_dimensions_is_waited_for");
	cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH);
	ok_eq(waited_for(1), 1, "call_on_a_handle_in_another_state_is_waited_for");
	cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
	ok_eq(waited_for(1), 0, "call_on_a_handle_in_its_earlier_state_is_not");
	cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED);
	ok_eq(waited_for(1), 1, "after_a_call_that_may_change_others_it_is_waited_for");
}

static void test_order(void)
{
	int i, bad = 0;

	for (i = 1; i < 100; i++) {
		bad += gemm(1, i, (void *)c) != 0;
		bad += i % 7 == 0 && result() != i;
	}
	ok(!bad && result() == 99, "calls_run_in_their_order_with_their_own_scalars");
}

static void test_refusals(void)
{
	gemm(1, 1, (void *)c);
	ok_eq(gemm(-1, 1, (void *)c), CUBLAS_STATUS_INVALID_VALUE, "bad_dimension_is_refused_at_once");
	ok_eq(gemm(1, 1, NULL), CUBLAS_STATUS_INVALID_VALUE, "missing_matrix_is_refused_at_once");
	ok_eq(gemm(1, 1, (void *)c), CUBLAS_STATUS_SUCCESS, "after_a_refusal_calls_go_on");
}

static void test_failure(void)
{
	gemm(1, 1, (void *)c);
	cuCtxSynchronize();
	ok_eq(gemm(1, FAIL, (void *)c), CUBLAS_STATUS_SUCCESS, "call_that_will_fail_is_not_waited_for");
	ok_eq(cuStreamSynchronize(NULL), CUDA_ERROR_UNKNOWN,
	      "its_failure_surfaces_at_the_synchronisation");
	ok_eq(gemm(1, FAIL, (void *)c), CUBLAS_STATUS_EXECUTION_FAILED,
	      "after_a_failure_the_next_call_gives_its_own_status");
	ok_eq(cuStreamSynchronize(NULL), CUDA_SUCCESS, "failure_is_told_once");
}

/* --- Numbers ------------------------------------------------------------------------------ */

static int numbers_waited_for(curandGenerator_t g)
{
	volatile unsigned int *to = (volatile unsigned int *)here;
	int waited;

	*to = 0;
	if (curandGenerate(g, (unsigned int *)here, HOLD_NUMBERS))
		return -1;
	waited = *to != 0;
	*to = 1;
	cuCtxSynchronize();
	return waited;
}

static void test_numbers(void)
{
	unsigned int got[3];
	curandGenerator_t g, host;
	int i, bad = 0;

	curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
	curandSetPseudoRandomGeneratorSeed(g, 1);
	ok_eq(numbers_waited_for(g), 1, "first_numbers_of_a_generator_are_waited_for");
	curandSetPseudoRandomGeneratorSeed(g, 2);
	ok_eq(numbers_waited_for(g), 0, "those_of_another_seed_are_not");
	curandSetGeneratorOffset(g, 5);
	numbers_waited_for(g);
	curandSetGeneratorOffset(g, 6);
	ok_eq(numbers_waited_for(g), 0, "nor_those_of_another_offset");
	for (i = 1; i < 50; i++) {
		curandSetPseudoRandomGeneratorSeed(g, i);
		curandSetGeneratorOffset(g, 0);
		bad += curandGenerate(g, (unsigned int *)c, 3) != 0;
		if (i % 7)
			continue;
		cuMemcpyDtoH(got, c, sizeof(got));
		bad += got[0] != 1000u * i || got[2] != 1000u * i + 2;
	}
	ok(!bad, "each_has_its_own_seed_and_offset");
	curandCreateGeneratorHost(&host, CURAND_RNG_PSEUDO_DEFAULT);
	numbers_waited_for(host);
	ok_eq(numbers_waited_for(host), 1, "numbers_for_the_host_are_waited_for_each_time");
	ok(curandGenerate(NULL, (unsigned int *)c, 3) == CURAND_STATUS_NOT_INITIALIZED &&
	   curandGenerate(g, (unsigned int *)&got, 3) == CURAND_STATUS_OUT_OF_RANGE,
	   "what_is_no_place_for_numbers_is_refused");
	curandDestroyGenerator(host);
	curandDestroyGenerator(g);
}

int main(void)
{
	const float one = 1;

	tap_plan(20);
	if (cublasCreate_v2(&handle) || cuMemHostAlloc((void **)&here, 4096, 0)) {
		printf("Bail out! cannot prepare\n");
		return 1;
	}
	a = device(&one, sizeof(one));
	b = device(&one, sizeof(one));
	c = device(NULL, 64);
	test_waiting();
	test_order();
	test_refusals();
	test_failure();
	test_numbers();
	return tap_exit();
}
