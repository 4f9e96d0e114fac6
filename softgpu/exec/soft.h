/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts any floating-point format to any other with any rounding, in integer arithmetic.
 * All conversions without a vector loop and half floats use it. A number is unpacked to a
 * sign, an exponent and a 64-bit significand whose top bit is set. Every operand fits
 * exactly, so there is only one rounding.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_SOFT_H
#define WORMHOLE_SOFTGPU_EXEC_SOFT_H

#include "ops.h"

enum soft_class { SOFT_ZERO, SOFT_NUMBER, SOFT_INF, SOFT_NAN };

struct soft {
	u8 cls;
	bool sign;
	s32 exp;		/* value = mant / 2^63 * 2^exp */
	u64 mant;		/* for a NaN: its payload, left-adjusted */
};

struct soft_fmt {
	u8 prec;		/* bits of the significand, including the hidden one */
	u8 ebits;
	bool no_inf;		/* e4m3: all ones is NaN, there is no infinity */
	u64 nan;		/* the canonical NaN; 0 = keep the payload */
};

static const struct soft_fmt fmt_f16 = { 11, 5, false, 0x7fff };
static const struct soft_fmt fmt_bf16 = { 8, 8, false, 0x7fff };
static const struct soft_fmt fmt_f32 = { 24, 8, false, 0x7fffffff };
static const struct soft_fmt fmt_f64 = { 53, 11, false, 0 };
static const struct soft_fmt fmt_tf32 = { 11, 8, false, 0x3ffff };
static const struct soft_fmt fmt_e4m3 = { 4, 4, true, 0x7f };
static const struct soft_fmt fmt_e5m2 = { 3, 5, false, 0x7f };

static inline s32 soft_bias(const struct soft_fmt *f)
{
	return (1 << (f->ebits - 1)) - 1;
}

static inline struct soft soft_unpack(u64 v, const struct soft_fmt *f)
{
	u32 fbits = f->prec - 1;
	u64 frac = v & ((1ull << fbits) - 1);
	u32 e = v >> fbits & ((1u << f->ebits) - 1);
	struct soft s = { .sign = v >> (fbits + f->ebits) & 1 };
	bool top = e == (1u << f->ebits) - 1;

	if (top && (f->no_inf ? frac == (1ull << fbits) - 1 : frac)) {
		s.cls = SOFT_NAN;
		s.mant = frac << (64 - fbits);
	} else if (top && !f->no_inf) {
		s.cls = SOFT_INF;
	} else if (e) {
		s.cls = SOFT_NUMBER;
		s.exp = (s32)e - soft_bias(f);
		s.mant = 1ull << 63 | frac << (63 - fbits);
	} else if (frac) {
		u32 up = __builtin_clzll(frac);

		s.cls = SOFT_NUMBER;
		s.mant = frac << up;
		s.exp = 1 - soft_bias(f) - (s32)fbits + 63 - (s32)up;
	}
	return s;
}

/* Drops @shift (1..) bits of @mant and rounds. The result may carry out. */
static inline u64 soft_shift(u64 mant, u32 shift, bool sign, u32 mode)
{
	u64 kept, rem, half;
	bool up;

	if (shift > 64) {
		kept = 0;
		rem = 1;
		half = 2;
	} else if (shift == 64) {
		kept = 0;
		rem = mant;
		half = 1ull << 63;
	} else {
		kept = mant >> shift;
		rem = mant & ((1ull << shift) - 1);
		half = 1ull << (shift - 1);
	}
	if (mode & MODE_RNA)
		up = rem >= half;
	else if ((mode & MODE_RND) == MODE_RN)
		up = rem > half || (rem == half && kept & 1);
	else if ((mode & MODE_RND) == MODE_RM)
		up = sign && rem;
	else if ((mode & MODE_RND) == MODE_RP)
		up = !sign && rem;
	else
		up = false;
	return kept + up;
}

