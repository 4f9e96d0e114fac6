// SPDX-License-Identifier: Apache-2.0
/*
 * A client that lives and dies as it is told:
 *   once    copies something to the device and back
 *   loop    says "ready", calls until an error comes, names the error; exit 0
 *   steady  says "ready", calls until SIGTERM, says how many calls that were; exit 1
 *           with the name of the first error
 *   spin    says "ready", then makes one call of 15 s; names the error that ends it
 *   calls   warms up, says "ready", waits for a line, makes 1,000 short calls, says
 *           "called", waits for a line
 *   syscalls  does the same with two calls in each of which the worker's backend makes
 *           2,000 system calls; says how many were answered right. Makes one more that
 *           the kernel answers
 *   meet N  does the same with N threads, bound to the CPUs in turns; each makes MEETINGS
 *           calls, which return only when the calls of all threads are in the backend
 *   allocate N  does the same with calls whose backend allocates memory and frees it
 *   quit    does what `once` does, then calls _exit()
 *   crash   does what `once` does, then raises SIGSEGV
 *   leave   leaves a call from a signal handler by siglongjmp(), then exits
 * Exit status 3 means that CUDA did not start, or gave a wrong result.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "client.h"

#define SIZE		65536
#define CALLS		1000
#define MEETINGS	50
#define MOST_THREADS	8
#define SPIN_MS		15000

static CUresult round_trip(CUdeviceptr p)
{
	static char out[SIZE], in[SIZE];
	CUresult res;

	memset(out, 42, sizeof(out));
	memset(in, 0, sizeof(in));
	res = cuMemcpyHtoD(p, out, sizeof(out));
	if (res == CUDA_SUCCESS)
		res = cuMemcpyDtoH(in, p, sizeof(in));
	if (res == CUDA_SUCCESS && memcmp(in, out, sizeof(in)))
		res = CUDA_ERROR_UNKNOWN;
	return res;
}

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

static void name_error(CUresult res)
{
	const char *name = "?";

	cuGetErrorName(res, &name);
	say(name);
}

static void loop(CUdeviceptr p)
{
	CUresult res;

	say("ready");
	do
		res = round_trip(p);
	while (res == CUDA_SUCCESS);
	name_error(res);
}

static volatile sig_atomic_t enough;

static void stop(int sig)
{
	(void)sig;
	enough = 1;
}

static void steady(CUdeviceptr p)
{
	CUresult res = CUDA_SUCCESS;
	unsigned long n = 0;

	alarm(0);
	signal(SIGTERM, stop);
	say("ready");
	while (!enough && res == CUDA_SUCCESS) {
		res = round_trip(p);
		n += 2;
	}
	printf("%lu calls\n", n);
	if (res == CUDA_SUCCESS)
		exit(0);
	name_error(res);
	exit(1);
}

static void spin(void)
{
	uint64_t clocks = clocks_per_ms() * SPIN_MS;
	struct spin s;

	spin_load(&s);
	say("ready");
	name_error(spin_run(&s, clocks, 1));
}

static void make_calls(int n)
{
	while (n--)
		CU(cuCtxSynchronize());
}

static void calls(void)
{
	char line[16];

	make_calls(10);
	say("ready");
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
	make_calls(CALLS);
	say("called");
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
}

/* Makes CALLS calls, each with system calls of this kind. Returns how many answered @value. */
static int calls_that_say(int kind, size_t value)
{
	int i, right = 0;
	size_t said;

	for (i = 0; i < CALLS; i++) {
		CU(cuCtxGetLimit(&said, (CUlimit)kind));
		right += said == value;
	}
	return right;
}

/* Has the slot's companion make system calls; syscalls.c explains the kinds. */
static void companion(void)
{
	unsigned long long start;
	char line[16];
	int kind;

	for (kind = 0; kind < 3; kind++) {
		static const size_t value[] = { 7, 1, 1 };
		size_t said;
		int right;

		CU(cuCtxGetLimit(&said, (CUlimit)kind));
		printf("begin %d\n", kind);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			exit(4);
		start = __builtin_ia32_rdtsc();
		right = calls_that_say(kind, value[kind]);
		start = __builtin_ia32_rdtsc() - start;
		printf("end %d, %d are right\n", kind, right);
		printf("a call with system calls of kind %d takes %llu instructions\n", kind,
		       start / CALLS);
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			exit(4);
	}
}

