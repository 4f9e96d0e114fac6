// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables at random: a client's kernel fills tables in its window with
 * entries of any kind, loads CR3 with them in the view, and writes anywhere.
 * It may ruin its own pair and its own VM; another client and the next pair
 * are well. WH_SEED repeats a run, WH_ROUNDS makes it longer. Needs VMFUNC.
 */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "wormhole.h"

#define ROUNDS		100
#define WINDOW_TABLES	4	/* pages of the window that serve as page tables */
#define IMAGE_REGION	2
#define WINDOW_REGION	3
#define TABLES_OFFSET	(WH_DATA_OFFSET + 4 * WH_PAGE)
#define TABLE		(WH_PTE_P | WH_PTE_W | WH_PTE_U | WH_PTE_A)
#define LEAF		(TABLE | WH_PTE_D | WH_PTE_PS)

static const wh_handler_fn handlers[] = { wh_add_handler };
static struct wh_server srv;
static struct wh_worker worker, other_worker;
static struct wh_client client, other;
static u64 random_state;

/*
 * CPL 0: enter, take RSI for CR3, write RCX to RDX, go back to the old tables,
 * exit. No stack; the code goes on in the worker's copy, or does not.
 */
static __attribute__((naked)) void write_under(void)
{
	asm("mov %rcx, %r8\n\t"
	    "mov %cr3, %r9\n\t"
	    "mov %edi, %ecx\n\t"
	    "xor %eax, %eax\n\t"
	    ".byte 0x0f, 0x01, 0xd4\n\t"
	    "mov %rsi, %cr3\n\t"
	    "mov %r8, (%rdx)\n\t"
	    "mov %r9, %cr3\n\t"
	    ".globl wh_written\n"
	    "wh_written: cpuid\n\t"
	    "jmp wh_written");
}

extern const u8 wh_written[];

/* Where an entry may lead: a region of the view, a table, RAM, anywhere. */
static u64 random_entry(u64 tables)
{
	u64 r = wh_next(&random_state), base = wh_region_base();

	switch (r & 7) {
	case 0: return base | LEAF;
	case 1:
	case 2: return (base + ((r >> 8 & 7) << 30)) | LEAF;
	case 3: return (tables + (r >> 8) % WINDOW_TABLES * WH_PAGE) | TABLE;
	case 4: return (base + (r >> 16 & 0x1fffff000)) | TABLE;
	case 5: return (r & 0xfff000) | TABLE;
	case 6: return r & ~WH_PTE_ADDR;
	default: return r;
	}
}

/* A region as KVM numbers them now, mostly: the second and third of the worker. */
static u64 region(u64 usual, u64 r)
{
	return wh_region_base() + ((r & 3 ? usual : r >> 2 & 7) << 30);
}

/*
 * Fill tables in the window and write under them. The code stays where the
 * image is, mostly.
 */
static bool write_at_random(void)
{
	u64 *top = (u64 *)(client.part_mem + TABLES_OFFSET), r = wh_next(&random_state);
	u64 tables = region(WINDOW_REGION, r) + TABLES_OFFSET;
	u64 i, gigabyte = 1 + (r >> 20 & 7);
	u64 offset = wh_next(&random_state) & (r & 0x100000000 ? 0x7fff8 : 0x3ffffff8);

	for (i = 0; i < WINDOW_TABLES * 512; i++)
		top[i] = wh_next(&random_state) & 3 ? 0 : random_entry(tables);
	if (r & 0xf00) {
		top[0] = (tables + WH_PAGE) | TABLE;
		top[512] = region(IMAGE_REGION, r >> 5) | LEAF;
		top[512 + gigabyte] = random_entry(tables);
	}
	wh_start(client.vcpu, &client.as, 0, write_under, client.index,
		 r & 0xf000 ? tables : random_entry(tables) & WH_PTE_ADDR,
		 gigabyte << 30 | offset, random_entry(tables));
	if (!wh_join(client.vcpu, 1))
		wh_vcpu_stop(client.vcpu);
	/* Its own world may be beyond repair; a VM entry that fails is another matter. */
	return client.vcpu->res.end != WH_END_EXIT ||
	       client.vcpu->res.exit_reason != KVM_EXIT_FAIL_ENTRY;
}

/* A VM whose tables lead nowhere may have ended: another in its place. */
static bool next_pair_works(void)
{
	wh_client_destroy(&client);
	wh_release(&worker);
	wh_worker_again(&worker);
	wh_client_create(&client, 2, &srv, 0);
	return !wh_attach(&client) && wh_delegate(&client, 0, 40, 2).rax == 42;
}

int main(void)
{
	u64 rounds = wh_env("WH_ROUNDS", ROUNDS), i;
	u64 came_back = 0, well = 0, works = 0, wrote = 0;

	wh_require_feature();
	wh_plan(3);
	wh_watchdog(60 + rounds / 5);
	wh_one_cpu();
	random_state = wh_seed();
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_worker_start(&other_worker, &srv, 1, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	wh_client_create(&other, 3, &srv, 1);
	wh_allow(2, 1, 0, 1);
	wh_allow(3, 1, 0, 1);
	if (wh_attach(&client) || wh_attach(&other))
		wh_die("attach");

	for (i = 0; i < rounds; i++) {
		came_back += write_at_random();
		wrote += client.vcpu->res.rip == (u64)(uintptr_t)wh_written;
		well += wh_delegate(&other, 0, 40, 2).rax == 42;
		works += next_pair_works();
	}
	wh_diag("%llu of %llu wrote and came to their end", (unsigned long long)wrote,
		(unsigned long long)rounds);
	wh_eq(came_back, rounds, "writers_under_tables_at_random_come_back");
	wh_eq(well, rounds, "and_the_other_client_is_well_each_time");
	wh_eq(works, rounds, "and_so_is_the_next_pair");
	return wh_exit();
}
