// SPDX-License-Identifier: Apache-2.0
/* Products and transformations of the stand-in for cublasLt. */
#include "blaslt.h"

#include <string.h>

#define THREADS	256

static struct standin_kernel multiply_kernel[2] = { { "multiply_f", NULL }, { "multiply_d", NULL } };
static struct standin_kernel sum_kernel[2] = { { "sum_f", NULL }, { "sum_d", NULL } };

int lt_type_of(uint32_t type)
{
	switch (type) {
	case CUDA_R_32F:
		return LT_F32;
	case CUDA_R_64F:
		return LT_F64;
	case CUDA_R_16F:
		return LT_F16;
	case CUDA_R_16BF:
		return LT_BF16;
	default:
		return LT_TYPES;
	}
}

static cublasStatus_t refuse(const char *what)
{
	standin_refuse(what);
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

/* Describes a matrix, transposed if @op says so. Returns false if it is not supported. */
static bool matrix(const struct lt_layout *l, int32_t op, struct lt_matrix *m)
{
	const int64_t least = l->order == CUBLASLT_ORDER_ROW ? l->cols : l->rows;
	long long swap;

	m->type = lt_type_of(l->type);
	m->rs = l->order == CUBLASLT_ORDER_ROW ? l->ld : 1;
	m->cs = l->order == CUBLASLT_ORDER_ROW ? 1 : l->ld;
	m->apart = l->batch_stride;
	if (op) {
		swap = m->rs;
		m->rs = m->cs;
		m->cs = swap;
	}
	return m->type != LT_TYPES && l->ld >= least && l->batch >= 1 && !l->plane &&
	       !l->batch_mode && (unsigned int)l->order <= CUBLASLT_ORDER_ROW;
}

static bool known_epilogue(uint32_t e)
{
	e &= ~(uint32_t)CUBLASLT_EPILOGUE_BIAS;
	return e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU ||
	       e == CUBLASLT_EPILOGUE_GELU || !e;
}

/* Supported are double throughout, and float with matrices of float or narrower types. */
static bool known_types(const struct lt_desc *d, const struct lt_product *p)
{
	const bool wide = d->compute == CUBLAS_COMPUTE_64F ||
			  d->compute == CUBLAS_COMPUTE_64F_PEDANTIC;
	const bool narrow = d->compute == CUBLAS_COMPUTE_32F ||
			    d->compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
			    d->compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
			    d->compute == CUBLAS_COMPUTE_32F_FAST_16F ||
			    d->compute == CUBLAS_COMPUTE_32F_FAST_16BF;

	if (p->a.type != p->b.type || p->c.type != p->d.type)
		return false;
	if (wide)
		return d->scale == CUDA_R_64F && p->a.type == LT_F64 && p->d.type == LT_F64;
	return narrow && d->scale == CUDA_R_32F && p->a.type != LT_F64 &&
	       (p->d.type == p->a.type || p->d.type == LT_F32);
}

cublasStatus_t lt_plan(const struct lt_desc *d, const struct lt_layout *a,
		       const struct lt_layout *b, const struct lt_layout *c,
		       const struct lt_layout *out, struct lt_product *p)
{
	memset(p, 0, sizeof(*p));
	if (d->other || d->fill != CUBLAS_FILL_MODE_FULL || d->trans[2] ||
	    !known_epilogue(d->epilogue))
		return refuse("cublasLt with an epilogue or attribute that the stand-in lacks");
	if (!matrix(a, d->trans[0], &p->a) || !matrix(b, d->trans[1], &p->b) ||
	    !matrix(c, 0, &p->c) || !matrix(out, 0, &p->d) || !known_types(d, p))
		return refuse("cublasLt with these types or layouts");
	p->m = out->rows;
	p->n = out->cols;
	p->k = d->trans[0] ? a->rows : a->cols;
	p->batch = out->batch;
	if ((d->trans[0] ? a->cols : a->rows) != out->rows ||
	    (d->trans[1] ? b->rows : b->cols) != out->cols ||
	    (d->trans[1] ? b->cols : b->rows) != (uint64_t)p->k || c->rows != out->rows ||
	    c->cols != out->cols || a->batch != out->batch || b->batch != out->batch ||
	    c->batch != out->batch)
		return CUBLAS_STATUS_INVALID_VALUE;
	p->relu = d->epilogue & CUBLASLT_EPILOGUE_RELU;
	p->gelu = d->epilogue & CUBLASLT_EPILOGUE_GELU;
	p->bias_type = d->bias_type < 0 ? p->d.type : lt_type_of(d->bias_type);
	p->bias_apart = d->bias_stride;
	if (d->epilogue & CUBLASLT_EPILOGUE_BIAS)
		p->bias = (const void *)d->bias;
	return p->bias_type == LT_TYPES ? refuse("cublasLt with a bias of this type") :
					  CUBLAS_STATUS_SUCCESS;
}

static struct lt_scalar scalar(const void *p, bool host, bool each, bool wide)
{
	struct lt_scalar s = { .each = each };

	if (!host)
		s.at = p;
	else
		s.value = wide ? *(const double *)p : *(const float *)p;
	return s;
}

/* Returns false if a scalar that must be there is NULL, or if the mode is unknown. */
static bool scalars(const void *alpha, const void *beta, int32_t mode, bool wide,
		    struct lt_scalar *a, struct lt_scalar *b)
{
	const bool host = mode == CUBLASLT_POINTER_MODE_HOST;
	const bool vector = mode > CUBLASLT_POINTER_MODE_DEVICE;
	const bool zero = mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO;
	const bool host_beta = host || mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
	static const double none;

	if ((unsigned int)mode > CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST || !alpha ||
	    (!beta && !zero))
		return false;
	*a = scalar(alpha, host, vector, wide);
	*b = zero ? scalar(&none, true, false, true) :
		    scalar(beta, host_beta, mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR, wide);
	return true;
}

static cublasStatus_t launch(struct standin_kernel *k, long long n, CUstream stream, void *args)
{
	long long blocks = (n + THREADS - 1) / THREADS;
	unsigned int grid[3] = { blocks > 4096 ? 4096 : blocks, 1, 1 };

	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	return standin_launch(k, grid, THREADS, stream, (void *[]){ args }) ?
	       CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
				     const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
				     const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
				     const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
				     cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
				     void *workspace, size_t size, cudaStream_t stream)
{
	const struct lt_desc *d = (const struct lt_desc *)desc;
	const struct lt_algo *with = (const struct lt_algo *)algo;
	struct lt_product p;
	cublasStatus_t st;
	bool wide;

	(void)workspace;
	(void)size;
	if (!h || !standin_start())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!d || !Adesc || !Bdesc || !Cdesc || !Ddesc ||
	    (with && (with->magic != LT_ALGO_MAGIC || with->id != LT_ALGO_ID)))
		return CUBLAS_STATUS_INVALID_VALUE;
	wide = d->scale == CUDA_R_64F;
	st = lt_plan(d, (const struct lt_layout *)Adesc, (const struct lt_layout *)Bdesc,
		     (const struct lt_layout *)Cdesc, (const struct lt_layout *)Ddesc, &p);
	if (st)
		return st;
	if (!scalars(alpha, beta, d->pointer_mode, wide, &p.alpha, &p.beta) || !A || !B || !D ||
	    (!C && (p.beta.at || p.beta.value != 0)) ||
	    (d->epilogue & CUBLASLT_EPILOGUE_BIAS && !p.bias))
		return CUBLAS_STATUS_INVALID_VALUE;
	p.a.at = (void *)A;
	p.b.at = (void *)B;
	p.c.at = (void *)C;
	p.d.at = D;
	return launch(&multiply_kernel[wide], p.m * p.n * p.batch, stream, &p);
}

