// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that what is known of streams at rest (client-stubs/cuda/rest.c) shows in time
 * alone: each wait and each copy that has something before it waits for that, and what comes later
 * is behind a copy. Kernels take long and write to memory that this process reads.
 */
#include "driver_test.h"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	/* late counts to `turns` and then does *p = value. */
	".visible .entry late(.param .u64 p, .param .u32 value, .param .u32 turns)\n{\n"
	".reg .u64 %a; .reg .u32 %v, %t; .reg .pred %q;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %v, [value]; ld.param.u32 %t, [turns];\n"
	"LOOP:\nsub.u32 %t, %t, 1; setp.ne.u32 %q, %t, 0; @%q bra LOOP;\n"
	"st.global.u32 [%a], %v;\nret;\n}\n"
	/* fetch does *to = *from. */
	".visible .entry fetch(.param .u64 to, .param .u64 from)\n{\n"
	".reg .u64 %a, %b; .reg .u32 %v;\n"
	"ld.param.u64 %a, [to]; ld.param.u64 %b, [from];\n"
	"ld.global.u32 %v, [%b]; st.global.u32 [%a], %v;\nret;\n}\n";

#define TURNS	400000		/* some tens of ms on softgpu */
#define BYTES	18432		/* a step of a small layer */

static CUfunction late_fn, fetch_fn;
static CUstream stream;
static CUdeviceptr dev;
static volatile uint32_t *seen;	/* memory of this process that kernels reach */

static CUresult late(CUfunction f, CUstream s, uint32_t value)
{
	void *to = (void *)seen;
	uint32_t turns = TURNS;
	void *args[] = { &to, &value, &turns };

	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
}

/* A launch like an earlier one is posted. */
static void prove(CUfunction f, CUstream s)
{
	late(f, s, 0);
	cuStreamSynchronize(s);
}

static void test_own_launch(void)
{
	uint32_t i, bad = 0;

	prove(late_fn, stream);
	for (i = 1; i <= 3; i++) {
		bad += late(late_fn, stream, i) || cuStreamSynchronize(stream) || *seen != i;
		bad += cuStreamSynchronize(stream) || *seen != i;
	}
	ok(!bad, "wait_behind_a_launch_waits_for_it");
}

/* --- Another thread --------------------------------------------------------------------- */

static pthread_barrier_t turn;

