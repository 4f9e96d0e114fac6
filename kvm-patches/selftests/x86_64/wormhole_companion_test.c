// SPDX-License-Identifier: GPL-2.0-only
/*
 * Companions: another thread of the worker, which a call in a view wakes without
 * leaving it. Needs VMFUNC.
 */
#include <string.h>
#include "wormhole.h"

#define NSLOTS		2

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_vcpu *thread[NSLOTS];		/* of the client */
static struct wh_vcpu *companion[NSLOTS];	/* of the worker */

/* In the worker: what a call asks of its slot's companion, and what that says. */
static u64 request[NSLOTS], answer[NSLOTS], told[NSLOTS], listening[NSLOTS], quit;

static u64 cpuid(u64 leaf, u64 rdi)
{
	u64 rax = leaf, rcx = 0;

	asm volatile("cpuid" : "+a"(rax), "+c"(rcx) : "D"(rdi) : "rbx", "rdx", "memory");
	return rax;
}

/* --- Handlers ---------------------------------------------------------------- */

/* The companion doubles a1. */
static s64 ask_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(answer[slot], 0);
	WRITE_ONCE(request[slot], a1);
	cpuid(WH_LEAF_WAKE, 0);
	while (!READ_ONCE(answer[slot]))
		asm volatile("pause");
	return answer[slot];
}

static s64 wake_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	while (a0--)
		cpuid(WH_LEAF_WAKE, 0);
	return 0;
}

/* Which of the leaf's registers are not as they were. */
static s64 keep_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 rax = WH_LEAF_WAKE, rbx = 11, rcx = 12, rdx = 13, rdi = 14, rsi = 15;

	asm volatile("cpuid" : "+a"(rax), "+b"(rbx), "+c"(rcx), "+d"(rdx), "+D"(rdi), "+S"(rsi)
		     :: "memory");
	return (rax != WH_LEAF_WAKE) | (rbx != 11) << 1 | (rcx != 12) << 2 | (rdx != 13) << 3 |
	       (rdi != 14) << 4 | (rsi != 15) << 5;
}

/* The thread of the slot, in the server's kernel, and the companion are both told. */
static s64 both_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 rax;

	WRITE_ONCE(answer[slot], 0);
	WRITE_ONCE(request[slot], a1);
	cpuid(WH_LEAF_WAKE, 0);
	asm volatile("syscall" : "=a"(rax) : "0"(WH_SYS_ADD), "D"(a1), "S"(slot)
		     : "rcx", "r11", "memory");
	/* Where the server's kernel runs it, the leaf has nothing to do. */
	rax += cpuid(WH_LEAF_WAKE, 0) != WH_LEAF_WAKE;
	while (!READ_ONCE(answer[slot]))
		asm volatile("pause");
	return rax;
}

enum { H_ASK, H_WAKE, H_KEEP, H_BOTH };

static const wh_handler_fn handlers[] = {
	ask_handler, wake_handler, keep_handler, both_handler,
};

/* --- The companion -------------------------------------------------------------- */

/* Taken before it is answered: the next request may come right behind the answer. */
static void serve_request(u64 slot)
{
	u64 asked = __atomic_exchange_n(&request[slot], 0, __ATOMIC_SEQ_CST);

	if (asked)
		WRITE_ONCE(answer[slot], 2 * asked);
}

/*
 * CPL 3 of the server. It serves what it is told of, and what was asked before it
 * listened, of which nobody is told; @deaf ones do nothing. Returns the status of
 * LISTEN that ended it, or 0 when told to quit.
 */
static u64 guest_companion(u64 pair, u64 slot, u64 deaf)
{
	u8 *news = &wh_log.news[wh_news_at(pair, slot, WH_NEWS_WAKE)];
	u64 status;

	do {
		status = cpuid(WH_LEAF_LISTEN, slot);
		if (status)
			return status;
		if (!deaf)
			serve_request(slot);
		WRITE_ONCE(listening[slot], 1);
		while (!READ_ONCE(*news) && !READ_ONCE(quit))
			asm volatile("pause");
		WRITE_ONCE(listening[slot], 0);
		if (__atomic_exchange_n(news, 0, __ATOMIC_SEQ_CST))
			told[slot]++;
		if (!deaf)
			serve_request(slot);
	} while (!READ_ONCE(quit) && !deaf);
	return 0;
}

static bool all_listen(void)
{
	int i;

	for (i = 0; i < NSLOTS; i++)
		if (!READ_ONCE(G(&srv.vm, listening)[i]))
			return false;
	return true;
}

static void start_companion(u64 slot, u64 deaf)
{
	wh_start(companion[slot], &worker.as, 3, guest_companion, worker.pair, slot, deaf, 0);
}

static void start_companions(void)
{
	u64 i;

	G(&srv.vm, quit) = 0;
	for (i = 0; i < NSLOTS; i++)
		start_companion(i, 0);
	if (!wh_poll(all_listen(), 5000))
		wh_die("companions do not listen");
}

static void stop_companions(void)
{
	u64 i;

	G(&srv.vm, quit) = 1;
	for (i = 0; i < NSLOTS; i++)
		if (!wh_join(companion[i], 5))
			wh_die("a companion does not end");
}

static u64 busy(void)
{
	struct wh_host_stat st;

	wh_stat(srv.vm.id, &st);
	return st.busy;
}

/* --- Tests ---------------------------------------------------------------------- */

