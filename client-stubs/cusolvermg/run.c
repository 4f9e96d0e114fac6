// SPDX-License-Identifier: Apache-2.0
/*
 * Operations of cuSOLVERMg: each is one request that names the operation. The program's arrays have
 * an address for each device. The worker is back when the devices are done, so info is there.
 */
#include "cusolvermg_stub.h"

/* What a function was called with; the rest is in the request. */
struct run {
	struct wh_req_whMgRun q;
	cusolverMgHandle_t handle;
	cudaLibMgMatrixDesc_t desc[2];	/* NULL: the operation has no B */
	bool has_b;
	void *const *array[WH_MG_ARRAYS];
	void *values;
	int64_t *work;		/* where the size goes; NULL: the operation runs */
	int *info;
};

/* Finds the objects and counts the addresses that they say. */
static cusolverStatus_t count(struct run *r)
{
	const struct wh_mg *h = wh_mg_find(r->handle, WH_MG_HANDLE), *d[2] = { NULL };
	const struct wh_mg *of[WH_MG_ARRAYS];
	int i;

	if (!h)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	for (i = 0; i <= r->has_b; i++) {
		d[i] = wh_mg_find(r->desc[i], WH_MG_DESC);
		if (!d[i])
			return CUSOLVER_STATUS_INVALID_VALUE;
		r->q.desc[i] = d[i]->id;
	}
	of[WH_MG_A] = of[WH_MG_PIVOTS] = d[0];
	of[WH_MG_B] = d[1];
	of[WH_MG_WORK] = h;
	for (i = 0; i < WH_MG_ARRAYS; i++)
		r->q.count[i] = r->array[i] ? of[i]->devices : 0;
	r->q.handle = h->id;
	return CUSOLVER_STATUS_SUCCESS;
}

static size_t value_bytes(const struct run *r)
{
	return r->q.values ? wh_wire_bytes(r->q.n, wh_type_size(r->q.value_type)) : 0;
}

static struct wh_req_whMgRun *begin(struct wh_call *c, const struct run *r)
{
	size_t size = WH_WIRE_FIXED(r->q);
	struct wh_req_whMgRun *q;
	int i;

	for (i = 0; i < WH_MG_ARRAYS; i++)
		size += wh_wire_bytes(r->q.count[i], sizeof(uint64_t));
	q = wh_cusolvermg_begin_long(c, WH_CALL_whMgRun, size,
				     wh_wire_more(WH_WIRE_FIXED(struct wh_rsp_whMgRun),
						  value_bytes(r)));
	if (!q)
		return NULL;
	memcpy((uint8_t *)q + sizeof(q->hdr), (const uint8_t *)&r->q + sizeof(q->hdr),
	       sizeof(*q) - sizeof(q->hdr));
	c->pos = WH_WIRE_FIXED(*q);
	for (i = 0; i < WH_MG_ARRAYS; i++)
		if (r->q.count[i])
			wh_request_put(c, r->array[i], r->q.count[i], sizeof(uint64_t));
	return q;
}

/* The genuine library says in info which argument it refuses. */
static void take_info(const struct wh_call *c, const struct run *r)
{
	const struct wh_rsp_whMgRun *a = c->rsp;

	if (!r->work && a->hdr.size >= sizeof(*a) && a->ran)
		*r->info = a->info;
}

static void take(struct wh_call *c, const struct run *r)
{
	const struct wh_rsp_whMgRun *a = c->rsp;

	if (r->work)
		*r->work = a->work;
	c->pos = WH_WIRE_FIXED(*a);
	if (r->q.values)
		wh_reply_take(c, r->values, r->q.n, wh_type_size(r->q.value_type));
}

