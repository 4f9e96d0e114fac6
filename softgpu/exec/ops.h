/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros for the files of handlers. Those are compiled twice, for plain x86-64 and for AVX2
 * with FMA (EXEC_V3); OP() adds the set to a handler's name.
 *
 * A handler computes all 32 lanes and keeps the old values of inactive lanes, so its loops
 * have no branch and the compiler makes vector code of them. A source may be the same
 * register as the destination, but must not overlap it in another way.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_OPS_H
#define WORMHOLE_SOFTGPU_EXEC_OPS_H

#include "warp.h"

#ifdef EXEC_V3
#define OP(name) name##_v3
#else
#define OP(name) name##_v1
#endif

#define HANDLER_ARGS struct warp *w, const struct insn *in, uint32_t mask
#define DEFINE(name) \
	int OP(name)(HANDLER_ARGS); \
	int OP(name)(HANDLER_ARGS)

#define IVDEP _Pragma("GCC ivdep")
#define EACH_LANE IVDEP for (int l = 0; l < WARP_LANES; l++)

/* Scalar work: visits only the active lanes, one after the other. */
#define EACH_ACTIVE \
	for (uint32_t m_ = mask, l; m_ && (l = __builtin_ctz(m_), 1); \
	     m_ &= m_ - 1)

#define LANE_BITS \
	{ 1u << 0, 1u << 1, 1u << 2, 1u << 3, 1u << 4, 1u << 5, 1u << 6, \
	  1u << 7, 1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, \
	  1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, \
	  1u << 20, 1u << 21, 1u << 22, 1u << 23, 1u << 24, 1u << 25, \
	  1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31 }

static const uint32_t lane_bit[WARP_LANES] = LANE_BITS;

/* Sets d[l] = EXPR for the active lanes. EXPR may use a, b, c, e of the given types. */
#define MAP(TD, LOADS, EXPR) do { \
	TD *d_ = dst(w, in->d); \
	if (mask == WARP_FULL) { \
		EACH_LANE { LOADS; d_[l] = (EXPR); } \
	} else { \
		EACH_LANE { \
			LOADS; \
			TD r_ = (EXPR); \
			d_[l] = mask & lane_bit[l] ? r_ : d_[l]; \
		} \
	} \
} while (0)

#define OP1(name, TD, TA, EXPR) \
DEFINE(name) \
{ \
	const TA *a_ = src(w, in->a); \
	MAP(TD, TA a = a_[l], EXPR); \
	return 0; \
}

#define OP2(name, TD, TA, TB, EXPR) \
DEFINE(name) \
{ \
	const TA *a_ = src(w, in->a); \
	const TB *b_ = src(w, in->b); \
	MAP(TD, TA a = a_[l]; TB b = b_[l], EXPR); \
	return 0; \
}

#define OP3(name, TD, TA, TB, TC, EXPR) \
DEFINE(name) \
{ \
	const TA *a_ = src(w, in->a); \
	const TB *b_ = src(w, in->b); \
	const TC *c_ = src(w, in->c); \
	MAP(TD, TA a = a_[l]; TB b = b_[l]; TC c = c_[l], EXPR); \
	return 0; \
}

#define OP4(name, TD, TA, TB, TC, TE, EXPR) \
DEFINE(name) \
{ \
	const TA *a_ = src(w, in->a); \
	const TB *b_ = src(w, in->b); \
	const TC *c_ = src(w, in->c); \
	const TE *e_ = src(w, in->vec); \
	MAP(TD, TA a = a_[l]; TB b = b_[l]; TC c = c_[l]; TE e = e_[l], \
	    EXPR); \
	return 0; \
}

/* Does the same for operations that the compiler cannot or should not vectorize. */
#define SCALAR1(name, TD, TA, EXPR) \
DEFINE(name) \
{ \
	TD *d_ = dst(w, in->d); \
	const TA *a_ = src(w, in->a); \
	EACH_ACTIVE { TA a = a_[l]; d_[l] = (EXPR); } \
	return 0; \
}

#define SCALAR2(name, TD, TA, TB, EXPR) \
DEFINE(name) \
{ \
	TD *d_ = dst(w, in->d); \
	const TA *a_ = src(w, in->a); \
	const TB *b_ = src(w, in->b); \
	EACH_ACTIVE { TA a = a_[l]; TB b = b_[l]; d_[l] = (EXPR); } \
	return 0; \
}

#define SCALAR3(name, TD, TA, TB, TC, EXPR) \
DEFINE(name) \
{ \
	TD *d_ = dst(w, in->d); \
	const TA *a_ = src(w, in->a); \
	const TB *b_ = src(w, in->b); \
	const TC *c_ = src(w, in->c); \
	EACH_ACTIVE { \
		TA a = a_[l]; \
		TB b = b_[l]; \
		TC c = c_[l]; \
		d_[l] = (EXPR); \
	} \
	return 0; \
}

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;

static inline uint32_t f32_bits(float f)
{
	uint32_t v;

	__builtin_memcpy(&v, &f, sizeof(v));
	return v;
}

static inline float bits_f32(uint32_t v)
{
	float f;

	__builtin_memcpy(&f, &v, sizeof(f));
	return f;
}

static inline uint64_t f64_bits(double f)
{
	uint64_t v;

	__builtin_memcpy(&v, &f, sizeof(v));
	return v;
}

static inline double bits_f64(uint64_t v)
{
	double f;

	__builtin_memcpy(&f, &v, sizeof(f));
	return f;
}

#endif
