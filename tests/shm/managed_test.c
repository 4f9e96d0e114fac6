// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises variables in managed memory: the host uses their addresses itself,
 * between launches and waits of every kind, copies, graphs and host functions.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "driver_test.h"

#define BIG	(3u << 20)	/* more than travels at once */
#define WORDS	(BIG / 4)

static const char ptx[] =
".version 8.0\n.target sm_70\n.address_size 64\n"
".visible .global .attribute(.managed) .align 4 .u32 a = 40;\n"
".visible .global .attribute(.managed) .align 4 .b8 big[3145728];\n"
".visible .global .attribute(.managed) .align 8 .u64 here = generic(a);\n"
".visible .global .align 4 .u32 plain = 7;\n"
".visible .entry inc()\n{\n.reg .b32 %r<4>;\n"
"ld.global.u32 %r1, [a];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [a], %r1;\nret;\n}\n"
/* raise adds v to every word of big, and the word itself. */
".visible .entry raise(.param .u32 v)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
"ld.param.u32 %r1, [v];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
"mad.lo.s32 %r5, %r2, %r3, %r4;\nmul.wide.u32 %d1, %r5, 4;\nmov.u64 %d2, big;\n"
"add.s64 %d3, %d2, %d1;\nld.global.u32 %r6, [%d3];\nadd.u32 %r6, %r6, %r1;\n"
"st.global.u32 [%d3], %r6;\nret;\n}\n"
/* late does *p += a late: after a loop of n rounds. */
".visible .entry late(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\n"
"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n"
"L: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra L;\n"
"ld.global.u32 %r3, [%d1];\nld.global.u32 %r4, [a];\nadd.u32 %r3, %r3, %r4;\n"
"st.global.u32 [%d1], %r3;\nret;\n}\n";

struct module {
	CUmodule m;
	CUfunction inc, raise, late;
	volatile uint32_t *a, *big;
	CUdeviceptr *here;
};

static int one_process;

static CUdeviceptr address(CUmodule m, const char *name)
{
	CUdeviceptr p = 0;
	size_t n;

	return cuModuleGetGlobal(&p, &n, m, name) ? 0 : p;
}

static void open_module(struct module *m)
{
	if (cuModuleLoadData(&m->m, ptx)) {
		printf("Bail out! the module does not load\n");
		exit(1);
	}
	cuModuleGetFunction(&m->inc, m->m, "inc");
	cuModuleGetFunction(&m->raise, m->m, "raise");
	cuModuleGetFunction(&m->late, m->m, "late");
	m->a = (void *)address(m->m, "a");
	m->big = (void *)address(m->m, "big");
	m->here = (void *)address(m->m, "here");
}

static CUresult run(CUfunction f, CUstream s, void **args)
{
	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
}

static CUresult run_raise(const struct module *m, uint32_t v, CUstream s)
{
	void *args[] = { &v };

	return cuLaunchKernel(m->raise, WORDS / 256, 1, 1, 256, 1, 1, 0, s, args, NULL);
}

static CUresult run_late(const struct module *m, CUdeviceptr p, CUstream s)
{
	uint32_t rounds = 300000;
	void *args[] = { &p, &rounds };

	return run(m->late, s, args);
}

/* --- Addresses ----------------------------------------------------------------------- */

static void test_addresses(const struct module *m)
{
	unsigned int managed = 0;
	CUdeviceptr p = 0, start = 0;
	size_t n = 0, size = 0;

	ok(m->a && *m->a == 40, "a_variable_begins_with_its_initial_value");
	ok(*m->here == (CUdeviceptr)m->a, "device_and_host_know_one_address");
	ok(cuModuleGetGlobal(&p, NULL, m->m, "a") == 0 && p == (CUdeviceptr)m->a &&
	   cuModuleGetGlobal(NULL, &n, m->m, "big") == 0 && n == BIG, "either_answer_can_be_left_out");
	ok(cuModuleGetGlobal(NULL, NULL, m->m, "a") == CUDA_ERROR_INVALID_VALUE, "not_both");
	ok(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p) == 0 &&
	   (managed & 0xff) == 1, "its_pointer_says_that_it_is_managed");
	managed = 1;
	ok(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
				 address(m->m, "plain")) == 0 && !(managed & 0xff),
	   "a_plain_variable_does_not");
	ok(cuMemGetAddressRange(&start, &size, (CUdeviceptr)m->big + 5000) == 0 &&
	   start == (CUdeviceptr)m->big && size == BIG, "its_range_is_the_variable");
	ok(cuMemFree(p) == CUDA_ERROR_INVALID_VALUE, "it_cannot_be_freed");
	ok(cuMemHostRegister((void *)p, 4, 0) == CUDA_ERROR_INVALID_VALUE, "nor_registered");
}

