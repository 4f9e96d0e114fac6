/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mock driver's processes, the mock NVML and the tests share this file, which
 * MOCK_GPU names. It says what the driver has really taken of the device.
 */
#ifndef WORMHOLE_TESTS_LIMITS_MOCK_H
#define WORMHOLE_TESTS_LIMITS_MOCK_H

#include <stdint.h>

#define MOCK_PROCESSES	32
#define MOCK_CONTEXT	(64ull << 20)	/* the memory of a context */
#define MOCK_MODULE	(4ull << 20)	/* the code and globals of a module or library */
#define MOCK_CALLS	(138ull << 20)	/* from the first code with malloc() on */
#define MOCK_STREAM	(8ull << 20)	/* what a stream takes, which no call says */
#define MOCK_POOL_STEP	(32ull << 20)	/* the step by which a pool grows */
#define MOCK_SMS	132
#define MOCK_THREADS	2048

struct mock_gpu {
	uint32_t devices;		/* two of them; 0: one. Both have one device's memory */
	uint64_t total;			/* bytes of the device */
	uint64_t used, peak;		/* bytes that all processes have, and their peak */
	uint64_t readings;		/* how often NVML's figure was read */
	uint64_t records;		/* events that were recorded */
	struct {
		uint32_t pid;
		uint64_t bytes;
	} process[MOCK_PROCESSES];
};

#endif
