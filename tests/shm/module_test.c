// SPDX-License-Identifier: Apache-2.0
/* The test promises modules, libraries and kernels: loading in each form, parameters, launches. */
#include "driver_test.h"

#define N	1000

/* Computes y[i] = a * x[i] + b + c, with parameters of four sizes and a hole between them. */
static const char ptx[] =
".version 8.0\n.target sm_70\n.address_size 64\n"
".global .align 4 .u32 counter = 5;\n"
".visible .entry saxpy(.param .u64 x, .param .f32 a, .param .u64 y, .param .u32 n,\n"
"                      .param .u16 b, .param .u8 c)\n{\n"
".reg .pred %p<2>;\n.reg .b16 %h<3>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .f32 %f<8>;\n"
"ld.param.u64 %d1, [x];\nld.param.f32 %f1, [a];\nld.param.u64 %d2, [y];\nld.param.u32 %r1, [n];\n"
"ld.param.u16 %h1, [b];\nld.param.u8 %h2, [c];\n"
"mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n"
"setp.ge.u32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"
"mul.wide.u32 %d3, %r5, 4;\nadd.s64 %d4, %d1, %d3;\nadd.s64 %d5, %d2, %d3;\n"
"ld.global.f32 %f2, [%d4];\nmul.f32 %f3, %f1, %f2;\n"
"cvt.rn.f32.u16 %f4, %h1;\ncvt.rn.f32.u16 %f5, %h2;\nadd.f32 %f6, %f3, %f4;\nadd.f32 %f7, %f6, %f5;\n"
"st.global.f32 [%d5], %f7;\nDONE:\nret;\n}\n"
".visible .entry nothing()\n{\nret;\n}\n";

struct job {
	CUdeviceptr x, y;
	float a;
	unsigned int n;
	unsigned short b;
	unsigned char c;
};

static void prepare(struct job *j)
{
	float h[N];
	int i;

	for (i = 0; i < N; i++)
		h[i] = i;
	cuMemAlloc(&j->x, sizeof(h));
	cuMemAlloc(&j->y, sizeof(h));
	cuMemcpyHtoD(j->x, h, sizeof(h));
	cuMemsetD32(j->y, 0, N);
	j->n = N;
}

/* Is y what the kernel should have made of x? */
static int correct(const struct job *j)
{
	float h[N];
	int i, bad = 0;

	if (cuMemcpyDtoH(h, j->y, sizeof(h)))
		return 0;
	for (i = 0; i < N; i++)
		bad += h[i] != j->a * i + j->b + j->c;
	cuMemsetD32(j->y, 0, N);
	return !bad;
}

static CUresult launch(CUfunction f, struct job *j)
{
	void *args[] = { &j->x, &j->a, &j->y, &j->n, &j->b, &j->c };

	return cuLaunchKernel(f, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, args, NULL);
}

static void test_launches(CUfunction f, struct job *j)
{
	void *args[] = { &j->x, &j->a, &j->y, &j->n, &j->b, &j->c };
	struct __attribute__((packed)) {
		CUdeviceptr x; float a; int hole; CUdeviceptr y; unsigned int n;
		unsigned short b; unsigned char c;
	} buf;
	size_t size = sizeof(buf);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	CUlaunchConfig k = { .gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128,
			     .blockDimY = 1, .blockDimZ = 1 };

	ok(launch(f, j) == 0 && correct(j), "parameters_of_each_size_arrive");
	j->a = -2;
	ok(launch(f, j) == 0 && correct(j), "second_launch_takes_new_parameters");
	buf.x = j->x; buf.a = j->a; buf.y = j->y; buf.n = j->n; buf.b = j->b; buf.c = j->c;
	ok(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra) == 0 && correct(j),
	   "parameters_may_come_as_one_buffer");
	ok_eq(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, NULL, args, extra), CUDA_ERROR_INVALID_VALUE,
	      "both_forms_at_once_are_refused");
	ok(cuLaunchKernelEx(&k, f, args, NULL) == 0 && correct(j), "launch_by_configuration_works");
	ok_eq(cuLaunchKernel(f, 1, 1, 1, 4096, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE,
	      "too_many_threads_are_refused");
	ok_eq(cuLaunchKernel((CUfunction)0x1234, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL),
	      CUDA_ERROR_INVALID_HANDLE, "forged_function_is_refused");
}