/* --- Waits --------------------------------------------------------------------------- */

static CUresult until_event(CUevent e)
{
	CUresult res;

	while ((res = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
		;
	return res;
}

static CUresult until_stream(CUstream s)
{
	CUresult res;

	while ((res = cuStreamQuery(s)) == CUDA_ERROR_NOT_READY)
		;
	return res;
}

static void test_waits(const struct module *m)
{
	CUstream s, t;
	CUevent e;

	cuStreamCreate(&s, 0);
	cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
	cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
	*m->a = 50;
	ok(run(m->inc, NULL, NULL) == 0 && cuCtxSynchronize() == 0 && *m->a == 51,
	   "a_launch_takes_what_the_host_wrote_and_a_wait_for_the_context_brings_it_back");
	*m->a = 60;
	ok(run(m->inc, s, NULL) == 0 && cuStreamSynchronize(s) == 0 && *m->a == 61, "or_for_a_stream");
	*m->a = 70;
	run(m->inc, t, NULL);
	ok(cuEventRecord(e, t) == 0 && cuEventSynchronize(e) == 0 && *m->a == 71, "or_for_an_event");
	*m->a = 80;
	run(m->inc, s, NULL);
	cuEventRecord(e, s);
	ok(until_event(e) == 0 && *m->a == 81, "an_event_that_is_found_done_does_the_same");
	*m->a = 90;
	run(m->inc, t, NULL);
	ok(until_stream(t) == 0 && *m->a == 91, "so_does_a_stream");
	/* There are two streams: a wait for one of them says nothing about the other. */
	*m->a = 1;
	run_raise(m, 1, t);
	run(m->inc, s, NULL);
	cuStreamSynchronize(s);
	run(m->inc, s, NULL);
	cuStreamSynchronize(t);
	cuStreamSynchronize(s);
	ok(*m->a == 3 && m->big[WORDS - 1] == 1, "each_of_two_streams_brings_its_own");
	cuEventDestroy(e);
	cuStreamDestroy(s);
	cuStreamDestroy(t);
}

static int all_words(const volatile uint32_t *p, uint32_t v)
{
	unsigned int i, bad = 0;

	for (i = 0; i < WORDS; i++)
		bad += p[i] != v;
	return !bad;
}

static void test_big(const struct module *m)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		m->big[i] = 3;
	ok(run_raise(m, 4, NULL) == 0 && cuCtxSynchronize() == 0 && all_words(m->big, 7),
	   "a_large_variable_travels_as_a_whole");
	m->big[0] = m->big[WORDS / 2 + 3] = m->big[WORDS - 1] = 100;
	run_raise(m, 1, NULL);
	cuCtxSynchronize();
	ok(m->big[0] == 101 && m->big[WORDS / 2 + 3] == 101 && m->big[WORDS - 1] == 101 &&
	   m->big[1] == 8 && m->big[WORDS - 2] == 8, "single_words_of_it_do_too");
	run(m->inc, NULL, NULL);
	m->big[9] = 5;
	cuCtxSynchronize();
	ok(m->big[9] == 5, "what_the_host_writes_beside_a_kernel_is_not_undone");
	run_raise(m, 1, NULL);
	cuCtxSynchronize();
	ok(m->big[9] == 6, "and_the_next_launch_sees_it");
}

/* --- Copies -------------------------------------------------------------------------- */

static void test_copies(const struct module *m)
{
	CUdeviceptr d, a = (CUdeviceptr)m->a;
	uint32_t v = 0, w[4] = { 0 };
	CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcPitch = 16,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = 8,
			      .WidthInBytes = 8, .Height = 2 };
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuMemAlloc(&d, 64);
	cuMemsetD8(d, 0, 64);
	v = 123;
	ok(cuMemcpyHtoD(a, &v, 4) == 0 && *m->a == 123, "a_copy_to_it_is_seen_at_once");
	*m->a = 124;
	ok(cuMemcpyDtoH(&v, a, 4) == 0 && v == 124, "a_copy_from_it_has_what_the_host_wrote");
	ok(cuMemsetD32(a, 9, 1) == 0 && *m->a == 9, "so_it_is_with_a_fill");
	*m->a = 77;
	ok(cuMemcpyHtoD(d, (void *)m->a, 4) == 0 && cuMemcpyDtoH(&v, d, 4) == 0 && v == 77,
	   "it_can_be_the_host_side_of_a_copy_to_the_device");
	v = 78;
	cuMemcpyHtoD(d, &v, 4);
	ok(cuMemcpyDtoH((void *)m->a, d, 4) == 0 && *m->a == 78, "and_of_one_from_it");
	*m->a = 79;
	ok(cuMemcpy(d, a, 4) == 0 && cuMemcpyDtoH(&v, d, 4) == 0 && v == 79 &&
	   cuMemcpy(a, (CUdeviceptr)&w[0], 4) == 0 && *m->a == 0, "unified_copies_know_it");
	/* The copy comes after the kernel, whoever looks at the memory. */
	*m->a = 1000;
	m->big[0] = 1;
	run_late(m, (CUdeviceptr)m->big, s);
	cuMemcpyHtoDAsync(d, (void *)m->big, 4, s);
	cuStreamSynchronize(s);
	cuMemcpyDtoH(&v, d, 4);
	ok(v == 1001, "an_asynchronous_copy_from_it_keeps_the_streams_order");
	v = 5;
	cuMemcpyHtoD(d, &v, 4);
	run_late(m, d, s);
	cuMemcpyDtoHAsync((void *)(m->big + 1), d, 4, s);
	ok(cuStreamSynchronize(s) == 0 && m->big[1] == 1005, "so_does_one_to_it");
	m->big[4] = 11, m->big[5] = 12, m->big[8] = 13, m->big[9] = 14;
	box.srcHost = (void *)(m->big + 4);
	box.dstDevice = d;
	ok(cuMemcpy2D(&box) == 0 && cuMemcpyDtoH(w, d, 16) == 0 && w[0] == 11 && w[1] == 12 &&
	   w[2] == 13 && w[3] == 14, "boxes_are_copied_from_it");
	box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	box.srcDevice = d;
	box.srcPitch = 8;
	box.dstMemoryType = CU_MEMORYTYPE_HOST;
	box.dstHost = (void *)(m->big + 100);
	ok(cuMemcpy2D(&box) == 0 && m->big[100] == 11 && m->big[103] == 14, "and_to_it");
	cuMemFree(d);
	cuStreamDestroy(s);
}

