// SPDX-License-Identifier: Apache-2.0
/*
 * Measures graphs and waits for tests/gpu/times_test.sh, and prints a line for each: its
 * name and the median in microseconds. `nothing` prints how many copies of no bytes
 * failed.
 */
#include <time.h>

#include "driver_test.h"

#define ROUNDS	200
#define NODES	10

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry one(.param .u64 p)\n{\n.reg .u64 %a; .reg .u32 %v;\n"
	"ld.param.u64 %a, [p]; ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret;\n}\n";

static CUfunction one;
static CUdeviceptr word;
static CUstream stream;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *name, double *us)
{
	qsort(us, ROUNDS, sizeof(*us), by_value);
	printf("%s %.2f\n", name, us[ROUNDS / 2]);
}

static void must(CUresult res, const char *what)
{
	if (!res)
		return;
	printf("%s: %d\n", what, res);
	exit(1);
}

static void launch(void)
{
	void *args[] = { &word };

	must(cuLaunchKernel(one, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "cuLaunchKernel");
}

static void graphs(void)
{
	static double capture[ROUNDS], instantiate[ROUNDS], run[ROUNDS];
	CUgraphExec exec;
	CUgraph graph;
	double t[4];
	int i, k;

	for (i = 0; i < ROUNDS; i++) {
		t[0] = now();
		must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
		for (k = 0; k < NODES; k++)
			launch();
		must(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
		t[1] = now();
		must(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
		t[2] = now();
		must(cuGraphLaunch(exec, stream), "cuGraphLaunch");
		must(cuStreamSynchronize(stream), "cuStreamSynchronize");
		t[3] = now();
		capture[i] = t[1] - t[0];
		instantiate[i] = t[2] - t[1];
		run[i] = t[3] - t[2];
		cuGraphExecDestroy(exec);
		cuGraphDestroy(graph);
	}
	say("capture", capture);
	say("instantiate", instantiate);
	say("graph_and_wait", run);
}

static void waits(void)
{
	static double wait[ROUNDS];
	double t;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		t = now();
		launch();
		must(cuStreamSynchronize(stream), "cuStreamSynchronize");
		wait[i] = now() - t;
	}
	say("launch_and_wait", wait);
}

static int nothing(void)
{
	char there[4];

	return (cuMemcpyHtoDAsync(word, there, 0, stream) != 0) +
	       (cuMemcpyDtoHAsync(there, word, 0, stream) != 0) +
	       (cuMemcpyAsync(word, (CUdeviceptr)there, 0, stream) != 0) +
	       (cuMemcpyHtoD(word, there, 0) != 0) + (cuMemcpyDtoH(there, word, 0) != 0) +
	       (cuMemsetD8Async(word, 0, 0, stream) != 0);
}

int main(void)
{
	CUmodule module;

	begin();
	must(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
	must(cuModuleGetFunction(&one, module, "one"), "cuModuleGetFunction");
	must(cuMemAlloc(&word, 4), "cuMemAlloc");
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	launch();
	must(cuStreamSynchronize(stream), "cuStreamSynchronize");
	printf("nothing %d\n", nothing());
	graphs();
	waits();
	return 0;
}
