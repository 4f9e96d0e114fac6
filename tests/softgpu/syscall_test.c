// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the calls of a training loop, once warm, make no system call.
 * Each path runs in a process that the kernel kills for any call but its end (seccomp). It
 * needs no hardware.
 */
#include <cuda.h>
#include <pthread.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define ROUNDS 1000

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry add1(.param .u64 p, .param .u32 n)\n{\n"
	".reg .u64 %a; .reg .u32 %v, %n;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [n];\n"
	"ld.global.u32 %v, [%a]; add.u32 %v, %v, %n;\n"
	"st.global.u32 [%a], %v; ret;\n}\n";

static struct {
	CUdeviceptr p, q;
	CUfunction f;
	CUkernel k;
	CUcontext ctx;
	CUstream s;
	CUevent a, b;
	char *host;
	char heap[65536];
} t;

static int launch(void)
{
	unsigned int n = 1;
	void *params[] = { &t.p, &n };

	return cuLaunchKernel(t.f, 4, 1, 1, 64, 1, 1, 0, t.s, params, NULL) ||
	       cuLaunchKernel((CUfunction)t.k, 1, 1, 1, 32, 1, 1, 0, NULL,
			      params, NULL) ||
	       cuCtxSynchronize();
}

static int copies(void)
{
	return cuMemcpyHtoD(t.p, t.heap, sizeof(t.heap)) ||
	       cuMemcpyDtoH(t.heap, t.p, sizeof(t.heap)) ||
	       cuMemcpyDtoD(t.q, t.p, sizeof(t.heap)) ||
	       cuMemcpyHtoDAsync(t.p, t.host, 4096, t.s) ||
	       cuMemcpyDtoHAsync(t.host, t.p, 4096, t.s) ||
	       cuStreamSynchronize(t.s);
}

static int fills(void)
{
	return cuMemsetD8(t.p, 1, 65536) || cuMemsetD32(t.p, 1, 16384) ||
	       cuMemsetD8Async(t.p, 1, 100, t.s);
}

static int events(void)
{
	float ms;

	return cuEventRecord(t.a, t.s) || cuEventRecord(t.b, t.s) ||
	       cuEventSynchronize(t.b) || cuEventQuery(t.a) ||
	       cuStreamWaitEvent(NULL, t.b, 0) ||
	       cuEventElapsedTime(&ms, t.a, t.b);
}

static int allocations(void)
{
	CUdeviceptr p, q, r;

	return cuMemAlloc(&p, 4096) || cuMemAlloc(&q, 8 << 20) ||
	       cuMemFree(p) || cuMemAllocAsync(&r, 100, t.s) ||
	       cuMemFreeAsync(r, t.s) || cuMemFree(q);
}

static int objects(void)
{
	CUstream s;
	CUevent e;

	return cuStreamCreate(&s, 0) || cuStreamDestroy(s) ||
	       cuEventCreate(&e, 0) || cuEventDestroy(e);
}

static int queries(void)
{
	CUcontext ctx;
	size_t free, total;
	unsigned int type;
	int v;

	return cuCtxGetCurrent(&ctx) || cuCtxSetCurrent(ctx) ||
	       cuMemGetInfo(&free, &total) ||
	       cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) ||
	       cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				     t.p) ||
	       cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, t.f, 64, 0);
}

static int set_up(void)
{
	CUlibrary lib;
	CUmodule mod;

	return cuInit(0) || cuDevicePrimaryCtxRetain(&t.ctx, 0) ||
	       cuCtxSetCurrent(t.ctx) || cuMemAlloc(&t.p, 65536) ||
	       cuMemAlloc(&t.q, 65536) || cuStreamCreate(&t.s, 0) ||
	       cuEventCreate(&t.a, 0) || cuEventCreate(&t.b, 0) ||
	       cuMemAllocHost((void **)&t.host, 4096) ||
	       cuModuleLoadData(&mod, ptx) ||
	       cuModuleGetFunction(&t.f, mod, "add1") ||
	       cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0) ||
	       cuLibraryGetKernel(&t.k, lib, "add1");
}

static int forbid_all_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		/* The driver has a thread of its own, which has to end with the process. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* Replaces sched_yield() as a worker does (server/vm/interpose.c). */
int sched_yield(void)
{
	__builtin_ia32_pause();
	return 0;
}

/* --- Another thread that meets this one in the lock --- */

static int others, stop;	/* rounds that it has done */

static void *meet(void *path)
{
	int (*fn)(void) = path;

	if (cuCtxSetCurrent(t.ctx) || forbid_all_calls())
		_exit(5);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (fn())
			_exit(4);
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

static int start_other(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, meet, copies))
		return 1;
	while (!__atomic_load_n(&others, __ATOMIC_RELAXED))
		__builtin_ia32_pause();
	return 0;
}

/* Copies for at least one round of the other thread. */
static int copies_beside_others(void)
{
	static bool started;
	int from;

	if (!started && start_other())
		return 1;
	started = true;
	from = __atomic_load_n(&others, __ATOMIC_RELAXED);
	do {
		if (copies())
			return 1;
	} while (__atomic_load_n(&others, __ATOMIC_RELAXED) == from);
	return 0;
}

/* Returns 0 when the path made no system call; otherwise what its process said. */
static int run(int (*path)(void), int extra_call)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (set_up())
			_exit(3);
		for (int i = 0; i < 3; i++)
			if (path())
				_exit(4);
		if (forbid_all_calls())
			_exit(5);
		for (int i = 0; i < ROUNDS; i++)
			if (path())
				syscall(SYS_exit_group, 6);
		if (extra_call)
			getppid();
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		syscall(SYS_exit_group, 0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

int main(void)
{
	/*
	 * The library is set up as where a worker must make no system call: waking a thread would
	 * be one.
	 */
	setenv("WORMHOLE_SOFTGPU_THREADS", "1", 1);
	setenv("WORMHOLE_SOFTGPU_ASYNC", "0", 1);
	tap_plan(9);
	if (run(fills, 1) != 1000 + SIGSYS) {
		for (int i = 0; i < 9; i++)
			skip("no_system_calls", "seccomp filters do not work");
		return tap_exit();
	}
	ok(1, "the_filter_catches_a_system_call");
	ok_eq(run(launch, 0), 0, "launches_make_no_system_call");
	ok_eq(run(copies, 0), 0, "copies_make_no_system_call");
	ok_eq(run(fills, 0), 0, "fills_make_no_system_call");
	ok_eq(run(events, 0), 0, "events_make_no_system_call");
	ok_eq(run(allocations, 0), 0, "allocations_make_no_system_call");
	ok_eq(run(objects, 0), 0, "streams_and_events_come_and_go_without_one");
	ok_eq(run(queries, 0), 0, "queries_make_no_system_call");
	setenv("WORMHOLE_SOFTGPU_PREFAULT", "1", 1);
	setenv("WORMHOLE_SOFTGPU_MEM", "64M", 1);
	ok_eq(run(copies_beside_others, 0), 0, "threads_that_meet_in_the_lock_make_none");
	return tap_exit();
}
