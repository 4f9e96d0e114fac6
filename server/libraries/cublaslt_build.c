// SPDX-License-Identifier: Apache-2.0
/*
 * Makes genuine descriptors from those of a message: cublasLt.h's own inline functions make them,
 * and then they are told what the program has set. This costs no allocation, so none is kept.
 */
#include "cublaslt.h"

typedef cublasStatus_t setter(const struct wh_cublaslt_functions *l, void *descriptor,
			      unsigned int attribute, const void *value, size_t size);

#define SETTER(name, function, Opaque, Attribute)						\
static cublasStatus_t name(const struct wh_cublaslt_functions *l, void *descriptor,		\
			   unsigned int attribute, const void *value, size_t size)		\
{												\
	return l->function((Opaque *)descriptor, (Attribute)attribute, value, size);		\
}

SETTER(set_matmul, cublasLtMatmulDescSetAttribute, cublasLtMatmulDescOpaque_t,
       cublasLtMatmulDescAttributes_t)
SETTER(set_layout, cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutOpaque_t,
       cublasLtMatrixLayoutAttribute_t)
SETTER(set_preference, cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceOpaque_t,
       cublasLtMatmulPreferenceAttributes_t)
SETTER(set_transform, cublasLtMatrixTransformDescSetAttribute,
       cublasLtMatrixTransformDescOpaque_t, cublasLtMatrixTransformDescAttributes_t)
SETTER(set_emulation, cublasLtEmulationDescSetAttribute, cublasLtEmulationDescOpaque_t,
       cublasLtEmulationDescAttributes_t)

static cublasStatus_t set_all(const struct wh_cublaslt_functions *l, enum wh_lt_kind kind,
			      setter *set, const void *from, void *to)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[kind];
	uint32_t left = ((const struct wh_lt_head *)from)->set;
	const struct wh_lt_attribute *a;
	cublasStatus_t res;
	unsigned int i;

	for (; left; left &= left - 1) {
		i = all->given + __builtin_ctz(left);
		if (i >= all->entries)
			return CUBLAS_STATUS_INVALID_VALUE;
		a = &all->entry[i];
		res = set(l, to, a->attribute, (const uint8_t *)from + a->offset, a->size);
		if (res != CUBLAS_STATUS_SUCCESS)
			return res;
	}
	return CUBLAS_STATUS_SUCCESS;
}

#define HAVE(s, l, function)									\
	do {											\
		if (!(l)->function)								\
			return wh_library_missing(s, #function, CUBLAS_STATUS_NOT_SUPPORTED);	\
	} while (0)

cublasStatus_t wh_lt_build_layout(struct wh_session *s, const struct wh_cublaslt_functions *l,
				  const struct wh_lt_layout *from, cublasLtMatrixLayoutOpaque_t *to)
{
	cublasStatus_t res;

	HAVE(s, l, cublasLtMatrixLayoutInit_internal);
	HAVE(s, l, cublasLtMatrixLayoutSetAttribute);
	res = l->cublasLtMatrixLayoutInit_internal(to, sizeof(*to), (cudaDataType)from->type,
						   from->rows, from->cols, from->ld);
	return res == CUBLAS_STATUS_SUCCESS ? set_all(l, WH_LT_LAYOUT, set_layout, from, to) : res;
}

/*
 * What only CUDA 11's library has filters its answers. A later one, which serves a program of 11,
 * looks at the product itself.
 */
static void forget_filters(struct wh_lt_preference *p)
{
	const struct wh_lt_attributes *all = &wh_lt_attributes[WH_LT_PREFERENCE];
	unsigned int i;

	for (i = all->given; i < all->entries; i++)
		if (all->entry[i].offset >= WH_LT_PREFERENCE_KEPT)
			p->head.set &= ~(1u << (i - all->given));
}

cublasStatus_t wh_lt_build_preference(struct wh_session *s, const struct wh_cublaslt_functions *l,
				      const struct wh_lt_preference *from,
				      union wh_lt_genuine_preference *to)
{
	struct wh_lt_preference own = *from;
	cublasStatus_t res;

	HAVE(s, l, cublasLtMatmulPreferenceInit_internal);
	HAVE(s, l, cublasLtMatmulPreferenceSetAttribute);
	if (s->handles.edition != WH_EDITION_11)
		forget_filters(&own);
	res = l->cublasLtMatmulPreferenceInit_internal(&to->today, sizeof(*to));
	return res == CUBLAS_STATUS_SUCCESS ?
		set_all(l, WH_LT_PREFERENCE, set_preference, &own, to) : res;
}

cublasStatus_t wh_lt_build_transform(struct wh_session *s, const struct wh_cublaslt_functions *l,
				     const struct wh_lt_transform *from,
				     cublasLtMatrixTransformDescOpaque_t *to)
{
	cublasStatus_t res;

	HAVE(s, l, cublasLtMatrixTransformDescInit_internal);
	HAVE(s, l, cublasLtMatrixTransformDescSetAttribute);
	res = l->cublasLtMatrixTransformDescInit_internal(to, sizeof(*to),
							  (cudaDataType)from->scale);
	return res == CUBLAS_STATUS_SUCCESS ?
		set_all(l, WH_LT_TRANSFORM, set_transform, from, to) : res;
}

static cublasStatus_t build_emulation(struct wh_session *s, const struct wh_cublaslt_functions *l,
				      const struct wh_lt_emulation *from,
				      cublasLtEmulationDescOpaque_t *to)
{
	cublasStatus_t res;

	HAVE(s, l, cublasLtEmulationDescInit_internal);
	HAVE(s, l, cublasLtEmulationDescSetAttribute);
	res = l->cublasLtEmulationDescInit_internal(to, sizeof(*to));
	return res == CUBLAS_STATUS_SUCCESS ?
		set_all(l, WH_LT_EMULATION, set_emulation, from, to) : res;
}

cublasStatus_t wh_lt_build_product(struct wh_session *s, const struct wh_cublaslt_functions *l,
				   const struct wh_lt_matmul *d,
				   const struct wh_lt_layout layout[4],
				   const struct wh_lt_emulation *e, struct wh_lt_product *out)
{
	struct wh_lt_matmul own = *d;
	cublasStatus_t res = CUBLAS_STATUS_SUCCESS;
	unsigned int i;

	HAVE(s, l, cublasLtMatmulDescInit_internal);
	HAVE(s, l, cublasLtMatmulDescSetAttribute);
	if (own.emulation) {
		res = build_emulation(s, l, e, &out->emulation);
		own.emulation = (uintptr_t)&out->emulation;
	}
	if (res == CUBLAS_STATUS_SUCCESS)
		res = l->cublasLtMatmulDescInit_internal(&out->desc, sizeof(out->desc),
							 (cublasComputeType_t)own.compute,
							 (cudaDataType)own.scale);
	if (res == CUBLAS_STATUS_SUCCESS)
		res = set_all(l, WH_LT_MATMUL, set_matmul, &own, &out->desc);
	for (i = 0; i < 4 && res == CUBLAS_STATUS_SUCCESS; i++)
		res = wh_lt_build_layout(s, l, &layout[i], &out->layout[i]);
	return res;
}
