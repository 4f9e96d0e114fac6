// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that cuBLAS calls go right through the stub, over a library that
 * writes down what it is told. State travels with the next call and no earlier, scalars
 * follow the pointer mode, and invalid handles do not reach the library.
 */
#include <cublas_v2.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_test.h"

static cublasHandle_t handle;
static const float A[4] = { 1, 2, 3, 4 }, B[4] = { 5, 6, 7, 8 };
static CUdeviceptr a, b, c;

static cublasStatus_t product(const float *alpha, const float *beta)
{
	return cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, alpha, (float *)a, 2,
			(float *)b,
			      2, beta, (float *)c, 2);
}

static int result_is(float f0, float f1, float f2, float f3)
{
	float C[4] = { 0 };

	cuMemcpyDtoH(C, c, sizeof(C));
	if (C[0] == f0 && C[1] == f1 && C[2] == f2 && C[3] == f3)
		return 1;
	diag("expected %g %g %g %g, got %g %g %g %g", f0, f1, f2, f3, C[0], C[1], C[2], C[3]);
	return 0;
}

/* --- The handle --------------------------------------------------------------------- */

static void test_create(void)
{
	CUcontext ctx = NULL;
	int version = 0;

	ok_eq(cublasGetVersion_v2(NULL, &version), 0, "version_needs_no_handle_and_no_context");
	ok_eq(version, 130742, "version_is_the_workers");
	cublasGetVersion_v2(NULL, &version);
	told("property 0|property 1|property 2", "version_is_asked_for_once");
	ok_eq(cublasCreate_v2(&handle), 0, "create_needs_no_call_before_it");
	told("create 1", "one_library_handle_is_made");
	ok(cuCtxGetCurrent(&ctx) == 0 && ctx, "it_makes_the_primary_context_current");
	ok_eq(cublasCreate_v2(NULL), CUBLAS_STATUS_INVALID_VALUE,
			"no_place_for_the_handle_is_invalid");
}

static void test_bad_handles(void)
{
	struct { uint64_t words[16]; } zeros = { { 0 } };
	cublasHandle_t gone;
	float one = 1;

	cublasCreate_v2(&gone);
	ok_eq(cublasDestroy_v2(gone), 0, "destroy_succeeds");
	told("create 2|destroy 2", "destroy_reaches_the_library");
	ok_eq(cublasDestroy_v2(gone), CUBLAS_STATUS_NOT_INITIALIZED, "destroyed_handle_is_refused");
	ok_eq(cublasSscal_v2(gone, 1, &one, (float *)a, 1), CUBLAS_STATUS_NOT_INITIALIZED,
	      "call_on_a_destroyed_handle_is_refused");
	ok_eq(cublasSscal_v2(NULL, 1, &one, (float *)a, 1), CUBLAS_STATUS_NOT_INITIALIZED,
	      "null_handle_is_refused");
	ok_eq(cublasSetStream_v2((cublasHandle_t)&zeros, NULL), CUBLAS_STATUS_NOT_INITIALIZED,
	      "memory_that_is_no_handle_is_refused");
	told("", "none_of_them_reached_the_library");
}

/* --- State ------------------------------------------------------------------------------ */

