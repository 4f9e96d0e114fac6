// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that loads and stores of a warp whose lanes lie in lines of eight,
 * which softgpu runs in a way of their own, move what they would move lane by lane. It
 * tests every width and lines in any order, also where they overlap or are no lines. A
 * line that ends beyond its memory, or is not aligned, is a fault. It needs no hardware.
 */
#include "harness.h"

#include <stdio.h>

#define P(x)	((uintptr_t)(x))
#define BYTES	1024
#define LANES	32

/* Does to[at[1][t]] = from[at[0][t]] in global memory; %d is the width in bits. */
static const char in_global[] =
	".entry k(.param .u64 from, .param .u64 to, .param .u64 at)\n{\n"
	".reg .b32 %%t, %%a, %%b;\n.reg .b64 %%i, %%o, %%x;\n.reg .b%d %%v;\n"
	"ld.param.u64 %%i, [from];\nld.param.u64 %%o, [to];\nld.param.u64 %%x, [at];\n"
	"mov.u32 %%t, %%tid.x;\nmad.wide.u32 %%x, %%t, 4, %%x;\n"
	"ld.global.u32 %%a, [%%x];\nld.global.u32 %%b, [%%x+128];\n"
	/* Memory is known only after an access has found it, so both are loaded once before. */
	"ld.global.u32 %%t, [%%i];\nld.global.u32 %%t, [%%o];\n"
	"cvt.s64.s32 %%x, %%a;\nadd.s64 %%i, %%i, %%x;\ncvt.s64.s32 %%x, %%b;\n"
	"add.s64 %%o, %%o, %%x;\nld.global.u%d %%v, [%%i+8];\nst.global.u%d [%%o+8], %%v;\nret;\n}\n";

/* Does the same in shared memory, which is filled from @from and copied to @to. */
static const char in_shared[] =
	".entry k(.param .u64 from, .param .u64 to, .param .u64 at)\n{\n"
	".shared .align 16 .b8 s[1024];\n.reg .pred %%p;\n"
	".reg .b32 %%t, %%n, %%a, %%b, %%c, %%r;\n.reg .b64 %%i, %%o, %%x, %%y;\n.reg .b%d %%v;\n"
	"ld.param.u64 %%i, [from];\nld.param.u64 %%o, [to];\nld.param.u64 %%x, [at];\n"
	"mov.u32 %%t, %%tid.x;\nmov.u32 %%n, %%ntid.x;\nmad.wide.u32 %%x, %%t, 4, %%x;\n"
	"ld.global.u32 %%a, [%%x];\nld.global.u32 %%b, [%%x+128];\nmov.u32 %%r, %%t;\n"
	"fill:\nmad.wide.u32 %%x, %%r, 4, %%i;\nld.global.u32 %%c, [%%x];\nmul.lo.u32 %%c, %%c, 1;\n"
	"mad.wide.u32 %%x, %%r, 4, 0;\nst.shared.u32 [%%x], %%c;\nadd.u32 %%r, %%r, %%n;\n"
	"setp.lt.u32 %%p, %%r, 256;\n@%%p bra fill;\nbar.sync 0;\n"
	"ld.shared.u%d %%v, [%%a+8];\nbar.sync 0;\nst.shared.u%d [%%b+8], %%v;\nbar.sync 0;\n"
	"mov.u32 %%r, %%t;\ncopy:\nmad.wide.u32 %%x, %%r, 4, 0;\nld.shared.u32 %%c, [%%x];\n"
	"mad.wide.u32 %%y, %%r, 4, %%o;\nst.global.u32 [%%y], %%c;\nadd.u32 %%r, %%r, %%n;\n"
	"setp.lt.u32 %%p, %%r, 256;\n@%%p bra copy;\nret;\n}\n";

static uint8_t *from, *to;
static int32_t (*at)[LANES];

static struct ptx_module *load_width(const char *text, int bits)
{
	static char body[4096];
	struct ptx_module *m;

