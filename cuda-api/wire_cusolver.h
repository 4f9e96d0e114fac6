/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuSOLVER that both ends share beside the generated messages: the messages of
 * calls that are handwritten at both ends. Matrix descriptors are cuSPARSE's.
 */
#ifndef WORMHOLE_WIRE_CUSOLVER_H
#define WORMHOLE_WIRE_CUSOLVER_H

#include "wire_cusparse.h"

#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include "gen_cusolver_objects.h"

/* --- Matrices in host memory ------------------------------------------------------- */

/* Returns the number of row pointers of n rows; for a negative n, 0 or a size that never fits. */
#define WH_ROWS(n)		((size_t)(n) + 1)
#define WH_METIS_OPTIONS	40

struct wh_req_whSolverFactors {
	struct wh_req hdr;
	struct wh_obj_cusolverSpHandle_t handle;
	uint64_t info;
};
struct wh_rsp_whSolverFactors {
	struct wh_rsp hdr;
	uint32_t n;
	uint32_t nnz_l;
	uint32_t nnz_u;
	uint32_t resv;
};

#endif
