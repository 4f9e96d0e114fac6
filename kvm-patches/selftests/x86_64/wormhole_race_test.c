// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that meet where they rarely do: kills, interrupts, migrations and
 * changes of page tables in the middle of an entry, a fill or a handoff. Needs
 * a kernel with CONFIG_KVM_WORMHOLE_TEST, which holds threads at named points;
 * some points need two CPUs. The kernel's own checks end in its log.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "wormhole.h"

#define MAX_TABLES	"/sys/module/kvm_intel/parameters/wormhole_max_tables"
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"
#define X2APIC_SVR	0x80f

#define TABLE_VA	0x7e0000000000ULL	/* alone in its page table */
#define SPARSE_VA	0x7c0000000000ULL
#define SPARSE_STRIDE	0x200000ULL
#define SPARSE_PAGES	600
#define SECRET		0x5ec7e7
#define FAR_VA		0x7a0000000000ULL	/* alone in its gigabyte */
#define FAR_GPA		0x20000000ULL		/* memslot of its own */
#define FAR_PAGES	65			/* one more than a zap takes at once */
#define STAYS_VA	(FAR_VA + SPARSE_STRIDE)

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_guest_log *log;
static u64 *words;

/*
 * This thread and the client's vCPU on a CPU each: one that is held with preemption
 * off lets nobody run beside it, and the scheduler may put this thread there.
 */
static void apart(bool yes)
{
	yes = yes && wh_two_cpus();
	wh_pin(0, yes ? 0 : -1);
	wh_pin(client.vcpu->tid, yes ? 1 : -1);
}

/* All other threads, and the server's boss; -1: wherever. */
static void place(int cpu, int boss)
{
	wh_pin(0, cpu);
	wh_pin(client.vcpu->tid, cpu);
	wh_pin(worker.vcpu->tid, cpu);
	wh_pin(srv.boss->tid, boss);
}

/* --- Handlers ---------------------------------------------------------------- */

static void leave_and_enter(void)
{
	u32 leaf = WH_LEAF_VERSION;	/* an exit, which a view refuses */

	asm volatile("cpuid" : "+a"(leaf) :: "ebx", "ecx", "edx", "memory");
}

/* Leave and enter the view until the ticket @a0 comes. */
static s64 exits_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	WRITE_ONCE(word[1], 1);
	while (READ_ONCE(word[0]) != a0)
		leave_and_enter();
	return a0;
}

/* Show what is at @a1 until the ticket @a0 comes; with exits while word 3 is 0. */
static s64 watch_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	while (READ_ONCE(word[0]) != a0) {
		WRITE_ONCE(word[2], READ_ONCE(*(u64 *)a1));
		WRITE_ONCE(word[1], 1);
		if (!READ_ONCE(word[3]))
			leave_and_enter();
	}
	return a0;
}

static s64 read_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return READ_ONCE(*(u64 *)a0);
}

static s64 touch_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 sum = 0;

	while (a1--)
		sum += READ_ONCE(*(u64 *)(a0 + a1 * SPARSE_STRIDE));
	return sum;
}

enum { H_EXITS, H_WATCH, H_READ, H_SYSCALL, H_TOUCH };
static const wh_handler_fn handlers[] = {
	exits_handler, watch_handler, read_handler, wh_sys_add_handler, touch_handler,
};

static u64 guest_enable_apic(void)
{
	wh_wrmsr(X2APIC_SVR, 0x1ff);
	return 0;
}

/* --- Calls -------------------------------------------------------------------- */

static bool start(u64 handler, u64 a0, u64 a1)
{
	memset(words, 0, 4 * sizeof(*words));
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, handler, a0, a1, 0);
	return handler > H_WATCH || wh_poll(words[1], 1000);
}

