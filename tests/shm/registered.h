/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of registered memory share: the look of the device, and a writer beside it. */
#ifndef WORMHOLE_TESTS_REGISTERED_H
#define WORMHOLE_TESTS_REGISTERED_H

#include <stdbool.h>

#include "driver_test.h"

static CUdeviceptr device;

/* Does the device see what is there, and the program what the device writes? */
static bool works(uint8_t *p, size_t n, uint32_t seed)
{
	CUdeviceptr there;

	pattern(p, n, seed);
	if (cuMemHostGetDevicePointer(&there, p, 0) || cuMemcpyDtoD(device, there, n))
		return false;
	memset(p, 0, n);
	return cuMemcpyDtoD(there, device, n) == 0 && cuCtxSynchronize() == 0 && same(p, n, seed);
}

static volatile uint64_t *neighbour;
static uint64_t counted;
static int stop;

/* Counts in the word beside the registered memory until `stop`. */
static inline void *count(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		*neighbour = *neighbour + 1;
		counted++;
	}
	return arg;
}

#endif
