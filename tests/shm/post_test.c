// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a launch is not waited for over shm when a like launch has
 * succeeded, and that only the time tells a program so. Order, results and errors are as
 * before, and what CUDA refuses at once is refused at once.
 */
#include <stdbool.h>
#include <time.h>

#include "driver_test.h"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	/* step does *p = *p * 3 + add, `turns` times in a row by a loop. */
	".visible .entry step(.param .u64 p, .param .u32 add, .param .u32 turns)\n{\n"
	".reg .u64 %a; .reg .u32 %v, %n, %t; .reg .pred %q;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [add]; ld.param.u32 %t, [turns];\n"
	"LOOP:\nld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, 3, %n; st.global.u32 [%a], %v;\n"
	"sub.u32 %t, %t, 1; setp.ne.u32 %q, %t, 0; @%q bra LOOP;\nret;\n}\n"
	/* wide does *p = the last word of a large block of parameters. */
	".visible .entry wide(.param .u64 p, .param .align 4 .b8 block[3000])\n{\n"
	".reg .u64 %a; .reg .u32 %v;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %v, [block+2996]; st.global.u32 [%a], %v; ret;\n}\n"
	".visible .entry dies(.param .u32 now)\n{\n.reg .u32 %v; .reg .pred %q;\n"
	"ld.param.u32 %v, [now]; setp.ne.u32 %q, %v, 0; @%q trap; ret;\n}\n";

static CUfunction step_fn, wide_fn, dies_fn;
static CUmodule module;
static CUdeviceptr word;
static CUstream stream;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static CUresult step(unsigned int block, uint32_t add, uint32_t turns)
{
	void *args[] = { &word, &add, &turns };

	return cuLaunchKernel(step_fn, 1, 1, 1, block, 1, 1, 0, stream, args, NULL);
}

static uint32_t value(void)
{
	uint32_t v = 0xdeadbeef;

	cuStreamSynchronize(stream);
	cuMemcpyDtoH(&v, word, sizeof(v));
	return v;
}

static void set(uint32_t v)
{
	cuMemcpyHtoD(word, &v, sizeof(v));
}

/*
 * Is a launch like an earlier one not waited for? The best of some counts: one that is waited for
 * takes its time in each, and one that is not may lose its CPU in the middle.
 */
static void returns_soon(uint32_t turns, double waited, bool after_event, const char *what)
{
	double t, posted = waited;
	CUevent event;
	int i;

	for (i = 0; i < 5 && posted >= waited / 4; i++) {
		if (after_event)
			cuEventCreate(&event, CU_EVENT_DEFAULT);
		t = now();
		step(1, 1, turns);
		posted = now() - t;
		cuStreamSynchronize(stream);
		if (after_event)
			cuEventDestroy(event);
	}
	if (!ok(posted < waited / 4, what))
		diag("waited %.4f s, then %.4f s", waited, posted);
}

/* With softgpu the worker's launch takes as long as its kernel; with a GPU it returns at once. */
static void test_time(int shm)
{
	uint32_t turns = 1000;
	double t, waited;

	do {
		turns *= 2;
		cuEventDestroy(NULL);	/* an error, after which nothing is known any more */
		t = now();
		step(1, 1, turns);
		waited = now() - t;
		cuStreamSynchronize(stream);
	} while (waited < 0.05 && turns < 1u << 20);
	if (!shm || waited < 0.05) {
		const char *why = shm ? "the driver does not wait" : "only shm can post";

		skip("launch_like_an_earlier_one_is_not_waited_for", why);
		skip("nor_is_one_after_an_event_was_made", why);
		return;
	}
	returns_soon(turns, waited, false, "launch_like_an_earlier_one_is_not_waited_for");
	returns_soon(turns, waited, true, "nor_is_one_after_an_event_was_made");
}

static void test_order(void)
{
	uint32_t want = 5, i, bad = 0, v;

	set(5);
	for (i = 0; i < 500; i++) {
		want = want * 3 + i;
		bad += step(1, i, 1) != CUDA_SUCCESS;
		if (i % 100)
			continue;
		cuMemcpyDtoH(&v, word, sizeof(v));	/* the null stream waits */
		bad += v != want;
	}
	ok(!bad && value() == want, "five_hundred_launches_run_in_their_order");
	cuMemsetD32Async(word, 7, 1, stream);
	for (i = 0, want = 7; i < 3; i++) {
		cuMemsetD32Async(word, 7, 1, stream);
		step(1, 9, 1);
	}
	ok_eq(value(), 7 * 3 + 9, "fills_and_launches_keep_their_order");
}

#define WIDE	20

static void test_wide(void)
{
	static uint8_t block[3000];
	void *args[] = { &word, block };
	uint32_t i, bad = 0, last;

	for (i = 1; i < 50; i++) {
		step(1, i, 1);
		step(1, i, 1);
		last = i * 77;
		memcpy(block + 2996, &last, 4);
		if (cuLaunchKernel(wide_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL))
			bad++;
		bad += value() != last;
	}
	ok(!bad, "long_launches_keep_the_order");
}