static void test_array(const struct module *m)
{
	CUDA_ARRAY_DESCRIPTOR desc = { .Width = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT32,
				       .NumChannels = 1 };
	CUarray array;

	cuArrayCreate(&array, &desc);
	m->big[20] = 31, m->big[21] = 32;
	ok(cuMemcpyHtoA(array, 4, (void *)(m->big + 20), 8) == 0 &&
	   cuMemcpyAtoH((void *)(m->big + 30), array, 4, 8) == 0 && m->big[30] == 31 &&
	   m->big[31] == 32,
	   "arrays_are_copied_from_it_and_to_it");
	cuArrayDestroy(array);
}

static void test_hints(const struct module *m)
{
	CUmemLocation dev = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	int where = 77;

	*m->a = 20;
	ok(cuMemPrefetchAsync((CUdeviceptr)m->a, 4, dev, 0, NULL) == 0 &&
	   cuMemAdvise((CUdeviceptr)m->a, 4, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev) == 0 &&
	   cuStreamAttachMemAsync(NULL, (CUdeviceptr)m->a, 0, CU_MEM_ATTACH_GLOBAL) == 0,
	   "hints_are_taken");
	ok(cuMemRangeGetAttribute(&where, sizeof(where), CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
				  (CUdeviceptr)m->a, 4) == 0 && where == 0, "and_read_back");
	ok(run(m->inc, NULL, NULL) == 0 && cuCtxSynchronize() == 0 && *m->a == 21, "and_change_nothing");
}

