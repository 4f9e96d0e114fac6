/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernels in blaslt.cu. The host's and the device's compilers both read this. */
#ifndef WORMHOLE_SOFTGPU_BLASLT_ARGS_H
#define WORMHOLE_SOFTGPU_BLASLT_ARGS_H

enum lt_type { LT_F32, LT_F64, LT_F16, LT_BF16, LT_TYPES };

/* Element (i, j) of matrix z is at i * rs + j * cs + z * apart. */
struct lt_matrix {
	void *at;
	long long rs, cs, apart;
	int type, resv;
};

/* A number, or its address on the device. If `each` is 1, every row has a number of its own. */
struct lt_scalar {
	double value;
	const void *at;
	int each, resv;
};

/* A product: D = epilogue(alpha A B + beta C + bias). */
struct lt_product {
	long long m, n, k, batch;
	struct lt_matrix a, b, c, d;
	struct lt_scalar alpha, beta;
	const void *bias;	/* m elements, or NULL */
	long long bias_apart;
	int bias_type;
	int relu, gelu, resv;
};

/* A sum: C = alpha A + beta B, with m rows and n columns. */
struct lt_sum {
	long long m, n, batch;
	struct lt_matrix a, b, c;	/* the addresses of a and b may be NULL */
	struct lt_scalar alpha, beta;
};

#endif
