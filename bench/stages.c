// SPDX-License-Identifier: Apache-2.0
/*
 * Runs in the client VM of an emulated machine, whose TSC counts executed
 * instructions: how many a call takes as a whole, next to baselines, and marked
 * calls whose instructions the machine writes down one by one (stages.py).
 * Marks are XCHG BX, BX, which stops Bochs' debugger and does nothing else.
 *
 * usage: stages baseline | null_call | launch | launch_direct
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "session/dispatch.h"
#include "hypercall.h"
#include "launch.h"
#include "transport.h"

#define GOAL	20000000	/* instructions: 0.2 s of a core for each benchmark */
#ifndef MARKED
#define MARKED	50		/* the Makefile tells both this and stages.py */
#endif

static struct bench bench;
static struct wh_link link_;

static inline void mark(void)
{
	__asm__ volatile("xchg %%bx, %%bx" ::: "memory");
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

/* The shortest leaf: KVM reads three constants. */
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
	int status = link_.t->call(&link_, 0, WH_HANDLER_NULL, 0);

	if (status) {
		fprintf(stderr, "null call: %s\n", wh_strerror(status));
		exit(1);
	}
}

/* --- How ------------------------------------------------------------------------- */

/* One sample is one call, with the two RDTSC around it. */
static void count(const char *name, void (*call)(void))
{
	unsigned int i;
	uint64_t t;

	for (i = 0; i < BENCH_WARM_UP; i++)
		call();
	bench_start(&bench, name, "instructions");
	while (!bench_over(&bench, GOAL)) {
		t = bench_tsc();
		call();
		bench_add(&bench, (double)(bench_tsc() - t));
	}
	bench_report(&bench);
}

/* What stages.py has to know about the marked calls, then these. */
static void marked(const char *name, void (*call)(void), const void *entry)
{
	unsigned int i;

	printf("marked %s %u %p\n", name, MARKED, entry);
	fflush(stdout);
	for (i = 0; i < MARKED; i++) {
		mark();
		call();
		mark();
	}
}

/* Delegated calls of slot 0, counted in the view. They go on from earlier clients. */
static uint64_t calls(void)
{
	const volatile struct wh_slot *slot = (const void *)(WH_WINDOW_VA + WH_PAGE_SIZE);

	return slot->calls;
}

static void print_calls(const char *name, uint64_t before)
{
	printf("calls %s %llu\n", name, (unsigned long long)(calls() - before));
}

static int baseline(void)
{
	count("rdtsc_pair", nothing);
	count("getpid", system_call);
	count("cpuid_hypercall", hypercall);
	return 0;
}

static int null(void)
{
	int status = wh_transport_vmfunc.open(&link_);
	uint64_t before;

	if (status) {
		fprintf(stderr, "vmfunc: %s\n", wh_strerror(status));
		return 1;
	}
	before = calls();
	count("null_call", null_call);
	marked("null_call", null_call, (const void *)link_.t->call);
	print_calls("null_call", before);
	link_.t->close(&link_);
	return 0;
}

static int launch(void)
{
	uint64_t before;

	cuda_start();
	before = calls();
	count("launch", cuda_launch_empty);
	marked("launch", cuda_launch_empty, (const void *)cuda.launch);
	print_calls("launch", before);
	return 0;
}

/* softgpu in this process: the same launch without Wormhole. */
static int launch_direct(void)
{
	cuda_start();
	count("launch_direct", cuda_launch_empty);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} kinds[] = {
		{ "baseline", baseline }, { "null_call", null }, { "launch", launch },
		{ "launch_direct", launch_direct },
	};
	unsigned int i;

	for (i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return kinds[i].run();
	fprintf(stderr, "usage: stages baseline | null_call | launch | launch_direct\n");
	return 2;
}
