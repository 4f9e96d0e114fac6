// SPDX-License-Identifier: GPL-2.0-only
/*
 * Barriers between pairs, as the host chose for a client: where they come, and
 * that no way into a view goes round them. What a barrier does to predictors
 * and caches is the processor's affair. Needs VMFUNC, IBPB and L1D flush.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "wormhole.h"

#define CALLS			1000
#define TRIES			10	/* others may have the CPU in between */
#define EXIT_REASON_VMFUNC	59

enum { H_NULL, H_WAIT, H_SYSCALL, H_LOAD };
static const wh_handler_fn handlers[] = {
	wh_null_handler, wh_wait_handler, wh_sys_add_handler, wh_load_handler,
};

static struct wh_server srv;
static struct wh_worker workers[2];
static struct wh_client client;
static u64 *words;

/* Client, CPL 3: in and out, @n times; this code is the worker's, too. */
static u64 guest_visit(u64 index, u64 n)
{
	u64 rax = 0;

	while (n-- && !rax) {
		rax = wh_vmfunc(index);
		if (!rax)
			wh_vmfunc(0);
	}
	return rax;
}

static s64 visit(u64 index, u64 n)
{
	return wh_call(client.vcpu, &client.as, 3, guest_visit, index, n, 0, 0).rax;
}

static u64 guest_calls(u64 handler, u64 n)
{
	u64 good = 0, i;

	for (i = 0; i < n; i++)
		good += wh_guest_delegate(handler, i, 0) == 0x600d + (s64)i;
	return good;
}

/* The shortest of @n calls, in ticks of the TSC, which all VMs with a role share. */
static u64 guest_ticks(u64 n)
{
	u64 min = -1ULL, start, ticks;

	while (n--) {
		start = wh_rdtsc();
		wh_guest_delegate(H_NULL, 0, 0);
		ticks = wh_rdtsc() - start;
		if (ticks < min)
			min = ticks;
	}
	return min;
}

static void show_cost(const char *kind)
{
	wh_diag("%s: a null call takes %llu ticks", kind, (unsigned long long)
		wh_call(client.vcpu, &client.as, 3, guest_ticks, CALLS, 0, 0, 0).rax);
}

static struct wh_host_stat stat_now(void)
{
	struct wh_host_stat st;

	if (wh_stat(2, &st))
		wh_die("WH_HOST_STAT");
	return st;
}

static u64 barriers_since(const struct wh_host_stat *old)
{
	return stat_now().barriers - old->barriers;
}

static u64 guest_flush_tlb(void)
{
	u64 cr3;

	asm volatile("mov %%cr3, %0; mov %0, %%cr3" : "=r"(cr3) :: "memory");
	return cr3;
}

/* The process maps another part at WH_WINDOW_VA. */
static void show_part(u32 part)
{
	u64 off;

	for (off = 0; off < WH_PART_SIZE; off += WH_PAGE)
		wh_map(&client.as, WH_WINDOW_VA + off,
		       WH_WINDOW_GPA + part * WH_PART_SIZE + off, WH_USER_RW);
	wh_call(client.vcpu, &client.as, 0, guest_flush_tlb, 0, 0, 0, 0);
	client.slot = (void *)(client.vm.window + part * WH_PART_SIZE + WH_SLOT_OFFSET);
}

/* One process with two pairs, one after the other in its window; part 1 stays. */
static void attach_two(u64 index[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		show_part(i);
		if (wh_attach(&client))
			wh_die("attach");
		index[i] = client.index;
	}
}

static void end_pairs(void)
{
	int i;

	wh_kill(2);
	for (i = 0; i < 2; i++) {
		wh_release(&workers[i]);
		wh_worker_again(&workers[i]);
	}
}

static void test_permission(void)
{
	wh_eq(wh_allow_barrier(2, 1, 2, WH_ALLOW_BARRIERS), -EINVAL, "two_barriers_are_refused");
	wh_eq(wh_allow_barrier(2, 1, 2, 4), -EINVAL, "unknown_barrier_is_refused");
}

