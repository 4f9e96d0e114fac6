/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that lanes which branch apart each run their own way and meet again.
 * Calls, returns, exits and jumps through tables work under divergence. What cannot go on
 * ends the launch with the right status.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define ARGS(...) (const uint64_t[]){ __VA_ARGS__ }, \
		  sizeof((uint64_t[]){ __VA_ARGS__ }) / 8
#define P(x) ((uintptr_t)(x))

/* The head puts the thread number into %t and the address of out[t] into %o. */
#define HEAD(regs) \
	".entry k(.param .u64 out)\n{\n.reg .b32 %t, %i<40>;\n" \
	".reg .b64 %o, %x<9>;\n.reg .pred %p<9>;\n" regs "\n" \
	"mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %t, %tid.x;\n" \
	"mad.lo.s32 %t, %i0, %i1, %t;\nld.param.u64 %o, [out];\n" \
	"mad.wide.u32 %o, %t, 4, %o;\n"

/* Runs "k" on n threads in blocks of 96. Returns NULL if that fails. */
static uint32_t *run(const char *text, uint32_t n)
{
	static uint32_t result[4096];
	struct ptx_module *m = load_body(text);
	uint32_t *out;
	bool good;

	if (!m)
		return NULL;
	out = dev_alloc(4 * 4096);
	good = launch(m, "k", (n + 95) / 96, 96, 0, ARGS(P(out))) ==
	       EXEC_OK;
	memcpy(result, out, sizeof(result));
	dev_free(out);
	ptx_unload(m);
	return good ? result : NULL;
}

static void expect(const char *text, uint32_t (*ref)(uint32_t t),
		   const char *name)
{
	uint32_t *r = run(text, 192);
	bool good = r;

	for (uint32_t t = 0; good && t < 192; t++)
		if (r[t] != ref(t)) {
			diag("thread %u: %u, expected %u", t, r[t], ref(t));
			good = false;
		}
	ok(good, name);
}

static enum exec_status status_of(const char *text, uint32_t block)
{
	struct ptx_module *m = load_body(text);
	uint32_t *out = dev_alloc(4096 * 4);
	uint32_t g[3] = { 1, 1, 1 }, b[3] = { block, 1, 1 };
	enum exec_status st = EXEC_BAD_LAUNCH;

	if (m)
		st = launch3(m, "k", g, b, 0, ARGS(P(out)), false);
	dev_free(out);
	ptx_unload(m);
	return st;
}

/* ---- branches ---- */

static uint32_t ref_loop(uint32_t t)
{
	uint32_t s = 0;

	for (uint32_t i = 0; i < t % 37; i++)
		s += i * t;
	return s;
}

static const char loop[] = HEAD("")
	"rem.u32 %i2, %t, 37; mov.u32 %i3, 0; mov.u32 %i4, 0;\n"
	"L1: setp.ge.u32 %p1, %i3, %i2; @%p1 bra L2;\n"
	"mad.lo.u32 %i4, %i3, %t, %i4; add.u32 %i3, %i3, 1; bra L1;\n"
	"L2: st.global.u32 [%o], %i4; }\n";

static uint32_t ref_nested(uint32_t t)
{
	uint32_t v = t & 1 ? (t & 2 ? (t & 4 ? 10 : 20) : t & 8 ? 30 : 40) :
		     t % 3 ? 50 : 60;

	return v + t;
}

static const char nested[] = HEAD("")
	"and.b32 %i2, %t, 1; setp.eq.u32 %p1, %i2, 0; @%p1 bra E1;\n"
	"and.b32 %i2, %t, 2; setp.eq.u32 %p2, %i2, 0; @%p2 bra E2;\n"
	"and.b32 %i2, %t, 4; setp.eq.u32 %p3, %i2, 0; mov.u32 %i9, 10;\n"
	"@!%p3 bra J; mov.u32 %i9, 20; bra J;\n"
	"E2: and.b32 %i2, %t, 8; setp.ne.u32 %p3, %i2, 0;\n"
	"selp.u32 %i9, 30, 40, %p3; bra J;\n"
	"E1: rem.u32 %i2, %t, 3; setp.ne.u32 %p3, %i2, 0; mov.u32 %i9, 60;\n"
	"@%p3 mov.u32 %i9, 50;\n"
	"J: add.u32 %i9, %i9, %t; st.global.u32 [%o], %i9; ret; }\n";

