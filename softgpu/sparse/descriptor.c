// SPDX-License-Identifier: Apache-2.0
/* Descriptors of matrices and vectors of the stand-in for cuSPARSE. */
#include "sparse.h"

#include <stdlib.h>

#define ST	EXPORT cusparseStatus_t
#define OK	CUSPARSE_STATUS_SUCCESS
#define WRONG	CUSPARSE_STATUS_INVALID_VALUE

/* --- Sparse matrices ------------------------------------------------------------------- */

static bool index_good(cusparseIndexType_t t)
{
	return t == CUSPARSE_INDEX_32I || t == CUSPARSE_INDEX_64I;
}

static cusparseStatus_t create(cusparseSpMatDescr_t *out, int format, int64_t rows, int64_t cols,
			       int64_t nnz, const void *offsets, const void *indices,
			       const void *values, cusparseIndexType_t offsets_type,
			       cusparseIndexType_t indices_type, cusparseIndexBase_t base,
			       cudaDataType type)
{
	cusparseSpMatDescr_t m;

	if (!out || rows < 0 || cols < 0 || nnz < 0 || (unsigned int)base > 1)
		return WRONG;
	if (!index_good(offsets_type) || !index_good(indices_type)) {
		standin_refuse("a matrix with indices of 16 bits");
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	m->args = (struct sparse_args){
		.offsets = (void *)offsets, .indices = (void *)indices, .values = (void *)values,
		.rows = rows, .cols = cols, .nnz = nnz, .format = format,
		.wide_offsets = offsets_type == CUSPARSE_INDEX_64I,
		.wide_indices = indices_type == CUSPARSE_INDEX_64I, .base = (int)base };
	m->type = type;
	m->batch = 1;
	*out = m;
	return OK;
}

#define IT	cusparseIndexType_t
#define BASE	cusparseIndexBase_t

#define COMPRESSED(Csr, format) \
ST cusparseCreate##Csr(cusparseSpMatDescr_t *m, int64_t rows, int64_t cols, int64_t nnz, \
		       void *offsets, void *indices, void *values, IT ot, IT it, BASE base, \
		       cudaDataType t) \
{ return create(m, format, rows, cols, nnz, offsets, indices, values, ot, it, base, t); } \
ST cusparseCreateConst##Csr(cusparseConstSpMatDescr_t *m, int64_t rows, int64_t cols, int64_t nnz, \
			    const void *offsets, const void *indices, const void *values, IT ot, \
			    IT it, BASE base, cudaDataType t) \
{ \
	return create((cusparseSpMatDescr_t *)m, format, rows, cols, nnz, offsets, indices, \
		      values, \
		      ot, it, base, t); \
} \
ST cusparse##Csr##Get(cusparseSpMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *nnz, \
		      void **offsets, void **indices, void **values, IT *ot, IT *it, BASE *base, \
		      cudaDataType *t) \
{ return look(m, format, rows, cols, nnz, offsets, indices, values, ot, it, base, t); } \
ST cusparseConst##Csr##Get(cusparseConstSpMatDescr_t m, int64_t *rows, int64_t *cols, \
			   int64_t *nnz, \
			   const void **offsets, const void **indices, const void **values, \
				   IT *ot, \
			   IT *it, BASE *base, cudaDataType *t) \
{ \
	return look(m, format, rows, cols, nnz, (void **)offsets, (void **)indices, \
		    (void **)values, ot, it, base, t); \
}

/* A format has other names for the arrays, and each pointer must be there. */
static cusparseStatus_t look(cusparseConstSpMatDescr_t m, int format, int64_t *rows, int64_t *cols,
			     int64_t *nnz, void **offsets, void **indices, void **values, IT *ot,
			     IT *it, BASE *base, cudaDataType *t)
{
	if (!m || m->args.format != format || !rows || !cols || !nnz || !offsets || !indices ||
	    !values || !ot || !it || !base || !t)
		return WRONG;
	*rows = m->args.rows;
	*cols = m->args.cols;
	*nnz = m->args.nnz;
	*offsets = m->args.offsets;
	*indices = m->args.indices;
	*values = m->args.values;
	*ot = m->args.wide_offsets ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
	*it = m->args.wide_indices ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
	*base = m->args.base;
	*t = m->type;
	return OK;
}

COMPRESSED(Csr, FORMAT_CSR)
COMPRESSED(Csc, FORMAT_CSC)

ST cusparseCreateCoo(cusparseSpMatDescr_t *m, int64_t rows, int64_t cols, int64_t nnz, void *row,
		     void *column, void *values, IT it, BASE base, cudaDataType t)
{
	return create(m, FORMAT_COO, rows, cols, nnz, row, column, values, it, it, base, t);
}

