// SPDX-License-Identifier: GPL-2.0-only
/*
 * Revocation of what a driver has mapped, under fire: a client reads and writes
 * two pages of 2 MiB in its view, while in turn the server's kernel takes them
 * away as unmap_mapping_range() does, and the host as vfio does, sometimes all,
 * sometimes one page, and other pages come in their place. Whoever has taken a
 * page away finds nothing of it used from then on. Needs what
 * wormhole_large_test needs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "wormhole.h"

#define SERVER		1
#define CLIENT		2
#define VA		0x7e0000000000ULL
#define GPA		0x30000000ULL
#define SLOT		2
#define PAGES		512
#define BLOCKS		2	/* of guest-physical memory: the worker has one */
#define SPARE		3	/* blocks of the device that may be at each */
#define ROUNDS		30
#define WATCHED		2
#define ONE		0	/* of the two, which is also taken alone */

/* Writable, not dirty: what remap_pfn_range() makes. */
#define CLEAN		(WH_USER_RW & ~WH_PTE_D)

static const int pages[WATCHED] = { 5, 300 };

/* What a page holds. */
struct cell {
	u64 generation;
	u64 calls;		/* of the client's */
};

/* Data area: generation published of each page, calls made, stop. */
struct words {
	u64 published[WATCHED];
	u64 calls;
	u64 stop;
};

static s64 touch_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	struct cell *cell = (struct cell *)a0;
	s64 seen = READ_ONCE(cell->generation);

	WRITE_ONCE(cell->calls, a1);
	return seen;
}

static const wh_handler_fn handlers[] = { touch_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct words *words;
static int device_fd;
static u8 *device;		/* all of it, the test's own mapping; NULL: memory */
static u8 *passed;		/* what the server VM has at GPA */
static int behind[BLOCKS][WATCHED];	/* what block of the device that is */
static int mapped[WATCHED];	/* what block the worker has there */
static u64 generation;
static u64 *ptes;

/* --- Pages ---------------------------------------------------------------------- */

static u64 va(int w)
{
	return VA + pages[w] * WH_PAGE;
}

/* The test's own mapping of what is at a watched page of a block. */
static struct cell *cell(int block, int w)
{
	u8 *mem = device ? device + behind[block][w] * WH_PAGE_2M :
			   passed + block * WH_PAGE_2M;

	return (struct cell *)(mem + pages[w] * WH_PAGE);
}

/* --- Who takes pages away ---------------------------------------------------------- */

/*
 * The server's kernel: pages @first to @end are @block's from now on. Between both
 * notices nothing is mapped, and the worker's faults wait.
 */
static void server_maps(int block, int first, int end)
{
	int i;

	wh_notify(&worker, VA + first * WH_PAGE, VA + end * WH_PAGE, WH_NOTIFY_BEGIN);
	for (i = first; i < end; i++)
		WRITE_ONCE(ptes[i], 0);
	wh_flush_worker(&worker);
	for (i = first; i < end; i++)
		WRITE_ONCE(ptes[i], (GPA + block * WH_PAGE_2M + i * WH_PAGE) | CLEAN);
	wh_notify(&worker, VA + first * WH_PAGE, VA + end * WH_PAGE, WH_NOTIFY_END);
}

/* The host has another piece of the device, or other memory, from @at on. */
static void host_maps(u8 *at, u64 size, u8 *memory, u64 offset)
{
	void *r = device ? mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				device_fd, offset) :
			   mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at);

	if (r != at)
		wh_die("the host's mapping");
}

/* --- Rounds ------------------------------------------------------------------------ */

/* Client, CPL 3: touch both pages in turn. Returns the first offence. */
static u64 guest_touch_loop(void)
{
	struct words *w = (void *)WH_DATA_VA;
	u64 published, seen, n = 0;

	while (!READ_ONCE(w->stop)) {
		int i = n & 1;

		published = READ_ONCE(w->published[i]);
		seen = wh_guest_delegate(0, VA + (i ? 300 : 5) * WH_PAGE, ++n);
		WRITE_ONCE(w->calls, n);
		if (seen < published || (s64)seen < 0)
			return published << 32 | (seen & 0xffffffff);
	}
	return 0;
}

static bool client_goes_on(void)
{
	u64 calls = READ_ONCE(words->calls);

	return wh_poll(READ_ONCE(words->calls) > calls + 4 || !client.vcpu->running, 1000) &&
	       client.vcpu->running;
}

/* What stood in the two pages before, and how often the client had been there. */
struct before {
	struct cell *cell[WATCHED];
	u64 calls[WATCHED];
};

/* Pages whose bit is in @mask have changed: nobody may use the old ones. */
static bool check(const struct before *b, int mask)
{
	u64 calls[WATCHED] = {};
	int w;

	for (w = 0; w < WATCHED; w++) {
		if (!(mask & 1 << w))
			continue;
		WRITE_ONCE(words->published[w], generation);
		if (b->cell[w])
			calls[w] = READ_ONCE(b->cell[w]->calls);
	}
	if (!client_goes_on())
		return false;
	for (w = 0; w < WATCHED; w++)
		if (mask & 1 << w && b->cell[w] && READ_ONCE(b->cell[w]->calls) != calls[w])
			return false;
	return true;
}

/* Pages in @mask are another block's for the worker. */
static bool server_round(int block, int mask)
{
	struct before b = {};
	int w, changed = 0;

	generation++;
	for (w = 0; w < WATCHED; w++) {
		if (!(mask & 1 << w) || mapped[w] == block)
			continue;
		b.cell[w] = cell(mapped[w], w);
		mapped[w] = block;
		cell(block, w)->generation = generation;
		changed |= 1 << w;
	}
	if (mask == 1 << ONE)
		server_maps(block, pages[ONE], pages[ONE] + 1);
	else
		server_maps(block, 0, PAGES);
	return check(&b, changed);
}

