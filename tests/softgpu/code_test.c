// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that modules and libraries keep their variables apart, the best text
 * of an image is taken, errors of a text are told, and nothing leaks. It needs no
 * hardware.
 */
#include <cuda.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define HEAD(target) ".version 8.1\n.target " target "\n.address_size 64\n"
/* A kernel that adds @n to a variable that starts as @start. */
#define COUNTS(start, n) \
	".visible .global .align 4 .u32 counter = " start ";\n" \
	".visible .global .align 4 .b8 room[100000];\n" \
	".visible .entry k()\n{ .reg .u32 %v;\n" \
	"ld.global.u32 %v, [counter]; add.u32 %v, %v, " n ";\n" \
	"st.global.u32 [counter], %v; ret; }\n"

static const char counts[] = HEAD("sm_70") COUNTS("5", "1");

static size_t free_now(void)
{
	size_t free = 0;

	cuMemGetInfo(&free, NULL);
	return free;
}

static int counter_of(CUmodule mod)
{
	CUdeviceptr p;
	int v = -1;

	if (cuModuleGetGlobal(&p, NULL, mod, "counter") ||
	    cuMemcpyDtoH(&v, p, 4))
		return -1;
	return v;
}

static CUresult launch(void *f)
{
	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void modules(void)
{
	size_t before = free_now();
	CUmodule a, b;
	CUfunction f;

	cuModuleLoadData(&a, counts);
	cuModuleLoadData(&b, counts);
	ok_eq(counter_of(a), 5, "variables_start_as_the_text_says");
	cuModuleGetFunction(&f, a, "k");
	ok_eq(launch(f), CUDA_SUCCESS, "a_kernel_runs");
	ok_eq(counter_of(a), 6, "it_changes_the_variable");
	ok_eq(counter_of(b), 5, "not_that_of_another_module");
	cuModuleUnload(a);
	cuModuleUnload(b);
	ok_eq(free_now(), before, "unloading_gives_the_memory_back");
}

static int library_counter(CUlibrary lib)
{
	CUdeviceptr p;
	int v = -1;

	if (cuLibraryGetGlobal(&p, NULL, lib, "counter") ||
	    cuMemcpyDtoH(&v, p, 4))
		return -1;
	return v;
}

static CUcontext context_of(CUlibrary lib)
{
	CUcontext ctx = NULL;
	CUdeviceptr p;

	cuLibraryGetGlobal(&p, NULL, lib, "counter");
	cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, p);
	return ctx;
}

static void libraries(CUcontext mine)
{
	size_t before = free_now();
	CUcontext other;
	CUlibrary lib;
	CUkernel k;
	CUfunction f, g;

	cuLibraryLoadData(&lib, counts, NULL, NULL, 0, NULL, NULL, 0);
	cuLibraryGetKernel(&k, lib, "k");
	ok(context_of(lib) == mine, "the_variables_of_a_library_belong_to_the_context");
	launch(k);
	launch(k);
	ok_eq(library_counter(lib), 7, "a_kernel_can_be_launched_as_such");
	cuKernelGetFunction(&f, k);
	cuCtxCreate(&other, NULL, 0, 0);
	cuKernelGetFunction(&g, k);
	ok(f != g, "each_context_has_a_function_of_its_own");
	launch(k);
	ok_eq(library_counter(lib), 6, "and_variables_of_its_own");
	ok_eq(launch(f), CUDA_ERROR_INVALID_HANDLE,
	      "the_function_of_another_context_is_refused");
	cuCtxDestroy(other);
	ok_eq(library_counter(lib), 7, "those_of_the_first_stay");
	cuDevicePrimaryCtxReset(0);
	cuDevicePrimaryCtxRetain(&mine, 0);
	ok_eq(library_counter(lib), 5, "after_a_reset_they_start_anew");
	ok_eq(launch(k), CUDA_SUCCESS, "kernels_outlive_a_reset");
	cuLibraryUnload(lib);
	ok_eq(free_now(), before, "unloading_a_library_gives_the_memory_back");
}

/* Returns a fatbin of plain PTX entries. */
static const void *fatbin_of(const char *const *texts, const uint32_t *sm, int n)
{
	static char room[1 << 16];
	size_t at = 16;

	memset(room, 0, sizeof(room));
	for (int i = 0; i < n; i++) {
		uint64_t size = (strlen(texts[i]) + 8) & ~7ul;
		uint16_t kind = 1;
		uint32_t head = 0x50;

		memcpy(room + at, &kind, 2);
		memcpy(room + at + 4, &head, 4);
		memcpy(room + at + 8, &size, 8);
		memcpy(room + at + 0x1c, &sm[i], 4);
		memcpy(room + at + head, texts[i], strlen(texts[i]));
		at += head + size;
	}
	memcpy(room, "\x50\xed\x55\xba\x01\x00\x10\x00", 8);
	at -= 16;
	memcpy(room + 8, &at, 8);
	return room;
}

