/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of one benchmark and their report, which is one line
 *
 *	bench NAME UNIT SAMPLES MIN MEDIAN MAX
 *
 * on stdout. A benchmark chooses its own number of samples and judges nothing: it fails
 * only if the call that it measures does not work.
 */
#ifndef WORMHOLE_BENCH_H
#define WORMHOLE_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_SAMPLES	10000
#define BENCH_WARM_UP	64

struct bench {
	const char *name;
	const char *unit;
	uint64_t sum;
	unsigned int n;
	double sample[BENCH_SAMPLES];
};

static inline void bench_start(struct bench *b, const char *name, const char *unit)
{
	b->name = name;
	b->unit = unit;
	b->sum = 0;
	b->n = 0;
}

static inline void bench_add(struct bench *b, double sample)
{
	b->sample[b->n++] = sample;
	b->sum += (uint64_t)sample;
}

/* Returns true when there are as many samples as fit, or `goal` units have been spent. */
static inline int bench_over(const struct bench *b, uint64_t goal)
{
	return b->n == BENCH_SAMPLES || (b->n >= BENCH_WARM_UP && b->sum >= goal);
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static inline double bench_median(struct bench *b)
{
	qsort(b->sample, b->n, sizeof(*b->sample), bench_compare);
	return b->sample[b->n / 2];
}

static inline double bench_report(struct bench *b)
{
	double median = bench_median(b);

	printf("bench %s %s %u %.10g %.10g %.10g\n", b->name, b->unit, b->n, b->sample[0],
	       median, b->sample[b->n - 1]);
	fflush(stdout);
	return median;
}

/*
 * In Bochs the TSC counts instructions. Elsewhere it counts cycles of a fixed rate, which
 * no part uses.
 */
static inline uint64_t bench_tsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a" (lo), "=d" (hi) :: "memory");
	return (uint64_t)hi << 32 | lo;
}

static inline uint64_t bench_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif
