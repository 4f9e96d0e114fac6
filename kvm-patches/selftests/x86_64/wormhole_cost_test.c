// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a call costs on this host, in ticks of the TSC as the client's CPL 3
 * reads it: VMFUNC both ways, a null call, one whose exits are forced, a system
 * call in a call by the gate and by handoff, beside two RDTSC and one exit. A
 * line for each,
 *
 *	# cost NAME UNIT SAMPLES MIN MEDIAN MAX
 *
 * None of these is judged; but that each of them is of what it says is: by the exits
 * and handoffs that KVM counts meanwhile. WH_COST_CALLS: samples of each. What comes
 * once for each pair has a bound, where it is instructions that are counted, and not
 * with WH_COST_BOUNDS=0, for kernels of another configuration than the tests': a page
 * of a worker's first TAKE, of 256 MiB in 4 KiB pages, and what its client's attach
 * takes with the first call, and of the host's memory. Needs VMFUNC.
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

/* A worker of 256 MiB, whose pages are the same memory again and again. */
#define BIG_VA			0x7e0000000000ULL
#define BIG_PAGES		65536ULL
#define BIG_RAM			512
#define BIG_SLOTS		4
#define ROUNDS			3
#define PAGE_COST		400
#define ATTACH_COST		40000
#define PAIR_KIB		1024

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

