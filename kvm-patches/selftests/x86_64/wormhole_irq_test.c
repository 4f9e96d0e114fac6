// SPDX-License-Identifier: GPL-2.0-only
/*
 * What comes for the client during a call: its timer, NMI, SMI, signals to its
 * VMM. Each takes the vCPU out of the view first and meets the client's own
 * world at `pending`; the call goes on afterwards. Needs VMFUNC.
 */
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include "wormhole.h"

#define SMI_HANDLER	0x38000

static s64 spin_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 end = wh_rdtsc() + a0;

	while (wh_rdtsc() < end)
		;
	return end;
}

/* Spin until the client's kernel writes @a0 to the first word of the data area. */
static s64 wait_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	WRITE_ONCE(word[1], 1);
	while (READ_ONCE(word[0]) != a0)
		;
	return a0 + a1;
}

static s64 block_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 ret = 0;

	while (a0-- && !ret)
		asm volatile("syscall" : "=a"(ret) : "0"(WH_SYS_BLOCK)
			     : "rcx", "r11", "memory");
	return ret;
}

/* A system call, after a word that it comes. */
static s64 syscall_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 ret;

	WRITE_ONCE(((u64 *)WH_DATA_VA)[1], 1);
	asm volatile("syscall" : "=a"(ret) : "0"(WH_SYS_ADD), "D"(a0), "S"(a1)
		     : "rcx", "r11", "memory");
	return ret;
}

enum { H_SPIN, H_WAIT, H_BLOCK, H_REGS, H_SYSCALL };
static const wh_handler_fn handlers[] = {
	spin_handler, wait_handler, block_handler, wh_regs_handler, syscall_handler,
};

/* For LSTAR, which the view shows as code of the worker: SYSCALL stays there. */
static __attribute__((naked)) void stay(void)
{
	asm("1: jmp 1b");
}

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_guest_log *log;
static u64 pending;
static u64 tsc_ms;		/* TSC ticks in a millisecond */
static u64 *data;

/* Client, CPL 3: a call under bases of its own. */
static s64 guest_call_with_bases(u64 handler, u64 a0, u64 a1)
{
	asm volatile("wrfsbase %0" :: "r"(0xf5000ULL));
	return wh_guest_delegate(handler, a0, a1);
}

static struct wh_result call(u64 handler, u64 a0, u64 a1)
{
	return wh_call(client.vcpu, &client.as, 3, guest_call_with_bases,
		       handler, a0, a1, 0);
}

/* @n interrupts, the first after @tsc ticks, the next each @period later. */
static void arm_timer(u64 tsc, u64 period, u64 n)
{
	log->timer_irqs = 0;
	log->timer_late = 0;
	log->timer_stray = 0;
	log->timer_period = period;
	log->timer_max = n;
	log->timer_expect_rip = pending;
	wh_call(client.vcpu, &client.as, 0, wh_guest_timer, tsc, 0, 0, 0);
}