static int counter_in(const char *const *texts, const uint32_t *sm, int n)
{
	CUmodule mod;
	CUresult rc = cuModuleLoadData(&mod, fatbin_of(texts, sm, n));
	int v;

	if (rc)
		return -(int)rc;
	v = counter_of(mod);
	cuModuleUnload(mod);
	return v;
}

static void choice(void)
{
	static const char *const texts[] = {
		HEAD("sm_75") COUNTS("75", "1"), HEAD("sm_90") COUNTS("90", "1"),
		HEAD("sm_80") COUNTS("80", "1"),
	};
	static const char *const newest_odd[] = {
		HEAD("sm_75") COUNTS("75", "1"),
		HEAD("sm_90") ".visible .entry k() { frobnicate.u32 %r1; }\n",
	};
	static const uint32_t sm[] = { 75, 90, 80 }, high[] = { 100, 120, 121 };

	ok_eq(counter_in(texts, sm, 3), 90, "the_newest_text_is_taken");
	ok_eq(counter_in(texts, sm, 1), 75, "an_older_one_if_there_is_no_other");
	ok_eq(counter_in(newest_odd, sm, 2), 75,
	      "an_older_one_if_the_newest_does_not_load");
	ok_eq(counter_in(texts, high, 3), -CUDA_ERROR_NO_BINARY_FOR_GPU,
	      "texts_for_newer_devices_only_are_refused");
}

static void errors(void)
{
	static const char odd[] = HEAD("sm_70")
		".visible .entry k()\n{\nfrobnicate.u32 %r1;\nret; }\n";
	static const char huge[] = HEAD("sm_70")
		".visible .global .align 4 .b8 room[4000000000];\n";
	char log[256] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
				   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof(log) };
	size_t before = free_now();
	CUlibrary lib;
	CUmodule mod;

	ok_eq(cuModuleLoadDataEx(&mod, odd, 2, options, values),
	      CUDA_ERROR_INVALID_PTX, "an_unknown_instruction_is_refused");
	diag("%s", log);
	ok(strstr(log, "frobnicate") && strstr(log, "6"),
	   "the_log_names_it_and_its_line");
	ok_eq(cuLibraryLoadData(&lib, odd, NULL, NULL, 0, NULL, NULL, 0),
	      CUDA_ERROR_INVALID_PTX, "a_library_is_refused_when_it_is_loaded");
	ok_eq(cuModuleLoadData(&mod, huge), CUDA_ERROR_OUT_OF_MEMORY,
	      "a_variable_larger_than_the_device_is_out_of_memory");
	ok_eq(free_now(), before, "a_refused_load_leaves_nothing_behind");
}

/* Runs a kernel with as many bytes of parameters as are allowed, all summed up. */
static void wide(void)
{
	enum { N = 4095 };	/* 8 bytes each, and 4 for the last */
	static const char text[] = HEAD("sm_70")
		".visible .entry k(.param .u64 p, .param .align 8 .b8 a[32752],"
		" .param .u32 last)\n{\n"
		".reg .u64 %a, %s, %v, %p; .reg .u32 %i, %l; .reg .pred %q;\n"
		"mov.u64 %s, 0; mov.u32 %i, 0; mov.u64 %p, a;\n"
		"next: ld.param.u64 %v, [%p]; add.u64 %s, %s, %v;\n"
		"add.u64 %p, %p, 8; add.u32 %i, %i, 1;\n"
		"setp.lt.u32 %q, %i, 4094; @%q bra next;\n"
		"ld.param.u32 %l, [last]; cvt.u64.u32 %v, %l;\n"
		"add.u64 %s, %s, %v; ld.param.u64 %a, [p];\n"
		"st.global.u64 [%a], %s; ret; }\n";
	static uint64_t values[N];
	uint64_t sum = 0, out = 0;
	unsigned int last = 0x12345678;
	void *params[3];
	CUdeviceptr p = 0;
	CUmodule mod;
	CUfunction f;

	cuMemAlloc(&p, 8);
	for (int i = 0; i < N - 1; i++)
		sum += values[i] = i * 0x100000001ull;
	params[0] = &p;
	params[1] = values;
	params[2] = &last;
	ok_eq(cuModuleLoadData(&mod, text), CUDA_SUCCESS,
	      "a_kernel_may_have_32764_bytes_of_parameters");
	ok(!cuModuleGetFunction(&f, mod, "k") &&
	   !cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
	   "it_takes_them");
	cuMemcpyDtoH(&out, p, 8);
	ok_eq(out, sum + last, "each_of_them_arrives");
	cuMemFree(p);
}

int main(void)
{
	CUcontext ctx;

	tap_plan(26);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	modules();
	libraries(ctx);
	choice();
	errors();
	wide();
	return tap_exit();
}
