/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the fake cuSPARSE share this: handles, matrices, and how a call is written down. */
#ifndef WORMHOLE_TESTS_FAKE_CUSPARSE_H
#define WORMHOLE_TESTS_FAKE_CUSPARSE_H

#include <cusparse.h>
#include <stdbool.h>

#include "fake_library.h"

#define OK	CUSPARSE_STATUS_SUCCESS

struct cusparseContext {
	int number;
	cudaStream_t stream;
	cusparsePointerMode_t mode;
};

struct cusparseSpMatDescr {
	int64_t rows, cols, nnz;
	void *offsets, *columns, *values;
	cudaDataType type;
	cusparseFillMode_t fill;
};

static inline const char *mode_of(cusparseHandle_t h)
{
	return h->mode == CUSPARSE_POINTER_MODE_HOST ? "host" : "device";
}

/* Writes down a call on a handle with the handle's state. */
static inline void on(cusparseHandle_t h, const char *what)
{
	note("%s handle=%d stream=%s mode=%s", what, h->number, h->stream ? "own" : "0", mode_of(h));
}

/* Returns a scalar of a type, in host or device memory. */
static inline double scalar(const void *p, cudaDataType type)
{
	bool wide = type == CUDA_R_64F || type == CUDA_C_64F;

	return !p ? -1 : wide ? *(const double *)p : *(const float *)p;
}

#endif
