// SPDX-License-Identifier: Apache-2.0
// The test promises graphs through the runtime: nodes by hand and by capture, pageable memory,
// host functions, symbols, changes of executables, user objects, loops. It needs nvcc and any CUDA
// device.
#include <atomic>
#include <thread>
#include <unistd.h>
#include "common.h"

#define N 1000

__global__ void scale(int *x, int k, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		x[i] = x[i] * k + v;
}

__device__ int table[N];

__global__ void from_table(int *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < N)
		x[i] += table[i];
}

static int in[N], out[N];
static int *dev;

/* Sums what the copy before it brought; the sum is wrong if the function ran too early. */
static long sums[8];
static std::atomic<int> calls;

static void sum_up(void *data)
{
	const int *x = (const int *)data;
	long sum = 0;

	for (int i = 0; i < N; i++)
		sum += x[i];
	sums[calls++ % 8] = sum;
}

static void fill_in(int v)
{
	for (int i = 0; i < N; i++)
		in[i] = v + i;
}

static long expected(int v, int k, int add)
{
	long sum = 0;

	for (int i = 0; i < N; i++)
		sum += (long)(v + i) * k + add;
	return sum;
}

static cudaKernelNodeParams kernel(void **args)
{
	cudaKernelNodeParams p = {};

	p.func = (void *)scale;
	p.gridDim = dim3(8);
	p.blockDim = dim3(128);
	p.kernelParams = args;
	return p;
}

/* Builds host -> device -> kernel -> host -> host function, with all host memory pageable. */
static void test_by_hand(cudaStream_t s)
{
	int k = 3, v = 1;
	void *args[] = { &dev, &k, &v };
	cudaKernelNodeParams p = kernel(args), q = {};
	cudaGraphNode_t n[4], all[4];
	cudaHostNodeParams host = { sum_up, out }, got = {};
	cudaMemcpy3DParms copy = {};
	cudaGraphExec_t x;
	cudaGraphNodeType type;
	size_t count = 4;
	cudaGraph_t g;

	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddMemcpyNode1D(&n[0], g, NULL, 0, dev, in, sizeof(in),
				      cudaMemcpyHostToDevice));
	NEED(cudaGraphAddKernelNode(&n[1], g, &n[0], 1, &p));
	NEED(cudaGraphAddMemcpyNode1D(&n[2], g, &n[1], 1, out, dev, sizeof(out),
				      cudaMemcpyDeviceToHost));
	NEED(cudaGraphAddHostNode(&n[3], g, &n[2], 1, &host));
	NEED(cudaGraphInstantiate(&x, g, 0));
	calls = 0;
	fill_in(5);
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	fill_in(9);
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(calls, 2, "a_host_node_runs_once_for_each_launch");
	ok_eq(sums[0], expected(5, 3, 1), "a_host_node_sees_what_the_graph_copied");
	ok_eq(sums[1], expected(9, 3, 1), "pageable_memory_is_read_at_each_launch");
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(calls, 5, "launches_before_the_former_ended_all_run");
	NEED(cudaGraphGetNodes(g, all, &count));
	ok_eq(count, 4, "each_copy_is_one_node");
	NEED(cudaGraphNodeGetType(n[0], &type));
	ok_eq(type, cudaGraphNodeTypeMemcpy, "a_copy_of_pageable_memory_is_a_copy_node");
	NEED(cudaGraphMemcpyNodeGetParams(n[0], &copy));
	ok(copy.srcPtr.ptr == in && copy.extent.width == sizeof(in) &&
	   copy.kind == cudaMemcpyHostToDevice, "its_parameters_are_the_programs");
	NEED(cudaGraphHostNodeGetParams(n[3], &got));
	ok(got.fn == sum_up && got.userData == out, "a_host_nodes_parameters_come_back");
	NEED(cudaGraphKernelNodeGetParams(n[1], &q));
	ok(q.func == (void *)scale && q.gridDim.x == 8 && *(int *)q.kernelParams[1] == 3,
	   "a_kernel_nodes_parameters_come_back");
	k = 7;
	NEED(cudaGraphExecKernelNodeSetParams(x, n[1], &p));
	static int other[N];
	for (int i = 0; i < N; i++)
		other[i] = 2 + i;
	NEED(cudaGraphExecMemcpyNodeSetParams1D(x, n[0], dev, other, sizeof(other),
						cudaMemcpyHostToDevice));
	calls = 0;
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(sums[0], expected(2, 7, 1), "an_executable_takes_new_parameters");
	NEED(cudaGraphExecDestroy(x));
	NEED(cudaGraphInstantiate(&x, g, 0));
	calls = 0;
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(sums[0], expected(9, 3, 1), "its_graph_keeps_the_old_ones");
	NEED(cudaGraphDestroy(g));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(calls, 2, "an_executable_outlives_its_graph");
	NEED(cudaGraphExecDestroy(x));
}

