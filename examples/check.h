/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the examples share: stop on a CUDA error, read the size, report. */
#ifndef WORMHOLE_EXAMPLES_CHECK_H
#define WORMHOLE_EXAMPLES_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call) do {						\
	cudaError_t err_ = (call);					\
	if (err_ != cudaSuccess) {					\
		fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__,	\
			__LINE__, #call, cudaGetErrorName(err_),	\
			cudaGetErrorString(err_));			\
		exit(2);						\
	}								\
} while (0)

/* Returns the first argument, or the default. The examples accept one size. */
static inline int size_arg(int argc, char **argv, int preset)
{
	int n = argc > 1 ? atoi(argv[1]) : preset;

	if (n < 1) {
		fprintf(stderr, "usage: %s [size >= 1]\n", argv[0]);
		exit(2);
	}
	return n;
}

static inline int report(const char *name, long wrong, long total)
{
	printf("%s: %s: %ld of %ld values agree with the CPU\n", name,
	       wrong ? "FAIL" : "PASS", total - wrong, total);
	return wrong != 0;
}

#endif
