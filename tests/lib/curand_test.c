// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuRAND calls go right through the stub, over a library that
 * writes down what it is told and whose numbers count up from 1000 * seed + offset.
 */
#include <curand.h>

#include "lib_test.h"

#define BIG	1000000		/* more than a buffer of the data area holds */

static unsigned int *numbers;

static int counts_from(unsigned int first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (numbers[i] != first + i) {
			diag("number %zu: expected %zu, got %u", i, first + i, numbers[i]);
			return 0;
		}
	return 1;
}

static int device_has(CUdeviceptr d, unsigned int first, size_t n)
{
	cuMemcpyDtoH(numbers, d, n * sizeof(*numbers));
	return counts_from(first, n);
}

static void test_state(void)
{
	curandGenerator_t g;
	CUdeviceptr d;

	ok_eq(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_XORWOW), 0,
			"create_needs_no_call_before_it");
	told("create 101 host=0", "generator_is_made");
	d = device(NULL, 4096);
	curandSetPseudoRandomGeneratorSeed(g, 1);
	curandSetGeneratorOffset(g, 5);
	curandSetPseudoRandomGeneratorSeed(g, 7);
	curandSetStream(g, NULL);
	told("", "seed_offset_and_stream_make_no_call");
	ok(curandGenerate(g, (unsigned int *)d, 100) == 0 && device_has(d, 7005, 100),
	   "numbers_arrive_in_device_memory");
	told("offset 5|seed 7|generate 100", "last_seed_and_offset_travel_in_the_order_of_setting");
	ok(curandGenerate(g, (unsigned int *)d, 10) == 0 && device_has(d, 7105, 10),
			"sequence_goes_on");
	told("generate 10", "what_was_told_is_not_told_again");
	curandSetPseudoRandomGeneratorSeed(g, 7);
	curandSetGeneratorOffset(g, 0);
	curandGenerate(g, (unsigned int *)d, 10);
	told("seed 7|offset 0|generate 10", "the_same_seed_set_again_is_told_again");
	ok(device_has(d, 7000, 10), "sequence_starts_again");
	ok_eq(curandSetQuasiRandomGeneratorDimensions(g, 3), CURAND_STATUS_TYPE_ERROR,
			"other_state_is_the_librarys");
	news();
	ok_eq(curandDestroyGenerator(g), 0, "destroy_succeeds");
	told("destroy", "destroy_reaches_the_library");
	ok(curandDestroyGenerator(g) == CURAND_STATUS_NOT_INITIALIZED &&
	   curandGenerate(g, (unsigned int *)d, 1) == CURAND_STATUS_NOT_INITIALIZED &&
	   curandSetPseudoRandomGeneratorSeed(NULL, 1) == CURAND_STATUS_NOT_INITIALIZED,
	   "destroyed_and_null_generators_are_refused");
	told("", "none_of_them_reached_the_library");
}

static void test_quasi(void)
{
	curandGenerator_t g;

	curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32);
	news();
	ok_eq(curandSetPseudoRandomGeneratorSeed(g, 1), CURAND_STATUS_TYPE_ERROR,
	      "seed_that_can_fail_is_the_librarys_to_judge");
	told("seed 1", "it_crosses_at_once");
	curandDestroyGenerator(g);
	news();
}

static void test_host(void)
{
	unsigned int *pinned = NULL;
	curandGenerator_t g;
	double normal[3];

	ok_eq(curandCreateGeneratorHost(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10), 0,
			"host_generator_is_made");
	curandSetPseudoRandomGeneratorSeed(g, 2);
	memset(numbers, 0, BIG * sizeof(*numbers));
	news();
	ok(curandGenerate(g, numbers, BIG) == 0 && counts_from(2000, BIG),
			"numbers_arrive_in_host_memory");
	told("seed 2|generate 1000000", "they_come_from_one_call");
	cuMemAllocHost((void **)&pinned, 4096);
	ok(curandGenerate(g, pinned, 8) == 0 && pinned[0] == 2000 + BIG && pinned[7] == 2007 + BIG,
	   "pinned_memory_is_written_directly");
	ok(curandGenerateNormalDouble(g, normal, 3, 0.5, 2) == 0 && normal[1] - normal[0] == 2 &&
	   normal[2] - normal[1] == 2, "parameters_of_a_distribution_arrive");
	ok_eq(curandGenerate(g, numbers, 1UL << 62), CURAND_STATUS_ALLOCATION_FAILED,
			"too_many_numbers_are_refused");
	ok_eq(curandGenerate(g, numbers, 0), 0, "no_numbers_are_no_error");
	ok(curandGeneratePoisson(g, numbers, 4, 1.0) == CURAND_STATUS_ARCH_MISMATCH,
	   "function_that_the_library_lacks_is_refused");
	cuMemFreeHost(pinned);
	curandDestroyGenerator(g);
	news();
}

static void test_tables(void)
{
	curandDirectionVectors32_t *vectors;
	curandDiscreteDistribution_t dist;
	unsigned long long *constants = NULL, *again = NULL;
	int version = 0, i, right = 1;

	ok(curandGetVersion(&version) == 0 && version == 10499 && curandGetVersion(&version) == 0,
	   "version_is_the_workers");
	told("version", "version_is_asked_for_once");
	ok_eq(curandGetScrambleConstants64(&constants), 0, "table_is_fetched");
	for (i = 0; constants && i < 20000; i++)
		right &= constants[i] == 3ULL * i;
	ok(constants && right, "table_is_whole");
	news();
	curandGetScrambleConstants64(&again);
	ok(again == constants && !*news(), "table_is_fetched_once");
	ok_eq(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_64_JOEKUO6),
			CURAND_STATUS_OUT_OF_RANGE,
	      "set_of_another_width_is_refused");
	ok(curandCreatePoissonDistribution(3, &dist) == 0 && (unsigned long)dist == 3 * 4096,
	   "distribution_is_the_same_number_on_both_sides");
	ok_eq(curandDestroyDistribution((curandDiscreteDistribution_t)0x1234),
			CURAND_STATUS_NOT_INITIALIZED,
	      "unknown_distribution_is_refused");
	told("", "it_did_not_reach_the_library");
	ok_eq(curandDestroyDistribution(dist), 0, "known_distribution_ends");
	ok_eq(curandDestroyDistribution(dist), CURAND_STATUS_NOT_INITIALIZED, "and_ends_once");
	news();
}

int main(void)
{
	tap_plan(35);
	numbers = malloc(BIG * sizeof(*numbers));
	test_state();
	test_quasi();
	test_host();
	test_tables();
	return tap_exit();
}
