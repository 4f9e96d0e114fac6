/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: conversions. Integers convert to integers through 64-bit temporaries in vector
 * loops. Common float conversions have loops of their own. All others use the formats of
 * soft.h.
 */
#include <math.h>
#include <string.h>

#include "fp.h"
#include "soft.h"

/* ---- common conversions, whose registers are as wide as the types ---- */

OP1(cvt_u64_u32, u64, u32, a)
OP1(cvt_s64_s32, s64, s32, a)
OP1(cvt_u32_u64, u32, u64, a)
OP1(cvt_u16_u32, u16, u32, a)
OP1(cvt_u32_u16, u32, u16, a)
OP1(cvt_s32_s16, s32, s16, a)
OP1(cvt_f32_s32, float, s32, a)
OP1(cvt_f32_u32, float, u32, a)
OP1(cvt_f64_s32, double, s32, a)
OP1(cvt_f64_u32, double, u32, a)
OP1(cvt_f64_f32, double, float, a)
OP1(cvt_f32_f64, float, double, canon32(a))
OP1(cvt_f32_bf16, float, u16, canon32(bits_f32((u32)a << 16)))

/* A value that is too large converts by way of the largest float below 2^31. */
static inline s32 clamp_s32(float a, float r)
{
	float in = r < 0x1.fffffep30f ? r : 0x1.fffffep30f;
	s32 v = (s32)(in > -0x1p31f ? in : -0x1p31f);

	v = r >= 0x1p31f ? INT32_MAX : v;
	return a != a ? 0 : v;
}

OP1(cvt_rzi_s32_f32, s32, float, clamp_s32(a, a))
OP1(cvt_rni_s32_f32, s32, float, clamp_s32(a, rintf(a)))

/* Converts half to single: shift the bits, then scale to correct the exponent's smaller bias. */
static inline float half_to_float(u16 h)
{
	u32 em = (u32)(h & 0x7fff) << 13;
	u32 v = f32_bits(bits_f32(em) * 0x1p112f);

	v = em >= 0x0f800000 ? em | 0x7f800000 : v;
	v = em > 0x0f800000 ? F32_NAN : v | (u32)(h & 0x8000) << 16;
	return bits_f32(v);
}

OP1(cvt_f32_f16, float, u16, half_to_float(a))

/* ---- integers ---- */

#define WIDEN(T) \
	EACH_LANE t[l] = (u64)(s64)(T)(wide == 8 ? ((const u64 *)a)[l] : \
		wide == 4 ? ((const u32 *)a)[l] : ((const u16 *)a)[l])

/* Takes the low bits of a register that have the type, and extends them to 64 bits. */
static void widen(const void *a, u32 wide, enum ptx_type type, u64 *t)
{
	switch (type) {
	case T_U8:
		WIDEN(u8);
		break;
	case T_S8:
		WIDEN(s8);
		break;
	case T_U16:
		WIDEN(u16);
		break;
	case T_S16:
		WIDEN(s16);
		break;
	case T_U32:
		WIDEN(u32);
		break;
	case T_S32:
		WIDEN(s32);
		break;
	default:
		WIDEN(u64);
		break;
	}
}

static void narrow_store(void *d, u32 wide, const u64 *t, u32 mask)
{
	if (wide == 8) {
		u64 *p = d;

		EACH_LANE p[l] = mask & lane_bit[l] ? t[l] : p[l];
	} else if (wide == 4) {
		u32 *p = d;

		EACH_LANE p[l] = mask & lane_bit[l] ? (u32)t[l] : p[l];
	} else {
		u16 *p = d;

		EACH_LANE p[l] = mask & lane_bit[l] ? (u16)t[l] : p[l];
	}
}

struct int_range {
	s64 lo;
	u64 hi;
};

static struct int_range range_of(enum ptx_type t)
{
	u32 bits = 8 * ptx_types[t].size;

	if (ptx_types[t].is_signed)
		return (struct int_range){ (s64)(~0ull << (bits - 1)),
					   (1ull << (bits - 1)) - 1 };
	return (struct int_range){ 0, bits == 64 ? UINT64_MAX :
				   (1ull << bits) - 1 };
}

static u64 clamp_int(u64 v, bool is_signed, struct int_range r)
{
	if (is_signed && (s64)v < 0)
		return (s64)v < r.lo ? (u64)r.lo : v;
	return v > r.hi ? r.hi : v;
}

DEFINE(cvt_int)
{
	const struct type_info *s = &ptx_types[in->sub2];
	u64 t[WARP_LANES], r[WARP_LANES];

	widen(src(w, in->a), in->size, in->sub2, t);
	if (in->mode & MODE_SAT) {
		struct int_range range = range_of(in->sub);

		for (int l = 0; l < WARP_LANES; l++)
			t[l] = clamp_int(t[l], s->is_signed, range);
	}
	widen(t, 8, in->sub, r);
	narrow_store(dst(w, in->d), in->wide, r, mask);
	return 0;
}

#define CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))

/* The first operand goes above the second operand; both go above a third operand. */
DEFINE(cvt_pack16)
{
	const s32 *a_ = src(w, in->a), *b_ = src(w, in->b);
	s32 lo = in->sub == T_S16 ? INT16_MIN : 0;
	s32 hi = in->sub == T_S16 ? INT16_MAX : UINT16_MAX;

	MAP(u32, s32 a = a_[l]; s32 b = b_[l],
	    (u32)CLAMP(a, lo, hi) << 16 | (u16)CLAMP(b, lo, hi));
	return 0;
}

