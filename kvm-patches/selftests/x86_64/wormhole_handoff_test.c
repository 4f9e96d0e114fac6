// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handoff: what is not plain user-mode execution moves to the slot's own
 * server vCPU, where the same instruction meets the server's kernel, and the
 * call comes back with every register right. Needs VMFUNC.
 */
#include <string.h>
#include "wormhole.h"

#define EXIT_REASON_EPT_VIOLATION	48
#define LAZY(n)		(WH_LAZY_VA + (n) * WH_PAGE)

static s64 syscall_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 ret;

	asm volatile("syscall" : "=a"(ret) : "0"(WH_SYS_ADD), "D"(a0), "S"(a1)
		     : "rcx", "r11", "memory");
	return ret;
}

static s64 block_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 ret;

	asm volatile("syscall" : "=a"(ret) : "0"(WH_SYS_BLOCK)
		     : "rcx", "r11", "memory");
	return ret + a0;
}

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return READ_ONCE(*(u64 *)a0);
}

static s64 ud_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 ret;

	asm volatile("ud2" : "=a"(ret));
	return ret;
}

static s64 div_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u32 ret;

	asm volatile("div %%ecx" : "=a"(ret) : "0"(1), "c"(0), "d"(0));
	return ret;
}

static s64 out_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 ret;

	asm volatile("out %%al, $0x80" : "=a"(ret) : "0"(0));
	return ret;
}

static s64 cpuid_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u32 eax = a0, ebx, ecx = 0, edx;

	asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	return ebx;
}

/* Copy across the border between a mapped page and one that is not. */
static s64 rep_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 dst = a0 - 64, n = 128;

	memset((void *)(a0 - 64), 0, 8);
	asm volatile("rep stosb" : "+D"(dst), "+c"(n) : "a"(0x5a) : "memory");
	return dst == a0 + 64 && !n && *(u8 *)(a0 - 64) == 0x5a &&
	       *(u8 *)(a0 + 63) == 0x5a;
}

static s64 bases_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 fs, gs;

	asm volatile("int3; rdfsbase %0; rdgsbase %1" : "=r"(fs), "=r"(gs));
	return fs == 0x1111000 && gs == 0x2222000;
}

enum {
	H_SYSCALL, H_BLOCK, H_LOAD, H_STORE, H_UD, H_DIV, H_OUT, H_CPUID, H_REP,
	H_REGS, H_BASES,
};

static const wh_handler_fn handlers[] = {
	syscall_handler, block_handler, wh_load_handler, store_handler, ud_handler,
	div_handler, out_handler, cpuid_handler, rep_handler, wh_regs_handler,
	bases_handler,
};

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;

/* A call that must return @want with @n handoffs for @reason and no other. */
static void expect(u64 handler, u64 a0, u64 a1, s64 want, int reason, u64 n,
		   const char *name)
{
	struct wh_host_stat before;
	struct wh_result r;
	u64 sum = 0;
	int i;

	wh_stat(client.vm.id, &before);
	r = wh_delegate(&client, handler, a0, a1);
	for (i = 0; i < WH_HANDOFF_REASONS; i++)
		sum += wh_handoffs(client.vm.id, &before, i);
	if (!wh_ok(r.end == WH_END_DONE && (s64)r.rax == want && sum == n &&
		   (!n || wh_handoffs(client.vm.id, &before, reason) == n), name))
		wh_diag("end %d exit %u rip 0x%llx rax 0x%llx, %llu handoffs, %llu of reason %d",
			r.end, r.exit_reason, (unsigned long long)r.rip,
			(unsigned long long)r.rax, (unsigned long long)sum,
			(unsigned long long)wh_handoffs(client.vm.id, &before, reason),
			reason);
}

/* Client, CPL 3: own bases, MXCSR and callee-saved state across a handoff. */
static u64 guest_state_across_call(u64 handler)
{
	u64 fs, gs;
	u32 mxcsr = 0x1fc0;
	u16 fcw = 0x27f;
	s64 ret;

	asm volatile("wrfsbase %0; wrgsbase %1" :: "r"(0xf5000ULL), "r"(0x65000ULL));
	asm volatile("ldmxcsr %0; fldcw %1" :: "m"(mxcsr), "m"(fcw));
	ret = wh_guest_delegate(handler, 3, 4);
	asm volatile("rdfsbase %0; rdgsbase %1" : "=r"(fs), "=r"(gs));
	asm volatile("stmxcsr %0; fnstcw %1" : "=m"(mxcsr), "=m"(fcw));
	return (fs == 0xf5000) | (gs == 0x65000) << 1 | (mxcsr == 0x1fc0) << 2 |
	       (fcw == 0x27f) << 3 | (ret == 7) << 4;
}

static u64 guest_many_syscalls(u64 n)
{
	u64 sum = 0, i;

	for (i = 0; i < n; i++)
		sum += wh_guest_delegate(H_SYSCALL, i, 1);
	return sum;
}