static void test_state(void)
{
	cublasPointerMode_t mode;
	cublasMath_t math;
	cudaStream_t stream;
	float one = 1, zero = 0;
	CUstream own, got;

	cuStreamCreate(&own, 0);
	cublasSetStream_v2(handle, own);
	cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH);
	cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
	told("", "setting_state_makes_no_call");
	cublasGetStream_v2(handle, &got);
	cublasGetMathMode(handle, &math);
	ok(got == own && math == CUBLAS_TF32_TENSOR_OP_MATH, "state_is_answered_at_once");
	product(&one, &zero);
	told("set_stream own|set_math_mode 3|sgemm handle=1 stream=own mode=0 math=3",
	     "state_travels_with_the_next_call");
	product(&one, &zero);
	told("sgemm handle=1 stream=own mode=0 math=3", "what_did_not_change_is_not_told_again");
	cublasSetWorkspace_v2(handle, (void *)(c & ~255ULL), 4096);
	product(&one, &zero);
	told("set_stream own|set_workspace 1 4096|sgemm handle=1 stream=own mode=0 math=3",
	     "workspace_travels_too");
	cublasSetStream_v2(handle, own);
	product(&one, &zero);
	told("set_stream own|sgemm handle=1 stream=own mode=0 math=3",
			"setting_a_stream_takes_the_workspace_away");
	ok_eq(cublasSetWorkspace_v2(handle, (void *)0x1010, 4096), CUBLAS_STATUS_INVALID_VALUE,
	      "workspace_that_is_not_aligned_is_invalid");
	ok_eq(cublasSetMathMode(handle, 77), CUBLAS_STATUS_INVALID_VALUE,
			"unknown_math_mode_is_invalid");
	ok_eq(cublasSetPointerMode_v2(handle, 2), CUBLAS_STATUS_INVALID_VALUE,
			"unknown_pointer_mode_is_invalid");
	cuStreamDestroy(own);
	ok(product(&one, &zero) != 0, "call_on_a_destroyed_stream_fails");
	told("", "a_destroyed_stream_does_not_reach_the_library");
	cublasSetStream_v2(handle, CU_STREAM_PER_THREAD);
	cublasGetStream_v2(handle, &stream);
	product(&one, &zero);
	ok(stream == CU_STREAM_PER_THREAD &&
	   !strcmp(news(), "set_stream own|sgemm handle=1 stream=own mode=0 math=3"),
	   "per_thread_default_stream_is_a_real_one");
	cublasSetStream_v2(handle, NULL);
	cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
	cublasGetPointerMode_v2(handle, &mode);
	ok_eq(mode, CUBLAS_POINTER_MODE_HOST, "pointer_mode_is_host_at_first");
	product(&one, &zero);
	news();
}

static void test_asked_state(void)
{
	cublasAtomicsMode_t mode = 9;

	ok(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED) == 0 &&
	   cublasGetAtomicsMode(handle, &mode) == 0 && mode == CUBLAS_ATOMICS_ALLOWED,
	   "other_state_is_the_librarys");
}

/* --- Scalars and results ------------------------------------------------------------------- */

static void test_host_mode(void)
{
	float alpha = 2, beta = 0, dot = 0, rot[4] = { 1, 2, 0, 0 };
	double param[5] = { -1, 2, 3, 4, 5 }, ea = 0.25, eb = 7;
	int info = 0;

	ok(product(&alpha, &beta) == 0 && result_is(46, 68, 62, 92), "sgemm_computes");
	beta = -1;
	ok(product(&alpha, &beta) == 0 && result_is(0, 0, 0, 0), "beta_counts");
	ok_eq(product(NULL, &beta), CUBLAS_STATUS_INVALID_VALUE,
			"null_scalar_is_null_for_the_library");
	ok(cublasSdot_v2(handle, 4, (float *)a, 1, (float *)b, 1, &dot) == 0 && dot == 70,
	   "result_returns_to_host_memory");
	ok(cublasSrotg_v2(handle, &rot[0], &rot[1], &rot[2], &rot[3]) == 0 && rot[0] == 101 &&
	   rot[1] == 102 && rot[2] == 2 && rot[3] == 3, "scalars_that_change_go_both_ways");
	news();
	cublasDrotm_v2(handle, 1, (double *)a, 1, (double *)b, 1, param);
	told("drotm handle=1 stream=0 mode=0 math=0|param -1 2 3 4 5",
			"parameter_of_five_numbers_arrives_whole");
	ok_eq(cublasGemmEx(handle, 0, 0, 1, 1, 1, &ea, (void *)a, CUDA_R_64F, 1, (void *)b,
			CUDA_R_64F, 1, &eb,
			   (void *)c, CUDA_R_64F, 1, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT), 0,
			   "gemm_ex_succeeds");
	told("gemm_ex handle=1 stream=0 mode=0 math=0|scalars 0.25 7",
			"scalars_have_the_compute_types_size");
	ok_eq(cublasGemmEx(handle, 0, 0, 1, 1, 1, &ea, (void *)a, CUDA_R_64F, 1, (void *)b,
			CUDA_R_64F, 1, &eb,
			   (void *)c, CUDA_R_64F, 1, 4711, CUBLAS_GEMM_DEFAULT),
			   CUBLAS_STATUS_NOT_SUPPORTED,
	      "unknown_compute_type_is_the_librarys_to_refuse");
	ok(cublasSgetrsBatched(handle, 0, 3, 1, NULL, 1, NULL, NULL, 1, &info,
			1) == 0 && info == -3,
	   "info_is_host_memory");
	news();
}

