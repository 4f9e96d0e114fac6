/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: loads, stores, asynchronous copies. Every access is checked before it is made:
 * global memory against the driver's allocations, the windows against their sizes. If all
 * lanes lie in one allocation, the check is one range comparison for the whole warp.
 */
#include <string.h>
#ifdef EXEC_V3
#include <immintrin.h>
#endif

#include "scan.h"

/* ---- addresses ---- */

static const u64 lane_no[WARP_LANES] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
	20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
};

/* Inactive lanes get the address of an active lane. */
static void gather_addresses(struct warp *w, const struct insn *in, u32 mask,
			     u64 *a)
{
	u64 imm = in->imm, fill;

	if (in->a32) {
		const u32 *p = src(w, in->a);

		EACH_LANE a[l] = (u32)(p[l] + imm);
	} else {
		const u64 *p = src(w, in->a);

		EACH_LANE a[l] = p[l] + imm;
	}
	if (mask == WARP_FULL)
		return;
	fill = a[__builtin_ctz(mask)];
	EACH_LANE a[l] = mask & lane_bit[l] ? a[l] : fill;
}

static enum access_kind kind_of(struct access *ac, u32 mask, u32 bytes)
{
	const u64 *a = ac->a, first = a[0];
	u64 line = 0, same = 0, all = ~0ull;

	for (int l = 0; l < WARP_LANES; l++) {
		line |= a[l] ^ (first + lane_no[l] * bytes);
		same |= a[l] ^ first;
	}
	if (mask != WARP_FULL)
		return ACCESS_SCATTER;
	if (!line || !same)
		return !line ? ACCESS_LINEAR : ACCESS_UNIFORM;
	/* The lanes may access rows of a tile that is narrower than a warp. */
	for (int g = 0; g < WARP_LANES; g += GROUP_LANES) {
		u64 d = 0;

		for (int l = 0; l < GROUP_LANES; l++)
			d |= a[g + l] ^ (a[g] + lane_no[l] * bytes);
		ac->group[g / GROUP_LANES] = d ? ACCESS_SCATTER : ACCESS_LINEAR;
		all &= !d;
	}
	return all ? ACCESS_GROUPS : ACCESS_SCATTER;
}

/* The lowest and the highest address, and the OR of all addresses. */
struct span {
	u64 lo, hi, any;
};

static struct span span_of(const u64 *a, enum access_kind kind, u32 bytes)
{
	s64 lo = a[0], hi = a[0];
	u64 any = 0;

	/*
	 * If a line wraps around, lo is above hi; the same holds for addresses with the top
	 * bit set.
	 */
	if (kind == ACCESS_LINEAR || kind == ACCESS_UNIFORM)
		return (struct span){ lo, kind == ACCESS_LINEAR ?
				      a[0] + 31 * bytes : a[0], lo };
	/* Device addresses have a clear top bit, so signed order is right. */
	for (int l = 0; l < WARP_LANES; l++) {
		lo = (s64)a[l] < lo ? (s64)a[l] : lo;
		hi = (s64)a[l] > hi ? (s64)a[l] : hi;
		any |= a[l];
	}
	return (struct span){ lo, hi, any };
}

static bool range_holds(const struct exec_range *r, u64 lo, u64 hi, u32 bytes,
			bool write)
{
	/* lo is above hi if the address of some lane has the top bit set. */
	return lo <= hi && r->size >= bytes && lo >= r->base &&
	       hi - r->base <= r->size - bytes && (!write || r->writable);
}

/* Checks lane by lane, if the addresses of a warp are not all in one known range. */
static int check_lanes(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, const u64 *a)
{
	EACH_ACTIVE {
		const struct exec_range *r = exec_find(w->m, a[l]);

		if (!r || !range_holds(r, a[l], a[l], bytes, write))
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, a[l]);
	}
	return 0;
}

static int check_global(struct warp *w, const struct insn *in, u32 mask,
			u32 bytes, bool write, struct access *ac,
			struct span s)
{
	const struct exec_range *r = w->m->range;

	ac->base = 0;
	ac->global = true;
	for (int i = 0; i < NRANGES; i++)
		if (range_holds(&r[i], s.lo, s.hi, bytes, write))
			return 0;
	return check_lanes(w, in, mask, bytes, write, ac->a);
}

