/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the stand-in for cublasLt share. */
#ifndef WORMHOLE_SOFTGPU_BLASLT_H
#define WORMHOLE_SOFTGPU_BLASLT_H

#include "../standin/standin.h"

#include <cublasLt.h>
#include <stdint.h>

#include "args.h"

#define EXPORT __attribute__((visibility("default")))

/* Contents of the opaque structs of cublasLt.h in this library. */
struct lt_desc {
	int32_t compute, scale, pointer_mode, trans[3], fill;
	uint32_t epilogue;
	int32_t sm_target, bias_type;
	uint32_t other;		/* 1: an attribute was set that only NVIDIA's library supports */
	uint64_t bias;
	int64_t bias_stride, alpha_stride;
};

struct lt_layout {
	uint32_t type;
	int32_t order;
	uint64_t rows, cols;
	int64_t ld;
	int32_t batch;
	uint32_t batch_mode;
	int64_t batch_stride, plane;
};

struct lt_preference {
	uint32_t search, reduction;
	uint64_t workspace;
	uint32_t align[4];
	float waves;
	uint32_t resv;
	uint64_t implementations;
};

struct lt_transform {
	int32_t scale, pointer_mode, trans[2];
};

/* The only algorithm, and the attributes that cublasLtMatmulAlgoConfigSetAttribute() can set. */
struct lt_algo {
	uint32_t magic;
	int32_t id;
	int32_t setting[CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID + 1];
};
#define LT_ALGO_MAGIC	0x6f674c74u
#define LT_ALGO_ID	1

_Static_assert(sizeof(struct lt_desc) <= sizeof(cublasLtMatmulDescOpaque_t), "room");
_Static_assert(sizeof(struct lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "room");
_Static_assert(sizeof(struct lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "room");
_Static_assert(sizeof(struct lt_transform) <= sizeof(cublasLtMatrixTransformDescOpaque_t), "room");
_Static_assert(sizeof(struct lt_algo) <= sizeof(cublasLtMatmulAlgo_t), "room");

/* Returns a value of enum lt_type, or LT_TYPES if the stand-in does not support the type. */
int lt_type_of(uint32_t type);
/* matmul.c: plans a product; all but the addresses and scalars is known after that. */
cublasStatus_t lt_plan(const struct lt_desc *d, const struct lt_layout *a,
		       const struct lt_layout *b, const struct lt_layout *c,
		       const struct lt_layout *out, struct lt_product *p);

#endif
