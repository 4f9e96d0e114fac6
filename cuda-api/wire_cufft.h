/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuFFT that both ends share beside the generated messages: the form in which a
 * plan is sent, and the messages of calls that are handwritten at both ends.
 */
#ifndef WORMHOLE_WIRE_CUFFT_H
#define WORMHOLE_WIRE_CUFFT_H

#include <cufft.h>
#include <cufftXt.h>
#include <stdbool.h>

#include "wire.h"

/*
 * A plan with what the client keeps of its state. Every call carries it; the worker tells the
 * library what differs from the last one.
 */
struct wh_obj_cufftHandle {
	uint64_t id;		/* in the worker's handle table */
	uint64_t stream;
	uint64_t work_area;	/* device address */
	uint32_t own_area;	/* 1: the program's, see above; 0: the library's */
	uint32_t allocate;	/* shall the library allocate one when the plan is made? */
};

/*
 * Returns the elements of arrays of sizes. For another rank there are none, and the worker
 * refuses it.
 */
static inline size_t wh_cufft_rank(int rank)
{
	return rank >= 1 && rank <= MAX_SHIM_RANK ? (size_t)rank : 0;
}

/* --- cufftCreate, cufftDestroy ------------------------------------------------------ */

struct wh_req_cufftCreate {
	struct wh_req hdr;
};
struct wh_rsp_cufftCreate {
	struct wh_rsp hdr;
	uint64_t plan;
};

struct wh_req_cufftDestroy {
	struct wh_req hdr;
	uint64_t plan;
};

/* --- Callbacks ------------------------------------------------------------------------ */

/* The program's code and name of a callback together. */
#define WH_CUFFT_CODE_MAX	(64UL << 20)

/* On one GPU, so that the arrays of the prototype have one element. */
struct wh_req_cufftXtSetCallback {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint64_t routine;	/* an address of code of the device's */
	uint64_t caller_info;	/* what kernels give to the routine */
	uint32_t type;
	uint32_t has_info;
};

/* The name with its NUL follows, and the code. */
struct wh_req_cufftXtSetJITCallback {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint64_t name_size, code_size;
	uint64_t caller_info;
	uint32_t type;
	uint32_t has_info;
};

#endif
