/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that barriers wait for exactly the threads that they name, and that
 * lanes exchange values as the PTX manual says (converged, diverged, with partial member
 * masks). Threads that wait for ever end the launch as a deadlock.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD \
	".entry k(.param .u64 out, .param .u64 in)\n{\n" \
	".reg .b32 %t, %l, %i<40>;\n.reg .b64 %o, %in, %x<9>;\n" \
	".reg .pred %p<9>;\nmov.u32 %t, %tid.x; and.b32 %l, %t, 31;\n" \
	"ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o;\n" \
	"ld.param.u64 %in, [in]; mad.wide.u32 %in, %t, 16, %in;\n" \
	"ld.global.v4.u32 {%i0, %i1, %i2, %i3}, [%in];\n"
#define TAIL "st.global.u32 [%o], %i9; }\n"

#define MAXT 1024

static uint32_t in[MAXT][4], out[MAXT];

static enum exec_status run(const char *text, uint32_t block)
{
	struct ptx_module *m = load_body(text);
	uint32_t *i = dev_alloc(sizeof(in)), *o = dev_alloc(sizeof(out));
	uint64_t args[2] = { (uintptr_t)o, (uintptr_t)i };
	uint32_t g[3] = { 1, 1, 1 }, b[3] = { block, 1, 1 };
	enum exec_status st = EXEC_BAD_LAUNCH;

	memcpy(i, in, sizeof(in));
	memset(out, 0, sizeof(out));
	if (m)
		st = launch3(m, "k", g, b, 0, args, 2, false);
	memcpy(out, o, sizeof(out));
	dev_free(i);
	dev_free(o);
	ptx_unload(m);
	return st;
}

static void random_input(uint32_t mod)
{
	for (int t = 0; t < MAXT; t++)
		for (int k = 0; k < 4; k++)
			in[t][k] = mod ? rnd() % mod : rnd();
}

/* ---- shfl, by the pseudo code of the manual ---- */

static uint32_t shfl_source(char mode, int lane, int b, int c, bool *ok_)
{
	int seg = c >> 8 & 31, cval = c & 31, j;
	int max = (lane & seg) | (cval & ~seg), min = lane & seg;

	b &= 31;
	if (mode == 'u') {
		j = lane - b;
		*ok_ = j >= max;
	} else {
		j = mode == 'd' ? lane + b : mode == 'b' ? lane ^ b :
		    min | (b & ~seg);
		*ok_ = j <= max;
	}
	return *ok_ ? j : lane;
}

static void shfl(const char *mode, int c)
{
	char text[2048], name[64];
	bool good;

	snprintf(text, sizeof(text), "%s"
		 "shfl.sync.%s.b32 %%i9|%%p1, %%i0, %%i1, %d, -1;\n"
		 "selp.b32 %%i8, 0x10000, 0, %%p1; add.u32 %%i9, %%i9, %%i8;\n"
		 "%s", HEAD, mode, c, TAIL);
	random_input(64);
	good = run(text, 64) == EXEC_OK;
	for (int t = 0; good && t < 64; t++) {
		bool in_range;
		int j = shfl_source(mode[0] == 'i' ? 'i' : mode[0], t & 31,
				    in[t][1], c, &in_range);

		good = out[t] == in[(t & ~31) + j][0] + (in_range ? 0x10000 :
							   0);
		if (!good)
			diag("lane %d of %s: 0x%x", t, mode, out[t]);
	}
	snprintf(name, sizeof(name), "shfl_%s_with_0x%x", mode, c);
	ok(good, name);
}

static void shuffles(void)
{
	static const int clamps[] = { 0x1f, 0, 0x1c1f, 0x181f, 0x1000, 0x100f };
	static const char *const modes[] = { "up", "down", "bfly", "idx" };

	for (int m = 0; m < 4; m++)
		for (int c = 0; c < 6; c++)
			shfl(modes[m], clamps[c]);
}

