// SPDX-License-Identifier: Apache-2.0
/*
 * Clusters of thread blocks: the shape that a launch has, its limits, and how many clusters
 * there can be at once. The limits and errors are those that NVIDIA's driver answered on an
 * H200. All multiprocessors of the device can hold blocks of one cluster.
 */
#include <string.h>

#include "driver.h"

#define PORTABLE	8u	/* blocks that a cluster of any device with clusters may have */

static uint64_t size_of(const uint32_t shape[3])
{
	return (uint64_t)shape[0] * shape[1] * shape[2];
}

static bool given(const uint32_t shape[3])
{
	return shape[0] || shape[1] || shape[2];
}

/* The shape that the function requires, from its code or by its attributes. */
static void required(const struct sgpu_func *f, uint32_t shape[3])
{
	const int *v = f->tune.value;

	shape[0] = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
	shape[1] = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT];
	shape[2] = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH];
}

static bool large_allowed(const struct sgpu_func *f)
{
	return f->tune.value[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
}

static unsigned int most_blocks(const struct sgpu_func *f)
{
	return large_allowed(f) ? EXEC_MAX_CLUSTER : PORTABLE;
}

void sgpu_cluster_shape(const struct sgpu_launch *l, uint32_t shape[3])
{
	if (given(l->cluster))
		memcpy(shape, l->cluster, sizeof(l->cluster));
	else
		required(l->func, shape);
}

/* Checks everything but the number of blocks in a cluster. */
static CUresult shape_check(const struct sgpu_launch *l, const uint32_t shape[3])
{
	uint32_t must[3];

	if (!given(shape))
		return l->func->ptx->explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE :
							CUDA_SUCCESS;
	required(l->func, must);
	if (given(must) && memcmp(must, shape, sizeof(must)))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	for (int i = 0; i < 3; i++)
		if (!shape[i] || l->grid[i] % shape[i])
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (l->func->ptx->max_cluster && size_of(shape) > l->func->ptx->max_cluster)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return sgpu_target() < 90 && size_of(shape) > 1 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* The axes are compared one by one first, since their product may overflow. */
static bool fits(const uint32_t shape[3], unsigned int most)
{
	return shape[0] <= most && shape[1] <= most && shape[2] <= most && size_of(shape) <= most;
}

CUresult sgpu_cluster_check(const struct sgpu_launch *l)
{
	uint32_t shape[3];
	CUresult rc;

	sgpu_cluster_shape(l, shape);
	rc = shape_check(l, shape);
	return !rc && !fits(shape, most_blocks(l->func)) ? CUDA_ERROR_INVALID_CLUSTER_SIZE : rc;
}

/* ---- occupancy ---- */

/* Returns how many blocks of a launch one multiprocessor holds at once. */
static unsigned int blocks_of(const struct sgpu_launch *l)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1];

	if (threads > SGPU_MAX_BLOCK_THREADS || l->block[2] > SGPU_MAX_BLOCK_Z)
		return 0;
	return sgpu_occupancy(l->func, (unsigned int)threads * l->block[2], l->shared);
}

/* Starts a question about a launch. A size that only the device does not have is no error. */
static CUresult enter_question(const int *out, CUfunction handle, const CUlaunchConfig *config,
			       struct sgpu_launch *l, uint32_t shape[3])
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_enter(&ctx);

	if (rc)
		return rc;
	rc = out ? sgpu_launch_config(l, config) : CUDA_ERROR_INVALID_VALUE;
	if (!rc)
		rc = sgpu_func_get(ctx, handle, &l->func);
	if (rc)
		return sgpu_leave(rc);
	sgpu_cluster_shape(l, shape);
	rc = shape_check(l, shape);
	if (!rc && !large_allowed(l->func) && !fits(shape, PORTABLE))
		rc = CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return rc ? sgpu_leave(rc) : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle,
					    const CUlaunchConfig *config)
{
	struct sgpu_launch l = { 0 };
	uint32_t shape[3];
	CUresult rc = enter_question(size, handle, config, &l, shape);

	if (rc)
		return rc;
	*size = blocks_of(&l) ? most_blocks(l.func) : 0;
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction handle,
				      const CUlaunchConfig *config)
{
	struct sgpu_launch l = { 0 };
	uint32_t shape[3];
	CUresult rc = enter_question(clusters, handle, config, &l, shape);

	if (rc)
		return rc;
	*clusters = given(shape) && fits(shape, EXEC_MAX_CLUSTER) ?
		    blocks_of(&l) * sgpu_device_sms(l.func->mod->ctx->device) / size_of(shape) : 0;
	return sgpu_leave(CUDA_SUCCESS);
}
