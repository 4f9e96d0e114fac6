// SPDX-License-Identifier: Apache-2.0
/*
 * A cuSOLVER that writes down what it is told ($FAKE_LOG, one line for each call),
 * looks into cuSPARSE's matrix descriptors, and writes to host workspaces from end
 * to end.
 */
#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <string.h>

#include "fake_cusolver.h"
#include "fake_library.h"
#include "fake_matdescr.h"

/* The bytes in which a factorization of `n` columns works. */
#define HOST_WORK(n)	((size_t)(n) * 1000)

static int created;

void fake_cusolver_on(const struct context *c, const char *what)
{
	note("%s %s=%d stream=%s", what, c->kind, c->number, c->stream ? "own" : "0");
}

/* --- The library and its handles ------------------------------------------------------ */

cusolverStatus_t cusolverGetVersion(int *version)
{
	note("version");
	*version = 12099;
	return OK;
}

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value)
{
	note("property %d", type);
	*value = 50 + type;
	return OK;
}

static cusolverStatus_t create(struct context **c, const char *kind)
{
	if (!has_context())
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	*c = calloc(1, sizeof(**c));
	**c = (struct context){ kind, ++created, NULL };
	fake_cusolver_on(*c, "create");
	return OK;
}

static cusolverStatus_t destroy(struct context *c)
{
	fake_cusolver_on(c, "destroy");
	free(c);
	return OK;
}

static cusolverStatus_t set_stream(struct context *c, cudaStream_t stream)
{
	c->stream = stream;
	fake_cusolver_on(c, "set_stream");
	return OK;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
	return create((struct context **)handle, "dense");
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
	return destroy(&handle->c);
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream)
{
	return set_stream(&handle->c, stream);
}

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t *handle)
{
	return create((struct context **)handle, "sparse");
}

cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle)
{
	return destroy(&handle->c);
}

cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream)
{
	return set_stream(&handle->c, stream);
}

cusolverStatus_t cusolverRfCreate(cusolverRfHandle_t *handle)
{
	return create((struct context **)handle, "refactor");
}

cusolverStatus_t cusolverRfDestroy(cusolverRfHandle_t handle)
{
	return destroy(&handle->c);
}

/* --- Dense matrices --------------------------------------------------------------------- */

cusolverStatus_t cusolverDnSgetrf_bufferSize(cusolverDnHandle_t handle, int m, int n, float *a,
					     int lda, int *lwork)
{
	(void)a, (void)lda;
	fake_cusolver_on(&handle->c, "getrf size");
	*lwork = m * n;
	return OK;
}

cusolverStatus_t cusolverDnSgetrf(cusolverDnHandle_t handle, int m, int n, float *a, int lda,
				  float *work, int *pivots, int *info)
{
	fake_cusolver_on(&handle->c, "getrf");
	note("%dx%d lda=%d a=%p work=%p pivots=%p info=%p", m, n, lda, a, work, pivots, info);
	return OK;
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
					     int64_t m, int64_t n, cudaDataType type, const void *a,
					     int64_t lda, cudaDataType compute, size_t *device,
					     size_t *host)
{
	(void)params, (void)m, (void)type, (void)a, (void)lda, (void)compute;
	fake_cusolver_on(&handle->c, "xgetrf size");
	if (n < 0)
		return CUSOLVER_STATUS_INVALID_VALUE;
	*device = (1UL << 33) + 7;
	*host = HOST_WORK(n);
	return OK;
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
				  int64_t n, cudaDataType type, void *a, int64_t lda,
				  int64_t *pivots,
				  cudaDataType compute, void *device, size_t device_size,
				  void *host, size_t host_size, int *info)
{
	(void)pivots, (void)compute, (void)device, (void)info;
	fake_cusolver_on(&handle->c, "xgetrf");
	if (host)
		memset(host, 1, HOST_WORK(n));
	note("%ldx%ld type=%d a=%p lda=%ld params=%s device=%zu host=%s size=%zu", m, n, type, a, lda,
	     params ? "own" : "NULL", device_size, host ? "some" : "NULL", host_size);
	return OK;
}

/* The bounds have the type of the eigenvalues. */
cusolverStatus_t cusolverDnXsyevdx_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
					      cusolverEigMode_t job, cusolverEigRange_t range,
					      cublasFillMode_t uplo, int64_t n, cudaDataType type,
					      const void *a, int64_t lda, void *vl, void *vu,
					      int64_t il, int64_t iu, int64_t *count,
					      cudaDataType wtype, const void *w,
					      cudaDataType compute, size_t *device, size_t *host)
{
	(void)handle, (void)params, (void)job, (void)range, (void)uplo, (void)n, (void)type;
	(void)a, (void)lda, (void)vl, (void)vu, (void)il, (void)iu, (void)count, (void)wtype;
	(void)w, (void)compute;
	*device = *host = 0;
	return OK;
}