/* --- Graphs, host functions -------------------------------------------------------------- */

static void test_graphs(const struct module *m)
{
	CUgraphExec exec;
	CUgraph g;
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	run(m->inc, s, NULL);
	*m->a = 200;
	run(m->inc, s, NULL);
	cuMemcpyDtoHAsync((void *)(m->big + 7), (CUdeviceptr)m->a, 4, s);
	ok(cuStreamEndCapture(s, &g) == 0 && cuGraphInstantiate(&exec, g, 0) == 0,
	   "launches_with_managed_variables_are_captured");
	ok(*m->a == 200, "which_runs_nothing");
	ok(cuGraphLaunch(exec, s) == 0 && cuStreamSynchronize(s) == 0 && *m->a == 202 &&
	   m->big[7] == 202, "a_graph_takes_them_and_brings_them_back");
	*m->a = 300;
	ok(cuGraphLaunch(exec, s) == 0 && cuStreamSynchronize(s) == 0 && *m->a == 302 &&
	   m->big[7] == 302, "each_time");
	cuGraphExecDestroy(exec);
	cuGraphDestroy(g);
	cuStreamDestroy(s);
}

struct seen {
	volatile uint32_t *a;
	uint32_t value;
};

static void CUDA_CB look(void *arg)
{
	struct seen *s = arg;

	s->value = *s->a;
	*s->a = 500;
}

static void test_host_functions(const struct module *m)
{
	struct seen s = { m->a, 0 };
	CUstream stream;

	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	*m->a = 90;
	run(m->inc, stream, NULL);
	cuLaunchHostFunc(stream, look, &s);
	run(m->inc, stream, NULL);
	ok(cuCtxSynchronize() == 0, "host_functions_may_use_them");
	ok(s.value == 91, "a_host_function_sees_what_the_stream_did_before");
	ok(*m->a == 501, "what_it_writes_is_there_for_what_follows");
	cuStreamDestroy(stream);
}

/* --- Threads ---------------------------------------------------------------------------- */

#define ROUNDS	300

struct job {
	const struct module *m;
	unsigned int word;
	int bad;
};

/* Each thread has words of its own in the same cache line. */
static void *worker(void *arg)
{
	struct job *j = arg;
	volatile uint32_t *mine = j->m->big + 64 + j->word;
	CUstream s;
	int i;

	cuCtxSetCurrent(ctx);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (i = 0; i < ROUNDS; i++) {
		CUdeviceptr p = (CUdeviceptr)mine;
		uint32_t none = 1, want = i * 7 + j->word;
		void *args[] = { &p, &none };

		*mine = want;
		run(j->m->late, s, args);
		cuStreamSynchronize(s);
		j->bad += *mine != want + 2;
	}
	cuStreamDestroy(s);
	return NULL;
}

static void test_threads(const struct module *m)
{
	struct job job[2] = { { m, 0, 0 }, { m, 1, 0 } };
	pthread_t t[2];
	int i;

	*m->a = 2;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, &job[i]);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ok(!job[0].bad && !job[1].bad, "threads_with_words_side_by_side_do_not_disturb_each_other");
	if (job[0].bad || job[1].bad)
		diag("wrong: %d and %d of %d", job[0].bad, job[1].bad, ROUNDS);
}

/* --- Modules that go -------------------------------------------------------------------- */

static int readable(const volatile void *p)
{
	int fd[2], yes;

	if (pipe(fd))
		return -1;
	yes = write(fd[1], (const void *)p, 1) == 1;
	close(fd[0]);
	close(fd[1]);
	return yes;
}

static void test_unload(const struct module *m)
{
	volatile uint32_t *a, *big;
	struct module other;

	open_module(&other);
	a = other.a;
	big = other.big;
	ok(a != m->a && *a == 40 && *other.here == (CUdeviceptr)a, "a_second_module_has_its_own");
	*a = 1;
	*m->a = 10;
	run(other.inc, NULL, NULL);
	run(m->inc, NULL, NULL);
	cuCtxSynchronize();
	ok(*a == 2 && *m->a == 11, "both_are_kept_apart");
	ok(cuModuleUnload(other.m) == 0 && run(m->inc, NULL, NULL) == 0 &&
	   cuCtxSynchronize() == 0 && *m->a == 12, "the_others_stay_when_a_module_goes");
	if (one_process)
		skip("its_memory_goes_with_it", "it is the driver's");
	else
		ok(!readable(big + WORDS / 2), "its_memory_goes_with_it");
	open_module(&other);
	ok(other.a && *other.a == 40 && all_words(other.big, 0), "loaded_again_it_begins_anew");
	cuModuleUnload(other.m);
}

