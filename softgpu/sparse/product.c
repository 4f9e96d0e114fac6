// SPDX-License-Identifier: Apache-2.0
/* Products with dense matrices, and triangular solutions, of the stand-in for cuSPARSE. */
#include "sparse.h"

#include <limits.h>
#include <stdlib.h>

#define ST	EXPORT cusparseStatus_t
#define OK	CUSPARSE_STATUS_SUCCESS
#define WRONG	CUSPARSE_STATUS_INVALID_VALUE
#define LACKS	CUSPARSE_STATUS_NOT_SUPPORTED
#define H	cusparseHandle_t h
#define OP	cusparseOperation_t
#define SP	cusparseConstSpMatDescr_t
#define DN	cusparseConstDnMatDescr_t

SPARSE_KERNELS(gather);
SPARSE_KERNELS(scatter);
SPARSE_KERNELS(finish);
SPARSE_KERNELS(sampled);
static struct standin_kernel solve_kernel[] = { { "solve_f", NULL }, { "solve_d", NULL },
						{ "solve_c", NULL }, { "solve_z", NULL } };

/* One matrix product: C = alpha op(A) op(B) + beta C, of a batch. */
struct product {
	OP op_a, op_b;
	struct sparse_args a;
	struct dense_args b, c;
	cudaDataType a_type, b_type, c_type, compute;
	int batch;
	enum sparse_type t;	/* set by check() */
};

/* Whether the lines of A are the rows of op(A). */
static bool gathers(const struct product *p)
{
	bool turned = sparse_view(p->op_a) != 0;

	return p->a.format == (turned ? FORMAT_CSC : FORMAT_CSR);
}

/* A CSC matrix that is to be transposed is seen as the CSR matrix of its transpose. */
static bool shapes_good(const struct product *p)
{
	bool ta = sparse_view(p->op_a) != 0, tb = sparse_view(p->op_b) != 0;
	int64_t m = ta ? p->a.cols : p->a.rows, k = ta ? p->a.rows : p->a.cols;

	return p->c.rows == m && (tb ? p->b.cols : p->b.rows) == k &&
	       (tb ? p->b.rows : p->b.cols) == p->c.cols;
}

static cusparseStatus_t check(cusparseHandle_t h, struct product *p)
{
	cusparseStatus_t st = sparse_enter(h);

	if (st)
		return st;
	if (!sparse_op_good(p->op_a) || !sparse_op_good(p->op_b) || !shapes_good(p))
		return WRONG;
	if (p->a_type != p->b_type || p->a_type != p->c_type) {
		standin_refuse("a product of cuSPARSE of several types");
		return LACKS;
	}
	if (p->batch < 1 || p->batch > 65535 || !sparse_types(p->a_type, p->compute, &p->t))
		return LACKS;
	return OK;
}

/* The sums of what is not gathered. A size that overflows is one that no memory has. */
static size_t room_of(const struct product *p)
{
	size_t bytes;

	if (gathers(p))
		return 0;
	if (__builtin_mul_overflow(p->c.rows, p->c.cols, &bytes) ||
	    __builtin_mul_overflow(bytes, (size_t)sparse_sum_size(p->t) * p->batch, &bytes))
		return SIZE_MAX / 2;
	return bytes;
}

static cusparseStatus_t answer_room(cusparseHandle_t h, struct product *p, size_t *size)
{
	cusparseStatus_t st = check(h, p);

	if (st)
		return st;
	if (!size)
		return WRONG;
	*size = room_of(p);
	return OK;
}

static cusparseStatus_t scatter(cusparseHandle_t h, struct product *p, struct scalar *alpha,
				struct scalar *beta, void *sums)
{
	struct view_args op = { sparse_view(p->op_a), sparse_view(p->op_b) };
	size_t bytes = room_of(p);
	cusparseStatus_t st;
	int64_t elements;

	if (!sums || bytes > SIZE_MAX / 4 ||
	    __builtin_mul_overflow(p->a.nnz, p->c.cols, &elements))
		return WRONG;
	st = sparse_clear(h, sums, (int64_t)bytes);
	if (!st && elements)
		st = sparse_launch(h, &scatter_kernel[p->t], elements, p->batch,
				   (void *[]){ &p->a, &op, &p->b, &p->c.rows, &p->c.cols, &sums });
	return st ? st : sparse_launch(h, &finish_kernel[p->t], p->c.rows * p->c.cols, p->batch,
				       (void *[]){ &p->c, &sums, &alpha->value, &alpha->at,
						   &beta->value, &beta->at });
}

