/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that each atomic gives the old value and leaves the new one, in
 * global, shared and generic memory. Under contention no update is lost. red does the
 * same without a result.
 */
#include "quad.h"

#include <stdio.h>

#define N 256

static uint64_t mem0[N], arg_b[N], arg_c[N], old[N], mem1[N];

typedef uint64_t next_fn(uint64_t old, uint64_t b, uint64_t c);

struct op {
	const char *name, *type;
	int size;
	next_fn *next;
	bool no_red;
};

/* Every thread works on a word of its own. @space is global, shared or generic. */
static void write_text(char *t, const struct op *op, const char *space,
		       bool red)
{
	bool shared = !strcmp(space, ".shared");
	const char *r = op->size == 8 ? "x" : op->size == 4 ? "i" : "h";
	int bits = 8 * op->size;

	sprintf(t, ".shared .b64 s[256];\n.entry k(.param .u64 m, "
		".param .u64 b, .param .u64 c, .param .u64 o)\n{\n"
		".reg .b16 %%h<9>;\n.reg .b32 %%t, %%i<9>;\n.reg .b64 %%x<9>, "
		"%%m, %%b, %%c, %%o, %%a;\nmov.u32 %%t, %%tid.x;\n"
		"ld.param.u64 %%m, [m]; mad.wide.u32 %%m, %%t, 8, %%m;\n"
		"ld.param.u64 %%b, [b]; mad.wide.u32 %%b, %%t, 8, %%b;\n"
		"ld.param.u64 %%c, [c]; mad.wide.u32 %%c, %%t, 8, %%c;\n"
		"ld.param.u64 %%o, [o]; mad.wide.u32 %%o, %%t, 8, %%o;\n"
		"ld.global.b%d %%%s1, [%%b]; ld.global.b%d %%%s2, [%%c];\n"
		"mov.u64 %%a, s; mad.wide.u32 %%a, %%t, 8, %%a;\n"
		"ld.global.b64 %%x7, [%%m]; st.shared.b64 [%%a], %%x7;\n",
		bits, r, bits, r);
	if (red)
		sprintf(t + strlen(t), "red%s.%s.%s [%%%s], %%%s1;\n", space,
			op->name, op->type, shared ? "a" : "m", r);
	else
		sprintf(t + strlen(t), "atom%s.%s.%s %%%s3, [%%%s], %%%s1%s%s;\n"
			"st.global.b%d [%%o], %%%s3;\n", space, op->name,
			op->type, r, shared ? "a" : "m", r,
			!strcmp(op->name, "cas") ? ", %" : "",
			!strcmp(op->name, "cas") ? r[0] == 'x' ? "x2" :
			r[0] == 'i' ? "i2" : "h2" : "", bits, r);
	if (shared)
		strcat(t, "ld.shared.b64 %x7, [%a]; st.global.b64 [%m], %x7;\n");
	strcat(t, "}\n");
}

static bool run(const char *text)
{
	struct ptx_module *m = load_body(text);
	uint64_t *p[4], args[4];
	bool good;

	for (int i = 0; i < 4; i++) {
		p[i] = dev_alloc(8 * N);
		args[i] = (uintptr_t)p[i];
	}
	memcpy(p[0], mem0, sizeof(mem0));
	memcpy(p[1], arg_b, sizeof(mem0));
	memcpy(p[2], arg_c, sizeof(mem0));
	good = m && launch(m, "k", 1, N, 0, args, 4) == EXEC_OK;
	memcpy(mem1, p[0], sizeof(mem0));
	memcpy(old, p[3], sizeof(mem0));
	for (int i = 0; i < 4; i++)
		dev_free(p[i]);
	ptx_unload(m);
	return good;
}

static uint64_t low(uint64_t v, int size)
{
	return size == 8 ? v : v & ((1ull << 8 * size) - 1);
}

static uint64_t operand(const struct op *op)
{
	if (!strcmp(op->type, "f32"))
		return rnd_f32();
	if (!strcmp(op->type, "f64"))
		return rnd_f64();
	if (strstr(op->type, "f16"))
		return rnd_f16() | (uint32_t)rnd_f16() << 16;
	return rnd_int(8 * op->size);
}

/* NaNs of f32 are canonical; for the other types any NaN is as good as another. */
static bool same(uint64_t got, uint64_t want, const struct op *op)
{
	if (!strcmp(op->type, "f64") && f64(want) != f64(want))
		return f64(got) != f64(got);
	return got == low(want, op->size);
}