static void test_device_mode(void)
{
	float scalars[2] = { 3, 0 }, out = 0;
	CUdeviceptr s = device(scalars, sizeof(scalars)), r = device(NULL, 4);
	int info = 0;

	cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE);
	ok(product((float *)s, (float *)(s + 4)) == 0 && result_is(69, 102, 93, 138),
	   "scalars_in_device_memory_are_read_there");
	told("set_pointer_mode 1|sgemm handle=1 stream=0 mode=1 math=0", "pointer_mode_travels");
	ok_eq(cublasSdot_v2(handle, 4, (float *)a, 1, (float *)b, 1, (float *)r), 0,
			"dot_into_device_memory_succeeds");
	cuMemcpyDtoH(&out, r, 4);
	ok(out == 70, "result_is_written_to_device_memory");
	ok_eq(product(NULL, (float *)s), CUBLAS_STATUS_INVALID_VALUE,
			"null_is_null_in_device_mode");
	ok(cublasSgetrsBatched(handle, 0, 4, 1, NULL, 1, NULL, NULL, 1, &info,
			1) == 0 && info == -4,
	   "info_is_host_memory_in_device_mode_too");
	cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
	news();
}

/* --- Groups, copies, refusals ---------------------------------------------------- */

#define MANY	600

static void test_groups(void)
{
	static int op[MANY], one[MANY], size[MANY];
	static float alpha[MANY], beta[MANY], got[2 * MANY];
	static CUdeviceptr pa[2 * MANY], pc[2 * MANY];
	CUdeviceptr out = device(NULL, sizeof(got)), A_, C_;
	int i, right = 1;

	for (i = 0; i < MANY; i++) {
		one[i] = 1;
		size[i] = 2;
		alpha[i] = i;
	}
	for (i = 0; i < 2 * MANY; i++) {
		pa[i] = a + 4 * (i % 4);
		pc[i] = out + 4 * i;
	}
	A_ = device(pa, sizeof(pa));
	C_ = device(pc, sizeof(pc));
	ok_eq(cublasSgemmGroupedBatched(handle, (void *)op, (void *)op, one, one, one, alpha,
			(void *)A_, one,
					(void *)A_, one, beta, (void *)C_, one, MANY, size), 0,
	      "more_groups_than_a_message_holds_succeed");
	cuMemcpyDtoH(got, out, sizeof(got));
	for (i = 0; i < 2 * MANY; i++)
		right &= got[i] == (i / 2) * A[i % 4] * A[i % 4];
	ok(right, "each_group_has_its_own_scalars_and_matrices");
	news();
}

static void test_copies(void)
{
	float host[6] = { 1, 2, 3, 4, 5, 6 }, back[6] = { 0 };
	CUdeviceptr d = device(back, sizeof(back));

	ok(cublasSetMatrix(2, 2, 4, host, 3, (void *)d, 2) == 0 && cuMemcpyDtoH(back, d, 16) == 0 &&
	   back[0] == 1 && back[1] == 2 && back[2] == 4 && back[3] == 5,
	   "set_matrix_skips_what_is_between_columns");
	ok(cublasGetMatrix(2, 2, 4, (void *)d, 2, back, 3) == 0 && back[3] == 4 && back[4] == 5,
	   "get_matrix_spreads_columns");
	ok(cublasSetVector(3, 4, host, 2, (void *)d, 1) == 0 && cuMemcpyDtoH(back, d, 12) == 0 &&
	   back[0] == 1 && back[1] == 3 && back[2] == 5, "set_vector_takes_strides");
	ok(cublasGetVector_64(3, 4, (void *)d, 1, back,
			2) == 0 && back[0] == 1 && back[2] == 3 && back[4] == 5,
	   "get_vector_takes_strides");
	ok(cublasSetVectorAsync(6, 4, host, 1, (void *)d, 1, NULL) == 0 &&
	   cublasGetVectorAsync(6, 4, (void *)d, 1, back, 1,
	   NULL) == 0 && cuStreamSynchronize(NULL) == 0 && !memcmp(host, back, sizeof(host)),
	   "asynchronous_copies_arrive");
	ok_eq(cublasSetVector(1, 0, host, 1, (void *)d, 1), CUBLAS_STATUS_INVALID_VALUE,
			"no_element_size_is_invalid");
	ok_eq(cublasSetVector(0, 4, NULL, 1, NULL, 1), 0, "copy_of_nothing_succeeds");
	told("", "copies_are_the_drivers");
}

