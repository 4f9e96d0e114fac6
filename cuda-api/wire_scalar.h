/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers whose type is a parameter: the parts that descriptions of several libraries need. */
#ifndef WORMHOLE_WIRE_SCALAR_H
#define WORMHOLE_WIRE_SCALAR_H

#include <library_types.h>
#include <stddef.h>

#ifndef __cplusplus
/* The headers declare the functions with these types for C++ only. */
typedef struct {
	unsigned short x;
} __half, __nv_bfloat16;
#endif

/*
 * Returns the bytes of one number; 0: no function has such a scalar, and the function refuses
 * it.
 */
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

#endif
