// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls without an exit, by the gate at the client's LSTAR: answered in
 * place and handed on, interrupted and stopped on the way, under other settings of
 * the client's, and under MSRs that change. Its enemies are in wormhole_lstar_test.
 */
#include "wormhole.h"

#define EXIT_CPUID	10
#define CR4_FSGSBASE	BIT_ULL(16)
#define CR4_SMEP	BIT_ULL(20)
#define EFER_SCE	1ULL
#define MSR_EFER	0xc0000080
#define MSR_STAR	0xc0000081
#define MSR_LSTAR	0xc0000082
#define MSR_FMASK	0xc0000084
#define OTHER_STAR	0x0013001000000000ULL
#define OWN_EFER	0xd01ULL

#define GATE_SIZE	22
#define GS_BASE_IS_KEPT	7	/* of regs_handler() */
/* The client's LSTAR: a page of its own, whose translation no other one displaces. */
#define KERNEL_VA	0xffffa00000345000ULL
#define LSTAR		(KERNEL_VA + 0x640)
#define LAST_LSTAR	(KERNEL_VA + WH_PAGE - GATE_SIZE)
#define OTHER_LSTAR	0xffffb00000000040ULL

static u64 sum_of(u64 n)
{
	return n * (n - 1) / 2 + n;
}

/*
 * All that a system call keeps: registers, flags, what is below the stack
 * pointer, the FS base, MXCSR, a vector register; and the GS base, which is 0.
 * RDX = the call's number. Returns 0, or what is wrong.
 */
s64 regs_handler(void *session, u64 slot, u64 a0, u64 a1);
asm(".text\n"
"regs_handler:\n"
"	.irp r, rbx, rbp, r12, r13, r14, r15\n"
"	push %\\r\n"
"	.endr\n"
"	mov %rdx, %rax\n"
"	.set v, 0x100\n"
"	.irp r, rbx,rdx,rbp,r8,r9,r10,r12,r13,r14,r15\n"
"	mov $v, %\\r\n"
"	.set v, v + 1\n"
"	.endr\n"
"	mov $0x1000, %edi\n"
"	mov $0x234, %esi\n"
"	movq $0x77, -8(%rsp)\n"
"	movq $0x78, -128(%rsp)\n"
"	movq %rdi, %xmm3\n"
"	std\n"
"	stc\n"
"	syscall\n"
"	pushf\n"
"	cld\n"
"	cmpq $0x78, -120(%rsp)\n"	/* -8 is under the flags */
"	mov $1, %ecx\n"
"	jne 9f\n"
"	.set v, 0x100\n"
"	.irp r, rbx,rdx,rbp,r8,r9,r10,r12,r13,r14,r15\n"
"	mov $v, %ecx\n"
"	cmp $v, %\\r\n"
"	jne 9f\n"
"	.set v, v + 1\n"
"	.endr\n"
"	mov $2, %ecx\n"
"	cmp $0x1000, %rdi\n"
"	jne 9f\n"
"	cmp $0x234, %rsi\n"
"	jne 9f\n"
"	mov $3, %ecx\n"
"	cmp $0x1234, %rax\n"
"	jne 9f\n"
"	mov (%rsp), %eax\n"
"	and $0x401, %eax\n"
"	mov $4, %ecx\n"
"	cmp $0x401, %eax\n"
"	jne 9f\n"
"	movq %xmm3, %rax\n"
"	mov $5, %ecx\n"
"	cmp %rax, %rdi\n"
"	jne 9f\n"
"	rdfsbase %rax\n"
"	mov $6, %ecx\n"
"	cmp $0x1111000, %rax\n"
"	jne 9f\n"
"	rdgsbase %rax\n"
"	mov $7, %ecx\n"
"	test %rax, %rax\n"
"	jne 9f\n"
"	xor %ecx, %ecx\n"
"9:	mov %rcx, %rax\n"
"	pop %rcx\n"
"	.irp r, r15, r14, r13, r12, rbp, rbx\n"
"	pop %\\r\n"
"	.endr\n"
"	ret\n");

/* With the trap flag on before SYSCALL, and off behind it. */
static s64 trap_flag_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 ret, flags;

	asm volatile("pushf; pop %1; or $0x100, %1; push %1; popf\n\t"
		     "syscall\n\t"
		     "pushf; andq $~0x100, (%%rsp); popf"
		     : "=a"(ret), "=&r"(flags) : "0"(a0), "D"(a1), "S"(1ULL)
		     : "rcx", "r11", "memory");
	return ret;
}

