// SPDX-License-Identifier: Apache-2.0
/*
 * A client that lives and dies as it is told:
 *   once    copy something there and back
 *   loop    say "ready", call until an error comes, name it; exit 0
 *   steady  say "ready", call until SIGTERM, say how many calls that were; exit 1
 *           with the name of the first error
 *   spin    say "ready", then one call of 15 s; name the error that ends it
 *   calls   warm up, say "ready", wait for a line, make 1,000 short calls, say
 *           "called", wait for a line
 *   syscalls  the same with two calls in each of which the worker's backend makes
 *           2,000 system calls; how many were answered right, and one more that the
 *           kernel answers
 *   quit    once, then _exit()
 *   crash   once, then SIGSEGV
 *   leave   a signal handler leaves a call by siglongjmp(), then exit
 * Exit 3: CUDA did not start, or gave a wrong result.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "client.h"

#define SIZE		65536
#define CALLS		1000
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

/* How many of CALLS calls, each with system calls of this kind, answered so. */
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

/* What the slot's companion does: see syscalls.c for the kinds. */
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
	else if (!strcmp(mode, "quit"))
		_exit(0);
	else if (!strcmp(mode, "leave"))
		leave();
	else if (!strcmp(mode, "crash"))
		*nowhere = 1;
	return 0;
}