	/* A register has 16 bits at least. */
	snprintf(body, sizeof(body), text, bits < 16 ? 16 : bits, bits, bits);
	m = load_body(body);
	if (!m)
		diag("%s", load_log);
	return m;
}

/* Makes the addresses of a warp, less the 8 that the instructions add. */
static void lay(int32_t *a, int bytes)
{
	for (int g = 0; g < LANES; g += 8) {
		int kind = rnd() % 8, start = rnd() % (BYTES / bytes - 7) * bytes;

		for (int l = 0; l < 8; l++)
			a[g + l] = start + (kind ? l * bytes : 0) - 8;
		if (kind == 1)	/* one lane elsewhere */
			a[g + rnd() % 8] = rnd() % (BYTES / bytes) * bytes - 8;
	}
}

static bool moves(struct ptx_module *m, bool shared, int bytes, uint32_t threads)
{
	uint64_t args[] = { P(from), P(to), P(at) };
	uint8_t want[BYTES];

	for (int k = 0; k < BYTES; k++)
		from[k] = rnd();
	memset(to, 0, BYTES);
	lay(at[0], bytes);
	lay(at[1], bytes);
	memcpy(want, shared ? from : to, BYTES);
	for (uint32_t t = 0; t < threads; t++)
		memcpy(want + at[1][t] + 8, from + at[0][t] + 8, bytes);
	return launch(m, "k", 1, threads, 0, args, 3) == EXEC_OK && !memcmp(to, want, BYTES);
}

/* All lanes are where they may be, but for the last line of one side, which is moved by @by. */
static enum exec_status at_the_end(struct ptx_module *m, int bytes, int side, int by)
{
	uint64_t args[] = { P(from), P(to), P(at) };

	for (int t = 0; t < LANES; t++)
		at[0][t] = at[1][t] = t * bytes;
	for (int t = 24; t < LANES; t++)
		at[side][t] = BYTES - (LANES - t) * bytes - 8 + by;
	return launch(m, "k", 1, LANES, 0, args, 3);
}

static bool ends(struct ptx_module *m, int bytes, int side)
{
	return at_the_end(m, bytes, side, 0) == EXEC_OK &&
	       at_the_end(m, bytes, side, bytes) == EXEC_ILLEGAL_ADDRESS &&
	       at_the_end(m, bytes, side, -BYTES) == EXEC_ILLEGAL_ADDRESS &&
	       (bytes == 1 || at_the_end(m, bytes, side, -1) == EXEC_MISALIGNED);
}

static void all_widths(bool shared, const char *isa)
{
	for (int bytes = 1; bytes <= 8; bytes *= 2) {
		struct ptx_module *m = load_width(shared ? in_shared : in_global, 8 * bytes);
		const char *where = shared ? "shared" : "global";
		bool whole = m, part = m;
		char name[100];

		for (int i = 0; m && i < 200; i++) {
			whole &= moves(m, shared, bytes, LANES);
			part &= moves(m, shared, bytes, 21);
		}
		snprintf(name, sizeof(name), "words_of_%d_bits_move_in_%s_memory%s", 8 * bytes,
			 where, isa);
		ok(whole && part, name);
		snprintf(name, sizeof(name), "lines_of_%d_bits_beyond_%s_memory_are_faults%s",
			 8 * bytes, where, isa);
		ok(m && ends(m, bytes, 0) && ends(m, bytes, 1), name);
		ptx_unload(m);
	}
}

int main(void)
{
	tap_plan(32);
	seed_init();
	from = dev_alloc(BYTES);
	to = dev_alloc(BYTES);
	at = dev_alloc(2 * sizeof(*at));
	for (int isa = 0; isa < 2; isa++) {
		if (!ptx_force_isa(isa)) {
			for (int i = 0; i < 16; i++)
				skip("words_move_with_avx2", "the CPU has no AVX2");
			continue;
		}
		all_widths(false, isa ? "_with_avx2" : "");
		all_widths(true, isa ? "_with_avx2" : "");
	}
	return tap_exit();
}