static void test_refusals(void)
{
	float one = 1;

	ok_eq(cublasSscal_v2(handle, 1, &one, (float *)a, 1), CUBLAS_STATUS_NOT_SUPPORTED,
	      "function_that_the_library_lacks_is_not_supported");
	ok_eq(cublasLoggerConfigure(1, 1, 0, NULL), CUBLAS_STATUS_NOT_SUPPORTED,
			"refused_function_says_so");
	ok(!strcmp(cublasGetStatusName(CUBLAS_STATUS_ARCH_MISMATCH),
			"CUBLAS_STATUS_ARCH_MISMATCH") &&
	   !strcmp(cublasGetStatusName(99), "unrecognized status"), "statuses_have_names");
}

/* --- Threads ------------------------------------------------------------------- */

static void *worker(void *arg)
{
	float alpha = (float)(size_t)arg, beta = 0, got[4];
	CUdeviceptr out = 0;
	cublasHandle_t h;
	size_t i, bad = 0;

	/* No context is current in a new thread: the first call takes care of it. */
	if (cublasCreate_v2(&h))
		return (void *)1;
	out = device(NULL, sizeof(got));
	for (i = 0; i < 200; i++) {
		bad += cublasSgemm_v2(h, 0, 0, 2, 2, 2, &alpha, (float *)a, 2, (float *)b, 2, &beta,
				      (float *)out, 2) != 0;
		cuMemcpyDtoH(got, out, sizeof(got));
		bad += got[0] != 23 * alpha || got[3] != 46 * alpha;
	}
	bad += cublasDestroy_v2(h) != 0;
	return (void *)bad;
}

static void test_threads(void)
{
	pthread_t t[4];
	size_t i, bad = 0;
	void *one;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &one);
		bad += (size_t)one;
	}
	ok_eq(bad, 0, "threads_with_handles_of_their_own_do_not_disturb_each_other");
}

/* Runs in the child of a fork, where the library is opened in another worker. */
static int works_in_child(void)
{
	const float one = 1, zero = 0;
	float got[4];

	if (cublasCreate_v2(&handle))
		return 1;
	a = device(A, sizeof(A));
	b = device(B, sizeof(B));
	c = device(NULL, sizeof(got));
	if (product(&one, &zero) || cuMemcpyDtoH(got, c, sizeof(got)))
		return 2;
	return got[0] != 23 || got[3] != 46;
}

static void test_fork(void)
{
	const float one = 1, zero = 0;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(works_in_child());
	waitpid(pid, &status, 0);
	ok_eq(status, 0, "child_of_a_fork_has_handles_of_its_own");
	ok(!product(&one, &zero) && result_is(23, 34, 31, 46),
	   "those_of_its_parent_stay_usable");
}

int main(void)
{
	tap_plan(61);
	test_create();
	a = device(A, sizeof(A));
	b = device(B, sizeof(B));
	c = device(NULL, 4096);
	test_bad_handles();
	test_state();
	test_asked_state();
	test_host_mode();
	test_device_mode();
	test_groups();
	test_copies();
	test_refusals();
	test_threads();
	test_fork();
	ok_eq(cublasDestroy_v2(handle), 0, "last_handle_ends");
	return tap_exit();
}
