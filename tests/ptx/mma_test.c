/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that mma multiplies matrices of bytes and of f64, that stmatrix stores what
 * ldmatrix loads, and that movmatrix transposes, with both sets of handlers. matrix_test.c has the
 * other types of mma. The references place each element by the formulas of the PTX manual.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define LANES	32
#define MAX_K	32

/* Registers of each lane: up to 4 of A, 2 of B and 4 of C; of f64 8, 4 and 4. */
static uint32_t in[LANES][12], out[LANES][4];
static uint64_t in64[LANES][16], out64[LANES][4];
static double a[16][MAX_K], b[MAX_K][8];

static char text[8192];

static enum exec_status run(const void *from, size_t size, void *to, size_t to_size,
			    uint32_t block)
{
	uint8_t *i = dev_alloc(size), *o = dev_alloc(to_size);
	uint64_t args[2] = { (uintptr_t)o, (uintptr_t)i };
	enum exec_status st = EXEC_BAD_LAUNCH;
	struct ptx_module *m = load_body(text);

	memcpy(i, from, size);
	if (m)
		st = launch(m, "k", 1, block, 0, args, 2);
	else
		diag("%s", load_log);
	memcpy(to, o, to_size);
	dev_free(i);
	dev_free(o);
	ptx_unload(m);
	return st;
}

/* ---- elements of a byte ---- */

#define HEAD \
	".entry k(.param .u64 out, .param .u64 in)\n{\n" \
	".reg .b32 %t, %s, %a<4>, %b<2>, %c<4>, %d<4>;\n.reg .b64 %o, %i;\n.reg .pred %p;\n" \
	".shared .align 16 .b8 tile[1024];\n" \
	"mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %i, [in];\n" \
	"mad.wide.u32 %o, %t, 16, %o; mad.wide.u32 %i, %t, 48, %i;\n" \
	"ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%i];\n" \
	"ld.global.v2.u32 {%b0, %b1}, [%i+16];\n" \
	"ld.global.v4.u32 {%c0, %c1, %c2, %c3}, [%i+32];\n"
#define TAIL "st.global.v4.u32 [%o], {%d0, %d1, %d2, %d3}; }\n"

enum kind { E4M3, E5M2, S8, U8 };
static const char *const names[] = { "e4m3", "e5m2", "s8", "u8" };

struct shape {
	int rows, k;
	enum kind a, b;
	const char *sums;	/* "f32", "f16" or "s32" */
	bool satfinite;
};

static double value(enum kind kind, uint8_t v)
{
	int bits = kind == E4M3 ? 3 : 2, bias = kind == E4M3 ? 7 : 15;
	int e = (v & 0x7f) >> bits, f = v & ((1 << bits) - 1);
	double x = e ? ldexp((1 << bits) + f, e - bias - bits) : ldexp(f, 1 - bias - bits);

	return kind == S8 ? (int8_t)v : kind == U8 ? v : v & 0x80 ? -x : x;
}

/* Bytes of all integers, or of floats between 2^-3 and 2^3 whose sums are exact. */
static uint8_t some(enum kind kind)
{
	uint8_t r = rnd();

	return kind == E4M3 ? (r & 0x87) | (4 + rnd() % 6) << 3 :
	       kind == E5M2 ? (r & 0x83) | (12 + rnd() % 6) << 2 : r;
}

static double of_f16(uint32_t h)
{
	int e = h >> 10 & 31, f = h & 0x3ff;
	double v = e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);

	return h >> 15 & 1 ? -v : v;
}

static double sum_of(const struct shape *s, const uint32_t *words, int i)
{
	return !strcmp(s->sums, "s32") ? (double)(int32_t)words[i] :
	       !strcmp(s->sums, "f32") ? (double)f32(words[i]) :
	       of_f16(words[i / 2] >> (i % 2 * 16) & 0xffff);
}