static uint32_t ref_exit(uint32_t t)
{
	return t % 5 == 2 ? 7 : t % 32 < 9 ? 1 : 2;
}

static const char early[] = HEAD("")
	"st.global.u32 [%o], 7; rem.u32 %i2, %t, 5;\n"
	"setp.eq.u32 %p1, %i2, 2; @%p1 exit;\n"
	"st.global.u32 [%o], 1; and.b32 %i2, %t, 31;\n"
	"setp.lt.u32 %p1, %i2, 9; @%p1 ret; st.global.u32 [%o], 2; }\n";

static uint32_t ref_brx(uint32_t t)
{
	static const uint32_t v[4] = { 100, 203, 300, 300 };

	return v[t % 4] + t;
}

static const char brx[] = HEAD("")
	"and.b32 %i2, %t, 3; add.u32 %i3, %t, 300;\n"
	"ts: .branchtargets A, B, C, C;\n"
	"brx.idx %i2, ts;\n"
	"A: add.u32 %i3, %t, 100; bra C;\n"
	"B: add.u32 %i3, %t, 200; add.u32 %i3, %i3, 3;\n"
	"C: st.global.u32 [%o], %i3; }\n";

static uint32_t ref_back(uint32_t t)
{
	uint32_t n = 0;

	for (uint32_t v = t + 1; v != 1; n++)
		v = v & 1 ? 3 * v + 1 : v / 2;
	return n;
}

/* A loop with two back edges, laid out backwards. */
static const char backwards[] = HEAD("")
	"add.u32 %i2, %t, 1; mov.u32 %i3, 0; bra TOP;\n"
	"ODD: mad.lo.u32 %i2, %i2, 3, 1; add.u32 %i3, %i3, 1; bra TOP;\n"
	"EVEN: shr.u32 %i2, %i2, 1; add.u32 %i3, %i3, 1;\n"
	"TOP: setp.eq.u32 %p1, %i2, 1; @%p1 bra OUT; and.b32 %i4, %i2, 1;\n"
	"setp.ne.u32 %p2, %i4, 0; @%p2 bra ODD; bra.uni EVEN;\n"
	"OUT: st.global.u32 [%o], %i3; }\n";

static void branches(void)
{
	expect(loop, ref_loop, "loops_end_lane_by_lane");
	expect(nested, ref_nested, "nested_branches_meet_again");
	expect(early, ref_exit, "lanes_exit_early");
	expect(brx, ref_brx, "brx_jumps_through_a_table");
	expect(backwards, ref_back, "loop_laid_out_backwards_ends");
	ok(status_of(HEAD("") "ts: .branchtargets A; mov.u32 %i2, 1;\n"
		     "brx.idx %i2, ts; A: ret; }\n", 32) ==
	   EXEC_ILLEGAL_INSTRUCTION, "brx_beyond_its_table_is_a_fault");
}

/* ---- reconvergence: the lanes really run together again ---- */

static uint32_t ref_together(uint32_t t)
{
	return t / 32 < 6 ? 0xffffffff : 0;
}

static const char together[] = HEAD("")
	"and.b32 %i2, %t, 7; mov.u32 %i3, 0;\n"
	"L: setp.ge.u32 %p1, %i3, %i2; @%p1 bra D;\n"
	"add.u32 %i3, %i3, 1; bra L;\n"
	"D: activemask.b32 %i4; st.global.u32 [%o], %i4; }\n";

