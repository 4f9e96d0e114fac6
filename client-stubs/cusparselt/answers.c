// SPDX-License-Identifier: Apache-2.0
/* What cuSPARSELt says about itself: versions, the worker's, asked for once; statuses. */
#include "cusparselt_stub.h"
#include "../property.h"
#include "../sparse.h"

WH_GET_PROPERTY(cusparseStatus_t, cusparseLtGetProperty, CUSPARSE_STATUS_INVALID_VALUE)

const char *cusparseLtGetErrorName(cusparseStatus_t status)
{
	return wh_sparse_status(status).name;
}

/* It has no textures. */
const char *cusparseLtGetErrorString(cusparseStatus_t status)
{
	return status == CUSPARSE_STATUS_MAPPING_ERROR ? "mapping error" :
							 wh_sparse_status(status).text;
}