static cudaGraph_t capture(cudaStream_t s, int k)
{
	cudaGraph_t g = NULL;

	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	NEED(cudaMemcpyAsync(dev, in, sizeof(in), cudaMemcpyHostToDevice, s));
	scale<<<8, 128, 0, s>>>(dev, k, 2);
	NEED(cudaMemcpyAsync(out, dev, sizeof(out), cudaMemcpyDeviceToHost, s));
	NEED(cudaLaunchHostFunc(s, sum_up, out));
	NEED(cudaStreamEndCapture(s, &g));
	return g;
}

static void test_capture(cudaStream_t s)
{
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t x;
	cudaGraph_t g;
	size_t count = 0;

	fill_in(1);
	calls = 0;
	g = capture(s, 4);
	ok_eq(calls, 0, "a_captured_host_function_does_not_run");
	NEED(cudaGraphGetNodes(g, NULL, &count));
	ok_eq(count, 4, "a_capture_has_a_node_for_each_call");
	NEED(cudaGraphInstantiate(&x, g, 0));
	NEED(cudaGraphDestroy(g));
	fill_in(3);
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(sums[0], expected(3, 4, 2), "a_capture_reads_pageable_memory_when_launched");
	g = capture(s, 6);
	ok(cudaGraphExecUpdate(x, g, &info) == cudaSuccess &&
	   info.result == cudaGraphExecUpdateSuccess, "an_executable_is_updated_from_a_capture");
	NEED(cudaGraphDestroy(g));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(sums[1], expected(3, 6, 2), "and_does_what_the_new_one_says");
	NEED(cudaGraphExecDestroy(x));
	for (int i = 0; i < 300; i++) {
		g = capture(s, 1);
		NEED(cudaGraphInstantiate(&x, g, 0));
		NEED(cudaGraphLaunch(x, s));
		NEED(cudaStreamSynchronize(s));
		NEED(cudaGraphExecDestroy(x));
		NEED(cudaGraphDestroy(g));
	}
	ok_eq(calls, 302, "many_graphs_in_turn_all_run");
}

/*
 * Copies so few bytes that they could travel with the call. They must still be read at
 * the launch.
 */
static void test_tiny_copy(cudaStream_t s)
{
	int small = 1, back = 0;
	cudaGraphExec_t x;
	cudaGraph_t g;

	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	NEED(cudaMemcpyAsync(dev, &small, sizeof(small), cudaMemcpyHostToDevice, s));
	NEED(cudaMemcpyAsync(&back, dev, sizeof(back), cudaMemcpyDeviceToHost, s));
	NEED(cudaStreamEndCapture(s, &g));
	NEED(cudaGraphInstantiate(&x, g, 0));
	small = 42;
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(back, 42, "a_few_captured_bytes_are_read_when_launched");
	NEED(cudaGraphExecDestroy(x));
	NEED(cudaGraphDestroy(g));
}