static void test_module(struct job *j)
{
	CUfunction f = NULL, g = NULL;
	CUmodule m, again;
	CUdeviceptr counter;
	const char *name = NULL;
	size_t size = 0, offset;
	unsigned int v = 0;

	ok_eq(cuModuleLoadData(&m, ptx), 0, "ptx_is_loaded");
	ok(cuModuleGetFunction(&f, m, "saxpy") == 0 && f, "function_is_found");
	ok_eq(cuModuleGetFunction(&g, m, "no_such_kernel"), CUDA_ERROR_NOT_FOUND, "unknown_function_is_not_found");
	ok(cuFuncGetName(&name, f) == 0 && name && !strcmp(name, "saxpy"), "function_knows_its_name");
	ok(cuFuncGetParamInfo(f, 2, &offset, &size) == 0 && offset == 16 && size == 8, "parameter_layout_is_known");
	ok(cuModuleGetGlobal(&counter, &size, m, "counter") == 0 && size == 4 &&
	   cuMemcpyDtoH(&v, counter, 4) == 0 && v == 5, "global_variable_is_found");
	ok(cuMemcpy((CUdeviceptr)&v, counter, 4) == 0 && v == 5, "unified_copy_knows_global_variables");
	test_launches(f, j);
	cuModuleGetFunction(&g, m, "nothing");
	ok_eq(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0, "kernel_without_parameters_is_launched");
	ok_eq(cuModuleUnload(m), 0, "module_is_unloaded");
	ok_eq(launch(f, j), CUDA_ERROR_INVALID_HANDLE, "function_ends_with_its_module");
	cuModuleLoadData(&again, ptx);
	ok(cuModuleGetFunction(&g, again, "saxpy") == 0 && launch(g, j) == 0 && correct(j),
	   "module_can_be_loaded_again");
	cuModuleUnload(again);
}

static void test_library(struct job *j)
{
	CUlibrary lib;
	CUkernel k = NULL;
	CUfunction f = NULL;
	void *host;

	ok(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0) == 0 &&
	   cuLibraryGetKernel(&k, lib, "saxpy") == 0, "library_is_loaded");
	ok(launch((CUfunction)k, j) == 0 && correct(j), "kernel_is_launched_without_a_function");
	ok(cuKernelGetFunction(&f, k) == 0 && launch(f, j) == 0 && correct(j), "function_of_a_kernel_is_launched");
	ok_eq(cuLibraryGetUnifiedFunction(&host, lib, "saxpy"), CUDA_ERROR_NOT_FOUND,
	      "a_library_has_no_functions_for_the_host");
	cuLibraryUnload(lib);
	ok_eq(cuLibraryGetUnifiedFunction(&host, lib, "saxpy"), CUDA_ERROR_INVALID_HANDLE,
	      "nor_is_one_that_is_gone_asked_for_them");
}

static void test_bad_images(void)
{
	char log[512] = "";
	CUjit_option key[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *value[] = { log, (void *)sizeof(log) };
	CUmodule m;

	ok_eq(cuModuleLoadData(&m, "\x7f\x7f\x7f junk"), CUDA_ERROR_INVALID_IMAGE, "junk_is_no_image");
	ok(cuModuleLoadDataEx(&m, ".version 8.0\n.target sm_70\n.entry x { nonsense; }\n", 2, key, value) != 0 &&
	   log[0], "error_log_of_a_bad_image_arrives");
	ok_eq(cuModuleLoad(&m, "/nonexistent/image"), CUDA_ERROR_FILE_NOT_FOUND, "missing_file_is_not_found");
}

int main(void)
{
	struct job j = { .a = 3, .b = 1000, .c = 200 };

	tap_plan(26);
	begin();
	prepare(&j);
	test_module(&j);
	test_library(&j);
	test_bad_images();
	cuMemFree(j.x);
	cuMemFree(j.y);
	return tap_exit();
}