static inline u64 soft_infinity(const struct soft_fmt *f)
{
	return ((1ull << f->ebits) - 1) << (f->prec - 1);
}

static inline u64 soft_largest(const struct soft_fmt *f)
{
	return f->no_inf ? f->nan - 1 : soft_infinity(f) - 1;
}

static inline u64 soft_overflow(bool sign, const struct soft_fmt *f, u32 mode)
{
	u32 rnd = mode & MODE_RND;

	if (mode & MODE_SATFINITE || f->no_inf || rnd == MODE_RZ ||
	    (rnd == MODE_RM && !sign) || (rnd == MODE_RP && sign))
		return soft_largest(f);
	return soft_infinity(f);
}

static inline u64 soft_pack(struct soft s, const struct soft_fmt *f, u32 mode)
{
	u32 fbits = f->prec - 1;
	u64 sign = (u64)s.sign << (fbits + f->ebits), v;
	s32 emin = 1 - soft_bias(f);
	u32 shift = 64 - f->prec;

	if (s.cls == SOFT_NAN)
		return f->nan ? f->nan :
		       sign | soft_infinity(f) | 1ull << (fbits - 1) |
		       s.mant >> (64 - fbits);
	if (s.cls == SOFT_INF)
		return sign | (mode & MODE_SATFINITE || f->no_inf ?
			       soft_largest(f) : soft_infinity(f));
	if (s.cls == SOFT_ZERO)
		return sign;
	if (s.exp < emin) {
		u32 extra = emin - s.exp;

		v = soft_shift(s.mant, extra > 64 ? 65 : shift + extra, s.sign,
			       mode);
	} else if (s.exp > soft_bias(f) + 1) {
		return sign | soft_overflow(s.sign, f, mode);
	} else {
		v = soft_shift(s.mant, shift, s.sign, mode);
		v += (u64)(s.exp + soft_bias(f) - 1) << fbits;
	}
	if (v > soft_largest(f))
		v = soft_overflow(s.sign, f, mode);
	return sign | v;
}

/* Rounds to an integral value. The result is a number again, or zero. */
static inline struct soft soft_integral(struct soft s, u32 mode)
{
	u64 v;
	u32 up;

	if (s.cls != SOFT_NUMBER || s.exp >= 63)
		return s;
	v = soft_shift(s.mant, s.exp < -2 ? 65 : 63 - s.exp, s.sign, mode);
	if (!v) {
		s.cls = SOFT_ZERO;
		return s;
	}
	up = __builtin_clzll(v);
	s.mant = v << up;
	s.exp = 63 - up;
	return s;
}

static inline struct soft soft_from_int(u64 mag, bool sign)
{
	struct soft s = { .sign = sign };
	u32 up;

	if (!mag)
		return (struct soft){ 0 };
	up = __builtin_clzll(mag);
	s.cls = SOFT_NUMBER;
	s.mant = mag << up;
	s.exp = 63 - up;
	return s;
}

/* Applies .sat: clamps to [0, 1], and turns a NaN into +0. */
static inline struct soft soft_saturate(struct soft s)
{
	if (s.cls == SOFT_NAN || s.sign || s.cls == SOFT_ZERO)
		return (struct soft){ 0 };
	if (s.cls == SOFT_INF || s.exp >= 0)
		return (struct soft){ SOFT_NUMBER, false, 0, 1ull << 63 };
	return s;
}

static inline struct soft soft_from_double(double d)
{
	return soft_unpack(f64_bits(d), &fmt_f64);
}

static inline double soft_to_double(struct soft s)
{
	return bits_f64(soft_pack(s, &fmt_f64, MODE_RN));
}

static inline double f16_to_double(u16 v)
{
	return soft_to_double(soft_unpack(v, &fmt_f16));
}

static inline double bf16_to_double(u16 v)
{
	return soft_to_double(soft_unpack(v, &fmt_bf16));
}

#endif