static void *launcher(void *bad)
{
	uint32_t i;

	cuCtxSetCurrent(ctx);
	prove(late_fn, stream);
	for (i = 0; i < 3; i++) {
		pthread_barrier_wait(&turn);
		*(int *)bad += late(late_fn, stream, 100 + i) != CUDA_SUCCESS;
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

/* The first thread has waited, another one launches and says so. */
static void test_others_launch(void)
{
	int bad = 0, theirs = 0;
	pthread_t t;
	uint32_t i;

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&t, NULL, launcher, &theirs);
	for (i = 0; i < 3; i++) {
		bad += cuStreamSynchronize(stream) || cuStreamSynchronize(stream);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		bad += cuStreamSynchronize(stream) || *seen != 100 + i;
		pthread_barrier_wait(&turn);
	}
	pthread_join(t, NULL);
	ok(!bad && !theirs, "wait_behind_another_threads_launch_waits_for_it");
}

/* --- Copies to the device ------------------------------------------------------------------ */

static int copy_of(uint32_t word, uint32_t *host)
{
	host[0] = word;
	return cuMemcpyHtoD(dev, host, BYTES) != CUDA_SUCCESS;
}

static uint32_t fetched(CUstream s)
{
	void *to = (void *)seen;
	void *args[] = { &to, &dev };

	cuLaunchKernel(fetch_fn, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
	cuStreamSynchronize(s);
	return *seen;
}

/* Enough rounds that each buffer is known and used again. */
static void test_copies(void)
{
	static uint32_t host[BYTES / 4], back[BYTES / 4];
	uint32_t i, bad = 0, size;

	for (i = 1; i <= 40; i++) {
		size = i % 2 ? BYTES : 400;
		pattern(host, size, i);
		bad += cuMemcpyHtoD(dev, host, size) != CUDA_SUCCESS;
		memset(host, 0, size);
		bad += cuMemcpyDtoH(back, dev, size) || !same(back, size, i);
	}
	ok(!bad, "source_of_a_copy_may_change_when_it_returns");
	for (i = 1, bad = 0; i <= 20; i++) {
		cuMemcpyDtoH(back, dev, 4);
		bad += copy_of(i, host) || copy_of(i + 1, host) || fetched(stream) != i + 1;
		cuMemcpyDtoH(back, dev, 4);
		bad += copy_of(i, host) || fetched(NULL) != i;
	}
	ok(!bad, "launches_behind_copies_see_the_last_one");
}

static void test_copy_waits(void)
{
	static uint32_t host[BYTES / 4];
	uint32_t i, bad = 0, back;

	prove(late_fn, stream);
	for (i = 1; i <= 8; i++) {
		cuMemcpyDtoH(&back, dev, 4);
		bad += copy_of(i, host);
		bad += late(late_fn, stream, 200 + i) || copy_of(i, host) || *seen != 200 + i;
	}
	ok(!bad, "copy_behind_a_launch_waits_for_it");
}

static void test_host_memory(void)
{
	static uint32_t host[BYTES / 4];
	uint32_t i, bad = 0, back, *pinned;

	cuMemAllocHost((void **)&pinned, BYTES);
	for (i = 1; i <= 20; i++) {
		host[0] = i;
		cuMemcpyDtoH(&back, dev, 4);
		bad += cuMemcpyHtoD((CUdeviceptr)pinned, host, BYTES) || *pinned != i;
	}
	ok(!bad, "copy_to_memory_of_this_process_has_arrived_when_it_returns");
	cuMemFreeHost(pinned);
}

static void test_refusals(void)
{
	static uint32_t host[BYTES / 4];
	CUdeviceptr gone;
	uint32_t i, bad = 0, back;

	cuMemAlloc(&gone, BYTES);
	for (i = 0; i < 20; i++) {
		cuMemcpyDtoH(&back, dev, 4);
		bad += cuMemcpyHtoD(gone, host, BYTES) != CUDA_SUCCESS;
	}
	cuMemFree(gone);
	cuMemcpyDtoH(&back, dev, 4);
	ok(!bad && cuMemcpyHtoD(gone, host, BYTES) == CUDA_ERROR_INVALID_VALUE,
	   "copy_to_freed_memory_is_refused_at_once");
	cuMemcpyDtoH(&back, dev, 4);
	ok_eq(cuMemcpyHtoD(dev + 4096, host, BYTES), CUDA_ERROR_INVALID_VALUE,
	      "copy_beyond_the_memory_is_refused_at_once");
	cuStreamDestroy(stream);
	ok_eq(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE,
	      "wait_for_a_destroyed_stream_is_refused");
}

/* The launch was there before the other stream was waited for. */
static void test_streams(void)
{
	uint32_t bad = 0, i;
	CUstream other;

	cuStreamCreate(&other, 0);
	prove(late_fn, other);
	for (i = 1; i <= 3; i++) {
		bad += late(late_fn, other, 400 + i) || cuStreamSynchronize(stream);
		bad += cuStreamSynchronize(other) || *seen != 400 + i;
	}
	ok(!bad, "wait_for_one_stream_says_nothing_of_another");
	cuStreamDestroy(other);
}

/* --- Contexts --------------------------------------------------------------------------- */

/* The same number names another stream there. */
static void test_contexts(void)
{
	CUcontext other;
	CUfunction f;
	CUmodule m;
	uint32_t bad = 0, i;

	if (cuCtxCreate(&other, NULL, 0, 0) || cuModuleLoadData(&m, ptx) ||
	    cuModuleGetFunction(&f, m, "late")) {
		ok(0, "wait_in_another_context_is_its_own");
		return;
	}
	prove(f, NULL);
	for (i = 1; i <= 3; i++) {
		bad += late(f, NULL, 300 + i) != CUDA_SUCCESS;
		cuCtxSetCurrent(ctx);
		bad += cuStreamSynchronize(NULL) != CUDA_SUCCESS;
		cuCtxSetCurrent(other);
		bad += cuStreamSynchronize(NULL) || *seen != 300 + i;
	}
	ok(!bad, "wait_in_another_context_is_its_own");
	cuCtxDestroy(other);
	cuCtxSetCurrent(ctx);
}

int main(void)
{
	CUmodule m;
	void *p;

	tap_plan(11);
	begin();
	if (cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&late_fn, m, "late") ||
	    cuModuleGetFunction(&fetch_fn, m, "fetch") || cuMemAlloc(&dev, BYTES) ||
	    cuMemAllocHost(&p, 4) || cuStreamCreate(&stream, 0)) {
		printf("Bail out! cannot prepare\n");
		return 1;
	}
	seen = p;
	test_own_launch();
	test_copies();
	test_copy_waits();
	test_host_memory();
	test_others_launch();
	test_streams();
	test_contexts();
	test_refusals();
	return tap_exit();
}
