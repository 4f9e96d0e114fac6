/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: atom and red. Lanes run one after the other. Shared memory belongs to one cluster
 * and so to one thread of this process. Other memory may be used at the same time by
 * another stream or by the host, so the update of it is atomic.
 */
#include "access.h"
#include "fp.h"

/* @NEW computes the new value from old, b and c. */
#define ATOM(name, T, NEW) \
static T name##_new(T old, T b, T c, bool global) \
{ \
	(void)old, (void)b, (void)c, (void)global; \
	return (NEW); \
} \
static T name##_one(T *p, T b, T c, bool global) \
{ \
	T old = __atomic_load_n(p, __ATOMIC_RELAXED), r; \
	if (!global) { \
		*p = name##_new(old, b, c, false); \
		return old; \
	} \
	do \
		r = name##_new(old, b, c, true); \
	while (!__atomic_compare_exchange_n(p, &old, r, false, \
					    __ATOMIC_SEQ_CST, \
					    __ATOMIC_RELAXED)); \
	return old; \
} \
DEFINE(name) \
{ \
	const T *b_ = src(w, in->b), *c_ = src(w, in->c); \
	T *d = in->sub ? dst(w, in->d) : NULL; \
	struct access ac; \
	if (OP(access_resolve)(w, in, mask, sizeof(T), true, &ac)) \
		return 1; \
	EACH_ACTIVE { \
		T old = name##_one(access_at(&ac, l), b_[l], c_[l], \
				   ac.global); \
		if (d) \
			d[l] = old; \
	} \
	return 0; \
}

#define ATOM_BITS(BITS, T) \
ATOM(atom_exch_##BITS, T, b) \
ATOM(atom_cas_##BITS, T, old == b ? c : old) \
ATOM(atom_and_##BITS, T, old & b) \
ATOM(atom_or_##BITS, T, old | b) \
ATOM(atom_xor_##BITS, T, old ^ b) \
ATOM(atom_add_##BITS, T, old + b)

ATOM_BITS(32, u32)
ATOM_BITS(64, u64)
ATOM(atom_cas_16, u16, old == b ? c : old)
ATOM(atom_inc_u32, u32, old >= b ? 0 : old + 1)
ATOM(atom_dec_u32, u32, old == 0 || old > b ? b : old - 1)

#define ATOM_ORDER(T) \
ATOM(atom_min_##T, T, old < b ? old : b) \
ATOM(atom_max_##T, T, old > b ? old : b)

ATOM_ORDER(u32) ATOM_ORDER(s32) ATOM_ORDER(u64) ATOM_ORDER(s64)

/* Global memory flushes subnormals, shared memory does not. */
static float sum32(float a, float b, bool global)
{
	u32 mode = global ? MODE_FTZ : 0;

	return out32(in32(a, mode) + in32(b, mode), mode);
}

ATOM(atom_add_f32, u32,
     f32_bits(sum32(bits_f32(old), bits_f32(b), global)))
ATOM(atom_add_f64, u64, f64_bits(bits_f64(old) + bits_f64(b)))
ATOM(atom_add_f16, u16, OP(half_sum)(old, b, false))
ATOM(atom_add_bf16, u16, OP(half_sum)(old, b, true))
ATOM(atom_add_f16x2, u32, OP(half_sum)(old, b, false) |
     (u32)OP(half_sum)(old >> 16, b >> 16, false) << 16)
ATOM(atom_add_bf16x2, u32, OP(half_sum)(old, b, true) |
     (u32)OP(half_sum)(old >> 16, b >> 16, true) << 16)

/* ---- 128 bits ---- */

static bool swap128(u128 *p, u128 *old, u128 v)
{
	u64 lo = *old, hi = *old >> 64;
	bool ok;

	__asm__ volatile("lock cmpxchg16b %1" : "=@ccz"(ok), "+m"(*p),
			 "+a"(lo), "+d"(hi) :
			 "b"((u64)v), "c"((u64)(v >> 64)) : "memory");
	*old = (u128)hi << 64 | lo;
	return ok;
}

static u128 atom128(u128 *p, u128 b, u128 c, bool cas)
{
	u128 old = cas ? b : 0;

	if (cas) {
		swap128(p, &old, c);
		return old;
	}
	while (!swap128(p, &old, b))
		;
	return old;
}

static int insn128(struct warp *w, const struct insn *in, u32 mask, bool cas)
{
	const u128 *b = src(w, in->b), *c = src(w, in->c);
	u128 *d = in->sub ? dst(w, in->d) : NULL;
	struct access ac;

	if (OP(access_resolve)(w, in, mask, 16, true, &ac))
		return 1;
	EACH_ACTIVE {
		u128 old = atom128(access_at(&ac, l), b[l],
				   cas ? c[l] : 0, cas);

		if (d)
			d[l] = old;
	}
	return 0;
}

DEFINE(atom_exch_128) { return insn128(w, in, mask, false); }
DEFINE(atom_cas_128) { return insn128(w, in, mask, true); }