/* Half of the warp is in each branch, and the instruction needs both. */
static void diverged(void)
{
	static const char text[] = HEAD
		"setp.lt.u32 %p1, %l, 11; @%p1 bra A;\n"
		"mul.lo.u32 %i4, %i0, 2; shfl.sync.bfly.b32 %i9, %i4, 31, 31, "
		"-1;\nadd.u32 %i9, %i9, 1; bra B;\n"
		"A: mul.lo.u32 %i4, %i0, 3; shfl.sync.bfly.b32 %i9, %i4, 31, "
		"31, -1;\nadd.u32 %i9, %i9, 2;\nB: " TAIL;
	bool good;

	random_input(1000);
	good = run(text, 32) == EXEC_OK;
	for (int t = 0; good && t < 32; t++)
		good = out[t] == in[31 - t][0] * (31 - t < 11 ? 3 : 2) +
		       (t < 11 ? 2 : 1);
	ok(good, "shfl_meets_lanes_of_both_branches");
}

/* Each group of equal keys shuffles among itself with its own mask. */
static void own_masks(void)
{
	static const char text[] = HEAD
		"match.any.sync.b32 %i4, %i0, -1;\n"
		"redux.sync.add.u32 %i9, %i1, %i4;\n" TAIL;
	bool good;

	random_input(5);
	good = run(text, 64) == EXEC_OK;
	for (int t = 0; good && t < 64; t++) {
		uint32_t sum = 0;

		for (int k = t & ~31; k < (t | 31) + 1; k++)
			if (in[k][0] == in[t][0])
				sum += in[k][1];
		good = out[t] == sum;
	}
	ok(good, "lanes_with_different_masks_run_apart");
}

static void exited(void)
{
	static const char text[] = HEAD
		"setp.gt.u32 %p1, %l, 20; @%p1 exit;\n"
		"vote.sync.ballot.b32 %i9, 1, -1;\n" TAIL;
	bool good = run(text, 32) == EXEC_OK;

	for (int t = 0; good && t < 32; t++)
		good = out[t] == (t > 20 ? 0 : 0x1fffff);
	ok(good, "exited_lanes_are_not_waited_for");
}

/* ---- vote, match, redux, elect, activemask ---- */

typedef uint32_t lane_ref(int t, uint32_t lanes);

static void lanes_test(const char *code, lane_ref *ref, uint32_t mod,
		       const char *name)
{
	char text[2048];
	bool good;

	/* The last warp has 7 threads; lanes above 25 stay away. */
	snprintf(text, sizeof(text), "%s"
		 "mov.u32 %%i9, 12345; setp.gt.u32 %%p5, %%l, 25;\n"
		 "@%%p5 bra D; setp.ne.u32 %%p1, %%i0, 0;\n"
		 "setp.ge.u32 %%p6, %%t, 64; selp.b32 %%i7, 127, 0x3ffffff, "
		 "%%p6;\n%s\nD: %s", HEAD, code, TAIL);
	random_input(mod);
	for (int t = 0; t < 32; t++)
		in[t][0] = t < 26;
	good = run(text, 71) == EXEC_OK;
	for (int t = 0; good && t < 71; t++) {
		uint32_t lanes = t >= 64 ? 127 : 0x3ffffff;
		uint32_t want = (t & 31) > 25 ? 12345 : ref(t, lanes);

		good = out[t] == want;
		if (!good)
			diag("%s: thread %d has 0x%x, expected 0x%x", name, t,
			     out[t], want);
	}
	ok(good, name);
}

#define EACH(k) for (int k = t & ~31; k < (t & ~31) + 32; k++) \
			if (lanes >> (k & 31) & 1)

static uint32_t ballot(int t, uint32_t lanes)
{
	uint32_t r = 0;

	EACH(k)
		r |= (uint32_t)(in[k][0] != 0) << (k & 31);
	return r;
}

static uint32_t all(int t, uint32_t lanes)
{
	return ballot(t, lanes) == lanes;
}

static uint32_t any(int t, uint32_t lanes)
{
	return ballot(t, lanes) != 0;
}

static uint32_t uni(int t, uint32_t lanes)
{
	return all(t, lanes) || !any(t, lanes);
}

static uint32_t none(int t, uint32_t lanes)
{
	return lanes & ~ballot(t, lanes) ? 1 : 0;
}

static uint32_t match(int t, uint32_t lanes)
{
	uint32_t r = 0;

	EACH(k)
		r |= (uint32_t)(in[k][1] == in[t][1]) << (k & 31);
	return r;
}

static uint32_t match_all(int t, uint32_t lanes)
{
	return match(t, lanes) == lanes ? lanes + 1 : 0;
}

static uint32_t leader(int t, uint32_t lanes)
{
	(void)lanes;
	return t & 31 ? 0 : 100;
}

