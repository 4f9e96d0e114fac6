/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that wgmma multiplies matrices of all types that FORMS.md lists, from registers
 * and from shared memory in every layout that a descriptor can say, with both sets of handlers.
 * The reference puts each element where the PTX manual's canonical layouts have it, and multiplies
 * in double.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define THREADS	128
#define M	64
#define MAX_N	256
#define MAX_D	128		/* words of the sums of a thread */
#define AT_A	1024u		/* where the matrices are in shared memory */
#define AT_B	(16u << 10)
#define TILE	(64u << 10)

enum kind { F16, BF16, TF32, E4M3, E5M2, S8, U8, NKINDS };

static const struct type {
	const char *name;
	int bytes;
} types[] = {
	{ "f16", 2 }, { "bf16", 2 }, { "tf32", 4 }, { "e4m3", 1 }, { "e5m2", 1 }, { "s8", 1 },
	{ "u8", 1 },
};

/* Where a matrix is. Its rows are those of A, or the columns of B. */
struct layout {
	int swizzle;		/* as in a descriptor: 0 none, 1 128, 2 64, 3 32 bytes */
	bool across;		/* elements of different rows are side by side */
	uint32_t start, lead, stride, base;
};

struct product {
	enum kind a, b;
	const char *sums;	/* "f32", "f16" or "s32" */
	int n;
	bool regs;		/* A is in registers */
	bool no_sums;		/* scale-d is false */
	int sign_a, sign_b;
	bool satfinite;
	struct layout at[2];	/* of A and B */
};

static uint8_t tile[TILE];
static uint32_t a_regs[THREADS][4], sums[THREADS][MAX_D], out[THREADS][MAX_D];
static double left[M][32], right[MAX_N][32];

/* ---- elements: small whole numbers ---- */

static uint32_t bits_of(enum kind kind, int v)
{
	static const uint8_t e5m2[] = { 0, 0x3c, 0x40, 0x42, 0x44 };
	static const uint8_t e4m3[] = { 0, 0x38, 0x40, 0x44, 0x48 };
	static const uint16_t f16[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400 };
	int mag = abs(v);

	switch (kind) {
	case F16:
		return f16[mag] | (v < 0) << 15;
	case BF16:
		return u32_of(v) >> 16;
	case TF32:
		return u32_of(v) | (rnd() & 0x1fff);	/* bits that do not count */
	case E4M3:
		return e4m3[mag] | (v < 0) << 7;
	case E5M2:
		return e5m2[mag] | (v < 0) << 7;
	default:
		return v & 0xff;
	}
}

static int small(enum kind kind)
{
	int r = rnd() % 256;

	return kind == U8 ? r : kind == S8 ? r - 128 : r % 9 - 4;
}

/* ---- layouts ---- */

static uint32_t place(const struct layout *m, int bytes, int row, int k)
{
	static const uint32_t widths[] = { 16, 128, 64, 32 };
	uint32_t w = widths[m->swizzle], at = m->start, per = 16 / bytes;

	if (!m->across) {
		at += row % 8 * w + row / 8 * m->stride + k % per * bytes;
		at += k / per * (m->swizzle ? 16 : m->lead);
	} else if (!m->swizzle) {
		at += row % 8 * 2 + row / 8 * m->stride + k % 8 * 16 + k / 8 * m->lead;
	} else {
		at += row * 2 % w + row * 2 / w * m->lead + k % 8 * w + k / 8 * m->stride;
	}
	/* The line of 128 bytes exchanges the units of 16 bytes of each w bytes. */
	return at ^ (at / 128 % 8 - m->base) * 16 % w;
}

static uint64_t descriptor(const struct layout *m)
{
	return m->start >> 4 | (uint64_t)(m->lead >> 4) << 16 | (uint64_t)(m->stride >> 4) << 32 |
	       (uint64_t)m->base << 49 | (uint64_t)m->swizzle << 62;
}

/* A layout without gaps, or with them. */
static struct layout layout_of(int swizzle, bool across, uint32_t start, bool gaps)
{
	static const uint32_t widths[] = { 16, 128, 64, 32 };
	uint32_t w = widths[swizzle], core = 8 * w;
	struct layout m = { .swizzle = swizzle, .across = across, .start = start };