static void test_timer(void)
{
	struct wh_host_stat st, before;
	struct wh_result r;

	wh_stat(client.vm.id, &before);
	arm_timer(10 * tsc_ms, 0, 1);
	r = call(H_SPIN, 50 * tsc_ms, 0);
	wh_ok(r.end == WH_END_DONE && log->timer_irqs == 1 && log->timer_last < r.rax,
	      "timer_interrupt_is_taken_during_the_call");
	wh_ok(log->timer_late < tsc_ms / 4, "timer_interrupt_is_on_time");
	wh_diag("late by %llu ticks", (unsigned long long)log->timer_late);
	wh_eq(log->timer_rip, pending, "interrupt_meets_pending");
	wh_eq(log->timer_rsp, client.slot->client.rsp, "interrupt_meets_client_stack");
	wh_eq(log->timer_fs, 0xf5000, "interrupt_meets_client_fs_base");
	wh_eq(log->timer_cs, WH_USER_CS, "interrupt_meets_user_mode");
	wh_stat(client.vm.id, &st);
	wh_ok(st.suspends > before.suspends, "stat_counts_the_suspend");

	arm_timer(tsc_ms, 2 * tsc_ms, 20);
	r = call(H_SPIN, 50 * tsc_ms, 0);
	wh_ok(r.end == WH_END_DONE && log->timer_irqs == 20 &&
	      log->timer_last < r.rax,
	      "periodic_timer_keeps_its_rate_during_a_call");
	wh_diag("%llu interrupts, late by at most %llu ticks, %llu not at pending",
		(unsigned long long)log->timer_irqs,
		(unsigned long long)log->timer_late,
		(unsigned long long)log->timer_stray);
	arm_timer(500000, 200000, 50);
	r = call(H_REGS, 20000000, 0);
	wh_eq(r.rax, 0, "registers_survive_suspends");
	wh_ok(log->timer_irqs == 50 && log->timer_stray <= 5, "that_call_was_suspended_often");
	wh_diag("%llu interrupts, late by at most %llu ticks, %llu not at pending",
		(unsigned long long)log->timer_irqs,
		(unsigned long long)log->timer_late,
		(unsigned long long)log->timer_stray);
}

/* The server's thread blocks while the client's timer expires. */
static void test_timer_while_handed_off(void)
{
	struct wh_result r;

	arm_timer(tsc_ms, 0, 1);
	r = call(H_BLOCK, 10, 0);
	wh_ok(r.end == WH_END_DONE && !r.rax, "blocking_call_returns");
	wh_eq(log->timer_irqs, 1, "timer_interrupt_is_taken_while_handed_off");
	/* On the CPUID there, a few bytes behind its start. */
	wh_ok(log->timer_rip - pending < 16, "it_met_pending_too");
}

static struct kvm_regs seen_regs;
static struct kvm_sregs seen_sregs;
static int seen;

/* In the vCPU's thread: read all state, as gdb or savevm would. */
static void look(struct wh_vcpu *vcpu)
{
	wh_vcpu_regs(vcpu, &seen_regs);
	if (ioctl(vcpu->fd, KVM_GET_SREGS, &seen_sregs))
		wh_die("KVM_GET_SREGS");
	seen++;
}

static void look_and_write_back(struct wh_vcpu *vcpu)
{
	struct kvm_xsave xsave;

	look(vcpu);
	if (ioctl(vcpu->fd, KVM_GET_XSAVE, &xsave) ||
	    ioctl(vcpu->fd, KVM_SET_XSAVE, &xsave) ||
	    ioctl(vcpu->fd, KVM_SET_REGS, &seen_regs) ||
	    ioctl(vcpu->fd, KVM_SET_SREGS, &seen_sregs))
		wh_die("write state back");
}

/* Start a call that waits in the view, and wait until it is there. */
static void start_waiting_call(u64 ticket)
{
	data[0] = 0;
	data[1] = 0;
	wh_start(client.vcpu, &client.as, 3, guest_call_with_bases, H_WAIT,
		 ticket, 100, 0);
	if (!wh_poll(data[1], 500))
		wh_diag("the call does not reach the handler");
}

static struct wh_result finish_waiting_call(u64 ticket)
{
	data[0] = ticket;
	if (!wh_join(client.vcpu, 5))
		wh_diag("the call does not return");
	return client.vcpu->res;
}

static void kick_and_look(void (*fn)(struct wh_vcpu *))
{
	int before = seen;

	client.vcpu->on_eintr = fn;
	wh_vcpu_kick(client.vcpu);
	wh_poll(seen > before, 500);
}

