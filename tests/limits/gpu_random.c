// SPDX-License-Identifier: Apache-2.0
/*
 * A program that exceeds a share of the device's time if chance can do it. It runs
 * processes that are killed one after the other. Each has two threads that launch kernels
 * of 3 us to 50 ms, endless kernels, and graphs of kernels into three streams each, wait
 * for some of it, pause, and reset the device.
 *
 * 	gpu_random SECONDS STEPS-PER-US SEED [BLOCKS]
 *
 * It says how many processes there were and how they ended. A launch that lasts too long
 * ends its process with an error, which is as good as any other end.
 */
#include "gpu_work.h"
#include "random.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS		2
#define STREAMS		3
#define SHORTEST_US	3.0
#define LONGEST_US	50000.0
#define ENDLESS		0xffffffffu	/* steps: minutes */

static double per_us;
static uint64_t seed;

static void start_random(uint64_t from)
{
	random_state = from * 0x9e3779b97f4a7c15ULL | 1;
	/* The first numbers are like each other, so they are dropped. */
	any(2), any(2), any(2);
}

/* Returns a length; each length is as likely as twice that length. */
static unsigned int any_steps(void)
{
	double span = log(LONGEST_US / SHORTEST_US), at = (double)any(1000) / 1000;

	return (unsigned int)(SHORTEST_US * exp(span * at) * per_us) + 1;
}

static CUresult any_graph(CUstream stream)
{
	unsigned int i, steps = any_steps() / 10 + 1;
	CUgraphExec exec;
	CUgraph graph;
	CUresult res;

	res = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (res)
		return res;
	for (i = 0; i < 10; i++)
		try_launch(steps, stream);
	res = cuStreamEndCapture(stream, &graph);
	if (!res)
		res = cuGraphInstantiate(&exec, graph, 0);
	if (res)
		return res;
	res = cuGraphLaunch(exec, stream);
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	return res;
}

static CUresult any_step(CUstream *stream)
{
	CUstream s = stream[any(STREAMS)];
	struct timespec pause = { .tv_nsec = (long)any(20000000) };
	unsigned int n;
	CUresult res = CUDA_SUCCESS;

	switch (any(12)) {
	case 0:
		return cuStreamSynchronize(s);
	case 1:
		return cuCtxSynchronize();
	case 2:
		nanosleep(&pause, NULL);
		return CUDA_SUCCESS;
	case 3:
		return any_graph(s);
	case 4:		/* many short ones in a row */
		for (n = (unsigned int)any(2000); n && !res; n--)
			res = try_launch((unsigned int)(SHORTEST_US * per_us), s);
		return res;
	case 5:
		if (!any(40))
			return try_launch(ENDLESS, s);
		return CUDA_SUCCESS;
	default:
		return try_launch(any_steps(), s);
	}
}

static void *thread(void *arg)
{
	CUstream stream[STREAMS] = { 0 };
	CUcontext ctx;
	CUresult res;
	int i;

	start_random(seed + (uintptr_t)arg);
	res = cuDevicePrimaryCtxRetain(&ctx, 0);
	if (!res)
		res = cuCtxSetCurrent(ctx);
	for (i = 0; i < STREAMS && !res; i++)
		res = cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING);
	while (!res)
		res = any_step(stream);
	return NULL;
}

/* Runs until it is killed, or until the server ends it for what it did. */
static void process(void)
{
	pthread_t id[THREADS];
	uintptr_t i;

	start_work(blocks);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&id[i], NULL, thread, (void *)(i + 1)))
			_exit(2);
	for (i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	cuDevicePrimaryCtxReset(0);
	_exit(1);
}

int main(int argc, char **argv)
{
	unsigned int processes = 0, ended = 0;
	struct timespec life;
	double until;
	int status;
	pid_t pid;

	if (argc < 4)
		return 2;
	until = now() + atof(argv[1]);
	per_us = atof(argv[2]);
	seed = strtoull(argv[3], NULL, 0);
	blocks = argc > 4 ? atoi(argv[4]) : 132 * 8;
	start_random(seed);
	while (now() < until) {
		seed += THREADS + 1;
		processes++;
		pid = fork();
		if (!pid)
			process();
		life.tv_sec = (time_t)any(3);
		life.tv_nsec = (long)any(1000000000);
		nanosleep(&life, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		ended += WIFEXITED(status);
	}
	printf("%u processes, %u of which ended by themselves\n", processes, ended);
	return 0;
}
