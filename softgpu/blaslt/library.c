// SPDX-License-Identifier: Apache-2.0
/* Handles of the stand-in for cublasLt, its version and properties, and its one algorithm. */
#include "blaslt.h"
#include "../standin/cublas_status.h"

#include <stdlib.h>
#include <string.h>

/* A handle has no state, so a handle of cuBLAS works as well. */
struct cublasLtContext {
	int unused;
};

static size_t capacity = 8192;

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
	if (!out)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!standin_start())
		return CUBLAS_STATUS_NOT_INITIALIZED;
	*out = calloc(1, sizeof(**out));
	return *out ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	static const int version[] = { CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH };

	if (!value || (unsigned int)type > PATCH_LEVEL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = version[type];
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT size_t cublasLtGetVersion(void)
{
	return CUBLAS_VERSION;
}

EXPORT size_t cublasLtGetCudartVersion(void)
{
	return 13000;
}

EXPORT cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *out)
{
	if (!out)
		return CUBLAS_STATUS_INVALID_VALUE;
	*out = capacity;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t to)
{
	capacity = to;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT const char *cublasLtGetStatusName(cublasStatus_t status)
{
	return standin_cublas_name(status);
}

EXPORT const char *cublasLtGetStatusString(cublasStatus_t status)
{
	return standin_cublas_text(status);
}

/* --- The algorithm ------------------------------------------------------------------- */

static void make(cublasLtMatmulAlgo_t *out)
{
	const struct lt_algo algo = { .magic = LT_ALGO_MAGIC, .id = LT_ALGO_ID, .setting = {
		[CUBLASLT_ALGO_CONFIG_ID] = LT_ALGO_ID,
		[CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = 1,
	} };

	memset(out, 0, sizeof(*out));
	memcpy(out, &algo, sizeof(algo));
}

static bool is_algo(const cublasLtMatmulAlgo_t *algo)
{
	const struct lt_algo *a = (const struct lt_algo *)algo;

	return a && a->magic == LT_ALGO_MAGIC && a->id == LT_ALGO_ID;
}

static cublasStatus_t describe(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
			       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
			       cublasLtMatrixLayout_t d)
{
	struct lt_product p;

	if (!desc || !a || !b || !c || !d)
		return CUBLAS_STATUS_INVALID_VALUE;
	return lt_plan((const struct lt_desc *)desc, (const struct lt_layout *)a,
		       (const struct lt_layout *)b, (const struct lt_layout *)c,
		       (const struct lt_layout *)d, &p);
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
		cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
		cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t pref, int requested,
		cublasLtMatmulHeuristicResult_t results[], int *returned)
{
	const struct lt_preference *p = (const struct lt_preference *)pref;
	cublasStatus_t st;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (requested < 1 || !results || !returned || !p)
		return CUBLAS_STATUS_INVALID_VALUE;
	st = describe(desc, a, b, c, d);
	if (st)
		return st;
	if (p->search == CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID && !is_algo(&results[0].algo))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(&results[0], 0, sizeof(results[0]));
	make(&results[0].algo);
	results[0].wavesCount = 1;
	*returned = 1;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t h, cublasComputeType_t compute,
					       cudaDataType_t scale, cudaDataType_t a,
					       cudaDataType_t b, cudaDataType_t c, cudaDataType_t d,
					       int requested, int ids[], int *returned)
{
	(void)compute; (void)scale; (void)a; (void)b; (void)c; (void)d;
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (requested < 1 || !ids || !returned)
		return CUBLAS_STATUS_INVALID_VALUE;
	ids[0] = LT_ALGO_ID;
	*returned = 1;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t h, cublasComputeType_t compute,
					     cudaDataType_t scale, cudaDataType_t a,
					     cudaDataType_t b, cudaDataType_t c, cudaDataType_t d,
					     int id, cublasLtMatmulAlgo_t *algo)
{
	(void)compute; (void)scale; (void)a; (void)b; (void)c; (void)d;
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!algo || id != LT_ALGO_ID)
		return CUBLAS_STATUS_INVALID_VALUE;
	make(algo);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
					      cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
					      cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
					      const cublasLtMatmulAlgo_t *algo,
					      cublasLtMatmulHeuristicResult_t *result)
{
	cublasStatus_t st;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!is_algo(algo) || !result)
		return CUBLAS_STATUS_INVALID_VALUE;
	st = describe(desc, a, b, c, d);
	if (st)
		return st;
	result->workspaceSize = 0;
	result->state = CUBLAS_STATUS_SUCCESS;
	result->wavesCount = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t give(const void *value, size_t have, void *buf, size_t size, size_t *written)
{
	if ((!size && !written) || (size && (!buf || size < have)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (size)
		memcpy(buf, value, have);
	if (written)
		*written = have;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
							cublasLtMatmulAlgoCapAttributes_t attr,
							void *buf, size_t size, size_t *written)
{
	static const int32_t yes = 1, no, modes = 31;
	static const uint32_t tiles[] = { CUBLASLT_MATMUL_TILE_8x8, CUBLASLT_MATMUL_TILE_16x16 };

	if (!is_algo(algo))
		return CUBLAS_STATUS_INVALID_VALUE;
	switch (attr) {
	case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
	case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
		return give(&yes, sizeof(yes), buf, size, written);
	case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
		return give(&modes, sizeof(modes), buf, size, written);
	case CUBLASLT_ALGO_CAP_TILE_IDS:
		return give(tiles, sizeof(tiles), buf, size, written);
	case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
	case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
		return give(&no, sizeof(no), buf, size, written);
	default:
		return CUBLAS_STATUS_INVALID_VALUE;
	}
}

static bool setting(cublasLtMatmulAlgoConfigAttributes_t attr, size_t *size)
{
	*size = attr >= CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? sizeof(uint16_t) : sizeof(uint32_t);
	return attr <= CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
		cublasLtMatmulAlgoConfigAttributes_t attr, const void *buf, size_t size)
{
	size_t want;

	if (!is_algo(algo) || !setting(attr, &want) || attr == CUBLASLT_ALGO_CONFIG_ID || !buf ||
	    size != want)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&((struct lt_algo *)algo)->setting[attr], buf, size);
	return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
		cublasLtMatmulAlgoConfigAttributes_t attr, void *buf, size_t size, size_t *written)
{
	size_t want;

	if (!is_algo(algo) || !setting(attr, &want) || (size && size != want))
		return CUBLAS_STATUS_INVALID_VALUE;
	return give(&((const struct lt_algo *)algo)->setting[attr], want, buf, size, written);
}