static uint32_t who(int t, uint32_t lanes)
{
	(void)t;
	return lanes;
}

#define FOLD(name, init, expr) \
static uint32_t name(int t, uint32_t lanes) \
{ \
	uint32_t r = init; \
	EACH(k) { \
		uint32_t v = in[k][1]; \
		r = expr; \
	} \
	return r; \
}

FOLD(sum, 0, r + v)
FOLD(umin, ~0u, v < r ? v : r)
FOLD(umax, 0, v > r ? v : r)
FOLD(smin, 0x7fffffff, (int)v < (int)r ? v : r)
FOLD(smax, 0x80000000, (int)v > (int)r ? v : r)
FOLD(and, ~0u, r & v)
FOLD(or, 0, r | v)
FOLD(xor, 0, r ^ v)

static void collectives(void)
{
	lanes_test("vote.sync.ballot.b32 %i9, %p1, %i7;", ballot, 2,
		   "vote_ballot");
	lanes_test("vote.sync.all.pred %p2, %p1, %i7; selp.u32 %i9, 1, 0, %p2;",
		   all, 2, "vote_all");
	lanes_test("vote.sync.any.pred %p2, %p1, %i7; selp.u32 %i9, 1, 0, %p2;",
		   any, 2, "vote_any");
	lanes_test("vote.sync.uni.pred %p2, %p1, %i7; selp.u32 %i9, 1, 0, %p2;",
		   uni, 2, "vote_uni");
	lanes_test("vote.sync.any.pred %p2, !%p1, %i7; selp.u32 %i9, 1, 0, "
		   "%p2;", none, 2, "vote_with_a_negated_predicate");
	lanes_test("match.any.sync.b32 %i9, %i1, %i7;", match, 4, "match_any");
	lanes_test("cvt.u64.u32 %x1, %i1; shl.b64 %x1, %x1, 33; "
		   "match.any.sync.b64 %i9, %x1, %i7;", match, 4,
		   "match_any_of_64_bits");
	lanes_test("match.all.sync.b32 %i9|%p2, %i1, %i7; @%p2 add.u32 %i9, "
		   "%i9, 1;", match_all, 1, "match_all_when_equal");
	lanes_test("match.all.sync.b32 %i9|%p2, %i1, %i7; @%p2 add.u32 %i9, "
		   "%i9, 1;", match_all, 2, "match_all_when_different");
	lanes_test("elect.sync %i9|%p2, %i7; @%p2 add.u32 %i9, %i9, 100;",
		   leader, 0, "elect");
	lanes_test("activemask.b32 %i9;", who, 0, "activemask");
	lanes_test("redux.sync.add.s32 %i9, %i1, %i7;", sum, 0, "redux_add");
	lanes_test("redux.sync.min.u32 %i9, %i1, %i7;", umin, 0,
		   "redux_min_u32");
	lanes_test("redux.sync.max.u32 %i9, %i1, %i7;", umax, 0,
		   "redux_max_u32");
	lanes_test("redux.sync.min.s32 %i9, %i1, %i7;", smin, 0,
		   "redux_min_s32");
	lanes_test("redux.sync.max.s32 %i9, %i1, %i7;", smax, 0,
		   "redux_max_s32");
	lanes_test("redux.sync.and.b32 %i9, %i1, %i7;", and, 0, "redux_and");
	lanes_test("redux.sync.or.b32 %i9, %i1, %i7;", or, 0, "redux_or");
	lanes_test("redux.sync.xor.b32 %i9, %i1, %i7;", xor, 0, "redux_xor");
}

/* ---- barriers ---- */

/* Thread t reads what thread n-1-t wrote before the barrier. */
static bool exchange(const char *barrier, uint32_t n)
{
	char text[2048];
	bool good;

	snprintf(text, sizeof(text), ".shared .b32 s[1024];\n%s"
		 "mov.u32 %%i4, s; mad.lo.u32 %%i5, %%t, 4, %%i4;\n"
		 "st.shared.u32 [%%i5], %%i0;\n%s\n"
		 "sub.u32 %%i6, %u, %%t; mad.lo.u32 %%i5, %%i6, 4, %%i4;\n"
		 "ld.shared.u32 %%i9, [%%i5];\n%s", HEAD, barrier, n - 1,
		 TAIL);
	random_input(0);
	good = run(text, n) == EXEC_OK;
	for (uint32_t t = 0; good && t < n; t++)
		good = out[t] == in[n - 1 - t][0];
	return good;
}

