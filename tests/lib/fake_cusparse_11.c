// SPDX-License-Identifier: Apache-2.0
/*
 * What the fake cuSPARSE has besides as a library of CUDA 11: functions that later majors lack.
 * fake_cusparse.c has the rest, and says how calls are written down.
 */
#include <gone_cusparse.h>

#include "fake_cusparse.h"
#include "fake_matdescr.h"

cusparseStatus_t cusparseDgthr(cusparseHandle_t handle, int nnz, const double *y, double *xVal,
			       const int *xInd, cusparseIndexBase_t idxBase)
{
	on(handle, "gthr");
	note("nnz=%d %p %p %p base=%d", nnz, y, xVal, xInd, idxBase);
	return OK;
}

cusparseStatus_t cusparseDroti(cusparseHandle_t handle, int nnz, double *xVal, const int *xInd,
			       double *y, const double *c, const double *s,
			       cusparseIndexBase_t idxBase)
{
	(void)nnz, (void)xVal, (void)xInd, (void)y, (void)idxBase;
	on(handle, "roti");
	note("c=%g s=%g", *c, *s);
	return OK;
}

/* --- Products whose scalars have types of their own ---------------------------------- */

cusparseStatus_t cusparseCsrmvEx_bufferSize(cusparseHandle_t handle, cusparseAlgMode_t alg,
	cusparseOperation_t transA, int m, int n, int nnz, const void *alpha,
	cudaDataType alphatype, const cusparseMatDescr_t descrA, const void *csrValA,
	cudaDataType csrValAtype, const int *csrRowPtrA, const int *csrColIndA, const void *x,
	cudaDataType xtype, const void *beta, cudaDataType betatype, void *y, cudaDataType ytype,
	cudaDataType executiontype, size_t *bufferSizeInBytes)
{
	(void)alg, (void)transA, (void)m, (void)n, (void)nnz, (void)alpha, (void)alphatype;
	(void)descrA, (void)csrValA, (void)csrValAtype, (void)csrRowPtrA, (void)csrColIndA;
	(void)x, (void)xtype, (void)beta, (void)betatype, (void)y, (void)ytype;
	(void)executiontype;
	on(handle, "csrmv size");
	*bufferSizeInBytes = (1UL << 34) + 7;
	return OK;
}

cusparseStatus_t cusparseCsrmvEx(cusparseHandle_t handle, cusparseAlgMode_t alg,
	cusparseOperation_t transA, int m, int n, int nnz, const void *alpha,
	cudaDataType alphatype, const cusparseMatDescr_t descrA, const void *csrValA,
	cudaDataType csrValAtype, const int *csrRowPtrA, const int *csrColIndA, const void *x,
	cudaDataType xtype, const void *beta, cudaDataType betatype, void *y, cudaDataType ytype,
	cudaDataType executiontype, void *buffer)
{
	(void)alg, (void)csrValAtype, (void)xtype, (void)ytype, (void)executiontype;
	on(handle, "csrmv");
	note("op=%d %dx%d nnz=%d alpha=%g beta=%g %p %p %p %p %p %p", transA, m, n, nnz,
	     scalar(alpha, alphatype), scalar(beta, betatype), csrValA, csrRowPtrA, csrColIndA, x,
	     y, buffer);
	note("A " MATDESCR_FORMAT, MATDESCR_ARGS(descrA));
	return OK;
}

/* --- Products of sparse matrices ------------------------------------------------------ */

struct csrgemm2Info {
	int number;
};

static int gemm_infos;

cusparseStatus_t cusparseCreateCsrgemm2Info(csrgemm2Info_t *info)
{
	*info = malloc(sizeof(**info));
	(*info)->number = ++gemm_infos;
	return OK;
}

cusparseStatus_t cusparseDestroyCsrgemm2Info(csrgemm2Info_t info)
{
	note("destroy gemm info %d", info->number);
	free(info);
	return OK;
}

cusparseStatus_t cusparseXcsrgemm2Nnz(cusparseHandle_t handle, int m, int n, int k,
	const cusparseMatDescr_t descrA, int nnzA, const int *csrSortedRowPtrA,
	const int *csrSortedColIndA, const cusparseMatDescr_t descrB, int nnzB,
	const int *csrSortedRowPtrB, const int *csrSortedColIndB, const cusparseMatDescr_t descrD,
	int nnzD, const int *csrSortedRowPtrD, const int *csrSortedColIndD,
	const cusparseMatDescr_t descrC, int *csrSortedRowPtrC, int *nnzTotalDevHostPtr,
	const csrgemm2Info_t info, void *pBuffer)
{
	(void)descrA, (void)csrSortedRowPtrA, (void)csrSortedColIndA, (void)descrB;
	(void)csrSortedRowPtrB, (void)csrSortedColIndB, (void)csrSortedRowPtrD;
	(void)csrSortedColIndD, (void)pBuffer;
	on(handle, "gemm nnz");
	note("%dx%dx%d nnz=%d,%d,%d C=%p info=%d", m, n, k, nnzA, nnzB, nnzD, csrSortedRowPtrC,
	     info->number);
	note("D " MATDESCR_FORMAT, MATDESCR_ARGS(descrD));
	note("C " MATDESCR_FORMAT, MATDESCR_ARGS(descrC));
	*nnzTotalDevHostPtr = 4712;
	return OK;
}

