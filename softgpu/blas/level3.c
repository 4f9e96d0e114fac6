// SPDX-License-Identifier: Apache-2.0
/* Matrix operations of the stand-in for cuBLAS. */
#include "blas.h"

/* Types of the elements in a product, in the order of gemm_kernel. */
enum { PRODUCT_F32, PRODUCT_F64, PRODUCT_F16, PRODUCT_F16_F32, PRODUCT_BF16, PRODUCT_BF16_F32 };

static struct standin_kernel gemm_kernel[] = {
	[PRODUCT_F32] = { "gemm_f", NULL },
	[PRODUCT_F64] = { "gemm_d", NULL },
	[PRODUCT_F16] = { "gemm_half", NULL },
	[PRODUCT_F16_F32] = { "gemm_half_f", NULL },
	[PRODUCT_BF16] = { "gemm_bf16", NULL },
	[PRODUCT_BF16_F32] = { "gemm_bf16_f", NULL },
};
BLAS_KERNELS(geam);
BLAS_KERNELS(dgmm);

#define TILE		64	/* the same value as in blas.cu */
#define MOST_GRID	65535

/* A matrix, or a batch of them: at a fixed distance, or by a list of addresses on the device. */
struct matrix {
	const void *at;
	const void *list;
	int64_t ld;
	int64_t apart;
};

/* @d is the index of the kernel. Scalars are double for PRODUCT_F64, and float for all others. */
static cublasStatus_t gemm_any(cublasHandle_t h, int d, cublasOperation_t ta, cublasOperation_t tb,
			       int64_t m, int64_t n, int64_t k, const void *alpha,
			       struct matrix a, struct matrix b, const void *beta,
			       struct matrix c, int64_t batch)
{
	int64_t ars = 1, acs = a.ld, brs = 1, bcs = b.ld;
	cublasStatus_t st = blas_enter(h);
	struct scalar aa, bb;
	unsigned int grid[3];

	if (st)
		return st;
	if (!blas_op_good(ta) || !blas_op_good(tb) || m < 0 || n < 0 || k < 0 || batch < 0 ||
	    a.ld < blas_max1(ta ? k : m) || b.ld < blas_max1(tb ? n : k) || c.ld < blas_max1(m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n || !batch)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	if ((m + TILE - 1) / TILE > INT32_MAX || (n + TILE - 1) / TILE > MOST_GRID) {
		standin_refuse("gemm with more than 4194240 columns");
		return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	if (ta) {
		ars = a.ld;
		acs = 1;
	}
	if (tb) {
		brs = b.ld;
		bcs = 1;
	}
	aa = blas_scalar(h, d == PRODUCT_F64, alpha);
	bb = blas_scalar(h, d == PRODUCT_F64, beta);
	grid[0] = (m + TILE - 1) / TILE;
	grid[1] = (n + TILE - 1) / TILE;
	grid[2] = batch < MOST_GRID ? batch : MOST_GRID;
	return blas_launch_grid(h, &gemm_kernel[d], grid,
				(void *[]){ &m, &n, &k, &aa.value, &aa.at, &a.at, &a.list, &ars,
					    &acs, &a.apart, &b.at, &b.list, &brs, &bcs, &b.apart,
					    &bb.value, &bb.at, &c.at, &c.list, &c.ld, &c.apart,
					    &batch });
}

static cublasStatus_t gemm(cublasHandle_t h, int d, cublasOperation_t ta, cublasOperation_t tb,
			   int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
			   int64_t lda, const void *b, int64_t ldb, const void *beta, void *c,
			   int64_t ldc)
{
	return gemm_any(h, d, ta, tb, m, n, k, alpha, (struct matrix){ .at = a, .ld = lda },
			(struct matrix){ .at = b, .ld = ldb }, beta,
			(struct matrix){ .at = c, .ld = ldc }, 1);
}

static cublasStatus_t gemm_strided(cublasHandle_t h, int d, cublasOperation_t ta,
				   cublasOperation_t tb, int64_t m, int64_t n, int64_t k,
				   const void *alpha, const void *a, int64_t lda, int64_t sa,
				   const void *b, int64_t ldb, int64_t sb, const void *beta,
				   void *c, int64_t ldc, int64_t sc, int64_t batch)
{
	return gemm_any(h, d, ta, tb, m, n, k, alpha,
			(struct matrix){ .at = a, .ld = lda, .apart = sa },
			(struct matrix){ .at = b, .ld = ldb, .apart = sb }, beta,
			(struct matrix){ .at = c, .ld = ldc, .apart = sc }, batch);
}

static cublasStatus_t gemm_batched(cublasHandle_t h, int d, cublasOperation_t ta,
				   cublasOperation_t tb, int64_t m, int64_t n, int64_t k,
				   const void *alpha, const void *a, int64_t lda, const void *b,
				   int64_t ldb, const void *beta, const void *c, int64_t ldc,
				   int64_t batch)
{
	return gemm_any(h, d, ta, tb, m, n, k, alpha, (struct matrix){ .list = a, .ld = lda },
			(struct matrix){ .list = b, .ld = ldb }, beta,
			(struct matrix){ .list = c, .ld = ldc }, batch);
}

/* Returns whether a product of floats may have this type. */
static bool in_float(cublasComputeType_t compute)
{
	/* The faster types permit rounded factors, but do not require them. */
	return compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
	       compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
	       compute == CUBLAS_COMPUTE_32F_FAST_16F || compute == CUBLAS_COMPUTE_32F_FAST_16BF;
}

/* Selects the kernel for GemmEx. Returns -1 for types that the stand-in lacks. */
static int ex_type(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	if (a == CUDA_R_64F && b == a && c == a &&
	    (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC))
		return PRODUCT_F64;
	if (a != b || (c != a && c != CUDA_R_32F) || !in_float(compute))
		return -1;
	switch (a) {
	case CUDA_R_32F:
		return PRODUCT_F32;
	case CUDA_R_16F:
		return c == a ? PRODUCT_F16 : PRODUCT_F16_F32;
	case CUDA_R_16BF:
		return c == a ? PRODUCT_BF16 : PRODUCT_BF16_F32;
	default:
		return -1;
	}
}

#define EX(suffix, I) \
EXPORT cublasStatus_t cublasGemmEx##suffix(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *a, \
		cudaDataType at, I lda, const void *b, cudaDataType bt, I ldb, const void *beta, \
		void *c, cudaDataType ct, I ldc, cublasComputeType_t compute, \
		cublasGemmAlgo_t algo) \
{ \
	int d = ex_type(at, bt, ct, compute); \
	(void)algo; \
	if (d < 0) { \
		standin_refuse("cublasGemmEx of these types"); \
		return CUBLAS_STATUS_NOT_SUPPORTED; \
	} \
	return gemm(h, d, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); \
} \
EXPORT cublasStatus_t cublasGemmStridedBatchedEx##suffix(cublasHandle_t h, cublasOperation_t ta, \
		cublasOperation_t tb, I m, I n, I k, const void *alpha, const void *a, \
		cudaDataType at, I lda, long long sa, const void *b, cudaDataType bt, I ldb, \
		long long sb, const void *beta, void *c, cudaDataType ct, I ldc, long long sc, \
		I batch, cublasComputeType_t compute, cublasGemmAlgo_t algo) \
{ \
	int d = ex_type(at, bt, ct, compute); \
	(void)algo; \
	if (d < 0) { \
		standin_refuse("cublasGemmStridedBatchedEx of these types"); \
		return CUBLAS_STATUS_NOT_SUPPORTED; \
	} \
	return gemm_strided(h, d, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, \
			    sc, batch); \
}