static bool ends_with(s64 want)
{
	struct wh_result *r = &client.vcpu->res;

	if (!wh_join(client.vcpu, 8)) {
		wh_diag("the call does not return");
		wh_vcpu_stop(client.vcpu);
		return false;
	}
	if (r->end == WH_END_DONE && (s64)r->rax == want)
		return true;
	wh_diag("end %d rax %lld vector %llu rip 0x%llx", r->end, (long long)r->rax,
		(unsigned long long)r->vector, (unsigned long long)r->rip);
	return false;
}

static bool finish(u64 ticket)
{
	words[0] = ticket;
	return ends_with(ticket);
}

/* A fresh worker for the client, however the last pair ended. */
static void attach_again(void)
{
	s64 ret;

	wh_release(&worker);
	wh_worker_again(&worker);
	wh_allow(2, 1, 0, 1);
	ret = wh_attach(&client);
	if (ret) {
		wh_diag("attach: %lld", (long long)ret);
		wh_die("attach");
	}
}

/* --- Tests -------------------------------------------------------------------- */

static void test_kill_before_an_entry(const char *at, const char *name)
{
	bool held;

	/* Nobody else runs while a thread waits with preemption off. */
	if (!strcmp(at, "switch") && !wh_two_cpus()) {
		wh_skip(name, "one CPU");
		return;
	}
	apart(true);
	start(H_EXITS, 7, 0);
	wh_point(at, "hold", 1);
	held = wh_point_waits(at);
	wh_kill(2);
	wh_point(at, "go", 0);
	wh_ok(ends_with(WH_EGONE) && held, name);
	attach_again();
	apart(false);
}

/* The kill is held when the pair is dead, but before anybody was told. */
static void *killer(void *arg)
{
	wh_kill(2);
	return NULL;
}

static void test_slow_kill(void)
{
	pthread_t thread;
	bool held;

	start(H_EXITS, 7, 0);
	wh_point("kill", "hold", 1);
	pthread_create(&thread, NULL, killer, NULL);
	held = wh_point_waits("kill");
	wh_eq(wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_NOTIFY, worker.pair, 0, WH_PAGE,
		      WH_NOTIFY_BEGIN).rax, WH_OK, "dying_pair_is_still_notified");
	wh_point("kill", "go", 0);
	pthread_join(thread, NULL);
	wh_ok(ends_with(WH_EGONE) && held, "call_fails_after_a_slow_kill");
	attach_again();
}

static bool interrupt_comes(const char *at, u32 mode, u8 vector, u64 *count)
{
	u64 before = READ_ONCE(*count);

	if (at) {
		wh_point(at, "hold", 1);
		if (!wh_point_waits(at))
			wh_diag("nobody comes to %s", at);
	}
	wh_msi(&client.vm, 0, mode, vector);
	if (at)
		wh_point(at, "go", 0);
	return wh_poll(READ_ONCE(*count) == before + 1, 1000);
}

static void test_interrupts_before_an_entry(void)
{
	static const char * const where[] = { "enter", "switch", NULL };
	char name[64];
	int i, n, good;

	wh_call(client.vcpu, &client.as, 0, guest_enable_apic, 0, 0, 0, 0);
	for (i = 0; i < 3; i++) {
		int rounds = where[i] ? 10 : 100;

		if (where[i] && !strcmp(where[i], "switch") && !wh_two_cpus()) {
			for (n = 0; n < 3; n++)
				wh_skip("nothing_is_lost_at_switch", "one CPU");
			continue;
		}
		apart(where[i]);
		start(H_EXITS, 7, 0);
		for (n = 0, good = 0; n < rounds; n++)
			good += interrupt_comes(where[i], WH_MSI_FIXED, WH_TLB_VECTOR,
						&log->tlb_flushes);
		snprintf(name, sizeof(name), "no_interrupt_is_lost_%s%s",
			 where[i] ? "at_" : "at_any_time", where[i] ?: "");
		wh_eq(good, rounds, name);
		for (n = 0, good = 0; n < rounds; n++)
			good += interrupt_comes(where[i], WH_MSI_NMI, 0, &log->nmis);
		snprintf(name, sizeof(name), "no_nmi_is_lost_%s%s",
			 where[i] ? "at_" : "at_any_time", where[i] ?: "");
		wh_eq(good, rounds, name);
		wh_ok(finish(7), "the_call_goes_on");
	}
	apart(false);
}

