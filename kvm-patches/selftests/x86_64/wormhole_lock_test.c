// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest memory may be waited for as long as a VMM likes, so under no lock that a
 * handoff takes. A fill of one worker's view is held in the middle; meanwhile its
 * client attaches, or calls, or is ended, and another tenant's calls are handed off
 * in time. The kernel's own checks end in its log. Needs VMFUNC, and a kernel with
 * CONFIG_KVM_WORMHOLE_TEST.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "wormhole.h"

#define DRIVER_VA	0x7e0000000000ULL
/* What waits for nobody takes less; a fill is held for five seconds. */
#define MS		500

static s64 cpuid_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u32 eax = 0, ecx = 0;

	asm volatile("cpuid" : "+a"(eax), "+c"(ecx) :: "ebx", "edx", "memory");
	return a0 + a1;
}

enum { H_ADD, H_LOAD, H_CPUID };
static const wh_handler_fn handlers[] = { wh_sys_add_handler, wh_load_handler, cpuid_handler };
static struct wh_server srv;
static struct wh_worker wa, wb;
static struct wh_client a, b;
static struct wh_vcpu *second, *thread;	/* of a, and of its worker */

static bool ends_in_time(struct wh_client *c, struct wh_vcpu *vcpu, u64 slot, u64 handler)
{
	wh_delegate_start(c, vcpu, slot, handler, 5, 6);
	return wh_poll(!READ_ONCE(vcpu->running), MS * wh_patience()) && wh_join(vcpu, 1) &&
	       vcpu->res.rax == 11;
}

static bool handoff_in_time(void)
{
	return ends_in_time(&b, b.vcpu, 0, H_ADD);
}

static void start_attach(void)
{
	wh_leaf_start(a.vcpu, &a.as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION, wh_tramp_checksum(), 0, 0);
}

static u64 pairs(void)
{
	struct wh_host_stat st = {};

	wh_stat(a.vm.id, &st);
	return st.pairs;
}

/* How many have a pair of the server's. */
static u64 attached(void)
{
	struct wh_host_stat st = {};

	wh_stat(srv.vm.id, &st);
	return st.attaches - st.detaches;
}

/* Also STAT takes the lock of a VM. */
static bool taken_in_time(void)
{
	struct timespec from, to;
	bool taken;

	clock_gettime(CLOCK_MONOTONIC, &from);
	taken = wh_poll(pairs() == 1, MS * wh_patience());
	clock_gettime(CLOCK_MONOTONIC, &to);
	return taken && (to.tv_sec - from.tv_sec) * 1000 +
			(to.tv_nsec - from.tv_nsec) / 1000000 < 4 * MS;
}

/* A driver's mapping comes into the first worker's view, and takes its time. */
static void test_attach(void)
{
	u64 i;

	wh_map(&wa.as, DRIVER_VA, wh_page_alloc(&srv.vm), WH_USER_RW);
	wh_point("install", "hold", 1);
	wh_leaf_start(srv.boss, &srv.kernel, 0, WH_LEAF_DEVICE, wa.pair, DRIVER_VA,
		      DRIVER_VA + WH_PAGE, 0);
	wh_ok(wh_point_waits("install") && handoff_in_time(),
	      "nor_while_a_fault_of_the_first_worker_is_slow");
	start_attach();
	/* It has taken the pair, and waits. */
	wh_ok(taken_in_time() && a.vcpu->running && handoff_in_time(),
	      "nor_while_a_client_attaches_to_that_worker");
	wh_eq(attached(), 2, "which_counts_as_attached_already");
	wh_ok(wh_leaf(second, &a.as, 3, WH_LEAF_CONTINUE, 1, 0, 0, 0).rax == (u64)WH_EGONE,
	      "who_has_not_attached_yet_cannot_use_the_pair");
	wh_point("install", "go", 0);
	wh_ok(wh_join(srv.boss, 2) && wh_join(a.vcpu, 2) && a.vcpu->res.rax == WH_OK,
	      "all_comes_to_its_end");
	a.index = a.vcpu->res.rbx;
	for (i = 0; i < a.vcpu->res.rcx; i++) {
		wh_client_slot(&a, i)->index = a.index + i;
		wh_client_slot(&a, i)->slot = i;
	}
	/* The second slot's pages come into the view by its first call. */
	wh_ok(ends_in_time(&a, a.vcpu, 0, H_ADD) && ends_in_time(&a, second, 1, H_ADD),
	      "and_the_client_calls");
}

