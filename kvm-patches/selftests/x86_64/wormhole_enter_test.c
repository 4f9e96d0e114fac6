// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who can enter a view: VMFUNC works at any CPL and from any address, so every
 * way in that is not the attached process's must end in the client's own world
 * with an error or an exception there, and hurt nobody else.
 */
#include <stdio.h>
#include "wormhole.h"

#define X2APIC_ICR	0x830

static const wh_handler_fn handlers[] = { wh_null_handler };
static struct wh_server srv;
static struct wh_worker worker, worker_b1, worker_b2;
static struct wh_client a, b;	/* the hostile one and the good one */
static struct wh_as b2, a2, a_bare;

/* --- Client's kernel, CPL 0: RDI = EPTP index, RSI = an argument ------------- */

/*
 * Enter the view, do one thing there, spin. No stack: it is not mapped there.
 * The code goes on in the worker's copy of this program.
 */
#define ATTACK(name, code)						\
static __attribute__((naked)) void name(void)				\
{									\
	asm("mov %edi, %ecx\n\t"					\
	    "xor %eax, %eax\n\t"					\
	    ".byte 0x0f, 0x01, 0xd4\n\t"				\
	    code "\n"							\
	    "1:	pause\n\t"						\
	    "jmp 1b");							\
}

ATTACK(do_nothing, "")
ATTACK(do_spin_cli, "cli")
ATTACK(do_cpuid, "cpuid")
ATTACK(do_hlt, "hlt")
ATTACK(do_out, "out %al, $0xe0")
ATTACK(do_vmcall, "vmcall")
ATTACK(do_wrmsr, "mov $0xc0000082, %ecx\nwrmsr")
ATTACK(do_rdmsr, "mov $0xc0000082, %ecx\nrdmsr")
ATTACK(do_read_cr3, "mov %cr3, %rax\nmov %rax, %cr3\ncpuid")
ATTACK(do_write_cr3, "mov %rsi, %cr3\ncpuid")
ATTACK(do_write_cr0, "mov %cr0, %rax\nbtr $16, %rax\nmov %rax, %cr0\ncpuid")
ATTACK(do_write_cr4, "mov %cr4, %rax\nbts $7, %rax\nmov %rax, %cr4\ncpuid")
ATTACK(do_xsetbv, "xor %ecx, %ecx\nxor %edx, %edx\nmov $1, %eax\nxsetbv")
ATTACK(do_int3, "int3")
ATTACK(do_ud2, "ud2")
ATTACK(do_miss, "mov (%rsi), %rax")
ATTACK(do_kernel_half, "jmp *%rsi")
ATTACK(do_iretq, "iretq")
ATTACK(do_load_tr, "mov $0x40, %ax\nltr %ax")
ATTACK(do_debug, "mov %rsi, %dr0\nmov $0x3, %eax\nmov %rax, %dr7\nmov (%rsi), %rax")

/* Forget the IDT in the view, then fault: a triple fault. */
ATTACK(do_triple_fault, "lidt (%rsi)\nint3")

struct attack {
	const char *name;
	const void *fn;
	u64 arg;
};

static u64 zeroes[2];

static const struct attack attacks[] = {
	{ "spin", do_nothing, 0 },
	{ "spin_without_interrupts", do_spin_cli, 0 },
	{ "cpuid", do_cpuid, 0 },
	{ "hlt", do_hlt, 0 },
	{ "out", do_out, 0 },
	{ "vmcall", do_vmcall, 0 },
	{ "wrmsr", do_wrmsr, 0 },
	{ "rdmsr", do_rdmsr, 0 },
	{ "mov_from_cr3", do_read_cr3, 0 },
	{ "mov_to_cr0", do_write_cr0, 0 },
	{ "mov_to_cr4", do_write_cr4, 0 },
	{ "xsetbv", do_xsetbv, 0 },
	{ "int3", do_int3, 0 },
	{ "ud2", do_ud2, 0 },
	{ "read_of_page_not_filled", do_miss, WH_LAZY_VA },
	{ "jump_to_kernel_half", do_kernel_half, WH_KVA },
	{ "iretq", do_iretq, 0 },
	{ "ltr", do_load_tr, 0 },
	{ "breakpoint_register", do_debug, (u64)zeroes },
};