	if (!swizzle) {
		m.lead = gaps ? 144 : 128;
		m.stride = gaps ? 336 : 256;
	} else if (across) {
		m.stride = core;
		m.lead = 2 * core;
	} else {
		m.stride = core;
		m.lead = 16;	/* it does not count */
		if (gaps)
			m.start += rnd() % (w / 32) * 32;	/* a later k of the tile */
	}
	return m;
}

/* ---- one product ---- */

static int depth(const struct product *p)
{
	return 32 / types[p->a].bytes;
}

static int words_of_d(const struct product *p)
{
	return p->n / (!strcmp(p->sums, "f16") ? 4 : 2);
}

static void put(uint8_t *to, uint32_t at, int bytes, uint32_t bits)
{
	memcpy(to + at, &bits, bytes);
}

static void fill_a(const struct product *p)
{
	int bytes = types[p->a].bytes, per = 4 / bytes;

	for (int r = 0; r < M; r++)
		for (int k = 0; k < depth(p); k++) {
			int v = small(p->a), lane = r % 8 * 4 + k / per % 4;
			int reg = r / 8 % 2 + k / per / 4 * 2;
			uint32_t bits = bits_of(p->a, v);

			left[r][k] = v * p->sign_a;
			if (p->regs)
				put((uint8_t *)&a_regs[r / 16 * 32 + lane][reg], k % per * bytes,
				    bytes, bits);
			else
				put(tile, place(&p->at[0], bytes, r, k), bytes, bits);
		}
}

static void fill(const struct product *p)
{
	for (size_t i = 0; i < TILE; i++)
		tile[i] = rnd();
	fill_a(p);
	for (int n = 0; n < p->n; n++)
		for (int k = 0; k < depth(p); k++) {
			int v = small(p->b);

			right[n][k] = v * p->sign_b;
			put(tile, place(&p->at[1], types[p->b].bytes, n, k), types[p->b].bytes,
			    bits_of(p->b, v));
		}
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < words_of_d(p); i++)
			sums[t][i] = !strcmp(p->sums, "f32") ? u32_of((int)(rnd() % 64) - 32) :
				     !strcmp(p->sums, "f16") ? 0x3c00c000 : /* 1 and -2 */
				     (uint32_t)rnd() >> 1;
}

static void names(char *to, const char *reg, int n)
{
	for (int i = 0; i < n; i++)
		to += sprintf(to, "%s%%%s%d", i ? ", " : "", reg, i);
}

/* Writes the instruction itself. */
static void instruction(const struct product *p, char *to)
{
	char d[MAX_D * 8];

	names(d, "d", words_of_d(p));
	to += sprintf(to, "wgmma.mma_async.sync.aligned.m64n%dk%d%s.%s.%s.%s {%s}, %s, %%db, %%p",
		      p->n, depth(p), p->satfinite ? ".satfinite" : "", p->sums, types[p->a].name,
		      types[p->b].name, d, p->regs ? "{%a0, %a1, %a2, %a3}" : "%da");
	if (p->a < S8)
		to += sprintf(to, ", %d, %d", p->sign_a, p->sign_b);
	if (types[p->a].bytes == 2 && !p->regs)
		to += sprintf(to, ", %d", p->at[0].across);
	if (types[p->a].bytes == 2)
		to += sprintf(to, ", %d", p->at[1].across);
	sprintf(to, ";\n");
}

