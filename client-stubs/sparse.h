/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses that the client's libcusparse.so.12 and libcusparseLt.so.0 share. */
#ifndef WORMHOLE_SPARSE_H
#define WORMHOLE_SPARSE_H

#include <cusparse.h>

struct wh_sparse_status {
	const char *name, *text;
};

static inline struct wh_sparse_status wh_sparse_status(unsigned int status)
{
	static const struct wh_sparse_status known[] = {
#define S(status, text) [status] = { #status, text }
		S(CUSPARSE_STATUS_SUCCESS, "success"),
		S(CUSPARSE_STATUS_NOT_INITIALIZED, "initialization error"),
		S(CUSPARSE_STATUS_ALLOC_FAILED, "out of memory"),
		S(CUSPARSE_STATUS_INVALID_VALUE, "invalid value"),
		S(CUSPARSE_STATUS_ARCH_MISMATCH, "architecture mismatch"),
		S(CUSPARSE_STATUS_MAPPING_ERROR, "texture memory mapping error"),
		S(CUSPARSE_STATUS_EXECUTION_FAILED, "kernel launch failure"),
		S(CUSPARSE_STATUS_INTERNAL_ERROR, "internal error"),
		S(CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, "matrix type not supported"),
		S(CUSPARSE_STATUS_ZERO_PIVOT, "zero pivot"),
		S(CUSPARSE_STATUS_NOT_SUPPORTED, "operation not supported"),
		S(CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "insufficient resources"),
#undef S
	};
	static const char none[] = "unrecognized error code";

	return status < sizeof(known) / sizeof(*known) ?
	       known[status] : (struct wh_sparse_status){ none, none };
}

#endif