static cusparseStatus_t multiply(cusparseHandle_t h, struct product *p, const void *alpha,
				 const void *beta, void *buffer)
{
	struct view_args op = { sparse_view(p->op_a), sparse_view(p->op_b) };
	cusparseStatus_t st = check(h, p);
	struct scalar a, b;

	if (st)
		return st;
	if (!alpha || !beta)
		return WRONG;
	if (!p->c.rows || !p->c.cols)
		return OK;
	a = sparse_scalar(h, p->t, alpha);
	b = sparse_scalar(h, p->t, beta);
	if (!gathers(p))
		return scatter(h, p, &a, &b, buffer);
	return sparse_launch(h, &gather_kernel[p->t], p->c.rows * p->c.cols, p->batch,
			     (void *[]){ &p->a, &op, &p->b, &p->c, &a.value, &a.at, &b.value,
					 &b.at });
}

/* --- SpMV and SpMM ------------------------------------------------------------------------- */

static bool of_vectors(struct product *p, OP op, SP a, cusparseConstDnVecDescr_t x,
		       cusparseConstDnVecDescr_t y, cudaDataType compute)
{
	if (!a || !x || !y)
		return false;
	*p = (struct product){ op, CUSPARSE_OPERATION_NON_TRANSPOSE, a->args, x->args, y->args,
			       a->type, x->type, y->type, compute, 1, 0 };
	return true;
}

ST cusparseSpMV_bufferSize(H, OP op, const void *alpha, SP a, cusparseConstDnVecDescr_t x,
			   const void *beta, cusparseDnVecDescr_t y, cudaDataType compute,
			   cusparseSpMVAlg_t algorithm, size_t *size)
{
	struct product p;

	(void)alpha; (void)beta; (void)algorithm;
	return of_vectors(&p, op, a, x, y, compute) ? answer_room(h, &p, size) : WRONG;
}

ST cusparseSpMV_preprocess(H, OP op, const void *alpha, SP a, cusparseConstDnVecDescr_t x,
			   const void *beta, cusparseDnVecDescr_t y, cudaDataType compute,
			   cusparseSpMVAlg_t algorithm, void *buffer)
{
	struct product p;

	(void)alpha; (void)beta; (void)algorithm; (void)buffer;
	return of_vectors(&p, op, a, x, y, compute) ? check(h, &p) : WRONG;
}

ST cusparseSpMV(H, OP op, const void *alpha, SP a, cusparseConstDnVecDescr_t x, const void *beta,
		cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm,
		void *buffer)
{
	struct product p;

	(void)algorithm;
	return of_vectors(&p, op, a, x, y, compute) ? multiply(h, &p, alpha, beta, buffer) : WRONG;
}

/* A batch is that of C; of A and B there is one for all, or as many. */
static bool of_matrices(struct product *p, OP op_a, OP op_b, SP a, DN b, DN c, cudaDataType compute)
{
	if (!a || !b || !c || (a->batch != 1 && a->batch != c->batch) ||
	    (b->batch != 1 && b->batch != c->batch))
		return false;
	*p = (struct product){ op_a, op_b, a->args, b->args, c->args, a->type, b->type, c->type,
			       compute, c->batch, 0 };
	if (a->batch == 1)
		p->a.offsets_apart = p->a.values_apart = 0;
	if (b->batch == 1)
		p->b.apart = 0;
	return true;
}

ST cusparseSpMM_bufferSize(H, OP op_a, OP op_b, const void *alpha, SP a, DN b, const void *beta,
			   cusparseDnMatDescr_t c, cudaDataType compute,
			   cusparseSpMMAlg_t algorithm, size_t *size)
{
	struct product p;

	(void)alpha; (void)beta; (void)algorithm;
	return of_matrices(&p, op_a, op_b, a, b, c, compute) ? answer_room(h, &p, size) : WRONG;
}

ST cusparseSpMM_preprocess(H, OP op_a, OP op_b, const void *alpha, SP a, DN b, const void *beta,
			   cusparseDnMatDescr_t c, cudaDataType compute,
			   cusparseSpMMAlg_t algorithm, void *buffer)
{
	struct product p;

	(void)alpha; (void)beta; (void)algorithm; (void)buffer;
	return of_matrices(&p, op_a, op_b, a, b, c, compute) ? check(h, &p) : WRONG;
}

