// SPDX-License-Identifier: GPL-2.0-only
/*
 * NOTIFY cuts what is in a view in two, page by page from its end, while the host takes
 * away pages at its begin: each of these has left the view when the host's call returns,
 * whatever the other does at that moment. Needs what wormhole_device_test needs, and shows
 * something on two CPUs.
 */
#include <stdio.h>
#include <sys/mman.h>
#include "wormhole.h"

#define SERVER		1
#define CLIENT		2
#define DEVICE_SLOT	2
#define DEVICE_VA	0x7e0000000000ULL
#define DEVICE_GPA	0x30000000ULL
#define PAGES		500	/* not a block: no entry of 2 MiB */
#define HALF		(PAGES / 2)
#define ROUNDS		20	/* without the lock over both halves 2 were enough */
#define CLEAN		(WH_USER_RW & ~WH_PTE_D)

static const wh_handler_fn handlers[] = { wh_load_handler };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_vcpu *cutter;
static u8 *passed;
static int device_fd;

static u64 va(u64 page)
{
	return DEVICE_VA + page * WH_PAGE;
}

static void guest_notify(u64 pair, u64 page, u64 phase)
{
	register u64 r8 asm("r8") = phase;
	u64 rax = WH_LEAF_NOTIFY, rbx, rcx = 0, rdx = va(page + 1);

	asm volatile("cpuid" : "+a"(rax), "=b"(rbx), "+c"(rcx), "+d"(rdx)
		     : "D"(pair), "S"(va(page)), "r"(r8) : "memory");
}

/* The server's kernel. */
static u64 guest_cut(u64 pair)
{
	u64 i;

	for (i = PAGES - 1; i >= HALF; i--) {
		guest_notify(pair, i, WH_NOTIFY_BEGIN);
		guest_notify(pair, i, WH_NOTIFY_END);
	}
	return 0;
}

static void map_device(void)
{
	void *where = mmap(passed, PAGES * WH_PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | (passed ? MAP_FIXED : 0), device_fd, 0);

	if (where == MAP_FAILED)
		wh_die("mmap of the device");
	passed = where;
}

/* All of it in the view, by one run. */
static void fill(void)
{
	wh_notify(&worker, va(0), va(PAGES), WH_NOTIFY_BEGIN);
	wh_notify(&worker, va(0), va(PAGES), WH_NOTIFY_END);
	wh_name_device(&worker, va(0), va(PAGES));
}

static u64 in_view(u64 first, u64 end)
{
	u64 i, n = 0;

	for (i = first; i < end; i++)
		n += wh_view_entry(&worker, va(i)) != 0;
	return n;
}

/* Pages that the host has taken away, and that are in the view. */
static u64 one_round(void)
{
	u64 i;

	wh_start(cutter, &srv.kernel, 0, guest_cut, worker.pair, 0, 0, 0);
	for (i = 0; i < HALF - 1; i++)
		munmap(passed + i * WH_PAGE, WH_PAGE);
	wh_join(cutter, 20);
	return in_view(0, HALF - 1);
}

static void prepare(void)
{
	u64 i;

	map_device();
	wh_server_create(&srv, SERVER);
	wh_server_register(&srv);
	cutter = wh_vcpu_create(&srv.vm);
	wh_set_memslot(&srv.vm, DEVICE_SLOT, 0, DEVICE_GPA, PAGES * WH_PAGE, passed);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	wh_set_pat(&worker);
	for (i = 0; i < PAGES; i++)
		wh_map(&worker.as, va(i), DEVICE_GPA + i * WH_PAGE, CLEAN | WH_PTE_PCD);
	wh_worker_register(&worker);
	wh_worker_slot(&worker);
	wh_worker_park(&worker);
	wh_client_create(&client, CLIENT, &srv, 0);
	wh_allow(CLIENT, SERVER, 0, 1);
}

int main(void)
{
	u64 i, full = 0, stale = 0, cut = 0;

	wh_require_entries();
	device_fd = wh_open_device();
	wh_plan(4);
	wh_watchdog(120);
	prepare();
	wh_eq(wh_attach(&client), WH_OK, "client_attaches");
	for (i = 0; i < ROUNDS; i++) {
		fill();
		full += in_view(0, PAGES) == PAGES;
		stale += one_round();
		cut += !in_view(HALF, PAGES);
		map_device();
	}
	wh_eq(full, ROUNDS, "pages_of_a_device_come_into_the_view");
	wh_eq(cut, ROUNDS, "what_the_guest_takes_away_leaves_it");
	wh_eq(stale, 0, "what_the_host_takes_away_meanwhile_leaves_it_too");
	return wh_exit();
}