static uint32_t ref_call_together(uint32_t t)
{
	return (t & 1 ? 2 * t : 3 * t) + 1000;
}

static const char guarded_call[] =
	".func (.param .b32 r) two(.param .b32 a)\n{ .reg .b32 %a;\n"
	"ld.param.u32 %a, [a]; shl.b32 %a, %a, 1; st.param.b32 [r], %a; ret; "
	"}\n" HEAD("")
	"and.b32 %i2, %t, 1; setp.ne.u32 %p1, %i2, 0;\n"
	"mul.lo.u32 %i3, %t, 3;\n"
	"{ .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %t;\n"
	"@%p1 call (r0), two, (p0); @%p1 ld.param.b32 %i3, [r0]; }\n"
	"activemask.b32 %i5; setp.ne.u32 %p2, %i5, -1; @%p2 trap;\n"
	"add.u32 %i3, %i3, 1000; st.global.u32 [%o], %i3; }\n";

static void reconvergence(void)
{
	expect(together, ref_together, "lanes_run_together_after_a_loop");
	expect(guarded_call, ref_call_together,
	       "guarded_call_takes_some_lanes");
}

/* ---- calls ---- */

static uint32_t ack(uint32_t m, uint32_t n)
{
	return !m ? n + 1 : !n ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}

static uint32_t ref_ack(uint32_t t)
{
	return ack(t % 3, t % 4);
}

static const char ackermann[] =
	".func (.param .b32 r) ack(.param .b32 m, .param .b32 n)\n"
	"{ .reg .b32 %m, %n, %r; .reg .pred %p;\n"
	"ld.param.u32 %m, [m]; ld.param.u32 %n, [n];\n"
	"setp.ne.u32 %p, %m, 0; @%p bra A;\n"
	"add.u32 %r, %n, 1; st.param.b32 [r], %r; ret;\n"
	"A: add.u32 %m, %m, -1; setp.eq.u32 %p, %n, 0;\n"
	"mov.u32 %r, 1; @%p bra B;\n"
	"{ .param .b32 p0, p1, r0; add.u32 %r, %m, 1; st.param.b32 [p0], %r;\n"
	"add.u32 %n, %n, -1; st.param.b32 [p1], %n;\n"
	"call (r0), ack, (p0, p1); ld.param.b32 %r, [r0]; }\n"
	"B: { .param .b32 p0, p1, r0; st.param.b32 [p0], %m;\n"
	"st.param.b32 [p1], %r; call (r0), ack, (p0, p1);\n"
	"ld.param.b32 %r, [r0]; }\n"
	"st.param.b32 [r], %r; ret; }\n" HEAD("")
	"rem.u32 %i2, %t, 3; and.b32 %i3, %t, 3;\n"
	"{ .param .b32 p0, p1, r0; st.param.b32 [p0], %i2;\n"
	"st.param.b32 [p1], %i3; call.uni (r0), ack, (p0, p1);\n"
	"ld.param.b32 %i4, [r0]; }\nst.global.u32 [%o], %i4; }\n";

/* Calls different functions at the same depth, one of which calls on. */
static uint32_t ref_indirect(uint32_t t)
{
	return t % 3 == 0 ? t + 1 : t % 3 == 1 ? t * t + 1 : 5 * (t * t + 1);
}

