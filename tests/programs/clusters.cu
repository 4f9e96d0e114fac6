// SPDX-License-Identifier: Apache-2.0
// Launches thread block clusters, whose blocks reach each other's shared memory: with the shape in
// the kernel, in the launch and in a graph. Asks what fits, and makes mistakes. Devices below
// compute capability 9.0 have no clusters.
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

#define BINS	512
#define N	20000

/* The bins lie in the shared memory of all blocks of a cluster. */
__device__ static void count(int *bins, const int *in, int n)
{
	extern __shared__ int part[];
	cg::cluster_group c = cg::this_cluster();
	int each = BINS / c.num_blocks();

	for (int i = threadIdx.x; i < each; i += blockDim.x)
		part[i] = 0;
	c.sync();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(c.map_shared_rank(part, in[i] / each) + in[i] % each, 1);
	c.sync();
	for (int i = threadIdx.x; i < each; i += blockDim.x)
		atomicAdd(&bins[c.block_rank() * each + i], part[i]);
}

__global__ void __cluster_dims__(4, 1, 1) count_by_four(int *bins, const int *in, int n)
{
	count(bins, in, n);
}

__global__ void count_by_any(int *bins, const int *in, int n)
{
	count(bins, in, n);
}

static int *bins, *in;
static std::vector<int> expected(BINS);

/* Says whether the bins have what the CPU counted, @times times. */
static void print_bins(const char *what, int times)
{
	std::vector<int> host(BINS);
	int wrong = 0;

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host.data(), bins, BINS * sizeof(int), cudaMemcpyDeviceToHost));
	for (int i = 0; i < BINS; i++)
		wrong += host[i] != times * expected[i];
	printf("%s: %d of %d bins are wrong\n", what, wrong, BINS);
	CHECK(cudaMemset(bins, 0, BINS * sizeof(*bins)));
}

static cudaLaunchConfig_t config_of(cudaLaunchAttribute *attr, unsigned int size, cudaStream_t s)
{
	cudaLaunchConfig_t config = {};

	config.gridDim = 32;
	config.blockDim = 128;
	config.dynamicSmemBytes = BINS * sizeof(int);
	config.stream = s;
	config.attrs = attr;
	config.numAttrs = 1;
	attr->id = cudaLaunchAttributeClusterDimension;
	attr->val.clusterDim.x = size;
	attr->val.clusterDim.y = attr->val.clusterDim.z = 1;
	return config;
}

static cudaError_t launch(unsigned int size, cudaStream_t s)
{
	cudaLaunchAttribute attr;
	cudaLaunchConfig_t config = config_of(&attr, size, s);

	return cudaLaunchKernelEx(&config, count_by_any, bins, (const int *)in, N);
}

static void allow_large(int allow)
{
	CHECK(cudaFuncSetAttribute(count_by_any, cudaFuncAttributeNonPortableClusterSizeAllowed,
				   allow));
}

static void sizes(void)
{
	char what[40];

	count_by_four<<<32, 128, BINS / 4 * sizeof(int)>>>(bins, in, N);
	CHECK_LAUNCH();
	print_bins("four blocks by the kernel", 1);
	for (unsigned int size = 1; size <= 8; size *= 2) {
		CHECK(launch(size, 0));
		snprintf(what, sizeof(what), "%u blocks by the launch", size);
		print_bins(what, 1);
	}
	printf("16 blocks: %s\n", cudaGetErrorName(launch(16, 0)));
	allow_large(1);
	CHECK(launch(16, 0));
	print_bins("16 blocks by leave", 1);
	allow_large(0);
	printf("3 blocks of 32: %s\n", cudaGetErrorName(launch(3, 0)));
	count_by_four<<<30, 128, BINS / 4 * sizeof(int)>>>(bins, in, N);
	printf("4 blocks of 30: %s\n", cudaGetErrorName(cudaGetLastError()));
}

static void questions(void)
{
	cudaLaunchAttribute attr;
	cudaLaunchConfig_t config = config_of(&attr, 2, 0);
	cudaFuncAttributes about;
	int size = 0, active = 0;

	CHECK(cudaOccupancyMaxPotentialClusterSize(&size, count_by_any, &config));
	CHECK(cudaOccupancyMaxActiveClusters(&active, count_by_any, &config));
	CHECK(cudaFuncGetAttributes(&about, count_by_four));
	printf("at most %d blocks, %s clusters at once\n", size, active > 0 ? "some" : "no");
	printf("the kernel requires %d x %d x %d blocks\n", about.requiredClusterWidth,
	       about.requiredClusterHeight, about.requiredClusterDepth);
}

static void graph(void)
{
	cudaGraphExec_t exec;
	cudaStream_t s;
	cudaGraph_t g;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK(launch(8, s));
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&exec, g, 0));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaGraphLaunch(exec, s));
	print_bins("two launches of a graph", 2);
}

int main(void)
{
	std::vector<int> host(N);
	int clusters = 0;

	CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
	if (!clusters) {
		printf("the device has no clusters\n");
		return 0;
	}
	for (int i = 0; i < N; i++) {
		host[i] = (i * 7919 + i / 3) % BINS;
		expected[host[i]]++;
	}
	CHECK(cudaMalloc(&in, N * sizeof(*in)));
	CHECK(cudaMalloc(&bins, BINS * sizeof(*bins)));
	CHECK(cudaMemcpy(in, host.data(), N * sizeof(*in), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(bins, 0, BINS * sizeof(*bins)));
	sizes();
	questions();
	graph();
	return 0;
}
