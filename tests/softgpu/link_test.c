// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that texts which refer to each other become one program, by the
 * wrapper of separate compilation and by cuLink alike. It needs no hardware; the part
 * with nvcc's own output is skipped where nvcc was missing at build time.
 */
#include <cuda.h>
#include <libgen.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* Both parts have a private "local", a private "helper" and a weak "both". */
static const char main_part[] = HEAD
	".extern .func (.param .b32 r) twice(.param .b32 x);\n"
	".extern .global .align 4 .u32 base;\n"
	".global .align 4 .u32 local = 1000;\n"
	".weak .global .align 4 .u32 both = 7;\n"
	".func (.param .b32 r) helper(.param .b32 x)\n{ // local\n"
	".reg .b32 %v, %l; ld.param.b32 %v, [x]; ld.global.u32 %l, [local];\n"
	"add.s32 %v, %v, %l; st.param.b32 [r], %v; ret; }\n"
	".visible .entry k(.param .u64 p)\n{\n"
	".reg .b32 %v, %b; .reg .b64 %a; ld.param.u64 %a, [p];\n"
	"mov.u32 %v, 21;\n"
	"{ .param .b32 r1; .param .b32 a1; st.param.b32 [a1], %v;\n"
	"call.uni (r1), twice, (a1); ld.param.b32 %v, [r1]; }\n"
	"{ .param .b32 r2; .param .b32 a2; st.param.b32 [a2], %v;\n"
	"call.uni (r2), helper, (a2); ld.param.b32 %v, [r2]; }\n"
	"ld.global.u32 %b, [base]; add.s32 %v, %v, %b;\n"
	"ld.global.u32 %b, [both]; add.s32 %v, %v, %b;\n"
	"st.global.u32 [%a], %v; ret; }\n";

static const char other_part[] = HEAD
	"/* the definitions */\n"
	".visible .global .align 4 .u32 base = 50000;\n"
	".global .align 4 .u32 local = 2;\n"
	".weak .global .align 4 .u32 both = 900000;\n"
	".func (.param .b32 r) helper(.param .b32 x)\n{\n"
	".reg .b32 %v, %l; ld.param.b32 %v, [x]; ld.global.u32 %l, [local];\n"
	"mul.lo.s32 %v, %v, %l; st.param.b32 [r], %v; ret; }\n"
	".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n"
	".reg .b32 %v; ld.param.b32 %v, [x];\n"
	"{ .param .b32 r1; .param .b32 a1; st.param.b32 [a1], %v;\n"
	"call.uni (r1), helper, (a1); ld.param.b32 %v, [r1]; }\n"
	"st.param.b32 [r], %v; ret; }\n";

enum { WANT = 21 * 2 + 1000 + 50000 + 7 };

/* Returns a fatbin of one plain text; each call has a buffer of its own. */
static const void *fatbin(const char *text)
{
	static char rooms[8][8192];
	static int next;
	char *room = rooms[next++ % 8];
	uint64_t padded = (strlen(text) + 8) & ~7ul, size = 0x50 + padded;
	uint32_t head = 0x50, sm = 70;

	memset(room, 0, sizeof(rooms[0]));
	memcpy(room, "\x50\xed\x55\xba\x01\x00\x10\x00", 8);
	memcpy(room + 8, &size, 8);
	room[16] = 1;
	memcpy(room + 16 + 4, &head, 4);
	memcpy(room + 16 + 8, &padded, 8);
	memcpy(room + 16 + 0x1c, &sm, 4);
	memcpy(room + 16 + 0x50, text, strlen(text));
	return room;
}

static const uint32_t no_code[4] = { 0xba55ed50, 0x00100001, 0, 0 };

static CUresult load_parts(CUmodule *mod, const void *a, const void *b)
{
	const void *parts[] = { a, b, NULL };
	struct { uint32_t magic, version; const void *data, *extra; } w = {
		0x466243b1, 2, no_code, parts };

	return cuModuleLoadData(mod, &w);
}

static int result_of(CUmodule mod)
{
	CUdeviceptr p;
	CUfunction f;
	void *params[] = { &p };
	int v = -1;

	if (cuMemAlloc(&p, 4) || cuModuleGetFunction(&f, mod, "k") ||
	    cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) ||
	    cuMemcpyDtoH(&v, p, 4) || cuMemFree(p))
		return -1;
	return v;
}

static void wrapper(void)
{
	CUmodule mod;

	ok(!load_parts(&mod, fatbin(main_part), fatbin(other_part)) &&
	   result_of(mod) == WANT, "parts_of_a_wrapper_are_linked");
	ok(!load_parts(&mod, fatbin(other_part), fatbin(main_part)) &&
	   result_of(mod) == WANT - 7 + 900000,
	   "in_any_order_and_the_first_weak_definition_counts");
	ok_eq(load_parts(&mod, fatbin(main_part), NULL), CUDA_ERROR_INVALID_PTX,
	      "a_missing_part_is_an_error_of_the_load");
	ok_eq(load_parts(&mod, fatbin(main_part),
			 fatbin(HEAD ".visible .func other()\n{ ret;\n")),
	      CUDA_ERROR_INVALID_PTX, "so_is_a_part_that_does_not_end");
}

static void linker(void)
{
	char log[256] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
				   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof(log) };
	CUlinkState state;
	CUmodule mod = NULL;
	size_t size = 0;
	void *image = NULL;

	cuLinkCreate(0, NULL, NULL, &state);
	ok(!cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)main_part,
			  sizeof(main_part), "a", 0, NULL, NULL) &&
	   !cuLinkAddData(state, CU_JIT_INPUT_FATBINARY,
			  (void *)fatbin(other_part), 8192, "b", 0, NULL, NULL),
	   "texts_and_fatbins_can_be_added");
	ok(!cuLinkComplete(state, &image, &size) && size > 0,
	   "linking_completes");
	ok(!cuModuleLoadData(&mod, image) && result_of(mod) == WANT,
	   "what_comes_out_loads_and_runs");
	ok_eq(cuLinkDestroy(state), CUDA_SUCCESS, "the_state_can_be_destroyed");
	ok_eq(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE, "once");

	cuLinkCreate(2, options, values, &state);
	cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)main_part,
		      sizeof(main_part), "a", 0, NULL, NULL);
	ok_eq(cuLinkComplete(state, &image, &size), CUDA_ERROR_INVALID_SOURCE,
	      "a_missing_definition_is_an_error");
	diag("%s", log);
	ok(strstr(log, "twice") || strstr(log, "base"), "the_log_names_it");
	cuLinkDestroy(state);
}

static void *slurp(const char *dir, const char *name)
{
	char path[4096];
	char *data;
	long size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	data = calloc(1, size + 1);
	if (fread(data, 1, size, f) != (size_t)size)
		diag("%s: cannot read", path);
	fclose(f);
	return data;
}

static void compiled(const char *dir)
{
	static const char name[] = "separately_compiled_parts_run";
	void *a = slurp(dir, "part_a.fatbin"), *b = slurp(dir, "part_b.fatbin");
	CUmodule mod;

	if (!a || !b) {
		skip(name, "nvcc was missing when the tests were built");
		return;
	}
	ok(!load_parts(&mod, a, b) && result_of(mod) == 1 + 2 + 3 + 40, name);
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	(void)argc;
	tap_plan(12);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	wrapper();
	linker();
	compiled(dirname(argv[0]));
	return tap_exit();
}
