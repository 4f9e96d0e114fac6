/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: comparisons of integers and of f32 and f64. A comparison gives one bit per
 * lane. With .and, .or or .xor it is combined with a predicate. The second destination gets
 * the complement of the comparison, combined in the same way.
 */
#include "ops.h"

static inline u32 combine(u32 r, u32 c, u32 bop)
{
	return bop == BOP_AND ? r & c : bop == BOP_OR ? r | c : r ^ c;
}

static inline int setp_end(struct warp *w, const struct insn *in, u32 mask,
			   u32 r)
{
	u32 *p = dst(w, in->d), q = ~r;

	if (in->sub2 != BOP_NONE) {
		u32 c = *(const u32 *)src(w, in->c);

		r = combine(r, c, in->sub2);
		q = combine(q, c, in->sub2);
	}
	*p = (*p & ~mask) | (r & mask);
	if (in->vec >= 0) {
		p = dst(w, in->vec);
		*p = (*p & ~mask) | (q & mask);
	}
	return 0;
}

#define SETP(name, T, COND) \
DEFINE(name) \
{ \
	const T *a_ = src(w, in->a), *b_ = src(w, in->b); \
	u32 r = 0; \
	EACH_LANE { \
		T a = a_[l], b = b_[l]; \
		r |= (COND) ? lane_bit[l] : 0; \
	} \
	return setp_end(w, in, mask, r); \
}

#define SETP_EQ(BITS, T) \
SETP(setp_eq_##BITS, T, a == b) \
SETP(setp_ne_##BITS, T, a != b)

SETP_EQ(16, u16) SETP_EQ(32, u32) SETP_EQ(64, u64)

#define SETP_ORDER(T) \
SETP(setp_lt_##T, T, a < b) \
SETP(setp_le_##T, T, a <= b) \
SETP(setp_gt_##T, T, a > b) \
SETP(setp_ge_##T, T, a >= b)

SETP_ORDER(u16) SETP_ORDER(s16) SETP_ORDER(u32) SETP_ORDER(s32)
SETP_ORDER(u64) SETP_ORDER(s64)

static inline float flush(float f)
{
	u32 v = f32_bits(f);

	return bits_f32(v & 0x7f800000 ? v : v & 0x80000000);
}

#define SETP_F32(name, COND) \
DEFINE(name) \
{ \
	const float *a_ = src(w, in->a), *b_ = src(w, in->b); \
	u32 r = 0; \
	if (in->mode & MODE_FTZ) { \
		EACH_LANE { \
			float a = flush(a_[l]), b = flush(b_[l]); \
			r |= (COND) ? lane_bit[l] : 0; \
		} \
	} else { \
		EACH_LANE { \
			float a = a_[l], b = b_[l]; \
			r |= (COND) ? lane_bit[l] : 0; \
		} \
	} \
	return setp_end(w, in, mask, r); \
}

#define SETP_FLOAT(op, COND) \
SETP_F32(setp_##op##_f32, COND) \
SETP(setp_##op##_f64, double, COND)

SETP_FLOAT(eq, a == b)
SETP_FLOAT(ne, (a < b) | (a > b))
SETP_FLOAT(lt, a < b)
SETP_FLOAT(le, a <= b)
SETP_FLOAT(gt, a > b)
SETP_FLOAT(ge, a >= b)
SETP_FLOAT(equ, !((a < b) | (a > b)))
SETP_FLOAT(neu, !(a == b))
SETP_FLOAT(ltu, !(a >= b))
SETP_FLOAT(leu, !(a > b))
SETP_FLOAT(gtu, !(a <= b))
SETP_FLOAT(geu, !(a < b))
SETP_FLOAT(num, (a == a) & (b == b))
SETP_FLOAT(nan, !((a == a) & (b == b)))

/* ---- testp ---- */

#define TESTP(name, T, EXP, FRAC) \
DEFINE(name) \
{ \
	const T *a_ = src(w, in->a); \
	u32 *d = dst(w, in->d), r = 0; \
	for (u32 l = 0; l < WARP_LANES; l++) { \
		T e = a_[l] & EXP, f = a_[l] & FRAC; \
		bool hit = false; \
		switch (in->sub) { \
		case TESTP_FINITE: hit = e != EXP; break; \
		case TESTP_INFINITE: hit = e == EXP && !f; break; \
		case TESTP_NUMBER: hit = e != EXP || !f; break; \
		case TESTP_NAN: hit = e == EXP && f; break; \
		case TESTP_NORMAL: hit = e != EXP && e; break; \
		case TESTP_SUBNORMAL: hit = !e && f; break; \
		} \
		r |= (u32)hit << l; \
	} \
	*d = (*d & ~mask) | (r & mask); \
	return 0; \
}

TESTP(testp_f32, u32, 0x7f800000u, 0x007fffffu)
TESTP(testp_f64, u64, 0x7ff0000000000000ull, 0x000fffffffffffffull)