static void test_signals(void)
{
	struct wh_result r;
	int i;

	start_waiting_call(11);
	kick_and_look(look);
	wh_eq(seen, 1, "signal_ends_kvm_run_during_a_call");
	wh_eq(seen_regs.rip, pending, "vmm_sees_pending");
	wh_eq(seen_regs.rsp, client.slot->client.rsp, "vmm_sees_client_stack");
	wh_eq(seen_sregs.fs.base, 0xf5000, "vmm_sees_client_fs_base");
	wh_ok(seen_sregs.cr3 == client.as.cr3 && seen_sregs.cs.selector == WH_USER_CS,
	      "vmm_sees_client_page_tables_and_segments");
	r = finish_waiting_call(11);
	wh_ok(r.end == WH_END_DONE && r.rax == 111, "call_goes_on_after_signal");

	start_waiting_call(12);
	for (i = 0; i < 20; i++)
		kick_and_look(look_and_write_back);
	r = finish_waiting_call(12);
	wh_ok(r.end == WH_END_DONE && r.rax == 112 && r.eintr >= 20,
	      "call_goes_on_after_vmm_wrote_the_state_back");
	client.vcpu->on_eintr = NULL;
}

static void test_nmi_and_smi(void)
{
	struct wh_result r;

	log->nmis = 0;
	start_waiting_call(21);
	wh_msi(&client.vm, 0, WH_MSI_NMI, 0);
	wh_ok(wh_poll(log->nmis == 1, 500), "nmi_is_taken_during_a_call");
	wh_eq(log->nmi_rip, pending, "nmi_meets_pending");
	r = finish_waiting_call(21);
	wh_ok(r.end == WH_END_DONE && r.rax == 121, "call_goes_on_after_nmi");

	/* Firmware of the client: RSM, after a mark. */
	wh_vm_set_smram(&client.vm);
	memcpy(wh_gpa(&client.vm, SMI_HANDLER), "\x2e\xc6\x06\x80\x00\x77\x0f\xaa", 8);
	start_waiting_call(22);
	wh_msi(&client.vm, 0, WH_MSI_SMI, 0);
	wh_ok(wh_poll(*(u8 *)wh_gpa(&client.vm, 0x30080) == 0x77, 500),
	      "smi_is_taken_during_a_call");
	r = finish_waiting_call(22);
	wh_ok(r.end == WH_END_DONE && r.rax == 122, "call_goes_on_after_smi");
}

/*
 * After SYSCALL and before the fetch at LSTAR: that fetch exits, and here it
 * does not, so that something else has to.
 */
static void test_syscall_entry(void)
{
	data[1] = 0;
	client.vcpu->lstar = (u64)(uintptr_t)stay;
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_SYSCALL, 40, 2, 0);
	client.vcpu->lstar = 0;
	wh_poll(data[1], 500);
	wh_ms_pause();
	wh_vcpu_kick(client.vcpu);
	if (!wh_join(client.vcpu, 2))
		wh_vcpu_stop(client.vcpu);
	wh_ok(client.vcpu->res.end == WH_END_DONE && client.vcpu->res.rax == 42,
	      "system_call_that_an_interrupt_meets_is_handed_off");
}

static void test_migration(void)
{
	struct wh_result r;
	int i;

	if (!wh_two_cpus()) {
		wh_skip("call_follows_its_vcpu_to_another_cpu", "one CPU");
		return;
	}
	start_waiting_call(31);
	for (i = 0; i < 10; i++) {
		wh_pin(client.vcpu->tid, i & 1);
		wh_ms_pause();
	}
	r = finish_waiting_call(31);
	wh_ok(r.end == WH_END_DONE && r.rax == 131, "call_follows_its_vcpu_to_another_cpu");
}

int main(void)
{
	wh_require_feature();
	wh_plan(29);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	log = &G(&client.vm, wh_log);
	tsc_ms = ioctl(client.vcpu->fd, KVM_GET_TSC_KHZ, 0);
	pending = WH_TRAMPOLINE_VA + wh_tramp_header()->pending;
	data = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	test_timer();
	test_timer_while_handed_off();
	test_signals();
	test_nmi_and_smi();
	test_syscall_entry();
	test_migration();
	return wh_exit();
}
