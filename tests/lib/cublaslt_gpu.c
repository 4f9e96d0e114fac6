// SPDX-License-Identifier: Apache-2.0
/*
 * cublasLt at work: defaults and sizes of descriptors, heuristics and algorithms,
 * products of each type with epilogues and pointer modes, and a transformation. It prints
 * a line for each, which must be the same with the genuine library and with the stub over
 * it. It needs a GPU.
 */
#include <cublasLt.h>
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE	96		/* of all matrices */
#define BYTES	(SIDE * SIDE * 8)
#define ROOM	(32u << 20)

static cublasLtHandle_t handle;
static CUdeviceptr a, b, c, aux, vector, scale, workspace;

static uint64_t sum(const void *p, size_t n)
{
	uint64_t h = 14695981039346656037ULL;

	while (n--)
		h = (h ^ ((const uint8_t *)p)[n]) * 1099511628211ULL;
	return h;
}

static uint64_t device_sum(CUdeviceptr p, size_t n)
{
	static uint8_t host[BYTES];

	if (cuMemcpyDtoH(host, p, n))
		return 0;
	return sum(host, n);
}

/* --- Descriptors ------------------------------------------------------------------------- */

typedef cublasStatus_t getter(void *d, int attr, void *buf, size_t size, size_t *written);
typedef cublasStatus_t setter(void *d, int attr, const void *buf, size_t size);

/*
 * Prints sizes, defaults, and the answers to a wrong small size, to 16 bytes, and to the
 * right size.
 */
static void describe(const char *name, void *d, getter *get, setter *set, const int *attr)
{
	uint8_t value[16];
	size_t size;
	cublasStatus_t st[4];

	printf("%s:", name);
	for (; *attr >= 0; attr++) {
		memset(value, 0, sizeof(value));
		size = 0;
		st[0] = get(d, *attr, NULL, 0, &size);
		st[1] = get(d, *attr, value, size, &size);
		printf(" %d=%d/%d/%zu:%016llx", *attr, st[0], st[1], size,
		       (unsigned long long)*(uint64_t *)value);
		st[2] = set(d, *attr, value, size == 1 ? 2 : 1);
		st[3] = set(d, *attr, value, size);
		printf("/%d/%d/%d", st[2], st[3], set(d, *attr, NULL, size));
	}
	printf("\n");
}

#define ACCESS(kind, Attribute)								\
static cublasStatus_t get_##kind(void *d, int attr, void *buf, size_t size, size_t *written) \
{											\
	return cublasLt##kind##GetAttribute(d, (Attribute)attr, buf, size, written);	\
}											\
static cublasStatus_t set_##kind(void *d, int attr, const void *buf, size_t size)	\
{											\
	return cublasLt##kind##SetAttribute(d, (Attribute)attr, buf, size);		\
}
ACCESS(MatmulDesc, cublasLtMatmulDescAttributes_t)
ACCESS(MatrixLayout, cublasLtMatrixLayoutAttribute_t)
ACCESS(MatmulPreference, cublasLtMatmulPreferenceAttributes_t)
ACCESS(MatrixTransformDesc, cublasLtMatrixTransformDescAttributes_t)
ACCESS(EmulationDesc, cublasLtEmulationDescAttributes_t)

static void descriptors(void)
{
	static const int matmul[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 17, 18, 19,
		20, 21, 22, 23, 24, 25, 26, 31, 32, 33, 34, 35, 36, 37, -1 };
	static const int layout[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, -1 };
	static const int preference[] = { 0, 1, 3, 5, 6, 7, 8, 9, 12, -1 };
	static const int transform[] = { 0, 1, 2, 3, -1 }, emulation[] = { 0, 1, 2, 3, 4, 5, -1 };
	cublasLtMatrixTransformDescOpaque_t t;
	cublasLtMatmulPreferenceOpaque_t p;
	cublasLtEmulationDescOpaque_t e;
	cublasLtMatrixLayoutOpaque_t l;
	cublasLtMatmulDescOpaque_t d;

	cublasLtMatmulDescInit(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F);
	describe("product", &d, get_MatmulDesc, set_MatmulDesc, matmul);
	cublasLtMatrixLayoutInit(&l, CUDA_R_16F, 3, 4, 5);
	describe("layout", &l, get_MatrixLayout, set_MatrixLayout, layout);
	cublasLtMatmulPreferenceInit(&p);
	describe("preference", &p, get_MatmulPreference, set_MatmulPreference, preference);
	cublasLtMatrixTransformDescInit(&t, CUDA_R_32F);
	describe("transformation", &t, get_MatrixTransformDesc, set_MatrixTransformDesc, transform);
	cublasLtEmulationDescInit(&e);
	describe("emulation", &e, get_EmulationDesc, set_EmulationDesc, emulation);
}