/* Checks shared, local or parameter memory, which reaches from 0 to @size. */
static int check_window(struct warp *w, const struct insn *in, u32 mask,
			u32 bytes, const u64 *a, u64 size, u64 window)
{
	EACH_ACTIVE
		if (a[l] > size || size - a[l] < bytes)
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l,
					  a[l] + window);
	return 0;
}

static int check_shared(struct warp *w, const struct insn *in, u32 mask,
			u32 bytes, struct access *ac, struct span s)
{
	u64 size = w->cta->shared_size;

	ac->base = (uintptr_t)w->cta->shared;
	/* Negative and wrapping addresses are found lane by lane. */
	if (!(s.any >> 63) && s.lo <= s.hi && s.hi + bytes <= size)
		return 0;
	return check_window(w, in, mask, bytes, ac->a, size, WIN_SHARED);
}

/* Resolves addresses in the shared memory of a cluster, most of which are the block's own. */
static int check_cluster(struct warp *w, const struct insn *in, u32 mask,
			 u32 bytes, struct access *ac, struct span s)
{
	if (!(s.any >> CLUSTER_SHIFT))
		return check_shared(w, in, mask, bytes, ac, s);
	ac->base = 0;
	ac->kind = ACCESS_SCATTER;
	EACH_ACTIVE {
		u8 *p = exec_shared(w, ac->a[l], bytes);

		if (!p)
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l,
					  ac->a[l] + WIN_SHARED);
		ac->a[l] = (uintptr_t)p;
	}
	return 0;
}

static int check_local(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, struct access *ac)
{
	u64 size = w->m->local_size;

	if (check_window(w, in, mask, bytes, ac->a, size, WIN_LOCAL))
		return 1;
	ac->base = (uintptr_t)w->local;
	ac->kind = ACCESS_SCATTER;
	EACH_LANE ac->a[l] += lane_no[l] * size;
	return 0;
}

static int check_param(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, struct access *ac)
{
	u64 size = w->m->l->fn->param_bytes;

	ac->base = (uintptr_t)w->m->l->params;
	if (write)
		size = 0;
	return check_window(w, in, mask, bytes, ac->a, size, WIN_PARAM);
}

/* Resolves lanes in different windows. Each lane gets a host address of its own. */
static int check_mixed(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, struct access *ac)
{
	ac->base = 0;
	ac->kind = ACCESS_SCATTER;
	ac->global = true;
	EACH_ACTIVE {
		u8 *p = exec_generic(w, l, ac->a[l], bytes, write);

		if (!p)
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l,
					  ac->a[l]);
		ac->a[l] = (uintptr_t)p;
	}
	return 0;
}

static int check_generic(struct warp *w, const struct insn *in, u32 mask,
			 u32 bytes, bool write, struct access *ac,
			 struct span s)
{
	u64 win = ac->a[0] & WIN_MASK, other = 0;

	for (int l = 0; l < WARP_LANES; l++)
		other |= (ac->a[l] ^ win) & WIN_MASK;
	if (other)
		return check_mixed(w, in, mask, bytes, write, ac);
	if (!win)
		return check_global(w, in, mask, bytes, write, ac, s);
	EACH_LANE ac->a[l] &= ~WIN_MASK;
	s.lo &= ~WIN_MASK;
	s.hi &= ~WIN_MASK;
	s.any &= ~WIN_MASK;
	if (win == WIN_SHARED)
		return check_cluster(w, in, mask, bytes, ac, s);
	if (win == WIN_LOCAL)
		return check_local(w, in, mask, bytes, ac);
	if (win == WIN_PARAM)
		return check_param(w, in, mask, bytes, write, ac);
	EACH_LANE ac->a[l] |= win;
	return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, __builtin_ctz(mask),
			  ac->a[__builtin_ctz(mask)]);
}

static int misaligned(struct warp *w, const struct insn *in, u32 mask,
		      u32 bytes, const u64 *a)
{
	EACH_ACTIVE
		if (a[l] & (bytes - 1))
			return exec_fault(w, EXEC_MISALIGNED, in, l, a[l]);
	return 0;
}

