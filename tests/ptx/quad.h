/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References in 113-bit arithmetic: a value, with the sign of its difference to the exact
 * result, is rounded to any smaller format in any direction. The file shares nothing with
 * the code under test.
 */
#ifndef WORMHOLE_TESTS_PTX_QUAD_H
#define WORMHOLE_TESTS_PTX_QUAD_H

#include <quadmath.h>

#include "harness.h"

enum dir { RN, RZ, RM, RP, RNA };

struct format {
	int prec, emin, emax;	/* of values 1.xxx * 2^e */
	bool has_inf;
};

static const struct format F16 = { 11, -14, 15, true };
static const struct format BF16 = { 8, -126, 127, true };
static const struct format TF32 = { 11, -126, 127, true };
static const struct format F32 = { 24, -126, 127, true };
static const struct format F64 = { 53, -1022, 1023, true };

/* A value and the sign of (exact - value), 0 when it is exact. */
struct exact {
	__float128 v;
	int rest;
};

static inline struct exact q_exact(__float128 v)
{
	return (struct exact){ v, 0 };
}

/* Returns a + b with the sign of the rounding error (two-sum). */
static inline struct exact q_add(__float128 a, __float128 b)
{
	__float128 s = a + b, bb = s - a;
	__float128 e = (a - (s - bb)) + (b - bb);

	return (struct exact){ s, e > 0 ? 1 : e < 0 ? -1 : 0 };
}

static inline __float128 q_integral(__float128 x, enum dir d)
{
	switch (d) {
	case RZ:
		return truncq(x);
	case RM:
		return floorq(x);
	case RP:
		return ceilq(x);
	case RNA:
		return roundq(x);
	default:
		return rintq(x);
	}
}

/* Rounds x in units of the last place; the rest breaks ties and exactness. */
static inline __float128 q_units(__float128 u, int rest, enum dir d)
{
	__float128 r = q_integral(u, d), lo = floorq(u);

	if (!rest)
		return r;
	if (u == lo && d == RM && rest < 0)
		return u - 1;
	if (u == lo && d == RP && rest > 0)
		return u + 1;
	if (u == lo && d == RZ && (u > 0 ? rest < 0 : rest > 0))
		return u - (u > 0 ? 1 : -1);
	if (d == RN && u - lo == 0.5Q)
		return rest > 0 ? lo + 1 : lo;
	return r;
}

static inline __float128 q_round(struct exact x, const struct format *f,
				 enum dir d)
{
	__float128 max = scalbnq(2 - scalbnq(1, 1 - f->prec), f->emax), r;
	int e;

	if (isnanq(x.v) || isinfq(x.v) || x.v == 0)
		return x.v;
	e = ilogbq(x.v);
	/* Just below a power of two the units are those of the lower binade. */
	if (fabsq(x.v) == scalbnq(1, e) && x.rest * (x.v > 0 ? 1 : -1) < 0)
		e--;
	if (e < f->emin)
		e = f->emin;
	r = scalbnq(q_units(scalbnq(x.v, f->prec - 1 - e), x.rest, d),
		    e - f->prec + 1);
	if (fabsq(r) > max)
		r = d == RN || d == RNA || (d == RP && r > 0) ||
		    (d == RM && r < 0) ? copysignq(HUGE_VALQ, r) :
		    copysignq(max, r);
	return copysignq(r, x.v);
}

/* Returns the bits of a value that the format can hold; NaNs come out canonical. */
static inline uint64_t q_bits(__float128 v, const struct format *f)
{
	int ebits = f == &F16 ? 5 : f == &F64 ? 11 : 8, fbits = f->prec - 1;
	uint64_t sign = signbitq(v) ? 1ull << (ebits + fbits) : 0, top;
	int e;

	top = ((1ull << ebits) - 1) << fbits;
	if (isnanq(v))
		return f == &F64 ? 0x7ff8000000000000 : f == &F32 ?
		       0x7fffffff : top | ((1ull << fbits) - 1);
	if (isinfq(v))
		return sign | top;
	v = fabsq(v);
	if (v < scalbnq(1, f->emin))
		return sign | (uint64_t)scalbnq(v, fbits - f->emin);
	e = ilogbq(v);
	return sign | (((uint64_t)(e - f->emin) << fbits) +
		       (uint64_t)scalbnq(v, fbits - e));
}

static inline __float128 q_value(uint64_t bits, const struct format *f)
{
	int ebits = f == &F16 ? 5 : f == &F64 ? 11 : 8, fbits = f->prec - 1;
	uint64_t frac = bits & ((1ull << fbits) - 1);
	int e = bits >> fbits & ((1 << ebits) - 1);
	__float128 v;

	if (e == (1 << ebits) - 1)
		v = frac ? nanq("") : HUGE_VALQ;
	else if (e)
		v = scalbnq(frac + (1ull << fbits), e - 1 + f->emin - fbits);
	else
		v = scalbnq(frac, f->emin - fbits);
	return bits >> (ebits + fbits) & 1 ? -v : v;
}

/* Flushes subnormal values to zero. */
static inline __float128 q_flush(__float128 v, const struct format *f)
{
	return v != 0 && fabsq(v) < scalbnq(1, f->emin) ? copysignq(0, v) : v;
}

static inline __float128 q_saturate(__float128 v)
{
	return v > 1 ? 1 : v > 0 ? v : 0;
}

#endif