/* --- Products ------------------------------------------------------------------------------ */

struct product {
	const char *name;
	cudaDataType type, out;
	cublasComputeType_t compute;
	cudaDataType scale;
	uint32_t epilogue;	/* 0: the default */
	int mode, batch;
	int scaled;		/* 8-bit numbers with their factors */
};

static size_t size_of(cudaDataType t)
{
	return t == CUDA_R_64F			       ? 8
	       : t == CUDA_R_32F		       ? 4
	       : t == CUDA_R_8F_E4M3 || t == CUDA_R_8I ? 1
						       : 2;
}

/* Fills with small whole numbers; types of 8 bits get other bits. */
static void fill(CUdeviceptr p, cudaDataType t)
{
	static uint8_t bytes[BYTES];
	int i, v;

	for (i = 0; i < SIDE * SIDE; i++) {
		float f = v = i * 7919 % 9 - 4;
		_Float16 h = f;
		double d = f;
		uint32_t u;

		memcpy(&u, &f, 4);
		u >>= 16;
		memcpy(bytes + i * size_of(t),
		       t == CUDA_R_64F	  ? (void *)&d
		       : t == CUDA_R_32F  ? (void *)&f
		       : t == CUDA_R_16F  ? (void *)&h
		       : t == CUDA_R_16BF ? (void *)&u
					  : (void *)&v,
		       size_of(t));
		if (t == CUDA_R_8F_E4M3)
			bytes[i] = 0x30 + i * 7919 % 16;
	}
	cuMemcpyHtoD(p, bytes, SIDE * SIDE * size_of(t));
}

/* Makes a layout of a batch whose matrices are half as far apart. */
static cublasLtMatrixLayout_t layout(cudaDataType t, int rows, int batch)
{
	const int64_t apart = SIDE * SIDE / 2;
	cublasLtMatrixLayout_t l;

	cublasLtMatrixLayoutCreate(&l, t, rows, batch ? SIDE / 2 : SIDE, SIDE);
	if (!batch)
		return l;
	cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
					 sizeof(batch));
	cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart,
					 sizeof(apart));
	return l;
}

#define SET(d, name, value) do { \
	__typeof__(value) v_ = (value); \
	cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_##name, &v_, sizeof(v_)); \
} while (0)

static cublasLtMatmulDesc_t desc_of(const struct product *p)
{
	cublasLtMatmulDesc_t d;

	cublasLtMatmulDescCreate(&d, p->compute, p->scale);
	SET(d, TRANSA, (int32_t)CUBLAS_OP_T);
	SET(d, POINTER_MODE, (int32_t)p->mode);
	if (p->epilogue) {
		SET(d, EPILOGUE, p->epilogue);
		SET(d, BIAS_POINTER, vector);
		if (p->epilogue & 128) {
			SET(d, EPILOGUE_AUX_POINTER, aux);
			SET(d, EPILOGUE_AUX_LD, (int64_t)128);
		}
	}
	if (p->scaled) {
		SET(d, A_SCALE_POINTER, scale);
		SET(d, B_SCALE_POINTER, scale);
		SET(d, FAST_ACCUM, (int8_t)1);
	}
	return d;
}