static void test_reasons(void)
{
	struct wh_guest_log *log = &G(&srv.vm, wh_log);

	expect(H_SYSCALL, 40, 2, 42, WH_HANDOFF_SYSCALL, 1, "system_call_returns_right");
	wh_eq(log->syscalls, 1, "system_call_reached_the_server_kernel_once");
	expect(H_STORE, LAZY(0), 0x1a2, 0x1a2, WH_HANDOFF_FAULT, 1, "page_fault_returns_right");
	wh_eq(log->faults, 1, "page_fault_reached_the_server_kernel_once");
	wh_eq(log->last_cr2, LAZY(0), "server_kernel_saw_the_address");
	wh_eq(log->last_error, 6, "server_kernel_saw_a_user_write");
	expect(H_STORE, LAZY(0), 7, 7, 0, 0, "page_is_in_the_view_afterwards");
	wh_eq(*(u64 *)wh_gpa(&srv.vm, worker.lazy_gpa), 7, "store_went_to_the_worker_page");
	expect(H_UD, 0, 0, WH_AFTER_UD, WH_HANDOFF_UD, 1, "invalid_opcode_returns_right");
	expect(H_DIV, 0, 0, WH_AFTER_DE, WH_HANDOFF_EXCEPTION, 1, "divide_error_returns_right");
	expect(H_OUT, 0, 0, WH_AFTER_GP, WH_HANDOFF_FAULT, 1, "io_instruction_returns_right");
	expect(H_CPUID, WH_CPUID_VM, 0, srv.vm.id, WH_HANDOFF_INSN, 1,
	       "cpuid_answers_for_the_server");
	expect(H_REGS, 0, 0, 0, WH_HANDOFF_EXCEPTION, 1, "registers_survive_breakpoint");
	expect(H_BASES, 0, 0, 1, WH_HANDOFF_EXCEPTION, 1, "worker_bases_survive_breakpoint");
	expect(H_REP, LAZY(1), 0, 1, WH_HANDOFF_FAULT, 1,
	       "string_instruction_continues_in_the_middle");
	expect(H_BLOCK, 5, 0, 5, WH_HANDOFF_SYSCALL, 1, "blocking_system_call_returns_right");
}

/* Entries that the view may not map, though no exception follows from them. */
static void test_accessed_dirty(void)
{
	u64 *pte = wh_pte(&worker.as, LAZY(8)), gpa = worker.lazy_gpa + 8 * WH_PAGE;

	*pte = gpa | (WH_USER_RW & ~WH_PTE_D);
	expect(H_LOAD, LAZY(8), 0, 0, 0, 0, "clean_page_is_read_in_the_view");
	expect(H_STORE, LAZY(8), 8, 8, WH_HANDOFF_FAULT, 1, "write_to_clean_page_is_handed_off");
	wh_ok(*pte & WH_PTE_D, "server_processor_set_the_dirty_bit");
	expect(H_STORE, LAZY(8), 9, 9, 0, 0, "dirty_page_is_written_in_the_view");
	pte = wh_pte(&worker.as, LAZY(9));
	*pte = (gpa + WH_PAGE) | (WH_USER_RW & ~(WH_PTE_A | WH_PTE_D));
	expect(H_STORE, LAZY(9), 8, 8, WH_HANDOFF_FAULT, 1,
	       "access_to_untouched_page_is_handed_off");
	wh_ok(*pte & WH_PTE_A, "server_processor_set_the_accessed_bit");
	pte = wh_pte(&worker.as, LAZY(10));
	*pte = (gpa + 2 * WH_PAGE) | WH_USER_RO;
	expect(H_LOAD, LAZY(10), 0, 0, 0, 0, "read_only_page_is_read_in_the_view");
	expect(H_STORE, LAZY(10), 8, 8, WH_HANDOFF_FAULT, 1,
	       "write_to_read_only_page_is_handed_off");
	wh_eq(G(&srv.vm, wh_log).last_error, 7, "server_kernel_saw_a_protection_fault");
}

static void test_rest(void)
{
	struct wh_host_stat before, st;
	struct wh_result r;

	r = wh_call(client.vcpu, &client.as, 3, guest_state_across_call, H_SYSCALL, 0, 0, 0);
	wh_eq(r.rax, 0x1f, "client_bases_and_modes_survive_a_handoff");
	wh_stat(srv.vm.id, &before);
	r = wh_call(client.vcpu, &client.as, 3, guest_many_syscalls, 1000, 0, 0, 0);
	wh_eq(r.rax, 500500, "1000_system_calls_return_right");
	wh_eq(wh_handoffs(srv.vm.id, &before, WH_HANDOFF_SYSCALL), 1000,
	      "server_counts_the_same_handoffs");
	wh_stat(client.vm.id, &st);
	wh_ok(st.exits[EXIT_REASON_EPT_VIOLATION] >= 1000, "stat_counts_their_exits");
	wh_ok(wh_poll(!wh_stat(srv.vm.id, &st) && st.parked == 1, 1000),
	      "server_vcpu_is_parked_again");
	wh_ok(worker.vcpu->running, "server_vcpu_never_returned_to_its_vmm");
}

int main(void)
{
	wh_require_feature();
	wh_plan(34);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_map(&worker.as, LAZY(0) - WH_PAGE, wh_page_alloc(&srv.vm), WH_USER_RW);
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	wh_eq(wh_delegate(&client, H_BASES, 0, 0).rax, 1, "first_handoff_works");
	test_reasons();
	test_accessed_dirty();
	test_rest();
	return wh_exit();
}
