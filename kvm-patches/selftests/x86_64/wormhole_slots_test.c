// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of a client, each with a slot: their calls run at the same time on
 * different vCPUs, each lands in its own slot whatever the client says, and what
 * the view loses it loses in all slots. Needs VMFUNC.
 */
#include <string.h>
#include "wormhole.h"

#define NSLOTS		4
/* A page that the server exchanges; a TLB that is mapped directly has room for it. */
#define OTHER_VA	0x7c0000345000ULL

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_vcpu *thread[NSLOTS];	/* of the client */

/* --- Handlers ---------------------------------------------------------------- */

static u64 arrived, leave;

static s64 null_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0;
}

/* All a0 calls are in their handlers before one returns. */
static s64 meet_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	while (READ_ONCE(arrived) < a0)
		;
	return slot * 100 + a1;
}

/* Stays until the host says so. */
static s64 stay_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	while (!READ_ONCE(leave))
		;
	return slot * 100 + a1;
}

static s64 store_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	WRITE_ONCE(*(u64 *)a0, a1);
	return READ_ONCE(*(u64 *)a0);
}

/* The server's kernel adds. */
static s64 handed_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 rax;

	asm volatile("syscall" : "=a"(rax) : "0"(WH_SYS_ADD), "D"(a1), "S"(slot)
		     : "rcx", "r11", "memory");
	return rax;
}

static s64 here_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 rax;

	asm volatile("syscall" : "=a"(rax) : "0"(WH_SYS_HERE), "D"(a1), "S"(slot)
		     : "rcx", "r11", "memory");
	return rax;
}

enum { H_NULL, H_MEET, H_STAY, H_LOAD, H_STORE, H_HANDED, H_HERE, H_REGS };

static const wh_handler_fn handlers[] = {
	null_handler, meet_handler, stay_handler, wh_load_handler, store_handler, handed_handler,
	here_handler, wh_regs_handler,
};

/* --- Registration -------------------------------------------------------------- */

static s64 register_with(u64 slots, u64 part_size)
{
	struct wh_result r;

	wh_nslots = slots;
	r = wh_leaf(worker.vcpu, &worker.as, 0, WH_LEAF_WORKER_REGISTER, 0, worker.part,
		    part_size, worker.seq_gpa);
	wh_nslots = NSLOTS;
	return r.rax;
}

static void test_register(void)
{
	struct wh_result r = wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_VERSION, 0, 0, 0, 0);

	wh_eq(r.rdx, WH_MAX_SLOTS, "version_tells_how_many_slots_a_pair_can_have");
	wh_eq(register_with(0, WH_PART_SIZE), WH_EINVAL, "worker_without_slots_is_refused");
	wh_eq(register_with(WH_MAX_SLOTS + 1, WH_PART_SIZE), WH_EINVAL,
	      "worker_with_too_many_slots_is_refused");
	wh_eq(register_with(~0ULL, WH_PART_SIZE), WH_EINVAL,
	      "worker_with_absurdly_many_slots_is_refused");
	wh_eq(register_with(NSLOTS, (NSLOTS + 1) * WH_PAGE), WH_EINVAL,
	      "worker_whose_part_is_too_small_for_its_slots_is_refused");
}

static void test_attach(void)
{
	u64 i, cr3 = client.as.cr3;
	struct wh_result r;

	/* The view has the slot's page at that address. */
	memcpy(wh_gpa(&client.vm, 0), wh_gpa(&client.vm, cr3), WH_PAGE);
	client.as.cr3 = 0;
	wh_eq(wh_attach(&client), WH_EINVAL, "client_whose_cr3_is_0_is_refused");
	client.as.cr3 = cr3;

	r = wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_ATTACH, WH_ABI_VERSION,
		    wh_tramp_checksum(), 0, 0);
	wh_ok(!r.rax && r.rbx == 1 && r.rcx == NSLOTS,
	      "attach_returns_the_first_index_and_the_number_of_slots");
	for (i = 0; i < NSLOTS; i++) {
		wh_client_slot(&client, i)->index = r.rbx + i;
		wh_client_slot(&client, i)->slot = i;
	}
	client.index = r.rbx;
	wh_eq(wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_CONTINUE, r.rbx + NSLOTS, 0, 0, 0).rax,
	      WH_EGONE, "index_behind_the_last_slot_is_nobodys");
}

/* --- Calls --------------------------------------------------------------------- */

static bool all_return(u64 base)
{
	bool right = true;
	u64 i;

	for (i = 0; i < NSLOTS; i++) {
		if (!wh_join(thread[i], 5)) {
			wh_diag("slot %llu does not return", (unsigned long long)i);
			wh_vcpu_stop(thread[i]);
			right = false;
		} else if (thread[i]->res.end != WH_END_DONE ||
			   thread[i]->res.rax != base + i * 100 + i) {
			wh_diag("slot %llu: end %d, %llx", (unsigned long long)i,
				thread[i]->res.end, (unsigned long long)thread[i]->res.rax);
			right = false;
		}
	}
	return right;
}

