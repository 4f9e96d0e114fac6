// SPDX-License-Identifier: Apache-2.0
/* One half of a separately compiled program; link_test.c describes it. */
extern __device__ int elsewhere(int x);
extern __device__ int there;
static __device__ int mine = 1;

static __device__ __noinline__ int helper(int x)
{
	return x + mine;
}

extern "C" __global__ void k(int *out)
{
	*out = helper(elsewhere(0)) + there;
}
