// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hijacked worker: whatever code runs in a view, it is the worker in user
 * mode and no more. What the server's kernel would kill it for happens on the
 * server's vCPU; the call fails with EGONE, and the other client goes on.
 */
#include "wormhole.h"

#define NONCANONICAL	0x8000000000000000ULL
#define KERNEL_PAGE_VA	0x22000000ULL	/* among the worker's, but supervisor */

static s64 jump_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 ret;

	asm volatile("jmp *%%rax" : "=a"(ret) : "0"(a0) : "memory");
	return ret;
}

static s64 load_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 ret;

	/* Two bytes, which is what the server's kernel skips after #GP. */
	asm volatile(".byte 0x8b, 0x00" : "=a"(ret) : "0"(a0) : "memory");
	return (u32)ret;
}

enum insn {
	INT_80, INT_8, INT_2, INT_18, HLT, VMCALL, VMFUNC, RDPMC, PAUSES,
};

/* One instruction that user code may try, with RCX = @a0; returns RAX. */
static s64 insn_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 rax = 0;

	switch (a1) {
	case INT_80:
		asm volatile("int $0x80" : "+a"(rax));
		break;
	case INT_8:
		asm volatile("int $8" : "+a"(rax));
		break;
	case INT_2:
		asm volatile("int $2" : "+a"(rax));
		break;
	case INT_18:
		asm volatile("int $18" : "+a"(rax));
		break;
	case HLT:
		asm volatile("hlt; nop" : "+a"(rax));
		break;
	case VMCALL:
		asm volatile("vmcall" : "+a"(rax) : "b"(0), "c"(0), "d"(0) : "memory");
		break;
	case VMFUNC:
		rax = wh_vmfunc(a0);
		break;
	case RDPMC:
		asm volatile("rdpmc" : "+a"(rax) : "c"(a0) : "rdx");
		break;
	case PAUSES:
		for (rax = 0; rax < 100; rax++)
			asm volatile("pause");
		break;
	}
	return rax;
}

/* Flags that must not survive into the server; then meet its kernel. */
static s64 flags_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	asm volatile("push %0; popfq; int3; pushfq; pop %0" : "+r"(a0) :: "memory", "cc");
	return a0;
}

/* Alignment checks on, and a misaligned load. */
static s64 ac_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 word[2] = { 0x1122334455667788ULL, 0x99 };
	u64 ret;

	asm volatile("pushfq; orq $0x40000, (%%rsp); popfq\n"
		     "mov 1(%1), %0\n"
		     "pushfq; andq $~0x40000, (%%rsp); popfq"
		     : "=r"(ret) : "r"(word) : "memory", "cc");
	return ret == 0x9911223344556677ULL;
}

static s64 cpuid_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 rax;
	u64 rbx, rcx, rdx;

	asm volatile("cpuid" : "=a"(rax), "=b"(rbx), "=c"(rcx), "=d"(rdx)
		     : "0"(a0), "2"(0), "D"(WH_ABI_VERSION), "S"(0));
	return rbx | rcx | rdx ? 1 : rax;
}

/* Ask for calls in the middle of one that was handed off. */
static s64 take_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	asm volatile("int3" ::: "memory");
	return cpuid_handler(session, slot, WH_LEAF_TAKE, 0);
}

enum {
	H_NULL, H_JUMP, H_LOAD, H_INSN, H_FLAGS, H_AC, H_CPUID, H_TAKE,
};

static const wh_handler_fn handlers[] = {
	wh_null_handler, jump_handler, load_handler, insn_handler, flags_handler,
	ac_handler, cpuid_handler, take_handler,
};

static struct wh_server srv;
static struct wh_worker worker, worker_b;
static struct wh_client a, b;

static bool other_is_well(void)
{
	return wh_delegate(&b, H_NULL, 2, 0).rax == 0x600f;
}

