/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: arithmetic on f16, bf16 and pairs of them. Results are computed in double and
 * rounded once more. This is harmless for sums and products, since double has more than
 * twice the precision and two bits. For fma the sum is rounded to odd in between.
 */
#include "access.h"
#include "fp.h"
#include "soft.h"

typedef double half_fn(double a, double b, double c);

static double do_add(double a, double b, double c)
{
	(void)c;
	return a + b;
}

static double do_sub(double a, double b, double c)
{
	(void)c;
	return a - b;
}

static double do_mul(double a, double b, double c)
{
	(void)c;
	return a * b;
}

/*
 * a * b is exact in double. An inexact sum gets its last bit set (rounding to odd), so the
 * final rounding cannot see a false tie.
 */
static double do_fma(double a, double b, double c)
{
	double p = a * b, s = p + c, bb = s - p;
	double err = (p - (s - bb)) + (c - bb);
	u64 v = f64_bits(s);

	if (err == 0 || err != err || v & 1)
		return s;
	/* Move towards the error: away from zero if the error has the sum's sign. */
	return bits_f64((err > 0) == (s > 0) ? v | 1 : v - 1);
}

static double do_ex2(double a, double b, double c)
{
	(void)b, (void)c;
	return exp2f(a);
}

static double do_tanh(double a, double b, double c)
{
	(void)b, (void)c;
	return tanhf(a);
}

static u16 half_in(u16 v, const struct soft_fmt *f, u32 mode)
{
	u32 exp = ((1u << f->ebits) - 1) << (f->prec - 1);

	return mode & MODE_FTZ && !(v & exp) ? v & 0x8000 : v;
}

static double to_double(u16 v, const struct soft_fmt *f, u32 mode)
{
	return soft_to_double(soft_unpack(half_in(v, f, mode), f));
}

static u16 half_op(half_fn *fn, u16 a, u16 b, u16 c, const struct soft_fmt *f,
		   u32 mode)
{
	struct soft s = soft_from_double(fn(to_double(a, f, mode),
					    to_double(b, f, mode),
					    to_double(c, f, mode)));

	if (mode & MODE_SAT)
		s = soft_saturate(s);
	if (mode & MODE_RELU && s.cls != SOFT_NAN && s.sign)
		s = (struct soft){ 0 };
	return half_in(soft_pack(s, f, MODE_RN), f, mode);
}

/* Runs an operation on @n halves per lane, one or two. */
static int half_insn(struct warp *w, const struct insn *in, u32 mask,
		     half_fn *fn, const struct soft_fmt *f, u32 nsrc, u32 n)
{
	const u16 *a = src(w, in->a);
	const u16 *b = nsrc > 1 ? src(w, in->b) : a;
	const u16 *c = nsrc > 2 ? src(w, in->c) : a;
	u16 *d = dst(w, in->d);

	EACH_ACTIVE
		for (u32 i = l * n; i < l * n + n; i++)
			d[i] = half_op(fn, a[i], b[i], c[i], f, in->mode);
	return 0;
}

#define HALF(name, fn, fmt, nsrc, n) \
DEFINE(name) { return half_insn(w, in, mask, fn, &fmt, nsrc, n); }

