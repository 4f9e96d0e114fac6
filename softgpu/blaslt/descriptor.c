// SPDX-License-Identifier: Apache-2.0
/* Descriptors of the stand-in for cublasLt. Their memory is allocated here, or the caller's. */
#include "blaslt.h"

#include <stdlib.h>
#include <string.h>

struct attribute {
	int name;
	size_t offset, size;
};

#define AT(Struct, name, field) \
	{ name, offsetof(struct Struct, field), sizeof(((struct Struct *)0)->field) }
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Some of these attributes are stored only: the product refuses what it does not support. */
static const struct attribute matmul[] = {
#define M(name, field) AT(lt_desc, CUBLASLT_MATMUL_DESC_##name, field)
	M(COMPUTE_TYPE, compute), M(SCALE_TYPE, scale), M(POINTER_MODE, pointer_mode),
	M(TRANSA, trans[0]), M(TRANSB, trans[1]), M(TRANSC, trans[2]), M(FILL_MODE, fill),
	M(EPILOGUE, epilogue), M(BIAS_POINTER, bias), M(BIAS_BATCH_STRIDE, bias_stride),
	M(ALPHA_VECTOR_BATCH_STRIDE, alpha_stride), M(SM_COUNT_TARGET, sm_target),
	M(BIAS_DATA_TYPE, bias_type),
};

static const struct attribute layout[] = {
#define L(name, field) AT(lt_layout, CUBLASLT_MATRIX_LAYOUT_##name, field)
	L(TYPE, type), L(ORDER, order), L(ROWS, rows), L(COLS, cols), L(LD, ld),
	L(BATCH_COUNT, batch), L(STRIDED_BATCH_OFFSET, batch_stride), L(PLANE_OFFSET, plane),
	L(BATCH_MODE, batch_mode),
};

static const struct attribute preference[] = {
#define P(name, field) AT(lt_preference, CUBLASLT_MATMUL_PREF_##name, field)
	P(SEARCH_MODE, search), P(MAX_WORKSPACE_BYTES, workspace),
	P(REDUCTION_SCHEME_MASK, reduction), P(MIN_ALIGNMENT_A_BYTES, align[0]),
	P(MIN_ALIGNMENT_B_BYTES, align[1]), P(MIN_ALIGNMENT_C_BYTES, align[2]),
	P(MIN_ALIGNMENT_D_BYTES, align[3]), P(MAX_WAVES_COUNT, waves),
	P(IMPL_MASK, implementations),
};

static const struct attribute transform[] = {
#define T(name, field) AT(lt_transform, CUBLASLT_MATRIX_TRANSFORM_DESC_##name, field)
	T(SCALE_TYPE, scale), T(POINTER_MODE, pointer_mode), T(TRANSA, trans[0]),
	T(TRANSB, trans[1]),
};

static const struct attribute *find(const struct attribute *all, size_t n, int name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (all[i].name == name)
			return &all[i];
	return NULL;
}

static cublasStatus_t set(const struct attribute *a, void *desc, const void *buf, size_t size)
{
	if (!a || !desc || !buf || size != a->size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)desc + a->offset, buf, size);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get(const struct attribute *a, const void *desc, void *buf, size_t size,
			  size_t *written)
{
	if (!a || !desc || (!size && !written) || (size && (!buf || size != a->size)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (size)
		memcpy(buf, (const char *)desc + a->offset, size);
	if (written)
		*written = a->size;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t init(void *desc, size_t size, size_t whole, const void *value, size_t bytes)
{
	if (!desc)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (size < whole)
		return CUBLAS_STATUS_ALLOC_FAILED;
	memset(desc, 0, whole);
	memcpy(desc, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

#define PARAMS(...)	, ##__VA_ARGS__
#define MAKE(Name, Opaque, params, ...) \
EXPORT cublasStatus_t cublasLt##Name##Init_internal(Opaque *desc, size_t size params) \
{ \
	const __typeof__(__VA_ARGS__) value = __VA_ARGS__; \
	return init(desc, size, sizeof(*desc), &value, sizeof(value)); \
} \
EXPORT cublasStatus_t cublasLt##Name##Create(Opaque **desc params) \
{ \
	const __typeof__(__VA_ARGS__) value = __VA_ARGS__; \
	if (!desc) \
		return CUBLAS_STATUS_INVALID_VALUE; \
	*desc = malloc(sizeof(**desc)); \
	if (!*desc) \
		return CUBLAS_STATUS_ALLOC_FAILED; \
	return init(*desc, sizeof(**desc), sizeof(**desc), &value, sizeof(value)); \
} \
EXPORT cublasStatus_t cublasLt##Name##Destroy(Opaque *desc) \
{ \
	free(desc); \
	return CUBLAS_STATUS_SUCCESS; \
}

#define ACCESS(Name, Opaque, Attribute, table) \
EXPORT cublasStatus_t cublasLt##Name##SetAttribute(Opaque *desc, Attribute attr, const void *buf, \
						   size_t size) \
{ return set(find(table, COUNT(table), attr), desc, buf, size); } \
EXPORT cublasStatus_t cublasLt##Name##GetAttribute(Opaque *desc, Attribute attr, void *buf, \
						   size_t size, size_t *written) \
{ return get(find(table, COUNT(table), attr), desc, buf, size, written); }

MAKE(MatmulDesc, cublasLtMatmulDescOpaque_t,
     PARAMS(cublasComputeType_t compute, cudaDataType_t scale),
     (struct lt_desc) { .compute = compute, .scale = scale, .fill = CUBLAS_FILL_MODE_FULL,
			.epilogue = CUBLASLT_EPILOGUE_DEFAULT, .bias_type = -1 })
MAKE(MatrixLayout, cublasLtMatrixLayoutOpaque_t,
     PARAMS(cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld),
     (struct lt_layout) { .type = type, .rows = rows, .cols = cols, .ld = ld, .batch = 1 })
MAKE(MatmulPreference, cublasLtMatmulPreferenceOpaque_t, PARAMS(),
     (struct lt_preference) { .reduction = CUBLASLT_REDUCTION_SCHEME_MASK,
			      .align = { 256, 256, 256, 256 }, .implementations = UINT64_MAX })
MAKE(MatrixTransformDesc, cublasLtMatrixTransformDescOpaque_t, PARAMS(cudaDataType scale),
     (struct lt_transform) { .scale = scale })

ACCESS(MatrixLayout, cublasLtMatrixLayoutOpaque_t, cublasLtMatrixLayoutAttribute_t, layout)
ACCESS(MatmulPreference, cublasLtMatmulPreferenceOpaque_t, cublasLtMatmulPreferenceAttributes_t,
       preference)
ACCESS(MatrixTransformDesc, cublasLtMatrixTransformDescOpaque_t,
       cublasLtMatrixTransformDescAttributes_t, transform)

EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
						     cublasLtMatmulDescAttributes_t attr,
						     const void *buf, size_t size)
{
	const struct attribute *a = find(matmul, COUNT(matmul), attr);

	/* Scales, auxiliary matrices and the like can be set, but the product is refused then. */
	if (!a && desc && buf && attr <= CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR) {
		((struct lt_desc *)desc)->other = 1;
		return CUBLAS_STATUS_SUCCESS;
	}
	return set(a, desc, buf, size);
}

EXPORT cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
						     cublasLtMatmulDescAttributes_t attr, void *buf,
						     size_t size, size_t *written)
{
	return get(find(matmul, COUNT(matmul), attr), desc, buf, size, written);
}