/* Uses more memory in all than there is: each graph gives its own memory back. */
static void test_big_copies(cudaStream_t s)
{
	const size_t size = 8 << 20;
	char *big_in = (char *)malloc(size), *big_out = (char *)malloc(size), *mem;
	int good = 0;

	NEED(cudaMalloc(&mem, size));
	for (int i = 0; i < 40; i++) {
		cudaGraphExec_t x;
		cudaGraph_t g;

		memset(big_in, i, size);
		NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
		NEED(cudaMemcpyAsync(mem, big_in, size, cudaMemcpyHostToDevice, s));
		NEED(cudaMemcpyAsync(big_out, mem, size, cudaMemcpyDeviceToHost, s));
		NEED(cudaStreamEndCapture(s, &g));
		NEED(cudaGraphInstantiate(&x, g, 0));
		NEED(cudaGraphDestroy(g));
		NEED(cudaGraphLaunch(x, s));
		NEED(cudaStreamSynchronize(s));
		NEED(cudaGraphExecDestroy(x));
		good += big_out[0] == i && big_out[size - 1] == i;
	}
	ok_eq(good, 40, "big_pageable_copies_give_their_memory_back");
	NEED(cudaFree(mem));
	free(big_in);
	free(big_out);
}

static void test_symbols(cudaStream_t s)
{
	cudaGraphNode_t n[4];
	cudaKernelNodeParams p = {};
	void *args[] = { &dev };
	cudaMemsetParams fill = {};
	cudaGraphExec_t x;
	cudaGraph_t g;

	for (int i = 0; i < N; i++)
		in[i] = i;
	p.func = (void *)from_table;
	p.gridDim = dim3(8);
	p.blockDim = dim3(128);
	p.kernelParams = args;
	fill.dst = dev;
	fill.elementSize = 4;
	fill.value = 100;
	fill.width = N;
	fill.height = 1;
	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddMemsetNode(&n[0], g, NULL, 0, &fill));
	NEED(cudaGraphAddMemcpyNodeToSymbol(&n[1], g, NULL, 0, table, in, sizeof(in), 0,
					    cudaMemcpyHostToDevice));
	NEED(cudaGraphAddKernelNode(&n[2], g, n, 2, &p));
	NEED(cudaGraphAddMemcpyNode1D(&n[3], g, &n[2], 1, out, dev, sizeof(out),
				      cudaMemcpyDefault));
	NEED(cudaGraphInstantiate(&x, g, 0));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok(out[0] == 100 && out[N - 1] == 100 + N - 1,
	   "symbols_fills_and_default_copies_work_in_graphs");
	NEED(cudaGraphExecDestroy(x));
	NEED(cudaGraphDestroy(g));
}

static void test_any_node(cudaStream_t s)
{
	cudaGraphNodeParams p = {}, f = {};
	int k = 2, v = 5;
	void *args[] = { &dev, &k, &v };
	cudaGraphNode_t a, b, c;
	cudaGraphExec_t x;
	cudaGraph_t g;

	NEED(cudaGraphCreate(&g, 0));
	f.type = cudaGraphNodeTypeMemset;
	f.memset.dst = dev;
	f.memset.elementSize = 4;
	f.memset.value = 20;
	f.memset.width = N;
	f.memset.height = 1;
	NEED(cudaGraphAddNode(&a, g, NULL, NULL, 0, &f));
	p.type = cudaGraphNodeTypeKernel;
	p.kernel.func = (void *)scale;
	p.kernel.gridDim.x = 8;
	p.kernel.gridDim.y = p.kernel.gridDim.z = p.kernel.blockDim.y = p.kernel.blockDim.z = 1;
	p.kernel.blockDim.x = 128;
	p.kernel.kernelParams = args;
	NEED(cudaGraphAddNode(&b, g, &a, NULL, 1, &p));
	NEED(cudaGraphInstantiate(&x, g, 0));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	NEED(cudaMemcpy(out, dev, sizeof(out), cudaMemcpyDeviceToHost));
	ok_eq(out[7], 45, "nodes_are_made_from_the_general_struct");
	v = 6;
	NEED(cudaGraphExecNodeSetParams(x, b, &p));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	NEED(cudaMemcpy(out, dev, sizeof(out), cudaMemcpyDeviceToHost));
	ok_eq(out[7], 46, "and_changed_by_it");
	ok_err(cudaGraphAddNode(&c, g, &b, NULL, 1, NULL), cudaErrorInvalidValue,
	       "without_one_there_is_no_node");
	NEED(cudaGraphExecDestroy(x));
	NEED(cudaGraphDestroy(g));
}

