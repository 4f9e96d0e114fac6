// SPDX-License-Identifier: GPL-2.0-only
/*
 * Forgeries of a client's kernel: lies in the slot while a call runs, system
 * calls that no SYSCALL made, page tables of its own in the window under which
 * it rewrites the view's stage 1 or executes at supervisor-mode addresses, a view
 * entered without long mode, two vCPUs in one view. Each may ruin its own pair;
 * another client, the server and the next pair go on.
 */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include "wormhole.h"

#define EXIT_CPUID		10
#define EXIT_EPT_VIOLATION	48
#define MSR_SYSENTER_CS		0x174
#define MSR_SYSENTER_EIP	0x176
#define MSR_LSTAR		0xc0000082
#define NONCANONICAL	0x8000000000000000ULL
#define MAX_REGION	8	/* regions of a view to try */
#define TABLES_OFFSET	(WH_DATA_OFFSET + 4 * WH_PAGE)
#define STAGE1_VA	0x40000000ULL	/* where the forged tables show it */
#define ALIAS_VA	0x80000000ULL	/* and the image once more */
#define TABLE		(WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A)
#define LEAF		(TABLE | WH_PTE_D | WH_PTE_PS)

enum { H_NULL, H_WAIT };

static const wh_handler_fn handlers[] = { wh_null_handler, wh_wait_handler };
static struct wh_server srv;
static struct wh_worker worker, worker_b;
static struct wh_client a, b;
static struct wh_vcpu *a_second;
static u64 *words;
static u64 pending;

static bool other_is_well(void)
{
	return wh_delegate(&b, H_NULL, 2, 0).rax == 0x600f;
}

/* After a pair is ruined: its worker is released, the next one must work. */
static bool next_pair_works(void)
{
	wh_release(&worker);
	if (a.vcpu->started && !wh_join(a.vcpu, 1))
		wh_vcpu_stop(a.vcpu);
	if (a_second->started && !wh_join(a_second, 1))
		wh_vcpu_stop(a_second);
	wh_worker_again(&worker);
	return !wh_attach(&a) && wh_delegate(&a, H_NULL, 1, 0).rax == 0x600e;
}

/* --- Lies in the slot, told while the call is in the view --------------------- */

static struct kvm_regs seen;
static struct kvm_sregs seen_sregs;
static int looked;

static void look(struct wh_vcpu *vcpu)
{
	wh_vcpu_regs(vcpu, &seen);
	if (ioctl(vcpu->fd, KVM_GET_SREGS, &seen_sregs))
		wh_die("KVM_GET_SREGS");
	looked++;
}

static void lie(u64 rsp, u64 fs, u64 gs, const char *name)
{
	struct wh_slot saved;
	struct wh_result r;

	words[0] = 0;
	words[1] = 0;
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_WAIT, 5, 0, 0);
	wh_poll(words[1], 300);
	saved = *a.slot;
	a.slot->client.rsp = rsp;
	a.slot->client.fs = fs;
	a.slot->client.gs = gs;
	a.vcpu->on_eintr = look;
	looked = 0;
	wh_vcpu_kick(a.vcpu);
	wh_poll(looked, 300);
	*a.slot = saved;
	words[0] = 5;
	wh_join(a.vcpu, 1);
	a.vcpu->on_eintr = NULL;
	r = a.vcpu->res;
	if (!wh_ok(looked && seen.rip == pending && seen_sregs.cr3 == a.as.cr3 &&
		   r.end == WH_END_DONE && r.rax == 5 && other_is_well(), name))
		wh_diag("looked %d rip 0x%llx, end %d rax 0x%llx", looked,
			(unsigned long long)seen.rip, r.end, (unsigned long long)r.rax);
}

/* --- System calls that the client's kernel forges ------------------------------ */

/*
 * CPL 0: enter with LSTAR pointing to the next instruction, on a page that the
 * worker does not map. To KVM that looks like SYSCALL; RCX says where from.
 */
