/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that mbarriers count arrivals and bytes over their phases as the PTX manual
 * says, that warps can wait for each other by them, and that bulk copies move bytes and report
 * them. What the manual leaves undefined is a fault of the launch.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define NOUT	64

static uint32_t out[NOUT], in[1024];
static char text[16384];

#define HEAD \
	".version 8.6\n.target sm_90a\n.address_size 64\n" \
	".visible .entry k(.param .u64 out, .param .u64 in)\n{\n" \
	".reg .b32 %t, %b, %r<8>, %v<4>;\n.reg .b64 %o, %i, %s<4>, %g, %h;\n.reg .pred %p<4>, %q;\n" \
	".shared .align 8 .b64 bar[4];\n.shared .align 16 .b8 tile[4096];\n" \
	"mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %i, [in];\n" \
	"mov.u32 %b, bar; cvt.u64.u32 %g, %b; cvta.shared.u64 %g, %g;\n"

static enum exec_status run(const char *body, uint32_t block)
{
	uint8_t *o = dev_alloc(sizeof(out)), *i = dev_alloc(sizeof(in));
	uint64_t args[2] = { (uintptr_t)o, (uintptr_t)i };
	enum exec_status st = EXEC_BAD_LAUNCH;
	struct ptx_module *m;

	snprintf(text, sizeof(text), "%s%s\nret; }\n", HEAD, body);
	m = load(text);
	memset(o, 0xee, sizeof(out));
	memcpy(i, in, sizeof(in));
	if (m)
		st = launch(m, "k", 1, block, 0, args, 2);
	else
		diag("%s", load_log);
	memcpy(out, o, sizeof(out));
	memcpy(in, i, sizeof(in));
	dev_free(o);
	dev_free(i);
	ptx_unload(m);
	return st;
}

/* One thread runs @body. It stores words, whose number and values are @want. */
static bool gives(const char *body, const uint32_t *want, uint32_t n)
{
	if (run(body, 1) != EXEC_OK)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (out[i] != want[i]) {
			diag("word %u: %u, not %u", i, out[i], want[i]);
			return false;
		}
	return true;
}

#define WORDS(...) (const uint32_t[]){ __VA_ARGS__ }, \
	sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

#define INIT(n)		"mbarrier.init.shared::cta.b64 [%b], " #n ";\n"
#define ARRIVE(s)	"mbarrier.arrive.shared::cta.b64 " s ", [%b];\n"
/* Stores whether the phase of a state, or of a parity, is over. */
#define TEST(at, s) \
	"mbarrier.test_wait.shared::cta.b64 %q, [%b], " s ";\n" \
	"selp.u32 %r7, 1, 0, %q; st.global.u32 [%o+" #at "], %r7;\n"
#define PARITY(at, n) \
	"mbarrier.test_wait.parity.shared::cta.b64 %q, [%b], " #n ";\n" \
	"selp.u32 %r7, 1, 0, %q; st.global.u32 [%o+" #at "], %r7;\n"
#define PENDING(at, s)	"mbarrier.pending_count.b64 %r7, " s "; st.global.u32 [%o+" #at "], %r7;\n"

