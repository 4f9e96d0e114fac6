// SPDX-License-Identifier: Apache-2.0
/*
 * Vectors and matrices between host and device. They are copied by the driver, one- or
 * two-dimensional, as in cuBLAS itself, which reports a failed copy as a mapping error.
 */
#include "cublas_stub.h"

struct copy {
	const void *from;
	void *to;
	size_t width, height;		/* bytes, rows */
	size_t from_pitch, to_pitch;	/* bytes from row to row */
	bool to_device;
	bool async;
	CUstream stream;
};

static CUresult flat(const struct copy *c)
{
	size_t n = c->width * c->height;

	if (c->to_device)
		return c->async ? cuMemcpyHtoDAsync((CUdeviceptr)c->to, c->from, n, c->stream) :
				  cuMemcpyHtoD((CUdeviceptr)c->to, c->from, n);
	return c->async ? cuMemcpyDtoHAsync(c->to, (CUdeviceptr)c->from, n, c->stream) :
			  cuMemcpyDtoH(c->to, (CUdeviceptr)c->from, n);
}

static CUresult rows(const struct copy *c)
{
	CUDA_MEMCPY2D p = {
		.srcMemoryType = c->to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
		.srcHost = c->to_device ? c->from : NULL,
		.srcDevice = c->to_device ? 0 : (CUdeviceptr)c->from,
		.srcPitch = c->from_pitch,
		.dstMemoryType = c->to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
		.dstHost = c->to_device ? NULL : c->to,
		.dstDevice = c->to_device ? (CUdeviceptr)c->to : 0,
		.dstPitch = c->to_pitch,
		.WidthInBytes = c->width,
		.Height = c->height,
	};

	return c->async ? cuMemcpy2DAsync(&p, c->stream) : cuMemcpy2D(&p);
}

static cublasStatus_t run(const struct copy *c)
{
	bool dense = c->from_pitch == c->width && c->to_pitch == c->width;

	if (wh_library_prepare(&wh_cublas_library) != CUDA_SUCCESS ||
	    (dense ? flat(c) : rows(c)) != CUDA_SUCCESS)
		return CUBLAS_STATUS_MAPPING_ERROR;
	return CUBLAS_STATUS_SUCCESS;
}

/* An element of a vector is a row of the copy. */
static cublasStatus_t vector(int64_t n, int64_t size, int64_t incx, int64_t incy, struct copy c)
{
	if (n < 0 || size <= 0 || incx <= 0 || incy <= 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!n)
		return CUBLAS_STATUS_SUCCESS;
	c.width = size;
	c.height = n;
	c.from_pitch = incx * size;
	c.to_pitch = incy * size;
	return run(&c);
}

/* Matrices are column-major, so a column is a row of bytes. */
static cublasStatus_t matrix(int64_t m, int64_t n, int64_t size, int64_t lda, int64_t ldb,
			     struct copy c)
{
	if (m < 0 || n < 0 || size <= 0 || lda <= 0 || ldb <= 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!m || !n)
		return CUBLAS_STATUS_SUCCESS;
	c.width = m * size;
	c.height = n;
	c.from_pitch = lda * size;
	c.to_pitch = ldb * size;
	return run(&c);
}

#define TO_DEVICE(source, target) \
	(struct copy) { .from = (source), .to = (target), .to_device = true }
#define TO_HOST(source, target) \
	(struct copy) { .from = (source), .to = (target) }
#define TO_DEVICE_ASYNC(source, target, on) \
	(struct copy) { .from = (source), .to = (target), .to_device = true, .async = true, \
			.stream = (on) }
#define TO_HOST_ASYNC(source, target, on) \
	(struct copy) { .from = (source), .to = (target), .async = true, .stream = (on) }

cublasStatus_t cublasSetVector(int n, int elemSize, const void *x, int incx, void *devicePtr,
			       int incy)
{
	return vector(n, elemSize, incx, incy, TO_DEVICE(x, devicePtr));
}

