/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that mma multiplies and ldmatrix loads matrices whose elements lie in the
 * lanes as the PTX manual says, with both sets of handlers, also where lanes arrive one after the
 * other. The references place each element by the formulas of the manual.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define LANES 32
#define WORDS 12	/* of each lane: at most four of A, two of B, four of C */

static uint32_t in[LANES][WORDS], out[LANES][4];

#define HEAD \
	".entry k(.param .u64 out, .param .u64 in)\n{\n" \
	".reg .b32 %t, %s, %a<4>, %b<2>, %c<4>, %d<4>;\n.reg .b64 %o, %i;\n" \
	".reg .pred %p<9>;\n.shared .align 16 .b8 tile[2048];\n" \
	"mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %i, [in];\n" \
	"mad.wide.u32 %o, %t, 16, %o; mad.wide.u32 %i, %t, 48, %i;\n" \
	"ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%i];\n" \
	"ld.global.v2.u32 {%b0, %b1}, [%i+16];\n" \
	"ld.global.v4.u32 {%c0, %c1, %c2, %c3}, [%i+32];\n" \
	"mov.u32 %d0, 7; mov.u32 %d1, 7; mov.u32 %d2, 7; mov.u32 %d3, 7;\n"
#define TAIL "END: st.global.v4.u32 [%o], {%d0, %d1, %d2, %d3}; }\n"

static enum exec_status run(const char *body, uint32_t block)
{
	uint32_t *i = dev_alloc(sizeof(in)), *o = dev_alloc(sizeof(out));
	uint64_t args[2] = { (uintptr_t)o, (uintptr_t)i };
	enum exec_status st = EXEC_BAD_LAUNCH;
	struct ptx_module *m;
	char text[8192];

	snprintf(text, sizeof(text), "%s%s\n%s", HEAD, body, TAIL);
	m = load_body(text);
	memcpy(i, in, sizeof(in));
	if (m)
		st = launch(m, "k", 1, block, 0, args, 2);
	else
		diag("%s", load_log);
	memcpy(out, o, sizeof(out));
	dev_free(i);
	dev_free(o);
	ptx_unload(m);
	return st;
}

/* ---- mma: A is 16 x K, B is K x 8 ---- */

enum kind { F16, BF16, TF32 };

struct shape {
	const char *text;
	enum kind kind;
	int k;
};

static const struct shape shapes[] = {
	{ "m16n8k16.row.col.f32.f16.f16.f32", F16, 16 },
	{ "m16n8k8.row.col.f32.f16.f16.f32", F16, 8 },
	{ "m16n8k16.row.col.f32.bf16.bf16.f32", BF16, 16 },
	{ "m16n8k8.row.col.f32.bf16.bf16.f32", BF16, 8 },
	{ "m16n8k8.row.col.f32.tf32.tf32.f32", TF32, 8 },
	{ "m16n8k4.row.col.f32.tf32.tf32.f32", TF32, 4 },
};

static double value_f16(uint32_t h)
{
	int e = h >> 10 & 31, f = h & 0x3ff;
	double v = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);

	return h >> 15 & 1 ? -v : v;
}

static double value(enum kind kind, uint32_t word, int half)
{
	uint32_t h = word >> (16 * half) & 0xffff;

	return kind == TF32 ? f32(word & ~0x1fffu) : kind == BF16 ? f32(h << 16) : value_f16(h);
}

/* Places of the i-th element of A, B and C that a lane has, by the manual's tables. */
static void place_a(const struct shape *s, int lane, int i, int *row, int *col)
{
	int group = lane >> 2, in_group = lane % 4;

	if (s->kind == TF32) {
		*row = i == 0 || i == 2 ? group : group + 8;
		*col = i < 2 ? in_group : in_group + 4;
	} else {
		*row = i < 2 || (4 <= i && i < 6) ? group : group + 8;
		*col = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
	}
}

