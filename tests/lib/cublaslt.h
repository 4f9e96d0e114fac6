/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs here make products by cublasLt with this file: one description, its
 * operands, its reference.
 */
#ifndef WORMHOLE_TESTS_LIB_CUBLASLT_H
#define WORMHOLE_TESTS_LIB_CUBLASLT_H

#include <cublasLt.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib_test.h"

#define MOST 4096

/* A product as the program describes it. */
struct product {
	int m, n, k, batch;
	cudaDataType type, out;
	cublasComputeType_t compute;
	cudaDataType scale;
	cublasOperation_t ta, tb;
	cublasLtOrder_t order;		/* of D */
	cublasLtEpilogue_t epilogue;
	cublasLtPointerMode_t mode;
	double alpha, beta;
	bool older;			/* described in the struct of a library before 12.8 */
};
#define OLDER_WORDS	23		/* of that struct */

/* A product that is computed in floats. */
#define FLOATS(from, to) .type = CUDA_R_##from, .out = CUDA_R_##to, .compute = CUBLAS_COMPUTE_32F, \
			 .scale = CUDA_R_32F
#define F32 FLOATS(32F, 32F)

/* The objects that were made from the description. */
struct made {
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t a, b, c;
	cublasLtMatmulPreference_t pref;
	cublasLtMatmulHeuristicResult_t found;
	uint64_t older[OLDER_WORDS + 1];	/* the last is not the struct's */
};

struct operands {
	double a[MOST], b[MOST], c[MOST], bias[MOST], got[MOST];
	CUdeviceptr da, db, dc, dbias, scalars;
};

static inline size_t size_of(cudaDataType t)
{
	return t == CUDA_R_64F ? 8 : t == CUDA_R_32F ? 4 : 2;
}

static inline double noise(void)
{
	static uint32_t seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (int)(seed >> 24) / 64.0 - 2;	/* exact in each type */
}

/*
 * Converts numbers with few bits: bf16 is the upper half of a float, and f16 holds such
 * numbers exactly.
 */
static inline void to_type(cudaDataType t, const double *from, void *to, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		float f = from[i];
		uint32_t u;
		_Float16 h = from[i];

		memcpy(&u, &f, sizeof(u));
		u >>= 16;
		if (t == CUDA_R_64F)
			((double *)to)[i] = from[i];
		else if (t == CUDA_R_32F)
			((float *)to)[i] = f;
		else
			memcpy((uint16_t *)to + i, t == CUDA_R_16F ? (void *)&h : (void *)&u, 2);
	}
}

static inline void from_type(cudaDataType t, const void *from, double *to, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		uint32_t u = 0;
		_Float16 h;
		float f;

		if (t == CUDA_R_64F) {
			to[i] = ((const double *)from)[i];
		} else if (t == CUDA_R_32F) {
			to[i] = ((const float *)from)[i];
		} else if (t == CUDA_R_16F) {
			memcpy(&h, (const uint16_t *)from + i, 2);
			to[i] = h;
		} else {
			u = (uint32_t)((const uint16_t *)from)[i] << 16;
			memcpy(&f, &u, sizeof(f));
			to[i] = f;
		}
	}
}

static inline CUdeviceptr send(cudaDataType t, const double *from, int n)
{
	static uint8_t bytes[MOST * 8];

	to_type(t, from, bytes, n);
	return device(bytes, n * size_of(t));
}

/* Leading dimensions are larger than they need to be. */
static inline int ld(int rows)
{
	return rows + 3;
}

static inline int a_rows(const struct product *p) { return p->ta ? p->k : p->m; }
static inline int a_cols(const struct product *p) { return p->ta ? p->m : p->k; }
static inline int b_rows(const struct product *p) { return p->tb ? p->n : p->k; }
static inline int b_cols(const struct product *p) { return p->tb ? p->k : p->n; }
static inline int c_ld(const struct product *p)
{
	return ld(p->order == CUBLASLT_ORDER_ROW ? p->n : p->m);
}
static inline int a_apart(const struct product *p) { return ld(a_rows(p)) * a_cols(p); }
static inline int b_apart(const struct product *p) { return ld(b_rows(p)) * b_cols(p); }
static inline int c_apart(const struct product *p)
{
	return c_ld(p) * (p->order == CUBLASLT_ORDER_ROW ? p->m : p->n);
}

static inline cublasLtMatrixLayout_t layout(cudaDataType t, int rows, int cols, int ld, int batch,
					    int64_t apart)
{
	cublasLtMatrixLayout_t l = NULL;

	cublasLtMatrixLayoutCreate(&l, t, rows, cols, ld);
	if (batch > 1) {
		cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
						 sizeof(batch));
		cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
						 &apart, sizeof(apart));
	}
	return l;
}

#define SET(m, name, value) do { \
	__typeof__(value) v_ = (value); \
	cublasLtMatmulDescSetAttribute((m)->desc, CUBLASLT_MATMUL_DESC_##name, &v_, sizeof(v_)); \
} while (0)

/*
 * Describes a product. It makes no call to the device, and only writes down what the
 * program says.
 */
static inline void describe(const struct product *p, struct made *m, CUdeviceptr bias)
{
	uint64_t room = 1 << 20;
	int32_t order = p->order;

	memset(m, 0, sizeof(*m));
	if (p->older) {
		m->desc = (void *)m->older;
		cublasLtMatmulDescInit_internal(m->desc, OLDER_WORDS * sizeof(uint64_t), p->compute,
						p->scale);
	} else {
		cublasLtMatmulDescCreate(&m->desc, p->compute, p->scale);
	}
	SET(m, TRANSA, p->ta);
	SET(m, TRANSB, p->tb);
	SET(m, POINTER_MODE, (int32_t)p->mode);
	if (p->epilogue)
		SET(m, EPILOGUE, p->epilogue);
	if (bias)
		SET(m, BIAS_POINTER, bias);
	m->a = layout(p->type, a_rows(p), a_cols(p), ld(a_rows(p)), p->batch, a_apart(p));
	m->b = layout(p->type, b_rows(p), b_cols(p), ld(b_rows(p)), p->batch, b_apart(p));
	m->c = layout(p->out, p->m, p->n, c_ld(p), p->batch, c_apart(p));
	cublasLtMatrixLayoutSetAttribute(m->c, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
	cublasLtMatmulPreferenceCreate(&m->pref);
	cublasLtMatmulPreferenceSetAttribute(m->pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
					     &room, sizeof(room));
}

static inline void undo(struct made *m)
{
	cublasLtMatmulPreferenceDestroy(m->pref);
	cublasLtMatrixLayoutDestroy(m->a);
	cublasLtMatrixLayoutDestroy(m->b);
	cublasLtMatrixLayoutDestroy(m->c);
	if ((void *)m->desc != m->older)
		cublasLtMatmulDescDestroy(m->desc);
}

static inline cublasStatus_t heuristic(cublasLtHandle_t h, struct made *m)
{
	int n = 0;
	cublasStatus_t st = cublasLtMatmulAlgoGetHeuristic(h, m->desc, m->a, m->b, m->c, m->c,
							   m->pref, 1, &m->found, &n);

	return st || n == 1 ? st : CUBLAS_STATUS_NOT_SUPPORTED;
}

#endif