static void fill(const struct shape *s)
{
	memset(in, 0, sizeof(in));
	for (int l = 0; l < LANES; l++) {
		int group = l / 4, in_group = l % 4;

		/* PTX: the i-th of A is in row group or group + 8, and i >= 8 in the upper half. */
		for (int i = 0; i < s->rows * s->k / LANES; i++) {
			bool low = s->rows == 8 || i < 4 || (i >= 8 && i < 12);
			uint8_t v = some(s->a);

			((uint8_t *)in[l])[i] = v;
			a[low ? group : group + 8][in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)] =
				value(s->a, v);
		}
		for (int i = 0; i < s->k * 8 / LANES; i++) {
			uint8_t v = some(s->b);

			((uint8_t *)&in[l][4])[i] = v;
			b[in_group * 4 + (i & 3) + (i < 4 ? 0 : 16)][group] = value(s->b, v);
		}
		for (int i = 8; i < 12; i++)
			in[l][i] = !strcmp(s->sums, "s32") ? (uint32_t)INT32_MAX - rnd() % 900000 :
				   !strcmp(s->sums, "f32") ? u32_of((int)(rnd() % 64) - 32) :
				   0x3c00c000;
	}
}

static double expected(const struct shape *s, int l, int i)
{
	int row = i < 2 ? l / 4 : l / 4 + 8, col = l % 4 * 2 + (i & 1);
	double sum = sum_of(s, &in[l][8], i);

	for (int k = 0; k < s->k; k++)
		sum += a[row][k] * b[k][col];
	if (strcmp(s->sums, "s32"))
		return sum;
	if (s->satfinite)
		return sum > INT32_MAX ? INT32_MAX : sum;
	return (int32_t)(int64_t)sum;
}

/* Sums of f16 are rounded to it once: an f16 has 11 bits. */
static bool right(const struct shape *s, double got, double want)
{
	double error = strcmp(s->sums, "f16") ? 0 : fabs(want) * 0x1p-11;

	return fabs(got - want) <= error;
}

static bool multiplies(const struct shape *s)
{
	int na = s->rows * s->k / 128, nb = s->k / 16;
	int nc = s->rows / (!strcmp(s->sums, "f16") ? 8 : 4);
	static const char *const lists[] = { "", "%s0", "%s0, %s1", "", "%s0, %s1, %s2, %s3" };
	char d[64], of_a[64], of_b[64], c[64];

	snprintf(d, sizeof(d), lists[nc], "%d", "%d", "%d", "%d");
	snprintf(of_a, sizeof(of_a), lists[na], "%a", "%a", "%a", "%a");
	snprintf(of_b, sizeof(of_b), lists[nb], "%b", "%b");
	snprintf(c, sizeof(c), lists[nc], "%c", "%c", "%c", "%c");
	snprintf(text, sizeof(text), "%smma.sync.aligned.m%dn8k%d.row.col%s.%s.%s.%s.%s {%s}, {%s}, "
		 "{%s}, {%s};\n%s", HEAD, s->rows, s->k, s->satfinite ? ".satfinite" : "", s->sums,
		 names[s->a], names[s->b], s->sums, d, of_a, of_b, c, TAIL);
	fill(s);
	if (run(in, sizeof(in), out, sizeof(out), LANES) != EXEC_OK)
		return false;
	for (int l = 0; l < LANES; l++)
		for (int i = 0; i < s->rows / 4; i++) {
			double got = sum_of(s, out[l], i), want = expected(s, l, i);

			if (right(s, got, want))
				continue;
			diag("lane %d element %d: %.9g, not %.9g", l, i, got, want);
			return false;
		}
	return true;
}