#define HALVES(op, nsrc) \
HALF(op##_f16, do_##op, fmt_f16, nsrc, 1) \
HALF(op##_f16x2, do_##op, fmt_f16, nsrc, 2) \
HALF(op##_bf16, do_##op, fmt_bf16, nsrc, 1) \
HALF(op##_bf16x2, do_##op, fmt_bf16, nsrc, 2)

HALVES(add, 2) HALVES(sub, 2) HALVES(mul, 2) HALVES(fma, 3)
HALVES(ex2, 1) HALVES(tanh, 1)

/* ---- abs, neg, min, max ---- */

#define BITOP(name, fmt, n, EXPR) \
DEFINE(name) \
{ \
	const u16 *p = src(w, in->a); \
	u16 *d = dst(w, in->d); \
	EACH_ACTIVE \
		for (u32 i = l * n; i < l * n + n; i++) { \
			u16 a = half_in(p[i], &fmt, in->mode); \
			d[i] = (EXPR); \
		} \
	return 0; \
}

BITOP(abs_f16, fmt_f16, 1, a & 0x7fff)
BITOP(abs_f16x2, fmt_f16, 2, a & 0x7fff)
BITOP(abs_bf16, fmt_bf16, 1, a & 0x7fff)
BITOP(abs_bf16x2, fmt_bf16, 2, a & 0x7fff)
BITOP(neg_f16, fmt_f16, 1, a ^ 0x8000)
BITOP(neg_f16x2, fmt_f16, 2, a ^ 0x8000)
BITOP(neg_bf16, fmt_bf16, 1, a ^ 0x8000)
BITOP(neg_bf16x2, fmt_bf16, 2, a ^ 0x8000)

/* -0 is less than +0. For equal numbers the sign bits decide. */
static bool less(u16 a, u16 b, const struct soft_fmt *f)
{
	double x = to_double(a, f, 0), y = to_double(b, f, 0);

	return x == y ? (a & 0x8000) > (b & 0x8000) : x < y;
}

static u16 half_minmax(u16 a, u16 b, const struct soft_fmt *f, u32 mode,
		       bool max)
{
	u16 sign = (a ^ b) & 0x8000, r;
	u16 inf = soft_infinity(f);
	bool an, bn;

	a = half_in(a, f, mode);
	b = half_in(b, f, mode);
	an = (a & 0x7fff) > inf;
	bn = (b & 0x7fff) > inf;
	if ((an && bn) || (mode & MODE_NAN && (an || bn)))
		return f->nan;
	if (mode & MODE_ABS) {
		a &= 0x7fff;
		b &= 0x7fff;
	}
	r = an ? b : bn ? a : less(a, b, f) != max ? a : b;
	return mode & MODE_XORSIGN ? (r & 0x7fff) | sign : r;
}

#define MINMAX(name, fmt, n, max) \
DEFINE(name) \
{ \
	const u16 *a = src(w, in->a), *b = src(w, in->b); \
	u16 *d = dst(w, in->d); \
	EACH_ACTIVE \
		for (u32 i = l * n; i < l * n + n; i++) \
			d[i] = half_minmax(a[i], b[i], &fmt, in->mode, max); \
	return 0; \
}

MINMAX(min_f16, fmt_f16, 1, false)
MINMAX(min_f16x2, fmt_f16, 2, false)
MINMAX(min_bf16, fmt_bf16, 1, false)
MINMAX(min_bf16x2, fmt_bf16, 2, false)
MINMAX(max_f16, fmt_f16, 1, true)
MINMAX(max_f16x2, fmt_f16, 2, true)
MINMAX(max_bf16, fmt_bf16, 1, true)
MINMAX(max_bf16x2, fmt_bf16, 2, true)

/* ---- comparisons ---- */

static bool compare(double a, double b, u32 cmp)
{
	switch (cmp) {
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return a < b || a > b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	case CMP_EQU:
		return !(a < b || a > b);
	case CMP_NEU:
		return a != b;
	case CMP_LTU:
		return !(a >= b);
	case CMP_LEU:
		return !(a > b);
	case CMP_GTU:
		return !(a <= b);
	case CMP_GEU:
		return !(a < b);
	case CMP_NUM:
		return a == a && b == b;
	default:
		return a != a || b != b;
	}
}

static bool half_compare(u16 a, u16 b, const struct soft_fmt *f,
			 const struct insn *in)
{
	return compare(to_double(a, f, in->mode), to_double(b, f, in->mode),
		       in->sub);
}

static void put_pred(struct warp *w, const struct insn *in, s32 at, u32 r,
		     u32 mask)
{
	u32 *p = dst(w, at);

	if (in->sub2 != BOP_NONE) {
		u32 c = *(const u32 *)src(w, in->c);

		r = in->sub2 == BOP_AND ? r & c : in->sub2 == BOP_OR ? r | c :
		    r ^ c;
	}
	*p = (*p & ~mask) | (r & mask);
}

/* With @n = 1, p|q are a result and its complement. With @n = 2, there is a result per half. */
static int half_setp(struct warp *w, const struct insn *in, u32 mask,
		     const struct soft_fmt *f, u32 n)
{
	const u16 *a = src(w, in->a), *b = src(w, in->b);
	u32 r[2] = { 0 };

	EACH_ACTIVE
		for (u32 i = 0; i < n; i++)
			r[i] |= (u32)half_compare(a[l * n + i], b[l * n + i],
						  f, in) << l;
	if (n == 1)
		r[1] = ~r[0];
	put_pred(w, in, in->d, r[0], mask);
	if (in->vec >= 0)
		put_pred(w, in, in->vec, r[1], mask);
	return 0;
}

DEFINE(setp_f16) { return half_setp(w, in, mask, &fmt_f16, 1); }
DEFINE(setp_bf16) { return half_setp(w, in, mask, &fmt_bf16, 1); }
DEFINE(setp_f16x2) { return half_setp(w, in, mask, &fmt_f16, 2); }
DEFINE(setp_bf16x2) { return half_setp(w, in, mask, &fmt_bf16, 2); }

/* set writes 1.0 in the format, or all ones for an integer result. */
static int half_set(struct warp *w, const struct insn *in, u32 mask,
		    const struct soft_fmt *f, u32 n)
{
	const u16 *a = src(w, in->a), *b = src(w, in->b);
	u16 yes = in->sub2 ? soft_bias(f) << (f->prec - 1) : 0xffff;
	u16 *d = dst(w, in->d);

	EACH_ACTIVE
		for (u32 i = l * n; i < l * n + n; i++)
			d[i] = half_compare(a[i], b[i], f, in) ? yes : 0;
	return 0;
}

DEFINE(set_f16) { return half_set(w, in, mask, &fmt_f16, 1); }
DEFINE(set_bf16) { return half_set(w, in, mask, &fmt_bf16, 1); }
DEFINE(set_f16x2) { return half_set(w, in, mask, &fmt_f16, 2); }
DEFINE(set_bf16x2) { return half_set(w, in, mask, &fmt_bf16, 2); }

/* ---- atomics ---- */

u16 OP(half_sum)(u16 a, u16 b, bool bf16)
{
	return half_op(do_add, a, b, 0, bf16 ? &fmt_bf16 : &fmt_f16, 0);
}