EXPORT cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t h,
					      cublasLtMatrixTransformDesc_t desc,
					      const void *alpha, const void *A,
					      cublasLtMatrixLayout_t Adesc, const void *beta,
					      const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
					      cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const struct lt_layout *c = (const struct lt_layout *)Cdesc;
	const struct lt_transform *d = (const struct lt_transform *)desc;
	struct lt_sum p = { .batch = 1 };
	const float none = 0;
	bool good;

	if (!h || !standin_start())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!d || !c || !C || (A && (!Adesc || !alpha)) || (B && (!Bdesc || !beta)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (d->scale != CUDA_R_32F || d->pointer_mode > CUBLASLT_POINTER_MODE_DEVICE)
		return refuse("cublasLtMatrixTransform with this scale type or pointer mode");
	good = matrix(c, 0, &p.c) &&
	       (!A || matrix((const struct lt_layout *)Adesc, d->trans[0], &p.a)) &&
	       (!B || matrix((const struct lt_layout *)Bdesc, d->trans[1], &p.b));
	if (!good)
		return refuse("cublasLtMatrixTransform with these types or layouts");
	p.m = c->rows;
	p.n = c->cols;
	p.batch = c->batch;
	scalars(A ? alpha : &none, B ? beta : &none, d->pointer_mode, false, &p.alpha, &p.beta);
	p.a.at = (void *)A;
	p.b.at = (void *)B;
	p.c.at = C;
	return launch(&sum_kernel[0], p.m * p.n * p.batch, stream, &p);
}
