// SPDX-License-Identifier: Apache-2.0
/*
 * Structs of the worker's, by the steps that made them: a chain is all that a plan, or
 * whatever it ends with, was made from, as one that nobody changes. So it serves all objects to
 * which the same was done, at the same time and later. Owns these, and the knowledge of
 * which steps the library takes. What was not seen before is done in the worker at once, and is
 * the library's to judge. Chains that nobody uses stay, the last ones; all with wh_slt_lock.
 */
#include "cusparselt_stub.h"

#include <stdlib.h>

#include "../steps.h"

#define BUCKETS	1024u
#define MOST	512u		/* chains that nobody uses */

static struct wh_slt_chain *bucket[BUCKETS];
static struct wh_slt_chain *oldest, *newest;
static uint32_t chains, used;	/* of them, those with users: plans, and calls at work */

/* In a child they are the parent's. */
static void forget(void)
{
	memset(bucket, 0, sizeof(bucket));
	wh_steps_forget();
	oldest = newest = NULL;
	chains = used = 0;
}
WH_IN_CHILD(forget())

/* --- The table --------------------------------------------------------------------------- */

uint64_t wh_slt_hash(const struct wh_slt_log *log)
{
	const uint64_t *w = (const uint64_t *)log->step;
	size_t i, n = wh_slt_bytes(log) / sizeof(*w);
	CUcontext ctx = NULL;
	uint64_t h;

	cuCtxGetCurrent(&ctx);
	h = wh_step_mix((uintptr_t)ctx, log->objects);
	for (i = 0; i < n; i++)
		h = wh_step_mix(h, w[i]);
	return h;
}

static bool is_for(const struct wh_slt_chain *c, uint64_t hash, const struct wh_slt_log *log)
{
	return c->hash == hash && c->log->n == log->n &&
	       !memcmp(c->log->step, log->step, wh_slt_bytes(log));
}

static struct wh_slt_chain *find(uint64_t hash, const struct wh_slt_log *log)
{
	struct wh_slt_chain *c;

	for (c = bucket[hash % BUCKETS]; c && !is_for(c, hash, log); c = c->next)
		;
	return c;
}

static void unlist(struct wh_slt_chain *c)
{
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	*(c->older ? &c->older->newer : &oldest) = c->newer;
	*(c->newer ? &c->newer->older : &newest) = c->older;
	chains--;
}

static void list(struct wh_slt_chain *c)
{
	c->next = bucket[c->hash % BUCKETS];
	if (c->next)
		c->next->at = &c->next;
	c->at = &bucket[c->hash % BUCKETS];
	*c->at = c;
	c->newer = NULL;
	c->older = newest;
	*(newest ? &newest->newer : &oldest) = c;
	newest = c;
	chains++;
}

/* --- In the worker ----------------------------------------------------------------------- */

/* Shorthand for generated calls: structs of the worker's by their numbers. */
#define AS(type, n, id)	((type *)(uintptr_t)wh_slt_as(&as[n], WH_H_##type, id))
#define HANDLE(id)	AS(cusparseLtHandle_t, 0, id)
#define MAT(n, id)	AS(cusparseLtMatDescriptor_t, n, id)
#define MATMUL(n, id)	AS(cusparseLtMatmulDescriptor_t, n, id)
#define ALG(n, id)	AS(cusparseLtMatmulAlgSelection_t, n, id)
#define PLAN(n, id)	AS(cusparseLtMatmulPlan_t, n, id)

