// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers: loads of words from shared memory that share what is known about their
 * addresses (insn.slot), and the instructions that are fused with them (insn.len).
 */
#include <string.h>

#include "scan.h"

/* In loops the addresses of a tile mostly stay the same: comparing is cheaper than scanning. */
static inline bool slot_knows(const struct slot *s, const u32 *p, u32 bytes)
{
#ifdef EXEC_V3
	const __m256i *a = (const __m256i *)s->of, *b = (const __m256i *)p;
	__m256i other = _mm256_setzero_si256();

	for (int i = 0; i < WARP_LANES / GROUP_LANES; i++)
		other = _mm256_or_si256(other, _mm256_xor_si256(_mm256_loadu_si256(a + i),
								_mm256_loadu_si256(b + i)));
	return s->bytes == bytes && _mm256_testz_si256(other, other);
#else
	return s->bytes == bytes && !memcmp(s->of, p, sizeof(s->of));
#endif
}

/*
 * Loads words of shared memory at addresses in a 32-bit register that other loads use as
 * well (insn.slot). Bad addresses and partial warps go to the general code.
 */
static inline struct slot *slot_fill(struct warp *w, const struct insn *in,
				     u32 bytes)
{
	struct slot *s = &w->slot[in->slot & (NSLOTS - 1)];
	const u32 *p = src(w, in->a);

	if (in->slot & SLOT_KNOWN || slot_knows(s, p, bytes))
		return s;
	scan_groups(p, 0, bytes, &s->ac, &s->any, &s->hi);
	s->ac.kind = kind_of_groups(&s->ac, bytes);
	s->ac.global = false;
	s->bytes = bytes;
	memcpy(s->of, p, sizeof(s->of));
	return s;
}

static inline bool slot_holds(const struct warp *w, const struct slot *s,
			      s64 imm, u32 bytes)
{
	return !((s->any | (u32)imm) & (bytes - 1)) && imm >= 0 &&
	       s->hi + (u64)imm + bytes <= w->cta->shared_size;
}

static inline struct access *slot_resolve(struct warp *w, const struct insn *in,
					  u32 bytes)
{
	struct slot *s = slot_fill(w, in, bytes);

	if (!slot_holds(w, s, in->imm, bytes))
		return NULL;
	s->ac.base = (uintptr_t)w->cta->shared + in->imm;
	return &s->ac;
}

int OP(ld_4_4)(HANDLER_ARGS);
#ifdef EXEC_V3
int fma_f32_v3(HANDLER_ARGS);
int fma_ldshared_v3(HANDLER_ARGS);
int fma_run_v3(HANDLER_ARGS);
#endif

DEFINE(ldshared_4)
{
	struct access *ac = mask == WARP_FULL ? slot_resolve(w, in, 4) : NULL;
	u32 *d = dst(w, in->d);

	if (!ac)
		return OP(ld_4_4)(w, in, mask);
	for (u32 g = 0; g < WARP_LANES; g += GROUP_LANES) {
		const u32 *p = access_at(ac, g), v = *p;
		u8 kind = ac->group[g / GROUP_LANES];

		for (u32 l = 0; l < GROUP_LANES; l++)
			d[g + l] = kind == ACCESS_LINEAR ? p[l] :
				   kind == ACCESS_UNIFORM ? v :
				   *(const u32 *)access_at(ac, g + l);
	}
	return 0;
}

/* ---- fused instructions: the inner loops of matrix products ---- */

/*
 * The instructions stay in the code, but the handler of the first one does the work of all
 * insn.len. Each writes its register, as it would alone, unless another one of the run
 * overwrites the register before it is read (insn.dead).
 */
#ifdef EXEC_V3
/* Inlining is required, since it makes the kinds of access constants. */
#define INLINE	inline __attribute__((always_inline))

static inline __m256 eight_words(const struct access *ac, u32 g, s64 off,
				 enum access_kind kind)
{
	const u8 *base = (const u8 *)ac->base + off;
	const u64 *a = ac->a + g;

	if (kind == ACCESS_UNIFORM)
		return _mm256_broadcast_ss((const float *)(base + a[0]));
	if (kind == ACCESS_LINEAR)
		return _mm256_loadu_ps((const float *)(base + a[0]));
#define WORD(l) (*(const float *)(base + a[l]))
	return _mm256_setr_ps(WORD(0), WORD(1), WORD(2), WORD(3), WORD(4),
			      WORD(5), WORD(6), WORD(7));
#undef WORD
}

static inline __m256 canon_words(__m256 v)
{
	__m256 bad = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);

	return _mm256_blendv_ps(v, _mm256_castsi256_ps(
				_mm256_set1_epi32(0x7fffffff)), bad);
}

/* Computes fma for eight lanes, with canonical NaNs. */
static inline __m256 fma_words(__m256 a, __m256 b, __m256 c)
{
	return canon_words(_mm256_fmadd_ps(a, b, c));
}

