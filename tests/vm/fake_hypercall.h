/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in for server/vm/guest-module/hypercall.h when the module is built for tests
 * under plain QEMU: each leaf is one line of the kernel log, in order, and succeeds
 * unless refuse= names it. Pair handles count from 0x70. A number written to news= is a
 * slot of the last pair, or WH_MAX_SLOTS more for its companion. The module learns of it
 * as from KVM, by an NMI and NEXT; NEXT is not logged.
 */
#ifndef WORMHOLE_HYPERCALL_H
#define WORMHOLE_HYPERCALL_H

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/mmu_notifier.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "wormhole_abi.h"

static unsigned int refuse;
module_param(refuse, uint, 0600);
MODULE_PARM_DESC(refuse, "leaf that fails with WH_EBUSY");

static u64 handle = 0x70;
static int news = -1;

static int set_news(const char *val, const struct kernel_param *kp)
{
	int err = param_set_int(val, kp);

	if (!err)
		asm volatile("int $2");
	return err;
}

static const struct kernel_param_ops news_ops = {
	.set = set_news,
	.get = param_get_int,
};
module_param_cb(news, &news_ops, &news, 0600);

struct wh_result {
	u64 rbx;
	u64 rcx;
	u64 rdx;
};

static inline s64 wh_cpuid(u32 leaf, u64 rdi, u64 rsi, u64 rdx, u64 r8, u64 r9,
			   struct wh_result *res)
{
	struct wh_result none;

	if (leaf == WH_LEAF_NEXT) {
		int whom = xchg(&news, -1);

		if (whom < 0)
			return WH_ENOENT;
		*res = (struct wh_result){
			.rbx = handle - 1, .rcx = whom % WH_MAX_SLOTS,
			.rdx = whom < WH_MAX_SLOTS ? WH_NEWS_CALL : WH_NEWS_WAKE,
		};
		return WH_OK;
	}
	pr_info("leaf %x %llx %llx %llx %llx cpu %d\n", leaf & 0xff, rdi, rsi,
		rdx, r8, raw_smp_processor_id());
	if (!res)
		res = &none;
	*res = (struct wh_result){};
	if (leaf == refuse)
		return WH_EBUSY;
	if (leaf == WH_LEAF_SIGNATURE)
		*res = (struct wh_result){ WH_SIG_EBX, WH_SIG_ECX, WH_SIG_EDX };
	else if (leaf == WH_LEAF_VERSION)
		*res = (struct wh_result){ WH_ABI_VERSION, WH_ROLE_SERVER, 0 };
	else if (leaf == WH_LEAF_WORKER_REGISTER)
		res->rbx = handle++;
	return WH_OK;
}

static inline int wh_leaf(u32 leaf, u64 rdi, u64 rsi, u64 rdx, u64 r8,
			  struct wh_result *res)
{
	return wh_cpuid(leaf, rdi, rsi, rdx, r8, 0, res) ? -EBUSY : 0;
}

static inline int wh_leaf5(u32 leaf, u64 rdi, u64 rsi, u64 rdx, u64 r8, u64 r9,
			   struct wh_result *res)
{
	return wh_cpuid(leaf, rdi, rsi, rdx, r8, r9, res) ? -EBUSY : 0;
}

/* Sleeps between the live notifier and WORKER_REGISTER, so that ranges can begin meanwhile. */
static inline int slow_notifier_register(struct mmu_notifier *mn,
					 struct mm_struct *mm)
{
	int err = mmu_notifier_register(mn, mm);

	usleep_range(2000, 2500);
	return err;
}

#define mmu_notifier_register slow_notifier_register

#endif /* WORMHOLE_HYPERCALL_H */
