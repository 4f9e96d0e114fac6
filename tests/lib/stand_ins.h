/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that accept everything. They touch from end to end what a handler passes on,
 * and write what it asks for; one call in eight fails. They are for programs that send
 * them requests (fuzz.h).
 */
#ifndef WORMHOLE_TESTS_LIB_STAND_INS_H
#define WORMHOLE_TESTS_LIB_STAND_INS_H

#include "../unit/fuzz.h"

#include "gen_libraries_server.h"
#include "libraries/nvml_view.h"

static int stand_ins_calls;		/* calls that reached a library */

static int any(void)
{
	stand_ins_calls++;
	return next() % 8 ? 0 : 14;
}

struct cublasContext {
	cublasPointerMode_t mode;
};

static cublasStatus_t create_handle(cublasHandle_t *h)
{
	stand_ins_calls++;
	*h = calloc(1, sizeof(**h));
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t destroy_handle(cublasHandle_t h)
{
	stand_ins_calls++;
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

/* Writes what is asked for, and says that more has come. */
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
	stand_ins_calls++;
	*g = (curandGenerator_t)(next() & ~15ULL);
	return CURAND_STATUS_SUCCESS;
}

static curandGenerator_t host_generator;

static curandStatus_t create_host_generator(curandGenerator_t *g, curandRngType_t type)
{
	(void)type;
	stand_ins_calls++;
	*g = host_generator = (curandGenerator_t)0x4000;
	return CURAND_STATUS_SUCCESS;
}

/* A host generator writes as much as it was allowed to. */
static curandStatus_t generate(curandGenerator_t g, unsigned int *out, size_t n)
{
	stand_ins_calls++;
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

/* The sizes of these descriptors bound host arrays, which are then read to that end. */
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
	stand_ins_calls++;
	*h = (cudnnHandle_t)(next() & ~15ULL);
	return CUDNN_STATUS_SUCCESS;
}

/* --- cuDNN's backend API ---------------------------------------------------------------- */

/* Touches an attribute from end to end. */
static cudnnStatus_t set_attribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
				   cudnnBackendAttributeType_t type, int64_t n, const void *p)
{
	(void)d; (void)name;
	touch(p, n * wh_cudnn_attribute_size(type));
	return any();
}

static cudnnStatus_t get_attribute(cudnnBackendDescriptor_t const d,
				   cudnnBackendAttributeName_t name,
				   cudnnBackendAttributeType_t type, int64_t n, int64_t *count,
				   void *p)
{
	(void)d; (void)name;
	if (p && n)
		memset(p, 0, n * wh_cudnn_attribute_size(type));
	*count = next() % 4 ? n : (int64_t)next();
	return any();
}

static cudnnStatus_t create_pack(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *d)
{
	(void)type;
	stand_ins_calls++;
	if (d)
		*d = (void *)0x7770;
	return CUDNN_STATUS_SUCCESS;
}

#include "stand_in_nccl.h"