static void place_b(const struct shape *s, int lane, int i, int *row, int *col)
{
	int in_group = lane % 4;

	*col = lane >> 2;
	*row = s->kind == TF32 ? (i < 1 ? in_group : in_group + 4) :
	       in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
}

static void place_c(int lane, int i, int *row, int *col)
{
	*row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
	*col = (lane % 4) * 2 + (i & 1);
}

static void reference(const struct shape *s, uint32_t lanes, double d[16][8], double *scale)
{
	int words = s->kind == TF32 ? 1 : 2, na = s->k / 2, nb = s->k / 4, row, col;
	double a[16][16] = { { 0 } }, b[16][8] = { { 0 } };

	memset(d, 0, 16 * sizeof(d[0]));
	for (int l = 0; l < LANES; l++) {
		if (!(lanes >> l & 1))
			continue;
		for (int i = 0; i < na; i++) {
			place_a(s, l, i, &row, &col);
			a[row][col] = value(s->kind, in[l][i / words], i % words);
		}
		for (int i = 0; i < nb; i++) {
			place_b(s, l, i, &row, &col);
			b[row][col] = value(s->kind, in[l][4 + i / words], i % words);
		}
		for (int i = 0; i < 4; i++) {
			place_c(l, i, &row, &col);
			d[row][col] = f32(in[l][8 + i]);
		}
	}
	*scale = 0;
	for (row = 0; row < 16; row++)
		for (col = 0; col < 8; col++) {
			double sum = fabs(d[row][col]);

			for (int k = 0; k < s->k; k++) {
				d[row][col] += a[row][k] * b[k][col];
				sum += fabs(a[row][k] * b[k][col]);
			}
			*scale = sum > *scale ? sum : *scale;
		}
}

/* Returns whether each lane of @lanes has its elements, within @error of the largest sum. */
static bool product_is_right(const struct shape *s, uint32_t lanes, double error)
{
	double d[16][8], scale;
	int row, col;

	reference(s, lanes, d, &scale);
	for (int l = 0; l < LANES; l++)
		for (int i = 0; lanes >> l & 1 && i < 4; i++) {
			place_c(l, i, &row, &col);
			if (fabs(f32(out[l][i]) - d[row][col]) <= error * scale)
				continue;
			diag("lane %d element %d: %.9g, not %.9g", l, i, f32(out[l][i]),
			     d[row][col]);
			return false;
		}
	return true;
}

/* Bits of small integers, whose products and sums are all exact. */
static uint32_t small(enum kind kind)
{
	static const uint16_t f16[] = { 0, 0x3c00, 0x4000, 0xbc00, 0x4200, 0xc500 };
	static const float whole[] = { 0, 1, 2, -1, 3, -5 };
	int x = rnd() % 6, y = rnd() % 6;

	if (kind == TF32)	/* bits of it that do not count are set */
		return u32_of(whole[x]) | (rnd() & 0x1fff);
	if (kind == F16)
		return f16[x] | (uint32_t)f16[y] << 16;
	return u32_of(whole[x]) >> 16 | (u32_of(whole[y]) & 0xffff0000);
}

/* Bits of numbers between 2^-8 and 2^8, with random fractions and signs. */
static uint32_t any(enum kind kind)
{
	uint32_t r = rnd(), e = rnd() % 16, e2 = rnd() % 16;

	if (kind == F16)
		return (r & 0x83ff83ff) | (7 + e) << 10 | (7 + e2) << 26;
	if (kind == BF16)
		return (r & 0x807f807f) | (119 + e) << 7 | (119 + e2) << 23;
	return (r & 0x807fffff) | (119 + e) << 23;
}

static void fill(enum kind kind, uint32_t (*of)(enum kind))
{
	for (int l = 0; l < LANES; l++) {
		for (int i = 0; i < 6; i++)
			in[l][i] = of(kind);
		for (int i = 8; i < WORDS; i++)
			in[l][i] = u32_of((int)(rnd() % 64) - 32);
	}
}

