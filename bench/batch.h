/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures nanoseconds of a call on this machine. A sample is the mean of a batch of calls
 * that takes long enough for the clock. WH_BENCH_MS is the time for each benchmark (400),
 * so that programs can take short turns.
 */
#ifndef WORMHOLE_BATCH_H
#define WORMHOLE_BATCH_H

#include "bench.h"

#define BATCH_NS	50000

static struct bench batch_bench;

static inline uint64_t batch_run(void (*call)(void), unsigned int n)
{
	uint64_t t = bench_ns();

	while (n--)
		call();
	return bench_ns() - t;
}

/* Returns how many calls fill a batch, once everything is warm. */
static inline unsigned int batch_of(void (*call)(void))
{
	unsigned int n = 1;

	batch_run(call, BENCH_WARM_UP);
	while (batch_run(call, n) < BATCH_NS && n < 1u << 24)
		n *= 2;
	return n;
}

static inline void measure(const char *prefix, const char *what, void (*call)(void))
{
	const char *ms = getenv("WH_BENCH_MS");
	uint64_t goal = (ms ? strtoull(ms, NULL, 10) : 400) * 1000000, t;
	unsigned int batch = batch_of(call);
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", prefix, what);
	bench_start(&batch_bench, name, "ns");
	do {
		t = batch_run(call, batch);
		bench_add(&batch_bench, (double)t / batch);
		batch_bench.sum += t - (uint64_t)batch_bench.sample[batch_bench.n - 1];
	} while (!bench_over(&batch_bench, goal));
	bench_report(&batch_bench);
}

#endif