static bool one(const struct op *op, const char *space, bool red)
{
	char text[4096];
	bool good;

	for (int i = 0; i < N; i++) {
		mem0[i] = low(operand(op), op->size);
		arg_b[i] = low(operand(op), op->size);
		arg_c[i] = low(operand(op), op->size);
		if (!strcmp(op->name, "cas") && i & 1)
			arg_b[i] = mem0[i];
	}
	write_text(text, op, space, red);
	good = run(text);
	for (int i = 0; good && i < N; i++) {
		uint64_t want = op->next(mem0[i], arg_b[i], arg_c[i]);

		good = same(low(mem1[i], op->size), want, op) &&
		       (red || low(old[i], op->size) == mem0[i]);
		if (!good)
			diag("%s%s.%s: 0x%llx with 0x%llx: 0x%llx, expected "
			     "0x%llx", space, op->name, op->type,
			     (unsigned long long)mem0[i],
			     (unsigned long long)arg_b[i],
			     (unsigned long long)mem1[i],
			     (unsigned long long)want);
	}
	return good;
}

#define NEXT(name, expr) \
static uint64_t name(uint64_t o, uint64_t b, uint64_t c) \
{ \
	(void)o, (void)b, (void)c; \
	return (uint64_t)(expr); \
}

NEXT(and, o & b)
NEXT(or, o | b)
NEXT(xor, o ^ b)
NEXT(add, o + b)
NEXT(exch, b)
NEXT(cas, o == b ? c : o)
NEXT(inc, o >= b ? 0 : o + 1)
NEXT(dec, o == 0 || o > b ? b : o - 1)
NEXT(minu, o < b ? o : b)
NEXT(maxu, o > b ? o : b)
NEXT(mins32, (int32_t)o < (int32_t)b ? o : b)
NEXT(maxs32, (int32_t)o > (int32_t)b ? o : b)
NEXT(mins64, (int64_t)o < (int64_t)b ? o : b)
NEXT(maxs64, (int64_t)o > (int64_t)b ? o : b)

static bool flushing;

static uint64_t addf32(uint64_t o, uint64_t b, uint64_t c)
{
	__float128 x = q_value(o, &F32), y = q_value(b, &F32), r;

	(void)c;
	if (flushing) {
		x = q_flush(x, &F32);
		y = q_flush(y, &F32);
	}
	r = q_round(q_add(x, y), &F32, RN);
	return q_bits(flushing ? q_flush(r, &F32) : r, &F32);
}

static uint64_t addf64(uint64_t o, uint64_t b, uint64_t c)
{
	(void)c;
	return u64_of(f64(o) + f64(b));
}

static uint64_t add_half(uint64_t o, uint64_t b, const struct format *f)
{
	__float128 x = q_value(o & 0xffff, f), y = q_value(b & 0xffff, f);
	struct exact s = q_add(x, y);

	return q_bits(s.v == 0 ? s.v : q_round(s, f, RN), f);
}

NEXT(addf16, add_half(o, b, &F16))
NEXT(addbf16, add_half(o, b, &BF16))
NEXT(addf16x2, add_half(o, b, &F16) | add_half(o >> 16, b >> 16, &F16) << 16)
NEXT(addbf16x2, add_half(o, b, &BF16) |
		add_half(o >> 16, b >> 16, &BF16) << 16)

static const struct op ops[] = {
	{ "and", "b32", 4, and, 0 }, { "and", "b64", 8, and, 0 },
	{ "or", "b32", 4, or, 0 }, { "or", "b64", 8, or, 0 },
	{ "xor", "b32", 4, xor, 0 }, { "xor", "b64", 8, xor, 0 },
	{ "exch", "b32", 4, exch, 1 }, { "exch", "b64", 8, exch, 1 },
	{ "cas", "b16", 2, cas, 1 }, { "cas", "b32", 4, cas, 1 },
	{ "cas", "b64", 8, cas, 1 },
	{ "add", "u32", 4, add, 0 }, { "add", "s32", 4, add, 0 },
	{ "add", "u64", 8, add, 0 }, { "inc", "u32", 4, inc, 0 },
	{ "dec", "u32", 4, dec, 0 },
	{ "min", "u32", 4, minu, 0 }, { "min", "s32", 4, mins32, 0 },
	{ "min", "u64", 8, minu, 0 }, { "min", "s64", 8, mins64, 0 },
	{ "max", "u32", 4, maxu, 0 }, { "max", "s32", 4, maxs32, 0 },
	{ "max", "u64", 8, maxu, 0 }, { "max", "s64", 8, maxs64, 0 },
	{ "add", "f32", 4, addf32, 0 }, { "add", "f64", 8, addf64, 0 },
	{ "add.noftz", "f16", 2, addf16, 0 },
	{ "add.noftz", "bf16", 2, addbf16, 0 },
	{ "add.noftz", "f16x2", 4, addf16x2, 0 },
	{ "add.noftz", "bf16x2", 4, addbf16x2, 0 },
};

