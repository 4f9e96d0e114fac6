// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hypercalls at random: any leaf with any registers, from CPL 0 and 3 of both
 * VMs at once, while the host kills pairs. What is asked for by chance may be
 * granted; nothing else may change, and the next pair works. WH_SEED repeats a
 * run (as far as threads do), WH_LEAVES makes it longer. Needs VMFUNC.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "wormhole.h"

#define BATCH		500	/* leaves of one call of the guest */
#define LEAVES		20000

static s64 add_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return a0 + a1;
}

static const wh_handler_fn handlers[] = { add_handler };
static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static u64 random_state;

static u64 next(u64 *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Mostly what might be right: handles, indices, pages, addresses; else anything. */
static u64 argument(u64 *x)
{
	u64 r = next(x);

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
	u64 r = next(x);
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
	int cpl = next(&random_state) & 1 ? 3 : 0;

	wh_start(vcpu, as, cpl, guest_leaves, next(&random_state), BATCH, cpl, 0);
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

/* Whatever happened, a pair can be made and its call works. */
static bool next_pair_works(void)
{
	struct wh_host_stat st;

	wh_kill(1);
	if (!wh_join(worker.vcpu, 2))
		wh_vcpu_stop(worker.vcpu);
	wh_server_register(&srv);
	if (wh_worker_register(&worker) || wh_worker_slot(&worker))
		return false;
	wh_worker_park(&worker);
	wh_allow(2, 1, 0, 1);
	if (wh_attach(&client))
		return false;
	return wh_delegate(&client, 0, 40, 2).rax == 42 && !wh_stat(1, &st) && !st.busy;
}

static u64 number_of(const char *name, u64 otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

int main(void)
{
	u64 leaves = number_of("WH_LEAVES", LEAVES), done, seed;
	u64 granted = 0;
	int came_back = 0, works = 0, rounds = 0;

	wh_require_feature();
	wh_plan(2);
	wh_watchdog(60 + leaves / 500);
	seed = number_of("WH_SEED", time(NULL) * 0x9e3779b97f4a7c15ULL | 1);
	random_state = seed;
	wh_diag("WH_SEED=0x%llx", (unsigned long long)seed);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	wh_attach(&client);

	for (done = 0; done < leaves; done += 2 * BATCH) {
		start_batch(client.vcpu, &client.as);
		start_batch(srv.boss, &srv.kernel);
		if (next(&random_state) & 1)
			wh_kill(2);
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
