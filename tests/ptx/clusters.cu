// SPDX-License-Identifier: Apache-2.0
// Kernels of thread block clusters as programs have them, for cluster_test.c.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" {

/* The bins lie in the shared memory of two blocks; each block counts into both. */
__global__ void __cluster_dims__(2, 1, 1) histogram(int *bins, const int *in, int n, int each)
{
	extern __shared__ int part[];
	cg::cluster_group c = cg::this_cluster();

	for (int i = threadIdx.x; i < each; i += blockDim.x)
		part[i] = 0;
	c.sync();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(c.map_shared_rank(part, in[i] / each) + in[i] % each, 1);
	c.sync();
	for (int i = threadIdx.x; i < each; i += blockDim.x)
		atomicAdd(&bins[c.block_rank() * each + i], part[i]);
}

/* Writes what each block knows of its place. */
__global__ void places(unsigned *out)
{
	cg::cluster_group c = cg::this_cluster();
	unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	dim3 id = __clusterIdx(), n = __clusterGridDimInClusters(), in = c.block_index();
	dim3 dim = c.dim_blocks();
	unsigned v[16] = { id.x, id.y, id.z, n.x, n.y, n.z, in.x, in.y, in.z, dim.x, dim.y, dim.z,
			   c.block_rank(), c.num_blocks(), (unsigned)__clusterDimIsSpecified(),
			   (unsigned)c.thread_rank() };

	for (int i = 0; i < 16; i++)
		out[16 * b + i] = v[i];
}

/* Values travel round the cluster, one block a round. */
__global__ void ring(int *out, int rounds)
{
	__shared__ int mine[2][32];
	cg::cluster_group c = cg::this_cluster();
	unsigned next = (c.block_rank() + 1) % c.num_blocks();

	mine[0][threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
	c.sync();
	for (int i = 0; i < rounds; i++) {
		int *there = c.map_shared_rank(&mine[(i + 1) & 1][0], next);

		there[threadIdx.x] = mine[i & 1][threadIdx.x];
		c.sync();
	}
	out[blockIdx.x * 32 + threadIdx.x] = mine[rounds & 1][threadIdx.x];
}

/* A generic address of shared memory reaches the block that made it, from everywhere. */
__global__ void pointers(int *out)
{
	__shared__ int value;
	__shared__ int *theirs;
	cg::cluster_group c = cg::this_cluster();
	unsigned other = c.block_rank() ^ 1;

	if (threadIdx.x == 0) {
		value = blockIdx.x + 70;
		*c.map_shared_rank(&theirs, other) = &value;
	}
	auto token = c.barrier_arrive();
	c.barrier_wait(std::move(token));
	if (threadIdx.x == 0) {
		out[4 * blockIdx.x] = *theirs;
		out[4 * blockIdx.x + 1] = c.query_shared_rank(theirs);
		out[4 * blockIdx.x + 2] = __isShared(theirs) * 10 + __isClusterShared(theirs);
		out[4 * blockIdx.x + 3] = __isShared(&value) * 10 + __isClusterShared(out);
	}
	c.sync();
}

/* All blocks add to the first one's sum. */
__global__ void sums(float *out)
{
	__shared__ float sum;
	cg::cluster_group c = cg::this_cluster();

	if (threadIdx.x == 0)
		sum = 0;
	c.sync();
	atomicAdd(c.map_shared_rank(&sum, 0), 0.5f * (c.block_rank() + 1));
	c.sync();
	if (c.block_rank() == 0 && threadIdx.x == 0)
		out[blockIdx.x / c.num_blocks()] = sum;
}

}
