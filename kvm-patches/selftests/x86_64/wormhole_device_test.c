// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a device in a view: a display that no driver uses, its memory mapped
 * into the server VM as a passed-through device's, by entries of the worker that
 * are writable and not dirty, as a driver makes them. Needs VMFUNC, the file
 * `entry` of CONFIG_KVM_WORMHOLE_TEST, and a display to write to: any that has
 * no driver, or WH_DEVICE, its folder in sysfs.
 */
#include <string.h>
#include <sys/mman.h>
#include "wormhole.h"

#define SERVER			1
#define CLIENT			2
#define DEVICE_SLOT		2
#define DEVICE_GPA		0x30000000ULL
#define DEVICE_VA		0x7e0000000000ULL
#define RAM_VA			0x7e0001000000ULL
#define PAGES			16
#define END_VA			(DEVICE_VA + PAGES * WH_PAGE)
#define GENERATIONS		200
#define MAX_RANGES		1024

/* Writable, not dirty: what remap_pfn_range() makes. */
#define CLEAN			(WH_USER_RW & ~WH_PTE_D)

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return 0;
}

enum { H_LOAD, H_STORE };
static const wh_handler_fn handlers[] = { wh_load_handler, store_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static u8 *device;	/* all of it, the test's own mapping */
static u8 *passed;	/* what the server VM has */
static int device_fd;
static u64 *words;	/* data area: generation published, stop, reads */

/* --- The device -------------------------------------------------------------- */

static void open_device(void)
{
	device_fd = wh_open_device();
	device = mmap(NULL, PAGES * WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		      device_fd, 0);
	passed = mmap(NULL, PAGES * WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		      device_fd, 0);
	if (device == MAP_FAILED || passed == MAP_FAILED)
		wh_die("mmap of the device");
}

/* A register of page @n. */
static u64 reg(int n)
{
	return READ_ONCE(*(u64 *)(device + n * WH_PAGE));
}

static void set_reg(int n, u64 val)
{
	WRITE_ONCE(*(u64 *)(device + n * WH_PAGE), val);
}

static u64 va(int n)
{
	return DEVICE_VA + n * WH_PAGE;
}

/* --- Both VMs ------------------------------------------------------------------ */

/* The worker's mapping of page @n, made anew as its kernel would. */
static void map_page(int n, u64 flags)
{
	wh_notify(&worker, va(n), va(n) + WH_PAGE, WH_NOTIFY_BEGIN);
	wh_map(&worker.as, va(n), DEVICE_GPA + n * WH_PAGE, flags);
	wh_notify(&worker, va(n), va(n) + WH_PAGE, WH_NOTIFY_END);
}

/* The host maps page @n of the device in place of page @at. */
static void host_maps(int at, int n)
{
	void *addr = passed + at * WH_PAGE;

	if (mmap(addr, WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 device_fd, n * WH_PAGE) != addr)
		wh_die("mmap over the device");
}

static s64 name_range(u64 start, u64 end)
{
	return wh_name_device(&worker, start, end);
}

/* What the view shows at @addr. */
static u64 entry_at(u64 addr)
{
	return wh_view_entry(&worker, addr);
}

static u64 load(u64 addr)
{
	return wh_delegate(&client, H_LOAD, addr, 0).rax;
}

static void store(u64 addr, u64 val)
{
	wh_delegate(&client, H_STORE, addr, val);
}

static u64 handoffs(const struct wh_host_stat *before)
{
	return wh_handoffs(CLIENT, before, WH_HANDOFF_FAULT);
}

static void make_pair(void)
{
	int i;

	wh_server_create(&srv, SERVER);
	wh_server_register(&srv);
	wh_set_memslot(&srv.vm, DEVICE_SLOT, 0, DEVICE_GPA, PAGES * WH_PAGE, passed);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_set_pat(&worker);
	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, va(i), DEVICE_GPA + i * WH_PAGE, CLEAN | WH_PTE_PCD);
	wh_map(&worker.as, RAM_VA, wh_page_alloc(&srv.vm), WH_USER_RW | WH_PTE_PWT);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
}

/* --- Tests --------------------------------------------------------------------- */

