// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors, layouts and preferences, which are values in the program's memory. Owns their
 * defaults (cublasLt.h documents them) and the rules for the sizes of attributes. The library
 * judges the values when an operation brings them to it.
 */
#include "cublaslt_stub.h"

#include <stdlib.h>

static uint32_t magic(const void *descriptor)
{
	return ((const struct wh_lt_head *)descriptor)->magic;
}

bool wh_lt_good(enum wh_lt_kind kind, const void *descriptor)
{
	return descriptor && (magic(descriptor) & ~WH_LT_SHORT) == WH_LT_MAGIC(kind);
}

/* Returns how many bytes of its kind's struct a descriptor has. */
static size_t kept(enum wh_lt_kind kind, const void *descriptor)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];

	return magic(descriptor) & WH_LT_SHORT ? all->short_size : all->size;
}

/* Returns all->entries if this descriptor has no such attribute. */
static unsigned int find(enum wh_lt_kind kind, const void *descriptor, unsigned int attribute)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	unsigned int i;

	for (i = 0; i < all->entries; i++)
		if (all->entry[i].attribute == attribute)
			break;
	if (i < all->entries && all->entry[i].offset >= kept(kind, descriptor))
		return all->entries;
	return i;
}

static cublasStatus_t set(enum wh_lt_kind kind, void *descriptor, unsigned int attribute,
			  const void *buf, size_t size)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	struct wh_lt_head *head = descriptor;
	unsigned int i;

	if (!wh_lt_good(kind, descriptor))
		return CUBLAS_STATUS_INVALID_VALUE;
	i = find(kind, descriptor, attribute);
	if (i == all->entries || !buf || size != all->entry[i].size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((uint8_t *)descriptor + all->entry[i].offset, buf, size);
	if (i >= all->given)
		head->set |= 1u << (i - all->given);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get(enum wh_lt_kind kind, const void *descriptor, unsigned int attribute,
			  void *buf, size_t size, size_t *written)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	unsigned int i;

	if (!wh_lt_good(kind, descriptor))
		return CUBLAS_STATUS_INVALID_VALUE;
	i = find(kind, descriptor, attribute);
	if (i == all->entries || (!size && !written) ||
	    (size && (!buf || size != all->entry[i].size)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (size)
		memcpy(buf, (const uint8_t *)descriptor + all->entry[i].offset, size);
	if (written)
		*written = all->entry[i].size;
	return CUBLAS_STATUS_SUCCESS;
}

/* Frees the memory of a descriptor. NULL is allowed. */
static cublasStatus_t destroy(void *descriptor)
{
	if (descriptor)
		((struct wh_lt_head *)descriptor)->magic = 0;
	free(descriptor);
	return CUBLAS_STATUS_SUCCESS;
}

/* Preferences have some attributes in CUDA 11 alone. */
static bool is_whole(enum wh_lt_kind kind, size_t size)
{
	return size >= wh_lt_attributes[kind].room &&
	       (kind != WH_LT_PREFERENCE || strstr(wh_soname, ".so.11"));
}

/*
 * Initialises a descriptor in `size` bytes of the program, whose header may be another library's
 * than ours.
 */
static cublasStatus_t init(enum wh_lt_kind kind, void *descriptor, size_t size, const void *value)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	bool whole = is_whole(kind, size);

	if (!descriptor)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!whole && (!all->short_room || size < all->short_room))
		return CUBLAS_STATUS_ALLOC_FAILED;
	memset(descriptor, 0, size);
	memcpy(descriptor, value, whole ? all->size : all->short_size);
	if (!whole)
		((struct wh_lt_head *)descriptor)->magic |= WH_LT_SHORT;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t create(enum wh_lt_kind kind, void **descriptor, const void *value)
{
	const size_t room = wh_lt_attributes[kind].room;
	void *made;

	if (!descriptor)
		return CUBLAS_STATUS_INVALID_VALUE;
	made = malloc(room);
	if (!made)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*descriptor = made;
	return init(kind, made, room, value);
}

static struct wh_lt_matmul new_matmul(cublasComputeType_t compute, cudaDataType_t scale)
{
	struct wh_lt_matmul d = wh_lt_new_matmul();

	d.compute = compute;
	d.scale = scale;
	return d;
}

static struct wh_lt_layout new_layout(cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld)
{
	struct wh_lt_layout l = wh_lt_new_layout();

	l.type = type;
	l.rows = rows;
	l.cols = cols;
	l.ld = ld;
	return l;
}

/*
 * Defines the functions of one kind. Init and Create have the same parameters (`PARAMS`), from
 * which the last argument makes the value that is kept.
 */
#define PARAMS(...)	, ##__VA_ARGS__
#define DESCRIPTOR(Name, Opaque, Attribute, kind, params, ...)					\
cublasStatus_t cublasLt##Name##Init_internal(Opaque *desc, size_t size params)			\
{												\
	const __typeof__(__VA_ARGS__) value = __VA_ARGS__;					\
												\
	return init(kind, desc, size, &value);							\
}												\
cublasStatus_t cublasLt##Name##Create(Opaque **desc params)					\
{												\
	const __typeof__(__VA_ARGS__) value = __VA_ARGS__;					\
												\
	return create(kind, (void **)desc, &value);						\
}												\
cublasStatus_t cublasLt##Name##Destroy(Opaque *desc)						\
{												\
	return destroy(desc);									\
}												\
cublasStatus_t cublasLt##Name##SetAttribute(Opaque *desc, Attribute attr, const void *buf,	\
					    size_t size)					\
{												\
	return set(kind, desc, attr, buf, size);						\
}												\
cublasStatus_t cublasLt##Name##GetAttribute(Opaque *desc, Attribute attr, void *buf,		\
					    size_t size, size_t *written)			\
{												\
	return get(kind, desc, attr, buf, size, written);					\
}