/* Say that it is here, wait, make a system call. */
static s64 wait_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	WRITE_ONCE(word[1], 1);
	while (READ_ONCE(word[0]) != a0)
		;
	return wh_syscall(a1, 4, 1);
}

/* System calls until one is not answered in place, or all are. */
static s64 until_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;
	u64 i;

	for (i = 0; i < a0; i++) {
		if (wh_syscall(WH_SYS_HERE, i, 1) != i + 1)
			break;
		WRITE_ONCE(word[1], i + 1);
	}
	return i;
}

enum { H_MANY, H_ONE, H_REGS, H_TRAP_FLAG, H_WAIT, H_UNTIL };

static const wh_handler_fn handlers[] = {
	wh_syscalls_handler, wh_syscall_handler, regs_handler, trap_flag_handler, wait_handler,
	until_handler,
};

static struct wh_server srv;
static struct wh_worker worker, worker_b;
static struct wh_client a, b;
static struct wh_vcpu *a_second;
static u64 *words, kernel_page;

/* With what the client has set now. */
static bool again(void)
{
	return wh_pair_anew(&worker, &a);
}

static u64 handoffs(const struct wh_host_stat *old)
{
	return wh_handoffs(2, old, WH_HANDOFF_SYSCALL);
}

/* How often an exit met a SYSCALL on its way; -1 if the kernel does not say. */
static long met_in_gate(void)
{
	long on_cpu1 = wh_point_read("gate", 1);

	return on_cpu1 < 0 ? -1 : wh_point_read("gate", 0) + on_cpu1;
}

static bool all_is_well(void)
{
	s64 mine = wh_delegate(&a, H_ONE, WH_SYS_HERE, 2).rax;
	s64 other = wh_delegate(&b, H_ONE, WH_SYS_HERE, 3).rax;

	if (mine == 3 && other == 4 && worker.vcpu->running)
		return true;
	wh_diag("own call %lld, the other client's %lld, worker %s", (long long)mine,
		(long long)other, worker.vcpu->running ? "parked" : "gone");
	return false;
}

/* --- Answered in place, and not ------------------------------------------------- */

static void test_in_place(void)
{
	struct wh_host_stat before;
	struct wh_result r;
	u64 n = 20000;

	wh_eq(wh_gates(2), 1, "stat_counts_a_gate");
	wh_eq(wh_delegate(&a, H_REGS, WH_SYS_HERE, 0).rax, 0,
	      "system_call_in_place_keeps_what_a_system_call_keeps");
	wh_stat(2, &before);
	r = wh_delegate(&a, H_MANY, 0, WH_SYS_HERE);
	r = wh_delegate(&a, H_MANY, n, WH_SYS_HERE);
	wh_eq(r.rax, sum_of(n), "20000_system_calls_are_answered");
	wh_eq(wh_view_exits(2, &before), 0, "without_an_exit");
	wh_eq(handoffs(&before), 0, "and_without_a_handoff");
}

static void test_handed_on(void)
{
	struct wh_host_stat before, st;

	wh_stat(2, &before);
	wh_eq(wh_delegate(&a, H_ONE, WH_SYS_ADD, 41).rax, 42,
	      "what_the_service_cannot_is_handed_on");
	wh_stat(2, &st);
	wh_ok(handoffs(&before) == 1 && st.exits[EXIT_CPUID] == before.exits[EXIT_CPUID] + 1,
	      "by_one_handoff_at_its_leaf");
	wh_eq(wh_delegate(&a, H_REGS, WH_SYS_ADD, 0).rax, 0,
	      "system_call_handed_on_keeps_what_a_system_call_keeps");
	wh_eq(wh_delegate(&a, H_MANY, 50, WH_SYS_ADD).rax, sum_of(50),
	      "many_in_a_call_go_on_at_the_server");
	wh_eq(handoffs(&before), 3, "each_such_call_is_handed_off_once");
	wh_eq(wh_delegate(&a, H_ONE, 4711, 0).rax, -38, "unknown_number_is_the_kernels_to_refuse");
}

/* CPL 3 of the client: TSC ticks of a call that makes @n system calls. */
static u64 guest_time(u64 n, u64 nr)
{
	u64 i, t, best = ~0ULL;

	for (i = 0; i < 50; i++) {
		t = wh_rdtsc();
		wh_guest_delegate(H_MANY, n, nr);
		t = wh_rdtsc() - t;
		if (t < best)
			best = t;
	}
	return best;
}

