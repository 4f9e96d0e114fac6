// SPDX-License-Identifier: Apache-2.0
// The share of a GPU that a program really gets: kernels of known duration, as
// many as are let through; the share is their time over the time that passed.
// The duration of a turn of the kernel's loop is measured natively, on an idle
// GPU, and handed to limited runs: under a limit a clock shows the limit.
//
//	share calibrate [turns=1000000]	prints picoseconds for each turn
//	share ps=N kernels=US[,US...] [ms=5000] [skip=1000]
//
// The first `skip` milliseconds are not counted. Kernels fill the GPU; at most
// some milliseconds of them are in flight.
#include <algorithm>
#include "../tests/programs/program.h"

#define THREADS		256
#define QUEUE_US	4000.0

static float *sink;
static int blocks;

__global__ void busy(float *sink, long turns)
{
	float x = threadIdx.x;

	for (long i = 0; i < turns; i++)
		x = x * 0.999f + 1;		// each turn needs the one before
	if (x == -1)
		*sink = x;
}

static void launch(long turns)
{
	busy<<<blocks, THREADS>>>(sink, turns);
	CHECK_LAUNCH();
}

// Of several lengths, so that what a launch costs cancels out.
static void calibrate(long turns)
{
	cudaEvent_t a, b;
	double best = 1e30;
	float t[2];

	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 2; i++) {
			CHECK(cudaEventRecord(a));
			launch(i ? 2 * turns : turns);
			CHECK(cudaEventRecord(b));
			CHECK(cudaEventSynchronize(b));
			CHECK(cudaEventElapsedTime(&t[i], a, b));
		}
		if (round >= 5)
			best = std::min(best, (double)t[1] - t[0]);
	}
	printf("ps %.0f\n", best * 1e9 / turns);
}

static std::vector<double> durations(int argc, char **argv)
{
	std::vector<double> us;

	for (int i = 1; i < argc; i++) {
		char *p = strncmp(argv[i], "kernels=", 8) ? NULL : argv[i] + 7;

		while (p && (*p == '=' || *p == ','))
			us.push_back(strtod(p + 1, &p));
	}
	return us;
}

// Start groups of a few milliseconds, two in flight; count what is complete.
static double run(const std::vector<double> &us, double ps, double seconds, double skip)
{
	double begin = now(), from = 0, done = 0, group[2] = { 0 };
	cudaEvent_t end[2];
	size_t next = 0;

	for (auto &e : end)
		CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	for (int g = 0;; g ^= 1) {
		if (group[g]) {
			CHECK(cudaEventSynchronize(end[g]));
			done += group[g];
		}
		if (!from && now() - begin >= skip) {
			from = now();
			done = 0;
		}
		if (from && now() - from >= seconds)
			return done * 1e-6 / (now() - from);
		group[g] = 0;
		do {
			launch((long)(us[next % us.size()] * 1e6 / ps));
			group[g] += us[next++ % us.size()];
		} while (group[g] < QUEUE_US / 2);
		CHECK(cudaEventRecord(end[g]));
	}
}

int main(int argc, char **argv)
{
	std::vector<double> us = durations(argc, argv);
	double ps = option(argc, argv, "ps", 0);
	cudaDeviceProp prop;

	CHECK(cudaGetDeviceProperties(&prop, 0));
	blocks = prop.multiProcessorCount;
	CHECK(cudaMalloc(&sink, sizeof(*sink)));
	if (argc >= 2 && !strcmp(argv[1], "calibrate")) {
		calibrate(option(argc, argv, "turns", 1000000));
		return 0;
	}
	if (us.empty() || ps <= 0) {
		fprintf(stderr, "usage: share calibrate | share ps=N kernels=US[,US...] [ms=5000] [skip=1000]\n");
		return 1;
	}
	printf("share %.4f\n", run(us, ps, option(argc, argv, "ms", 5000) / 1e3,
				   option(argc, argv, "skip", 1000) / 1e3));
	return 0;
}
