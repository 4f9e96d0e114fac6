/* SPDX-License-Identifier: Apache-2.0 */
/* The part of stand_ins.h that is a cuSPARSELt which accepts everything. */
#ifndef WORMHOLE_TESTS_FUZZ_CUSPARSELT_H
#define WORMHOLE_TESTS_FUZZ_CUSPARSELT_H

#include "gen_cusparselt_server.h"

/* Attributes have the size that the library believes them to have. */
static cusparseStatus_t set_product(const cusparseLtHandle_t *h, cusparseLtMatmulDescriptor_t *m,
				    cusparseLtMatmulDescAttribute_t attribute, const void *data,
				    size_t size)
{
	(void)h; (void)attribute;
	touch(m, sizeof(*m));
	touch(data, size);
	return any();
}

static cusparseStatus_t get_product(const cusparseLtHandle_t *h,
				    const cusparseLtMatmulDescriptor_t *m,
				    cusparseLtMatmulDescAttribute_t attribute, void *data,
				    size_t size)
{
	(void)h; (void)m; (void)attribute;
	if (data)
		memset(data, 1, size);
	return any();
}

/* Structs are written and read from end to end. */
static cusparseStatus_t make_plan(const cusparseLtHandle_t *h, cusparseLtMatmulPlan_t *p,
				  const cusparseLtMatmulDescriptor_t *m,
				  const cusparseLtMatmulAlgSelection_t *a)
{
	touch(h, sizeof(*h));
	touch(m, sizeof(*m));
	touch(a, sizeof(*a));
	memset(p, 1, sizeof(*p));
	return any();
}

static cusparseStatus_t end_plan(const cusparseLtMatmulPlan_t *p)
{
	touch(p, sizeof(*p));
	return any();
}

static void cusparselt(struct wh_cusparselt_functions *u)
{
	u->cusparseLtMatmulDescSetAttribute = set_product;
	u->cusparseLtMatmulDescGetAttribute = get_product;
	u->cusparseLtMatmulPlanInit = make_plan;
	u->cusparseLtMatmulPlanDestroy = end_plan;
}

#endif