/*
 * The server's kernel frees a page table after NOTIFY END, and what takes the
 * page next looks like entries. Step the walk to where it has read the upper
 * entry only.
 */
static void test_freed_table(void)
{
	u64 page = wh_page_alloc(&srv.vm), secret = wh_page_alloc(&srv.vm), *pde, *pte;
	u64 old_table, new_table = wh_page_alloc(&srv.vm), pd, i;
	bool held;

	*(u64 *)wh_gpa(&srv.vm, page) = 0x600d;
	*(u64 *)wh_gpa(&srv.vm, secret) = SECRET;
	wh_map(&worker.as, TABLE_VA, page, WH_USER_RW);
	pte = wh_pte(&worker.as, TABLE_VA);
	old_table = ((u8 *)pte - srv.vm.mem) & -WH_PAGE;
	pd = 0;
	for (i = WH_HEAP_GPA; i < srv.vm.next_page && !pd; i += 8)
		if ((*(u64 *)wh_gpa(&srv.vm, i) & WH_PTE_ADDR) == old_table)
			pd = i;
	pde = wh_gpa(&srv.vm, pd);

	/* A miss there waits for the new table's entry. */
	G(&srv.vm, wh_log).busy_va = TABLE_VA;
	G(&srv.vm, wh_log).busy_pte = wh_kva(&srv.vm, wh_gpa(&srv.vm, new_table));
	wh_point("walk", "hold", 3);
	start(H_READ, TABLE_VA, 0);
	for (i = 0, held = true; i < 3; i++) {
		held = held && wh_point_waits("walk");
		if (i < 2)
			wh_point("walk", "step", 0);
	}
	/* Unmapped long ago; now flushed, freed, recycled. */
	WRITE_ONCE(*pde, new_table | WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A);
	wh_move_seq(&worker);
	for (i = 0; i < 512; i++)
		((u64 *)wh_gpa(&srv.vm, old_table))[i] = secret | WH_USER_RW;
	wh_point("walk", "go", 0);
	*(u64 *)wh_gpa(&srv.vm, new_table) = page | WH_USER_RW;
	wh_ok(ends_with(0x600d) && held, "recycled_page_table_is_not_walked");
	G(&srv.vm, wh_log).busy_va = 0;
}

/* A page changes under a vCPU that came to another CPU in mid-entry. */
static void test_migration_before_an_entry(void)
{
	u64 old = wh_page_alloc(&srv.vm), new = wh_page_alloc(&srv.vm), *pte;
	u64 va = TABLE_VA + 16 * WH_PAGE;
	const char *name = "zap_reaches_the_cpu_that_a_vcpu_has_come_to";
	bool held;

	if (!wh_two_cpus()) {
		wh_skip(name, "one CPU");
		return;
	}
	*(u64 *)wh_gpa(&srv.vm, old) = 1;
	*(u64 *)wh_gpa(&srv.vm, new) = 2;
	wh_map(&worker.as, va, old, WH_USER_RW);
	pte = wh_pte(&worker.as, va);
	wh_pin(client.vcpu->tid, 0);
	start(H_WATCH, 7, va);
	wh_point("enter", "hold", 1);
	held = wh_point_waits("enter");
	wh_pin(client.vcpu->tid, 1);
	wh_point("enter", "go", 0);
	/* From here on no exit but the host's: the TLB keeps what it has. */
	words[3] = 1;
	words[1] = 0;
	held = held && wh_poll(words[1], 1000) && words[2] == 1;
	wh_notify(&worker, va, va + WH_PAGE, WH_NOTIFY_BEGIN);
	WRITE_ONCE(*pte, new | WH_USER_RW);
	wh_notify(&worker, va, va + WH_PAGE, WH_NOTIFY_END);
	wh_ok(held && wh_poll(READ_ONCE(words[2]) == 2, 1000), name);
	finish(7);
	wh_pin(client.vcpu->tid, -1);
}