/* Run at CPL 0; whoever spins is taken out by a signal to the VMM. */
static struct wh_result attack(struct wh_as *as, const void *fn, u64 arg)
{
	wh_start(a.vcpu, as, 0, fn, a.index, arg, 0, 0);
	if (!wh_poll(!a.vcpu->running, 20))
		wh_vcpu_kick(a.vcpu);
	if (!wh_join(a.vcpu, 1)) {
		wh_diag("the attacker does not leave the view");
		wh_vcpu_stop(a.vcpu);
	}
	return a.vcpu->res;
}

static s64 call_b(u64 arg)
{
	return wh_delegate(&b, 0, arg, 0).rax;
}

/* After each attack: the victim and the other client work as before. */
static bool all_is_well(void)
{
	s64 mine = wh_delegate(&a, 0, 1, 0).rax, other = call_b(2);

	if (mine == 0x600e && other == 0x600f && worker.vcpu->running)
		return true;
	wh_diag("afterwards: own call 0x%llx, other client's 0x%llx, worker %s",
		(long long)mine, (long long)other,
		worker.vcpu->running ? "parked" : "gone");
	return false;
}

static void test_kernel_attacks(void)
{
	struct wh_host_stat before, st;
	struct wh_result r;
	char name[96];
	bool well;
	size_t i;

	all_is_well();
	for (i = 0; i < WH_ARRAY_SIZE(attacks); i++) {
		wh_stat(2, &before);
		r = attack(&a.as, attacks[i].fn, attacks[i].arg);
		wh_stat(2, &st);
		snprintf(name, sizeof(name), "kernel_in_view_%s_hurts_only_itself",
			 attacks[i].name);
		well = all_is_well();	/* arms the entry again, too */
		if (!wh_ok(r.end == WH_END_TRAP && r.vector == 6 &&
			   st.fatal == before.fatal + 1 && well, name))
			wh_diag("end %d exit %u vector %llu rip 0x%llx, %llu fatal",
				r.end, r.exit_reason, (unsigned long long)r.vector,
				(unsigned long long)r.rip,
				(unsigned long long)(st.fatal - before.fatal));
	}
	r = attack(&a.as, do_triple_fault, (u64)zeroes);
	wh_ok(r.end == WH_END_EXIT && r.exit_reason == KVM_EXIT_SHUTDOWN && all_is_well(),
	      "triple_fault_in_view_resets_only_its_vm");
}

/* --- Indices ------------------------------------------------------------------ */

/* CPL 3: every entry but the own ones; returns how many did not refuse. */
static u64 guest_try_indices(u64 own)
{
	static const u32 odd[] = { 512, 513, 1023, 0x10001, 0x80000001, ~0U };
	u64 bad = 0, i;

	for (i = 1; i < 512; i++)
		if (i != own && (s64)wh_vmfunc(i) >= 0)
			bad++;
	for (i = 0; i < WH_ARRAY_SIZE(odd); i++)
		if ((s64)wh_vmfunc(odd[i]) >= 0)
			bad++;
	return bad;
}

/* VMFUNC with another leaf than 0. */
static u64 guest_vmfunc_leaf(u64 leaf, u64 index)
{
	asm volatile(".byte 0x0f, 0x01, 0xd4" : "+a"(leaf) : "c"(index) : "memory");
	return leaf;
}

/* An exit, at which KVM looks at the process, and VMFUNC. */
static u64 guest_exit_and_vmfunc(u64 index)
{
	u32 eax = 0, ebx, ecx = 0, edx;

	asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	return wh_vmfunc(index);
}

/* An exit that KVM handles with interrupts off (to an APIC that is not there), and VMFUNC. */
static u64 guest_fast_exit_and_vmfunc(u64 index)
{
	wh_wrmsr(X2APIC_ICR, 200ULL << 32 | 0x80);
	return wh_vmfunc(index);
}

static struct wh_result call3(struct wh_as *as, const void *fn, u64 a0, u64 a1)
{
	return wh_call(a.vcpu, as, 3, fn, a0, a1, 0, 0);
}

static void test_indices(void)
{
	struct wh_host_stat before, st;
	struct wh_result r;

	wh_eq(call3(&a.as, wh_vmfunc, 0, 0).rax, 0, "entry_0_changes_nothing");
	wh_stat(2, &before);
	wh_ok((s64)call3(&a.as, wh_vmfunc, b.index + 1, 0).rax < 0,
	      "index_of_another_vm_is_refused");
	r = call3(&a.as, guest_try_indices, a.index, 0);
	wh_ok(r.end == WH_END_DONE && !r.rax, "all_other_indices_are_refused");
	wh_stat(2, &st);
	wh_eq(st.refusals - before.refusals, 517, "stat_counts_each_refusal");
	wh_eq(call3(&a.as, guest_vmfunc_leaf, 1, a.index).rax, WH_EINVAL,
	      "vmfunc_leaf_1_is_refused");
	r = call3(&a.as, guest_vmfunc_leaf, 64, a.index);
	wh_ok(r.end == WH_END_TRAP && r.vector == 6, "vmfunc_leaf_64_is_invalid_opcode");
	wh_ok(all_is_well(), "all_is_well_after_bad_indices");
}