/* Resolves the address of a variable in the function's frame, or of a kernel parameter. */
static int resolve_fixed(struct warp *w, const struct insn *in, u32 mask,
			 u32 bytes, bool write, struct access *ac)
{
	u64 at = in->imm + (in->space == SP_FRAME ? w->lbase : 0);

	EACH_LANE ac->a[l] = at;
	ac->kind = mask == WARP_FULL ? ACCESS_UNIFORM : ACCESS_SCATTER;
	if (misaligned(w, in, mask, bytes, ac->a))
		return 1;
	return in->space == SP_FRAME ? check_local(w, in, mask, bytes, ac) :
	       check_param(w, in, mask, bytes, write, ac);
}

/*
 * Handles the common case of shared memory, 32-bit addresses of a whole warp, in half the
 * vector width. If anything is wrong, the general code handles the access.
 */
static bool shared_fast(struct warp *w, const struct insn *in, u32 bytes,
			struct access *ac)
{
	u32 any, hi;

	scan_groups(src(w, in->a), in->imm, bytes, ac, &any, &hi);
	if (any & (bytes - 1) || (u64)hi + bytes > w->cta->shared_size)
		return false;
	ac->kind = kind_of_groups(ac, bytes);
	ac->base = (uintptr_t)w->cta->shared;
	return true;
}

/*
 * Handles the most frequent case: each eight lanes of a whole warp access consecutive words
 * of known memory, which are called a line. Returns the start of each line. Returns false
 * if this is not the case, or if anything is wrong; the general code finds out what.
 */
#ifdef EXEC_V3
#define NLINES	(WARP_LANES / GROUP_LANES)
/* The handlers of all widths share one copy of these functions. */
#define NOINLINE	__attribute__((noinline))

/*
 * A loop goes through memory in even steps, which are mostly too long for the CPU's
 * prefetcher. Therefore this fetches what the next round of this warp will load.
 */
static inline void look_ahead(struct warp *w, const struct insn *in, u8 *line[NLINES])
{
	u64 *went = &w->went[((uintptr_t)in / sizeof(*in)) % NSTRIDES];
	u64 step = (uintptr_t)line[0] - *went;

	*went = (uintptr_t)line[0];
	for (u32 i = 0; i < NLINES; i++)
		__builtin_prefetch(line[i] + step);
}

static NOINLINE bool global_lines(struct warp *w, const struct insn *in, u32 bytes,
				  bool write, u8 *line[NLINES])
{
	const __m256i size = _mm256_set1_epi64x(bytes);
	const __m256i lo4 = _mm256_mul_epu32(size, _mm256_setr_epi64x(0, 1, 2, 3));
	const __m256i hi4 = _mm256_add_epi64(lo4, _mm256_slli_epi64(size, 2));
	__m256i bad = _mm256_setzero_si256();
	const u64 *p = src(w, in->a);
	u64 lo = ~0ull, hi = 0, any = 0;

	for (u32 i = 0; i < NLINES; i++) {
		const __m256i *a = (const __m256i *)(p + GROUP_LANES * i);
		__m256i first = _mm256_set1_epi64x(p[GROUP_LANES * i]);
		u64 at = p[GROUP_LANES * i] + in->imm;

		bad = _mm256_or_si256(bad, _mm256_xor_si256(_mm256_loadu_si256(a),
				      _mm256_add_epi64(first, lo4)));
		bad = _mm256_or_si256(bad, _mm256_xor_si256(_mm256_loadu_si256(a + 1),
				      _mm256_add_epi64(first, hi4)));
		line[i] = (u8 *)(uintptr_t)at;
		lo = at < lo ? at : lo;
		hi = at > hi ? at : hi;
		any |= at;
	}
	/* The addresses are far from wrapping around and are in no window. */
	if (!_mm256_testz_si256(bad, bad) || any & (WIN_MASK | (bytes - 1)))
		return false;
	hi += (GROUP_LANES - 1) * bytes;
	for (int i = 0; i < NRANGES; i++)
		if (range_holds(&w->m->range[i], lo, hi, bytes, write)) {
			if (!write)
				look_ahead(w, in, line);
			return true;
		}
	return false;
}