static void test_none(void)
{
	struct wh_host_stat before;
	u64 index[2];

	wh_allow(2, 1, 0, 2);
	before = stat_now();
	attach_two(index);
	wh_ok(!visit(index[0], 10) && !visit(index[1], 10),
	      "without_a_barrier_two_views_are_at_hand");
	wh_eq(barriers_since(&before), 0, "and_no_barrier_is_issued");
	show_cost("none");
	end_pairs();
}

static void test_ibpb(void)
{
	struct wh_host_stat before;
	u64 index[2], wrong = 0;
	int i;

	if (wh_allow_barrier(2, 1, 2, WH_ALLOW_IBPB)) {
		wh_skip("ibpb", "the processor has none");
		return;
	}
	before = stat_now();
	attach_two(index);
	/* One more each time that a server's vCPU had the CPU in between. */
	wh_ok(barriers_since(&before) >= 2, "each_pair_begins_with_an_ibpb");
	wh_eq(visit(index[0], 1), WH_EPERM, "pair_with_a_barrier_is_armed_alone");
	visit(index[1], 1);

	for (i = 0; i < TRIES; i++) {
		before = stat_now();
		wrong += visit(index[1], CALLS) != 0;
		if (!barriers_since(&before) && stat_now().rearms == before.rearms)
			break;
	}
	wh_eq(wrong, 0, "calls_of_one_pair_go_on");
	wh_ok(i < TRIES, "without_barrier_and_exit");

	show_cost("ibpb");

	show_part(0);
	before = stat_now();
	wh_eq(visit(index[0], 1), 0, "other_pair_is_armed_when_its_window_is_there");
	wh_ok(barriers_since(&before) >= 1, "with_an_ibpb");

	before = stat_now();
	wh_leaf(srv.boss, &srv.kernel, 0, WH_LEAF_VERSION, 0, 0, 0, 0);
	wh_eq(visit(index[0], 10), 0, "pair_goes_on_after_another_vm_ran");
	wh_ok(barriers_since(&before) >= 1, "with_an_ibpb_too");
	end_pairs();
}

/* How often the vCPU's thread lost its CPU so far. */
static u64 times_away(void)
{
	unsigned long sum = 0, n;
	char line[128];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/self/task/%d/status", client.vcpu->tid);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
			sum += n;
	if (!f || fclose(f) || !sum)
		wh_die("ctxt_switches");
	return sum;
}

/* What happened while others had the CPU: how often it was lost at least and at most. */
struct away {
	u64 sure, may, suspends, barriers, exits;
};

/*
 * Who asks has the only CPU: the vCPU is away meanwhile, but may come in between
 * two questions, hence what is sure and what may be.
 */
static struct away watch_away(void)
{
	u64 may = times_away(), sure;
	struct wh_host_stat before = stat_now(), after;

	sure = times_away();
	wh_poll(times_away() >= sure + 4, 1000);
	sure = times_away() - sure;
	after = stat_now();
	may = times_away() - may;
	return (struct away) {
		.sure = sure, .may = may,
		.suspends = after.suspends - before.suspends,
		.barriers = after.barriers - before.barriers,
		.exits = after.exits[EXIT_REASON_VMFUNC] - before.exits[EXIT_REASON_VMFUNC],
	};
}

/*
 * The host's scheduler takes the CPU away in the middle of a call. A vCPU that
 * comes back has requests to serve in its own world, so each time may bring one
 * suspension, with two barriers as well. While suspended it may be away without
 * a barrier; that is rare, but nobody sees it from here: a watch in which there
 * are less is repeated. If one kind of barrier were missing all would have less.
 */
