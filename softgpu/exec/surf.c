// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers: loads and stores of surfaces. An access sees a row as pieces of its own size; what
 * is left at the end of a row is outside. Lanes run one after the other. Alignment and what lies
 * outside are as an H200 has them.
 */
#include <string.h>

#include "ops.h"

#define MAX_BYTES	16

/* Where a lane's access starts, and what it does outside. */
struct spot {
	s32 x, y, z;		/* x in bytes */
	bool layer;		/* z is the number of a layer, which has no sign */
};

static struct spot spot_of(const struct warp *w, const struct insn *in, u32 l)
{
	const s32 *list = w->m->img->vecs + in->vec + in->n;
	s32 v[3] = { 0 };
	u32 n = in->sub == TEX_1D ? 1 : in->sub == TEX_2D || in->sub == TEX_A1D ? 2 : 3;

	for (u32 i = 0; i < n; i++)
		v[i] = ((const s32 *)src(w, list[i]))[l];
	if (in->sub == TEX_A1D)
		return (struct spot){ v[1], 0, v[0], true };
	if (in->sub == TEX_A2D)
		return (struct spot){ v[1], v[2], v[0], true };
	return (struct spot){ v[0], v[1], v[2], false };
}

static bool inside(s64 at, s64 n)
{
	return at >= 0 && at < n;
}

static s64 nearest(s64 at, s64 n)
{
	return at < 0 ? 0 : at < n ? at : n - 1;
}

/* Returns the place of a piece of @bytes. NULL: it is outside. */
static u8 *place(const struct exec_surface *s, struct spot p, u32 bytes, bool clamp)
{
	s64 x = (s64)p.x / bytes, width = s->width / bytes;
	s64 y = p.y, z = p.layer ? (s64)(u32)p.z : p.z;

	if (clamp) {
		x = nearest(x, width);
		y = nearest(y, s->rows);
		z = nearest(z, s->planes);
	}
	if (!inside(x, width) || !inside(y, s->rows) || !inside(z, s->planes))
		return NULL;
	return s->base + z * s->slice + y * s->pitch + x * bytes;
}

/* Moves a lane's bytes from or to @buf. Returns nonzero if it recorded a fault. */
static int move(struct warp *w, const struct insn *in, u32 l, const struct exec_surface *s,
		bool write, u8 buf[MAX_BYTES])
{
	u32 bytes = in->n * in->size;
	struct spot p = spot_of(w, in, l);
	u8 *at = place(s, p, bytes, in->mode & MODE_CLAMP);

	if (p.x & (bytes - 1))
		return exec_fault(w, EXEC_MISALIGNED, in, l, (u32)p.x);
	/* Clamped, a row that is too short for a single piece has none. */
	if (!at && !(in->mode & (MODE_ZERO | MODE_CLAMP)))
		return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, (u32)p.x);
	if (at && write)
		memcpy(at, buf, bytes);
	else if (at)
		memcpy(buf, at, bytes);
	return 0;
}

static bool find(struct warp *w, const struct insn *in, u64 handle, struct exec_surface *s)
{
	const struct exec_mem *m = w->m->l->mem;
	bool layered = in->sub == TEX_A1D || in->sub == TEX_A2D;

	return m->surface && m->surface(m->ctx, handle, s) && s->layered == layered;
}

static int access(struct warp *w, const struct insn *in, u32 mask, bool write)
{
	const s32 *list = w->m->img->vecs + in->vec;
	const u64 *handle = src(w, in->a);
	struct exec_surface s = { 0 };
	u64 known = 0, h;

	EACH_ACTIVE {
		u8 buf[MAX_BYTES] = { 0 };

		h = in->sub2 & TEX_REFERENCE ? *(const u64 *)(uintptr_t)handle[l] : handle[l];
		if (h != known || !s.base) {
			if (!find(w, in, h, &s))
				return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, h);
			known = h;
		}
		for (u32 i = 0; i < in->n && write; i++)
			memcpy(buf + i * in->size, (u8 *)src(w, list[i]) + l * in->wide, in->size);
		if (move(w, in, l, &s, write, buf))
			return 1;
		for (u32 i = 0; i < in->n && !write; i++) {
			u64 v = 0;

			memcpy(&v, buf + i * in->size, in->size);
			memcpy((u8 *)dst(w, list[i]) + l * in->wide, &v, in->wide);
		}
	}
	return 0;
}

DEFINE(suld) { return access(w, in, mask, false); }
DEFINE(sust) { return access(w, in, mask, true); }
