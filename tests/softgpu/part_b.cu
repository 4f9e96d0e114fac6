// SPDX-License-Identifier: Apache-2.0
/* The other half: it has the same private names, with other meanings. */
__device__ int there = 40;
static __device__ int mine = 2;

static __device__ __noinline__ int helper(int x)
{
	return x + mine + 3;
}

__device__ int elsewhere(int x)
{
	return helper(x);
}
