/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: integer arithmetic. Signed arithmetic is done on unsigned values, where it
 * wraps as PTX requires. Results that PTX leaves undefined (division by zero) are the ones
 * that GPUs return.
 */
#include "ops.h"

/* ---- add, sub, mul ---- */

OP2(add_16, u16, u16, u16, a + b)
OP2(add_32, u32, u32, u32, a + b)
OP2(add_64, u64, u64, u64, a + b)
OP2(sub_16, u16, u16, u16, a - b)
OP2(sub_32, u32, u32, u32, a - b)
OP2(sub_64, u64, u64, u64, a - b)
OP2(mul_16, u16, u16, u16, (u32)a * b)
OP2(mul_32, u32, u32, u32, a * b)
OP2(mul_64, u64, u64, u64, a * b)

static inline s32 sat_s32(s64 v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

OP2(add_sat_s32, s32, s32, s32, sat_s32((s64)a + b))
OP2(sub_sat_s32, s32, s32, s32, sat_s32((s64)a - b))

/* Two 16-bit lanes in one register. */
#define PAIR(f) ((u32)(u16)f(a >> 16, b >> 16) << 16 | (u16)f(a, b))
#define add16(x, y) ((x) + (y))

OP2(add_16x2, u32, u32, u32, PAIR(add16))

#define HI_U16(x, y) ((u32)(x) * (y) >> 16)
#define HI_S16(x, y) ((s32)(x) * (y) >> 16)
#define HI_U32(x, y) ((u64)(x) * (y) >> 32)
#define HI_S32(x, y) ((s64)(x) * (y) >> 32)
#define HI_U64(x, y) ((u128)(x) * (y) >> 64)
#define HI_S64(x, y) ((s128)(x) * (y) >> 64)

OP2(mulhi_u16, u16, u16, u16, HI_U16(a, b))
OP2(mulhi_s16, u16, s16, s16, HI_S16(a, b))
OP2(mulhi_u32, u32, u32, u32, HI_U32(a, b))
OP2(mulhi_s32, u32, s32, s32, HI_S32(a, b))
OP2(mulhi_u64, u64, u64, u64, HI_U64(a, b))
OP2(mulhi_s64, u64, s64, s64, HI_S64(a, b))
OP2(mulwide_u16, u32, u16, u16, (u32)a * b)
OP2(mulwide_s16, u32, s16, s16, (s32)a * b)
OP2(mulwide_u32, u64, u32, u32, (u64)a * b)
OP2(mulwide_s32, u64, s32, s32, (s64)a * b)

/* 24 x 24 bits give a 48-bit product: .lo is its bits 31..0, .hi its bits 47..16. */
#define S24(x) ((s64)((s32)((u32)(x) << 8) >> 8))
#define U24(x) ((u64)((x) & 0xffffff))

OP2(mul24lo_u32, u32, u32, u32, U24(a) * U24(b))
OP2(mul24lo_s32, u32, u32, u32, S24(a) * S24(b))
OP2(mul24hi_u32, u32, u32, u32, U24(a) * U24(b) >> 16)
OP2(mul24hi_s32, u32, u32, u32, S24(a) * S24(b) >> 16)
OP3(mad24lo_u32, u32, u32, u32, u32, U24(a) * U24(b) + c)
OP3(mad24lo_s32, u32, u32, u32, u32, S24(a) * S24(b) + c)
OP3(mad24hi_u32, u32, u32, u32, u32, (U24(a) * U24(b) >> 16) + c)
OP3(mad24hi_s32, u32, u32, u32, u32, (S24(a) * S24(b) >> 16) + c)
OP3(mad24hi_sat_s32, s32, u32, u32, s32,
    sat_s32((s64)(s32)(S24(a) * S24(b) >> 16) + c))

OP3(mad_16, u16, u16, u16, u16, (u32)a * b + c)
OP3(mad_32, u32, u32, u32, u32, a * b + c)
OP3(mad_64, u64, u64, u64, u64, a * b + c)
OP3(madhi_u16, u16, u16, u16, u16, HI_U16(a, b) + c)
OP3(madhi_s16, u16, s16, s16, u16, HI_S16(a, b) + c)
OP3(madhi_u32, u32, u32, u32, u32, HI_U32(a, b) + c)
OP3(madhi_s32, u32, s32, s32, u32, HI_S32(a, b) + c)
OP3(madhi_sat_s32, s32, s32, s32, s32, sat_s32((s64)HI_S32(a, b) + c))
OP3(madhi_u64, u64, u64, u64, u64, HI_U64(a, b) + c)
OP3(madhi_s64, u64, s64, s64, u64, HI_S64(a, b) + c)
OP3(madwide_u16, u32, u16, u16, u32, (u32)a * b + c)
OP3(madwide_s16, u32, s16, s16, u32, (s32)a * b + c)
OP3(madwide_u32, u64, u32, u32, u64, (u64)a * b + c)
OP3(madwide_s32, u64, s32, s32, u64, (u64)((s64)a * b) + c)

/* ---- with the carry flag ---- */

/*
 * X is the sum or difference with one bit more than the type. The top bit is the carry, or
 * the borrow of a difference. OUT says whether the flag is written.
 */
#define CARRY(name, T, WIDE, BITS, OUT, LOADS, X) \
DEFINE(name) \
{ \
	T *d_ = dst(w, in->d); \
	const T *a_ = src(w, in->a); \
	const T *b_ = src(w, in->b); \
	u32 cc = w->cc; \
	EACH_ACTIVE { \
		T a = a_[l], b = b_[l]; \
		u32 cin = w->cc >> l & 1; \
		WIDE x; \
		LOADS; \
		(void)cin; \
		x = (X); \
		d_[l] = x; \
		cc = (cc & ~(1u << l)) | (u32)(x >> BITS & 1) << l; \
	} \
	if (OUT) \
		w->cc = cc; \
	return 0; \
}

#define NOTHING (void)0
#define ADDC_FAMILY(BITS, T, WIDE) \
CARRY(addcc_##BITS, T, WIDE, BITS, 1, NOTHING, (WIDE)a + b) \
CARRY(addc_##BITS, T, WIDE, BITS, 0, NOTHING, (WIDE)a + b + cin) \
CARRY(addccc_##BITS, T, WIDE, BITS, 1, NOTHING, (WIDE)a + b + cin) \
CARRY(subcc_##BITS, T, WIDE, BITS, 1, NOTHING, (WIDE)a - b) \
CARRY(subc_##BITS, T, WIDE, BITS, 0, NOTHING, (WIDE)a - b - cin) \
CARRY(subccc_##BITS, T, WIDE, BITS, 1, NOTHING, (WIDE)a - b - cin)

ADDC_FAMILY(32, u32, u64)
ADDC_FAMILY(64, u64, u128)

#define MADC(name, T, WIDE, BITS, OUT, P, CIN) \
CARRY(name, T, WIDE, BITS, OUT, T c = ((const T *)src(w, in->c))[l], \
      (WIDE)(T)(P) + c + CIN)

#define MADC_FAMILY(BITS, T, ST, WIDE) \
MADC(madlocc_##BITS, T, WIDE, BITS, 1, a * b, 0) \
MADC(madclo_##BITS, T, WIDE, BITS, 0, a * b, cin) \
MADC(madclocc_##BITS, T, WIDE, BITS, 1, a * b, cin) \
MADC(madhicc_u##BITS, T, WIDE, BITS, 1, HI_U##BITS(a, b), 0) \
MADC(madhicc_s##BITS, T, WIDE, BITS, 1, HI_S##BITS((ST)a, (ST)b), 0) \
MADC(madchi_u##BITS, T, WIDE, BITS, 0, HI_U##BITS(a, b), cin) \
MADC(madchi_s##BITS, T, WIDE, BITS, 0, HI_S##BITS((ST)a, (ST)b), cin) \
MADC(madchicc_u##BITS, T, WIDE, BITS, 1, HI_U##BITS(a, b), cin) \
MADC(madchicc_s##BITS, T, WIDE, BITS, 1, HI_S##BITS((ST)a, (ST)b), cin)

MADC_FAMILY(32, u32, s32, u64)
MADC_FAMILY(64, u64, s64, u128)

/* ---- sad, abs, neg, min, max ---- */

OP3(sad_u16, u16, u16, u16, u16, c + (a < b ? b - a : a - b))
OP3(sad_s16, u16, s16, s16, u16, c + (a < b ? b - a : a - b))
OP3(sad_u32, u32, u32, u32, u32, c + (a < b ? b - a : a - b))
OP3(sad_s32, u32, s32, s32, u32, c + (a < b ? (u32)b - a : (u32)a - b))
OP3(sad_u64, u64, u64, u64, u64, c + (a < b ? b - a : a - b))
OP3(sad_s64, u64, s64, s64, u64, c + (a < b ? (u64)b - a : (u64)a - b))
OP1(abs_s16, u16, s16, a < 0 ? -(u16)a : (u16)a)
OP1(abs_s32, u32, s32, a < 0 ? -(u32)a : (u32)a)
OP1(abs_s64, u64, s64, a < 0 ? -(u64)a : (u64)a)
OP1(neg_16, u16, u16, -a)
OP1(neg_32, u32, u32, -a)
OP1(neg_64, u64, u64, -a)

#define MINMAX(T) \
OP2(min_##T, T, T, T, a < b ? a : b) \
OP2(max_##T, T, T, T, a > b ? a : b)

MINMAX(u16) MINMAX(s16) MINMAX(u32) MINMAX(s32) MINMAX(u64) MINMAX(s64)

#define LO(x, y) ((x) < (y) ? (x) : (y))
#define UP(x, y) ((x) > (y) ? (x) : (y))
#define RELU(x) UP(x, 0)
#define minu16(x, y) LO((u16)(x), (u16)(y))
#define maxu16(x, y) UP((u16)(x), (u16)(y))
#define mins16(x, y) LO((s16)(x), (s16)(y))
#define maxs16(x, y) UP((s16)(x), (s16)(y))
#define minr16(x, y) RELU(mins16(x, y))
#define maxr16(x, y) RELU(maxs16(x, y))

OP2(min_relu_s32, s32, s32, s32, RELU(LO(a, b)))
OP2(max_relu_s32, s32, s32, s32, RELU(UP(a, b)))
OP2(min_u16x2, u32, u32, u32, PAIR(minu16))
OP2(max_u16x2, u32, u32, u32, PAIR(maxu16))
OP2(min_s16x2, u32, u32, u32, PAIR(mins16))
OP2(max_s16x2, u32, u32, u32, PAIR(maxs16))
OP2(min_relu_s16x2, u32, u32, u32, PAIR(minr16))
OP2(max_relu_s16x2, u32, u32, u32, PAIR(maxr16))

/* ---- division: by zero the quotient is all ones and the remainder is the dividend ---- */

#define DIV_U(T) \
SCALAR2(div_##T, T, T, T, b ? a / b : (T)-1) \
SCALAR2(rem_##T, T, T, T, b ? a % b : a)
#define DIV_S(T, U) \
SCALAR2(div_##T, T, T, T, b == 0 ? (T)-1 : b == -1 ? (T)-(U)a : a / b) \
SCALAR2(rem_##T, T, T, T, b == 0 ? a : b == -1 ? 0 : a % b)

DIV_U(u16) DIV_U(u32) DIV_U(u64)
DIV_S(s16, u16) DIV_S(s32, u32) DIV_S(s64, u64)

/* ---- dot products of bytes ---- */

#define BYTE(T, v, i) ((s32)(T)((v) >> 8 * (i)))
#define HALF(T, v, i) ((s32)(T)((v) >> 16 * (i)))
#define DP4A(name, TA, TB) \
OP3(name, u32, u32, u32, u32, c + (u32)(BYTE(TA, a, 0) * BYTE(TB, b, 0)) + \
    (u32)(BYTE(TA, a, 1) * BYTE(TB, b, 1)) + \
    (u32)(BYTE(TA, a, 2) * BYTE(TB, b, 2)) + \
    (u32)(BYTE(TA, a, 3) * BYTE(TB, b, 3)))
#define DP2A(name, TA, TB, i) \
OP3(name, u32, u32, u32, u32, c + \
    (u32)HALF(TA, a, 0) * (u32)BYTE(TB, b, i) + \
    (u32)HALF(TA, a, 1) * (u32)BYTE(TB, b, i + 1))

DP4A(dp4a_uu, u8, u8) DP4A(dp4a_us, u8, s8)
DP4A(dp4a_su, s8, u8) DP4A(dp4a_ss, s8, s8)
DP2A(dp2alo_uu, u16, u8, 0) DP2A(dp2alo_us, u16, s8, 0)
DP2A(dp2alo_su, s16, u8, 0) DP2A(dp2alo_ss, s16, s8, 0)
DP2A(dp2ahi_uu, u16, u8, 2) DP2A(dp2ahi_us, u16, s8, 2)
DP2A(dp2ahi_su, s16, u8, 2) DP2A(dp2ahi_ss, s16, s8, 2)

/* ---- differences of bytes ---- */

#define DIFF(T, i) ((u32)(BYTE(T, a, i) < BYTE(T, b, i) ? \
			  BYTE(T, b, i) - BYTE(T, a, i) : \
			  BYTE(T, a, i) - BYTE(T, b, i)))

/* All four bytes are selected, so nothing of c remains. */
#define VABSDIFF4(s, T) \
OP3(vabsdiff4_##s, u32, u32, u32, u32, (c & 0) | \
    DIFF(T, 0) | DIFF(T, 1) << 8 | DIFF(T, 2) << 16 | DIFF(T, 3) << 24) \
OP3(vsad4_##s, u32, u32, u32, u32, \
    c + DIFF(T, 0) + DIFF(T, 1) + DIFF(T, 2) + DIFF(T, 3))

VABSDIFF4(u, u8) VABSDIFF4(s, s8)

/* ---- video shifts ---- */

static s128 vshift_saturate(s128 v, bool is_signed)
{
	s128 lo = is_signed ? INT32_MIN : 0, hi = is_signed ? INT32_MAX : UINT32_MAX;

	return v < lo ? lo : v > hi ? hi : v;
}

static u32 vshift_second(u32 v, u32 c, u32 op, bool is_signed)
{
	bool less = is_signed ? (s32)v < (s32)c : v < c;

	switch (op) {
	case AOP_ADD:
		return v + c;
	case AOP_MIN:
		return less ? v : c;
	case AOP_MAX:
		return less ? c : v;
	default:
		return v;
	}
}

/* Shifts a number of 33 bits with its sign, as the PTX manual writes it down. */
static u32 vshift_one(const struct insn *in, u32 a, u32 b, u32 c, bool left)
{
	bool is_signed = in->sub2 & VSHIFT_SIGNED_RESULT;
	s128 v = in->sub2 & VSHIFT_SIGNED_SOURCE ? (s128)(s32)a : (s128)a;
	u32 by = in->mode & MODE_CLAMP ? (b > 32 ? 32 : b) : b & 31;

	v = left ? v * ((s128)1 << by) : v >> by;
	if (in->mode & MODE_SAT)
		v = vshift_saturate(v, is_signed);
	return vshift_second(v, c, in->sub, is_signed);
}

static int vshift(struct warp *w, const struct insn *in, u32 mask, bool left)
{
	const u32 *a = src(w, in->a), *b = src(w, in->b);
	const u32 *c = in->sub ? src(w, in->c) : a;
	u32 *d = dst(w, in->d);

	EACH_ACTIVE d[l] = vshift_one(in, a[l], b[l], c[l], left);
	return 0;
}

DEFINE(vshl)
{
	return vshift(w, in, mask, true);
}

DEFINE(vshr)
{
	return vshift(w, in, mask, false);
}