DEFINE(cvt_pack8)
{
	const s32 *a_ = src(w, in->a), *b_ = src(w, in->b);
	const u32 *c_ = src(w, in->c);
	s32 lo = in->sub == T_S8 ? INT8_MIN : 0;
	s32 hi = in->sub == T_S8 ? INT8_MAX : UINT8_MAX;

	MAP(u32, s32 a = a_[l]; s32 b = b_[l]; u32 c = c_[l],
	    c << 16 | (u32)(u8)CLAMP(a, lo, hi) << 8 | (u8)CLAMP(b, lo, hi));
	return 0;
}

/* ---- floats, any to any ---- */

static const struct soft_fmt *format_of(enum ptx_type t)
{
	switch (t) {
	case T_F16:
	case T_F16X2:
		return &fmt_f16;
	case T_BF16:
	case T_BF16X2:
		return &fmt_bf16;
	case T_F32:
		return &fmt_f32;
	case T_TF32:
		return &fmt_tf32;
	case T_E4M3X2:
		return &fmt_e4m3;
	case T_E5M2X2:
		return &fmt_e5m2;
	default:
		return &fmt_f64;
	}
}

static u64 lane_bits(const void *a, u32 wide, u32 l)
{
	return wide == 8 ? ((const u64 *)a)[l] : wide == 4 ?
	       ((const u32 *)a)[l] : ((const u16 *)a)[l];
}

static void lane_store(void *d, u32 wide, u32 l, u64 v)
{
	if (wide == 8)
		((u64 *)d)[l] = v;
	else if (wide == 4)
		((u32 *)d)[l] = v;
	else
		((u16 *)d)[l] = v;
}

/* .ftz concerns f32 operands and results only. */
static struct soft load_float(u64 v, enum ptx_type t, u32 mode)
{
	if (mode & MODE_FTZ && t == T_F32)
		v = f32_bits(ftz32(bits_f32(v)));
	return soft_unpack(v, format_of(t));
}

static u64 store_float(struct soft s, enum ptx_type t, u32 mode)
{
	u64 v;

	if (mode & MODE_SAT)
		s = soft_saturate(s);
	if (mode & MODE_RELU && s.cls != SOFT_NAN && s.sign)
		s = (struct soft){ 0 };
	v = soft_pack(s, format_of(t), mode);
	if (mode & MODE_FTZ && t == T_F32)
		v = f32_bits(ftz32(bits_f32(v)));
	return t == T_TF32 ? v << 13 : v;
}

DEFINE(cvt_f2f)
{
	const void *a = src(w, in->a);
	void *d = dst(w, in->d);

	EACH_ACTIVE {
		struct soft s = load_float(lane_bits(a, in->size, l), in->sub2,
					   in->mode);

		if (in->mode & MODE_INTEGRAL)
			s = soft_integral(s, in->mode);
		lane_store(d, in->wide, l, store_float(s, in->sub, in->mode));
	}
	return 0;
}

DEFINE(cvt_i2f)
{
	u64 t[WARP_LANES];
	void *d = dst(w, in->d);
	bool is_signed = ptx_types[in->sub2].is_signed;

	widen(src(w, in->a), in->size, in->sub2, t);
	EACH_ACTIVE {
		bool neg = is_signed && (s64)t[l] < 0;
		struct soft s = soft_from_int(neg ? -t[l] : t[l], neg);

		lane_store(d, in->wide, l, store_float(s, in->sub, in->mode));
	}
	return 0;
}

/* A value out of range converts to the nearest limit; a NaN converts to what PTX documents. */
static u64 float_to_int(struct soft s, const struct insn *in)
{
	struct int_range r = range_of(in->sub);
	u32 bits = 8 * ptx_types[in->sub].size;
	u64 mag;

	if (s.cls == SOFT_NAN)
		return in->sub2 == T_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
	s = soft_integral(s, in->mode);
	if (s.cls == SOFT_ZERO)
		return 0;
	if (s.cls == SOFT_INF || s.exp >= 64)
		return s.sign ? (u64)r.lo : r.hi;
	mag = s.mant >> (63 - s.exp);
	if (s.sign)
		return mag > -(u64)r.lo ? (u64)r.lo : -mag;
	return mag > r.hi ? r.hi : mag;
}

DEFINE(cvt_f2i)
{
	const void *a = src(w, in->a);
	u64 t[WARP_LANES] = { 0 }, r[WARP_LANES];

	EACH_ACTIVE
		t[l] = float_to_int(load_float(lane_bits(a, in->size, l),
					       in->sub2, in->mode), in);
	widen(t, 8, in->sub, r);
	narrow_store(dst(w, in->d), in->wide, r, mask);
	return 0;
}

/* Converts two f32 to a pair. The first operand becomes the upper half. */
DEFINE(cvt_f2x2)
{
	const u32 *a = src(w, in->a), *b = src(w, in->b);
	void *d = dst(w, in->d);
	u32 half = 4 * ptx_types[in->sub].size;

	EACH_ACTIVE {
		u64 hi = store_float(soft_unpack(a[l], &fmt_f32), in->sub,
				     in->mode);
		u64 lo = store_float(soft_unpack(b[l], &fmt_f32), in->sub,
				     in->mode);

		lane_store(d, in->wide, l, hi << half | lo);
	}
	return 0;
}

/* Converts a pair to a pair of another format. */
DEFINE(cvt_x2x2)
{
	const void *a = src(w, in->a);
	void *d = dst(w, in->d);
	u32 from = 4 * ptx_types[in->sub2].size;
	u32 to = 4 * ptx_types[in->sub].size;

	EACH_ACTIVE {
		u64 v = lane_bits(a, in->size, l), r = 0;

		for (u32 i = 0; i < 2; i++) {
			u64 h = v >> i * from & ((1ull << from) - 1);
			struct soft s = soft_unpack(h, format_of(in->sub2));

			r |= store_float(s, in->sub, in->mode) << i * to;
		}
		lane_store(d, in->wide, l, r);
	}
	return 0;
}
