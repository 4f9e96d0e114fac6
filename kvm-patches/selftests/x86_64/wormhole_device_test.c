// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a device in a view: a display that no driver uses, its memory mapped
 * into the server VM as a passed-through device's, by entries of the worker that
 * are writable and not dirty, as a driver makes them. Needs VMFUNC, the file
 * `entry` of CONFIG_KVM_WORMHOLE_TEST, and a display to write to: any that has
 * no driver, or WH_DEVICE, its folder in sysfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>
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
#define PWT			BIT_ULL(3)
#define PCD			BIT_ULL(4)
#define PAT			BIT_ULL(7)
/* As Linux sets it: WB, WC, UC-, UC, WB, WP, UC-, WT. */
#define MSR_PAT			0x277
#define LINUX_PAT		0x0407050600070106ULL

#define EPT_WRITABLE		BIT_ULL(1)
#define EPT_TYPE(entry)		((entry) >> 3 & 7)
#define EPT_IPAT		BIT_ULL(6)
#define ENTRY_FILE		"/sys/kernel/debug/kvm-wormhole/entry"
enum { UC = 0, WC = 1, WB = 6 };

static s64 load_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return READ_ONCE(*(u64 *)a0);
}

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return 0;
}

enum { H_LOAD, H_STORE };
static const wh_handler_fn handlers[] = { load_handler, store_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static u8 *device;	/* all of it, the test's own mapping */
static u8 *passed;	/* what the server VM has */
static int device_fd;
static u64 *words;	/* data area: generation published, stop, reads */

/* --- The device -------------------------------------------------------------- */

/* Does file @name of the folder begin with @text? */
static bool says(const char *dir, const char *name, const char *text)
{
	char path[300], line[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	return !strncmp(line, text, strlen(text));
}

static bool is_idle_display(const char *dir)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/driver", dir);
	return access(path, F_OK) && says(dir, "class", "0x03");
}

static const char *find_device(void)
{
	static char dir[200];
	const char *named = getenv("WH_DEVICE");
	glob_t all;
	size_t i;

	if (named)
		return named;
	if (glob("/sys/bus/pci/devices/*", 0, NULL, &all))
		return NULL;
	for (i = 0; i < all.gl_pathc && !dir[0]; i++)
		if (is_idle_display(all.gl_pathv[i]))
			snprintf(dir, sizeof(dir), "%s", all.gl_pathv[i]);
	globfree(&all);
	return dir[0] ? dir : NULL;
}

/*
 * The memory of the display that Bochs emulates answers in a graphics mode only:
 * 640x480, 32 bits, linear. Registers by index and data port.
 */
static void turn_on_bochs_display(void)
{
	static const u16 mode[][2] = { { 1, 640 }, { 2, 480 }, { 3, 32 }, { 4, 0x41 } };
	unsigned int i;

	if (ioperm(0x1ce, 4, 1))
		wh_die("ioperm");
	for (i = 0; i < WH_ARRAY_SIZE(mode); i++) {
		outw(mode[i][0], 0x1ce);
		outw(mode[i][1], 0x1cf);
	}
}

static void open_device(void)
{
	const char *dir = find_device();
	char path[300];

	if (!dir)
		wh_skip_all("no display without a driver; WH_DEVICE names another device");
	snprintf(path, sizeof(path), "%s/enable", dir);
	wh_write_file(path, "1");
	if (says(dir, "vendor", "0x1234") && says(dir, "device", "0x1111"))
		turn_on_bochs_display();
	snprintf(path, sizeof(path), "%s/resource0", dir);
	device_fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (device_fd < 0)
		wh_die(path);
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

static s64 name_range(u64 start, u64 end)
{
	return wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_DEVICE, worker.pair,
		       start, end, 0).rax;
}

/* What the view shows at @addr. */
static u64 entry_at(u64 addr)
{
	unsigned long long val = ~0ULL;
	char line[80];
	FILE *f;

	snprintf(line, sizeof(line), "%d %llu %llx", SERVER,
		 (unsigned long long)worker.pair, (unsigned long long)addr);
	if (wh_write_file(ENTRY_FILE, line))
		wh_die(ENTRY_FILE);
	f = fopen(ENTRY_FILE, "r");
	if (!f || fscanf(f, "%llx", &val) != 1)
		wh_die(ENTRY_FILE);
	fclose(f);
	return val;
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

static u64 guest_set_pat(void)
{
	wh_wrmsr(MSR_PAT, LINUX_PAT);
	return 0;
}

static void make_pair(void)
{
	int i;

	wh_server_create(&srv, SERVER);
	wh_server_register(&srv);
	wh_set_memslot(&srv.vm, DEVICE_SLOT, 0, DEVICE_GPA, PAGES * WH_PAGE, passed);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_call(srv.boss, &srv.kernel, 0, guest_set_pat, 0, 0, 0, 0);
	wh_call(worker.vcpu, &worker.as, 0, guest_set_pat, 0, 0, 0, 0);
	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, va(i), DEVICE_GPA + i * WH_PAGE, CLEAN | PCD);
	wh_map(&worker.as, RAM_VA, wh_page_alloc(&srv.vm), WH_USER_RW | PWT);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
}

/* --- Tests --------------------------------------------------------------------- */

static void test_arguments(void)
{
	struct wh_result r;
	s64 ret = WH_OK;
	u64 i;

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

	wh_ok(entry_at(va(1)) & EPT_WRITABLE, "named_page_is_in_the_view_before_the_first_call");
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
	wh_ok(!(entry_at(va(4)) & EPT_WRITABLE), "it_is_not_writable_before_it_is_dirty");
	store(va(4), 0x4545);
	wh_eq(reg(4), 0x4545, "write_reaches_the_device_all_the_same");
	wh_eq(handoffs(&before), 1, "by_the_worker_itself");
	wh_eq(name_range(va(5), va(7)), WH_OK, "name_is_given_after_the_first_park");
	wh_ok(entry_at(va(6)) & EPT_WRITABLE, "page_is_in_the_view_when_that_returns");
	map_page(6, CLEAN | PCD);
	wh_eq(entry_at(va(6)), 0, "notify_takes_it_out");
	wh_stat(CLIENT, &before);
	store(va(6), 0x6666);
	wh_eq(handoffs(&before), 1, "and_takes_the_name_away");
}

static void type_is(int n, u64 flags, u64 type, const char *name)
{
	u64 val;

	map_page(n, CLEAN | flags);
	name_range(va(n), va(n) + WH_PAGE);
	val = entry_at(va(n));
	if (!wh_ok(EPT_TYPE(val) == type && val & EPT_IPAT, name))
		wh_diag("entry 0x%llx", (unsigned long long)val);
}

static void test_types(void)
{
	u64 val;

	type_is(8, PCD, UC, "register_mapped_uncached_minus_is_uncached");
	type_is(9, PCD | PWT, UC, "register_mapped_uncached_is_uncached");
	type_is(10, PWT, WC, "register_mapped_write_combining_is_that");
	type_is(11, 0, UC, "register_mapped_write_back_is_uncached");
	type_is(12, PAT | PWT, UC, "register_mapped_write_protected_is_uncached");
	type_is(13, PAT | PCD | PWT, UC, "register_mapped_write_through_is_uncached");
	val = entry_at(RAM_VA);
	wh_ok(EPT_TYPE(val) == WB && val & EPT_IPAT,
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

/* The host maps another page of the device there: page @n. */
static void host_maps(int n)
{
	void *at = passed + 14 * WH_PAGE;

	if (mmap(at, WH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 device_fd, n * WH_PAGE) != at)
		wh_die("mmap over the device");
}

static void test_revocation(void)
{
	u64 i, reads;

	memset(words, 0, 3 * sizeof(*words));
	set_reg(14, 0);
	map_page(14, CLEAN | PCD);
	name_range(va(14), va(15));
	wh_start(client.vcpu, &client.as, 3, guest_read_loop, 0, 0, 0, 0);
	for (i = 1; i <= GENERATIONS && client.vcpu->running; i++) {
		set_reg(14 + (i & 1), i);
		host_maps(14 + (i & 1));
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
	host_maps(14);
	set_reg(14, 0x1e57);
	wh_eq(load(va(14)), 0x1e57, "what_it_maps_again_is");
}

int main(void)
{
	wh_require_feature();
	if (access(ENTRY_FILE, F_OK))
		wh_skip_all("needs CONFIG_KVM_WORMHOLE_TEST and debugfs");
	open_device();
	wh_plan(35);
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
	test_types();
	test_revocation();
	return wh_exit();
}
