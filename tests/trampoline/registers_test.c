// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises a delegated call's registers: to its caller, to the handler, and at
 * each switch. It runs on any x86-64 machine with FSGSBASE; the switch is faked.
 */
#include "fake.h"
#include "../tap.h"

static struct keep k;

static void test_plain_call(void)
{
	fake_reset(&k);
	ok_eq(fake_delegate(&k, FAKE_HANDLER), FAKE_STATUS, "result_comes_back_whole");
	ok(fake_kept(&k), "callee_saved_registers_survive");
	ok_eq(fake_switches, 2, "a_call_is_two_switches");
	ok_eq((int64_t)fake_slot->calls, 1, "call_is_counted_in_the_slot");
	ok_eq(fake_world->world == WH_WORLD_CLIENT, 1, "call_ends_at_home");
}

/*
 * Is it nothing, an argument once more, or an address or a slot's place in the worker's
 * world page?
 */
static int is_not_the_clients(uint64_t value)
{
	return !value || value == fake_args[0] || value == fake_args[1] ||
	       value - (uint64_t)fake_world < WH_PAGE_SIZE ||
	       value == FAKE_SLOT * sizeof(struct wh_world_slot);
}

/* Uses the records of test_plain_call(). */
static void test_handler_view(void)
{
	static const int carry[] = { RDI, RSI, RDX, RCX, R9, RBX, RSP };
	const struct regs *r = &fake_at_handler;
	unsigned int i, j, used, dirty = 0;

	ok(r->gpr[RDI] == fake_world->session && r->gpr[RSI] == FAKE_SLOT &&
	   r->gpr[RDX] == fake_args[0] && r->gpr[RCX] == fake_args[1],
	   "handler_gets_session_slot_and_arguments");
	ok(r->fs == fake_worker_fs() && r->gs == fake_worker_gs(),
	   "handler_has_the_workers_bases");
	ok_eq((int64_t)(r->gpr[RSP] + 8), (int64_t)fake_stack_top(),
	      "handler_runs_on_top_of_the_workers_stack");
	for (i = 0; i < 16; i++) {
		for (used = j = 0; j < sizeof(carry) / sizeof(carry[0]); j++)
			used |= carry[j] == (int)i;
		if (!used && !is_not_the_clients(r->gpr[i])) {
			diag("register %u holds 0x%llx", i, (unsigned long long)r->gpr[i]);
			dirty++;
		}
	}
	ok_eq(dirty, 0, "nothing_else_of_the_client_reaches_the_handler");
}

static void test_switches(void)
{
	const struct regs *out = &fake_seen[0], *back = &fake_seen[1];
	unsigned int i, dirty = 0;

	ok(out->fs == k.in.fs && out->gs == k.in.gs, "bases_are_the_clients_at_the_way_out");
	ok(back->fs == k.in.fs && back->gs == k.in.gs, "bases_are_the_clients_at_the_way_back");
	ok_eq((int64_t)back->gpr[RSP], (int64_t)out->gpr[RSP],
	      "stack_is_the_clients_at_the_way_back");
	ok(out->gpr[RAX] == 0 && out->gpr[RCX] == FAKE_INDEX, "way_out_is_leaf_0_to_the_index");
	ok(back->gpr[RAX] == 0 && back->gpr[RCX] == 0, "way_back_is_leaf_0_to_entry_0");
	for (i = 0; i < 16; i++)
		if (i != RDX && i != RSP && i != RSI && back->gpr[i]) {
			diag("register %u holds 0x%llx", i, (unsigned long long)back->gpr[i]);
			dirty++;
		}
	ok_eq(dirty, 0, "all_registers_but_the_result_and_the_slot_are_scrubbed");
	ok_eq((int64_t)back->gpr[RSI], fake_slot->slot, "way_back_names_the_slot_for_kvm");
}

static void test_slot(void)
{
	ok(fake_slot->client.fs == k.in.fs && fake_slot->client.gs == k.in.gs,
	   "slot_has_the_clients_bases");
	ok_eq((int64_t)fake_slot->client.rsp, (int64_t)fake_seen[0].gpr[RSP],
	      "slot_has_the_stack_pointer_of_the_switch");
}

static void test_modes(void)
{
	fake_reset(&k);
	k.in.mxcsr = 0x7f80;		/* round to zero */
	k.in.fcw = 0x0b7f;		/* round up, double extended */
	fake_delegate(&k, FAKE_HANDLER);
	ok(fake_kept(&k), "unusual_rounding_modes_survive");
	ok_eq(fake_at_handler.mxcsr, 0x1f80, "handler_has_default_mxcsr");
	ok_eq(fake_at_handler.fcw, 0x037f, "handler_has_default_x87_control_word");

	fake_reset(&k);
	k.in.fcw = 0x0b7f;
	fake_slot->client_fcw = 0x037f;
	fake_delegate(&k, FAKE_HANDLER);
	ok_eq(fake_at_handler.fcw, 0x037f, "whatever_the_clients_memory_says_of_its_modes");

	fake_reset(&k);
	k.in.rflags |= RFLAGS_AC;
	ok_eq(fake_delegate(&k, FAKE_HANDLER), FAKE_STATUS,
	      "result_comes_back_whole_to_a_caller_with_alignment_checks");
	ok_eq(!(fake_at_handler.rflags & RFLAGS_AC), 1, "handler_runs_without_alignment_checks");
	ok(fake_kept(&k), "alignment_check_flag_survives");
	ok_eq(!(fake_seen[0].rflags & RFLAGS_AC), 1, "and_is_clear_at_the_way_out");

	fake_reset(&k);
	k.in.rflags |= RFLAGS_DF;	/* against the C ABI, as an attacker would set it */
	fake_delegate(&k, FAKE_HANDLER);
	ok_eq(!(fake_at_handler.rflags & RFLAGS_DF), 1, "handler_runs_with_df_clear");
}

/* A division by zero was masked when it happened, and is not any more. */
static void test_pending_x87_exception(void)
{
	unsigned short masked = 0x037f;

	fake_reset(&k);
	k.in.fcw = 0x0340;		/* all unmasked: loading it makes it pending */
	__asm__ volatile("fninit; fldcw %0; fldz; fld1; fdivp; fstp %%st(0)" : : "m" (masked));
	fake_delegate(&k, FAKE_HANDLER);
	ok(fake_kept(&k), "pending_x87_exception_does_not_fault");
	__asm__ volatile("fninit");
}

static void test_results(void)
{
	static const int64_t results[] = { 0, 1, -1, INT64_MIN, INT64_MAX };
	unsigned int i, good = 0;

	for (i = 0; i < 5; i++) {
		fake_reset(&k);
		fake_handler_result = results[i];
		good += fake_delegate(&k, FAKE_HANDLER) == results[i];
	}
	ok_eq(good, 5, "any_result_is_returned");
}

int main(void)
{
	const char *lacks = fake_setup();

	tap_plan(29);
	while (lacks && tap_run < tap_planned)
		skip("trampoline", lacks);
	if (lacks)
		return tap_exit();
	test_plain_call();
	test_handler_view();
	test_switches();
	test_slot();
	test_modes();
	test_pending_x87_exception();
	test_results();
	return tap_exit();
}
