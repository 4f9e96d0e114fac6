/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cublasLt that both ends share beside the generated messages. A descriptor is one
 * of the structs below, in memory that is opaque to the program and that it may copy as bytes.
 * The worker gives the library what the program has set.
 */
#ifndef WORMHOLE_WIRE_CUBLASLT_H
#define WORMHOLE_WIRE_CUBLASLT_H

#include <cublasLt.h>
#include <stdbool.h>
#include <string.h>

#include "wire.h"

/*
 * A handle of cublasLt, or one of cuBLAS, which may be used instead. The type of its number in
 * the worker's handle table says which.
 */
struct wh_obj_cublasLtHandle_t {
	uint64_t id;
};

/* --- Descriptors ---------------------------------------------------------------- */

enum wh_lt_kind {
	WH_LT_MATMUL,
	WH_LT_LAYOUT,
	WH_LT_PREFERENCE,
	WH_LT_TRANSFORM,
	WH_LT_EMULATION,
	WH_LT_KINDS
};

/* Each descriptor begins with this. */
struct wh_lt_head {
	uint32_t magic;		/* WH_LT_MAGIC of its kind: it was made and not destroyed */
	/* Bit i: entry i was set, counted behind those given at its making. */
	uint32_t set;
};
#define WH_LT_MAGIC(kind)	(0x776c7400u + (kind))
#define WH_LT_SHORT	0x80u	/* in the magic: it lacks what another major's library has */

struct wh_lt_matmul {
	struct wh_lt_head head;
	/* The status depends on which of these addresses are NULL, but not on the memory there. */
	uint64_t bias, aux;
	uint64_t a_scale, b_scale, c_scale, d_scale, amax_d, aux_scale, aux_amax;
	int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
	int32_t compute, scale, pointer_mode, trans_a, trans_b, trans_c, fill;
	uint32_t epilogue;
	int32_t sm_target, aux_type, bias_type;
	int8_t fast_accumulation;
	uint8_t resv[3];
	/* What libraries before 12.8 do not have follows. */
	uint64_t d_out_scale;
	uint64_t emulation;	/* an address in the program; a request says whether there is one */
	int32_t a_mode, b_mode, c_mode, d_mode, aux_mode, d_out_mode;
};

struct wh_lt_layout {
	struct wh_lt_head head;
	uint32_t type;
	int32_t order;
	uint64_t rows, cols;
	int64_t ld;
	int32_t batch;
	uint32_t batch_mode;
	int64_t batch_stride;
	int64_t plane;
};

struct wh_lt_preference {
	struct wh_lt_head head;
	uint32_t search, reduction;
	uint64_t workspace;
	uint32_t align_a, align_b, align_c, align_d;
	float waves;
	uint32_t resv;
	uint64_t implementations;
	/* What libraries from 12 on do not have follows. */
	uint32_t math_modes, gaussian_modes, pointer_modes, epilogues;
	int32_t sm_target;
	uint32_t more;
};
/* Their attributes, by cublasLt.h of 11.8. */
#define WH_LT_PREF_MATH_MODES		2
#define WH_LT_PREF_GAUSSIAN_MODES	4
#define WH_LT_PREF_POINTER_MODES	10
#define WH_LT_PREF_EPILOGUES		11
#define WH_LT_PREF_SM_TARGET		13

struct wh_lt_transform {
	struct wh_lt_head head;
	int32_t scale, pointer_mode, trans_a, trans_b;
};

struct wh_lt_emulation {
	struct wh_lt_head head;
	int32_t strategy, special, mantissa, max_bits, bit_offset;
	uint32_t resv;
	uint64_t bit_count;	/* device address */
};

/*
 * The bytes of the program's struct. A product's has WH_LT_MATMUL_SHORT until 12.8, and a
 * preference's has WH_LT_PREFERENCE_11 in CUDA 11. Its `_KEPT` is what of ours is in a short one.
 */