static void test_memory_nodes(cudaStream_t s)
{
	cudaMemAllocNodeParams p = {};
	cudaGraphNode_t a, m, c, f;
	cudaMemsetParams fill = {};
	cudaGraphExec_t x;
	cudaGraph_t g;

	p.poolProps.allocType = cudaMemAllocationTypePinned;
	p.poolProps.location.type = cudaMemLocationTypeDevice;
	p.bytesize = sizeof(out);
	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddMemAllocNode(&a, g, NULL, 0, &p));
	fill.dst = p.dptr;
	fill.elementSize = 4;
	fill.value = 77;
	fill.width = N;
	fill.height = 1;
	NEED(cudaGraphAddMemsetNode(&m, g, &a, 1, &fill));
	NEED(cudaGraphAddMemcpyNode1D(&c, g, &m, 1, dev, p.dptr, sizeof(out), cudaMemcpyDefault));
	NEED(cudaGraphAddMemFreeNode(&f, g, &c, 1, p.dptr));
	NEED(cudaGraphInstantiate(&x, g, 0));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	NEED(cudaMemcpy(out, dev, sizeof(out), cudaMemcpyDeviceToHost));
	ok_eq(out[N - 1], 77, "a_graph_allocates_uses_and_frees_memory");
	NEED(cudaGraphExecDestroy(x));
	NEED(cudaGraphDestroy(g));
}

/* Returns what another thread gets for an allocation, and for ending a capture. */
static cudaError_t alloc_elsewhere(void)
{
	cudaError_t err;

	std::thread([&] {
		void *p;

		err = cudaMalloc(&p, 64);
		if (!err)
			cudaFree(p);
	}).join();
	return err;
}

static void test_threads(cudaStream_t s)
{
	cudaGraph_t g = NULL;
	cudaError_t err;

	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	scale<<<8, 128, 0, s>>>(dev, 1, 0);
	ok_err(alloc_elsewhere(), cudaSuccess,
	       "a_thread_local_capture_forbids_other_threads_nothing");
	std::thread([&] { err = cudaStreamEndCapture(s, &g); }).join();
	ok_err(err, cudaErrorStreamCaptureWrongThread, "another_thread_cannot_end_it");
	clear_error();
	ok(cudaStreamEndCapture(s, &g) == cudaErrorIllegalState && !g,
	   "its_try_ends_it_for_the_own_thread_too");
	clear_error();
	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	ok_err(alloc_elsewhere(), cudaErrorStreamCaptureUnsupported,
	       "a_global_capture_forbids_unsafe_calls_of_all_threads");
	ok_err(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated,
	       "and_is_over_with_one");
	clear_error();
}

static std::atomic<int> destroyed;

static void destroy(void *data)
{
	destroyed += *(int *)data;
}

