// SPDX-License-Identifier: Apache-2.0
/* A matrix descriptor is cuSPARSE's, and lies in the program's process: nobody is asked. */
#include "cusolver_stub.h"
#include "../cusparse/matdescr.h"

bool wh_pack_cusparseMatDescr_t(cusparseMatDescr_t d, struct wh_obj_cusparseMatDescr_t *out)
{
	return wh_matdescr_pack(d, out);
}
