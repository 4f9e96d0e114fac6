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
	return descriptor && magic(descriptor) == WH_LT_MAGIC(kind);
}

static unsigned int find(enum wh_lt_kind kind, unsigned int attribute)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	unsigned int i;

	for (i = 0; i < all->entries; i++)
		if (all->entry[i].attribute == attribute)
			break;
	return i;
}

static cublasStatus_t set(enum wh_lt_kind kind, void *descriptor, unsigned int attribute,
			  const void *buf, size_t size)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	unsigned int i = find(kind, attribute);
	struct wh_lt_head *head = descriptor;

	if (!wh_lt_good(kind, descriptor) || i == all->entries || !buf ||
	    size != all->entry[i].size)
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
	unsigned int i = find(kind, attribute);

	if (!wh_lt_good(kind, descriptor) || i == all->entries || (!size && !written) ||
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

/* The size of the struct of a product in CUDA 11: what is kept of one does not fit into it. */
#define MATMUL_SIZE_11	(23 * sizeof(uint64_t))

_Static_assert(sizeof(struct wh_lt_matmul) > MATMUL_SIZE_11, "it would fit");

/*
 * Initialises a descriptor in `size` bytes of the program, which may have a newer library's
 * size.
 */
static cublasStatus_t init(void *descriptor, size_t size, size_t whole, const void *value,
			   size_t bytes)
{
	if (!descriptor)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (size == MATMUL_SIZE_11 && bytes == sizeof(struct wh_lt_matmul))
		return wh_cublaslt_refuse("cublasLtMatmulDescInit_internal");
	if (size < whole)
		return CUBLAS_STATUS_ALLOC_FAILED;
	memset(descriptor, 0, size);
	memcpy(descriptor, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t create(void **descriptor, size_t whole, const void *value, size_t bytes)
{
	void *made;

	if (!descriptor)
		return CUBLAS_STATUS_INVALID_VALUE;
	made = malloc(whole);
	if (!made)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*descriptor = made;
	return init(made, whole, whole, value, bytes);
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
	return init(desc, size, sizeof(*desc), &value, sizeof(value));				\
}												\
cublasStatus_t cublasLt##Name##Create(Opaque **desc params)					\
{												\
	const __typeof__(__VA_ARGS__) value = __VA_ARGS__;					\
												\
	return create((void **)desc, sizeof(**desc), &value, sizeof(value));			\
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

bool wh_lt_take_matmul(const cublasLtMatmulDescOpaque_t *from, struct wh_lt_matmul *to,
		       struct wh_lt_emulation *emulation)
{
	const void *other;

	if (!wh_lt_good(WH_LT_MATMUL, from))
		return false;
	memcpy(to, from, sizeof(*to));
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
