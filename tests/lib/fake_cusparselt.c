// SPDX-License-Identifier: Apache-2.0
/*
 * A cuSPARSELt that writes down what it is told. Like the genuine library it keeps in
 * each struct the addresses of the structs that it was made from, and follows them later.
 * A plan of a matrix with 777 rows has no room beside other plans. A product whose alpha
 * is 12345 waits until d is not 0 (0.25 s of CPU time).
 */
#include <stdalign.h>

#include <cusparseLt.h>
#include <string.h>
#include <time.h>

#include "fake_library.h"

#define HOLD	12345.0f
#define ALONE	777

enum { HANDLE = 0x1001, MAT, MATMUL, ALG, PLAN };

struct mat {
	int tag, batches;
	int64_t rows;
};

struct matmul {
	int tag, relu, vectors;
	const struct mat *a, *d;
	void *bias;
};

struct alg {
	int tag, config;
	const struct matmul *of;
};

struct plan {
	int tag;
	struct alg *alg;
	const struct matmul *of;
};

static int plans;

/*
 * Does each struct of the plan, followed by its address, still hold what it held when it
 * was made?
 */
static int sound(const struct plan *p)
{
	return p->tag == PLAN && p->alg->tag == ALG && p->alg->of->tag == MATMUL &&
	       p->of->tag == MATMUL && p->of->a->tag == MAT && p->of->d->tag == MAT;
}

