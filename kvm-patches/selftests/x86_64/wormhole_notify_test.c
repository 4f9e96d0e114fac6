// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invalidation: once NOTIFY END has returned, or the host's own change of the
 * server's memory, the view shows nothing of before. Bochs flushes its TLB on
 * every VMFUNC, so what is tested there are the tables, not the INVEPTs.
 */
#define FALLOC_FL_KEEP_SIZE	1
#define FALLOC_FL_PUNCH_HOLE	2
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "wormhole.h"

#define PAGE_VA		0x7e0000000000ULL	/* the page that changes */
#define EXTRA_GPA	0x20000000ULL		/* memslot of its own */
#define EXTRA_VA	0x7e0000100000ULL
#define GENERATIONS	300

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return READ_ONCE(*(u64 *)a0);
}

enum { H_LOAD, H_STORE };
static const wh_handler_fn handlers[] = { wh_load_handler, store_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_guest_log *log;
static u64 pages[2], *pte;
static u64 *words;	/* data area: generation published, stop */
static u8 *extra;

static u64 load(u64 va)
{
	return wh_delegate(&client, H_LOAD, va, 0).rax;
}

static u64 *word_of(u64 gpa)
{
	return wh_gpa(&srv.vm, gpa);
}

static void remap(u64 gpa, u64 flags)
{
	wh_notify(&worker, PAGE_VA, PAGE_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	WRITE_ONCE(*pte, 0);
	wh_flush_worker(&worker);
	WRITE_ONCE(*pte, gpa ? gpa | flags : 0);
	wh_notify(&worker, PAGE_VA, PAGE_VA + WH_PAGE, WH_NOTIFY_END);
}

static void test_notify(void)
{
	struct wh_host_stat before, st;

	*word_of(pages[0]) = 100;
	*word_of(pages[1]) = 200;
	remap(pages[0], WH_USER_RW);
	wh_eq(load(PAGE_VA), 100, "mapped_page_is_seen");
	wh_stat(2, &before);
	remap(pages[1], WH_USER_RW);
	wh_stat(2, &st);
	wh_eq(st.zapped_pages - before.zapped_pages, 1, "notify_zaps_the_page");
	wh_eq(load(PAGE_VA), 200, "remapped_page_is_seen_after_notify");

	remap(pages[1], WH_USER_RO & ~WH_PTE_NX);
	wh_stat(2, &before);
	log->busy_va = 0;
	wh_eq(load(PAGE_VA), 200, "page_made_read_only_is_readable");
	wh_eq(wh_handoffs(2, &before, WH_HANDOFF_FAULT), 0, "by_a_fill");
	log->busy_va = PAGE_VA;

	wh_stat(2, &before);
	wh_notify(&worker, PAGE_VA, PAGE_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	wh_eq(load(PAGE_VA), 200, "page_under_invalidation_is_read_by_handoff");
	wh_eq(load(PAGE_VA), 200, "and_again");
	wh_eq(wh_handoffs(2, &before, WH_HANDOFF_FAULT), 2, "nothing_is_filled_before_notify_end");
	wh_notify(&worker, PAGE_VA, PAGE_VA + WH_PAGE, WH_NOTIFY_END);
	wh_eq(load(PAGE_VA), 200, "page_is_seen_after_notify_end");
	wh_eq(wh_handoffs(2, &before, WH_HANDOFF_FAULT), 2, "by_a_fill_again");
	wh_stat(2, &before);
	wh_notify(&worker, 0, WH_LAZY_VA, WH_NOTIFY_BEGIN);
	wh_notify(&worker, 0, WH_LAZY_VA, WH_NOTIFY_END);
	wh_stat(2, &st);
	wh_ok(st.zapped_pages - before.zapped_pages > 100, "notify_of_a_large_range_zaps_all");
	wh_eq(load(PAGE_VA), 200, "and_all_is_filled_again");
}

/*
 * Client, CPL 3: read until told to stop; what is read may never be older than
 * what was published before the read began. Returns the first offence.
 */
static u64 guest_read_loop(void)
{
	u64 *word = (void *)WH_DATA_VA;
	u64 published, seen;

	while (!READ_ONCE(word[1])) {
		published = READ_ONCE(word[0]);
		seen = wh_guest_delegate(H_LOAD, PAGE_VA, 0);
		word[2]++;
		if (seen < published || (s64)seen < 0)
			return published << 32 | (seen & 0xffffffff);
	}
	return 0;
}

static void test_race(void)
{
	u64 i, reads = 0;
	bool went_on;

	memset(words, 0, 3 * sizeof(*words));
	*word_of(pages[0]) = 0;
	remap(pages[0], WH_USER_RW);
	wh_start(client.vcpu, &client.as, 3, guest_read_loop, 0, 0, 0, 0);
	for (i = 1; i <= GENERATIONS && client.vcpu->running; i++) {
		WRITE_ONCE(*word_of(pages[i & 1]), i);
		remap(pages[i & 1], WH_USER_RW);
		WRITE_ONCE(words[0], i);
		if (i % 16)
			continue;
		/* Let the reader fill it before it goes again. */
		reads = words[2];
		went_on = wh_poll(words[2] > reads + 1, 100);
		if (!went_on)
			wh_diag("the reader stands still");
	}
	words[1] = 1;
	wh_ok(wh_join(client.vcpu, 1), "reader_ends");
	wh_eq(client.vcpu->res.rax, 0, "no_read_is_older_than_the_last_notify_end");
	wh_diag("%llu reads in %d generations", (unsigned long long)words[2], GENERATIONS);
}

/* The host takes the page away; the server's RAM is private anonymous memory. */
static void test_host_discard(void)
{
	u64 i, stale = 0, before;

	remap(pages[0], WH_USER_RW);
	for (i = 1; i <= 50; i++) {
		before = wh_delegate(&client, H_STORE, PAGE_VA, i).rax;
		if (madvise(wh_gpa(&srv.vm, pages[0]), WH_PAGE, MADV_DONTNEED))
			wh_die("madvise");
		stale += before != i || load(PAGE_VA) != 0;
	}
	wh_eq(stale, 0, "discarded_page_reads_as_zero_in_the_view");
	wh_delegate(&client, H_STORE, PAGE_VA, 51);
	wh_eq(*word_of(pages[0]), 51, "view_and_host_share_the_new_page");
}

static void test_host_replace(void)
{
	void *addr = wh_gpa(&srv.vm, pages[0]);

	load(PAGE_VA);
	if (mmap(addr, WH_PAGE, PROT_READ | PROT_WRITE,
		 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != addr)
		wh_die("mmap");
	*word_of(pages[0]) = 0x4e3;
	wh_eq(load(PAGE_VA), 0x4e3, "replaced_page_is_seen");
}

static void test_window_hole(void)
{
	u64 off = WH_DATA_OFFSET + 3 * WH_PAGE, va = WH_WINDOW_VA + off;
	u64 *mine = (u64 *)(client.part_mem + off);

	*mine = 1;
	load(va);
	if (fallocate(srv.win.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      off, WH_PAGE))
		wh_die("fallocate");
	*mine = 2;
	wh_eq(load(va), 2, "punched_window_page_is_one_page_for_both_sides");
}

static void set_extra_slot(u64 size)
{
	wh_set_memslot(&srv.vm, 2, 0, EXTRA_GPA, size, extra);
}

/*
 * Deleted memory is a device's address for the server: the access is handed
 * off and ends in the server's VMM, which answers it.
 */
static void test_memslot(void)
{
	struct kvm_run *run = worker.vcpu->run;
	bool mmio;

	wh_eq(load(EXTRA_VA), 0x1111, "page_of_extra_memslot_is_seen");
	set_extra_slot(0);
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_LOAD, EXTRA_VA, 0, 0);
	mmio = wh_join(worker.vcpu, 1) && run->exit_reason == KVM_EXIT_MMIO &&
	       run->mmio.phys_addr == EXTRA_GPA && !run->mmio.is_write;
	wh_ok(mmio, "access_to_deleted_memslot_ends_in_the_server_vmm");
	if (!mmio) {
		wh_skip("its_answer_comes_back_to_the_client", "no MMIO exit");
		return;
	}
	*(u64 *)run->mmio.data = 0x2222;
	wh_resume(worker.vcpu);
	wh_ok(wh_join(client.vcpu, 1) && client.vcpu->res.rax == 0x2222,
	      "its_answer_comes_back_to_the_client");
	*(u64 *)extra = 0x3333;
	set_extra_slot(WH_PAGE);
	wh_eq(load(EXTRA_VA), 0x3333, "page_of_new_memslot_is_seen");
}

int main(void)
{
	wh_require_feature();
	wh_plan(24);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	extra = mmap(NULL, WH_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(u64 *)extra = 0x1111;
	set_extra_slot(WH_PAGE);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	pages[0] = wh_page_alloc(&srv.vm);
	pages[1] = wh_page_alloc(&srv.vm);
	pte = wh_pte(&worker.as, PAGE_VA);
	wh_map(&worker.as, EXTRA_VA, EXTRA_GPA, WH_USER_RW);
	log = &G(&srv.vm, wh_log);
	log->busy_va = PAGE_VA;
	log->busy_pte = wh_kva(&srv.vm, pte);
	wh_take_flushes(&worker);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
	wh_worker_park(&worker);
	wh_client_create(&client, 2, &srv, 0);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	test_notify();
	test_race();
	test_host_discard();
	test_host_replace();
	test_window_hole();
	test_memslot();
	return wh_exit();
}