static void phases(void)
{
	ok(gives(INIT(2) ARRIVE("%s0") TEST(0, "%s0") ARRIVE("%s1") TEST(4, "%s0") TEST(8, "%s1")
		 ARRIVE("%s2") TEST(12, "%s2") TEST(16, "%s1"), WORDS(0, 1, 1, 0, 1)),
	   "a_phase_is_over_when_all_have_arrived");
	ok(gives(INIT(1) PARITY(0, 0) PARITY(4, 1) ARRIVE("_") PARITY(8, 0) PARITY(12, 1) ARRIVE("_")
		 PARITY(16, 0) PARITY(20, 1), WORDS(0, 1, 1, 0, 0, 1)),
	   "the_parity_of_a_phase_alternates");
	ok(gives(INIT(5) "mbarrier.arrive.release.cta.shared.b64 %s0, [%b], 3;\n" ARRIVE("%s1")
		 PENDING(0, "%s0") PENDING(4, "%s1"), WORDS(5, 2)),
	   "a_state_tells_how_many_were_pending");
	ok(gives(INIT(3) "mbarrier.arrive_drop.shared::cta.b64 _, [%b];\n" ARRIVE("_") ARRIVE("_")
		 PARITY(0, 0) ARRIVE("%s0") ARRIVE("%s1") PENDING(4, "%s0") PENDING(8, "%s1")
		 PARITY(12, 1), WORDS(1, 2, 1, 1)),
	   "who_drops_is_not_waited_for_in_later_phases");
	ok(gives(INIT(2) "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %s0, [%b], 1;\n"
		 PENDING(0, "%s0") PARITY(4, 0), WORDS(2, 0)),
	   "noComplete_counts_when_others_are_pending");
	ok(gives("mbarrier.init.b64 [%g+8], 1; mbarrier.arrive.b64 %s0, [%g+8];\n"
		 "mbarrier.test_wait.b64 %q, [%g+8], %s0; selp.u32 %r7, 1, 0, %q;\n"
		 "st.global.u32 [%o], %r7; mbarrier.inval.b64 [%g+8];\n"
		 "ld.shared.u32 %r6, [%b+8]; st.global.u32 [%o+4], %r6;", WORDS(1, 0)),
	   "an_mbarrier_may_have_a_generic_address");
	ok(gives(INIT(2) "cp.async.ca.shared.global [tile], [%i], 16;\n"
		 "cp.async.mbarrier.arrive.shared::cta.b64 [%b]; cp.async.mbarrier.arrive.noinc.shared.b64 "
		 "[%b];\n" ARRIVE("%s0") PENDING(0, "%s0") PARITY(4, 0), WORDS(1, 1)),
	   "copies_arrive_by_themselves_with_noinc");
}

static void bytes(void)
{
	ok(gives(INIT(1) "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%b], 48;\n"
		 PARITY(0, 0) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 16;\n" PARITY(4, 0)
		 "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%b], 32;\n" PARITY(8, 0),
		 WORDS(0, 0, 1)), "a_phase_waits_for_its_bytes");
	ok(gives(INIT(2) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 64;\n" ARRIVE("_")
		 "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 64;\n" PARITY(0, 0) ARRIVE("_")
		 PARITY(4, 0), WORDS(0, 1)), "bytes_may_come_before_they_are_expected");
	ok(gives(INIT(1) "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%b], 64;\n" ARRIVE("_")
		 PARITY(0, 0) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 64;\n"
		 PARITY(4, 0), WORDS(0, 1)), "a_phase_waits_until_bytes_that_came_are_expected");
}