/* The emulated TSC counts instructions, the host's among them. */
static void show_costs(const char *what)
{
	u64 none = wh_call(a.vcpu, &a.as, 3, guest_time, 0, 0, 0, 0).rax;
	u64 here = wh_call(a.vcpu, &a.as, 3, guest_time, 100, WH_SYS_HERE, 0, 0).rax;
	u64 one = wh_call(a.vcpu, &a.as, 3, guest_time, 1, WH_SYS_ADD, 0, 0).rax;

	wh_diag("%s: TSC ticks of a call without a system call %llu, with one for the kernel %llu",
		what, (unsigned long long)none, (unsigned long long)one);
	wh_diag("%s: 100 for the service, each %llu.%02llu", what,
		(unsigned long long)(here - none) / 100, (unsigned long long)(here - none) % 100);
}

/* --- Interrupted and stopped on the way ------------------------------------------ */

static void nothing(struct wh_vcpu *vcpu)
{
}

static void test_interrupts(void)
{
	const char *name = "some_of_them_came_in_the_gate";
	long before_met = met_in_gate(), met;
	struct wh_host_stat before, st;
	u64 i, n = 300000;

	wh_stat(2, &before);
	a.vcpu->on_eintr = nothing;
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_MANY, n, WH_SYS_HERE, 0);
	for (i = 0; i < 300 && a.vcpu->running; i++) {
		wh_ms_pause();
		wh_vcpu_kick(a.vcpu);
	}
	wh_join(a.vcpu, 30);
	a.vcpu->on_eintr = NULL;
	wh_stat(2, &st);
	wh_eq(a.vcpu->res.rax, sum_of(n), "system_calls_under_interrupts_are_all_answered_once");
	wh_ok(st.suspends > before.suspends && !handoffs(&before),
	      "in_place_though_calls_were_suspended");
	met = met_in_gate();
	wh_diag("%llu suspends, %ld exits met a SYSCALL on its way",
		(unsigned long long)(st.suspends - before.suspends), met - before_met);
	if (met < 0)
		wh_skip(name, "needs CONFIG_KVM_WORMHOLE_TEST");
	else
		wh_ok(met > before_met, name);
}

static void test_breakpoints(void)
{
	static const struct {
		const char *name;
		u32 at;
	} where[] = {
		{ "breakpoint_at_endbr_leaves_the_system_call_to_the_server", 0 },
		{ "breakpoint_at_wrgsbase_too", 4 },
		{ "breakpoint_at_mov_too", 9 },
		{ "breakpoint_at_sysret_too", 19 },
	};
	struct wh_host_stat before;
	struct wh_result r;
	size_t i;

	for (i = 0; i < WH_ARRAY_SIZE(where); i++) {
		/* Before WRGSBASE the worker's own base is there still, and stays. */
		u64 want = where[i].at < 9 ? GS_BASE_IS_KEPT : 0;

		wh_stat(2, &before);
		wh_watch(a.vcpu, LSTAR + where[i].at, WH_DR7_INSN);
		r = wh_delegate(&a, H_REGS, WH_SYS_ADD, 0);
		wh_watch(a.vcpu, 0, 0);
		if (!wh_ok(r.rax == want && handoffs(&before) == 1 && wh_view_exits(2, &before) &&
			   all_is_well(), where[i].name))
			wh_diag("0x%llx", (unsigned long long)r.rax);
	}
}

/* Around the gate, and on it as data, which nobody reads. */
static void test_breakpoints_beside(void)
{
	u64 service = WH_TRAMPOLINE_VA + wh_tramp_header()->service;
	const struct {
		const char *name;
		u64 va, dr7;
		bool stops;
	} where[] = {
		{ "breakpoint_before_the_gate_stops_nothing", LSTAR - 1, WH_DR7_INSN, false },
		{ "nor_does_one_behind_it", LSTAR + GATE_SIZE, WH_DR7_INSN, false },
		{ "nor_in_the_middle_of_an_instruction", LSTAR + 11, WH_DR7_INSN, false },
		{ "nor_on_the_gate_as_data", LSTAR & ~7ULL, WH_DR7_WORD, false },
		{ "breakpoint_at_the_service_is_no_way_out_of_it", service, WH_DR7_INSN, true },
	};
	struct wh_host_stat before;
	size_t i;
	u64 rax;

	for (i = 0; i < WH_ARRAY_SIZE(where); i++) {
		wh_stat(2, &before);
		wh_watch(a.vcpu, where[i].va, where[i].dr7);
		rax = wh_delegate(&a, H_ONE, WH_SYS_HERE, 7).rax;
		wh_watch(a.vcpu, 0, 0);
		if (!wh_ok(rax == 8 && (where[i].stops || !wh_view_exits(2, &before)) &&
			   all_is_well(), where[i].name))
			wh_diag("0x%llx", (unsigned long long)rax);
	}
}

