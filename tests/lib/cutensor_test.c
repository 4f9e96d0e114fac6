// SPDX-License-Identifier: Apache-2.0
/* A program of cuTENSOR, over a library that writes down what it is told (fake_cutensor.c). */
#include <cutensor.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib_test.h"

static cutensorHandle_t handle;
static cutensorTensorDescriptor_t a, b, c;
static cutensorPlan_t plan;

/* The last bytes before a page that nobody may read: who reads more than there is dies. */
static void *at_the_end(const void *data, size_t size)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + page, page, PROT_NONE);
	return memcpy(p + page - size, data, size);
}

static cutensorTensorDescriptor_t tensor(uint32_t modes, const int64_t *extent,
					 const int64_t *stride)
{
	cutensorTensorDescriptor_t d = NULL;

	cutensorCreateTensorDescriptor(handle, &d, modes, extent, stride, CUDA_R_64F, 128);
	return d;
}

static void test_tensors(void)
{
	static const int64_t extent[65] = { 3, 4, 5 }, stride[] = { 1, 3 };
	cutensorTensorDescriptor_t none = NULL;

	a = tensor(3, at_the_end(extent, 24), NULL);
	b = tensor(2, extent + 1, NULL);
	c = tensor(2, extent, at_the_end(stride, 16));
	told("tensor 3,4,5 stride=none type=1 align=128|tensor 4,5 stride=none type=1 align=128|"
	     "tensor 3,4 stride=1,3 type=1 align=128", "tensors_have_their_extents_and_strides");
	ok(cutensorCreateTensorDescriptor(handle, &none, 65, extent, NULL, CUDA_R_64F, 128) ==
	   CUTENSOR_STATUS_NOT_SUPPORTED && !none, "more_modes_than_64_are_refused");
	none = tensor(1, extent, NULL);
	ok(!cutensorDestroyTensorDescriptor(none) &&
	   cutensorDestroyTensorDescriptor(none) == CUTENSOR_STATUS_NOT_INITIALIZED,
	   "a_tensor_ends_once");
	news();
}

static cutensorOperationDescriptor_t contraction(void)
{
	static const int32_t modes[] = { 'i', 'j', 'k' };
	cutensorOperationDescriptor_t op = NULL;

	/* Of a all three, of b the last two, of c the first two. */
	cutensorCreateContraction(handle, &op, a, at_the_end(modes, 12), CUTENSOR_OP_IDENTITY, b,
				  at_the_end(modes + 1, 8), CUTENSOR_OP_CONJ, c,
				  at_the_end(modes, 8), CUTENSOR_OP_IDENTITY, c, modes,
				  CUTENSOR_COMPUTE_DESC_64F);
	return op;
}

#define RIGHT	CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT
#define VALUE	CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE

static void test_plans(void)
{
	cutensorOperationDescriptor_t op = contraction();
	cutensorPlanPreference_t pref = NULL;
	int32_t tag = 5, got = 0, padding[3] = { 0, 2, 3 }, many[65] = { 0 };
	const double value = 2.5;
	uint64_t size = 0;

	told("contraction 105,106,107 by 106,107 to 105,106 in 105,106 ops=1,9,1|by 64F",
	     "an_operation_gets_the_modes_of_each_tensor_and_no_more");
	ok(!cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG,
						    &tag, 4) &&
	   !cutensorOperationDescriptorGetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG,
						    &got, 4) && got == 5,
	   "an_attribute_is_set_and_got");
	ok(cutensorOperationDescriptorSetAttribute(handle, op, 99, padding, 12) ==
	   CUTENSOR_STATUS_NOT_SUPPORTED &&
	   cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG,
						   &tag, 8) == CUTENSOR_STATUS_INVALID_VALUE &&
	   cutensorOperationDescriptorSetAttribute(handle, op, RIGHT, many, sizeof(many)) ==
	   CUTENSOR_STATUS_INVALID_VALUE &&
	   cutensorOperationDescriptorSetAttribute(handle, op, VALUE, many, 24) ==
	   CUTENSOR_STATUS_INVALID_VALUE, "unknown_attributes_and_wrong_sizes_are_refused");
	told("set 0 of 4", "and_the_library_hears_nothing_of_it");
	ok(!cutensorOperationDescriptorSetAttribute(handle, op, RIGHT,
						    at_the_end(padding + 1, 8), 8) &&
	   !cutensorOperationDescriptorSetAttribute(handle, op, VALUE, at_the_end(&value, 8), 8),
	   "padding_is_set");
	told("right 2..3|value 2.5", "with_its_numbers_and_its_value");
	cutensorCreatePlanPreference(handle, &pref, CUTENSOR_ALGO_GETT, CUTENSOR_JIT_MODE_NONE);
	ok(!cutensorEstimateWorkspaceSize(handle, op, pref, CUTENSOR_WORKSPACE_MAX, &size) &&
	   size == 4711, "the_size_of_a_workspace_is_estimated");
	ok(!cutensorCreatePlan(handle, &plan, op, pref, 8192) && plan &&
	   !cutensorPlanGetAttribute(handle, plan, CUTENSOR_PLAN_REQUIRED_WORKSPACE, &size, 8) &&
	   size == 4096, "a_plan_is_made_and_says_its_workspace");
	told("estimate algo=-4 3|plan tag=5 algo=-4 limit=8192", "of_what_was_set_before");
	cutensorDestroyOperationDescriptor(op);
	op = NULL;
	ok(cutensorCreatePermutation(handle, &op, c, padding, CUTENSOR_OP_IDENTITY, c, padding,
				     (cutensorComputeDescriptor_t)&tag) && !op, "a_kind_of_computation_that_is_none_is_refused");
}