/* Warp 0 makes words, warp 1 adds them: two mbarriers hand a word to and fro. */
static void handing_over(void)
{
	ok(run("mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, tile; shr.u32 %r3, %t, 5;\n"
	       "setp.ne.u32 %p0, %t, 0; @%p0 bra MADE;\n"
	       "mbarrier.init.shared.b64 [%b], 32; mbarrier.init.shared.b64 [%b+8], 32;\n"
	       "MADE: bar.sync 0; setp.eq.u32 %p1, %r3, 1; mad.lo.u32 %r2, %t, 4, %r2;\n"
	       "@%p1 sub.u32 %r2, %r2, 128; mov.u32 %r6, 0;\n@%p1 bra TAKE;\n"
	       "GIVE: and.b32 %r4, %r0, 1; xor.b32 %r4, %r4, 1;\n"
	       "EMPTY: mbarrier.try_wait.parity.shared.b64 %p2, [%b+8], %r4, 1000; @!%p2 bra EMPTY;\n"
	       "add.u32 %r5, %r0, %t; st.shared.u32 [%r2], %r5; mbarrier.arrive.shared.b64 _, [%b];\n"
	       "add.u32 %r0, %r0, 1; setp.lt.u32 %p3, %r0, 50; @%p3 bra GIVE; bra OUT;\n"
	       "TAKE: and.b32 %r4, %r0, 1;\n"
	       "FULL: mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [%b], %r4; @!%p2 bra FULL;\n"
	       "ld.shared.u32 %r5, [%r2]; add.u32 %r6, %r6, %r5; mbarrier.arrive.shared.b64 _, [%b+8];\n"
	       "add.u32 %r0, %r0, 1; setp.lt.u32 %p3, %r0, 50; @%p3 bra TAKE;\n"
	       "mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o-128], %r6;\nOUT:", 64) == EXEC_OK,
	   "warps_that_wait_by_try_wait_let_the_others_run");
	ok(out[0] == 1225 && out[31] == 1225 + 50 * 31, "each_value_was_taken_once");
	ok(run("setp.ne.u32 %p0, %t, 0; @%p0 bra WAIT; mbarrier.init.shared.b64 [%b], 1;\n"
	       "mbarrier.init.shared.b64 [%b+8], 31; bra ARRIVE;\n"
	       "WAIT: ld.volatile.shared.u64 %s1, [%b+8]; setp.eq.u64 %p1, %s1, 0; @%p1 bra WAIT;\n"
	       "mbarrier.arrive.shared.b64 _, [%b+8];\n"
	       "AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [%b], 0; @!%p2 bra AGAIN; bra OUT;\n"
	       "ARRIVE: mbarrier.try_wait.parity.shared.b64 %p2, [%b+8], 0; @!%p2 bra ARRIVE;\n"
	       "mbarrier.arrive.shared.b64 _, [%b];\nOUT:", 32) == EXEC_OK,
	   "lanes_of_a_warp_wait_for_each_other");
}

#define LOAD(to, from, size, at) \
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" to "], [" from "], " \
	size ", [" at "];\n"

static void copies(void)
{
	bool good;

	for (int i = 0; i < 1024; i++)
		in[i] = rnd();
	good = run(INIT(1) "mov.u32 %r0, tile;\n"
		   "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 256;\n"
		   LOAD("%r0+32", "%i+64", "112", "%b") PARITY(0, 0)
		   "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint "
		   "[%r0+144], [%i+176], 144, [%b], %i;\n" PARITY(4, 0)
		   "ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%r0+128];\n"
		   "st.global.v4.u32 [%o+16], {%v0, %v1, %v2, %v3};\n"
		   "ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%r0+32];\n"
		   "st.global.v4.u32 [%o+32], {%v0, %v1, %v2, %v3};\n", 1) == EXEC_OK;
	ok(good && !memcmp(out + 4, in + 40, 16) && !memcmp(out + 8, in + 16, 16),
	   "bulk_copies_to_shared_memory_move_bytes");
	ok(good && out[0] == 0 && out[1] == 1, "and_report_them");
	good = run("mov.u32 %r0, tile; mov.u32 %r1, 77; mov.u32 %r2, 0;\n"
		   "FILL: add.u32 %r3, %r0, %r2; st.shared.u32 [%r3], %r1; add.u32 %r1, %r1, 1;\n"
		   "add.u32 %r2, %r2, 4; setp.lt.u32 %p0, %r2, 256; @%p0 bra FILL;\n"
		   "fence.proxy.async.shared::cta;\n"
		   "cp.async.bulk.global.shared::cta.bulk_group [%o+16], [%r0+32], 96;\n"
		   "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
		   "cp.async.bulk.wait_group 0; cp.async.bulk.prefetch.L2.global [%i], 64;\n",
		   1) == EXEC_OK;
	for (uint32_t i = 0; good && i < 24; i++)
		good = out[4 + i] == 77 + 8 + i;
	ok(good && out[3] == 0xeeeeeeee && out[28] == 0xeeeeeeee,
	   "bulk_copies_from_shared_memory_move_bytes");
}