/* --- Other processes of the same VM ---------------------------------------------- */

/* CPL 0: become another process without an exit, and enter. */
static __attribute__((naked)) void switch_and_enter(void)
{
	asm("mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    "mov %rsi, %cr3\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "cpuid\n"
	    "1:	jmp 1b");
}

static void test_other_processes(void)
{
	u64 *top = wh_gpa(&a.vm, a.as.cr3), saved, *entry;
	struct wh_host_stat before, st;
	struct wh_result r;

	wh_eq(call3(&a2, wh_guest_delegate, 0, 0).rax, WH_EPERM,
	      "process_with_the_same_window_is_refused");
	wh_eq(call3(&a_bare, wh_vmfunc, a.index, 0).rax, WH_EPERM,
	      "process_without_window_is_refused");
	wh_ok(all_is_well(), "owner_enters_again_after_other_processes");
	wh_delegate(&a, 0, 0, 0);
	r = attack(&a.as, switch_and_enter, a2.cr3);
	wh_ok(r.end == WH_END_TRAP && r.vector == 6 && all_is_well(),
	      "cr3_switched_without_an_exit_hurts_only_itself");
	r = attack(&a.as, do_write_cr3, a2.cr3);
	wh_ok(r.end == WH_END_TRAP && r.vector == 6 && all_is_well(),
	      "cr3_switched_in_the_view_hurts_only_itself");

	entry = &top[(WH_WINDOW_VA >> 39) & 511];
	saved = *entry;
	*entry = 0;
	wh_eq(call3(&a.as, guest_exit_and_vmfunc, a.index, 0).rax, WH_EPERM,
	      "process_that_unmapped_its_window_is_refused");
	*entry = saved;
	wh_stat(2, &before);
	wh_ok(all_is_well(), "and_enters_again_with_its_window");
	wh_stat(2, &st);
	wh_eq(st.rearms - before.rearms, 1, "by_one_rearm");
	*entry = 0;
	wh_stat(2, &before);
	wh_call(a.vcpu, &a.as, 0, guest_fast_exit_and_vmfunc, a.index, 0, 0, 0);
	wh_stat(2, &st);
	wh_ok(st.refusals == before.refusals + 1 && !wh_view_exits(2, &before),
	      "entry_is_empty_after_an_exit_on_a_fastpath_too");
	*entry = saved;
	wh_ok(all_is_well(), "and_the_process_with_its_window_enters");
	/* Not armed, and CPL 0: no user of the feature. */
	call3(&a2, wh_guest_delegate, 0, 0);
	r = wh_call(a.vcpu, &a2, 0, wh_vmfunc, a.index, 0, 0, 0);
	wh_ok(r.end == WH_END_TRAP && r.vector == 6,
	      "vmfunc_at_cpl0_to_entry_not_armed_is_invalid_opcode");
}

int main(void)
{
	wh_require_feature();
	wh_plan(42);
	wh_watchdog(90);
	wh_one_cpu();
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, 1);
	wh_worker_start(&worker_b1, &srv, 1, handlers, 1);
	wh_worker_start(&worker_b2, &srv, 2, handlers, 1);
	wh_client_create(&a, 2, &srv, 0);
	wh_client_create(&b, 3, &srv, 1);
	wh_client_as(&a2, &a, 0);
	wh_as_create(&a_bare, &a.vm);
	wh_client_as(&b2, &b, 2);
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 2);
	wh_eq(wh_attach(&a), WH_OK, "hostile_client_attaches");
	wh_eq(wh_attach(&b), WH_OK, "good_client_attaches");
	wh_eq(wh_leaf(b.vcpu, &b2, 3, WH_LEAF_ATTACH, WH_ABI_VERSION,
		      wh_tramp_checksum(), 0, 0).rbx, b.index + 1, "its_second_process_attaches");
	test_indices();
	test_other_processes();
	test_kernel_attacks();
	return wh_exit();
}