static void test_runs(void)
{
	CUdeviceptr p = device(NULL, 4096);
	const double alpha = 0.1, beta = 3;
	char want[512];
	CUstream stream;

	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	ok(!cutensorContract(handle, plan, at_the_end(&alpha, 8), (void *)p, (void *)(p + 256),
			     &beta, (void *)(p + 512), (void *)(p + 768), (void *)(p + 1024), 3072,
			     (cudaStream_t)stream), "a_contraction_runs");
	snprintf(want, sizeof(want), "contract 0.1 3 %p %p %p %p work=%p,3072 stream=own", (void *)p,
		 (void *)(p + 256), (void *)(p + 512), (void *)(p + 768), (void *)(p + 1024));
	told(want, "with_factors_of_its_plans_type");
	cutensorContract(handle, plan, &alpha, (void *)want, (void *)p, &beta, (void *)p, (void *)p,
			 NULL, 0, NULL);
	told("", "host_memory_is_none_of_a_tensors");
	ok(cutensorHandleResizePlanCache(handle, 4) == CUTENSOR_STATUS_NOT_SUPPORTED,
	   "what_the_library_lacks_is_not_supported");
	ok(!cutensorDestroyPlan(plan), "a_plan_ends");
	told("end of plan", "in_the_library_too");
	cuStreamDestroy(stream);
	cuMemFree(p);
}

int main(void)
{
	CUdevice dev;
	CUcontext ctx;

	tap_plan(27);
	cuInit(0);
	cuDeviceGet(&dev, 0);
	cuDevicePrimaryCtxRetain(&ctx, dev);
	cuCtxSetCurrent(ctx);
	ok(!cutensorCreate(&handle) && handle, "a_handle_is_made");
	told("create", "once");
	ok(cutensorGetVersion() == 20801 && cutensorGetCudartVersion() == 13002,
	   "versions_are_the_workers");
	told("version", "and_asked_for_once");
	ok(!strcmp(cutensorGetErrorString(CUTENSOR_STATUS_IO_ERROR), "CUTENSOR_STATUS_IO_ERROR") &&
	   !strcmp(cutensorGetErrorString(2), "<unknown>"), "a_status_has_its_name");
	ok(cutensorLoggerSetLevel(1) == CUTENSOR_STATUS_NOT_SUPPORTED, "the_log_is_refused");
	test_tensors();
	test_plans();
	test_runs();
	ok(!cutensorDestroy(handle) && cutensorDestroy(handle) == CUTENSOR_STATUS_NOT_INITIALIZED,
	   "a_handle_ends_once");
	ok(!cutensorDestroy(NULL) && !cutensorDestroyPlan(NULL) &&
	   !cutensorDestroyTensorDescriptor(NULL) && !cutensorDestroyOperationDescriptor(NULL) &&
	   !cutensorDestroyPlanPreference(NULL), "null_has_ended");
	return tap_exit();
}
