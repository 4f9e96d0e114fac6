/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuBLAS that both ends share beside the generated messages: the form in which a
 * handle is sent, the sizes of scalars whose type is a parameter, and the messages of calls
 * that are handwritten at both ends.
 */
#ifndef WORMHOLE_WIRE_CUBLAS_H
#define WORMHOLE_WIRE_CUBLAS_H

#include "wire_scalar.h"

#include <cublas_v2.h>
#include <cublasXt.h>
#include <stdbool.h>

#include "wire.h"

/*
 * A handle with all that the client keeps of its state. Every call carries it; the worker tells
 * the library what differs from the last one.
 */
struct wh_obj_cublasHandle_t {
	uint64_t id;		/* in the worker's handle table */
	uint64_t stream;
	uint64_t workspace;	/* device address */
	uint64_t workspace_size;
	uint32_t own_workspace;	/* 1: the program's, see above; 0: the library's */
	uint32_t resv;
	uint32_t pointer_mode;
	uint32_t math_mode;
};

static inline bool wh_device_mode_cublasHandle_t(const struct wh_obj_cublasHandle_t *o)
{
	return o->pointer_mode != CUBLAS_POINTER_MODE_HOST;
}

/*
 * Returns the bytes of alpha and beta of the GemmEx functions: they have the compute type,
 * complex if C is.
 */
static inline size_t wh_scale_size(cublasComputeType_t compute, cudaDataType c)
{
	bool complex = c == CUDA_C_32F || c == CUDA_C_64F || c == CUDA_C_16F || c == CUDA_C_16BF;
	size_t parts = complex ? 2 : 1;

	switch (compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return 2;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
		return 4 * parts;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		return 8 * parts;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		return 4;
	default:
		return 0;
	}
}

/* --- cublasCreate_v2, cublasDestroy_v2 ------------------------------------------ */

struct wh_req_cublasCreate_v2 {
	struct wh_req hdr;
};
struct wh_rsp_cublasCreate_v2 {
	struct wh_rsp hdr;
	struct wh_obj_cublasHandle_t handle;	/* as the library makes it */
};

struct wh_req_cublasDestroy_v2 {
	struct wh_req hdr;
	uint64_t handle;
};

#endif
