// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a program which is linked with cuDNN's parts, and not with
 * cuDNN, makes its calls to our libcudnn.so.9. It runs over a library that writes down
 * what it is told.
 */
#define _GNU_SOURCE
#include <cudnn.h>
#include <dlfcn.h>

#include "lib_test.h"

static void same_function(const char *name, const char *what)
{
	void *whole = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
	void *part = dlopen("libcudnn_ops.so.9", RTLD_NOW | RTLD_NOLOAD);

	ok(whole && part && dlsym(whole, name) && dlsym(part, name) &&
	   dlsym(whole, name) != dlsym(part, name), what);
}

static void test_calls(void)
{
	cudnnTensorDescriptor_t tensor;
	cudnnFusedOpsConstParamPack_t pack;
	cudnnRNNDataDescriptor_t data;
	cudnnHandle_t handle;
	int value = 0;

	ok_eq(cudnnGetVersion(), 91234, "function_of_the_graph_part_answers");
	cudnnGetProperty(PATCH_LEVEL, &value);
	ok_eq(value, 34, "another_of_it_too");
	news();
	ok_eq(cudnnCreate(&handle), 0, "handle_is_made");
	told("create 1", "one_library_is_behind_all_parts");
	ok_eq(cudnnCreateTensorDescriptor(&tensor), 0, "function_of_the_operations_part_answers");
	cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 3, 4);
	told("set tensor format=0 type=0 1 2 3 4", "its_arguments_arrive");
	ok_eq(cudnnCreateFusedOpsConstParamPack(&pack,
						CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS),
	      0, "function_of_the_convolutions_part_answers");
	ok_eq(cudnnCreateRNNDataDescriptor(&data), 0, "function_of_the_advanced_part_answers");
	same_function("cudnnSetTensor4dDescriptor", "part_has_a_function_of_its_own_name");
}

static void test_empty(void)
{
	static const char *const names[] = {
		"libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9",
		"libcudnn_engines_runtime_compiled.so.9",
	};
	size_t i;
	int n = 0;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		n += !!dlopen(names[i], RTLD_NOW);
	ok_eq(n, 3, "parts_without_functions_are_found");
}

int main(void)
{
	tap_plan(10);
	test_calls();
	test_empty();
	return tap_exit();
}
