// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call costs on this host, in ticks of the TSC as the client's CPL 3
 * reads it: VMFUNC both ways, a null call, one whose exits are forced, a system
 * call in a call by the gate and by handoff, beside two RDTSC and one exit. A
 * line for each,
 *
 *	# cost NAME UNIT SAMPLES MIN MEDIAN MAX
 *
 * No figure is judged; but that each of them is of what it says is: by the exits
 * and handoffs that KVM counts meanwhile. WH_COST_CALLS: samples of each. Needs
 * VMFUNC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "wormhole.h"

#define CALLS			1000
#define TRIES			10	/* the host may have taken the CPU in between */
#define EXIT_CPUID		10
#define EXIT_VMFUNC		59
/* The client's LSTAR, where its view has a gate. */
#define KERNEL_VA		0xffffa00000345000ULL
#define LSTAR			(KERNEL_VA + 0x640)
/* No processor with VMX has so slow a TSC; an emulator's counts instructions. */
#define SLOWEST_KHZ		500000

static s64 null_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0x600d;
}

static s64 syscall_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 ret;

	asm volatile("syscall" : "=a"(ret) : "0"(a0), "D"(a1), "S"(1) : "rcx", "r11", "memory");
	return ret;
}

enum { H_NULL, H_SYSCALL };
static const wh_handler_fn handlers[] = { null_handler, syscall_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static const char *unit = "cycles";
static u64 calls;

/* Of the client VM's copy. */
static u64 sample[CALLS], list_index, wrong;

/* --- What is measured, at CPL 3 of the client ---------------------------------------- */

static void nothing(void)
{
}

/* The shortest leaf: KVM answers three constants. */
static void hypercall(void)
{
	u64 rax = WH_LEAF_VERSION;

	asm volatile("cpuid" : "+a"(rax) :: "rbx", "rcx", "rdx", "memory");
	wrong += rax != WH_OK;
}

/* This code is the worker's, too. */
static void there_and_back(void)
{
	wrong += wh_vmfunc(list_index) || wh_vmfunc(0);
}

static void null_call(void)
{
	wrong += wh_guest_delegate(H_NULL, 0, 0) != 0x600d;
}

static void call_by_the_gate(void)
{
	wrong += wh_guest_delegate(H_SYSCALL, WH_SYS_HERE, 41) != 42;
}

static void call_by_handoff(void)
{
	wrong += wh_guest_delegate(H_SYSCALL, WH_SYS_ADD, 41) != 42;
}

static u64 guest_measure(void (*what)(void), u64 n)
{
	u64 i, start;

	wrong = 0;
	what();		/* the first one meets what is not there yet */
	for (i = 0; i < n; i++) {
		start = wh_rdtsc();
		what();
		sample[i] = wh_rdtsc() - start;
	}
	return wrong;
}

/* --- The host -------------------------------------------------------------------------- */

/* Each sample's share of these, in the view. */
struct expected {
	u64 vmfunc_exits, handoffs;
};

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static u64 handoffs(const struct wh_host_stat *before)
{
	struct wh_host_stat now;
	u64 sum = 0;
	size_t i;

	wh_stat(2, &now);
	for (i = 0; i < WH_ARRAY_SIZE(now.handoffs); i++)
		sum += now.handoffs[i] - before->handoffs[i];
	return sum;
}

static void report(const char *name)
{
	u64 *all = &G(&client.vm, sample[0]);

	qsort(all, calls, sizeof(*all), compare);
	wh_diag("cost %s %s %llu %llu %llu %llu", name, unit, (unsigned long long)calls,
		(unsigned long long)all[0], (unsigned long long)all[calls / 2],
		(unsigned long long)all[calls - 1]);
}

/* Until nobody disturbed it: a pair that was disarmed takes one exit more. */
static void measure(const char *name, void (*what)(void), struct expected e)
{
	struct wh_host_stat before, after;
	u64 exits = 0, moved = 0, bad = 1;
	int i;

	for (i = 0; i < TRIES; i++) {
		wh_stat(2, &before);
		bad = wh_call(client.vcpu, &client.as, 3, guest_measure, (u64)what, calls,
			      0, 0).rax;
		wh_stat(2, &after);
		exits = after.exits[EXIT_VMFUNC] - before.exits[EXIT_VMFUNC];
		moved = handoffs(&before);
		if (bad || (exits == e.vmfunc_exits * (calls + 1) &&
			    moved == e.handoffs * (calls + 1)))
			break;
	}
	if (wh_ok(!bad && i < TRIES, name))
		report(name);
	else
		wh_diag("%llu wrong answers, %llu exits by VMFUNC, %llu handoffs",
			(unsigned long long)bad, (unsigned long long)exits,
			(unsigned long long)moved);
}

static u64 tsc_khz(void)
{
	struct timespec a, b;
	u64 start, ns;

	clock_gettime(CLOCK_MONOTONIC, &a);
	start = wh_rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (b.tv_sec - a.tv_sec) * 1000000000ULL + b.tv_nsec - a.tv_nsec;
	} while (ns < 20000000);
	return (wh_rdtsc() - start) * 1000000 / ns;
}

static void say_what_is_counted(void)
{
	u64 khz = tsc_khz();

	wh_diag("TSC of %llu MHz", (unsigned long long)khz / 1000);
	if (khz > SLOWEST_KHZ)
		return;
	unit = "instructions";
	wh_diag("an emulator's processor: it counts instructions, an exit and a NOP alike;");
	wh_diag("cycles that it says would mean nothing");
}

static void attach(void)
{
	if (wh_attach(&client))
		wh_die("attach");
	G(&client.vm, list_index) = client.index;
}

static void measure_strict(void)
{
	wh_kill(2);
	wh_release(&worker);
	wh_worker_again(&worker);
	if (wh_allow_barrier(2, 1, 1, WH_ALLOW_STRICT)) {
		wh_skip("null_call_with_exits", "the processor has no L1D flush");
		return;
	}
	attach();
	measure("null_call_with_exits", null_call, (struct expected){ .vmfunc_exits = 1 });
}

static void with_a_gate(void)
{
	u64 page = wh_page_alloc(&client.vm);

	wh_map(&client.as, KERNEL_VA, page, WH_PTE_P | WH_PTE_W | WH_PTE_A | WH_PTE_D);
	client.vcpu->lstar = LSTAR;
}

int main(void)
{
	wh_with_gate = true;
	wh_require_feature();
	wh_plan(7);
	wh_watchdog(120);
	wh_one_cpu();
	calls = wh_env("WH_COST_CALLS", CALLS);
	if (!calls || calls > CALLS)
		wh_die("WH_COST_CALLS");
	say_what_is_counted();
	wh_server_create(&srv, 1);
	if (wh_server_register(&srv))
		wh_die("register");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	with_a_gate();
	wh_allow(2, 1, 0, 1);
	attach();
	measure("two_rdtsc", nothing, (struct expected){});
	measure("hypercall", hypercall, (struct expected){});
	measure("vmfunc_there_and_back", there_and_back, (struct expected){});
	measure("null_call", null_call, (struct expected){});
	measure("system_call_by_the_gate", call_by_the_gate, (struct expected){});
	measure("system_call_by_handoff", call_by_handoff, (struct expected){ .handoffs = 1 });
	measure_strict();
	return wh_exit();
}