static NOINLINE bool shared_lines(struct warp *w, const struct insn *in, u32 bytes,
				  u8 *line[NLINES])
{
	const __m256i lane = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
						_mm256_set1_epi32(bytes));
	__m256i bad = _mm256_setzero_si256();
	const u32 *p = src(w, in->a);
	u32 any = 0, hi = 0;

	for (u32 i = 0; i < NLINES; i++) {
		const __m256i *a = (const __m256i *)(p + GROUP_LANES * i);
		__m256i first = _mm256_set1_epi32(p[GROUP_LANES * i]);
		u32 at = p[GROUP_LANES * i] + (u32)in->imm;

		bad = _mm256_or_si256(bad, _mm256_xor_si256(_mm256_loadu_si256(a),
				      _mm256_add_epi32(first, lane)));
		line[i] = w->cta->shared + at;
		hi = at > hi ? at : hi;
		any |= at;
	}
	return _mm256_testz_si256(bad, bad) && !(any & (bytes - 1)) &&
	       (u64)hi + GROUP_LANES * bytes <= w->cta->shared_size;
}

static inline bool find_lines(struct warp *w, const struct insn *in, u32 mask, u32 bytes,
		       bool write, u8 *line[NLINES])
{
	if (mask != WARP_FULL)
		return false;
	if (in->a32)
		return in->space == SP_SHARED && shared_lines(w, in, bytes, line);
	return (in->space == SP_GLOBAL || in->space == SP_GENERIC) &&
	       global_lines(w, in, bytes, write, line);
}

/* Does the same for callers that need the address of each lane. */
static bool global_fast(struct warp *w, const struct insn *in, u32 bytes,
			bool write, struct access *ac)
{
	u8 *line[NLINES];
	bool one = true;

	if (!global_lines(w, in, bytes, write, line))
		return false;
	for (u32 i = 0; i < NLINES; i++) {
		for (u32 l = 0; l < GROUP_LANES; l++)
			ac->a[GROUP_LANES * i + l] = (uintptr_t)line[i] + l * bytes;
		ac->group[i] = ACCESS_LINEAR;
		one &= line[i] == line[0] + i * GROUP_LANES * bytes;
	}
	ac->kind = one ? ACCESS_LINEAR : ACCESS_GROUPS;
	ac->base = 0;
	ac->global = true;
	return true;
}
#endif

int OP(access_resolve)(struct warp *w, const struct insn *in, u32 mask,
		       u32 bytes, bool write, struct access *ac)
{
	struct span s;

	ac->global = false;
	if (in->space == SP_SHARED && in->a32 && mask == WARP_FULL &&
	    shared_fast(w, in, bytes, ac))
		return 0;
#ifdef EXEC_V3
	if ((in->space == SP_GLOBAL || in->space == SP_GENERIC) && !in->a32 &&
	    mask == WARP_FULL && global_fast(w, in, bytes, write, ac))
		return 0;
#endif
	ac->global = false;
	if (in->space == SP_FRAME || in->space == SP_PARAM)
		return resolve_fixed(w, in, mask, bytes, write, ac);
	gather_addresses(w, in, mask, ac->a);
	ac->kind = kind_of(ac, mask, bytes);
	s = span_of(ac->a, ac->kind, bytes);
	if (s.any & (bytes - 1) && misaligned(w, in, mask, bytes, ac->a))
		return 1;
	switch (in->space) {
	case SP_SHARED:
		return check_shared(w, in, mask, bytes, ac, s);
	case SP_CLUSTER:
		return check_cluster(w, in, mask, bytes, ac, s);
	case SP_LOCAL:
		return check_local(w, in, mask, bytes, ac);
	case SP_GENERIC:
		return check_generic(w, in, mask, bytes, write, ac, s);
	default:
		return check_global(w, in, mask, bytes, write, ac, s);
	}
}

/* ---- loads ---- */

/* If an instruction only moves lines of words from or to memory, these do all of it. */
#ifdef EXEC_V3
#define LINE(T) \
	typedef T T##_line __attribute__((vector_size(GROUP_LANES * sizeof(T)), \
					  aligned(1), may_alias))
LINE(u8); LINE(u16); LINE(u32); LINE(u64); LINE(s8); LINE(s16); LINE(s32); LINE(s64);

