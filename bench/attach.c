// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of an attach, by the number of pairs that exist already: instructions of the
 * worker's registration and first TAKE, instructions of the client's ATTACH and first call,
 * and the host's memory. There are many workers and client processes in two small VMs, with
 * the library of the series' selftests. Each worker has MAPPED bytes in its page tables,
 * and all of it is touched. The host's memory behind them is not a cost of a pair, so the
 * same RAM is mapped again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wormhole.h"

#define PAIRS		64
#define SLOTS		4	/* slots of each worker; one of them is used */
#define MAPPED		(256ULL << 20)
#define MAPPED_VA	0x7e0000000000ULL	/* it has a top-level entry of its own */
#define MAPPED_RAM	512			/* pages */
#define TOP(va)		((va) >> 39 & 511)

static struct wh_server srv;
static struct wh_worker worker[PAIRS];
static struct wh_client client;
static struct wh_as process[PAIRS];
static u64 client_index[PAIRS];	/* indices in the EPTP list */
/* The answer of ATTACH, in the client VM's memory. */
static u64 attach_index;

static s64 null_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0x600d;
}

static const wh_handler_fn handlers[] = { null_handler };

/* --- The client ----------------------------------------------------------------------- */

static u64 guest_attach(u64 version, u64 checksum)
{
	u64 rax = WH_LEAF_ATTACH, rbx = 0, rcx = 0, rdx = 0, start = wh_rdtsc(), end;

	asm volatile("cpuid" : "+a"(rax), "+b"(rbx), "+c"(rcx), "+d"(rdx)
		     : "D"(version), "S"(checksum) : "memory");
	end = wh_rdtsc();
	attach_index = rbx;
	return rax ? 0 : end - start;
}

static u64 guest_nothing(void)
{
	return 0;
}

static u64 guest_call(void)
{
	u64 start = wh_rdtsc();

	return wh_guest_delegate(0, 0, 0) == 0x600d ? wh_rdtsc() - start : 0;
}

/* --- The host --------------------------------------------------------------------------- */

static void map_memory(struct wh_worker *w)
{
	u64 *top = wh_gpa(w->as.vm, w->as.cr3), ram, i;

	if (w != worker) {	/* it shares the tables of the first worker */
		top[TOP(MAPPED_VA)] = ((u64 *)wh_gpa(w->as.vm, worker->as.cr3))[TOP(MAPPED_VA)];
		return;
	}
	ram = wh_page_alloc(w->as.vm);
	for (i = 1; i < MAPPED_RAM; i++)
		wh_page_alloc(w->as.vm);
	for (i = 0; i < MAPPED / WH_PAGE; i++)
		wh_map(&w->as, MAPPED_VA + i * WH_PAGE, ram + i % MAPPED_RAM * WH_PAGE, WH_USER_RW);
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	wh_diag("%s", what);
	exit(1);
}

static void prepare(void)
{
	struct wh_window win;
	int i;

	wh_nslots = SLOTS;
	wh_window_create(&win, PAIRS * WH_PART_SIZE);
	wh_server_create_as(&srv, 1, WH_ROLE_SERVER, &win);
	must(!wh_server_register(&srv), "the server VM does not register");
	wh_client_create(&client, 2, &srv, 0);
	for (i = 0; i < PAIRS; i++) {
		wh_worker_create(&worker[i], &srv, i);
		wh_worker_handlers(&worker[i], handlers, 1);
		map_memory(&worker[i]);
		wh_client_as(&process[i], &client, i);
	}
	must(!wh_allow(2, 1, 0, PAIRS), "the client VM is not allowed");
}

/* Returns the instructions that a vCPU's thread has run, in the guest and for it in the kernel. */
static u64 run_by(struct wh_vcpu *vcpu)
{
	return wh_vcpu_ns(vcpu) * 100 / 1000;	/* the TSC counts 100 million per second */
}

static u64 call_as(int i, const void *fn, u64 a0, u64 a1)
{
	struct wh_result r = wh_call(client.vcpu, &process[i], 3, fn, a0, a1, 0, 0);

	return r.end == WH_END_DONE ? r.rax : 0;
}

static void one(int i)
{
	struct wh_host_stat before, after;
	long free[4];	/* free memory: before, after touching, after TAKE, after ATTACH */
	u64 parking, attach, first, next;
	struct wh_slot *slot = (void *)(srv.vm.window + i * WH_PART_SIZE + WH_SLOT_OFFSET);

	/* This call makes sure that the thread exists and has run before. */
	wh_call(worker[i].vcpu, &worker[i].as, 0, guest_nothing, 0, 0, 0, 0);
	wh_stat(1, &before);
	free[0] = wh_free_kb();
	parking = run_by(worker[i].vcpu);
	must(!wh_worker_register(&worker[i]) && !wh_worker_slot(&worker[i]),
	     "a worker does not register");
	wh_worker_park(&worker[i]);
	parking = run_by(worker[i].vcpu) - parking;
	free[2] = wh_free_kb();
	call_as(i, wh_guest_touch, 0, 0);
	free[1] = wh_free_kb();
	attach = call_as(i, guest_attach, WH_ABI_VERSION, wh_tramp_checksum());
	must(attach, "a client does not attach");
	slot->index = client_index[i] = G(&client.vm, attach_index);
	free[3] = wh_free_kb();
	first = call_as(i, guest_call, 0, 0);
	next = call_as(i, guest_call, 0, 0);
	must(first && next, "a call does not work");
	wh_stat(1, &after);
	printf("@data attach %d %llu %llu %llu %llu %llu %llu %ld %ld\n", i + 1,
	       (unsigned long long)parking, (unsigned long long)attach, (unsigned long long)first,
	       (unsigned long long)next,
	       (unsigned long long)(after.view_tables - before.view_tables),
	       (unsigned long long)(after.view_pages - before.view_pages), free[0] - free[2],
	       free[1] - free[3]);
}

int main(void)
{
	int i;

	wh_require_feature();
	wh_watchdog(600);
	wh_one_cpu();
	prepare();
	for (i = 0; i < PAIRS; i++)
		one(i);
	/* Detach the pairs one by one: the end of a VM would end all of them without a pause. */
	for (i = 0; i < PAIRS; i++)
		wh_leaf(client.vcpu, &process[i], 3, WH_LEAF_DETACH, client_index[i], 0, 0, 0);
	return 0;
}
