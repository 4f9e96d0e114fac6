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

/* The type of descriptors in the worker's handle table. */
#define WH_H_cufft_desc		149

/* GPUs of a plan, at most; the library has 16, too. */
#define WH_CUFFT_GPUS		16

/* Host memory that a copy may have at most; a long call has room for it and for its own words. */
#define WH_CUFFT_HOST_MAX	((1ULL << 30) - 4096)

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

/* The name with its NUL follows, if there is one, and the code. */
struct wh_req_cufftXtSetJITCallback {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint64_t name_size, code_size;
	uint64_t caller_info;
	uint32_t type;
	uint32_t has_info;
};

/* --- Several GPUs --------------------------------------------------------------------- */

/* The GPUs follow, as 32-bit numbers of the worker. */
struct wh_req_cufftXtSetGPUs {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint32_t count;
	uint32_t resv;
};

/* The addresses of the work areas follow. */
struct wh_req_whCufftAreas {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint32_t count;
	uint32_t resv;
};

/* What programs read of a cudaLibXtDesc. */
struct wh_cufft_desc {
	uint64_t id;		/* in the worker's handle table */
	uint64_t host;		/* bytes of a copy from or to host memory; 0: there is none */
	int32_t version, data_version;
	int32_t library, format;
	uint32_t count;
	uint32_t resv;
	int32_t gpu[WH_CUFFT_GPUS];	/* numbers of the worker */
	uint64_t data[WH_CUFFT_GPUS], size[WH_CUFFT_GPUS];
};

struct wh_req_cufftXtMalloc {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint32_t format;
	uint32_t resv;
};
struct wh_rsp_cufftXtMalloc {
	struct wh_rsp hdr;
	struct wh_cufft_desc desc;
};

struct wh_req_cufftXtFree {
	struct wh_req hdr;
	uint64_t desc;
};

/* The bytes of host memory follow, in the request or in the response. */
struct wh_req_cufftXtMemcpy {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint64_t to, from;	/* descriptors; 0: host memory */
	uint64_t bytes;
	uint32_t type;		/* cufftXtCopyType */
	uint32_t resv;
};
struct wh_rsp_cufftXtMemcpy {
	struct wh_rsp hdr;
	int32_t format;		/* of the descriptor that was written */
	uint32_t resv;
};

enum wh_cufft_exec {
	WH_CUFFT_ANY, WH_CUFFT_C2C, WH_CUFFT_Z2Z, WH_CUFFT_R2C, WH_CUFFT_C2R, WH_CUFFT_D2Z,
	WH_CUFFT_Z2D, WH_CUFFT_EXECS,
};

struct wh_req_whCufftExec {
	struct wh_req hdr;
	struct wh_obj_cufftHandle plan;
	uint64_t input, output;
	int32_t direction;
	uint32_t which;		/* enum wh_cufft_exec */
};
struct wh_rsp_whCufftExec {
	struct wh_rsp hdr;
	int32_t format[2];	/* of both descriptors, afterwards */
};

#endif
