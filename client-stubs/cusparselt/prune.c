// SPDX-License-Identifier: Apache-2.0
/* Pruning and compression: one call each, by what was described. */
#include "cusparselt_stub.h"

/*
 * `call` is one to the worker, of structs of its own: `with` its handle, and `it`, which is as
 * the program's `of`.
 */
#define ONE_CALL(handle, of, of_type, call)							\
do {												\
	_Alignas(16) struct wh_opaque as[2];							\
	struct wh_slt_use use;									\
	cusparseStatus_t res;									\
												\
	res = wh_slt_begin(handle, of, WH_H_##of_type, &use);					\
	if (res == CUSPARSE_STATUS_SUCCESS) {							\
		const cusparseLtHandle_t *with =						\
			wh_slt_as(&as[0], WH_H_cusparseLtHandle_t, use.handle);			\
		const of_type *it = wh_slt_as(&as[1], WH_H_##of_type, use.real);		\
												\
		res = call;									\
		wh_slt_done(&use);								\
	}											\
	return res;										\
} while (0)

cusparseStatus_t cusparseLtSpMMAPrune(const cusparseLtHandle_t *handle,
				      const cusparseLtMatmulDescriptor_t *matmulDescr,
				      const void *d_in, void *d_out, cusparseLtPruneAlg_t pruneAlg,
				      cudaStream_t stream)
{
	ONE_CALL(handle, matmulDescr, cusparseLtMatmulDescriptor_t,
		 wh_raw_cusparseLtSpMMAPrune(with, it, d_in, d_out, pruneAlg, stream));
}

cusparseStatus_t cusparseLtSpMMAPrune2(const cusparseLtHandle_t *handle,
				       const cusparseLtMatDescriptor_t *sparseMatDescr,
				       int isSparseA, cusparseOperation_t op, const void *d_in,
				       void *d_out, cusparseLtPruneAlg_t pruneAlg,
				       cudaStream_t stream)
{
	ONE_CALL(handle, sparseMatDescr, cusparseLtMatDescriptor_t,
		 wh_raw_cusparseLtSpMMAPrune2(with, it, isSparseA, op, d_in, d_out, pruneAlg,
					      stream));
}

cusparseStatus_t cusparseLtSpMMAPruneCheck(const cusparseLtHandle_t *handle,
					   const cusparseLtMatmulDescriptor_t *matmulDescr,
					   const void *d_in, int *valid, cudaStream_t stream)
{
	ONE_CALL(handle, matmulDescr, cusparseLtMatmulDescriptor_t,
		 wh_raw_cusparseLtSpMMAPruneCheck(with, it, d_in, valid, stream));
}

cusparseStatus_t cusparseLtSpMMAPruneCheck2(const cusparseLtHandle_t *handle,
					    const cusparseLtMatDescriptor_t *sparseMatDescr,
					    int isSparseA, cusparseOperation_t op,
					    const void *d_in, int *d_valid, cudaStream_t stream)
{
	ONE_CALL(handle, sparseMatDescr, cusparseLtMatDescriptor_t,
		 wh_raw_cusparseLtSpMMAPruneCheck2(with, it, isSparseA, op, d_in, d_valid, stream));
}

cusparseStatus_t cusparseLtSpMMACompress(const cusparseLtHandle_t *handle,
					 const cusparseLtMatmulPlan_t *plan, const void *d_dense,
					 void *d_compressed, void *d_compressed_buffer,
					 cudaStream_t stream)
{
	ONE_CALL(handle, plan, cusparseLtMatmulPlan_t,
		 wh_raw_cusparseLtSpMMACompress(with, it, d_dense, d_compressed,
						d_compressed_buffer, stream));
}

cusparseStatus_t cusparseLtSpMMACompress2(const cusparseLtHandle_t *handle,
					  const cusparseLtMatDescriptor_t *sparseMatDescr,
					  int isSparseA, cusparseOperation_t op,
					  const void *d_dense, void *d_compressed,
					  void *d_compressed_buffer, cudaStream_t stream)
{
	ONE_CALL(handle, sparseMatDescr, cusparseLtMatDescriptor_t,
		 wh_raw_cusparseLtSpMMACompress2(with, it, isSparseA, op, d_dense, d_compressed,
						 d_compressed_buffer, stream));
}
