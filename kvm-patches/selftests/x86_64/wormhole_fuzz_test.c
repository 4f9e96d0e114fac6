// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anything at random: any leaf with any registers, from CPL 0 and 3 of both
 * VMs at once, while the host asks its control device for anything. What is
 * asked for by chance may be granted; nothing else may change, and the next
 * pair works. WH_SEED repeats a run (as far as threads do), WH_LEAVES makes it
 * longer. Needs VMFUNC.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "wormhole.h"

#define BATCH		500	/* leaves of one call of the guest */
#define LEAVES		20000
#define IOCTLS		20	/* of the host meanwhile */

static const wh_handler_fn handlers[] = { wh_add_handler };
static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static u64 random_state;

/* In a guest, at either CPL: how many leaves were granted. */
static u64 guest_leaves(u64 seed, u64 n, u64 cpl)
{
	u64 x = seed, granted = 0;

	while (n--) {
		u64 rax = wh_any_leaf(&x), rbx, rcx = 0, rdx = wh_any_argument(&x);
		u64 rdi = wh_any_argument(&x), rsi = wh_any_argument(&x), a3 = wh_any_argument(&x);

		asm volatile("mov %[a3], %%r8; lea 1(%%rdi), %%r9; cpuid"
			     : "+a"(rax), "=b"(rbx), "+c"(rcx), "+d"(rdx)
			     : "D"(rdi), "S"(rsi), [a3] "r"(a3) : "r8", "r9", "memory");
		granted += !rax;
	}
	return granted;
}

static void start_batch(struct wh_vcpu *vcpu, struct wh_as *as)
{
	int cpl = wh_next(&random_state) & 1 ? 3 : 0;

	wh_start(vcpu, as, cpl, guest_leaves, wh_next(&random_state), BATCH, cpl, 0);
}

/* A control device of its own, which is closed with what it has asked for. */
static void ask_the_device(int n)
{
	static const unsigned long cmds[] = {
		WH_HOST_VERSION, WH_HOST_CREATE_ROLE, WH_HOST_ALLOW, WH_HOST_DENY,
		WH_HOST_STAT, WH_HOST_KILL,
	};
	static u64 buf[sizeof(struct wh_host_stat) / 8];
	int fd = open("/dev/kvm-wormhole", O_RDWR | O_CLOEXEC);
	u64 r, i;

	if (fd < 0)
		wh_die("/dev/kvm-wormhole");
	while (n--) {
		r = wh_next(&random_state);
		for (i = 0; i < 6; i++)
			buf[i] = wh_any_argument(&random_state);
		/* Ids of 32 bits beside each other are members of some structs. */
		if (r & 1)
			buf[1 + (r >> 8) % 3] = wh_next(&random_state) & 0x300000003;
		if (r & 14)
			ioctl(fd, cmds[(r >> 16) % WH_ARRAY_SIZE(cmds)], buf);
		else
			ioctl(fd, (u32)(r >> 16), r & 32 ? r : (u64)(uintptr_t)buf);
	}
	close(fd);
}

int main(void)
{
	u64 leaves = wh_env("WH_LEAVES", LEAVES), done;
	u64 granted = 0;
	int came_back = 0, works = 0, rounds = 0;

	wh_require_feature();
	wh_plan(2);
	wh_watchdog(60 + leaves / 300);
	random_state = wh_seed();
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	wh_attach(&client);
	wh_known_set(&worker);
	G(&client.vm, wh_known) = wh_known;
	G(&srv.vm, wh_known) = wh_known;

	for (done = 0; done < leaves; done += 2 * BATCH) {
		G(&srv.vm, wh_known).handle = worker.pair;
		start_batch(client.vcpu, &client.as);
		start_batch(srv.boss, &srv.kernel);
		ask_the_device(IOCTLS);
		came_back += wh_ends_well(client.vcpu) & wh_ends_well(srv.boss);
		granted += client.vcpu->res.rax + srv.boss->res.rax;
		works += wh_next_pair_works(&worker, &client);
		rounds++;
	}
	wh_diag("%llu leaves, %llu granted", (unsigned long long)done,
		(unsigned long long)granted);
	wh_eq(came_back, rounds, "leaves_at_random_come_back");
	wh_eq(works, rounds, "and_the_next_pair_works");
	return wh_exit();
}
