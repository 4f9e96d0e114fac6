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

/* ---- cubes ---- */

/* A direction as PTX gives it becomes a face and a place on it, from -1 to 1. */
struct on_face {
	u32 face;
	float s, t;
};

static float ratio(float a, float m)
{
	float r = a / m;

	return r == r ? r : 0;	/* the null vector is the middle of a face */
}

/* Of equal coordinates z goes first, then y, as on a GPU. */
static struct on_face find_face(const float v[3])
{
	float x = v[0], y = v[1], z = v[2], ax = fabsf(x), ay = fabsf(y), az = fabsf(z);

	if (!(ax > az) && !(ay > az))
		return (struct on_face){ 4 + (z < 0), ratio(z < 0 ? -x : x, az), ratio(-y, az) };
	if (!(ax > ay))
		return (struct on_face){ 2 + (y < 0), ratio(x, ay), ratio(y < 0 ? -z : z, ay) };
	return (struct on_face){ x < 0, ratio(x < 0 ? z : -z, ax), ratio(-y, ax) };
}

/* The reverse: the direction of a place that may lie beside its face. */
static void direction(struct on_face f, float v[3])
{
	const float all[6][3] = {
		{ 1, -f.t, -f.s }, { -1, -f.t, f.s }, { f.s, 1, f.t },
		{ f.s, -1, -f.t }, { f.s, -f.t, 1 }, { -f.s, -f.t, -1 },
	};

	memcpy(v, all[f.face], sizeof(all[0]));
}

