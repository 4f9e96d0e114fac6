/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: products of matrices whose elements are spread over the lanes of a warp, and the
 * loads that spread them. Lane l holds what the PTX manual gives it: row or column l / 4 of
 * eight, and of each four elements the one, or the pair, of number l % 4. All lanes run these
 * together (exec_matrix()); a lane that has exited counts as zeros.
 *
 * Every product of two elements is exact in the type of the sum. The sum starts with the
 * element of C and takes the products in the order of k, each time rounded to nearest.
 */
#include <string.h>

#include "access.h"
#include "fp.h"
#include "soft.h"

#define ROWS	16	/* of A, C and D */
#define COLUMNS	8	/* of B, C and D */
#define MAX_K	32

/* Registers of the operands: those of D, A, B and C, one after the other. */
static const int32_t *registers(const struct warp *w, const struct insn *in)
{
	return w->m->img->vecs + in->vec;
}

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

typedef float of_half(u16 h);

/* ---- sums in f32 ---- */

struct product {
	float a[ROWS][MAX_K];
	float b[MAX_K][COLUMNS];
	float d[ROWS][COLUMNS];
};

static void load_c(struct warp *w, const int32_t *c, u32 mask, struct product *p)
{
	for (int i = 0; i < 4; i++) {
		const float *r = src(w, c[i]);

		EACH_LANE p->d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] =
			mask & lane_bit[l] ? r[l] : 0;
	}
}

static void store_d(struct warp *w, const int32_t *d, u32 mask, const struct product *p)
{
	for (int i = 0; i < 4; i++) {
		float *r = dst(w, d[i]);

		EACH_ACTIVE r[l] = canon32(p->d[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2]);
	}
}

static void multiply(struct product *p, int depth)
{
	for (int i = 0; i < ROWS; i++) {
		float sum[COLUMNS];

		memcpy(sum, p->d[i], sizeof(sum));
		for (int k = 0; k < depth; k++)
			for (int j = 0; j < COLUMNS; j++)
				sum[j] += p->a[i][k] * p->b[k][j];
		memcpy(p->d[i], sum, sizeof(sum));
	}
}

/* Registers of pairs: those of A change the row first, those of B the eight places of k. */
static inline void load_pairs(struct warp *w, const int32_t *v, u32 mask, int depth,
			      of_half *of, struct product *p)
{
	for (int i = 0; i < depth / 4; i++) {
		const u32 *r = src(w, v[i]);

		EACH_LANE {
			u32 x = mask & lane_bit[l] ? r[l] : 0;
			float *to = &p->a[l / 4 + i % 2 * 8][l % 4 * 2 + i / 2 * 8];

			to[0] = of(x);
			to[1] = of(x >> 16);
		}
	}
	for (int i = 0; i < depth / 8; i++) {
		const u32 *r = src(w, v[depth / 4 + i]);

		EACH_LANE {
			u32 x = mask & lane_bit[l] ? r[l] : 0;

			p->b[l % 4 * 2 + i * 8][l / 4] = of(x);
			p->b[l % 4 * 2 + 1 + i * 8][l / 4] = of(x >> 16);
		}
	}
}

static inline int mma_pairs(struct warp *w, const struct insn *in, u32 mask, int depth,
			    of_half *of)
{
	const int32_t *v = registers(w, in);
	struct product p;

	load_pairs(w, v + 4, mask, depth, of, &p);
	load_c(w, v + 4 + depth * 3 / 8, mask, &p);
	multiply(&p, depth);
	store_d(w, v, mask, &p);
	return 0;
}

DEFINE(mma_f16_k16)
{
	return mma_pairs(w, in, mask, 16, of_f16);
}

DEFINE(mma_f16_k8)
{
	return mma_pairs(w, in, mask, 8, of_f16);
}

DEFINE(mma_bf16_k16)
{
	return mma_pairs(w, in, mask, 16, of_bf16);
}

DEFINE(mma_bf16_k8)
{
	return mma_pairs(w, in, mask, 8, of_bf16);
}