/* Runs ld.shared, ld.shared and their fma insn.len / 3 times, for eight lanes. */
static inline void load_fma(struct warp *w, const struct insn *in, u32 g,
			    const struct access *x, const struct access *y,
			    enum access_kind kx, enum access_kind ky)
{
	const struct insn *end = in + in->len;
	s64 x0 = in->imm, y0 = in[1].imm;
	u8 *regs = w->bank[0] + 4 * g;
	__m256 sum = _mm256_setzero_ps();
	int32_t last = -1;

	for (; in < end; in += 3) {
		__m256 a = eight_words(x, g, in->imm - x0, kx);
		__m256 b = eight_words(y, g, in[1].imm - y0, ky);

		/* Mostly the sum is the previous one, so it need not be read again. */
		if (in[2].c != last)
			sum = _mm256_loadu_ps((float *)src(w, in[2].c) + g);
		/* A NaN stays a NaN; only stored values must be canonical. */
		sum = _mm256_fmadd_ps(a, b, sum);
		if (!in->dead)
			_mm256_storeu_ps((float *)(regs + in->d), a);
		if (!in[1].dead)
			_mm256_storeu_ps((float *)(regs + in[1].d), b);
		if (!in[2].dead)
			_mm256_storeu_ps((float *)(regs + in[2].d), canon_words(sum));
		last = in[2].d;
	}
}

/* Four times eight lanes: a whole register of the warp. */
struct row {
	__m256 v[WARP_LANES / GROUP_LANES];
};

static inline struct row row_load(const float *p)
{
	struct row r;

	for (int g = 0; g < WARP_LANES / GROUP_LANES; g++)
		r.v[g] = _mm256_loadu_ps(p + GROUP_LANES * g);
	return r;
}

static inline void row_store(float *p, struct row r)
{
	for (int g = 0; g < WARP_LANES / GROUP_LANES; g++)
		_mm256_storeu_ps(p + GROUP_LANES * g, r.v[g]);
}

/* Addresses of the lines or words of the four groups. */
struct starts {
	const u8 *p[WARP_LANES / GROUP_LANES];
};

static inline struct starts starts_of(const struct access *ac)
{
	struct starts s;

	for (int g = 0; g < WARP_LANES / GROUP_LANES; g++)
		s.p[g] = access_at(ac, GROUP_LANES * g);
	return s;
}

static INLINE __m256 line_or_word(const u8 *p, enum access_kind kind)
{
	return kind == ACCESS_LINEAR ? _mm256_loadu_ps((const float *)p) :
				       _mm256_broadcast_ss((const float *)p);
}

/* Does the same for a warp whose groups are alike, so each instruction is read once. */
static INLINE void load_fma_warp(struct warp *w, const struct insn *in,
				 const struct access *x, const struct access *y,
				 enum access_kind kx, enum access_kind ky)
{
	const struct starts xs = starts_of(x), ys = starts_of(y);
	const struct insn *end = in + in->len;
	s64 x0 = in->imm, y0 = in[1].imm;
	struct row a, b, sum = { 0 };
	int32_t last = -1;

	for (; in < end; in += 3) {
		s64 xo = in->imm - x0, yo = in[1].imm - y0;

		if (in[2].c != last)
			sum = row_load(src(w, in[2].c));
		for (u32 g = 0; g < WARP_LANES / GROUP_LANES; g++) {
			a.v[g] = line_or_word(xs.p[g] + xo, kx);
			b.v[g] = line_or_word(ys.p[g] + yo, ky);
			/* A NaN stays a NaN; only stored values must be canonical. */
			sum.v[g] = _mm256_fmadd_ps(a.v[g], b.v[g], sum.v[g]);
		}
		if (!in->dead)
			row_store(dst(w, in->d), a);
		if (!in[1].dead)
			row_store(dst(w, in[1].d), b);
		if (!in[2].dead) {
			struct row d = sum;

			for (u32 g = 0; g < WARP_LANES / GROUP_LANES; g++)
				d.v[g] = canon_words(d.v[g]);
			row_store(dst(w, in[2].d), d);
		}
		last = in[2].d;
	}
}

/* Returns the kind of all groups if they are alike, else ACCESS_SCATTER. */
static inline enum access_kind all_groups(const struct access *ac)
{
	u32 four;

	memcpy(&four, ac->group, sizeof(four));
	return four == ACCESS_LINEAR * 0x01010101u ? ACCESS_LINEAR :
	       four == ACCESS_UNIFORM * 0x01010101u ? ACCESS_UNIFORM :
	       ACCESS_SCATTER;
}

static int one_by_one(struct warp *w, const struct insn *in, u32 mask)
{
	const struct insn *end = in + in->len;

	for (; in < end; in += 3)
		if (ldshared_4_v3(w, in, mask) ||
		    ldshared_4_v3(w, in + 1, mask) ||
		    fma_f32_v3(w, in + 2, mask))
			return 1;
	return 0;
}

