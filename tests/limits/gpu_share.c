// SPDX-License-Identifier: Apache-2.0
/*
 * Launches kernels of one kind for some seconds and prints the number of launches in a
 * second, as `launches RATE`. One run under a share and one without it give the part of
 * the device that the share had.
 *
 * 	gpu_share KIND SECONDS STEPS-PER-US [BLOCKS [asked]]
 * 		KIND: 3us 10us 100us 2ms 50ms mixed graph
 * 	gpu_share calibrate			says STEPS-PER-US of this device
 *
 * With `asked` it measures for each line WARM SECONDS that it reads, so that it can be
 * compared with itself under other limits; without, it measures once, after a second.
 */
#include "gpu_work.h"

#include <stdbool.h>
#include <string.h>

static void calibrate(void)
{
	CUevent a, b;
	unsigned int steps;
	float ms = 0;

	check(cuEventCreate(&a, 0), "cuEventCreate");
	check(cuEventCreate(&b, 0), "cuEventCreate");
	for (steps = 10; ms < 10 && steps < 1u << 30; steps *= 2) {
		cuEventRecord(a, NULL);
		launch(steps, NULL);
		cuEventRecord(b, NULL);
		check(cuCtxSynchronize(), "cuCtxSynchronize");
		cuEventElapsedTime(&ms, a, b);
	}
	printf("%.4f\n", steps / 2 / (ms * 1e3));
}

static CUgraphExec record(double per_us)
{
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;
	int i;

	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
	for (i = 0; i < 10; i++)
		launch((unsigned int)(100 * per_us), stream);
	check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
	check(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
	return exec;
}

static double length(const char *kind, unsigned long n)
{
	static const double mixed[] = { 3, 100, 3, 2000, 3, 3, 100, 3 };

	if (!strcmp(kind, "mixed"))
		return n % 400 == 399 ? 50000 : mixed[n % 8];
	if (!strcmp(kind, "3us"))	/* the least time of a launch */
		return 1;
	return !strcmp(kind, "10us") ? 10 : !strcmp(kind, "100us") ? 100 :
	       !strcmp(kind, "2ms") ? 2000 : 50000;
}

/* Waits until all but the latest part of what was launched is done. */
static void behind(CUevent *mark)
{
	check(cuEventSynchronize(mark[0]), "cuEventSynchronize");
	check(cuEventRecord(mark[1], NULL), "cuEventRecord");
	mark[2] = mark[0];
	mark[0] = mark[1];
	mark[1] = mark[2];
}

static struct {
	const char *kind;
	double per_us;
	CUgraphExec exec;
	CUevent mark[3];
	unsigned long n;
} job;

/*
 * Launches the next work and returns its microseconds: kernels that are mixed may be cut
 * anywhere.
 */
static double launch_next(void)
{
	unsigned long n = job.n++;
	double us = job.exec ? 1000 : length(job.kind, n);

	if (job.exec)
		check(cuGraphLaunch(job.exec, NULL), "cuGraphLaunch");
	else
		launch((unsigned int)(us * job.per_us) + 1, NULL);
	/* The queue never runs dry, and is not deeper than some seconds. */
	if (us >= 1000 || n % 256 == 255)
		behind(job.mark);
	return us;
}

/* Works for so many seconds. Returns the work done in a second. */
static double work_for(double seconds)
{
	double begin, done = 0;

	check(cuCtxSynchronize(), "cuCtxSynchronize");
	for (begin = now(); now() - begin < seconds; )
		done += launch_next();
	check(cuCtxSynchronize(), "cuCtxSynchronize");
	return done / (now() - begin);
}

static void measure(double warm, double seconds)
{
	work_for(warm);
	printf("launches %.1f\n", work_for(seconds));
	fflush(stdout);
}

static void run(double seconds, bool asked)
{
	char line[64];
	double warm;
	int i;

	for (i = 0; i < 2; i++) {
		check(cuEventCreate(&job.mark[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate");
		check(cuEventRecord(job.mark[i], NULL), "cuEventRecord");
	}
	if (!asked)
		measure(1, seconds);
	while (asked && fgets(line, sizeof(line), stdin))
		if (sscanf(line, "%lf %lf", &warm, &seconds) == 2)
			measure(warm, seconds);
}

int main(int argc, char **argv)
{
	start_work(argc > 4 ? atoi(argv[4]) : 132 * 8);
	if (argc == 2)
		calibrate();
	if (argc < 4)
		return argc != 2;
	job.kind = argv[1];
	job.per_us = atof(argv[3]);
	job.exec = strcmp(job.kind, "graph") ? NULL : record(job.per_us);
	run(atof(argv[2]), argc > 5 && !strcmp(argv[5], "asked"));
	return 0;
}