static int64_t texel_at(float s, int64_t n)
{
	int64_t i = floorf((s + 1) / 2 * n);

	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* Reads texel (x, y) of a face of a cube. One coordinate may be one texel beside the face. */
static void cube_texel(const struct exec_texture *t, u32 cube, u32 face, int64_t x, int64_t y,
		       u32 out[4])
{
	int64_t n = t->size[0];
	struct on_face f = { face, (2 * x + 1) / (float)n - 1, (2 * y + 1) / (float)n - 1 };
	float v[3];

	if (x < 0 || x >= n || y < 0 || y >= n) {
		direction(f, v);
		f = find_face(v);
		x = texel_at(f.s, n);
		y = texel_at(f.t, n);
	}
	texel(t, x, y, 6 * cube + f.face, out);
}

/*
 * Filters four texels of a cube, some of which may lie in the next faces. At a corner of the
 * cube only three texels meet; the fourth is their mean.
 */
static void cube_filter(const struct exec_texture *t, u32 cube, struct on_face f, u32 out[4])
{
	int64_t n = t->size[0];
	float x = (f.s + 1) / 2 * n - 0.5f, y = (f.t + 1) / 2 * n - 0.5f;
	int64_t x0 = floorf(x), y0 = floorf(y);
	float a = rintf((x - x0) * 256) / 256, b = rintf((y - y0) * 256) / 256;
	float weight[4] = { (1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b };
	float v[4][4], sum[4] = { 0 };
	int missing = -1;

	for (int i = 0; i < 4; i++) {
		int64_t xi = x0 + (i & 1), yi = y0 + (i >> 1);

		if ((xi < 0 || xi >= n) && (yi < 0 || yi >= n)) {
			missing = i;
			continue;
		}
		cube_texel(t, cube, f.face, xi, yi, (u32 *)v[i]);
	}
	for (int k = 0; k < 4; k++) {
		if (missing >= 0)
			v[missing][k] = (v[missing ^ 1][k] + v[missing ^ 2][k] +
					 v[missing ^ 3][k]) / 3;
		for (int i = 0; i < 4; i++)
			sum[k] += weight[i] ? weight[i] * v[i][k] : 0;
	}
	memcpy(out, sum, sizeof(sum));
}

/* ---- fetches ---- */

/* What a shape of the instruction needs. A cube has three coordinates on two axes. */
static const struct {
	uint8_t axes;
	bool layered, cube;
} shapes[] = {
	[TEX_1D] = { 1, false, false }, [TEX_2D] = { 2, false, false },
	[TEX_3D] = { 3, false, false }, [TEX_A1D] = { 1, true, false },
	[TEX_A2D] = { 2, true, false }, [TEX_CUBE] = { 2, false, true },
	[TEX_ACUBE] = { 2, true, true },
};

static bool find(struct warp *w, const struct insn *in, u64 handle, struct exec_texture *t)
{
	const struct exec_mem *m = w->m->l->mem;

	return m->texture && m->texture(m->ctx, handle, t) &&
	       t->layered == shapes[in->sub].layered && t->cube == shapes[in->sub].cube;
}

static u32 bits_of(const struct warp *w, int32_t operand, u32 l)
{
	return ((const u32 *)src(w, operand))[l];
}

/* A layer beyond the last one is the last one. */
static u32 layer_of(const struct exec_texture *t, u32 layer)
{
	u32 n = t->size[2] / (t->cube ? 6 : 1);

	return layer < n ? layer : n - 1;
}

static void fetch_cube(const struct exec_texture *t, u32 cube, const float v[3], u32 out[4])
{
	struct exec_texture faces = *t;
	struct on_face f = find_face(v);
	struct place p[3] = { 0 };

	if (t->seamless && t->linear) {
		cube_filter(t, cube, f, out);
		return;
	}
	faces.normalized = true;
	if (t->seamless)
		faces.mode[0] = faces.mode[1] = TEX_CLAMP;
	p[0] = find_place(&faces, 0, (f.s + 1) / 2);
	p[1] = find_place(&faces, 1, (f.t + 1) / 2);
	p[2].at[0] = p[2].at[1] = 6 * cube + f.face;
	if (t->linear)
		filter(t, p, 2, out);
	else
		texel(t, p[0].at[0], p[1].at[0], p[2].at[0], out);
}

/* @list: the operands of the coordinates. */
static void fetch(struct warp *w, const struct insn *in, const struct exec_texture *t, u32 l,
		  const int32_t *list, u32 out[4])
{
	int axes = shapes[in->sub].axes;
	struct place p[3] = { 0 };
	u32 layer = 0;
	float v[3];

	if (t->layered)
		layer = layer_of(t, bits_of(w, *list++, l));
	if (t->cube) {
		for (int a = 0; a < 3; a++)
			v[a] = bits_f32(bits_of(w, list[a], l));
		fetch_cube(t, layer, v, out);
		return;
	}
	p[2].at[0] = layer;
	for (int a = 0; a < axes; a++) {
		u32 c = bits_of(w, list[a], l);

		if (in->sub2 & TEX_FLOATS)
			p[a] = find_place(t, a, bits_f32(c));
		else	/* in texels; behind linear memory there are zeros */
			p[a].at[0] = c < t->size[a] ? (s32)c : t->fetch ? -1 :
				     wrapped(t, a, (s32)c);
	}
	if (t->linear && in->sub2 & TEX_FLOATS)
		filter(t, p, axes, out);
	else
		texel(t, p[0].at[0], p[1].at[0], p[2].at[0], out);
}

/*
 * Fetches a texture of shape in->sub. The coordinates follow the four results, and are float if
 * in->sub2 has TEX_FLOATS.
 */
DEFINE(tex)
{
	const int32_t *v = w->m->img->vecs + in->vec;
	const u64 *handle = src(w, in->a);
	struct exec_texture t = { 0 };
	u64 known = 0, h;

	EACH_ACTIVE {
		u32 out[4];

		/* The loader has put the address of a reference there. */
		h = in->sub2 & TEX_REFERENCE ? *(const u64 *)(uintptr_t)handle[l] : handle[l];
		if (h != known || !t.base) {
			if (!find(w, in, h, &t))
				return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, h);
			known = h;
		}
		fetch(w, in, &t, l, v + 4, out);
		for (int i = 0; i < 4; i++)
			((u32 *)dst(w, v[i]))[l] = out[i];
	}
	return 0;
}