cusolverStatus_t cusolverDnXsyevdx(cusolverDnHandle_t handle, cusolverDnParams_t params,
				   cusolverEigMode_t job, cusolverEigRange_t range,
				   cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a,
				   int64_t lda, void *vl, void *vu, int64_t il, int64_t iu,
				   int64_t *count, cudaDataType wtype, void *w,
				   cudaDataType compute,
				   void *device, size_t device_size, void *host, size_t host_size,
				   int *info)
{
	(void)params, (void)job, (void)range, (void)uplo, (void)n, (void)type, (void)a, (void)lda;
	(void)il, (void)iu, (void)w, (void)compute, (void)device, (void)device_size, (void)host;
	(void)host_size, (void)info;
	fake_cusolver_on(&handle->c, "xsyevdx");
	if (wtype == CUDA_R_64F)
		note("double from %g to %g", *(double *)vl, vu ? *(double *)vu : -1);
	else
		note("float from %g to %g", *(float *)vl, vu ? *(float *)vu : -1);
	*count = 1L << 40;
	return OK;
}

cusolverStatus_t cusolverDnSgesvdaStridedBatched(cusolverDnHandle_t handle, cusolverEigMode_t job,
						 int rank, int m, int n, const float *a, int lda,
						 long long stride_a, float *s, long long stride_s,
						 float *u, int ldu, long long stride_u, float *v,
						 int ldv, long long stride_v, float *work,
						 int lwork, int *info, double *norms, int batch)
{
	int i;

	(void)job, (void)rank, (void)m, (void)n, (void)a, (void)lda, (void)stride_a, (void)s;
	(void)stride_s, (void)u, (void)ldu, (void)stride_u, (void)v, (void)ldv, (void)work;
	(void)lwork, (void)info;
	fake_cusolver_on(&handle->c, "gesvda");
	note("stride_v=%lld batch=%d norms=%s", stride_v, batch, norms ? "some" : "NULL");
	for (i = 0; norms && i < batch; i++)
		norms[i] = i + 0.5;
	return OK;
}

cusolverStatus_t cusolverDnSpotrfBatched(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,
					 float *a[], int lda, int *info, int batch)
{
	(void)uplo, (void)n, (void)lda, (void)info;
	fake_cusolver_on(&handle->c, "potrf batched");
	note("array=%p batch=%d", a, batch);
	return OK;
}

struct gesvdjInfo {
	double tolerance;
};

cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t *info)
{
	*info = calloc(1, sizeof(**info));
	return OK;
}

cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info)
{
	note("destroy gesvdj info of %g", info->tolerance);
	free(info);
	return OK;
}

cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance)
{
	note("tolerance");
	info->tolerance = tolerance;
	return OK;
}

cusolverStatus_t cusolverDnXgesvdjGetResidual(cusolverDnHandle_t handle, gesvdjInfo_t info,
					      double *residual)
{
	(void)handle;
	*residual = info->tolerance * 2;
	return OK;
}

cusolverStatus_t cusolverDnSSgesv(cusolverDnHandle_t handle, cusolver_int_t n, cusolver_int_t nrhs,
				  float *a, cusolver_int_t lda, cusolver_int_t *pivots, float *b,
				  cusolver_int_t ldb, float *x, cusolver_int_t ldx, void *work,
				  size_t size, cusolver_int_t *iterations, cusolver_int_t *info)
{
	(void)n, (void)nrhs, (void)a, (void)lda, (void)pivots, (void)b, (void)ldb, (void)x;
	(void)ldx, (void)work, (void)size, (void)info;
	fake_cusolver_on(&handle->c, "ssgesv");
	*iterations = -3;
	return OK;
}

/* --- Sparse matrices -------------------------------------------------------------------- */

cusolverStatus_t cusolverSpDcsrlsvqr(cusolverSpHandle_t handle, int m, int nnz,
				     const cusparseMatDescr_t descr, const double *values,
				     const int *rows, const int *cols, const double *b, double tol,
				     int reorder, double *x, int *singularity)
{
	fake_cusolver_on(&handle->c, "lsvqr");
	note(MATDESCR_FORMAT, MATDESCR_ARGS(descr));
	note("m=%d nnz=%d %p %p %p %p tol=%g reorder=%d %p", m, nnz, values, rows, cols, b, tol,
	     reorder, x);
	*singularity = -1;
	return OK;
}

/* --- Refactorization ---------------------------------------------------------------------- */

cusolverStatus_t cusolverRfResetValues(int n, int nnz, int *rows, int *cols, double *values, int *p,
				       int *q, cusolverRfHandle_t handle)
{
	(void)rows, (void)cols, (void)values, (void)p, (void)q;
	fake_cusolver_on(&handle->c, "reset");
	note("n=%d nnz=%d", n, nnz);
	return OK;
}

cusolverStatus_t cusolverRfAccessBundledFactorsDevice(cusolverRfHandle_t handle, int *nnz,
						      int **rows, int **cols, double **values)
{
	(void)handle;
	*nnz = 9;
	*rows = (int *)0x300000000100;
	*cols = (int *)0x300000000200;
	*values = (double *)0x300000000300;
	return OK;
}
