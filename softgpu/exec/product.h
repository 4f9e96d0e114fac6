/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of matrices, and the product of a piece of two matrices, for the handlers of mma and
 * wgmma.
 *
 * Every product of two elements is exact in the type of the sum. The sum starts with the
 * element of C and takes the products in the order of k, each time rounded to nearest.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_PRODUCT_H
#define WORMHOLE_SOFTGPU_EXEC_PRODUCT_H

#include <string.h>

#include "fp.h"
#include "soft.h"

#define ROWS	16	/* of A, C and D */
#define COLUMNS	8	/* of B, C and D */
#define MAX_K	32

/* ---- elements ---- */

/* Shifts the bits, then scales to correct the exponent's smaller bias. */
static inline float of_f16(u16 h)
{
	u32 em = (u32)(h & 0x7fff) << 13;
	u32 v = f32_bits(bits_f32(em) * 0x1p112f);

	v = em >= 0x0f800000 ? em | 0x7f800000 : v;
	return bits_f32(v | (u32)(h & 0x8000) << 16);
}

static inline float of_bf16(u16 h)
{
	return bits_f32((u32)h << 16);
}

/* Thirteen bits of a tf32 do not count. */
static inline float of_tf32(u32 v)
{
	return bits_f32(v & 0xffffe000);
}

/* There is no infinity, and one NaN of each sign. */
static inline float of_e4m3(u8 v)
{
	float f = bits_f32((u32)(v & 0x7f) << 20) * 0x1p120f;

	f = (v & 0x7f) == 0x7f ? bits_f32(F32_NAN) : f;
	return v & 0x80 ? -f : f;
}

/* An e5m2 is the upper half of an f16. */
static inline float of_e5m2(u8 v)
{
	return of_f16((u16)(v << 8));
}

typedef float of_half(u16 h);

static inline u32 to_f16(float f)
{
	return soft_pack(soft_from_double(f), &fmt_f16, MODE_RN);
}

/* Returns the bytes of an element of A or B. */
static inline u32 element_bytes(enum matrix_element el)
{
	return el == EL_TF32 ? 4 : el == EL_F16 || el == EL_BF16 ? 2 : 1;
}

/* Reads the elements of @bytes bytes. The distance of their places in @to is @step. */
static inline void take_elements(enum matrix_element el, const void *from, u32 bytes, float *to,
				 u32 step)
{
	const u8 *b = from;

#define TAKE(T, OF) \
	for (u32 i = 0; i < bytes / sizeof(T); i++) { \
		T v; \
		memcpy(&v, b + i * sizeof(T), sizeof(T)); \
		to[i * step] = OF(v); \
	}
	switch (el) {
	case EL_F16:
		TAKE(u16, of_f16);
		break;
	case EL_BF16:
		TAKE(u16, of_bf16);
		break;
	case EL_TF32:
		TAKE(u32, of_tf32);
		break;
	case EL_E4M3:
		TAKE(u8, of_e4m3);
		break;
	case EL_E5M2:
		TAKE(u8, of_e5m2);
		break;
	case EL_S8:
		TAKE(s8, (float));
		break;
	default:
		TAKE(u8, (float));
		break;
	}
#undef TAKE
}

/* ---- products ---- */

/* D is C before. Sums of products of bytes are exact, too: they are below 2^24. */
struct product {
	float a[ROWS][MAX_K];
	float b[MAX_K][COLUMNS];
	float d[ROWS][COLUMNS];
};

static inline void multiply_rows(const float (*a)[MAX_K], const float (*b)[COLUMNS],
				 float (*d)[COLUMNS], u32 depth)
{
	for (u32 i = 0; i < ROWS; i++) {
		float sum[COLUMNS];

		memcpy(sum, d[i], sizeof(sum));
		for (u32 k = 0; k < depth; k++)
			for (u32 j = 0; j < COLUMNS; j++)
				sum[j] += a[i][k] * b[k][j];
		memcpy(d[i], sum, sizeof(sum));
	}
}

static inline void multiply(struct product *p, u32 depth)
{
	multiply_rows(p->a, p->b, p->d, depth);
}

/* Adds a sum of products of integers to C: modulo 2^32, or up to the ends of s32. */
static inline u32 add_integer(u32 c, float sum, bool saturate)
{
	s64 r = (s64)(s32)c + (s32)sum;

	if (saturate)
		r = r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
	return (u32)r;
}

#endif
