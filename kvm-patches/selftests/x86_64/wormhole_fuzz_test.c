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

/* Mostly what might be right: handles, indices, pages, addresses; else anything. */
static u64 argument(u64 *x)
{
	u64 r = wh_next(x);

	switch (r & 7) {
	case 0: return r >> 8 & 7;
	case 1: return WH_ABI_VERSION;
	case 2: return WH_WINDOW_VA + (r >> 8 & 0xff) * 8;
	case 3: return r & 0xfff000;
	case 4: return WH_PART_SIZE;
	case 5: return -(r >> 60);
	case 6: return WH_LAZY_VA + (r >> 40);
	default: return r;
	}
}

static u32 leaf_of(u64 *x, u64 cpl)
{
	static const u32 leaves[] = {
		WH_LEAF_SIGNATURE, WH_LEAF_VERSION, WH_LEAF_SERVER_REGISTER,
		WH_LEAF_WORKER_REGISTER, WH_LEAF_SLOT_REGISTER, WH_LEAF_NOTIFY,
		WH_LEAF_RELEASE, WH_LEAF_ATTACH, WH_LEAF_DETACH, WH_LEAF_CONTINUE,
		WH_LEAF_CANCEL, WH_LEAF_PARK,
	};
	u64 r = wh_next(x);
	u32 leaf;

	if (!(r & 15))
		return WH_LEAF_BASE + (r >> 32 & 0xffff);
	leaf = leaves[(r >> 8) % WH_ARRAY_SIZE(leaves)];
	/* A vCPU that was made a slot by chance would park for good. */
	return leaf == WH_LEAF_PARK && cpl ? WH_LEAF_VERSION : leaf;
}

/* In a guest, at either CPL: how many leaves were granted. */
static u64 guest_leaves(u64 seed, u64 n, u64 cpl)
{
	u64 x = seed, granted = 0;

	while (n--) {
		u64 rax = leaf_of(&x, cpl), rbx, rcx = 0, rdx = argument(&x);
		u64 rdi = argument(&x), rsi = argument(&x), a3 = argument(&x);

		asm volatile("mov %[a3], %%r8; cpuid"
			     : "+a"(rax), "=b"(rbx), "+c"(rcx), "+d"(rdx)
			     : "D"(rdi), "S"(rsi), [a3] "r"(a3) : "r8", "memory");
		granted += !rax;
	}
	return granted;
}

static void start_batch(struct wh_vcpu *vcpu, struct wh_as *as)
{
	int cpl = wh_next(&random_state) & 1 ? 3 : 0;

	wh_start(vcpu, as, cpl, guest_leaves, wh_next(&random_state), BATCH, cpl, 0);
}

static bool ends_well(struct wh_vcpu *vcpu)
{
	if (!wh_join(vcpu, 20)) {
		wh_diag("a vCPU does not come back");
		wh_vcpu_stop(vcpu);
		return false;
	}
	if (vcpu->res.end == WH_END_DONE)
		return true;
	wh_diag("end %d exit %u vector %llu rip 0x%llx", vcpu->res.end, vcpu->res.exit_reason,
		(unsigned long long)vcpu->res.vector, (unsigned long long)vcpu->res.rip);
	return false;
}

/* A control device of its own, which is closed with what it has asked for. */
static void ask_the_device(int n)
{
	static const unsigned long cmds[] = {
		WH_HOST_VERSION, WH_HOST_SET_ROLE, WH_HOST_ALLOW, WH_HOST_DENY,
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
			buf[i] = argument(&random_state);
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

/* Whatever happened, a pair can be made and its call works. */
static bool next_pair_works(void)
{
	struct wh_host_stat st;

	wh_kill(1);
	wh_server_register(&srv);
	if (!wh_join(worker.vcpu, 2))
		wh_vcpu_stop(worker.vcpu);
	if (wh_worker_register(&worker) || wh_worker_slot(&worker))
		return false;
	wh_worker_park(&worker);
	wh_allow(2, 1, 0, 1);
	if (wh_attach(&client))
		return false;
	return wh_delegate(&client, 0, 40, 2).rax == 42 && !wh_stat(1, &st) && !st.busy;
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

	for (done = 0; done < leaves; done += 2 * BATCH) {
		start_batch(client.vcpu, &client.as);
		start_batch(srv.boss, &srv.kernel);
		ask_the_device(IOCTLS);
		came_back += ends_well(client.vcpu) & ends_well(srv.boss);
		granted += client.vcpu->res.rax + srv.boss->res.rax;
		works += next_pair_works();
		rounds++;
	}
	wh_diag("%llu leaves, %llu granted", (unsigned long long)done,
		(unsigned long long)granted);
	wh_eq(came_back, rounds, "leaves_at_random_come_back");
	wh_eq(works, rounds, "and_the_next_pair_works");
	return wh_exit();
}
