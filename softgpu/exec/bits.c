/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers: logic, shifts, bit fields, permutations, selection, moves. */
#include <string.h>

#include "ops.h"

/* ---- logic ---- */

#define LOGIC(BITS, T) \
OP2(and_##BITS, T, T, T, a & b) \
OP2(or_##BITS, T, T, T, a | b) \
OP2(xor_##BITS, T, T, T, a ^ b) \
OP1(not_##BITS, T, T, ~a) \
OP1(cnot_##BITS, T, T, a == 0)

LOGIC(16, u16) LOGIC(32, u32) LOGIC(64, u64)

/* A predicate is one bit per lane in one word. */
#define PRED2(name, EXPR) \
DEFINE(name) \
{ \
	u32 *d = dst(w, in->d); \
	u32 a = *(const u32 *)src(w, in->a); \
	u32 b = *(const u32 *)src(w, in->b); \
	*d = (*d & ~mask) | ((EXPR) & mask); \
	return 0; \
}

PRED2(and_pred, a & b)
PRED2(or_pred, a | b)
PRED2(xor_pred, a ^ b)

DEFINE(not_pred)
{
	u32 *d = dst(w, in->d);

	*d = (*d & ~mask) | (~*(const u32 *)src(w, in->a) & mask);
	return 0;
}

DEFINE(mov_pred)
{
	u32 *d = dst(w, in->d);

	*d = (*d & ~mask) | (*(const u32 *)src(w, in->a) & mask);
	return 0;
}

/* lop3: the bits of the table become masks, so the loop over the lanes has no branch. */
DEFINE(lop3_32)
{
	const u32 *a_ = src(w, in->a), *b_ = src(w, in->b);
	const u32 *c_ = src(w, in->c);
	u32 t[8];

	for (int i = 0; i < 8; i++)
		t[i] = in->imm >> i & 1 ? WARP_FULL : 0;
	MAP(u32, u32 a = a_[l]; u32 b = b_[l]; u32 c = c_[l],
	    (a & ((b & ((c & t[7]) | (~c & t[6]))) |
		  (~b & ((c & t[5]) | (~c & t[4]))))) |
	    (~a & ((b & ((c & t[3]) | (~c & t[2]))) |
		   (~b & ((c & t[1]) | (~c & t[0]))))));
	return 0;
}

/* ---- shifts: an amount above the width counts as the width ---- */

OP2(shl_16, u16, u16, u32, b > 15 ? 0 : (u32)a << (b & 15))
OP2(shl_32, u32, u32, u32, b > 31 ? 0 : a << (b & 31))
OP2(shl_64, u64, u64, u32, b > 63 ? 0 : a << (b & 63))
OP2(shr_u16, u16, u16, u32, b > 15 ? 0 : a >> (b & 15))
OP2(shr_u32, u32, u32, u32, b > 31 ? 0 : a >> (b & 31))
OP2(shr_u64, u64, u64, u32, b > 63 ? 0 : a >> (b & 63))
OP2(shr_s16, s16, s16, u32, a >> (b > 15 ? 15 : b))
OP2(shr_s32, s32, s32, u32, a >> (b > 31 ? 31 : b))
OP2(shr_s64, s64, s64, u32, a >> (b > 63 ? 63 : b))

/* shf shifts b:a as 64 bits; .l returns the upper half, .r the lower one. */
#define PAIR64 ((u64)b << 32 | a)

OP3(shf_l_clamp, u32, u32, u32, u32, PAIR64 << (c > 32 ? 32 : c) >> 32)
OP3(shf_l_wrap, u32, u32, u32, u32, PAIR64 << (c & 31) >> 32)
OP3(shf_r_clamp, u32, u32, u32, u32, PAIR64 >> (c > 32 ? 32 : c))
OP3(shf_r_wrap, u32, u32, u32, u32, PAIR64 >> (c & 31))

/* ---- counting and finding ---- */

SCALAR1(popc_32, u32, u32, __builtin_popcount(a))
SCALAR1(popc_64, u32, u64, __builtin_popcountll(a))
SCALAR1(clz_32, u32, u32, a ? __builtin_clz(a) : 32)
SCALAR1(clz_64, u32, u64, a ? __builtin_clzll(a) : 64)

/* Returns the most significant bit that differs from the sign, or all ones if there is none. */
static inline u32 find_u32(u32 a)
{
	return a ? 31u - __builtin_clz(a) : WARP_FULL;
}

static inline u32 find_u64(u64 a)
{
	return a ? 63u - __builtin_clzll(a) : WARP_FULL;
}

#define SIGNLESS(a) ((a) < 0 ? ~(a) : (a))
#define SHIFTAMT(x, top) ((x) == WARP_FULL ? WARP_FULL : (top) - (x))

SCALAR1(bfind_u32, u32, u32, find_u32(a))
SCALAR1(bfind_s32, u32, s32, find_u32(SIGNLESS(a)))
SCALAR1(bfind_u64, u32, u64, find_u64(a))
SCALAR1(bfind_s64, u32, s64, find_u64(SIGNLESS(a)))
SCALAR1(bfindsh_u32, u32, u32, SHIFTAMT(find_u32(a), 31))
SCALAR1(bfindsh_s32, u32, s32, SHIFTAMT(find_u32(SIGNLESS(a)), 31))
SCALAR1(bfindsh_u64, u32, u64, SHIFTAMT(find_u64(a), 63))
SCALAR1(bfindsh_s64, u32, s64, SHIFTAMT(find_u64(SIGNLESS(a)), 63))

/* Returns the offset-th set bit of the mask at or above (below) @base, or ~0 if there is none. */
static u32 find_nth(u32 mask, u32 base, s32 offset)
{
	u32 left = offset < 0 ? -(u32)offset : (u32)offset;
	s32 step = offset < 0 ? -1 : 1;

	base &= 31;
	if (offset == 0)
		return mask >> base & 1 ? base : WARP_FULL;
	for (s32 i = base; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && --left == 0)
			return i;
	return WARP_FULL;
}

SCALAR3(fns_32, u32, u32, u32, s32, find_nth(a, b, c))

static inline u32 reverse32(u32 v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}

OP1(brev_32, u32, u32, reverse32(a))
OP1(brev_64, u64, u64, (u64)reverse32(a) << 32 | reverse32(a >> 32))

/* ---- bit fields ---- */

#define BFE_U(name, T, BITS) \
static inline T name##_of(T a, u32 pos, u32 len) \
{ \
	pos &= 255; \
	len &= 255; \
	a = pos < BITS ? a >> pos : 0; \
	return len < BITS ? a & (((T)1 << len) - 1) : a; \
}

BFE_U(bfe_u32, u32, 32)
BFE_U(bfe_u64, u64, 64)

/* The sign is the top bit of the field, or of the register if the field goes beyond it. */
#define BFE_S(name, T, ST, BITS, U) \
static inline T name##_of(T a, u32 pos, u32 len) \
{ \
	u32 top; \
	T sign; \
	pos &= 255; \
	len &= 255; \
	if (!len) \
		return 0; \
	top = pos + len - 1 > BITS - 1 ? BITS - 1 : pos + len - 1; \
	sign = a >> top & 1 ? (T)-1 : 0; \
	if (pos >= BITS) \
		return sign; \
	a = U(a, pos, len); \
	len = top - pos + 1; \
	return len < BITS ? a | sign << len : a; \
}

BFE_S(bfe_s32, u32, s32, 32, bfe_u32_of)
BFE_S(bfe_s64, u64, s64, 64, bfe_u64_of)

OP3(bfe_u32, u32, u32, u32, u32, bfe_u32_of(a, b, c))
OP3(bfe_u64, u64, u64, u32, u32, bfe_u64_of(a, b, c))
SCALAR3(bfe_s32, u32, u32, u32, u32, bfe_s32_of(a, b, c))
SCALAR3(bfe_s64, u64, u64, u32, u32, bfe_s64_of(a, b, c))

#define BFI(name, T, BITS) \
static inline T name##_of(T a, T b, u32 pos, u32 len) \
{ \
	T m; \
	pos &= 255; \
	len &= 255; \
	m = len < BITS ? ((T)1 << len) - 1 : (T)-1; \
	m = pos < BITS ? m << pos : 0; \
	return (b & ~m) | ((pos < BITS ? a << pos : 0) & m); \
}

BFI(bfi_32, u32, 32)
BFI(bfi_64, u64, 64)
OP4(bfi_32, u32, u32, u32, u32, u32, bfi_32_of(a, b, c, e))
OP4(bfi_64, u64, u64, u64, u32, u32, bfi_64_of(a, b, c, e))

/* szext extends a value of n bits; n == 0 gives 0. */
#define CLAMP32(n) ((n) > 32 ? 32 : (n))
#define ZEXT(a, n) ((n) >= 32 ? (a) : (a) & (u32)((1ull << (n)) - 1))
#define SEXT(a, n) (u32)((n) == 0 ? 0 : (n) >= 32 ? (s32)(a) : \
			 (s32)((a) << (32 - (n))) >> (32 - (n)))

SCALAR2(szext_clamp_u32, u32, u32, u32, ZEXT(a, CLAMP32(b)))
SCALAR2(szext_clamp_s32, u32, u32, u32, SEXT(a, CLAMP32(b)))
SCALAR2(szext_wrap_u32, u32, u32, u32, ZEXT(a, b & 31))
SCALAR2(szext_wrap_s32, u32, u32, u32, SEXT(a, b & 31))

static inline u32 bit_mask(u32 pos, u32 len)
{
	u64 m = len >= 32 ? WARP_FULL : (1ull << len) - 1;

	return pos >= 32 ? 0 : m << pos;
}

SCALAR2(bmsk_clamp, u32, u32, u32, bit_mask(a, b))
SCALAR2(bmsk_wrap, u32, u32, u32, bit_mask(a & 31, b & 31))

/* ---- prmt ---- */

/* Returns one of the eight bytes in @v. With bit 3 of the selector it repeats the byte's sign. */
static inline u32 pick(u64 v, u32 sel)
{
	u32 b = v >> 8 * (sel & 7) & 0xff;

	return sel & 8 ? (b & 0x80 ? 0xff : 0) : b;
}

static inline u32 prmt4(u64 v, u32 s0, u32 s1, u32 s2, u32 s3)
{
	return pick(v, s0) | pick(v, s1) << 8 | pick(v, s2) << 16 |
	       pick(v, s3) << 24;
}

#define MAXS(x, y) ((x) > (y) ? (x) : (y))
#define MINS(x, y) ((x) < (y) ? (x) : (y))

SCALAR3(prmt, u32, u32, u32, u32,
	prmt4(PAIR64, c, c >> 4, c >> 8, c >> 12))
SCALAR3(prmt_f4e, u32, u32, u32, u32,
	prmt4(PAIR64, c & 3, (c & 3) + 1, (c & 3) + 2, (c & 3) + 3))
SCALAR3(prmt_b4e, u32, u32, u32, u32,
	prmt4(PAIR64, c & 3, ((c & 3) + 7) & 7, ((c & 3) + 6) & 7,
	      ((c & 3) + 5) & 7))
SCALAR3(prmt_rc8, u32, u32, u32, u32,
	prmt4(PAIR64, c & 3, c & 3, c & 3, c & 3))
SCALAR3(prmt_ecl, u32, u32, u32, u32,
	prmt4(PAIR64, c & 3, MAXS(c & 3, 1), MAXS(c & 3, 2), 3))
SCALAR3(prmt_ecr, u32, u32, u32, u32,
	prmt4(PAIR64, 0, MINS(c & 3, 1), MINS(c & 3, 2), c & 3))
SCALAR3(prmt_rc16, u32, u32, u32, u32,
	prmt4(PAIR64, (c & 1) * 2, (c & 1) * 2 + 1, (c & 1) * 2,
	      (c & 1) * 2 + 1))

/* ---- selection and moves ---- */

#define SELP(BITS, T) \
DEFINE(selp_##BITS) \
{ \
	const T *a_ = src(w, in->a); \
	const T *b_ = src(w, in->b); \
	u32 c = *(const u32 *)src(w, in->c); \
	MAP(T, T a = a_[l]; T b = b_[l], c & lane_bit[l] ? a : b); \
	return 0; \
}

SELP(16, u16) SELP(32, u32) SELP(64, u64)

OP1(mov_16, u16, u16, a)
OP1(mov_32, u32, u32, a)
OP1(mov_64, u64, u64, a)
OP1(mov_128, u128, u128, a)

/* mov d = { elements }: the first element goes to the lowest bits. */
DEFINE(mov_pack)
{
	const int32_t *v = w->m->img->vecs + in->vec;
	u8 *d = dst(w, in->d);
	u8 out[512];

	for (u32 i = 0; i < in->n; i++) {
		const u8 *e = src(w, v[i]);

		for (int l = 0; l < WARP_LANES; l++)
			memcpy(out + l * in->wide + i * in->size,
			       e + l * in->size, in->size);
	}
	EACH_ACTIVE
		memcpy(d + l * in->wide, out + l * in->wide, in->wide);
	return 0;
}

DEFINE(mov_unpack)
{
	const int32_t *v = w->m->img->vecs + in->vec;
	const u8 *a = src(w, in->a);
	u8 old[512];

	memcpy(old, a, in->wide * WARP_LANES);
	for (u32 i = 0; i < in->n; i++) {
		u8 *d = dst(w, v[i]);

		if (v[i] < 0)
			continue;
		EACH_ACTIVE
			memcpy(d + l * in->size,
			       old + l * in->wide + i * in->size, in->size);
	}
	return 0;
}
