// SPDX-License-Identifier: Apache-2.0
/*
 * Runs in the client VM of an emulated machine, whose TSC counts executed instructions. It
 * measures the instructions of a whole call beside baselines, and makes marked calls, whose
 * instructions the machine writes down one by one (instrument/, record.py). On a real
 * processor the same counts are cycles of its TSC, and the marks do nothing.
 *
 * usage: stages baseline | null PREFIX [vmfunc|ring|shm] | cuda PREFIX |
 *	syscalls PREFIX none|gate|handoff|companion...
 *
 * With WH_ROUNDS=FEW,MANY,MARKED it makes each call FEW times and MANY times, with a line
 * `paused NAME' and a wait for a line on stdin before, between and behind, so that others can
 * read counters of the machine. The difference of both rounds has no pause in it. Calls
 * `after a pause' come when a worker that polls has gone to sleep.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "session/dispatch.h"
#include "hypercall.h"
#include "launch.h"
#include "transport.h"

#define GOAL	10000000	/* instructions: 0.1 s of a core for each benchmark */
#define MARKED	24		/* record.py leaves out the first */
#define BYTES	4096
#define PAUSE_NS	5000000	/* more than WH_SHM_WORKER_NS */
#define PAUSE_PART	8	/* of so many calls one is made behind a pause */

/* The same values as in tests/bochs/behaviours/syscalls.c. */
enum wh_kind { KIND_COMPANION = 0, KIND_NONE = 5, KIND_GATE = 6, KIND_HANDOFF = 7 };
#define KIND_VALUE(kind)	((kind) == KIND_COMPANION ? 7 : 1)

static struct {
	unsigned int few, many, marked;
} rounds = { .marked = MARKED };

static struct bench bench;
static struct wh_link link_;
static CUdeviceptr device;
static char host[BYTES];
static typeof(cuCtxGetLimit) *get_limit;

/* An XCHG of a register with itself; instrument/instrument.cc looks for these two at CPL 3. */
static inline void begin(unsigned long what)
{
	__asm__ volatile("xchg %%bx, %%bx" :: "a" (what) : "memory");
}

static inline void end(void)
{
	__asm__ volatile("xchg %%cx, %%cx" ::: "memory");
}

/* --- What is measured ------------------------------------------------------------ */

static void nothing(void)
{
}

static void system_call(void)
{
	long rc = SYS_getpid;

	__asm__ volatile("syscall" : "+a" (rc) :: "rcx", "r11", "memory");
}

/* Sixteen in a row: one alone would vanish in what RDTSC takes. */
static void wrfsbase_16(void)
{
	unsigned long base;

	__asm__ volatile("rdfsbase %0\n"
			 ".rept 16\n"
			 "wrfsbase %0\n"
			 ".endr" : "=r" (base) :: "memory");
}

/* This is the shortest leaf: KVM reads three constants. */
static void hypercall(void)
{
	struct wh_leaf l = { { 0 }, 0, 0, 0 };

	if (wh_hypercall(WH_LEAF_VERSION, &l) != WH_OK) {
		fprintf(stderr, "this machine has no Wormhole\n");
		exit(1);
	}
}

static void null_call(void)
{
	int status = link_.t->call(&link_, WH_HANDLER_NULL, 0, 0);

	if (status) {
		fprintf(stderr, "null call: %s\n", wh_strerror(status));
		exit(1);
	}
}

static void to_device(void)
{
	cuda_must("cuMemcpyHtoD", cuda.to_device(device, host, sizeof(host)));
}

static void to_host(void)
{
	cuda_must("cuMemcpyDtoH", cuda.to_host(host, device, sizeof(host)));
}

/* Makes a call in which the backend makes one system call, or none. */
static void limit(enum wh_kind kind)
{
	size_t value;

	cuda_must("cuCtxGetLimit", get_limit(&value, (CUlimit)kind));
	if (value == KIND_VALUE(kind))
		return;
	fprintf(stderr, "a system call of kind %d says %zu\n", kind, value);
	exit(1);
}

/* Waits as a program that computes something of its own between two calls. */
static void rest(void)
{
	static const struct timespec t = { .tv_nsec = PAUSE_NS };

	nanosleep(&t, NULL);
}

static void call_without(void) { limit(KIND_NONE); }
static void call_by_the_gate(void) { limit(KIND_GATE); }
static void call_by_the_companion(void) { limit(KIND_COMPANION); }
static void call_by_handoff(void) { limit(KIND_HANDOFF); }

/* --- How ------------------------------------------------------------------------- */

/* A sample is one call, including the two RDTSC around it. */
static void count(const char *name, void (*call)(void))
{
	unsigned int i;
	uint64_t t;

	for (i = 0; i < BENCH_WARM_UP; i++)
		call();
	bench_start(&bench, name, "ticks");
	while (!bench_over(&bench, GOAL)) {
		t = bench_tsc();
		call();
		bench_add(&bench, (double)(bench_tsc() - t));
	}
	bench_report(&bench);
}

