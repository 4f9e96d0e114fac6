/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of cuSPARSELt's products, which are handwritten at both ends. Both ends share
 * nothing else beside the generated messages.
 */
#ifndef WORMHOLE_WIRE_CUSPARSELT_H
#define WORMHOLE_WIRE_CUSPARSELT_H

#include <stdalign.h>	/* the library's header needs it, since it uses a word of C++ */

#include <cusparseLt.h>
#include <stdbool.h>

#include "wire.h"

/*
 * Returns the place, among a product's, of an attribute that is an address of device memory;
 * else -1.
 */
static inline int wh_cusparselt_place(cusparseLtMatmulDescAttribute_t attribute)
{
	switch (attribute) {
	case CUSPARSELT_MATMUL_BIAS_POINTER:
		return 0;
	case CUSPARSELT_MATMUL_SPARSE_MAT_POINTER:
		return 1;
	case CUSPARSELT_MATMUL_A_SCALE_POINTER:
		return 2;
	case CUSPARSELT_MATMUL_B_SCALE_POINTER:
		return 3;
	case CUSPARSELT_MATMUL_C_SCALE_POINTER:
		return 4;
	case CUSPARSELT_MATMUL_D_SCALE_POINTER:
		return 5;
	case CUSPARSELT_MATMUL_D_OUT_SCALE_POINTER:
		return 6;
	default:
		return -1;
	}
}

/* alpha or beta: a number of the program, or a device address with one for each row. */
struct wh_cusparselt_scalar {
	uint64_t device;	/* 0: it is a number */
	float host;
	uint32_t none;		/* 1: NULL */
};

#define WH_CUSPARSELT_STREAMS	8

struct wh_req_cusparseLtMatmul {
	struct wh_req hdr;
	uint64_t handle;
	uint64_t plan;
	struct wh_cusparselt_scalar alpha, beta;
	uint64_t a, b, c, d;
	uint64_t workspace;
	uint64_t stream[WH_CUSPARSELT_STREAMS];
	uint32_t streams;
	uint32_t resv;
};

#endif
