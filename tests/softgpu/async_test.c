// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the device has a thread of its own, unless WORMHOLE_SOFTGPU_ASYNC=0 is
 * set: calls return while a kernel runs, and what follows the kernel in its stream follows it. A
 * kernel that spins until the host stores into mapped memory stands for work under way, so nothing
 * here depends on time. It needs no hardware.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define N	4096u
#define LONG	(1u << 20)	/* bytes that no queued copy takes along */
#define MANY	3000u		/* launches that do not fit into the queue */

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	/* Sets p[1], waits until p[0] is not 0, and then stores v to *out. */
	".visible .entry spin(.param .u64 p, .param .u64 out, .param .u32 v)\n{\n"
	".reg .u64 %a, %o; .reg .u32 %v, %w; .reg .pred %q;\n"
	"ld.param.u64 %a, [p]; ld.param.u64 %o, [out]; ld.param.u32 %w, [v];\n"
	"st.volatile.global.u32 [%a+4], 1;\n"
	"AGAIN: ld.volatile.global.u32 %v, [%a]; setp.eq.u32 %q, %v, 0; @%q bra AGAIN;\n"
	"st.global.u32 [%o], %w; ret;\n}\n"
	".visible .entry put(.param .u64 out, .param .u32 v)\n{\n"
	".reg .u64 %o; .reg .u32 %w;\n"
	"ld.param.u64 %o, [out]; ld.param.u32 %w, [v]; st.global.u32 [%o], %w; ret;\n}\n"
	".visible .entry bad()\n{\n.reg .u64 %o;\n"
	"mov.u64 %o, 16; st.global.u32 [%o], 1; ret;\n}\n";

/* Stores the number of blocks in its cluster. */
static const char clusters[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry size(.param .u64 out)\n{\n.reg .u64 %o; .reg .u32 %n;\n"
	"ld.param.u64 %o, [out]; mov.u32 %n, %cluster_nctarank; st.global.u32 [%o], %n; ret;\n}\n";

static struct {
	CUcontext ctx;
	CUmodule mod;
	CUfunction spin, put, bad;
	CUstream a, b, free;	/* `free` does not block */
	CUevent e, f;
	CUdeviceptr out, out2;
	uint32_t *flag, *pinned;
} t;

static void set_up(void)
{
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&t.ctx, 0) || cuCtxSetCurrent(t.ctx) ||
	    cuModuleLoadData(&t.mod, ptx) || cuModuleGetFunction(&t.spin, t.mod, "spin") ||
	    cuModuleGetFunction(&t.put, t.mod, "put") ||
	    cuModuleGetFunction(&t.bad, t.mod, "bad") || cuStreamCreate(&t.a, 0) ||
	    cuStreamCreate(&t.b, 0) || cuStreamCreate(&t.free, CU_STREAM_NON_BLOCKING) ||
	    cuEventCreate(&t.e, 0) || cuEventCreate(&t.f, 0) || cuMemAlloc(&t.out, N) ||
	    cuMemAlloc(&t.out2, LONG) || cuMemAllocHost((void **)&t.flag, N) ||
	    cuMemAllocHost((void **)&t.pinned, N)) {
		printf("Bail out! the driver does not start\n");
		exit(1);
	}
}

/* --- Work under way --- */

