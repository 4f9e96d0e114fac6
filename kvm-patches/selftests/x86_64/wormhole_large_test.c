// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a driver maps in pieces of 2 MiB is in the view by entries of 2 MiB: memory
 * of a display, mapped into the server VM as a passed-through device's, and
 * memory that the host has in huge pages. An entry goes as a whole when a page of
 * it goes, and what is not one piece on both sides is mapped by pages. Needs what
 * wormhole_device_test needs, and transparent huge pages for the second kind.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "wormhole.h"

#define SERVER		1
#define CLIENT		2
#define BLOCKS		3
#define SIZE		(BLOCKS * WH_PAGE_2M)
#define PAGES		512
#define CHANGED		77	/* the page that is another one's affair */
#define PREFILL_VA	0x7e0080000000ULL
#define PREFILL_GPA	0x40800000ULL

/* Writable, not dirty: what remap_pfn_range() makes. */
#define CLEAN		(WH_USER_RW & ~WH_PTE_D)

/* One kind of memory: at @va of the worker, in memslot @slot at @gpa. */
struct kind {
	const char *name;
	u64 va, gpa;
	u32 slot;
	u8 *mem;		/* the test's own mapping */
	u8 *passed;		/* what the server VM has */
};

static struct kind device = {
	.name = "device", .va = 0x7e0000000000ULL, .gpa = 0x30000000ULL, .slot = 2,
};

static struct kind memory = {
	.name = "memory", .va = 0x7e0040000000ULL, .gpa = 0x34000000ULL, .slot = 3,
};

/* The same memory once more, dirty, that no driver has mapped. */
static struct kind own = {
	.name = "own", .va = 0x7e00c0000000ULL, .gpa = 0x34000000ULL, .slot = 3,
};

/* Reads @a1 and more of each page, writes its complement: how many were wrong. */
static s64 sweep_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	s64 wrong = 0;
	u64 i;

	for (i = 0; i < PAGES; i++) {
		u64 *word = (u64 *)(a0 + i * WH_PAGE);

		wrong += READ_ONCE(*word) != a1 + i;
		WRITE_ONCE(*word, ~(a1 + i));
	}
	return wrong;
}

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return 0;
}

enum { H_SWEEP, H_LOAD, H_STORE };
static const wh_handler_fn handlers[] = { sweep_handler, wh_load_handler, store_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_guest_log *log;
static int device_fd;

/* --- Names of points, memory ---------------------------------------------------- */

static bool ok(const struct kind *k, bool cond, const char *what)
{
	char name[120];

	snprintf(name, sizeof(name), "%s_%s", k->name, what);
	return wh_ok(cond, name);
}

static void eq(const struct kind *k, s64 got, s64 want, const char *what)
{
	if (!ok(k, got == want, what))
		wh_diag("got %lld, want %lld", (long long)got, (long long)want);
}

static u64 at(const struct kind *k, int block, int page)
{
	return k->va + block * WH_PAGE_2M + page * WH_PAGE;
}

static u64 *word(const struct kind *k, int block, int page)
{
	return (u64 *)(k->mem + block * WH_PAGE_2M + page * WH_PAGE);
}

static u64 load(u64 va)
{
	return wh_delegate(&client, H_LOAD, va, 0).rax;
}

static void store(u64 va, u64 val)
{
	wh_delegate(&client, H_STORE, va, val);
}

static bool is_large(u64 va)
{
	return wh_view_entry(&worker, va) & WH_EPT_2M;
}

static u64 handoffs(const struct wh_host_stat *before)
{
	return wh_handoffs(CLIENT, before, WH_HANDOFF_FAULT);
}

static u64 view_pages(void)
{
	struct wh_host_stat st;

	wh_stat(SERVER, &st);
	return st.view_pages;
}

/* --- The worker's mapping -------------------------------------------------------- */

static void notify(const struct kind *k, int block, int page, int n, u64 phase)
{
	wh_notify(&worker, at(k, block, page), at(k, block, page + n), phase);
}

static void set_pages(const struct kind *k, int block, u64 flags)
{
	int i;

	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, at(k, block, i),
		       k->gpa + block * WH_PAGE_2M + i * WH_PAGE, flags);
}

static u64 *pte(const struct kind *k, int block, int page)
{
	return wh_pte(&worker.as, at(k, block, page));
}

static void name_block(const struct kind *k, int block)
{
	if (wh_name_device(&worker, at(k, block, 0), at(k, block, PAGES)))
		wh_diag("no name");
}