static void report(const char *name, u64 *all, u64 n)
{
	qsort(all, n, sizeof(*all), compare);
	wh_diag("cost %s %s %llu %llu %llu %llu", name, unit, (unsigned long long)n,
		(unsigned long long)all[0], (unsigned long long)all[n / 2],
		(unsigned long long)all[n - 1]);
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
		report(name, &G(&client.vm, sample[0]), calls);
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

/* True if it is instructions. */
static bool say_what_is_counted(void)
{
	u64 khz = tsc_khz();

	wh_diag("TSC of %llu MHz", (unsigned long long)khz / 1000);
	if (khz > SLOWEST_KHZ)
		return false;
	unit = "instructions";
	wh_diag("an emulator's processor: it counts instructions, an exit and a NOP alike;");
	wh_diag("cycles that it says would mean nothing");
	return true;
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

/* --- What comes once for each pair -------------------------------------------------------- */

static struct wh_worker big[ROUNDS];
static struct wh_as process[ROUNDS];
/* Of each, which report() sorts. */
static u64 take[ROUNDS], attached[ROUNDS];
/* Of the server VM's copy, and of the client VM's. */
static u64 take_ticks, attach_ticks, attach_index;

/* CPL 3 of the server. */
static u64 guest_first_take(u64 slot)
{
	u64 rax = WH_LEAF_TAKE, start = wh_rdtsc();

	asm volatile("cpuid" : "+a"(rax) : "D"(slot) : "rbx", "rcx", "rdx", "memory");
	take_ticks = wh_rdtsc() - start;
	return rax;
}

/* CPL 3 of the client. */
static u64 guest_attach(u64 version, u64 sum)
{
	u64 rax = WH_LEAF_ATTACH, rbx = 0, rcx = 0, rdx = 0, start = wh_rdtsc();

	asm volatile("cpuid" : "+a"(rax), "+b"(rbx), "+c"(rcx), "+d"(rdx)
		     : "D"(version), "S"(sum) : "memory");
	attach_ticks = wh_rdtsc() - start;
	attach_index = rbx;
	return rax;
}

/* What its first call takes above any other. */
static u64 guest_first_call(void)
{
	u64 start = wh_rdtsc(), ticks;

	if (wh_guest_delegate(H_NULL, 0, 0) != 0x600d)
		return 0;
	ticks = wh_rdtsc() - start;
	start = wh_rdtsc();
	wh_guest_delegate(H_NULL, 0, 0);
	return ticks - (wh_rdtsc() - start);
}

static void map_big(struct wh_worker *w)
{
	u64 *top = wh_gpa(&srv.vm, w->as.cr3), ram, i;

	if (w != big) {	/* the tables of the first one */
		top[BIG_VA >> 39] = ((u64 *)wh_gpa(&srv.vm, big->as.cr3))[BIG_VA >> 39];
		return;
	}
	ram = wh_page_alloc(&srv.vm);
	for (i = 1; i < BIG_RAM; i++)
		wh_page_alloc(&srv.vm);
	for (i = 0; i < BIG_PAGES; i++)
		wh_map(&w->as, BIG_VA + i * WH_PAGE, ram + i % BIG_RAM * WH_PAGE, WH_USER_RW);
}

static u64 client_runs(int i, const void *fn, u64 a0, u64 a1)
{
	return wh_call(client.vcpu, &process[i], 3, fn, a0, a1, 0, 0).rax;
}

static void one_pair(int i, long *kib)
{
	struct wh_worker *w = &big[i];
	struct wh_slot *slot = (void *)(srv.vm.window + w->part * WH_PART_SIZE + WH_SLOT_OFFSET);
	long free = wh_free_kb();
	u64 first;

	if (wh_worker_register(w) || wh_worker_slot(w) ||
	    wh_call(w->vcpu, &w->as, 3, guest_first_take, 0, 0, 0, 0).rax)
		wh_die("first TAKE");
	take[i] = G(&srv.vm, take_ticks) / BIG_PAGES;
	client_runs(i, wh_guest_touch, 0, 0);
	if (client_runs(i, guest_attach, WH_ABI_VERSION, wh_tramp_checksum()))
		wh_die("ATTACH");
	slot->index = G(&client.vm, attach_index);
	slot->slot = 0;
	first = client_runs(i, guest_first_call, 0, 0);
	attached[i] = G(&client.vm, attach_ticks) + first;
	free -= wh_free_kb();
	*kib = free < *kib ? free : *kib;
}

static void within(u64 got, u64 most, const char *what, bool counts, const char *name)
{
	if (!counts) {
		wh_skip(name, "not instructions of the tests' own kernel");
		return;
	}
	wh_ok(got && got <= most, name);
	wh_diag("%llu %s", (unsigned long long)got, what);
}

static void measure_pairs(bool counts)
{
	long kib = 1L << 40;
	int i;

	wh_nslots = BIG_SLOTS;
	for (i = 0; i < ROUNDS; i++) {
		wh_worker_create(&big[i], &srv, 1 + i);
		wh_worker_handlers(&big[i], handlers, WH_ARRAY_SIZE(handlers));
		map_big(&big[i]);
		wh_client_as(&process[i], &client, 1 + i);
		/* Its thread is there, and has run before. */
		wh_call(big[i].vcpu, &big[i].as, 0, nothing, 0, 0, 0, 0);
	}
	wh_allow(2, 1, 0, ROUNDS + 1);
	for (i = 0; i < ROUNDS; i++)
		one_pair(i, &kib);
	report("page_of_a_first_take", take, ROUNDS);
	report("attach_and_first_call", attached, ROUNDS);
	within(take[0], PAGE_COST, "instructions a page of the first TAKE", counts,
	       "page_of_a_first_take_is_400_instructions_at_most");
	within(attached[0], ATTACH_COST, "instructions", counts,
	       "attach_and_first_call_are_40000_at_most");
	wh_ok(kib <= PAIR_KIB, "pair_of_four_slots_and_256_mib_is_1_mib_at_most");
	wh_diag("%ld KiB", kib);
}

static void with_a_gate(void)
{
	u64 page = wh_page_alloc(&client.vm);

	wh_map(&client.as, KERNEL_VA, page, WH_PTE_P | WH_PTE_W | WH_PTE_A | WH_PTE_D);
	client.vcpu->lstar = LSTAR;
}

int main(void)
{
	bool counts;

	wh_with_gate = true;
	wh_require_feature();
	wh_plan(10);
	wh_watchdog(120);
	wh_one_cpu();
	calls = wh_env("WH_COST_CALLS", CALLS);
	if (!calls || calls > CALLS)
		wh_die("WH_COST_CALLS");
	/* An emulator of two processors has one clock for both. */
	counts = say_what_is_counted() && !wh_two_cpus() && wh_env("WH_COST_BOUNDS", 1);
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
	measure_pairs(counts);
	measure_strict();
	return wh_exit();
}