/*
 * A zap reaches the CPUs on which a vCPU is armed. What another one has left
 * elsewhere, in mappings that belong to no vCPU, goes when the next is armed
 * there. That one has not moved: KVM flushes for who has.
 */
static void test_armed_where_another_was(void)
{
	struct wh_vcpu *resident;
	u64 old = wh_page_alloc(&srv.vm), new = wh_page_alloc(&srv.vm), *pte;
	u64 va = TABLE_VA + 32 * WH_PAGE;
	const char *name = "cpu_that_another_vcpu_has_left_has_no_old_page";
	bool right;

	if (!wh_two_cpus()) {
		wh_skip(name, "one CPU");
		return;
	}
	*(u64 *)wh_gpa(&srv.vm, old) = 1;
	*(u64 *)wh_gpa(&srv.vm, new) = 2;
	wh_map(&worker.as, va, old, WH_USER_RW);
	pte = wh_pte(&worker.as, va);
	resident = wh_vcpu_create(&client.vm);
	wh_call(resident, &client.as, 0, guest_enable_apic, 0, 0, 0, 0);
	wh_pin(resident->tid, 1);
	/* Whoever sets its registers takes it along. */
	wh_pin(0, 1);
	wh_call(resident, &client.as, 0, guest_enable_apic, 0, 0, 0, 0);
	wh_pin(client.vcpu->tid, 1);
	start(H_READ, va, 0);
	right = ends_with(1);
	wh_pin(client.vcpu->tid, 0);
	start(H_READ, va, 0);
	right = ends_with(1) && right;
	wh_notify(&worker, va, va + WH_PAGE, WH_NOTIFY_BEGIN);
	WRITE_ONCE(*pte, new | WH_USER_RW);
	wh_notify(&worker, va, va + WH_PAGE, WH_NOTIFY_END);
	wh_ok(wh_call(resident, &client.as, 3, wh_guest_delegate, H_READ, va, 0, 0).rax == 2 &&
	      right, name);
	wh_pin(0, -1);
	wh_pin(client.vcpu->tid, -1);
}

/* Another vCPU of the same process in the view of a pair with one slot. */
static void test_two_vcpus_leave_together(void)
{
	struct wh_vcpu *other = wh_vcpu_create(&client.vm);
	struct wh_host_stat st, before;
	bool held;

	wh_stat(2, &before);
	wh_point("handoff", "hold", 1);
	start(H_SYSCALL, 40, 2);
	held = wh_point_waits("handoff");
	wh_start(other, &client.as, 3, wh_guest_delegate, H_SYSCALL, 1, 2, 0);
	held = held && wh_join(other, 3);
	wh_point("handoff", "go", 0);
	wh_ok(held && !wh_stat(2, &st) && st.fatal == before.fatal + 1,
	      "second_vcpu_that_leaves_with_a_call_is_refused");
	/* They share a stack, so whether the first comes back is their affair. */
	if (!wh_join(client.vcpu, 1))
		wh_vcpu_stop(client.vcpu);
	wh_kill(2);
	attach_again();
	wh_ok(held && !wh_stat(1, &st) && !st.busy, "two_vcpus_that_leave_together_leave_no_count");
	start(H_SYSCALL, 40, 2);
	wh_ok(ends_with(42) && !wh_stat(1, &st) && !st.busy, "next_call_leaves_no_count");
}

