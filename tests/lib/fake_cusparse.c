// SPDX-License-Identifier: Apache-2.0
/*
 * A cuSPARSE that writes down what it is told ($FAKE_LOG, one line for each call).
 * Addresses are written as they came, scalars as what they point to: over softgpu a
 * device address is an address of the worker's process.
 */
#include <string.h>

/* The header declares its functions with this type for C++ only. */
typedef struct {
	unsigned short x;
} __half;

#include "fake_cusparse.h"
#include "fake_matdescr.h"

static int created, descriptors;

/* --- The library and its handle ----------------------------------------------------- */

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
	if (!has_context())
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	(*handle)->number = ++created;
	note("create %d", created);
	return OK;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
	note("destroy %d", handle->number);
	free(handle);
	return OK;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
	note("set_stream %s", stream ? "own" : "0");
	handle->stream = stream;
	return OK;
}

cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
	handle->mode = mode;
	note("set_mode %s", mode_of(handle));
	return OK;
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
	on(handle, "version");
	*version = 12699;
	return OK;
}

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
	note("property %d", type);
	*value = 40 + type;
	return OK;
}

/* --- Matrix descriptors of the old interface ------------------------------------------ */

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descr)
{
	*descr = calloc(1, sizeof(**descr));
	(*descr)->is_one = FAKE_MATDESCR;
	(*descr)->number = ++descriptors;
	note("matdescr %d", descriptors);
	return OK;
}

cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr)
{
	note("destroy matdescr %d", descr->number);
	free(descr);
	return OK;
}

cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descr, cusparseMatrixType_t type)
{
	descr->type = type;
	return OK;
}

cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t descr, cusparseFillMode_t fill)
{
	descr->fill = fill;
	return OK;
}

cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t descr, cusparseDiagType_t diag)
{
	descr->diag = diag;
	return OK;
}

cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descr, cusparseIndexBase_t base)
{
	descr->base = base;
	return OK;
}

/* --- Descriptors of the generic interface --------------------------------------------- */

struct cusparseDnVecDescr {
	int64_t size;
	void *values;
	cudaDataType type;
};

struct cusparseSpVecDescr {
	int unused;
};

struct cusparseSpGEMMDescr {
	int unused;
};

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *mat, int64_t rows, int64_t cols,
				   int64_t nnz, void *offsets, void *columns, void *values,
				   cusparseIndexType_t offset_type, cusparseIndexType_t column_type,
				   cusparseIndexBase_t base, cudaDataType type)
{
	note("csr %ldx%ld nnz=%ld %p %p %p types=%d,%d,%d base=%d", rows, cols, nnz, offsets,
	     columns, values, offset_type, column_type, type, base);
	*mat = malloc(sizeof(**mat));
	**mat = (struct cusparseSpMatDescr){ rows, cols, nnz, offsets, columns, values, type, 0 };
	return OK;
}

/* A descriptor that is const to the program is an ordinary descriptor here. */
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t *mat, int64_t rows, int64_t cols,
					int64_t nnz, const void *offsets, const void *columns,
					const void *values, cusparseIndexType_t offset_type,
					cusparseIndexType_t column_type, cusparseIndexBase_t base,
					cudaDataType type)
{
	return cusparseCreateCsr((cusparseSpMatDescr_t *)mat, rows, cols, nnz, (void *)offsets,
				 (void *)columns, (void *)values, offset_type, column_type, base,
				 type);
}

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t mat)
{
	note("destroy spmat %s", mat ? "own" : "NULL");
	free((void *)mat);
	return OK;
}

cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t mat, int64_t *rows, int64_t *cols,
				int64_t *nnz, void **offsets, void **columns, void **values,
				cusparseIndexType_t *offset_type, cusparseIndexType_t *column_type,
				cusparseIndexBase_t *base, cudaDataType *type)
{
	*rows = mat->rows;
	*cols = mat->cols;
	*nnz = mat->nnz;
	*offsets = mat->offsets;
	*columns = mat->columns;
	*values = mat->values;
	*offset_type = CUSPARSE_INDEX_64I;
	*column_type = CUSPARSE_INDEX_32I;
	*base = CUSPARSE_INDEX_BASE_ONE;
	*type = mat->type;
	return OK;
}

cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t mat, void *values)
{
	note("matrix values %p", values);
	mat->values = values;
	return OK;
}

cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t mat, void *offsets, void *columns,
					void *values)
{
	note("pointers %p %p %p", offsets, columns, values);
	mat->offsets = offsets;
	mat->columns = columns;
	mat->values = values;
	return OK;
}

cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t mat,
					   cusparseSpMatAttribute_t attribute, void *data,
					   size_t size)
{
	note("set attribute %d size=%zu value=%d", attribute, size, *(int *)data);
	mat->fill = *(int *)data;
	return OK;
}

cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t mat,
					   cusparseSpMatAttribute_t attribute, void *data,
					   size_t size)
{
	(void)attribute;
	memcpy(data, &mat->fill, size);
	return OK;
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *vec, int64_t size, void *values,
				     cudaDataType type)
{
	note("dnvec %ld %p type=%d", size, values, type);
	if (size < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*vec = malloc(sizeof(**vec));
	**vec = (struct cusparseDnVecDescr){ size, values, type };
	return OK;
}

cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vec)
{
	note("destroy dnvec");
	free((void *)vec);
	return OK;
}

cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vec, void *values)
{
	note("values %p", values);
	vec->values = values;
	return OK;
}

cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t vec, int64_t *size,
				       const void **values, cudaDataType *type)
{
	note("get dnvec");
	*size = vec->size;
	*values = vec->values;
	*type = vec->type;
	return OK;
}