static cusparseStatus_t make(const struct wh_slt_step *s, const uint64_t *of, uint64_t *real)
{
	/* The last one is what is made. */
	_Alignas(16) struct wh_opaque as[6] = { 0 };
	void *made = &as[5];
	cusparseStatus_t res = CUSPARSE_STATUS_INVALID_VALUE;

	switch (s->op) {
	case WH_SLT_DENSE:
		res = wh_raw_cusparseLtDenseDescriptorInit(HANDLE(s->handle), made, s->mat.rows,
			s->mat.cols, s->mat.ld, s->mat.alignment, (cudaDataType)s->mat.type,
			(cusparseOrder_t)s->mat.order);
		break;
	case WH_SLT_STRUCTURED:
		res = wh_raw_cusparseLtStructuredDescriptorInit(HANDLE(s->handle), made,
			s->mat.rows, s->mat.cols, s->mat.ld, s->mat.alignment,
			(cudaDataType)s->mat.type, (cusparseOrder_t)s->mat.order,
			(cusparseLtSparsity_t)s->mat.sparsity);
		break;
	case WH_SLT_MATMUL:
		res = wh_raw_cusparseLtMatmulDescriptorInit(HANDLE(s->handle), made,
			(cusparseOperation_t)s->matmul.op_a, (cusparseOperation_t)s->matmul.op_b,
			MAT(1, of[s->parent[0]]), MAT(2, of[s->parent[1]]),
			MAT(3, of[s->parent[2]]), MAT(4, of[s->parent[3]]),
			(cusparseComputeType)s->matmul.compute);
		break;
	case WH_SLT_ALG:
		res = wh_raw_cusparseLtMatmulAlgSelectionInit(HANDLE(s->handle), made,
			MATMUL(1, of[s->parent[0]]), (cusparseLtMatmulAlg_t)s->alg);
		break;
	case WH_SLT_PLAN:
		res = wh_raw_cusparseLtMatmulPlanInit(HANDLE(s->handle), made,
			MATMUL(1, of[s->parent[0]]), ALG(2, of[s->parent[1]]));
		break;
	}
	*real = as[5].id;
	return res;
}

static cusparseStatus_t set(const struct wh_slt_step *s, uint64_t real)
{
	_Alignas(16) struct wh_opaque as[2];

	switch (real >> 56) {
	case WH_H_cusparseLtMatDescriptor_t:
		return wh_raw_cusparseLtMatDescSetAttribute(HANDLE(s->handle), MAT(1, real),
			(cusparseLtMatDescAttribute_t)s->attribute, s->value, s->size);
	case WH_H_cusparseLtMatmulDescriptor_t:
		return wh_raw_cusparseLtMatmulDescSetAttribute(HANDLE(s->handle), MATMUL(1, real),
			(cusparseLtMatmulDescAttribute_t)s->attribute, s->value, s->size);
	case WH_H_cusparseLtMatmulAlgSelection_t:
		return wh_raw_cusparseLtMatmulAlgSetAttribute(HANDLE(s->handle), ALG(1, real),
			(cusparseLtMatmulAlgAttribute_t)s->attribute, s->value, s->size);
	}
	return CUSPARSE_STATUS_NOT_INITIALIZED;
}

cusparseStatus_t wh_slt_run(const struct wh_slt_step *step, uint64_t *real)
{
	if (step->op == WH_SLT_SET)
		return set(step, real[step->when]);
	return make(step, real, &real[step->when]);
}

cusparseStatus_t wh_slt_destroy(uint64_t type, uint64_t real)
{
	_Alignas(16) struct wh_opaque as[1];

	switch (type) {
	case WH_H_cusparseLtMatDescriptor_t:
		return wh_raw_cusparseLtMatDescriptorDestroy(MAT(0, real));
	case WH_H_cusparseLtMatmulAlgSelection_t:
		return wh_raw_cusparseLtMatmulAlgSelectionDestroy(ALG(0, real));
	case WH_H_cusparseLtMatmulPlan_t:
		return wh_raw_cusparseLtMatmulPlanDestroy(PLAN(0, real));
	}
	return CUSPARSE_STATUS_NOT_INITIALIZED;
}

/* --- Chains ------------------------------------------------------------------------------ */

/* A product's description and a choice of algorithm end with the matrices, in the worker. */
static void end(struct wh_slt_chain *c)
{
	uint32_t i;

	for (i = WH_SLT_OBJECTS; i--;)
		if (c->real[i] && (c->real[i] >> 56 == WH_H_cusparseLtMatmulPlan_t ||
				   c->real[i] >> 56 == WH_H_cusparseLtMatDescriptor_t))
			wh_slt_destroy(c->real[i] >> 56, c->real[i]);
	free(c->log);
	free(c);
}

/* Oldest first, those that nobody uses, down to `most`. */
static void end_idle(uint32_t most)
{
	struct wh_slt_chain *c, *newer;

	for (c = oldest; c && chains - used > most; c = newer) {
		newer = c->newer;
		if (c->users)
			continue;
		unlist(c);
		end(c);
	}
}