static void forge(u64 rcx, s64 want, const char *name)
{
	static u64 va = 0x21000000;
	u64 code = wh_page_alloc(&a.vm);
	struct kvm_msrs *msrs;
	char buf[sizeof(*msrs) + sizeof(msrs->entries[0])] = { };
	u64 edge = va + WH_PAGE;
	struct wh_result r;

	msrs = (void *)buf;
	/* xor %eax, %eax; mov %rdi, %rcx; vmfunc: ends with the page. */
	memcpy((u8 *)wh_gpa(&a.vm, code) + WH_PAGE - 8, "\x31\xc0\x48\x89\xf9\x0f\x01\xd4", 8);
	wh_map(&a.as, va, code, WH_USER_RX);
	wh_map(&a.as, edge, wh_page_alloc(&a.vm), WH_USER_RX);
	va += 2 * WH_PAGE;
	a.vcpu->lstar = edge;
	wh_start(a.vcpu, &a.as, 0, (void *)(edge - 8), rcx | a.index, 0, 0, 0);
	a.vcpu->lstar = 0;
	if (!wh_join(a.vcpu, 1)) {
		wh_diag("the forger does not come back");
		wh_vcpu_stop(a.vcpu);
	}
	r = a.vcpu->res;
	if (!wh_ok(r.end == WH_END_DONE && (s64)r.rax == want && worker.vcpu->running &&
		   other_is_well() && wh_delegate(&a, H_NULL, 0, 0).rax == 0x600d, name))
		wh_diag("end %d rax 0x%llx vector %llu rip 0x%llx", r.end,
			(unsigned long long)r.rax, (unsigned long long)r.vector,
			(unsigned long long)r.rip);
}

/* --- The same outside long mode -------------------------------------------------- */

/* 32-bit code: clear CR0.PG; xor %eax, %eax; vmfunc. */
static const u8 into_the_view[] = {
	0x0f, 0x20, 0xc0, 0x25, 0xff, 0xff, 0xff, 0x7f, 0x0f, 0x22, 0xc0,
	0x31, 0xc0, 0x0f, 0x01, 0xd4,
};

/*
 * Run the code at @rip, whose address is its GPA too, as 32-bit code at CPL 0. There
 * is no IDT: an exception shuts the VM down.
 */
static void run_compat(u64 rip, u64 rcx)
{
	struct kvm_sregs usual = a.vcpu->sregs, *s = &a.vcpu->sregs;
	struct kvm_regs regs = { .rip = rip, .rflags = 2, .rcx = rcx };

	s->cs = (struct kvm_segment) {
		.selector = 0x10, .limit = -1, .type = 11, .present = 1,
		.s = 1, .db = 1, .g = 1,
	};
	s->ss = (struct kvm_segment) {
		.selector = 0x18, .limit = -1, .type = 3, .present = 1,
		.s = 1, .db = 1, .g = 1,
	};
	s->idt.limit = 0;
	if (ioctl(a.vcpu->fd, KVM_SET_SREGS, s) || ioctl(a.vcpu->fd, KVM_SET_REGS, &regs))
		wh_die("KVM_SET_SREGS");
	a.vcpu->sregs = usual;
	wh_resume(a.vcpu);
	if (!wh_join(a.vcpu, 5))
		wh_vcpu_stop(a.vcpu);
}

/*
 * Leave long mode and enter the view, with RIP where SYSCALL or SYSENTER, as @msr
 * says, would lead, and a register that says where from. KVM must not take that for
 * a user on the way: the state in which it would go on is one of long mode, and fails
 * the VM entry. It is a kernel that lies, which gets #UD.
 */
static void forge_legacy(u32 msr, const char *name)
{
	u64 code = wh_page_alloc(&a.vm), edge = code + WH_PAGE;
	struct wh_host_stat before, after;
	u64 usual = wh_get_msr(a.vcpu, msr);
	struct wh_result r;

	memcpy((u8 *)wh_gpa(&a.vm, edge) - sizeof(into_the_view), into_the_view,
	       sizeof(into_the_view));
	wh_map(&a.as, code, code, WH_USER_RX);
	wh_delegate(&a, H_NULL, 0, 0);
	wh_stat(2, &before);
	wh_set_msr(a.vcpu, MSR_SYSENTER_CS, 0x10);
	wh_set_msr(a.vcpu, msr, edge);
	run_compat(edge - sizeof(into_the_view), WH_WINDOW_VA | a.index);
	r = a.vcpu->res;
	wh_set_msr(a.vcpu, msr, usual);
	wh_stat(2, &after);
	if (!wh_ok(r.exit_reason == KVM_EXIT_SHUTDOWN && r.rip == edge &&
		   after.fatal == before.fatal + 1 && other_is_well() &&
		   wh_delegate(&a, H_NULL, 0, 0).rax == 0x600d, name))
		wh_diag("end %d, exit reason %u, rip 0x%llx of 0x%llx, %llu fatal", r.end,
			r.exit_reason, (unsigned long long)r.rip, (unsigned long long)edge,
			(unsigned long long)(after.fatal - before.fatal));
}

/* --- Page tables in the window, and the view's stage 1 through them -------------- */

/*
 * CPL 0: enter, switch to the forged tables, write RCX to RDX, mark, go back
 * to the old tables, exit. No stack; the code goes on in the worker's copy.
 */
