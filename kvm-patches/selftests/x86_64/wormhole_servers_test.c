// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client VM with the windows of two servers: one process has a pair with each and
 * maps the part of whom it calls. Permissions and their quotas are a server's own.
 * Needs VMFUNC.
 */
#include <errno.h>
#include <sys/mman.h>
#include "wormhole.h"

#define CLIENT		33	/* permissions outlive the tests before */
#define SECOND_GPA	(WH_WINDOW_GPA + 0x10000000ULL)
#define CALLS		1000
#define NO_WINDOW	(~0U)		/* a worker has less */

static struct wh_server srv[2];
static struct wh_worker worker[2];
static struct wh_client client;
static u8 *window[2];
static u64 index_of[2];

/* --- Handlers ---------------------------------------------------------------- */

static s64 first_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0x1000 + a0;
}

static s64 second_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0x2000 + a0;
}

static const wh_handler_fn handlers[2] = { first_handler, second_handler };

/* --- The client ---------------------------------------------------------------- */

static u64 guest_flush_tlb(void)
{
	u64 cr3;

	asm volatile("mov %%cr3, %0; mov %0, %%cr3" : "=r"(cr3) :: "memory");
	return cr3;
}

/* Calls in a row; how many were right. */
static u64 guest_calls(u64 n, u64 want)
{
	u64 i, right = 0;

	for (i = 0; i < n; i++)
		right += wh_guest_delegate(0, i, 0) == (s64)(want + i);
	return right;
}

/* The process maps its part of a server's window. */
static void show_window(int s)
{
	u64 off, gpa = s ? SECOND_GPA : WH_WINDOW_GPA;

	for (off = 0; off < WH_PART_SIZE; off += WH_PAGE)
		wh_map(&client.as, WH_WINDOW_VA + off, gpa + off, WH_USER_RW);
	wh_call(client.vcpu, &client.as, 0, guest_flush_tlb, 0, 0, 0, 0);
	client.part_mem = window[s];
}

static s64 attach_to(int s)
{
	s64 ret;

	show_window(s);
	ret = wh_attach(&client);
	if (!ret)
		index_of[s] = client.index;
	return ret;
}

static u64 calls_of(int s)
{
	show_window(s);
	return wh_call(client.vcpu, &client.as, 3, guest_calls, CALLS,
		       s ? 0x2000 : 0x1000, 0, 0).rax;
}

/* --- Tests ----------------------------------------------------------------------- */

static void test_permission(void)
{
	wh_eq(attach_to(0), WH_EPERM, "nobody_allowed_the_client_anything");
	wh_eq(wh_allow(CLIENT, 2, 0, 1), 0, "second_server_is_allowed");
	wh_eq(attach_to(0), WH_ENOENT, "first_one_is_not");
	wh_eq(attach_to(1), WH_OK, "process_attaches_to_the_second");
	wh_eq(wh_allow(CLIENT, 1, 0, 1), 0, "first_server_is_allowed_too");
	wh_eq(attach_to(0), WH_OK, "process_attaches_to_the_first_as_well");
	wh_ok(index_of[0] != index_of[1], "each_pair_has_an_index_of_its_own");
}

static void test_calls(void)
{
	struct wh_host_stat before;

	wh_eq(calls_of(0), CALLS, "calls_of_the_first_are_right");
	wh_eq(calls_of(1), CALLS, "calls_of_the_second_are_right");
	wh_stat(CLIENT, &before);
	wh_eq(before.pairs, 2, "client_has_two_pairs");
	wh_ok(calls_of(0) == CALLS && calls_of(1) == CALLS, "and_so_they_stay_in_turns");
	wh_ok(wh_view_exits(CLIENT, &before) == 0, "no_call_takes_an_exit");
}

/* Another process of the client wants another worker of the first server. */
static void test_quota(void)
{
	struct wh_worker more;
	struct wh_as as, own = client.as;

	wh_worker_start(&more, &srv[0], 1, handlers, 1);
	wh_client_as(&as, &client, 1);
	client.as = as;
	wh_eq(wh_attach(&client), WH_ENOMEM, "quota_of_one_server_is_used_up");
	wh_eq(wh_allow(CLIENT, 1, NO_WINDOW, 1), 0, "permission_may_be_for_no_window");
	client.part_mem = window[0] + WH_PART_SIZE;
	wh_eq(wh_attach(&client), WH_EPERM, "by_which_nobody_attaches");
	client.as = own;
	wh_eq(calls_of(0), CALLS, "while_who_is_attached_goes_on_to_call");
	client.as = as;
	wh_eq(wh_allow(CLIENT, 1, 0, 2), 0, "it_is_raised");
	client.part_mem = window[0] + WH_PART_SIZE;
	wh_eq(wh_attach(&client), WH_OK, "and_the_other_servers_pairs_do_not_count");
	wh_detach(&client);
	client.as = own;
	wh_join(more.vcpu, 5);
}

static void test_ends(void)
{
	wh_eq(wh_kill(2), 0, "second_server_ends_its_pairs");
	wh_ok((s64)calls_of(1) == 0, "calls_of_the_second_fail");
	wh_eq(calls_of(0), CALLS, "those_of_the_first_do_not_notice");
	wh_eq(wh_deny(CLIENT), 0, "all_permissions_are_taken_back");
	wh_eq(wh_deny(CLIENT), -ENOENT, "there_is_none_left");
	wh_ok((s64)calls_of(0) == 0, "calls_of_the_first_fail_now");
	wh_eq(attach_to(0), WH_EPERM, "and_it_cannot_attach");
}

int main(void)
{
	int s;

	wh_require_feature();
	wh_plan(25);
	wh_watchdog(120);
	for (s = 0; s < 2; s++) {
		wh_server_create(&srv[s], 1 + s);
		if (wh_server_register(&srv[s]))
			wh_die("server");
		wh_worker_start(&worker[s], &srv[s], 0, &handlers[s], 1);
	}
	wh_client_create(&client, CLIENT, &srv[0], 0);
	window[0] = client.vm.window;
	window[1] = mmap(NULL, srv[1].win.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 srv[1].win.fd, 0);
	if (window[1] == MAP_FAILED)
		wh_die("mmap window");
	wh_set_memslot(&client.vm, 2, 0, SECOND_GPA, srv[1].win.size, window[1]);
	test_permission();
	test_calls();
	test_quota();
	test_ends();
	return wh_exit();
}