static void test_trap_flag(void)
{
	struct wh_host_stat before;
	struct wh_result r;

	wh_stat(2, &before);
	r = wh_delegate(&a, H_TRAP_FLAG, WH_SYS_ADD, 6);
	wh_ok(r.rax == 7 && all_is_well(), "trap_flag_before_a_system_call_does_no_harm");
	/* FMASK leaves it on: the trap is inside of the gate. */
	a.vcpu->fmask = 0x47400;
	r = wh_delegate(&a, H_TRAP_FLAG, WH_SYS_ADD, 7);
	a.vcpu->fmask = 0;
	wh_ok(r.rax == 8 && all_is_well(), "nor_where_the_gate_is_single_stepped");
	/* FMASK leaves interrupts on: the client's come, and not in the view. */
	a.vcpu->fmask = 0x100;
	wh_eq(wh_delegate(&a, H_MANY, 1000, WH_SYS_HERE).rax, sum_of(1000),
	      "system_calls_whose_mask_clears_nothing_are_answered");
	a.vcpu->fmask = 0;
}

/* --- The client's own settings ------------------------------------------------------ */

static void test_settings(void)
{
	struct wh_host_stat before;

	a.vcpu->sregs.cr4 |= CR4_SMEP;
	wh_stat(2, &before);
	wh_ok(wh_delegate(&a, H_MANY, 100, WH_SYS_HERE).rax == sum_of(100) && !handoffs(&before),
	      "gate_is_no_user_page_to_smep");
	a.vcpu->sregs.cr4 &= ~(CR4_SMEP | CR4_FSGSBASE);
	/* The trampoline needs the instructions, too: such a call fails. */
	wh_delegate(&a, H_ONE, WH_SYS_HERE, 1);
	a.vcpu->sregs.cr4 |= CR4_FSGSBASE;
	wh_ok(again() && all_is_well(), "client_without_fsgsbase_hurts_only_itself");
	a.vcpu->sregs.efer &= ~EFER_SCE;
	wh_stat(2, &before);
	wh_eq(wh_delegate(&a, H_ONE, WH_SYS_ADD, 5).rax, 6,
	      "system_call_without_sce_is_the_servers");
	wh_eq(wh_handoffs(2, &before, WH_HANDOFF_UD), 1, "by_an_invalid_opcode");
	a.vcpu->sregs.efer |= EFER_SCE;
}

/* Attach with this LSTAR and STAR: is there a gate, and do system calls work? */
static void attach_with(u64 lstar, u64 star, bool gate, const char *name)
{
	struct wh_host_stat before;
	s64 here;

	a.vcpu->lstar = lstar;
	a.vcpu->star = star;
	wh_stat(2, &before);
	if (!again())
		wh_diag("does not attach");
	here = wh_delegate(&a, H_ONE, WH_SYS_HERE, 9).rax;
	if (!wh_ok(wh_gates(2) == gate && here == (gate ? 10 : -38) && handoffs(&before) == !gate &&
		   wh_delegate(&a, H_ONE, WH_SYS_ADD, 9).rax == 10, name))
		wh_diag("%llu gates, answer %lld, %llu handoffs", (unsigned long long)wh_gates(2),
			(long long)here, (unsigned long long)handoffs(&before));
}

static void test_attach(void)
{
	attach_with(LAST_LSTAR, 0, true, "gate_that_ends_with_its_page");
	attach_with(LAST_LSTAR + 1, 0, false, "lstar_without_room_in_its_page_has_no_gate");
	attach_with(KERNEL_VA + WH_PAGE - 1, 0, false, "nor_has_the_last_byte_of_a_page");
	attach_with(~0xfffULL, 0, true, "gate_in_the_last_page_of_the_address_space");
	attach_with(0xffff800000000000ULL, 0, true, "gate_at_the_first_address_of_the_kernel_half");
	attach_with(0x7fffffff0000ULL, 0, false, "user_mode_address_has_no_gate");
	attach_with(LSTAR, 0x0013001000000000ULL, false,
		    "star_that_gives_other_segments_has_no_gate");
	show_costs("without a gate");
	attach_with(LSTAR, 0, true, "and_the_next_pair_has_one");
	show_costs("with a gate");
}

