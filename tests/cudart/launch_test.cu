// SPDX-License-Identifier: Apache-2.0
// The test promises launches: configuration, parameters of any shape, errors, and the questions
// that programs ask about kernels. It needs nvcc and any CUDA device.
#include <cooperative_groups.h>
#include "common.h"

struct mixed {
	char c;
	double d;
	short s[3];
};

__global__ void shape(unsigned int *out)
{
	if (!threadIdx.x && !threadIdx.y && !threadIdx.z && !blockIdx.x && !blockIdx.y &&
		!blockIdx.z) {
		out[0] = gridDim.x * 10000 + gridDim.y * 100 + gridDim.z;
		out[1] = blockDim.x * 10000 + blockDim.y * 100 + blockDim.z;
	}
}

__global__ void params(char a, mixed m, long long b, float c, double *out)
{
	out[0] = a + m.c + m.d + m.s[2] + b + c;
}

__global__ void dynamic_shared(int *out)
{
	extern __shared__ int s[];

	s[threadIdx.x] = threadIdx.x * 3;
	__syncthreads();
	out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

template <typename T>
__global__ void fill(T *out, T value)
{
	out[threadIdx.x] = value;
}

__global__ void grid_sum(int *out)
{
	cooperative_groups::grid_group g = cooperative_groups::this_grid();

	out[blockIdx.x] = blockIdx.x + 1;
	g.sync();
	if (!blockIdx.x)
		for (unsigned int i = 1; i < gridDim.x; i++)
			out[0] += out[i];
}

static int nested(int *dev)
{
	fill<int><<<1, 1>>>(dev, 7);
	return 5;
}

static void test_configuration(unsigned int *dev)
{
	unsigned int host[2] = {};
	int value = 0;

	shape<<<dim3(3, 2, 4), dim3(5, 6, 2)>>>(dev);
	NEED(cudaGetLastError());
	NEED(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
	ok(host[0] == 30204 && host[1] == 50602, "all_six_launch_dimensions_arrive");

	fill<int><<<1, 1>>>((int *)dev + 1, nested((int *)dev));
	NEED(cudaMemcpy(host, dev, sizeof(host), cudaMemcpyDeviceToHost));
	ok(host[0] == 7 && host[1] == 5,
	   "a_launch_inside_a_launch_argument_keeps_both_configurations");

	dynamic_shared<<<1, 64, 64 * sizeof(int)>>>((int *)dev);
	NEED(cudaGetLastError());
	NEED(cudaMemcpy(&value, (int *)dev + 10, sizeof(value), cudaMemcpyDeviceToHost));
	ok_eq(value, (63 - 10) * 3, "dynamic_shared_memory_has_the_asked_size");
}

static void test_parameters(void *dev)
{
	mixed m = { 2, 0.5, { 0, 0, 300 } };
	float value = 2.5f, got[4] = {}, *fdev = (float *)dev;
	double out = 0;
	void *args[] = { &fdev, &value };
	cudaLaunchConfig_t config = {};
	cudaKernel_t kernel = NULL;

	params<<<1, 1>>>(1, m, 1LL << 40, 0.25f, (double *)dev);
	NEED(cudaMemcpy(&out, dev, sizeof(out), cudaMemcpyDeviceToHost));
	ok(out == 1 + 2 + 0.5 + 300 + (double)(1LL << 40) + 0.25,
	   "parameters_of_all_sizes_arrive_aligned");

	NEED(cudaLaunchKernel((const void *)fill<float>, dim3(1), dim3(4), args, 0, 0));
	NEED(cudaMemcpy(got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	ok(got[0] == 2.5f && got[3] == 2.5f, "cudaLaunchKernel_runs_a_template_instance");

	value = 8.0f;
	config.gridDim = dim3(1);
	config.blockDim = dim3(4);
	NEED(cudaLaunchKernelExC(&config, (const void *)fill<float>, args));
	NEED(cudaMemcpy(got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	ok(got[2] == 8.0f, "cudaLaunchKernelExC_runs_a_kernel");

	value = 9.0f;
	NEED(cudaGetKernel(&kernel, (const void *)fill<float>));
	NEED(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(4), args, 0, 0));
	NEED(cudaMemcpy(got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	ok(got[1] == 9.0f, "a_kernel_handle_can_be_launched_like_a_function");
}

static void test_cooperative(int *dev)
{
	void *args[] = { &dev };
	int supported = 0, sum = 0;

	NEED(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
	if (!supported)
		return skip("a_cooperative_grid_synchronises", "the device cannot");
	NEED(cudaLaunchCooperativeKernel((const void *)grid_sum, dim3(4), dim3(1), args, 0, 0));
	NEED(cudaMemcpy(&sum, dev, sizeof(sum), cudaMemcpyDeviceToHost));
	ok_eq(sum, 10, "a_cooperative_grid_synchronises");
}

static void test_errors(int *dev)
{
	static int not_a_kernel;
	void *args[] = { &dev };

	fill<int><<<1, 4096>>>(dev, 1);
	ok_err(cudaPeekAtLastError(), cudaErrorInvalidValue,
	       "too_many_threads_per_block_is_an_invalid_value");
	ok_err(cudaGetLastError(), cudaErrorInvalidValue, "peeking_keeps_the_last_error");
	ok_err(cudaGetLastError(), cudaSuccess, "getting_clears_the_last_error");
	fill<int><<<0, 32>>>(dev, 1);
	ok_err(cudaGetLastError(), cudaErrorInvalidValue, "an_empty_grid_is_an_invalid_value");
	fill<int><<<1, 1, 1 << 20>>>(dev, 1);
	ok(cudaGetLastError() != cudaSuccess, "too_much_shared_memory_is_an_error");
	fill<int><<<1, 1>>>(dev, 42);
	ok_err(cudaDeviceSynchronize(), cudaSuccess, "a_wrong_configuration_is_not_sticky");
	ok_err(cudaLaunchKernel(&not_a_kernel, dim3(1), dim3(1), args, 0, 0),
	       cudaErrorInvalidResourceHandle,
	       "launching_what_is_no_kernel_fails");
	clear_error();
}

static void test_questions(void)
{
	cudaFuncAttributes attr = {};
	size_t offset = 0, size = 0;
	int blocks = 0, grid = 0, block = 0;
	const char *name = NULL;

	NEED(cudaFuncGetAttributes(&attr, params));
	ok(attr.maxThreadsPerBlock >= 32 && attr.binaryVersion >= 50 && attr.ptxVersion >= 50,
	   "attributes_of_a_kernel_are_plausible");
	ok_err(cudaFuncGetAttributes(&attr, (const void *)nested), cudaErrorInvalidResourceHandle,
	       "attributes_of_what_is_no_kernel_are_refused");
	clear_error();
	NEED(cudaFuncGetParamInfo((const void *)params, 2, &offset, &size));
	ok(offset == 32 && size == 8, "the_layout_of_parameters_can_be_asked");
	NEED(cudaFuncGetName(&name, (const void *)params));
	ok(strstr(name, "params") != NULL, "the_name_of_a_kernel_can_be_asked");
	NEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, params, 128, 0));
	ok(blocks >= 1, "occupancy_is_at_least_one_block");
	NEED(cudaOccupancyMaxPotentialBlockSize(&grid, &block, params, 0, 0));
	ok(grid >= 1 && block >= 32, "the_best_block_size_can_be_asked");
	ok_err(cudaFuncSetAttribute(params, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024),
	       cudaSuccess,
	       "dynamic_shared_memory_can_be_allowed");
}

int main()
{
	void *dev;

	tap_plan(22);
	NEED(cudaMalloc(&dev, 4096));
	test_configuration((unsigned int *)dev);
	test_parameters(dev);
	test_cooperative((int *)dev);
	test_errors((int *)dev);
	test_questions();
	NEED(cudaFree(dev));
	return tap_exit();
}