cusparseStatus_t cusparseLtInit(cusparseLtHandle_t *handle)
{
	if (!has_context())
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	note("init");
	*(int *)handle = HANDLE;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtDestroy(const cusparseLtHandle_t *handle)
{
	note("destroy %x", *(const int *)handle);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtDenseDescriptorInit(const cusparseLtHandle_t *handle,
					       cusparseLtMatDescriptor_t *m, int64_t rows,
					       int64_t cols, int64_t ld, uint32_t alignment,
					       cudaDataType type, cusparseOrder_t order)
{
	(void)handle, (void)alignment;
	note("dense %ldx%ld/%ld %d %d", (long)rows, (long)cols, (long)ld, type, order);
	if (rows < 1)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*(struct mat *)m = (struct mat) { .tag = MAT, .rows = rows };
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtStructuredDescriptorInit(const cusparseLtHandle_t *handle,
						    cusparseLtMatDescriptor_t *m, int64_t rows,
						    int64_t cols, int64_t ld, uint32_t alignment,
						    cudaDataType type, cusparseOrder_t order,
						    cusparseLtSparsity_t sparsity)
{
	(void)handle, (void)cols, (void)ld, (void)alignment, (void)type, (void)order;
	note("structured %ld %d", (long)rows, sparsity);
	*(struct mat *)m = (struct mat) { .tag = MAT, .rows = rows };
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatDescriptorDestroy(const cusparseLtMatDescriptor_t *m)
{
	note("end of mat %ld", (long)((const struct mat *)m)->rows);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatDescSetAttribute(const cusparseLtHandle_t *handle,
					       cusparseLtMatDescriptor_t *m,
					       cusparseLtMatDescAttribute_t attribute,
					       const void *data, size_t size)
{
	(void)handle, (void)size;
	if (attribute == CUSPARSELT_MAT_NUM_BATCHES)
		((struct mat *)m)->batches = *(const int *)data;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatDescGetAttribute(const cusparseLtHandle_t *handle,
					       const cusparseLtMatDescriptor_t *m,
					       cusparseLtMatDescAttribute_t attribute, void *data,
					       size_t size)
{
	(void)handle, (void)size, (void)attribute;
	*(int *)data = ((const struct mat *)m)->batches;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulDescriptorInit(const cusparseLtHandle_t *handle,
						cusparseLtMatmulDescriptor_t *m,
						cusparseOperation_t opA, cusparseOperation_t opB,
						const cusparseLtMatDescriptor_t *a,
						const cusparseLtMatDescriptor_t *b,
						const cusparseLtMatDescriptor_t *c,
						const cusparseLtMatDescriptor_t *d,
						cusparseComputeType type)
{
	(void)handle, (void)b, (void)c;
	note("matmul %d %d %d", opA, opB, type);
	*(struct matmul *)m = (struct matmul) { .tag = MATMUL, .a = (void *)a, .d = (void *)d };
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulDescSetAttribute(const cusparseLtHandle_t *handle,
						  cusparseLtMatmulDescriptor_t *m,
						  cusparseLtMatmulDescAttribute_t attribute,
						  const void *data, size_t size)
{
	struct matmul *to = (struct matmul *)m;

	(void)handle;
	note("attribute %d of %zu", attribute, size);
	if (attribute == CUSPARSELT_MATMUL_BIAS_POINTER)
		to->bias = *(void *const *)data;
	else if (attribute == CUSPARSELT_MATMUL_ALPHA_VECTOR_SCALING)
		to->vectors = *(const int *)data;
	else
		to->relu = *(const int *)data;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulAlgSelectionInit(const cusparseLtHandle_t *handle,
						  cusparseLtMatmulAlgSelection_t *a,
						  const cusparseLtMatmulDescriptor_t *m,
						  cusparseLtMatmulAlg_t alg)
{
	(void)handle, (void)alg;
	note("alg");
	*(struct alg *)a = (struct alg) { .tag = ALG, .of = (void *)m };
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulAlgSetAttribute(const cusparseLtHandle_t *handle,
						 cusparseLtMatmulAlgSelection_t *a,
						 cusparseLtMatmulAlgAttribute_t attribute,
						 const void *data, size_t size)
{
	(void)handle, (void)attribute, (void)size;
	note("config %d", *(const int *)data);
	((struct alg *)a)->config = *(const int *)data;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulAlgGetAttribute(const cusparseLtHandle_t *handle,
						 const cusparseLtMatmulAlgSelection_t *a,
						 cusparseLtMatmulAlgAttribute_t attribute,
						 void *data, size_t size)
{
	(void)handle, (void)attribute, (void)size;
	*(int *)data = ((const struct alg *)a)->config;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulPlanInit(const cusparseLtHandle_t *handle,
					  cusparseLtMatmulPlan_t *p,
					  const cusparseLtMatmulDescriptor_t *m,
					  const cusparseLtMatmulAlgSelection_t *a)
{
	(void)handle;
	/* A plan of a matrix with so many rows only has room when there is no other plan. */
	if (((const struct matmul *)m)->a->rows == ALONE && plans)
		return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
	*(struct plan *)p = (struct plan) { .tag = PLAN, .alg = (void *)a, .of = (void *)m };
	plans++;
	note("plan");
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulPlanDestroy(const cusparseLtMatmulPlan_t *p)
{
	plans--;
	note("end of a plan that is %s", sound((void *)p) ? "sound" : "broken");
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulGetWorkspace(const cusparseLtHandle_t *handle,
					      const cusparseLtMatmulPlan_t *p, size_t *size)
{
	(void)handle, (void)p;
	*size = 256;
	return CUSPARSE_STATUS_SUCCESS;
}

static void hold(volatile float *d)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 4;

	while (*d == 0 && clock() < end)
		;
	if (*d == 0)
		*d = -1;
}

cusparseStatus_t cusparseLtMatmul(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *p,
				  const void *alpha, const void *a, const void *b, const void *beta,
				  const void *c, void *d, void *workspace, cudaStream_t *streams,
				  int32_t n)
{
	const struct plan *plan = (const void *)p;

	(void)handle, (void)b, (void)c, (void)workspace;
	if (!a || !sound(plan))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (plan->of->vectors)
		note("product of vectors");
	else if (*(const float *)alpha == HOLD)
		hold(d);
	else
		note("product %g %g relu=%d bias=%d %s", *(const float *)alpha, *(const float *)beta,
		     plan->of->relu, plan->of->bias != NULL, n && streams[0] ? "own" : "0");
	if (plan->of->a->batches)
		note("of %d and %d", plan->of->a->batches, plan->alg->config);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulSearch(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *p,
					const void *alpha, const void *a, const void *b,
					const void *beta, const void *c, void *d, void *workspace,
					cudaStream_t *streams, int32_t n)
{
	(void)handle, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)d;
	(void)workspace, (void)streams, (void)n;
	note("search");
	((struct plan *)p)->alg->config = 3;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtSpMMACompressedSize2(const cusparseLtHandle_t *handle,
						const cusparseLtMatDescriptor_t *m, size_t *size,
						size_t *buffer)
{
	(void)handle;
	*size = ((const struct mat *)m)->rows * 100;
	*buffer = 7;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtSpMMACompress2(const cusparseLtHandle_t *handle,
					  const cusparseLtMatDescriptor_t *m, int is_a,
					  cusparseOperation_t op, const void *dense,
					  void *compressed, void *buffer, cudaStream_t stream)
{
	(void)handle, (void)dense, (void)compressed, (void)buffer;
	note("compress %ld %d %d %s", (long)((const struct mat *)m)->rows, is_a, op,
	     stream ? "own" : "0");
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtGetProperty(libraryPropertyType type, int *value)
{
	note("property %d", type);
	*value = 40 + type;
	return CUSPARSE_STATUS_SUCCESS;
}
