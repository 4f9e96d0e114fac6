// SPDX-License-Identifier: Apache-2.0
// The test promises variables in managed memory, which the host reads and writes directly. It
// needs nvcc.
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"

__managed__ int shared_value = 11;
__managed__ double table[100];

__global__ void update(double *out)
{
	*out = shared_value + table[99];
	shared_value = 99;
}

/* Returns the status of a process that begins with the use of a managed variable. */
static int first_use(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(shared_value == 11 ? 0 : 2);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void test_copies()
{
	double mine[2] = { 1.5, 2.5 }, back[2] = { 0, 0 };
	cudaPointerAttributes attr;
	void *addr;

	table[3] = 7;
	ok_err(cudaMemcpyToSymbol(table, mine, sizeof(mine), 8, cudaMemcpyHostToDevice),
	       cudaSuccess, "a_symbol_copy_to_it_succeeds");
	ok(table[1] == 1.5 && table[2] == 2.5 && table[3] == 7, "the_host_sees_what_it_copied");
	table[2] = 4;
	NEED(cudaMemcpyFromSymbol(back, table, sizeof(back), 8, cudaMemcpyDeviceToHost));
	ok(back[0] == 1.5 && back[1] == 4, "a_symbol_copy_from_it_has_what_the_host_wrote");
	NEED(cudaMemcpy(&table[10], &table[1], 16, cudaMemcpyDefault));
	ok(table[10] == 1.5 && table[11] == 4, "its_parts_are_copied_among_each_other");
	NEED(cudaGetSymbolAddress(&addr, table));
	NEED(cudaPointerGetAttributes(&attr, &table[50]));
	ok(addr == &table[0] && attr.type == cudaMemoryTypeManaged &&
	   attr.devicePointer == &table[50] && attr.hostPointer == &table[50], "its_pointer_is_managed_on_both_sides");
}

/* Waits for a graph and for an event, the other places where programs wait. */
static void test_graph(double *dev)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaStream_t s;
	cudaEvent_t e;
	double got = 0;

	NEED(cudaStreamCreate(&s));
	NEED(cudaEventCreate(&e));
	NEED(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	update<<<1, 1, 0, s>>>(dev);
	NEED(cudaStreamEndCapture(s, &graph));
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	shared_value = 20;
	table[99] = 0.25;
	NEED(cudaGraphLaunch(exec, s));
	NEED(cudaEventRecord(e, s));
	NEED(cudaEventSynchronize(e));
	NEED(cudaMemcpy(&got, dev, sizeof(got), cudaMemcpyDefault));
	ok(got == 20.25 && shared_value == 99, "graphs_use_them_and_events_bring_them_back");
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(graph));
	NEED(cudaEventDestroy(e));
	NEED(cudaStreamDestroy(s));
}

/* Managed memory is the host's, so a reset leaves it as it was (on an H200, driver 580.159). */
static void test_reset()
{
	double *dev, got = 0;

	shared_value = 5;
	table[99] = 2;
	NEED(cudaDeviceReset());
	NEED(cudaMalloc(&dev, sizeof(*dev)));
	update<<<1, 1>>>(dev);
	NEED(cudaMemcpy(&got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	NEED(cudaDeviceSynchronize());
	ok(got == 7, "the_device_sees_what_the_host_wrote_before_a_reset");
	ok(shared_value == 99 && table[99] == 2 && table[1] == 1.5, "so_does_the_host");
}

int main()
{
	int used = first_use();		/* comes before any other use of CUDA here */
	double *dev, got = 0;
	void *addr;
	size_t size;

	tap_plan(13);
	NEED(cudaMalloc(&dev, sizeof(*dev)));
	ok_eq(used, 0, "the_first_use_needs_no_call_before");
	ok_err(cudaGetSymbolAddress(&addr, shared_value), cudaSuccess,
	       "a_managed_variable_has_an_address");
	ok(addr == &shared_value, "device_and_host_see_it_at_one_address");
	table[99] = 0.5;
	update<<<1, 1>>>(dev);
	NEED(cudaMemcpy(&got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	NEED(cudaDeviceSynchronize());
	ok(got == 11.5 && shared_value == 99, "a_managed_variable_is_seen_from_both_sides");
	NEED(cudaGetSymbolSize(&size, table));
	ok_eq(size, 800, "a_managed_variable_has_its_size");
	test_copies();
	test_graph(dev);
	test_reset();
	return tap_exit();
}
