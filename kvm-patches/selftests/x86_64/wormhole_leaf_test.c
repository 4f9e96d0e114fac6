// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hypercall leaves: who may call which, in which order, and what each answers
 * to a bad argument. Each negative request differs from a valid one in one
 * thing. ATTACH and its relatives are in wormhole_attach_test.c.
 */
#include <string.h>
#include "wormhole.h"

static struct wh_server srv;
static struct wh_worker worker, second;
static struct wh_client client;

static const u32 server_leaves[] = {
	WH_LEAF_SERVER_REGISTER, WH_LEAF_WORKER_REGISTER, WH_LEAF_SLOT_REGISTER,
	WH_LEAF_NOTIFY, WH_LEAF_RELEASE, WH_LEAF_NEXT,
};

static const u32 client_leaves[] = {
	WH_LEAF_ATTACH, WH_LEAF_DETACH, WH_LEAF_CONTINUE, WH_LEAF_CANCEL,
};

static s64 srv0(u32 leaf, u64 a0, u64 a1, u64 a2, u64 a3)
{
	return wh_leaf(srv.boss, &srv.kernel, 0, leaf, a0, a1, a2, a3).rax;
}

static s64 worker0(struct wh_worker *w, u32 leaf, u64 a0, u64 a1, u64 a2)
{
	return wh_leaf(w->vcpu, &w->as, 0, leaf, a0, a1, a2, 0).rax;
}

static void test_signature(void)
{
	struct wh_result r;
	int cpl;

	for (cpl = 0; cpl <= 3; cpl += 3) {
		r = wh_leaf(client.vcpu, &client.as, cpl, WH_LEAF_SIGNATURE, 0, 0, 0, 0);
		wh_ok(r.rax == WH_LEAF_MAX && r.rbx == WH_SIG_EBX &&
		      r.rcx == WH_SIG_ECX && r.rdx == WH_SIG_EDX,
		      cpl ? "signature_at_cpl3" : "signature_at_cpl0");
	}
	r = wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_VERSION, 0, 0, 0, 0);
	wh_ok(!r.rax && r.rbx == WH_ABI_VERSION && r.rcx == WH_ROLE_CLIENT && r.rdx,
	      "version_role_and_slots_of_client");
	r = wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_VERSION, 0, 0, 0, 0);
	wh_ok(!r.rax && r.rbx == WH_ABI_VERSION && r.rcx == WH_ROLE_SERVER && r.rdx,
	      "version_role_and_slots_of_server");
	wh_eq(srv0(WH_LEAF_BASE + 5, 0, 0, 0, 0), WH_ENOSYS, "unknown_leaf_is_enosys");
	wh_eq(srv0(WH_LEAF_BASE + 0xffff, 0, 0, 0, 0), WH_ENOSYS, "last_leaf_of_range_is_enosys");
}

/* All of @leaves answer EPERM. */
static void all_refused(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			const u32 *leaves, int n, const char *name)
{
	s64 ret, bad = WH_EPERM;
	int i;

	for (i = 0; i < n; i++) {
		ret = wh_leaf(vcpu, as, cpl, leaves[i], WH_ABI_VERSION, 0, 0, 0).rax;
		if (ret != WH_EPERM) {
			wh_diag("leaf 0x%x", leaves[i]);
			bad = ret;
		}
	}
	wh_eq(bad, WH_EPERM, name);
}

static void test_permissions(void)
{
	u32 take = WH_LEAF_TAKE, syscall = WH_LEAF_SYSCALL;
	struct kvm_regs regs;
	struct wh_result r;

	all_refused(srv.boss, &srv.kernel, 3, server_leaves, 6, "server_leaves_refuse_cpl3");
	all_refused(client.vcpu, &client.as, 0, server_leaves, 6,
		    "server_leaves_refuse_client_kernel");
	all_refused(client.vcpu, &client.as, 3, server_leaves, 6,
		    "server_leaves_refuse_client_user");
	all_refused(client.vcpu, &client.as, 0, client_leaves, 4, "client_leaves_refuse_cpl0");
	all_refused(srv.boss, &srv.kernel, 3, client_leaves, 4, "client_leaves_refuse_server");
	all_refused(client.vcpu, &client.as, 3, &take, 1, "take_refuses_client");
	all_refused(srv.boss, &srv.kernel, 0, &take, 1, "take_refuses_cpl0");
	all_refused(client.vcpu, &client.as, 3, &syscall, 1, "syscall_refuses_client");
	all_refused(srv.boss, &srv.kernel, 0, &syscall, 1, "syscall_refuses_cpl0");
	r = wh_leaf(srv.boss, &srv.kernel, 3, WH_LEAF_SYSCALL, 1, 2, 3, 4);
	wh_vcpu_regs(srv.boss, &regs);
	wh_ok(r.end == WH_END_DONE && r.rax == WH_LEAF_SYSCALL && !r.rbx && !r.rcx &&
	      r.rdx == 3 && regs.rdi == 1 && regs.rsi == 2 && regs.r8 == 4,
	      "syscall_changes_nothing_in_the_server");
	client.vcpu->compat = true;
	all_refused(client.vcpu, &client.as, 3, client_leaves, 4,
		    "client_leaves_refuse_32_bit_code");
	client.vcpu->compat = false;
}

