// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what a delegated call does when it must not run: bad handler or slot,
 * a switch that did not arrive, a suspended call that failed. The switch is faked.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "../tap.h"

static struct keep k;

/* Checks one bad call: its status, no handler, and the caller finds all in order. */
static void refused(int64_t got, int64_t want, const char *name)
{
	if (fake_handler_runs)
		diag("the handler ran");
	ok(!fake_handler_runs && fake_kept(&k) && fake_world->world == WH_WORLD_CLIENT &&
	   got == want, name);
	if (got != want)
		diag("expected %lld, got %lld", (long long)want, (long long)got);
}

static void bad_handler(uint64_t handler, const char *name)
{
	fake_reset(&k);
	refused(fake_delegate(&k, handler), WH_ENOSYS, name);
}

/* Calls with a handler index that only an attacker can have, as no C caller can. */
static void long_handler(uint64_t handler, const char *name)
{
	fake_reset(&k);
	ok(fake_delegate(&k, handler) == FAKE_STATUS && fake_handler_runs == 1 && fake_kept(&k),
	   name);
}

/* The call must not believe the client's own memory. */
static void other_slot(uint32_t slot, const char *name)
{
	fake_reset(&k);
	fake_slot->slot = slot;
	fake_delegate(&k, FAKE_HANDLER);
	ok(fake_handler_runs == 1 && fake_at_handler.gpr[RSI] == FAKE_SLOT &&
	   fake_at_handler.fs == fake_worker_fs(), name);
}

static void test_no_view(void)
{
	fake_reset(&k);
	fake_refuse = WH_EGONE;
	fake_view->view = WH_SLOT_VIEW >> 8;
	refused(fake_delegate(&k, FAKE_HANDLER), WH_EGONE, "a_page_that_names_no_view_is_none");
}

static void test_refused_switch(void)
{
	fake_reset(&k);
	k.in.rflags |= RFLAGS_AC;
	k.in.mxcsr = 0x7f80;
	fake_refuse = WH_EPERM;
	refused(fake_delegate(&k, FAKE_HANDLER), WH_EPERM, "refused_switch_returns_kvms_status");
	ok_eq(fake_switches, 1, "refused_switch_needs_no_way_back");

	fake_reset(&k);
	fake_refuse = 1;
	refused(fake_delegate(&k, FAKE_HANDLER), WH_EFATAL, "switch_to_nowhere_is_an_error");
}

static void call_from_a_broken_world(void)
{
	fake_reset(&k);
	fake_arrive = 0x1111;
	fake_delegate(&k, FAKE_HANDLER);
	_exit(0);
}

static void test_unknown_world(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		call_from_a_broken_world();
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL,
	   "unknown_world_ends_the_process_and_touches_no_stack");
}

static int64_t status_of_pending(int64_t status, void (*before)(void))
{
	fake_reset(&k);
	k.in.mxcsr = 0x7f80;
	k.in.fcw = 0x0b7f;
	k.in.rflags |= RFLAGS_AC;
	fake_suspends = 1;
	fake_before_suspend = before;
	fake_continue_status = status;
	return fake_delegate(&k, FAKE_HANDLER);
}

static void lose_slot(void)
{
	mprotect(fake_slot, WH_PAGE_SIZE, PROT_NONE);
}

static void test_pending(void)
{
	refused(status_of_pending(WH_EGONE, NULL), WH_EGONE, "failed_call_unwinds_from_pending");
	ok(fake_continues == 1 && (uint32_t)fake_seen_continue.gpr[RAX] == WH_LEAF_CONTINUE &&
	   !fake_seen_continue.gpr[RCX] && fake_seen_continue.gpr[RDI] == FAKE_INDEX &&
	   fake_seen_continue.gpr[RSI] == FAKE_SLOT, "pending_asks_to_continue_its_call");
	refused(status_of_pending(0x16, NULL), WH_EFATAL, "foreign_cpuid_answer_is_an_error");
	refused(status_of_pending(WH_EGONE, lose_slot), WH_EGONE,
		"pending_unwinds_without_the_slot");
	mprotect(fake_slot, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
}

int main(void)
{
	const char *lacks = fake_setup();

	tap_plan(16);
	while (lacks && tap_run < tap_planned)
		skip("trampoline", lacks);
	if (lacks)
		return tap_exit();
	bad_handler(FAKE_HANDLERS, "handler_index_out_of_range_returns_enosys");
	bad_handler(UINT64_MAX, "largest_handler_index_returns_enosys");
	long_handler((1ULL << 32) | FAKE_HANDLER, "upper_half_of_a_handler_index_counts_for_nothing");
	bad_handler(0, "hole_in_the_handler_table_returns_enosys");
	other_slot(0, "slot_is_not_taken_from_the_clients_memory");
	other_slot(FAKE_SLOTS, "nor_is_one_that_the_worker_does_not_have");
	other_slot(UINT32_MAX, "nor_is_the_largest_one");
	test_no_view();
	test_refused_switch();
	test_unknown_world();
	test_pending();
	return tap_exit();
}