static void test_leaves(void)
{
	struct wh_result r;

	wh_eq(wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_WAKE, 0, 0, 0, 0).rax, WH_EPERM,
	      "wake_outside_of_a_view_is_refused_in_a_client");
	wh_eq(wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_LISTEN, 0, 0, 0, 0).rax, WH_EPERM,
	      "clients_do_not_listen");
	wh_eq(wh_leaf(srv.boss, &worker.as, 0, WH_LEAF_LISTEN, 0, 0, 0, 0).rax, WH_EPERM,
	      "the_servers_kernel_does_not_listen");
	wh_eq(wh_leaf(srv.boss, &srv.kernel, 3, WH_LEAF_LISTEN, 0, 0, 0, 0).rax, WH_ENOENT,
	      "who_is_no_worker_does_not_listen");
	wh_eq(wh_leaf(companion[0], &worker.as, 3, WH_LEAF_LISTEN, NSLOTS, 0, 0, 0).rax, WH_EINVAL,
	      "listening_for_a_slot_out_of_range_is_refused");
	r = wh_leaf(companion[0], &worker.as, 3, WH_LEAF_WAKE, 0, 0, 0, 0);
	wh_eq(r.rax, WH_LEAF_WAKE, "wake_does_nothing_in_a_server");
}

static void test_asks(void)
{
	struct wh_host_stat before;
	u64 i, right = 0;

	/* What calls touch comes into the view. */
	wh_delegate(&client, H_ASK, 0, 1);
	wh_poll(all_listen(), 5000);
	wh_stat(client.vm.id, &before);
	wh_eq(wh_delegate(&client, H_ASK, 0, 21).rax, 42, "a_call_asks_its_slots_companion");
	wh_eq(wh_view_exits(client.vm.id, &before), 1, "which_takes_one_exit");
	wh_eq(wh_handoffs(client.vm.id, &before, WH_HANDOFF_SYSCALL), 0, "and_no_handoff");
	wh_poll(all_listen(), 5000);
	wh_eq(wh_delegate(&client, H_KEEP, 0, 0).rax, 0, "wake_changes_no_register");
	for (i = 0; i < NSLOTS; i++)
		wh_delegate_start(&client, thread[i], i, H_ASK, 0, 100 + i);
	for (i = 0; i < NSLOTS; i++)
		right += wh_join(thread[i], 5) && thread[i]->res.rax == 200 + 2 * i;
	wh_eq(right, NSLOTS, "each_slot_has_a_companion_of_its_own");
	for (i = 0, right = 0; i < 500; i++)
		right += wh_delegate(&client, H_ASK, 0, 1 + i).rax == 2 + 2 * i;
	wh_eq(right, 500, "no_wake_is_lost");
	wh_eq(wh_delegate(&client, H_BOTH, 0, 5).rax, 5, "a_call_that_is_handed_off_meanwhile_too");
}

/* A companion that was told does nothing more. */
static void test_told_once(void)
{
	u64 nmis, before;

	stop_companions();
	G(&srv.vm, quit) = 0;
	before = G(&srv.vm, told)[0];
	start_companion(0, 1);
	wh_poll(READ_ONCE(G(&srv.vm, listening)[0]), 5000);
	wh_eq(busy(), 0, "who_listens_does_not_keep_the_server_busy");
	nmis = G(&srv.vm, wh_log).nmis;
	wh_delegate(&client, H_WAKE, 1000, 0);
	wh_ok(wh_join(companion[0], 5) && G(&srv.vm, told)[0] == before + 1,
	      "one_listening_is_told_once");
	wh_eq(G(&srv.vm, wh_log).nmis - nmis, 1, "a_thousand_wakes_are_one_nmi");
	wh_eq(busy(), 1, "who_was_told_keeps_the_server_busy");
	start_companions();
	wh_eq(busy(), 0, "until_it_listens_again");
}

static void test_end(void)
{
	u64 i, right = 0;

	stop_companions();
	G(&srv.vm, quit) = 0;
	start_companion(0, 1);
	wh_poll(READ_ONCE(G(&srv.vm, listening)[0]), 5000);
	wh_delegate(&client, H_WAKE, 1, 0);
	wh_join(companion[0], 5);
	wh_kill(client.vm.id);
	for (i = 0; i < NSLOTS; i++) {
		start_companion(i, 0);
		right += wh_join(companion[i], 5) && (s64)companion[i]->res.rax == WH_EGONE;
	}
	wh_eq(right, NSLOTS, "companions_of_a_dead_pair_are_told_so");
	wh_eq(busy(), 0, "and_keep_nobody_busy");
}

int main(void)
{
	u32 i;

	wh_watchdog(120);
	wh_require_feature();
	wh_plan(20);
	wh_nslots = NSLOTS;
	wh_server_create(&srv, 1);
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	if (wh_worker_register(&worker) || wh_worker_slot(&worker))
		wh_die("registering a worker");
	for (i = 1; i < NSLOTS; i++)
		wh_worker_thread(&worker, i);
	wh_worker_park(&worker);
	for (i = 0; i < NSLOTS; i++) {
		companion[i] = wh_thread_create(&worker.as);
		thread[i] = i ? wh_thread_create(&client.as) : client.vcpu;
	}
	if (wh_attach(&client))
		wh_die("ATTACH");
	test_leaves();
	start_companions();
	test_asks();
	test_told_once();
	test_end();
	return wh_exit();
}