/* C and D of f16: a register has a pair. Sums are f32 all the same, and are rounded once. */
static void load_c_pairs(struct warp *w, const int32_t *c, u32 mask, struct product *p)
{
	for (int i = 0; i < 2; i++) {
		const u32 *r = src(w, c[i]);

		EACH_LANE {
			u32 x = mask & lane_bit[l] ? r[l] : 0;
			float *to = &p->d[l / 4 + i * 8][l % 4 * 2];

			to[0] = of_f16(x);
			to[1] = of_f16(x >> 16);
		}
	}
}

static u32 to_f16(float f)
{
	return soft_pack(soft_from_double(f), &fmt_f16, MODE_RN);
}

static void store_d_pairs(struct warp *w, const int32_t *d, u32 mask, const struct product *p)
{
	for (int i = 0; i < 2; i++) {
		u32 *r = dst(w, d[i]);

		EACH_ACTIVE {
			const float *from = &p->d[l / 4 + i * 8][l % 4 * 2];

			r[l] = to_f16(from[0]) | to_f16(from[1]) << 16;
		}
	}
}

static inline int mma_all_f16(struct warp *w, const struct insn *in, u32 mask, int depth)
{
	const int32_t *v = registers(w, in);
	struct product p;

	load_pairs(w, v + 2, mask, depth, of_f16, &p);
	load_c_pairs(w, v + 2 + depth * 3 / 8, mask, &p);
	multiply(&p, depth);
	store_d_pairs(w, v, mask, &p);
	return 0;
}

DEFINE(mma_all_f16_k16)
{
	return mma_all_f16(w, in, mask, 16);
}

DEFINE(mma_all_f16_k8)
{
	return mma_all_f16(w, in, mask, 8);
}

/* A register has one element: those of A change the row first, those of B four places of k. */
static inline int mma_tf32(struct warp *w, const struct insn *in, u32 mask, int depth)
{
	const int32_t *v = registers(w, in), *a = v + 4, *b = a + depth / 2;
	struct product p;

	for (int i = 0; i < depth / 2; i++) {
		const u32 *r = src(w, a[i]);

		EACH_LANE p.a[l / 4 + i % 2 * 8][l % 4 + i / 2 * 4] =
			mask & lane_bit[l] ? of_tf32(r[l]) : 0;
	}
	for (int i = 0; i < depth / 4; i++) {
		const u32 *r = src(w, b[i]);

		EACH_LANE p.b[l % 4 + i * 4][l / 4] =
			mask & lane_bit[l] ? of_tf32(r[l]) : 0;
	}
	load_c(w, b + depth / 4, mask, &p);
	multiply(&p, depth);
	store_d(w, v, mask, &p);
	return 0;
}

DEFINE(mma_tf32_k8)
{
	return mma_tf32(w, in, mask, 8);
}

DEFINE(mma_tf32_k4)
{
	return mma_tf32(w, in, mask, 4);
}

/* ---- ldmatrix ---- */

#define MATRIX_LANES	8	/* that have the addresses of one matrix's rows */

/*
 * The lanes of @mask give the rows of insn.n matrices, of 16 bytes each. Then each lane has a
 * pair of elements of every matrix, of its row, or of its column (insn.sub).
 */
DEFINE(ldmatrix)
{
	u32 givers = in->n == 4 ? WARP_FULL : (1u << (MATRIX_LANES * in->n)) - 1;
	const int32_t *v = registers(w, in);
	u16 row[WARP_LANES][8] = { { 0 } };
	struct access ac;

	givers &= mask;
	if (givers && OP(access_resolve)(w, in, givers, sizeof(row[0]), false, &ac))
		return 1;
	for (u32 m = givers; m; m &= m - 1)
		memcpy(row[__builtin_ctz(m)], access_at(&ac, __builtin_ctz(m)), sizeof(row[0]));
	for (int i = 0; i < in->n; i++) {
		u16 (*of)[8] = row + MATRIX_LANES * i;
		u32 *d = dst(w, v[i]);

		EACH_ACTIVE {
			u32 x = l / 4, y = l % 4 * 2;

			d[l] = in->sub ? of[y][x] | (u32)of[y + 1][x] << 16 :
					 of[x][y] | (u32)of[x][y + 1] << 16;
		}
	}
	return 0;
}