#define HEAD \
	".version 8.4\n.target sm_90a\n.address_size 64\n" \
	".extern .shared .align 1024 .b8 tile[];\n" \
	".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 regs, .param .u64 da, " \
	".param .u64 db, .param .u32 use)\n{\n" \
	".reg .b32 %t, %i, %s, %u, %a<4>, %x<4>, %d<128>;\n.reg .b64 %o, %in, %r, %da, %db, %l;\n" \
	".reg .pred %p, %q;\n" \
	"mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %in, [in];\n" \
	"ld.param.u64 %r, [regs]; ld.param.u64 %da, [da]; ld.param.u64 %db, [db];\n" \
	"ld.param.u32 %u, [use]; setp.ne.u32 %p, %u, 0;\n" \
	"mad.wide.u32 %o, %t, 512, %o; mad.wide.u32 %r, %t, 16, %r; shl.b32 %i, %t, 4;\n" \
	"FILL: cvt.u64.u32 %l, %i; add.u64 %l, %l, %in; mov.u32 %s, tile; add.u32 %s, %s, %i;\n" \
	"ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%l]; st.shared.v4.u32 [%s], {%x0, %x1, %x2, %x3};\n" \
	"add.u32 %i, %i, 2048; setp.lt.u32 %q, %i, 65536; @%q bra FILL;\n" \
	"fence.proxy.async; bar.sync 0;\n" \
	"ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%r];\n"

static char text[32768];

static void source(const char *body, const char *insn, int nd)
{
	char *to = text + sprintf(text, "%s", HEAD);

	for (int i = 0; i < nd; i++)
		to += sprintf(to, "ld.global.u32 %%d%d, [%%o+%d];\n", i, 4 * i);
	to += sprintf(to, "wgmma.fence.sync.aligned;\n");
	to += sprintf(to, body, insn);
	to += sprintf(to, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
	for (int i = 0; i < nd; i++)
		to += sprintf(to, "st.global.u32 [%%o+%d], %%d%d;\n", 4 * i, i);
	sprintf(to, "END: ret; }\n");
}

static enum exec_status run_text(const struct product *p, uint32_t block, uint32_t dyn)
{
	uint8_t *in = dev_alloc(TILE), *r = dev_alloc(sizeof(a_regs)), *o = dev_alloc(sizeof(out));
	uint64_t args[] = { (uintptr_t)o, (uintptr_t)in, (uintptr_t)r, descriptor(&p->at[0]),
			    descriptor(&p->at[1]), !p->no_sums };
	struct ptx_module *m = load(text);
	enum exec_status st = EXEC_BAD_LAUNCH;

	memcpy(in, tile, TILE);
	memcpy(r, a_regs, sizeof(a_regs));
	memcpy(o, sums, sizeof(sums));
	if (m)
		st = launch(m, "k", 1, block, dyn, args, 6);
	else
		diag("%s", load_log);
	memcpy(out, o, sizeof(out));
	dev_free(in);
	dev_free(r);
	dev_free(o);
	ptx_unload(m);
	return st;
}

static enum exec_status run(const struct product *p, const char *body)
{
	char insn[2048];

	instruction(p, insn);
	source(body, insn, words_of_d(p));
	return run_text(p, THREADS, TILE);
}

/* ---- the reference ---- */

static double f16_value(uint32_t h)
{
	int e = h >> 10 & 31, f = h & 0x3ff;
	double v = e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);

	return h >> 15 & 1 ? -v : v;
}

/* Returns element @i, of two for each 8 columns and 8 rows, of a thread. */
static double element(const struct product *p, const uint32_t *d, int i)
{
	if (!strcmp(p->sums, "f16"))
		return f16_value(d[i / 2] >> (i % 2 * 16) & 0xffff);
	return strcmp(p->sums, "f32") ? (double)(int32_t)d[i] : (double)f32(d[i]);
}

static double expected(const struct product *p, int t, int i)
{
	int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + t % 4 * 2 + i % 2;
	double v = p->no_sums ? 0 : element(p, sums[t], i);

	for (int k = 0; k < depth(p); k++)
		v += left[row][k] * right[col][k];
	if (strcmp(p->sums, "s32"))
		return v;
	if (p->satfinite)
		return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
	return (int32_t)(int64_t)v;
}

static bool right_sums(const struct product *p)
{
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < p->n / 2; i++) {
			if (element(p, out[t], i) == expected(p, t, i))
				continue;
			diag("thread %d element %d: %.9g, not %.9g", t, i,
			     element(p, out[t], i), expected(p, t, i));
			return false;
		}
	return true;
}

static bool works(const struct product *p)
{
	fill(p);
	return run(p, "%s") == EXEC_OK && right_sums(p);
}