/* The worker's mapping of a block, made anew, with one page of it so changed. */
static void map_block(const struct kind *k, int block, u64 flags, u64 change)
{
	notify(k, block, 0, PAGES, WH_NOTIFY_BEGIN);
	set_pages(k, block, flags);
	*pte(k, block, CHANGED) ^= change;
	wh_flush_worker(&worker);
	notify(k, block, 0, PAGES, WH_NOTIFY_END);
	name_block(k, block);
}

/* --- Tests ------------------------------------------------------------------------ */

static void test_one_entry(const struct kind *k)
{
	struct wh_host_stat before, st;
	s64 wrong = 0;
	u64 pages;
	int b, i;

	ok(k, is_large(at(k, 0, 0)) && is_large(at(k, 0, PAGES - 1)),
	   "in_one_piece_is_one_entry_before_the_first_call");
	ok(k, is_large(at(k, 1, 0)), "that_the_worker_maps_by_2_mib_is_one_entry");
	for (b = 0; b < 2; b++)
		for (i = 0; i < PAGES; i++)
			*word(k, b, i) = 0xaa0000 * (b + 1) + i;
	load(WH_DATA_VA);
	wh_stat(CLIENT, &before);
	for (b = 0; b < 2; b++)
		wrong += wh_delegate(&client, H_SWEEP, at(k, b, 0), 0xaa0000 * (b + 1)).rax;
	eq(k, wh_view_exits(CLIENT, &before), 0, "is_read_and_written_without_an_exit");
	wh_stat(CLIENT, &st);
	eq(k, st.fills - before.fills, 0, "and_without_a_fill");
	eq(k, wrong, 0, "pages_are_the_right_ones");
	for (b = 0; b < 2; b++)
		for (i = 0; i < PAGES; i++)
			wrong += *word(k, b, i) != ~(0xaa0000ULL * (b + 1) + i);
	eq(k, wrong, 0, "pages_have_what_was_written");
	pages = view_pages();
	notify(k, 0, 0, PAGES, WH_NOTIFY_BEGIN);
	notify(k, 0, 0, PAGES, WH_NOTIFY_END);
	eq(k, pages - view_pages(), PAGES, "entry_counts_as_512_pages");
	name_block(k, 0);
	eq(k, view_pages(), pages, "entry_that_comes_back_too");
}

/* The worker's kernel takes one page away: a fault there waits until it is back. */
static void test_notify(const struct kind *k)
{
	u64 was = *pte(k, 0, CHANGED);
	struct wh_host_stat before;

	log->busy_va = at(k, 0, CHANGED);
	log->busy_pte = wh_kva(&srv.vm, pte(k, 0, CHANGED));
	*word(k, 0, CHANGED) = 1;
	*word(k, 0, CHANGED + 1) = 2;
	*word(k, 0, PAGES - 1) = 3;
	notify(k, 0, CHANGED, 1, WH_NOTIFY_BEGIN);
	ok(k, !wh_view_entry(&worker, at(k, 0, CHANGED)),
	   "page_is_out_of_the_view_when_notify_returns");
	*pte(k, 0, CHANGED) = 0;
	wh_flush_worker(&worker);
	notify(k, 0, CHANGED, 1, WH_NOTIFY_END);
	wh_stat(CLIENT, &before);
	ok(k, load(at(k, 0, CHANGED + 1)) == 2 && load(at(k, 0, PAGES - 1)) == 3,
	   "neighbours_are_there");
	eq(k, handoffs(&before), 0, "by_fills");
	ok(k, !is_large(at(k, 0, 0)), "by_pages");
	store(at(k, 0, CHANGED + 1), 4);
	eq(k, *word(k, 0, CHANGED + 1), 4, "neighbour_is_written");
	wh_stat(CLIENT, &before);
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_LOAD, at(k, 0, CHANGED), 0, 0);
	ok(k, wh_poll(handoffs(&before) == 1, 1000) && client.vcpu->running,
	   "page_that_is_gone_is_the_worker_s_own_fault");
	*pte(k, 0, CHANGED) = was;
	ok(k, wh_join(client.vcpu, 1) && client.vcpu->res.rax == 1, "and_is_read_once_it_is_back");
	log->busy_va = 0;
	name_block(k, 0);
	ok(k, is_large(at(k, 0, CHANGED)), "is_one_entry_again_with_a_new_name");
}

/* The host has page @n of the device there. */
static void host_maps(u8 *page, int n)
{
	if (mmap(page, WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 device_fd, n * WH_PAGE) != page)
		wh_die("mmap over the device");
}