static void pause_in(const char *name)
{
	char line[16];

	printf("paused %s\n", name);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

static long times_slept(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw;
}

/* Prints the calls, their ticks, how often this process has slept meanwhile, and the median. */
static void round_of(const char *name, void (*before)(void), void (*call)(void), unsigned int n)
{
	long slept = times_slept();
	unsigned int i;
	uint64_t t;

	bench_start(&bench, name, "instructions");
	for (i = 0; i < n; i++) {
		before();
		t = bench_tsc();
		call();
		bench_add(&bench, (double)(bench_tsc() - t));
	}
	slept = times_slept() - slept;
	printf("ran %s %u %llu %ld %.0f\n", name, n, (unsigned long long)bench.sum, slept,
	       bench_median(&bench));
	pause_in(name);
}

/* Prints what record.py must know about the marked calls, and then makes the calls. */
static void marked(const char *name, void (*before)(void), void (*call)(void))
{
	static unsigned long n;
	unsigned long what = (unsigned long)getpid() << 8 | ++n;
	unsigned int i;

	printf("marked %s %lu\n", name, what);
	fflush(stdout);
	/* The other side may have gone to sleep in the pause. */
	for (i = 0; before == nothing && i < rounds.few; i++)
		call();
	for (i = 0; i < rounds.marked; i++) {
		before();
		begin(what);
		call();
		end();
	}
}

/*
 * Schedulers need some calls until each side has a CPU of its own. Calls behind a pause are
 * fewer, since they take a hundred times as long.
 */
static void paced(const char *name, void (*before)(void), void (*call)(void))
{
	unsigned int i, part = before == rest ? PAUSE_PART : 1;

	for (i = 0; i < rounds.few; i++)
		call();
	pause_in(name);
	round_of(name, before, call, rounds.few / part);
	round_of(name, before, call, rounds.many / part);
}

static void behind(const char *prefix, const char *what, void (*before)(void), void (*call)(void))
{
	static char names[16][64];
	static unsigned int n;
	char *name = names[n++];

	snprintf(name, sizeof(names[0]), "%s_%s", prefix, what);
	if (rounds.many)
		paced(name, before, call);
	else
		count(name, call);
	marked(name, before, call);
}

static void both(const char *prefix, const char *what, void (*call)(void))
{
	behind(prefix, what, nothing, call);
}

/* Prints where this program's code is, for readers of the addresses. */
static void print_maps(const char *prefix)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], path[256];
	unsigned long from, to;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx r-xp %*s %*s %*s %255s", &from, &to, path) == 3)
			printf("code %s %lx %lx %s\n", prefix, from, to, path);
	if (f)
		fclose(f);
}

static int baseline(void)
{
	count("rdtsc_pair", nothing);
	count("getpid", system_call);
	count("cpuid_hypercall", hypercall);
	count("wrfsbase_16", wrfsbase_16);
	return 0;
}

static const struct wh_transport *transport(const char *name)
{
	static const struct wh_transport *const all[] = {
		&wh_transport_vmfunc, &wh_transport_ring, &wh_transport_shm,
	};
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

static int null(const char *prefix, const char *name)
{
	const struct wh_transport *t = transport(name);
	int status;

	if (!t) {
		fprintf(stderr, "no transport %s; there are vmfunc, ring and shm\n", name);
		return 2;
	}
	link_.t = t;
	status = t->open(&link_);
	if (status) {
		fprintf(stderr, "%s: %s\n", name, wh_strerror(status));
		return 1;
	}
	print_maps(prefix);
	both(prefix, "null_call", null_call);
	if (rounds.many) {
		behind(prefix, "pause", rest, nothing);
		behind(prefix, "null_call_after_pause", rest, null_call);
	}
	t->close(&link_);
	return 0;
}

/* Uses the libcuda.so.1 that is there: the stubs, or softgpu in this process. */
static int all_cuda(const char *prefix)
{
	cuda_start();
	cuda_must("cuMemAlloc", cuda.alloc(&device, BYTES));
	print_maps(prefix);
	both(prefix, "launch", cuda_launch_empty);
	both(prefix, "copy_to_device", to_device);
	both(prefix, "copy_to_host", to_host);
	return 0;
}

/* The worker's backend must be tests/bochs/behaviours/syscalls.c. */
static int system_calls(const char *prefix, char **names)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} ways[] = {
		{ "none", call_without }, { "gate", call_by_the_gate },
		{ "handoff", call_by_handoff }, { "companion", call_by_the_companion },
	};
	unsigned int i;

	cuda_start();
	get_limit = cuda_symbol(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetLimit");
	print_maps(prefix);
	for (; *names; names++)
		for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
			if (!strcmp(*names, ways[i].name))
				both(prefix, ways[i].name, ways[i].call);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: stages baseline | null PREFIX [vmfunc|ring|shm] | cuda PREFIX | "
		"syscalls PREFIX none|gate|handoff|companion...; WH_ROUNDS=FEW,MANY,MARKED\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *text = getenv("WH_ROUNDS");

	if (text && (sscanf(text, "%u,%u,%u", &rounds.few, &rounds.many, &rounds.marked) != 3 ||
		     rounds.few < PAUSE_PART || rounds.many < rounds.few ||
		     rounds.many > BENCH_SAMPLES))
		return usage();
	if (argc == 2 && !strcmp(argv[1], "baseline"))
		return baseline();
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "null"))
		return null(argv[2], argc == 4 ? argv[3] : "vmfunc");
	if (argc == 3 && !strcmp(argv[1], "cuda"))
		return all_cuda(argv[2]);
	if (argc > 3 && !strcmp(argv[1], "syscalls"))
		return system_calls(argv[2], argv + 3);
	return usage();
}