/* Milliseconds. */
static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool client_ends_in_time(void)
{
	u64 from = now();

	wh_kill(a.vm.id);
	return now() - from < (u64)MS * wh_patience();
}

/* A fill for one slot of the client's, and what its other slot does. */
static void test_other_slot(void)
{
	bool held;

	wh_notify(&wa, DRIVER_VA, DRIVER_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	wh_notify(&wa, DRIVER_VA, DRIVER_VA + WH_PAGE, WH_NOTIFY_END);
	wh_point("install", "hold", 1);
	wh_delegate_start(&a, a.vcpu, 0, H_LOAD, DRIVER_VA, 0);
	held = wh_point_waits("install");
	wh_ok(held && ends_in_time(&a, second, 1, H_ADD),
	      "call_of_another_slot_is_handed_off_during_a_slow_fill");
	wh_ok(held && ends_in_time(&a, second, 1, H_CPUID), "and_one_that_asks_for_cpuid_goes_on");
	wh_ok(held && client_ends_in_time(), "end_of_a_pair_does_not_wait_for_its_fill");
	wh_ok(held && wh_stat(a.vm.id, &(struct wh_host_stat){}) == 0 && handoff_in_time(),
	      "nor_does_it_hold_others_up");
	wh_point("install", "go", 0);
	wh_ok(wh_join(a.vcpu, 2) && a.vcpu->res.rax == (u64)WH_EGONE && handoff_in_time(),
	      "it_ends_and_the_other_tenant_is_well");
}

static void test_endless(void)
{
	wh_join(thread, 1);
	wh_worker_again(&wa);
	wh_ok(!wh_attach(&a), "client_attaches_to_the_next_worker");
	wh_endless_tables(&wa, true);
	wh_walk_endless(&wa);
	/* It is at work, and will be. */
	wh_ok(!wh_poll(!READ_ONCE(srv.boss->running), MS) && client_ends_in_time(),
	      "end_of_a_client_does_not_wait_for_tables_that_never_end");
	wh_ok(wh_join(srv.boss, 5) && handoff_in_time(), "after_it_nobody_looks_at_them");
	wh_endless_tables(&wa, false);
}

/* A client has taken a pair, and was not recorded. */
static void test_taken(void)
{
	bool held;

	wh_join(thread, 1);
	wh_worker_again(&wa);
	wh_point("reserve", "hold", 1);
	start_attach();
	held = wh_point_waits("reserve");
	wh_ok(held && wh_leaf(second, &a.as, 3, WH_LEAF_DETACH, 1, 0, 0, 0).rax == (u64)WH_EGONE,
	      "who_has_just_taken_a_pair_cannot_end_it");
	wh_kill(a.vm.id);
	wh_point("reserve", "go", 0);
	wh_ok(held && wh_join(a.vcpu, 2) && a.vcpu->res.rax == (u64)WH_ENOENT && !pairs(),
	      "pair_that_dies_then_is_not_attached");
	wh_eq(attached(), 1, "and_does_not_count_any_more");
	wh_worker_again(&wa);
	wh_ok(!wh_attach(&a) && ends_in_time(&a, a.vcpu, 0, H_ADD), "and_the_next_one_is");
}

int main(void)
{
	wh_require_feature();
	if (!wh_points_there())
		wh_skip_all("needs CONFIG_KVM_WORMHOLE_TEST");
	wh_plan(20);
	wh_watchdog(60);
	wh_nslots = 2;
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&wa, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	thread = wh_worker_thread(&wa, 1);
	wh_worker_start(&wb, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&a, 2, &srv, 0);
	second = wh_thread_create(&a.as);
	wh_client_create(&b, 3, &srv, 1);
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	wh_eq(wh_attach(&b), WH_OK, "other_tenant_attaches");
	wh_ok(handoff_in_time(), "its_handoff_takes_no_time");
	test_attach();
	test_other_slot();
	test_endless();
	test_taken();
	return wh_exit();
}