static void all_ops(void)
{
	char name[64];

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		bool good = true;

		for (int isa = 0; isa < 2; isa++) {
			if (!ptx_force_isa(isa))
				continue;
			flushing = true;
			good &= one(&ops[i], ".global", false);
			good &= one(&ops[i], "", false);
			good &= one(&ops[i], ".acq_rel.gpu.global", false);
			if (!ops[i].no_red)
				good &= one(&ops[i], ".global", true);
			flushing = false;
			good &= one(&ops[i], ".shared", false);
			if (!ops[i].no_red)
				good &= one(&ops[i], ".shared", true);
		}
		ptx_force_isa(-1);
		snprintf(name, sizeof(name), "atom_%s_%s", ops[i].name,
			 ops[i].type);
		ok(good, name);
	}
}

/* ---- contention: many threads, one word ---- */

static uint64_t contended(const char *insn, uint64_t start)
{
	char text[1024];
	struct ptx_module *m;
	uint64_t *p = dev_alloc(16), args = (uintptr_t)p, r;

	snprintf(text, sizeof(text), ".entry k(.param .u64 m) {\n"
		 ".reg .b32 %%t, %%r; .reg .b64 %%m, %%x; .reg .b128 %%q<4>; "
		 ".reg .pred %%p;\nmov.u32 %%r, %%ctaid.x; mov.u32 %%t, %%tid.x;"
		 "mad.lo.u32 %%t, %%r, 96, %%t;\nld.param.u64 %%m, [m];\n%s }\n",
		 insn);
	p[0] = start;
	m = load_body(text);
	if (!m || launch(m, "k", 5, 96, 0, &args, 1) != EXEC_OK)
		p[0] = 0xdead;
	r = p[0];
	dev_free(p);
	ptx_unload(m);
	return r;
}

static void contention(void)
{
	float f;
	uint64_t v;

	ok_eq(contended("red.global.add.u32 [%m], %t;", 0), 480 * 479 / 2,
	      "no_sum_is_lost");
	v = contended("red.global.add.f32 [%m], 0f3F800000;", 0);
	f = f32(v);
	ok(f == 480, "no_float_sum_is_lost");
	ok_eq(contended("red.global.max.s32 [%m], %t;", 0), 479,
	      "maximum_of_all_threads");
	ok_eq(contended("red.global.inc.u32 [%m], 99;", 0), 80, "inc_wraps");
	ok_eq(contended("atom.global.exch.b32 %r, [%m], %t;", 0), 479,
	      "last_exchange_stays");
	ok_eq(contended("L: ld.volatile.global.u32 %r, [%m]; "
			"{ .reg .b32 n; add.u32 n, %r, 2; "
			"atom.global.cas.b32 n, [%m], %r, n; "
			"setp.ne.u32 %p, n, %r; @%p bra L; }", 0), 960,
	      "compare_and_swap_loops_end");
	ok_eq(contended("cvt.u64.u32 %x, %t; mov.b128 %q1, {%x, %x}; "
			"atom.global.exch.b128 %q2, [%m], %q1; "
			"mov.b128 {_, %x}, %q2;", 0), 479,
	      "exchange_of_128_bits");
	ok_eq(contended("setp.ne.u32 %p, %t, 0; @%p exit; mov.b64 %x, 7; "
			"mov.b128 %q1, {%x, 0}; mov.b64 %x, 9; "
			"mov.b128 %q2, {%x, %x}; "
			"atom.global.cas.b128 %q3, [%m], %q1, %q2;", 7), 9,
	      "compare_and_swap_of_128_bits");
	ok_eq(contended("setp.ne.u32 %p, %t, 0; @%p exit; mov.b64 %x, 7; "
			"mov.b128 %q1, {%x, 1}; "
			"atom.global.cas.b128 %q3, [%m], %q1, %q1;", 7), 7,
	      "failed_compare_and_swap_of_128_bits");
}

int main(void)
{
	seed_init();
	all_ops();
	contention();
	return tap_exit();
}
