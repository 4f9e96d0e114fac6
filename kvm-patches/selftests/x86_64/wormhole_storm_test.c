// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client that does nothing but storm: IPIs to its own vCPU in the view,
 * VMFUNC as fast as it can. It uses its own time: the next client's calls are
 * right, the server stays frozen, and the host can end it. Needs VMFUNC.
 */
#include <string.h>
#include "wormhole.h"

#define CALLS		200
#define STORM		300	/* interrupts that are one */
#define FOR_EVER	BIT_ULL(40)
#define X2APIC_SVR	0x80f
#define X2APIC_ICR	0x830

static const wh_handler_fn handlers[] = { wh_add_handler };
static struct wh_server srv;
static struct wh_worker workers[2];
static struct wh_client stormer, neighbour;
static struct wh_vcpu *second;		/* of the stormer */

/* Client, CPL 3: how many calls were right before the first that was not. */
static u64 guest_calls(u64 n)
{
	u64 i;

	for (i = 0; i < n; i++)
		if (wh_guest_delegate(0, i, 2) != (s64)(i + 2))
			break;
	return i;
}

/* CPL 0. */
static u64 guest_enable_apic(void)
{
	wh_wrmsr(X2APIC_SVR, 0x1ff);
	return 0;
}

static void guest_send_ipis(u64 to)
{
	guest_enable_apic();
	for (;;)
		wh_wrmsr(X2APIC_ICR, to << 32 | WH_TLB_VECTOR);
}

static void guest_vmfuncs(void)
{
	for (;;)
		wh_vmfunc(0);
}

static u64 server_ns(void)
{
	return wh_vcpu_ns(workers[0].vcpu) + wh_vcpu_ns(workers[1].vcpu) + wh_vcpu_ns(srv.boss);
}

static bool neighbour_is_well(void)
{
	return wh_call(neighbour.vcpu, &neighbour.as, 3, guest_calls, CALLS, 0, 0, 0).rax == CALLS;
}

static void test_ipis(void)
{
	struct wh_guest_log *log = &G(&stormer.vm, wh_log);
	u64 ipis = log->tlb_flushes, server, storm;

	wh_call(stormer.vcpu, &stormer.as, 0, guest_enable_apic, 0, 0, 0, 0);
	server = server_ns();
	wh_start(stormer.vcpu, &stormer.as, 3, guest_calls, FOR_EVER, 0, 0, 0);
	wh_start(second, &stormer.as, 0, guest_send_ipis, stormer.vcpu->id, 0, 0, 0);
	wh_ok(wh_poll(READ_ONCE(log->tlb_flushes) > ipis + STORM, 10000),
	      "ipis_reach_a_vcpu_that_makes_calls");
	wh_ok(neighbour_is_well(), "next_clients_calls_are_right_meanwhile");
	wh_ok(stormer.vcpu->running, "calls_under_the_storm_go_on");
	server = server_ns() - server;
	storm = wh_vcpu_ns(second);
	wh_ok(server < storm / 10, "the_server_stays_frozen");
	wh_diag("%llu us of the server's vCPUs, %llu of the stormer's second",
		(unsigned long long)server / 1000, (unsigned long long)storm / 1000);
	wh_kill(2);
	wh_ok(wh_join(stormer.vcpu, 10) && stormer.vcpu->res.end == WH_END_DONE,
	      "the_host_can_end_its_pair");
	wh_vcpu_stop(second);
}

static void test_vmfuncs(void)
{
	u64 before = wh_vcpu_ns(second);

	wh_start(second, &stormer.as, 3, guest_vmfuncs, 0, 0, 0, 0);
	wh_ok(wh_poll(wh_vcpu_ns(second) > before + 50000000 || !second->running, 10000) &&
	      second->running, "vmfunc_to_where_it_is_can_go_on_for_ever");
	wh_ok(neighbour_is_well(), "next_clients_calls_are_right_then_too");
	wh_vcpu_stop(second);
	wh_ok(!second->running, "and_its_vmm_can_stop_it");
}

int main(void)
{
	int i;

	wh_require_feature();
	wh_plan(8);
	wh_watchdog(90);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	for (i = 0; i < 2; i++)
		wh_worker_start(&workers[i], &srv, i, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&stormer, 2, &srv, 0);
	wh_client_create(&neighbour, 3, &srv, 1);
	second = wh_vcpu_create(&stormer.vm);
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	if (wh_attach(&stormer) || wh_attach(&neighbour))
		wh_die("attach");
	test_ipis();
	test_vmfuncs();
	return wh_exit();
}