/* A call is lost to a kill between the slot and the vCPU. */
static void test_kill_while_a_call_comes_back(void)
{
	struct wh_host_stat st;
	bool held;

	start(H_EXITS, 7, 0);
	wh_point("continue", "hold", 1);
	wh_vcpu_kick(client.vcpu);
	held = wh_point_waits("continue");
	wh_kill(2);
	wh_point("continue", "go", 0);
	wh_ok(ends_with(WH_EGONE) && held, "call_that_comes_back_to_a_dead_pair_fails");
	attach_again();

	wh_point("continue", "hold", 1);
	start(H_SYSCALL, 40, 2);
	held = wh_point_waits("continue");
	wh_kill(2);
	wh_point("continue", "go", 0);
	wh_ok(ends_with(42) && held, "call_that_was_done_already_returns");
	attach_again();
	wh_ok(!wh_stat(1, &st) && !st.busy, "kills_leave_no_count");
}

#define PUT_OFFS	5

/* A call comes when CPU 1 has been in the timer's interrupt for a while. */
static bool call_meets_the_timer(u64 *irqs)
{
	long before = wh_point_read("defer", 1);
	u64 had;

	if (!wh_poll(wh_point_read("defer", 1) > before, 2000))
		return false;
	had = READ_ONCE(*irqs);
	start(H_SYSCALL, 40, 2);
	return ends_with(42) && wh_poll(READ_ONCE(*irqs) > had, 300);
}

/*
 * The server is frozen and its idle vCPU's timer is about to be put off, when a
 * call comes on another CPU and lets timers run. The kernel's log says if the
 * timer was queued meanwhile.
 */
static void test_timer_put_off_during_a_handoff(void)
{
	const char *name = "timer_that_is_about_to_be_put_off_when_a_call_comes_runs";
	struct wh_guest_log *server_log = &G(&srv.vm, wh_log);
	u64 ms = ioctl(client.vcpu->fd, KVM_GET_TSC_KHZ, 0);
	int i, met = 0;

	if (!wh_two_cpus()) {
		wh_skip(name, "one CPU");
		return;
	}
	place(0, 1);
	server_log->timer_period = ms;
	server_log->timer_max = 1000000;
	wh_call(srv.boss, &srv.kernel, 0, wh_guest_timer, ms, 0, 0, 0);
	/* Nobody can let go who waits in an interrupt, while another CPU waits for that. */
	wh_point("defer", "delay", 50000);
	wh_start(srv.boss, &srv.kernel, 0, wh_guest_idle, 0, 0, 0, 0);
	for (i = 0; i < PUT_OFFS; i++)
		met += call_meets_the_timer(&server_log->timer_irqs);
	wh_eq(met, PUT_OFFS, name);
	wh_point("defer", "delay", 0);
	wh_vcpu_stop(srv.boss);
	place(-1, -1);
}

static void test_deny_during_attach(void)
{
	struct wh_host_stat st;
	bool held;

	wh_detach(&client);
	wh_release(&worker);
	wh_worker_again(&worker);
	wh_point("attach", "hold", 1);
	wh_leaf_start(client.vcpu, &client.as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION,
		      wh_tramp_checksum(), 0, 0);
	held = wh_point_waits("attach");
	wh_deny(2);
	wh_point("attach", "go", 0);
	wh_join(client.vcpu, 2);
	client.index = client.vcpu->res.rbx;
	client.slot->index = client.index;
	wh_ok(held && !wh_stat(2, &st) && !st.pairs, "deny_reaches_a_client_that_just_attaches");
	start(H_SYSCALL, 1, 2);
	wh_ok(ends_with(WH_EGONE), "which_cannot_call");
	attach_again();
}

/* --- Tables of views ------------------------------------------------------------ */

static struct wh_host_stat stat_now(void)
{
	struct wh_host_stat st = {};

	wh_stat(2, &st);
	return st;
}

static u64 tables(void) { return stat_now().view_tables; }