static void test_taken(const struct module *m)
{
	struct module other;
	CUdeviceptr p;
	size_t n;
	void *at;

	open_module(&other);
	at = (void *)((uintptr_t)(other.big + WORDS / 2) & -4096UL);
	cuModuleUnload(other.m);
	run(m->inc, NULL, NULL);
	cuCtxSynchronize();
	if (one_process || mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
				MAP_FIXED_NOREPLACE, -1, 0) != at) {
		skip("a_taken_address_is_an_error", "it is the driver's own, or not to be had");
		skip("and_no_harm", "as above");
		return;
	}
	*(int *)at = 12;
	cuModuleLoadData(&other.m, ptx);
	ok(cuModuleGetGlobal(&p, &n, other.m, "big") == CUDA_ERROR_MAP_FAILED && *(int *)at == 12,
	   "a_taken_address_is_an_error");
	munmap(at, 4096);
	ok(cuModuleGetGlobal(&p, &n, other.m, "big") == 0 && ((uint32_t *)p)[5] == 0, "and_no_harm");
	cuModuleUnload(other.m);
}

static void test_library(void)
{
	CUdeviceptr p = 0, q = 0;
	CUkernel kernel;
	CUlibrary lib;
	size_t n = 0;

	cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0);
	ok(cuLibraryGetManaged(&p, &n, lib, "a") == 0 && n == 4 && *(uint32_t *)p == 40,
	   "a_library_has_them_too");
	ok(cuLibraryGetGlobal(&q, NULL, lib, "a") == 0 && p == q, "by_both_functions");
	ok(cuLibraryGetManaged(&q, &n, lib, "plain") == CUDA_ERROR_NOT_FOUND &&
	   cuLibraryGetManaged(&q, &n, lib, "none") == CUDA_ERROR_NOT_FOUND,
	   "what_is_not_managed_is_not_found");
	ok(cuLibraryGetManaged(NULL, NULL, lib, "a") == CUDA_ERROR_INVALID_VALUE &&
	   cuLibraryGetManaged(&q, &n, NULL, "a") == CUDA_ERROR_INVALID_HANDLE &&
	   cuLibraryGetManaged(&q, &n, lib, NULL) == CUDA_ERROR_INVALID_VALUE, "mistakes_are_the_drivers");
	cuLibraryGetKernel(&kernel, lib, "inc");
	*(volatile uint32_t *)p = 7;
	ok(run((CUfunction)kernel, NULL, NULL) == 0 && cuCtxSynchronize() == 0 &&
	   *(volatile uint32_t *)p == 8, "its_kernels_use_them");
	ok(cuLibraryUnload(lib) == 0 && cuCtxSynchronize() == 0, "a_library_goes_with_them");
}

/* After a wait in another context, what belongs to one context is made again for the other. */
static void test_contexts(const struct module *m)
{
	CUcontext other;

	cuCtxCreate(&other, NULL, 0, 0);
	*m->a = 30;
	cuMemsetD8(address(m->m, "plain"), 0, 1);
	cuCtxSynchronize();
	cuCtxDestroy(other);
	cuCtxSetCurrent(ctx);
	ok(run(m->inc, NULL, NULL) == 0 && cuCtxSynchronize() == 0 && *m->a == 31,
	   "another_context_comes_and_goes");
}

int main(void)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");
	struct module m;

	one_process = !transport || !strcmp(transport, "loopback");
	tap_plan(55);
	begin();
	open_module(&m);
	test_addresses(&m);
	test_waits(&m);
	test_big(&m);
	test_copies(&m);
	test_array(&m);
	test_hints(&m);
	test_graphs(&m);
	test_host_functions(&m);
	test_threads(&m);
	test_unload(&m);
	test_taken(&m);
	test_library();
	test_contexts(&m);
	return tap_exit();
}
