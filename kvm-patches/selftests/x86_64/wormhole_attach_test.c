// SPDX-License-Identifier: GPL-2.0-only
/*
 * ATTACH, DETACH, CONTINUE, CANCEL: who gets which worker. The host's ALLOW
 * decides, the window part that the process has mapped selects the pair, and
 * one process has it at a time.
 */
#include <string.h>
#include "wormhole.h"

static s64 null_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0x11;
}

static const wh_handler_fn handlers[] = { null_handler };
static struct wh_server srv;
static struct wh_worker worker, second, third;
static struct wh_client client, other;
static struct wh_as process2, process3;

static s64 attach(struct wh_client *c, struct wh_as *as, u64 version, u64 sum)
{
	struct wh_result r = wh_leaf(c->vcpu, as, 3, WH_LEAF_ATTACH, version, sum, 0, 0);

	if (!r.rax)
		c->index = r.rbx;
	return r.rax;
}

static s64 leaf3(struct wh_as *as, u32 leaf, u64 a0, u64 a1)
{
	return wh_leaf(client.vcpu, as, 3, leaf, a0, a1, 0, 0).rax;
}

static void test_permission(void)
{
	u64 sum = wh_tramp_checksum();

	wh_deny(2);
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_EPERM,
	      "attach_without_allow_is_refused");
	wh_allow(2, 99, 0, 2);
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_ENOENT,
	      "attach_to_absent_server_is_refused");
	wh_allow(2, 1, 5, 2);
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_EPERM,
	      "attach_to_window_not_allowed_is_refused");
	wh_allow(2, 1, 0, 2);
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION + 1, sum), WH_EVERSION,
	      "attach_with_other_abi_is_refused");
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum + 1), WH_EVERSION,
	      "attach_with_other_trampoline_is_refused");
}

static void test_window(void)
{
	u64 *pte = wh_pte(&client.as, WH_WINDOW_VA), saved = *pte;
	u64 sum = wh_tramp_checksum();

	*pte = 0;
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_EFAULT,
	      "attach_without_window_is_refused");
	*pte = wh_page_alloc(&client.vm) | WH_USER_RW;
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_ENOENT,
	      "attach_with_other_memory_is_refused");
	*pte = saved + WH_PAGE;
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_ENOENT,
	      "attach_in_the_middle_of_a_part_is_refused");
	*pte = (WH_WINDOW_GPA + 2 * WH_PART_SIZE) | WH_USER_RW;
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_ENOENT,
	      "attach_to_part_of_worker_that_never_parked_is_refused");
	*pte = (WH_WINDOW_GPA + 3 * WH_PART_SIZE) | WH_USER_RW;
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_ENOENT,
	      "attach_to_part_without_worker_is_refused");
	*pte = saved;
}

static void test_attach(void)
{
	u64 sum = wh_tramp_checksum();
	struct wh_host_stat st;

	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	wh_ok(client.index >= 1 && client.index < 512, "index_is_in_the_list");
	wh_eq(wh_delegate(&client, 0, 0, 0).rax, 0x11, "call_works");
	wh_eq(attach(&client, &client.as, WH_ABI_VERSION, sum), WH_EBUSY,
	      "second_attach_of_process_is_refused");
	wh_eq(attach(&client, &process2, WH_ABI_VERSION, sum), WH_EBUSY,
	      "attach_of_other_process_to_same_part_is_refused");
	wh_allow(3, 1, 0, 1);
	wh_eq(attach(&other, &other.as, WH_ABI_VERSION, sum), WH_EBUSY,
	      "attach_of_other_vm_to_same_part_is_refused");
	wh_allow(2, 1, 0, 1);
	wh_eq(attach(&client, &process3, WH_ABI_VERSION, sum), WH_ENOMEM,
	      "attach_over_quota_is_refused");
	wh_stat(2, &st);
	wh_ok(st.pairs == 1 && st.attaches == 1 && !st.detaches, "stat_counts_one_attach");
	wh_ok(st.refusals >= 13, "stat_counts_refusals");
}

static void test_other_leaves(void)
{
	u64 i = client.index;

	wh_eq(leaf3(&client.as, WH_LEAF_DETACH, 0, 0), WH_EINVAL, "detach_of_entry_0_is_refused");
	wh_eq(leaf3(&client.as, WH_LEAF_DETACH, 512, 0), WH_EINVAL,
	      "detach_of_entry_512_is_refused");
	wh_eq(leaf3(&client.as, WH_LEAF_DETACH, i + 1, 0), WH_EGONE,
	      "detach_of_empty_entry_is_refused");
	wh_eq(leaf3(&process2, WH_LEAF_DETACH, i, 0), WH_EPERM,
	      "detach_by_other_process_is_refused");
	wh_eq(leaf3(&process2, WH_LEAF_CONTINUE, i, 0), WH_EPERM,
	      "continue_by_other_process_is_refused");
	wh_ok(leaf3(&client.as, WH_LEAF_CONTINUE, i, 0) < 0,
	      "continue_without_suspended_call_is_refused");
	wh_ok(leaf3(&client.as, WH_LEAF_CANCEL, i, 0) < 0,
	      "cancel_without_suspended_call_is_refused");
	wh_eq(leaf3(&client.as, WH_LEAF_CONTINUE, i + 1, 0), WH_EGONE,
	      "continue_of_slot_out_of_range_is_refused");
	wh_eq(leaf3(&client.as, WH_LEAF_CANCEL, ~0ULL, 0), WH_EINVAL,
	      "cancel_of_entry_out_of_range_is_refused");
	wh_eq(wh_delegate(&client, 0, 0, 0).rax, 0x11, "call_works_after_refused_leaves");
}

static void test_detach(void)
{
	struct wh_host_stat st;

	wh_eq(wh_detach(&client), WH_OK, "detach_succeeds");
	wh_eq(wh_detach(&client), WH_EGONE, "second_detach_is_refused");
	wh_ok((s64)wh_delegate(&client, 0, 0, 0).rax < 0, "call_after_detach_is_refused");
	wh_ok(wh_join(worker.vcpu, 5), "detached_worker_leaves_park");
	wh_eq(worker.vcpu->res.rax, WH_EGONE, "park_returns_egone");
	wh_stat(2, &st);
	wh_ok(!st.pairs && st.detaches == 1, "stat_counts_one_detach");
	wh_allow(2, 1, 0, 1);
	wh_eq(attach(&client, &process3, WH_ABI_VERSION, wh_tramp_checksum()), WH_OK,
	      "quota_is_free_after_detach");
}

int main(void)
{
	wh_require_feature();
	wh_plan(37);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_client_create(&client, 2, &srv, 0);
	wh_client_create(&other, 3, &srv, 0);
	wh_client_as(&process2, &client, 0);
	wh_client_as(&process3, &client, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, 1);
	wh_worker_start(&second, &srv, 1, handlers, 1);
	wh_worker_create(&third, &srv, 2);
	wh_worker_register(&third);
	wh_worker_slot(&third);
	test_permission();
	test_window();
	test_attach();
	test_other_leaves();
	test_detach();
	return wh_exit();
}
