// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a client's kernel gains by the gate at its LSTAR: nothing, at whichever byte of
 * its page it enters, under any CR3, with breakpoints and traps, and by other MSRs;
 * nor does user code that jumps there. Each attack may hurt its own pair only.
 */
#include <cpuid.h>
#include <string.h>
#include "wormhole.h"

#define NONCANONICAL	0x8000000000000000ULL
#define CR4_PGE		BIT_ULL(7)
#define CR4_LA57	BIT_ULL(12)
#define EFER_SCE	1ULL
#define OWN_EFER	0xd01ULL
#define MSR_EFER	0xc0000080
#define MSR_STAR	0xc0000081
#define MSR_LSTAR	0xc0000082
#define MSR_FMASK	0xc0000084
#define PTE_G		BIT_ULL(8)

#define GATE_SIZE	22
/* The client's LSTAR: a page of its own, whose translation no other one displaces. */
#define KERNEL_VA	0xffffa00000345000ULL
#define LSTAR		(KERNEL_VA + 0x640)
#define OTHER_LSTAR	0xffffb00000000040ULL
#define OTHER_STAR	0x0013001000000000ULL

enum { H_MANY, H_ONE, H_JUMP };

static const wh_handler_fn handlers[] = {
	wh_syscalls_handler, wh_syscall_handler, wh_jump_handler,
};

static struct wh_server srv;
static struct wh_worker worker, worker_b;
static struct wh_client a, b;
static u64 kernel_page;

static bool other_is_well(void)
{
	return wh_delegate(&b, H_ONE, WH_SYS_HERE, 3).rax == 4;
}

static bool all_is_well(void)
{
	s64 mine = wh_delegate(&a, H_ONE, WH_SYS_HERE, 2).rax;
	bool other = other_is_well();

	if (mine == 3 && other && worker.vcpu->running)
		return true;
	wh_diag("own call %lld, the other client's %s, worker %s", (long long)mine,
		other ? "well" : "not", worker.vcpu->running ? "parked" : "gone");
	return false;
}

/*
 * CPL 0: RDI = EPTP index and what is above it in RCX, RSI = address of the code
 * before the gate, RDX = R11, RCX = GS base, CR4.SMEP where RDI's bit 9 is set.
 * With the trap flag on the stack, if that code takes it.
 */
static __attribute__((naked)) void enter_at(void)
{
	asm("wrgsbase %rcx\n\t"
	    "mov %rdx, %r11\n\t"
	    "mov %rdi, %rcx\n\t"
	    "btr $9, %rcx\n\t"
	    "jnc 1f\n\t"
	    "mov %cr4, %rax\n\t"
	    "bts $20, %rax\n\t"
	    "mov %rax, %cr4\n"
	    "1:	xor %eax, %eax\n\t"
	    "pushf\n\t"
	    "orq $0x100, (%rsp)\n\t"
	    "jmp *%rsi");
}

/*
 * CPL 0: RDI = EPTP index, RSI = CR3, RDX = address of the code before the gate. R11
 * and GS base are a user's, so that the gate would lead to the service.
 */