static void capabilities(const cublasLtMatmulAlgo_t *algo)
{
	static uint32_t value[2048];
	static int algorithms;
	size_t size, config;
	int i;

	if (algorithms++ > 3)
		return;

	printf("  algorithm:");
	for (i = 0; i <= CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT; i++) {
		size = 0;
		memset(value, 0, sizeof(value));
		if (!cublasLtMatmulAlgoCapGetAttribute(algo, (cublasLtMatmulAlgoCapAttributes_t)i,
						       NULL, 0, &size) &&
		    size && size <= sizeof(value) &&
		    !cublasLtMatmulAlgoCapGetAttribute(algo, (cublasLtMatmulAlgoCapAttributes_t)i,
						       value, size, &size))
			printf(" %d:%zu:%llx", i, size, (unsigned long long)sum(value, size));
	}
	for (i = 0; i <= CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID; i++) {
		value[0] = config = 0;
		size = i < CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? 4 : 2;
		if (!cublasLtMatmulAlgoConfigGetAttribute(
			    algo, (cublasLtMatmulAlgoConfigAttributes_t)i, value, size, &config))
			printf(" %d=%u/%zu", i, value[0], config);
	}
	printf("\n");
}

static void product(const struct product *p)
{
	cublasLtMatrixLayout_t in = layout(p->type, SIDE, p->batch);
	cublasLtMatrixLayout_t out = layout(p->out, p->batch ? SIDE / 2 : SIDE, p->batch);
	cublasLtMatmulHeuristicResult_t found[8], checked;
	cublasLtMatmulDesc_t d = desc_of(p);
	cublasLtMatmulPreference_t pref;
	const uint64_t room = ROOM;
	const double one[2] = { 1, 0 };
	const float onef[2] = { 1, 0 };
	const void *alpha = p->scale == CUDA_R_64F ? (void *)&one[0] : (void *)&onef[0];
	const void *beta = p->scale == CUDA_R_64F ? (void *)&one[1] : (void *)&onef[1];
	cublasStatus_t st, ck = 0;
	int n = 0;

	fill(a, p->type);
	fill(b, p->type);
	fill(vector, p->out == CUDA_R_8F_E4M3 ? CUDA_R_16BF : p->out);
	cuMemsetD8(c, 0, BYTES);
	if (p->mode) {
		alpha = (void *)scale;
		beta = (void *)(scale + 1024);
	}
	cublasLtMatmulPreferenceCreate(&pref);
	cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
					     sizeof(room));
	st = cublasLtMatmulAlgoGetHeuristic(handle, d, in, in, out, out, pref, 8, found, &n);
	printf("%s: heuristic %d, %d of them", p->name, st, n);
	if (!st && n) {
		ck = cublasLtMatmulAlgoCheck(handle, d, in, in, out, out, &found[0].algo, &checked);
		st = cublasLtMatmul(handle, d, alpha, (void *)a, in, (void *)b, in, beta, (void *)c,
				    out, (void *)c, out, &found[0].algo, (void *)workspace, ROOM,
				    NULL);
		/*
		 * The algorithm's bytes are not printed, because some of them are whatever was in
		 * the library's memory.
		 */
		printf(", check %d %zu, product %d", ck, ck ? 0 : checked.workspaceSize, st);
		cuCtxSynchronize();
		printf(" %llx %llx %llx", (unsigned long long)device_sum(c, BYTES / 2),
		       (unsigned long long)device_sum(vector, 4 * SIDE),
		       (unsigned long long)(p->epilogue & 128 ? device_sum(aux, SIDE * 16) : 0));
	}
	printf("\n");
	if (!st && n && !p->epilogue && !p->batch)
		capabilities(&found[0].algo);
	cublasLtMatmulPreferenceDestroy(pref);
	cublasLtMatrixLayoutDestroy(in);
	cublasLtMatrixLayoutDestroy(out);
	cublasLtMatmulDescDestroy(d);
}

#define FLOATS(from, to) CUDA_R_##from, CUDA_R_##to, CUBLAS_COMPUTE_32F, CUDA_R_32F