static struct product base(enum kind a, enum kind b, const char *of, int n)
{
	struct product p = { .a = a, .b = b, .sums = of, .n = n, .sign_a = 1, .sign_b = 1 };

	p.at[0] = layout_of(1, false, AT_A, false);
	p.at[1] = layout_of(1, false, AT_B, false);
	return p;
}

/* ---- points ---- */

static void all_types(const char *set)
{
	static const struct {
		enum kind a, b;
		const char *sums;
	} all[] = {
		{ F16, F16, "f32" }, { F16, F16, "f16" }, { BF16, BF16, "f32" }, { TF32, TF32, "f32" },
		{ E4M3, E4M3, "f32" }, { E4M3, E5M2, "f16" }, { E5M2, E4M3, "f32" },
		{ E5M2, E5M2, "f16" }, { S8, S8, "s32" }, { S8, U8, "s32" }, { U8, S8, "s32" },
		{ U8, U8, "s32" },
	};
	char name[128];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int regs = 0; regs < 2; regs++) {
			struct product p = base(all[i].a, all[i].b, all[i].sums, 64);

			p.regs = regs;
			snprintf(name, sizeof(name), "%s_by_%s_sums_in_%s_with_A_in_%s%s",
				 types[p.a].name, types[p.b].name, p.sums,
				 regs ? "registers" : "shared_memory", set);
			ok(works(&p), name);
		}
}

static void all_layouts(const char *set)
{
	static const char *const swizzles[] = { "no", "128", "64", "32" };
	char name[128];

	for (int s = 0; s < 4; s++)
		for (int across = 0; across < 4; across++) {
			struct product p = base(across & 1 ? BF16 : F16, across & 1 ? BF16 : F16,
						"f32", 128);
			bool good = true;

			for (int gaps = 0; good && gaps < 2; gaps++) {
				p.at[0] = layout_of(s, across & 1, AT_A, gaps);
				p.at[1] = layout_of(s, across >> 1, AT_B, gaps);
				good = works(&p);
			}
			snprintf(name, sizeof(name), "matrices_with_%s_bytes_of_swizzle_and_%s_A_"
				 "and_%s_B_are_found%s", swizzles[s],
				 across & 1 ? "M_major" : "K_major",
				 across & 2 ? "N_major" : "K_major", set);
			ok(good, name);
		}
	for (int s = 0; s < 4; s++) {
		struct product p = base(TF32, TF32, "f32", 96), q = base(S8, U8, "s32", 96);

		p.at[0] = q.at[0] = layout_of(s, false, AT_A, true);
		p.at[1] = q.at[1] = layout_of(s, false, AT_B, true);
		snprintf(name, sizeof(name), "words_and_bytes_with_%s_bytes_of_swizzle_are_found%s",
			 swizzles[s], set);
		ok(works(&p) && works(&q), name);
	}
}

static void every_shape(void)
{
	struct product p = base(F16, F16, "f32", 8);
	bool good = true;

	for (; good && p.n <= MAX_N; p.n += 8)
		good = works(&p);
	ok(good, "every_number_of_columns_up_to_256_multiplies");
}

static void flags(void)
{
	struct product p = base(F16, F16, "f32", 32);

	p.no_sums = true;
	ok(works(&p), "without_scale_d_sums_begin_at_zero");
	p.no_sums = false;
	p.sign_a = -1;
	ok(works(&p), "A_can_be_negated");
	p.sign_b = -1;
	ok(works(&p), "A_and_B_can_be_negated");
	p.sign_a = 1;
	ok(works(&p), "B_can_be_negated");
	p = base(U8, U8, "s32", 32);
	p.satfinite = true;
	fill(&p);
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < words_of_d(&p); i++)
			sums[t][i] = INT32_MAX - rnd() % 1000;
	ok(run(&p, "%s") == EXEC_OK && right_sums(&p), "satfinite_stops_at_the_largest_number");
	p.satfinite = false;
	ok(run(&p, "%s") == EXEC_OK && right_sums(&p), "without_satfinite_sums_wrap_around");
	p = base(F16, F16, "f32", 32);
	p.at[1].start += 512;		/* the pattern begins in the middle of its 1,024 bytes */
	p.at[1].base = (p.at[1].start >> 7) & 7;
	ok(works(&p), "a_base_offset_moves_the_pattern");
}

