// SPDX-License-Identifier: Apache-2.0
/*
 * cuSPARSELt in the worker: the sizes of attributes, some of which are addresses, and the products.
 */
#include "gen_cusparselt_server.h"

/* --- Attributes --------------------------------------------------------------------- */

/* Returns the bytes of an attribute, or 0 for an unknown one. */
static size_t matmul_size(cusparseLtMatmulDescAttribute_t attribute)
{
	switch (attribute) {
	case CUSPARSELT_MATMUL_ACTIVATION_RELU:
	case CUSPARSELT_MATMUL_ACTIVATION_RELU_UPPERBOUND:
	case CUSPARSELT_MATMUL_ACTIVATION_RELU_THRESHOLD:
	case CUSPARSELT_MATMUL_ACTIVATION_GELU:
	case CUSPARSELT_MATMUL_ACTIVATION_GELU_SCALING:
	case CUSPARSELT_MATMUL_ALPHA_VECTOR_SCALING:
	case CUSPARSELT_MATMUL_BETA_VECTOR_SCALING:
	case CUSPARSELT_MATMUL_A_SCALE_MODE:
	case CUSPARSELT_MATMUL_B_SCALE_MODE:
	case CUSPARSELT_MATMUL_C_SCALE_MODE:
	case CUSPARSELT_MATMUL_D_SCALE_MODE:
	case CUSPARSELT_MATMUL_D_OUT_SCALE_MODE:
		return sizeof(int);
	case CUSPARSELT_MATMUL_BIAS_STRIDE:
		return sizeof(int64_t);
	case CUSPARSELT_MATMUL_BIAS_POINTER:
	case CUSPARSELT_MATMUL_SPARSE_MAT_POINTER:
	case CUSPARSELT_MATMUL_A_SCALE_POINTER:
	case CUSPARSELT_MATMUL_B_SCALE_POINTER:
	case CUSPARSELT_MATMUL_C_SCALE_POINTER:
	case CUSPARSELT_MATMUL_D_SCALE_POINTER:
	case CUSPARSELT_MATMUL_D_OUT_SCALE_POINTER:
		return sizeof(void *);
	}
	return 0;
}