static void products(void)
{
	static const struct product all[] = {
		{ "floats", FLOATS(32F, 32F), 0, 0, 0, 0 },
		{ "tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 0, 0, 0, 0 },
		{ "doubles", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 0, 0, 0, 0 },
		{ "halves", FLOATS(16F, 16F), 0, 0, 0, 0 },
		{ "bfloats", FLOATS(16BF, 16BF), 0, 0, 0, 0 },
		{ "bfloats to floats", FLOATS(16BF, 32F), 0, 0, 0, 0 },
		{ "8-bit floats to bfloats", FLOATS(8F_E4M3, 16BF), 0, 0, 0, 1 },
		{ "whole numbers", CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I, CUDA_R_32F, 0, 0, 0, 0 },
		{ "batch", FLOATS(32F, 32F), 0, 0, 2, 0 },
		{ "scalars on the device", FLOATS(32F, 32F), 0, CUBLASLT_POINTER_MODE_DEVICE, 0, 0 },
		{ "alpha of each row", FLOATS(16F, 16F), 0,
		  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO, 0, 0 },
		{ "bias", FLOATS(16BF, 16BF), CUBLASLT_EPILOGUE_BIAS, 0, 0, 0 },
		{ "relu", FLOATS(32F, 32F), CUBLASLT_EPILOGUE_RELU, 0, 0, 0 },
		{ "relu and bias", FLOATS(16F, 16F), CUBLASLT_EPILOGUE_RELU_BIAS, 0, 0, 0 },
		{ "gelu and bias", FLOATS(16BF, 16BF), CUBLASLT_EPILOGUE_GELU_BIAS, 0, 0, 0 },
		{ "relu with its mask", FLOATS(16F, 16F), CUBLASLT_EPILOGUE_RELU_AUX_BIAS, 0, 0, 0 },
		{ "gradient of relu", FLOATS(16F, 16F), CUBLASLT_EPILOGUE_DRELU_BGRAD, 0, 0, 0 },
		{ "gelu with its input", FLOATS(16F, 16F), CUBLASLT_EPILOGUE_GELU_AUX_BIAS, 0, 0, 0 },
		{ "gradient of gelu", FLOATS(16F, 16F), CUBLASLT_EPILOGUE_DGELU_BGRAD, 0, 0, 0 },
		{ "gradient of the bias", FLOATS(16F, 16F), CUBLASLT_EPILOGUE_BGRADB, 0, 0, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		product(&all[i]);
}

static void transform(void)
{
	const int32_t order = CUBLASLT_ORDER_COL32, turned = CUBLAS_OP_T;
	const float one = 1, none = 0;
	cublasLtMatrixTransformDesc_t d;
	cublasLtMatrixLayout_t from, to;
	cublasStatus_t st[2];

	fill(a, CUDA_R_8I);
	cuMemsetD8(c, 0, BYTES);
	cublasLtMatrixTransformDescCreate(&d, CUDA_R_32F);
	cublasLtMatrixLayoutCreate(&from, CUDA_R_8I, SIDE, SIDE, SIDE);
	cublasLtMatrixLayoutCreate(&to, CUDA_R_8I, SIDE, SIDE, 32 * SIDE);
	cublasLtMatrixLayoutSetAttribute(to, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
	st[0] = cublasLtMatrixTransform(handle, d, &one, (void *)a, from, &none, NULL, NULL,
					(void *)c, to, NULL);
	cublasLtMatrixTransformDescSetAttribute(d, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &turned,
						sizeof(turned));
	st[1] = cublasLtMatrixTransform(handle, d, &one, (void *)a, from, &none, NULL, NULL,
					(void *)b, from, NULL);
	cuCtxSynchronize();
	printf("transformations: %d %d %llx %llx\n", st[0], st[1],
	       (unsigned long long)device_sum(c, SIDE * SIDE),
	       (unsigned long long)device_sum(b, SIDE * SIDE));
}

int main(void)
{
	static float ones[SIDE];
	CUcontext ctx;
	int i;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) ||
	    cublasLtCreate(&handle) || cuMemAlloc(&a, BYTES) || cuMemAlloc(&b, BYTES) ||
	    cuMemAlloc(&c, BYTES) || cuMemAlloc(&aux, BYTES) || cuMemAlloc(&vector, BYTES) ||
	    cuMemAlloc(&scale, 4096) || cuMemAlloc(&workspace, ROOM)) {
		printf("no handle or no memory\n");
		return 1;
	}
	for (i = 0; i < SIDE; i++)
		ones[i] = 1;
	cuMemsetD8(scale, 0, 4096);
	cuMemcpyHtoD(scale, ones, sizeof(ones));
	cuMemsetD8(aux, 0x5a, BYTES);
	printf("version %zu\n", cublasLtGetVersion());
	descriptors();
	products();
	transform();
	printf("destroyed: %d\n", cublasLtDestroy(handle));
	return 0;
}