ST cusparseSpMM(H, OP op_a, OP op_b, const void *alpha, SP a, DN b, const void *beta,
		cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t algorithm,
		void *buffer)
{
	struct product p;

	(void)algorithm;
	return of_matrices(&p, op_a, op_b, a, b, c, compute) ? multiply(h, &p, alpha, beta,
									buffer) :
	       WRONG;
}

/* --- SDDMM ----------------------------------------------------------------------------------- */

static cusparseStatus_t check_sampled(cusparseHandle_t h, OP op_a, OP op_b, DN a, DN b, SP c,
				      cudaDataType compute, enum sparse_type *t, int64_t *inner)
{
	cusparseStatus_t st = sparse_enter(h);
	bool ta, tb;

	if (st)
		return st;
	if (!a || !b || !c || !sparse_op_good(op_a) || !sparse_op_good(op_b))
		return WRONG;
	ta = sparse_view(op_a) != 0;
	tb = sparse_view(op_b) != 0;
	*inner = ta ? a->args.rows : a->args.cols;
	if ((ta ? a->args.cols : a->args.rows) != c->args.rows ||
	    (tb ? b->args.rows : b->args.cols) != c->args.cols ||
	    (tb ? b->args.cols : b->args.rows) != *inner)
		return WRONG;
	if (a->type != b->type || a->type != c->type || c->args.format != FORMAT_CSR) {
		standin_refuse("SDDMM of this format or of several types");
		return LACKS;
	}
	return sparse_types(a->type, compute, t) ? OK : LACKS;
}

ST cusparseSDDMM_bufferSize(H, OP op_a, OP op_b, const void *alpha, DN a, DN b, const void *beta,
			    cusparseSpMatDescr_t c, cudaDataType compute,
			    cusparseSDDMMAlg_t algorithm, size_t *size)
{
	enum sparse_type t;
	cusparseStatus_t st;
	int64_t inner;

	(void)alpha; (void)beta; (void)algorithm;
	st = check_sampled(h, op_a, op_b, a, b, c, compute, &t, &inner);
	if (st)
		return st;
	if (!size)
		return WRONG;
	*size = 0;
	return OK;
}

ST cusparseSDDMM_preprocess(H, OP op_a, OP op_b, const void *alpha, DN a, DN b, const void *beta,
			    cusparseSpMatDescr_t c, cudaDataType compute,
			    cusparseSDDMMAlg_t algorithm, void *buffer)
{
	enum sparse_type t;
	int64_t inner;

	(void)alpha; (void)beta; (void)algorithm; (void)buffer;
	return check_sampled(h, op_a, op_b, a, b, c, compute, &t, &inner);
}

ST cusparseSDDMM(H, OP op_a, OP op_b, const void *alpha, DN a, DN b, const void *beta,
		 cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t algorithm,
		 void *buffer)
{
	struct view_args op = { sparse_view(op_a), sparse_view(op_b) };
	struct scalar sa, sb;
	enum sparse_type t;
	cusparseStatus_t st;
	int64_t inner;

	(void)algorithm; (void)buffer;
	st = check_sampled(h, op_a, op_b, a, b, c, compute, &t, &inner);
	if (st)
		return st;
	if (!alpha || !beta || c->batch > 65535)
		return WRONG;
	if (!c->args.nnz)
		return OK;
	sa = sparse_scalar(h, t, alpha);
	sb = sparse_scalar(h, t, beta);
	return sparse_launch(h, &sampled_kernel[t], c->args.nnz, c->batch,
			     (void *[]){ (void *)&c->args, &op, (void *)&a->args, (void *)&b->args,
					 &inner, &sa.value, &sa.at, &sb.value, &sb.at });
}

/* --- SpSV and SpSM: nothing is analysed, the solution goes row by row ------------------- */

struct cusparseSpSVDescr {
	int unused;
};

struct cusparseSpSMDescr {
	int unused;
};