static void test_arguments(void)
{
	struct wh_result r;
	u64 i, last = RAM_VA + 2 * MAX_RANGES * WH_PAGE;
	s64 ret = WH_OK;

	wh_eq(name_range(DEVICE_VA + 1, END_VA), WH_EINVAL, "range_begins_at_a_page");
	wh_eq(name_range(DEVICE_VA, END_VA + 8), WH_EINVAL, "range_ends_at_a_page");
	wh_eq(name_range(DEVICE_VA, DEVICE_VA), WH_EINVAL, "range_is_not_empty");
	wh_eq(name_range(DEVICE_VA, 1ULL << 48), WH_EINVAL, "range_is_of_user_addresses");
	r = wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_DEVICE, worker.pair + 7,
		    DEVICE_VA, END_VA, 0);
	wh_eq(r.rax, WH_ENOENT, "range_is_of_a_pair");
	r = wh_leaf(worker.vcpu, &worker.as, 3, WH_LEAF_DEVICE, worker.pair,
		    DEVICE_VA, END_VA, 0);
	wh_eq(r.rax, WH_EPERM, "worker_itself_names_nothing");
	for (i = 0; i < MAX_RANGES && !ret; i++)
		ret = name_range(RAM_VA + (2 * i + 2) * WH_PAGE,
				 RAM_VA + (2 * i + 3) * WH_PAGE);
	wh_eq(ret, WH_OK, "1024_ranges_have_names");
	wh_eq(name_range(DEVICE_VA, END_VA), WH_ENOMEM, "one_more_is_refused");
	/* The last of them goes, and one of three pages takes its place. */
	wh_notify(&worker, last, last + WH_PAGE, WH_NOTIFY_BEGIN);
	wh_notify(&worker, last, last + WH_PAGE, WH_NOTIFY_END);
	name_range(DEVICE_VA, va(3));
	wh_notify(&worker, va(1), va(2), WH_NOTIFY_BEGIN);
	wh_notify(&worker, va(1), va(2), WH_NOTIFY_END);
	wh_eq(name_range(va(2), va(3)), WH_ENOMEM, "name_cut_in_two_makes_no_more_than_1024");
	wh_notify(&worker, DEVICE_VA, END_VA, WH_NOTIFY_BEGIN);
	wh_notify(&worker, DEVICE_VA, END_VA, WH_NOTIFY_END);
	wh_notify(&worker, RAM_VA, RAM_VA + WH_LAZY_PAGES * 4096 * WH_PAGE,
		  WH_NOTIFY_BEGIN);
	wh_notify(&worker, RAM_VA, RAM_VA + WH_LAZY_PAGES * 4096 * WH_PAGE,
		  WH_NOTIFY_END);
	wh_eq(name_range(DEVICE_VA, va(4)), WH_OK, "names_end_with_a_notify");
	wh_eq(name_range(DEVICE_VA, va(4)), WH_OK, "second_name_is_none");
}

/* Pages 0 to 3 have had a name since before the first park. */
static void test_named(void)
{
	struct wh_host_stat before, st;
	u64 i, wrong = 0;

	wh_ok(entry_at(va(1)) & WH_EPT_W, "named_page_is_in_the_view_before_the_first_call");
	store(RAM_VA, 0);
	wh_stat(CLIENT, &before);
	for (i = 1; i <= 1000; i++) {
		store(va(i & 3), i);
		wrong += reg(i & 3) != i || load(va(i & 3)) != i;
	}
	wh_eq(wrong, 0, "thousand_writes_reach_the_device");
	wh_eq(wh_view_exits(CLIENT, &before), 0, "without_an_exit");
	wh_stat(CLIENT, &st);
	wh_eq(st.fills - before.fills, 0, "and_without_a_fill");
}