static void warps(void)
{
	struct product p = base(F16, F16, "f32", 64);

	fill(&p);
	ok(run(&p, "shr.u32 %%u, %%t, 5; setp.ne.u32 %%q, %%u, 1; @%%q bra GO;\n"
		   "mov.u32 %%u, 5000;\nLATE: sub.u32 %%u, %%u, 1; setp.ne.u32 %%q, %%u, 0;\n"
		   "@%%q bra LATE;\nGO: %s") == EXEC_OK && right_sums(&p),
	   "a_late_warp_is_waited_for");
	/* The first warp overwrites B behind its wait, when the others cannot be late any more. */
	ok(run(&p, "%swgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
		   "setp.gt.u32 %%q, %%t, 31; @%%q bra OUT; mov.u32 %%s, tile;\n"
		   "mad.lo.u32 %%s, %%t, 256, %%s; mov.u32 %%u, 0;\n"
		   "ZERO: st.shared.u32 [%%s+16384], %%u; add.u32 %%s, %%s, 4; add.u32 %%u, %%u, 1;\n"
		   "setp.lt.u32 %%q, %%u, 64; @%%q bra ZERO;\nOUT:\n") == EXEC_OK &&
	   right_sums(&p), "a_warp_goes_on_only_when_B_is_read_for_all");
	ok(run(&p, "setp.lt.u32 %%q, %%t, 96; @!%%q bra END; %s") == EXEC_DEADLOCK,
	   "three_warps_wait_for_ever");
	ok(run(&p, "setp.lt.u32 %%q, %%t, 127; @!%%q bra END; %s") == EXEC_DEADLOCK,
	   "a_warpgroup_without_one_of_its_lanes_waits_for_ever");
	ok(run(&p, "setp.lt.u32 %%q, %%t, 200; @%%q bra GO; bra GO;\nGO: %s") == EXEC_OK &&
	   right_sums(&p), "lanes_meet_again_before_it");
}

static void faults(void)
{
	struct product p = base(F16, F16, "f32", 256);

	fill(&p);
	p.at[1].start = TILE - 1024;
	ok(run(&p, "%s") == EXEC_ILLEGAL_ADDRESS, "a_matrix_beyond_shared_memory_is_a_fault");
	p = base(F16, F16, "f32", 64);
	p.at[0].stride = 0x3fff0;
	ok(run(&p, "%s") == EXEC_ILLEGAL_ADDRESS, "a_stride_beyond_shared_memory_is_a_fault");
}

static bool refused(const char *insn, const char *why)
{
	source("%s", insn, 0);
	ptx_unload(load(text));
	return strstr(load_log, why);
}

static void refusals(void)
{
	ok(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2}, %da, %db, %p, "
		   "1, 1, 0, 0;", "wrong number of vector elements"), "three_sums_of_four_do_not_load");
	ok(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %da, %db, "
		   "%p, 1, 1;", "wrong number of operands"), "flags_that_are_absent_do_not_load");
	ok(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %da, %db, "
		   "%p, 2, 1, 0, 0;", "flag"), "a_scale_of_2_does_not_load");
	ok(refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, _}, %da, %db, "
		   "%p, 1, 1, 0, 0;", "not a register"), "a_sum_must_be_a_register");
	ok(refused("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%d0}, %da, %db, %p, 1, 1, 0, "
		   "0;", "m64n12k16"), "a_shape_that_does_not_exist_is_named");
	ok(refused("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%d0, %d1, %d2, %d3}, %da, "
		   "%db, %t, 0, %p, 1, 1, 0, 0;", "wgmma.mma_async.sp"), "sparse_ones_are_named");
}

int main(void)
{
	seed_init();
	for (int isa = 0; isa < 2; isa++) {
		const char *set = isa ? "_with_AVX2" : "";

		if (!ptx_force_isa(isa))
			continue;
		all_types(set);
		all_layouts(set);
	}
	every_shape();
	flags();
	warps();
	faults();
	refusals();
	return tap_exit();
}