static void set_max_tables(u64 n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	if (wh_write_file(MAX_TABLES, text))
		wh_die(MAX_TABLES);
}

static void test_tables(void)
{
	u64 page = wh_page_alloc(&srv.vm), end = SPARSE_VA + SPARSE_PAGES * SPARSE_STRIDE, before;
	int i;

	*(u64 *)wh_gpa(&srv.vm, page) = 3;
	for (i = 0; i < SPARSE_PAGES; i++)
		wh_map(&worker.as, SPARSE_VA + i * SPARSE_STRIDE, page, WH_USER_RW);
	before = tables();
	start(H_TOUCH, SPARSE_VA, SPARSE_PAGES);
	wh_ok(ends_with(3 * SPARSE_PAGES) && tables() >= before + SPARSE_PAGES,
	      "sparse_pages_take_a_table_each");
	wh_notify(&worker, SPARSE_VA, end, WH_NOTIFY_BEGIN);
	wh_notify(&worker, SPARSE_VA, end, WH_NOTIFY_END);
	/* One of stage 1 stays for 512 GiB, with the table that maps it. */
	wh_ok(tables() <= before + 4, "tables_are_freed_with_their_last_page");
	wh_diag("%llu before, %llu after", (unsigned long long)before,
		(unsigned long long)tables());
	start(H_TOUCH, SPARSE_VA, SPARSE_PAGES);
	wh_ok(ends_with(3 * SPARSE_PAGES), "and_come_again");
	wh_notify(&worker, SPARSE_VA, end, WH_NOTIFY_BEGIN);
	wh_notify(&worker, SPARSE_VA, end, WH_NOTIFY_END);

	set_max_tables(before + 100);
	start(H_TOUCH, SPARSE_VA, SPARSE_PAGES);
	wh_ok(ends_with(3 * SPARSE_PAGES),
	      "call_that_needs_more_tables_than_a_view_may_have_works");
	wh_ok(tables() <= before + 100, "and_the_view_has_no_more");
	set_max_tables(16384);
}

/* --- Memslots that go -------------------------------------------------------------- */

static void set_far_slot(void *mem, u64 size)
{
	wh_set_memslot(&srv.vm, 2, 0, FAR_GPA, size, mem);
}

static void *delete_far_slot(void *mem)
{
	wh_pin(0, 0);
	set_far_slot(mem, 0);
	return NULL;
}

/*
 * The zap of a memslot stands between its batches when another page of the same
 * gigabyte is filled, takes the last page that was there, and the region with
 * it, while that fill stands before it installs its own.
 */