int fma_ldshared_v3(HANDLER_ARGS)
{
	const struct access *x, *y;

	/* Check the last instructions first: their offsets are the largest (fuse()). */
	if (mask != WARP_FULL ||
	    !slot_holds(w, slot_fill(w, in, 4), in[in->len - 3].imm, 4) ||
	    !slot_holds(w, slot_fill(w, in + 1, 4), in[in->len - 2].imm, 4))
		return one_by_one(w, in, mask);
	x = slot_resolve(w, in, 4);
	y = slot_resolve(w, in + 1, 4);
	if (!x || !y || x == y)
		return one_by_one(w, in, mask);
	if (all_groups(x) == ACCESS_LINEAR && all_groups(y) == ACCESS_UNIFORM) {
		load_fma_warp(w, in, x, y, ACCESS_LINEAR, ACCESS_UNIFORM);
		return 0;
	}
	if (all_groups(x) == ACCESS_UNIFORM && all_groups(y) == ACCESS_LINEAR) {
		load_fma_warp(w, in, x, y, ACCESS_UNIFORM, ACCESS_LINEAR);
		return 0;
	}
	for (u32 g = 0; g < WARP_LANES; g += GROUP_LANES) {
		u8 kx = x->group[g / GROUP_LANES];
		u8 ky = y->group[g / GROUP_LANES];

		load_fma(w, in, g, x, y, kx, ky);
	}
	return 0;
}

/* Runs any number of fma, one after the other. */
int fma_run_v3(HANDLER_ARGS)
{
	const struct insn *end = in + in->len;

	for (; in < end; in++) {
		const float *a = src(w, in->a), *b = src(w, in->b);
		const float *c = src(w, in->c);
		float *d = dst(w, in->d);

		if (mask != WARP_FULL) {
			fma_f32_v3(w, in, mask);
			continue;
		}
		for (u32 g = 0; g < WARP_LANES; g += GROUP_LANES)
			_mm256_storeu_ps(d + g,
				fma_words(_mm256_loadu_ps(a + g),
					  _mm256_loadu_ps(b + g),
					  _mm256_loadu_ps(c + g)));
	}
	return 0;
}
#endif

/* Loads four words each for eight lanes, to four registers. */
#ifdef EXEC_V3
static inline __m256 two_lanes(const struct access *ac, u32 l)
{
	return _mm256_insertf128_ps(
		_mm256_castps128_ps256(_mm_loadu_ps(access_at(ac, l))),
		_mm_loadu_ps(access_at(ac, l + 4)), 1);
}

static inline void take_words(const struct access *ac, u32 g, u32 *const d[4])
{
	__m256 a = two_lanes(ac, g), b = two_lanes(ac, g + 1);
	__m256 c = two_lanes(ac, g + 2), e = two_lanes(ac, g + 3);
	__m256 p = _mm256_unpacklo_ps(a, b), q = _mm256_unpackhi_ps(a, b);
	__m256 r = _mm256_unpacklo_ps(c, e), s = _mm256_unpackhi_ps(c, e);

	_mm256_storeu_ps((float *)d[0] + g, _mm256_shuffle_ps(p, r, 0x44));
	_mm256_storeu_ps((float *)d[1] + g, _mm256_shuffle_ps(p, r, 0xee));
	_mm256_storeu_ps((float *)d[2] + g, _mm256_shuffle_ps(q, s, 0x44));
	_mm256_storeu_ps((float *)d[3] + g, _mm256_shuffle_ps(q, s, 0xee));
}
#else
static inline void take_words(const struct access *ac, u32 g, u32 *const d[4])
{
	for (u32 l = g; l < g + GROUP_LANES; l++) {
		const u32 *p = access_at(ac, l);

		for (int i = 0; i < 4; i++)
			d[i][l] = p[i];
	}
}
#endif

static inline void spread_words(const struct access *ac, u32 g, u32 *const d[4])
{
	const u32 *p = access_at(ac, g);

	for (int i = 0; i < 4; i++) {
		u32 v = p[i], *to = d[i] + g;

		for (int l = 0; l < GROUP_LANES; l++)
			to[l] = v;
	}
}

DEFINE(ldshared_4x4)
{
	struct access *ac = mask == WARP_FULL ? slot_resolve(w, in, 16) : NULL;
	const int32_t *v = w->m->img->vecs + in->vec;
	u32 *const d[4] = { dst(w, v[0]), dst(w, v[1]), dst(w, v[2]),
			    dst(w, v[3]) };

	if (!ac)
		return OP(ld_4_4)(w, in, mask);
	for (u32 g = 0; g < WARP_LANES; g += GROUP_LANES) {
		if (ac->group[g / GROUP_LANES] == ACCESS_UNIFORM)
			spread_words(ac, g, d);
		else
			take_words(ac, g, d);
	}
	return 0;
}