/* Plans are numbers; sizes are touched from end to end. */
static cufftResult create_plan(cufftHandle *p)
{
	stand_ins_calls++;
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

/* --- cuSPARSELt ------------------------------------------------------------------------- */

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
	stand_ins_calls++;
	*h = calloc(1, sizeof(**h));
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t destroy_cusparse(cusparseHandle_t h)
{
	stand_ins_calls++;
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

/* The worker notes the address of a vector. */
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

/* Attributes are touched from end to end as well. */
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

/* The size that a workspace in host memory must have; it is written from end to end. */
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

/*
 * Fails in place of the functions that hand out tables of the library, of which the
 * stand-in only has one.
 */
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

/* --- nvJPEG: a stream refers to its bytes until it ends -------------------------------- */

struct nvjpegJpegStream {
	const unsigned char *data;
	size_t length;
};

struct nvjpegJpegState {
	int batch;
};

static nvjpegStatus_t create_stream(nvjpegHandle_t h, nvjpegJpegStream_t *stream)
{
	(void)h;
	if (!stream)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	*stream = calloc(1, sizeof(**stream));
	stand_ins_calls++;
	return NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t end_stream(nvjpegJpegStream_t stream)
{
	free(stream);
	stand_ins_calls++;
	return NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t create_state(nvjpegHandle_t h, nvjpegJpegState_t *state)
{
	(void)h;
	if (!state)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	*state = calloc(1, sizeof(**state));
	stand_ins_calls++;
	return NVJPEG_STATUS_SUCCESS;
}

static nvjpegStatus_t end_state(nvjpegJpegState_t state)
{
	free(state);
	stand_ins_calls++;
	return NVJPEG_STATUS_SUCCESS;
}

/* A failure, too, may come after the stream has taken the address. */
static nvjpegStatus_t parse_header(nvjpegHandle_t h, const unsigned char *data, size_t length,
				   nvjpegJpegStream_t stream)
{
	(void)h;
	if (!data || !stream)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	touch(data, length);
	stream->data = data;
	stream->length = length;
	return any();
}

static nvjpegStatus_t parse_stream(nvjpegHandle_t h, const unsigned char *data, size_t length,
				   int metadata, int save, nvjpegJpegStream_t stream)
{
	(void)metadata; (void)save;
	return parse_header(h, data, length, stream);
}

static nvjpegStatus_t frame(nvjpegJpegStream_t stream, unsigned int *width, unsigned int *height)
{
	(void)width; (void)height;
	if (stream && stream->data)
		touch(stream->data, stream->length);
	return any();
}

static nvjpegStatus_t image_info(nvjpegHandle_t h, const unsigned char *data, size_t length,
				 int *n, nvjpegChromaSubsampling_t *how, int *widths, int *heights)
{
	(void)h; (void)n; (void)how;
	if (!data || !widths || !heights)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	touch(data, length);
	memset(widths, 1, NVJPEG_MAX_COMPONENT * sizeof(*widths));
	memset(heights, 1, NVJPEG_MAX_COMPONENT * sizeof(*heights));
	return any();
}

static nvjpegStatus_t begin_batch(nvjpegHandle_t h, nvjpegJpegState_t state, int batch,
				  int threads, nvjpegOutputFormat_t format)
{
	(void)h; (void)threads; (void)format;
	if (!state)
		return NVJPEG_STATUS_INVALID_PARAMETER;
	state->batch = batch;
	return any();
}

static nvjpegStatus_t batch(nvjpegHandle_t h, nvjpegJpegState_t state,
			    const unsigned char *const *data, const size_t *lengths,
			    nvjpegImage_t *to, cudaStream_t stream)
{
	int i;

	(void)h; (void)stream;
	for (i = 0; state && i < state->batch; i++) {
		touch(data[i], lengths[i]);
		touch(&to[i], sizeof(to[i]));
	}
	return any();
}

static nvjpegStatus_t batch_ex(nvjpegHandle_t h, nvjpegJpegState_t state,
			       const unsigned char *const *data, const size_t *lengths,
			       nvjpegImage_t *to, nvjpegDecodeParams_t *params, cudaStream_t stream)
{
	if (state && state->batch > 0)
		touch(params, state->batch * sizeof(*params));
	return batch(h, state, data, lengths, to, stream);
}

/* --- NPP: each function is this one ------------------------------------------------------- */

static const NppLibraryVersion *npp_version(void)
{
	static const NppLibraryVersion version = { 13, 0, 0 };

	stand_ins_calls++;
	return &version;
}

static void stand_in_images(struct wh_session *s)
{
	struct wh_nvjpeg_functions *j = s->library[WH_LIB_nvjpeg];
	struct wh_npp_functions *n = s->library[WH_LIB_npp];
	uint32_t i;

	j->nvjpegJpegStreamCreate = create_stream;
	j->nvjpegJpegStreamDestroy = end_stream;
	j->nvjpegJpegStateCreate = create_state;
	j->nvjpegJpegStateDestroy = end_state;
	j->nvjpegJpegStreamParse = parse_stream;
	j->nvjpegJpegStreamParseHeader = parse_header;
	j->nvjpegJpegStreamParseTables = parse_header;
	j->nvjpegJpegStreamGetFrameDimensions = frame;
	j->nvjpegGetImageInfo = image_info;
	j->nvjpegDecodeBatchedInitialize = begin_batch;
	j->nvjpegDecodeBatched = batch;
	j->nvjpegDecodeBatchedEx = batch_ex;
	n->nppGetLibVersion = npp_version;
	for (i = 0; i < WH_NPP_CALLS; i++) {
		n->call[i] = any;
		n->looked[i] = 1;
	}
}

/* Functions that do more than accept. */
static void stand_ins_with_more(struct wh_session *s)
{
	struct wh_cublas_functions *b = s->library[WH_LIB_cublas];
	struct wh_cublaslt_functions *t = s->library[WH_LIB_cublaslt];
	struct wh_curand_functions *r = s->library[WH_LIB_curand];
	struct wh_cudnn_functions *n = s->library[WH_LIB_cudnn];
	struct wh_nvml_functions *m = s->library[WH_LIB_nvml];
	struct wh_cufft_functions *f = s->library[WH_LIB_cufft];
	struct wh_cusparse_functions *p = s->library[WH_LIB_cusparse];
	struct wh_cusolver_functions *v = s->library[WH_LIB_cusolver];

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
	*(struct wh_nccl_functions *)s->library[WH_LIB_nccl] = *stand_in_nccl();
	cusparselt(s->library[WH_LIB_cusparselt]);
	stand_in_images(s);
}

/* In the place of all libraries of the session. */
static void stand_ins(struct wh_session *s)
{
	uint32_t i;

	for (i = 0; i < WH_LIBS; i++)
		s->library_file[0][i].functions = s->library[i] =
			wh_libraries[i] ? table_of(wh_libraries[i]) : NULL;
	stand_ins_with_more(s);
}

#endif