static __attribute__((naked)) void rewrite_stage1(void)
{
	asm("mov %rcx, %r8\n\t"
	    "mov %cr3, %r9\n\t"
	    "mov $0x600000010020, %r10\n\t"	/* &words[4] */
	    "mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "mov %rsi, %cr3\n\t"
	    "mov %r8, (%rdx)\n\t"
	    "movq $0x77, (%r10)\n\t"
	    "mov %r9, %cr3\n"
	    "1:	cpuid\n\t"
	    "jmp 1b");
}

/* Under tables that lead nowhere it never comes back by itself. */
static void run_forger(const void *fn, u64 cr3, u64 rdx, u64 rcx)
{
	wh_start(a.vcpu, &a.as, 0, fn, a.index, cr3, rdx, rcx);
	if (!wh_poll(!a.vcpu->running, 50) || !wh_join(a.vcpu, 1))
		wh_vcpu_stop(a.vcpu);
}

/*
 * Top level and two PDPTs: image, stage 1, the image with @alias rights, window.
 * The numbers of the view's regions can be guessed.
 */
static u64 forge_tables(int guess, u64 alias)
{
	u64 window_region = 1 + guess / MAX_REGION, image_region = 1 + guess % MAX_REGION;
	u64 *top = (u64 *)(a.part_mem + TABLES_OFFSET);
	u64 base = wh_region_base();
	u64 gpa = base + (window_region << 30) + TABLES_OFFSET;

	memset(top, 0, 3 * WH_PAGE);
	top[0] = (gpa + WH_PAGE) | TABLE;
	top[(WH_WINDOW_VA >> 39) & 511] = (gpa + 2 * WH_PAGE) | TABLE;
	top[512] = (base + (image_region << 30)) | LEAF;
	top[512 + (STAGE1_VA >> 30)] = base | LEAF;
	top[512 + (ALIAS_VA >> 30)] = (base + (image_region << 30)) | alias;
	top[1024] = (base + (window_region << 30)) | LEAF;
	return gpa;
}

/* Make the view's window lead nowhere. */
static bool ruin_stage1(int guess)
{
	u64 pdpt = STAGE1_VA + ((WH_WINDOW_VA >> 39) & 255) * WH_PAGE;
	u64 nowhere = (wh_region_base() + (1ULL << 36)) | LEAF;

	words[4] = 0;
	wh_delegate(&a, H_NULL, 0, 0);
	run_forger(rewrite_stage1, forge_tables(guess, LEAF), pdpt, nowhere);
	return other_is_well() && words[4] == 0x77;
}

static void test_page_tables(int guess)
{
	if (!ruin_stage1(guess)) {
		wh_ok(other_is_well(), "forged_page_tables_do_not_hurt_the_other_client");
		wh_skip("call_under_ruined_stage_1_can_be_interrupted", "stage 1 not reached");
		wh_skip("next_pair_has_a_stage_1_of_its_own", "stage 1 not reached");
		return;
	}
	wh_ok(other_is_well(), "forged_page_tables_do_not_hurt_the_other_client");
	/* The window is there for the worker, but not where stage 1 leads. */
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_NULL, 0, 0, 0);
	wh_poll(!a.vcpu->running, 20);
	if (a.vcpu->running)
		wh_vcpu_stop(a.vcpu);
	wh_ok(other_is_well(), "call_under_ruined_stage_1_can_be_interrupted");
	wh_ok(next_pair_works(), "next_pair_has_a_stage_1_of_its_own");
}

/* --- Code at user-mode and at supervisor-mode addresses --------------------------- */

/* CPL 0: enter, switch to the forged tables, jump to RDX. */
static __attribute__((naked)) void enter_and_jump(void)
{
	asm("mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "mov %rsi, %cr3\n\t"
	    "jmp *%rdx");
}

/* Wherever this is: mark, exit. */
static __attribute__((naked)) void mark(void)
{
	asm("mov $0x600000010020, %r10\n\t"	/* &words[4] */
	    "movq $0x77, (%r10)\n"
	    "1:	cpuid\n\t"
	    "jmp 1b");
}

/* Jump to mark() in the alias of the image, with these rights in stage 1. */
static bool executes(int guess, u64 alias, struct wh_host_stat *more)
{
	struct wh_host_stat before;

	words[4] = 0;
	wh_delegate(&a, H_NULL, 0, 0);
	wh_stat(2, &before);
	run_forger(enter_and_jump, forge_tables(guess, alias),
		   ALIAS_VA + (u64)(uintptr_t)mark, 0);
	wh_stat(2, more);
	more->fatal -= before.fatal;
	more->exits[EXIT_EPT_VIOLATION] -= before.exits[EXIT_EPT_VIOLATION];
	more->exits[EXIT_CPUID] -= before.exits[EXIT_CPUID];
	return words[4] == 0x77;
}

static bool kvm_has_mbec(void)
{
	FILE *f = fopen("/sys/module/kvm_intel/parameters/mbec", "r");
	bool on = f && fgetc(f) == 'Y';

	if (f)
		fclose(f);
	return on;
}

