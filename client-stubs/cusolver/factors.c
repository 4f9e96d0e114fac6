// SPDX-License-Identifier: Apache-2.0
/*
 * Factors of csrlu in host memory. The program has made room for as many elements as the
 * library has told it. The call does not say how many these are, so the library is asked again.
 */
#include "cusolver_stub.h"

__thread struct wh_rsp_whSolverFactors wh_solver_lu;

static cusolverStatus_t ask(cusolverSpHandle_t handle, csrluInfoHost_t info)
{
	struct wh_obj_cusolverSpHandle_t object;
	struct wh_req_whSolverFactors *q;
	cusolverStatus_t res;
	struct wh_call c;

	if (!wh_pack_cusolverSpHandle_t(handle, &object))
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	q = wh_cusolver_begin(&c, WH_CALL_whSolverFactors, sizeof(*q));
	if (!q)
		return wh_cusolver_lost(c.result);
	q->handle = object;
	q->info = (uint64_t)info;
	res = wh_cusolver_run(&c, sizeof(wh_solver_lu));
	if (res == CUSOLVER_STATUS_SUCCESS)
		memcpy(&wh_solver_lu, c.rsp, sizeof(wh_solver_lu));
	wh_end(&c);
	return res;
}

#define EXTRACT(t, type) \
cusolverStatus_t cusolverSp##t##csrluExtractHost(cusolverSpHandle_t handle, int *P, int *Q, \
		const cusparseMatDescr_t descrL, type *csrValL, int *csrRowPtrL, int *csrColIndL, \
		const cusparseMatDescr_t descrU, type *csrValU, int *csrRowPtrU, int *csrColIndU, \
		csrluInfoHost_t info, void *pBuffer) \
{ \
	cusolverStatus_t res = ask(handle, info); \
\
	if (res != CUSOLVER_STATUS_SUCCESS) \
		return res; \
	return wh_raw_cusolverSp##t##csrluExtractHost(handle, P, Q, descrL, csrValL, csrRowPtrL, \
			csrColIndL, descrU, csrValU, csrRowPtrU, csrColIndU, info, pBuffer); \
}

EXTRACT(S, float)
EXTRACT(D, double)
EXTRACT(C, cuComplex)
EXTRACT(Z, cuDoubleComplex)
