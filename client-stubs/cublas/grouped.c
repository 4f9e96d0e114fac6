// SPDX-License-Identifier: Apache-2.0
/*
 * Products of groups of matrices. The groups' parameters are host arrays of any length, but a
 * message has a size, so many groups need several calls. Groups are independent of each other,
 * and the stream keeps the order.
 */
#include "cublas_stub.h"

/* With 64-bit parameters and complex scalars, this fills half a message area. */
#define GROUPS	256

/* Returns the number of groups in this piece. The library judges a negative count. */
#define PIECE(count, done) ((count) - (done) < GROUPS ? (count) - (done) : GROUPS)

#define MATRICES(sizes, n) ({ \
	int64_t sum_ = 0, i_; \
	for (i_ = 0; (sizes) && i_ < (n); i_++) \
		sum_ += (sizes)[i_]; \
	sum_; })

/* A parameter's array from the piece's first group on; NULL stays NULL. */
#define AT(array, i) ((array) ? (array) + (i) : NULL)
#define BYTES_AT(array, i) ((array) ? (const char *)(array) + (i) : NULL)

/* Makes `call` of the `now` groups from `g` on, whose matrices begin at `x`, until all are done. */
#define IN_PIECES(I, groups, size, call) \
	cublasStatus_t res; \
	I g = 0, now; \
	int64_t x = 0; \
\
	do { \
		now = PIECE(groups, g); \
		res = call; \
		x += MATRICES(AT(size, g), now); \
		g += now; \
	} while (res == CUBLAS_STATUS_SUCCESS && g < groups); \
	return res

#define GROUPED(name, T, I) \
cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t ta[], \
		    const cublasOperation_t tb[], const I m[], const I n[], const I k[], \
		    const T alpha[], const T *const A[], const I lda[], const T *const B[], \
		    const I ldb[], const T beta[], T *const C[], const I ldc[], I groups, \
		    const I size[]) \
{ \
	IN_PIECES(I, groups, size, \
		  wh_raw_##name(handle, AT(ta, g), AT(tb, g), AT(m, g), AT(n, g), AT(k, g), \
				AT(alpha, g), AT(A, x), AT(lda, g), AT(B, x), AT(ldb, g), \
				AT(beta, g), AT(C, x), AT(ldc, g), now, AT(size, g))); \
}

GROUPED(cublasSgemmGroupedBatched, float, int)
GROUPED(cublasDgemmGroupedBatched, double, int)
GROUPED(cublasSgemmGroupedBatched_64, float, int64_t)
GROUPED(cublasDgemmGroupedBatched_64, double, int64_t)

#define GROUPED_EX(name, I) \
cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t ta[], \
		    const cublasOperation_t tb[], const I m[], const I n[], const I k[], \
		    const void *alpha, const void *const A[], cudaDataType_t at, const I lda[], \
		    const void *const B[], cudaDataType_t bt, const I ldb[], const void *beta, \
		    void *const C[], cudaDataType_t ct, const I ldc[], I groups, const I size[], \
		    cublasComputeType_t type) \
{ \
	const size_t scale = wh_scale_size(type, ct); \
\
	IN_PIECES(I, groups, size, \
		  wh_raw_##name(handle, AT(ta, g), AT(tb, g), AT(m, g), AT(n, g), AT(k, g), \
				BYTES_AT(alpha, g * scale), AT(A, x), at, AT(lda, g), \
				AT(B, x), bt, AT(ldb, g), BYTES_AT(beta, g * scale), \
				AT(C, x), ct, AT(ldc, g), now, AT(size, g), type)); \
}

GROUPED_EX(cublasGemmGroupedBatchedEx, int)
GROUPED_EX(cublasGemmGroupedBatchedEx_64, int64_t)
