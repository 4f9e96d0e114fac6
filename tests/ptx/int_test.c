/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that each instruction of integer arithmetic gives, bit for bit, what
 * the PTX manual says, on edge and random values, with full and with partial warps. The
 * references are written from the manual with wide integers.
 */
#include "int_ref.h"

static int64_t clamp32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

/* ---- add, sub, mul, mad ---- */

#define WIDTHS(bits) \
REF(add##bits, low(A + B, bits)) \
REF(sub##bits, low(A - B, bits)) \
REF(mul##bits, low(A * B, bits)) \
REF(mad##bits, low(A * B + C, bits)) \
REF(hiu##bits, low((u128)A * B >> bits, bits)) \
REF(his##bits, low((s128)sx(A, bits) * sx(B, bits) >> bits, bits)) \
REF(mhiu##bits, low(((u128)A * B >> bits) + C, bits)) \
REF(mhis##bits, low(((s128)sx(A, bits) * sx(B, bits) >> bits) + C, bits)) \
REF(sadu##bits, low(C + (A < B ? B - A : A - B), bits)) \
REF(sads##bits, low(C + (sx(A, bits) < sx(B, bits) ? B - A : A - B), bits)) \
REF(minu##bits, A < B ? A : B) \
REF(maxu##bits, A > B ? A : B) \
REF(mins##bits, sx(A, bits) < sx(B, bits) ? A : B) \
REF(maxs##bits, sx(A, bits) > sx(B, bits) ? A : B) \
REF(divu##bits, B ? A / B : low(~0ull, bits)) \
REF(remu##bits, B ? A % B : A) \
REF(divs##bits, B ? low((s128)sx(A, bits) / sx(B, bits), bits) : \
    low(~0ull, bits)) \
REF(rems##bits, B ? low((s128)sx(A, bits) % sx(B, bits), bits) : A) \
REF(abs##bits, low(sx(A, bits) < 0 ? -A : A, bits)) \
REF(neg##bits, low(-A, bits))

WIDTHS(16) WIDTHS(32) WIDTHS(64)

REF(wide_u, A * B)
REF(wide_s16, low(sx(A, 16) * sx(B, 16), 32))
REF(wide_s32, sx(A, 32) * sx(B, 32))
REF(mwide_u16, low(A * B + C, 32))
REF(mwide_s16, low(sx(A, 16) * sx(B, 16) + C, 32))
REF(mwide_u32, A * B + C)
REF(mwide_s32, sx(A, 32) * sx(B, 32) + C)
REF(add_sat, low(clamp32(sx(A, 32) + sx(B, 32)), 32))
REF(sub_sat, low(clamp32(sx(A, 32) - sx(B, 32)), 32))
REF(mad_sat, low(clamp32((sx(A, 32) * sx(B, 32) >> 32) + sx(C, 32)), 32))

#define M24(x, sgn) (sgn ? (s128)sx((x) & 0xffffff, 24) : \
		     (s128)((x) & 0xffffff))
REF(m24lo_u, low(M24(A, 0) * M24(B, 0), 32))
REF(m24lo_s, low(M24(A, 1) * M24(B, 1), 32))
REF(m24hi_u, low(M24(A, 0) * M24(B, 0) >> 16, 32))
REF(m24hi_s, low(M24(A, 1) * M24(B, 1) >> 16, 32))
REF(mad24lo_u, low(M24(A, 0) * M24(B, 0) + C, 32))
REF(mad24lo_s, low(M24(A, 1) * M24(B, 1) + C, 32))
REF(mad24hi_u, low((M24(A, 0) * M24(B, 0) >> 16) + C, 32))
REF(mad24hi_s, low((M24(A, 1) * M24(B, 1) >> 16) + C, 32))
REF(mad24hi_sat, low(clamp32(sx(low(M24(A, 1) * M24(B, 1) >> 16, 32), 32) +
			     sx(C, 32)), 32))

static void arithmetic(void)
{
#define ALL(op, h, i, l) do { \
	CHECK3(op, "u16", "hhh", h##16); CHECK3(op, "s16", "hhh", h##16); \
	CHECK3(op, "u32", "iii", i##32); CHECK3(op, "s32", "iii", i##32); \
	CHECK3(op, "u64", "lll", l##64); CHECK3(op, "s64", "lll", l##64); \
} while (0)
#define BYSIGN(op, u, s) do { \
	CHECK3(op, "u16", "hhh", u##16); CHECK3(op, "s16", "hhh", s##16); \
	CHECK3(op, "u32", "iii", u##32); CHECK3(op, "s32", "iii", s##32); \
	CHECK3(op, "u64", "lll", u##64); CHECK3(op, "s64", "lll", s##64); \
} while (0)
#define MAD(op, u, s) do { \
	check_op(op ".u16 %d, %a, %b, %c;", "hhhh", u##16, NULL); \
	check_op(op ".s16 %d, %a, %b, %c;", "hhhh", s##16, NULL); \
	check_op(op ".u32 %d, %a, %b, %c;", "iiii", u##32, NULL); \
	check_op(op ".s32 %d, %a, %b, %c;", "iiii", s##32, NULL); \
	check_op(op ".u64 %d, %a, %b, %c;", "llll", u##64, NULL); \
	check_op(op ".s64 %d, %a, %b, %c;", "llll", s##64, NULL); \
} while (0)
	ALL("add", add, add, add);
	ALL("sub", sub, sub, sub);
	ALL("mul.lo", mul, mul, mul);
	BYSIGN("mul.hi", hiu, his);
	BYSIGN("min", minu, mins);
	BYSIGN("max", maxu, maxs);
	BYSIGN("div", divu, divs);
	BYSIGN("rem", remu, rems);
	MAD("mad.lo", mad, mad);
	MAD("mad.hi", mhiu, mhis);
	MAD("sad", sadu, sads);
	CHECK3("mul.wide", "u16", "ihh", wide_u);
	CHECK3("mul.wide", "s16", "ihh", wide_s16);
	CHECK3("mul.wide", "u32", "lii", wide_u);
	CHECK3("mul.wide", "s32", "lii", wide_s32);
	check_op("mad.wide.u16 %d, %a, %b, %c;", "ihhi", mwide_u16, NULL);
	check_op("mad.wide.s16 %d, %a, %b, %c;", "ihhi", mwide_s16, NULL);
	check_op("mad.wide.u32 %d, %a, %b, %c;", "liil", mwide_u32, NULL);
	check_op("mad.wide.s32 %d, %a, %b, %c;", "liil", mwide_s32, NULL);
	CHECK3("add.sat", "s32", "iii", add_sat);
	CHECK3("sub.sat", "s32", "iii", sub_sat);
	check_op("mad.hi.sat.s32 %d, %a, %b, %c;", "iiii", mad_sat, NULL);
	CHECK3("mul24.lo", "u32", "iii", m24lo_u);
	CHECK3("mul24.lo", "s32", "iii", m24lo_s);
	CHECK3("mul24.hi", "u32", "iii", m24hi_u);
	CHECK3("mul24.hi", "s32", "iii", m24hi_s);
	check_op("mad24.lo.u32 %d, %a, %b, %c;", "iiii", mad24lo_u, NULL);
	check_op("mad24.lo.s32 %d, %a, %b, %c;", "iiii", mad24lo_s, NULL);
	check_op("mad24.hi.u32 %d, %a, %b, %c;", "iiii", mad24hi_u, NULL);
	check_op("mad24.hi.s32 %d, %a, %b, %c;", "iiii", mad24hi_s, NULL);
	check_op("mad24.hi.sat.s32 %d, %a, %b, %c;", "iiii", mad24hi_sat,
		 NULL);
#define UNARY(op, r) do { \
	check_op(op ".s16 %d, %a;", "hh", r##16, NULL); \
	check_op(op ".s32 %d, %a;", "ii", r##32, NULL); \
	check_op(op ".s64 %d, %a;", "ll", r##64, NULL); \
} while (0)
	UNARY("abs", abs);
	UNARY("neg", neg);
}

/* ---- carry chains: 128-bit sums out of halves ---- */

static uint64_t add128_high(const uint64_t *s)
{
	return (((u128)B << 64 | A) + ((u128)E << 64 | C)) >> 64;
}

static uint64_t sub128_high(const uint64_t *s)
{
	return (((u128)B << 64 | A) - ((u128)E << 64 | C)) >> 64;
}

static uint64_t add64_high(const uint64_t *s)
{
	return ((B << 32 | A) + (E << 32 | C)) >> 32;
}

static uint64_t sub64_high(const uint64_t *s)
{
	return ((B << 32 | A) - (E << 32 | C)) >> 32;
}

/* A last addc shows the carry out of a + b + carry(a + a). */
static uint64_t carry_out32(const uint64_t *s)
{
	return (A + B + (A + A) / (1ull << 32)) >> 32;
}

static uint64_t borrow_out32(const uint64_t *s)
{
	return low(0ull - (A < B + (A < B) ? 1 : 0), 32);
}

static uint64_t borrow_out64(const uint64_t *s)
{
	return 0ull - ((u128)A < (u128)B + (A < B) ? 1 : 0);
}

static uint64_t carry_out64(const uint64_t *s)
{
	return ((u128)A + B + (((u128)A + A) >> 64)) >> 64;
}

#define MUL64(x, y, sgn) (sgn ? (uint64_t)(sx(x, 32) * sx(y, 32)) : (x) * (y))

/* mad.lo.cc and then madc.hi give the high word of a * b + (e:c). */
static uint64_t mad64_high_u(const uint64_t *s)
{
	return (A * B + (E << 32 | C)) >> 32;
}

static uint64_t mad64_high_s(const uint64_t *s)
{
	return (MUL64(A, B, 1) + (E << 32 | C)) >> 32;
}

static uint64_t mad128_high_u(const uint64_t *s)
{
	return ((u128)A * B + ((u128)E << 64 | C)) >> 64;
}

static uint64_t mad128_high_s(const uint64_t *s)
{
	return ((u128)((s128)(int64_t)A * (int64_t)B) +
		((u128)E << 64 | C)) >> 64;
}

/* mad.hi.cc gives the carry of hi(a * b) + c. */
static uint64_t madhi_carry_u(const uint64_t *s)
{
	return ((A * B >> 32) + C) >> 32;
}

static uint64_t madhi_carry_s(const uint64_t *s)
{
	return (low(MUL64(A, B, 1) >> 32, 32) + C) >> 32;
}

static uint64_t madhi_carry_u64(const uint64_t *s)
{
	return ((((u128)A * B) >> 64) + C) >> 64;
}

static uint64_t madhi_carry_s64(const uint64_t *s)
{
	return ((u128)(uint64_t)((s128)(int64_t)A * (int64_t)B >> 64) + C) >>
	       64;
}

/* madc.lo.cc gets a carry in of 1 from -1 + 1. */
static uint64_t madclo_carry(const uint64_t *s)
{
	return (low(A * B, 32) + C + 1) >> 32;
}

static uint64_t madclo_carry64(const uint64_t *s)
{
	return ((u128)(A * B) + C + 1) >> 64;
}

static uint64_t madchi_carry(const uint64_t *s)
{
	return ((A * B >> 32) + C + 1) >> 32;
}

static uint64_t madchi_carry_s(const uint64_t *s)
{
	return (low(MUL64(A, B, 1) >> 32, 32) + C + 1) >> 32;
}

static uint64_t madchi_carry64(const uint64_t *s)
{
	return ((((u128)A * B) >> 64) + C + 1) >> 64;
}

static uint64_t madchi_carry_s64(const uint64_t *s)
{
	return ((u128)(uint64_t)((s128)(int64_t)A * (int64_t)B >> 64) + C +
		1) >> 64;
}

static uint64_t madclo32(const uint64_t *s)
{
	return low(A * B + C + 1, 32);
}

static uint64_t madclo64(const uint64_t *s)
{
	return A * B + C + 1;
}

#define T32 "{ .reg .b32 t; "
#define T64 "{ .reg .b64 t; "
#define SET32 "add.cc.u32 t, -1, 1; "
#define SET64 "add.cc.u64 t, -1, 1; "

static void carries(void)
{
	check_op(T64 "add.cc.u64 t, %a, %c; addc.u64 %d, %b, %e; }", "lllll",
		 add128_high, NULL);
	check_op(T64 "sub.cc.s64 t, %a, %c; subc.s64 %d, %b, %e; }", "lllll",
		 sub128_high, NULL);
	check_op(T32 "add.cc.s32 t, %a, %c; addc.s32 %d, %b, %e; }", "iiiii",
		 add64_high, NULL);
	check_op(T32 "sub.cc.u32 t, %a, %c; subc.u32 %d, %b, %e; }", "iiiii",
		 sub64_high, NULL);
	check_op(T32 "add.cc.u32 t, %a, %a; addc.cc.u32 t, %a, %b; "
		 "addc.u32 %d, 0, 0; }", "iii", carry_out32, NULL);
	check_op(T64 "add.cc.u64 t, %a, %a; addc.cc.u64 t, %a, %b; "
		 "addc.u64 %d, 0, 0; }", "lll", carry_out64, NULL);
	check_op(T32 "sub.cc.u32 t, %a, %b; subc.cc.u32 t, %a, %b; "
		 "subc.u32 %d, 0, 0; }", "iii", borrow_out32, NULL);
	check_op(T64 "sub.cc.u64 t, %a, %b; subc.cc.u64 t, %a, %b; "
		 "subc.u64 %d, 0, 0; }", "lll", borrow_out64, NULL);
	check_op(T32 "mad.lo.cc.u32 t, %a, %b, %c; madc.hi.u32 %d, %a, %b, %e;"
		 " }", "iiiii", mad64_high_u, NULL);
	check_op(T32 "mad.lo.cc.s32 t, %a, %b, %c; madc.hi.s32 %d, %a, %b, %e;"
		 " }", "iiiii", mad64_high_s, NULL);
	check_op(T64 "mad.lo.cc.u64 t, %a, %b, %c; madc.hi.u64 %d, %a, %b, %e;"
		 " }", "lllll", mad128_high_u, NULL);
	check_op(T64 "mad.lo.cc.s64 t, %a, %b, %c; madc.hi.s64 %d, %a, %b, %e;"
		 " }", "lllll", mad128_high_s, NULL);
	check_op(T32 "mad.hi.cc.u32 t, %a, %b, %c; addc.u32 %d, 0, 0; }",
		 "iiii", madhi_carry_u, NULL);
	check_op(T32 "mad.hi.cc.s32 t, %a, %b, %c; addc.u32 %d, 0, 0; }",
		 "iiii", madhi_carry_s, NULL);
	check_op(T64 "mad.hi.cc.u64 t, %a, %b, %c; addc.u64 %d, 0, 0; }",
		 "llll", madhi_carry_u64, NULL);
	check_op(T64 "mad.hi.cc.s64 t, %a, %b, %c; addc.u64 %d, 0, 0; }",
		 "llll", madhi_carry_s64, NULL);
	check_op(T32 SET32 "madc.lo.u32 %d, %a, %b, %c; }", "iiii", madclo32,
		 NULL);
	check_op(T64 SET64 "madc.lo.s64 %d, %a, %b, %c; }", "llll", madclo64,
		 NULL);
	check_op(T32 SET32 "madc.lo.cc.s32 t, %a, %b, %c; addc.u32 %d, 0, 0; }",
		 "iiii", madclo_carry, NULL);
	check_op(T64 SET64 "madc.lo.cc.u64 t, %a, %b, %c; addc.u64 %d, 0, 0; }",
		 "llll", madclo_carry64, NULL);
	check_op(T32 SET32 "madc.hi.cc.u32 t, %a, %b, %c; addc.u32 %d, 0, 0; }",
		 "iiii", madchi_carry, NULL);
	check_op(T32 SET32 "madc.hi.cc.s32 t, %a, %b, %c; addc.u32 %d, 0, 0; }",
		 "iiii", madchi_carry_s, NULL);
	check_op(T64 SET64 "madc.hi.cc.u64 t, %a, %b, %c; addc.u64 %d, 0, 0; }",
		 "llll", madchi_carry64, NULL);
	check_op(T64 SET64 "madc.hi.cc.s64 t, %a, %b, %c; addc.u64 %d, 0, 0; }",
		 "llll", madchi_carry_s64, NULL);
}

/* ---- pairs and dot products ---- */

static int64_t part(uint64_t v, int i, int bits, bool sgn)
{
	v = low(v >> i * bits, bits);
	return sgn ? sx(v, bits) : (int64_t)v;
}

#define PAIR(name, expr) \
static uint64_t name(const uint64_t *s) \
{ \
	uint64_t r = 0; \
	for (int i = 0; i < 2; i++) { \
		int64_t au = part(A, i, 16, 0), bu = part(B, i, 16, 0); \
		int64_t as = part(A, i, 16, 1), bs = part(B, i, 16, 1); \
		(void)au, (void)bu, (void)as, (void)bs; \
		r |= low(expr, 16) << 16 * i; \
	} \
	return r; \
}

PAIR(addx2, au + bu)
PAIR(minux2, au < bu ? au : bu)
PAIR(maxux2, au > bu ? au : bu)
PAIR(minsx2, as < bs ? as : bs)
PAIR(maxsx2, as > bs ? as : bs)
PAIR(minrx2, (as < bs ? as : bs) < 0 ? 0 : (as < bs ? as : bs))
PAIR(maxrx2, (as > bs ? as : bs) < 0 ? 0 : (as > bs ? as : bs))
REF(minrelu, sx(mins32(s), 32) < 0 ? 0 : mins32(s))
REF(maxrelu, sx(maxs32(s), 32) < 0 ? 0 : maxs32(s))

#define DOT(name, as, bs) \
static uint64_t dp4a_##name(const uint64_t *s) \
{ \
	int64_t r = C; \
	for (int i = 0; i < 4; i++) \
		r += part(A, i, 8, as) * part(B, i, 8, bs); \
	return low(r, 32); \
} \
static uint64_t dp2alo_##name(const uint64_t *s) \
{ \
	return low(C + part(A, 0, 16, as) * part(B, 0, 8, bs) + \
		   part(A, 1, 16, as) * part(B, 1, 8, bs), 32); \
} \
static uint64_t dp2ahi_##name(const uint64_t *s) \
{ \
	return low(C + part(A, 0, 16, as) * part(B, 2, 8, bs) + \
		   part(A, 1, 16, as) * part(B, 3, 8, bs), 32); \
}

DOT(uu, 0, 0) DOT(us, 0, 1) DOT(su, 1, 0) DOT(ss, 1, 1)

static uint64_t byte_diff(const uint64_t *s, bool sgn, bool sum)
{
	uint64_t r = sum ? C : 0;

	for (int i = 0; i < 4; i++) {
		int64_t d = part(A, i, 8, sgn) - part(B, i, 8, sgn);

		r += (uint64_t)(d < 0 ? -d : d) << (sum ? 0 : 8 * i);
	}
	return low(r, 32);
}

REF(absdiff4_u, byte_diff(s, 0, 0))
REF(absdiff4_s, byte_diff(s, 1, 0))
REF(sad4_u, byte_diff(s, 0, 1))
REF(sad4_s, byte_diff(s, 1, 1))

static void pairs(void)
{
	CHECK3("add", "u16x2", "iii", addx2);
	CHECK3("add", "s16x2", "iii", addx2);
	CHECK3("min", "u16x2", "iii", minux2);
	CHECK3("max", "u16x2", "iii", maxux2);
	CHECK3("min", "s16x2", "iii", minsx2);
	CHECK3("max", "s16x2", "iii", maxsx2);
	CHECK3("min.relu", "s16x2", "iii", minrx2);
	CHECK3("max.relu", "s16x2", "iii", maxrx2);
	CHECK3("min.relu", "s32", "iii", minrelu);
	CHECK3("max.relu", "s32", "iii", maxrelu);
#define DOTS(x, t) do { \
	check_op("dp4a." t " %d, %a, %b, %c;", "iiii", dp4a_##x, NULL); \
	check_op("dp2a.lo." t " %d, %a, %b, %c;", "iiii", dp2alo_##x, NULL); \
	check_op("dp2a.hi." t " %d, %a, %b, %c;", "iiii", dp2ahi_##x, NULL); \
} while (0)
	check_op("vabsdiff4.u32.u32.u32 %d, %a, %b, %c;", "iiii", absdiff4_u,
		 NULL);
	check_op("vabsdiff4.u32.s32.s32 %d, %a, %b, %c;", "iiii", absdiff4_s,
		 NULL);
	check_op("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", "iiii", sad4_u,
		 NULL);
	check_op("vabsdiff4.u32.s32.s32.add %d, %a, %b, %c;", "iiii", sad4_s,
		 NULL);
	DOTS(uu, "u32.u32");
	DOTS(us, "u32.s32");
	DOTS(su, "s32.u32");
	DOTS(ss, "s32.s32");
}

/* ---- video shifts: the source has 33 bits, and a second operation may follow ---- */

static uint64_t shift_count(void)
{
	return rnd() % 4 ? rnd() % 40 : rnd_int(32);
}

static gen_fn *const shifts[OP_SRC] = { NULL, shift_count, NULL, NULL };

#define UNSIGNED(v) ((s128)(v))
#define SIGNED(v) ((s128)sx(v, 32))
#define CLAMPED (B > 32 ? 32 : B)
#define WRAPPED (B & 31)
#define SAT_U(v) ((v) < 0 ? 0 : (v) > UINT32_MAX ? UINT32_MAX : (v))
#define SAT_S(v) ((v) < INT32_MIN ? INT32_MIN : (v) > INT32_MAX ? INT32_MAX : (v))
#define UP(v, n) ((v) * ((s128)1 << (n)))
#define DOWN(v, n) ((v) >> (n))

REF(vshr_add, low(DOWN(UNSIGNED(A), CLAMPED) + C, 32))
REF(vshr_wrap, low(DOWN(UNSIGNED(A), WRAPPED), 32))
REF(vshr_signed_max, low(SIGNED(low(DOWN(SIGNED(A), CLAMPED), 32)) > SIGNED(C) ?
			 DOWN(SIGNED(A), CLAMPED) : SIGNED(C), 32))
REF(vshr_negative, low(SAT_U(DOWN(SIGNED(A), CLAMPED)), 32))
REF(vshl_clamp, low(UP(UNSIGNED(A), CLAMPED), 32))
REF(vshl_wrap, low(UP(UNSIGNED(A), WRAPPED), 32))
REF(vshl_sat, low(SAT_U(UP(UNSIGNED(A), CLAMPED)), 32))
REF(vshl_sat_signed, low(SAT_S(UP(SIGNED(A), CLAMPED)), 32))
REF(vshl_min, low(UP(UNSIGNED(A), WRAPPED), 32) < C ? low(UP(UNSIGNED(A), WRAPPED), 32) : C)

static void video_shifts(void)
{
	check_op("vshr.u32.u32.u32.clamp.add %d, %a, %b, %c;", "iiii", vshr_add, shifts);
	check_op("vshr.u32.u32.u32.wrap %d, %a, %b;", "iii", vshr_wrap, shifts);
	check_op("vshr.s32.s32.u32.clamp.max %d, %a, %b, %c;", "iiii", vshr_signed_max, shifts);
	check_op("vshr.u32.s32.u32.sat.clamp %d, %a, %b;", "iii", vshr_negative, shifts);
	check_op("vshl.u32.u32.u32.clamp %d, %a, %b;", "iii", vshl_clamp, shifts);
	check_op("vshl.u32.u32.u32.wrap %d, %a, %b;", "iii", vshl_wrap, shifts);
	check_op("vshl.u32.u32.u32.sat.clamp %d, %a, %b;", "iii", vshl_sat, shifts);
	check_op("vshl.s32.s32.u32.sat.clamp %d, %a, %b;", "iii", vshl_sat_signed, shifts);
	check_op("vshl.u32.u32.u32.wrap.min %d, %a, %b, %c;", "iiii", vshl_min, shifts);
}

int main(void)
{
	seed_init();
	arithmetic();
	carries();
	pairs();
	video_shifts();
	return tap_exit();
}