static bool relabel(struct wh_slt_chain *c, uint64_t hash, const struct wh_slt_log *log)
{
	struct wh_slt_log *own = malloc(offsetof(struct wh_slt_log, step) + wh_slt_bytes(log));

	if (!own)
		return false;
	memcpy(own, log, offsetof(struct wh_slt_log, step) + wh_slt_bytes(log));
	free(c->log);
	c->log = own;
	c->hash = hash;
	return true;
}

static cusparseStatus_t build(const struct wh_slt_log *log, uint64_t hash,
			      struct wh_slt_chain **out)
{
	struct wh_slt_chain *c = calloc(1, sizeof(*c));
	cusparseStatus_t res = CUSPARSE_STATUS_SUCCESS;
	uint32_t i;

	if (!c || !relabel(c, hash, log)) {
		free(c);
		return CUSPARSE_STATUS_ALLOC_FAILED;
	}
	for (i = 0; i < log->n && res == CUSPARSE_STATUS_SUCCESS; i++)
		res = wh_slt_run(&log->step[i], c->real);
	if (res != CUSPARSE_STATUS_SUCCESS) {
		end(c);
		return res;
	}
	*out = c;
	return res;
}

/* Plans have code and memory on the device: rather than fail, do without those of before. */
static bool makes_room(cusparseStatus_t res)
{
	const uint32_t before = chains;

	if (res == CUSPARSE_STATUS_ALLOC_FAILED || res == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES)
		end_idle(0);
	return chains < before;
}

static cusparseStatus_t build_at_any_cost(const struct wh_slt_log *log, uint64_t hash,
					  struct wh_slt_chain **out)
{
	cusparseStatus_t res = build(log, hash, out);

	return makes_room(res) ? build(log, hash, out) : res;
}

cusparseStatus_t wh_slt_use(const struct wh_slt_log *log, struct wh_slt_chain **chain)
{
	const uint64_t hash = wh_slt_hash(log);
	struct wh_slt_chain *c = find(hash, log);
	cusparseStatus_t res;

	if (c) {
		unlist(c);
	} else {
		res = build_at_any_cost(log, hash, &c);
		if (res != CUSPARSE_STATUS_SUCCESS)
			return res;
	}
	if (!c->users++)
		used++;
	list(c);
	end_idle(MOST);
	*chain = c;
	return CUSPARSE_STATUS_SUCCESS;
}

void wh_slt_leave(struct wh_slt_chain *c)
{
	if (!--c->users)
		used--;
	end_idle(MOST);
}

/* One that may be changed: nobody else's; NULL if there is none. */
static struct wh_slt_chain *take(const struct wh_slt_log *log)
{
	struct wh_slt_chain *c = find(wh_slt_hash(log), log);

	if (!c || c->users)
		return NULL;
	unlist(c);
	return c;
}

/* One more step of a chain that is nobody else's. What one that failed leaves, nobody knows. */
static cusparseStatus_t run_one(const struct wh_slt_step *step, const struct wh_slt_log *after,
				uint64_t hash, struct wh_slt_chain **chain)
{
	cusparseStatus_t res = wh_slt_run(step, (*chain)->real);

	if (res == CUSPARSE_STATUS_SUCCESS)
		return res;
	end(*chain);
	return makes_room(res) ? build(after, hash, chain) : res;
}

cusparseStatus_t wh_slt_extend(const struct wh_slt_log *before, const struct wh_slt_step *step,
			       bool sure, const struct wh_slt_log *after)
{
	const uint64_t hash = wh_slt_hash(after);
	struct wh_slt_chain *c;
	cusparseStatus_t res;

	if (sure && wh_step_known(hash))
		return CUSPARSE_STATUS_SUCCESS;
	c = take(before);
	res = c ? run_one(step, after, hash, &c) : build_at_any_cost(after, hash, &c);
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	wh_step_learn(hash);
	if (find(hash, after) || !relabel(c, hash, after)) {
		end(c);
		return res;
	}
	list(c);
	end_idle(MOST);
	return res;
}

static bool names(const struct wh_slt_chain *c, uint64_t handle)
{
	uint32_t i;

	for (i = 0; i < c->log->n; i++)
		if (c->log->step[i].handle == handle)
			return true;
	return false;
}

void wh_slt_forget(uint64_t handle)
{
	struct wh_slt_chain *c, *newer;

	for (c = oldest; c; c = newer) {
		newer = c->newer;
		if (c->users || !names(c, handle))
			continue;
		unlist(c);
		end(c);
	}
}