ST cusparseCreateConstCoo(cusparseConstSpMatDescr_t *m, int64_t rows, int64_t cols, int64_t nnz,
			  const void *row, const void *column, const void *values, IT it, BASE base,
			  cudaDataType t)
{
	return create((cusparseSpMatDescr_t *)m, FORMAT_COO, rows, cols, nnz, row, column, values,
		      it, it, base, t);
}

ST cusparseCooGet(cusparseSpMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *nnz, void **row,
		  void **column, void **values, IT *it, BASE *base, cudaDataType *t)
{
	IT rows_type;

	return look(m, FORMAT_COO, rows, cols, nnz, row, column, values, &rows_type, it, base, t);
}

ST cusparseConstCooGet(cusparseConstSpMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *nnz,
		       const void **row, const void **column, const void **values, IT *it,
		       BASE *base, cudaDataType *t)
{
	return cusparseCooGet((cusparseSpMatDescr_t)m, rows, cols, nnz, (void **)row,
			      (void **)column, (void **)values, it, base, t);
}

ST cusparseDestroySpMat(cusparseConstSpMatDescr_t m)
{
	free((void *)m);
	return OK;
}

static cusparseStatus_t point(cusparseSpMatDescr_t m, int format, void *offsets, void *indices,
			      void *values)
{
	if (!m || m->args.format != format)
		return WRONG;
	m->args.offsets = offsets;
	m->args.indices = indices;
	m->args.values = values;
	return OK;
}

ST cusparseCsrSetPointers(cusparseSpMatDescr_t m, void *offsets, void *indices, void *values)
{
	return point(m, FORMAT_CSR, offsets, indices, values);
}

ST cusparseCscSetPointers(cusparseSpMatDescr_t m, void *offsets, void *indices, void *values)
{
	return point(m, FORMAT_CSC, offsets, indices, values);
}

ST cusparseCooSetPointers(cusparseSpMatDescr_t m, void *rows, void *columns, void *values)
{
	return point(m, FORMAT_COO, rows, columns, values);
}

static cusparseStatus_t repeat(cusparseSpMatDescr_t m, int format, int batch, int64_t offsets,
			       int64_t values)
{
	if (!m || m->args.format != format || batch < 1 || offsets < 0 || values < 0)
		return WRONG;
	m->batch = batch;
	m->args.offsets_apart = offsets;
	m->args.values_apart = values;
	return OK;
}

ST cusparseCsrSetStridedBatch(cusparseSpMatDescr_t m, int batch, int64_t offsets, int64_t values)
{
	return repeat(m, FORMAT_CSR, batch, offsets, values);
}

ST cusparseCooSetStridedBatch(cusparseSpMatDescr_t m, int batch, int64_t apart)
{
	return repeat(m, FORMAT_COO, batch, apart, apart);
}

/* A getter of one value. */
#define GET(Name, Descr, type, value) \
ST cusparse##Name(Descr m, type *to) \
{ \
	if (!m || !to) \
		return WRONG; \
	*to = (value); \
	return OK; \
}

GET(SpMatGetFormat, cusparseConstSpMatDescr_t, cusparseFormat_t, (cusparseFormat_t)m->args.format)
GET(SpMatGetIndexBase, cusparseConstSpMatDescr_t, BASE, (BASE)m->args.base)
GET(SpMatGetValues, cusparseSpMatDescr_t, void *, m->args.values)
GET(ConstSpMatGetValues, cusparseConstSpMatDescr_t, const void *, m->args.values)
GET(SpMatGetStridedBatch, cusparseConstSpMatDescr_t, int, m->batch)
GET(DnVecGetValues, cusparseDnVecDescr_t, void *, m->args.values)
GET(ConstDnVecGetValues, cusparseConstDnVecDescr_t, const void *, m->args.values)
GET(DnMatGetValues, cusparseDnMatDescr_t, void *, m->args.values)
GET(ConstDnMatGetValues, cusparseConstDnMatDescr_t, const void *, m->args.values)

#define SET_VALUES(Name, Descr) \
ST cusparse##Name(Descr m, void *values) \
{ \
	if (!m) \
		return WRONG; \
	m->args.values = values; \
	return OK; \
}

SET_VALUES(SpMatSetValues, cusparseSpMatDescr_t)
SET_VALUES(DnVecSetValues, cusparseDnVecDescr_t)
SET_VALUES(DnMatSetValues, cusparseDnMatDescr_t)

ST cusparseSpMatGetSize(cusparseConstSpMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *nnz)
{
	if (!m || !rows || !cols || !nnz)
		return WRONG;
	*rows = m->args.rows;
	*cols = m->args.cols;
	*nnz = m->args.nnz;
	return OK;
}