static void bytes(const char *set)
{
	static const struct shape shapes[] = {
		{ 16, 32, S8, S8, "s32", false }, { 16, 32, S8, U8, "s32", false },
		{ 16, 32, U8, S8, "s32", true }, { 16, 32, U8, U8, "s32", true },
		{ 16, 16, S8, S8, "s32", false }, { 16, 16, U8, S8, "s32", true },
		{ 8, 16, S8, S8, "s32", false }, { 8, 16, U8, U8, "s32", true },
		{ 16, 32, E4M3, E4M3, "f32", false }, { 16, 32, E4M3, E5M2, "f32", false },
		{ 16, 32, E5M2, E4M3, "f16", false }, { 16, 16, E5M2, E5M2, "f32", false },
		{ 16, 16, E4M3, E4M3, "f16", false },
	};
	char name[128];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];

		snprintf(name, sizeof(name), "%s_by_%s_of_m%dn8k%d_sums_in_%s%s%s", names[s->a],
			 names[s->b], s->rows, s->k, s->sums, s->satfinite ? "_with_satfinite" : "",
			 set);
		ok(multiplies(s), name);
	}
}

/* ---- f64 ---- */

#define HEAD64 \
	".entry k(.param .u64 out, .param .u64 in)\n{\n" \
	".reg .b32 %t;\n.reg .b64 %o, %i;\n.reg .f64 %a<8>, %b<4>, %c<4>, %d<4>;\n" \
	"mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %i, [in];\n" \
	"mad.wide.u32 %o, %t, 32, %o; mad.wide.u32 %i, %t, 128, %i;\n"

static void list(char *to, char reg, int n)
{
	*to++ = '{';
	for (int i = 0; i < n; i++)
		to += sprintf(to, "%s%%%c%d", i ? ", " : "", reg, i);
	strcpy(to, "}");
}

static bool multiplies_f64(int rows, int k)
{
	int n[4] = { rows / 4, rows * k / LANES, k / 4, rows / 4 };
	char regs[4][80], *to = text + sprintf(text, "%s", HEAD64);
	double wide[16][16], columns[16][8];

	for (int i = 0; i < 4; i++)
		list(regs[i], "dabc"[i], n[i]);
	for (int i = 0; i < 16; i++)
		to += sprintf(to, "ld.global.f64 %%%c%d, [%%i+%d];\n", i < 8 ? 'a' : i < 12 ? 'b' :
			      'c', i < 8 ? i : i % 4, 8 * i);
	to += sprintf(to, "mma.sync.aligned.m%dn8k%d.row.col.f64.f64.f64.f64 %s, %s, %s, %s;\n",
		      rows, k, regs[0], regs[1], regs[2], regs[3]);
	for (int i = 0; i < n[0]; i++)
		to += sprintf(to, "st.global.f64 [%%o+%d], %%d%d;\n", 8 * i, i);
	strcpy(to, "}\n");
	for (int l = 0; l < LANES; l++)
		for (int i = 0; i < 16; i++) {
			double v = (int64_t)rnd() * 0x1p-60;

			in64[l][i] = u64_of(v);
			if (i < n[1])
				wide[l / 4 + (rows == 8 ? 0 : i % 2 * 8)]
				    [l % 4 + (rows == 8 ? i : i / 2) * 4] = v;
			else if (i >= 8 && i < 8 + n[2])
				columns[l % 4 + (i - 8) * 4][l / 4] = v;
		}
	if (run(in64, sizeof(in64), out64, sizeof(out64), LANES) != EXEC_OK)
		return false;
	for (int l = 0; l < LANES; l++)
		for (int i = 0; i < n[0]; i++) {
			double sum = f64(in64[l][12 + i]);

			for (int x = 0; x < k; x++)
				sum = fma(wide[i < 2 ? l / 4 : l / 4 + 8][x],
					  columns[x][l % 4 * 2 + (i & 1)], sum);
			if (u64_of(sum) != out64[l][i])
				return false;
		}
	return true;
}

static void doubles(const char *set)
{
	static const int shapes[][2] = { { 8, 4 }, { 16, 4 }, { 16, 8 }, { 16, 16 } };
	char name[128];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f64_of_m%dn8k%d_rounds_each_step_once%s", shapes[i][0],
			 shapes[i][1], set);
		ok(multiplies_f64(shapes[i][0], shapes[i][1]), name);
	}
}

/* ---- stmatrix and movmatrix ---- */