static void start_all(u64 handler, u64 a0)
{
	u64 i;

	G(&srv.vm, arrived) = 0;
	G(&srv.vm, leave) = 0;
	for (i = 0; i < NSLOTS; i++)
		wh_delegate_start(&client, thread[i], i, handler, a0, i);
}

static void test_same_time(void)
{
	struct wh_host_stat before;

	start_all(H_MEET, NSLOTS);
	wh_ok(all_return(0), "calls_of_four_threads_meet_inside_of_their_handlers");
	wh_stat(client.vm.id, &before);
	start_all(H_MEET, NSLOTS);
	wh_ok(all_return(0), "they_meet_again");
	wh_eq(wh_view_exits(client.vm.id, &before), 0, "calls_that_meet_need_no_exit");
}

/* Whatever the client's memory says, the slot is that of the EPT. */
static void test_lies(void)
{
	struct wh_slot *s = wh_client_slot(&client, 2);
	struct wh_result r;

	s->slot = 1;
	r = wh_delegate_in(&client, thread[2], 2, H_MEET, 0, 7);
	wh_eq(r.rax, 207, "slot_is_not_taken_from_the_clients_memory");
	s->slot = 2;
	s->index = client.index + 3;
	r = wh_delegate_in(&client, thread[2], 2, H_MEET, 0, 7);
	wh_eq(r.rax, 307, "index_names_the_slot");
	s->index = client.index + 2;
}

static void test_slot_page(void)
{
	u64 i, right = 0;

	for (i = 0; i < NSLOTS; i++)
		right += wh_delegate_in(&client, thread[i], i, H_LOAD,
					WH_SLOT_VA + offsetof(struct wh_slot_view, slot),
					0).rax == i;
	wh_eq(right, NSLOTS, "each_slot_reads_its_own_page");
	wh_eq(wh_delegate_in(&client, thread[1], 1, H_LOAD, WH_SLOT_VA, 0).rax, WH_SLOT_VIEW,
	      "the_page_says_that_this_is_a_view");
	/* The server's kernel meets the store, in memory of the worker. */
	*wh_pte(&worker.as, WH_SLOT_VA) |= WH_PTE_W | WH_PTE_D;
	wh_eq(wh_delegate_in(&client, thread[1], 1, H_STORE, WH_SLOT_VA, 0x77).rax, 0x77,
	      "a_store_to_the_page_is_the_workers_own_affair");
	wh_eq(wh_delegate_in(&client, thread[1], 1, H_LOAD, WH_SLOT_VA, 0).rax, WH_SLOT_VIEW,
	      "the_page_in_the_view_is_not_changed_by_it");
	*wh_pte(&worker.as, WH_SLOT_VA) &= ~(WH_PTE_W | WH_PTE_D);
}

/* Client, CPL 3: @n calls in a slot, each handed off; the sum of what they return. */
static u64 guest_handed(u64 slot, u64 n, u64 a1)
{
	u64 sum = 0;

	while (n--)
		sum += wh_guest_delegate_in(slot, H_HANDED, 0, a1);
	return sum;
}

static void test_handoffs(void)
{
	struct wh_host_stat before;
	u64 i, right = 0;

	wh_stat(client.vm.id, &before);
	for (i = 0; i < NSLOTS; i++)
		wh_start(thread[i], &client.as, 3, guest_handed, i, 50, 1000 * i, 0);
	for (i = 0; i < NSLOTS; i++)
		right += wh_join(thread[i], 10 * wh_patience()) &&
			 thread[i]->res.rax == 50 * (1000 * i + i);
	wh_eq(right, NSLOTS, "calls_of_four_threads_are_handed_off_each_to_its_own_thread");
	wh_eq(wh_handoffs(client.vm.id, &before, WH_HANDOFF_SYSCALL), 50 * NSLOTS,
	      "and_none_of_the_handoffs_is_lost");
	for (right = 0, i = 0; i < NSLOTS; i++)
		wh_delegate_start(&client, thread[i], i, H_REGS, 0, 0);
	for (i = 0; i < NSLOTS; i++)
		right += wh_join(thread[i], 10 * wh_patience()) && !thread[i]->res.rax;
	wh_eq(right, NSLOTS, "registers_of_four_calls_survive_handoffs_at_the_same_time");
}

/* A slot's call waits outside of the view while the others' go on. */
static void test_suspended(void)
{
	bool there;
	s64 ret;

	G(&srv.vm, arrived) = 0;
	G(&srv.vm, leave) = 0;
	wh_delegate_start(&client, thread[1], 1, H_STAY, 0, 1);
	there = wh_poll(READ_ONCE(G(&srv.vm, arrived)), 2000);
	wh_vcpu_stop(thread[1]);
	wh_ok(there && wh_delegate(&client, H_NULL, 0, 0).rax == 0,
	      "a_suspended_call_of_a_slot_leaves_the_others_alone");
	ret = wh_leaf(client.vcpu, &client.as, 3, WH_LEAF_CANCEL, client.index + 2, 0, 0, 0).rax;
	wh_eq(ret, WH_EBUSY, "slot_without_a_suspended_call_has_nothing_to_cancel");
	G(&srv.vm, leave) = 1;
	wh_resume(thread[1]);
	wh_ok(wh_join(thread[1], 5) && thread[1]->res.rax == 101,
	      "the_suspended_call_goes_on_in_its_slot");
}