/* Both attributes are enumerations of the size of int. */
ST cusparseSpMatSetAttribute(cusparseSpMatDescr_t m, cusparseSpMatAttribute_t attribute, void *data,
			     size_t size)
{
	int v;

	if (!m || !data || size != sizeof(int))
		return WRONG;
	v = *(int *)data;
	if ((unsigned int)v > 1 || (unsigned int)attribute > CUSPARSE_SPMAT_DIAG_TYPE)
		return WRONG;
	if (attribute == CUSPARSE_SPMAT_FILL_MODE)
		m->fill = v;
	else
		m->diagonal = v;
	return OK;
}

ST cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t m, cusparseSpMatAttribute_t attribute,
			     void *data, size_t size)
{
	if (!m || !data || size != sizeof(int) ||
	    (unsigned int)attribute > CUSPARSE_SPMAT_DIAG_TYPE)
		return WRONG;
	*(int *)data = attribute == CUSPARSE_SPMAT_FILL_MODE ? (int)m->fill : (int)m->diagonal;
	return OK;
}

/* --- Dense vectors and matrices ---------------------------------------------------------- */

ST cusparseCreateDnVec(cusparseDnVecDescr_t *out, int64_t size, void *values, cudaDataType type)
{
	cusparseDnVecDescr_t v;

	if (!out || size < 0)
		return WRONG;
	v = calloc(1, sizeof(*v));
	if (!v)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	v->args = (struct dense_args){ .values = values, .rows = size, .cols = 1, .ld = size };
	v->type = type;
	*out = v;
	return OK;
}

ST cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *out, int64_t size, const void *values,
			    cudaDataType type)
{
	return cusparseCreateDnVec((cusparseDnVecDescr_t *)out, size, (void *)values, type);
}

ST cusparseDestroyDnVec(cusparseConstDnVecDescr_t v)
{
	free((void *)v);
	return OK;
}

ST cusparseDnVecGet(cusparseDnVecDescr_t v, int64_t *size, void **values, cudaDataType *type)
{
	if (!v || !size || !values || !type)
		return WRONG;
	*size = v->args.rows;
	*values = v->args.values;
	*type = v->type;
	return OK;
}

ST cusparseConstDnVecGet(cusparseConstDnVecDescr_t v, int64_t *size, const void **values,
			 cudaDataType *type)
{
	return cusparseDnVecGet((cusparseDnVecDescr_t)v, size, (void **)values, type);
}

ST cusparseCreateDnMat(cusparseDnMatDescr_t *out, int64_t rows, int64_t cols, int64_t ld,
		       void *values, cudaDataType type, cusparseOrder_t order)
{
	cusparseDnMatDescr_t m;

	if (!out || rows < 0 || cols < 0 || (order != CUSPARSE_ORDER_COL &&
					     order != CUSPARSE_ORDER_ROW) ||
	    ld < (order == CUSPARSE_ORDER_ROW ? cols : rows))
		return WRONG;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	m->args = (struct dense_args){ .values = values, .rows = rows, .cols = cols, .ld = ld,
				       .by_row = order == CUSPARSE_ORDER_ROW };
	m->type = type;
	m->batch = 1;
	*out = m;
	return OK;
}

ST cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *out, int64_t rows, int64_t cols, int64_t ld,
			    const void *values, cudaDataType type, cusparseOrder_t order)
{
	return cusparseCreateDnMat((cusparseDnMatDescr_t *)out, rows, cols, ld, (void *)values,
				   type, order);
}

ST cusparseDestroyDnMat(cusparseConstDnMatDescr_t m)
{
	free((void *)m);
	return OK;
}

ST cusparseDnMatGet(cusparseDnMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *ld,
		    void **values, cudaDataType *type, cusparseOrder_t *order)
{
	if (!m || !rows || !cols || !ld || !values || !type || !order)
		return WRONG;
	*rows = m->args.rows;
	*cols = m->args.cols;
	*ld = m->args.ld;
	*values = m->args.values;
	*type = m->type;
	*order = m->args.by_row ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
	return OK;
}

ST cusparseConstDnMatGet(cusparseConstDnMatDescr_t m, int64_t *rows, int64_t *cols, int64_t *ld,
			 const void **values, cudaDataType *type, cusparseOrder_t *order)
{
	return cusparseDnMatGet((cusparseDnMatDescr_t)m, rows, cols, ld, (void **)values, type,
				order);
}

ST cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t m, int batch, int64_t apart)
{
	if (!m || batch < 1 || apart < 0)
		return WRONG;
	m->batch = batch;
	m->args.apart = apart;
	return OK;
}

ST cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t m, int *batch, int64_t *apart)
{
	if (!m || !batch || !apart)
		return WRONG;
	*batch = m->batch;
	*apart = m->args.apart;
	return OK;
}