/* Instructions that are answered, as the server answers them, and go on. */
static void survives(u64 handler, u64 a0, u64 a1, s64 want, const char *name)
{
	struct wh_result r = wh_delegate(&a, handler, a0, a1);

	if (!wh_ok(r.end == WH_END_DONE && (s64)r.rax == want &&
		   worker.vcpu->running && other_is_well(), name))
		wh_diag("end %d rax 0x%llx rip 0x%llx vector %llu, worker %s", r.end,
			(unsigned long long)r.rax, (unsigned long long)r.rip,
			(unsigned long long)r.vector,
			worker.vcpu->running ? "there" : "gone");
}

/* After the worker is lost: release it, as its kernel does, and take a new one. */
static bool renew(void)
{
	bool egone;

	wh_release(&worker);
	egone = wh_join(a.vcpu, 1) && (s64)a.vcpu->res.rax == WH_EGONE;
	if (!egone)
		wh_diag("call: end %d rax 0x%llx", a.vcpu->res.end,
			(unsigned long long)a.vcpu->res.rax);
	if (a.vcpu->started)
		wh_vcpu_stop(a.vcpu);
	if (worker.vcpu->started && !wh_join(worker.vcpu, 1))
		wh_vcpu_stop(worker.vcpu);
	wh_worker_again(&worker);
	return !wh_attach(&a) && wh_delegate(&a, H_NULL, 1, 0).rax == 0x600e && egone;
}

/* What the server's kernel kills the worker for: @vector there, at @rip. */
static void kills_worker(u64 handler, u64 a0, u64 a1, u64 vector, u64 cr2, const char *name)
{
	struct wh_result *w = &worker.vcpu->res;
	bool right;

	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, handler, a0, a1, 0);
	right = wh_join(worker.vcpu, 1) && w->end == WH_END_TRAP &&
		w->vector == vector && (vector != 14 || w->cr2 == cr2);
	right = other_is_well() && right;
	if (!wh_ok(renew() && right, name))
		wh_diag("worker: end %d exit %u vector %llu rip 0x%llx cr2 0x%llx",
			w->end, w->exit_reason, (unsigned long long)w->vector,
			(unsigned long long)w->rip, (unsigned long long)w->cr2);
}