/* Pages in @mask of the worker's block are others for the host. */
static bool host_round(int block, int mask)
{
	bool one = mask == 1 << ONE;
	u64 size = one ? WH_PAGE : WH_PAGE_2M, at = one ? pages[ONE] * WH_PAGE : 0;
	struct before b = {};
	u8 *fresh = NULL;
	int w, spare;

	generation++;
	for (spare = block; spare == behind[block][0] || spare == behind[block][1];)
		spare += BLOCKS;
	if (!device)
		fresh = wh_huge_alloc(size);
	for (w = 0; w < WATCHED; w++) {
		if (!(mask & 1 << w))
			continue;
		if (device) {
			b.cell[w] = cell(block, w);
			behind[block][w] = spare;
			cell(block, w)->generation = generation;
		} else {
			((struct cell *)(fresh + pages[w] * WH_PAGE - at))->generation = generation;
		}
	}
	host_maps(passed + block * WH_PAGE_2M + at, size, fresh, spare * WH_PAGE_2M + at);
	return check(&b, mask);
}

static bool is_large(void)
{
	u64 val = 0;

	wh_poll((val = wh_view_entry(&worker, va(1))) || !client.vcpu->running, 100);
	return val & WH_EPT_2M;
}

static void under_fire(const char *kind)
{
	int i, block, bad[4] = {}, large = 0, small = 0;
	char name[120];

	memset(words, 0, sizeof(*words));
	generation = 0;
	wh_start(client.vcpu, &client.as, 3, guest_touch_loop, 0, 0, 0, 0);
	for (i = 0; i < ROUNDS && client.vcpu->running; i++) {
		block = i & 1;
		bad[0] += !server_round(block, 3);
		wh_name_device(&worker, VA, VA + WH_PAGE_2M);
		large += is_large();
		bad[1] += !server_round(1 - block, 1 << ONE);
		wh_name_device(&worker, VA, VA + WH_PAGE_2M);
		small += !is_large();
		bad[0] += !server_round(block, 3);
		wh_name_device(&worker, VA, VA + WH_PAGE_2M);
		bad[2] += !host_round(block, 3);
		large += is_large();
		bad[3] += !host_round(block, 1 << ONE);
		small += !is_large();
		bad[2] += !host_round(block, 3);
	}
	WRITE_ONCE(words->stop, 1);
	snprintf(name, sizeof(name), "%s_client_reads_nothing_that_was_taken_before", kind);
	wh_ok(wh_join(client.vcpu, 2) && !client.vcpu->res.rax, name);
	snprintf(name, sizeof(name), "%s_nothing_is_written_that_the_server_has_taken", kind);
	wh_eq(bad[0], 0, name);
	snprintf(name, sizeof(name), "%s_nor_one_page_of_it", kind);
	wh_eq(bad[1], 0, name);
	snprintf(name, sizeof(name), "%s_nothing_is_written_that_the_host_has_taken", kind);
	wh_eq(bad[2], 0, name);
	snprintf(name, sizeof(name), "%s_nor_of_that_one_page", kind);
	wh_eq(bad[3], 0, name);
	snprintf(name, sizeof(name), "%s_was_mapped_by_one_entry_and_by_many", kind);
	wh_ok(i == ROUNDS && large == 2 * ROUNDS && small == 2 * ROUNDS, name);
	wh_diag("%s: %d rounds, %d times one entry, %d times many, %llu calls", kind, i,
		large, small, (unsigned long long)words->calls);
}

/* --- Both VMs ----------------------------------------------------------------------- */

static void make_pair(void)
{
	wh_server_create(&srv, SERVER);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	ptes = wh_pte(&worker.as, VA);
	G(&srv.vm, wh_log).busy_va = VA;
	G(&srv.vm, wh_log).busy_pte = wh_kva(&srv.vm, ptes);
	G(&srv.vm, wh_log).busy_pages = PAGES;
	wh_set_pat(&worker);
	wh_take_flushes(&worker);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
	wh_worker_park(&worker);
	wh_client_create(&client, CLIENT, &srv, 0);
	words = (struct words *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(CLIENT, SERVER, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
}

/* The server VM has @mem at GPA; the worker block 1 of it. */
static void set_up(u8 *mem)
{
	int i, w;

	passed = mem;
	wh_set_memslot(&srv.vm, SLOT, 0, GPA, BLOCKS * WH_PAGE_2M, mem);
	for (i = 0; i < BLOCKS; i++)
		for (w = 0; w < WATCHED; w++) {
			behind[i][w] = i;
			mapped[w] = 1;
			memset(cell(i, w), 0, sizeof(struct cell));
		}
	server_maps(1, 0, PAGES);
}

int main(void)
{
	u64 size = BLOCKS * SPARE * WH_PAGE_2M;
	bool huge;

	wh_require_entries();
	huge = wh_huge_pages();
	device_fd = wh_open_device();
	wh_plan(huge ? 13 : 8);
	wh_watchdog(90);
	make_pair();
	device = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, device_fd, 0);
	passed = mmap(NULL, BLOCKS * WH_PAGE_2M, PROT_READ | PROT_WRITE, MAP_SHARED,
		      device_fd, 0);
	if (device == MAP_FAILED || passed == MAP_FAILED)
		wh_die("mmap of the device");
	set_up(passed);
	under_fire("device");
	device = NULL;
	if (huge) {
		wh_set_memslot(&srv.vm, SLOT, 0, GPA, 0, passed);
		set_up(wh_huge_alloc(BLOCKS * WH_PAGE_2M));
		under_fire("memory");
	} else {
		wh_skip("memory_in_huge_pages", "this host makes none");
	}
	return wh_exit();
}