static void syscalls(void)
{
	unsigned int version;
	unsigned long long start;
	CUsharedconfig costs;
	CUfunc_cache rights;
	int right, ticks;
	char line[16];

	CU(cuCtxGetStreamPriorityRange(&right, &ticks));
	CU(cuCtxGetCacheConfig(&rights));
	CU(cuCtxGetSharedMemConfig(&costs));
	say("ready");
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
	CU(cuCtxGetStreamPriorityRange(&right, &ticks));
	CU(cuCtxGetCacheConfig(&rights));
	CU(cuCtxGetSharedMemConfig(&costs));
	printf("called, %d and %d are right\n", right, (int)rights);
	printf("getppid() takes %d instructions, sched_yield() %d\n", ticks >> 16, ticks & 0xffff);
	printf("clock_gettime() takes %u instructions, a futex that differs %u\n",
	       (unsigned int)costs >> 16, (unsigned int)costs & 0xffff);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
	start = __builtin_ia32_rdtsc();
	CU(cuCtxGetApiVersion(NULL, &version));
	start = __builtin_ia32_rdtsc() - start;
	printf("asked, %u is right\n", version);
	printf("a call with one that is handed on takes %llu instructions\n", start);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
	companion();
}

static struct {
	CUcontext ctx;
	CUdeviceptr mem;
	int threads;
	int (*in_call)(CUstream stream);
	pthread_barrier_t step;		/* shared with main() */
	int met[MOST_THREADS];
} meeting;

static void bind_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		exit(4);
}

static int meet_others(CUstream stream)
{
	return cuMemsetD16Async(meeting.mem, (unsigned short)meeting.threads, 1, stream) ==
	       CUDA_SUCCESS;
}

static int allocate_beside_others(CUstream stream)
{
	return cuMemsetD8Async(meeting.mem, (unsigned char)meeting.threads, 1, stream) ==
	       CUDA_SUCCESS;
}

static void *meet(void *number)
{
	int i, t = (int)(intptr_t)number;
	CUstream stream;

	bind_to(t % (int)sysconf(_SC_NPROCESSORS_ONLN));
	CU(cuCtxSetCurrent(meeting.ctx));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	/* The worker makes a stream alone, so nobody meets before all threads have one. */
	pthread_barrier_wait(&meeting.step);
	if (!meeting.in_call(stream))
		fail("the first meeting", CUDA_ERROR_LAUNCH_TIMEOUT);
	pthread_barrier_wait(&meeting.step);
	pthread_barrier_wait(&meeting.step);
	for (i = 0; i < MEETINGS; i++)
		meeting.met[t] += meeting.in_call(stream);
	pthread_barrier_wait(&meeting.step);
	return NULL;
}

/* Runs the meetings. The threads stay until the process ends. */
static void meetings(int (*in_call)(CUstream stream), int threads)
{
	pthread_t thread;
	char line[16];
	int t, met = 0;

	if (threads < 1 || threads > MOST_THREADS)
		exit(4);
	meeting.threads = threads;
	meeting.in_call = in_call;
	CU(cuCtxGetCurrent(&meeting.ctx));
	CU(cuMemAlloc(&meeting.mem, SIZE));
	pthread_barrier_init(&meeting.step, NULL, threads + 1);
	for (t = 0; t < threads; t++)
		if (pthread_create(&thread, NULL, meet, (void *)(intptr_t)t))
			exit(4);
	pthread_barrier_wait(&meeting.step);
	pthread_barrier_wait(&meeting.step);
	say("ready");
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
	pthread_barrier_wait(&meeting.step);
	pthread_barrier_wait(&meeting.step);
	for (t = 0; t < threads; t++)
		met += meeting.met[t];
	printf("called, %d of %d have met\n", met, threads * MEETINGS);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(4);
}

static sigjmp_buf out;

static void jump(int sig)
{
	siglongjmp(out, sig);
}

static void leave(void)
{
	const struct itimerval soon = { { 0, 0 }, { 0, 50000 } };
	uint64_t clocks = clocks_per_ms() * SPIN_MS;
	struct spin s;

	spin_load(&s);
	signal(SIGALRM, jump);
	if (sigsetjmp(out, 1)) {
		say("left");
		return;
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	name_error(spin_run(&s, clocks, 1));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "once";
	volatile int *volatile nowhere = NULL;
	CUdeviceptr p;

	start();
	CU(cuMemAlloc(&p, SIZE));
	CU(round_trip(p));
	if (!strcmp(mode, "loop"))
		loop(p);
	else if (!strcmp(mode, "steady"))
		steady(p);
	else if (!strcmp(mode, "spin"))
		spin();
	else if (!strcmp(mode, "calls"))
		calls();
	else if (!strcmp(mode, "syscalls"))
		syscalls();
	else if (!strcmp(mode, "meet"))
		meetings(meet_others, argc > 2 ? atoi(argv[2]) : 2);
	else if (!strcmp(mode, "allocate"))
		meetings(allocate_beside_others, argc > 2 ? atoi(argv[2]) : 2);
	else if (!strcmp(mode, "quit"))
		_exit(0);
	else if (!strcmp(mode, "leave"))
		leave();
	else if (!strcmp(mode, "crash"))
		*nowhere = 1;
	return 0;
}
