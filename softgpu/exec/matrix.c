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
#include "product.h"

/* Registers of the operands: those of D, A, B and C, one after the other. */
static const int32_t *registers(const struct warp *w, const struct insn *in)
{
	return w->m->img->vecs + in->vec;
}

/* ---- sums in f32 ---- */

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

/* ---- elements of a byte: integers, e4m3, e5m2 ---- */

/* Registers have four elements: those of A change the row first, then sixteen places of k. */
static inline void load_bytes(struct warp *w, const struct insn *in, u32 mask, u32 rows,
			      u32 depth, struct product *p)
{
	const int32_t *a = registers(w, in) + (in->n == EL_F16 ? rows / 8 : rows / 4);
	u32 groups = rows / 8, na = groups * depth / 16;

	for (u32 i = 0; i < na + depth / 16; i++) {
		const u32 *r = src(w, a[i]);

		for (u32 l = 0; l < WARP_LANES; l++) {
			u32 x = mask & lane_bit[l] ? r[l] : 0, k = l % 4 * 4;

			if (i < na)
				take_elements(in->sub, &x, sizeof(x), &p->a[l / 4 + i % groups * 8]
					      [k + i / groups * 16], 1);
			else
				take_elements(in->sub2, &x, sizeof(x),
					      &p->b[k + (i - na) * 16][l / 4], COLUMNS);
		}
	}
}

/* All of C is read before any of D is written, since they may share registers. */
static void store_integers(struct warp *w, const struct insn *in, u32 mask, u32 n,
			   const int32_t *c, const struct product *p)
{
	const int32_t *v = registers(w, in);
	u32 sum[4][WARP_LANES];

	for (u32 i = 0; i < n; i++) {
		const u32 *r = src(w, c[i]);

		EACH_ACTIVE sum[i][l] = add_integer(r[l], p->d[l / 4 + i / 2 * 8]
						    [l % 4 * 2 + i % 2], in->mode & MODE_SATFINITE);
	}
	for (u32 i = 0; i < n; i++) {
		u32 *r = dst(w, v[i]);

		EACH_ACTIVE r[l] = sum[i][l];
	}
}

/* insn.n is the type of the sums. Sums of integers are added to C at the end. */
static inline int mma_bytes(struct warp *w, const struct insn *in, u32 mask, u32 rows, u32 depth)
{
	const int32_t *v = registers(w, in), *c;
	struct product p = { 0 };

	c = v + (in->n == EL_F16 ? rows / 8 : rows / 4) + (rows / 8 + 1) * depth / 16;
	load_bytes(w, in, mask, rows, depth, &p);
	if (in->n == EL_F32)
		load_c(w, c, mask, &p);
	else if (in->n == EL_F16)
		load_c_pairs(w, c, mask, &p);
	multiply(&p, depth);
	if (in->n == EL_F32)
		store_d(w, v, mask, &p);
	else if (in->n == EL_F16)
		store_d_pairs(w, v, mask, &p);
	else
		store_integers(w, in, mask, rows / 4, c, &p);
	return 0;
}

DEFINE(mma_bytes_k32)
{
	return mma_bytes(w, in, mask, 16, 32);
}

DEFINE(mma_bytes_k16)
{
	return mma_bytes(w, in, mask, 16, 16);
}

DEFINE(mma_bytes_m8_k16)
{
	return mma_bytes(w, in, mask, 8, 16);
}

/* ---- f64 ---- */

#define MAX_K_F64	16

/* Each product and its sum are rounded once. Registers change the row first, then k. */
static inline int mma_f64(struct warp *w, const struct insn *in, u32 mask, u32 rows, u32 depth)
{
	double a[ROWS][MAX_K_F64], b[MAX_K_F64][COLUMNS];
	u32 groups = rows / 8, nd = rows / 4, na = groups * depth / 4;
	const int32_t *v = registers(w, in), *va = v + nd, *vc = va + na + depth / 4;
	double sums[4][WARP_LANES];

	for (u32 i = 0; i < na + depth / 4; i++) {
		const double *r = src(w, va[i]);

		for (u32 l = 0; l < WARP_LANES; l++) {
			double x = mask & lane_bit[l] ? r[l] : 0;

			if (i < na)
				a[l / 4 + i % groups * 8][l % 4 + i / groups * 4] = x;
			else
				b[l % 4 + (i - na) * 4][l / 4] = x;
		}
	}
	for (u32 i = 0; i < nd; i++) {
		const double *c = src(w, vc[i]);

		EACH_ACTIVE {
			u32 row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
			double sum = c[l];

			for (u32 k = 0; k < depth; k++)
				sum = fma(a[row][k], b[k][column], sum);
			sums[i][l] = sum;
		}
	}
	for (u32 i = 0; i < nd; i++) {
		double *d = dst(w, v[i]);

		EACH_ACTIVE d[l] = sums[i][l];
	}
	return 0;
}

DEFINE(mma_f64_m8_k4)
{
	return mma_f64(w, in, mask, 8, 4);
}

DEFINE(mma_f64_k4)
{
	return mma_f64(w, in, mask, 16, 4);
}

DEFINE(mma_f64_k8)
{
	return mma_f64(w, in, mask, 16, 8);
}

DEFINE(mma_f64_k16)
{
	return mma_f64(w, in, mask, 16, 16);
}

/* ---- ldmatrix, stmatrix, movmatrix ---- */

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

/* Does the reverse: rows of matrices whose pairs the lanes have go to shared memory. */
DEFINE(stmatrix)
{
	u32 givers = in->n == 4 ? WARP_FULL : (1u << (MATRIX_LANES * in->n)) - 1;
	const int32_t *v = registers(w, in);
	u16 row[WARP_LANES][8] = { { 0 } };
	struct access ac;

	givers &= mask;
	if (givers && OP(access_resolve)(w, in, givers, sizeof(row[0]), true, &ac))
		return 1;
	for (int i = 0; i < in->n; i++) {
		u16 (*of)[8] = row + MATRIX_LANES * i;
		const u32 *s = src(w, v[i]);

		EACH_ACTIVE {
			u32 x = l / 4, y = l % 4 * 2;

			*(in->sub ? &of[y][x] : &of[x][y]) = s[l];
			*(in->sub ? &of[y + 1][x] : &of[x][y + 1]) = s[l] >> 16;
		}
	}
	for (u32 m = givers; m; m &= m - 1)
		memcpy(access_at(&ac, __builtin_ctz(m)), row[__builtin_ctz(m)], sizeof(row[0]));
	return 0;
}

/* Transposes a matrix of 8 rows of 8, of which each lane has a pair. */
DEFINE(movmatrix)
{
	const u32 *s = src(w, in->a);
	u16 row[8][8] = { { 0 } };
	u32 *d = dst(w, in->d);

	EACH_ACTIVE {
		row[l / 4][l % 4 * 2] = s[l];
		row[l / 4][l % 4 * 2 + 1] = s[l] >> 16;
	}
	EACH_ACTIVE d[l] = row[l % 4 * 2][l / 4] | (u32)row[l % 4 * 2 + 1][l / 4] << 16;
	return 0;
}