static __attribute__((naked)) void enter_with_cr3(void)
{
	asm("mov $0x5f8000000800, %rcx\n\t"	/* in the trampoline's page */
	    "wrgsbase %rcx\n\t"
	    "mov $0x202, %r11d\n\t"
	    "mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    "jmp *%rdx");
}

/* CPL 0, in the view, where SMEP lets it: RDI = EPTP index, RSI = MSR, RDX = its value. */
static __attribute__((naked)) void write_in_view(void)
{
	asm("mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "mov %esi, %ecx\n\t"
	    "mov %edx, %eax\n\t"
	    "shr $32, %rdx\n\t"
	    "wrmsr\n"
	    "1:	pause\n\t"
	    "jmp 1b");
}

/* CPL 0: the same before it enters, at RCX. */
static __attribute__((naked)) void write_and_enter(void)
{
	asm("mov %rcx, %r8\n\t"
	    "mov %esi, %ecx\n\t"
	    "mov %edx, %eax\n\t"
	    "shr $32, %rdx\n\t"
	    "wrmsr\n\t"
	    "mov %edi, %ecx\n\t"
	    "mov $0x202, %r11d\n\t"
	    "xor %eax, %eax\n\t"
	    "jmp *%r8");
}

/*
 * CPL 0: enter at RSI, behind the VMFUNC that is there. Returns what an exception
 * leaves, which comes here: in a view it has no other way.
 */
s64 enter_once(u64 index, u64 at);
asm(".text\n"
"enter_once:\n"
"	push %rbx\n"
"	push %rbp\n"
"	lea 1f(%rip), %rax\n"
"	mov %rax, wh_trap_fixup(%rip)\n"
"	mov %edi, %ecx\n"
"	xor %eax, %eax\n"
"	mov %rsp, %rbp\n"
"	jmp *%rsi\n"
"1:	mov %rbp, %rsp\n"
"	movq $0, wh_trap_fixup(%rip)\n"
"	pop %rbp\n"
"	pop %rbx\n"
"	ret\n");

/* CPL 0: at each byte of the page but the gate's; how many did not end in the view. */
static u64 guest_sweep(u64 index)
{
	u64 at, wrong = 0;
	u8 *page;
	int i;

	for (at = 0; at < WH_PAGE; at++) {
		if (at + KERNEL_VA >= LSTAR && at + KERNEL_VA < LSTAR + GATE_SIZE)
			continue;
		page = (u8 *)KERNEL_VA + at;
		page[-3] = 0x0f;
		page[-2] = 0x01;
		page[-1] = 0xd4;
		/* In its own world this is #BP. */
		if (enter_once(index, KERNEL_VA + at - 3) != -6)
			wrong++;
		for (i = 1; i <= 3; i++)
			page[-i] = 0xcc;
	}
	return wrong;
}

struct entry {
	const char *name;
	u64 rcx, r11, gs;
	bool smep, trap;
};

/* Exits in the view so far, whatever the reason. */
static u64 exits(void)
{
	struct wh_host_stat st;
	u64 sum = 0;
	int i;

	wh_stat(2, &st);
	for (i = 0; i < WH_STAT_EXIT_REASONS; i++)
		sum += st.exits[i];
	return sum;
}

/* Nothing of the client's own is left where its kernel will put the code to enter. */
static void clear_page(void)
{
	memset(wh_gpa(&a.vm, kernel_page), 0xcc, WH_PAGE);
}

static void put_code(u64 to, const char *code, size_t size)
{
	clear_page();
	memcpy((u8 *)wh_gpa(&a.vm, kernel_page) + (to - size) % WH_PAGE, code, size);
}

/* A kernel that runs until something ends it. */
static void run_kernel(const void *fn, u64 a0, u64 a1, u64 a2, u64 a3)
{
	wh_start(a.vcpu, &a.as, 0, fn, a0, a1, a2, a3);
	if (!wh_poll(!a.vcpu->running, 20))
		wh_vcpu_kick(a.vcpu);
	if (!wh_join(a.vcpu, 1))
		wh_vcpu_stop(a.vcpu);
}

/* At each byte of the gate, and beside it: whatever happens, others go on. */
static void hostile(const struct entry *e)
{
	u64 at, bad = 0;

	for (at = 0; at < GATE_SIZE + 3; at++) {
		u64 to = LSTAR + at, before;

		if (!wh_pair_anew(&worker, &a))
			bad++;
		put_code(to, "\x9d\x0f\x01\xd4", 4);	/* popf; vmfunc */
		wh_delegate(&a, H_ONE, WH_SYS_HERE, 1);
		before = exits();
		/* At an alias in the kernel half, for SMEP. */
		run_kernel((void *)(WH_KVA + (u64)enter_at),
			   e->rcx | e->smep << 9 | a.index, to - (e->trap ? 4 : 3), e->r11, e->gs);
		if ((exits() == before || !other_is_well()) && !bad++)
			wh_diag("byte %llu: %s", (unsigned long long)at, exits() == before ?
				"was not in the view" : "the other client's call fails");
	}
	if (!wh_pair_anew(&worker, &a) || !all_is_well())
		bad++;
	wh_eq(bad, 0, e->name);
}

static void test_hostile(void)
{
	static const struct entry entries[] = {
		{ "kernel_at_each_byte_with_zeroes", .r11 = 2 },
		{ "kernel_at_each_byte_with_smep", .r11 = 2, .smep = true },
		{ "kernel_at_each_byte_with_kernel_addresses", WH_KVA, 0x3000, WH_KVA,
		  .smep = true },
		{ "kernel_at_each_byte_with_addresses_that_are_none", NONCANONICAL, 0x202,
		  WH_KVA, .smep = true },
		{ "kernel_at_each_byte_with_all_flags", WH_WINDOW_VA, ~0ULL, 0x400000,
		  .smep = true },
		{ "kernel_at_each_byte_single_stepping", WH_KVA, 0x302, 0x400000, .smep = true,
		  .trap = true },
		{ "kernel_at_each_byte_with_a_users_addresses", WH_TRAMPOLINE_VA, 0x202,
		  WH_TRAMPOLINE_VA, .trap = false },
		{ "kernel_at_each_byte_single_stepping_at_a_users_addresses", WH_TRAMPOLINE_VA,
		  0x202, WH_TRAMPOLINE_VA, .trap = true },
	};
	u64 at, wrong = 0;
	size_t i;

	/* A vCPU that moves is disarmed, and then CPL 0 cannot enter. */
	wh_one_cpu();
	wh_pin(a.vcpu->tid, 0);
	for (i = 0; i < WH_ARRAY_SIZE(entries); i++)
		hostile(&entries[i]);
	for (at = 0; at < WH_PAGE; at++) {
		if (wh_delegate(&a, H_JUMP, KERNEL_VA + at, 0).rax != (u64)WH_EFATAL)
			wrong++;
	}
	wh_eq(wrong, 0, "user_code_that_jumps_to_each_byte_of_the_page_ends_its_call");
	wh_ok(all_is_well(), "and_nothing_else");
}

static void test_whole_page(void)
{
	struct wh_host_stat before, st;
	struct wh_result r;

	clear_page();
	/* For the code before the first bytes. */
	wh_map(&a.as, KERNEL_VA - WH_PAGE, wh_page_alloc(&a.vm),
	       WH_PTE_P | WH_PTE_W | WH_PTE_A | WH_PTE_D);
	wh_ok(wh_pair_anew(&worker, &a) && all_is_well(), "pair_before_all_bytes");
	wh_stat(2, &before);
	r = wh_call(a.vcpu, &a.as, 0, guest_sweep, a.index, 0, 0, 0);
	wh_stat(2, &st);
	if (!wh_ok(r.end == WH_END_DONE && !r.rax && all_is_well() &&
		   st.fatal - before.fatal == WH_PAGE - GATE_SIZE,
		   "kernel_at_every_other_byte_of_the_page_hurts_only_itself"))
		wh_diag("end %d vector %llu, %llu wrong, %llu fatal", r.end,
			(unsigned long long)r.vector, (unsigned long long)r.rax,
			(unsigned long long)(st.fatal - before.fatal));
}

/*
 * At each instruction of the gate, and behind it. The code before it is a global page
 * of the client's, and goes on under a CR3 that leads nowhere.
 */
static void with_cr3(u64 cr3, const char *name)
{
	static const u8 where[] = { 0, 4, 9, 19, GATE_SIZE };
	struct wh_host_stat before, st;
	u64 bad = 0;
	size_t i;

	for (i = 0; i < WH_ARRAY_SIZE(where); i++) {
		u64 to = LSTAR + where[i];

		put_code(to, "\x0f\x22\xde\x0f\x01\xd4", 6);	/* mov %rsi, %cr3; vmfunc */
		wh_delegate(&a, H_ONE, WH_SYS_HERE, 1);
		wh_stat(2, &before);
		run_kernel(enter_with_cr3, a.index, cr3, to - 6, 0);
		wh_stat(2, &st);
		if ((st.fatal != before.fatal + 1 || !all_is_well()) && !bad++)
			wh_diag("at %u: end %d exit %u vector %llu, %llu fatal", where[i],
				a.vcpu->res.end, a.vcpu->res.exit_reason,
				(unsigned long long)a.vcpu->res.vector,
				(unsigned long long)(st.fatal - before.fatal));
	}
	wh_eq(bad, 0, name);
}

static void test_cr3(void)
{
	static struct wh_as other;
	u64 i, base = wh_region_base();

	wh_client_as(&other, &a, 0);
	wh_map(&other, KERNEL_VA, kernel_page, WH_PTE_P | WH_PTE_W | WH_PTE_A | WH_PTE_D | PTE_G);
	*wh_pte(&a.as, KERNEL_VA) |= PTE_G;
	a.vcpu->sregs.cr4 |= CR4_PGE;
	wh_ok(wh_pair_anew(&worker, &a) && all_is_well(), "pair_before_other_page_tables");
	with_cr3(other.cr3, "kernel_in_the_gate_with_another_process_hurts_only_itself");
	with_cr3(worker.as.cr3, "with_the_workers_number_too");
	with_cr3(a.as.cr3 + WH_PAGE, "with_the_page_behind_its_own_too");
	with_cr3(0, "with_none_too");
	with_cr3(WH_WINDOW_GPA, "with_the_window_too");
	with_cr3(base - WH_PAGE, "with_an_address_that_nobody_has_too");
	with_cr3(base, "with_what_the_view_keeps_its_own_tables_in_too");
	with_cr3(base + 256 * WH_PAGE, "with_its_top_level_too");
	with_cr3(base + 257 * WH_PAGE, "with_the_gates_table_too");
	for (i = 1; i <= 3; i++)
		with_cr3(base + (i << 30) + (KERNEL_VA & (BIT_ULL(30) - 1)),
			 i == 1 ? "with_a_page_of_its_first_region_too" :
			 i == 2 ? "of_its_second_too" : "and_of_its_third");
	a.vcpu->sregs.cr4 &= ~CR4_PGE;
	*wh_pte(&a.as, KERNEL_VA) &= ~PTE_G;
	clear_page();
	wh_ok(wh_pair_anew(&worker, &a) && all_is_well(), "and_the_next_pair_works");
}

/* The client's kernel enters where it watches. */
static void test_hostile_breakpoints(void)
{
	static const u8 where[] = { 0, 4, 9, 19 };
	u64 bad = 0, before;
	size_t i, j;

	for (i = 0; i < 2 * WH_ARRAY_SIZE(where); i++) {
		u64 to = LSTAR + where[i / 2];

		for (j = i / 2; j < WH_ARRAY_SIZE(where); j++) {
			if (!wh_pair_anew(&worker, &a))
				bad++;
			put_code(to, "\x9d\x0f\x01\xd4", 4);
			wh_delegate(&a, H_ONE, WH_SYS_HERE, 1);
			before = exits();
			wh_watch(a.vcpu, LSTAR + where[j], WH_DR7_INSN);
			run_kernel((void *)(WH_KVA + (u64)enter_at),
				   (i & 1 ? WH_TRAMPOLINE_VA : WH_KVA) | a.index, to - 3, 0x10202,
				   i & 1 ? WH_TRAMPOLINE_VA : WH_KVA);
			wh_watch(a.vcpu, 0, 0);
			if (exits() == before || !other_is_well())
				bad++;
		}
	}
	clear_page();
	wh_ok(wh_pair_anew(&worker, &a) && all_is_well() && !bad,
	      "kernel_at_its_own_breakpoints_hurts_only_itself");
}

/* WRMSR in the view, and right before it. */
static void test_hostile_msrs(void)
{
	static const struct {
		u32 index;
		u64 value;
	} other[] = {
		{ MSR_LSTAR, OTHER_LSTAR }, { MSR_STAR, OTHER_STAR },
		{ MSR_EFER, OWN_EFER & ~EFER_SCE }, { MSR_FMASK, 0 },
	};
	struct wh_host_stat before, st;
	u64 changed_in = 0, entered = 0, old, seen;
	bool closes;
	size_t i;

	for (i = 0; i < WH_ARRAY_SIZE(other); i++) {
		if (!wh_pair_anew(&worker, &a) || !all_is_well())
			changed_in++;
		old = wh_get_msr(a.vcpu, other[i].index);
		wh_stat(2, &before);
		run_kernel(write_in_view, a.index, other[i].index, other[i].value, 0);
		wh_stat(2, &st);
		if (wh_get_msr(a.vcpu, other[i].index) != old || st.fatal != before.fatal + 1 ||
		    wh_gates(2) != 1 || !all_is_well())
			changed_in++;
	}
	wh_eq(changed_in, 0, "kernel_in_the_view_changes_no_msr_of_system_calls");
	for (i = 0; i < WH_ARRAY_SIZE(other); i++) {
		closes = other[i].index == MSR_LSTAR || other[i].index == MSR_STAR;
		if (!wh_pair_anew(&worker, &a) || !all_is_well())
			entered++;
		put_code(LSTAR, "\x0f\x01\xd4", 3);
		wh_delegate(&a, H_ONE, WH_SYS_HERE, 1);
		seen = exits();
		run_kernel(write_and_enter, a.index, other[i].index, other[i].value, LSTAR - 3);
		/* Only CPL 3 may arm: VMFUNC itself is invalid. */
		if (closes && (exits() != seen || a.vcpu->res.end != WH_END_TRAP ||
			       a.vcpu->res.vector != 6 || a.vcpu->res.rip != LSTAR - 3) &&
		    !entered++)
			wh_diag("MSR 0x%x: %llu exits, end %d vector %llu rip 0x%llx",
				other[i].index, (unsigned long long)(exits() - seen),
				a.vcpu->res.end, (unsigned long long)a.vcpu->res.vector,
				(unsigned long long)a.vcpu->res.rip);
		if (!other_is_well())
			entered++;
	}
	clear_page();
	wh_eq(entered, 0, "kernel_that_has_just_written_lstar_or_star_does_not_enter");
	wh_ok(wh_pair_anew(&worker, &a) && all_is_well(), "and_calls_go_on");
}

static bool has_la57(void)
{
	u32 eax, ebx, ecx = 0, edx;

	__cpuid_count(7, 0, eax, ebx, ecx, edx);
	return ecx & BIT_ULL(16);
}

/*
 * The same tables below a fifth level, in both halves.
 */
static void test_five_levels(void)
{
	static const struct entry entry = {
		.name = "each_byte_of_it_too", .rcx = WH_TRAMPOLINE_VA, .r11 = 0x202,
		.gs = WH_TRAMPOLINE_VA,
	};
	const char *name = "gate_of_a_client_with_five_levels";
	u64 *top, cr3 = a.as.cr3, gpa;
	struct wh_host_stat before;

	if (!has_la57()) {
		wh_skip(name, "this processor has no LA57");
		wh_skip(entry.name, "this processor has no LA57");
		return;
	}
	gpa = wh_page_alloc(&a.vm);
	top = wh_gpa(&a.vm, gpa);
	top[0] = cr3 | WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A;
	top[511] = top[0];
	a.as.cr3 = gpa;
	a.vcpu->sregs.cr4 |= CR4_LA57;
	wh_stat(2, &before);
	wh_ok(wh_pair_anew(&worker, &a) && wh_gates(2) == 1 &&
	      wh_delegate(&a, H_MANY, 100, WH_SYS_HERE).rax == 100 * 99 / 2 + 100 &&
	      !wh_handoffs(2, &before, WH_HANDOFF_SYSCALL), name);
	hostile(&entry);
	a.vcpu->sregs.cr4 &= ~CR4_LA57;
	a.as.cr3 = cr3;
	wh_pair_anew(&worker, &a);
}

int main(void)
{
	wh_with_gate = true;
	wh_require_feature();
	wh_plan(35);
	wh_watchdog(180);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_worker_start(&worker_b, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&a, 2, &srv, 0);
	wh_client_create(&b, 3, &srv, 1);
	kernel_page = wh_page_alloc(&a.vm);
	wh_map(&a.as, KERNEL_VA, kernel_page, WH_PTE_P | WH_PTE_W | WH_PTE_A | WH_PTE_D);
	a.vcpu->lstar = LSTAR;
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	wh_eq(wh_attach(&a), WH_OK, "hostile_client_attaches");
	wh_eq(wh_attach(&b), WH_OK, "good_client_attaches");
	test_hostile();
	test_whole_page();
	test_cr3();
	test_hostile_breakpoints();
	test_hostile_msrs();
	test_five_levels();
	return wh_exit();
}
