/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices that kernels of the stand-in for cuSPARSE take, for both sides of a launch. */
#ifndef WORMHOLE_SOFTGPU_SPARSE_ARGS_H
#define WORMHOLE_SOFTGPU_SPARSE_ARGS_H

/* The values of cusparseFormat_t. */
enum { FORMAT_CSR = 1, FORMAT_CSC, FORMAT_COO };

/* A sparse matrix. Of COO, @offsets are indices of rows. Those of a batch are *_apart apart. */
struct sparse_args {
	void *offsets, *indices, *values;
	long long rows, cols, nnz;
	long long offsets_apart, values_apart;
	int format, wide_offsets, wide_indices, base;
};

/* A dense matrix, or a vector as a matrix of one column. */
struct dense_args {
	void *values;
	long long rows, cols, ld, apart;
	int by_row;	/* rows, not columns, are contiguous */
};

/* How a kernel is to see a matrix: 0 as it is, 1 transposed, 2 the adjoint. */
struct view_args {
	int a, b;
};

/* A triangular solution. */
struct triangle_args {
	int upper, unit, op;
};

#endif
