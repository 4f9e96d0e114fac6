// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch itself: one VMFUNC leads from the client's memory to the
 * worker's and back without a VM exit, the view holds what the worker maps
 * and not more, and pages come into it on demand. Needs VMFUNC.
 */
#include <string.h>
#include "wormhole.h"

#define BIG_VA		0x7d0000000000ULL
#define BIG_GPA		0xe00000ULL	/* the end of RAM, far from the heap */

static char marker[WH_PAGE] __aligned(4096) = "nobody";
static u64 counter;

static s64 null_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0;
}

static s64 echo_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return (s64)session + slot + a0 * 1000 + a1;
}

static s64 marker_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return READ_ONCE(*(u64 *)marker);
}

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return READ_ONCE(*(u64 *)a0);
}

static s64 count_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return ++counter;
}

enum { H_NULL, H_ECHO, H_MARKER, H_LOAD, H_STORE, H_COUNT };

static const wh_handler_fn handlers[] = {
	null_handler, echo_handler, marker_handler, wh_load_handler, store_handler,
	count_handler,
};

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;

/* Client, CPL 3: @n calls; returns the sum of their results. */
static u64 guest_many_calls(u64 handler, u64 n)
{
	u64 sum = 0;

	while (n--)
		sum += wh_guest_delegate(handler, 0, 0);
	return sum;
}

static void test_first_call(void)
{
	struct wh_result r;

	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	wh_diag("eptp index %llu", (unsigned long long)client.index);
	r = wh_delegate(&client, H_NULL, 0, 0);
	wh_ok(r.end == WH_END_DONE, "first_call_returns");
	if (r.end != WH_END_DONE)
		wh_diag("end %d exit %u rip %llx vector %llu error %llx cr2 %llx",
			r.end, r.exit_reason, (unsigned long long)r.rip,
			(unsigned long long)r.vector,
			(unsigned long long)r.error, (unsigned long long)r.cr2);
	wh_eq(r.rax, 0, "null_call_returns_0");
	r = wh_delegate(&client, H_ECHO, 7, 42);
	wh_eq(r.rax, 0x5e5510 + 7042, "handler_gets_session_slot_and_arguments");
}

static void test_memory(void)
{
	u64 name[2] = { 0 };

	memcpy(G(&srv.vm, marker), "SERVER_", 8);
	memcpy(G(&client.vm, marker), "CLIENT_", 8);
	name[0] = wh_delegate(&client, H_MARKER, 0, 0).rax;
	wh_ok(!strcmp((char *)name, "SERVER_"), "same_address_holds_server_data_in_view");
	wh_ok(!strcmp(G(&client.vm, marker), "CLIENT_"), "client_data_is_untouched");
	wh_delegate(&client, H_COUNT, 0, 0);
	wh_eq(wh_delegate(&client, H_COUNT, 0, 0).rax, 2, "worker_state_persists_between_calls");
	wh_eq(G(&client.vm, counter), 0, "worker_variable_of_client_copy_stays_0");
	wh_eq(wh_delegate(&client, H_STORE, WH_DATA_VA, 0xdada).rax, 0xdada,
	      "window_is_writable_in_view");
	wh_eq(*(u64 *)(client.part_mem + WH_DATA_OFFSET), 0xdada,
	      "window_write_is_seen_by_client_memory");
}

/* Mapped after the view was built: filled on demand, by neighbourhoods. */
static void test_fills(void)
{
	struct wh_host_stat before, st;
	u64 i, right = 0;

	for (i = 0; i < 512; i++)
		*(u64 *)wh_gpa(&srv.vm, BIG_GPA + i * WH_PAGE) = i + 1;
	wh_map_2m(&worker.as, BIG_VA, BIG_GPA, WH_USER_RW);
	wh_stat(client.vm.id, &before);
	for (i = 0; i < 512; i++)
		right += wh_delegate(&client, H_LOAD, BIG_VA + i * WH_PAGE, 0).rax == i + 1;
	wh_eq(right, 512, "pages_of_a_2m_page_are_filled_on_demand");
	for (i = 0; i < WH_LAZY_PAGES; i++)
		wh_map(&worker.as, WH_LAZY_VA + i * WH_PAGE,
		       worker.lazy_gpa + i * WH_PAGE, WH_USER_RW);
	wh_eq(wh_delegate(&client, H_STORE, WH_LAZY_VA, 5).rax, 5, "page_is_filled_on_demand");
	wh_stat(client.vm.id, &st);
	wh_ok(st.fills > before.fills && st.filled_pages >= before.filled_pages + 513,
	      "stat_counts_fills_and_pages");
	wh_diag("%llu fills for %llu pages", (unsigned long long)(st.fills - before.fills),
		(unsigned long long)(st.filled_pages - before.filled_pages));
	wh_eq(st.handoffs[WH_HANDOFF_FAULT] - before.handoffs[WH_HANDOFF_FAULT], 0,
	      "a_fill_needs_no_handoff");
	wh_stat(srv.vm.id, &st);
	wh_ok(st.fills && st.attaches == 1, "stat_of_server_sums_its_clients");
}

static void test_no_exits(void)
{
	struct wh_host_stat before, after;
	struct wh_result r;

	wh_delegate(&client, H_NULL, 0, 0);
	wh_stat(client.vm.id, &before);
	r = wh_call(client.vcpu, &client.as, 3, guest_many_calls, H_NULL, 10000, 0, 0);
	wh_ok(r.end == WH_END_DONE && !r.rax, "10000_null_calls_return");
	wh_eq(wh_view_exits(client.vm.id, &before), 0,
	      "10000_null_calls_take_no_exit_in_view");
	wh_stat(client.vm.id, &after);
	wh_eq(after.fills - before.fills, 0, "warm_calls_fill_nothing");
	wh_eq(after.refusals - before.refusals, 0, "warm_calls_are_not_refused");
	wh_ok(after.rearms - before.rearms <= 1, "at_most_one_rearm");
}

int main(void)
{
	wh_require_feature();
	wh_plan(22);
	wh_watchdog(60);
	/* Whoever moves is armed anew, which test_no_exits() counts. */
	wh_one_cpu();
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	wh_eq(wh_allow(2, 1, 0, 4), 0, "host_allows_client");
	test_first_call();
	test_memory();
	test_fills();
	test_no_exits();
	return wh_exit();
}