/* The text of an instruction whose results are in %d. */
static const char *mma(const struct shape *s)
{
	static char text[512];
	bool four = (s->kind == TF32 ? s->k / 2 : s->k / 4) == 4;

	snprintf(text, sizeof(text), "mma.sync.aligned.%s {%%d0, %%d1, %%d2, %%d3}, {%s}, {%s}, "
		 "{%%c0, %%c1, %%c2, %%c3};", s->text,
		 four ? "%a0, %a1, %a2, %a3" : "%a0, %a1", four ? "%b0, %b1" : "%b0");
	return text;
}

static void products(const char *set)
{
	char name[128];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];

		fill(s->kind, small);
		snprintf(name, sizeof(name), "%s_multiplies_whole_numbers_exactly%s", s->text, set);
		ok(run(mma(s), LANES) == EXEC_OK && product_is_right(s, ~0u, 0), name);
		fill(s->kind, any);
		snprintf(name, sizeof(name), "%s_sums_as_exactly_as_f32%s", s->text, set);
		ok(run(mma(s), LANES) == EXEC_OK && product_is_right(s, ~0u, s->k * 0x1p-24), name);
	}
}

/* ---- mma with C and D of f16 ---- */

static uint32_t f16_of(double v)
{
	int e;
	uint32_t sign = v < 0 ? 0x8000 : 0;

	if (!v)
		return 0;
	frexp(v, &e);		/* all sums of the test are normal numbers */
	v = ldexp(rint(ldexp(fabs(v), 11 - e)), e - 11);
	frexp(v, &e);
	return sign | (uint32_t)(e + 14) << 10 | ((uint32_t)ldexp(v, 11 - e) & 0x3ff);
}

/* Returns whether the pairs of D are what the exact sums are once they are rounded. */
static bool f16_is_right(const struct shape *s)
{
	double d[16][8], scale;
	int row, col;

	/* The reference takes C as f32, so its halves go there and back. */
	for (int l = 0; l < LANES; l++) {
		uint32_t c[2] = { in[l][8], in[l][9] };

		for (int i = 0; i < 4; i++)
			in[l][8 + i] = u32_of(value_f16(c[i / 2] >> (16 * (i % 2)) & 0xffff));
	}
	reference(s, ~0u, d, &scale);
	for (int l = 0; l < LANES; l++)
		for (int i = 0; i < 4; i++) {
			uint32_t got = out[l][i / 2] >> (16 * (i % 2)) & 0xffff;

			place_c(l, i, &row, &col);
			if (got == f16_of(d[row][col]))
				continue;
			diag("lane %d element %d: %#x, not %.9g", l, i, got, d[row][col]);
			return false;
		}
	return true;
}

static void sums_in_f16(const char *set)
{
	char text[512], name[128];

	for (int i = 0; i < 2; i++) {
		fill(F16, small);
		for (int l = 0; l < LANES; l++) {
			in[l][8] = 0x68006800 + (rnd() & 0xff) * 0x10001;	/* even ones */
			in[l][9] = 0x3c003800;
		}
		snprintf(text, sizeof(text), "mma.sync.aligned.m16n8k%d.row.col.f16.f16.f16.f16 "
			 "{%%d0, %%d1}, {%s}, {%s}, {%%c0, %%c1};", shapes[i].k,
			 i ? "%a0, %a1" : "%a0, %a1, %a2, %a3", i ? "%b0" : "%b0, %b1");
		snprintf(name, sizeof(name), "sums_of_f16_are_rounded_once_with_k_%d%s",
			 shapes[i].k, set);
		ok(run(text, LANES) == EXEC_OK && f16_is_right(&shapes[i]), name);
	}
}

