// SPDX-License-Identifier: Apache-2.0
// Makes graphs: captured from two streams, and built of explicit nodes (kernels, copies, a fill,
// a host function), then updated and launched again. It prints what each graph made.
#include "program.h"

#define N	4096
#define BYTES	(N * sizeof(float))

static int calls;

__global__ void add(float *x, float value)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void times(float *x, const float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	x[i] *= y[i];
}

static void CUDART_CB count(void *by)
{
	calls += *(int *)by;
}

static void show(const char *what, const float *dev)
{
	print_hash(what, hash_device(dev, N));
}

static size_t nodes_of(cudaGraph_t g)
{
	size_t n = 0;

	CHECK(cudaGraphGetNodes(g, NULL, &n));
	return n;
}

/* Captures a fork and a join between two streams, by events. */
static void captured(float *x, float *y, cudaStream_t a, cudaStream_t b)
{
	cudaStreamCaptureStatus status;
	cudaEvent_t fork, join;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
	add<<<N / 256, 256, 0, a>>>(x, 1);
	CHECK_LAUNCH();
	CHECK(cudaEventRecord(fork, a));
	CHECK(cudaStreamWaitEvent(b, fork, 0));
	add<<<N / 256, 256, 0, b>>>(y, 2);
	CHECK_LAUNCH();
	CHECK(cudaEventRecord(join, b));
	CHECK(cudaStreamWaitEvent(a, join, 0));
	times<<<N / 256, 256, 0, a>>>(x, y);
	CHECK_LAUNCH();
	CHECK(cudaStreamIsCapturing(a, &status));
	CHECK(cudaStreamEndCapture(a, &graph));
	printf("captured %zu nodes, status %d\n", nodes_of(graph), status);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, a));
	CHECK(cudaStreamSynchronize(a));
	show("captured", x);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaEventDestroy(fork));
	CHECK(cudaEventDestroy(join));
}

static cudaKernelNodeParams kernel(void *function, void **args)
{
	cudaKernelNodeParams k = {};

	k.func = function;
	k.gridDim = dim3(N / 256);
	k.blockDim = dim3(256);
	k.kernelParams = args;
	return k;
}

static cudaMemsetParams clearing(float *dev)
{
	cudaMemsetParams m = {};

	m.dst = dev;
	m.elementSize = 4;
	m.width = N;
	m.height = 1;
	return m;
}

/* Builds fill -> add -> times -> copy out -> host function. */
static void explicit_nodes(float *x, float *y, float *host, cudaStream_t s)
{
	cudaGraphNode_t fill, plus, product, out, call;
	float value = 2.5f, other = -1.5f;
	void *args[] = { &x, &value }, *factors[] = { &x, &y }, *changed[] = { &x, &other };
	cudaKernelNodeParams k = kernel((void *)add, args), k2 = kernel((void *)times, factors);
	cudaMemsetParams m = clearing(x);
	cudaHostNodeParams h = { count, NULL };
	cudaGraphExec_t exec;
	cudaGraph_t graph, clone;
	int one = 1;

	h.userData = &one;
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &m));
	CHECK(cudaGraphAddKernelNode(&plus, graph, &fill, 1, &k));
	CHECK(cudaGraphAddKernelNode(&product, graph, &plus, 1, &k2));
	CHECK(cudaGraphAddMemcpyNode1D(&out, graph, &product, 1, host, x, BYTES,
				       cudaMemcpyDeviceToHost));
	CHECK(cudaGraphAddHostNode(&call, graph, &out, 1, &h));
	CHECK(cudaGraphClone(&clone, graph));
	printf("built %zu nodes, the clone has %zu\n", nodes_of(graph), nodes_of(clone));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	print_hash("explicit", hash_bytes(host, BYTES));

	k.kernelParams = changed;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, plus, &k));
	CHECK(cudaGraphLaunch(exec, s));
	CHECK(cudaStreamSynchronize(s));
	print_hash("updated", hash_bytes(host, BYTES));
	printf("host node ran %d times\n", calls);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(clone));
	CHECK(cudaGraphDestroy(graph));
}

int main(void)
{
	cudaStream_t a, b;
	float *x, *y, *host;

	CHECK(cudaStreamCreate(&a));
	CHECK(cudaStreamCreate(&b));
	CHECK(cudaMalloc(&x, BYTES));
	CHECK(cudaMalloc(&y, BYTES));
	CHECK(cudaMallocHost(&host, BYTES));
	CHECK(cudaMemset(x, 0, BYTES));
	CHECK(cudaMemset(y, 0, BYTES));
	CHECK(cudaDeviceSynchronize());
	captured(x, y, a, b);
	explicit_nodes(x, y, host, a);
	CHECK(cudaFree(x));
	CHECK(cudaFree(y));
	CHECK(cudaFreeHost(host));
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
	return 0;
}
