// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the block size with the best occupancy. The program may give a function of its own for
 * the shared memory of a block, so the search runs here and asks the worker for the occupancy
 * of each candidate.
 */
#include "stubs.h"

static int attribute(CUdevice_attribute a)
{
	CUdevice dev;
	int v = 0;

	if (cuCtxGetDevice(&dev) == CUDA_SUCCESS)
		cuDeviceGetAttribute(&v, a, dev);
	return v;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* If occupancies are equal, the larger block wins, so the search goes down from the top. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
						   CUfunction func,
						   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
						   size_t dynamicSMemSize, int blockSizeLimit,
						   unsigned int flags)
{
	int warp, most, block, blocks, best = 0, limit, threads;
	CUresult res;

	if (!minGridSize || !blockSize || blockSizeLimit < 0)
		return CUDA_ERROR_INVALID_VALUE;
	res = cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func);
	if (res != CUDA_SUCCESS)
		return res;
	warp = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
	threads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	most = least(limit, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
	if (blockSizeLimit > 0)
		most = least(most, blockSizeLimit);
	if (warp <= 0 || most <= 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	*blockSize = *minGridSize = 0;
	for (block = (most + warp - 1) / warp * warp; block > 0 && best < threads; block -= warp) {
		int size = least(block, most);
		size_t smem = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size) :
							   dynamicSMemSize;

		res = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, func, size,
									   smem, flags);
		if (res != CUDA_SUCCESS)
			return res;
		if (blocks * size <= best)
			continue;
		best = blocks * size;
		*blockSize = size;
		*minGridSize = blocks * attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	}
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
					  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
					  size_t dynamicSMemSize, int blockSizeLimit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
							 blockSizeToDynamicSMemSize,
							 dynamicSMemSize, blockSizeLimit,
							 CU_OCCUPANCY_DEFAULT);
}