static void test_unnamed(void)
{
	struct wh_host_stat before;

	set_reg(4, 0x4444);
	wh_stat(CLIENT, &before);
	wh_eq(load(va(4)), 0x4444, "page_without_a_name_is_read");
	wh_eq(handoffs(&before), 0, "by_a_fill");
	wh_ok(!(entry_at(va(4)) & WH_EPT_W), "it_is_not_writable_before_it_is_dirty");
	store(va(4), 0x4545);
	wh_eq(reg(4), 0x4545, "write_reaches_the_device_all_the_same");
	wh_eq(handoffs(&before), 1, "by_the_worker_itself");
	wh_eq(name_range(va(5), va(7)), WH_OK, "name_is_given_after_the_first_park");
	wh_ok(entry_at(va(6)) & WH_EPT_W, "page_is_in_the_view_when_that_returns");
	map_page(6, CLEAN | WH_PTE_PCD);
	wh_eq(entry_at(va(6)), 0, "notify_takes_it_out");
	wh_stat(CLIENT, &before);
	store(va(6), 0x6666);
	wh_eq(handoffs(&before), 1, "and_takes_the_name_away");
}

/* A write that finds page @n not in the view: how many handoffs it takes. */
static u64 write_anew(int n)
{
	struct wh_host_stat before;

	host_maps(n, n);
	wh_stat(CLIENT, &before);
	store(va(n), n);
	return handoffs(&before);
}

/* A notice about a part of what has one name. */
static void test_parts(void)
{
	u64 refused = 0;
	int i;

	for (i = 8; i < 13; i++)
		map_page(i, CLEAN | WH_PTE_PCD);
	wh_eq(name_range(va(8), va(13)), WH_OK, "five_pages_get_one_name");
	map_page(10, CLEAN | WH_PTE_PCD);
	wh_eq(write_anew(9), 0, "notify_about_one_leaves_those_below_theirs");
	wh_eq(write_anew(11), 0, "and_those_above");
	wh_eq(write_anew(10), 1, "and_that_one_without");
	map_page(8, CLEAN | WH_PTE_PCD);
	wh_eq(write_anew(8) + write_anew(12), 1, "name_gets_shorter_at_its_begin");
	map_page(12, CLEAN | WH_PTE_PCD);
	wh_eq(write_anew(12) + write_anew(11), 1, "and_at_its_end");
	for (i = 0; i < 2 * MAX_RANGES; i++) {
		map_page(10, CLEAN | WH_PTE_PCD);
		refused += name_range(va(8), va(13)) != WH_OK;
	}
	wh_eq(refused, 0, "new_name_of_the_whole_takes_its_parts_in");
	for (i = 8, refused = 0; i < 13; i++)
		refused += write_anew(i);
	wh_eq(refused, 0, "and_all_of_it_has_that");
}

/* What the worker may not write, and what its driver says is for writing alone. */
static void test_rights(void)
{
	struct wh_guest_log *log = &G(&srv.vm, wh_log);
	u64 *pte = wh_pte(&worker.as, va(7));
	struct wh_host_stat before;

	map_page(7, WH_USER_RO | WH_PTE_PCD);
	name_range(va(7), va(8));
	set_reg(7, 0x7777);
	wh_stat(CLIENT, &before);
	wh_eq(load(va(7)), 0x7777, "page_mapped_read_only_is_read");
	wh_eq(wh_view_exits(CLIENT, &before), 0, "which_takes_no_exit");
	log->busy_va = va(7);
	log->busy_pte = wh_kva(&srv.vm, pte);
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_STORE, va(7), 0x7878, 0);
	wh_ok(wh_poll(handoffs(&before) == 1, 1000) && client.vcpu->running &&
	      reg(7) == 0x7777, "write_to_it_is_the_worker_s_own_fault");
	WRITE_ONCE(*pte, *pte | WH_PTE_W);
	wh_ok(wh_join(client.vcpu, 1) && reg(7) == 0x7878, "and_done_once_the_worker_may");
	log->busy_va = 0;

	/* PROT_WRITE alone makes the same entry as with PROT_READ. */
	map_page(7, CLEAN | WH_PTE_PCD);
	name_range(va(7), va(8));
	wh_ok(entry_at(va(7)) & WH_EPT_R && load(va(7)) == 0x7878,
	      "page_mapped_for_writing_is_read");
	if (mprotect(passed + 7 * WH_PAGE, WH_PAGE, PROT_WRITE))
		wh_die("mprotect");
	map_page(7, CLEAN | WH_PTE_PCD);
	name_range(va(7), va(8));
	wh_eq(entry_at(va(7)), 0, "unless_the_vmm_may_not_read_it");
	if (mprotect(passed + 7 * WH_PAGE, WH_PAGE, PROT_READ))
		wh_die("mprotect");
	map_page(7, WH_USER_RO | WH_PTE_PCD);
	name_range(va(7), va(8));
	wh_ok(entry_at(va(7)) && !(entry_at(va(7)) & WH_EPT_W),
	      "page_that_the_vmm_reads_alone_is_read_only");
}