static void test_user_object(cudaStream_t s)
{
	static int one = 1;
	cudaUserObject_t o;
	cudaGraphExec_t x;
	cudaGraph_t g = capture(s, 1);

	NEED(cudaUserObjectCreate(&o, &one, destroy, 1, cudaUserObjectNoDestructorSync));
	NEED(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
	NEED(cudaGraphInstantiate(&x, g, 0));
	NEED(cudaGraphDestroy(g));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	ok_eq(destroyed, 0, "an_executable_keeps_a_user_object");
	NEED(cudaGraphExecDestroy(x));
	for (int i = 0; i < 5000 && !destroyed; i++)
		usleep(1000);
	ok_eq(destroyed, 1, "its_end_runs_the_destructor");
}

/* A loop of a graph, as PyTorch makes it while it captures. */
__global__ void count_down(cudaGraphConditionalHandle go_on, int *left, int *x)
{
	*x += 10;
	*left -= 1;
	cudaGraphSetConditional(go_on, *left > 0);
}

static void test_conditional(cudaStream_t s)
{
	cudaGraphNodeParams p = { cudaGraphNodeTypeConditional };
	cudaStreamCaptureStatus status;
	cudaGraphConditionalHandle h;
	int start[2] = { 7, 1 }, got[2];
	const cudaGraphNode_t *deps;
	cudaGraph_t g, same;
	cudaGraphExec_t x;
	cudaGraphNode_t n;
	size_t ndeps;

	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
	NEED(cudaStreamGetCaptureInfo(s, &status, NULL, &g, &deps, NULL, &ndeps));
	NEED(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
	p.conditional.handle = h;
	p.conditional.type = cudaGraphCondTypeWhile;
	p.conditional.size = 1;
	ok_err(cudaGraphAddNode(&n, g, deps, NULL, ndeps, &p), cudaSuccess,
	       "a_loop_joins_a_capture");
	NEED(cudaStreamUpdateCaptureDependencies(s, &n, NULL, 1, cudaStreamSetCaptureDependencies));
	NEED(cudaStreamEndCapture(s, &g));
	NEED(cudaStreamBeginCaptureToGraph(s, p.conditional.phGraph_out[0], NULL, NULL, 0,
					   cudaStreamCaptureModeRelaxed));
	count_down<<<1, 1, 0, s>>>(h, dev, dev + 1);
	NEED(cudaStreamEndCapture(s, &same));
	NEED(cudaGraphInstantiate(&x, g, 0));
	NEED(cudaMemcpy(dev, start, sizeof(start), cudaMemcpyHostToDevice));
	NEED(cudaGraphLaunch(x, s));
	NEED(cudaStreamSynchronize(s));
	NEED(cudaMemcpy(got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	ok(!got[0] && got[1] == 71, "kernels_say_when_it_ends");
	NEED(cudaGraphExecDestroy(x));
	NEED(cudaGraphDestroy(g));
}

/* Until CUDA 11.7 the value of an attribute had 32 bytes. */
static void test_old_attribute()
{
	struct alignas(8) { unsigned char value[32], after[32]; } room;
	int k = 3, v = 1, same = 0;
	void *args[] = { &dev, &k, &v };
	cudaKernelNodeParams p = kernel(args);
	cudaGraphNode_t n;
	cudaGraph_t g;

	memset(&room, 0x5a, sizeof(room));
	NEED(cudaGraphCreate(&g, 0));
	NEED(cudaGraphAddKernelNode(&n, g, NULL, 0, &p));
	NEED(cudaGraphKernelNodeGetAttribute(n, cudaLaunchAttributeCooperative,
					     (cudaLaunchAttributeValue *)&room));
	for (unsigned char c : room.after)
		same += c == 0x5a;
	ok(!*(int *)room.value && same == 32, "an_attribute_fits_where_a_program_of_cuda_11_7_has_room");
	NEED(cudaGraphDestroy(g));
}

int main()
{
	cudaStream_t s;

	tap_plan(35);
	NEED(cudaStreamCreate(&s));
	NEED(cudaMalloc(&dev, sizeof(in)));
	test_by_hand(s);
	test_old_attribute();
	test_capture(s);
	test_tiny_copy(s);
	test_big_copies(s);
	test_symbols(s);
	test_any_node(s);
	test_memory_nodes(s);
	test_user_object(s);
	test_conditional(s);
	test_threads(s);
	NEED(cudaFree(dev));
	NEED(cudaStreamDestroy(s));
	return tap_exit();
}