cublasStatus_t cublasSetVector_64(int64_t n, int64_t elemSize, const void *x, int64_t incx,
				  void *devicePtr, int64_t incy)
{
	return vector(n, elemSize, incx, incy, TO_DEVICE(x, devicePtr));
}

cublasStatus_t cublasGetVector(int n, int elemSize, const void *x, int incx, void *y, int incy)
{
	return vector(n, elemSize, incx, incy, TO_HOST(x, y));
}

cublasStatus_t cublasGetVector_64(int64_t n, int64_t elemSize, const void *x, int64_t incx, void *y,
				  int64_t incy)
{
	return vector(n, elemSize, incx, incy, TO_HOST(x, y));
}

cublasStatus_t cublasSetMatrix(int rows, int cols, int elemSize, const void *A, int lda, void *B,
			       int ldb)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_DEVICE(A, B));
}

cublasStatus_t cublasSetMatrix_64(int64_t rows, int64_t cols, int64_t elemSize, const void *A,
				  int64_t lda, void *B, int64_t ldb)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_DEVICE(A, B));
}

cublasStatus_t cublasGetMatrix(int rows, int cols, int elemSize, const void *A, int lda, void *B,
			       int ldb)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_HOST(A, B));
}

cublasStatus_t cublasGetMatrix_64(int64_t rows, int64_t cols, int64_t elemSize, const void *A,
				  int64_t lda, void *B, int64_t ldb)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_HOST(A, B));
}

cublasStatus_t cublasSetVectorAsync(int n, int elemSize, const void *hostPtr, int incx,
				    void *devicePtr, int incy, cudaStream_t stream)
{
	return vector(n, elemSize, incx, incy, TO_DEVICE_ASYNC(hostPtr, devicePtr, stream));
}

cublasStatus_t cublasSetVectorAsync_64(int64_t n, int64_t elemSize, const void *hostPtr,
				       int64_t incx, void *devicePtr, int64_t incy,
				       cudaStream_t stream)
{
	return vector(n, elemSize, incx, incy, TO_DEVICE_ASYNC(hostPtr, devicePtr, stream));
}

cublasStatus_t cublasGetVectorAsync(int n, int elemSize, const void *devicePtr, int incx,
				    void *hostPtr, int incy, cudaStream_t stream)
{
	return vector(n, elemSize, incx, incy, TO_HOST_ASYNC(devicePtr, hostPtr, stream));
}

cublasStatus_t cublasGetVectorAsync_64(int64_t n, int64_t elemSize, const void *devicePtr,
				       int64_t incx, void *hostPtr, int64_t incy,
				       cudaStream_t stream)
{
	return vector(n, elemSize, incx, incy, TO_HOST_ASYNC(devicePtr, hostPtr, stream));
}

cublasStatus_t cublasSetMatrixAsync(int rows, int cols, int elemSize, const void *A, int lda,
				    void *B, int ldb, cudaStream_t stream)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_DEVICE_ASYNC(A, B, stream));
}

cublasStatus_t cublasSetMatrixAsync_64(int64_t rows, int64_t cols, int64_t elemSize, const void *A,
				       int64_t lda, void *B, int64_t ldb, cudaStream_t stream)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_DEVICE_ASYNC(A, B, stream));
}

cublasStatus_t cublasGetMatrixAsync(int rows, int cols, int elemSize, const void *A, int lda,
				    void *B, int ldb, cudaStream_t stream)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_HOST_ASYNC(A, B, stream));
}

cublasStatus_t cublasGetMatrixAsync_64(int64_t rows, int64_t cols, int64_t elemSize, const void *A,
				       int64_t lda, void *B, int64_t ldb, cudaStream_t stream)
{
	return matrix(rows, cols, elemSize, lda, ldb, TO_HOST_ASYNC(A, B, stream));
}