/* --- Calls of the generic interface --------------------------------------------------- */

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op,
					 const void *alpha, cusparseConstSpMatDescr_t a,
					 cusparseConstDnVecDescr_t x, const void *beta,
					 cusparseDnVecDescr_t y, cudaDataType type,
					 cusparseSpMVAlg_t alg, size_t *size)
{
	(void)op, (void)alpha, (void)a, (void)x, (void)beta, (void)y, (void)type, (void)alg;
	on(handle, "spmv size");
	*size = (1UL << 33) + 5;
	return OK;
}

cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,
			      cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
			      const void *beta, cusparseDnVecDescr_t y, cudaDataType type,
			      cusparseSpMVAlg_t alg, void *buffer)
{
	on(handle, "spmv");
	note("op=%d alpha=%g beta=%g type=%d alg=%d nnz=%ld x=%ld y=%ld buffer=%p", op,
	     scalar(alpha, type), scalar(beta, type), type, alg, a ? a->nnz : -1, x ? x->size : -1,
	     y ? y->size : -1, buffer);
	return a ? OK : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op,
			      cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
			      void *result, cudaDataType type, void *buffer)
{
	const double d[2] = { 6.5, 7.5 };
	const float f = 3.5;

	(void)op, (void)x, (void)y, (void)buffer;
	on(handle, "spvv");
	if (type == CUDA_C_64F)
		memcpy(result, d, sizeof(d));
	else
		memcpy(result, &f, sizeof(f));
	return OK;
}

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void *alpha,
			       cusparseConstSpVecDescr_t x, const void *beta,
			       cusparseDnVecDescr_t y)
{
	(void)x;
	on(handle, "axpby");
	note("alpha=%g beta=%g", scalar(alpha, y->type), scalar(beta, y->type));
	return OK;
}

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr)
{
	*descr = malloc(sizeof(**descr));
	note("spgemm descr");
	return OK;
}

cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr)
{
	note("destroy spgemm descr");
	free(descr);
	return OK;
}

cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t opA,
					       cusparseOperation_t opB, const void *alpha,
					       cusparseConstSpMatDescr_t a,
					       cusparseConstSpMatDescr_t b, const void *beta,
					       cusparseSpMatDescr_t c, cudaDataType type,
					       cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr,
					       size_t *size, void *buffer)
{
	(void)handle, (void)opA, (void)opB, (void)alpha, (void)a, (void)b, (void)beta, (void)c;
	(void)type, (void)alg;
	note("estimate descr=%s size=%zu buffer=%p", descr ? "own" : "NULL", *size, buffer);
	if (!buffer)
		*size = 4711;
	return buffer && *size == 1 ? CUSPARSE_STATUS_INSUFFICIENT_RESOURCES : OK;
}

/* --- The old interface ------------------------------------------------------------------ */

cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n,
				      const cusparseMatDescr_t a, int nnzA, const int *rowsA,
				      const int *colsA, const cusparseMatDescr_t b, int nnzB,
				      const int *rowsB, const int *colsB,
				      const cusparseMatDescr_t c, int *rowsC, int *nnz, void *work)
{
	on(handle, "geam nnz");
	note("%dx%d nnz=%d,%d %p %p %p %p %p %p", m, n, nnzA, nnzB, rowsA, colsA, rowsB, colsB, rowsC,
	     work);
	note("A " MATDESCR_FORMAT, MATDESCR_ARGS(a));
	note("B " MATDESCR_FORMAT, MATDESCR_ARGS(b));
	note("C " MATDESCR_FORMAT, MATDESCR_ARGS(c));
	*nnz = 77;
	return OK;
}

cusparseStatus_t cusparseZgemvi(cusparseHandle_t handle, cusparseOperation_t op, int m, int n,
				const cuDoubleComplex *alpha, const cuDoubleComplex *a, int lda,
				int nnz, const cuDoubleComplex *x, const int *ind,
				const cuDoubleComplex *beta, cuDoubleComplex *y,
				cusparseIndexBase_t base, void *buffer)
{
	(void)a, (void)lda, (void)nnz, (void)x, (void)ind, (void)y, (void)base, (void)buffer;
	on(handle, "gemvi");
	note("op=%d %dx%d alpha=%g%+gi beta=%g%+gi", op, m, n, alpha->x, alpha->y, beta->x, beta->y);
	return OK;
}

struct csrilu02Info {
	int unused;
};

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t *info)
{
	*info = malloc(sizeof(**info));
	return OK;
}

cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info,
					     int *position)
{
	on(handle, info ? "pivot" : "pivot of NULL");
	*position = 31;
	return CUSPARSE_STATUS_ZERO_PIVOT;
}

cusparseStatus_t cusparseScsrilu02_numericBoost(cusparseHandle_t handle, csrilu02Info_t info,
						int enable, double *tol, float *boost)
{
	(void)info;
	on(handle, "boost");
	note("enable=%d tol=%g boost=%g", enable, *tol, *boost);
	return OK;
}

cusparseStatus_t cusparseHpruneDense2csr(cusparseHandle_t handle, int m, int n, const __half *a,
					 int lda, const __half *threshold,
					 const cusparseMatDescr_t c, __half *values,
					 const int *rows, int *cols, void *buffer)
{
	(void)m, (void)n, (void)a, (void)lda, (void)c, (void)values, (void)rows, (void)cols;
	(void)buffer;
	on(handle, "prune");
	note("threshold=%04x", threshold->x);
	return OK;
}