static cusparseStatus_t is_size(size_t size, size_t given)
{
	return size && size == given ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t wh_bound_cusparseLtMatmulDescSetAttribute(struct wh_session *s,
							   struct wh_frame *f, const void *data)
{
	const struct wh_req_cusparseLtMatmulDescSetAttribute *q = f->req;
	uint64_t address;

	if (!data || is_size(matmul_size(q->matmulAttribute), q->dataSize))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (wh_cusparselt_place(q->matmulAttribute) < 0)
		return CUSPARSE_STATUS_SUCCESS;
	memcpy(&address, data, sizeof(address));
	return address && wh_reach(s, address, 1) != CUDA_SUCCESS ?
	       CUSPARSE_STATUS_INVALID_VALUE : CUSPARSE_STATUS_SUCCESS;
}

/*
 * Keeps an address for products, which check it again, since its memory may be gone by then. An
 * address that was refused is not kept.
 */
void wh_done_cusparseLtMatmulDescSetAttribute(struct wh_session *s,
					      struct wh_req_cusparseLtMatmulDescSetAttribute *q,
					      cusparseStatus_t res)
{
	const int place = wh_cusparselt_place(q->matmulAttribute);
	void *matmul = wh_handles_get(&s->handles, q->matmulDescr,
				      WH_H_cusparseLtMatmulDescriptor_t);
	uint64_t address;

	if (res != CUSPARSE_STATUS_SUCCESS || place < 0)
		return;
	memcpy(&address, (const uint8_t *)q + WH_WIRE_FIXED(*q), sizeof(address));
	wh_box_keeps(matmul, place, address);
}

cusparseStatus_t wh_check_cusparseLtMatmulDescGetAttribute(struct wh_session *s,
		const struct wh_req_cusparseLtMatmulDescGetAttribute *q)
{
	(void)s;
	return is_size(matmul_size(q->matmulAttribute), q->dataSize);
}

static size_t matrix_size(cusparseLtMatDescAttribute_t attribute)
{
	switch (attribute) {
	case CUSPARSELT_MAT_NUM_BATCHES:
		return sizeof(int);
	case CUSPARSELT_MAT_BATCH_STRIDE:
		return sizeof(int64_t);
	}
	return 0;
}

cusparseStatus_t wh_check_cusparseLtMatDescSetAttribute(struct wh_session *s,
		const struct wh_req_cusparseLtMatDescSetAttribute *q)
{
	(void)s;
	return is_size(matrix_size(q->matAttribute), q->dataSize);
}

cusparseStatus_t wh_check_cusparseLtMatDescGetAttribute(struct wh_session *s,
		const struct wh_req_cusparseLtMatDescGetAttribute *q)
{
	(void)s;
	return is_size(matrix_size(q->matAttribute), q->dataSize);
}

static size_t algorithm_size(cusparseLtMatmulAlgAttribute_t attribute)
{
	switch (attribute) {
	case CUSPARSELT_MATMUL_ALG_CONFIG_ID:
	case CUSPARSELT_MATMUL_ALG_CONFIG_MAX_ID:
	case CUSPARSELT_MATMUL_SEARCH_ITERATIONS:
	case CUSPARSELT_MATMUL_SPLIT_K:
	case CUSPARSELT_MATMUL_SPLIT_K_MODE:
	case CUSPARSELT_MATMUL_SPLIT_K_BUFFERS:
		return sizeof(int);
	}
	return 0;
}

cusparseStatus_t wh_check_cusparseLtMatmulAlgSetAttribute(struct wh_session *s,
		const struct wh_req_cusparseLtMatmulAlgSetAttribute *q)
{
	(void)s;
	return is_size(algorithm_size(q->attribute), q->dataSize);
}

cusparseStatus_t wh_check_cusparseLtMatmulAlgGetAttribute(struct wh_session *s,
		const struct wh_req_cusparseLtMatmulAlgGetAttribute *q)
{
	(void)s;
	return is_size(algorithm_size(q->attribute), q->dataSize);
}

/* --- Products ------------------------------------------------------------------------ */

static bool reached(struct wh_session *s, uint64_t address, uint64_t bytes)
{
	return !address || wh_reach(s, address, bytes) == CUDA_SUCCESS;
}

/*
 * May the client name all of them? Only first bytes of matrices are checked: the library knows how
 * large they are, and kernels follow them.
 */
static bool all_reached(struct wh_session *s, const struct wh_req_cusparseLtMatmul *q, size_t work)
{
	return reached(s, q->a, 1) && reached(s, q->b, 1) && reached(s, q->c, 1) &&
	       reached(s, q->d, 1) && reached(s, q->workspace, work ? work : 1) &&
	       reached(s, q->alpha.device, sizeof(float)) &&
	       reached(s, q->beta.device, sizeof(float));
}

static const void *scalar(const struct wh_cusparselt_scalar *v)
{
	if (v->none)
		return NULL;
	return v->device ? (const void *)v->device : &v->host;
}

static bool take_streams(struct wh_session *s, const struct wh_req_cusparseLtMatmul *q,
			 CUstream stream[WH_CUSPARSELT_STREAMS])
{
	uint32_t i;

	for (i = 0; i < q->streams; i++)
		if (!wh_get(s, WH_H_CUstream, q->stream[i], (void **)&stream[i]))
			return false;
	return true;
}

static int32_t multiply(struct wh_session *s, struct wh_frame *f, bool search)
{
	const struct wh_cusparselt_functions *l = wh_library_functions(s, WH_LIB_cusparselt);
	const struct wh_req_cusparseLtMatmul *q = f->req;
	CUstream stream[WH_CUSPARSELT_STREAMS] = { NULL };
	cusparseLtHandle_t *handle;
	cusparseLtMatmulPlan_t *plan;
	cusparseStatus_t res;
	CUresult limit;
	size_t work = 0;

	if (f->req_size < sizeof(*q) || q->streams > WH_CUSPARSELT_STREAMS)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!(search ? l->cusparseLtMatmulSearch != NULL : l->cusparseLtMatmul != NULL) ||
	    !l->cusparseLtMatmulGetWorkspace)
		return wh_library_missing(s, search ? "cusparseLtMatmulSearch" : "cusparseLtMatmul",
					  CUSPARSE_STATUS_NOT_SUPPORTED);
	handle = wh_handles_get(&s->handles, q->handle, WH_H_cusparseLtHandle_t);
	plan = wh_handles_get(&s->handles, q->plan, WH_H_cusparseLtMatmulPlan_t);
	if (!handle || !plan)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	res = l->cusparseLtMatmulGetWorkspace(handle, plan, &work);
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	if (!take_streams(s, q, stream) || !all_reached(s, q, work) || !wh_box_reaches(s, plan))
		return CUSPARSE_STATUS_INVALID_VALUE;
	limit = wh_launch_begin(s, stream[0]);
	if (limit != CUDA_SUCCESS)
		return limit;	/* the call has to wait, see charge.h */
	if (search)
		res = l->cusparseLtMatmulSearch(handle, plan, scalar(&q->alpha), (void *)q->a,
						(void *)q->b, scalar(&q->beta), (void *)q->c,
						(void *)q->d, (void *)q->workspace, stream,
						q->streams);
	else
		res = l->cusparseLtMatmul(handle, plan, scalar(&q->alpha), (void *)q->a,
					  (void *)q->b, scalar(&q->beta), (void *)q->c,
					  (void *)q->d, (void *)q->workspace, stream, q->streams);
	wh_launch_end(s, stream[0]);
	return res;
}

int32_t wh_do_cusparseLtMatmul(struct wh_session *s, struct wh_frame *f)
{
	return multiply(s, f, false);
}

int32_t wh_do_cusparseLtMatmulSearch(struct wh_session *s, struct wh_frame *f)
{
	return multiply(s, f, true);
}