/* Stores %a to the tile, whose rows are in reverse order of the lanes, and reads words back. */
static bool stores(int n, bool trans, bool size_first)
{
	static const char *const lists[] = { "", "%a0", "%a0, %a1", "", "%a0, %a1, %a2, %a3" };

	snprintf(text, sizeof(text), "%smov.u32 %%s, tile; mad.lo.u32 %%d0, %%t, 16, %%s;\n"
		 "mov.u32 %%d1, 7; st.shared.v4.u32 [%%d0], {%%d1, %%d1, %%d1, %%d1}; bar.sync 0;\n"
		 "sub.u32 %%d1, 31, %%t; mad.lo.u32 %%s, %%d1, 16, %%s;\n"
		 "stmatrix.sync.aligned.%s%d%s.shared.b16 [%%s], {%s};\nbar.sync 0;\n"
		 "ld.shared.v4.u32 {%%d0, %%d1, %%d2, %%d3}, [%%s];\n%s", HEAD,
		 size_first ? "m8n8.x" : "x", n, size_first ? trans ? ".trans" : "" :
		 trans ? ".m8n8.trans" : ".m8n8", lists[n], TAIL);
	for (int l = 0; l < LANES; l++)
		for (int i = 0; i < 12; i++)
			in[l][i] = rnd();
	if (run(in, sizeof(in), out, sizeof(out), LANES) != EXEC_OK)
		return false;
	for (int l = 0; l < LANES; l++)
		for (int col = 0; col < 8; col++) {
			int m = l / 8, row = l % 8, x = trans ? col : row, y = trans ? row : col;
			uint32_t want = m < n ? in[x * 4 + y / 2][m] >> (y % 2 * 16) & 0xffff :
				       col % 2 ? 0 : 7;

			if ((out[l][col / 2] >> (col % 2 * 16) & 0xffff) != want)
				return false;
		}
	return true;
}

static void moves(const char *set)
{
	bool good;
	char name[128];

	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "stmatrix_x%d%s_stores_rows_of_pairs%s", 1 << i / 2,
			 i % 2 ? "_trans" : "", set);
		ok(stores(1 << i / 2, i % 2, true) && stores(1 << i / 2, i % 2, false), name);
	}
	snprintf(text, sizeof(text), "%smovmatrix.sync.aligned.m8n8.trans.b16 %%d0, %%a0;\n%s", HEAD,
		 TAIL);
	good = run(in, sizeof(in), out, sizeof(out), LANES) == EXEC_OK;
	for (int row = 0; row < 8; row++)
		for (int col = 0; col < 8; col++)
			good &= (out[row * 4 + col / 2][0] >> (col % 2 * 16) & 0xffff) ==
				(in[col * 4 + row / 2][0] >> (row % 2 * 16) & 0xffff);
	snprintf(name, sizeof(name), "movmatrix_transposes%s", set);
	ok(good, name);
}

static void faults(void)
{
	snprintf(text, sizeof(text), "%smov.u32 %%s, tile;\n"
		 "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%%s+1024], {%%a0};\n%s", HEAD, TAIL);
	ok(run(in, sizeof(in), out, sizeof(out), LANES) == EXEC_ILLEGAL_ADDRESS,
	   "stmatrix_beyond_shared_memory_is_a_fault");
	snprintf(text, sizeof(text), "%smov.u32 %%s, tile;\n"
		 "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%%s+8], {%%a0};\n%s", HEAD, TAIL);
	ok(run(in, sizeof(in), out, sizeof(out), LANES) == EXEC_MISALIGNED,
	   "stmatrix_to_a_row_that_is_not_aligned_is_a_fault");
}

int main(void)
{
	seed_init();
	for (int isa = 0; isa < 2; isa++) {
		const char *set = isa ? "_with_AVX2" : "";

		if (!ptx_force_isa(isa))
			continue;
		bytes(set);
		doubles(set);
		moves(set);
	}
	faults();
	return tap_exit();
}
