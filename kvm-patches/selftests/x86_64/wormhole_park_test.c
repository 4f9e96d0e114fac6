// SPDX-License-Identifier: GPL-2.0-only
/*
 * A frozen server: vCPUs whose threads wait for calls take no CPU time, timers
 * of the whole VM come about once a second, interrupts are served and wake
 * nobody; and one clock for both VMs, which no guest can move. Needs VMFUNC.
 */
#include <string.h>
#include <sys/ioctl.h>
#include "wormhole.h"

#define MSR_TSC		0x10
#define MSR_TSC_ADJUST	0x3b

static s64 block_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 begin = wh_rdtsc();
	s64 ret;

	asm volatile("syscall" : "=a"(ret) : "0"(WH_SYS_BLOCK)
		     : "rcx", "r11", "memory");
	return ret ? 0 : wh_rdtsc() - begin;
}

static s64 tsc_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return wh_rdtsc();
}

enum { H_BLOCK, H_TSC };
static const wh_handler_fn handlers[] = { block_handler, tsc_handler };
static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_guest_log *log;
static u64 tsc_ms;

static u64 guest_rdtsc(void)
{
	return wh_rdtsc();
}

static u64 guest_write_msr(u64 msr, u64 value)
{
	wh_wrmsr(msr, value);
	return wh_rdtsc();
}

static void pause_ms(int ms)
{
	while (ms--)
		wh_ms_pause();
}

static bool is_parked(void)
{
	struct wh_host_stat st;

	return !wh_stat(srv.vm.id, &st) && st.parked == 1;
}

static int looked;

static void look(struct wh_vcpu *vcpu)
{
	looked++;
}

static void test_wakes(void)
{
	u64 i, nmis;
	int served = 0;

	for (i = 0; i < 10; i++) {
		wh_msi(&srv.vm, worker.vcpu->id, WH_MSI_FIXED, WH_TIMER_VECTOR);
		served += wh_poll(log->timer_irqs == i + 1, 300);
	}
	wh_eq(served, 10, "interrupts_are_served_while_the_thread_waits");
	nmis = log->nmis;
	wh_msi(&srv.vm, worker.vcpu->id, WH_MSI_NMI, 0);
	wh_ok(wh_poll(log->nmis == nmis + 1, 300), "nmi_of_others_is_served_there");
	worker.vcpu->on_eintr = look;
	wh_vcpu_kick(worker.vcpu);
	wh_ok(wh_poll(looked, 300), "vmm_gets_its_signal_there");
	worker.vcpu->on_eintr = NULL;
	wh_ok(is_parked() && worker.vcpu->running, "thread_still_waits");
	nmis = log->nmis;
	wh_ok(wh_delegate(&client, H_BLOCK, 0, 0).rax, "handoff_works_after_wakes");
	wh_eq(log->nmis, nmis + 1, "server_is_told_of_a_call_by_one_nmi");
}

static void test_cpu_time(void)
{
	u64 before;

	wh_poll(is_parked(), 300);
	before = wh_vcpu_ns(worker.vcpu);
	pause_ms(100);
	before = wh_vcpu_ns(worker.vcpu) - before;
	wh_ok(before <= 100000, "vcpu_of_a_waiting_thread_uses_at_most_a_thousandth_of_a_cpu");
	wh_diag("%llu ns in 100 ms", (unsigned long long)before);
}

