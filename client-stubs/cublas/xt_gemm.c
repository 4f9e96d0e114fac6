// SPDX-License-Identifier: Apache-2.0
/*
 * cublasXt's products, in blocks of the size that the program chose, so that matrices may be
 * larger than the device. A block of C stays there while blocks of A and B come.
 */
#include "xt.h"

typedef cublasStatus_t product(cublasHandle_t blas, cublasOperation_t ta, cublasOperation_t tb,
			       int64_t m, int64_t n, int64_t k, const void *alpha,
			       const struct wh_xt_matrix *a, const struct wh_xt_matrix *b,
			       const void *beta, const struct wh_xt_matrix *c);

struct gemm {
	cublasHandle_t blas;
	cublasOperation_t ta, tb;
	int64_t m, n, k;
	const void *alpha, *beta, *one;
	bool keeps;		/* beta is not 0: C's old values count */
	const char *a, *b;
	char *c;
	int64_t lda, ldb, ldc;
	size_t size;		/* of an element */
	int64_t block;
	product *multiply;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * Describes the part from row i and column j on; of a transposed matrix, from row j and column
 * i on.
 */
static struct wh_xt_matrix part(const struct gemm *g, const char *p, int64_t ld, bool turned,
				int64_t i, int64_t j, int64_t rows, int64_t cols)
{
	struct wh_xt_matrix m = WH_XT_IN(p + (turned ? j + i * ld : i + j * ld) * g->size,
					 turned ? cols : rows, turned ? rows : cols, ld);

	return m;
}

/* Adds the part of the sum that begins at l. */
static cublasStatus_t add(const struct gemm *g, struct wh_xt_matrix *c, int64_t i, int64_t j,
			  int64_t l)
{
	const int64_t k = least(g->block, g->k - l);
	struct wh_xt_matrix a = part(g, g->a, g->lda, g->ta != CUBLAS_OP_N, i, l, c->rows, k);
	struct wh_xt_matrix b = part(g, g->b, g->ldb, g->tb != CUBLAS_OP_N, l, j, k, c->cols);
	struct wh_xt_matrix *both[] = { &a, &b };
	cublasStatus_t res = wh_xt_bring(both, 2, g->size);

	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	res = g->multiply(g->blas, g->ta, g->tb, c->rows, c->cols, k, g->alpha, &a, &b,
			  l ? g->one : g->beta, c);
	return wh_xt_take_back(both, 2, g->size, res);
}

static cublasStatus_t block_of_c(const struct gemm *g, int64_t i, int64_t j)
{
	struct wh_xt_matrix c = WH_XT_OUT(g->c + (i + j * g->ldc) * g->size,
					  least(g->block, g->m - i), least(g->block, g->n - j),
					  g->ldc);
	struct wh_xt_matrix *one = &c;
	cublasStatus_t res;
	int64_t l = 0;

	c.in = g->keeps;
	res = wh_xt_bring(&one, 1, g->size);
	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	/* If A has no columns, this still scales C. */
	do {
		res = add(g, &c, i, j, l);
		l += g->block;
	} while (l < g->k && res == CUBLAS_STATUS_SUCCESS);
	return wh_xt_take_back(&one, 1, g->size, res);
}

static bool good(const struct gemm *g)
{
	return g->m >= 0 && g->n >= 0 && g->k >= 0 && g->alpha && g->beta &&
	       g->lda >= (g->ta == CUBLAS_OP_N ? g->m : g->k) &&
	       g->ldb >= (g->tb == CUBLAS_OP_N ? g->k : g->n) && g->ldc >= g->m;
}

static cublasStatus_t gemm(cublasXtHandle_t handle, struct gemm *g)
{
	cublasStatus_t res = wh_xt_begin(handle, &g->blas);
	int64_t i, j;

	if (res != CUBLAS_STATUS_SUCCESS)
		return res;
	if (!good(g))
		return wh_xt_end(handle, CUBLAS_STATUS_INVALID_VALUE);
	g->block = wh_xt_block(handle);
	for (j = 0; j < g->n && res == CUBLAS_STATUS_SUCCESS; j += g->block)
		for (i = 0; i < g->m && res == CUBLAS_STATUS_SUCCESS; i += g->block)
			res = block_of_c(g, i, j);
	return wh_xt_end(handle, res);
}

#define GEMM(xt, name, T, one_, keeps_)								\
static cublasStatus_t name##_blocks(cublasHandle_t blas, cublasOperation_t ta,			\
				    cublasOperation_t tb, int64_t m, int64_t n, int64_t k,	\
				    const void *alpha, const struct wh_xt_matrix *a,		\
				    const struct wh_xt_matrix *b, const void *beta,		\
				    const struct wh_xt_matrix *c)				\
{												\
	return name(blas, ta, tb, m, n, k, alpha, a->at, a->at_ld, b->at, b->at_ld, beta,	\
		    c->at, c->at_ld);								\
}												\
cublasStatus_t xt(cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,	\
		  size_t m, size_t n, size_t k, const T *alpha, const T *A, size_t lda,		\
		  const T *B, size_t ldb, const T *beta, T *C, size_t ldc)			\
{												\
	static const T one = one_;								\
	struct gemm g = {									\
		.ta = transa, .tb = transb, .m = m, .n = n, .k = k, .alpha = alpha,		\
		.beta = beta, .one = &one, .keeps = beta && (keeps_), .a = (const char *)A,	\
		.b = (const char *)B, .c = (char *)C, .lda = lda, .ldb = ldb, .ldc = ldc,	\
		.size = sizeof(T), .multiply = name##_blocks,					\
	};											\
												\
	return gemm(handle, &g);								\
}

#define COMMA	,
GEMM(cublasXtSgemm, cublasSgemm_v2_64, float, 1, *beta != 0)
GEMM(cublasXtDgemm, cublasDgemm_v2_64, double, 1, *beta != 0)
GEMM(cublasXtCgemm, cublasCgemm_v2_64, cuComplex, { 1 COMMA 0 }, beta->x != 0 || beta->y != 0)
GEMM(cublasXtZgemm, cublasZgemm_v2_64, cuDoubleComplex, { 1 COMMA 0 }, beta->x != 0 || beta->y != 0)
