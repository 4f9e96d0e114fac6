/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of wgmma: 64 rows of A, of which each warp of a warpgroup has 16, times B. A matrix in
 * shared memory is given by a descriptor, whose layouts are those that the PTX manual calls
 * canonical. exec_warpgroup() calls this for all four warps at once; so nothing is left to do
 * for wgmma.wait_group.
 */
#include "access.h"
#include "product.h"

#define WARPS		4	/* of a warpgroup */
#define UNIT		16	/* bytes that stay together in every layout */
#define GROUP_ROWS	8	/* rows of a core matrix */

/* A matrix in shared memory. Its rows are those of A, or the columns of B. */
struct matrix {
	u32 start;	/* address of its first element */
	u32 lead, stride;	/* "leading dimension" and "stride dimension" byte offset */
	u32 units;	/* UNITs of a row of the pattern that is swizzled; 1: it is not */
	u32 base;	/* row of the pattern, of 128 bytes, in which a matrix begins */
	bool across;	/* elements of a unit belong to different rows (MN-major) */
	enum matrix_element el;
};

static struct matrix matrix_of(u64 desc, bool across, enum matrix_element el)
{
	static const u8 units[] = { 1, 8, 4, 2 };
	struct matrix m = {
		.start = (desc & 0x3fff) << 4, .lead = (desc >> 16 & 0x3fff) << 4,
		.stride = (desc >> 32 & 0x3fff) << 4, .base = desc >> 49 & 7,
		.units = units[desc >> 62], .across = across, .el = el,
	};

	return m;
}

/* Returns the place of unit @unit of row @row, or of row @unit of a matrix across. */
static u32 offset_of(const struct matrix *m, u32 row, u32 unit)
{
	u32 in = row % GROUP_ROWS, group = row / GROUP_ROWS;

	if (!m->across)
		return in * UNIT * m->units + group * m->stride +
		       unit * (m->units == 1 ? m->lead : UNIT);
	if (m->units == 1)
		return in * UNIT + group * m->lead + unit * m->stride;
	return in * UNIT * m->units + group * m->stride + unit % m->units * UNIT +
	       unit / m->units * m->lead;
}

/* Returns a unit in memory, or NULL after a fault. Bits of the address choose the swizzle. */
static const u8 *unit_at(struct warp *w, const struct insn *in, const struct matrix *m, u32 row,
			 u32 unit)
{
	u64 at = (u64)m->start + offset_of(m, row, unit);

	at ^= (((at >> 7) - m->base) & (m->units - 1)) * UNIT;
	if (at + UNIT <= w->cta->shared_size)
		return w->cta->shared + at;
	exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, 0, WIN_SHARED + at);
	return NULL;
}

/*
 * Loads 8 rows of @m from @row on, with all their k. Element k of row r goes to
 * to[r * of_row + k * of_k].
 */
static int load_rows(struct warp *w, const struct insn *in, const struct matrix *m, u32 row,
		     float *to, u32 of_row, u32 of_k)
{
	u32 per_unit = UNIT / element_bytes(m->el), depth = 2 * per_unit;
	u32 n = m->across ? depth : 2 * GROUP_ROWS;

	for (u32 i = 0; i < n; i++) {
		u32 r = i / 2, half = i % 2;
		const u8 *p = m->across ? unit_at(w, in, m, i, row / GROUP_ROWS) :
					  unit_at(w, in, m, row + r, half);

		if (!p)
			return 1;
		if (m->across)
			take_elements(m->el, p, UNIT, to + i * of_k, of_row);
		else
			take_elements(m->el, p, UNIT,
				      to + r * of_row + half * per_unit * of_k, of_k);
	}
	return 0;
}

/* Loads the 16 rows of A of a warp from its registers: words of row l / 4, then of row + 8. */
static void load_a_regs(struct warp *w, const int32_t *v, enum matrix_element el, float (*a)[MAX_K])
{
	u32 per_word = 4 / element_bytes(el);

	for (u32 i = 0; i < 4; i++) {
		const u32 *r = src(w, v[i]);

		for (u32 l = 0; l < WARP_LANES; l++)
			take_elements(el, &r[l], sizeof(r[l]), &a[l / 4 + i % 2 * 8]
				      [(l % 4 + i / 2 * 4) * per_word], 1);
	}
}

