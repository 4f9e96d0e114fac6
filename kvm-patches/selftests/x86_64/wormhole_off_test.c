// SPDX-License-Identifier: GPL-2.0-only
/*
 * A VM without a Wormhole role sees nothing of the feature: its leaves answer
 * as the processor does, VMFUNC is an invalid opcode. Runs on every KVM and
 * also proves the tests' own guest helpers: CPL 0 and 3, traps, system calls,
 * timer, NMI, YMM registers.
 */
#include <sys/ioctl.h>
#include "wormhole.h"

static struct wh_vm vm;
static struct wh_as as;
static struct wh_vcpu *vcpu;
static u64 variable = 5;

static u64 guest_add(u64 a, u64 b)
{
	return a + b + variable;
}

static u64 guest_syscall(u64 nr, u64 a, u64 b)
{
	u64 ret;

	asm volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b)
		     : "rcx", "r11", "memory");
	return ret;
}

/* CPL 3 cannot arm the timer: the host ran guest_arm() at CPL 0 before. */
static u64 guest_wait_irq(void)
{
	while (!READ_ONCE(wh_log.timer_irqs))
		;
	return 0x71;
}

static u64 guest_ymm(void)
{
	u64 in[4] = { 1, 2, 3, 4 }, out[4];

	asm volatile("vmovdqu %1, %%ymm7\n"
		     "mov %2, %%eax\n"
		     "syscall\n"
		     "vmovdqu %%ymm7, %0\n"
		     : "=m"(out) : "m"(in), "i"(WH_SYS_ADD)
		     : "rax", "rcx", "r11", "memory");
	return out[0] | out[1] << 8 | out[2] << 16 | out[3] << 24;
}

static struct wh_result call3(const void *fn, u64 a0, u64 a1, u64 a2)
{
	return wh_call(vcpu, &as, 3, fn, a0, a1, a2, 0);
}

static void test_leaf(int cpl, const char *name)
{
	struct wh_result a = wh_leaf(vcpu, &as, cpl, WH_LEAF_SIGNATURE, 0, 0, 0, 0);
	struct wh_result b = wh_leaf(vcpu, &as, cpl, WH_LEAF_SIGNATURE - 1, 0, 0, 0, 0);

	wh_ok(a.end == WH_END_DONE && a.rax == b.rax && a.rbx == b.rbx &&
	      a.rcx == b.rcx && a.rdx == b.rdx, name);
}

static void test_vmfunc(int cpl, const char *name)
{
	struct wh_result r = wh_call(vcpu, &as, cpl, wh_vmfunc, 0, 0, 0, 0);

	wh_ok(r.end == WH_END_TRAP && r.vector == 6, name);
}

int main(void)
{
	struct wh_result r;

	wh_plan(12);
	wh_watchdog(30);
	wh_vm_create(&vm, 0, WH_ROLE_NONE);
	vcpu = wh_vcpu_create(&vm);
	wh_as_create(&as, &vm);
	G(&vm, wh_trap_is_server) = 1;
	G(&vm, variable) = 6;

	wh_eq(call3(guest_add, 40, 2, 0).rax, 48, "cpl3_function_uses_guest_copy");
	wh_eq(wh_call(vcpu, &as, 0, guest_add, 1, 2, 0, 0).rax, 9, "cpl0_function_returns");
	wh_eq(call3(guest_syscall, WH_SYS_ADD, 3, 4).rax, 7, "syscall_is_served");
	r = call3((void *)0x10, 0, 0, 0);
	wh_ok(r.end == WH_END_TRAP && r.vector == 14 && r.rip == 0x10,
	      "stray_jump_is_a_page_fault");
	wh_eq(call3(guest_ymm, 0, 0, 0).rax, 0x04030201, "ymm_survives_a_system_call");
	wh_call(vcpu, &as, 0, wh_guest_timer, 100000, 0, 0, 0);
	wh_eq(call3(guest_wait_irq, 0, 0, 0).rax, 0x71, "timer_interrupt_arrives");
	ioctl(vcpu->fd, KVM_NMI, 0);
	call3(guest_add, 0, 0, 0);
	wh_eq(G(&vm, wh_log).nmis, 1, "nmi_arrives");
	wh_eq(call3(guest_syscall, WH_SYS_BLOCK, 0, 0).rax, 0, "blocking_system_call_returns");

	test_leaf(3, "leaf_answers_as_processor_at_cpl3");
	test_leaf(0, "leaf_answers_as_processor_at_cpl0");
	G(&vm, wh_trap_is_server) = 0;
	test_vmfunc(3, "vmfunc_is_invalid_opcode_at_cpl3");
	test_vmfunc(0, "vmfunc_is_invalid_opcode_at_cpl0");
	return wh_exit();
}
