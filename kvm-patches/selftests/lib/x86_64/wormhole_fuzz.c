// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the Wormhole tests that ask for anything at random have in common: leaves
 * and arguments, and whether all is well after them.
 */
#include "wormhole.h"

struct wh_known wh_known;

void wh_known_set(const struct wh_worker *w)
{
	wh_known = (struct wh_known) {
		.handle = w->pair, .checksum = wh_tramp_checksum(),
		.tramp_gpa = w->srv->tramp_gpa, .seq_gpa = w->seq_gpa,
	};
}

/* Small numbers are handles and indices of the first pairs. */
static u64 number(u64 r)
{
	const u64 known[] = {
		wh_known.handle, wh_known.checksum, wh_known.tramp_gpa, wh_known.seq_gpa,
	};

	if (r & BIT_ULL(32))
		return r >> 8 & 7;
	return known[(r >> 40) % WH_ARRAY_SIZE(known)];
}

u64 wh_any_argument(u64 *x)
{
	u64 r = wh_next(x);

	switch (r & 7) {
	case 0: return number(r);
	case 1: return WH_ABI_VERSION;
	case 2: return WH_WINDOW_VA + (r >> 8 & 0xff) * 8;
	case 3: return r & 0xfff000;
	case 4: return WH_PART_SIZE;
	case 5: return -(r >> 60);
	case 6: return WH_LAZY_VA + (r >> 40);
	default: return r;
	}
}

u32 wh_any_leaf(u64 *x)
{
	static const u32 leaves[] = {
		WH_LEAF_SIGNATURE, WH_LEAF_VERSION, WH_LEAF_SERVER_REGISTER,
		WH_LEAF_WORKER_REGISTER, WH_LEAF_SLOT_REGISTER, WH_LEAF_NOTIFY,
		WH_LEAF_RELEASE, WH_LEAF_DEVICE, WH_LEAF_ATTACH, WH_LEAF_DETACH, WH_LEAF_CONTINUE,
		WH_LEAF_CANCEL, WH_LEAF_TAKE, WH_LEAF_NEXT, WH_LEAF_LISTEN, WH_LEAF_WAKE,
	};
	u64 r = wh_next(x);
	u32 leaf = leaves[(r >> 8) % WH_ARRAY_SIZE(leaves)];

	if (!(r & 15))
		leaf = WH_LEAF_BASE + (r >> 32 & 0xffff);
	return leaf;
}

bool wh_ends_well(struct wh_vcpu *vcpu)
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

bool wh_next_pair_works(struct wh_worker *w, struct wh_client *c)
{
	struct wh_host_stat st;
	u64 server = w->srv->vm.id;

	wh_kill(server);
	/* A SERVER_REGISTER at random has taken back what the worker was told. */
	wh_wake_worker(w);
	if (!wh_join(w->vcpu, 2))
		wh_vcpu_stop(w->vcpu);
	wh_server_register(w->srv);
	if (wh_worker_register(w) || wh_worker_slot(w))
		return false;
	wh_worker_park(w);
	wh_allow(c->vm.id, server, 0, 1);
	if (wh_attach(c))
		return false;
	return wh_delegate(c, 0, 40, 2).rax == 42 && !wh_stat(server, &st) && !st.busy;
}