static const char indirect[] =
	".func (.param .b32 r) f0(.param .b32 a)\n{ .reg .b32 %a;\n"
	"ld.param.u32 %a, [a]; add.u32 %a, %a, 1; st.param.b32 [r], %a; }\n"
	".func (.param .b32 r) f1(.param .b32 a)\n{ .reg .b32 %a;\n"
	"ld.param.u32 %a, [a]; mad.lo.u32 %a, %a, %a, 1;\n"
	"st.param.b32 [r], %a; }\n"
	".func (.param .b32 r) f2(.param .b32 a)\n{ .reg .b32 %a, %b<50>;\n"
	".local .b32 pad[7]; ld.param.u32 %a, [a];\n"
	"{ .param .b32 p, q; st.param.b32 [p], %a; call (q), f1, (p);\n"
	"ld.param.b32 %a, [q]; } mul.lo.u32 %a, %a, 5;\n"
	"st.param.b32 [r], %a; }\n"
	".global .u64 tab[3] = { f0, f1, f2 };\n" HEAD("")
	"rem.u32 %i2, %t, 3; mov.u64 %x1, tab; mad.wide.u32 %x1, %i2, 8, %x1;\n"
	"ld.global.u64 %x2, [%x1];\n"
	"{ .param .b32 p, q; st.param.b32 [p], %t;\n"
	"proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
	"call (q), %x2, (p), proto; ld.param.b32 %i3, [q]; }\n"
	"st.global.u32 [%o], %i3; }\n";

static const char endless[] =
	".func f(.param .b32 a)\n{ .reg .b32 %a; .local .b32 x[64];\n"
	"ld.param.u32 %a, [a]; { .param .b32 p; st.param.b32 [p], %a;\n"
	"call f, (p); } st.local.u32 [x], %a; }\n" HEAD("")
	"{ .param .b32 p; st.param.b32 [p], %t; call f, (p); } }\n";

static const char bad_pointer[] = HEAD("")
	"mov.u64 %x1, 4096; { proto: .callprototype _ ();\n"
	"call %x1, (), proto; } }\n";

static const char wrong_shape[] =
	".func f(.param .b64 a)\n{ ret; }\n" HEAD("")
	"mov.u64 %x1, f; { .param .b32 p; st.param.b32 [p], 1;\n"
	"proto: .callprototype _ (.param .b32 _); call %x1, (p), proto; } }\n";

static void calls(void)
{
	expect(ackermann, ref_ack, "recursion_differs_between_lanes");
	expect(indirect, ref_indirect, "lanes_call_different_functions");
	ok(status_of(endless, 32) == EXEC_STACK_OVERFLOW,
	   "endless_recursion_is_a_stack_overflow");
	ok(status_of(bad_pointer, 32) == EXEC_ILLEGAL_INSTRUCTION,
	   "call_of_a_bad_pointer_is_a_fault");
	ok(status_of(wrong_shape, 32) == EXEC_ILLEGAL_INSTRUCTION,
	   "indirect_call_with_wrong_parameters_is_a_fault");
}

/* ---- ends ---- */

static void ends(void)
{
	struct exec_machine *m = exec_new();
	struct ptx_module *mod = load_body(HEAD("") "L: bra L; }\n");
	static const volatile bool yes = true;
	uint64_t out = 0;
	struct exec_launch l = { .grid = { 1, 1, 1 }, .block = { 64, 1, 1 },
				 .params = &out, .mem = &dev_mem,
				 .cancel = &yes };

	ok(status_of(HEAD("") "trap; }\n", 32) == EXEC_TRAP,
	   "trap_ends_the_launch");
	ok(status_of(HEAD("") "setp.eq.u32 %p1, %t, 40; @%p1 brkpt; }\n",
		     64) == EXEC_TRAP && fault.tid[0] == 40,
	   "fault_names_the_thread");
	l.fn = ptx_find_entry(mod, "k");
	ok(exec_run(m, &l, NULL) == EXEC_CANCELLED,
	   "endless_loop_can_be_cancelled");
	l.block[0] = 1025;
	ok(exec_run(m, &l, NULL) == EXEC_BAD_LAUNCH,
	   "block_of_1025_threads_is_refused");
	l.block[0] = 32;
	l.dyn_shared = EXEC_MAX_SHARED + 1;
	ok(exec_run(m, &l, NULL) == EXEC_BAD_LAUNCH,
	   "too_much_shared_memory_is_refused");
	exec_free(m);
	ptx_unload(mod);
}

int main(void)
{
	branches();
	reconvergence();
	calls();
	ends();
	return tap_exit();
}
