// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two at one thing: a call that one thread of a worker takes while another brings it
 * back, a pair that a client ends while the host does, one that is released before who
 * made it knows its name, and a pair's pages while a vCPU of its client rests. Needs
 * VMFUNC, and a kernel with CONFIG_KVM_WORMHOLE_TEST.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "wormhole.h"

#define MS	500

static const wh_handler_fn handlers[] = { wh_null_handler, wh_sys_add_handler };
enum { H_NULL, H_ADD };

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_vcpu *second, *thief;
static u64 *words;
static bool killed;

#define UD_VECTOR	6

/* CPL 3 of the worker: slot 0's call is done, it says. */
static u64 steal(void)
{
	u64 rax = 0;

	asm volatile(".byte 0x0f, 0x01, 0xd4"	/* vmfunc */
		     : "+a"(rax) : "c"(0), "S"(0) : "memory");
	return rax;
}

static void test_take(void)
{
	bool held;

	wh_point("take", "hold", 1);
	wh_delegate_start(&client, client.vcpu, 0, H_ADD, 5, 6);
	held = wh_point_waits("take");
	wh_start(thief, &worker.as, 3, steal, 0, 0, 0, 0);
	wh_ok(held && wh_join(thief, 2) && thief->res.end == WH_END_TRAP &&
	      thief->res.vector == UD_VECTOR, "call_that_is_being_taken_is_nobodys_to_bring_back");
	wh_point("take", "go", 0);
	wh_ok(wh_join(client.vcpu, 2) && client.vcpu->res.rax == 11, "who_took_it_does");
	wh_eq(wh_delegate(&client, H_ADD, 7, 8).rax, 15, "and_the_next_one");
}

/* --- KILL beside DETACH -------------------------------------------------------------- */

static u64 guest_loop(void)
{
	u64 *w = (void *)WH_DATA_VA, n;

	for (n = 1; wh_guest_delegate(H_NULL, n, 0) == (s64)(0x600d + n); n++)
		WRITE_ONCE(w[0], n);
	return n;
}

static void *kill_server(void *arg)
{
	wh_kill(srv.vm.id);
	WRITE_ONCE(killed, true);
	return NULL;
}

static bool calls_go_on(void)
{
	u64 before = READ_ONCE(words[0]);

	return wh_poll(READ_ONCE(words[0]) != before, MS * wh_patience());
}

static void test_kill(void)
{
	pthread_t thread;
	bool held;

	words[0] = 0;
	wh_start(client.vcpu, &client.as, 3, guest_loop, 0, 0, 0, 0);
	wh_poll(READ_ONCE(words[0]), MS * wh_patience());
	wh_point("kill", "hold", 1);
	wh_leaf_start(second, &client.as, 3, WH_LEAF_DETACH, client.index, 0, 0, 0);
	held = wh_point_waits("kill");
	/* The pair is dead, and calls may go on until somebody is told. */
	if (pthread_create(&thread, NULL, kill_server, NULL))
		wh_die("thread");
	wh_ok(held && !wh_poll(READ_ONCE(killed), MS), "kill_of_the_server_waits_for_a_detach");
	wh_point("kill", "go", 0);
	pthread_join(thread, NULL);
	wh_ok(!calls_go_on() && wh_join(client.vcpu, 2), "and_no_call_is_made_behind_it");
	wh_join(second, 2);
}

/* --- RELEASE beside WORKER_REGISTER ----------------------------------------------------- */

static void test_publish(void)
{
	u64 next = worker.pair + 1;
	bool held;

	wh_point("publish", "hold", 1);
	wh_leaf_start(worker.vcpu, &worker.as, 0, WH_LEAF_WORKER_REGISTER, 0, worker.part,
		      WH_PART_SIZE, worker.seq_gpa);
	held = wh_point_waits("publish");
	wh_eq(wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_RELEASE, next, 0, 0, 0).rax, WH_OK,
	      "pair_is_released_before_its_name_is_told");
	wh_point("publish", "go", 0);
	wh_ok(held && wh_join(worker.vcpu, 2) && worker.vcpu->res.rax == WH_OK &&
	      worker.vcpu->res.rbx == next, "who_made_it_is_told_the_name");
	worker.pair = next;
}

/* --- A vCPU that rests ------------------------------------------------------------------ */

static void test_rest(long before)
{
	/* It was in the view, and does not run now. */
	wh_ok(wh_pinned_pages() > before && wh_delegate(&client, H_NULL, 1, 0).rax == 0x600e,
	      "pair_has_pages_of_the_server");
	wh_release(&worker);
	wh_eq(wh_pinned_pages(), before, "none_stays_pinned_for_a_vcpu_that_rests");
	wh_eq(wh_delegate(&client, H_NULL, 1, 0).rax, WH_EGONE, "which_learns_of_it_when_it_runs");
}

int main(void)
{
	long before;

	wh_require_feature();
	if (!wh_points_there())
		wh_skip_all("needs CONFIG_KVM_WORMHOLE_TEST");
	wh_plan(10);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	before = wh_pinned_pages();
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	thief = wh_thread_create(&worker.as);
	wh_client_create(&client, 2, &srv, 0);
	second = wh_thread_create(&client.as);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(2, 1, 0, 1);
	if (wh_attach(&client))
		wh_die("attach");
	test_take();
	test_kill();
	wh_release(&worker);
	wh_join(worker.vcpu, 1);
	test_publish();
	wh_worker_again(&worker);
	if (wh_attach(&client))
		wh_die("attach");
	test_rest(before);
	return wh_exit();
}
