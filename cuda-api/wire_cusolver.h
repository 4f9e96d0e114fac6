/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuSOLVER that both ends share beside the generated messages: the form in which
 * handles are sent, and the messages of calls that are handwritten at both ends. Matrix
 * descriptors are cuSPARSE's.
 */
#ifndef WORMHOLE_WIRE_CUSOLVER_H
#define WORMHOLE_WIRE_CUSOLVER_H

#include "wire_cusparse.h"

#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

/* Any of the three kinds of handles. */
struct wh_cusolver_handle {
	uint64_t id;		/* in the worker's handle table */
	uint64_t stream;	/* cusolverRf uses the default one */
};
struct wh_obj_cusolverDnHandle_t {
	struct wh_cusolver_handle h;
};
struct wh_obj_cusolverSpHandle_t {
	struct wh_cusolver_handle h;
};
struct wh_obj_cusolverRfHandle_t {
	struct wh_cusolver_handle h;
};

/* --- Create and Destroy of the three ----------------------------------------------- */

struct wh_req_cusolverCreate {
	struct wh_req hdr;
};
struct wh_rsp_cusolverCreate {
	struct wh_rsp hdr;
	uint64_t handle;
};

struct wh_req_cusolverDestroy {
	struct wh_req hdr;
	uint64_t handle;
};

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