static void test_refusal_changes_nothing(void)
{
	struct kvm_regs regs;
	struct wh_result r;

	r = wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_RELEASE, 77, 0x51, 0x52, 0x58);
	wh_vcpu_regs(srv.boss, &regs);
	wh_ok((s64)r.rax == WH_ENOENT && regs.rdi == 77 && regs.rsi == 0x51 &&
	      regs.r8 == 0x58 && !regs.r9 && !regs.rbp && regs.rflags == 2,
	      "refused_leaf_keeps_other_registers");
}

static void test_server_register(void)
{
	struct wh_tramp_hdr *hdr = wh_gpa(&srv.vm, srv.tramp_gpa);
	const u32 leaf = WH_LEAF_SERVER_REGISTER;

	wh_eq(worker0(&worker, WH_LEAF_WORKER_REGISTER, 0, 0, WH_PART_SIZE),
	      WH_ENOENT, "worker_before_server_is_refused");
	wh_eq(srv0(leaf, WH_ABI_VERSION + 1, srv.tramp_gpa, 0, 0), WH_EVERSION,
	      "server_register_refuses_other_abi");
	wh_eq(srv0(leaf, WH_ABI_VERSION, srv.tramp_gpa + 8, 0, 0), WH_EINVAL,
	      "server_register_refuses_unaligned_page");
	wh_eq(srv0(leaf, WH_ABI_VERSION, WH_RAM_SIZE, 0, 0), WH_EFAULT,
	      "server_register_refuses_hole_in_memory");
	hdr->checksum ^= 1;
	wh_eq(srv0(leaf, WH_ABI_VERSION, srv.tramp_gpa, 0, 0), WH_EVERSION,
	      "server_register_refuses_wrong_checksum");
	hdr->checksum ^= 1;
	wh_eq(wh_server_register(&srv), WH_OK, "server_register_succeeds");
	wh_eq(wh_server_register(&srv), WH_OK, "so_does_that_of_the_next_kernel");
}

static void test_worker_register(void)
{
	const u32 leaf = WH_LEAF_WORKER_REGISTER;
	u64 *pte, saved;

	wh_eq(worker0(&worker, leaf, 0, 0, 0), WH_EINVAL, "worker_register_refuses_size_0");
	wh_eq(worker0(&worker, leaf, 0, 0, WH_PART_SIZE + 1), WH_EINVAL,
	      "worker_register_refuses_unaligned_size");
	wh_eq(worker0(&worker, leaf, 0, 0, WH_MAX_PART_SIZE + WH_PAGE), WH_EINVAL,
	      "worker_register_refuses_more_than_1g");
	wh_eq(wh_leaf(worker.vcpu, &worker.as, 0, leaf, 0, 0, WH_PART_SIZE,
		      worker.seq_gpa + 4).rax, WH_EINVAL,
	      "worker_register_refuses_unaligned_sequence_word");
	wh_eq(wh_leaf(worker.vcpu, &worker.as, 0, leaf, 0, 0, WH_PART_SIZE,
		      WH_RAM_SIZE).rax, WH_EFAULT,
	      "worker_register_refuses_sequence_word_in_a_hole");
	pte = wh_pte(&worker.as, WH_WINDOW_VA);
	saved = *pte;
	*pte = 0;
	wh_eq(wh_worker_register(&worker), WH_EFAULT, "worker_without_window_is_refused");
	*pte = saved;
	pte = wh_pte(&worker.as, WH_TRAMPOLINE_VA);
	saved = *pte;
	*pte = 0;
	if (!wh_eq(wh_worker_register(&worker), WH_EFAULT, "worker_without_trampoline_is_refused"))
		wh_release(&worker);
	*pte = saved;
	wh_eq(wh_worker_register(&worker), WH_OK, "worker_register_succeeds");
	wh_eq(worker0(&second, leaf, 0, 0, WH_PART_SIZE), WH_EEXIST,
	      "second_worker_for_same_part_is_refused");
	wh_eq(wh_worker_register(&second), WH_OK, "worker_of_other_part_registers");
	wh_ok(worker.pair != second.pair, "pair_handles_differ");
}