/* A vCPU without workers has a 1 ms timer and idles. */
static void test_timers(void)
{
	struct wh_host_stat before, st;
	u64 used, block;

	wh_stat(srv.vm.id, &before);
	log->timer_irqs = 0;
	log->timer_period = tsc_ms;
	log->timer_max = 1000000;
	wh_call(srv.boss, &srv.kernel, 0, wh_guest_timer, tsc_ms, 0, 0, 0);
	wh_start(srv.boss, &srv.kernel, 0, wh_guest_idle, 0, 0, 0, 0);
	/* The boss was running: what it had armed may still come at once. */
	pause_ms(20);
	log->timer_irqs = 0;
	used = wh_vcpu_ns(srv.boss);
	pause_ms(500);
	wh_ok(log->timer_irqs <= 1, "timer_of_frozen_server_is_deferred");
	wh_diag("%llu timer interrupts in 500 ms", (unsigned long long)log->timer_irqs);
	used = wh_vcpu_ns(srv.boss) - used;
	wh_ok(used <= 500000, "idle_vcpu_of_frozen_server_uses_at_most_a_thousandth_of_a_cpu");
	wh_diag("%llu ns in 500 ms", (unsigned long long)used);
	wh_stat(srv.vm.id, &st);
	wh_ok(st.deferred_timers > before.deferred_timers, "stat_counts_deferred_timers");
	wh_ok(wh_poll(log->timer_irqs >= 1, 1500), "deferred_timer_comes_within_two_seconds");
	/* One has just come, so that the next is deferred by a second. */
	used = log->timer_irqs;
	pause_ms(50);
	wh_msi(&srv.vm, srv.boss->id, WH_MSI_NMI, 0);
	wh_ok(wh_poll(log->timer_irqs > used, 300),
	      "vcpu_that_something_else_wakes_has_its_timer");
	block = wh_delegate(&client, H_BLOCK, 0, 0).rax;
	wh_ok(block && block < 20 * tsc_ms, "timer_runs_on_time_while_a_call_is_handed_off");
	wh_diag("blocked for %llu ticks of %llu a ms", (unsigned long long)block,
		(unsigned long long)tsc_ms);
	wh_vcpu_stop(srv.boss);
}

static u64 server_tsc(void)
{
	return wh_call(srv.boss, &srv.kernel, 0, guest_rdtsc, 0, 0, 0, 0).rax;
}

static u64 client_tsc(void)
{
	return wh_call(client.vcpu, &client.as, 3, guest_rdtsc, 0, 0, 0, 0).rax;
}

/* Host, server, client, view, server, host read the clock in this order. */
static bool clocks_agree(void)
{
	u64 t[6];
	int i;

	t[0] = wh_rdtsc();
	t[1] = server_tsc();
	t[2] = client_tsc();
	t[3] = wh_delegate(&client, H_TSC, 0, 0).rax;
	t[4] = server_tsc();
	t[5] = wh_rdtsc();
	for (i = 1; i < 6; i++)
		if (t[i] <= t[i - 1])
			return false;
	return true;
}

static void set_tsc(struct wh_vcpu *vcpu, u64 value)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = { .head.nmsrs = 1, .entry = { .index = MSR_TSC, .data = value } };

	ioctl(vcpu->fd, KVM_SET_MSRS, &msrs);
}

static void test_tsc(void)
{
	wh_ok(clocks_agree(), "both_vms_and_the_host_read_one_clock");
	wh_call(client.vcpu, &client.as, 0, guest_write_msr, MSR_TSC, 1000, 0, 0);
	wh_ok(clocks_agree(), "client_cannot_move_it_by_writing_tsc");
	wh_call(client.vcpu, &client.as, 0, guest_write_msr, MSR_TSC_ADJUST, 1ULL << 40, 0, 0);
	wh_ok(clocks_agree(), "client_cannot_move_it_by_tsc_adjust");
	wh_call(srv.boss, &srv.kernel, 0, guest_write_msr, MSR_TSC, 1ULL << 50, 0, 0);
	wh_ok(clocks_agree(), "server_cannot_move_it");
	set_tsc(client.vcpu, 12345);
	wh_ok(clocks_agree(), "vmm_cannot_move_it");
}

int main(void)
{
	wh_require_feature();
	wh_plan(20);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	/* The local APIC must be enabled for interrupts to come. */
	log = &G(&srv.vm, wh_log);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_call(worker.vcpu, &worker.as, 0, wh_guest_timer, ~0ULL >> 2, 0, 0, 0);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
	wh_worker_park(&worker);
	wh_client_create(&client, 2, &srv, 0);
	tsc_ms = ioctl(client.vcpu->fd, KVM_GET_TSC_KHZ, 0);
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	test_cpu_time();
	test_wakes();
	test_timers();
	test_tsc();
	return wh_exit();
}
