/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of the CUDA runtime share this file. Nothing here or in the tests is
 * particular to this project's library: they hold for any CUDA 13 runtime.
 */
#ifndef WORMHOLE_TESTS_CUDART_COMMON_H
#define WORMHOLE_TESTS_CUDART_COMMON_H

#include <cstring>
#include <cuda_runtime.h>
#include "../tap.h"

/* Checks that a result is exactly `want`, and names a difference. */
static inline int ok_err(cudaError_t got, cudaError_t want, const char *name)
{
	int same = ok(got == want, name);

	if (got != want)
		diag("expected %s, got %s (%d)", cudaGetErrorName(want), cudaGetErrorName(got),
		     (int)got);
	return same;
}

/* Preparations are no tests: when one fails, nothing below can be trusted, so the test ends. */
#define NEED(call) do {							\
	cudaError_t need_err_ = (call);					\
	if (need_err_ != cudaSuccess) {					\
		printf("Bail out! %s:%d: %s: %s\n", __FILE__, __LINE__,	\
		       #call, cudaGetErrorString(need_err_));		\
		exit(1);						\
	}								\
} while (0)

/* Clears the last error, so that none is left for the next point. */
static inline void clear_error(void)
{
	cudaGetLastError();
}

static inline int all_equal(const unsigned char *p, size_t n, unsigned char value)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return 0;
	return 1;
}

#endif