static void test_worker_attacks(void)
{
	struct wh_guest_log *log = &G(&srv.vm, wh_log);
	s64 leaf, bad = 0;

	survives(WH_ARRAY_SIZE(handlers), 0, 0, WH_ENOSYS, "handler_out_of_range_is_refused");
	survives(~0ULL, 0, 0, WH_ENOSYS, "handler_minus_1_is_refused");
	survives(H_INSN, 0, INT_80, WH_AFTER_GP, "int_80_meets_the_server_idt");
	survives(H_INSN, 0, INT_8, WH_AFTER_GP, "int_8_is_no_double_fault");
	survives(H_INSN, 0, INT_18, WH_AFTER_GP, "int_18_is_no_machine_check");
	survives(H_INSN, 0, INT_2, WH_AFTER_GP, "int_2_is_no_nmi");
	survives(H_INSN, 0, HLT, WH_AFTER_GP, "hlt_is_refused_by_the_server");
	survives(H_INSN, 0, RDPMC, WH_AFTER_GP, "rdpmc_is_refused_by_the_server");
	survives(H_INSN, 0, VMCALL, -1, "vmcall_is_refused_by_kvm");
	survives(H_INSN, a.index, VMFUNC, 0, "vmfunc_to_the_same_view_changes_nothing");
	survives(H_INSN, 0, PAUSES, 100, "pause_goes_on");
	survives(H_JUMP, NONCANONICAL, 0, WH_AFTER_GP, "jump_to_noncanonical_address_is_refused");
	survives(H_LOAD, NONCANONICAL, 0, WH_AFTER_GP, "load_of_noncanonical_address_is_refused");
	survives(H_AC, 0, 0, 1, "alignment_check_does_not_stop_the_call");
	survives(H_JUMP, WH_KVA, 0, WH_EFATAL, "jump_to_kernel_half_fails_the_call");
	/* TF, NT, AC, ID, CF: the carry may stay. */
	log->bps = 0;
	survives(H_FLAGS, 0x244303, 0, 0x203, "flags_do_not_survive_into_the_server");
	wh_ok(log->bps == 1 && !(log->last_rflags & 0x244100), "server_kernel_sees_harmless_flags");
	/* But SYSCALL and WAKE, which are for the view: see wormhole_gate_test, _companion_test. */
	for (leaf = WH_LEAF_SIGNATURE; leaf <= WH_LEAF_MAX + 1; leaf++)
		if (leaf != WH_LEAF_SYSCALL && leaf != WH_LEAF_WAKE &&
		    (s64)wh_delegate(&a, H_CPUID, leaf, 0).rax != WH_EINVIEW)
			bad++;
	wh_eq(bad, 0, "every_leaf_is_refused_in_the_view");

	kills_worker(H_JUMP, WH_DATA_VA, 0, 14, WH_DATA_VA, "jump_to_data_kills_the_worker");
	kills_worker(H_JUMP, 0x10, 0, 14, 0x10, "jump_to_unmapped_page_kills_the_worker");
	kills_worker(H_LOAD, WH_KVA, 0, 14, WH_KVA, "load_of_kernel_half_kills_the_worker");
	kills_worker(H_LOAD, KERNEL_PAGE_VA, 0, 14, KERNEL_PAGE_VA,
		     "load_of_supervisor_page_kills_the_worker");
	kills_worker(H_LOAD, WH_STACK_VA - 16 * WH_PAGE, 0, 14, WH_STACK_VA - 16 * WH_PAGE,
		     "load_of_client_stack_kills_the_worker");
	kills_worker(H_INSN, a.index + 1, VMFUNC, 6, 0, "vmfunc_to_another_entry_kills_the_worker");
	kills_worker(H_INSN, 512, VMFUNC, 6, 0, "vmfunc_to_entry_512_kills_the_worker");
}

/* TAKE in mid-call: the slot is never completed, the server stays sound. */
static void test_take_in_call(void)
{
	wh_start(a.vcpu, &a.as, 3, wh_guest_delegate, H_TAKE, 0, 0, 0);
	wh_poll(!a.vcpu->running || !worker.vcpu->running, 30);
	wh_ok(other_is_well() && (!a.vcpu->running || renew()), "take_in_a_call_hurts_only_itself");
}

/* In the server, another thread of the worker: VMFUNC brings a call back, and there is none. */
static void test_vmfunc_without_a_call(void)
{
	struct wh_result r = wh_call(srv.boss, &worker.as, 3, wh_vmfunc, 0, 0, 0, 0);

	wh_ok(r.end == WH_END_TRAP && r.vector == 6,
	      "vmfunc_without_a_call_is_invalid_in_the_server");
	r = wh_call(srv.boss, &worker.as, 3, wh_vmfunc, 0, WH_MAX_SLOTS, 0, 0);
	wh_ok(r.end == WH_END_TRAP && r.vector == 6, "as_is_one_for_a_slot_that_is_none");
	wh_ok(other_is_well(), "and_the_other_client_is_well");
}

int main(void)
{
	wh_require_feature();
	wh_plan(32);
	wh_watchdog(90);
	wh_one_cpu();
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_map(&worker.as, KERNEL_PAGE_VA, wh_page_alloc(&srv.vm), WH_USER_RW & ~WH_PTE_U);
	wh_worker_again(&worker);
	wh_worker_start(&worker_b, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&a, 2, &srv, 0);
	wh_client_create(&b, 3, &srv, 1);
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	wh_eq(wh_attach(&a), WH_OK, "hostile_client_attaches");
	wh_eq(wh_attach(&b), WH_OK, "good_client_attaches");
	test_worker_attacks();
	test_take_in_call();
	test_vmfunc_without_a_call();
	return wh_exit();
}