static cusparseStatus_t check_solution(cusparseHandle_t h, OP op_a, OP op_b, SP a,
				       const struct dense_args *b, cudaDataType b_type,
				       const struct dense_args *x, cudaDataType x_type,
				       cudaDataType compute, enum sparse_type *t)
{
	cusparseStatus_t st = sparse_enter(h);
	bool tb = sparse_view(op_b) != 0;

	if (st)
		return st;
	if (!sparse_op_good(op_a) || !sparse_op_good(op_b) || a->args.rows != a->args.cols ||
	    x->rows != a->args.rows || (tb ? b->cols : b->rows) != x->rows ||
	    (tb ? b->rows : b->cols) != x->cols || x->cols > INT_MAX)
		return WRONG;
	if (a->type != b_type || a->type != x_type || a->args.format != FORMAT_CSR ||
	    !sparse_types(a->type, compute, t) || *t > TYPE_Z) {
		standin_refuse("a triangular solution of this format or these types");
		return LACKS;
	}
	return OK;
}

static cusparseStatus_t solve(cusparseHandle_t h, OP op_a, OP op_b, const void *alpha, SP a,
			      const struct dense_args *b, cudaDataType b_type,
			      const struct dense_args *x, cudaDataType x_type, cudaDataType compute)
{
	struct triangle_args how;
	int turned = sparse_view(op_b);
	enum sparse_type t;
	struct scalar s;
	cusparseStatus_t st = check_solution(h, op_a, op_b, a, b, b_type, x, x_type, compute, &t);

	if (st)
		return st;
	if (!alpha)
		return WRONG;
	if (!x->rows || !x->cols)
		return OK;
	how.upper = a->fill == CUSPARSE_FILL_MODE_UPPER;
	how.unit = a->diagonal == CUSPARSE_DIAG_TYPE_UNIT;
	how.op = sparse_view(op_a);
	s = sparse_scalar(h, t, alpha);
	return standin_launch(&solve_kernel[t], (unsigned int[3]){ x->cols, 1, 1 }, 256, h->stream,
			      (void *[]){ (void *)&a->args, &how, (void *)b, &turned, (void *)x,
					  &s.value, &s.at }) ?
	       CUSPARSE_STATUS_EXECUTION_FAILED : OK;
}

/*
 * The three calls of a solution, for a right side of type @Right. The operation on it is an
 * argument of SpSM alone, so it comes with its comma.
 */
#define SOLUTION(Name, Right, Left, Alg, opb_arg, opb) \
ST cusparse##Name##_createDescr(cusparse##Name##Descr_t *d) \
{ \
	if (!d) \
		return WRONG; \
	*d = calloc(1, sizeof(**d)); \
	return *d ? OK : CUSPARSE_STATUS_ALLOC_FAILED; \
} \
ST cusparse##Name##_destroyDescr(cusparse##Name##Descr_t d) \
{ \
	free(d); \
	return OK; \
} \
ST cusparse##Name##_bufferSize(H, OP op opb_arg, const void *alpha, SP a, Right b, Left x, \
			       cudaDataType compute, Alg algorithm, cusparse##Name##Descr_t d, \
			       size_t *size) \
{ \
	enum sparse_type t; \
	cusparseStatus_t st; \
\
	(void)alpha; (void)algorithm; \
	if (!a || !b || !x || !d || !size) \
		return WRONG; \
	st = check_solution(h, op, opb, a, &b->args, b->type, &x->args, x->type, compute, &t); \
	*size = 0; \
	return st; \
} \
ST cusparse##Name##_analysis(H, OP op opb_arg, const void *alpha, SP a, Right b, Left x, \
			     cudaDataType compute, Alg algorithm, cusparse##Name##Descr_t d, \
			     void *buffer) \
{ \
	enum sparse_type t; \
\
	(void)alpha; (void)algorithm; (void)buffer; \
	if (!a || !b || !x || !d) \
		return WRONG; \
	return check_solution(h, op, opb, a, &b->args, b->type, &x->args, x->type, compute, &t); \
} \
ST cusparse##Name##_solve(H, OP op opb_arg, const void *alpha, SP a, Right b, Left x, \
			  cudaDataType compute, Alg algorithm, cusparse##Name##Descr_t d) \
{ \
	(void)algorithm; \
	if (!a || !b || !x || !d) \
		return WRONG; \
	return solve(h, op, opb, alpha, a, &b->args, b->type, &x->args, x->type, compute); \
}

#define NO_ARGUMENT
#define OP_ARGUMENT	, OP op_b

SOLUTION(SpSV, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cusparseSpSVAlg_t, NO_ARGUMENT,
	 CUSPARSE_OPERATION_NON_TRANSPOSE)
SOLUTION(SpSM, DN, cusparseDnMatDescr_t, cusparseSpSMAlg_t, OP_ARGUMENT, op_b)