/* --- LSTAR and STAR that change ------------------------------------------------------ */

static void changed(u64 lstar, u64 star, const char *name)
{
	struct wh_host_stat before;
	bool had;
	u64 here;

	a.vcpu->lstar = LSTAR;
	had = again() && wh_delegate(&a, H_ONE, WH_SYS_HERE, 1).rax == 2 && wh_gates(2) == 1;
	a.vcpu->lstar = lstar;
	a.vcpu->star = star;
	wh_stat(2, &before);
	here = wh_delegate(&a, H_ONE, WH_SYS_HERE, 9).rax;
	if (!wh_ok(had && here == (u64)-38 && !wh_gates(2) && handoffs(&before) == 1 &&
		   wh_delegate(&a, H_MANY, 3, WH_SYS_ADD).rax == sum_of(3), name))
		wh_diag("had %d, answer %lld, %llu gates, %llu handoffs", had, (long long)here,
			(unsigned long long)wh_gates(2), (unsigned long long)handoffs(&before));
	a.vcpu->lstar = LSTAR;
	a.vcpu->star = 0;
}

/* What a client's kernel writes while it has interrupted a call. */
static struct kvm_msr_entry written;

static void write_msr(struct wh_vcpu *vcpu)
{
	wh_set_msr(vcpu, written.index, written.data);
	WRITE_ONCE(words[2], 1);
}

static const struct change {
	const char *in_call, *before_call;
	u32 index;
	u64 value;
	int reason;		/* of the handoff; -1: none, answered in place */
	bool closes;
} changes[] = {
	{ "lstar_changed_in_a_call_is_a_handoff", "lstar_written_before_a_call_too",
	  MSR_LSTAR, OTHER_LSTAR, WH_HANDOFF_SYSCALL, true },
	{ "star_changed_in_a_call_too", "star_too", MSR_STAR, OTHER_STAR,
	  WH_HANDOFF_SYSCALL, true },
	{ "without_sce_it_is_an_invalid_opcode", "without_sce_it_is_an_invalid_opcode_then",
	  MSR_EFER, OWN_EFER & ~EFER_SCE, WH_HANDOFF_UD, false },
	{ "other_mask_in_a_call_changes_nothing", "nor_does_another_mask_before_it",
	  MSR_FMASK, 0x100, -1, false },
};

/* By one handoff for its reason, or by none. */
static bool left_as(const struct change *c, const struct wh_host_stat *before)
{
	if (c->reason < 0)
		return !handoffs(before);
	return wh_handoffs(2, before, c->reason) == 1;
}

static void test_change_in_a_call(const struct change *c)
{
	struct wh_host_stat before;
	bool had = again() && wh_gates(2) == 1;
	s64 want = c->reason < 0 ? 5 : -38;

	wh_stat(2, &before);
	written = (struct kvm_msr_entry){ .index = c->index, .data = c->value };
	words[0] = 0;
	words[1] = 0;
	words[2] = 0;
	a.vcpu->on_eintr = write_msr;
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_WAIT, 5, WH_SYS_HERE, 0);
	wh_poll(words[1], 300);
	wh_vcpu_kick(a.vcpu);
	wh_poll(words[2], 300);
	words[0] = 5;
	wh_join(a.vcpu, 2);
	a.vcpu->on_eintr = NULL;
	if (!wh_ok(had && words[2] && (s64)a.vcpu->res.rax == want &&
		   left_as(c, &before) && wh_gates(2) == !c->closes, c->in_call))
		wh_diag("had %d, written %d, answer %lld, %llu gates", had, (int)words[2],
			(long long)a.vcpu->res.rax, (unsigned long long)wh_gates(2));
}

/*
 * CPL 0: RDI = MSR, RSI = its value; then RDX = argument of a call at CPL 3, which
 * says how it ended where any function does.
 */
static __attribute__((naked)) void write_and_call(void)
{
	asm("mov %edi, %ecx\n\t"
	    "mov %rdx, %r8\n\t"
	    "mov %esi, %eax\n\t"
	    "mov %rsi, %rdx\n\t"
	    "shr $32, %rdx\n\t"
	    "wrmsr\n\t"
	    "pushq $0x2b\n\t"
	    "pushq $0x20000000\n\t"		/* WH_STACK_VA */
	    "pushq $0x202\n\t"
	    "pushq $0x33\n\t"
	    "lea wh_guest_call(%rip), %rax\n\t"
	    "push %rax\n\t"
	    "lea wh_guest_delegate(%rip), %rax\n\t"
	    "mov $1, %edi\n\t"			/* H_ONE */
	    "mov %r8, %rsi\n\t"
	    "mov $4, %edx\n\t"
	    "iretq");
}

