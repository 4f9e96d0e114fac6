// SPDX-License-Identifier: Apache-2.0
/*
 * Random requests for every call of every library, with living handles and
 * plausible numbers strewn in, against libraries that accept everything. The
 * sanitizers judge; the seed is printed, and WH_SEED repeats it. And requests
 * that are wrong in one way each.
 */
#include "fuzz.h"

#include "gen_cublas_server.h"
#include "gen_cublaslt_server.h"
#include "gen_cudnn_server.h"
#include "gen_cufft_server.h"
#include "gen_curand_server.h"
#include "gen_cusolver_server.h"
#include "gen_cusparse_server.h"
#include "libraries/nvml_view.h"

#define ROUNDS_PER_CALL	1000

static int calls;		/* that reached a library */

/* --- Libraries that accept everything -------------------------------------------------- */

static int any(void)
{
	calls++;
	return next() % 8 ? 0 : 14;
}

struct cublasContext {
	cublasPointerMode_t mode;
};

static cublasStatus_t create_handle(cublasHandle_t *h)
{
	calls++;
	*h = calloc(1, sizeof(**h));
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t destroy_handle(cublasHandle_t h)
{
	calls++;
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_mode(cublasHandle_t h, cublasPointerMode_t m)
{
	h->mode = m;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t get_mode(cublasHandle_t h, cublasPointerMode_t *m)
{
	*m = h->mode;
	return CUBLAS_STATUS_SUCCESS;
}

/* Scalars are touched from end to end where they are in host memory. */
static void touch_scalar(cublasHandle_t h, const void *p, size_t n)
{
	if (h->mode == CUBLAS_POINTER_MODE_HOST)
		touch(p, n);
}

static cublasStatus_t gemm_ex(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
			      int n, int k, const void *alpha, const void *A, cudaDataType at,
			      int lda, const void *B, cudaDataType bt, int ldb, const void *beta,
			      void *C, cudaDataType ct, int ldc, cublasComputeType_t type,
			      cublasGemmAlgo_t algo)
{
	(void)ta; (void)tb; (void)m; (void)n; (void)k; (void)A; (void)at; (void)lda; (void)B;
	(void)bt; (void)ldb; (void)C; (void)ldc; (void)algo;
	touch_scalar(h, alpha, wh_scale_size(type, ct));
	touch_scalar(h, beta, wh_scale_size(type, ct));
	return any();
}

static cublasStatus_t rotm_ex(cublasHandle_t h, int n, void *x, cudaDataType xt, int incx, void *y,
			      cudaDataType yt, int incy, const void *param, cudaDataType pt,
			      cudaDataType et)
{
	(void)n; (void)x; (void)xt; (void)incx; (void)y; (void)yt; (void)incy; (void)et;
	touch_scalar(h, param, 5 * wh_type_size(pt));
	return any();
}

static cublasStatus_t grouped(cublasHandle_t h, const cublasOperation_t ta[],
			      const cublasOperation_t tb[], const int m[], const int n[],
			      const int k[], const float alpha[], const float *const A[],
			      const int lda[], const float *const B[], const int ldb[],
			      const float beta[], float *const C[], const int ldc[], int groups,
			      const int size[])
{
	(void)h; (void)A; (void)B; (void)C;
	if (groups > 0) {
		touch(ta, groups * 4UL); touch(tb, groups * 4UL); touch(m, groups * 4UL);
		touch(n, groups * 4UL); touch(k, groups * 4UL); touch(alpha, groups * 4UL);
		touch(lda, groups * 4UL); touch(ldb, groups * 4UL); touch(beta, groups * 4UL);
		touch(ldc, groups * 4UL); touch(size, groups * 4UL);
	}
	return any();
}

/* Descriptors are written whole, and what is set is read whole. */
static cublasStatus_t init_layout(cublasLtMatrixLayout_t l, size_t size, cudaDataType type,
				  uint64_t rows, uint64_t cols, int64_t ld)
{
	(void)type; (void)rows; (void)cols; (void)ld;
	memset(l, 0, size);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t init_matmul(cublasLtMatmulDesc_t d, size_t size, cublasComputeType_t compute,
				  cudaDataType_t scale)
{
	(void)compute; (void)scale;
	memset(d, 0, size);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_matmul(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attr,
				 const void *value, size_t size)
{
	(void)d; (void)attr;
	touch(value, size);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_layout(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t attr,
				 const void *value, size_t size)
{
	(void)l; (void)attr;
	touch(value, size);
	return CUBLAS_STATUS_SUCCESS;
}

/* What is asked for is written, and more is said to have come. */
static cublasStatus_t heuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d,
				cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
				cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,
				cublasLtMatmulPreference_t p, int wanted,
				cublasLtMatmulHeuristicResult_t *results, int *n)
{
	(void)h; (void)d; (void)a; (void)b; (void)c; (void)out; (void)p;
	memset(results, 0, wanted * sizeof(*results));
	*n = next() % 4 ? wanted : (int)next();
	return any();
}

static cublasStatus_t check(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
			    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
			    cublasLtMatrixLayout_t out, const cublasLtMatmulAlgo_t *algo,
			    cublasLtMatmulHeuristicResult_t *result)
{
	(void)h; (void)d; (void)a; (void)b; (void)c; (void)out;
	touch(algo, sizeof(*algo));
	memset(result, 0, sizeof(*result));
	return any();
}

static cublasStatus_t matmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
			     const void *A, cublasLtMatrixLayout_t a, const void *B,
			     cublasLtMatrixLayout_t b, const void *beta, const void *C,
			     cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t out,
			     const cublasLtMatmulAlgo_t *algo, void *workspace, size_t size,
			     cudaStream_t stream)
{
	(void)h; (void)alpha; (void)A; (void)B; (void)beta; (void)C; (void)D; (void)workspace;
	(void)size; (void)stream;
	touch(d, sizeof(*d));
	touch(a, sizeof(*a));
	touch(b, sizeof(*b));
	touch(c, sizeof(*c));
	touch(out, sizeof(*out));
	if (algo)
		touch(algo, sizeof(*algo));
	return any();
}

static curandStatus_t create_generator(curandGenerator_t *g, curandRngType_t type)
{
	(void)type;
	calls++;
	*g = (curandGenerator_t)(next() & ~15ULL);
	return CURAND_STATUS_SUCCESS;
}

static curandGenerator_t host_generator;

static curandStatus_t create_host_generator(curandGenerator_t *g, curandRngType_t type)
{
	(void)type;
	calls++;
	*g = host_generator = (curandGenerator_t)0x4000;
	return CURAND_STATUS_SUCCESS;
}

/* A host generator writes what it was allowed to. */
static curandStatus_t generate(curandGenerator_t g, unsigned int *out, size_t n)
{
	calls++;
	if (g == (curandGenerator_t)0x4000 && n)
		memset(out, 1, n * sizeof(*out));
	return CURAND_STATUS_SUCCESS;
}

static curandStatus_t constants(unsigned int **out)
{
	static unsigned int table[WH_CURAND_DIMENSIONS];

	*out = table;
	return CURAND_STATUS_SUCCESS;
}

/* Descriptors whose sizes bound host arrays, which are then read to that end. */
static cudnnStatus_t tensor_dims(const cudnnTensorDescriptor_t d, int want, cudnnDataType_t *type,
				 int *n, int dim[], int stride[])
{
	int i;

	(void)d; (void)stride;
	if (!type || !n)
		return any();
	*type = CUDNN_DATA_FLOAT;
	*n = 3;
	for (i = 0; dim && i < want && i < 3; i++)
		dim[i] = next() % 4;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t sequence_dims(const cudnnSeqDataDescriptor_t d, cudnnDataType_t *type, int *n,
				   int want, int dim[], cudnnSeqDataAxis_t axes[], size_t *lengths,
				   size_t want_lengths, int length[], void *fill)
{
	int i;

	(void)d; (void)axes; (void)want_lengths; (void)length; (void)fill;
	if (!type || !n || !lengths)
		return any();
	*type = CUDNN_DATA_FLOAT;
	*n = 4;
	*lengths = 0;
	for (i = 0; dim && i < want && i < 4; i++)
		dim[i] = next() % 4;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t create_cudnn(cudnnHandle_t *h)
{
	calls++;
	*h = (cudnnHandle_t)(next() & ~15ULL);
	return CUDNN_STATUS_SUCCESS;
}

#include "fuzz_backend.h"

/* Plans are numbers; sizes are touched from end to end. */
static cufftResult create_plan(cufftHandle *p)
{
	calls++;
	*p = next() % 1024;
	return CUFFT_SUCCESS;
}

static cufftResult many(cufftHandle p, int rank, long long *n, long long *inembed,
			long long istride, long long idist, long long *onembed, long long ostride,
			long long odist, cufftType type, long long batch, size_t *size)
{
	(void)p; (void)istride; (void)idist; (void)ostride; (void)odist; (void)type; (void)batch;
	(void)size;
	touch(n, rank * 8UL);
	if (inembed)
		touch(inembed, rank * 8UL);
	if (onembed)
		touch(onembed, rank * 8UL);
	return any();
}

static cufftResult estimate(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
			    int ostride, int odist, cufftType type, int batch, size_t *size)
{
	(void)istride; (void)idist; (void)ostride; (void)odist; (void)type; (void)batch; (void)size;
	touch(n, rank * 4UL);
	if (inembed)
		touch(inembed, rank * 4UL);
	if (onembed)
		touch(onembed, rank * 4UL);
	return any();
}

#include "fuzz_cusparselt.h"

/* A struct that says its size is written to its end. */
static nvmlReturn_t versioned(nvmlDevice_t d, nvmlTemperature_t *t)
{
	(void)d;
	if (t)
		memset((uint8_t *)t + 4, 1, (t->version & 0xffffff) - 4);
	return any();
}

/* --- cuSPARSE and cuSOLVER ------------------------------------------------------------- */

struct cusparseContext {
	cusparsePointerMode_t mode;
};

static cusparseStatus_t create_cusparse(cusparseHandle_t *h)
{
	calls++;
	*h = calloc(1, sizeof(**h));
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t destroy_cusparse(cusparseHandle_t h)
{
	calls++;
	free(h);
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t set_cusparse_mode(cusparseHandle_t h, cusparsePointerMode_t m)
{
	h->mode = m;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t create_descriptor(cusparseMatDescr_t *d)
{
	*d = (cusparseMatDescr_t)0x6660;
	return next() % 8 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

/* The worker notes which address it has. */
static cusparseStatus_t create_vector(cusparseDnVecDescr_t *v, int64_t size, void *values,
				      cudaDataType type)
{
	(void)size; (void)values; (void)type;
	if (!v)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*v = (void *)(uintptr_t)(0x6690 + next() % 8 * 16);
	return next() % 8 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

static cusparseStatus_t spmv(cusparseHandle_t h, cusparseOperation_t op, const void *alpha,
			     cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
			     const void *beta, cusparseDnVecDescr_t y, cudaDataType type,
			     cusparseSpMVAlg_t alg, void *buffer)
{
	(void)op; (void)a; (void)x; (void)y; (void)alg; (void)buffer;
	if (h->mode == CUSPARSE_POINTER_MODE_HOST) {
		touch(alpha, wh_type_size(type));
		touch(beta, wh_type_size(type));
	}
	return any();
}

/* Attributes are touched from end to end, too. */
static cusparseStatus_t set_spmat(cusparseSpMatDescr_t m, cusparseSpMatAttribute_t a, void *data,
				  size_t size)
{
	(void)m; (void)a;
	touch(data, size);
	return any();
}

static cusparseStatus_t get_spmat(cusparseConstSpMatDescr_t m, cusparseSpMatAttribute_t a,
				  void *data, size_t size)
{
	(void)m; (void)a;
	if (data)
		memset(data, 1, size);
	return any();
}

/* What a workspace in host memory has to have, and is written to. */
static size_t host_work;

static cusolverStatus_t xgetrf_size(cusolverDnHandle_t h, cusolverDnParams_t p, int64_t m,
				    int64_t n, cudaDataType t, const void *a, int64_t lda,
				    cudaDataType c, size_t *device, size_t *host)
{
	(void)h; (void)p; (void)m; (void)n; (void)t; (void)a; (void)lda; (void)c;
	host_work = next() % 8 ? next() % 300 : next();
	if (device)
		*device = 0;
	if (host)
		*host = host_work;
	return any();
}

static cusolverStatus_t xgetrf(cusolverDnHandle_t h, cusolverDnParams_t p, int64_t m, int64_t n,
			       cudaDataType t, void *a, int64_t lda, int64_t *pivots,
			       cudaDataType c, void *device, size_t device_size, void *host,
			       size_t host_size, int *info)
{
	(void)h; (void)p; (void)m; (void)n; (void)t; (void)a; (void)lda; (void)pivots; (void)c;
	(void)device; (void)device_size; (void)info;
	if (host_size != host_work)
		abort();
	if (host_work)
		memset(host, 1, host_work);
	return any();
}

static cusolverStatus_t gesvda(cusolverDnHandle_t h, cusolverEigMode_t job, int rank, int m, int n,
			       const float *a, int lda, long long sa, float *S, long long ss,
			       float *u, int ldu, long long su, float *v, int ldv, long long sv,
			       float *work, int lwork, int *info, double *norms, int batch)
{
	(void)h; (void)job; (void)rank; (void)m; (void)n; (void)a; (void)lda; (void)sa; (void)S;
	(void)ss; (void)u; (void)ldu; (void)su; (void)v; (void)ldv; (void)sv; (void)work;
	(void)lwork; (void)info;
	if (norms)
		memset(norms, 1, batch * sizeof(*norms));
	return any();
}

/* Tables of the other functions would be missing. */
static void *never(void)
{
	return (void *)(uintptr_t)CURAND_STATUS_INTERNAL_ERROR;
}

static void *table_of(const struct wh_library *lib)
{
	void *table = calloc(1, lib->table_size);
	const struct wh_library_symbol *sym;

	for (sym = lib->symbols; sym->name; sym++)
		*(void **)((char *)table + sym->offset) = any;
	return table;
}

static void fill(struct wh_session *s)
{
	struct wh_cublas_functions *b = table_of(wh_libraries[WH_LIB_cublas]);
	struct wh_cublaslt_functions *t = table_of(wh_libraries[WH_LIB_cublaslt]);
	struct wh_curand_functions *r = table_of(wh_libraries[WH_LIB_curand]);
	struct wh_cudnn_functions *n = table_of(wh_libraries[WH_LIB_cudnn]);
	struct wh_nvml_functions *m = table_of(wh_libraries[WH_LIB_nvml]);
	struct wh_cufft_functions *f = table_of(wh_libraries[WH_LIB_cufft]);
	struct wh_cusparse_functions *p = table_of(wh_libraries[WH_LIB_cusparse]);
	struct wh_cusolver_functions *v = table_of(wh_libraries[WH_LIB_cusolver]);

	p->cusparseCreate = create_cusparse;
	p->cusparseDestroy = destroy_cusparse;
	p->cusparseSetPointerMode = set_cusparse_mode;
	p->cusparseCreateMatDescr = create_descriptor;
	p->cusparseCreateDnVec = create_vector;
	p->cusparseSpMV = spmv;
	p->cusparseSpMatSetAttribute = set_spmat;
	p->cusparseSpMatGetAttribute = get_spmat;
	v->cusolverDnXgetrf_bufferSize = xgetrf_size;
	v->cusolverDnXgetrf = xgetrf;
	v->cusolverDnSgesvdaStridedBatched = gesvda;
	s->library[WH_LIB_cusparse] = p;
	s->library[WH_LIB_cusolver] = v;
	s->drv.cuPointerGetAttributes = fuzz_attributes;
	b->cublasCreate_v2 = create_handle;
	b->cublasDestroy_v2 = destroy_handle;
	b->cublasSetPointerMode_v2 = set_mode;
	b->cublasGetPointerMode_v2 = get_mode;
	b->cublasGemmEx = gemm_ex;
	b->cublasRotmEx = rotm_ex;
	b->cublasSgemmGroupedBatched = grouped;
	t->cublasLtMatmulDescInit_internal = init_matmul;
	t->cublasLtMatmulDescSetAttribute = set_matmul;
	t->cublasLtMatrixLayoutInit_internal = init_layout;
	t->cublasLtMatrixLayoutSetAttribute = set_layout;
	t->cublasLtMatmulAlgoGetHeuristic = heuristic;
	t->cublasLtMatmulAlgoCheck = check;
	t->cublasLtMatmul = matmul;
	r->curandCreateGenerator = create_generator;
	r->curandCreateGeneratorHost = create_host_generator;
	r->curandGenerate = generate;
	r->curandGetScrambleConstants32 = constants;
	r->curandGetScrambleConstants64 = (void *)never;
	r->curandGetDirectionVectors32 = (void *)never;
	r->curandGetDirectionVectors64 = (void *)never;
	n->cudnnCreate = create_cudnn;
	n->cudnnGetTensorNdDescriptor = tensor_dims;
	n->cudnnGetSeqDataDescriptor = sequence_dims;
	n->cudnnBackendCreateDescriptor = create_pack;
	n->cudnnBackendSetAttribute = set_attribute;
	n->cudnnBackendGetAttribute = get_attribute;
	f->cufftCreate = create_plan;
	f->cufftMakePlanMany64 = many;
	f->cufftEstimateMany = estimate;
	m->nvmlDeviceGetTemperatureV = versioned;
	wh_loaded_nvml(s, m);
	wh_nvml_view.devices = 1;
	wh_nvml_view.device[0].handle = (nvmlDevice_t)0x8880;
	s->library[WH_LIB_cudnn] = n;
	s->library[WH_LIB_nvml] = m;
	s->library[WH_LIB_cublas] = b;
	s->library[WH_LIB_cublaslt] = t;
	s->library[WH_LIB_curand] = r;
	s->library[WH_LIB_cufft] = f;
	s->library[WH_LIB_cusparselt] = cusparselt(table_of(wh_libraries[WH_LIB_cusparselt]));
}

/* --- Requests ------------------------------------------------------------------------------ */

static int64_t ask(struct wh_session *s, uint32_t call, size_t size)
{
	((struct wh_req *)msg(s))->call = call;
	return wh_dispatch_slot(s, 0, WH_HANDLER_LIBRARY, size);
}

static void make_handles(struct wh_session *s)
{
	struct wh_rsp_cublasCreate_v2 *b = msg(s);
	struct wh_rsp_curandCreateGenerator *r = msg(s);
	struct wh_rsp_cudnnCreate *c = msg(s);
	struct wh_rsp_cufftCreate *f = msg(s);
	struct wh_rsp_cusparseCreate *p = msg(s);
	struct wh_req_cusparseCreateDnVec *d;
	struct wh_rsp_cusparseCreateDnVec *made = msg(s);
	struct wh_rsp_cusolverCreate *v = msg(s);
	unsigned int type;

	request(s, 0, 64);
	if (!ask(s, WH_CALL_cublasCreate_v2,
			sizeof(struct wh_req_cublasCreate_v2)) && !b->hdr.result)
		keep_handle(b->handle.id);
	request(s, 0, 64);
	if (!ask(s, WH_CALL_curandCreateGeneratorHost,
			sizeof(struct wh_req_curandCreateGenerator)) &&
	    !r->hdr.result)
		keep_handle(r->generator);
	keep_handle(wh_put(s, WH_H_CUstream, (void *)0x9990, 0));
	request(s, 0, 64);
	if (!ask(s, WH_CALL_cudnnCreate, sizeof(struct wh_req_cudnnCreate)) && !c->hdr.result)
		keep_handle(c->handle);
	request(s, 0, 64);
	if (!ask(s, WH_CALL_cufftCreate, sizeof(struct wh_req_cufftCreate)) && !f->hdr.result)
		keep_handle(f->plan);
	type = WH_H_cusparseLtHandle_t + next() % (WH_H_cusparselt_END - WH_H_cusparseLtHandle_t);
	keep_handle(wh_box_put(s, type, wh_box_new(sizeof(cusparseLtMatmulPlan_t)),
			       next() % 2));
	/* What the library never looks into may be anything. */
	type = WH_H_cudnnHandle_t + 1 + next() % (WH_H_cudnn_END - WH_H_cudnnHandle_t - 1);
	keep_handle(wh_put(s, type, (void *)0x7770, 0));
	keep_handle(wh_put(s, WH_H_cudnnBackendDescriptor_t, (void *)0x7780, 0));
	keep_handle(wh_put(s, WH_H_cublasLtHandle_t, (void *)0x7790, 0));
	keep_handle(wh_put(s, WH_H_nvmlDevice_t, (void *)0x8880, 0));
	request(s, 0, 64);
	if (!ask(s, WH_CALL_cusparseCreate, sizeof(struct wh_req_cusparseCreate)) && !p->hdr.result)
		keep_handle(p->handle);
	d = request(s, 0, sizeof(*d));
	d->values = next() % 4 ? (uintptr_t)s->data : next();
	if (!ask(s, WH_CALL_cusparseCreateDnVec, sizeof(*d)) && !made->hdr.result)
		keep_handle(made->dnVecDescr);
	type = WH_H_cusparseHandle_t + 1 + next() % (WH_H_cusparse_END - WH_H_cusparseHandle_t - 1);
	keep_handle(wh_put(s, type, (void *)0x6670, 0));
	/* Dense, sparse, to refactor: and information about each. */
	type = WH_H_cusolverDnHandle_t + next() % (WH_H_cusolver_END - WH_H_cusolverDnHandle_t);
	if (type > WH_H_cusolverRfHandle_t) {
		keep_handle(wh_put(s, type, (void *)0x6680, 0));
		return;
	}
	request(s, 0, 64);
	if (!ask(s, type == WH_H_cusolverDnHandle_t ? WH_CALL_cusolverDnCreate :
		    type == WH_H_cusolverSpHandle_t ? WH_CALL_cusolverSpCreate :
						      WH_CALL_cusolverRfCreate,
		 sizeof(struct wh_req_cusolverCreate)) && !v->hdr.result)
		keep_handle(v->handle);
}

/* Half of cublasLt's descriptors have what can be; the other half has any bits and sizes. */
static void lt_descriptors(struct wh_session *s, uint32_t call)
{
	struct wh_req_cublasLtQuestion *w = msg(s);
	struct wh_req_cublasLtMatmul *m = msg(s);
	unsigned int i;

	if (next() % 2)
		return;
	if (call == WH_CALL_cublasLtMatmul) {
		struct wh_lt_matmul d = wh_lt_new_matmul();
		struct wh_lt_layout l = wh_lt_new_layout();
		uint8_t *out;

		d.head.set = next() & 0x3fffffff;
		l.head.set = next() & 0x1f;
		out = wh_lt_pack(WH_LT_MATMUL, &d, (uint8_t *)(m + 1));
		for (i = 0; i < 4; i++)
			out = wh_lt_pack(WH_LT_LAYOUT, &l, out);
		memset(&m->a, 0, 5 * sizeof(m->a));
		m->stream = 0;
	} else if (call == WH_CALL_cublasLtMatmulAlgoGetHeuristic ||
		   call == WH_CALL_cublasLtMatmulAlgoCheck) {
		w->wanted = next() % (WH_LT_MOST_RESULTS + 2);
		w->algos = next() % 3;
		w->preference.head.set &= 0xff;
		for (i = 0; i < 4; i++)
			w->layout[i].head.set &= 0x1f;
	}
}

static void one(struct wh_session *s, uint32_t library, uint32_t call)
{
	size_t size = fuzz_fill(s, wh_libraries[library]->calls[call].min_size);
	struct wh_req *q = msg(s);
	uint64_t *w = msg(s);

	/* Objects come first: half of them are real ones, with a plausible state. */
	if (next() % 2) {
		w[sizeof(*q) / 8] = any_handle();
		w[sizeof(*q) / 8 + 1] = 0;
		((struct wh_obj_cublasHandle_t *)(q + 1))->pointer_mode = next() % 2;
		if (library == WH_LIB_cusparse)
			((struct wh_obj_cusparseHandle_t *)(q + 1))->pointer_mode = next() % 2;
	}
	lt_descriptors(s, library << WH_LIBRARY_SHIFT | call);
	packs(s, library << WH_LIBRARY_SHIFT | call);
	q->null = next() % 4 ? 0 : next();
	q->ctx = 0;
	q->capture_mode = 0;
	q->resv = next() % 64 ? 0 : 1;
	ask(s, library << WH_LIBRARY_SHIFT | call, size);
	if (next() % 64 == 0)
		make_handles(s);
}

static uint32_t strew(struct wh_session *s)
{
	uint32_t lib, call, rounds, sent = 0;

	for (rounds = 0; rounds < ROUNDS_PER_CALL; rounds++)
		for (lib = 0; lib < WH_LIBS; lib++)
			for (call = 0; wh_libraries[lib] && call < wh_libraries[lib]->ncalls;
					call++)
				if (wh_libraries[lib]->calls[call].run) {
					one(s, lib, call);
					sent++;
				}
	return sent;
}

/* --- One wrong thing at a time ---------------------------------------------------------------- */

static void test_envelope(struct wh_session *s)
{
	request(s, 0, 4096);
	ok_eq(ask(s, WH_CALL_cublasCreate_v2, sizeof(struct wh_req_cublasCreate_v2)), WH_EPERM,
	      "no_call_before_the_library_is_open");
	fill(s);
	request(s, 0, 4096);
	ok_eq(ask(s, WH_CALL_cublasSgemm_v2, sizeof(struct wh_req_cublasSgemm_v2) - 1), WH_EINVAL,
	      "request_shorter_than_its_struct_is_refused");
	ok_eq(ask(s, WH_CALL_cublasSgemm_v2, s->frame[0].max + 1), WH_EINVAL,
	      "request_longer_than_the_area_is_refused");
	ok_eq(ask(s, WH_LIB_cublas << WH_LIBRARY_SHIFT | WH_CUBLAS_CALLS, 4096), WH_ENOSYS,
	      "call_past_the_table_is_refused");
	ok_eq(ask(s, WH_LIBS << WH_LIBRARY_SHIFT | 1, 4096), WH_ENOSYS,
			"library_past_the_table_is_refused");
	ok_eq(ask(s, 1, 4096), WH_ENOSYS, "library_0_is_none");
	((struct wh_req *)msg(s))->resv = 1;
	ok_eq(ask(s, WH_CALL_cublasSgemm_v2, 4096), WH_EINVAL, "reserved_bits_are_refused");
	ok_eq(calls, 0, "nothing_of_this_reached_a_library");
}

static void test_versions(struct wh_session *s)
{
	struct wh_req_whLibraryOpen *q = request(s, WH_CALL_whLibraryOpen, sizeof(*q));
	const struct wh_rsp_whLibraryOpen *r = msg(s);

	q->library = WH_LIB_cublas;
	q->hash = WH_CUBLAS_HASH ^ 1;
	send(s, sizeof(*q));
	ok(r->hdr.result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH && r->hash == WH_CUBLAS_HASH,
	   "other_description_is_refused_and_ours_is_named");
	q = request(s, WH_CALL_whLibraryOpen, sizeof(*q));
	q->library = WH_LIBS;
	send(s, sizeof(*q));
	ok_eq(rsp(s)->result, CUDA_ERROR_INVALID_VALUE,
			"opening_a_library_past_the_table_is_refused");
}

static void test_handles(struct wh_session *s)
{
	struct wh_req_cublasSasum_v2 *q = request(s, 0, sizeof(*q));
	int before = calls;

	q->handle.id = handle[1];	/* a generator */
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_NOT_INITIALIZED,
			"handle_of_another_library_is_refused");
	q = request(s, 0, sizeof(*q));
	q->handle.id = handle[0] ^ 1ULL << 33;
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_NOT_INITIALIZED,
			"handle_of_another_generation_is_refused");
	q = request(s, 0, sizeof(*q));
	q->handle.id = handle[0];
	q->handle.pointer_mode = 2;
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_INVALID_VALUE, "third_pointer_mode_is_refused");
	q = request(s, 0, sizeof(*q));
	q->handle.id = handle[0];
	q->handle.stream = 0x1234;
	ask(s, WH_CALL_cublasSasum_v2, sizeof(*q));
	ok_eq(rsp(s)->result, CUBLAS_STATUS_INVALID_VALUE, "stream_that_is_none_is_refused");
	ok_eq(calls, before, "none_of_them_reached_the_library");
}

static void test_host_numbers(struct wh_session *s)
{
	struct wh_req_whCurandGenerate *q = request(s, 0, sizeof(*q));
	struct wh_req_whCurandFetch *f;
	int before = calls;

	q->generator.id = handle[1];
	q->out = (uintptr_t)&calls;
	q->count = 1;
	ask(s, WH_CALL_whCurandGenerate, sizeof(*q));
	ok(rsp(s)->result == CURAND_STATUS_OUT_OF_RANGE && calls == before,
	   "host_generator_cannot_write_outside_of_the_data_area");
	q = request(s, 0, sizeof(*q));
	q->generator.id = handle[1];
	q->out = (uintptr_t)s->data + s->data_size - 8;
	q->count = 3;
	ask(s, WH_CALL_whCurandGenerate, sizeof(*q));
	ok(rsp(s)->result == CURAND_STATUS_OUT_OF_RANGE && calls == before, "nor_past_its_end");
	q = request(s, 0, sizeof(*q));
	q->generator.id = handle[1];
	q->count = 5;
	ask(s, WH_CALL_whCurandGenerate, sizeof(*q));
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)s->data;
	f->size = 21;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_OUT_OF_RANGE, "no_more_is_fetched_than_was_generated");
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)s->data;
	f->size = 20;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_SUCCESS, "all_of_it_is");
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)&calls;
	f->size = 4;
	f->source = WH_CURAND_CONSTANTS32;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_OUT_OF_RANGE, "fetching_to_elsewhere_is_refused");
	f = request(s, 0, sizeof(*f));
	f->to = (uintptr_t)s->data;
	f->size = 8;
	f->offset = UINT64_MAX - 3;
	f->source = WH_CURAND_CONSTANTS32;
	ask(s, WH_CALL_whCurandFetch, sizeof(*f));
	ok_eq(rsp(s)->result, CURAND_STATUS_OUT_OF_RANGE, "fetching_from_elsewhere_is_refused");
}

/* Before a client is there; the libraries lie beside the program. */
static void test_preload(const char *argv0)
{
	struct wh_session *s = open_session(argv0);
	char folder[4096], err[512] = "";

	snprintf(folder, sizeof(folder), "%s", argv0);
	strcpy(strrchr(folder, '/'), "/bin/fake_cublas.so");
	setenv("WORMHOLE_CUBLAS", folder, 1);
	strcpy(strrchr(folder, '/'), "/none.so");
	setenv("WORMHOLE_CURAND", folder, 1);
	ok(!wh_session_preload(s, "cublas,nonsense", err, sizeof(err)) && strstr(err, "nonsense"),
	   "preloading_an_unknown_library_names_it");
	ok(wh_session_preload(s, "cublas", err, sizeof(err)) && s->library[WH_LIB_cublas] &&
	   !s->library[WH_LIB_curand], "preloading_loads_what_is_listed");
	ok(!wh_session_preload(s, "curand,cublas", err, sizeof(err)) && strstr(err, "none.so"),
	   "a_file_that_is_missing_is_named");
	wh_session_close(s);
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	uint32_t sent;

	(void)argc;
	tap_plan(28);
	fuzz_start();
	say_hello(s);
	test_envelope(s);
	test_versions(s);
	make_handles(s);
	test_handles(s);
	test_host_numbers(s);
	test_boxes(s);
	test_preload(argv[0]);
	calls = 0;
	sent = strew(s);
	diag("%u requests, %d of them reached a library", sent, calls);
	ok(calls > (int)(sent / 20), "random_requests_do_no_harm_and_many_pass");
	return tap_exit();
}
