// SPDX-License-Identifier: Apache-2.0
/* cuSPARSELt's answers about itself: versions (the worker's, asked for once) and statuses. */
#include "cusparselt_stub.h"
#include "../property.h"
#include "../sparse.h"

WH_GET_PROPERTY(cusparseStatus_t, cusparseLtGetProperty, CUSPARSE_STATUS_INVALID_VALUE)

const char *cusparseLtGetErrorName(cusparseStatus_t status)
{
	return wh_sparse_status(status).name;
}

/* cuSPARSELt has no textures, so its mapping error has another text. */
const char *cusparseLtGetErrorString(cusparseStatus_t status)
{
	return status == CUSPARSE_STATUS_MAPPING_ERROR ? "mapping error" :
							 wh_sparse_status(status).text;
}
