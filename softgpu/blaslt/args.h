/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of blaslt.cu are given: for the host's compiler and the device's. */
#ifndef WORMHOLE_SOFTGPU_BLASLT_ARGS_H
#define WORMHOLE_SOFTGPU_BLASLT_ARGS_H

enum lt_type { LT_F32, LT_F64, LT_F16, LT_BF16, LT_TYPES };

/* Element (i, j) of matrix z is at i * rs + j * cs + z * apart. */
struct lt_matrix {
	void *at;
	long long rs, cs, apart;
	int type, resv;
};

/* A number, or where on the device it is; each row's own where `each` is 1. */
struct lt_scalar {
	double value;
	const void *at;
	int each, resv;
};

/* D = epilogue(alpha A B + beta C + bias). */
struct lt_product {
	long long m, n, k, batch;
	struct lt_matrix a, b, c, d;
	struct lt_scalar alpha, beta;
	const void *bias;	/* m of them, or NULL */
	long long bias_apart;
	int bias_type;
	int relu, gelu, resv;
};

/* C = alpha A + beta B, of m rows and n columns. */
struct lt_sum {
	long long m, n, batch;
	struct lt_matrix a, b, c;	/* a and b may be none */
	struct lt_scalar alpha, beta;
};

#endif
