/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: f32 and f64 arithmetic. The common forms (round to nearest, with and without
 * .ftz) are vector loops. The other forms go lane by lane through one handler per
 * operation, which obeys insn.mode. A NaN result is canonical in f32; in f64 it is what the
 * operation returns.
 */
#include "fp.h"

#define FTZ2(EXPR) ({ a = ftz32(a); b = ftz32(b); canon32(ftz32(EXPR)); })

#define ARITH(op, EXPR) \
OP2(op##_f32, float, float, float, canon32(EXPR)) \
OP2(op##_ftz_f32, float, float, float, FTZ2(EXPR)) \
OP2(op##_f64, double, double, double, EXPR) \
SCALAR2(op##x_f32, float, float, float, \
	out32(op##32_rnd(in32(a, in->mode), in32(b, in->mode), in->mode), \
	      in->mode)) \
SCALAR2(op##x_f64, double, double, double, op##64_rnd(a, b, in->mode))

ARITH(add, a + b)
ARITH(sub, a - b)
ARITH(mul, a * b)

/* ---- fma: exact product, one rounding ---- */

#ifdef EXEC_V3
#define fma32(a, b, c) fmaf(a, b, c)
#define FMA64 OP3
#else
/*
 * Without the FMA instruction: the product is exact in double, and the error of the sum is
 * known (two-sum). An inexact sum gets its last bit set, so the rounding to float is the
 * only rounding.
 */
static inline float fma32(float a, float b, float c)
{
	double p = (double)a * b, s = p + c, t = s - p;
	double err = (p - (s - t)) + (c - t);
	u64 v = f64_bits(s), even = ~v & 1;
	bool inexact = (err < 0) | (err > 0);

	/* Move towards the error: the magnitude grows if the error has the sum's sign. */
	v += (err > 0) == (s > 0) ? even : -even;
	return (float)(inexact ? bits_f64(v) : s);
}

/* This is a library call per lane, and no loop that a compiler could vectorize. */
#define FMA64 SCALAR3
#endif

OP3(fma_f32, float, float, float, float, canon32(fma32(a, b, c)))
OP3(fma_ftz_f32, float, float, float, float,
    canon32(ftz32(fma32(ftz32(a), ftz32(b), ftz32(c)))))
FMA64(fma_f64, double, double, double, double, fma(a, b, c))
SCALAR3(fmax_f32, float, float, float, float,
	out32(fma32_rnd(in32(a, in->mode), in32(b, in->mode),
			in32(c, in->mode), in->mode), in->mode))
SCALAR3(fmax_f64, double, double, double, double,
	fma64_rnd(a, b, c, in->mode))

/* ---- pairs of f32 in a 64-bit register ---- */

static inline float half_of(u64 v, int i)
{
	return bits_f32(v >> 32 * i);
}

#define X2(op) \
static u64 op##_x2(u64 a, u64 b, u32 mode) \
{ \
	u64 r = 0; \
	for (int i = 0; i < 2; i++) { \
		float x = in32(half_of(a, i), mode); \
		float y = in32(half_of(b, i), mode); \
		r |= (u64)f32_bits(out32(op##32_rnd(x, y, mode), mode)) << \
		     32 * i; \
	} \
	return r; \
} \
SCALAR2(op##_f32x2, u64, u64, u64, op##_x2(a, b, in->mode))

X2(add) X2(sub) X2(mul)

static u64 fma_x2(u64 a, u64 b, u64 c, u32 mode)
{
	u64 r = 0;

	for (int i = 0; i < 2; i++) {
		float x = in32(half_of(a, i), mode);
		float y = in32(half_of(b, i), mode);
		float z = in32(half_of(c, i), mode);

		r |= (u64)f32_bits(out32(fma32_rnd(x, y, z, mode), mode)) <<
		     32 * i;
	}
	return r;
}

SCALAR3(fma_f32x2, u64, u64, u64, u64, fma_x2(a, b, c, in->mode))

/* ---- div, rcp, sqrt, rsqrt ---- */

OP2(div_f32, float, float, float, canon32(a / b))
OP2(div_f64, double, double, double, a / b)
SCALAR2(divx_f32, float, float, float,
	out32(div32_rnd(in32(a, in->mode), in32(b, in->mode), in->mode),
	      in->mode))
SCALAR2(divx_f64, double, double, double, div64_rnd(a, b, in->mode))
SCALAR2(div_full_f32, float, float, float,
	out32(in32(a, in->mode) / in32(b, in->mode), in->mode))

/* For divisors above 2^126 the documented result is 0, or NaN if the dividend is infinite. */
static float div_approx(float a, float b, u32 mode)
{
	float m = fabsf(b);

	a = in32(a, mode);
	b = in32(b, mode);
	if (m > 0x1p126f && m <= 0x1.fffffep127f)
		return isinf(a) || a != a ? bits_f32(F32_NAN) :
		       copysignf(0, a) * copysignf(1, b);
	return out32(a / b, mode);
}

SCALAR2(div_approx_f32, float, float, float, div_approx(a, b, in->mode))

SCALAR1(rcpx_f32, float, float,
	out32(div32_rnd(1, in32(a, in->mode), in->mode), in->mode))
SCALAR1(rcpx_f64, double, double, div64_rnd(1, a, in->mode))
SCALAR1(sqrtx_f32, float, float,
	out32(sqrt32_rnd(in32(a, in->mode), in->mode), in->mode))
SCALAR1(sqrtx_f64, double, double, sqrt64_rnd(a, in->mode))

#define APPROX1(name, EXPR) \
DEFINE(name) \
{ \
	const float *a_ = src(w, in->a); \
	if (in->mode & MODE_FTZ) \
		MAP(float, float a = ftz32(a_[l]), canon32(ftz32(EXPR))); \
	else \
		MAP(float, float a = a_[l], canon32(EXPR)); \
	return 0; \
}

APPROX1(rcp_approx_f32, 1 / a)
APPROX1(sqrt_approx_f32, sqrtf(a))
APPROX1(rsqrt_approx_f32, (float)(1 / sqrt((double)a)))

/* Uses the upper 32 bits of the operand and returns the upper 32 bits of the result. */
static double upper_word(double a)
{
	u64 v = f64_bits(a) & ~0xffffffffull;

	return bits_f64(v << 1 >> 53 ? v : v & 1ull << 63);
}

static double gross(double r)
{
	if (r != r)
		return bits_f64(0x7fffffff00000000ull);
	return upper_word(r);
}

SCALAR1(rcp_approx_f64, double, double, gross(1 / upper_word(a)))
SCALAR1(rsqrt_approx_ftz_f64, double, double, gross(1 / sqrt(upper_word(a))))
SCALAR1(rsqrt_approx_f64, double, double, 1 / sqrt(a))

/* ---- sin, cos, lg2, ex2, tanh: the C library's, more exact than PTX requires ---- */

#define LIBM1(name, FN) \
SCALAR1(name, float, float, \
	out32(FN(in32(a, in->mode)), in->mode & ~MODE_SAT))

LIBM1(sin_approx_f32, sinf)
LIBM1(cos_approx_f32, cosf)
LIBM1(lg2_approx_f32, log2f)
LIBM1(ex2_approx_f32, exp2f)
LIBM1(tanh_approx_f32, tanhf)

/* ---- abs, neg, min, max, copysign: these work on the bits ---- */

#define ABS32 0x7fffffffu
#define ABS64 0x7fffffffffffffffull

OP1(abs_f32, u32, u32, a & ABS32)
OP1(neg_f32, u32, u32, a ^ ~ABS32)
OP1(abs_ftz_f32, float, float, bits_f32(f32_bits(ftz32(a)) & ABS32))
OP1(neg_ftz_f32, float, float, bits_f32(f32_bits(ftz32(a)) ^ ~ABS32))
OP1(abs_f64, u64, u64, a & ABS64)
OP1(neg_f64, u64, u64, a ^ ~ABS64)
OP2(copysign_f32, u32, u32, u32, (a & ~ABS32) | (b & ABS32))
OP2(copysign_f64, u64, u64, u64, (a & ~ABS64) | (b & ABS64))

/* -0 is less than +0. If one operand is a NaN, the result is the other one. */
static inline float min32(float a, float b)
{
	float r = a < b ? a : b;

	if (a == b)
		r = bits_f32(f32_bits(a) | f32_bits(b));
	return a != a ? b : b != b ? a : r;
}

static inline float max32(float a, float b)
{
	float r = a > b ? a : b;

	if (a == b)
		r = bits_f32(f32_bits(a) & f32_bits(b));
	return a != a ? b : b != b ? a : r;
}

static inline double min64(double a, double b)
{
	double r = a < b ? a : b;

	if (a == b)
		r = bits_f64(f64_bits(a) | f64_bits(b));
	return a != a ? b : b != b ? a : r;
}

static inline double max64(double a, double b)
{
	double r = a > b ? a : b;

	if (a == b)
		r = bits_f64(f64_bits(a) & f64_bits(b));
	return a != a ? b : b != b ? a : r;
}

OP2(min_f32, float, float, float, canon32(min32(a, b)))
OP2(max_f32, float, float, float, canon32(max32(a, b)))
OP2(min_f64, double, double, double, min64(a, b))
OP2(max_f64, double, double, double, max64(a, b))

static float minmax_mode(float a, float b, u32 mode, bool max)
{
	u32 sign = (f32_bits(a) ^ f32_bits(b)) & ~ABS32;
	float r;

	a = in32(a, mode);
	b = in32(b, mode);
	if (mode & MODE_NAN && (a != a || b != b))
		return bits_f32(F32_NAN);
	if (mode & MODE_ABS) {
		a = fabsf(a);
		b = fabsf(b);
	}
	r = canon32(max ? max32(a, b) : min32(a, b));
	if (mode & MODE_XORSIGN && r == r)
		r = bits_f32((f32_bits(r) & ABS32) | sign);
	return r;
}

SCALAR2(minx_f32, float, float, float, minmax_mode(a, b, in->mode, false))
SCALAR2(maxx_f32, float, float, float, minmax_mode(a, b, in->mode, true))