static void type_is(int n, u64 flags, u64 type, const char *name)
{
	u64 val;

	map_page(n, CLEAN | flags);
	name_range(va(n), va(n) + WH_PAGE);
	val = entry_at(va(n));
	if (!wh_ok(WH_EPT_TYPE(val) == type && val & WH_EPT_IPAT, name))
		wh_diag("entry 0x%llx", (unsigned long long)val);
}

static void test_types(void)
{
	u64 val;

	type_is(8, WH_PTE_PCD, WH_TYPE_UC, "register_mapped_uncached_minus_is_uncached");
	type_is(9, WH_PTE_PCD | WH_PTE_PWT, WH_TYPE_UC, "register_mapped_uncached_is_uncached");
	type_is(10, WH_PTE_PWT, WH_TYPE_WC, "register_mapped_write_combining_is_that");
	type_is(11, 0, WH_TYPE_UC, "register_mapped_write_back_is_uncached");
	type_is(12, WH_PTE_PAT | WH_PTE_PWT, WH_TYPE_UC,
		"register_mapped_write_protected_is_uncached");
	type_is(13, WH_PTE_PAT | WH_PTE_PCD | WH_PTE_PWT, WH_TYPE_UC,
		"register_mapped_write_through_is_uncached");
	val = entry_at(RAM_VA);
	wh_ok(WH_EPT_TYPE(val) == WH_TYPE_WB && val & WH_EPT_IPAT,
	      "memory_is_write_back_whatever_the_worker_says");
}

/* Client, CPL 3: nothing read is older than what was published before. */
static u64 guest_read_loop(void)
{
	u64 *word = (void *)WH_DATA_VA;
	u64 published, seen;

	while (!READ_ONCE(word[1])) {
		published = READ_ONCE(word[0]);
		seen = wh_guest_delegate(H_LOAD, DEVICE_VA + 14 * WH_PAGE, 0);
		word[2]++;
		if (seen < published || (s64)seen < 0)
			return published << 32 | (seen & 0xffffffff);
	}
	return 0;
}

static void test_revocation(void)
{
	u64 i, reads;

	memset(words, 0, 3 * sizeof(*words));
	set_reg(14, 0);
	map_page(14, CLEAN | WH_PTE_PCD);
	name_range(va(14), va(15));
	wh_start(client.vcpu, &client.as, 3, guest_read_loop, 0, 0, 0, 0);
	for (i = 1; i <= GENERATIONS && client.vcpu->running; i++) {
		set_reg(14 + (i & 1), i);
		host_maps(14, 14 + (i & 1));
		WRITE_ONCE(words[0], i);
		reads = words[2];
		if (i % 16 == 0 && !wh_poll(words[2] > reads + 1, 100))
			wh_diag("the reader stands still");
	}
	words[1] = 1;
	wh_ok(wh_join(client.vcpu, 1), "reader_ends");
	wh_eq(client.vcpu->res.rax, 0, "no_read_is_older_than_the_host_s_last_change");
	wh_diag("%llu reads in %d generations", (unsigned long long)words[2], GENERATIONS);
	load(va(14));
	munmap(passed + 14 * WH_PAGE, WH_PAGE);
	wh_eq(entry_at(va(14)), 0, "what_the_host_unmaps_is_not_in_the_view");
	host_maps(14, 14);
	set_reg(14, 0x1e57);
	wh_eq(load(va(14)), 0x1e57, "what_it_maps_again_is");
}

int main(void)
{
	wh_require_entries();
	open_device();
	wh_plan(51);
	wh_watchdog(60);
	make_pair();
	test_arguments();
	wh_worker_park(&worker);
	wh_client_create(&client, CLIENT, &srv, 0);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(CLIENT, SERVER, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	test_named();
	test_unnamed();
	test_parts();
	test_rights();
	test_types();
	test_revocation();
	return wh_exit();
}