#define WH_LT_WORDS(n)			((n) * sizeof(uint64_t))
#define WH_LT_MATMUL_SHORT		WH_LT_WORDS(23)
#define WH_LT_MATMUL_KEPT		offsetof(struct wh_lt_matmul, d_out_scale)
#define WH_LT_PREFERENCE_11		WH_LT_WORDS(10)
#define WH_LT_PREFERENCE_KEPT		offsetof(struct wh_lt_preference, math_modes)

_Static_assert(sizeof(struct wh_lt_matmul) <= sizeof(cublasLtMatmulDescOpaque_t), "room");
_Static_assert(WH_LT_MATMUL_KEPT <= WH_LT_MATMUL_SHORT, "room");
_Static_assert(sizeof(struct wh_lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "room");
_Static_assert(sizeof(struct wh_lt_preference) <= WH_LT_PREFERENCE_11, "room");
_Static_assert(WH_LT_PREFERENCE_KEPT <= sizeof(cublasLtMatmulPreferenceOpaque_t), "room");
_Static_assert(sizeof(struct wh_lt_transform) <= sizeof(cublasLtMatrixTransformDescOpaque_t), "room");
_Static_assert(sizeof(struct wh_lt_emulation) <= sizeof(cublasLtEmulationDescOpaque_t), "room");

/* The place of an attribute. */
struct wh_lt_attribute {
	uint16_t attribute;
	uint8_t offset, size;
};
struct wh_lt_attributes {
	const struct wh_lt_attribute *entry;
	unsigned int entries;
	unsigned int given;	/* so many entries are parameters of its making */
	unsigned int size;	/* bytes of the struct */
	unsigned int room;	/* bytes of the program's struct that it lies in */
	/* Bytes of a shorter one of the program's, and of what is kept in it; 0: there is none. */
	unsigned int short_room, short_size;
};

#define WH_LT_AT(type, name, field)						\
	{ name, offsetof(struct wh_lt_##type, field), sizeof(((struct wh_lt_##type *)0)->field) }

/* CUBLASLT_MATMUL_DESC_... and so on; the first entries are given at the making. */
static const struct wh_lt_attribute wh_lt_matmul_entries[] = {
#define M(name, field) WH_LT_AT(matmul, CUBLASLT_MATMUL_DESC_##name, field)
	M(COMPUTE_TYPE, compute), M(SCALE_TYPE, scale), M(POINTER_MODE, pointer_mode),
	M(TRANSA, trans_a), M(TRANSB, trans_b), M(TRANSC, trans_c), M(FILL_MODE, fill),
	M(EPILOGUE, epilogue), M(BIAS_POINTER, bias), M(BIAS_BATCH_STRIDE, bias_stride),
	M(EPILOGUE_AUX_POINTER, aux), M(EPILOGUE_AUX_LD, aux_ld),
	M(EPILOGUE_AUX_BATCH_STRIDE, aux_stride), M(ALPHA_VECTOR_BATCH_STRIDE, alpha_stride),
	M(SM_COUNT_TARGET, sm_target), M(A_SCALE_POINTER, a_scale), M(B_SCALE_POINTER, b_scale),
	M(C_SCALE_POINTER, c_scale), M(D_SCALE_POINTER, d_scale), M(AMAX_D_POINTER, amax_d),
	M(EPILOGUE_AUX_DATA_TYPE, aux_type), M(EPILOGUE_AUX_SCALE_POINTER, aux_scale),
	M(EPILOGUE_AUX_AMAX_POINTER, aux_amax), M(FAST_ACCUM, fast_accumulation),
	M(BIAS_DATA_TYPE, bias_type), M(A_SCALE_MODE, a_mode), M(B_SCALE_MODE, b_mode),
	M(C_SCALE_MODE, c_mode), M(D_SCALE_MODE, d_mode), M(EPILOGUE_AUX_SCALE_MODE, aux_mode),
	M(D_OUT_SCALE_POINTER, d_out_scale), M(D_OUT_SCALE_MODE, d_out_mode),
	M(EMULATION_DESCRIPTOR, emulation),
#undef M
};

static const struct wh_lt_attribute wh_lt_layout_entries[] = {
#define L(name, field) WH_LT_AT(layout, CUBLASLT_MATRIX_LAYOUT_##name, field)
	L(TYPE, type), L(ROWS, rows), L(COLS, cols), L(LD, ld), L(ORDER, order),
	L(BATCH_COUNT, batch), L(STRIDED_BATCH_OFFSET, batch_stride), L(PLANE_OFFSET, plane),
	L(BATCH_MODE, batch_mode),
#undef L
};

static const struct wh_lt_attribute wh_lt_preference_entries[] = {
#define P(name, field) WH_LT_AT(preference, CUBLASLT_MATMUL_PREF_##name, field)
	P(SEARCH_MODE, search), P(MAX_WORKSPACE_BYTES, workspace),
	P(REDUCTION_SCHEME_MASK, reduction), P(MIN_ALIGNMENT_A_BYTES, align_a),
	P(MIN_ALIGNMENT_B_BYTES, align_b), P(MIN_ALIGNMENT_C_BYTES, align_c),
	P(MIN_ALIGNMENT_D_BYTES, align_d), P(MAX_WAVES_COUNT, waves),
	P(IMPL_MASK, implementations),
	WH_LT_AT(preference, WH_LT_PREF_MATH_MODES, math_modes),
	WH_LT_AT(preference, WH_LT_PREF_GAUSSIAN_MODES, gaussian_modes),
	WH_LT_AT(preference, WH_LT_PREF_POINTER_MODES, pointer_modes),
	WH_LT_AT(preference, WH_LT_PREF_EPILOGUES, epilogues),
	WH_LT_AT(preference, WH_LT_PREF_SM_TARGET, sm_target),
#undef P
};

static const struct wh_lt_attribute wh_lt_transform_entries[] = {
#define T(name, field) WH_LT_AT(transform, CUBLASLT_MATRIX_TRANSFORM_DESC_##name, field)
	T(SCALE_TYPE, scale), T(POINTER_MODE, pointer_mode), T(TRANSA, trans_a),
	T(TRANSB, trans_b),
#undef T
};

static const struct wh_lt_attribute wh_lt_emulation_entries[] = {
#define E(name, field) WH_LT_AT(emulation, CUBLASLT_EMULATION_DESC_##name, field)
	E(STRATEGY, strategy), E(SPECIAL_VALUES_SUPPORT, special),
	E(FIXEDPOINT_MANTISSA_CONTROL, mantissa), E(FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, max_bits),
	E(FIXEDPOINT_MANTISSA_BIT_OFFSET, bit_offset),
	E(FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, bit_count),
#undef E
};

static const struct wh_lt_attributes wh_lt_attributes[WH_LT_KINDS] = {
#define K(type, kind, given, ...)							\
	[kind] = { wh_lt_##type##_entries,					\
		   sizeof(wh_lt_##type##_entries) / sizeof(struct wh_lt_attribute), given, \
		   sizeof(struct wh_lt_##type), __VA_ARGS__ }
	K(matmul, WH_LT_MATMUL, 2, sizeof(cublasLtMatmulDescOpaque_t), WH_LT_MATMUL_SHORT,
	  WH_LT_MATMUL_KEPT),
	K(layout, WH_LT_LAYOUT, 4, sizeof(cublasLtMatrixLayoutOpaque_t)),
	K(preference, WH_LT_PREFERENCE, 0, WH_LT_PREFERENCE_11,
	  sizeof(cublasLtMatmulPreferenceOpaque_t), WH_LT_PREFERENCE_KEPT),
	K(transform, WH_LT_TRANSFORM, 1, sizeof(cublasLtMatrixTransformDescOpaque_t)),
	K(emulation, WH_LT_EMULATION, 0, sizeof(cublasLtEmulationDescOpaque_t)),
#undef K
};

/* Returns the documented values before anything is set. */
static inline struct wh_lt_matmul wh_lt_new_matmul(void)
{
	return (struct wh_lt_matmul) {
		.head.magic = WH_LT_MAGIC(WH_LT_MATMUL),
		.fill = CUBLAS_FILL_MODE_FULL,
		.epilogue = CUBLASLT_EPILOGUE_DEFAULT,
		.aux_type = -1,
		.bias_type = -1,
	};
}

static inline struct wh_lt_layout wh_lt_new_layout(void)
{
	return (struct wh_lt_layout) { .head.magic = WH_LT_MAGIC(WH_LT_LAYOUT), .batch = 1 };
}

static inline struct wh_lt_emulation wh_lt_new_emulation(void)
{
	return (struct wh_lt_emulation) {
		.head.magic = WH_LT_MAGIC(WH_LT_EMULATION),
		.special = 0xffff,
	};
}

/*
 * In a request a descriptor is packed: only what was given and what was set is sent, so that
 * the request of an operation is small enough to be posted. First come 8 bytes that say which
 * entries these are, then the values of 8 bytes in the order of the entries, then the others, 4
 * bytes each, padded to 8.
 */
static inline bool wh_lt_is_sent(const struct wh_lt_attributes *all, uint32_t set, unsigned int i)
{
	return i < all->given || (set >> (i - all->given) & 1);
}

static inline size_t wh_lt_packed(enum wh_lt_kind kind, uint32_t set)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	size_t bytes = 8;
	unsigned int i;

	for (i = 0; i < all->entries; i++)
		if (wh_lt_is_sent(all, set, i))
			bytes += all->entry[i].size == 8 ? 8 : 4;
	return (bytes + 7) & ~(size_t)7;
}

/* Does `does` for each value, with its entry in a_, and moves `at` on. */
#define WH_LT_EACH(all, set, at, does) do {						\
	const struct wh_lt_attribute *a_;							\
	unsigned int i_, wide_;									\
												\
	for (wide_ = 2; wide_; wide_--)								\
		for (i_ = 0; i_ < (all)->entries; i_++) {					\
			a_ = &(all)->entry[i_];							\
			if (!wh_lt_is_sent(all, set, i_) || (a_->size == 8) != (wide_ == 2))	\
				continue;							\
			does;									\
			(at) += wide_ * 4;							\
		}										\
} while (0)

/* Packs a descriptor and returns the end; `out` has wh_lt_packed() bytes of room. */
static inline uint8_t *wh_lt_pack(enum wh_lt_kind kind, const void *value, uint8_t *out)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	const uint32_t set = ((const struct wh_lt_head *)value)->set;
	const size_t bytes = wh_lt_packed(kind, set);
	uint8_t *to = out + 8;

	memset(out, 0, bytes);
	memcpy(out, &set, sizeof(set));
	WH_LT_EACH(all, set, to, memcpy(to, (const uint8_t *)value + a_->offset, a_->size));
	return out + bytes;
}

/* Unpacks into a struct with the defaults. NULL: it is incomplete, or not of this kind. */
static inline const uint8_t *wh_lt_unpack(enum wh_lt_kind kind, void *value, const uint8_t *in,
					  const uint8_t *end)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	const uint8_t *from;
	uint32_t set;

	if (!in || end - in < 8)
		return NULL;
	from = in + 8;
	memcpy(&set, in, sizeof(set));
	if ((uint64_t)set >> (all->entries - all->given) ||
	    (size_t)(end - in) < wh_lt_packed(kind, set))
		return NULL;
	((struct wh_lt_head *)value)->set = set;
	WH_LT_EACH(all, set, from, memcpy((uint8_t *)value + a_->offset, from, a_->size));
	return in + wh_lt_packed(kind, set);
}

/* --- Scalars ---------------------------------------------------------------------- */

#define WH_LT_SCALAR	16	/* the largest type of alpha and beta */

/* A number in host memory, or an address of the device, as the pointer mode says. */
union wh_lt_scalar {
	uint8_t host[WH_LT_SCALAR];
	uint64_t device;
};

/* Returns the bytes of a number of the scale type; 0: the library does not accept the type. */
static inline size_t wh_lt_scale_size(int32_t type)
{
	switch (type) {
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
	case CUDA_C_16F:
	case CUDA_C_16BF:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
	case CUDA_C_32I:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		return 0;
	}
}

static inline bool wh_lt_alpha_is_host(int32_t mode)
{
	return mode == CUBLASLT_POINTER_MODE_HOST;
}

static inline bool wh_lt_beta_is_host(int32_t mode)
{
	return mode == CUBLASLT_POINTER_MODE_HOST ||
	       mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
}

/* Does the mode say that beta is 0, whatever is given? */
static inline bool wh_lt_beta_is_unused(int32_t mode)
{
	return mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO;
}

/* --- Messages --------------------------------------------------------------------- */

struct wh_req_cublasLtCreate {
	struct wh_req hdr;
};
struct wh_rsp_cublasLtCreate {
	struct wh_rsp hdr;
	uint64_t handle;
};
struct wh_req_cublasLtDestroy {
	struct wh_req hdr;
	uint64_t handle;
};

/* Null bits of the operations. */
#define WH_LT_NO_ALPHA	1u
#define WH_LT_NO_BETA	2u
#define WH_LT_NO_ALGO	4u
#define WH_LT_D_IS_AS_C	8u	/* D has C's layout, which is not sent again */
#define WH_LT_NO_LAYOUT	16u	/* of matrix 0; the next bits are for matrix 1 and so on */

/*
 * Packed behind it: the descriptor, the layouts of a, b, c, d, and the emulation, if there is
 * one.
 */
struct wh_req_cublasLtMatmul {
	struct wh_req hdr;
	struct wh_obj_cublasLtHandle_t handle;
	uint64_t a, b, c, d, workspace;
	union wh_lt_scalar alpha, beta;
	uint64_t stream;
	uint64_t workspace_size;
	uint64_t alignments;	/* of all addresses, since the status depends on them */
	cublasLtMatmulAlgo_t algo;
};

/* Packed behind it: the descriptor, and the layouts of those of a, b, c that there are. */

struct wh_req_cublasLtMatrixTransform {
	struct wh_req hdr;
	struct wh_obj_cublasLtHandle_t handle;
	uint64_t a, b, c;
	union wh_lt_scalar alpha, beta;
	uint64_t stream;
	uint64_t alignments;
};

/*
 * A question for a heuristic, or for a check. No address in it leads anywhere: it only says
 * whether the address is NULL, and its alignment. Behind it: `algos` algorithms.
 */
struct wh_req_cublasLtQuestion {
	struct wh_req hdr;
	struct wh_obj_cublasLtHandle_t handle;
	struct wh_lt_matmul desc;
	struct wh_lt_layout layout[4];
	struct wh_lt_emulation emulation;
	struct wh_lt_preference preference;
	int32_t wanted;
	int32_t algos;
	uint64_t resv;		/* the algorithms behind it are aligned */
};
/* Behind it: `results` of cublasLtMatmulHeuristicResult_t. */
struct wh_rsp_cublasLtQuestion {
	struct wh_rsp hdr;
	int32_t results;
	int32_t resv;
};

#define WH_LT_MOST_RESULTS	256	/* the most of one question: what a message holds */

/* Returns an address that leads nowhere but has the same alignment. NULL stays NULL. */
static inline uint64_t wh_lt_nowhere(uint64_t address)
{
	uint64_t bit = address & -address;

	return !address || bit < 256 ? bit : 256;
}

/* Does the same for all addresses of a descriptor. */
static inline void wh_lt_leads_nowhere(struct wh_lt_matmul *d, struct wh_lt_emulation *e)
{
	uint64_t *p;

	for (p = &d->bias; p <= &d->aux_amax; p++)
		*p = wh_lt_nowhere(*p);
	d->d_out_scale = wh_lt_nowhere(d->d_out_scale);
	e->bit_count = wh_lt_nowhere(e->bit_count);
}

#endif