static void test_scheduled_away(void)
{
	u64 few = 0, many = 0, exits = 0;
	struct away w;
	int i;

	memset(words, 0, 2 * sizeof(*words));
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_WAIT, 7, 0, 0);
	wh_ok(wh_poll(READ_ONCE(words[1]), 1000), "strict_call_waits");
	for (i = 0; i < TRIES; i++) {
		w = watch_away();
		many += w.barriers > 2 * (w.may + w.suspends) + 2;
		exits += w.exits;
		few = w.barriers < 2 * (w.sure + w.suspends);
		wh_diag("away %lu to %lu times, %lu suspensions: %lu barriers",
			w.sure, w.may, w.suspends, w.barriers);
		if (!few)
			break;
	}
	wh_ok(w.sure >= 4, "others_use_the_cpu_meanwhile");
	wh_ok(!few && !many, "with_a_barrier_before_and_one_after");
	wh_eq(exits, 0, "while_the_call_stays_in_the_view");
	words[0] = 7;
	wh_ok(wh_join(client.vcpu, 3) && client.vcpu->res.rax == 7, "and_comes_home");
}

static void test_strict_kill(void)
{
	memset(words, 0, 2 * sizeof(*words));
	wh_start(client.vcpu, &client.as, 3, wh_guest_delegate, H_WAIT, 7, 0, 0);
	wh_poll(READ_ONCE(words[1]), 1000);
	wh_kill(2);
	wh_ok(wh_join(client.vcpu, 3) && (s64)client.vcpu->res.rax == WH_EGONE,
	      "strict_call_fails_when_its_pair_is_killed");
}

static void test_strict(void)
{
	struct wh_host_stat before, after;
	u64 page = wh_page_alloc(&srv.vm);

	if (wh_allow_barrier(2, 1, 2, WH_ALLOW_STRICT)) {
		wh_skip("strict", "the processor has no L1D flush");
		return;
	}
	show_part(0);
	wh_eq(wh_attach(&client), WH_OK, "strict_pair_attaches");
	wh_eq(wh_delegate(&client, H_NULL, 5, 0).rax, 0x600d + 5, "strict_call_returns");
	before = stat_now();
	wh_eq(wh_call(client.vcpu, &client.as, 3, guest_calls, H_NULL, CALLS, 0, 0).rax, CALLS,
	      "strict_calls_are_right");
	after = stat_now();
	wh_eq(after.exits[EXIT_REASON_VMFUNC] - before.exits[EXIT_REASON_VMFUNC], CALLS,
	      "each_leaves_the_view_by_an_exit");
	wh_ok(after.barriers - before.barriers >= 2 * CALLS, "with_a_barrier_on_each_way");
	wh_eq(after.rearms - before.rearms, 0, "and_is_never_armed");
	show_cost("strict");
	wh_eq(wh_delegate(&client, H_SYSCALL, 20, 22).rax, 42,
	      "handoff_of_a_strict_call_comes_back");
	*(u64 *)wh_gpa(&srv.vm, page) = 0xfee1;
	wh_map(&workers[0].as, WH_LAZY_VA, page, WH_USER_RW);
	wh_eq(wh_delegate(&client, H_LOAD, WH_LAZY_VA, 0).rax, 0xfee1,
	      "page_of_a_strict_view_is_filled");
	test_scheduled_away();
	test_strict_kill();
}

int main(void)
{
	int i;

	wh_require_feature();
	wh_plan(27);
	wh_watchdog(60);
	wh_one_cpu();
	wh_server_create(&srv, 1);
	wh_eq(wh_server_register(&srv), WH_OK, "server_registers");
	for (i = 0; i < 2; i++)
		wh_worker_start(&workers[i], &srv, i, handlers, WH_ARRAY_SIZE(handlers));
	wh_client_create(&client, 2, &srv, 0);
	words = (void *)(client.part_mem + WH_DATA_OFFSET);
	test_permission();
	test_none();
	test_ibpb();
	test_strict();
	return wh_exit();
}