static void test_slot_register(void)
{
	const u32 leaf = WH_LEAF_SLOT_REGISTER;

	wh_eq(wh_leaf(worker.vcpu, &worker.as, 3, WH_LEAF_TAKE, 0, 0, 0, 0).rax,
	      WH_ENOENT, "take_without_slot_is_refused");
	wh_eq(wh_leaf(srv.boss, &srv.kernel, 3, WH_LEAF_TAKE, 0, 0, 0, 0).rax,
	      WH_ENOENT, "take_outside_of_a_worker_is_refused");
	wh_eq(worker0(&worker, leaf, worker.pair + 100, 0, 0), WH_ENOENT,
	      "slot_of_unknown_pair_is_refused");
	wh_eq(worker0(&worker, leaf, worker.pair, WH_MAX_SLOTS, 0), WH_EINVAL,
	      "slot_number_out_of_range_is_refused");
	wh_eq(wh_worker_slot(&worker), WH_OK, "slot_register_succeeds");
	wh_eq(wh_worker_slot(&worker), WH_EEXIST, "second_slot_register_is_refused");
	wh_eq(worker0(&worker, leaf, second.pair, 0, 0), WH_OK,
	      "one_vcpu_registers_slots_of_two_pairs");
	wh_eq(wh_leaf(worker.vcpu, &worker.as, 3, WH_LEAF_TAKE, WH_MAX_SLOTS, 0, 0, 0).rax,
	      WH_EINVAL, "take_of_slot_out_of_range_is_refused");
	wh_eq(wh_leaf(worker.vcpu, &worker.as, 3, WH_LEAF_TAKE, 0, 0, 0, 0).rax, WH_OK,
	      "take_without_a_call_returns");
	wh_eq(srv0(WH_LEAF_NEXT, 0, 0, 0, 0), WH_ENOENT, "next_without_news_says_so");
}

static void test_notify(void)
{
	const u32 leaf = WH_LEAF_NOTIFY;
	u64 pair = worker.pair, from = WH_LAZY_VA, to = WH_LAZY_VA + WH_PAGE;

	wh_eq(srv0(leaf, pair + 100, from, to, WH_NOTIFY_BEGIN), WH_ENOENT,
	      "notify_of_unknown_pair_is_refused");
	wh_eq(srv0(leaf, pair, from, to, 2), WH_EINVAL, "notify_phase_2_is_refused");
	wh_eq(srv0(leaf, pair, to, from, WH_NOTIFY_BEGIN), WH_EINVAL,
	      "notify_of_negative_range_is_refused");
	wh_eq(wh_notify(&worker, from, to, WH_NOTIFY_END), WH_EINVAL,
	      "notify_end_without_begin_is_refused");
	wh_eq(wh_notify(&worker, from, to, WH_NOTIFY_BEGIN), WH_OK, "notify_begin_succeeds");
	wh_eq(wh_notify(&worker, from, to, WH_NOTIFY_BEGIN), WH_OK, "notify_begins_may_nest");
	wh_eq(wh_notify(&worker, from, to, WH_NOTIFY_END), WH_OK, "notify_end_succeeds");
	wh_eq(wh_notify(&worker, 0, ~0ULL, WH_NOTIFY_END), WH_OK, "second_notify_end_succeeds");
	wh_eq(srv0(leaf, pair, 0, ~0ULL, WH_NOTIFY_BEGIN), WH_OK,
	      "notify_takes_the_whole_address_space");
	wh_notify(&worker, 0, ~0ULL, WH_NOTIFY_END);
}

static void test_release(void)
{
	struct wh_host_stat st;

	wh_stat(srv.vm.id, &st);
	wh_eq(st.pairs, 2, "stat_counts_registered_workers");
	wh_eq(wh_release(&worker), WH_OK, "release_succeeds");
	wh_eq(wh_release(&worker), WH_ENOENT, "second_release_is_refused");
	wh_eq(wh_notify(&worker, 0, WH_PAGE, WH_NOTIFY_BEGIN), WH_ENOENT,
	      "notify_after_release_is_refused");
	wh_stat(srv.vm.id, &st);
	wh_eq(st.pairs, 1, "stat_forgets_released_worker");
	wh_eq(wh_worker_register(&worker), WH_OK, "released_part_can_be_registered_again");
	wh_eq(wh_worker_slot(&worker), WH_OK, "released_slot_can_be_registered_again");
}

/* By kexec another kernel runs, without a reset and without a word of the last one. */
static void test_next_kernel(void)
{
	struct wh_tramp_hdr *hdr = wh_gpa(&srv.vm, srv.tramp_gpa);

	wh_release(&worker);
	wh_eq(wh_worker_register(&worker), WH_OK, "worker_registers_once_more");
	hdr->checksum ^= 1;
	wh_eq(wh_server_register(&srv), WH_EVERSION, "wrong_page_is_refused_again");
	wh_eq(wh_worker_slot(&worker), WH_OK, "and_ends_no_pair");
	hdr->checksum ^= 1;
	wh_eq(wh_server_register(&srv), WH_OK, "next_kernel_registers");
	wh_eq(wh_worker_slot(&worker), WH_ENOENT, "and_finds_no_pair_of_the_last_one");
	wh_eq(wh_worker_register(&worker), WH_OK, "but_makes_its_own");
}

int main(void)
{
	wh_require_feature();
	wh_plan(68);
	wh_watchdog(30);
	wh_server_create(&srv, 1);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_create(&second, &srv, 1);
	wh_client_create(&client, 2, &srv, 0);
	test_signature();
	test_permissions();
	test_refusal_changes_nothing();
	test_server_register();
	test_worker_register();
	test_slot_register();
	test_notify();
	test_release();
	test_next_kernel();
	return wh_exit();
}