static void test_change_before_a_call(const struct change *c)
{
	s64 want = c->reason < 0 ? 5 : -38;
	struct wh_host_stat before;
	struct wh_result r;
	bool had = again() && all_is_well() && wh_gates(2) == 1;

	wh_stat(2, &before);
	r = wh_call(a.vcpu, &a.as, 0, write_and_call, c->index, c->value, WH_SYS_HERE, 0);
	if (!wh_ok(had && r.end == WH_END_DONE && (s64)r.rax == want &&
		   left_as(c, &before) && wh_gates(2) == !c->closes, c->before_call))
		wh_diag("had %d, end %d vector %llu, answer %lld, %llu gates", had, r.end,
			(unsigned long long)r.vector, (long long)r.rax,
			(unsigned long long)wh_gates(2));
}

/* CPL 3: enter and leave at once. The code goes on in the worker's copy of it. */
static __attribute__((naked)) void enter_and_leave(void)
{
	asm("mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "xor %ecx, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "ret");
}

/* Another vCPU with another STAR comes while this one is in the middle of it. */
static void test_change_elsewhere(void)
{
	struct wh_host_stat before;
	u64 n = 100000000, done;

	/* What KVM flushes for a vCPU's first run, or on another CPU, is behind it. */
	wh_call(a_second, &a.as, 3, enter_and_leave, 0, 0, 0, 0);
	wh_pin(a.vcpu->tid, 0);
	wh_pin(a_second->tid, wh_two_cpus() ? 1 : 0);
	wh_ok(again() && wh_gates(2) == 1, "gate_before_a_change_on_another_vcpu");
	wh_call(a_second, &a.as, 3, enter_and_leave, a.index, 0, 0, 0);
	wh_stat(2, &before);
	words[1] = 0;
	a_second->star = OTHER_STAR;
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_UNTIL, n, 0, 0);
	wh_poll(words[1] > 1000, 300);
	wh_call(a_second, &a.as, 3, enter_and_leave, a.index, 0, 0, 0);
	done = words[1];
	if (!wh_join(a.vcpu, 2))
		wh_vcpu_stop(a.vcpu);
	wh_ok(a.vcpu->res.end == WH_END_DONE && words[1] < n && !wh_gates(2) &&
	      handoffs(&before) == 1,
	      "no_system_call_uses_a_gate_that_another_vcpu_closed");
	wh_diag("%llu system calls, %llu after the change", (unsigned long long)words[1],
		(unsigned long long)(words[1] - done));
	a_second->star = 0;
}

int main(void)
{
	size_t i;

	wh_with_gate = true;
	wh_require_feature();
	wh_plan(55);
	wh_watchdog(180);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_worker_start(&worker_b, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&a, 2, &srv, 0);
	wh_client_create(&b, 3, &srv, 1);
	a_second = wh_vcpu_create(&a.vm);
	words = (u64 *)(a.part_mem + WH_DATA_OFFSET);
	kernel_page = wh_page_alloc(&a.vm);
	wh_map(&a.as, KERNEL_VA, kernel_page, WH_PTE_P | WH_PTE_W | WH_PTE_A | WH_PTE_D);
	a.vcpu->lstar = LSTAR;
	a_second->lstar = LSTAR;
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	wh_eq(wh_attach(&a), WH_OK, "client_attaches");
	wh_eq(wh_attach(&b), WH_OK, "other_client_attaches");
	test_in_place();
	test_handed_on();
	test_interrupts();
	test_breakpoints();
	test_breakpoints_beside();
	test_trap_flag();
	test_settings();
	test_attach();
	changed(OTHER_LSTAR, 0, "changed_lstar_is_a_handoff");
	changed(LSTAR + 4, 0, "lstar_changed_into_the_gate_is_a_handoff");
	changed(LSTAR + GATE_SIZE, 0, "lstar_changed_to_behind_the_gate_is_a_handoff");
	changed(LSTAR, OTHER_STAR, "changed_star_is_a_handoff");
	for (i = 0; i < WH_ARRAY_SIZE(changes); i++)
		test_change_in_a_call(&changes[i]);
	for (i = 0; i < WH_ARRAY_SIZE(changes); i++)
		test_change_before_a_call(&changes[i]);
	test_change_elsewhere();
	return wh_exit();
}
