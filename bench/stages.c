// SPDX-License-Identifier: Apache-2.0
/*
 * Runs in the client VM of an emulated machine, whose TSC counts executed
 * instructions: how many a call takes as a whole, next to baselines, and marked
 * calls whose instructions the machine writes down one by one (stages.py).
 * Marks are XCHG BX, BX, which stops Bochs' debugger and does nothing else.
 *
 * usage: stages baseline | null | launch NAME
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "dispatch.h"
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
	int status = link_.t->call(&link_, WH_HANDLER_NULL, 0);

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

/* Of this process, counted by the worker's side of the trampoline in slot 0. */
static void print_calls(const char *name)
{
	const struct wh_slot *slot = (const void *)(WH_WINDOW_VA + WH_PAGE_SIZE);

	printf("calls %s %llu\n", name, (unsigned long long)slot->calls);
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

	if (status) {
		fprintf(stderr, "vmfunc: %s\n", wh_strerror(status));
		return 1;
	}
	count("null_call", null_call);
	marked("null_call", null_call, (const void *)link_.t->call);
	print_calls("null_call");
	link_.t->close(&link_);
	return 0;
}

static int launch(const char *name)
{
	cuda_start();
	count(name, cuda_launch_empty);
	if (strcmp(name, "launch"))
		return 0;
	marked(name, cuda_launch_empty, (const void *)cuda.launch);
	print_calls(name);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "baseline"))
		return baseline();
	if (argc == 2 && !strcmp(argv[1], "null"))
		return null();
	if (argc == 3 && !strcmp(argv[1], "launch"))
		return launch(argv[2]);
	fprintf(stderr, "usage: stages baseline | null | launch NAME\n");
	return 2;
}