static void faulty(const char *body, enum exec_status want, const char *name)
{
	ok(run(body, 1) == want, name);
}

static void faults(void)
{
	enum exec_status bad = EXEC_ILLEGAL_INSTRUCTION, wild = EXEC_ILLEGAL_ADDRESS;

	faulty(INIT(0), bad, "an_mbarrier_of_0_is_a_fault");
	faulty(INIT(1048576), bad, "an_mbarrier_of_2_20_is_a_fault");
	ok(gives(INIT(1048575) ARRIVE("%s0") PENDING(0, "%s0"), WORDS(1048575)),
	   "an_mbarrier_of_one_less_is_not");
	faulty("mov.b64 %s0, 0; st.shared.u64 [%b], %s0;\n" ARRIVE("_"), bad,
	      "arriving_where_no_mbarrier_is_is_a_fault");
	faulty("mov.b64 %s0, 0; st.shared.u64 [%b], %s0;\n" PARITY(0, 0), bad,
	      "asking_where_no_mbarrier_is_is_a_fault");
	faulty(INIT(1) "mbarrier.inval.shared.b64 [%b];\n" ARRIVE("_"), bad,
	      "arriving_behind_inval_is_a_fault");
	faulty(INIT(2) "mbarrier.arrive.shared.b64 _, [%b], 3;\n", bad,
	      "more_arrivals_than_pending_are_a_fault");
	faulty(INIT(2) "mbarrier.arrive.shared.b64 _, [%b], 0;\n", bad, "no_arrival_is_a_fault");
	faulty(INIT(1) "mbarrier.arrive.noComplete.shared.b64 _, [%b], 1;\n", bad,
	      "a_last_arrival_that_must_not_complete_is_a_fault");
	faulty(INIT(1) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 1048575;\n"
	      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%b], 1;\n", bad,
	      "too_many_bytes_are_a_fault");
	faulty("mbarrier.init.shared.b64 [%b+4], 1;", EXEC_MISALIGNED,
	      "an_mbarrier_that_is_not_aligned_is_a_fault");
	faulty("mbarrier.init.shared.b64 [%b+8192], 1;", wild,
	      "an_mbarrier_beyond_shared_memory_is_a_fault");
	faulty(INIT(1) "mov.u32 %r0, tile;\n" LOAD("%r0", "%i", "24", "%b"), bad,
	      "a_size_that_is_no_multiple_of_16_is_a_fault");
	faulty(INIT(1) "mov.u32 %r0, tile;\n" LOAD("%r0+8", "%i", "16", "%b"), EXEC_MISALIGNED,
	      "a_destination_that_is_not_aligned_is_a_fault");
	faulty(INIT(1) "mov.u32 %r0, tile;\n" LOAD("%r0", "%i+8", "16", "%b"), EXEC_MISALIGNED,
	      "a_source_that_is_not_aligned_is_a_fault");
	faulty(INIT(1) "mov.u32 %r0, tile;\n" LOAD("%r0+4096", "%i", "160", "%b"), wild,
	      "a_bulk_copy_beyond_shared_memory_is_a_fault");
	faulty(INIT(1) "mov.u32 %r0, tile;\n" LOAD("%r0", "%i+4080", "32", "%b"), wild,
	      "a_bulk_copy_beyond_an_allocation_is_a_fault");
	faulty("mov.b64 %s0, 0; st.shared.u64 [%b], %s0; mov.u32 %r0, tile;\n"
	       LOAD("%r0", "%i", "32", "%b"), bad,
	      "a_bulk_copy_without_an_mbarrier_is_a_fault");
	faulty("mov.u32 %r0, tile; mov.u64 %h, 4096;\n"
	       "cp.async.bulk.global.shared::cta.bulk_group [%h], [%r0], 16;", wild,
	      "a_bulk_copy_to_no_allocation_is_a_fault");
}

int main(void)
{
	seed_init();
	phases();
	bytes();
	handing_over();
	copies();
	faults();
	return tap_exit();
}