static cusolverStatus_t run(struct run r, enum wh_mg_op op)
{
	cusolverStatus_t res;
	struct wh_call c;

	r.q.op = op;
	r.q.asks = !!r.work;
	/* A question about a size has no values. */
	r.q.values = r.values && !r.work && r.q.n > 0 && wh_type_size(r.q.value_type);
	if ((!r.work && !r.info) || (r.q.asks && r.array[WH_MG_WORK]))
		return CUSOLVER_STATUS_INVALID_VALUE;
	res = count(&r);
	if (res != CUSOLVER_STATUS_SUCCESS)
		return res;
	if (!begin(&c, &r))
		return wh_cusolvermg_lost(c.result);
	res = wh_cusolvermg_run(&c, sizeof(struct wh_rsp_whMgRun));
	if (c.result == CUDA_SUCCESS)
		take_info(&c, &r);
	if (res == CUSOLVER_STATUS_SUCCESS)
		take(&c, &r);
	wh_end(&c);
	return res;
}

/* A size that has no place to go to would look like an operation. */
static cusolverStatus_t ask(struct run r, enum wh_mg_op op)
{
	return r.work ? run(r, op) : CUSOLVER_STATUS_INVALID_VALUE;
}

#define MATRIX_A	.handle = handle, .desc[0] = descrA, .array[WH_MG_A] = array_d_A, \
			.q.at[0] = IA, .q.at[1] = JA, .q.compute_type = computeType
#define MATRIX_B	.has_b = true, .desc[1] = descrB, .array[WH_MG_B] = array_d_B, \
			.q.at[2] = IB, .q.at[3] = JB
#define PIVOTS		.array[WH_MG_PIVOTS] = (void *const *)array_d_IPIV
#define SIZE		.work = lwork
#define WORK(to)	.array[WH_MG_WORK] = array_d_work, .q.work = lwork, .info = to

/* --- Eigenvalues ----------------------------------------------------------- */

cusolverStatus_t cusolverMgSyevd_bufferSize(cusolverMgHandle_t handle, cusolverEigMode_t jobz,
					    cublasFillMode_t uplo, int N, void *array_d_A[], int IA,
					    int JA, cudaLibMgMatrixDesc_t descrA, void *W,
					    cudaDataType dataTypeW, cudaDataType computeType,
					    int64_t *lwork)
{
	return ask((struct run) { MATRIX_A, SIZE, .values = W, .q.value_type = dataTypeW, .q.n = N,
				  .q.vectors = jobz, .q.mode = uplo }, WH_MG_SYEVD);
}

cusolverStatus_t cusolverMgSyevd(cusolverMgHandle_t handle, cusolverEigMode_t jobz,
				 cublasFillMode_t uplo, int N, void *array_d_A[], int IA, int JA,
				 cudaLibMgMatrixDesc_t descrA, void *W, cudaDataType dataTypeW,
				 cudaDataType computeType, void *array_d_work[], int64_t lwork,
				 int *info)
{
	return run((struct run) { MATRIX_A, WORK(info), .values = W, .q.value_type = dataTypeW,
				  .q.n = N, .q.vectors = jobz, .q.mode = uplo }, WH_MG_SYEVD);
}

/* --- Factors with pivots --------------------------------------------------- */

cusolverStatus_t cusolverMgGetrf_bufferSize(cusolverMgHandle_t handle, int M, int N,
					    void *array_d_A[], int IA, int JA,
					    cudaLibMgMatrixDesc_t descrA, int *array_d_IPIV[],
					    cudaDataType computeType, int64_t *lwork)
{
	return ask((struct run) { MATRIX_A, PIVOTS, SIZE, .q.m = M, .q.n = N }, WH_MG_GETRF);
}

cusolverStatus_t cusolverMgGetrf(cusolverMgHandle_t handle, int M, int N, void *array_d_A[], int IA,
				 int JA, cudaLibMgMatrixDesc_t descrA, int *array_d_IPIV[],
				 cudaDataType computeType, void *array_d_work[], int64_t lwork,
				 int *info)
{
	return run((struct run) { MATRIX_A, PIVOTS, WORK(info), .q.m = M, .q.n = N }, WH_MG_GETRF);
}