static void reduction(const char *code, bool (*ref)(int set, uint32_t got),
		      const char *name)
{
	bool good = true;
	char text[2048];

	for (int set = 0; set <= 96; set += 48) {
		snprintf(text, sizeof(text),
			 "%ssetp.lt.u32 %%p1, %%t, %d;\n%s\n%s", HEAD, set,
			 code, TAIL);
		good &= run(text, 96) == EXEC_OK;
		for (int t = 0; t < 96; t++)
			good &= ref(set, out[t]);
	}
	ok(good, name);
}

static bool is_count(int set, uint32_t got)
{
	return got == (uint32_t)set;
}

static bool is_and(int set, uint32_t got)
{
	return got == (set == 96);
}

static bool is_or(int set, uint32_t got)
{
	return got == (set != 0);
}

/* Warp 0 makes values that warps 1 and 2 use, by two counted barriers. */
static const char pipeline[] = ".shared .b32 s[32];\n" HEAD
	"mov.u32 %i4, s; mad.lo.u32 %i5, %l, 4, %i4; mov.u32 %i6, 0;\n"
	"mov.u32 %i9, 0; setp.ge.u32 %p1, %t, 32; @%p1 bra USE;\n"
	"MAKE: add.u32 %i7, %i6, %l; st.shared.u32 [%i5], %i7;\n"
	"bar.arrive 1, 96; bar.sync 2, 96; add.u32 %i6, %i6, 1;\n"
	"setp.lt.u32 %p2, %i6, 5; @%p2 bra MAKE; bra DONE;\n"
	"USE: bar.sync 1, 96; ld.shared.u32 %i7, [%i5];\n"
	"mad.lo.u32 %i9, %i9, 10, %i7; bar.arrive 2, 96;\n"
	"add.u32 %i6, %i6, 1; setp.lt.u32 %p2, %i6, 5; @%p2 bra USE;\n"
	"DONE: " TAIL;

static void producer_consumer(void)
{
	bool good = run(pipeline, 96) == EXEC_OK;

	for (int t = 32; good && t < 96; t++) {
		uint32_t want = 0;

		for (int i = 0; i < 5; i++)
			want = want * 10 + i + (t & 31);
		good = out[t] == want;
	}
	ok(good, "arrive_and_sync_make_a_pipeline");
}

static void barriers(void)
{
	ok(exchange("bar.sync 0;", 96), "bar_sync_waits_for_all");
	ok(exchange("bar.sync 0;", 1000), "bar_sync_with_a_partial_warp");
	ok(exchange("barrier.sync 3;", 64), "barrier_sync_by_number");
	ok(exchange("barrier.cta.sync.aligned 1, 96;", 96),
	   "barrier_with_a_count");
	ok(exchange("mov.u32 %i4, s; setp.lt.u32 %p1, %l, 7; @%p1 bra Q;\n"
		    "barrier.sync 0; bra R; Q: barrier.sync 0; R:", 64),
	   "lanes_arrive_at_a_barrier_apart");
	ok(exchange("setp.gt.u32 %p1, %t, 95; @%p1 exit; bar.sync 0;", 96),
	   "guarded_exit_of_nobody_changes_nothing");
	reduction("bar.red.popc.u32 %i9, 0, %p1;", is_count, "bar_red_popc");
	reduction("bar.red.and.pred %p2, 0, %p1; selp.u32 %i9, 1, 0, %p2;",
		  is_and, "bar_red_and");
	reduction("barrier.cta.red.or.aligned.pred %p2, 0, 96, %p1; "
		  "selp.u32 %i9, 1, 0, %p2;", is_or, "bar_red_or");
	producer_consumer();
	ok(run(HEAD "setp.lt.u32 %p1, %t, 40; @%p1 exit; bar.sync 0;\n" TAIL,
	       96) == EXEC_OK, "barrier_does_not_wait_for_exited_threads");
}