/* Any vCPU may use any slot: threads move. */
static void test_any_vcpu(void)
{
	u64 i, right = 0;

	for (i = 0; i < NSLOTS; i++)
		right += wh_delegate_in(&client, thread[(i + 1) % NSLOTS], i, H_MEET, 0, i).rax ==
			 i * 100 + i;
	wh_eq(right, NSLOTS, "a_slot_works_on_any_vcpu");
}

#define OLD	0x01dULL
#define NEW	0x9e3ULL

static u64 changed, seen[NSLOTS];	/* in the client */

/*
 * Client, CPL 3: calls until the host has changed the page and one call more, without
 * coming out between them. How often that was too late.
 */
static u64 guest_watch(u64 slot)
{
	u64 was, val, stale = 0;

	do {
		was = READ_ONCE(changed);
		val = wh_guest_delegate_in(slot, H_LOAD, OTHER_VA, 0);
		stale += val != NEW && (was || val != OLD);
		WRITE_ONCE(seen[slot], seen[slot] + 1);
	} while (!was);
	return stale;
}

static bool all_have_seen(void)
{
	u64 i;

	for (i = 0; i < NSLOTS; i++)
		if (!READ_ONCE(G(&client.vm, seen)[i]))
			return false;
	return true;
}

/* Each root has what the view maps later, and loses it. */
static void test_zaps(void)
{
	u64 old = wh_page_alloc(&srv.vm), new = wh_page_alloc(&srv.vm), i, right = 0;

	*(u64 *)wh_gpa(&srv.vm, old) = OLD;
	*(u64 *)wh_gpa(&srv.vm, new) = NEW;
	wh_map(&worker.as, OTHER_VA, old, WH_USER_RW);
	for (i = 0; i < NSLOTS; i++)
		wh_start(thread[i], &client.as, 3, guest_watch, i, 0, 0, 0);
	wh_ok(wh_poll(all_have_seen(), 2000), "what_comes_into_the_view_is_there_in_all_slots");
	wh_notify(&worker, OTHER_VA, OTHER_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	*wh_pte(&worker.as, OTHER_VA) = new | WH_USER_RW;
	wh_notify(&worker, OTHER_VA, OTHER_VA + WH_PAGE, WH_NOTIFY_END);
	WRITE_ONCE(G(&client.vm, changed), 1);
	for (i = 0; i < NSLOTS; i++)
		right += wh_join(thread[i], 5) && !thread[i]->res.rax;
	wh_eq(right, NSLOTS, "what_the_view_loses_is_lost_in_all_slots");
}

static void test_gate(void)
{
	struct wh_host_stat before;
	u64 i, right = 0;

	for (i = 0; i < NSLOTS; i++)
		wh_delegate_in(&client, thread[i], i, H_HERE, 0, 1);
	wh_stat(client.vm.id, &before);
	for (i = 0; i < NSLOTS; i++)
		right += wh_delegate_in(&client, thread[i], i, H_HERE, 0, 5).rax == 5 + i;
	wh_eq(right, NSLOTS, "system_calls_of_all_slots_go_through_the_gate");
	wh_eq(wh_view_exits(client.vm.id, &before), 0, "they_need_no_exit");
}

static void test_end(void)
{
	struct wh_host_stat st;
	u64 i, right = 0;

	start_all(H_STAY, 0);
	wh_poll(READ_ONCE(G(&srv.vm, arrived)) == NSLOTS, 2000);
	wh_kill(client.vm.id);
	for (i = 0; i < NSLOTS; i++)
		right += wh_join(thread[i], 5) && (s64)thread[i]->res.rax == WH_EGONE;
	wh_eq(right, NSLOTS, "calls_of_all_slots_fail_when_the_pair_dies");
	wh_stat(client.vm.id, &st);
	wh_ok(!st.pairs && !st.view_tables && !st.view_pages, "nothing_is_left_of_the_pair");
}

int main(void)
{
	u32 i;

	wh_watchdog(120);
	wh_with_gate = true;
	wh_require_feature();
	wh_plan(30);
	wh_nslots = NSLOTS;
	wh_server_create(&srv, 1);
	wh_client_create(&client, 2, &srv, 0);
	wh_allow(2, 1, 0, 1);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	test_register();
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	if (wh_worker_register(&worker) || wh_worker_slot(&worker))
		wh_die("registering a worker");
	for (i = 1; i < NSLOTS; i++)
		wh_worker_thread(&worker, i);
	wh_worker_park(&worker);
	thread[0] = client.vcpu;
	for (i = 1; i < NSLOTS; i++)
		thread[i] = wh_thread_create(&client.as);
	test_attach();
	test_same_time();
	test_lies();
	test_slot_page();
	test_handoffs();
	test_suspended();
	test_any_vcpu();
	test_zaps();
	test_gate();
	test_end();
	return wh_exit();
}
