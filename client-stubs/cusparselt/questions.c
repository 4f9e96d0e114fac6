// SPDX-License-Identifier: Apache-2.0
/*
 * Questions about what a program has described. The library is asked once, until the struct has
 * a descriptor of its own in the worker, whose answers may change.
 */
#include "cusparselt_stub.h"
#include "../memo.h"

/* The struct has no padding, since questions are compared as bytes. */
struct question {
	uint64_t handle, about;
	uint32_t attribute, resv;
	uint64_t size;
};

/* Fills in the question. False: the library has to be asked each time. */
static bool pose(const cusparseLtHandle_t *handle, const struct wh_kept_kind *kind, const void *p,
		 struct question *q)
{
	struct wh_kept_use with;

	if (!wh_good(wh_kept_begin_use(&wh_kept_cusparseLtHandle_t, handle,
				       CUSPARSE_STATUS_NOT_INITIALIZED, &with)))
		return false;
	q->handle = with.real;
	q->about = wh_kept_about(kind, p);
	return q->about;
}

/* `call` asks the worker, and writes to `to`; the answer has `size` bytes. */
#define ASK_ONCE(function, type, p, attribute, to, size, call)					\
do {												\
	struct question q = { 0, 0, attribute, 0, size };					\
	const bool lasts = (to) && pose(handle, &wh_kept_##type, p, &q);			\
	size_t room = size;									\
	cusparseStatus_t res;									\
												\
	if (lasts && wh_recall(WH_CALL_##function, &q, sizeof(q), to, &room))			\
		return CUSPARSE_STATUS_SUCCESS;							\
	res = call;										\
	if (lasts && res == CUSPARSE_STATUS_SUCCESS)						\
		wh_remember(WH_CALL_##function, &q, sizeof(q), to, size);			\
	return res;										\
} while (0)

#define ATTRIBUTE(function, type, p)								\
	ASK_ONCE(function, type, p, attribute, data, dataSize,					\
		 wh_raw_##function(handle, p, attribute, data, dataSize))

cusparseStatus_t cusparseLtMatDescGetAttribute(const cusparseLtHandle_t *handle,
					       const cusparseLtMatDescriptor_t *matDescr,
					       cusparseLtMatDescAttribute_t attribute, void *data,
					       size_t dataSize)
{
	ATTRIBUTE(cusparseLtMatDescGetAttribute, cusparseLtMatDescriptor_t, matDescr);
}

cusparseStatus_t cusparseLtMatmulDescGetAttribute(const cusparseLtHandle_t *handle,
						  const cusparseLtMatmulDescriptor_t *matmulDescr,
						  cusparseLtMatmulDescAttribute_t attribute,
						  void *data, size_t dataSize)
{
	ATTRIBUTE(cusparseLtMatmulDescGetAttribute, cusparseLtMatmulDescriptor_t, matmulDescr);
}

cusparseStatus_t cusparseLtMatmulAlgGetAttribute(const cusparseLtHandle_t *handle,
						 const cusparseLtMatmulAlgSelection_t *algSelection,
						 cusparseLtMatmulAlgAttribute_t attribute,
						 void *data, size_t dataSize)
{
	ATTRIBUTE(cusparseLtMatmulAlgGetAttribute, cusparseLtMatmulAlgSelection_t, algSelection);
}

cusparseStatus_t cusparseLtMatmulGetWorkspace(const cusparseLtHandle_t *handle,
					      const cusparseLtMatmulPlan_t *plan,
					      size_t *workspaceSize)
{
	ASK_ONCE(cusparseLtMatmulGetWorkspace, cusparseLtMatmulPlan_t, plan, 0, workspaceSize,
		 sizeof(*workspaceSize),
		 wh_raw_cusparseLtMatmulGetWorkspace(handle, plan, workspaceSize));
}

static cusparseStatus_t sizes_of_plan(const cusparseLtHandle_t *handle,
				      const cusparseLtMatmulPlan_t *plan, size_t size[2])
{
	ASK_ONCE(cusparseLtSpMMACompressedSize, cusparseLtMatmulPlan_t, plan, 0, size,
		 2 * sizeof(*size),
		 wh_raw_cusparseLtSpMMACompressedSize(handle, plan, &size[0], &size[1]));
}

static cusparseStatus_t sizes_of_mat(const cusparseLtHandle_t *handle,
				     const cusparseLtMatDescriptor_t *mat, size_t size[2])
{
	ASK_ONCE(cusparseLtSpMMACompressedSize2, cusparseLtMatDescriptor_t, mat, 0, size,
		 2 * sizeof(*size),
		 wh_raw_cusparseLtSpMMACompressedSize2(handle, mat, &size[0], &size[1]));
}

/* Gives both sizes to the program. */
static cusparseStatus_t give(cusparseStatus_t res, const size_t size[2], size_t *compressed,
			     size_t *buffer)
{
	if (res != CUSPARSE_STATUS_SUCCESS)
		return res;
	if (!compressed || !buffer)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*compressed = size[0];
	*buffer = size[1];
	return res;
}

cusparseStatus_t cusparseLtSpMMACompressedSize(const cusparseLtHandle_t *handle,
					       const cusparseLtMatmulPlan_t *plan,
					       size_t *compressedSize, size_t *compressedBufferSize)
{
	size_t size[2];

	return give(sizes_of_plan(handle, plan, size), size, compressedSize, compressedBufferSize);
}

cusparseStatus_t cusparseLtSpMMACompressedSize2(const cusparseLtHandle_t *handle,
						const cusparseLtMatDescriptor_t *sparseMatDescr,
						size_t *compressedSize,
						size_t *compressedBufferSize)
{
	size_t size[2];

	return give(sizes_of_mat(handle, sparseMatDescr, size), size, compressedSize,
		    compressedBufferSize);
}
