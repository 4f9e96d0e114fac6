// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that only what makes, runs or ends a plan of cuFFT is a call. Stream
 * and work area travel with the next execution, which over shm is not waited for once a
 * like execution has succeeded. No execution reaches further than its plan. It runs over
 * a library that writes down what it is told.
 */
#include <cufftXt.h>

#include "fake_cufft.h"
#include "lib_test.h"

#define F	CUFFT_FORWARD
#define NEW	3	/* and more: directions that no execution had, whose status is waited for */

static CUdeviceptr data;	/* 4096 bytes */

static cufftResult run(cufftHandle p, int direction)
{
	return cufftExecC2C(p, (void *)data, (void *)data, direction);
}

static void test_life(void)
{
	cufftHandle p = 0, q = 0, old;
	size_t size = 0;

	ok_eq(cufftCreate(&p), 0, "create_succeeds");
	ok(p > 0, "plan_is_a_positive_number");
	told("create", "create_is_a_call");
	ok(!cufftMakePlan1d(p, 16, CUFFT_C2C, 2, &size) && size == FAKE_AREA(16),
	   "making_tells_the_size_of_its_area");
	told("1d 16 29 2", "parameters_arrive");
	ok_eq(cufftMakePlan1d(p, 16, CUFFT_C2C, 2, &size), CUFFT_INVALID_PLAN,
	      "plan_is_made_once");
	ok_eq(cufftMakePlan1d(p, 16, CUFFT_C2C, 2, NULL), CUFFT_INVALID_PLAN,
	      "missing_size_is_the_librarys_to_judge");
	news();
	ok(!cufftPlan1d(&q, 8, CUFFT_R2C, 1) && q != p, "next_plan_has_another_number");
	told("create|1d 8 2a 1", "plan_in_one_step_is_created_and_made");
	old = q;
	ok_eq(cufftPlan1d(&q, 0, CUFFT_R2C, 1), CUFFT_INVALID_SIZE, "bad_size_is_refused");
	ok_eq(q, old, "then_there_is_no_new_plan");
	told("create|1d 0 2a 1|destroy", "nor_one_that_is_left");
	ok_eq(cufftDestroy(q), 0, "destroy_succeeds");
	told("destroy", "destroy_is_a_call");
	ok(cufftDestroy(q) == CUFFT_INVALID_PLAN && run(q, F) == CUFFT_INVALID_PLAN &&
	   cufftSetStream(q, NULL) == CUFFT_INVALID_PLAN, "destroyed_plan_is_none");
	ok(!cufftPlan1d(&q, 8, CUFFT_C2C, 1) && q != old && run(old, F) == CUFFT_INVALID_PLAN,
	   "nor_when_another_one_has_its_place");
	ok(run(-1, F) == CUFFT_INVALID_PLAN && run(0, F) == CUFFT_INVALID_PLAN &&
	   run(0x7fffffff, F) == CUFFT_INVALID_PLAN && cufftDestroy(-1) == CUFFT_INVALID_PLAN,
	   "numbers_that_were_never_plans_are_none");
	ok(cufftCreate(NULL) == CUFFT_INVALID_VALUE &&
	   cufftPlan1d(NULL, 8, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE, "no_place_for_it_is_refused");
	cufftDestroy(p);
	cufftDestroy(q);
	news();
}

static void test_arrays(void)
{
	long long n[3] = { 4, 5, 6 }, in[3] = { 7, 8, 9 }, out[3] = { 10, 11, 12 };
	int small[2] = { 3, 4 };
	cufftHandle p;
	size_t size;

	cufftCreate(&p);
	news();
	ok_eq(cufftMakePlanMany64(p, 3, n, in, 2, 1000, out, 1, 2000, CUFFT_Z2Z, 2, &size), 0,
	      "plan_of_arrays_is_made");
	told("many 4,5,6 in=7,8,9/2/1000 out=10,11,12/1/2000 69 2", "its_arrays_arrive");
	cufftDestroy(p);
	cufftCreate(&p);
	news();
	cufftMakePlanMany64(p, 2, n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 1, &size);
	told("many 4,5 in=none/1/0 out=none/1/0 29 1", "missing_arrays_stay_missing");
	cufftDestroy(p);
	cufftCreate(&p);
	news();
	ok(cufftMakePlanMany64(p, 0, n, in, 1, 1, out, 1, 1, CUFFT_C2C, 1, &size) ==
	   CUFFT_INVALID_VALUE &&
	   cufftMakePlanMany64(p, 4, n, in, 1, 1, out, 1, 1, CUFFT_C2C, 1, &size) ==
	   CUFFT_INVALID_VALUE &&
	   cufftMakePlanMany64(p, -1, n, in, 1, 1, out, 1, 1, CUFFT_C2C, 1, &size) ==
	   CUFFT_INVALID_VALUE, "there_are_one_to_three_dimensions");
	ok_eq(cufftMakePlanMany64(p, 1, NULL, in, 1, 1, out, 1, 1, CUFFT_C2C, 1, &size),
	      CUFFT_INVALID_VALUE, "missing_sizes_are_refused");
	told("", "none_of_these_reached_the_library");
	ok(!cufftXtMakePlanMany(p, 1, n, NULL, 1, 0, CUDA_R_32F, NULL, 1, 0, CUDA_C_32F, 3, &size,
				CUDA_C_32F) && size == FAKE_AREA(4), "plan_by_types_is_made");
	told("xt 4 0 4 4 3", "its_types_arrive");
	cufftDestroy(p);
	news();
	ok(!cufftEstimateMany(2, small, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 5, &size) &&
	   size == 4321, "size_is_estimated_without_a_plan");
	told("estimate 2 3 29 5", "from_its_parameters");
}

static void test_state(void)
{
	CUdeviceptr area = device(NULL, 2 * FAKE_AREA(16));
	size_t size, policy = 5;
	cufftHandle p;
	CUstream s;

	cuStreamCreate(&s, 0);
	cufftCreate(&p);
	news();
	cufftSetAutoAllocation(p, 0);
	told("", "deciding_about_an_area_makes_no_call");
	cufftMakePlan1d(p, 16, CUFFT_C2C, 1, &size);
	told("allocate 0|1d 16 29 1", "it_travels_with_the_call_that_makes_the_plan");
	cufftSetStream(p, (cudaStream_t)s);
	cufftSetWorkArea(p, (void *)area);
	told("", "setting_stream_and_area_makes_no_call");
	run(p, F);
	told("set_stream own|area own|c2c -1", "they_travel_with_the_execution");
	run(p, F);
	cufftSetStream(p, (cudaStream_t)s);
	cufftSetWorkArea(p, (void *)area);
	run(p, F);
	told("c2c -1|c2c -1", "and_are_told_once");
	cufftSetStream(p, NULL);
	cufftSetWorkArea(p, (void *)(area + FAKE_AREA(16)));
	run(p, F);
	told("set_stream 0|area own|c2c -1", "changes_are_told");
	ok(!cufftXtSetWorkArea(p, (void *[]){ (void *)area }) && !run(p, F),
	   "area_of_the_one_gpu_is_that_area");
	told("area own|c2c -1", "and_is_told");
	cufftSetWorkArea(p, (void *)(area + 2 * FAKE_AREA(16) - 8));
	ok_eq(run(p, NEW), CUFFT_INVALID_VALUE, "area_that_ends_too_early_is_refused");
	cufftSetWorkArea(p, (void *)area);
	ok_eq(run(p, F), 0, "with_a_good_one_it_goes_on");
	news();
	ok(!cufftXtSetWorkAreaPolicy(p, CUFFT_WORKAREA_USER, &policy) && policy == 6,
	   "size_of_a_policy_goes_there_and_back");
	told("policy 1 5", "as_it_was");
	ok_eq(cufftSetPlanPropertyInt64(p, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, 1), 0,
	      "properties_are_set");
	told("area own|property 1 1", "by_their_number_and_the_area_is_told_anew_for_its_new_size");
	cufftDestroy(p);
	cuMemFree(area);
	cuStreamDestroy(s);
	news();
}

/* The memory has room for exactly 512 numbers of 8 bytes. */
static void test_reach(void)
{
	int one = 0, i;
	long long n = 64, embed = 64;
	cufftHandle p, q;
	size_t size;

	cufftPlan1d(&p, 512, CUFFT_C2C, 1);
	ok_eq(run(p, F), 0, "execution_reaches_to_the_end_of_memory");
	ok(cufftExecC2C(p, (void *)(data + 8), (void *)data, NEW) == CUFFT_INVALID_VALUE &&
	   cufftExecC2C(p, (void *)data, (void *)(data + 8), NEW) == CUFFT_INVALID_VALUE,
	   "and_no_further");
	cufftDestroy(p);
	cufftCreate(&q);
	/* The last byte of this plan is that of the last element: number 63 * 8 + 7. */
	cufftMakePlanMany64(q, 1, &n, &embed, 8, 1, &embed, 8, 1, CUFFT_C2C, 8, &size);
	ok(!run(q, F) && cufftExecC2C(q, (void *)(data + 8), (void *)data, NEW) ==
	   CUFFT_INVALID_VALUE, "strides_count");
	cufftDestroy(q);
	cufftCreate(&q);
	cufftMakePlanMany64(q, 1, &n, &embed, 1LL << 40, 1, &embed, 1, 1, CUFFT_C2C, 1, &size);
	one = run(q, F);
	cufftDestroy(q);
	cufftCreate(&q);
	cufftMakePlanMany64(q, 1, &n, &embed, -1, 1, &embed, 1, 1, CUFFT_C2C, 1, &size);
	ok(one == CUFFT_INVALID_VALUE && run(q, F) == CUFFT_INVALID_VALUE,
	   "steps_out_of_memory_are_refused");
	cufftDestroy(q);
	for (i = one = 0; i < 3; i++) {
		cufftPlan1d(&p, 1023, i ? CUFFT_C2R : CUFFT_R2C, 1);
		one |= cufftXtExec(p, (void *)data, (void *)data, F);
		cufftDestroy(p);
	}
	ok_eq(one, 0, "real_side_and_its_half_reach_as_far_as_they_are");
	ok(!cufftCreate(&q) && run(q, F) == CUFFT_INVALID_PLAN, "plan_that_is_not_made_runs_not");
	cufftDestroy(q);
	news();
}

static void test_refusals(void)
{
	cufftHandle p;
	int gpu = 0, v = 0, w = 0;

	cufftPlan1d(&p, 8, CUFFT_C2C, 1);
	news();
	ok_eq(cufftXtSetGPUs(p, 1, &gpu), CUFFT_INVALID_PLAN, "a_made_plan_gets_no_gpus");
	ok_eq(cufftMakePlan2d(p, 8, 8, CUFFT_C2C, NULL), CUFFT_NOT_SUPPORTED,
	      "function_that_the_library_lacks_is_refused");
	told("", "without_a_word_to_the_library");
	ok(!cufftGetVersion(&v) && !cufftGetVersion(&w) && v == 12999 && w == v,
	   "version_is_the_librarys");
	told("version", "and_asked_for_once");
	cufftDestroy(p);
	news();
}

/* --- Callbacks ------------------------------------------------------------------------ */

static unsigned int sum(const unsigned char *p, size_t n)
{
	unsigned int all = 0;

	while (n--)
		all = all * 31 + *p++;
	return all;
}

/* The plan reaches to the end of the memory, and an address behind its begin over that end. */
static void test_routines(void)
{
	void *routine = (void *)0x1230, *info = (void *)0x4560, *behind = (void *)(data + 8);
	cufftHandle p;

	cufftPlan1d(&p, 512, CUFFT_C2C, 1);
	news();
	ok_eq(cufftXtSetCallback(p, &routine, CUFFT_CB_LD_COMPLEX, &info), 0, "a_callback_is_set");
	told("callback 0 1230 4560", "with_its_routine_and_information");
	cufftXtSetCallback(p, &routine, CUFFT_CB_ST_COMPLEX, NULL);
	told("callback 4 1230 none", "or_without_information");
	ok_eq(cufftXtSetCallbackSharedSize(p, CUFFT_CB_ST_COMPLEX, 77), 0,
	      "its_shared_memory_is_set");
	told("shared 4 77", "by_its_size");
	ok_eq(cufftExecC2C(p, behind, behind, NEW), 0,
	      "what_callbacks_read_and_write_is_theirs_to_know");
	ok_eq(cufftExecC2C(p, behind, (void *)&p, NEW + 1), CUFFT_INVALID_VALUE,
	      "but_an_address_is_the_programs");
	news();
	ok_eq(cufftXtClearCallback(p, CUFFT_CB_ST_COMPLEX), 0, "a_callback_is_cleared");
	told("clear 4", "by_its_type");
	ok(!cufftExecC2C(p, behind, (void *)data, NEW + 2) &&
	   cufftExecC2C(p, (void *)data, behind, NEW + 3) == CUFFT_INVALID_VALUE,
	   "then_the_plan_says_again_what_is_written");
	news();
	ok(cufftXtSetCallback(p, &routine, CUFFT_CB_UNDEFINED, NULL) == CUFFT_INVALID_VALUE &&
	   cufftXtClearCallback(p, (cufftXtCallbackType)-1) == CUFFT_INVALID_VALUE &&
	   cufftXtSetCallbackSharedSize(p, (cufftXtCallbackType)9, 1) == CUFFT_INVALID_VALUE,
	   "there_are_eight_types");
	routine = NULL;
	ok(cufftXtSetCallback(p, &routine, CUFFT_CB_LD_COMPLEX, NULL) == CUFFT_INVALID_VALUE &&
	   cufftXtSetCallback(p, NULL, CUFFT_CB_LD_COMPLEX, NULL) == CUFFT_INVALID_VALUE,
	   "no_routine_is_no_callback");
	told("", "none_of_these_reach_the_library");
	cufftDestroy(p);
	news();
}

static void test_code(void)
{
	size_t small = 1000, large = 3 << 20, size;
	unsigned char *code = malloc(large);
	void *info = (void *)0x4560;
	char want[100];
	cufftHandle p;
	size_t i;

	for (i = 0; i < large; i++)
		code[i] = i * 7 + (i >> 9);
	cufftCreate(&p);
	news();
	ok_eq(cufftXtSetJITCallback(p, "load", code, small, CUFFT_CB_LD_COMPLEX, &info), 0,
	      "code_of_a_callback_is_set");
	snprintf(want, sizeof(want), "jit 0 load 1000 %x 4560", sum(code, small));
	told(want, "with_its_name_and_information");
	info = (void *)0x7890;
	cufftXtSetJITCallback(p, "load", code, large, CUFFT_CB_LD_COMPLEX, &info);
	snprintf(want, sizeof(want), "jit 0 load 3145728 %x 7890", sum(code, large));
	told(want, "megabytes_of_it_too");
	cufftMakePlan1d(p, 512, CUFFT_C2C, 1, &size);
	snprintf(want, sizeof(want), "1d 512 29 1|linked load %x 7890", sum(code, large));
	told(want, "it_is_there_when_the_plan_is_made");
	ok_eq(cufftExecC2C(p, (void *)(data + 8), (void *)data, NEW), 0,
	      "its_kernels_read_what_the_code_says");
	ok_eq(cufftXtSetJITCallback(p, "load", code, small, CUFFT_CB_LD_COMPLEX, NULL),
	      CUFFT_INVALID_PLAN, "whether_a_plan_takes_code_is_the_librarys_to_judge");
	cufftDestroy(p);
	free(code);
	news();
}

/* A fatbin says its own size, by which a linker reads. */
static void test_fatbins(void)
{
	uint64_t code[16] = { 0x00100001ba55ed50, 14 * 8, [3] = 6 * 8 };
	cufftHandle p;

	code[2] = 0x40ULL << 32;	/* an entry's header; 6 words follow it */
	cufftCreate(&p);
	news();
	ok_eq(cufftXtSetJITCallback(p, "f", code, sizeof(code), CUFFT_CB_LD_REAL, NULL), 0,
	      "a_fatbin_is_taken_whole");
	news();
	ok_eq(cufftXtSetJITCallback(p, "f", code, sizeof(code) - 8, CUFFT_CB_LD_REAL, NULL),
	      CUFFT_INVALID_VALUE, "one_that_ends_later_than_its_bytes_is_refused");
	code[3] = 7 * 8;
	ok_eq(cufftXtSetJITCallback(p, "f", code, sizeof(code), CUFFT_CB_LD_REAL, NULL),
	      CUFFT_INVALID_VALUE, "so_is_one_whose_entry_does");
	ok(cufftXtSetJITCallback(p, "f", NULL, 8, CUFFT_CB_LD_REAL, NULL) == CUFFT_INVALID_VALUE &&
	   cufftXtSetJITCallback(p, "f", code, 0, CUFFT_CB_LD_REAL, NULL) == CUFFT_INVALID_VALUE &&
	   cufftXtSetJITCallback(p, "f", code, 1UL << 40, CUFFT_CB_LD_REAL, NULL) ==
	   CUFFT_INVALID_VALUE, "no_code_is_no_callback");
	ok(cufftXtSetJITCallback(p, "f", code, 8, CUFFT_CB_UNDEFINED, NULL) ==
	   CUFFT_INVALID_TYPE && cufftXtSetJITCallback(p, "f", code, 8, (cufftXtCallbackType)-1,
						       NULL) == CUFFT_INVALID_TYPE,
	   "code_of_no_type_is_refused_by_a_status_of_its_own");
	told("", "neither_reaches_the_library");
	cufftDestroy(p);
	news();
}

/* The genuine library reads the name when it makes the plan. */
static void test_unnamed(void)
{
	unsigned char code[9] = "any code";
	void *in = (void *)data;
	cufftHandle p;
	char want[100];
	size_t size;

	cufftCreate(&p);
	news();
	ok_eq(cufftXtSetJITCallback(p, NULL, code, sizeof(code), CUFFT_CB_ST_REAL, NULL), 0,
	      "code_without_a_name_is_set");
	snprintf(want, sizeof(want), "jit 6 unnamed 9 %x none", sum(code, sizeof(code)));
	told(want, "as_it_is");
	ok_eq(cufftMakePlan1d(p, 8, CUFFT_C2R, 1, &size), CUFFT_INTERNAL_ERROR,
	      "the_library_judges_the_plan");
	news();
	ok(cufftExecC2C(p, in, in, NEW + 4) == CUFFT_INVALID_PLAN &&
	   cufftXtExec(p, in, in, NEW + 5) == CUFFT_INVALID_PLAN,
	   "a_plan_that_could_not_be_made_runs_not");
	told("", "and_the_library_is_not_asked");
	ok(!cufftXtSetJITCallback(p, "", code, sizeof(code), CUFFT_CB_ST_REAL, NULL) &&
	   !cufftMakePlan1d(p, 8, CUFFT_C2C, 1, &size) && !cufftExecC2C(p, in, in, NEW + 6),
	   "once_it_is_made_it_runs");
	cufftDestroy(p);
	news();
}

/* --- Posting ---------------------------------------------------------------------------- */

/* Did the program have to wait? Only over shm calls go on without their answer. */
static int waited_for(cufftHandle p, float *here)
{
	int waited;

	*(volatile float *)here = 0;
	if (cufftExecC2C(p, (void *)data, (void *)here, HOLD))
		return -1;
	waited = *(volatile float *)here != 0;
	*(volatile float *)here = 1;
	cuCtxSynchronize();
	return waited;
}

static void test_posting(int shm)
{
	CUdeviceptr area = device(NULL, 2 * FAKE_AREA(8));
	cufftHandle p;
	float *here;

	cuMemHostAlloc((void **)&here, 4096, 0);
	cufftPlan1d(&p, 8, CUFFT_C2C, 1);
	cufftSetWorkArea(p, (void *)area);
	ok_eq(waited_for(p, here), 1, "first_execution_is_waited_for");
	ok_eq(waited_for(p, here), !shm, "over_shm_the_next_one_is_not");
	cufftSetWorkArea(p, (void *)(area + FAKE_AREA(8)));
	ok_eq(waited_for(p, here), !shm, "nor_with_another_work_area");
	ok_eq(cufftExecC2C(p, NULL, (void *)here, F), CUFFT_INVALID_VALUE,
	      "missing_input_is_refused_at_once");
	ok_eq(cufftExecC2C(p, (void *)data, (void *)here, FAIL), CUFFT_EXEC_FAILED,
	      "failure_of_a_first_execution_is_its_status");
	cufftDestroy(p);
	cuMemFree(area);
}

int main(void)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");

	tap_plan(89);
	test_life();
	data = device(NULL, 4096);
	test_arrays();
	test_state();
	test_reach();
	test_refusals();
	test_routines();
	test_code();
	test_fatbins();
	test_unnamed();
	test_posting(!transport || strcmp(transport, "loopback"));
	return tap_exit();
}