cusolverStatus_t cusolverMgGetrs_bufferSize(cusolverMgHandle_t handle, cublasOperation_t TRANS,
					    int N, int NRHS, void *array_d_A[], int IA, int JA,
					    cudaLibMgMatrixDesc_t descrA, int *array_d_IPIV[],
					    void *array_d_B[], int IB, int JB,
					    cudaLibMgMatrixDesc_t descrB, cudaDataType computeType,
					    int64_t *lwork)
{
	return ask((struct run) { MATRIX_A, PIVOTS, MATRIX_B, SIZE, .q.mode = TRANS, .q.m = NRHS,
				  .q.n = N }, WH_MG_GETRS);
}

cusolverStatus_t cusolverMgGetrs(cusolverMgHandle_t handle, cublasOperation_t TRANS, int N,
				 int NRHS, void *array_d_A[], int IA, int JA,
				 cudaLibMgMatrixDesc_t descrA, int *array_d_IPIV[],
				 void *array_d_B[], int IB, int JB, cudaLibMgMatrixDesc_t descrB,
				 cudaDataType computeType, void *array_d_work[], int64_t lwork,
				 int *info)
{
	return run((struct run) { MATRIX_A, PIVOTS, MATRIX_B, WORK(info), .q.mode = TRANS,
				  .q.m = NRHS, .q.n = N }, WH_MG_GETRS);
}

/* --- Factors of positive definite matrices --------------------------------- */

cusolverStatus_t cusolverMgPotrf_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int N,
					    void *array_d_A[], int IA, int JA,
					    cudaLibMgMatrixDesc_t descrA, cudaDataType computeType,
					    int64_t *lwork)
{
	return ask((struct run) { MATRIX_A, SIZE, .q.mode = uplo, .q.n = N }, WH_MG_POTRF);
}

cusolverStatus_t cusolverMgPotrf(cusolverMgHandle_t handle, cublasFillMode_t uplo, int N,
				 void *array_d_A[], int IA, int JA, cudaLibMgMatrixDesc_t descrA,
				 cudaDataType computeType, void *array_d_work[], int64_t lwork,
				 int *h_info)
{
	return run((struct run) { MATRIX_A, WORK(h_info), .q.mode = uplo, .q.n = N }, WH_MG_POTRF);
}

cusolverStatus_t cusolverMgPotrs_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n,
					    int nrhs, void *array_d_A[], int IA, int JA,
					    cudaLibMgMatrixDesc_t descrA, void *array_d_B[], int IB,
					    int JB, cudaLibMgMatrixDesc_t descrB,
					    cudaDataType computeType, int64_t *lwork)
{
	return ask((struct run) { MATRIX_A, MATRIX_B, SIZE, .q.mode = uplo, .q.m = nrhs, .q.n = n },
		   WH_MG_POTRS);
}

cusolverStatus_t cusolverMgPotrs(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,
				 void *array_d_A[], int IA, int JA, cudaLibMgMatrixDesc_t descrA,
				 void *array_d_B[], int IB, int JB, cudaLibMgMatrixDesc_t descrB,
				 cudaDataType computeType, void *array_d_work[], int64_t lwork,
				 int *h_info)
{
	return run((struct run) { MATRIX_A, MATRIX_B, WORK(h_info), .q.mode = uplo, .q.m = nrhs,
				  .q.n = n }, WH_MG_POTRS);
}

cusolverStatus_t cusolverMgPotri_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int N,
					    void *array_d_A[], int IA, int JA,
					    cudaLibMgMatrixDesc_t descrA, cudaDataType computeType,
					    int64_t *lwork)
{
	return ask((struct run) { MATRIX_A, SIZE, .q.mode = uplo, .q.n = N }, WH_MG_POTRI);
}

cusolverStatus_t cusolverMgPotri(cusolverMgHandle_t handle, cublasFillMode_t uplo, int N,
				 void *array_d_A[], int IA, int JA, cudaLibMgMatrixDesc_t descrA,
				 cudaDataType computeType, void *array_d_work[], int64_t lwork,
				 int *h_info)
{
	return run((struct run) { MATRIX_A, WORK(h_info), .q.mode = uplo, .q.n = N }, WH_MG_POTRI);
}