static void test_region_goes_during_a_fill(void)
{
	u64 *mem = mmap(NULL, FAR_PAGES * WH_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 stays = wh_page_alloc(&srv.vm), i;
	struct wh_host_stat before;
	bool held = true;
	pthread_t thread;

	if (!wh_two_cpus()) {
		wh_skip("fill_survives_the_end_of_its_gigabyte", "one CPU");
		wh_skip("and_fills_the_page_once", "one CPU");
		return;
	}
	set_far_slot(mem, FAR_PAGES * WH_PAGE);
	*(u64 *)wh_gpa(&srv.vm, stays) = 0x57a75;
	wh_map(&worker.as, STAYS_VA, stays, WH_USER_RW);
	for (i = 0; i < FAR_PAGES; i++) {
		wh_map(&worker.as, FAR_VA + i * WH_PAGE, FAR_GPA + i * WH_PAGE, WH_USER_RW);
		mem[i * WH_PAGE / 8] = i;
		start(H_READ, FAR_VA + i * WH_PAGE, 0);
		held = ends_with(i) && held;
	}
	before = stat_now();

	/* Who is held between the batches has a CPU for itself. */
	wh_pin(0, 1);
	wh_pin(client.vcpu->tid, 1);
	wh_point("zap", "hold", 1);
	pthread_create(&thread, NULL, delete_far_slot, mem);
	held = wh_point_waits("zap") && held;
	wh_point("install", "hold", 1);
	start(H_READ, STAYS_VA, 0);
	held = wh_point_waits("install") && held;
	wh_point("zap", "go", 0);
	held = wh_poll(stat_now().zapped_pages - before.zapped_pages >= FAR_PAGES, 1000) && held;
	wh_point("install", "go", 0);
	wh_ok(ends_with(0x57a75) && held, "fill_survives_the_end_of_its_gigabyte");
	/* The one that had no region any more did not count, and left nothing. */
	wh_eq(stat_now().filled_pages - before.filled_pages, 1, "and_fills_the_page_once");
	pthread_join(thread, NULL);
	wh_pin(0, -1);
	wh_pin(client.vcpu->tid, -1);
}

/* --- CPUs and VMs that go --------------------------------------------------------- */

static bool set_online(bool on)
{
	return !wh_write_file(CPU1_ONLINE, on ? "1" : "0");
}

#define HOTPLUG_CALLS	20

static bool plug_stop;

/* Away and back until told to stop; *@arg counts. */
static void *plug(void *arg)
{
	int *times = arg;

	while (!READ_ONCE(plug_stop) && set_online(false)) {
		if (!set_online(true))
			break;
		++*times;
	}
	return NULL;
}

/*
 * A CPU that is about to go is out of VMX operation a while before it is
 * offline. The client's vCPU was armed there last, and zaps come meanwhile.
 */
static void test_zaps_during_hotplug(void)
{
	pthread_t thread;
	int i, times = 0;

	wh_pin(client.vcpu->tid, 1);
	start(H_TOUCH, SPARSE_VA, SPARSE_PAGES);
	ends_with(3 * SPARSE_PAGES);
	WRITE_ONCE(plug_stop, false);
	wh_point("zap", "delay", 300);
	pthread_create(&thread, NULL, plug, &times);
	for (i = 0; i < SPARSE_PAGES; i++) {
		u64 va = SPARSE_VA + i * SPARSE_STRIDE;

		wh_notify(&worker, va, va + WH_PAGE, WH_NOTIFY_BEGIN);
		wh_notify(&worker, va, va + WH_PAGE, WH_NOTIFY_END);
	}
	wh_point("zap", "delay", 0);
	WRITE_ONCE(plug_stop, true);
	pthread_join(thread, NULL);
	wh_pin(client.vcpu->tid, -1);
	start(H_TOUCH, SPARSE_VA, SPARSE_PAGES);
	wh_ok(ends_with(3 * SPARSE_PAGES) && times > 0 && wh_two_cpus(),
	      "zaps_are_flushed_while_a_cpu_comes_and_goes");
	wh_diag("%d times away and back", times);
}

static void test_hotplug(void)
{
	const char *name = "pairs_live_and_die_while_a_cpu_comes_and_goes";
	int times = 0, calls, right = 0;
	pthread_t thread;

	if (!wh_two_cpus() || access(CPU1_ONLINE, W_OK)) {
		wh_skip("zaps_are_flushed_while_a_cpu_comes_and_goes",
			"no second CPU that can be taken away");
		wh_skip(name, "no second CPU that can be taken away");
		return;
	}
	test_zaps_during_hotplug();
	WRITE_ONCE(plug_stop, false);
	pthread_create(&thread, NULL, plug, &times);
	for (calls = 0; calls < HOTPLUG_CALLS; calls++) {
		wh_notify(&worker, TABLE_VA, TABLE_VA + WH_PAGE, WH_NOTIFY_BEGIN);
		wh_notify(&worker, TABLE_VA, TABLE_VA + WH_PAGE, WH_NOTIFY_END);
		start(H_READ, TABLE_VA, 0);
		right += ends_with(0x600d);
		wh_kill(2);
		attach_again();
	}
	WRITE_ONCE(plug_stop, true);
	pthread_join(thread, NULL);
	wh_ok(times > 1 && right == HOTPLUG_CALLS && wh_two_cpus(), name);
	wh_diag("%d times away and back", times);
}

static void test_server_reset(void)
{
	struct kvm_sregs sregs;
	struct wh_host_stat st;

	start(H_EXITS, 7, 0);
	if (ioctl(srv.boss->fd, KVM_GET_SREGS, &sregs))
		wh_die("KVM_GET_SREGS");
	sregs.cr0 &= ~0x80000000ULL;
	sregs.cr4 &= ~0x20ULL;
	sregs.efer &= ~0x500ULL;
	sregs.cs.l = 0;
	if (ioctl(srv.boss->fd, KVM_SET_SREGS, &sregs))
		wh_die("KVM_SET_SREGS");
	wh_ok(ends_with(WH_EGONE), "call_fails_when_the_server_is_reset");
	wh_ok(!wh_stat(1, &st) && !st.pairs, "reset_server_has_no_pairs");
	wh_eq(wh_server_register(&srv), WH_OK, "reset_server_registers_again");
	wh_wake_worker(&worker);
	attach_again();
	start(H_READ, TABLE_VA, 0);
	wh_ok(ends_with(0x600d), "next_call_works_after_a_reset");
}

/* --- Every point on every CPU ------------------------------------------------------- */

static void run_on(int cpu)
{
	place(cpu, cpu);
	wh_notify(&worker, TABLE_VA, TABLE_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	wh_notify(&worker, TABLE_VA, TABLE_VA + WH_PAGE, WH_NOTIFY_END);
	start(H_READ, TABLE_VA, 0);
	ends_with(0x600d);
	wh_notify(&worker, TABLE_VA, TABLE_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	wh_notify(&worker, TABLE_VA, TABLE_VA + WH_PAGE, WH_NOTIFY_END);
	start(H_SYSCALL, 1, 2);
	ends_with(3);
	start(H_EXITS, 7, 0);
	finish(7);
	wh_kill(2);
	attach_again();
}

static void test_all_points(void)
{
	static const char * const names[] = {
		"enter", "switch", "walk", "install", "zap", "kill", "handoff",
		"continue", "attach",	/* gate: wormhole_gate_test; defer: above, on one */
	};
	int cpu, i, good = 0, ncpus = wh_two_cpus() ? 2 : 1;

	for (cpu = 0; cpu < ncpus; cpu++)
		run_on(cpu);
	for (cpu = 0; cpu < ncpus; cpu++) {
		for (i = 0; i < (int)WH_ARRAY_SIZE(names); i++) {
			if (wh_point_read(names[i], cpu) > 0)
				good++;
			else
				wh_diag("%s was not reached on CPU %d", names[i], cpu);
		}
	}
	wh_eq(good, ncpus * WH_ARRAY_SIZE(names), "each_point_is_reached_on_each_cpu");
}

int main(void)
{
	wh_require_feature();
	if (!wh_points_there()) {
		printf("TAP version 13\n1..0 # SKIP needs CONFIG_KVM_WORMHOLE_TEST\n");
		return 4;
	}
	wh_plan(41);
	wh_watchdog(110);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	log = &G(&client.vm, wh_log);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");

	test_kill_before_an_entry("enter", "call_fails_after_a_kill_before_its_entry");
	test_kill_before_an_entry("switch", "call_fails_after_a_kill_right_before_its_entry");
	test_slow_kill();
	test_interrupts_before_an_entry();
	test_freed_table();
	test_migration_before_an_entry();
	test_armed_where_another_was();
	test_two_vcpus_leave_together();
	test_kill_while_a_call_comes_back();
	test_timer_put_off_during_a_handoff();
	test_deny_during_attach();
	test_tables();
	test_region_goes_during_a_fill();
	test_hotplug();
	test_server_reset();
	test_all_points();
	return wh_exit();
}