DESCRIPTOR(MatmulDesc, cublasLtMatmulDescOpaque_t, cublasLtMatmulDescAttributes_t, WH_LT_MATMUL,
	   PARAMS(cublasComputeType_t compute, cudaDataType_t scale), new_matmul(compute, scale))

DESCRIPTOR(MatrixLayout, cublasLtMatrixLayoutOpaque_t, cublasLtMatrixLayoutAttribute_t,
	   WH_LT_LAYOUT, PARAMS(cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld),
	   new_layout(type, rows, cols, ld))

DESCRIPTOR(MatmulPreference, cublasLtMatmulPreferenceOpaque_t,
	   cublasLtMatmulPreferenceAttributes_t, WH_LT_PREFERENCE, PARAMS(),
	   (struct wh_lt_preference) {
	.head.magic = WH_LT_MAGIC(WH_LT_PREFERENCE),
	.reduction = CUBLASLT_REDUCTION_SCHEME_MASK,
	.align_a = 256,
	.align_b = 256,
	.align_c = 256,
	.align_d = 256,
	.implementations = UINT64_MAX,
	.math_modes = 1,	/* these as cublasLt.h of 11.8 documents them */
	.gaussian_modes = 1,
	.pointer_modes = CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE,
	.epilogues = CUBLASLT_EPILOGUE_DEFAULT,
})

DESCRIPTOR(MatrixTransformDesc, cublasLtMatrixTransformDescOpaque_t,
	   cublasLtMatrixTransformDescAttributes_t, WH_LT_TRANSFORM,
	   PARAMS(cudaDataType scale), (struct wh_lt_transform) {
	.head.magic = WH_LT_MAGIC(WH_LT_TRANSFORM),
	.scale = scale,
})

DESCRIPTOR(EmulationDesc, cublasLtEmulationDescOpaque_t, cublasLtEmulationDescAttributes_t,
	   WH_LT_EMULATION, PARAMS(), wh_lt_new_emulation())

/* --- For operations ---------------------------------------------------------------- */

bool wh_lt_take_layout(const cublasLtMatrixLayoutOpaque_t *from, struct wh_lt_layout *to)
{
	if (!wh_lt_good(WH_LT_LAYOUT, from))
		return false;
	memcpy(to, from, sizeof(*to));
	return true;
}

bool wh_lt_take_preference(const cublasLtMatmulPreferenceOpaque_t *from,
			   struct wh_lt_preference *to)
{
	if (!wh_lt_good(WH_LT_PREFERENCE, from))
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, kept(WH_LT_PREFERENCE, from));
	to->head.magic = WH_LT_MAGIC(WH_LT_PREFERENCE);
	return true;
}

bool wh_lt_take_matmul(const cublasLtMatmulDescOpaque_t *from, struct wh_lt_matmul *to,
		       struct wh_lt_emulation *emulation)
{
	const void *other;

	if (!wh_lt_good(WH_LT_MATMUL, from))
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, kept(WH_LT_MATMUL, from));
	to->head.magic = WH_LT_MAGIC(WH_LT_MATMUL);
	memset(emulation, 0, sizeof(*emulation));
	other = (const void *)(uintptr_t)to->emulation;
	if (!other)
		return true;
	to->emulation = 1;
	if (!wh_lt_good(WH_LT_EMULATION, other))
		return false;
	memcpy(emulation, other, sizeof(*emulation));
	return true;
}