static void deadlocks(void)
{
	ok(run(HEAD "setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 1;\n"
	       "@!%p1 bar.sync 2;\n" TAIL, 64) == EXEC_DEADLOCK,
	   "two_barriers_that_wait_for_each_other_are_a_deadlock");
	ok(run(HEAD "bar.sync 0, 96;\n" TAIL, 64) == EXEC_DEADLOCK,
	   "barrier_for_more_threads_than_there_are_is_a_deadlock");
	ok(run(HEAD "setp.lt.u32 %p1, %l, 5; @%p1 bra A;\n"
	       "bar.warp.sync -1; bra B; A: vote.sync.any.pred %p2, 1, -1;\n"
	       "B: " TAIL, 32) == EXEC_DEADLOCK,
	   "lanes_that_wait_for_different_things_are_a_deadlock");
	ok(run(HEAD "bar.sync 16;\n" TAIL, 32) == EXEC_ILLEGAL_INSTRUCTION,
	   "barrier_number_above_15_is_a_fault");
}

/* ---- progress: a lane that holds a lock is not starved ---- */

static const char warp_lock[] = ".shared .b32 lock, n;\n" HEAD
	"mov.u32 %i9, 0; st.shared.u32 [lock], 0; st.shared.u32 [n], 0;\n"
	"bar.sync 0;\n"
	"SPIN: atom.shared.cas.b32 %i4, [lock], 0, 1;\n"
	"setp.ne.u32 %p1, %i4, 0; @%p1 bra SPIN;\n"
	"ld.volatile.shared.u32 %i5, [n]; add.u32 %i5, %i5, 1;\n"
	"st.volatile.shared.u32 [n], %i5; st.volatile.shared.u32 [lock], 0;\n"
	"bar.sync 0; ld.shared.u32 %i9, [n];\n" TAIL;

/* Warp 1 waits for a flag that warp 0 sets after a long loop. */
static const char flag[] = ".shared .b32 f;\n" HEAD
	"st.shared.u32 [f], 0; bar.sync 0; mov.u32 %i9, 1;\n"
	"setp.ge.u32 %p1, %t, 32; @%p1 bra WAIT; mov.u32 %i4, 0;\n"
	"L: add.u32 %i4, %i4, 1; setp.lt.u32 %p2, %i4, 50000; @%p2 bra L;\n"
	"st.volatile.shared.u32 [f], 7; bra DONE;\n"
	"WAIT: ld.volatile.shared.u32 %i9, [f]; setp.ne.u32 %p2, %i9, 7;\n"
	"@%p2 bra WAIT;\nDONE: " TAIL;

static void progress(void)
{
	bool good = run(warp_lock, 64) == EXEC_OK;

	for (int t = 0; t < 64; t++)
		good &= out[t] == 64;
	ok(good, "every_lane_gets_a_contended_lock");
	good = run(flag, 64) == EXEC_OK;
	for (int t = 32; t < 64; t++)
		good &= out[t] == 7;
	ok(good, "warp_waits_for_a_flag_of_another_warp");
}

/* ---- cooperative: blocks meet through global memory ---- */

static const char grid_wide[] =
	".entry k(.param .u64 out, .param .u64 in)\n{\n.reg .b32 %i<9>;\n"
	".reg .b64 %x<9>;\n.reg .pred %p;\nld.param.u64 %x1, [in];\n"
	"ld.param.u64 %x2, [out]; mov.u32 %i1, %ctaid.x;\n"
	"atom.global.add.u32 %i2, [%x1], 1;\n"
	"W: ld.volatile.global.u32 %i3, [%x1]; setp.lt.u32 %p, %i3, 8;\n"
	"@%p bra W; mad.wide.u32 %x2, %i1, 4, %x2;\n"
	"st.global.u32 [%x2], %i3; }\n";

static void cooperative(void)
{
	struct ptx_module *m = load_body(grid_wide);
	uint32_t *n = dev_alloc(4), *o = dev_alloc(64), sum = 0;
	uint64_t args[2] = { (uintptr_t)o, (uintptr_t)n };
	uint32_t g[3] = { 8, 1, 1 }, b[3] = { 1, 1, 1 };
	bool good = m && launch3(m, "k", g, b, 0, args, 2, true) == EXEC_OK;

	for (int i = 0; i < 8; i++)
		sum += o[i];
	ok(good && sum == 64, "blocks_of_a_cooperative_launch_meet");
	dev_free(n);
	dev_free(o);
	ptx_unload(m);
}

int main(void)
{
	seed_init();
	shuffles();
	diverged();
	own_masks();
	exited();
	collectives();
	barriers();
	deadlocks();
	progress();
	cooperative();
	return tap_exit();
}
