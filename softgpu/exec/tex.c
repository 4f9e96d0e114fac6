// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers: texture fetches. Addressing and filtering follow the CUDA programming guide: a
 * weight of linear filtering has 8 bits of fraction. Lanes run one after the other, since
 * the parallel work of a texture unit has no equivalent in vector code.
 */
#include <math.h>
#include <string.h>

#include "ops.h"
#include "soft.h"

/* A place between two texels: the texel before, the texel behind, and the latter's weight. */
struct place {
	int64_t at[2];
	float weight;
};

static float whole(float x)
{
	/* A NaN becomes 0. No axis has texels beyond these limits. */
	return x >= -1e6f ? x <= 1e6f ? floorf(x) : 1e6f : x < 0 ? -1e6f : 0;
}

/* Returns the texel that the address mode selects, or -1 for the border. */
static int64_t wrapped(const struct exec_texture *t, int axis, int64_t i)
{
	int64_t n = t->size[axis], r;
	uint8_t mode = t->mode[axis];

	if (i >= 0 && i < n)
		return i;
	if (mode == TEX_BORDER)
		return -1;
	if (!t->normalized || mode == TEX_CLAMP)
		return i < 0 ? 0 : n - 1;
	if (mode == TEX_WRAP)
		return (i % n + n) % n;
	r = (i % (2 * n) + 2 * n) % (2 * n);
	return r < n ? r : 2 * n - 1 - r;
}

static struct place find_place(const struct exec_texture *t, int axis, float x)
{
	struct place p = { { 0, 0 }, 0 };
	float first;

	if (t->normalized)
		x *= t->size[axis];
	if (t->linear) {
		x -= 0.5f;
		p.weight = x == x && fabsf(x) < 1e6f ? rintf((x - floorf(x)) * 256) / 256 : 0;
	}
	first = whole(x);
	p.at[0] = wrapped(t, axis, first);
	p.at[1] = wrapped(t, axis, (int64_t)first + 1);
	return p;
}

/* Returns one channel in the texture's format: the bits of a float or of an integer. */
static u32 channel(const struct exec_texture *t, const u8 *p)
{
	u32 v = 0;
	float f;

	memcpy(&v, p, t->bytes);
	switch (t->format) {
	case TEX_HALF:
		f = soft_to_double(soft_unpack(v, &fmt_f16));
		break;
	case TEX_FLOAT:
		return v;
	case TEX_UINT:
		if (!t->promote)
			return v;
		f = t->bytes == 1 ? v / 255.0f : v / 65535.0f;
		break;
	default:
		v = t->bytes == 1 ? (u32)(s8)v : t->bytes == 2 ? (u32)(s16)v : v;
		if (!t->promote)
			return v;
		f = (s32)v / (t->bytes == 1 ? 127.0f : 32767.0f);
		f = f < -1 ? -1 : f;
		break;
	}
	memcpy(&v, &f, sizeof(v));
	return v;
}

/* Reads texel (x, y, z). A coordinate is inside its axis, or -1 for the border. */
static void texel(const struct exec_texture *t, int64_t x, int64_t y, int64_t z, u32 out[4])
{
	const u8 *p = t->base + z * t->slice + y * t->pitch + x * t->bytes * t->channels;

	memset(out, 0, 4 * sizeof(*out));
	if (x < 0 || y < 0 || z < 0) {
		memcpy(out, t->border, sizeof(t->border));
		return;
	}
	for (u32 i = 0; i < t->channels; i++)
		out[i] = channel(t, p + i * t->bytes);
}

static void filter(const struct exec_texture *t, const struct place p[3], int axes, u32 out[4])
{
	float sum[4] = { 0 };

	for (int corner = 0; corner < 1 << axes; corner++) {
		float weight = 1, v[4];
		u32 one[4];

		for (int a = 0; a < axes; a++)
			weight *= corner >> a & 1 ? p[a].weight : 1 - p[a].weight;
		texel(t, p[0].at[corner & 1], p[1].at[corner >> 1 & 1], p[2].at[corner >> 2 & 1],
		      one);
		memcpy(v, one, sizeof(v));
		/* A texel of weight 0 may be infinite, so it must not be added. */
		for (int i = 0; weight && i < 4; i++)
			sum[i] += weight * v[i];
	}
	memcpy(out, sum, sizeof(sum));
}

static bool find(struct warp *w, u64 handle, struct exec_texture *t)
{
	const struct exec_mem *m = w->m->l->mem;

	return m->texture && m->texture(m->ctx, handle, t);
}

/*
 * Fetches with in->sub axes. The coordinates follow the four results, and are float if in->sub2 has
 * TEX_FLOATS.
 */
DEFINE(tex)
{
	const int32_t *v = w->m->img->vecs + in->vec;
	const u64 *handle = src(w, in->a);
	struct exec_texture t = { 0 };
	u64 known = 0, h;

	EACH_ACTIVE {
		struct place p[3] = { 0 };
		u32 out[4];

		/* The loader has put the address of a reference there. */
		h = in->sub2 & TEX_REFERENCE ? *(const u64 *)(uintptr_t)handle[l] : handle[l];
		if (h != known || !t.base) {
			if (!find(w, h, &t))
				return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, h);
			known = h;
		}
		for (int a = 0; a < in->sub; a++) {
			const u32 *c = (const u32 *)src(w, v[4 + a]) + l;
			float x;

			memcpy(&x, c, sizeof(x));
			if (in->sub2 & TEX_FLOATS)
				p[a] = find_place(&t, a, x);
			else	/* in texels; behind linear memory there are zeros */
				p[a].at[0] = (u32)*c < t.size[a] ? (s32)*c : t.fetch ? -1 :
					     wrapped(&t, a, (s32)*c);
		}
		if (t.linear && in->sub2 & TEX_FLOATS)
			filter(&t, p, in->sub, out);
		else
			texel(&t, p[0].at[0], p[1].at[0], p[2].at[0], out);
		for (int i = 0; i < 4; i++)
			((u32 *)dst(w, v[i]))[l] = out[i];
	}
	return 0;
}
