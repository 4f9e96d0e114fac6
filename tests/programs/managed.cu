// SPDX-License-Identifier: Apache-2.0
// Uses managed memory: cudaMallocManaged and __managed__ variables, which the host and kernels
// write in turn, in a list of pointers too.
#include "program.h"

#define N	10000

__managed__ int counter = 40;
__managed__ float table[256];

struct Node {
	Node *next;
	int value;
};

__global__ void scale(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] * 2 + table[i % 256];
	if (!i)
		counter++;
}

__global__ void add_up(Node *first, long long *sum)
{
	for (Node *n = first; n; n = n->next) {
		*sum += n->value;
		n->value = -n->value;
	}
}

static void arrays(void)
{
	float *x;

	CHECK(cudaMallocManaged(&x, N * sizeof(*x)));
	for (int i = 0; i < N; i++)
		x[i] = i * 0.25f;
	for (int i = 0; i < 256; i++)
		table[i] = i;
	for (int round = 0; round < 3; round++) {
		scale<<<(N + 255) / 256, 256>>>(x, N);
		CHECK_LAUNCH();
		CHECK(cudaDeviceSynchronize());
		x[round] += 1;		/* the host writes in between */
		table[round] = -1;
	}
	printf("counter %d\n", counter);
	print_hash("array", hash_bytes(x, N * sizeof(*x)));
	CHECK(cudaFree(x));
}

static void list(void)
{
	Node *first = NULL, *n;
	long long *sum, host = 0;

	CHECK(cudaMallocManaged(&sum, sizeof(*sum)));
	*sum = 0;
	for (int i = 0; i < 20; i++) {
		CHECK(cudaMallocManaged(&n, sizeof(*n)));
		n->next = first;
		n->value = i * i;
		first = n;
	}
	add_up<<<1, 1>>>(first, sum);
	CHECK_LAUNCH();
	CHECK(cudaDeviceSynchronize());
	while ((n = first)) {
		host += n->value;
		first = n->next;
		CHECK(cudaFree(n));
	}
	printf("list: the device %lld, the host %lld\n", *sum, host);
	CHECK(cudaFree(sum));
}

int main(void)
{
	arrays();
	list();
	return 0;
}