static CUresult spin_to(CUstream s, CUdeviceptr to, uint32_t v)
{
	void *params[] = { &t.flag, &to, &v };

	t.flag[1] = 0;
	__atomic_store_n(t.flag, 0, __ATOMIC_RELEASE);
	return cuLaunchKernel(t.spin, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

static CUresult spin(CUstream s, uint32_t v)
{
	return spin_to(s, t.out, v);
}

/* From then on the device's thread has the kernel, and a thread that waits cannot take it. */
static void await_begin(void)
{
	while (!__atomic_load_n(&t.flag[1], __ATOMIC_ACQUIRE))
		sched_yield();
}

static CUresult put(CUstream s, CUdeviceptr to, uint32_t v)
{
	void *params[] = { &to, &v };

	return cuLaunchKernel(t.put, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

static void let_go(void)
{
	__atomic_store_n(t.flag, 1, __ATOMIC_RELEASE);
}

static uint32_t word(CUdeviceptr p)
{
	uint32_t v = 0;

	cuMemcpyDtoH(&v, p, sizeof(v));
	return v;
}

/* --- Calls that wait --- */

static pid_t waiter;
static bool opened, returned;

static bool sleeps_in_futex(void)
{
	char path[64], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", waiter);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		*text = 0;
	if (f)
		fclose(f);
	return !strncmp(text, "202 ", 4);
}

static void *open_when_it_sleeps(void *arg)
{
	while (!__atomic_load_n(&returned, __ATOMIC_ACQUIRE) && !sleeps_in_futex())
		sched_yield();
	if (!__atomic_load_n(&returned, __ATOMIC_ACQUIRE))
		__atomic_store_n(&opened, true, __ATOMIC_RELEASE);
	let_go();
	return arg;
}

/*
 * Does the call sleep until the kernel has ended, which may end only when the call sleeps? The
 * kernel's result goes to mapped memory, so the look at it is no call.
 */
static bool waits(CUstream s, CUresult (*call)(void))
{
	bool good, was_open;
	pthread_t thread;

	t.pinned[1] = 0;
	waiter = gettid();
	opened = returned = false;
	if (spin_to(s, (uintptr_t)&t.pinned[1], 3))
		return false;
	await_begin();
	pthread_create(&thread, NULL, open_when_it_sleeps, NULL);
	good = !call();
	was_open = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
	good = good && __atomic_load_n(&t.pinned[1], __ATOMIC_ACQUIRE) == 3;
	__atomic_store_n(&returned, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	cuCtxSynchronize();
	return good && was_open;
}

/* --- One stream --- */

static void test_launch(void)
{
	ok_eq(spin(t.a, 7), CUDA_SUCCESS, "a_launch_returns_while_its_kernel_runs");
	ok_eq(cuStreamQuery(t.a), CUDA_ERROR_NOT_READY, "its_stream_is_not_ready");
	ok_eq(cuStreamQuery(t.b), CUDA_SUCCESS, "another_stream_is");
	ok_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY,
	      "the_legacy_stream_is_not_since_it_follows_blocking_streams");
	let_go();
	ok(!cuStreamSynchronize(t.a) && !cuStreamQuery(t.a) && !cuStreamQuery(NULL),
	   "after_a_synchronization_all_are");
	ok_eq(word(t.out), 7, "the_kernel_has_run_then");
}

static void test_parameters(void)
{
	uint32_t v = 11;
	void *params[] = { &t.out, &v };

	spin(t.a, 1);
	cuLaunchKernel(t.put, 1, 1, 1, 1, 1, 1, 0, t.a, params, NULL);
	v = 12;
	let_go();
	ok_eq(word(t.out), 11, "a_launch_has_the_parameters_of_its_call");
}

static void test_clusters(void)
{
	void *params[] = { &t.out };
	CUfunction size;
	CUgraphExec x;
	CUmodule mod;
	CUgraph g;

	if (cuModuleLoadData(&mod, clusters) || cuModuleGetFunction(&size, mod, "size"))
		printf("Bail out! the kernel does not load\n");
	cuFuncSetAttribute(size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1);
	cuFuncSetAttribute(size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1);
	cuFuncSetAttribute(size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
	spin(t.a, 1);
	cuLaunchKernel(size, 4, 1, 1, 1, 1, 1, 0, t.a, params, NULL);
	ok(!cuFuncSetAttribute(size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4) &&
	   cuStreamQuery(t.a) == CUDA_ERROR_NOT_READY, "a_functions_clusters_change_beside_a_kernel");
	let_go();
	ok_eq(word(t.out), 2, "a_launch_has_the_clusters_of_its_call");
	cuStreamBeginCapture(t.b, CU_STREAM_CAPTURE_MODE_GLOBAL);
	cuLaunchKernel(size, 4, 1, 1, 1, 1, 1, 0, t.b, params, NULL);
	cuStreamEndCapture(t.b, &g);
	cuGraphInstantiateWithFlags(&x, g, 0);
	spin(t.a, 1);
	cuGraphLaunch(x, t.a);
	cuFuncSetAttribute(size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
	let_go();
	ok_eq(word(t.out), 4, "so_has_the_launch_of_a_graph");
	cuGraphExecDestroy(x);
	cuGraphDestroy(g);
	cuModuleUnload(mod);
}

static void test_copies(void)
{
	uint32_t source = 42;

	spin(t.a, 1);
	t.pinned[0] = 0;
	ok(!cuMemcpyDtoHAsync(t.pinned, t.out, 4, t.a) && t.pinned[0] == 0,
	   "a_copy_to_pinned_memory_is_queued");
	ok(!cuMemcpyHtoDAsync(t.out2, &source, 4, t.a), "a_short_copy_of_ordinary_memory_is_queued");
	source = 0;
	ok(!cuMemsetD32Async(t.out, 9, 1, t.a) && cuStreamQuery(t.a) == CUDA_ERROR_NOT_READY,
	   "a_fill_is_queued");
	let_go();
	cuStreamSynchronize(t.a);
	ok(t.pinned[0] == 1 && word(t.out) == 9, "they_run_in_their_order");
	ok_eq(word(t.out2), 42, "the_copy_has_the_bytes_of_its_call");
}

static void test_boxes(void)
{
	CUDA_MEMCPY2D box = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = t.out, .srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = t.out2, .dstPitch = 64,
		.WidthInBytes = 16, .Height = 4,
	};

	cuMemsetD8(t.out2, 0, N);
	spin(t.a, 21);
	ok(!cuMemcpy2DAsync(&box, t.a) && cuStreamQuery(t.a) == CUDA_ERROR_NOT_READY,
	   "a_copy_of_a_box_is_queued");
	let_go();
	ok_eq(word(t.out2), 21, "it_follows_the_kernel");
}

static uint32_t seen_by_host, called_there;

static void CUDA_CB look(void *arg)
{
	(void)arg;
	seen_by_host = t.pinned[2];
}

static void CUDA_CB count_calls_in(void *thread)
{
	called_there += gettid() == *(pid_t *)thread;
}

static void CUDA_CB look_and_tell(CUstream s, CUresult status, void *arg)
{
	*(CUresult *)arg = s == t.a ? status : CUDA_ERROR_UNKNOWN;
}

static void test_host_functions(void)
{
	CUresult told = CUDA_ERROR_UNKNOWN;

	seen_by_host = t.pinned[2] = 0;
	spin(t.a, 13);
	cuMemcpyDtoHAsync(&t.pinned[2], t.out, 4, t.a);
	ok(!cuLaunchHostFunc(t.a, look, NULL) &&
	   !cuStreamAddCallback(t.a, look_and_tell, &told, 0) && !seen_by_host &&
	   told == CUDA_ERROR_UNKNOWN, "host_functions_are_queued");
	let_go();
	cuStreamSynchronize(t.a);
	ok(seen_by_host == 13 && told == CUDA_SUCCESS, "they_run_behind_what_is_before_them");
}

/* A thread that waits does other work that is queued. */
static void test_thread_of_functions(void)
{
	pid_t own = gettid();
	unsigned int i;

	for (i = 0; i < 200; i++) {
		cuLaunchHostFunc(t.free, count_calls_in, &own);
		cuStreamSynchronize(t.free);
	}
	ok_eq(called_there, 0, "they_run_in_no_thread_that_waits");
}

static void *end_things(void *answer)
{
	CUdeviceptr p;
	CUmodule mod;

	*(bool *)answer = !cuCtxSetCurrent(t.ctx) && !cuMemAlloc(&p, 100) && !cuMemFree(p) &&
			  !cuModuleLoadData(&mod, ptx) && !cuModuleUnload(mod);
	return NULL;
}

static void CUDA_CB await_thread(void *answer)
{
	pthread_t thread;

	pthread_create(&thread, NULL, end_things, answer);
	pthread_join(thread, NULL);
}

static void test_other_thread(void)
{
	bool answer = false;

	cuLaunchHostFunc(t.a, await_thread, &answer);
	put(t.a, t.out, 14);
	cuStreamSynchronize(t.a);
	ok(answer, "a_host_function_may_wait_for_a_thread_that_ends_things");
	ok_eq(word(t.out), 14, "what_is_behind_it_goes_on");
}

/* --- Several streams, and events --- */

static void test_events(void)
{
	float ms;

	cuEventRecord(t.e, t.a);
	ok_eq(cuEventQuery(t.e), CUDA_SUCCESS, "an_event_of_an_idle_stream_is_recorded_at_once");
	spin(t.a, 7);
	cuEventRecord(t.e, t.a);
	ok_eq(cuEventQuery(t.e), CUDA_ERROR_NOT_READY, "an_event_behind_a_kernel_is_not_ready");
	ok_eq(cuEventElapsedTime(&ms, t.e, t.e), CUDA_ERROR_NOT_READY, "nor_is_its_time");
	cuStreamWaitEvent(t.b, t.e, 0);
	ok(cuStreamQuery(t.b) == CUDA_ERROR_NOT_READY && !put(t.b, t.out, 8) &&
	   cuStreamQuery(t.b) == CUDA_ERROR_NOT_READY,
	   "a_stream_that_waits_for_the_event_is_not_ready");
	let_go();
	ok(!cuEventSynchronize(t.e) && !cuEventQuery(t.e), "the_event_comes_with_the_end");
	cuStreamSynchronize(t.b);
	ok_eq(word(t.out), 8, "work_of_the_stream_that_waited_comes_after_it");
}

static double now_ms(void)
{
	struct timespec c;

	clock_gettime(CLOCK_MONOTONIC, &c);
	return c.tv_sec * 1e3 + c.tv_nsec / 1e6;
}

static void test_times(void)
{
	double before, t0, t1;
	float ms = 0;

	before = now_ms();
	cuEventRecord(t.e, t.a);
	t0 = now_ms();
	spin(t.a, 7);
	cuEventRecord(t.f, t.a);
	while (now_ms() - t0 < 20)
		;
	let_go();
	cuEventSynchronize(t.f);
	t1 = now_ms();
	cuEventElapsedTime(&ms, t.e, t.f);
	diag("the events say %.3f ms, the clock at most %.3f", ms, t1 - before);
	ok(ms > 19 && ms < 1.02 * (t1 - before), "the_time_between_events_is_that_of_the_kernel");
}

static void test_other_events(void)
{
	float ms = -1;
	CUevent e;

	spin(t.a, 1);
	cuEventCreate(&e, 0);
	cuEventRecord(e, t.a);
	ok_eq(cuEventDestroy(e), CUDA_SUCCESS, "an_event_may_end_before_it_is_recorded");
	cuEventRecord(t.e, t.a);
	cuEventRecord(t.e, t.b);
	cuEventRecord(t.f, t.b);
	ok_eq(cuEventQuery(t.e), CUDA_SUCCESS, "the_last_record_of_an_event_counts");
	let_go();
	cuCtxSynchronize();
	ok(!cuEventElapsedTime(&ms, t.e, t.f) && ms >= 0, "an_earlier_record_changes_nothing_later");
}

static void test_legacy(void)
{
	uint32_t v = 31;

	spin(NULL, 7);
	cuMemsetD32Async(t.out, 30, 1, t.b);
	ok_eq(cuStreamQuery(t.b), CUDA_ERROR_NOT_READY, "a_blocking_stream_follows_the_legacy_one");
	cuMemcpyHtoDAsync(t.out2, &v, 4, t.free);
	ok_eq(cuStreamSynchronize(t.free), CUDA_SUCCESS, "a_stream_that_does_not_block_goes_on");
	let_go();
	cuStreamSynchronize(NULL);
	ok_eq(cuStreamQuery(t.b), CUDA_SUCCESS,
	      "to_synchronize_with_the_legacy_one_is_to_do_so_with_blocking_ones");
	ok(word(t.out) == 30 && word(t.out2) == 31, "each_has_done_its_work");
}

static void test_beside(void)
{
	CUdeviceptr p;
	CUmodule mod;
	CUstream s;

	spin(t.free, 7);
	ok(!cuMemAlloc(&p, 100) && !cuModuleLoadData(&mod, ptx) && !cuStreamCreate(&s, 0) &&
	   cuStreamQuery(t.free) == CUDA_ERROR_NOT_READY, "what_ends_nothing_goes_beside_a_kernel");
	ok(!cuMemsetD32(p, 77, 1) && word(p) == 77 && cuStreamQuery(t.free) == CUDA_ERROR_NOT_READY,
	   "a_copy_that_waits_goes_beside_a_stream_that_does_not_block");
	put(s, p, 1);
	ok_eq(cuStreamDestroy(s), CUDA_SUCCESS, "a_stream_may_end_before_its_work");
	let_go();
	cuCtxSynchronize();
	ok_eq(word(p), 1, "which_is_done_nevertheless");
	cuMemFree(p);
	cuModuleUnload(mod);
}

/* --- Calls that wait --- */

static CUdeviceptr spare;
static CUmodule spare_mod;
static CUcontext spare_ctx;
static CUevent shared_event;
static CUgraphExec graph;
static char ordinary[LONG];

static CUresult sync_context(void) { return cuCtxSynchronize(); }
static CUresult sync_stream(void) { return cuStreamSynchronize(t.a); }
static CUresult sync_legacy(void) { return cuStreamSynchronize(NULL); }
static CUresult sync_event(void) { return cuEventRecord(t.e, t.a) || cuEventSynchronize(t.e); }
static CUresult copy_back(void) { return cuMemcpyDtoH(ordinary, t.out, 4); }
static CUresult copy_long(void) { return cuMemcpyHtoDAsync(t.out2, ordinary, LONG, t.a); }
static CUresult copy_out(void) { return cuMemcpyDtoHAsync(ordinary, t.out, 4, t.a); }

/* So many questions end before anything sleeps, if it does not. */
#define QUESTIONS	1000000u

static CUresult ask_stream(void)
{
	CUresult rc = CUDA_ERROR_NOT_READY;
	uint32_t i;

	for (i = 0; rc == CUDA_ERROR_NOT_READY && i < QUESTIONS; i++)
		rc = cuStreamQuery(t.a);
	return rc;
}

static CUresult ask_event(void)
{
	CUresult rc = cuEventRecord(t.e, t.a) ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_NOT_READY;
	uint32_t i;

	for (i = 0; rc == CUDA_ERROR_NOT_READY && i < QUESTIONS; i++)
		rc = cuEventQuery(t.e);
	return rc;
}

static CUresult free_it(void) { return cuMemFree(spare); }
static CUresult unload_it(void) { return cuModuleUnload(spare_mod); }
static CUresult destroy_it(void) { return cuCtxDestroy(spare_ctx); }
static CUresult record_shared(void) { return cuEventRecord(shared_event, t.a); }
static CUresult launch_graph(void) { return cuGraphLaunch(graph, t.a); }

static CUresult lock_process(void)
{
	return cuCheckpointProcessLock(getpid(), NULL) || cuCheckpointProcessUnlock(getpid(), NULL);
}

static CUresult launch_many(void)
{
	CUresult rc = CUDA_SUCCESS;
	uint32_t i;

	for (i = 1; !rc && i <= MANY; i++)
		rc = put(t.a, t.out, i);
	return rc;
}

static void make_graph(bool event)
{
	CUgraph g;

	cuStreamBeginCapture(t.b, CU_STREAM_CAPTURE_MODE_GLOBAL);
	put(t.b, t.out, 55);
	if (event)
		cuEventRecordWithFlags(t.f, t.b, CU_EVENT_RECORD_EXTERNAL);
	cuStreamEndCapture(t.b, &g);
	cuGraphInstantiateWithFlags(&graph, g, 0);
	cuGraphDestroy(g);
}

static void test_waits(void)
{
	ok(waits(t.a, sync_context), "to_synchronize_with_the_context_waits");
	ok(waits(t.a, sync_stream), "to_synchronize_with_a_stream_waits");
	ok(waits(t.a, sync_legacy), "to_synchronize_with_the_legacy_stream_waits_for_blocking_ones");
	ok(waits(t.a, sync_event), "to_synchronize_with_an_event_waits");
	ok(waits(t.a, ask_stream), "who_asks_for_a_stream_again_and_again_sleeps_for_it");
	ok(waits(t.a, ask_event), "who_asks_for_an_event_again_and_again_sleeps_for_it");
	ok(waits(t.a, copy_back), "a_synchronous_copy_waits");
	ok(waits(t.a, copy_long), "a_long_copy_of_ordinary_memory_waits_for_its_turn");
	ok(waits(t.a, copy_out), "a_copy_to_ordinary_memory_waits_for_its_turn");
	cuMemAlloc(&spare, 100);
	ok(waits(t.a, free_it), "to_free_memory_waits");
	cuModuleLoadData(&spare_mod, ptx);
	ok(waits(t.a, unload_it), "to_unload_a_module_waits");
	cuEventCreate(&shared_event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
	ok(waits(t.a, record_shared), "to_record_an_event_that_others_see_waits");
	make_graph(true);
	ok(waits(t.a, launch_graph) && word(t.out) == 55,
	   "a_launch_of_a_graph_that_records_an_event_waits");
	cuGraphExecDestroy(graph);
	ok(waits(t.a, launch_many), "a_launch_waits_while_the_queue_is_full");
	ok_eq(word(t.out), MANY, "all_of_the_queue_is_done");
	ok(waits(t.a, lock_process), "to_lock_the_process_for_a_checkpoint_waits");
	cuCtxCreate(&spare_ctx, NULL, 0, 0);
	cuCtxSetCurrent(t.ctx);
	ok(waits(t.a, destroy_it), "to_destroy_a_context_waits");
}

static void *free_in_thread(void *answer)
{
	cuCtxSetCurrent(t.ctx);
	__atomic_store_n(&waiter, gettid(), __ATOMIC_RELEASE);
	*(CUresult *)answer = cuMemFree(spare);
	return NULL;
}

/* The kernel ends when the flag is set, which the second fill does. */
static void test_submit_beside_a_wait(void)
{
	CUresult answer = CUDA_ERROR_UNKNOWN;
	pthread_t thread;

	cuMemAlloc(&spare, 100);
	spin(t.free, 7);
	await_begin();
	__atomic_store_n(&waiter, 0, __ATOMIC_RELEASE);
	pthread_create(&thread, NULL, free_in_thread, &answer);
	while (!__atomic_load_n(&waiter, __ATOMIC_ACQUIRE) || !sleeps_in_futex())
		sched_yield();
	ok(!put(t.free, t.out2, 1) && !cuMemsetD32Async((uintptr_t)t.flag, 1, 1, t.b),
	   "work_is_submitted_while_another_thread_waits_to_be_alone");
	pthread_join(thread, NULL);
	ok_eq(answer, CUDA_SUCCESS, "which_goes_on_when_the_work_before_it_has_ended");
	cuCtxSynchronize();
}

static void test_graph(void)
{
	make_graph(false);
	spin(t.a, 7);
	ok(!cuGraphLaunch(graph, t.a) && cuStreamQuery(t.a) == CUDA_ERROR_NOT_READY,
	   "a_launch_of_a_graph_is_queued");
	ok_eq(cuGraphExecDestroy(graph), CUDA_SUCCESS, "an_executable_graph_may_end_before_it");
	let_go();
	ok_eq(word(t.out), 55, "the_graph_has_run_nevertheless");
}

/* --- Changes of an executable graph --- */

static CUgraphNode node;

static void CUDA_CB await_flag(void *arg)
{
	__atomic_store_n(&t.flag[1], 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(t.flag, __ATOMIC_ACQUIRE))
		sched_yield();
	(void)arg;
}

static CUresult change_graph(void)
{
	uint32_t v = 66;
	void *params[] = { &t.out, &v };
	CUDA_KERNEL_NODE_PARAMS p = {
		.func = t.put, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
		.blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params,
	};

	return cuGraphLaunch(graph, t.a) || cuGraphExecKernelNodeSetParams(graph, node, &p);
}

/* A function of the program keeps no other call from going in. */
static void test_changes(void)
{
	CUresult answer;
	pthread_t thread;
	size_t one = 1;
	CUgraph g;

	cuStreamBeginCapture(t.b, CU_STREAM_CAPTURE_MODE_GLOBAL);
	put(t.b, t.out, 55);
	cuStreamEndCapture(t.b, &g);
	cuGraphGetNodes(g, &node, &one);
	cuGraphInstantiateWithFlags(&graph, g, 0);
	t.flag[0] = t.flag[1] = 0;
	waiter = gettid();
	opened = returned = false;
	cuLaunchHostFunc(t.a, await_flag, NULL);
	await_begin();
	pthread_create(&thread, NULL, open_when_it_sleeps, NULL);
	answer = change_graph();
	__atomic_store_n(&returned, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	ok(!answer && opened && word(t.out) == 55,
	   "a_change_of_a_graph_waits_for_launches_behind_a_host_function");
	cuGraphLaunch(graph, t.a);
	ok_eq(word(t.out), 66, "the_next_launch_has_the_change");
	cuGraphExecDestroy(graph);
	cuGraphDestroy(g);
}

/* --- Other processes --- */

/* Runs the function in a child of a process without a driver. Returns its answer. */
static int in_child(int (*fn)(void), const char *async, const char *prefault)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setenv("WORMHOLE_SOFTGPU_ASYNC", async, 1);
		setenv("WORMHOLE_SOFTGPU_PREFAULT", prefault, 1);
		setenv("WORMHOLE_SOFTGPU_MEM", "16M", 1);
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int fault(void)
{
	CUresult told = CUDA_SUCCESS;
	CUdeviceptr p;

	set_up();
	seen_by_host = t.pinned[1] = t.pinned[2] = 1;
	spin(t.a, 1);
	if (cuLaunchKernel(t.bad, 1, 1, 1, 1, 1, 1, 0, t.a, NULL, NULL) ||
	    put(t.a, (uintptr_t)&t.pinned[1], 5) || cuLaunchHostFunc(t.a, look, NULL) ||
	    cuStreamAddCallback(t.a, look_and_tell, &told, 0))
		return 1;
	t.pinned[2] = 9;
	let_go();
	return cuStreamSynchronize(t.a) != CUDA_ERROR_ILLEGAL_ADDRESS ? 2 :
	       t.pinned[1] != 1 || seen_by_host != 1 ? 3 :
	       told != CUDA_ERROR_ILLEGAL_ADDRESS ? 4 :
	       cuMemAlloc(&p, 4) != CUDA_ERROR_ILLEGAL_ADDRESS ? 5 :
	       cuStreamQuery(t.b) != CUDA_ERROR_ILLEGAL_ADDRESS ? 6 : 0;
}

static int end_early(void)
{
	set_up();
	spin(t.a, 1);
	exit(7);
}

static int fork_early(void)
{
	int status;
	pid_t pid;

	set_up();
	spin(t.a, 1);
	pid = fork();
	if (!pid)
		exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
		     cuStreamSynchronize(t.a) == CUDA_ERROR_NOT_INITIALIZED &&
		     cuMemFree(t.out) == CUDA_ERROR_NOT_INITIALIZED ? 8 : 9);
	waitpid(pid, &status, 0);
	let_go();
	return cuCtxSynchronize() || word(t.out) != 1 ? 1 : WEXITSTATUS(status);
}

/* Are all threads of this process of that class? */
static bool have_class(int wanted)
{
	bool good = true;
	struct dirent *e;
	DIR *d = opendir("/proc/self/task");

	while (d && (e = readdir(d)))
		if (*e->d_name != '.' && sched_getscheduler(atoi(e->d_name)) != wanted)
			good = false;
	if (d)
		closedir(d);
	return d && good;
}

static int idle(void)
{
	struct sched_param none = { 0 };
	bool good;

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		return 1;
	set_up();
	spin(t.a, 1);
	await_begin();
	good = have_class(SCHED_IDLE);
	let_go();
	return cuCtxSynchronize() || !good ? 2 : 0;
}

static int later(void)
{
	set_up();
	if (spin(t.a, 5) || cuStreamQuery(t.a) != CUDA_ERROR_NOT_READY)
		return 1;
	let_go();
	return word(t.out) != 5;
}

/* The result is there although nobody has waited for it. */
static int at_once(void)
{
	set_up();
	t.pinned[1] = 0;
	return put(t.a, (uintptr_t)&t.pinned[1], 5) || t.pinned[1] != 5 ||
	       cuStreamQuery(t.a) != CUDA_SUCCESS;
}

static int refused(void)
{
	return cuInit(0) != CUDA_ERROR_INVALID_VALUE;
}

static void test_processes(void)
{
	ok_eq(in_child(fault, "1", "0"), 0,
	      "a_fault_ends_what_is_queued_and_is_returned_by_the_calls_that_follow");
	ok_eq(in_child(end_early, "1", "0"), 7, "a_process_may_end_while_a_kernel_runs");
	ok_eq(in_child(fork_early, "1", "0"), 8, "a_child_made_while_a_kernel_runs_has_no_driver");
	ok_eq(in_child(idle, "1", "0"), 0, "an_idle_programs_threads_are_all_idle");
	ok_eq(in_child(later, "", "0"), 0, "a_launch_returns_before_its_end_if_no_variable_is_set");
	ok_eq(in_child(at_once, "0", "0"), 0, "without_the_thread_a_launch_is_done_when_it_returns");
	ok_eq(in_child(at_once, "1", "1"), 0, "where_no_thread_may_run_it_is_so_too");
	ok_eq(in_child(refused, "2", "0"), 0, "a_value_that_is_neither_0_nor_1_is_refused");
}

int main(void)
{
	tap_plan(72);
	test_processes();
	unsetenv("WORMHOLE_SOFTGPU_ASYNC");
	set_up();
	test_launch();
	test_parameters();
	test_clusters();
	test_copies();
	test_boxes();
	test_host_functions();
	test_thread_of_functions();
	test_other_thread();
	test_events();
	test_times();
	test_other_events();
	test_legacy();
	test_beside();
	test_waits();
	test_submit_beside_a_wait();
	test_graph();
	test_changes();
	return tap_exit();
}
