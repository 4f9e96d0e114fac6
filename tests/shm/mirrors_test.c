// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that copy nodes with pageable memory may be as large and as many as
 * natively, whatever the size of the part: here it has 16 MB.
 */
#include "driver_test.h"

#define NODES	5
#define GRAPHS	3
#define SIZE	(6UL << 20)

static uint8_t *in[NODES], *out[NODES];
static CUdeviceptr there[NODES];

static CUDA_MEMCPY3D box(int up, int i)
{
	CUDA_MEMCPY3D c = { .WidthInBytes = SIZE, .Height = 1, .Depth = 1 };

	c.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	c.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	c.srcHost = in[i];
	c.dstHost = out[i];
	c.srcDevice = c.dstDevice = there[i];
	return c;
}

/* Makes copies up and down again, in pairs. */
static CUresult make(CUgraphExec *exec)
{
	CUresult res = CUDA_SUCCESS;
	CUDA_MEMCPY3D c;
	CUgraphNode up, down;
	CUgraph graph;
	int i;

	cuGraphCreate(&graph, 0);
	for (i = 0; i < NODES && !res; i++) {
		c = box(1, i);
		res = cuGraphAddMemcpyNode(&up, graph, NULL, 0, &c, ctx);
		c = box(0, i);
		if (!res)
			res = cuGraphAddMemcpyNode(&down, graph, &up, 1, &c, ctx);
	}
	if (!res)
		res = cuGraphInstantiate(exec, graph, 0);
	cuGraphDestroy(graph);
	return res;
}

static int run(CUgraphExec exec, uint32_t seed)
{
	int i, good = 1;

	for (i = 0; i < NODES; i++)
		pattern(in[i], SIZE, seed + i);
	good = cuGraphLaunch(exec, NULL) == 0 && cuCtxSynchronize() == 0;
	for (i = 0; i < NODES; i++)
		good = good && same(out[i], SIZE, seed + i);
	return good;
}

static void test_captured(void)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	ok(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL) == 0 &&
	   cuMemcpyHtoDAsync(there[0], in[0], SIZE, s) == 0 &&
	   cuMemcpyDtoHAsync(out[1], there[0], SIZE, s) == 0 &&
	   cuStreamEndCapture(s, &graph) == 0, "large_pageable_copies_are_captured");
	cuGraphInstantiate(&exec, graph, 0);
	pattern(in[0], SIZE, 77);
	ok(cuGraphLaunch(exec, s) == 0 && cuStreamSynchronize(s) == 0 && same(out[1], SIZE, 77),
	   "and_read_and_write_when_the_graph_runs");
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	cuStreamDestroy(s);
}

int main(void)
{
	CUgraphExec exec[GRAPHS];
	int i, round, made = 1, good = 1;

	tap_plan(4);
	begin();
	for (i = 0; i < NODES; i++) {
		in[i] = malloc(SIZE);
		out[i] = calloc(1, SIZE);
		cuMemAlloc(&there[i], SIZE);
	}
	for (round = 0; round < 2; round++) {
		for (i = 0; i < GRAPHS; i++)
			made = made && make(&exec[i]) == 0;
		for (i = 0; i < GRAPHS && made; i++)
			good = good && run(exec[i], 10 * round + i);
		for (i = 0; i < GRAPHS && made; i++)
			good = good && cuGraphExecDestroy(exec[i]) == 0;
	}
	ok(made, "graphs_copy_more_pageable_memory_than_the_part_has");
	ok(made && good, "and_copy_it_right");
	test_captured();
	return tap_exit();
}
