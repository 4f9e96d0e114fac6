/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API programs share this file. */
#ifndef WORMHOLE_TESTS_DRIVER_TEST_H
#define WORMHOLE_TESTS_DRIVER_TEST_H

#include <cuda.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static CUcontext ctx;

/* Makes the start that the other programs take for granted and driver_test.c tests. */
static inline void begin(void)
{
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx)) {
		printf("Bail out! no CUDA: is the server there?\n");
		exit(1);
	}
}

/* Writes a pattern that differs at every place and for every seed. */
static inline void pattern(void *p, size_t n, uint32_t seed)
{
	uint8_t *b = p;
	size_t i;

	for (i = 0; i < n; i++)
		b[i] = (i * 2654435761u >> 13) + seed * 31 + i;
}

static inline int same(const void *p, size_t n, uint32_t seed)
{
	uint8_t *want = malloc(n);
	int yes;

	pattern(want, n, seed);
	yes = !memcmp(p, want, n);
	free(want);
	return yes;
}

#endif