/* The host takes one page away, and gives one: of a device the same, of memory another. */
static void test_host(const struct kind *k)
{
	u8 *page = k->passed + CHANGED * WH_PAGE;
	struct wh_host_stat before;

	*word(k, 0, CHANGED) = 1;
	*word(k, 0, CHANGED - 1) = 5;
	if (k == &device ? munmap(page, WH_PAGE) : madvise(page, WH_PAGE, MADV_DONTNEED))
		wh_die("one page of the host's");
	ok(k, !wh_view_entry(&worker, at(k, 0, 0)),
	   "is_out_of_the_view_when_the_host_has_taken_a_page");
	wh_stat(CLIENT, &before);
	eq(k, load(at(k, 0, CHANGED - 1)), 5, "neighbour_is_read");
	store(at(k, 0, CHANGED - 1), 6);
	eq(k, *word(k, 0, CHANGED - 1), 6, "and_written");
	eq(k, handoffs(&before), 0, "without_the_worker");
	ok(k, !is_large(at(k, 0, CHANGED - 1)), "neighbour_is_a_page");
	if (k == &memory) {
		eq(k, load(at(k, 0, CHANGED)), 0, "page_is_a_new_one");
		store(at(k, 0, CHANGED), 7);
		ok(k, *word(k, 0, CHANGED) == 7 && !is_large(at(k, 0, CHANGED)),
		   "which_is_written_by_its_own_entry");
		return;
	}
	host_maps(page, CHANGED);
	eq(k, load(at(k, 0, CHANGED)), 1, "page_that_came_back_is_read");
	ok(k, is_large(at(k, 0, CHANGED)), "as_part_of_one_entry");
}

/* A page becomes another between the look at it and the entry that it is part of. */
static void test_race(void)
{
	u8 *page = device.passed + CHANGED * WH_PAGE;

	*word(&device, 1, CHANGED) = 12;
	host_maps(page, CHANGED);
	wh_point("install", "hold", 1);
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_LOAD, at(&device, 0, 0), 0, 0);
	wh_ok(wh_point_waits("install"), "fill_is_held_before_its_entry");
	host_maps(page, PAGES + CHANGED);
	wh_point("install", "go", 0);
	wh_ok(wh_join(client.vcpu, 1), "and_ends_after_the_host_has_changed_a_page");
	wh_eq(load(at(&device, 0, CHANGED)), 12, "which_is_the_one_that_is_read");
	wh_ok(!is_large(at(&device, 0, CHANGED)), "by_an_entry_of_its_own");
	host_maps(page, CHANGED);
}

/* The host logs what is written, then does no more, then has nothing there. */
static void test_memslot(const struct kind *k)
{
	struct wh_host_stat before;
	u64 val;

	wh_set_memslot(&srv.vm, k->slot, KVM_MEM_LOG_DIRTY_PAGES, k->gpa, SIZE, k->passed);
	*word(k, 1, 3) = 8;
	wh_stat(CLIENT, &before);
	eq(k, load(at(k, 1, 3)), 8, "that_is_logged_is_read");
	val = wh_view_entry(&worker, at(k, 1, 3));
	ok(k, val & WH_EPT_2M && !(val & WH_EPT_W), "by_one_entry_that_is_read_only");
	store(at(k, 1, 3), 9);
	ok(k, handoffs(&before) == 1 && *word(k, 1, 3) == 9, "and_written_by_the_worker");
	wh_set_memslot(&srv.vm, k->slot, 0, k->gpa, SIZE, k->passed);
	store(at(k, 1, 4), 10);
	ok(k, handoffs(&before) <= 2 && *word(k, 1, 4) == 10 && is_large(at(k, 1, 4)),
	   "that_is_not_logged_any_more_is_written_by_one_entry");
	wh_set_memslot(&srv.vm, k->slot, 0, k->gpa, 0, k->passed);
	ok(k, !wh_view_entry(&worker, at(k, 1, 4)), "without_a_memslot_is_not_in_the_view");
}

static void test_types(void)
{
	u64 val = wh_view_entry(&worker, at(&device, 0, 0));

	wh_ok(WH_EPT_TYPE(val) == WH_TYPE_UC && val & WH_EPT_IPAT,
	      "entry_of_uncached_registers_is_that");
	map_block(&device, 2, CLEAN | WH_PTE_PWT, 0);
	val = wh_view_entry(&worker, at(&device, 2, 0));
	wh_ok(val & WH_EPT_2M && WH_EPT_TYPE(val) == WH_TYPE_WC && val & WH_EPT_IPAT,
	      "entry_of_write_combining_memory_is_that");
}