#define LOAD_LINES(TM, TR) do { \
	u8 *line[NLINES]; \
	if (in->n != 1 || !find_lines(w, in, mask, sizeof(TM), false, line)) \
		break; \
	for (u32 i = 0; i < NLINES; i++) \
		((TR##_line *)dst(w, in->d))[i] = \
			__builtin_convertvector(*(TM##_line *)line[i], TR##_line); \
	return 0; \
} while (0)
/* Lines are stored in order: if they overlap, the last lane's value stays. */
#define STORE_LINES(TM, TR) do { \
	u8 *line[NLINES]; \
	if (in->n != 1 || !find_lines(w, in, mask, sizeof(TM), true, line)) \
		break; \
	for (u32 i = 0; i < NLINES; i++) \
		*(TM##_line *)line[i] = \
			__builtin_convertvector(((TR##_line *)src(w, in->b))[i], TM##_line); \
	return 0; \
} while (0)
#else
#define LOAD_LINES(TM, TR)	(void)0
#define STORE_LINES(TM, TR)	(void)0
#endif
#define NO_LINES(TM, TR)	(void)0

/* TM is the type in memory, TR the type of a lane, to which the value may be extended. */
#define LOAD_BY(name, TM, TR, LINES) \
static inline void name##_group(struct access *ac, u32 g, TR *d) \
{ \
	const TM *p = access_at(ac, g); \
	u8 kind = ac->group[g / GROUP_LANES]; \
	if (kind == ACCESS_LINEAR) { \
		IVDEP \
		for (int l = 0; l < GROUP_LANES; l++) \
			d[l] = (TR)p[l]; \
	} else if (kind == ACCESS_UNIFORM) { \
		TR v = (TR)*p; \
		for (int l = 0; l < GROUP_LANES; l++) \
			d[l] = v; \
	} else { \
		for (int l = 0; l < GROUP_LANES; l++) \
			d[l] = (TR)*(const TM *)access_at(ac, g + l); \
	} \
} \
static void name##_all(struct access *ac, u32 mask, TR *d) \
{ \
	if (ac->kind == ACCESS_LINEAR) { \
		const TM *p = access_at(ac, 0); \
		EACH_LANE d[l] = (TR)p[l]; \
	} else if (ac->kind == ACCESS_UNIFORM) { \
		TR v = (TR)*(const TM *)access_at(ac, 0); \
		EACH_LANE d[l] = v; \
	} else if (ac->kind == ACCESS_GROUPS) { \
		for (u32 g = 0; g < WARP_LANES; g += GROUP_LANES) \
			name##_group(ac, g, d + g); \
	} else if (mask == WARP_FULL) { \
		for (int l = 0; l < WARP_LANES; l++) \
			d[l] = (TR)*(const TM *)access_at(ac, l); \
	} else { \
		EACH_ACTIVE d[l] = (TR)*(const TM *)access_at(ac, l); \
	} \
} \
DEFINE(name) \
{ \
	const int32_t *v; \
	struct access ac; \
	LINES(TM, TR); \
	if (OP(access_resolve)(w, in, mask, sizeof(TM) * in->n, false, &ac)) \
		return 1; \
	if (in->n == 1) { \
		name##_all(&ac, mask, dst(w, in->d)); \
		return 0; \
	} \
	v = w->m->img->vecs + in->vec; \
	for (u32 i = 0; i < in->n; i++) { \
		TR *d = dst(w, v[i]); \
		EACH_ACTIVE d[l] = (TR)((const TM *)access_at(&ac, l))[i]; \
	} \
	return 0; \
}

#define LOAD(name, TM, TR)	LOAD_BY(name, TM, TR, LOAD_LINES)
LOAD(ld_1_2, u8, u16) LOAD(ld_1_4, u8, u32) LOAD(ld_1_8, u8, u64)
LOAD(ld_2_2, u16, u16) LOAD(ld_2_4, u16, u32) LOAD(ld_2_8, u16, u64)
LOAD(ld_4_4, u32, u32) LOAD(ld_4_8, u32, u64) LOAD(ld_8_8, u64, u64)
LOAD(lds_1_2, s8, s16) LOAD(lds_1_4, s8, s32) LOAD(lds_1_8, s8, s64)
LOAD(lds_2_4, s16, s32) LOAD(lds_2_8, s16, s64) LOAD(lds_4_8, s32, s64)

/* To a device this memory is aligned to 16 bytes, but to the host it may not be. */
typedef u128 u128_any __attribute__((aligned(8)));
LOAD_BY(ld_16_16, u128_any, u128_any, NO_LINES)

/* A kernel parameter has one value for all lanes. */
#define LDPARAM(name, T) \
DEFINE(name) \
{ \
	u32 size = w->m->l->fn->param_bytes; \
	u64 at = in->imm; \
	T v; \
	if (at > size || size - at < sizeof(T)) \
		return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, \
				  __builtin_ctz(mask), WIN_PARAM + at); \
	memcpy(&v, (const u8 *)w->m->l->params + at, sizeof(v)); \
	MAP(T, (void)0, v); \
	return 0; \
}

LDPARAM(ldparam_4, u32)
LDPARAM(ldparam_8, u64)

/* ---- stores ---- */

/* Groups are stored in order: if they overlap, the last lane's value stays. */
static inline bool lines(const struct access *ac)
{
	u8 other = 0;

	for (u32 g = 0; g < WARP_LANES / GROUP_LANES; g++)
		other |= ac->group[g] ^ ACCESS_LINEAR;
	return !other;
}

#define STORE_BY(name, TM, TR, LINES) \
DEFINE(name) \
{ \
	const int32_t *v; \
	struct access ac; \
	LINES(TM, TR); \
	if (OP(access_resolve)(w, in, mask, sizeof(TM) * in->n, true, &ac)) \
		return 1; \
	if (in->n == 1) { \
		const TR *s = src(w, in->b); \
		if (ac.kind == ACCESS_LINEAR) { \
			TM *p = access_at(&ac, 0); \
			EACH_LANE p[l] = (TM)s[l]; \
		} else if (ac.kind == ACCESS_GROUPS && lines(&ac)) { \
			for (u32 g = 0; g < WARP_LANES; g += GROUP_LANES) { \
				TM *p = access_at(&ac, g); \
				IVDEP \
				for (int l = 0; l < GROUP_LANES; l++) \
					p[l] = (TM)s[g + l]; \
			} \
		} else { \
			EACH_ACTIVE *(TM *)access_at(&ac, l) = (TM)s[l]; \
		} \
		return 0; \
	} \
	v = w->m->img->vecs + in->vec; \
	for (u32 i = 0; i < in->n; i++) { \
		const TR *s = src(w, v[i]); \
		EACH_ACTIVE ((TM *)access_at(&ac, l))[i] = (TM)s[l]; \
	} \
	return 0; \
}

#define STORE(name, TM, TR)	STORE_BY(name, TM, TR, STORE_LINES)
STORE(st_1_2, u8, u16) STORE(st_1_4, u8, u32) STORE(st_1_8, u8, u64)
STORE(st_2_2, u16, u16) STORE(st_2_4, u16, u32) STORE(st_2_8, u16, u64)
STORE(st_4_4, u32, u32) STORE(st_4_8, u32, u64) STORE(st_8_8, u64, u64)
STORE_BY(st_16_16, u128_any, u128_any, NO_LINES)

/* ---- cp.async, fence ---- */

/* Bytes beyond the source size become zeros. */
DEFINE(cp_async)
{
	const u32 *n_ = in->sub ? src(w, in->c) : NULL;
	struct insn to = *in, from = *in;
	struct access d, s;

	to.space = SP_SHARED;
	from.space = SP_GLOBAL;
	from.a = in->b;
	if (OP(access_resolve)(w, &to, mask, in->size, true, &d) ||
	    OP(access_resolve)(w, &from, mask, in->size, false, &s))
		return 1;
	EACH_ACTIVE {
		u32 n = n_ && n_[l] < in->size ? n_[l] : in->size;
		u8 *p = access_at(&d, l);

		memcpy(p, access_at(&s, l), n);
		memset(p + n, 0, in->size - n);
	}
	return 0;
}

DEFINE(fence)
{
	(void)w, (void)in, (void)mask;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}
