/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that the client's libcublas.so.13 and libcublasLt.so.13 share: handles and statuses. */
#ifndef WORMHOLE_BLAS_H
#define WORMHOLE_BLAS_H

#include <cublas_api.h>
#include <stdbool.h>

#include "handle.h"

/* A program may pass a handle of cuBLAS for one of cublasLt, so both begin alike. */
struct wh_blas_handle {
	struct wh_handle h;	/* h.alive is one of the two words below */
	uint64_t id;		/* in the worker's handle table */
};
#define WH_CUBLAS_ALIVE		0x77686c62616c6961ULL
#define WH_CUBLASLT_ALIVE	0x77686c74616c6961ULL

struct wh_blas_status {
	const char *name, *text;
};

/* Returns NULL if no status has this number. */
static inline const struct wh_blas_status *wh_blas_status(unsigned int status)
{
	static const struct wh_blas_status known[] = {
#define S(status, text) [status] = { #status, text }
		S(CUBLAS_STATUS_SUCCESS, "success"),
		S(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
		S(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
		S(CUBLAS_STATUS_INVALID_VALUE,
		  "an unsupported value or parameter was passed to the function"),
		S(CUBLAS_STATUS_ARCH_MISMATCH,
		  "the function requires an architectural feature absent from the device"),
		S(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed"),
		S(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
		S(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
		S(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported"),
		S(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"),
#undef S
	};

	return status < sizeof(known) / sizeof(*known) && known[status].name ? &known[status] :
									NULL;
}

static inline const char *wh_blas_status_name(unsigned int status)
{
	const struct wh_blas_status *s = wh_blas_status(status);

	return s ? s->name : "unrecognized status";
}

static inline const char *wh_blas_status_text(unsigned int status)
{
	const struct wh_blas_status *s = wh_blas_status(status);

	return s ? s->text : "unrecognized status";
}

#endif
