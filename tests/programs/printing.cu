// SPDX-License-Identifier: Apache-2.0
// Has the device talk to the host: printf with all kinds of arguments, host functions in a
// stream's order, a cooperative launch that waits for its whole grid.
#include <cooperative_groups.h>
#include "program.h"

namespace cg = cooperative_groups;

static int order[3], called;

__global__ void say(int round)
{
	if (!threadIdx.x)
		printf("round %d: %5.2f %s %#x %c %lld %%\n", round, 3.14159 * round, "text", 255,
		       'a' + round, 1LL << 40);
}

/* Each block sees what all blocks wrote before the barrier. */
__global__ void rotate(int *x, int steps)
{
	cg::grid_group grid = cg::this_grid();
	int n = grid.size(), i = grid.thread_rank();

	for (int s = 0; s < steps; s++) {
		int v = x[(i + 1) % n] + i;

		grid.sync();
		x[i] = v;
		grid.sync();
	}
}

static void CUDART_CB note(void *what)
{
	order[called++] = *(int *)what;
}

static void cooperative(void)
{
	int blocks = 4, threads = 64, n = blocks * threads, steps = 5, *x;
	void *args[] = { &x, &steps };
	std::vector<int> host(n);

	for (int i = 0; i < n; i++)
		host[i] = i * i;
	CHECK(cudaMalloc(&x, n * sizeof(*x)));
	CHECK(cudaMemcpy(x, host.data(), n * sizeof(*x), cudaMemcpyHostToDevice));
	CHECK(cudaLaunchCooperativeKernel((void *)rotate, dim3(blocks), dim3(threads), args, 0, 0));
	print_hash("cooperative", hash_device(x, n));
	CHECK(cudaFree(x));
}

int main(void)
{
	static int name[3] = { 7, 8, 9 };
	cudaStream_t s;

	CHECK(cudaStreamCreate(&s));
	for (int i = 0; i < 3; i++) {
		say<<<1, 32, 0, s>>>(i);
		CHECK_LAUNCH();
		CHECK(cudaLaunchHostFunc(s, note, &name[i]));
		CHECK(cudaStreamSynchronize(s));
		printf("after round %d: %d\n", i, order[i]);
	}
	CHECK(cudaStreamDestroy(s));
	cooperative();
	return 0;
}
