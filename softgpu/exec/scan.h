/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the 32-bit addresses of a whole warp, for handlers of shared memory. */
#ifndef WORMHOLE_SOFTGPU_EXEC_SCAN_H
#define WORMHOLE_SOFTGPU_EXEC_SCAN_H

#ifdef EXEC_V3
#include <immintrin.h>
#endif

#include "access.h"

/*
 * Classifies the addresses of each eight lanes, since the rows of a tile are lines of 8, 16
 * or 32 lanes. Also returns the OR of all addresses, and the highest one.
 */
#ifdef EXEC_V3
static inline void scan_groups(const u32 *p, u32 imm, u32 bytes,
			       struct access *ac, u32 *any, u32 *hi)
{
	const __m256i lane = _mm256_mullo_epi32(
		_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
		_mm256_set1_epi32(bytes));
	__m256i or = _mm256_setzero_si256(), max = or;
	u32 v[GROUP_LANES], m[GROUP_LANES];

	for (int g = 0; g < WARP_LANES; g += GROUP_LANES) {
		__m256i a = _mm256_add_epi32(
			_mm256_loadu_si256((const __m256i *)(p + g)),
			_mm256_set1_epi32(imm));
		__m256i first = _mm256_broadcastd_epi32(
			_mm256_castsi256_si128(a));
		__m256i d = _mm256_sub_epi32(a, first);
		__m256i line = _mm256_xor_si256(d, lane);

		or = _mm256_or_si256(or, a);
		max = _mm256_max_epu32(max, a);
		ac->group[g / GROUP_LANES] =
			_mm256_testz_si256(line, line) ? ACCESS_LINEAR :
			_mm256_testz_si256(d, d) ? ACCESS_UNIFORM :
			ACCESS_SCATTER;
		_mm256_storeu_si256((__m256i *)(ac->a + g),
			_mm256_cvtepu32_epi64(_mm256_castsi256_si128(a)));
		_mm256_storeu_si256((__m256i *)(ac->a + g + 4),
			_mm256_cvtepu32_epi64(_mm256_extracti128_si256(a, 1)));
	}
	_mm256_storeu_si256((__m256i *)v, or);
	_mm256_storeu_si256((__m256i *)m, max);
	*any = *hi = 0;
	for (int l = 0; l < GROUP_LANES; l++) {
		*any |= v[l];
		*hi = m[l] > *hi ? m[l] : *hi;
	}
}
#else
static inline void scan_groups(const u32 *p, u32 imm, u32 bytes,
			       struct access *ac, u32 *any, u32 *hi)
{
	u32 a[WARP_LANES];

	*any = *hi = 0;
	EACH_LANE a[l] = p[l] + imm;
	EACH_LANE ac->a[l] = a[l];
	for (int g = 0; g < WARP_LANES; g += GROUP_LANES) {
		u32 line = 0, same = 0;

		for (int l = g; l < g + GROUP_LANES; l++) {
			line |= a[l] ^ (a[g] + (l - g) * bytes);
			same |= a[l] ^ a[g];
			*any |= a[l];
			*hi = a[l] > *hi ? a[l] : *hi;
		}
		ac->group[g / GROUP_LANES] = !line ? ACCESS_LINEAR : !same ?
					     ACCESS_UNIFORM : ACCESS_SCATTER;
	}
}
#endif

/* Returns the kind of the whole warp: one kind for all if its groups are alike. */
static inline enum access_kind kind_of_groups(const struct access *ac, u32 bytes)
{
	bool line = true, same = true;

	for (u32 g = 0; g < WARP_LANES / GROUP_LANES; g++) {
		u64 at = ac->a[g * GROUP_LANES];

		line &= ac->group[g] == ACCESS_LINEAR &&
			at == ac->a[0] + g * GROUP_LANES * bytes;
		same &= ac->group[g] == ACCESS_UNIFORM && at == ac->a[0];
	}
	return line ? ACCESS_LINEAR : same ? ACCESS_UNIFORM : ACCESS_GROUPS;
}

#endif