/* --- Triangular systems ----------------------------------------------------------------- */

struct csrsv2Info {
	int analysed;
};

cusparseStatus_t cusparseCreateCsrsv2Info(csrsv2Info_t *info)
{
	*info = calloc(1, sizeof(**info));
	return OK;
}

cusparseStatus_t cusparseDestroyCsrsv2Info(csrsv2Info_t info)
{
	free(info);
	return OK;
}

cusparseStatus_t cusparseDcsrsv2_bufferSize(cusparseHandle_t handle, cusparseOperation_t transA,
	int m, int nnz, const cusparseMatDescr_t descrA, double *csrSortedValA,
	const int *csrSortedRowPtrA, const int *csrSortedColIndA, csrsv2Info_t info,
	int *pBufferSizeInBytes)
{
	(void)handle, (void)transA, (void)m, (void)nnz, (void)descrA, (void)csrSortedValA;
	(void)csrSortedRowPtrA, (void)csrSortedColIndA, (void)info;
	*pBufferSizeInBytes = 321;
	return OK;
}

cusparseStatus_t cusparseDcsrsv2_analysis(cusparseHandle_t handle, cusparseOperation_t transA,
	int m, int nnz, const cusparseMatDescr_t descrA, const double *csrSortedValA,
	const int *csrSortedRowPtrA, const int *csrSortedColIndA, csrsv2Info_t info,
	cusparseSolvePolicy_t policy, void *pBuffer)
{
	(void)transA, (void)m, (void)nnz, (void)descrA, (void)csrSortedValA;
	(void)csrSortedRowPtrA, (void)csrSortedColIndA, (void)policy, (void)pBuffer;
	on(handle, "csrsv analysis");
	info->analysed = 1;
	return OK;
}

cusparseStatus_t cusparseDcsrsv2_solve(cusparseHandle_t handle, cusparseOperation_t transA, int m,
	int nnz, const double *alpha, const cusparseMatDescr_t descrA, const double *csrSortedValA,
	const int *csrSortedRowPtrA, const int *csrSortedColIndA, csrsv2Info_t info,
	const double *f, double *x, cusparseSolvePolicy_t policy, void *pBuffer)
{
	(void)transA, (void)descrA, (void)csrSortedValA, (void)csrSortedRowPtrA;
	(void)csrSortedColIndA, (void)policy;
	on(handle, "csrsv");
	note("m=%d nnz=%d alpha=%g analysed=%d %p %p %p", m, nnz, *alpha, info->analysed, f, x,
	     pBuffer);
	return OK;
}

cusparseStatus_t cusparseXcsrsv2_zeroPivot(cusparseHandle_t handle, csrsv2Info_t info,
	int *position)
{
	(void)handle, (void)info;
	*position = 5;
	return CUSPARSE_STATUS_ZERO_PIVOT;
}

/* --- Matrices of pairs of indices -------------------------------------------------------- */

cusparseStatus_t cusparseCreateCooAoS(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols,
	int64_t nnz, void *cooInd, void *cooValues, cusparseIndexType_t cooIdxType,
	cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	(void)cooIdxType, (void)idxBase;
	note("pairs %ldx%ld nnz=%ld %p %p", rows, cols, nnz, cooInd, cooValues);
	*spMatDescr = calloc(1, sizeof(**spMatDescr));
	**spMatDescr = (struct cusparseSpMatDescr){ .rows = rows, .cols = cols, .nnz = nnz,
		.columns = cooInd, .values = cooValues, .type = valueType };
	return OK;
}

cusparseStatus_t cusparseCooAoSGet(cusparseSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols,
	int64_t *nnz, void **cooInd, void **cooValues, cusparseIndexType_t *idxType,
	cusparseIndexBase_t *idxBase, cudaDataType *valueType)
{
	*rows = spMatDescr->rows;
	*cols = spMatDescr->cols;
	*nnz = spMatDescr->nnz;
	*cooInd = spMatDescr->columns;
	*cooValues = spMatDescr->values;
	*idxType = CUSPARSE_INDEX_32I;
	*idxBase = CUSPARSE_INDEX_BASE_ZERO;
	*valueType = spMatDescr->type;
	return OK;
}