static void by_pages(u64 change, const char *name)
{
	map_block(&device, 2, CLEAN | WH_PTE_PCD, change);
	wh_ok(wh_view_entry(&worker, at(&device, 2, 0)) && !is_large(at(&device, 2, 0)), name);
}

/* Block 2, where each time one thing is not as it has to be for one entry. */
static void test_by_pages(void)
{
	struct wh_host_stat before;
	u64 val;

	map_block(&device, 2, CLEAN | WH_PTE_PCD, 0);
	wh_ok(is_large(at(&device, 2, 0)), "what_follows_would_be_one_entry");
	by_pages(WH_PTE_PWT | WH_PTE_PCD, "page_of_another_type_is_mapped_by_itself");
	val = wh_view_entry(&worker, at(&device, 2, CHANGED));
	wh_eq(WH_EPT_TYPE(val), WH_TYPE_WC, "with_its_type");
	by_pages(WH_PTE_NX, "what_is_executable_is_not_one_entry");
	by_pages(2 * WH_PAGE, "what_is_not_in_one_piece_is_not_one_entry");
	by_pages(WH_PTE_P, "what_has_a_hole_is_not_one_entry");
	wh_eq(wh_view_entry(&worker, at(&device, 2, CHANGED)), 0, "whose_hole_is_one");
	by_pages(WH_PTE_A, "what_was_not_accessed_is_not_one_entry");
	by_pages(WH_PTE_W, "what_is_in_part_read_only_is_not_one_entry");
	wh_ok(!(wh_view_entry(&worker, at(&device, 2, CHANGED)) & WH_EPT_W) &&
	      wh_view_entry(&worker, at(&device, 2, 0)) & WH_EPT_W,
	      "of_which_the_rest_is_writable");

	notify(&device, 2, 0, PAGES, WH_NOTIFY_BEGIN);
	set_pages(&device, 2, CLEAN | WH_PTE_PCD);
	wh_flush_worker(&worker);
	notify(&device, 2, 0, PAGES, WH_NOTIFY_END);
	wh_stat(CLIENT, &before);
	load(at(&device, 2, 0));
	wh_ok(!is_large(at(&device, 2, 0)), "what_has_no_name_is_not_one_entry");
	wh_name_device(&worker, at(&device, 2, 0), at(&device, 2, PAGES - 1));
	wh_ok(!is_large(at(&device, 2, 0)), "nor_what_has_a_name_in_part");
	name_block(&device, 2);
	val = wh_view_entry(&worker, at(&device, 2, 0));
	wh_ok(val & WH_EPT_2M && val & WH_EPT_W, "entries_of_pages_make_room_for_one");
}

/* The piece is one for the worker, but lies across two of the host's. */
static void test_misaligned(void)
{
	int i;

	notify(&device, 2, 0, PAGES, WH_NOTIFY_BEGIN);
	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, at(&device, 2, i),
		       device.gpa + WH_PAGE_2M + (i + 1) * WH_PAGE, CLEAN | WH_PTE_PCD);
	wh_flush_worker(&worker);
	notify(&device, 2, 0, PAGES, WH_NOTIFY_END);
	name_block(&device, 2);
	*word(&device, 1, 1) = 11;
	wh_ok(load(at(&device, 2, 0)) == 11 && !is_large(at(&device, 2, 0)),
	      "what_lies_across_two_pieces_of_the_host_is_not_one_entry");
}

/* How long it takes KVM to have @mib of a ring in the view, and by how many entries. */
static void measure(u64 mib, bool huge)
{
	u64 size = mib << 20, i, start, ticks, entries = 0;
	u8 *mem = wh_huge_alloc(size);

	if (!huge) {
		/* The same memory in small pages. */
		madvise(mem, size, MADV_NOHUGEPAGE);
		madvise(mem, size, MADV_DONTNEED);
		memset(mem, 0, size);
	}
	wh_set_memslot(&srv.vm, 4, 0, PREFILL_GPA, size, mem);
	for (i = 0; i < size; i += WH_PAGE)
		wh_map(&worker.as, PREFILL_VA + i, PREFILL_GPA + i, CLEAN);
	start = wh_rdtsc();
	wh_name_device(&worker, PREFILL_VA, PREFILL_VA + size);
	ticks = wh_rdtsc() - start;
	for (i = 0; i < size; i += is_large(PREFILL_VA + i) ? WH_PAGE_2M : WH_PAGE)
		entries += !!wh_view_entry(&worker, PREFILL_VA + i);
	wh_diag("%llu MiB in %s pages: %llu entries, %llu ticks", (unsigned long long)mib,
		huge ? "huge" : "small", (unsigned long long)entries,
		(unsigned long long)ticks);
	wh_notify(&worker, PREFILL_VA, PREFILL_VA + size, WH_NOTIFY_BEGIN);
	wh_notify(&worker, PREFILL_VA, PREFILL_VA + size, WH_NOTIFY_END);
	wh_set_memslot(&srv.vm, 4, 0, PREFILL_GPA, 0, mem);
	munmap(mem, size);
}

