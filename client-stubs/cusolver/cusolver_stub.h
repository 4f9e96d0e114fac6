/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcusolver.so.12. */
#ifndef WORMHOLE_CUSOLVER_STUB_H
#define WORMHOLE_CUSOLVER_STUB_H

#include "gen_cusolver_client.h"

/* The calling thread's latest answer about how large the factors are that it takes out. */
extern __thread struct wh_rsp_whSolverFactors wh_solver_lu;

#endif