static void edges(void)
{
	const struct shape *s = &shapes[0];
	char text[1024];

	fill(F16, small);
	in[0][0] = 0x7e01;	/* a NaN in row 0, column 0 of A */
	run(mma(s), LANES);
	ok(out[0][0] == 0x7fffffff && out[3][1] == 0x7fffffff && out[0][2] != 0x7fffffff,
	   "a_NaN_is_the_canonical_one_in_its_row_alone");

	memset(in, 0, sizeof(in));
	in[0][0] = 0x0001;	/* 2^-24 */
	in[0][4] = 0x3c00;
	run(mma(s), LANES);
	ok(f32(out[0][0]) == 0x1p-24f, "subnormal_halves_count");

	fill(F16, small);
	ok(run("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%a0, %a1, %a2, %a3}, "
	       "{%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};"
	       "mov.u32 %d0, %a0; mov.u32 %d1, %a1; mov.u32 %d2, %a2; mov.u32 %d3, %a3;",
	       LANES) == EXEC_OK && product_is_right(s, ~0u, 0),
	   "results_may_replace_the_operands");
	for (int l = 0; l < LANES; l++)
		for (int i = 8; i < WORDS; i++)
			in[l][i] = u32_of(1);
	ok(run("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, "
	       "{%a0, %a1, %a2, %a3}, {%b0, %b1}, {0f3F800000, 0f3F800000, 0f3F800000, "
	       "0f3F800000};", LANES) == EXEC_OK && product_is_right(s, ~0u, 0),
	   "constants_may_be_operands");

	fill(F16, small);
	snprintf(text, sizeof(text), "bra START; M: %s bra END; START: setp.lt.u32 %%p1, %%t, 11;\n"
		 "@%%p1 bra M; add.u32 %%s, %%t, 1; bra M;", mma(s));
	ok(run(text, LANES) == EXEC_OK && product_is_right(s, ~0u, 0),
	   "lanes_that_come_first_wait_for_the_others");
	snprintf(text, sizeof(text), "setp.lt.u32 %%p1, %%t, 11; @%%p1 %s bar.sync 0;",
		 mma(s));
	ok(run(text, LANES) == EXEC_DEADLOCK, "some_lanes_alone_wait_for_ever");
	snprintf(text, sizeof(text), "setp.lt.u32 %%p1, %%t, 40; @%%p1 %s", mma(s));
	ok(run(text, LANES) == EXEC_OK && product_is_right(s, ~0u, 0), "all_lanes_may_have_a_guard");
	snprintf(text, sizeof(text), "bra START; M: %s bra END; START: setp.lt.u32 %%p1, %%t, 20;\n"
		 "@%%p1 bra M; exit;", mma(s));
	ok(run(text, LANES) == EXEC_OK && product_is_right(s, 0xfffff, 0),
	   "lanes_that_have_exited_are_not_waited_for_and_count_as_zeros");
	ok(run(mma(s), 20) == EXEC_OK && product_is_right(s, 0xfffff, 0),
	   "lanes_that_a_block_lacks_count_as_zeros");
}

/* ---- ldmatrix ---- */

/* Where the row of each lane begins in the tile: in another order than the lanes. */
static uint32_t row_of(int lane)
{
	return (lane * 13 + 5) % 64 * 16;
}

static uint16_t tile[1024];

static bool matrices_are_right(int n, bool trans)
{
	for (int l = 0; l < LANES; l++)
		for (int m = 0; m < 4; m++) {
			uint32_t want = 7;

			for (int half = 0; m < n && half < 2; half++) {
				int x = l / 4, y = l % 4 * 2 + half;
				uint32_t at = trans ? row_of(8 * m + y) / 2 + x :
						      row_of(8 * m + x) / 2 + y;

				want = half ? want | (uint32_t)tile[at] << 16 : tile[at];
			}
			if (out[l][m] == want)
				continue;
			diag("lane %d, matrix %d: %#x, not %#x", l, m, out[l][m], want);
			return false;
		}
	return true;
}

