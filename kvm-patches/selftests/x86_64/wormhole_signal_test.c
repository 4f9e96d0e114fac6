// SPDX-License-Identifier: GPL-2.0-only
/*
 * Somebody may be at work on a worker's view for as long as its server's kernel and VMM
 * like. Who waits for that in a client's vCPU comes out when a signal wants its thread, and
 * the client's VMM changes its memory meanwhile. Nothing is lost by that: what was asked
 * for is done once it can be. Needs VMFUNC, and a kernel with CONFIG_KVM_WORMHOLE_TEST.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include "wormhole.h"

#define DRIVER_VA	0x7e0000000000ULL
#define LATE_VA		0x7e0040000000ULL
#define SLOT		7
#define SLOT_GPA	0x50000000ULL
#define SLOT_SIZE	0x100000ULL
#define MS		500

static const wh_handler_fn handlers[] = { wh_load_handler, wh_sys_add_handler };
enum { H_LOAD, H_ADD };

static struct wh_server srv;
static struct wh_worker worker, other;
static struct wh_client a, b;
static bool changed;

static void *change_memory(void *arg)
{
	void *mem = mmap(NULL, SLOT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	wh_set_memslot(&a.vm, SLOT, 0, SLOT_GPA, SLOT_SIZE, mem);
	wh_set_memslot(&a.vm, SLOT, 0, SLOT_GPA, 0, NULL);
	munmap(mem, SLOT_SIZE);
	WRITE_ONCE(changed, true);
	return NULL;
}

static bool memory_changes_in_time(void)
{
	pthread_t thread;
	bool in_time;

	WRITE_ONCE(changed, false);
	if (pthread_create(&thread, NULL, change_memory, NULL))
		wh_die("thread");
	in_time = wh_poll(READ_ONCE(changed), MS * wh_patience());
	/* Else it ends with the pair. */
	if (!in_time)
		wh_kill(a.vm.id);
	pthread_join(thread, NULL);
	return in_time;
}

/* The server's kernel has a page come into the view, which takes its time. */
static bool server_is_at_work(u64 va)
{
	wh_map(&worker.as, va, wh_page_alloc(&srv.vm), WH_USER_RW);
	wh_point("install", "hold", 1);
	wh_leaf_start(srv.boss, &srv.kernel, 0, WH_LEAF_DEVICE, worker.pair, va, va + WH_PAGE, 0);
	return wh_point_waits("install");
}

static void server_ends_that(void)
{
	wh_point("install", "go", 0);
	wh_join(srv.boss, 2);
}

/* KVM_RUN comes back for a signal, and what the vCPU does goes on. */
static bool signal_brings_out(struct wh_vcpu *vcpu)
{
	u64 before = READ_ONCE(vcpu->res.eintr);

	wh_vcpu_kick(vcpu);
	return wh_poll(READ_ONCE(vcpu->res.eintr) != before, MS * wh_patience());
}

static void test_attach(void)
{
	bool at_work = server_is_at_work(DRIVER_VA);

	wh_leaf_start(a.vcpu, &a.as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION, wh_tramp_checksum(), 0, 0);
	wh_ok(at_work && !wh_poll(!READ_ONCE(a.vcpu->running), MS / 4),
	      "who_attaches_waits_for_the_view");
	wh_ok(signal_brings_out(a.vcpu), "a_signal_brings_its_vcpu_out");
	wh_ok(memory_changes_in_time(), "its_vmm_changes_memory_meanwhile");
	server_ends_that();
	wh_ok(wh_join(a.vcpu, 2) && a.vcpu->res.rax == WH_OK, "and_then_it_has_attached");
	a.index = a.vcpu->res.rbx;
	wh_client_slot(&a, 0)->index = a.index;
}

static void test_fill(void)
{
	bool at_work;
	u64 gpa = wh_page_alloc(&srv.vm);

	*(u64 *)wh_gpa(&srv.vm, gpa) = 0x1234;
	wh_map(&worker.as, LATE_VA, gpa, WH_USER_RW);
	at_work = server_is_at_work(DRIVER_VA + WH_PAGE);
	wh_delegate_start(&a, a.vcpu, 0, H_LOAD, LATE_VA, 0);
	wh_ok(at_work && !wh_poll(!READ_ONCE(a.vcpu->running), MS / 4),
	      "a_call_that_misses_waits_for_the_view");
	wh_ok(memory_changes_in_time(), "its_vmm_changes_memory_there_too");
	wh_ok(signal_brings_out(a.vcpu), "and_a_signal_brings_it_out");
	/* The worker's own thread does what is left of the call. */
	wh_ok(wh_join(a.vcpu, 5) && a.vcpu->res.rax == 0x1234, "which_ends_the_wait_of_the_call");
	wh_eq(wh_delegate(&b, H_ADD, 5, 6).rax, 11, "other_tenant_is_well");
	server_ends_that();
	wh_eq(wh_delegate(&a, H_LOAD, LATE_VA, 0).rax, 0x1234, "and_the_first_one_afterwards");
}

int main(void)
{
	wh_require_feature();
	if (!wh_points_there())
		wh_skip_all("needs CONFIG_KVM_WORMHOLE_TEST");
	wh_plan(10);
	wh_watchdog(120);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_worker_start(&other, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&a, 2, &srv, 0);
	wh_client_create(&b, 3, &srv, 1);
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	if (wh_attach(&b))
		wh_die("attach");
	test_attach();
	test_fill();
	return wh_exit();
}
