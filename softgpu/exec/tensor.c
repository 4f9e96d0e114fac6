/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: copies of a box of a tensor between global and shared memory, by a map that
 * cuTensorMapEncodeTiled() wrote. Elements of a box that are beyond the tensor become zeros or
 * NaNs in shared memory, and are left out on the way back. Each row of a box is looked up among
 * the allocations.
 *
 * What cuda.h and PTX leave open is as an H200 does it: the bits of the NaNs, rows narrower than
 * their swizzle, and which coordinates are faults.
 */
#include <string.h>

#include "access.h"
#include "mbar.h"
#include "tensormap.h"

#define BOX_ALIGN	128u	/* of the address in shared memory */
#define UNIT		16u	/* bytes that a swizzle moves */

/* One copy of a lane. */
struct box {
	struct exec_tensormap map;
	u32 count[TENSORMAP_DIMS];	/* elements of the box */
	s64 first[TENSORMAP_DIMS];	/* coordinates of the first one */
	u32 width;			/* bytes of a row */
	u32 pitch;			/* bytes from row to row in shared memory */
	u32 rows;
	bool load;			/* to shared memory */
};

static bool map_is_sound(const struct exec_tensormap *m)
{
	if (m->magic != TENSORMAP_MAGIC || !m->rank || m->rank > TENSORMAP_DIMS ||
	    m->swizzle > 3 || m->fill > TENSORMAP_NANS || m->address % UNIT ||
	    !m->bytes || m->bytes > 8 || m->bytes & (m->bytes - 1))
		return false;
	for (u32 i = 0; i < m->rank; i++)
		if (!m->box[i] || m->box[i] > 256 || !m->step[i] || m->step[i] > 8)
			return false;
	return !(m->box[0] * m->bytes % UNIT) &&
	       (!m->swizzle || m->box[0] * m->bytes <= 16u << m->swizzle);
}

/* Reads the map of a lane, once. Returns false after a fault. */
static bool read_map(struct warp *w, const struct insn *in, u32 l, u64 addr, struct box *b)
{
	const u8 *p = exec_generic(w, l, addr, sizeof(b->map), false);

	if (!p) {
		exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, addr);
		return false;
	}
	memcpy(&b->map, p, sizeof(b->map));
	if (map_is_sound(&b->map) && b->map.rank == in->n)
		return true;
	exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, addr);
	return false;
}

/*
 * Sets sizes and coordinates. Returns false if the box is larger than shared memory can be, if it
 * begins within 16 bytes of global memory, or if it is a store that begins before the tensor.
 */
static bool measure(struct warp *w, const struct insn *in, u32 l, struct box *b)
{
	const int32_t *v = w->m->img->vecs + in->vec;
	u64 bytes = b->map.bytes;
	bool before = false;

	for (u32 i = 0; i < TENSORMAP_DIMS; i++) {
		bool there = i < b->map.rank;
		u32 step = i ? b->map.step[i] : 1;

		b->count[i] = there ? (b->map.box[i] + step - 1) / step : 1;
		b->first[i] = there ? ((const s32 *)src(w, v[i]))[l] : 0;
		before |= b->first[i] < 0;
		bytes *= b->count[i];
		if (bytes > EXEC_MAX_SHARED)
			return false;
	}
	b->width = b->count[0] * b->map.bytes;
	b->rows = bytes / b->width;
	b->pitch = b->map.swizzle ? UNIT << b->map.swizzle : b->width;
	return !(b->first[0] * b->map.bytes % UNIT) && (b->load || !before);
}

/* A pattern of bits of the address moves units of 16 bytes within the width of the swizzle. */
static u8 *swizzled(struct warp *w, const struct box *b, u64 at)
{
	u64 units = (1u << b->map.swizzle) - 1;

	return w->cta->shared + (at ^ (at >> 7 & units) * UNIT);
}

static void fill(const struct box *b, u8 *to, u32 n)
{
	u64 v = b->map.fill == TENSORMAP_NANS ? 0x7ff77ff77ff77ff7 : 0;

	for (u32 i = 0; i < n; i += b->map.bytes)
		memcpy(to + i, &v, b->map.bytes);
}

/*
 * Copies one row, from unit to unit. @row is the global address of coordinate 0, or 0 if the row
 * is beyond the tensor.
 */
static int copy_row(struct warp *w, const struct insn *in, u32 l, const struct box *b, u64 row,
		    u64 at)
{
	s64 size = b->map.bytes, lo = b->first[0] < 0 ? -b->first[0] : 0;
	s64 hi = (s64)b->map.last[0] + 1 - b->first[0], n = b->count[0];
	u8 line[256 * 8], *p = NULL;

	hi = !row || hi < lo ? lo : hi > n ? n : hi;
	lo = lo > n ? n : lo;
	hi = hi > n ? n : hi;
	if (hi > lo) {
		row += (u64)((b->first[0] + lo) * size);
		p = exec_generic(w, l, row, (hi - lo) * size, !b->load);
		if (!p)
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, row);
	}
	if (b->load) {
		fill(b, line, lo * size);
		if (p)
			memcpy(line + lo * size, p, (hi - lo) * size);
		fill(b, line + hi * size, (n - hi) * size);
	}
	for (u32 i = 0; i < b->width; i += UNIT)
		memcpy(b->load ? swizzled(w, b, at + i) : line + i,
		       b->load ? line + i : swizzled(w, b, at + i), UNIT);
	if (!b->load && p)
		memcpy(p, line + lo * size, (hi - lo) * size);
	return 0;
}

/* Copies all rows of a box, whose place in shared memory has been checked. */
static int copy_box(struct warp *w, const struct insn *in, u32 l, const struct box *b, u64 at)
{
	for (u32 r = 0; r < b->rows; r++, at += b->pitch) {
		u64 row = b->map.address, left = r;

		for (u32 i = 1; i < b->map.rank; i++, left /= b->count[i - 1]) {
			s64 x = b->first[i] + (s64)(left % b->count[i] * b->map.step[i]);

			if (x < 0 || x > (s64)b->map.last[i])
				row = 0;
			if (row)
				row += (u64)x * b->map.stride[i - 1];
		}
		if (copy_row(w, in, l, b, row, at))
			return 1;
	}
	return 0;
}

/* insn.n is the number of dimensions, insn.sub whether to load. */
DEFINE(tensor_copy)
{
	const u64 *map = src(w, in->a), *place = src(w, in->b);
	const u64 *bar = in->sub ? src(w, in->c) : NULL;

	EACH_ACTIVE {
		struct box b = { .load = in->sub };
		u64 at = place[l];

		if (!read_map(w, in, l, map[l], &b))
			return 1;
		if (!measure(w, in, l, &b))
			return exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, map[l]);
		if (at % BOX_ALIGN)
			return exec_fault(w, EXEC_MISALIGNED, in, l, WIN_SHARED + at);
		if (at > EXEC_MAX_SHARED ||
		    !exec_generic(w, l, WIN_SHARED + at, (u64)b.rows * b.pitch, true))
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, WIN_SHARED + at);
		if (copy_box(w, in, l, &b, at) ||
		    (bar && OP(mbar_complete)(w, in, l, bar[l], b.rows * b.width)))
			return 1;
	}
	return 0;
}