/* Copies 32 bytes of each lane to the tile, and leaves the lane's row in %s. */
#define FILL_TILE \
	"mov.u32 %s, tile; mad.lo.u32 %s, %t, 32, %s;" \
	"st.shared.v4.u32 [%s], {%a0, %a1, %a2, %a3}; st.shared.v4.u32 [%s+16], {%c0, %c1, %c2, %c3};" \
	"bar.sync 0; mad.lo.u32 %s, %t, 13, 5; rem.u32 %s, %s, 64; mul.lo.u32 %s, %s, 16;" \
	"mov.u32 %a0, tile; add.u32 %s, %s, %a0;\n"

static void fill_tile(void)
{
	for (int l = 0; l < LANES; l++) {
		for (int i = 0; i < WORDS; i++)
			in[l][i] = rnd();
		memcpy(&tile[16 * l], in[l], 16);
		memcpy(&tile[16 * l + 8], &in[l][8], 16);
	}
}

static void loads(const char *set)
{
	static const char *const results[] = { "", "%d0", "%d0, %d1", "", "%d0, %d1, %d2, %d3" };
	static const char *const words[] = { ".m8n8.x%d%s", ".x%d%s.m8n8" };
	char text[1024], opcode[64], name[128];

	for (int form = 0; form < 4; form++)
		for (int n = 1; n <= 4; n *= 2) {
			bool trans = form & 1;

			fill_tile();
			snprintf(opcode, sizeof(opcode), words[form / 2], n, trans ? ".trans" : "");
			snprintf(text, sizeof(text),
				 "%sldmatrix.sync.aligned%s.shared.b16 {%s}, [%%s];", FILL_TILE,
				 opcode, results[n]);
			snprintf(name, sizeof(name), "ldmatrix%s_gives_each_lane_its_pairs%s", opcode, set);
			ok(run(text, LANES) == EXEC_OK && matrices_are_right(n, trans), name);
		}
	fill_tile();
	ok(run(FILL_TILE "cvt.u64.u32 %i, %s; cvta.shared.u64 %i, %i;"
	       "ldmatrix.sync.aligned.m8n8.x4.b16 {%d0, %d1, %d2, %d3}, [%i];", LANES) == EXEC_OK &&
	   matrices_are_right(4, false), "ldmatrix_takes_a_generic_address");
	ok(run("mov.u32 %s, tile; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%s+8];", LANES) ==
	   EXEC_MISALIGNED, "a_row_that_is_not_aligned_is_a_fault");
	ok(run("mov.u32 %s, tile; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%s+4096];",
	       LANES) == EXEC_ILLEGAL_ADDRESS, "a_row_beyond_shared_memory_is_a_fault");
	ok(run("mov.u32 %s, tile; setp.gt.u32 %p1, %t, 7; @%p1 mov.u32 %s, 12345;"
	       "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%s];", LANES) == EXEC_OK,
	   "only_lanes_that_give_a_row_need_an_address");
}

/* ---- what does not load ---- */

static bool refused(const char *insn, const char *why)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s%s\n%s", HEAD, insn, TAIL);
	ptx_unload(load_body(text));
	return strstr(load_log, why);
}

static void refusals(void)
{
	ok(refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, "
		   "{%a0, %a1}, {%b0, %b1}, {%c0, %c1, %c2, %c3};", "wrong number of vector elements"),
	   "an_operand_with_too_few_registers_does_not_load");
	ok(refused("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %o}, "
		   "{%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};", "wrong size"),
	   "a_result_of_64_bits_does_not_load");
	ok(refused("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%d0, %d1, %d2, %d3}, "
		   "{%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};", "m16n8k256"),
	   "a_shape_that_is_not_supported_is_named");
	ok(refused("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d0, %d1}, [%s];",
		   "wrong number of vector elements"), "ldmatrix_with_too_few_results_does_not_load");
}

int main(void)
{
	seed_init();
	for (int isa = 0; isa < 2; isa++) {
		const char *set = isa ? "_with_AVX2" : "";

		if (!ptx_force_isa(isa))
			continue;
		products(set);
		sums_in_f16(set);
		loads(set);
	}
	edges();
	refusals();
	return tap_exit();
}