static int load_a(struct warp *w, const struct insn *in, float (*a)[MAX_K])
{
	const int32_t *v = w->m->img->vecs + in->vec;
	struct matrix m;

	if (in->mode & WGMMA_A_REGS) {
		v += in->n * (in->mode & WGMMA_F16 ? 2 : 4);
		for (u32 q = 0; q < WARPS; q++)
			load_a_regs(w + q, v, in->sub, a + q * ROWS);
	} else {
		m = matrix_of(*(const u64 *)src(w, in->a), in->mode & WGMMA_TRANS_A, in->sub);
		for (u32 row = 0; row < WARPS * ROWS; row += GROUP_ROWS)
			if (load_rows(w, in, &m, row, a[row], MAX_K, 1))
				return 1;
	}
	for (u32 i = 0; in->mode & WGMMA_NEGATE && i < WARPS * ROWS; i++)
		for (u32 k = 0; k < 2 * UNIT / element_bytes(in->sub); k++)
			a[i][k] = -a[i][k];
	return 0;
}

/* ---- sums: a piece of 16 rows and 8 columns, four elements a lane ---- */

#define ROW(l, i)	((l) / 4 + (i) / 2 * 8)
#define COLUMN(l, i)	((l) % 4 * 2 + (i) % 2)

/* Sums of lanes whose scale-d is false start at 0. Those of integers all do. */
static void load_sums(struct warp *w, const struct insn *in, const int32_t *v, float (*d)[COLUMNS])
{
	u32 keep = *(const u32 *)src(w, in->c);
	u32 half = in->mode & WGMMA_F16 ? 1 : 0;

	for (u32 i = 0; i < 4; i++) {
		const u32 *r = src(w, v[i >> half]);

		EACH_LANE {
			float f = half ? of_f16(r[l] >> (i % 2 * 16)) : bits_f32(r[l]);

			d[ROW(l, i)][COLUMN(l, i)] =
				keep & lane_bit[l] && !(in->mode & WGMMA_S32) ? f : 0;
		}
	}
}

static void store_sums(struct warp *w, const struct insn *in, const int32_t *v,
		       float (*d)[COLUMNS])
{
	u32 keep = *(const u32 *)src(w, in->c);

	for (u32 i = 0; i < 4; i++) {
		u32 *r = dst(w, v[in->mode & WGMMA_F16 ? i / 2 : i]);

		for (u32 l = 0; l < WARP_LANES; l++) {
			float f = d[ROW(l, i)][COLUMN(l, i)];

			if (in->mode & WGMMA_S32)
				r[l] = add_integer(keep & lane_bit[l] ? r[l] : 0, f,
						   in->mode & MODE_SATFINITE);
			else if (!(in->mode & WGMMA_F16))
				r[l] = f32_bits(canon32(f));
			else if (i % 2)
				r[l] |= to_f16(f) << 16;
			else
				r[l] = to_f16(f);
		}
	}
}

/* @w is the first warp of a warpgroup. All lanes of its four warps are at @in. */
DEFINE(wgmma)
{
	const int32_t *v = w->m->img->vecs + in->vec;
	struct matrix b = matrix_of(*(const u64 *)src(w, in->b), in->mode & WGMMA_TRANS_B,
				    in->sub2);
	u32 depth = 2 * UNIT / element_bytes(in->sub);
	float rows[WARPS * ROWS][MAX_K], columns[MAX_K][COLUMNS], d[ROWS][COLUMNS];

	(void)mask;
	if (load_a(w, in, rows))
		return 1;
	for (u32 n = 0; n < in->n; n++, v += in->mode & WGMMA_F16 ? 2 : 4) {
		if (load_rows(w, in, &b, n * COLUMNS, columns[0], 1, COLUMNS))
			return 1;
		for (u32 q = 0; q < WARPS; q++) {
			load_sums(w + q, in, v, d);
			multiply_rows(rows + q * ROWS, columns, d, depth);
			store_sums(w + q, in, v, d);
		}
	}
	return 0;
}
