// SPDX-License-Identifier: Apache-2.0
/*
 * Occupancy: how many blocks of a kernel one (imagined) multiprocessor holds, computed from
 * the limits that the device's attributes state.
 */
#include "driver.h"

#define WARP		32u
#define REG_UNIT	256u	/* a warp gets registers in units of this size */
#define SHARED_UNIT	128u

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

unsigned int sgpu_occupancy(const struct sgpu_func *f, unsigned int threads,
			    size_t dyn_shared)
{
	uint64_t warps = (threads + WARP - 1) / WARP, blocks = SGPU_SM_BLOCKS;
	uint64_t regs = (uint64_t)f->ptx->nregs * WARP;
	uint64_t shared = f->ptx->static_shared + dyn_shared +
			  SGPU_SHARED_RESERVED;

	if (!warps || threads > SGPU_MAX_BLOCK_THREADS ||
	    dyn_shared > sgpu_max_dyn_shared(f))
		return 0;
	regs = (regs + REG_UNIT - 1) / REG_UNIT * REG_UNIT;
	shared = (shared + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
	blocks = least(blocks, SGPU_SM_THREADS / (warps * WARP));
	if (regs)
		blocks = least(blocks, SGPU_SM_REGS / regs / warps);
	return least(blocks, SGPU_SM_SHARED / shared);
}

static CUresult enter_occupancy(CUfunction handle, bool args_ok,
				struct sgpu_func **f)
{
	struct sgpu_ctx *ctx;
	CUresult rc = sgpu_beside(&ctx);

	if (rc)
		return rc;
	rc = args_ok ? sgpu_func_get(ctx, handle, f) :
		       CUDA_ERROR_INVALID_VALUE;
	return rc ? sgpu_leave(rc) : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, CUfunction handle, int threads, size_t dyn_shared,
	unsigned int flags)
{
	struct sgpu_func *f;
	CUresult rc;

	rc = enter_occupancy(handle, blocks && threads > 0 &&
			     !(flags & ~CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE),
			     &f);
	if (rc)
		return rc;
	*blocks = sgpu_occupancy(f, threads, dyn_shared);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
	int *blocks, CUfunction handle, int threads, size_t dyn_shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		blocks, handle, threads, dyn_shared, CU_OCCUPANCY_DEFAULT);
}

/* Finds the block size that keeps the most threads on a multiprocessor. */
static int best_block(const struct sgpu_func *f, CUoccupancyB2DSize size_of,
		      size_t dyn_shared, int limit, int *blocks)
{
	unsigned int most = 0;
	int best = 0;

	for (int threads = limit; threads > 0;
	     threads = (threads - 1) / (int)WARP * (int)WARP) {
		size_t shared = size_of ? size_of(threads) : dyn_shared;
		unsigned int n = sgpu_occupancy(f, threads, shared);

		if (n * threads > most) {
			most = n * threads;
			best = threads;
			*blocks = n;
		}
	}
	return best;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
	int *min_grid, int *block, CUfunction handle,
	CUoccupancyB2DSize size_of, size_t dyn_shared, int limit,
	unsigned int flags)
{
	int most = SGPU_MAX_BLOCK_THREADS, blocks = 0;
	struct sgpu_func *f;
	CUresult rc;

	rc = enter_occupancy(handle, min_grid && block && limit >= 0 &&
			     !(flags & ~CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE),
			     &f);
	if (rc)
		return rc;
	if (f->ptx->max_threads && (int)f->ptx->max_threads < most)
		most = f->ptx->max_threads;
	if (limit && limit < most)
		most = limit;
	*block = best_block(f, size_of, dyn_shared, most, &blocks);
	*min_grid = blocks * (int)sgpu_device_sms(f->mod->ctx->device);
	return sgpu_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block,
					  CUfunction handle,
					  CUoccupancyB2DSize size_of,
					  size_t dyn_shared, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(
		min_grid, block, handle, size_of, dyn_shared, limit,
		CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *size,
						 CUfunction handle, int blocks,
						 int threads)
{
	uint64_t room, used;
	struct sgpu_func *f;
	CUresult rc;

	rc = enter_occupancy(handle, size && blocks > 0 && threads > 0, &f);
	if (rc)
		return rc;
	room = SGPU_SM_SHARED / blocks / SHARED_UNIT * SHARED_UNIT;
	used = f->ptx->static_shared + SGPU_SHARED_RESERVED;
	if (room < used || sgpu_occupancy(f, threads, 0) < (unsigned int)blocks)
		return sgpu_leave(CUDA_ERROR_INVALID_VALUE);
	*size = least(room - used, sgpu_max_dyn_shared(f));
	return sgpu_leave(CUDA_SUCCESS);
}
