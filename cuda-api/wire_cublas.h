/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both ends of cuBLAS share beside the generated messages: how a handle
 * travels, the sizes of scalars whose type is a parameter, and the messages of
 * calls that are handwritten at both ends.
 */
#ifndef WORMHOLE_WIRE_CUBLAS_H
#define WORMHOLE_WIRE_CUBLAS_H

#ifndef __cplusplus
/* cublas_v2.h has the functions with these types for C++ only; only their addresses travel. */
typedef struct {
	unsigned short x;
} __half, __nv_bfloat16;
#endif
#include <cublas_v2.h>
#include <stdbool.h>

#include "wire.h"

/*
 * A handle with all that the client keeps of its state. It travels with every
 * call; the worker tells the library what differs from the last one.
 */
struct wh_obj_cublasHandle_t {
	uint64_t id;		/* of the worker's handle table */
	uint64_t stream;
	uint64_t workspace;	/* device address */
	uint64_t workspace_size;
	uint32_t own_workspace;	/* 1: the program's, as above; 0: the library's */
	uint32_t resv;
	uint32_t pointer_mode;
	uint32_t math_mode;
};

static inline bool wh_device_mode_cublasHandle_t(const struct wh_obj_cublasHandle_t *o)
{
	return o->pointer_mode != CUBLAS_POINTER_MODE_HOST;
}

/* Bytes of one number; 0 for what is no scalar of any cuBLAS function, which then refuses it. */
static inline size_t wh_type_size(cudaDataType type)
{
	switch (type) {
	case CUDA_R_8I:
	case CUDA_R_8U:
	case CUDA_R_8F_E4M3:
	case CUDA_R_8F_E5M2:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
	case CUDA_R_16I:
	case CUDA_R_16U:
	case CUDA_C_8I:
	case CUDA_C_8U:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
	case CUDA_R_32U:
	case CUDA_C_16F:
	case CUDA_C_16BF:
	case CUDA_C_16I:
	case CUDA_C_16U:
		return 4;
	case CUDA_R_64F:
	case CUDA_R_64I:
	case CUDA_R_64U:
	case CUDA_C_32F:
	case CUDA_C_32I:
	case CUDA_C_32U:
		return 8;
	case CUDA_C_64F:
	case CUDA_C_64I:
	case CUDA_C_64U:
		return 16;
	default:
		return 0;
	}
}

/* Bytes of alpha and beta of the GemmEx functions: of the compute type, complex if C is. */
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
