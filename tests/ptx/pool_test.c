// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that blocks shared among threads do what they do one after the other.
 * Each runs once, atomics lose nothing, printf() lines stay whole, and of several faults
 * the first block's is reported. It needs no hardware.
 */
#include "harness.h"

#include <stdio.h>

#define P(x)	((uintptr_t)(x))
#define BLOCKS	3000u
#define THREADS	64u

static struct exec_machine *machine;
static struct exec_fault got;
static char text[1 << 20];
static size_t text_len;
static volatile bool cancel;

static void keep(void *ctx, const char *s, size_t n)
{
	(void)ctx;
	if (n > sizeof(text) - text_len)
		n = sizeof(text) - text_len;
	memcpy(text + text_len, s, n);
	text_len += n;
}

static enum exec_status run(const char *body, uint64_t a, uint64_t b, uint32_t blocks)
{
	struct ptx_module *m = load_body(body);
	uint64_t params[2] = { a, b };
	struct exec_launch l = {
		.grid = { blocks, 1, 1 }, .block = { THREADS, 1, 1 },
		.params = params, .mem = &dev_mem, .print = keep, .cancel = &cancel,
	};
	enum exec_status st;

	if (!m) {
		diag("%s", load_log);
		return EXEC_BAD_LAUNCH;
	}
	l.fn = &m->funcs[0];
	for (uint32_t i = 0; i < m->nfuncs; i++)
		if (m->funcs[i].entry)
			l.fn = &m->funcs[i];
	memset(&got, 0, sizeof(got));
	st = exec_run(machine, &l, &got);
	ptx_unload(m);
	return st;
}

/* The head puts the block number into %b, and the parameters into %p0 and %p1. */
#define HEAD \
	".entry k(.param .u64 p0, .param .u64 p1)\n{\n.reg .b32 %b, %t, %v<9>;\n" \
	".reg .b64 %p<2>, %x<9>;\n.reg .pred %q<9>;\nmov.u32 %b, %ctaid.x;\n" \
	"mov.u32 %t, %tid.x;\nld.param.u64 %p0, [p0];\nld.param.u64 %p1, [p1];\n"

static const char count[] = HEAD
	"mad.wide.u32 %x0, %b, 4, %p0;\nred.global.add.u32 [%x0], 1;\n"
	"red.global.add.u32 [%p1], 1;\nret;\n}\n";

/* Block 700 and every later one faults; block 700 only after a while. */
static const char faults[] = HEAD
	"setp.lt.u32 %q0, %b, 700;\n@%q0 ret;\nsetp.ne.u32 %q1, %b, 700;\n@%q1 bra bad;\n"
	"mov.u32 %v0, 0;\nloop:\nadd.u32 %v0, %v0, 1;\nsetp.lt.u32 %q2, %v0, 300000;\n"
	"@%q2 bra loop;\nbad:\ncvt.u64.u32 %x0, %b;\nst.global.u32 [%x0], %v0;\nret;\n}\n";

/* Each block waits for the block before: blocks are handed out in order. */
static const char chain[] = HEAD
	"mad.wide.u32 %x0, %b, 4, %p0;\nsetp.eq.u32 %q0, %b, 0;\n@%q0 bra go;\n"
	"wait:\nld.volatile.global.u32 %v0, [%x0+-4];\nsetp.eq.u32 %q1, %v0, 0;\n"
	"@%q1 bra wait;\ngo:\nst.volatile.global.u32 [%x0], 1;\nret;\n}\n";

static const char endless[] = HEAD "loop:\nbra loop;\n}\n";

int main(void)
{
	uint32_t *each = dev_alloc(BLOCKS * 4), *sum = dev_alloc(4);
	enum exec_status st;
	int good = 1;

	tap_plan(6);
	machine = exec_new();
	ok_eq(exec_set_threads(machine, 4), 4, "three_helpers_start");

	memset(each, 0, BLOCKS * 4);
	*sum = 0;
	st = run(count, P(each), P(sum), BLOCKS);
	for (uint32_t i = 0; i < BLOCKS; i++)
		good &= each[i] == THREADS;
	ok(st == EXEC_OK && good, "every_block_runs_once");
	ok_eq(*sum, BLOCKS * THREADS, "atomics_of_all_blocks_add_up");

	good = 1;
	for (int i = 0; i < 5; i++) {
		st = run(faults, P(each), P(sum), BLOCKS);
		good &= st == EXEC_ILLEGAL_ADDRESS && got.ctaid[0] == 700 && got.addr == 700;
	}
	if (!ok(good, "the_first_faulting_block_is_reported"))
		diag("%s: %s", exec_status_name(st), got.msg);

	memset(each, 0, BLOCKS * 4);
	ok_eq(run(chain, P(each), P(sum), BLOCKS), EXEC_OK, "a_block_may_wait_for_an_earlier_one");

	cancel = true;
	ok_eq(run(endless, P(each), P(sum), BLOCKS), EXEC_CANCELLED, "all_threads_obey_cancel");
	return tap_exit();
}
