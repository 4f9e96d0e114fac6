// SPDX-License-Identifier: Apache-2.0
/* Products, and the search for the fastest algorithm for one. */
#include "cusparselt_stub.h"

struct product {
	const cusparseLtHandle_t *handle;
	const cusparseLtMatmulPlan_t *plan;
	const void *alpha, *a, *b, *beta, *c;
	void *d, *workspace;
	cudaStream_t *stream;
	int32_t streams;
};

/*
 * If the process does not know the address as the device's, it points to a number in host
 * memory.
 */
static struct wh_cusparselt_scalar scalar(const void *p)
{
	struct wh_cusparselt_scalar v = { .none = !p };

	if (p && wh_range_has((CUdeviceptr)p))
		v.device = (uintptr_t)p;
	else if (p)
		memcpy(&v.host, p, sizeof(v.host));
	return v;
}

#define ADDRESS(field)	wh_word(struct wh_req_cusparseLtMatmul, field)
#define ADDRESSES	(ADDRESS(a) | ADDRESS(b) | ADDRESS(c) | ADDRESS(d) | ADDRESS(workspace) | \
			 ADDRESS(alpha.device) | ADDRESS(beta.device))

static cusparseStatus_t send(uint32_t call, const struct wh_req_cusparseLtMatmul *with)
{
	struct wh_req_cusparseLtMatmul *q;
	cusparseStatus_t res;
	struct wh_call c;

	q = wh_cusparselt_begin(&c, call, sizeof(*q));
	if (!q)
		return wh_cusparselt_lost(c.result);
	memcpy(&q->hdr + 1, &with->hdr + 1, sizeof(*q) - sizeof(q->hdr));
	/* A search chooses an algorithm for later products. A product changes nothing. */
	if (call == WH_CALL_cusparseLtMatmul)
		res = wh_cusparselt_post(&c, sizeof(*q), ADDRESSES);
	else
		res = wh_cusparselt_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

/*
 * A search chooses an algorithm for its plan, so the worker's plan must belong to this plan
 * alone.
 */
static cusparseStatus_t begin_plan(uint32_t call, const cusparseLtMatmulPlan_t *plan,
				   struct wh_kept_use *use)
{
	const struct wh_kept_kind *kind = &wh_kept_cusparseLtMatmulPlan_t;
	const int32_t bad = CUSPARSE_STATUS_NOT_INITIALIZED;

	return wh_cusparselt_kept(call == WH_CALL_cusparseLtMatmul ?
				  wh_kept_begin_use(kind, plan, bad, use) :
				  wh_kept_begin_change(kind, plan, bad, use));
}

static cusparseStatus_t multiply_with(uint32_t call, const struct product *p,
				      struct wh_req_cusparseLtMatmul *q)
{
	struct wh_kept_use handle, plan;
	cusparseStatus_t res;

	res = wh_cusparselt_kept(wh_kept_begin_use(&wh_kept_cusparseLtHandle_t, p->handle,
						   CUSPARSE_STATUS_NOT_INITIALIZED, &handle));
	if (res == CUSPARSE_STATUS_SUCCESS)
		res = begin_plan(call, p->plan, &plan);
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	q->handle = handle.real;
	q->plan = plan.real;
	res = send(call, q);
	wh_kept_end_use(&plan);
	return res;
}

static cusparseStatus_t multiply(uint32_t call, const struct product *p)
{
	struct wh_req_cusparseLtMatmul q = {
		.a = (uintptr_t)p->a, .b = (uintptr_t)p->b, .c = (uintptr_t)p->c,
		.d = (uintptr_t)p->d, .workspace = (uintptr_t)p->workspace,
	};
	int32_t i;

	if (p->streams < 0 || p->streams > WH_CUSPARSELT_STREAMS || (p->streams && !p->stream))
		return CUSPARSE_STATUS_INVALID_VALUE;
	q.alpha = scalar(p->alpha);
	q.beta = scalar(p->beta);
	q.streams = p->streams;
	for (i = 0; i < p->streams; i++)
		q.stream[i] = wh_library_stream(p->stream[i]);
	return multiply_with(call, p, &q);
}

cusparseStatus_t cusparseLtMatmul(const cusparseLtHandle_t *handle,
				  const cusparseLtMatmulPlan_t *plan, const void *alpha,
				  const void *d_A, const void *d_B, const void *beta,
				  const void *d_C, void *d_D, void *workspace,
				  cudaStream_t *streams, int32_t numStreams)
{
	return multiply(WH_CALL_cusparseLtMatmul, &(struct product) {
		handle, plan, alpha, d_A, d_B, beta, d_C, d_D, workspace, streams, numStreams });
}

cusparseStatus_t cusparseLtMatmulSearch(const cusparseLtHandle_t *handle,
					cusparseLtMatmulPlan_t *plan, const void *alpha,
					const void *d_A, const void *d_B, const void *beta,
					const void *d_C, void *d_D, void *workspace,
					cudaStream_t *streams, int32_t numStreams)
{
	return multiply(WH_CALL_cusparseLtMatmulSearch, &(struct product) {
		handle, plan, alpha, d_A, d_B, beta, d_C, d_D, workspace, streams, numStreams });
}
