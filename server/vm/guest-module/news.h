/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * News for workers: calls that come for their threads, and requests of calls to their slots'
 * companions. KVM announces each by an NMI, since a module can have no vector of its own. NEXT,
 * called in an interrupt, names the thread to wake.
 */
#ifndef WORMHOLE_NEWS_H
#define WORMHOLE_NEWS_H

#include <linux/bitops.h>
#include <linux/cpuhotplug.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <asm/nmi.h>

#include "hypercall.h"
#include "window.h"

/* The possible waiters: a slot's thread, or its companion. */
#define NEWS_WAITERS	(2 * WH_MAX_SLOTS)
static_assert(WH_SRV_COMPANION == WH_MAX_SLOTS && NEWS_WAITERS <= BITS_PER_LONG);

/* The news of one worker; `link` and `pair` are under news_lock. */
struct news {
	struct list_head link;
	u64 pair;
	unsigned long some;		/* bitmap of the waiters that have some */
	wait_queue_head_t waiters[NEWS_WAITERS];
};

/* The workers that have registered. */
static LIST_HEAD(news_known);
static DEFINE_SPINLOCK(news_lock);
static DEFINE_PER_CPU(struct irq_work, news_work);
static int news_state;

static void news_wake(u64 pair, u64 slot, u64 what)
{
	u64 who = what == WH_NEWS_WAKE ? WH_SRV_COMPANION + slot : slot;
	struct news *n;

	list_for_each_entry(n, &news_known, link) {
		if (n->pair != pair)
			continue;
		set_bit(who, &n->some);
		wake_up(&n->waiters[who]);
	}
}

/* Asks KVM whose thread to wake, until there is no more news. */
static void news_take(struct irq_work *work)
{
	struct wh_result res;
	unsigned long flags;

	spin_lock_irqsave(&news_lock, flags);
	while (!wh_leaf(WH_LEAF_NEXT, 0, 0, 0, 0, &res))
		if (res.rcx < WH_MAX_SLOTS)
			news_wake(res.rbx, res.rcx, res.rdx);
	spin_unlock_irqrestore(&news_lock, flags);
}

/*
 * KVM's NMI cannot be told from others, so each NMI is taken for it: a server VM has no hardware
 * that could complain by NMI.
 */
static int news_nmi(unsigned int type, struct pt_regs *regs)
{
	irq_work_queue(this_cpu_ptr(&news_work));
	return NMI_HANDLED;
}

/*
 * Keeps all CPUs online: an offline CPU ignores NMIs, and KVM would send one there for a thread
 * that had slept on it.
 */
static int news_keep_online(unsigned int cpu)
{
	return -EBUSY;
}

static void news_init(struct news *n)
{
	unsigned int i;

	INIT_LIST_HEAD(&n->link);
	for (i = 0; i < NEWS_WAITERS; i++)
		init_waitqueue_head(&n->waiters[i]);
}

/* Makes the worker known: from here on calls may come for the pair's slots. */
static void news_know(struct news *n, u64 pair)
{
	spin_lock_irq(&news_lock);
	n->pair = pair;
	list_add(&n->link, &news_known);
	spin_unlock_irq(&news_lock);
}

static void news_forget(struct news *n)
{
	spin_lock_irq(&news_lock);
	list_del(&n->link);
	spin_unlock_irq(&news_lock);
}

/* Sleeps until news has come since the last time. */
static int news_wait(struct news *n, unsigned long who)
{
	return wait_event_interruptible(n->waiters[who],
					test_and_clear_bit(who, &n->some));
}

/* Call this before the first worker; it is never called again. */
static int news_start(void)
{
	int cpu, err;

	/* Not all kernels relocate a module's per-CPU section. */
	for_each_possible_cpu(cpu)
		*per_cpu_ptr(&news_work, cpu) = IRQ_WORK_INIT_HARD(news_take);
	err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "wormhole:server",
					NULL, news_keep_online);
	if (err < 0)
		return err;
	news_state = err;
	err = register_nmi_handler(NMI_LOCAL, news_nmi, 0, KBUILD_MODNAME);
	if (err)
		cpuhp_remove_state_nocalls(news_state);
	return err;
}

static void news_stop(void)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
	cpuhp_remove_state_nocalls(news_state);
}

#endif /* WORMHOLE_NEWS_H */