/* Each launch writes to a word of its own, while the worker is busy with a kernel. */
static void test_many_wide(void)
{
	uint32_t got[WIDE] = { 0 }, i, want, bad = 0;
	static uint8_t block[3000];
	CUdeviceptr to, first;
	void *args[] = { &to, block };

	cuMemAlloc(&first, sizeof(got));
	to = first;
	cuLaunchKernel(wide_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
	step(1, 1, 200000);
	step(1, 1, 200000);
	for (i = 0; i < WIDE; i++) {
		want = i * 7 + 1;
		memcpy(block + 2996, &want, 4);
		to = first + i * 4;
		bad += cuLaunchKernel(wide_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL) != 0;
		if (i % 3)
			step(1, i, 1);
	}
	cuStreamSynchronize(stream);
	cuMemcpyDtoH(got, first, sizeof(got));
	for (i = 0; i < WIDE; i++)
		bad += got[i] != i * 7 + 1;
	ok(!bad, "more_of_them_than_have_a_place_have_each_its_parameters");
	cuMemFree(first);
}

/* A name this long is written where the requests of posted launches lie. */
static void test_long_call(void)
{
	static char name[60000];
	uint32_t want = 1, i;
	CUfunction f;

	memset(name, 'n', sizeof(name) - 1);
	set(1);
	step(1, 0, 200000);
	for (i = 0; i < 20; i++)
		step(1, 1, 1);
	set(1);
	step(1, 0, 200000);
	for (i = 0; i < 200000; i++)
		want *= 3;
	for (i = 0; i < 20; i++) {
		want = want * 3 + 1;
		step(1, 1, 1);
	}
	ok_eq(cuModuleGetFunction(&f, module, name), CUDA_ERROR_NOT_FOUND, "long_name_is_looked_up");
	ok_eq(value(), want, "long_call_leaves_posted_ones_alone");
}

static void test_refusals(void)
{
	CUstream other;
	void *args[3];
	uint32_t one = 1;

	step(1, 1, 1);
	ok_eq(step(5000, 1, 1), CUDA_ERROR_INVALID_VALUE, "too_large_a_block_is_refused_at_once");
	cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
	args[0] = &word;
	args[1] = args[2] = &one;
	cuLaunchKernel(step_fn, 1, 1, 1, 1, 1, 1, 0, other, args, NULL);
	cuLaunchKernel(step_fn, 1, 1, 1, 1, 1, 1, 0, other, args, NULL);
	cuStreamDestroy(other);
	ok_eq(cuLaunchKernel(step_fn, 1, 1, 1, 1, 1, 1, 0, other, args, NULL),
	      CUDA_ERROR_INVALID_HANDLE, "launch_into_a_destroyed_stream_is_refused_at_once");
	ok_eq(step(1, 1, 1), CUDA_SUCCESS, "after_a_refusal_launches_go_on");
}

static void test_unload(void)
{
	CUfunction f;
	CUmodule m;
	void *args[] = { &word, (uint32_t[]) { 1 }, (uint32_t[]) { 1 } };

	cuModuleLoadData(&m, ptx);
	cuModuleGetFunction(&f, m, "step");
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
	cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
	cuModuleUnload(m);
	ok_eq(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), CUDA_ERROR_INVALID_HANDLE,
	      "launch_of_an_unloaded_kernel_is_refused_at_once");
}

/* This test comes last, because the context does not survive. */
static void test_fault(void)
{
	uint32_t now = 0;
	void *args[] = { &now };
	CUresult res;

	cuLaunchKernel(dies_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
	cuStreamSynchronize(stream);
	now = 1;
	cuLaunchKernel(dies_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
	res = cuStreamSynchronize(stream);
	ok_eq(res, CUDA_ERROR_LAUNCH_FAILED, "fault_of_a_posted_launch_surfaces_at_the_synchronisation");
	now = 0;
	ok_eq(cuLaunchKernel(dies_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), res,
	      "launch_after_that_gives_the_error_at_once");
}

int main(void)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");

	tap_plan(14);
	begin();
	if (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&step_fn, module, "step") ||
	    cuModuleGetFunction(&wide_fn, module, "wide") ||
	    cuModuleGetFunction(&dies_fn, module, "dies") || cuMemAlloc(&word, 4) ||
	    cuStreamCreate(&stream, 0)) {
		printf("Bail out! cannot prepare\n");
		return 1;
	}
	test_time(transport && !strcmp(transport, "shm"));
	test_order();
	test_wide();
	test_many_wide();
	test_long_call();
	test_refusals();
	test_unload();
	test_fault();
	return tap_exit();
}