static void map_kind(const struct kind *k, u64 flags)
{
	wh_set_memslot(&srv.vm, k->slot, 0, k->gpa, SIZE, k->passed);
	set_pages(k, 0, flags);
	wh_map_2m(&worker.as, at(k, 1, 0), k->gpa + WH_PAGE_2M, flags);
	set_pages(k, 2, flags);
	name_block(k, 0);
	name_block(k, 1);
}

static void map_own(void)
{
	own.mem = memory.mem;
	set_pages(&own, 0, WH_USER_RW);
	wh_map_2m(&worker.as, at(&own, 1, 0), own.gpa + WH_PAGE_2M, WH_USER_RW);
	set_pages(&own, 2, WH_USER_RW);
	*pte(&own, 2, CHANGED) &= ~WH_PTE_D;
}

static void make_pair(bool huge)
{
	device_fd = wh_open_device();
	device.mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, device_fd, 0);
	device.passed = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, device_fd, 0);
	if (device.mem == MAP_FAILED || device.passed == MAP_FAILED)
		wh_die("mmap of the device");
	memory.mem = wh_huge_alloc(SIZE);
	memory.passed = memory.mem;
	wh_server_create(&srv, SERVER);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_set_pat(&worker);
	wh_take_flushes(&worker);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
	map_kind(&device, CLEAN | WH_PTE_PCD);
	if (huge) {
		map_kind(&memory, CLEAN);
		map_own();
	}
	log = &G(&srv.vm, wh_log);
	wh_worker_park(&worker);
	wh_client_create(&client, CLIENT, &srv, 0);
	wh_allow(CLIENT, SERVER, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
}

/* No driver has mapped it: what is dirty as a whole is one entry, too. */
static void test_own(void)
{
	ok(&own, is_large(at(&own, 0, 0)),
	   "pages_in_one_piece_are_one_entry_before_the_first_call");
	ok(&own, is_large(at(&own, 1, 0)), "large_page_is_one_entry_before_the_first_call");
	ok(&own, wh_view_entry(&worker, at(&own, 2, 0)) && !is_large(at(&own, 2, 0)) &&
	   !(wh_view_entry(&worker, at(&own, 2, CHANGED)) & WH_EPT_W),
	   "pages_of_which_one_is_clean_are_none");
	notify(&own, 1, CHANGED, 1, WH_NOTIFY_BEGIN);
	notify(&own, 1, CHANGED, 1, WH_NOTIFY_END);
	ok(&own, !wh_view_entry(&worker, at(&own, 1, 0)), "entry_goes_with_any_of_its_pages");
	*word(&own, 1, 3) = 33;
	ok(&own, load(at(&own, 1, 3)) == 33 && is_large(at(&own, 1, 0)), "large_page_comes_again");
}

static void test_memory(void)
{
	u64 val = wh_view_entry(&worker, at(&memory, 0, 0));
	long pinned = wh_pinned_pages();

	wh_ok(WH_EPT_TYPE(val) == WH_TYPE_WB && val & WH_EPT_IPAT,
	      "entry_of_memory_is_write_back");
	test_own();
	test_one_entry(&memory);
	test_notify(&memory);
	notify(&memory, 0, 0, PAGES, WH_NOTIFY_BEGIN);
	notify(&memory, 0, 0, PAGES, WH_NOTIFY_END);
	wh_eq(pinned - wh_pinned_pages(), PAGES, "entry_of_memory_is_512_pins");
	name_block(&memory, 0);
	wh_eq(wh_pinned_pages(), pinned, "and_takes_them_again");
	test_host(&memory);
	test_memslot(&memory);
	measure(wh_env("WH_PREFILL_MIB", 8), true);
	measure(wh_env("WH_PREFILL_MIB", 8), false);
}

int main(void)
{
	bool huge;

	wh_require_entries();
	huge = wh_huge_pages();
	wh_plan(huge ? 80 : 45);
	wh_watchdog(60);
	make_pair(huge);
	test_one_entry(&device);
	test_types();
	test_notify(&device);
	test_host(&device);
	test_race();
	test_by_pages();
	test_misaligned();
	if (huge)
		test_memory();
	else
		wh_skip("memory_in_huge_pages", "this host makes none");
	return wh_exit();
}
