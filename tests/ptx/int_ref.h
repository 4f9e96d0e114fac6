/* SPDX-License-Identifier: Apache-2.0 */
/* References on 64-bit operands for tests of integer instructions. */
#ifndef WORMHOLE_TESTS_PTX_INT_REF_H
#define WORMHOLE_TESTS_PTX_INT_REF_H

#include "harness.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

#define A (s[0])
#define B (s[1])
#define C (s[2])
#define E (s[3])
#define REF(name, expr) \
	static uint64_t name(const uint64_t *s) { return (uint64_t)(expr); }

static inline uint64_t low(uint64_t v, int bits)
{
	return bits == 64 ? v : v & ((1ull << bits) - 1);
}

static inline int64_t sx(uint64_t v, int bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

#define CHECK3(op, types, sig, ref) \
	check_op(op "." types " %d, %a, %b;", sig, ref, NULL)

#endif