/*
 * The same instructions, the same CPL, the same page of the view: a user-mode
 * address executes, as for calls; a supervisor-mode address does not, and
 * it is the processor that says so, with an EPT violation at the first one.
 */
static int test_supervisor_address(void)
{
	const char *control = "code_runs_at_a_user_address_under_forged_page_tables";
	const char *name = "and_the_processor_refuses_it_at_a_supervisor_address";
	struct wh_host_stat more;
	struct kvm_regs regs;
	int guess;

	for (guess = 0; guess < MAX_REGION * MAX_REGION; guess++)
		if (executes(guess, LEAF, &more))
			break;
	if (!wh_ok(guess < MAX_REGION * MAX_REGION && more.exits[EXIT_CPUID] == 1 &&
		   !more.exits[EXIT_EPT_VIOLATION], control) || !kvm_has_mbec()) {
		wh_skip(name, "KVM without mode-based execute control");
	} else {
		bool ran = executes(guess, LEAF & ~WH_PTE_U, &more);

		wh_vcpu_regs(a.vcpu, &regs);
		if (!wh_ok(!ran && more.fatal == 1 && more.exits[EXIT_EPT_VIOLATION] == 1 &&
			   !more.exits[EXIT_CPUID] &&
			   regs.rip == ALIAS_VA + (u64)(uintptr_t)mark, name))
			wh_diag("ran %d, %llu fatal, %llu EPT violations, %llu CPUID, rip 0x%llx",
				ran, (unsigned long long)more.fatal,
				(unsigned long long)more.exits[EXIT_EPT_VIOLATION],
				(unsigned long long)more.exits[EXIT_CPUID],
				(unsigned long long)regs.rip);
	}
	wh_ok(other_is_well() && wh_delegate(&a, H_NULL, 0, 0).rax == 0x600d,
	      "and_calls_at_cpl_3_run_as_before");
	return guess;
}

/* --- Two vCPUs of the client in one view with one slot ------------------------- */

/* CPL 3, no stack: enter and spin in the worker's copy of this code. */
static __attribute__((naked)) void enter_and_spin(void)
{
	asm("mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n"
	    "1:	pause\n\t"
	    "jmp 1b");
}

static void test_two_vcpus(void)
{
	words[0] = 0;
	words[1] = 0;
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_WAIT, 5, 0, 0);
	wh_poll(words[1], 300);
	wh_start(a_second, &a.as, 3, enter_and_spin, a.index, 0, 0, 0);
	wh_ms_pause();
	/* Both leave the view, and only one slot is there to suspend to. */
	wh_vcpu_kick(a_second);
	wh_vcpu_kick(a.vcpu);
	wh_ms_pause();
	words[0] = 5;
	wh_poll(!a.vcpu->running && !a_second->running, 30);
	wh_ok(other_is_well(), "two_vcpus_in_one_view_do_not_hurt_the_other_client");
	wh_ok(next_pair_works(), "nor_the_next_pair");
}

int main(void)
{
	wh_require_feature();
	wh_plan(20);
	wh_watchdog(90);
	wh_one_cpu();
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_worker_start(&worker_b, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&a, 2, &srv, 0);
	wh_client_create(&b, 3, &srv, 1);
	a_second = wh_vcpu_create(&a.vm);
	words = (u64 *)(a.part_mem + WH_DATA_OFFSET);
	pending = WH_TRAMPOLINE_VA + wh_tramp_header()->pending;
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	wh_eq(wh_attach(&a), WH_OK, "hostile_client_attaches");
	wh_eq(wh_attach(&b), WH_OK, "good_client_attaches");
	lie(NONCANONICAL, 0, 0, "noncanonical_stack_in_slot_is_harmless");
	lie(WH_KVA, WH_KVA, WH_KVA, "kernel_addresses_in_slot_are_harmless");
	lie(a.slot->client.rsp, NONCANONICAL, 0, "noncanonical_fs_base_in_slot_is_harmless");
	lie(a.slot->client.rsp, 0, NONCANONICAL, "noncanonical_gs_base_in_slot_is_harmless");
	forge(WH_KVA, WH_EFATAL, "forged_system_call_at_kernel_address_fails");
	forge(NONCANONICAL, WH_EFATAL, "forged_system_call_at_noncanonical_address_fails");
	forge(0, WH_EFATAL, "forged_system_call_at_address_minus_1_fails");
	forge_legacy(MSR_LSTAR, "system_call_forged_outside_long_mode_is_no_system_call");
	forge_legacy(MSR_SYSENTER_EIP, "nor_is_sysenter_forged_there_one_of_cpl_3");
	test_page_tables(test_supervisor_address());
	test_two_vcpus();
	return wh_exit();
}
