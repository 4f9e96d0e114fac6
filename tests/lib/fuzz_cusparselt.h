/* SPDX-License-Identifier: Apache-2.0 */
/* Of fuzz_test.c: a cuSPARSELt that accepts everything, and the structs that are kept for it. */
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

static void *cusparselt(struct wh_cusparselt_functions *u)
{
	u->cusparseLtMatmulDescSetAttribute = set_product;
	u->cusparseLtMatmulDescGetAttribute = get_product;
	u->cusparseLtMatmulPlanInit = make_plan;
	u->cusparseLtMatmulPlanDestroy = end_plan;
	return u;
}

static uint8_t *made(struct wh_session *s, unsigned int type, bool follows, uint8_t *of,
		     uint8_t *and, uint64_t *id)
{
	uint8_t *b = wh_box_new(512);

	if (of)
		wh_box_needs(b, of);
	if (and)
		wh_box_needs(b, and);
	*id = wh_box_put(s, type, b, follows);
	return b;
}

/* A plan of a product of two matrices, one of which is there twice. */
static void test_boxes(struct wh_session *s)
{
	struct wh_box *before = s->boxes;
	uint64_t id[5];
	uint8_t *m[2], *product, *alg;
	bool there;

	m[0] = made(s, WH_H_cusparseLtMatDescriptor_t, false, NULL, NULL, &id[0]);
	m[1] = made(s, WH_H_cusparseLtMatDescriptor_t, false, NULL, NULL, &id[1]);
	product = made(s, WH_H_cusparseLtMatmulDescriptor_t, true, m[0], m[1], &id[2]);
	wh_box_needs(product, m[1]);
	alg = made(s, WH_H_cusparseLtMatmulAlgSelection_t, true, product, NULL, &id[3]);
	made(s, WH_H_cusparseLtMatmulPlan_t, false, product, alg, &id[4]);
	there = wh_handles_get(&s->handles, id[3], WH_H_cusparseLtMatmulAlgSelection_t);
	wh_box_drop(s, id[0]);
	ok(there && !wh_handles_get(&s->handles, id[2], WH_H_cusparseLtMatmulDescriptor_t) &&
	   !wh_handles_get(&s->handles, id[3], WH_H_cusparseLtMatmulAlgSelection_t),
	   "what_follows_a_struct_ends_with_it");
	wh_box_drop(s, id[1]);
	m[0][511] = m[1][511] = product[511] = alg[511] = 1;
	ok(wh_handles_get(&s->handles, id[4], WH_H_cusparseLtMatmulPlan_t) && alg[511],
	   "what_a_plan_needs_stays_in_memory");
	wh_box_drop(s, id[3]);
	wh_box_drop(s, id[4]);
	ok(s->boxes == before && !wh_handles_get(&s->handles, id[4], WH_H_cusparseLtMatmulPlan_t),
	   "and_goes_with_it");
}

#endif