EX(, int)
EX(_64, int64_t)

static cublasStatus_t geam(cublasHandle_t h, int d, cublasOperation_t ta, cublasOperation_t tb,
			   int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda,
			   const void *beta, const void *b, int64_t ldb, void *c, int64_t ldc)
{
	int64_t ars = ta ? lda : 1, acs = ta ? 1 : lda, brs = tb ? ldb : 1, bcs = tb ? 1 : ldb;
	cublasStatus_t st = blas_enter(h);
	struct scalar aa, bb;

	if (st)
		return st;
	if (!blas_op_good(ta) || !blas_op_good(tb) || m < 0 || n < 0 ||
	    lda < blas_max1(ta ? n : m) || ldb < blas_max1(tb ? n : m) || ldc < blas_max1(m))
		return CUBLAS_STATUS_INVALID_VALUE;
	/* The operation can work in place only without transposing. */
	if ((a == c && (ta || lda != ldc)) || (b == c && (tb || ldb != ldc)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	if (!alpha || !beta)
		return CUBLAS_STATUS_INVALID_VALUE;
	aa = blas_scalar(h, d, alpha);
	bb = blas_scalar(h, d, beta);
	return blas_launch(h, geam_kernel, d, m * n,
			   (void *[]){ &m, &n, &aa.value, &aa.at, &a, &ars, &acs, &bb.value,
				       &bb.at, &b, &brs, &bcs, &c, &ldc });
}

static cublasStatus_t dgmm(cublasHandle_t h, int d, cublasSideMode_t side, int64_t m, int64_t n,
			   const void *a, int64_t lda, const void *x, int64_t incx, void *c,
			   int64_t ldc)
{
	int left = side == CUBLAS_SIDE_LEFT;
	cublasStatus_t st = blas_enter(h);

	if (st)
		return st;
	if ((unsigned int)side > CUBLAS_SIDE_RIGHT || m < 0 || n < 0 || lda < blas_max1(m) ||
	    ldc < blas_max1(m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch(h, dgmm_kernel, d, m * n,
			   (void *[]){ &left, &m, &n, &a, &lda, &x, &incx, &c, &ldc });
}

#define LEVEL 3
#include "typed.h"
