/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuSPARSE that both ends share beside the generated messages: the form in which a
 * matrix descriptor is sent, and the size of a scaling factor. cuSOLVER has the same matrix
 * descriptors.
 */
#ifndef WORMHOLE_WIRE_CUSPARSE_H
#define WORMHOLE_WIRE_CUSPARSE_H

#include "wire_scalar.h"

#include <cusparse.h>
#include <stdbool.h>

#include "wire.h"

/* A matrix descriptor is only these numbers: the worker has a genuine one for each combination. */
struct wh_obj_cusparseMatDescr_t {
	uint32_t there;		/* 0: NULL */
	uint32_t type;		/* cusparseMatrixType_t, and so on */
	uint32_t fill;
	uint32_t diag;
	uint32_t base;
	uint32_t resv;
};

/* The number of values that each of them can have. */
#define WH_CUSPARSE_TYPES	(CUSPARSE_MATRIX_TYPE_TRIANGULAR + 1)
#define WH_CUSPARSE_FILLS	(CUSPARSE_FILL_MODE_UPPER + 1)
#define WH_CUSPARSE_DIAGS	(CUSPARSE_DIAG_TYPE_UNIT + 1)
#define WH_CUSPARSE_BASES	(CUSPARSE_INDEX_BASE_ONE + 1)

/*
 * Returns the bytes of a scaling factor for vectors of a type: halves are computed with as
 * floats.
 */
static inline size_t wh_cusparse_factor(cudaDataType type)
{
	size_t n = wh_type_size(type);

	switch (type) {
	case CUDA_R_16F:
	case CUDA_R_16BF:
	case CUDA_C_16F:
	case CUDA_C_16BF:
		return 2 * n;
	default:
		return n;
	}
}

#endif
